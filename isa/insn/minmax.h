// min and max of floating-point values with .NaN, .abs and .xorsign.abs (PTX ISA "Floating Point Instructions: min, max").
#pragma once
#include "isa/insn/fp.h"

namespace tcsim::isa::fp {

/// -0 counts as smaller than +0. NaN handling is the caller's.
template <bool Max, class T>
inline T pick_ordered(T a, T b) {
  const bool take_a = Max ? a > b : a < b, take_b = Max ? b > a : b < a;
  const bool a_negative = std::signbit(a);
  const bool equal_take_a = Max ? !a_negative : a_negative;  // only signs can differ
  return take_a ? a : take_b ? b : equal_take_a ? a : b;
}

/// The quiet form of a NaN.
inline float quiet(float x) { return x == x ? x : float_of(bits32(x) | 0x00400000u); }
inline double quiet(double x) { return x == x ? x : double_of(bits64(x) | 0x0008000000000000u); }

/// Result before canonicalisation; a NaN result is marked by `nan`. T is float or double.
template <bool Max, bool NaN, class T>
inline T min_max(T a, T b) {
  const bool a_nan = !(a == a), b_nan = !(b == b);
  const T ordered = pick_ordered<Max>(a, b);
  const T one = a_nan ? b : a;  // the other one when exactly one is a NaN, a NaN when both are
  if constexpr (NaN) return a_nan ? a : b_nan ? b : ordered;
  else return (a_nan | b_nan) ? one : ordered;
}

/// f32 with all modifiers; halves use it after widening (their result converts back exactly).
template <bool Max, bool Ftz, bool NaN, bool Xorsign>
inline float min_max_f32(float a, float b) {
  if constexpr (Ftz) a = flush(a), b = flush(b);
  const uint32_t sign = (bits32(a) ^ bits32(b)) & 0x80000000u;
  if constexpr (Xorsign) a = std::fabs(a), b = std::fabs(b);
  const float r = min_max<Max, NaN>(a, b);
  if constexpr (Xorsign) return r == r ? float_of(bits32(r) | sign) : float_of(kNan32);
  else return canonical(r);
}

}  // namespace tcsim::isa::fp
