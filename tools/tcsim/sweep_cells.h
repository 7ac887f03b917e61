// Parts of a sweep's row that generated and compiled kernels share.
#pragma once
#include <string>

#include "isa/diag.h"
#include "sim/gpu/occupancy.h"
#include "tools/tcsim/gemm_kernel.h"
#include "tools/tcsim/shared_budget.h"
#include "tools/tcsim/sweep_run.h"

namespace tcsim::tool {

void machine_cells(const SweepMachine& on, SweepRow& row);
void occupancy_cells(const sim::Occupancy& occupancy, const cfg::Machine& machine, SweepRow& row);
void budget_cells(const SharedBudget& budget, SweepRow& row);
/// Also when the timing failed. Needs Bytes and Flops of the row for the columns that follow from them; Flops default to the run's.
void timing_cells(const GemmTiming& timing, const cfg::Machine& machine, SweepRow& row);
/// Why the point has no time.
void refusal_cells(const Diagnostics& diags, SweepRow& row);

/// What else a configuration was given: "raster=n setmaxnreg=false"; "" for the defaults.
std::string option_text(const gemm::Config& config);

SweepRow run_compiled_point(const SweepPoint& point);

}  // namespace tcsim::tool
