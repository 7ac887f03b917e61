// Approximate functions (PTX ISA "Floating Point Instructions": rcp.approx, sqrt.approx, rsqrt, sin, cos, lg2, ex2, tanh,
// div.approx, div.full). The manual bounds their error and leaves the bits to the chip; here they are evaluated in double
// and rounded once to f32, which is inside every bound. exp2 and log2 are polynomials so that lane loops vectorise.
#pragma once
#include "isa/insn/fp.h"

namespace tcsim::isa::approx {

/// 2^x for |x| <= 1100 with a relative error below 2^-36: 2^n by exponent, 2^f, |f| <= 1/2, by its Taylor series.
inline double exp2_double(double x) {
  x = x < -1000.0 ? -1000.0 : x > 1000.0 ? 1000.0 : x;
  constexpr double kRound = 0x1.8p52;  // adding it leaves round(x) in the low bits
  const double shifted = x + kRound;
  const double f = (x - (shifted - kRound)) * 0.693147180559945309417;
  double p = 1.0 / 3628800.0;
  p = p * f + 1.0 / 362880.0;
  p = p * f + 1.0 / 40320.0;
  p = p * f + 1.0 / 5040.0;
  p = p * f + 1.0 / 720.0;
  p = p * f + 1.0 / 120.0;
  p = p * f + 1.0 / 24.0;
  p = p * f + 1.0 / 6.0;
  p = p * f + 0.5;
  p = p * f + 1.0;
  p = p * f + 1.0;
  const uint64_t n = fp::bits64(shifted) - fp::bits64(kRound);
  return fp::double_of(fp::bits64(p) + (n << 52));
}

/// log2 of a positive finite normal double, relative error below 2^-45: log2(m) = 2/ln2 * atanh((m-1)/(m+1)).
inline double log2_double(double x) {
  const uint64_t b = fp::bits64(x);
  const uint64_t offset = b - 0x3fe6a09e667f3bcdu;  // so that m lies in [sqrt(1/2), sqrt(2))
  const uint64_t exponent = offset & 0xfff0000000000000u;
  const double m = fp::double_of(b - exponent);
  const double t = (m - 1.0) / (m + 1.0), t2 = t * t;
  double p = 1.0 / 17.0;
  p = p * t2 + 1.0 / 15.0;
  p = p * t2 + 1.0 / 13.0;
  p = p * t2 + 1.0 / 11.0;
  p = p * t2 + 1.0 / 9.0;
  p = p * t2 + 1.0 / 7.0;
  p = p * t2 + 1.0 / 5.0;
  p = p * t2 + 1.0 / 3.0;
  p = p * t2 + 1.0;
  // The exponent as a double without a conversion from int64 (AVX2 has none): bits of 2^52 + 2^51 + (e + 1024).
  const uint64_t biased = (exponent + (uint64_t{1024} << 52)) >> 52 & 0xfff;
  const double e = fp::double_of(0x4338000000000000u + biased) - 0x1.8p52 - 1024.0;
  return e + p * t * 2.88539008177792681472;
}

inline float ex2(float x) {
  const float r = static_cast<float>(exp2_double(static_cast<double>(x)));  // below -150: 0, from 128 on: +inf
  return x == x ? r : fp::float_of(fp::kNan32);
}
inline float lg2(float x) {
  const uint32_t b = fp::bits32(x);
  const auto r = static_cast<float>(log2_double(static_cast<double>(fp::float_of(b & 0x7fffffffu))));
  const bool zero = (b & 0x7fffffffu) == 0, negative = (b >> 31) != 0, infinite = b == 0x7f800000u;
  const uint32_t special = zero ? 0xff800000u : infinite ? 0x7f800000u : fp::kNan32;
  const bool is_special = zero | negative | infinite | !(x == x);
  return is_special ? fp::float_of(special) : r;
}
inline float rcp(float x) { return fp::canonical(static_cast<float>(1.0 / static_cast<double>(x))); }
inline float square_root(float x) { return fp::canonical(std::sqrt(x)); }
inline float rsqrt(float x) {
  const auto r = static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
  return fp::canonical(r);  // -0: -inf, as the manual says
}
inline float sine(float x) { return fp::canonical(static_cast<float>(std::sin(static_cast<double>(x)))); }
inline float cosine(float x) { return fp::canonical(static_cast<float>(std::cos(static_cast<double>(x)))); }
/// tanh(x) = 1 - 2 / (e^2x + 1) loses digits near 0, where the odd series takes over.
inline float hyperbolic_tangent(float x) {
  const double a = std::fabs(static_cast<double>(x));
  const double e = exp2_double((a > 20.0 ? 20.0 : a) * 2.88539008177792681472);
  const double large = 1.0 - 2.0 / (e + 1.0);
  const double a2 = a * a;
  const double small = a * (1.0 + a2 * (-1.0 / 3.0 + a2 * (2.0 / 15.0 + a2 * (-17.0 / 315.0 + a2 * (62.0 / 2835.0)))));
  const auto r = static_cast<float>(a < 0.0625 ? small : large);
  return x == x ? fp::float_of(fp::bits32(r) | (fp::bits32(x) & 0x80000000u)) : fp::float_of(fp::kNan32);
}
/// a * (1/b); 1/b is 0 for 2^126 < |b|, so the quotient is 0 there, or NaN for an infinite a (the manual's words).
inline float div_approx(float a, float b) {
  const bool tiny = std::fabs(b) > 0x1p126f && std::fabs(b) < __builtin_inff();
  const auto q = static_cast<float>(static_cast<double>(a) / static_cast<double>(b));
  const float z = a * fp::float_of(fp::bits32(b) & 0x80000000u);
  return fp::canonical(tiny ? z : q);
}
inline float div_full(float a, float b) { return fp::canonical(a / b); }

}  // namespace tcsim::isa::approx
