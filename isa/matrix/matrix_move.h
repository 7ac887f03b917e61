// Data movement of ldmatrix, stmatrix, movmatrix and wmma.load/store on a warp's registers (SoA: one pointer a register, 32 lanes).
// PTX ISA, "Warp-level matrix load instruction: ldmatrix", "... store instruction: stmatrix", "... transpose: movmatrix".
#pragma once
#include <array>
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

/// Rows of 16 elements of 8, 6 or 4 bits, 16 bytes apart at least, whose ends are padding (.b8, .b8x16.b6x16_p32, .b8x16.b4x16_p64);
/// each element goes to the low bits of a byte of a register. PTX ISA, "ldmatrix"; arrangement in the 16x16 case also as CUTLASS
/// (copy_sm100.hpp, SM100_U8x8_LDSM_T) undoes it.
/// .m8n16: register j of lane l gets elements 4 * (l%4) to 4 * (l%4) + 3 of row l/4 of matrix j (rows 8 j to 8 j + 7).
void ldmatrix_m8n16(uint32_t* const* d, const uint8_t* const* row, int count, int bits);
/// .m16n16.trans: register 2 j + h gets element l/4 + 8 h of rows 4 * (l%4) to 4 * (l%4) + 3 of matrix j (rows 16 j to 16 j + 15).
void ldmatrix_m16n16_trans(uint32_t* const* d, const uint8_t* const* row, int count, int bits);
/// stmatrix.m16n8.trans.b8: the fragment of D of an m16n8 product in bytes (rows l/4 and l/4 + 8, columns 2 * (l%4) and the next), one
/// register a matrix; a row in memory is a column of 16 bytes (CUTLASS copy_traits_sm100.hpp, SM100_U8x4_STSM_T).
void stmatrix_m16n8_trans(uint8_t* const* row, const uint32_t* const* a, int count);

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

/// One memory instruction of a fragment move: in every lane `bytes` consecutive bytes from element (row, col) on.
struct WmmaWideAccess {
  uint32_t bytes = 0;
  std::array<Element, 32> first;
};

/// The memory instructions of wmma.load and wmma.store on Volta, which has no ldmatrix and whose f16 fragments are those of
/// m8n8k4 on quad pairs: pair q computes the 8x8 block of D at (8 (q % 2), 8 (q / 2)), of a long matrix at 8 q (Raihan et al.,
/// ISPASS 2019, "Modeling Deep Learning Accelerator Enabled GPUs", for m16n16k16). Runs along memory, at most 16 bytes each.
std::vector<WmmaWideAccess> volta_wmma_accesses(MatrixShape shape, MatrixRole role, Type type, MatrixOrder order);

}  // namespace tcsim::isa
