// May PTX of a module's target run on a machine? As a driver's JIT decides: on the same or a newer compute capability; code for
// sm_90a only on sm_90, code for sm_100f only on sm_100 and later of the same major number.
#pragma once
#include "isa/diag.h"
#include "isa/ptx/module.h"
#include "sim/config/machine.h"

namespace tcsim::sim {

/// Adds an error of kind target-version, which names the first instruction that the machine lacks; false if there is one.
bool check_target(const isa::Module& module, const cfg::Machine& machine, Diagnostics& diags);

/// LaunchInfo::generation: whose tensor cores compute.
uint8_t generation_of(const cfg::Machine& machine);

}  // namespace tcsim::sim
