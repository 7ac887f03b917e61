// Which element of which row in shared memory each register holds: ldmatrix, stmatrix, movmatrix.
//
//   const auto move = find_move("ldmatrix.x4.trans");
//   move_element(*move, 5, 1, 0)   -> row 10, col 1     // register 1 of lane 5, lower half: row 8 + 2, element 1
//
// Row i is the 16 bytes that lane i addresses. Element and register maps are those of fragments (fragment.h), one matrix above the
// other; .trans exchanges row and column within each matrix. Sources: PTX ISA, "ldmatrix", "stmatrix", "movmatrix"; the byte forms as
// CUTLASS undoes them (copy_sm100.hpp, SM100_U8x8_LDSM_T; copy_traits_sm100.hpp, SM100_U8x4_STSM_T).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/layout/fragment.h"

namespace tcsim::isa {

struct MoveSpec {
  FragmentSpec registers;   // matrices of tile_rows rows, one above the other
  bool transposed = false;  // a row in memory is a column of the matrix in registers
  bool store = false;
  int16_t memory_bits = 16;  // of an element in memory: 6 or 4 where the load widens to bytes
  constexpr int rows() const { return transposed ? registers.rows / registers.tile_rows * registers.cols : registers.rows; }
  constexpr int cols() const { return transposed ? registers.tile_rows : registers.cols; }
};

/// The element in bits [sub * element_bits, ...) of a lane's register: row = the lane whose address it comes from, col = its place there.
constexpr Element move_element(const MoveSpec& m, int lane, int reg, int sub) {
  const Element e = element_at(m.registers, lane, reg, sub);
  if (!m.transposed) return e;
  const int high = m.registers.tile_rows;
  return {static_cast<int16_t>(e.row / high * m.registers.cols + e.col), static_cast<int16_t>(e.row % high), 0};
}

/// "ldmatrix.x4[.trans]", "ldmatrix.m8n16.x2.b8x16.b4x16_p64", "ldmatrix.m16n16.x1.trans.b8[x16.b6x16_p32]", "stmatrix.x2[.trans]",
/// "stmatrix.m16n8.x4.trans.b8", "movmatrix" (its result; the source is "movmatrix.source"). ".m8n8" and ".b16" may be given too.
std::optional<MoveSpec> find_move(std::string_view name);
/// Every name that find_move knows, without those of movmatrix's source and the words that may be left out.
std::vector<std::string> move_names();

}  // namespace tcsim::isa
