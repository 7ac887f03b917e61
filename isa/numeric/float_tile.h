// D = A * B + C of one tile with the tensor core's arithmetic: the fast kernel, eight columns at a time.
//
//   FloatOperand a, b;                                       // raw encodings, one a word: A [m][k], B [n / 8][k][8] (panels)
//   a.decode(Type::f16, operand_shift(arith, Type::f16, Type::f16), a_bits, m * k);
//   b.decode(Type::f16, 0, b_bits, k * n);
//   float_tile(arith, {m, n, k}, a, b, Type::f32, c_bits, d_bits);  // C, D: f32 or f16 encodings, one a word, [m][n]; n % 8 == 0
//
// A and B are decoded once and may be used for many tiles (wgmma, tcgen05). The slow obvious twin is in the tests.
#pragma once
#include <cstdint>
#include <memory>

#include "isa/numeric/generation.h"
#include "isa/numeric/tensor_core.h"
#include "isa/type.h"

namespace tcsim::isa {

constexpr int kTileElements = 1024;  // of A and of B: the largest warp-level operand is 16 x 64 or 32 x 16

/// Elements of A or B as value = sig * 2^(exp - mantissa bits - shift). Zeros get kZeroExponent.
struct FloatOperand {
  static constexpr int kZeroExponent = -400;  // below any real one: zeros take no part in the largest exponent

  alignas(32) int32_t sig[kTileElements];
  alignas(32) int32_t exp[kTileElements];
  const uint32_t* raw = nullptr;  // the encodings, for NaN and infinity
  Type type = Type::none;
  bool special = false;  // some element is NaN or infinity

  void decode(Type type, int shift, const uint32_t* bits, int count);
};

/// Block scaling with one power of two a row of A ([m]) and one a column of B ([n]): unbiased exponents, or kNan.
struct TileScales {
  static constexpr int kNan = 1 << 20;
  /// Of the sum of two: the other one may be negative.
  static constexpr bool is_nan(int scale) { return scale >= kNan / 2; }
  const int32_t *a = nullptr, *b = nullptr;
};

/// Left shift of A's significands so that products carry F fraction bits.
int operand_shift(const TensorCoreArith& arith, Type a, Type b);

/// b_index: nullptr, or [m][k]: the row of B that stored element (i, k) of a sparse A meets (then shape.k counts stored elements
/// and B has b_rows rows; 0: shape.k). shape.k is a multiple of arith.block. scales: none, or those of all products of an element.
void float_tile(const TensorCoreArith& arith, MatrixShape shape, const FloatOperand& a, const FloatOperand& b, Type c_type, const uint32_t* c,
                uint32_t* d, const uint16_t* b_index = nullptr, int b_rows = 0, TileScales scales = {});

/// One output element, any operands (NaN and infinity included): the path float_tile takes for those.
/// a[i], b[i]: encodings of the k products, which are scaled by 2^scale; returns the D encoding.
uint32_t float_dot(const TensorCoreArith& arith, Type a_type, Type b_type, Type c_type, const uint32_t* a, const uint32_t* b, int k, uint32_t c,
                   int scale = 0);

}  // namespace tcsim::isa
