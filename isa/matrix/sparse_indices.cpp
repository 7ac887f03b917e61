#include "isa/matrix/sparse_indices.h"

#include "isa/layout/fragment.h"

namespace tcsim::isa {

SparseIndices::SparseIndices(Type a, int m, int k, int selector, Emulation emulation) {
  const bool four_bit = chooses_pairs(a, k), tf32 = a == Type::tf32, wide = tf32 || a == Type::f16 || a == Type::bf16;
  const int chunks = chunks_per_row(a, k), count = k / 2, stored = count / chunks, chunk_width = k / chunks;
  index_up_ = four_bit ? 1 : 0;
  index_down_ = tf32 ? 1 : 0;
  elements_.resize(static_cast<size_t>(m * count));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < count; ++j) {
      const Home home = metadata_home(wide, chunks, selector, i, j / stored);
      const int s = j % stored, pair = four_bit ? s / 2 : s;
      elements_[static_cast<size_t>(i * count + summation_place(emulation, j, count))] = {
          home.lane, static_cast<uint8_t>(home.bit + 2 * pair), static_cast<uint16_t>(j / stored * chunk_width + (four_bit ? s % 2 : 0))};
    }
}

void SparseIndices::rows(const uint32_t* metadata, uint16_t* rows) const {
  for (size_t i = 0; i < elements_.size(); ++i) {
    const Element& e = elements_[i];
    rows[i] = static_cast<uint16_t>(e.base + ((((metadata[e.lane] >> e.bit) & 3u) << index_up_) >> index_down_));
  }
}

}  // namespace tcsim::isa
