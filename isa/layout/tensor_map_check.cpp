// The rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col (CUDA driver API, "Tensor Map Object Management").
#include <fmt/format.h>

#include "isa/layout/tensor_map.h"

namespace tcsim::isa {
namespace {

using Map = TensorMap;
constexpr uint64_t kMaxDim = uint64_t{1} << 32, kMaxStride = uint64_t{1} << 40;
constexpr uint32_t kMaxBox = 256, kMaxElementStride = 8, kMaxPixels = 1024, kPiece = 16;

class Checker {
 public:
  explicit Checker(const Map& map)
      : map_(map), unit_(unit_of(map.type)), padded_(map.type == Map::Type::b4x16_p64 || map.type == Map::Type::b6x16_p32) {}

  std::vector<std::string> run() {
    const int least = map_.mode == Map::Mode::im2col || map_.interleave != Map::Interleave::none ? 3 : 1;
    if (static_cast<uint32_t>(map_.interleave) > 2) bad(fmt::format("interleave {}, expected none, 16B or 32B", static_cast<int>(map_.interleave)));
    if (map_.rank < least || map_.rank > Map::kMaxRank) {
      bad(fmt::format("rank {}, expected {} to {}{}", map_.rank, least, Map::kMaxRank,
                      map_.mode == Map::Mode::im2col ? " for im2col"
                      : least == 3                   ? " with an interleaved layout"
                                                     : ""));
      return std::move(problems_);
    }
    address();
    dims();
    element_strides();
    if (map_.mode == Map::Mode::tiled) box();
    else im2col();
    modes();
    return std::move(problems_);
  }

 private:
  void bad(std::string text) { problems_.push_back(std::move(text)); }

  /// 32 for interleave 32B and the padded packed types, else 16.
  uint32_t granule() const { return map_.interleave == Map::Interleave::b32 || padded_ ? 32 : kPiece; }
  std::string reason() const {
    if (map_.interleave == Map::Interleave::b32) return " (interleave 32B)";
    return padded_ ? fmt::format(" ({})", name(map_.type)) : "";
  }

  void address() {
    if (map_.address % granule() != 0) bad(fmt::format("global address {:#x} is not a multiple of {} B{}", map_.address, granule(), reason()));
  }

  void dims() {
    for (int d = 0; d < map_.rank; ++d) {
      const uint64_t n = map_.dims[static_cast<size_t>(d)];
      if (n == 0 || n > kMaxDim) bad(fmt::format("dimension {} has {} elements, expected 1 to 2^32", d, n));
    }
    const uint64_t inner = map_.dims[0];
    if (padded_ && inner % 128 != 0) bad(fmt::format("dimension 0 has {} elements, expected a multiple of 128 for {}", inner, name(map_.type)));
    if (map_.type == Map::Type::b4x16 && inner % 2 != 0)
      bad(fmt::format("dimension 0 has {} elements, expected a multiple of 2 for {}", inner, name(map_.type)));
    for (int d = 1; d < map_.rank; ++d) {
      const uint64_t stride = map_.strides[static_cast<size_t>(d - 1)];
      if (stride % granule() != 0) bad(fmt::format("stride {} B of dimension {} is not a multiple of {} B{}", stride, d, granule(), reason()));
      if (stride >= kMaxStride) bad(fmt::format("stride {} B of dimension {}, expected less than 2^40 B", stride, d));
    }
  }

  void element_strides() {
    for (int d = map_.interleave == Map::Interleave::none ? 1 : 0; d < map_.rank; ++d) {
      const uint32_t step = map_.element_strides[static_cast<size_t>(d)];
      if (step == 0 || step > kMaxElementStride) bad(fmt::format("element stride {} of dimension {}, expected 1 to {}", step, d, kMaxElementStride));
    }
  }

  void box() {
    for (int d = 0; d < map_.rank; ++d) {
      const uint32_t n = map_.box[static_cast<size_t>(d)];
      if (n == 0 || n > kMaxBox) bad(fmt::format("box {} of dimension {}, expected 1 to {}", n, d, kMaxBox));
    }
    if (padded_ && map_.box[0] != 128) bad(fmt::format("box inner {}, expected 128 for {}", map_.box[0], name(map_.type)));
    inner("box inner", map_.box[0]);
  }

  void im2col() {
    struct Limits {
      int32_t low, high;
    };
    constexpr Limits kCorner[] = {{-32768, 32767}, {-128, 127}, {-16, 15}};
    const Limits limit = kCorner[map_.spatial() - 1];
    for (int i = 0; i < map_.spatial(); ++i) {
      const auto at = static_cast<size_t>(i);
      for (const auto& [what, value] : {std::pair{"lower", map_.lower[at]}, {"upper", map_.upper[at]}})
        if (value < limit.low || value > limit.high)
          bad(fmt::format("pixel box {} corner {} of {}, expected {} to {} for rank {}", what, value, "WHD"[i], limit.low, limit.high, map_.rank));
      const int64_t extent = static_cast<int64_t>(map_.dims[at + 1]) + map_.upper[at] - map_.lower[at];
      if (extent <= 0)
        bad(fmt::format("pixel box of {} runs from {} to {} + {} - 1: it is empty", "WHD"[i], map_.lower[at], map_.dims[at + 1], map_.upper[at]));
    }
    if (map_.channels == 0 || map_.channels > kMaxBox) bad(fmt::format("{} channels per pixel, expected 1 to {}", map_.channels, kMaxBox));
    if (padded_ && map_.channels != 128) bad(fmt::format("{} channels per pixel, expected 128 for {}", map_.channels, name(map_.type)));
    if (map_.pixels == 0 || map_.pixels > kMaxPixels) bad(fmt::format("{} pixels per column, expected 1 to {}", map_.pixels, kMaxPixels));
    inner("channels per pixel", map_.channels);
  }

  /// The innermost extent: whole 16-byte pieces, and no more than the swizzle's span.
  void inner(std::string_view what, uint32_t elements) {
    if (map_.interleave != Map::Interleave::none) return;
    const uint32_t bits = elements * unit_.shared_bytes * 8 / unit_.elements, bytes = bits / 8;
    const std::string size = unit_.elements == 1 ? fmt::format("{} {} x {} B = {} B", what, elements, unit_.shared_bytes, bytes)
                                                 : fmt::format("{} {} of {} = {} B", what, elements, name(map_.type), bytes);
    if (bytes % kPiece != 0 || elements % unit_.elements != 0) bad(fmt::format("{} is not a multiple of {} B", size, kPiece));
    if (const uint32_t span = swizzle_span(map_.swizzle); span != 0 && bytes > span)
      bad(fmt::format("{} exceeds the {} B span of swizzle {}", size, span, name(map_.swizzle)));
  }

  void modes() {
    using S = Map::Swizzling;
    if (map_.interleave == Map::Interleave::b32 && map_.swizzle != S::b32)
      bad(fmt::format("swizzle {} with interleave 32B, expected swizzle 32B", name(map_.swizzle)));
    if (map_.type == Map::Type::b6x16_p32 && map_.interleave != Map::Interleave::none)
      bad(fmt::format("interleave {} with {}, expected none", name(map_.interleave), name(map_.type)));
    const bool wide = map_.swizzle == S::none || map_.swizzle == S::b128 || map_.swizzle == S::b128_atom_32b ||
                      (map_.swizzle == S::b128_atom_64b && map_.type == Map::Type::b6x16_p32);
    if (padded_ && !wide) bad(fmt::format("swizzle {} with {}, expected none, 128B or 128B_atom_32B", name(map_.swizzle), name(map_.type)));
    if (map_.fill == Map::Fill::nan && !is_float(map_.type))
      bad(fmt::format("out-of-bounds fill nan with elements of type {}, expected a floating-point type", name(map_.type)));
  }

  const Map& map_;
  TensorMapUnit unit_;
  bool padded_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> TensorMap::check() const { return Checker(*this).run(); }

}  // namespace tcsim::isa
