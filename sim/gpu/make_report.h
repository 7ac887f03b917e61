// From a finished simulation to the Report that people and scripts read.
#pragma once
#include "sim/gpu/gpu.h"
#include "sim/report/report.h"

namespace tcsim::sim {

/// Fills everything but version, command, diagnostics and check.
Report make_report(const SimResult& result, const isa::Module& module, const isa::Kernel& kernel, const isa::LaunchInfo& launch,
                   const cfg::Machine& machine, const SimOptions& options);

/// The machine as the report's head shows it (also for functional runs).
ReportArch make_report_arch(const cfg::Machine& machine);

/// What one warp's execution of an instruction computes (0: it is neither a matrix instruction nor floating-point arithmetic), and
/// what an SM computes in a cycle that does nothing else.
struct MatrixWork {
  double operations = 0, peak_per_cycle = 0;
};
MatrixWork matrix_work(const isa::Inst& inst, const LoweredProgram& program, const isa::Kernel& kernel, const cfg::Machine& machine);

/// Floating-point (or integer) operations of one warp-level matrix instruction, from its key "m16n8k16.f32.f16[.sp]": 2 m n k (m8n8k4 of f16: for each quad pair).
double operations_of(const char* timing_key);

}  // namespace tcsim::sim
