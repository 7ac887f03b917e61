#include "workloads/common/gemm_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "workloads/common/dtype.h"

namespace tcsim::wl {
namespace {

using isa::Type;

struct Buffer {
  std::vector<uint8_t> bytes;
  Type dtype;
  int64_t rows, cols;
  Buffer(Type type, int64_t r, int64_t c, std::vector<double> values) : bytes(64), dtype(type), rows(r), cols(c) {
    for (size_t i = 0; i < values.size(); ++i) store_bits(bytes, type, i, encode(type, values[i]));
  }
  MatrixRef ref() const { return {bytes, dtype, rows, cols, cols, 1}; }
};

// [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50]
const std::vector<double> kA{1, 2, 3, 4}, kB{5, 6, 7, 8}, kProduct{19, 22, 43, 50};

TEST(GemmReference, ExactProductPasses) {
  for (const Type type : {Type::f16, Type::f32, Type::f64, Type::s32, Type::bf16}) {
    const Buffer a(type, 2, 2, kA), b(type, 2, 2, kB), d(type, 2, 2, kProduct);
    const Comparison result = compare_gemm({a.ref(), b.ref(), {}}, d.ref(), {});
    EXPECT_TRUE(result.passed) << isa::name(type) << " " << result.str("D");
    EXPECT_EQ(result.max_abs, 0);
    EXPECT_EQ(result.elements, 4u);
  }
}

TEST(GemmReference, FirstFailingElementAndUlp) {
  const Buffer a(Type::f16, 2, 2, kA), b(Type::f16, 2, 2, kB), d(Type::f16, 2, 2, {19, 22, 43.03125, 51});
  const Comparison result = compare_gemm({a.ref(), b.ref(), {}}, d.ref(), {.atol = 0.01});
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.failures, 2u);
  EXPECT_EQ(result.row, 1);
  EXPECT_EQ(result.col, 0);
  EXPECT_EQ(result.got, 43.03125);
  EXPECT_EQ(result.want, 43);
  EXPECT_EQ(result.max_abs, 1);
  EXPECT_EQ(result.max_ulp, 32);  // f16 in [32, 64): 2^-5
  // sqrt(0.03125^2 + 1) / sqrt(19^2 + 22^2 + 43^2 + 50^2)
  EXPECT_NEAR(result.rel_l2, 1.000488 / 72.069411, 1e-7);
}

TEST(GemmReference, AlphaBetaAndTransposes) {
  const Buffer a(Type::f32, 2, 2, kA), b(Type::f32, 2, 2, kB), c(Type::f32, 2, 2, {1, 1, 2, 2});
  // A^T B^T = [1 3; 2 4] [5 7; 6 8] = [23 31; 34 46]; 2 x that - 3 C = [43 59; 62 86]
  const Buffer d(Type::f32, 2, 2, {43, 59, 62, 86});
  const Comparison result = compare_gemm({a.ref().transposed(), b.ref().transposed(), c.ref(), 2, -3}, d.ref(), {});
  EXPECT_TRUE(result.passed) << result.str("D");
}

TEST(GemmReference, IntegersWrapLikeTheOutputType) {
  // 127 * 127 + 127 * 127 = 32258 = 0x7e02; as s8: 2
  const Buffer a(Type::s8, 1, 2, {127, 127}), b(Type::s8, 2, 1, {127, 127}), d(Type::s8, 1, 1, {2}), wide(Type::s32, 1, 1, {32258});
  EXPECT_TRUE(compare_gemm({a.ref(), b.ref(), {}}, d.ref(), {}).passed);
  EXPECT_TRUE(compare_gemm({a.ref(), b.ref(), {}}, wide.ref(), {}).passed);
}

TEST(GemmReference, NanAndInfinityNeverPassForNumbers) {
  const Buffer a(Type::f16, 1, 1, {1}), b(Type::f16, 1, 1, {1});
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Buffer d(Type::f16, 1, 1, {bad});
    EXPECT_FALSE(compare_gemm({a.ref(), b.ref(), {}}, d.ref(), {.rtol = 1, .atol = 1}).passed);
  }
}

TEST(GemmReference, AcceptanceAllowsOneUlpAndTheAccumulationBound) {
  const Buffer a(Type::f16, 1, 2, {1, -1}), b(Type::f16, 2, 1, {1, 1});  // exact result 0, sum|ab| = 2, bound 2 * 2^-23 * 2 = 2^-21
  const Buffer inside(Type::f32, 1, 1, {0x1p-21}), outside(Type::f32, 1, 1, {0x1.1p-21});
  EXPECT_TRUE(compare_gemm({a.ref(), b.ref(), {}}, inside.ref(), kAcceptance).passed);
  EXPECT_FALSE(compare_gemm({a.ref(), b.ref(), {}}, outside.ref(), kAcceptance).passed);
}

TEST(GemmReference, ExtentsThatDisagree) {
  const Buffer a(Type::f16, 2, 3, {}), b(Type::f16, 2, 2, {}), d(Type::f16, 2, 2, {});
  EXPECT_EQ(shape_error({a.ref(), b.ref(), {}}, d.ref()), "A is 2 x 3 and B is 2 x 2: their inner extents differ");
}

// Blocks of two along K: row [1 1 1 1] with factors 2, 0.5 against a column of ones with 1, 4: 2 * 2 * 1 + 2 * 0.5 * 4 = 8.
TEST(GemmReference, BlockScales) {
  const Buffer a(Type::e2m1, 1, 4, {1, 1, 1, 1}), b(Type::e4m3, 4, 1, {1, 1, 1, 1}), d(Type::f32, 1, 1, {8});
  const Buffer sfa(Type::ue4m3, 1, 2, {2, 0.5}), sfb(Type::ue8m0, 2, 1, {1, 4});
  GemmProblem p{a.ref(), b.ref(), {}};
  p.scale_block = 2;
  p.a_scales = read_scales(sfa.ref());
  p.b_scales = read_scales(sfb.ref().transposed());
  EXPECT_EQ(p.b_scales, (std::vector<double>{1, 4}));
  const Comparison result = compare_gemm(p, d.ref(), {});
  EXPECT_TRUE(result.passed) << result.str("D");
}

// Row 33 of a tile is row 1 of its second group of 32, factor 2: byte 1 * 16 + 1 * 4 + 2 of the second tile along K (512 bytes on).
TEST(GemmReference, TiledScales) {
  std::vector<uint8_t> bytes(1024, 127);
  bytes[512 + 22] = 130;
  const std::vector<double> scales = read_tiled_scales(bytes, Type::ue8m0, 128, 8);
  EXPECT_EQ(scales[33 * 8 + 6], 8.0);  // 2^(130 - 127)
  EXPECT_EQ(std::count(scales.begin(), scales.end(), 1.0), 1023);
}

}  // namespace
}  // namespace tcsim::wl
