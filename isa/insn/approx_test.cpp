// Approximate functions: dense samples against long double must stay within the manual's bounds (PTX ISA, "Floating Point
// Instructions: rcp ... tanh" and "Half Precision Floating Point Instructions: tanh, ex2").
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "isa/insn/lane_harness.h"

namespace tcsim::isa {
namespace {

float as_float(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
uint64_t b(float x) { return std::bit_cast<uint32_t>(x); }

using Function = std::function<long double(long double)>;

/// Every `step`-th float from lo to hi (by encoding, so densely in each binade).
std::vector<uint64_t> samples(float lo, float hi, uint32_t step) {
  std::vector<uint64_t> out;
  for (uint64_t x = b(lo); x <= b(hi); x += step) out.push_back(x);
  return out;
}

/// |got - exact| <= relative * |exact| + absolute.
void check(const char* mnemonic, const std::vector<uint64_t>& in, const Function& f, long double relative, long double absolute,
           bool negate = false) {
  Harness h(mnemonic, 2);
  std::vector<uint64_t> sources = in;
  if (negate)
    for (auto& x : sources) x |= 0x80000000u;
  const auto out = run_all(h, {sources});
  for (size_t i = 0; i < sources.size(); ++i) {
    const long double exact = f(as_float(sources[i])), got = as_float(out[i]);
    ASSERT_LE(std::fabs(got - exact), relative * std::fabs(exact) + absolute)
        << mnemonic << " of " << as_float(sources[i]) << " gives " << as_float(out[i]);
  }
}

TEST(Approx, WithinTheManualsBounds) {
  const auto wide = samples(1e-35f, 1e35f, 40009);
  check(
      "rcp.approx.f32", wide, [](long double x) { return 1 / x; }, 0x1p-23L, 0);
  check(
      "rcp.approx.ftz.f32", wide, [](long double x) { return 1 / x; }, 0x1p-23L, 0, true);
  check(
      "sqrt.approx.f32", wide, [](long double x) { return std::sqrt(x); }, 0x1p-23L, 0);
  check(
      "rsqrt.approx.f32", wide, [](long double x) { return 1 / std::sqrt(x); }, 0x1p-22L, 0);
  check(
      "ex2.approx.f32", samples(1e-8f, 126.0f, 10007), [](long double x) { return std::exp2(x); }, 0x1p-22L, 0);
  check(
      "ex2.approx.f32", samples(1e-8f, 126.0f, 10007), [](long double x) { return std::exp2(x); }, 0x1p-22L, 0, true);
  check(
      "lg2.approx.f32", wide, [](long double x) { return std::log2(x); }, 0x1p-22L, 0x1p-22L);
  check(
      "lg2.approx.f32", samples(0.5f, 2.0f, 1009), [](long double x) { return std::log2(x); }, 0, 0x1p-22L);
  check(
      "sin.approx.f32", samples(1e-6f, 6.2831f, 4001), [](long double x) { return std::sin(x); }, 0, 0x1p-20L);
  check(
      "cos.approx.f32", samples(1e-6f, 6.2831f, 4001), [](long double x) { return std::cos(x); }, 0, 0x1p-20L, true);
  check(
      "tanh.approx.f32", samples(1e-30f, 20.0f, 10007), [](long double x) { return std::tanh(x); }, 0x1p-11L, 0);
  check(
      "tanh.approx.f32", samples(1e-30f, 20.0f, 10007), [](long double x) { return std::tanh(x); }, 0x1p-11L, 0, true);
}

TEST(Approx, OurOwnFunctionsAreRoundedWell) {  // stricter than the manual: the lane functions claim one rounding
  check(
      "ex2.approx.f32", samples(1e-8f, 126.0f, 10007), [](long double x) { return std::exp2(x); }, 0x1.01p-24L, 0);
  check(
      "lg2.approx.f32", samples(1e-30f, 1e30f, 10007), [](long double x) { return std::log2(x); }, 0x1.01p-24L, 0);
  check(
      "tanh.approx.f32", samples(1e-30f, 20.0f, 10007), [](long double x) { return std::tanh(x); }, 0x1.01p-24L, 0);
}

TEST(Approx, SpecialValues) {
  constexpr uint64_t kInf = 0x7f800000, kNan = 0x7fffffff, kMinus = 0x80000000;
  // The tables of the manual.
  EXPECT_EQ(Harness("ex2.approx.f32", 2).run({kInf | kMinus}), 0u);
  EXPECT_EQ(Harness("ex2.approx.f32", 2).run({kInf}), kInf);
  EXPECT_EQ(Harness("ex2.approx.f32", 2).run({kMinus}), b(1.0f));
  EXPECT_EQ(Harness("ex2.approx.f32", 2).run({b(-149.0f)}), 1u);
  EXPECT_EQ(Harness("ex2.approx.ftz.f32", 2).run({b(-149.0f)}), 0u);
  EXPECT_EQ(Harness("lg2.approx.f32", 2).run({0}), kInf | kMinus);
  EXPECT_EQ(Harness("lg2.approx.f32", 2).run({b(-1.0f)}), kNan);
  EXPECT_EQ(Harness("lg2.approx.f32", 2).run({kInf}), kInf);
  EXPECT_EQ(Harness("lg2.approx.f32", 2).run({1}), b(-149.0f));
  EXPECT_EQ(Harness("rsqrt.approx.f32", 2).run({kMinus}), kInf | kMinus);
  EXPECT_EQ(Harness("rsqrt.approx.f32", 2).run({kInf}), 0u);
  EXPECT_EQ(Harness("sqrt.approx.f32", 2).run({b(-4.0f)}), kNan);
  EXPECT_EQ(Harness("rcp.approx.f32", 2).run({kMinus}), kInf | kMinus);
  EXPECT_EQ(Harness("sin.approx.f32", 2).run({kInf}), kNan);
  EXPECT_EQ(Harness("sin.approx.f32", 2).run({kMinus}), kMinus);
  EXPECT_EQ(Harness("cos.approx.f32", 2).run({0}), b(1.0f));
  EXPECT_EQ(Harness("tanh.approx.f32", 2).run({kInf}), b(1.0f));
  EXPECT_EQ(Harness("tanh.approx.f32", 2).run({kMinus}), kMinus);
  // div.approx: "for 2^126 < |b| < 2^128, if a is infinity, NaN, otherwise 0".
  EXPECT_EQ(Harness("div.approx.f32", 3).run({b(1.0f), b(0x1.8p126f)}), 0u);
  EXPECT_EQ(Harness("div.approx.f32", 3).run({kInf, b(0x1.8p126f)}), kNan);
  EXPECT_EQ(Harness("div.full.f32", 3).run({b(0x1p127f), b(0x1p127f)}), b(1.0f));
}

float widen_half(uint64_t h) {
  const int e = h >> 10 & 31;
  const float m = static_cast<float>(h & 1023), s = h & 0x8000 ? -1.0f : 1.0f;
  return e == 0 ? s * std::ldexp(m, -24) : e == 31 ? s * INFINITY : s * std::ldexp(1024 + m, e - 25);
}

TEST(Approx, HalfFunctionsAllEncodings) {
  Harness tanh16("tanh.approx.f16", 2), ex2_16("ex2.approx.f16", 2), tanh_b("tanh.approx.bf16", 2), ex2_b("ex2.approx.ftz.bf16", 2);
  std::vector<uint64_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto t16 = run_all(tanh16, {all}), e16 = run_all(ex2_16, {all}), tb = run_all(tanh_b, {all}), eb = run_all(ex2_b, {all});
  for (size_t i = 0; i < all.size(); ++i) {
    if ((i & 0x7fff) <= 0x7c00) {
      const long double x = widen_half(i);
      ASSERT_LE(std::fabs(widen_half(t16[i]) - std::tanh(x)), std::exp2(-10.987L)) << i;
      const long double e = std::exp2(x);
      if (e < 65504) { ASSERT_LE(std::fabs(widen_half(e16[i]) - e), std::exp2(-9.9L) * e + 0x1p-24L) << i; }
    }
    if ((i & 0x7fff) <= 0x7f80) {
      const long double x = as_float(i << 16);
      ASSERT_LE(std::fabs(as_float(tb[i] << 16) - std::tanh(x)), 0x1p-8L) << i;
      const long double e = std::exp2(x);
      if (e < 0x1.fep127L && e > 0x1p-126L) { ASSERT_LE(std::fabs(as_float(eb[i] << 16) - e), 0x1p-7L * e) << i; }
    }
    const bool nan16 = (i & 0x7fff) > 0x7c00, nan_b = (i & 0x7fff) > 0x7f80;
    ASSERT_TRUE(!nan16 || t16[i] == 0x7fffu) << i;
    ASSERT_TRUE(!nan_b || eb[i] == 0x7fffu) << i;
  }
}

}  // namespace
}  // namespace tcsim::isa
