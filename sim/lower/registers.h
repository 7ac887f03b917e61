// Registers per thread: the budget that the scheduler keeps to, the estimate, and what the machine allocates.
#pragma once
#include "sim/lower/ir.h"

namespace tcsim::sim::lowering {

/// Registers that values may take at once.
int32_t register_budget(const Function& fn, const LowerOptions& options);

/// Fills registers and registers_estimated from the highest pressure seen.
void set_registers(const Function& fn, const LowerOptions& options, int32_t peak, LoweredProgram& program);

}  // namespace tcsim::sim::lowering
