// Sparsity metadata of a warp's 16 rows of A: which row of B each stored element meets. Internal to isa/matrix.
#pragma once
#include <cstdint>
#include <vector>

#include "isa/numeric/tensor_core.h"

namespace tcsim::isa {

/// Chunks of sparsity metadata in a row of A: 4 bits each. k: of the instruction.
constexpr bool chooses_pairs(Type a, int k) { return a == Type::s4 || a == Type::u4 || (a == Type::e2m1 && k == 128); }  // of 4-bit elements
constexpr int chunks_per_row(Type a, int k) { return a == Type::tf32 ? k / 2 : chooses_pairs(a, k) ? k / 8 : k / 4; }

/// Position of k in the order of summation: Hopper and Blackwell run fp8 of mma.sync as two f16 steps, the lower pair of every
/// register first.
constexpr int summation_place(Emulation emulation, int k, int count) {
  if (emulation != Emulation::fp8_pairs) return k;
  return (k % 4) / 2 * (count / 2) + k / 4 * 2 + k % 2;
}

class SparseIndices {
 public:
  SparseIndices() = default;
  /// m rows of K = k (k / 2 stored elements, in the order of summation).
  SparseIndices(Type a, int m, int k, int selector, Emulation emulation);

  bool empty() const { return elements_.empty(); }
  size_t size() const { return elements_.size(); }
  /// Rows of B that the stored elements meet, [m][k / 2]; metadata: the 32 lanes of the metadata register.
  void rows(const uint32_t* metadata, uint16_t* rows) const;

 private:
  /// Lane and bit of the element's two-bit index, and the first row of B of its chunk.
  struct Element {
    uint8_t lane, bit;
    uint16_t base;
  };
  std::vector<Element> elements_;
  int index_up_ = 0, index_down_ = 0;  // an index counts pairs of 4-bit elements, or halves of tf32 elements
};

}  // namespace tcsim::isa
