// Which lane, register and bits hold which matrix element: every fragment of mma.sync, mma.sp, wmma and wgmma, written once.
//
//   const FragmentMap* map = find_fragment("mma.m16n8k16.f16", MatrixRole::a);
//   map->element(5, 1, 0)      -> row 9, col 2      (lane 5, register 1, lower half)
//   map->homes(9, 3)           -> {lane 5, register 1, bit 16}
//
// The rule itself is element_at(): a constexpr function of a few numbers (FragmentSpec). Tables, execution, `tcsim layout` and
// the docs are all derived from it. Sources: PTX ISA, "Matrix Fragments for mma.m16n8k16" and its sister sections; wmma layouts
// are opaque in PTX and were read back on an H200 (validation/measure/mma_bits).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/numeric/generation.h"
#include "isa/type.h"

namespace tcsim::isa {

/// A matrix element. tile: which of the independent matrices (Volta's m8n8k4 computes four, one a quad pair), else 0.
struct Element {
  int16_t row = 0, col = 0, tile = 0;
  constexpr bool operator==(const Element&) const = default;
};

/// Where an element lives. bit: lowest bit in the register (64-bit registers count as one register of 64 bits). warp: of the
/// warpgroup (wgmma), else 0.
struct Home {
  uint8_t lane = 0, reg = 0, bit = 0, warp = 0;
  constexpr bool operator==(const Home&) const = default;
};

/// The whole map in a few numbers.
struct FragmentSpec {
  enum class Kind : uint8_t {
    core,         // operand A: 8 rows x 4 lanes of one register each ("core matrix" of 8 rows x 16 bytes)
    accumulator,  // C and D: 8 rows x 4 lanes of two neighbouring columns each
    volta_a_row,
    volta_a_col,
    volta_b_row,
    volta_b_col,
    volta_acc16,
    volta_acc32  // m8n8k4 on quad pairs
  };
  Kind kind = Kind::core;
  int16_t rows = 0, cols = 0;     // of the stored matrix, before `transposed`
  int16_t tile_rows = 16;         // rows of one mma tile: registers of a tile are consecutive
  bool tiles_along_cols = false;  // accumulator: next tile is 8 columns on, not tile_rows rows down
  bool transposed = false;        // operand B (and the accumulator of wmma m8n32): the same map with row and col exchanged
  int8_t element_bits = 16, register_bits = 32;
  int8_t warps = 1;       // wgmma: warp w has rows 16 w to 16 w + 15 of the matrix, by the same map; rows: those of all warps
  int16_t registers = 0;  // registers a lane
  int8_t distinct = 0;    // registers beyond these repeat the first ones (wmma .f16 operands on sm_75 and later)
  constexpr int per_register() const { return register_bits / element_bits; }
  constexpr int tiles() const { return kind >= Kind::volta_a_row ? 4 : 1; }
};

namespace detail {
constexpr Element core_element(const FragmentSpec& f, int lane, int reg, int sub) {
  const int per_lane = f.per_register(), blocks = f.tile_rows / 8, width = 4 * per_lane;
  const int per_tile = blocks * (f.cols / width), tile = reg / per_tile, r = reg % per_tile;
  return {static_cast<int16_t>(tile * f.tile_rows + (r % blocks) * 8 + lane / 4),
          static_cast<int16_t>((r / blocks) * width + (lane % 4) * per_lane + sub), 0};
}
constexpr Element accumulator_element(const FragmentSpec& f, int lane, int reg, int sub) {
  const int i = reg * f.per_register() + sub, per_tile = f.tile_rows / 4, tile = i / per_tile, j = i % per_tile;
  const int row = (j / 2) * 8 + lane / 4, col = 2 * (lane % 4) + (j & 1);
  return {static_cast<int16_t>(row + (f.tiles_along_cols ? 0 : tile * f.tile_rows)), static_cast<int16_t>(col + (f.tiles_along_cols ? tile * 8 : 0)),
          0};
}
// PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type". Quad pair q is lanes 4q..4q+3 and 4q+16..4q+19.
constexpr Element volta_element(const FragmentSpec& f, int lane, int reg, int sub) {
  using K = FragmentSpec::Kind;
  const int i = reg * f.per_register() + sub, high = lane >= 16 ? 4 : 0, t = lane % 4;
  int row = 0, col = 0;
  switch (f.kind) {
    case K::volta_a_row:
      row = t + high;
      col = i;
      break;
    case K::volta_a_col:
      row = i + high;
      col = t;
      break;
    case K::volta_b_row:
      row = t;
      col = i + high;
      break;
    case K::volta_b_col:
      row = i;
      col = t + high;
      break;
    case K::volta_acc16:
      row = t + high;
      col = i;
      break;
    default:
      row = (lane & 1) + (i & 2) + high;
      col = (i & 4) + (lane & 2) + (i & 1);
      break;
  }
  return {static_cast<int16_t>(row), static_cast<int16_t>(col), static_cast<int16_t>((lane % 16) / 4)};
}
}  // namespace detail

/// The element in bits [sub * element_bits, ...) of a lane's register. This is the only place where a map is written down.
constexpr Element element_at(const FragmentSpec& f, int lane, int reg, int sub, int warp = 0) {
  if (f.distinct > 0) reg %= f.distinct;
  Element e = f.kind == FragmentSpec::Kind::core          ? detail::core_element(f, lane, reg, sub)
              : f.kind == FragmentSpec::Kind::accumulator ? detail::accumulator_element(f, lane, reg, sub)
                                                          : detail::volta_element(f, lane, reg, sub);
  e.row = static_cast<int16_t>(e.row + warp * (f.rows / f.warps));
  return f.transposed ? Element{e.col, e.row, e.tile} : e;
}

/// True if a matrix instruction with A of type `a` may have C and D of type `acc`.
bool accumulates_in(Type a, Type acc);

/// .e2m1 two a byte (.kind::mxf4 and mxf4nvf4), not in 8-bit containers (.kind::f8f6f4 and mxf8f6f4): K tells which.
bool is_packed_e2m1(MatrixFamily family, MatrixShape shape, Type type);

/// wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"): K of one instruction (0: none for .b1 sparse), and
/// whether a shape exists for a type of A.
int wgmma_k(Type a, bool sparse);
bool wgmma_shape_exists(MatrixShape shape, Type a, bool sparse);

/// Map of one operand. Sparse A: cols are the K/2 stored elements of a row; the matrix column comes from the metadata.
/// order matters for m8n8k4 f16 on quad pairs only. nullopt: the instruction does not exist.
std::optional<FragmentSpec> fragment_spec(MatrixFamily family, MatrixShape shape, MatrixRole role, Type type, MatrixOrder order);

/// Sparsity metadata of mma.sp (PTX ISA, "Sparse matrix storage"): where the 4 bits of chunk `chunk` (two indices of two bits) of
/// a row are. chunks_per_row = K/4 (K/2 for .tf32, K/8 for 4-bit types); wide: 16-bit and .tf32 elements.
/// The PTX figures give this as pictures; the formula reproduces every mma.sp result captured on an H200.
constexpr Home metadata_home(bool wide, int chunks_per_row, int selector, int row, int chunk) {
  const int q = chunk / 4, high = row / 8, group = row % 8;
  int thread = 0, half = 0;
  if (chunks_per_row == 4) thread = selector, half = high;        // one lane in four: rows r and r+8 share its word
  else if (wide) thread = 2 * selector + q, half = high;          // two lanes: four chunks of both rows each
  else thread = 2 * selector + high + 2 * (q / 2), half = q % 2;  // two or four lanes: eight chunks of one row each
  return {static_cast<uint8_t>(group * 4 + thread), 0, static_cast<uint8_t>(half * 16 + (chunk % 4) * 4)};
}

/// A spec with its inverse.
class FragmentMap {
 public:
  explicit FragmentMap(const FragmentSpec& spec);

  const FragmentSpec& spec() const { return spec_; }
  int rows() const { return spec_.transposed ? spec_.cols : spec_.rows; }
  int cols() const { return spec_.transposed ? spec_.rows : spec_.cols; }
  int tiles() const { return spec_.tiles(); }
  int warps() const { return spec_.warps; }
  int registers() const { return spec_.registers; }
  int register_bits() const { return spec_.register_bits; }
  int element_bits() const { return spec_.element_bits; }
  int per_register() const { return spec_.per_register(); }

  Element element(int lane, int reg, int sub, int warp = 0) const { return element_at(spec_, lane, reg, sub, warp); }
  /// Every home of an element, lowest register first (more than one for wmma .f16 operands).
  std::span<const Home> homes(int row, int col, int tile = 0) const;
  Home home(int row, int col, int tile = 0) const { return homes(row, col, tile).front(); }

 private:
  FragmentSpec spec_;
  int copies_ = 1;
  std::vector<Home> homes_;
};

/// By the name `tcsim layout` uses: "mma.m16n8k16.f16", "mma.m8n8k4.f16[.col]", "mma.sp.m16n8k32.f16", "wmma.m16n16k16.f16",
/// "wgmma.m64n128k16.f16", "wgmma.sp.m64n128k32.f16". The type is A's type; for C and D of f16 and fp8 instructions
/// `accumulator` chooses .f16 or .f32 (ignored otherwise). nullopt also for B of wgmma, which is never in registers.
std::optional<FragmentMap> find_fragment(std::string_view instruction, MatrixRole role, Type accumulator = Type::f32);

/// Every name find_fragment knows, in the order of the PTX manual.
std::vector<std::string> fragment_names();

}  // namespace tcsim::isa
