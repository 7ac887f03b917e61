// Where tcgen05.ld and tcgen05.st put Tensor Memory into registers, and which lanes tcgen05.cp writes.
//
//   const TensorFragment f{TensorShape::s16x256b, 2};    // tcgen05.ld.16x256b.x2
//   f.cell(5, 3)      -> lane 9, column 3                // register 3 of lane 5 of the warp, relative to taddr
//   f.home(9, 3)      -> lane 5, register 3, bit 0
//
// Sources: PTX ISA, "Data Movement Shape" (figures "Matrix Fragment for shape ...") and "Packing and Unpacking"; the same maps
// are Copy_Traits<SM100_TMEM_LOAD_...> of CUTLASS (cute/atom/copy_traits_sm100.hpp). Columns are 32 bits wide.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tcsim::isa {

enum class TensorShape : uint8_t { s32x32b, s16x64b, s16x128b, s16x256b, s16x32bx2 };
constexpr std::array<std::string_view, 5> kTensorShapeNames = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
std::optional<TensorShape> tensor_shape_named(std::string_view name);

/// A place in Tensor Memory relative to taddr: 32 bits, or the low 16 of them with .pack::16b and .unpack::16b.
struct TensorCell {
  uint16_t lane = 0, column = 0;
  constexpr bool operator==(const TensorCell&) const = default;
};

/// bit: lowest bit in the register.
struct TensorHome {
  uint8_t lane = 0, reg = 0, bit = 0;
  constexpr bool operator==(const TensorHome&) const = default;
};

/// The registers of one warp.
struct TensorFragment {
  TensorShape shape = TensorShape::s32x32b;
  uint16_t repeats = 1;     // .num
  bool packed = false;      // .pack::16b, .unpack::16b
  uint16_t half_split = 0;  // immHalfSplitoff of .16x32bx2, columns

  /// .num goes up to 128 registers a lane.
  constexpr bool exists() const { return repeats > 0 && repeats <= 128 && (repeats & (repeats - 1)) == 0 && registers() <= 128; }
  constexpr uint32_t registers_each() const { return shape == TensorShape::s16x256b ? 4 : shape == TensorShape::s16x128b ? 2 : 1; }
  constexpr uint32_t registers() const { return registers_each() * repeats; }
  constexpr uint32_t lanes() const { return shape == TensorShape::s32x32b ? 32 : 16; }
  /// Elements in a register: 2 when packed.
  constexpr uint32_t per_register() const { return packed ? 2 : 1; }
  /// Columns of an access: there are two of them with .16x32bx2, half_split columns apart, else one.
  constexpr uint32_t accesses() const { return shape == TensorShape::s16x32bx2 ? 2 : 1; }
  constexpr uint32_t columns() const {
    constexpr uint32_t kEach[] = {1, 2, 4, 8, 1};
    return kEach[static_cast<size_t>(shape)] * repeats * per_register();
  }

  constexpr TensorCell cell(uint32_t lane, uint32_t reg, uint32_t half = 0) const {
    uint32_t row = 0, column = 0, split = 0;
    switch (shape) {
      case TensorShape::s32x32b: row = lane, column = reg; break;
      case TensorShape::s16x32bx2: row = lane % 16, column = reg, split = lane / 16 * half_split; break;
      case TensorShape::s16x64b: row = lane / 4 + 8 * (lane % 2), column = lane / 2 % 2 + 2 * reg; break;
      case TensorShape::s16x128b: row = lane / 4 + 8 * (reg % 2), column = lane % 4 + 4 * (reg / 2); break;
      case TensorShape::s16x256b: row = lane / 4 + 8 * (reg / 2 % 2), column = reg % 2 + 2 * (lane % 4) + 8 * (reg / 4); break;
    }
    return {static_cast<uint16_t>(row), static_cast<uint16_t>(column * per_register() + half + split)};
  }

  /// The register that holds a cell; nullopt: none does. Where the two accesses of .16x32bx2 overlap, the first one's.
  constexpr std::optional<TensorHome> home(uint32_t row, uint32_t column) const {
    if (row >= lanes()) return std::nullopt;
    uint32_t upper = 0;
    if (column >= columns()) {
      if (accesses() == 1 || column < half_split || column - half_split >= columns()) return std::nullopt;
      column -= half_split;
      upper = 16;
    }
    const uint32_t half = column % per_register(), c = column / per_register();
    uint32_t lane = 0, reg = 0;
    switch (shape) {
      case TensorShape::s32x32b: lane = row, reg = c; break;
      case TensorShape::s16x32bx2: lane = row + upper, reg = c; break;
      case TensorShape::s16x64b: lane = row % 8 * 4 + row / 8 + c % 2 * 2, reg = c / 2; break;
      case TensorShape::s16x128b: lane = row % 8 * 4 + c % 4, reg = row / 8 + c / 4 * 2; break;
      case TensorShape::s16x256b: lane = row % 8 * 4 + c / 2 % 4, reg = c % 2 + row / 8 * 2 + c / 8 * 4; break;
    }
    return TensorHome{static_cast<uint8_t>(lane), static_cast<uint8_t>(reg), static_cast<uint8_t>(16 * half)};
  }
};

/// tcgen05.cp: rows of `words()` neighbouring columns, each row written to one, two or four lanes.
enum class TensorCopyShape : uint8_t { s128x256b, s4x256b, s128x128b, s64x128b_02_13, s64x128b_01_23, s32x128b };

struct TensorCopyLayout {
  TensorCopyShape shape = TensorCopyShape::s128x256b;

  constexpr uint32_t rows() const {
    constexpr uint32_t kRows[] = {128, 4, 128, 64, 64, 32};
    return kRows[static_cast<size_t>(shape)];
  }
  constexpr uint32_t words() const { return shape == TensorCopyShape::s128x256b || shape == TensorCopyShape::s4x256b ? 8 : 4; }
  /// Copies of a row: .warpx2 2, .warpx4 4.
  constexpr uint32_t copies() const {
    constexpr uint32_t kCopies[] = {1, 1, 1, 2, 2, 4};
    return kCopies[static_cast<size_t>(shape)];
  }
  /// Lane of copy `copy` of a row, relative to taddr. Warp w owns lanes 32 w to 32 w + 31: .02_13 gives warps 0 and 2 rows 0 to
  /// 31 and warps 1 and 3 the others, .01_23 warps 0 and 1 the first rows. Rows of .4x256b go to the first lane of each warp.
  constexpr uint32_t lane(uint32_t row, uint32_t copy) const {
    switch (shape) {
      case TensorCopyShape::s4x256b: return 32 * row;
      case TensorCopyShape::s64x128b_02_13: return row + 64 * copy;
      case TensorCopyShape::s64x128b_01_23: return row % 32 + row / 32 * 64 + 32 * copy;
      case TensorCopyShape::s32x128b: return row + 32 * copy;
      default: return row;
    }
  }
};

/// .b8x16.<source>: 16 elements in each 16 bytes of shared memory (their padding last) become 16 bytes of Tensor Memory.
enum class TensorDecompress : uint8_t { none, b6x16_p32, b4x16_p64 };

/// 6-bit elements fill bits 0 to 5 of their byte, 4-bit ones bits 2 to 5 (PTX ISA, "Optional Decompression").
std::array<uint8_t, 16> decompress(TensorDecompress format, const uint8_t* sixteen_bytes);

}  // namespace tcsim::isa
