// Number formats by traits, and one conversion routine that serves them all.
//
//   uint16_t h = f32_to_f16(1.0f / 3, Rounding::rz);
//   uint16_t pair = pack_e4m3x2(hi, lo);                     // cvt.rn.satfinite.e4m3x2.f32
//   uint64_t bits = convert<Type::e5m2, Type::f16>(0x7c);    // any pair of formats, exact intermediate
//
// A value is decoded to sign, significand and exponent (exact, 64-bit significand), then rounded once into the target. Encodings
// are right-aligned in the integer, but tf32 sits in the upper 19 bits of 32 as in a register.
// PTX ISA: "Fundamental Types", "Alternate Floating-Point Data Formats", "cvt". OCP OFP8 and MX specifications for fp8, fp6, fp4.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "isa/type.h"

namespace tcsim::isa {

/// Rounding modes of cvt: nearest even, toward zero, down, up, nearest with ties away from zero.
enum class Rounding : uint8_t { rn, rz, rm, rp, rna };

struct FormatTraits {
  int bits = 0;           // of an encoding
  int exponent_bits = 0;  // 0: integer
  int mantissa = 0;       // stored significand bits
  int bias = 0;
  bool is_signed = true;
  bool has_inf = false;
  bool has_nan = false;
  int pad = 0;  // unused low bits in a register (tf32)

  constexpr bool is_integer() const { return exponent_bits == 0; }
  constexpr uint64_t exponent_mask() const { return (uint64_t{1} << exponent_bits) - 1; }
  constexpr uint64_t mantissa_mask() const { return (uint64_t{1} << mantissa) - 1; }
  constexpr int sign_bit() const { return exponent_bits + mantissa; }
  /// Smallest exponent of a normal number.
  constexpr int min_exponent() const { return 1 - bias; }
};

constexpr FormatTraits traits(Type t) {
  switch (t) {
    case Type::f16: return {16, 5, 10, 15, true, true, true};
    case Type::bf16: return {16, 8, 7, 127, true, true, true};
    case Type::tf32: return {32, 8, 10, 127, true, true, true, 13};
    case Type::f32: return {32, 8, 23, 127, true, true, true};
    case Type::f64: return {64, 11, 52, 1023, true, true, true};
    case Type::e5m2: return {8, 5, 2, 15, true, true, true};
    case Type::e4m3: return {8, 4, 3, 7, true, false, true};    // only S.1111.111 is NaN
    case Type::ue4m3: return {8, 4, 3, 7, false, false, true};  // 7 bits; bit 7 is ignored
    case Type::e3m2: return {6, 3, 2, 3, true, false, false};
    case Type::e2m3: return {6, 2, 3, 1, true, false, false};
    case Type::e2m1: return {4, 2, 1, 1, true, false, false};
    case Type::ue8m0: return {8, 8, 0, 127, false, false, true};  // 2^(x-127): no zero, no subnormals; 0xff is NaN
    case Type::s8: return {8, 0, 7, 0, true};
    case Type::u8: return {8, 0, 8, 0, false};
    case Type::s4: return {4, 0, 3, 0, true};
    case Type::u4: return {4, 0, 4, 0, false};
    case Type::b1: return {1, 0, 1, 0, false};
    default: return {};
  }
}

enum class NumberKind : uint8_t { zero, finite, infinity, nan };

/// value = (-1)^negative * significand * 2^exponent.
struct Number {
  NumberKind kind = NumberKind::zero;
  bool negative = false;
  int exponent = 0;
  uint64_t significand = 0;
};

constexpr Number decode_number(Type type, uint64_t bits) {
  const FormatTraits f = traits(type);
  Number n;
  if (f.is_integer()) {
    bits &= (uint64_t{1} << f.bits) - 1;
    n.negative = f.is_signed && (bits >> (f.bits - 1)) != 0;
    n.significand = n.negative ? (uint64_t{1} << f.bits) - bits : bits;
    n.kind = n.significand ? NumberKind::finite : NumberKind::zero;
    return n;
  }
  bits >>= f.pad;
  const uint64_t e = (bits >> f.mantissa) & f.exponent_mask(), m = bits & f.mantissa_mask();
  n.negative = f.is_signed && ((bits >> f.sign_bit()) & 1) != 0;
  const bool top = e == f.exponent_mask();
  if (f.has_inf ? top && m != 0 : f.has_nan && top && m == f.mantissa_mask()) {
    n.kind = NumberKind::nan;
    return n;
  }
  if (f.has_inf && top) {
    n.kind = NumberKind::infinity;
    return n;
  }
  const bool normal = e != 0 || type == Type::ue8m0;
  n.significand = normal ? m | uint64_t{1} << f.mantissa : m;
  n.exponent = (type == Type::ue8m0 ? static_cast<int>(e) : std::max(static_cast<int>(e), 1)) - f.bias - f.mantissa;
  n.kind = n.significand ? NumberKind::finite : NumberKind::zero;
  return n;
}

/// satfinite: overflow and infinity become the largest finite value (formats without infinity do so regardless, except that
/// e4m3 overflows to NaN without it). relu: negative results become +0, NaN stays NaN. ftz: subnormal inputs become zero.
struct ConvertOptions {
  Rounding rounding = Rounding::rn;
  bool satfinite = false, relu = false, ftz = false;
};

namespace detail {

constexpr uint64_t canonical_nan(Type type) {
  const FormatTraits f = traits(type);
  if (!f.has_nan) return (uint64_t{1} << f.sign_bit()) - 1;  // fp6 and fp4: NaN becomes the largest value
  return ((uint64_t{1} << f.sign_bit()) - 1) << f.pad | ((uint64_t{1} << f.pad) - 1);
}

constexpr uint64_t max_finite(const FormatTraits& f) {
  const uint64_t top = (uint64_t{1} << f.sign_bit()) - 1;
  return f.has_inf ? (f.exponent_mask() << f.mantissa) - 1 : f.has_nan ? top - 1 : top;
}

/// significand >> shift, rounded (shift > 0). Bits beyond 64 count as "something".
constexpr uint64_t round_right(uint64_t significand, int shift, bool negative, Rounding rounding) {
  const bool far = shift > 63;
  const uint64_t q = far ? 0 : significand >> shift;
  const uint64_t rest = far ? significand : significand & ((uint64_t{1} << shift) - 1);
  if (rest == 0) return q;
  const uint64_t half = shift <= 64 ? uint64_t{1} << (shift - 1) : 0;
  const bool above = half != 0 && rest > half, tie = half != 0 && rest == half;
  switch (rounding) {
    case Rounding::rn: return q + (above || (tie && (q & 1)));
    case Rounding::rna: return q + (above || tie);
    case Rounding::rz: return q;
    case Rounding::rm: return q + negative;
    default: return q + !negative;
  }
}

constexpr uint64_t overflow_bits(const FormatTraits& f, bool negative, const ConvertOptions& o) {
  const bool toward_zero = o.rounding == Rounding::rz || (o.rounding == Rounding::rm && !negative) || (o.rounding == Rounding::rp && negative);
  if (o.satfinite || toward_zero || !f.has_nan) return max_finite(f);
  return f.has_inf ? f.exponent_mask() << f.mantissa : (uint64_t{1} << f.sign_bit()) - 1;  // e4m3, ue8m0: NaN
}

constexpr uint64_t encode_integer(const FormatTraits& f, const Number& n, const ConvertOptions& o) {
  const uint64_t magnitude = n.exponent >= 0 ? (n.exponent > 40 ? UINT64_MAX : n.significand << n.exponent)
                                             : round_right(n.significand, -n.exponent, n.negative, o.rounding);
  const uint64_t limit = f.is_signed ? (uint64_t{1} << (f.bits - 1)) - !n.negative : n.negative ? 0 : (uint64_t{1} << f.bits) - 1;
  const uint64_t clamped = std::min(magnitude, limit), mask = (uint64_t{1} << f.bits) - 1;
  return n.negative ? (~clamped + 1) & mask : clamped;
}

}  // namespace detail

/// Rounds a number into a format. NaN becomes the format's canonical NaN (0x7fff, 0x7fffffff, 0x7f, ...; integers: 0).
constexpr uint64_t encode_number(Type type, Number n, ConvertOptions o = {}) {
  const FormatTraits f = traits(type);
  if (n.kind == NumberKind::nan) return f.is_integer() ? 0 : detail::canonical_nan(type);
  if (type == Type::ue8m0) n.negative = false;  // the scale of |x|
  if (o.relu && n.negative) return 0;
  if (f.is_integer()) {
    if (n.kind == NumberKind::infinity) n.significand = 1, n.exponent = 41;
    return detail::encode_integer(f, n, o);
  }
  if (!f.is_signed && n.negative) return 0;
  const uint64_t sign = uint64_t{n.negative} << f.sign_bit();
  if (n.kind == NumberKind::zero) return sign << f.pad;
  if (n.kind == NumberKind::infinity) {
    const bool keep = f.has_inf && !o.satfinite;
    ConvertOptions up = o;
    up.rounding = Rounding::rn;
    return (sign | (keep ? f.exponent_mask() << f.mantissa : detail::overflow_bits(f, n.negative, up))) << f.pad;
  }
  const int lead = 63 - std::countl_zero(n.significand) + n.exponent;
  const int emin = type == Type::ue8m0 ? -f.bias : f.min_exponent();
  const int last = std::max(lead, emin) - f.mantissa, shift = last - n.exponent;
  const uint64_t m = shift <= 0 ? n.significand << -shift : detail::round_right(n.significand, shift, n.negative, o.rounding);
  // A carry out of the significand moves into the exponent by itself.
  uint64_t bits = m;
  if (type == Type::ue8m0) bits = lead < emin ? 0 : static_cast<uint64_t>(last + f.bias) + m - 1;
  else if (m >> f.mantissa) bits = (static_cast<uint64_t>(last + f.mantissa + f.bias) << f.mantissa) + (m - (uint64_t{1} << f.mantissa));
  if (bits > detail::max_finite(f)) bits = detail::overflow_bits(f, n.negative, o);
  return (sign | bits) << f.pad;
}

/// Any format to any other. ftz applies to f32 inputs (PTX cvt.ftz).
constexpr uint64_t convert(Type from, Type to, uint64_t bits, ConvertOptions o = {}) {
  Number n = decode_number(from, bits);
  const FormatTraits f = traits(from);
  if (o.ftz && n.kind == NumberKind::finite && (n.significand >> f.mantissa) == 0) n.kind = NumberKind::zero;
  return encode_number(to, n, o);
}

template <Type kFrom, Type kTo>
constexpr uint64_t convert(uint64_t bits, ConvertOptions o = {}) {
  return convert(kFrom, kTo, bits, o);
}

// ---- shorthands ----

inline uint16_t f32_to_f16(float x, Rounding r = Rounding::rn, bool satfinite = false) {
  return static_cast<uint16_t>(convert<Type::f32, Type::f16>(std::bit_cast<uint32_t>(x), {r, satfinite}));
}
inline uint16_t f32_to_bf16(float x, Rounding r = Rounding::rn, bool satfinite = false) {
  return static_cast<uint16_t>(convert<Type::f32, Type::bf16>(std::bit_cast<uint32_t>(x), {r, satfinite}));
}
/// A register with the low 13 bits zero (NaN: 0x7fffffff).
inline uint32_t f32_to_tf32(float x, Rounding r = Rounding::rna, bool satfinite = false) {
  return static_cast<uint32_t>(convert<Type::f32, Type::tf32>(std::bit_cast<uint32_t>(x), {r, satfinite}));
}

/// cvt.rn.satfinite{.relu}.<to>x2.f32 d, hi, lo for the 8-bit formats and e3m2, e2m3 (one byte each, fp6 in its low bits).
inline uint16_t pack_x2(Type to, float hi, float lo, bool relu = false) {
  const ConvertOptions o{Rounding::rn, true, relu};
  const uint64_t h = convert(Type::f32, to, std::bit_cast<uint32_t>(hi), o), l = convert(Type::f32, to, std::bit_cast<uint32_t>(lo), o);
  return static_cast<uint16_t>(h << 8 | l);
}
inline uint16_t pack_e4m3x2(float hi, float lo, bool relu = false) { return pack_x2(Type::e4m3, hi, lo, relu); }
inline uint16_t pack_e5m2x2(float hi, float lo, bool relu = false) { return pack_x2(Type::e5m2, hi, lo, relu); }
/// cvt.rn.satfinite{.relu}.e2m1x2.f32: two nibbles in a byte.
inline uint8_t pack_e2m1x2(float hi, float lo, bool relu = false) {
  const uint16_t p = pack_x2(Type::e2m1, hi, lo, relu);
  return static_cast<uint8_t>((p >> 8) << 4 | (p & 15));
}
/// cvt.rn.satfinite{.relu}.<to>x2.f16x2 (or from bf16x2): half k of the source to byte k.
inline uint16_t pack_x2_from(Type from, Type to, uint32_t pair, bool relu = false) {
  const ConvertOptions o{Rounding::rn, true, relu};
  return static_cast<uint16_t>(convert(from, to, pair >> 16, o) << 8 | convert(from, to, pair & 0xffff, o));
}
/// cvt.rn.f16x2.<from>x2: byte k of the source to half k.
inline uint32_t unpack_x2_to_f16(Type from, uint16_t pair, bool relu = false) {
  const ConvertOptions o{Rounding::rn, false, relu};
  return static_cast<uint32_t>(convert(from, Type::f16, pair >> 8, o) << 16 | convert(from, Type::f16, pair & 0xff, o));
}

}  // namespace tcsim::isa
