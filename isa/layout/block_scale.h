// Where mma.sync with .block_scale has its scale factors (PTX ISA, "Block Scaling for mma.sync").
//   block_scale_home(true, 9, 0, 0, 0)   -> lane 5, bits 0 to 7     // row 9 of A: lane 4 * (9 % 8) + 9 / 8
#pragma once
#include "isa/layout/fragment.h"

namespace tcsim::isa {

/// Scale factor `index` of row `line` of A, or of column `line` of B. thread, byte: the selectors of the instruction.
constexpr Home block_scale_home(bool a, int line, int index, int thread, int byte) {
  const int lane = a ? 4 * (line % 8) + 2 * thread + line / 8 : 4 * line + thread;
  return {static_cast<uint8_t>(lane), 0, static_cast<uint8_t>(8 * (byte + index)), 0};
}

}  // namespace tcsim::isa
