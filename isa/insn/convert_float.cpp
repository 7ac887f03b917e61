#include "isa/insn/convert.h"
#include "isa/insn/convert_exec.h"

namespace tcsim::isa::conversion {
namespace {

template <class To, class From, bool Sat>
typename To::Result narrowed(typename From::Raw x, uint32_t rounding) {
  const double value = From::value(x);
  const auto r = To::narrow(Sat ? saturate(value) : value, rounding);
  if constexpr (std::is_same_v<From, FromF64> && !std::is_same_v<To, ToF64> && !Sat) return value == value ? r : To::nan(value);
  else return r;
}
/// Same width, rounded to an integral value (.rni ...); a zero result keeps the sign.
template <class To, class From, bool Sat>
typename To::Result integral(typename From::Raw x, uint32_t rounding) {
  const double value = round_integral(From::value(x), rounding);
  return To::narrow(Sat ? saturate(value) : value, kRoundNearest);
}

// Fast paths to nearest, without the detour through double.
inline float same_f32(float x) { return x; }  // a NaN passes as it is
inline uint16_t f32_to_f16(float x) { return fp::half_from_float(x); }
inline uint16_t f32_to_bf16(float x) { return fp::bf16_from_float(x); }
inline float f16_to_f32(uint16_t x) { return fp::canonical(fp::half_to_float(x)); }
inline float bf16_to_f32(uint16_t x) { return fp::bf16_to_float(x); }  // a NaN passes as it is

template <class To, class From>
const Plan* general(bool sat, bool is_integral) {
  if (is_integral) return sat ? &kPlan<&integral<To, From, true>> : &kPlan<&integral<To, From, false>>;
  return sat ? &kPlan<&narrowed<To, From, true>> : &kPlan<&narrowed<To, From, false>>;
}
template <class From>
const Plan* to_type(Type d, bool ftz, bool sat, bool is_integral) {
  switch (d) {
    case Type::f16: return general<ToF16, From>(sat, is_integral);
    case Type::bf16: return general<ToBf16, From>(sat, is_integral);
    case Type::f32: return ftz ? general<ToF32Ftz, From>(sat, is_integral) : general<ToF32, From>(sat, is_integral);
    default: return general<ToF64, From>(sat, is_integral);
  }
}

}  // namespace

const Plan* float_to_float_plan(Type d, Type s, bool ftz, bool sat, bool is_integral, bool directed) {
  // The chip does not flush f32 sources on the way to f16, whatever .ftz says: cvt.rp.ftz gives 2^-24 for them (H200).
  if (d == Type::f16) ftz = false;
  if (!ftz && !sat && !is_integral && !directed) {
    if (d == Type::f32 && s == Type::f32) return &kPlan<&same_f32>;
    if (d == Type::f16 && s == Type::f32) return &kPlan<&f32_to_f16>;
    if (d == Type::bf16 && s == Type::f32) return &kPlan<&f32_to_bf16>;
    if (d == Type::f32 && s == Type::f16) return &kPlan<&f16_to_f32>;
    if (d == Type::f32 && s == Type::bf16) return &kPlan<&bf16_to_f32>;
  }
  switch (s) {
    case Type::f16: return to_type<FromF16>(d, ftz, sat, is_integral);
    case Type::bf16: return to_type<FromBf16>(d, ftz, sat, is_integral);
    case Type::f32: return ftz ? to_type<FromF32Ftz>(d, true, sat, is_integral) : to_type<FromF32>(d, false, sat, is_integral);
    default: return to_type<FromF64>(d, ftz, sat, is_integral);
  }
}

}  // namespace tcsim::isa::conversion
