// f32 and f64 arithmetic against an exact reference: Boost's 400-bit binary floating point, rounded by hand in each direction.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <random>

#include "isa/insn/lane_harness.h"

namespace tcsim::isa {
namespace {

// Wide enough for sums of any two doubles (2100 bits) and products of them.
using Exact = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<4500, boost::multiprecision::digit_base_2, void, std::int32_t, -100000, 100000>,
    boost::multiprecision::et_off>;

enum class Mode { rn, rz, rm, rp };
constexpr std::pair<const char*, Mode> kModes[] = {{"rn", Mode::rn}, {"rz", Mode::rz}, {"rm", Mode::rm}, {"rp", Mode::rp}};

/// x rounded to T. A sticky bit far below keeps inexact quotients and roots apart from ties. Zero: `zero` as given.
template <class T>
T round_exact(const Exact& x, Mode mode, T zero) {
  if (x == 0) return zero;
  constexpr int p = std::numeric_limits<T>::digits, emin = std::numeric_limits<T>::min_exponent - 1, emax = std::numeric_limits<T>::max_exponent - 1;
  const bool negative = x < 0;
  const Exact magnitude = negative ? Exact(-x) : x;
  int e = 0;
  frexp(magnitude, &e);
  --e;  // magnitude in [2^e, 2^(e+1))
  const int last = std::max(e, emin) - (p - 1);
  const Exact units = ldexp(magnitude, -last);
  const Exact down = floor(units);
  const Exact rest = units - down;
  bool up = false;
  if (mode == Mode::rn) up = rest > 0.5 || (rest == 0.5 && (down.convert_to<unsigned long long>() & 1));
  else if (mode == Mode::rm) up = negative && rest > 0;
  else if (mode == Mode::rp) up = !negative && rest > 0;
  const Exact rounded = ldexp(up ? Exact(down + 1) : down, last);
  T result;
  if (rounded >= ldexp(Exact(1), emax + 1)) {
    const bool infinite = mode == Mode::rn || (mode == Mode::rp && !negative) || (mode == Mode::rm && negative);
    result = infinite ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  } else {
    result = rounded.convert_to<T>();
  }
  return negative ? -result : result;
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

/// Finite values of all magnitudes, and boundary values.
template <class T>
T operand(std::mt19937_64& g) {
  using L = std::numeric_limits<T>;
  const T special[] = {T(0),
                       -T(0),
                       L::denorm_min(),
                       L::min(),
                       std::nextafter(L::min(), T(0)),
                       L::max(),
                       T(1),
                       std::nextafter(T(1), T(2)),
                       std::nextafter(T(1), T(0)),
                       T(2),
                       T(-1),
                       T(3)};
  switch (g() % 4) {
    case 0: return special[g() % std::size(special)];
    case 1: {
      const T x = std::bit_cast<T>(static_cast<Bits<T>>(g()));
      return std::isfinite(x) ? x : T(1);
    }
    default: return std::ldexp(T(1) + std::ldexp(static_cast<T>(g() >> 40), -24), static_cast<int>(g() % 60) - 30) * (g() & 1 ? T(1) : T(-1));
  }
}

/// Sum of two exact zeros, or exact cancellation: +0, but -0 toward minus infinity, unless both are -0 (IEEE 754, 6.3).
template <class T>
T zero_sum(bool a_negative, bool b_negative, Mode mode) {
  if (a_negative == b_negative) return a_negative ? -T(0) : T(0);
  return mode == Mode::rm ? -T(0) : T(0);
}

template <class T>
void check_type(const std::string& type) {
  std::mt19937_64 g(sizeof(T));
  for (const auto& [name, mode] : kModes) {
    Harness add("add." + std::string(name) + "." + type, 3), sub("sub." + std::string(name) + "." + type, 3),
        mul("mul." + std::string(name) + "." + type, 3);
    Harness fma("fma." + std::string(name) + "." + type, 4), div("div." + std::string(name) + "." + type, 3);
    Harness rcp("rcp." + std::string(name) + "." + type, 2), sqrt("sqrt." + std::string(name) + "." + type, 2);
    constexpr size_t kCount = 512;
    std::vector<std::vector<uint64_t>> in(3, std::vector<uint64_t>(kCount));
    std::vector<std::array<T, 3>> v(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      for (int k = 0; k < 3; ++k) v[i][k] = operand<T>(g);
      if (g() % 8 == 0) v[i][1] = -v[i][0];
      if (g() % 8 == 0) v[i][2] = -v[i][0] * v[i][1];
      if (!std::isfinite(v[i][2])) v[i][2] = 1;
      for (int k = 0; k < 3; ++k) in[k][i] = std::bit_cast<Bits<T>>(v[i][k]);
    }
    const auto sums = run_all(add, {in[0], in[1]}), differences = run_all(sub, {in[0], in[1]}), products = run_all(mul, {in[0], in[1]});
    const auto fused = run_all(fma, in), quotients = run_all(div, {in[0], in[1]}), reciprocals = run_all(rcp, {in[0]}),
               roots = run_all(sqrt, {in[0]});
    const auto same = [&](uint64_t bits, T expected, const char* what, size_t i) {
      EXPECT_EQ(bits, std::bit_cast<Bits<T>>(expected))
          << what << "." << name << "." << type << std::hexfloat << " " << v[i][0] << " " << v[i][1] << " " << v[i][2];
    };
    for (size_t i = 0; i < kCount; ++i) {
      const Exact a = v[i][0], b = v[i][1], c = v[i][2];
      const bool sa = std::signbit(v[i][0]), sb = std::signbit(v[i][1]), sc = std::signbit(v[i][2]);
      same(sums[i], round_exact<T>(a + b, mode, zero_sum<T>(sa, sb, mode)), "add", i);
      same(differences[i], round_exact<T>(a - b, mode, zero_sum<T>(sa, !sb, mode)), "sub", i);
      const T zero = sa != sb ? -T(0) : T(0);
      same(products[i], round_exact<T>(a * b, mode, zero), "mul", i);
      same(fused[i], round_exact<T>(a * b + c, mode, zero_sum<T>(sa != sb, sc, mode)), "fma", i);
      if (b != 0) same(quotients[i], round_exact<T>(a / b, mode, zero), "div", i);
      if (a != 0) same(reciprocals[i], round_exact<T>(1 / a, mode, T(0)), "rcp", i);
      if (a > 0) same(roots[i], round_exact<T>(boost::multiprecision::sqrt(a), mode, T(0)), "sqrt", i);
    }
  }
}

TEST(Float, DirectedRoundingF32) { check_type<float>("f32"); }
TEST(Float, DirectedRoundingF64) { check_type<double>("f64"); }

constexpr uint64_t kNan = 0x7fffffff, kInf = 0x7f800000, kOne = 0x3f800000, kMinus = 0x80000000;

TEST(Float, SpecialValues) {
  EXPECT_EQ(Harness("add.f32", 3).run({kInf, kInf | kMinus}), kNan);
  EXPECT_EQ(Harness("mul.f32", 3).run({0, kInf}), kNan);
  EXPECT_EQ(Harness("add.f32", 3).run({0x7f800001, kOne}), kNan);  // PTX: NaN results of f32 are 0x7fffffff
  EXPECT_EQ(Harness("fma.rn.f32", 4).run({0xffc00000, kOne, kOne}), kNan);
  EXPECT_EQ(Harness("div.rn.f32", 3).run({kOne, 0}), kInf);
  EXPECT_EQ(Harness("div.rn.f32", 3).run({kOne, kMinus}), kInf | kMinus);
  EXPECT_EQ(Harness("div.rn.f32", 3).run({0, 0}), kNan);
  EXPECT_EQ(Harness("rcp.rn.f32", 2).run({kMinus}), kInf | kMinus);
  EXPECT_EQ(Harness("sqrt.rn.f32", 2).run({kMinus}), kMinus);
  EXPECT_EQ(Harness("sqrt.rn.f32", 2).run({kOne | kMinus}), kNan);
}

TEST(Float, FlushAndSaturate) {
  EXPECT_EQ(Harness("add.ftz.f32", 3).run({1, 0}), 0u);
  EXPECT_EQ(Harness("add.ftz.f32", 3).run({0x80000001, 0x80000000}), kMinus);  // sign kept
  EXPECT_EQ(Harness("mul.ftz.f32", 3).run({0x00800000, 0x3f000000}), 0u);      // min normal / 2 is subnormal
  EXPECT_EQ(Harness("mul.f32", 3).run({0x00800000, 0x3f000000}), 0x00400000u);
  EXPECT_EQ(Harness("add.sat.f32", 3).run({kOne, kOne}), kOne);
  EXPECT_EQ(Harness("add.sat.f32", 3).run({kOne | kMinus, 0}), 0u);
  EXPECT_EQ(Harness("add.sat.f32", 3).run({kNan, 0}), 0u);  // .sat: NaN gives +0
}

TEST(Float, PackedPairs) {
  const uint64_t two_one = 0x40000000ull << 32 | kOne;
  EXPECT_EQ(Harness("add.f32x2", 3).run({two_one, two_one}), 0x40800000ull << 32 | 0x40000000u);
  EXPECT_EQ(Harness("mul.rz.ftz.f32x2", 3).run({two_one, 1}), 0u);
  EXPECT_EQ(Harness("fma.rn.f32x2", 4).run({two_one, two_one, two_one}), 0x40c00000ull << 32 | 0x40000000u);
}

TEST(Float, MixedPrecision) {
  EXPECT_EQ(Harness("fma.rn.f32.f16", 4).run({0x3c00, 0x4000, kOne}), 0x40400000u);  // 1 * 2 + 1
  EXPECT_EQ(Harness("add.f32.bf16", 3).run({0x3f80, kOne}), 0x40000000u);
  EXPECT_EQ(Harness("sub.rn.sat.f32.bf16", 3).run({0x3f80, 0x40000000}), 0u);
}

TEST(Float, MinMax) {
  EXPECT_EQ(Harness("min.f32", 3).run({0, kMinus}), kMinus);  // -0 is smaller
  EXPECT_EQ(Harness("max.f32", 3).run({kMinus, 0}), 0u);
  EXPECT_EQ(Harness("min.f32", 3).run({0x7fc00000, kOne}), kOne);
  EXPECT_EQ(Harness("max.NaN.f32", 3).run({0x7fc00000, kOne}), kNan);
  EXPECT_EQ(Harness("min.f32", 3).run({0x7fc00000, 0x7fc00000}), kNan);
  EXPECT_EQ(Harness("max.xorsign.abs.f32", 3).run({0xc0000000, kOne}), 0xc0000000u);  // |-2| > |1|, signs differ
  EXPECT_EQ(Harness("min.xorsign.abs.f32", 3).run({0xc0000000, 0xbf800000}), kOne);
  EXPECT_EQ(Harness("max.f32", 4).run({kOne, 0x40000000, 0xc0800000}), 0x40000000u);
  EXPECT_EQ(Harness("max.abs.f32", 4).run({kOne, 0x40000000, 0xc0800000}), 0x40800000u);
  EXPECT_EQ(Harness("max.NaN.f32", 4).run({kOne, 0x7fc00000, 0xc0800000}), kNan);
  EXPECT_EQ(Harness("min.ftz.f32", 3).run({1, kOne}), 0u);
}

TEST(Float, SignsAndClasses) {
  EXPECT_EQ(Harness("abs.f32", 2).run({0xc0000000}), 0x40000000u);
  EXPECT_EQ(Harness("neg.ftz.f32", 2).run({1}), kMinus);
  EXPECT_EQ(Harness("copysign.f32", 3).run({kMinus, kOne}), kOne | kMinus);
  const std::pair<uint64_t, const char*> values[] = {{kOne, "normal"}, {1, "subnormal"}, {kInf, "infinite"}, {kNan, "notanumber"}};
  for (const auto& [bits, kind] : values)
    for (const auto& [other, op] : values) EXPECT_EQ(Harness(std::string("testp.") + op + ".f32", 2).run({bits}), bits == other) << kind << " " << op;
  EXPECT_EQ(Harness("testp.normal.f32", 2).run({0}), 1u);  // the manual: zeros are considered normal
  EXPECT_EQ(Harness("testp.finite.f32", 2).run({1}), 1u);
  EXPECT_EQ(Harness("testp.number.f64", 2).run({0x7ff0000000000000}), 1u);
}

}  // namespace
}  // namespace tcsim::isa
