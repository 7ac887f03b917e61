// Registers per thread: the budget that the scheduler keeps to, the estimate, and what the machine allocates.
#pragma once
#include "sim/lower/ir.h"

namespace tcsim::sim::lowering {

/// Registers up to which loads from global memory start early; 0: they wait for registers as everything does.
int32_t load_limit(const Function& fn, int32_t budget);
/// Registers that values may take at once.
int32_t register_budget(const Function& fn, const LowerOptions& options);

/// Fills registers and registers_estimated from the highest pressure seen.
void set_registers(const Function& fn, const LowerOptions& options, int32_t peak, LoweredProgram& program);

}  // namespace tcsim::sim::lowering
