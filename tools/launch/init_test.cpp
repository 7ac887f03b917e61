#include "tools/launch/init.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "workloads/common/dtype.h"

namespace tcsim::launch {
namespace {

using isa::Type;

TEST(Init, SplitMix64FirstOutputs) {
  // Published first outputs of SplitMix64 from state 0: 0xe220a8397b1dcdaf (e.g. the reference C code by S.
  // Vigna). word(0, 0, 0) = mix(mix(0)): mix(0) is that first output, and mixing it again is one more step of
  // the finaliser.
  const auto mix = [](uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  };
  ASSERT_EQ(mix(0), 0xe220a8397b1dcdafull);
  EXPECT_EQ(random_word(0, 0, 0), mix(0xe220a8397b1dcdafull));
  EXPECT_EQ(random_word(0, 2, 1), mix(0xe220a8397b1dcdafull + 17));
}

TEST(Init, NormalHasMeanZeroAndVarianceOne) {
  double sum = 0, sum2 = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double x = wl::decode(Type::f64, initial_bits(Init::normal, Type::f64, 1, static_cast<uint64_t>(i)));
    sum += x;
    sum2 += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));  // five standard errors
  EXPECT_NEAR(sum2 / kCount, 1, 5 * std::sqrt(2.0 / kCount));
}

TEST(Init, UniformStaysInRange) {
  double low = 1, high = -1;
  for (uint64_t i = 0; i < 10000; ++i) {
    const double x = wl::decode(Type::f32, initial_bits(Init::uniform, Type::f32, 3, i));
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_GE(low, -1);
  EXPECT_LT(low, -0.99);
  EXPECT_LE(high, 1);
  EXPECT_GT(high, 0.99);
}

TEST(Init, IntegersAreSmallAndExact) {
  std::set<double> f16, u8, b1;
  for (uint64_t i = 0; i < 1000; ++i) {
    f16.insert(wl::decode(Type::f16, initial_bits(Init::integers, Type::f16, 1, i)));
    u8.insert(wl::decode(Type::u8, initial_bits(Init::integers, Type::u8, 1, i)));
    b1.insert(wl::decode(Type::b1, initial_bits(Init::integers, Type::b1, 1, i)));
  }
  EXPECT_EQ(f16, (std::set<double>{-3, -2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(u8, (std::set<double>{0, 1, 2, 3}));
  EXPECT_EQ(b1, (std::set<double>{0, 1}));
}

TEST(Init, IotaStopsBeforeIntegersThatAreNotExact) {
  EXPECT_EQ(wl::decode(Type::f16, initial_bits(Init::iota, Type::f16, 0, 2048)), 2048);  // 2049 is not an f16
  EXPECT_EQ(wl::decode(Type::f16, initial_bits(Init::iota, Type::f16, 0, 2049)), 0);
  EXPECT_EQ(wl::decode(Type::e2m1, initial_bits(Init::iota, Type::e2m1, 0, 5)), 0);
  EXPECT_EQ(initial_bits(Init::iota, Type::u8, 0, 257), 1u);
}

TEST(Init, StridesLeaveThePaddingAlone) {
  BufferSpec buffer;
  buffer.dtype = Type::s32;
  buffer.shape = {2, 2};
  buffer.strides = {3, 1};
  buffer.init = Init::iota;
  std::vector<uint8_t> bytes(buffer.bytes());
  ASSERT_EQ(bytes.size(), 20u);  // (1 * 3 + 1 + 1) elements of 4 bytes
  fill(buffer, 0, bytes);
  const std::vector<double> want{0, 1, 0, 2, 3};
  for (uint64_t i = 0; i < want.size(); ++i) EXPECT_EQ(wl::load(bytes, Type::s32, i), want[i]) << i;
}

}  // namespace
}  // namespace tcsim::launch
