// Where the elements of a tensor map's box lie in shared memory (tiled maps without interleave; PTX ISA, "Tensors").
//   box_place(map, {9, 3}, 0)   -> byte and bit of element 9 of row 3 of a box that starts at address 0
#pragma once
#include <array>
#include <cstdint>

#include "isa/layout/tensor_map.h"

namespace tcsim::isa {

struct BoxPlace {
  uint32_t byte = 0;
  uint8_t bit = 0;  // elements of 4 and 6 bits
  uint8_t bits = 0;
};

/// index: element of the box in each dimension, innermost first, counted in elements taken. The box starts at shared address `base`: the
/// pattern of a swizzle is one of addresses, not of offsets in the box.
inline BoxPlace box_place(const TensorMap& map, const std::array<uint32_t, TensorMap::kMaxRank>& index, uint32_t base) {
  const TensorMapUnit unit = unit_of(map.type);
  uint32_t row = 0;
  for (int d = map.rank - 1; d >= 1; --d) row = row * map.count(d) + index[static_cast<size_t>(d)];
  const uint32_t width = unit.global_bytes * 8 / unit.elements, bit = index[0] % unit.elements * width;
  const uint32_t linear = base + row * map.row_bytes() + index[0] / unit.elements * unit.shared_bytes + bit / 8;
  return {swizzled(map.swizzle, linear), static_cast<uint8_t>(bit % 8), static_cast<uint8_t>(width)};
}

}  // namespace tcsim::isa
