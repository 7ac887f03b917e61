// One point of a sweep: a generated GEMM or a compiled kernel on a machine, simulated in timing mode on one thread. Nothing here prints.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/machine.h"
#include "tools/tcsim/sweep_row.h"
#include "validation/compare/measurements.h"
#include "workloads/gemm/gemm.h"

namespace tcsim::tool {

/// A kernel with its launch file, or a measured launch of a data set.
struct CompiledKernel {
  std::string kernel_path, launch_path;
  std::shared_ptr<const compare::DataSet> set;  // nullptr: the two paths
  size_t measurement = 0;
};

struct SweepMachine {
  std::string arch, set;  // as given: "smem.banks=64 l2.latency=200"
  std::shared_ptr<const cfg::Machine> machine;
};

struct SweepPoint {
  SweepMachine on;
  gemm::Config config;  // without `compiled`
  std::optional<CompiledKernel> compiled;
  SweepRow row;  // the columns that describe it
};

SweepPoint gemm_point(const SweepMachine& on, const gemm::Config& config);
SweepPoint compiled_point(const SweepMachine& on, const CompiledKernel& compiled);

/// The finished row. Status: success; not_supported (does not fit, or the machine cannot run it; `reason` says why); failed (the simulated
/// kernel did); internal (a bug of ours).
SweepRow run_point(const SweepPoint& point);

/// Points of a folder: each KERNEL.ptx with its KERNEL.toml (or KERNEL.ptx.toml), Triton cache folders with FOLDER.toml beside them, or
/// tables of measurements (validation/data), one point a row. Errors go to diags.
std::vector<CompiledKernel> folder_kernels(const std::string& folder, Diagnostics& diags);

}  // namespace tcsim::tool
