// f16 and bf16 arithmetic against a slow reference: exact in double-double, rounded once by integer arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "isa/insn/lane_harness.h"
#include "isa/numeric/formats.h"

namespace tcsim::isa {
namespace {

struct Fmt {
  const char* name;
  int fraction, bias;
  uint32_t infinity;
};
constexpr Fmt kF16{"f16", 10, 15, 0x7c00}, kBf16{"bf16", 7, 127, 0x7f80};

double widen(const Fmt& f, uint32_t h) {
  const int e = static_cast<int>((h & 0x7fff) >> f.fraction), m = static_cast<int>(h & ((1u << f.fraction) - 1));
  const double s = h & 0x8000 ? -1 : 1;
  if ((h & 0x7fff) > f.infinity) return NAN;
  if ((h & 0x7fff) == f.infinity) return s * INFINITY;
  return e == 0 ? s * std::ldexp(m, 1 - f.bias - f.fraction) : s * std::ldexp(m + (1 << f.fraction), e - f.bias - f.fraction);
}

/// hi + lo (lo below half a unit in the last place of hi) to nearest even; the exact zero keeps the sign of hi.
uint32_t narrow(const Fmt& f, double hi, double lo) {
  if (std::isnan(hi)) return 0x7fff;
  const uint32_t sign = std::signbit(hi) ? 0x8000 : 0;
  if (std::isinf(hi)) return sign | f.infinity;
  const long double x = std::fabs(hi);
  if (x == 0) return sign;
  int e;
  std::frexp(hi, &e);
  const int last = std::max(e - 1, 1 - f.bias) - f.fraction;
  const long double units = std::ldexp(x, -last), down = std::floor(units);
  const long double rest = units - down, toward = sign ? -lo : lo;  // lo moves the magnitude by its sign
  auto code = static_cast<uint64_t>(down);
  if (rest > 0.5L || (rest == 0.5L && (toward > 0 || (toward == 0 && (code & 1))))) ++code;
  const int field = last + f.fraction + f.bias - 1;  // code has the hidden bit for normals, which adds 1
  const uint64_t magnitude = (static_cast<uint64_t>(field) << f.fraction) + code;
  return sign | static_cast<uint32_t>(magnitude >= f.infinity ? f.infinity : magnitude);
}

uint32_t reference(const Fmt& f, char op, uint32_t a, uint32_t b, uint32_t c) {
  const double x = widen(f, a), y = widen(f, b), z = widen(f, c);
  double p = x, q = y;
  if (op == '-') q = -y;
  if (op == '*') return narrow(f, x * y, 0);  // exact in double
  if (op == 'f') p = x * y, q = z;
  const double s = p + q;
  if (!std::isfinite(s)) return narrow(f, s, 0);
  const double t = s - p, error = (p - (s - t)) + (q - t);
  return narrow(f, s, error);
}

std::vector<uint32_t> interesting(const Fmt& f) {
  const uint32_t one = static_cast<uint32_t>(f.bias) << f.fraction, last = (1u << f.fraction) - 1;
  std::vector<uint32_t> out;
  for (const uint32_t magnitude : {0u, 1u, 2u, last, last + 1, last + 2, one, one + 1, one - 1, one + last, f.infinity - 1, f.infinity,
                                   f.infinity + 1, 0x7fffu, f.infinity / 2}) {
    out.push_back(magnitude);
    out.push_back(magnitude | 0x8000);
  }
  return out;
}

void check_format(const Fmt& f) {
  const std::string type = f.name;
  Harness add("add." + type, 3), sub("sub." + type, 3), mul("mul." + type, 3), fma("fma.rn." + type, 4), relu("fma.rn.relu." + type, 4);
  Harness add2("add." + type + "x2", 3), fma2("fma.rn." + type + "x2", 4);
  const auto special = interesting(f);
  std::mt19937 g(3);
  std::vector<std::vector<uint64_t>> in(3);
  const auto push = [&](uint32_t a, uint32_t b, uint32_t c) {
    in[0].push_back(a & 0xffff), in[1].push_back(b & 0xffff), in[2].push_back(c & 0xffff);
  };
  for (const uint32_t a : special)
    for (const uint32_t b : special)
      for (int i = 0; i < 8; ++i) push(a, b, i < 4 ? special[g() % special.size()] : g());
  for (const uint32_t a : special)
    for (int i = 0; i < 500; ++i) push(a, g(), g()), push(g(), a, g()), push(g(), g(), a);
  for (int i = 0; i < 100000; ++i) push(g(), g(), g());
  // Ties with a tiny third operand: products of few bits next to very small numbers.
  for (int i = 0; i < 50000; ++i)
    push(static_cast<uint32_t>(f.bias + g() % 4) << f.fraction | 1, static_cast<uint32_t>(f.bias - 1 + g() % 3) << f.fraction | 1 << (f.fraction - 1),
         g());
  const auto sums = run_all(add, {in[0], in[1]}), differences = run_all(sub, {in[0], in[1]}), products = run_all(mul, {in[0], in[1]});
  const auto fused = run_all(fma, in), cut = run_all(relu, in);
  std::vector<std::vector<uint64_t>> packed = in;
  for (auto& source : packed)
    for (auto& x : source) x |= 0x3c00u << 16;
  const auto sums2 = run_all(add2, {packed[0], packed[1]}), fused2 = run_all(fma2, packed);
  const uint32_t high = reference(f, '+', 0x3c00, 0x3c00, 0) << 16, high_fma = reference(f, 'f', 0x3c00, 0x3c00, 0x3c00) << 16;
  for (size_t i = 0; i < in[0].size(); ++i) {
    const auto a = static_cast<uint32_t>(in[0][i]), b = static_cast<uint32_t>(in[1][i]), c = static_cast<uint32_t>(in[2][i]);
    ASSERT_EQ(sums[i], reference(f, '+', a, b, 0)) << type << std::hex << " " << a << " + " << b;
    ASSERT_EQ(differences[i], reference(f, '-', a, b, 0)) << type << std::hex << " " << a << " - " << b;
    ASSERT_EQ(products[i], reference(f, '*', a, b, 0)) << type << std::hex << " " << a << " * " << b;
    const uint32_t exact = reference(f, 'f', a, b, c);
    ASSERT_EQ(fused[i], exact) << type << std::hex << " " << a << " * " << b << " + " << c;
    ASSERT_EQ(cut[i], exact & 0x8000 ? 0 : exact) << type << std::hex << " relu " << a << " * " << b << " + " << c;
    ASSERT_EQ(sums2[i], high | sums[i]);
    ASSERT_EQ(fused2[i], high_fma | fused[i]);
  }
}

TEST(Half, F16AgainstReference) { check_format(kF16); }
TEST(Half, Bf16AgainstReference) { check_format(kBf16); }

TEST(Half, FlushSaturateOutOfBounds) {
  EXPECT_EQ(Harness("add.ftz.f16", 3).run({1, 1}), 0u);
  EXPECT_EQ(Harness("add.f16", 3).run({1, 1}), 2u);
  EXPECT_EQ(Harness("add.ftz.f16", 3).run({0x8001, 0x8000}), 0x8000u);
  EXPECT_EQ(Harness("add.sat.f16", 3).run({0x3c00, 0x3c00}), 0x3c00u);
  EXPECT_EQ(Harness("mul.sat.f16", 3).run({0xbc00, 0x3c00}), 0u);
  EXPECT_EQ(Harness("add.sat.f16", 3).run({0x7e00, 0x3c00}), 0u);
  EXPECT_EQ(Harness("fma.rn.oob.f16", 4).run({0x7ff7, 0x3c00, 0x3c00}), 0u);
  EXPECT_EQ(Harness("fma.rn.oob.f16", 4).run({0x7e00, 0x3c00, 0x3c00}), 0x7fffu);  // another NaN
  EXPECT_EQ(Harness("fma.rn.oob.bf16x2", 4).run({0xfff73f80, 0x3f803f80, 0x3f803f80}), 0x00004000u);
}

TEST(Half, MinMaxSigns) {
  EXPECT_EQ(Harness("min.f16", 3).run({0x0000, 0x8000}), 0x8000u);
  EXPECT_EQ(Harness("max.NaN.f16", 3).run({0x7e00, 0x3c00}), 0x7fffu);
  EXPECT_EQ(Harness("max.f16", 3).run({0x7e00, 0x3c00}), 0x3c00u);
  EXPECT_EQ(Harness("max.xorsign.abs.bf16", 3).run({0xc000, 0x3f80}), 0xc000u);
  EXPECT_EQ(Harness("min.f16x2", 3).run({0x3c004000, 0x40003c00}), 0x3c003c00u);
  EXPECT_EQ(Harness("abs.bf16x2", 2).run({0xbf803f80}), 0x3f803f80u);
  EXPECT_EQ(Harness("neg.f16x2", 2).run({0x3c00bc00}), 0xbc003c00u);
  EXPECT_EQ(Harness("neg.f16", 2).run({0x7e00}), 0x7fffu);
}

}  // namespace
}  // namespace tcsim::isa
