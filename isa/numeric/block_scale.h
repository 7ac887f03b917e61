// Block-scaled products: D = (A * scale_A) * (B * scale_B) + C, as mma.sync and tcgen05.mma compute them.
//
//   const BlockScaleArith& arith = kMxf4Arith;
//   uint32_t d = block_scaled_dot(arith, Type::e2m1, Type::e2m1, Type::ue8m0, a, b, 64, scale_a, scale_b, 2, c);
//
// Two rules (MMA-Sim, arXiv 2511.10909; no published hardware vector confirms them):
//   mxf8f6f4          one scale a row and a column: its exponents are added to every product's; then the ordinary sum of
//                     32 products (tensor_core.h): F = 25
//   mxf4, mxf4nvf4    groups of 16 products are summed exactly; a group's term is that sum times both scales' significands, at
//                     the exponent of the scales alone (not renormalised); the four terms and C are aligned and cut at F = 35
// Both give f32, cut toward zero. A NaN scale makes the result NaN. Terms that are zero take no part in the largest exponent.
#pragma once
#include <cstdint>

#include "isa/numeric/float_tile.h"
#include "isa/numeric/generation.h"
#include "isa/numeric/tensor_core.h"
#include "isa/type.h"

namespace tcsim::isa {

struct BlockScaleArith {
  int group = 0;        // products summed exactly before they are scaled; 0: each product is a term, scaled
  TensorCoreArith sum;  // block: products of one sum (32, 64); fraction bits, lower clamp of E; output is f32
};

inline constexpr BlockScaleArith kMxf8f6f4Arith{0, {32, 25, SumOutput::f32, Emulation::none, -133}};
inline constexpr BlockScaleArith kMxf4Arith{16, {64, 35, SumOutput::f32, Emulation::none, -133}};

/// Exponent of a ue8m0 scale; TileScales::kNan for 0xff.
constexpr int ue8m0_exponent(uint32_t bits) { return (bits & 0xff) == 0xff ? TileScales::kNan : static_cast<int>(bits & 0xff) - 127; }

/// One output element, any operands: a[i], b[i] are right-aligned encodings of k products (a multiple of arith.sum.block);
/// scale_a, scale_b: `scales` encodings (type scale: ue8m0 or ue4m3, whose bit 7 is ignored), each for k / scales products.
/// c and the result: f32.
uint32_t block_scaled_dot(const BlockScaleArith& arith, Type a_type, Type b_type, Type scale, const uint32_t* a, const uint32_t* b, int k,
                          const uint32_t* scale_a, const uint32_t* scale_b, int scales, uint32_t c);

/// Elements of a grouped rule's operand as small integers, twice the value of an e2m1; count <= kGroupTileElements.
constexpr int kGroupTileElements = 4 * kTileElements;
struct GroupOperand {
  alignas(32) int32_t value[kGroupTileElements];
  void decode(const uint32_t* e2m1, int count);
};

/// Scales of a grouped rule's operand, as value = sig * 2^(exponent - 3); NaN: exponent is TileScales::kNan.
struct GroupScale {
  int32_t sig = 0, exponent = 0;
  static GroupScale of(Type scale, uint32_t bits);
};

/// A tile of the grouped rule (mxf4, mxf4nvf4; e2m1 elements). A [m][k], B in panels [n / 8][b_rows][8], as for float_tile; scales:
/// a_scales [m][scales], b_scales [n][scales]; c, d: f32 [m][n]. shape.k == arith.sum.block. b_index: as for float_tile.
void group_scaled_tile(const BlockScaleArith& arith, MatrixShape shape, const GroupOperand& a, const GroupOperand& b, const GroupScale* a_scales,
                       const GroupScale* b_scales, int scales, const uint32_t* c, uint32_t* d, const uint16_t* b_index = nullptr, int b_rows = 0);

}  // namespace tcsim::isa
