#include "isa/layout/tensor_memory_layout.h"

#include <cstring>

namespace tcsim::isa {

std::optional<TensorShape> tensor_shape_named(std::string_view name) {
  for (size_t i = 0; i < kTensorShapeNames.size(); ++i)
    if (kTensorShapeNames[i] == name) return static_cast<TensorShape>(i);
  return std::nullopt;
}

std::array<uint8_t, 16> decompress(TensorDecompress format, const uint8_t* from) {
  std::array<uint8_t, 16> to{};
  switch (format) {
    case TensorDecompress::none: std::memcpy(to.data(), from, to.size()); break;
    case TensorDecompress::b4x16_p64:
      for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<uint8_t>((from[i / 2] >> (4 * (i % 2)) & 0xf) << 2);
      break;
    case TensorDecompress::b6x16_p32:
      for (size_t i = 0; i < to.size(); ++i) {
        const size_t bit = 6 * i;
        const uint32_t two = from[bit / 8] | static_cast<uint32_t>(from[bit / 8 + 1]) << 8;  // the last element ends in byte 11
        to[i] = static_cast<uint8_t>(two >> (bit % 8) & 0x3f);
      }
      break;
  }
  return to;
}

}  // namespace tcsim::isa
