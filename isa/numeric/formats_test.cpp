// Formats against hand arithmetic and, over every encoding, against independent host arithmetic.
#include "isa/numeric/formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "isa/numeric/half.h"

namespace tcsim::isa {
namespace {

/// The value of an encoding by its definition: (-1)^s * 2^(e-bias) * 1.m, in double (every format fits exactly).
double value_of(Type t, uint64_t bits) {
  const Number n = decode_number(t, bits);
  if (n.kind == NumberKind::nan) return std::nan("");
  const double magnitude = n.kind == NumberKind::infinity ? INFINITY : std::ldexp(static_cast<double>(n.significand), n.exponent);
  return n.negative ? -magnitude : magnitude;
}

TEST(Formats, HandValues) {
  EXPECT_EQ(value_of(Type::f16, 0x3c00), 1.0);
  EXPECT_EQ(value_of(Type::f16, 0x0001), 0x1p-24);
  EXPECT_EQ(value_of(Type::f16, 0xfbff), -65504.0);
  EXPECT_EQ(value_of(Type::bf16, 0x4049), 3.140625);  // 0x40490000 as f32
  EXPECT_EQ(value_of(Type::tf32, 0x3f802000), 1.0 + 0x1p-10);
  EXPECT_EQ(value_of(Type::e4m3, 0x7e), 448.0);  // OCP OFP8: S.1111.110 = 1.75 * 2^8
  EXPECT_EQ(value_of(Type::e4m3, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(value_of(Type::e4m3, 0xff)));
  EXPECT_EQ(value_of(Type::e5m2, 0x7b), 57344.0);  // OCP OFP8: S.11110.11 = 1.75 * 2^15
  EXPECT_EQ(value_of(Type::e5m2, 0xfc), -INFINITY);
  EXPECT_EQ(value_of(Type::e3m2, 0x1f), 28.0);  // OCP MX: 1.75 * 2^4
  EXPECT_EQ(value_of(Type::e2m3, 0x1f), 7.5);   // OCP MX: 1.875 * 2^2
  EXPECT_EQ(value_of(Type::e2m1, 0xf), -6.0);   // OCP MX: 1.5 * 2^2
  EXPECT_EQ(value_of(Type::ue8m0, 0), 0x1p-127);
  EXPECT_EQ(value_of(Type::ue8m0, 254), 0x1p127);
  EXPECT_EQ(value_of(Type::ue4m3, 0x38), 1.0);
  EXPECT_EQ(value_of(Type::s4, 0x8), -8.0);
  EXPECT_EQ(value_of(Type::s8, 0xff), -1.0);
  EXPECT_EQ(value_of(Type::u8, 0xff), 255.0);
}

TEST(Formats, RoundingModes) {
  // 1 + 2^-11 lies halfway between 1 and the next f16, 1 + 2^-10.
  const float tie = 1.0f + 0x1p-11f;
  EXPECT_EQ(f32_to_f16(tie, Rounding::rn), 0x3c00);
  EXPECT_EQ(f32_to_f16(tie, Rounding::rna), 0x3c01);
  EXPECT_EQ(f32_to_f16(tie, Rounding::rz), 0x3c00);
  EXPECT_EQ(f32_to_f16(tie, Rounding::rp), 0x3c01);
  EXPECT_EQ(f32_to_f16(-tie, Rounding::rm), 0xbc01);
  EXPECT_EQ(f32_to_f16(-tie, Rounding::rp), 0xbc00);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);  // halfway to 65536: even is infinity
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(1e9f, Rounding::rz), 0x7bff);
  EXPECT_EQ(f32_to_f16(1e9f, Rounding::rn, true), 0x7bff);
  EXPECT_EQ(f32_to_f16(-INFINITY, Rounding::rz), 0xfc00);
  EXPECT_EQ(f32_to_f16(-INFINITY, Rounding::rn, true), 0xfbff);
  EXPECT_EQ(f32_to_f16(NAN), 0x7fff);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);  // tie between 0 and the smallest subnormal
  EXPECT_EQ(f32_to_f16(0x1.8p-25f), 0x0001);
  EXPECT_EQ(f32_to_f16(1e-30f, Rounding::rp), 0x0001);
  EXPECT_EQ(f32_to_tf32(1.0f + 0x1p-11f), 0x3f802000u);  // ties away
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3f80);
}

TEST(Formats, SmallFormats) {
  EXPECT_EQ(pack_e4m3x2(448.0f, 1000.0f), 0x7e7e);
  EXPECT_EQ(pack_e4m3x2(-1000.0f, NAN), 0xfe7f);
  EXPECT_EQ(pack_e4m3x2(-1.0f, 1.0f, true), 0x0038);                                     // relu
  EXPECT_EQ((convert<Type::f32, Type::e4m3>(std::bit_cast<uint32_t>(1000.0f))), 0x7fu);  // no satfinite: NaN
  EXPECT_EQ((convert<Type::f32, Type::e5m2>(std::bit_cast<uint32_t>(1e6f))), 0x7cu);     // no satfinite: infinity
  EXPECT_EQ(pack_e5m2x2(1e6f, -INFINITY), 0x7bfb);
  EXPECT_EQ(pack_e2m1x2(5.0f, -0.25f), 0x68);  // 5 ties between 4 and 6: even significand is 4 = 0b110; -0.25 ties to -0 = 0b1000
  EXPECT_EQ(pack_x2(Type::e3m2, 30.0f, NAN), 0x1f1f);
  EXPECT_EQ(unpack_x2_to_f16(Type::e5m2, 0x3c7c), 0x3c007c00u);
  EXPECT_EQ(pack_x2_from(Type::f16, Type::e4m3, 0xbc003800u), 0xb830);  // -1 and 0.5
  EXPECT_EQ((convert<Type::f32, Type::ue8m0>(std::bit_cast<uint32_t>(3.0f), {Rounding::rz, true})), 128u);
  EXPECT_EQ((convert<Type::f32, Type::ue8m0>(std::bit_cast<uint32_t>(3.0f), {Rounding::rp, true})), 129u);
  EXPECT_EQ((convert<Type::f32, Type::s8>(std::bit_cast<uint32_t>(-200.0f))), 0x80u);
  EXPECT_EQ((convert<Type::f32, Type::f16>(1, {Rounding::rp, false, false, true})), 0u);  // ftz
}

// Encoding what was decoded gives the encoding back.
TEST(Formats, RoundTripOfEveryEncoding) {
  for (Type t : {Type::f16, Type::bf16, Type::e5m2, Type::e4m3, Type::e3m2, Type::e2m3, Type::e2m1, Type::ue8m0, Type::s8, Type::u8, Type::s4,
                 Type::u4, Type::b1}) {
    for (uint64_t x = 0; x < uint64_t{1} << traits(t).bits; ++x) {
      const Number n = decode_number(t, x);
      if (n.kind == NumberKind::nan) continue;
      ASSERT_EQ(encode_number(t, n), x) << name(t) << " " << x;
    }
  }
}

/// Nearest-even into a format by search over all encodings: obvious and slow.
uint64_t nearest(Type t, double x) {
  const FormatTraits f = traits(t);
  uint64_t best = 0;
  double error = INFINITY;
  for (uint64_t b = 0; b < uint64_t{1} << f.sign_bit(); ++b) {
    const double v = value_of(t, b);
    if (!std::isfinite(v)) continue;
    const double e = std::fabs(v - std::fabs(x));
    if (e < error || (e == error && b % 2 == 0)) error = e, best = b;
  }
  return best | (std::signbit(x) ? uint64_t{1} << f.sign_bit() : 0);
}

TEST(Formats, EveryF16ToSmallFormatsAgainstSearch) {
  for (Type t : {Type::e5m2, Type::e4m3, Type::e3m2, Type::e2m3, Type::e2m1})
    for (uint32_t h = 0; h < 0x10000; h += 3) {
      const float x = f16_to_f32(static_cast<uint16_t>(h));
      if (!std::isfinite(x)) continue;
      ASSERT_EQ(convert(Type::f16, t, h, {Rounding::rn, true}), nearest(t, x)) << name(t) << " " << x;
    }
}

TEST(Formats, F16AgainstTheHostInstruction) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float x = f16_to_f32(static_cast<uint16_t>(h));
    const uint64_t ours = convert(Type::f16, Type::f32, h);
    ASSERT_EQ(std::isnan(x) ? 0x7fffffffu : std::bit_cast<uint32_t>(x), ours) << h;
  }
  std::mt19937 rng(1);
  for (int i = 0; i < 2000000; ++i) {
    uint32_t u = rng();
    if (i % 2) u = (u & 0x80ffffff) | (0x33000000 + (rng() % 36 << 23));  // around f16's range
    const float x = std::bit_cast<float>(u);
    ASSERT_EQ(f32_to_f16_rn(x), f32_to_f16(x)) << u;
    ASSERT_EQ(f32_to_bf16_rn(x), f32_to_bf16(x)) << u;
  }
}

// Directed rounding brackets the value; the two results are equal or neighbours.
TEST(Formats, DirectedRoundingBrackets) {
  std::mt19937 rng(2);
  for (Type t : {Type::f16, Type::bf16, Type::e5m2, Type::e4m3})
    for (int i = 0; i < 200000; ++i) {
      const float x = std::bit_cast<float>(static_cast<uint32_t>(rng()));
      if (!std::isfinite(x)) continue;
      const uint32_t u = std::bit_cast<uint32_t>(x);
      const double down = value_of(t, convert(Type::f32, t, u, {Rounding::rm})), up = value_of(t, convert(Type::f32, t, u, {Rounding::rp}));
      const double zero = value_of(t, convert(Type::f32, t, u, {Rounding::rz}));
      ASSERT_TRUE(std::isnan(down) || down <= x) << x;
      ASSERT_TRUE(std::isnan(up) || up >= x) << x;
      ASSERT_LE(std::fabs(zero), std::fabs(x));
    }
}

}  // namespace
}  // namespace tcsim::isa
