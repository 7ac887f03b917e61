// Block-scaled sums against exact rationals written down from the rules alone, and hand-computed ones.
#include "isa/numeric/block_scale.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "isa/numeric/exact_sum.h"

namespace tcsim::isa {
namespace {

using exact::Int;

using Term = exact::SignedTerm;

uint32_t sum_of(const std::vector<Term>& terms, int f, int clamp) {
  const auto [sum, exponent] = exact::aligned_sum(terms, f, clamp);
  return sum == 0 ? 0 : exact::cut_to_f32(sum, exponent, 24);
}

Int signed_of(const Number& n) { return n.negative ? Int(-Int(n.significand)) : Int(n.significand); }
Term c_term(uint32_t bits) {
  const Number n = decode_number(Type::f32, bits);
  return {signed_of(n), n.exponent, n.exponent + 23};
}

/// Exponent of a format's number with a significand in [1, 2) or, for subnormals, below 1.
int align_of(Type t, const Number& n) { return n.exponent + traits(t).mantissa; }

uint32_t exact_mx8(Type at, Type bt, const uint32_t* a, const uint32_t* b, uint32_t sa, uint32_t sb, uint32_t c) {
  std::vector<Term> terms{c_term(c)};
  const int s = static_cast<int>(sa) + static_cast<int>(sb) - 254;
  for (int i = 0; i < 32; ++i) {
    const Number x = decode_number(at, a[i]), y = decode_number(bt, b[i]);
    terms.push_back({signed_of(x) * signed_of(y), x.exponent + y.exponent + s, align_of(at, x) + align_of(bt, y) + s});
  }
  return sum_of(terms, 25, -133);
}

uint32_t exact_mx4(Type scale, const uint32_t* a, const uint32_t* b, const uint32_t* sa, const uint32_t* sb, int scales, uint32_t c) {
  std::vector<Term> terms{c_term(c)};
  for (int g = 0; g < 4; ++g) {
    Int p = 0;  // in quarters
    for (int i = 16 * g; i < 16 * g + 16; ++i) {
      const Number x = decode_number(Type::e2m1, a[i]), y = decode_number(Type::e2m1, b[i]);
      p += (signed_of(x) << (x.exponent + 1)) * (signed_of(y) << (y.exponent + 1));
    }
    const uint32_t mask = scale == Type::ue4m3 ? 0x7f : 0xff;
    const Number x = decode_number(scale, sa[g * scales / 4] & mask), y = decode_number(scale, sb[g * scales / 4] & mask);
    terms.push_back({p * Int(x.significand) * Int(y.significand), x.exponent + y.exponent - 2, align_of(scale, x) + align_of(scale, y)});
  }
  return sum_of(terms, 35, -133);
}

uint32_t finite_f32(std::mt19937& rng, int kind) {
  if (rng() % 8 == 0) return (rng() & 1) << 31;
  const uint32_t e = kind == 0 ? 120 + rng() % 12 : kind == 1 ? rng() % 255 : rng() % 3;
  return (rng() & 1) << 31 | e << 23 | (rng() & 0x7fffff);
}
uint32_t finite(Type t, std::mt19937& rng) {
  for (;;) {
    const uint32_t x = rng() & ((1u << traits(t).bits) - 1);
    const NumberKind k = decode_number(t, x).kind;
    if (k == NumberKind::zero || k == NumberKind::finite) return x;
  }
}
uint32_t scale_of(Type t, std::mt19937& rng, int kind) {
  if (t == Type::ue4m3) return kind == 0 ? 0x30 + rng() % 16 : rng() % 0x7f | (rng() & 1) << 7;
  return kind == 0 ? 122 + rng() % 8 : kind == 1 ? rng() % 255 : rng() % 20;
}

TEST(BlockScale, Mxf8f6f4AgreesWithExactArithmetic) {
  constexpr Type kTypes[] = {Type::e4m3, Type::e5m2, Type::e3m2, Type::e2m3, Type::e2m1};
  constexpr int m = 4, n = 8, k = 32;
  std::mt19937 rng(1);
  for (const Type at : kTypes)
    for (const Type bt : kTypes)
      for (int round = 0; round < 12; ++round) {
        const int kind = round % 3;
        std::vector<uint32_t> a(m * k), b(k * n), c(m * n), d(m * n), sa(m), sb(n);
        std::vector<int32_t> ea(m), eb(n);
        for (auto& x : a) x = finite(at, rng);
        for (auto& x : b) x = finite(bt, rng);
        for (auto& x : c) x = finite_f32(rng, kind);
        for (int i = 0; i < m; ++i) sa[i] = scale_of(Type::ue8m0, rng, kind), ea[i] = ue8m0_exponent(sa[i]);
        for (int j = 0; j < n; ++j) sb[j] = scale_of(Type::ue8m0, rng, kind), eb[j] = ue8m0_exponent(sb[j]);
        FloatOperand da, db;
        da.decode(at, operand_shift(kMxf8f6f4Arith.sum, at, bt), a.data(), m * k);
        db.decode(bt, 0, b.data(), k * n);
        float_tile(kMxf8f6f4Arith.sum, {m, n, k}, da, db, Type::f32, c.data(), d.data(), nullptr, 0, {ea.data(), eb.data()});
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j) {
            std::vector<uint32_t> y(k);
            for (int kk = 0; kk < k; ++kk) y[kk] = b[kk * n + j];
            const uint32_t want = exact_mx8(at, bt, &a[i * k], y.data(), sa[i], sb[j], c[i * n + j]);
            EXPECT_EQ(d[i * n + j], want) << name(at) << " " << name(bt) << " round " << round;
            EXPECT_EQ(block_scaled_dot(kMxf8f6f4Arith, at, bt, Type::ue8m0, &a[i * k], y.data(), k, &sa[i], &sb[j], 1, c[i * n + j]), want);
          }
      }
}

TEST(BlockScale, Mxf4AgreesWithExactArithmetic) {
  constexpr int m = 4, n = 16, k = 64;
  struct Case {
    Type scale;
    int scales;
  };
  std::mt19937 rng(2);
  for (const Case cs : {Case{Type::ue8m0, 2}, Case{Type::ue8m0, 4}, Case{Type::ue4m3, 4}})
    for (int round = 0; round < 60; ++round) {
      const int kind = round % 3;
      std::vector<uint32_t> a(m * k), b(n * k), panels(n * k), c(m * n), d(m * n);
      std::vector<uint32_t> sa(m * cs.scales), sb(n * cs.scales);
      std::vector<GroupScale> ga, gb;
      for (auto& x : a) x = finite(Type::e2m1, rng);
      for (auto& x : b) x = rng() % 3 ? finite(Type::e2m1, rng) : 0;
      for (auto& x : c) x = finite_f32(rng, kind);
      for (auto& x : sa) x = scale_of(cs.scale, rng, kind), ga.push_back(GroupScale::of(cs.scale, x));
      for (auto& x : sb) x = scale_of(cs.scale, rng, kind), gb.push_back(GroupScale::of(cs.scale, x));
      for (int j = 0; j < n; ++j)
        for (int kk = 0; kk < k; ++kk) panels[(j / 8 * k + kk) * 8 + j % 8] = b[j * k + kk];
      GroupOperand da, db;
      da.decode(a.data(), m * k);
      db.decode(panels.data(), n * k);
      group_scaled_tile(kMxf4Arith, {m, n, k}, da, db, ga.data(), gb.data(), cs.scales, c.data(), d.data());
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          const uint32_t want = exact_mx4(cs.scale, &a[i * k], &b[j * k], &sa[i * cs.scales], &sb[j * cs.scales], cs.scales, c[i * n + j]);
          EXPECT_EQ(d[i * n + j], want) << name(cs.scale) << " round " << round;
          EXPECT_EQ(block_scaled_dot(kMxf4Arith, Type::e2m1, Type::e2m1, cs.scale, &a[i * k], &b[j * k], k, &sa[i * cs.scales], &sb[j * cs.scales],
                                     cs.scales, c[i * n + j]),
                    want);
        }
    }
}

TEST(BlockScale, ByHand) {
  std::vector<uint32_t> a(64, 0), b(64, 0);
  const auto dot = [&](Type scale, std::vector<uint32_t> sa, std::vector<uint32_t> sb, uint32_t c) {
    return block_scaled_dot(kMxf4Arith, Type::e2m1, Type::e2m1, scale, a.data(), b.data(), 64, sa.data(), sb.data(), static_cast<int>(sa.size()), c);
  };
  a[0] = 0x7, b[0] = 0x5;    // 6 * 3 = 18
  a[63] = 0xf, b[63] = 0x1;  // -6 * 0.5 = -3
  // ue8m0: 128 is 2, 126 is 1/2: 18 * 2 * 2 - 3 * 0.5 * 1 = 70.5
  EXPECT_EQ(dot(Type::ue8m0, {128, 126}, {128, 127}, 0), 0x428d0000u);
  // ue4m3, a scale for 16: 0x3c is 1.5, 0x38 is 1, 0x01 is 2^-9: 18 * 1.5 * 1.5 - 3 * 2^-9 * 1 = 40.5 - 0.005859375 = 40.494140625
  EXPECT_EQ(dot(Type::ue4m3, {0x3c, 0x38, 0x38, 0x01}, {0x3c, 0x38, 0x38, 0x38}, 0), 0x4221fa00u);
  EXPECT_EQ(dot(Type::ue4m3, {0xbc, 0x38, 0x38, 0x01}, {0x3c, 0x38, 0x38, 0x38}, 0), 0x4221fa00u) << "bit 7 of ue4m3 is ignored";
  // NaN scales: of a group that is zero as well
  EXPECT_EQ(dot(Type::ue8m0, {128, 255}, {128, 127}, 0), 0x7fffffffu);
  EXPECT_EQ(dot(Type::ue4m3, {0x38, 0x7f, 0x38, 0x38}, {0x38, 0x38, 0x38, 0x38}, 0), 0x7fffffffu);
  // C: infinity stays, NaN is canonical
  EXPECT_EQ(dot(Type::ue8m0, {128, 127}, {128, 127}, 0xff800000u), 0xff800000u);
  EXPECT_EQ(dot(Type::ue8m0, {128, 127}, {128, 127}, 0x7f800001u), 0x7fffffffu);
  // Overflow: 18 * 2^127 * 2^10 is infinite
  EXPECT_EQ(dot(Type::ue8m0, {254, 0}, {137, 0}, 0), 0x7f800000u);
  // 36 fraction bits: 18 at exponent 0 (group exponent), C = 2^-35 is kept, 2^-36 is cut, and RZ then drops both from 18;
  // with 18 - 18 = 0 it shows: C = 2^-35 stays, 2^-36 vanishes.
  b[1] = 0x5, a[1] = 0xf;  // -18
  a[63] = 0;
  EXPECT_EQ(dot(Type::ue8m0, {127, 127}, {127, 127}, 0x2e000000u), 0x2e000000u) << "the group is zero, so C alone";
  a[1] = 0, a[32] = 0xf, b[32] = 0x5;
  EXPECT_EQ(dot(Type::ue8m0, {127, 127}, {127, 127}, 0x2e000000u), 0x2e000000u) << "2^-35";
  EXPECT_EQ(dot(Type::ue8m0, {127, 127}, {127, 127}, 0x2d800000u), 0u) << "2^-36";
}

}  // namespace
}  // namespace tcsim::isa
