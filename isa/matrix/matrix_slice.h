// The part of a matrix in shared memory that an instruction reads: lines and pieces of MatrixAddress.
#pragma once
#include <cstdint>

#include "isa/layout/matrix_descriptor.h"

namespace tcsim::isa {

struct MatrixSlice {
  Major major = Major::k;
  uint32_t first_line = 0, lines = 0;    // MN-major: k
  uint32_t first_piece = 0, pieces = 0;  // of 16 bytes
};

}  // namespace tcsim::isa
