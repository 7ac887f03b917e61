// What no reading of the simulated chip confirms about a kernel's result bits, as notes of kind "unconfirmed-arithmetic".
#pragma once
#include "isa/diag.h"
#include "isa/ptx/module.h"
#include "sim/config/machine.h"

namespace tcsim::sim {

/// One note for each thing that is unconfirmed (isa/numeric/tensor_core.h, arithmetic_note), at the first instruction it is about.
void note_arithmetic(const isa::Module& module, const isa::Kernel& kernel, const cfg::Machine& machine, Diagnostics& diags);

}  // namespace tcsim::sim
