#include "isa/layout/tensor_map.h"

#include <algorithm>
#include <cstring>

#include "isa/check.h"
#include "isa/layout/swizzle.h"

namespace tcsim::isa {
namespace {

struct TypeFacts {
  std::string_view name;
  TensorMapUnit unit;
  bool is_float;
  isa::Type element;
};

// In the order of TensorMap::Type. Packed types: 16 elements of 4 or 6 bits; _p64 and _p32 leave 8 and 4 bytes of every 16
// in shared memory empty (CUDA driver API, "CUtensorMapDataType").
constexpr std::array<TypeFacts, 16> kTypes{{
    {"u8", {1, 1, 1}, false, isa::Type::u8},
    {"u16", {1, 2, 2}, false, isa::Type::u16},
    {"u32", {1, 4, 4}, false, isa::Type::u32},
    {"s32", {1, 4, 4}, false, isa::Type::s32},
    {"u64", {1, 8, 8}, false, isa::Type::u64},
    {"s64", {1, 8, 8}, false, isa::Type::s64},
    {"f16", {1, 2, 2}, true, isa::Type::f16},
    {"f32", {1, 4, 4}, true, isa::Type::f32},
    {"f32.ftz", {1, 4, 4}, true, isa::Type::f32},
    {"f64", {1, 8, 8}, true, isa::Type::f64},
    {"bf16", {1, 2, 2}, true, isa::Type::bf16},
    {"tf32", {1, 4, 4}, true, isa::Type::tf32},
    {"tf32.ftz", {1, 4, 4}, true, isa::Type::tf32},
    {"b4x16", {2, 1, 1}, false, isa::Type::none},
    {"b4x16_p64", {16, 8, 16}, false, isa::Type::none},
    {"b6x16_p32", {16, 12, 16}, false, isa::Type::none},
}};
const TypeFacts& facts(TensorMap::Type type) { return kTypes[static_cast<size_t>(type)]; }

struct SwizzleFacts {
  std::string_view name;
  uint32_t span, repeat, alignment;
  Swizzle pattern;
};

// PTX ISA, "Swizzling Modes": the tables of 16-byte cells, the boundary at which the pattern starts again, and what the
// atomic sub-modes need. All XOR address bits from bit 7 up into the bits above the atom.
constexpr std::array<SwizzleFacts, 7> kSwizzles{{
    {"none", 0, 16, 16, kSwizzleNone},
    {"32B", 32, 256, 128, kSwizzle32B},
    {"64B", 64, 512, 128, kSwizzle64B},
    {"128B", 128, 1024, 128, kSwizzle128B},
    {"128B_atom_32B", 128, 512, 128, {2, 5, 2}},
    {"128B_atom_32B_flip_8B", 128, 512, 128, {2, 5, 2}},
    {"128B_atom_64B", 128, 256, 128, {1, 6, 1}},
}};
const SwizzleFacts& facts(TensorMap::Swizzling s) { return kSwizzles[static_cast<size_t>(s)]; }

// ---- the 128 bytes ----
//
// Fields of tiled maps lie where the chip has them: ptxas 13.0 turns each tensormap.replace for sm_90a into a load, a bit-field
// insertion and a store of these words. What no tensormap.replace writes (mode, promotion, im2col, atomicity of the swizzle) is
// not public; we keep it in bytes 64 and up, behind a tag. A map without the tag is the chip's or made on the device: tiled.

constexpr uint32_t kTagAt = 64, kModeAt = 68, kPromotionAt = 69, kAtomicityAt = 70, kChannelsAt = 72, kPixelsAt = 76, kCornersAt = 80;
constexpr std::array<uint8_t, 4> kTag{'t', 'c', 's', 'm'};

constexpr TensorMapField kRank{0x08, 4, 3}, kElemtype{0x08, 7, 4}, kInterleave{0x08, 11, 2}, kSwizzleMode{0x08, 13, 2}, kFillMode{0x08, 15, 1};
constexpr TensorMapField stride_low(uint32_t d) { return {0x0c + 4 * d, 0, 32}; }  // of stride / 16
constexpr TensorMapField stride_high(uint32_t d) { return {0x1c, 4 * d, 4}; }
constexpr TensorMapField dim_field(uint32_t d) { return {0x20 + 4 * d, 0, 32}; }                                                        // minus 1
constexpr TensorMapField element_stride_field(uint32_t d) { return {0x34, 3 * d, 3}; }                                                  // minus 1
constexpr TensorMapField box_field(uint32_t d) { return d == 0 ? TensorMapField{0x34, 24, 8} : TensorMapField{0x38, 8 * (d - 1), 8}; }  // minus 1

template <class T>
T load(std::span<const uint8_t> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <class T>
void store(std::span<uint8_t> bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

uint32_t get(std::span<const uint8_t> bytes, TensorMapField f) {
  return static_cast<uint32_t>(load<uint32_t>(bytes, f.word) >> f.shift & ((uint64_t{1} << f.bits) - 1));
}
void put(std::span<uint8_t> bytes, TensorMapField f, uint64_t value) {
  const auto mask = static_cast<uint32_t>((uint64_t{1} << f.bits) - 1);
  const uint32_t old = load<uint32_t>(bytes, f.word);
  store<uint32_t>(bytes, f.word, (old & ~(mask << f.shift)) | (static_cast<uint32_t>(value) & mask) << f.shift);
}

bool tagged(std::span<const uint8_t> bytes) { return std::equal(kTag.begin(), kTag.end(), bytes.begin() + kTagAt); }

TensorMap::Swizzling swizzling_of(uint32_t mode, uint32_t atomicity) {
  if (mode < 3 || atomicity == 0) return static_cast<TensorMap::Swizzling>(mode);
  return static_cast<TensorMap::Swizzling>(3 + std::min(atomicity, 3u));
}

}  // namespace

uint32_t TensorMap::count(int d) const {
  const auto i = static_cast<size_t>(d);
  if (d == 0) return box[0];  // "TMA doesn't support the stride for dimension zero" (but of slices)
  return (box[i] + element_strides[i] - 1) / element_strides[i];
}

uint32_t TensorMap::interleaved_slices() const {
  const uint32_t slice = interleave == Interleave::b32 ? 32 : 16, elements = mode == Mode::im2col ? channels : box[0];
  const uint32_t slices = (elements * unit_of(type).shared_bytes + slice - 1) / slice;
  return (slices + element_strides[0] - 1) / element_strides[0];
}

uint32_t TensorMap::row_bytes() const {
  if (interleave != Interleave::none) return interleaved_slices() * (interleave == Interleave::b32 ? 32 : 16);
  const TensorMapUnit unit = unit_of(type);
  return (mode == Mode::im2col ? channels : box[0]) / unit.elements * unit.shared_bytes;
}

uint32_t TensorMap::box_bytes() const {
  uint32_t bytes = row_bytes();
  if (mode == Mode::im2col) return bytes * pixels;
  for (int d = 1; d < rank; ++d) bytes *= count(d);
  return bytes;
}

TensorMapBytes TensorMap::encode() const {
  TensorMapBytes out{};
  store<uint64_t>(out, 0, address);
  put(out, kRank, rank - 1u);
  put(out, kElemtype, static_cast<uint64_t>(type));
  put(out, kInterleave, static_cast<uint64_t>(interleave));
  put(out, kSwizzleMode, std::min<uint32_t>(static_cast<uint32_t>(swizzle), 3));
  put(out, kFillMode, static_cast<uint64_t>(fill));
  for (uint32_t d = 0; d < kMaxRank; ++d) {
    put(out, dim_field(d), dims[d] - 1);
    put(out, element_stride_field(d), element_strides[d] - 1);
    put(out, box_field(d), box[d] - 1);
    if (d + 1 == kMaxRank) break;
    put(out, stride_low(d), strides[d] >> 4);
    put(out, stride_high(d), strides[d] >> 36);
  }
  std::copy(kTag.begin(), kTag.end(), out.begin() + kTagAt);
  out[kModeAt] = static_cast<uint8_t>(mode);
  out[kPromotionAt] = static_cast<uint8_t>(promotion);
  out[kAtomicityAt] = static_cast<uint8_t>(swizzle > Swizzling::b128 ? static_cast<int>(swizzle) - static_cast<int>(Swizzling::b128) : 0);
  store<uint32_t>(out, kChannelsAt, channels);
  store<uint32_t>(out, kPixelsAt, pixels);
  for (size_t i = 0; i < 3; ++i) {
    store<int32_t>(out, kCornersAt + 4 * i, lower[i]);
    store<int32_t>(out, kCornersAt + 12 + 4 * i, upper[i]);
  }
  return out;
}

TensorMap TensorMap::decode(std::span<const uint8_t, 128> bytes) {
  TensorMap map;
  const bool own = tagged(bytes);
  map.address = load<uint64_t>(bytes, 0);
  map.rank = static_cast<uint8_t>(get(bytes, kRank) + 1);
  map.type = static_cast<Type>(get(bytes, kElemtype));
  map.interleave = static_cast<Interleave>(get(bytes, kInterleave));
  map.swizzle = swizzling_of(get(bytes, kSwizzleMode), own ? bytes[kAtomicityAt] : 0u);
  map.fill = static_cast<Fill>(get(bytes, kFillMode));
  for (uint32_t d = 0; d < kMaxRank; ++d) {
    map.dims[d] = uint64_t{get(bytes, dim_field(d))} + 1;
    map.element_strides[d] = get(bytes, element_stride_field(d)) + 1;
    map.box[d] = get(bytes, box_field(d)) + 1;
    if (d + 1 == kMaxRank) break;
    map.strides[d] = (uint64_t{get(bytes, stride_low(d))} | uint64_t{get(bytes, stride_high(d))} << 32) << 4;
  }
  if (!own) return map;
  map.mode = bytes[kModeAt] == 0 ? Mode::tiled : Mode::im2col;
  map.promotion = static_cast<Promotion>(bytes[kPromotionAt] & 3);
  map.channels = load<uint32_t>(bytes, kChannelsAt);
  map.pixels = load<uint32_t>(bytes, kPixelsAt);
  for (size_t i = 0; i < 3; ++i) {
    map.lower[i] = load<int32_t>(bytes, kCornersAt + 4 * i);
    map.upper[i] = load<int32_t>(bytes, kCornersAt + 12 + 4 * i);
  }
  return map;
}

void replace_field(std::span<uint8_t, 128> bytes, TensorMapFieldName field, uint32_t ordinal, uint64_t value) {
  using F = TensorMapFieldName;
  TC_CHECK(ordinal < static_cast<uint32_t>(TensorMap::kMaxRank) - (field == F::global_stride ? 1 : 0), "ordinal {}", ordinal);
  switch (field) {
    case F::global_address: return store<uint64_t>(bytes, 0, value);
    case F::rank: return put(bytes, kRank, value);
    case F::box_dim: return put(bytes, box_field(ordinal), value - 1);
    case F::global_dim: return put(bytes, dim_field(ordinal), value - 1);
    case F::global_stride: put(bytes, stride_low(ordinal), value >> 4); return put(bytes, stride_high(ordinal), value >> 36);
    case F::element_stride: return put(bytes, element_stride_field(ordinal), value - 1);
    case F::elemtype: return put(bytes, kElemtype, value);
    case F::interleave_layout: return put(bytes, kInterleave, value);
    case F::swizzle_mode: return put(bytes, kSwizzleMode, value);
    case F::fill_mode: return put(bytes, kFillMode, value);
    case F::swizzle_atomicity:
      if (!tagged(bytes)) {  // nothing else of ours is there yet
        std::fill(bytes.begin() + kTagAt, bytes.end(), uint8_t{0});
        std::copy(kTag.begin(), kTag.end(), bytes.begin() + kTagAt);
      }
      bytes[kAtomicityAt] = static_cast<uint8_t>(value);
      return;
  }
}

TensorMapUnit unit_of(TensorMap::Type type) { return facts(type).unit; }
std::string_view name(TensorMap::Type type) { return facts(type).name; }
std::string_view name(TensorMap::Swizzling swizzle) { return facts(swizzle).name; }
std::string_view name(TensorMap::Interleave interleave) {
  constexpr std::array<std::string_view, 4> kNames{"none", "16B", "32B", "3"};
  return kNames[static_cast<size_t>(interleave) & 3];
}
bool is_float(TensorMap::Type type) { return facts(type).is_float; }
isa::Type element_type(TensorMap::Type type) { return facts(type).element; }

std::optional<TensorMap::Type> tensor_map_type(isa::Type type) {
  using isa::Type;
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (kTypes[i].element == type && type != Type::none) return static_cast<TensorMap::Type>(i);
  switch (type) {
    case Type::s8:
    case Type::b8:
    case Type::e4m3:
    case Type::e5m2:
    case Type::e3m2:
    case Type::e2m3:
    case Type::ue8m0:
    case Type::ue4m3: return TensorMap::Type::u8;
    case Type::s16:
    case Type::b16: return TensorMap::Type::u16;
    case Type::b32: return TensorMap::Type::u32;
    case Type::b64: return TensorMap::Type::u64;
    case Type::u4:
    case Type::s4:
    case Type::e2m1: return TensorMap::Type::b4x16;
    default: return std::nullopt;
  }
}

uint32_t swizzle_span(TensorMap::Swizzling swizzle) { return facts(swizzle).span; }
uint32_t swizzle_repeat(TensorMap::Swizzling swizzle) { return facts(swizzle).repeat; }
uint32_t shared_alignment(const TensorMap& map) { return facts(map.swizzle).alignment; }

uint32_t swizzled(TensorMap::Swizzling swizzle, uint32_t address) {
  const auto moved = static_cast<uint32_t>(facts(swizzle).pattern(address));
  // "a flip of adjacent 8 bytes within the 16-byte data at every alternate shared memory line" (of 128 bytes)
  return swizzle == TensorMap::Swizzling::b128_atom_32b_flip_8b ? moved ^ (address >> 7 & 1) << 3 : moved;
}

}  // namespace tcsim::isa
