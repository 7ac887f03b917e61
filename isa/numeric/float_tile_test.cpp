// The fast kernel against exact arithmetic, and hand-computed sums that tell the generations apart.
#include "isa/numeric/float_tile.h"

#include <gtest/gtest.h>

#include <random>

#include "isa/numeric/exact_sum.h"

namespace tcsim::isa {
namespace {

uint32_t f32(float x) { return std::bit_cast<uint32_t>(x); }

/// A finite operand: kind 0 normals near 1, 1 any exponent, 2 few values with zeros and subnormals, 3 tiny.
uint32_t operand(Type t, int kind, std::mt19937& rng) {
  const FormatTraits f = traits(t);
  const uint32_t top = static_cast<uint32_t>(f.exponent_mask()), bias = static_cast<uint32_t>(f.bias);
  for (;;) {
    uint32_t e = 0, m = rng() & static_cast<uint32_t>(f.mantissa_mask());
    switch (kind) {
      case 0: e = bias - 2 + rng() % 4; break;
      case 1: e = rng() % (top + 1); break;
      case 2: e = rng() % 4 ? bias - rng() % 2 : 0, m = rng() % 2 ? m : 0; break;
      default: e = f.exponent_bits == 8 ? bias - 76 + rng() % 24 : rng() % 3; break;
    }
    const uint32_t bits = ((rng() & 1) << f.sign_bit() | e << f.mantissa | m) << f.pad;
    const NumberKind k = decode_number(t, bits).kind;
    if (k == NumberKind::zero || k == NumberKind::finite) return bits;
  }
}

uint32_t accumulator(Type t, int kind, std::mt19937& rng) {
  if (rng() % 4 == 0) return (rng() & 1) << (t == Type::f16 ? 15 : 31);
  if (kind == 3 && t == Type::f32) return (rng() & 1) << 31 | (rng() % 16) << 23 | (rng() & 0x7fffff);
  return operand(t, kind, rng);
}

void compare_with_exact(const TensorCoreArith& arith, Type a_type, Type b_type, int k, uint32_t seed) {
  const Type acc = arith.output == SumOutput::f16 ? Type::f16 : Type::f32;
  constexpr int m = 8, n = 8;
  std::mt19937 rng(seed);
  for (int round = 0; round < 24; ++round) {
    std::vector<uint32_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)), c(m * n), d(m * n);
    for (auto& x : a) x = operand(a_type, round % 4, rng);
    for (auto& x : b) x = operand(b_type, round % 4, rng);
    for (auto& x : c) x = accumulator(acc, round % 4, rng);
    FloatOperand da, db;
    da.decode(a_type, operand_shift(arith, a_type, b_type), a.data(), m * k);
    db.decode(b_type, 0, b.data(), k * n);
    float_tile(arith, {m, n, k}, da, db, acc, c.data(), d.data());
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        std::vector<uint32_t> x, y;
        for (int kk = 0; kk < k; ++kk) x.push_back(a[static_cast<size_t>(i * k + kk)]), y.push_back(b[static_cast<size_t>(kk * n + j)]);
        uint32_t want = c[static_cast<size_t>(i * n + j)];
        bool overflowed = false;
        for (int kk = 0; kk < k; kk += arith.block) {
          want = exact::block(arith, a_type, b_type, acc, x.data() + kk, y.data() + kk, arith.block, want);
          overflowed |= kk + arith.block < k && decode_number(acc, want).kind == NumberKind::infinity;
        }
        if (overflowed) continue;  // an infinity among the terms: not a sum of numbers
        ASSERT_EQ(d[static_cast<size_t>(i * n + j)], want) << "round " << round << " element " << i << "," << j;
        ASSERT_EQ(float_dot(arith, a_type, b_type, acc, x.data(), y.data(), k, c[static_cast<size_t>(i * n + j)]), want);
      }
  }
}

TEST(FloatTile, EveryRowOfTheTableAgainstExactArithmetic) {
  uint32_t seed = 1;
  for (const ArithRow& row : arith_table())
    for (const TensorCoreArith* arith : {&row.f32, &row.f16}) {
      if (arith->block == 0 || arith->emulation == Emulation::fma_chain) continue;
      const bool pairs = arith->emulation == Emulation::fp8_pairs;  // computes on f16
      const Type a = pairs ? Type::f16 : row.input, b = row.input == Type::e4m3 && !pairs ? Type::e5m2 : a;
      SCOPED_TRACE(testing::Message() << "generation " << static_cast<int>(row.generation) << " " << name(a) << " L " << arith->block << " F "
                                      << arith->fraction_bits);
      compare_with_exact(*arith, a, b, std::max(arith->block, 8) * 2, seed++);
    }
}

/// One row of A times one column of B, everything else zero.
uint32_t dot(Generation g, std::vector<uint32_t> a, std::vector<uint32_t> b, uint32_t c, Type acc = Type::f32) {
  const int k = static_cast<int>(a.size());
  return float_dot(*find_arith(g, MmaPath::mma_sync, Type::f16, acc, k), Type::f16, Type::f16, acc, a.data(), b.data(), k, c);
}

// 1 * 1 + 2^-24 * 1: kept with F = 24 and 25, below the last place with F = 23; the result is cut to 23 bits, so two of them show.
TEST(FloatTile, AlignmentBitsByGeneration) {
  const uint32_t one = 0x3c00, tiny = 0x0001;  // 2^-24
  std::vector<uint32_t> a(8, 0), b(8, one);
  a[0] = one, a[1] = tiny, a[2] = tiny;
  const uint32_t next = f32(1.0f + 0x1p-23f);
  EXPECT_EQ(dot(Generation::turing, a, b, 0), next);  // 2^-24 + 2^-24 = 2^-23
  EXPECT_EQ(dot(Generation::ampere, a, b, 0), next);
  EXPECT_EQ(dot(Generation::hopper, a, b, 0), next);
  EXPECT_EQ(dot(Generation::volta, {one, tiny, tiny, 0}, {one, one, one, one}, 0), f32(1.0f));
  // Four times 2^-25 (2^-24 * 1/2): only F = 25 keeps them.
  b.assign(8, 0x3800), b[0] = one;
  a = {one, tiny, tiny, tiny, tiny, 0, 0, 0};
  EXPECT_EQ(dot(Generation::ampere, a, b, 0), f32(1.0f));
  EXPECT_EQ(dot(Generation::hopper, a, b, 0), next);
}

// k = 16 on Ampere is two blocks of 8: 2^15 * 1 in the first, -2^15 and a small number in the second.
TEST(FloatTile, TwoBlocksOnAmpere) {
  const uint32_t one = 0x3c00, big = 0x7800 /* 2^15 */, minus_big = 0xf800, small = 0x0801;  // 2^-13 + 2^-23
  std::vector<uint32_t> a(16, 0), b(16, one);
  a[0] = big, a[8] = minus_big, a[9] = small;
  // Hopper: one block: grid 2^(15-25) = 2^-10: small is cut to 0.  Ampere: second block the same grid 2^(15-24): 0.
  EXPECT_EQ(dot(Generation::hopper, a, b, 0), 0u);
  EXPECT_EQ(dot(Generation::ampere, a, b, 0), 0u);
  // small in the second block, big and -big in the first: Ampere's second block no longer has a large exponent.
  a.assign(16, 0), a[0] = big, a[1] = minus_big, a[8] = small;
  EXPECT_EQ(dot(Generation::hopper, a, b, 0), 0u);
  EXPECT_EQ(dot(Generation::ampere, a, b, 0), f32(0x1p-13f + 0x1p-23f));
}

TEST(FloatTile, SpecialValues) {
  const uint32_t one = 0x3c00, inf = 0x7c00, minus_inf = 0xfc00, nan = 0x7e01;
  const std::vector<uint32_t> ones(8, one);
  std::vector<uint32_t> a(8, 0);
  a[3] = inf;
  EXPECT_EQ(dot(Generation::hopper, a, ones, f32(-5)), 0x7f800000u);
  EXPECT_EQ(dot(Generation::hopper, a, std::vector<uint32_t>(8, 0), 0), 0x7fffffffu);  // inf * 0
  EXPECT_EQ(dot(Generation::hopper, a, ones, 0xff800000u), 0x7fffffffu);               // inf - inf
  a[4] = minus_inf;
  EXPECT_EQ(dot(Generation::hopper, a, ones, 0), 0x7fffffffu);
  a = {nan, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(dot(Generation::hopper, a, ones, 0xffc12345u, Type::f32), 0x7fffffffu);
  EXPECT_EQ(dot(Generation::hopper, a, ones, 0, Type::f16), 0x7fffu);
  // -0 + (-0 * 1) = +0; overflow of f16: 65504 + 65504 = inf.
  EXPECT_EQ(dot(Generation::hopper, std::vector<uint32_t>(8, 0x8000), ones, 0x80000000u), 0u);
  EXPECT_EQ(dot(Generation::hopper, {0x7bff, 0x7bff, 0, 0, 0, 0, 0, 0}, ones, 0, Type::f16), 0x7c00u);
}

}  // namespace
}  // namespace tcsim::isa
