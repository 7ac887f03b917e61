// Exchanges between the lanes of a warp: shfl, vote, match, redux, activemask, elect. Part of the move chapter's table.
#pragma once
#include <span>

#include "isa/insn/def.h"

namespace tcsim::isa {

std::span<const InstDef> exchange_instructions();

}  // namespace tcsim::isa
