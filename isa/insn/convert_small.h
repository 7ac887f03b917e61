// Formats of 8 bits and less as cvt produces and reads them (PTX ISA "Alternate Floating-Point Data Formats" and "cvt").
// Values go through double, which holds all of them exactly.
#pragma once
#include "isa/insn/convert.h"

namespace tcsim::isa::conversion {

using E4m3 = Grid<Type::e4m3>;
using E5m2 = Grid<Type::e5m2>;
using E3m2 = Grid<Type::e3m2>;
using E2m3 = Grid<Type::e2m3>;
using E2m1 = Grid<Type::e2m1>;

/// .rn.satfinite{.relu}: nearest even; beyond the largest value, infinity included: the largest value.
template <class Format, bool Relu>
inline uint32_t encode_small(double x) {
  const double clamped = std::fabs(x) > Format::max ? Format::max : std::fabs(x);  // rounding cannot pass max: it is on the grid
  const double r = round_to<Format>(clamped, kRoundNearest);
  const uint64_t e = fp::bits64(r) >> 52 & 0x7ff;
  constexpr uint64_t kLowest = Format::emin + 1023;
  const uint64_t exponent = e > kLowest ? e : kLowest;
  // In units of the last place the significand carries its hidden bit, which adds 1 to the exponent field of normals.
  const double units = r * fp::double_of((2046 - (exponent - (Format::p - 1))) << 52);
  const auto significand = static_cast<uint32_t>(fp::bits64(units + 0x1p52));
  const uint32_t magnitude = (static_cast<uint32_t>(exponent - kLowest) << (Format::p - 1)) + significand;
  const bool negative = std::signbit(x);
  const uint32_t code = negative ? (Relu ? 0u : magnitude | Format::sign) : magnitude;
  return x == x ? code : Format::nan;
}

/// Value of an encoding; NaN and infinity where the format has them.
template <class Format>
inline double decode_small(uint32_t code) {
  const uint32_t magnitude = code & (Format::sign - 1), field = magnitude >> (Format::p - 1);
  const uint32_t fraction = magnitude & ((1u << (Format::p - 1)) - 1);
  const uint32_t significand = field ? fraction | 1u << (Format::p - 1) : fraction;
  const uint64_t exponent = static_cast<uint64_t>(static_cast<int64_t>(Format::emin) + (field ? field : 1) - 1 - (Format::p - 1) + 1023);
  const double value = static_cast<double>(significand) * fp::double_of(exponent << 52);
  const double finite = (code & Format::sign) ? -value : value;
  if constexpr (Format::nan == Format::max_code) return finite;  // no special values
  const bool infinite = Format::infinity != 0 && magnitude == Format::infinity;
  const double special = infinite ? std::copysign(__builtin_inf(), finite) : __builtin_nan("");
  return magnitude > Format::max_code ? special : finite;
}

/// f32 to ue8m0 (a power of two, 2^(code-127)): towards zero or up, the sign is dropped; 255 is NaN.
template <bool Up, bool Satfinite>
inline uint32_t encode_ue8m0(float x) {
  const uint32_t b = fp::bits32(x) & 0x7fffffffu;
  const uint32_t field = b >> 23;
  const bool round_up = Up && (b & 0x7fffffu) != 0 && b > 0x00400000u && b < 0x7f800000u;  // 2^-127 is code 0
  const uint32_t code = field + (round_up ? 1u : 0u);
  return Satfinite && code == 0xff && b <= 0x7f800000u ? 0xfeu : code;
}
/// ue8m0 to bf16: code 0 is the subnormal 2^-127.
inline uint16_t decode_ue8m0(uint32_t code) { return static_cast<uint16_t>(code == 0 ? 0x0040u : code == 0xff ? fp::kNan16 : code << 7); }

}  // namespace tcsim::isa::conversion
