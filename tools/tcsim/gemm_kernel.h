// A generated GEMM on a machine: built, checked for fit, described for the estimate, and timed. What --best, comparisons of machines and
// sweeps are made of. Nothing here prints.
//
//   auto kernel = build_gemm(config, machine, diags);          // nullopt: it cannot run there, diags say why
//   GemmTiming t = time_gemm(config, machine, {.ctas = 264});
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/gpu/gpu.h"
#include "sim/report/report.h"
#include "tools/launch/launch_file.h"
#include "workloads/analytic/analytic.h"
#include "workloads/gemm/gemm.h"

namespace tcsim::tool {

struct GemmKernel {
  gemm::Config config;
  gemm::Program program;
  std::unique_ptr<isa::Module> module;
  launch::LaunchFile file;
  const isa::Kernel* kernel = nullptr;
  sim::LoweredProgram lowered;
  sim::Occupancy occupancy;

  uint64_t ctas() const { return uint64_t{program.grid[0]} * program.grid[1] * program.grid[2]; }
  uint32_t cluster_size() const { return program.cluster[0] * program.cluster[1] * program.cluster[2]; }
  /// CTAs stay and take tile after tile.
  bool persistent() const;
};

/// config with what the machine decides: target of the PTX, SMs.
gemm::Config for_machine(gemm::Config config, const cfg::Machine& machine);

/// Errors: what the generator refuses, what the target lacks, what does not fit on an SM.
/// The kernel keeps pointers into `machine`, which must outlive it.
std::optional<GemmKernel> build_gemm(const gemm::Config& config, const cfg::Machine& machine, Diagnostics& diags);

/// The kernel as the estimate sees it: tile and stages from the configuration, the instruction mix from its main loop.
analytic::Gemm describe_gemm(const GemmKernel& kernel, const cfg::Machine& machine);

/// Counts of a run, all of which grow with it: a weighted sum of runs is a run.
struct GemmTiming {
  double cycles = 0, flops = 0, warp_instructions = 0, wall_s = 0;
  double l2_to_sm_bytes = 0;
  double peak_flops_per_cycle = 0;  // of the chip
  std::string peak_name;
  std::vector<sim::ResourceUse> busy;               // used: share of the peak x cycles
  std::array<double, sim::kStallReasons> stalls{};  // warp-cycles
  std::string failure;                              // why there are no counts

  void add(const GemmTiming& other, double weight);
  double share_of_peak() const { return cycles > 0 && peak_flops_per_cycle > 0 ? flops / (peak_flops_per_cycle * cycles) : 0; }
};

/// The counts of a report.
GemmTiming timing_of(const sim::Report& report);

struct TimingOptions {
  uint64_t ctas = 0;  // only the first so many; 0: all
  uint32_t threads = 1;
};

/// Timing mode on operands of zeros: values do not change the time.
GemmTiming time_gemm(const gemm::Config& config, const cfg::Machine& machine, const TimingOptions& options);

/// Text of the first error; "" when there is none.
std::string first_error(const Diagnostics& diags);

}  // namespace tcsim::tool
