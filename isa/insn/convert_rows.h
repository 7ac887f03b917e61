// The rows of cvt are spread over three files.
#pragma once
#include <span>

#include "isa/insn/common.h"

namespace tcsim::isa {

std::span<const InstDef> packed_convert_rows();      // convert_packed.cpp
std::span<const InstDef> stochastic_convert_rows();  // convert_stochastic.cpp

}  // namespace tcsim::isa
