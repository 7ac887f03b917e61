// One output element at a time, NaN and infinity included.
#include <algorithm>
#include <cmath>

#include "isa/check.h"
#include "isa/numeric/float_tile.h"
#include "isa/numeric/half.h"

namespace tcsim::isa {
namespace {

struct Number {
  bool negative = false, inf = false, nan = false;
  int exp = 0;      // value = sig * 2^(exp - mantissa)
  int64_t sig = 0;  // magnitude
  int mantissa = 0;
};

Number read(Type t, uint32_t x) {
  int m = 23, e = 8;
  switch (t) {
    case Type::f16: m = 10, e = 5; break;
    case Type::bf16: m = 7; break;
    case Type::tf32: m = 10, x >>= 13; break;
    case Type::e4m3: m = 3, e = 4; break;
    case Type::e5m2: m = 2, e = 5; break;
    case Type::e3m2: m = 2, e = 3; break;
    case Type::e2m3: m = 3, e = 2; break;
    case Type::e2m1: m = 1, e = 2; break;
    default: break;
  }
  const uint32_t emask = (1u << e) - 1, exponent = (x >> m) & emask, man = x & ((1u << m) - 1);
  Number n;
  n.mantissa = m;
  n.negative = (x >> (m + e)) & 1;
  const bool all_numbers = t == Type::e3m2 || t == Type::e2m3 || t == Type::e2m1;
  if (!all_numbers && (t == Type::e4m3 ? (x & 0x7f) == 0x7f : exponent == emask)) {
    n.nan = t == Type::e4m3 || man != 0;
    n.inf = !n.nan;
    return n;
  }
  n.sig = exponent ? man | (1u << m) : man;
  n.exp = static_cast<int>(std::max(exponent, 1u)) - ((1 << (e - 1)) - 1);
  return n;
}

// Cut toward zero.
int64_t shift(int64_t magnitude, int left) {
  if (left >= 0) return magnitude << left;
  return left <= -63 ? 0 : magnitude >> -left;
}

/// sum * 2^exp (exact, |sum| < 2^40) as f32 cut toward zero, or f16 rounded to nearest.
uint32_t encode(SumOutput out, int64_t sum, int exp) {
  const double v = std::ldexp(static_cast<double>(sum), exp);
  if (out == SumOutput::f16) {
    const uint64_t u = std::bit_cast<uint64_t>(v), low = (uint64_t{1} << 29) - 1;
    const double odd = std::bit_cast<double>((u & ~low) | (u & low ? low + 1 : 0));
    const uint32_t h = f32_to_f16_rn(static_cast<float>(odd));
    return h == 0x8000 ? 0 : h;  // a negative sum that rounds to zero gives +0 (seen on H200)
  }
  const double magnitude = std::fabs(v);
  uint32_t bits = 0;
  if (magnitude >= 0x1p128) bits = 0x7f800000;
  else if (magnitude < 0x1p-126) bits = static_cast<uint32_t>(magnitude * 0x1p149);
  else
    bits = static_cast<uint32_t>(((std::bit_cast<uint64_t>(magnitude) >> 52) - 896) << 23 | ((std::bit_cast<uint64_t>(magnitude) >> 29) & 0x7fffff));
  if (out == SumOutput::f32_m13 && bits != 0x7f800000) bits &= ~0x3ffu;
  return bits | (v < 0 && bits != 0 ? 0x80000000u : 0);  // cut to zero: +0, as for f16
}

uint32_t block(const TensorCoreArith& arith, Type a_type, Type b_type, Type c_type, const uint32_t* a, const uint32_t* b, int n, uint32_t c_bits,
               int scale) {
  const bool out16 = arith.output == SumOutput::f16;
  const Number c = read(c_type, c_bits);
  bool nan = c.nan || TileScales::is_nan(scale), plus = c.inf && !c.negative, minus = c.inf && c.negative;
  int e = arith.min_exponent;
  if (c.sig) e = std::max(e, c.exp);
  for (int i = 0; i < n; ++i) {
    const Number x = read(a_type, a[i]), y = read(b_type, b[i]);
    const bool negative = x.negative != y.negative;
    nan |= x.nan || y.nan || (x.inf && !y.inf && y.sig == 0) || (y.inf && !x.inf && x.sig == 0);
    if (x.inf || y.inf) (negative ? minus : plus) = true;
    if (x.sig && y.sig) e = std::max(e, x.exp + y.exp + scale);
  }
  if (nan || (plus && minus)) return out16 ? 0x7fff : 0x7fffffff;
  if (plus || minus) return (out16 ? 0x7c00u : 0x7f800000u) | (minus ? (out16 ? 0x8000u : 0x80000000u) : 0u);
  const int f = arith.fraction_bits;
  int64_t sum = c.sig ? shift(c.sig, f - c.mantissa + c.exp - e) : 0;
  if (c.negative) sum = -sum;
  for (int i = 0; i < n; ++i) {
    const Number x = read(a_type, a[i]), y = read(b_type, b[i]);
    if (!x.sig || !y.sig) continue;
    const int64_t t = shift(x.sig * y.sig, f - x.mantissa - y.mantissa + x.exp + y.exp + scale - e);
    sum += x.negative != y.negative ? -t : t;
  }
  return encode(arith.output, sum, e - f);
}

}  // namespace

uint32_t float_dot(const TensorCoreArith& arith, Type a_type, Type b_type, Type c_type, const uint32_t* a, const uint32_t* b, int k, uint32_t c,
                   int scale) {
  for (int i = 0; i < k; i += arith.block) {
    c = block(arith, a_type, b_type, c_type, a + i, b + i, std::min(arith.block, k - i), c, scale);
    c_type = arith.output == SumOutput::f16 ? Type::f16 : Type::f32;
  }
  return c;
}

}  // namespace tcsim::isa
