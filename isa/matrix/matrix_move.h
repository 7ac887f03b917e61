// Data movement of ldmatrix, stmatrix, movmatrix and wmma.load/store on a warp's registers (SoA: one pointer a register, 32 lanes).
// PTX ISA, "Warp-level matrix load instruction: ldmatrix", "... store instruction: stmatrix", "... transpose: movmatrix".
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/layout/fragment.h"

namespace tcsim::isa {

/// ldmatrix.m8n8.x{count}[.trans].b16. row[i] (i < 8 * count) is the 16-byte row that lane i addresses; count is 1, 2 or 4.
/// Register j of lane l gets elements (l/4, 2*(l%4)) and the next of matrix j, of its transpose if trans.
void ldmatrix(uint32_t* const* d, const uint8_t* const* row, int count, bool trans);

/// stmatrix: the reverse. Rows are written in the order of i (rows at the same address: the last wins).
void stmatrix(uint8_t* const* row, const uint32_t* const* a, int count, bool trans);

/// movmatrix.m8n8.trans.b16: d may be a.
void movmatrix(uint32_t* d, const uint32_t* a);

/// One contiguous piece of memory that a lane moves in wmma.load or wmma.store.
struct WmmaPiece {
  uint8_t reg = 0, lane = 0, bit = 0;  // where it goes in the register file
  uint8_t bits = 0;                    // 4 to 64, at most what fits the register
  int16_t row = 0, col = 0;            // of its first element
};

/// wmma.load.{a,b,c} and wmma.store.d: which elements each lane moves. Pieces are maximal runs along memory.
class WmmaAccess {
 public:
  /// nullopt: no such instruction. order: layout in memory (.row or .col).
  static std::optional<WmmaAccess> make(MatrixShape shape, MatrixRole role, Type type, MatrixOrder order);

  int registers() const { return map_.registers(); }
  int register_bits() const { return map_.register_bits(); }
  int rows() const { return map_.rows(); }
  int cols() const { return map_.cols(); }
  const std::vector<WmmaPiece>& pieces() const { return pieces_; }
  /// Byte offset from the matrix address of a piece (4-bit and 1-bit elements: of the byte that holds it).
  uint64_t byte_offset(const WmmaPiece& piece, uint64_t stride_elements) const;
  const FragmentMap& map() const { return map_; }

 private:
  WmmaAccess(FragmentMap map, MatrixOrder order);
  FragmentMap map_;
  MatrixOrder order_;
  std::vector<WmmaPiece> pieces_;
};

}  // namespace tcsim::isa
