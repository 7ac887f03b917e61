// The tensor map: what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col describe, its rules, and its 128 bytes.
//
//   TensorMap map;
//   map.rank = 2; map.type = TensorMap::Type::f16; map.address = a; map.dims = {k, m}; map.strides = {2 * k};
//   map.box = {64, 128}; map.swizzle = TensorMap::Swizzling::b128;
//   for (const std::string& problem : map.check()) ...        // empty: all rules hold
//   TensorMapBytes bytes = map.encode();                      // decode(bytes) == map
//
// Dimensions are innermost first throughout; strides, the address and what the functions return as bytes are in bytes.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/type.h"

namespace tcsim::isa {

using TensorMapBytes = std::array<uint8_t, 128>;

struct TensorMap {
  static constexpr int kMaxRank = 5;

  // The enumerators have the values that tensormap.replace takes (PTX ISA, "tensormap.replace", table of new_val).
  enum class Type : uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f32_ftz, f64, bf16, tf32, tf32_ftz, b4x16, b4x16_p64, b6x16_p32 };
  enum class Interleave : uint8_t { none, b16, b32 };
  enum class Swizzling : uint8_t { none, b32, b64, b128, b128_atom_32b, b128_atom_32b_flip_8b, b128_atom_64b };
  enum class Fill : uint8_t { zeros, nan };
  enum class Promotion : uint8_t { none, b64, b128, b256 };
  enum class Mode : uint8_t { tiled, im2col };

  Mode mode = Mode::tiled;
  Type type = Type::u8;
  Interleave interleave = Interleave::none;
  Swizzling swizzle = Swizzling::none;
  Fill fill = Fill::zeros;
  Promotion promotion = Promotion::none;
  uint8_t rank = 1;
  uint64_t address = 0;
  std::array<uint64_t, kMaxRank> dims{1, 1, 1, 1, 1};  // elements
  std::array<uint64_t, kMaxRank - 1> strides{};        // of dimension 1 and up
  std::array<uint32_t, kMaxRank> box{1, 1, 1, 1, 1};   // tiled: elements
  std::array<uint32_t, kMaxRank> element_strides{1, 1, 1, 1, 1};
  std::array<int32_t, 3> lower{}, upper{};  // im2col: corners of the pixel box, W, H, D
  uint32_t channels = 1, pixels = 1;        // im2col: per pixel, per column

  bool operator==(const TensorMap&) const = default;

  /// Every rule of the driver API that the map breaks, with the numbers.
  std::vector<std::string> check() const;

  TensorMapBytes encode() const;
  static TensorMap decode(std::span<const uint8_t, 128> bytes);

  /// Spatial dimensions of an im2col map.
  int spatial() const { return rank - 2; }
  /// Elements that a copy takes along dimension d: ceil(box / element stride); im2col: channels and pixels.
  uint32_t count(int d) const;
  /// Interleaved layouts: slices of 16 or 32 bytes of channels that a copy takes.
  uint32_t interleaved_slices() const;
  /// Bytes in shared memory of one row of the box (dimension 0, or the channels of one pixel), and of the whole box.
  uint32_t row_bytes() const;
  uint32_t box_bytes() const;
};

/// What the packed types share with the others: `elements` neighbours take global and shared bytes.
struct TensorMapUnit {
  uint32_t elements, global_bytes, shared_bytes;
};
TensorMapUnit unit_of(TensorMap::Type type);
std::string_view name(TensorMap::Type type);
std::string_view name(TensorMap::Swizzling swizzle);  // "128B", as in the launch file
std::string_view name(TensorMap::Interleave interleave);
bool is_float(TensorMap::Type type);
/// The map's type for elements of a PTX type; fp8 and 8-bit integers are u8. nullopt: has none.
std::optional<TensorMap::Type> tensor_map_type(isa::Type type);
/// The PTX type of a reduction on the map's elements.
isa::Type element_type(TensorMap::Type type);

/// Bytes within which pieces move, and the distance in which the pattern repeats (the alignment at which offsets in the
/// pattern count from the start of the box); 0 and 16 for none.
uint32_t swizzle_span(TensorMap::Swizzling swizzle);
uint32_t swizzle_repeat(TensorMap::Swizzling swizzle);
/// Alignment that a copy's shared-memory address needs.
uint32_t shared_alignment(const TensorMap& map);
/// Address of a shared-memory byte under the pattern; acts on absolute addresses. Keeps 16-byte pieces together, 8-byte
/// ones for flip_8b.
uint32_t swizzled(TensorMap::Swizzling swizzle, uint32_t address);

/// Where tensormap.replace writes: `bits` bits from bit `shift` of the 32-bit word at `word`.
struct TensorMapField {
  uint32_t word, shift, bits;
};
enum class TensorMapFieldName : uint8_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  swizzle_atomicity,
  fill_mode
};
/// Writes a field as tensormap.replace does (`value` as the instruction takes it). ordinal: the dimension.
void replace_field(std::span<uint8_t, 128> bytes, TensorMapFieldName field, uint32_t ordinal, uint64_t value);

}  // namespace tcsim::isa
