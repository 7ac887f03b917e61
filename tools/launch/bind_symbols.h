// Module-scope variables: memory for .global ones, the .const bank, initial values and what [symbol.NAME]
// sets.
#pragma once
#include <cstdint>
#include <vector>

#include "tools/launch/prepare.h"

namespace tcsim::launch {

/// Gives every .global variable an allocation and applies initialisers and [symbol.NAME] tables.
void bind_symbols(const LaunchFile& file, isa::Module& module, Workspace& work, Diagnostics& diags);

}  // namespace tcsim::launch
