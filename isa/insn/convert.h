// Conversions between scalar types (PTX ISA "Data Movement and Conversion Instructions: cvt"): scalar functions.
//
// Every conversion goes source -> exact value (double, or an integer) -> rounded value -> destination bits. 64-bit integers
// become a double rounded to odd, so that the one rounding that follows is the right one.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "isa/insn/float.h"
#include "isa/insn/fp.h"
#include "isa/numeric/formats.h"

namespace tcsim::isa::conversion {

/// Rounds to an integral value in direction `rounding` (a constant of the lane loop).
inline double round_integral(double x, uint32_t rounding) {
  switch (rounding) {
    case kRoundZero: return std::trunc(x);
    case kRoundDown: return std::floor(x);
    case kRoundUp: return std::ceil(x);
    default: return std::nearbyint(x);  // the host's mode is to nearest even
  }
}

/// 2^e as a double, for constants.
constexpr double power_of_two(int e) { return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52); }

/// What rounding needs to know of a format: precision (with the hidden bit), smallest normal exponent, largest finite value,
/// and the encodings of that value, of NaN (or what stands for it), of infinity (0: none) and of the sign.
template <Type T>
struct Grid {
  static constexpr FormatTraits facts = traits(T);
  static constexpr int p = facts.mantissa + 1, emin = facts.min_exponent();
  static constexpr auto max_code = static_cast<uint32_t>(detail::max_finite(facts));
  static constexpr auto nan = static_cast<uint32_t>(detail::canonical_nan(T) >> facts.pad);
  static constexpr uint32_t sign = 1u << facts.sign_bit();
  static constexpr uint32_t infinity = facts.has_inf ? max_code + 1 : 0;
  static constexpr double max = static_cast<double>((max_code & facts.mantissa_mask()) | uint64_t{1} << facts.mantissa) *
                                power_of_two(static_cast<int>(max_code >> facts.mantissa) - facts.bias - facts.mantissa);
};
using HalfFormat = Grid<Type::f16>;
using Bf16Format = Grid<Type::bf16>;
using Tf32Format = Grid<Type::tf32>;
using FloatFormat = Grid<Type::f32>;

/// Rounds a double to a format's grid: scales so that the last place is 1, rounds to an integer, scales back (all exact).
/// Too large results become infinity or the largest value, as the direction says. NaN and infinity pass.
template <class Format>
inline double round_to(double x, uint32_t rounding) {
  const uint64_t e = fp::bits64(x) >> 52 & 0x7ff;
  constexpr uint64_t kLowest = Format::emin + 1023;
  const uint64_t last = (e > kLowest ? e : kLowest) - (Format::p - 1);  // biased exponent of the last place
  const double scaled = x * fp::double_of((2046 - last) << 52);
  const double r = round_integral(scaled, rounding) * fp::double_of(last << 52);
  const bool over = std::fabs(r) > Format::max && std::fabs(x) < __builtin_inf();
  const bool to_infinity = rounding == kRoundNearest || (rounding == kRoundUp && x > 0) || (rounding == kRoundDown && x < 0);
  const double limit = to_infinity ? __builtin_inf() : Format::max;
  return over ? std::copysign(limit, x) : r;
}

/// cvt.rna.tf32: nearest, ties away from zero, on the bits of the float. NaN and infinity lose their low bits; .satfinite
/// steps back by one last place from all of them (so does the chip's code, NaN included).
template <bool Satfinite>
inline uint32_t tf32_rna(float x) {
  const uint32_t b = fp::bits32(x);
  const bool special = (b & 0x7f800000u) == 0x7f800000u;
  const uint32_t r = (special ? b : b + 0x1000u) & ~0x1fffu;
  return Satfinite && (r & 0x7f800000u) == 0x7f800000u ? r - 0x2000u : r;
}

// ---- integers ----

/// Exact double, or round-to-odd when x has more than 53 significant bits.
inline double odd_double(uint64_t x) {
  const uint64_t sticky = (x >> 11 | (x & 0x7ff ? 1u : 0u)) << 11;
  return static_cast<double>(x >> 53 ? sticky : x);
}
template <class S>
inline double exact_double(S x) {
  if constexpr (sizeof(S) < 8) return static_cast<double>(x);
  else if constexpr (std::is_unsigned_v<S>) return odd_double(x);
  else {
    const uint64_t magnitude = x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
    const double r = odd_double(magnitude);
    return x < 0 ? -r : r;
  }
}

template <class D, class S>
inline D int_to_int(S x) {
  return static_cast<D>(x);
}

/// x limited to the range of D.
template <class D, class S>
inline D int_to_int_sat(S x) {
  using L = std::numeric_limits<D>;
  if constexpr (std::is_signed_v<S>) {
    if constexpr (std::is_signed_v<D>) {
      if constexpr (sizeof(D) < sizeof(S)) return static_cast<D>(x > S{L::max()} ? S{L::max()} : x < S{L::min()} ? S{L::min()} : x);
      else return static_cast<D>(x);
    } else {
      if (x < 0) return 0;
      const auto u = static_cast<std::make_unsigned_t<S>>(x);
      return u > L::max() ? L::max() : static_cast<D>(u);
    }
  } else {
    return x > static_cast<std::make_unsigned_t<D>>(L::max()) ? L::max() : static_cast<D>(x);
  }
}

/// Rounds and clamps to the range of D. A NaN gives 0 for f16, bf16, f32 -> at most 32 bits, else the highest bit alone.
template <class D, bool NanIsZero>
inline D double_to_int(double x, uint32_t rounding) {
  constexpr auto kNan = NanIsZero ? D{0} : static_cast<D>(uint64_t{1} << (8 * sizeof(D) - 1));
  const double r = round_integral(x, rounding);
  if constexpr (sizeof(D) <= 4) {
    constexpr double lo = static_cast<double>(std::numeric_limits<D>::min()), hi = static_cast<double>(std::numeric_limits<D>::max());
    const double clamped = r < lo ? lo : r > hi ? hi : r;
    const auto low_bits = static_cast<uint32_t>(fp::bits64(clamped + 0x1.8p52));  // the integer in two's complement
    return x == x ? static_cast<D>(low_bits) : kNan;
  } else {
    constexpr double lo = static_cast<double>(std::numeric_limits<D>::min());
    constexpr double beyond = std::is_signed_v<D> ? 0x1p63 : 0x1p64;
    if (!(x == x)) return kNan;
    if (r < lo) return std::numeric_limits<D>::min();
    if (r >= beyond) return std::numeric_limits<D>::max();
    return static_cast<D>(r);
  }
}

// ---- float sources and destinations ----

struct FromF16 {
  using Raw = uint16_t;
  static double value(uint16_t x) { return static_cast<double>(fp::half_to_float(x)); }
};
struct FromBf16 {
  using Raw = uint16_t;
  static double value(uint16_t x) { return static_cast<double>(fp::bf16_to_float(x)); }
};
struct FromF32 {
  using Raw = float;
  static double value(float x) { return static_cast<double>(x); }
};
struct FromF32Ftz {
  using Raw = float;
  static double value(float x) { return static_cast<double>(fp::flush(x)); }
};
struct FromF64 {
  using Raw = double;
  static double value(double x) { return x; }
};

inline double saturate(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

/// A NaN from f64 keeps its sign and upper payload bits and becomes quiet; from the narrower types it is canonical, which
/// their `value` cannot show. Seen on an H200.
template <class Format>
inline uint32_t nan_from_f64(double x) {
  constexpr int kFraction = Format::p - 1;
  const uint64_t b = fp::bits64(x);
  const auto payload = static_cast<uint32_t>(b >> (52 - kFraction)) & ((1u << kFraction) - 1);
  return (b >> 63 ? Format::sign : 0u) | Format::infinity | payload | 1u << (kFraction - 1);
}

struct ToF16 {
  static uint16_t narrow(double x, uint32_t rounding) { return fp::half_from_float(static_cast<float>(round_to<HalfFormat>(x, rounding))); }
  static uint16_t nan(double x) { return static_cast<uint16_t>(nan_from_f64<HalfFormat>(x)); }
  using Result = uint16_t;
};
struct ToBf16 {
  static uint16_t narrow(double x, uint32_t rounding) { return fp::bf16_from_float(static_cast<float>(round_to<Bf16Format>(x, rounding))); }
  static uint16_t nan(double x) { return static_cast<uint16_t>(nan_from_f64<Bf16Format>(x)); }
  using Result = uint16_t;
};
struct ToF32 {
  static float narrow(double x, uint32_t rounding) { return fp::canonical(static_cast<float>(round_to<FloatFormat>(x, rounding))); }
  static float nan(double x) { return fp::float_of(nan_from_f64<FloatFormat>(x)); }
  using Result = float;
};
struct ToF32Ftz {
  static float narrow(double x, uint32_t rounding) { return fp::flush(ToF32::narrow(x, rounding)); }
  static float nan(double x) { return ToF32::nan(x); }
  using Result = float;
};
struct ToF64 {
  static double narrow(double x, uint32_t) { return x; }
  using Result = double;
};

}  // namespace tcsim::isa::conversion
