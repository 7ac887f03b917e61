// ldmatrix, stmatrix, movmatrix, wmma.load, wmma.store. Part of the matrix chapter's table.
#pragma once
#include <span>

#include "isa/insn/def.h"

namespace tcsim::isa {

std::span<const InstDef> matrix_move_instructions();

}  // namespace tcsim::isa
