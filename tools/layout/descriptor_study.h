// Questions about one matrix descriptor: do elements of the operand share an address, and does TMA write what it reads.
//
//   DescribedOperand a{decode_wgmma_descriptor(0x4000002000010000), Major::k, 64, 2};   // SBO 512 with 128-byte rows
//   find_overlap(a)              -> 224 of 512 pieces; row 4 and row 8 both begin at 0x240
//   compare_with_tma(a, b128, 0) -> elements that lie elsewhere than in the boxes that TMA wrote
//
// A line is a row (K-major) or one k (MN-major), as in isa::MatrixAddress. Addresses and lengths are bytes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "isa/layout/matrix_descriptor.h"
#include "isa/layout/tensor_map.h"

namespace tcsim::layout {

/// The number in "0x4000004000010000", at most `bits` bits. Decimal is refused: hexadecimal digits without 0x look like it.
std::optional<uint64_t> parse_descriptor(const std::string& text, int bits, std::string& error);

/// What one instruction reads: `mn` rows or columns by 32 bytes of K.
struct DescribedOperand {
  isa::MatrixDescriptor d;
  isa::Major major = isa::Major::k;
  int mn = 64, element_bytes = 2;

  static constexpr uint32_t kSliceBytes = 32;  // of K, for every type
  uint32_t lines() const { return static_cast<uint32_t>(major == isa::Major::k ? mn : static_cast<int>(kSliceBytes) / element_bytes); }
  /// Bytes of a line. Swizzled K-major: a whole row of the pattern, of which the next instructions along K read the rest.
  uint32_t line_bytes() const {
    return major == isa::Major::mn ? static_cast<uint32_t>(mn * element_bytes) : d.swizzle_bytes ? d.swizzle_bytes : kSliceBytes;
  }
};

struct Overlap {
  uint32_t shared = 0, total = 0;               // pieces of 16 bytes that lie where another one does, of all
  uint32_t line[2] = {0, 0}, byte[2] = {0, 0};  // the first two that meet
  uint32_t address = 0;
};
Overlap find_overlap(const DescribedOperand& o);

/// TMA's boxes: rows as long as the swizzle's span (none: 16 bytes), side by side along the contiguous index.
struct TmaComparison {
  uint32_t wrong = 0, total = 0, line = 0, byte = 0;  // elements that lie elsewhere; the first of them
  uint32_t boxes = 1, row_bytes = 0, box_rows = 0;
  bool assumed = false;  // box_rows follows from the descriptor itself
};
/// box_rows: of one box; 0: as many as the distance in the descriptor between neighbouring boxes has room for.
TmaComparison compare_with_tma(const DescribedOperand& o, isa::TensorMap::Swizzling written, uint32_t box_rows);

}  // namespace tcsim::layout
