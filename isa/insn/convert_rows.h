// The rows of cvt are spread over two files.
#pragma once
#include <span>

#include "isa/insn/common.h"

namespace tcsim::isa {

std::span<const InstDef> packed_convert_rows();  // convert_packed.cpp

}  // namespace tcsim::isa
