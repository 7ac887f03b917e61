// Initial contents of buffers. Random contents are a pure function of (seed, element index), by integer
// arithmetic only, so that they are the same on every host, compiler and number of threads:
//   mix(x)      the finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
//   generators", 2014) word(s,i,k) mix(mix(s) + 8 i + k)          64 bits; k-th draw of element i uniform
//   floating: word >> 11 scaled to [-1, 1); integers: the low bits of word, the whole range of the type
//   normal      sum of twelve 32-bit uniforms (six words) minus 6: mean 0, variance 1, within +-6
//   integers    -3..3 (unsigned 0..3, b1 0..1, ue8m0 powers of two 1..8): GEMMs over them are exact
//   iota        the index modulo the first integer that the type cannot hold exactly
// Floating values are then rounded to the buffer's type, to nearest even.
#pragma once
#include <cstdint>
#include <span>

#include "tools/launch/launch_file.h"

namespace tcsim::launch {

uint64_t random_word(uint64_t seed, uint64_t index, uint32_t draw);

/// Bits of element `index` under one of the computed kinds (not poison, not file).
uint64_t initial_bits(Init init, isa::Type dtype, uint64_t seed, uint64_t index);

/// Writes all elements of the buffer's shape at their strides; bytes holds buffer.bytes() bytes, zeroed.
void fill(const BufferSpec& buffer, uint64_t seed, std::span<uint8_t> bytes);

/// Calls visit(dense index, strided index) for every element of the shape, in row-major order.
template <class F>
void for_elements(const BufferSpec& buffer, F&& visit) {
  const size_t rank = buffer.shape.size();
  std::vector<int64_t> at(rank, 0);
  const uint64_t count = buffer.elements();
  const uint64_t row = static_cast<uint64_t>(buffer.shape.back()), step = static_cast<uint64_t>(buffer.strides.back());
  for (uint64_t dense = 0; dense < count; dense += row) {
    uint64_t base = 0;
    for (size_t d = 0; d + 1 < rank; ++d) base += static_cast<uint64_t>(at[d]) * static_cast<uint64_t>(buffer.strides[d]);
    for (uint64_t i = 0; i < row; ++i) visit(dense + i, base + i * step);
    for (size_t d = rank - 1; d-- > 0;) {
      if (++at[d] < buffer.shape[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace tcsim::launch
