#include "isa/insn/convert.h"
#include "isa/insn/convert_exec.h"

namespace tcsim::isa::conversion {
namespace {

// Integer sources of up to 32 bits are exact in double, so a native conversion to f32 or f64 rounds once. 64-bit sources
// use it too where it rounds to nearest, and go through round-to-odd in the directed modes.
template <class S>
float nearest_f32(S x) {
  return static_cast<float>(x);
}
template <class S>
double nearest_f64(S x) {
  return static_cast<double>(x);
}

template <class S>
double directed_f64(S x, uint32_t rounding) {
  if constexpr (sizeof(S) < 8) return static_cast<double>(x);
  // 64 bits: the nearest double, then one step in the direction if it lies on the wrong side of x. Comparing in 128 bits is exact.
  const double near = static_cast<double>(x);
  const auto back = static_cast<__int128>(near);
  const auto exact = static_cast<__int128>(x);
  const bool down = rounding == kRoundDown || (rounding == kRoundZero && x > 0), up = rounding == kRoundUp || (rounding == kRoundZero && x < 0);
  const uint64_t bits = fp::bits64(near);
  const uint64_t toward_zero = bits - 1, from_zero = bits + 1;
  const bool negative = near < 0;
  if (down && back > exact) return fp::double_of(negative ? from_zero : toward_zero);
  if (up && back < exact) return fp::double_of(negative ? toward_zero : from_zero);
  return near;
}
template <class To, class S, bool Sat>
typename To::Result through_double(S x, uint32_t rounding) {
  const double value = exact_double(x);
  return To::narrow(Sat ? saturate(value) : value, rounding);
}
template <class S>
uint16_t nearest_f16(S x) {
  return fp::half_from_float(fp::float_odd(exact_double(x)));
}
template <class S>
uint16_t nearest_bf16(S x) {
  return fp::bf16_from_float(fp::float_odd(exact_double(x)));
}

template <class S>
const Plan* for_destination(Type d, bool sat, bool directed) {
  switch (d) {
    case Type::f16:
      if (sat) return &kPlan<&through_double<ToF16, S, true>>;
      return directed ? &kPlan<&through_double<ToF16, S, false>> : &kPlan<&nearest_f16<S>>;
    case Type::bf16: return directed ? &kPlan<&through_double<ToBf16, S, false>> : &kPlan<&nearest_bf16<S>>;
    case Type::f32:
      if (sat) return &kPlan<&through_double<ToF32, S, true>>;
      return directed ? &kPlan<&through_double<ToF32, S, false>> : &kPlan<&nearest_f32<S>>;
    default:
      if (sat) return &kPlan<&through_double<ToF64, S, true>>;
      return directed ? &kPlan<&directed_f64<S>> : &kPlan<&nearest_f64<S>>;
  }
}

template <class D, class From, bool NanIsZero>
D float_to_int(typename From::Raw x, uint32_t rounding) {
  return double_to_int<D, NanIsZero>(From::value(x), rounding);
}

template <class From, bool NanIsZero32>
const Plan* to_integer(Type d) {
  switch (d) {
    case Type::u8: return &kPlan<&float_to_int<uint8_t, From, NanIsZero32>>;
    case Type::u16: return &kPlan<&float_to_int<uint16_t, From, NanIsZero32>>;
    case Type::u32: return &kPlan<&float_to_int<uint32_t, From, NanIsZero32>>;
    case Type::u64: return &kPlan<&float_to_int<uint64_t, From, false>>;
    case Type::s8: return &kPlan<&float_to_int<int8_t, From, NanIsZero32>>;
    case Type::s16: return &kPlan<&float_to_int<int16_t, From, NanIsZero32>>;
    case Type::s32: return &kPlan<&float_to_int<int32_t, From, NanIsZero32>>;
    default: return &kPlan<&float_to_int<int64_t, From, false>>;
  }
}

}  // namespace

const Plan* int_to_float_plan(Type d, Type s, bool sat, bool directed) {
  switch (s) {
    case Type::u8: return for_destination<uint8_t>(d, sat, directed);
    case Type::u16: return for_destination<uint16_t>(d, sat, directed);
    case Type::u32: return for_destination<uint32_t>(d, sat, directed);
    case Type::u64: return for_destination<uint64_t>(d, sat, directed);
    case Type::s8: return for_destination<int8_t>(d, sat, directed);
    case Type::s16: return for_destination<int16_t>(d, sat, directed);
    case Type::s32: return for_destination<int32_t>(d, sat, directed);
    default: return for_destination<int64_t>(d, sat, directed);
  }
}

const Plan* float_to_int_plan(Type d, Type s, bool ftz) {
  switch (s) {
    case Type::f16: return to_integer<FromF16, true>(d);
    case Type::bf16: return to_integer<FromBf16, true>(d);
    case Type::f32: return ftz ? to_integer<FromF32Ftz, true>(d) : to_integer<FromF32, true>(d);
    default: return to_integer<FromF64, false>(d);
  }
}

}  // namespace tcsim::isa::conversion
