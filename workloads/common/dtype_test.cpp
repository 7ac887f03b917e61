#include "workloads/common/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace tcsim::wl {
namespace {

using isa::Type;

TEST(Dtype, ValuesOfTheManual) {
  EXPECT_EQ(decode(Type::f16, 0x3c00), 1.0);
  EXPECT_EQ(decode(Type::f16, 0x0001), 0x1p-24);  // smallest subnormal
  EXPECT_EQ(decode(Type::f16, 0x7bff), 65504.0);
  EXPECT_TRUE(std::isinf(decode(Type::f16, 0x7c00)));
  EXPECT_EQ(decode(Type::bf16, 0x3f80), 1.0);
  EXPECT_EQ(decode(Type::e4m3, 0x7e), 448.0);  // OCP OFP8: S.1111.110
  EXPECT_TRUE(std::isnan(decode(Type::e4m3, 0x7f)));
  EXPECT_EQ(decode(Type::e5m2, 0x7b), 57344.0);  // OCP OFP8: S.11110.11
  EXPECT_TRUE(std::isinf(decode(Type::e5m2, 0x7c)));
  EXPECT_EQ(decode(Type::e3m2, 0x1f), 28.0);  // OCP MX: largest normal
  EXPECT_EQ(decode(Type::e2m3, 0x1f), 7.5);
  EXPECT_EQ(decode(Type::e2m1, 0x7), 6.0);
  EXPECT_EQ(decode(Type::e2m1, 0x1), 0.5);
  EXPECT_EQ(decode(Type::ue8m0, 127), 1.0);
  EXPECT_EQ(decode(Type::s4, 0xf), -1.0);
  EXPECT_EQ(decode(Type::u4, 0xf), 15.0);
}

TEST(Dtype, RoundsToNearestEven) {
  EXPECT_EQ(encode(Type::f16, 2049.0), 0x6800u);    // 2049 lies half way between 2048 (even) and 2050
  EXPECT_EQ(encode(Type::f16, 2051.0), 0x6802u);    // half way between 2050 and 2052 (even)
  EXPECT_EQ(encode(Type::f16, 65520.0), 0x7c00u);   // half way to 65536 rounds to infinity
  EXPECT_EQ(encode(Type::f16, -0x1p-25), 0x8000u);  // half of the smallest subnormal rounds to (minus) zero
  EXPECT_EQ(encode(Type::e4m3, 1000.0), 0x7eu);     // saturates: no infinity
  EXPECT_EQ(encode(Type::e5m2, 1e9), 0x7cu);
  EXPECT_EQ(encode(Type::tf32, 1.0), 0x3f800000u);
}

TEST(Dtype, EveryEncodingOfSmallFloatsComesBack) {
  for (const auto& [type, bits] :
       {std::pair{Type::f16, 16}, {Type::bf16, 16}, {Type::e4m3, 8}, {Type::e5m2, 8}, {Type::e3m2, 6}, {Type::e2m3, 6}, {Type::e2m1, 4}})
    for (uint64_t code = 0; code < 1ull << bits; ++code) {
      const double value = decode(type, code);
      if (std::isnan(value)) EXPECT_TRUE(std::isnan(decode(type, encode(type, value))));
      else ASSERT_EQ(encode(type, value), code) << isa::name(type);
    }
}

TEST(Dtype, PackedElementsStartAtTheLowBits) {
  std::array<uint8_t, 2> bytes{};
  store_bits(bytes, Type::s4, 1, 0xa);
  store_bits(bytes, Type::s4, 2, 0x3);
  EXPECT_EQ(bytes[0], 0xa0);
  EXPECT_EQ(bytes[1], 0x03);
  EXPECT_EQ(load_bits(bytes, Type::s4, 1), 0xau);
  store_bits(bytes, Type::b1, 9, 1);
  EXPECT_EQ(bytes[1], 0x03 | 0x02);
}

TEST(Dtype, UnitInTheLastPlace) {
  EXPECT_EQ(ulp(Type::f16, 1.0), 0x1p-10);
  EXPECT_EQ(ulp(Type::f16, 1.99), 0x1p-10);
  EXPECT_EQ(ulp(Type::f16, 0.0), 0x1p-24);
  EXPECT_EQ(ulp(Type::f32, 2.0), 0x1p-22);
  EXPECT_EQ(ulp(Type::s32, 100), 1.0);
}

}  // namespace
}  // namespace tcsim::wl
