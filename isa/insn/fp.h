// Scalar floating-point pieces that the lane loops of float.cpp, half.cpp, compare.cpp and convert.cpp are built from.
// All are branch-free so that loops over 32 lanes vectorise. Values travel as bits (uint16_t, uint32_t) or as float/double.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace tcsim::isa::fp {

/// Canonical NaNs (PTX ISA "Floating Point Instructions": 0x7fffffff for f32; half precision: 0x7fff).
constexpr uint32_t kNan32 = 0x7fffffffu;
constexpr uint16_t kNan16 = 0x7fffu;

inline uint32_t bits32(float x) { return std::bit_cast<uint32_t>(x); }
inline float float_of(uint32_t x) { return std::bit_cast<float>(x); }
inline uint64_t bits64(double x) { return std::bit_cast<uint64_t>(x); }
inline double double_of(uint64_t x) { return std::bit_cast<double>(x); }

/// Subnormals become zeros of the same sign (.ftz).
inline float flush(float x) {
  const uint32_t b = bits32(x);
  return float_of((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}
/// Any NaN becomes the canonical one.
inline float canonical(float x) { return x == x ? x : float_of(kNan32); }
/// .sat: [+0, 1], NaN becomes +0.
inline float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
/// .relu: negative values become +0; NaN stays the canonical NaN.
inline float relu(float x) { return x > 0.0f ? x : (x == x ? 0.0f : float_of(kNan32)); }

// ---- f16 and bf16 ----

/// f16 -> f32, exact; a NaN stays a NaN.
inline float half_to_float(uint16_t h) {
  const uint32_t w = static_cast<uint32_t>(h) << 16, sign = w & 0x80000000u, magnitude = (w & 0x7fffffffu) >> 3;
  // Exponent moved by 127 - 15 through a multiplication, which also makes subnormals normal.
  const uint32_t scaled = bits32(float_of(magnitude) * 0x1p112f);
  const uint32_t special = magnitude | 0x7f800000u;
  return float_of(sign | (magnitude >= 0x0f800000u ? special : scaled));
}
inline float bf16_to_float(uint16_t h) { return float_of(static_cast<uint32_t>(h) << 16); }

/// f32 -> f16, round to nearest even, overflow to infinity, NaN to 0x7fff.
inline uint16_t half_from_float(float x) {
  const uint32_t b = bits32(x), sign = b >> 16 & 0x8000u, magnitude = b & 0x7fffffffu;
  // Normal result: drop 13 bits with round to nearest even; carries into the exponent are what rounding wants.
  const uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1) - 0x38000000u) >> 13;
  // Subnormal result: adding 0.5 puts bit 2^-24 at the last place of the float, and the addition rounds.
  const uint32_t small = bits32(float_of(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t r = magnitude < 0x38800000u ? small : normal;
  r = magnitude >= 0x47800000u ? 0x7c00u : r;  // 65536 and more; 65520..65536 carries into infinity by itself
  r = magnitude > 0x7f800000u ? 0x7fffu : sign | r;
  return static_cast<uint16_t>(r);
}
/// f32 -> bf16, round to nearest even, NaN to 0x7fff.
inline uint16_t bf16_from_float(float x) {
  const uint32_t b = bits32(x);
  const uint32_t r = (b + 0x7fffu + (b >> 16 & 1)) >> 16;
  return static_cast<uint16_t>((b & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r);
}
/// Subnormal f16 to a zero of the same sign.
inline uint16_t flush_half(uint16_t h) { return static_cast<uint16_t>((h & 0x7c00u) == 0 ? h & 0x8000u : h); }

/// a + b with the last bit of the result set when the sum is inexact ("round to odd"): may be rounded once more, to a
/// format at least two bits shorter, in any direction, with the result of a single rounding (Boldo and Melquiond 2008).
inline float add_odd(float a, float b) {
  const float s = a + b, t = s - a, e = (a - (s - t)) + (b - t);  // Knuth's TwoSum: a + b = s + e
  const uint32_t bits = bits32(s);
  const uint32_t toward = ((bits32(e) ^ bits) & 0x80000000u) != 0 ? bits - 1 : bits + 1;
  const bool exact = !(e < 0.0f || e > 0.0f) || (bits & 1) != 0 || (bits & 0x7f800000u) == 0x7f800000u;
  return exact ? s : float_of(toward);
}
inline double add_odd(double a, double b) {
  const double s = a + b, t = s - a, e = (a - (s - t)) + (b - t);
  const uint64_t bits = bits64(s);
  const uint64_t toward = ((bits64(e) ^ bits) >> 63) != 0 ? bits - 1 : bits + 1;
  const bool exact = !(e < 0.0 || e > 0.0) || (bits & 1) != 0 || (bits >> 52 & 0x7ff) == 0x7ff;
  return exact ? s : double_of(toward);
}
/// double -> float, rounded to odd (overflow gives the largest float, whose last bit is set).
inline float float_odd(double x) {
  const float f = static_cast<float>(x);
  const double back = static_cast<double>(f);
  const uint32_t bits = bits32(f);
  const bool away = std::fabs(back) > std::fabs(x);
  const uint32_t truncated = away ? bits - 1 : bits;
  const bool exact = !(back < x || back > x);
  return float_of(exact ? bits : truncated | 1u);
}

}  // namespace tcsim::isa::fp
