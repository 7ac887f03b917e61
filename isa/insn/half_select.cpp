// f16 and bf16: min, max, abs, neg, and the approximations tanh and ex2.
#include "isa/insn/approx.h"
#include "isa/insn/convert.h"
#include "isa/insn/float.h"
#include "isa/insn/half.h"
#include "isa/insn/minmax.h"

namespace tcsim::isa {
namespace {

using namespace half;

template <auto F>
ExecFn one(bool packed) {
  constexpr uint32_t (*kPair)(uint32_t) = &pair<F>;
  return packed ? exec<kPair> : exec<F>;
}
template <auto F>
ExecFn two(bool packed) {
  constexpr uint32_t (*kPair)(uint32_t, uint32_t) = &pair<F>;
  return packed ? exec<kPair> : exec<F>;
}

// ---- min, max: a widened value converts back exactly, so the f32 function does the work ----

template <class Fmt, bool Max, bool Ftz, bool NaN, bool Xorsign>
uint16_t min_max_half(uint16_t a, uint16_t b) {
  if constexpr (Ftz) a = Fmt::flush(a), b = Fmt::flush(b);
  return Fmt::narrow(fp::min_max_f32<Max, false, NaN, Xorsign>(Fmt::widen(a), Fmt::widen(b)));
}
template <class Fmt, bool Max, bool Ftz>
ExecFn min_max_exec(bool packed, bool nan, bool xorsign) {
  if (xorsign) return nan ? two<&min_max_half<Fmt, Max, Ftz, true, true>>(packed) : two<&min_max_half<Fmt, Max, Ftz, false, true>>(packed);
  return nan ? two<&min_max_half<Fmt, Max, Ftz, true, false>>(packed) : two<&min_max_half<Fmt, Max, Ftz, false, false>>(packed);
}
template <bool Max>
std::string bind_min_max(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  const bool packed = type == Type::f16x2 || type == Type::bf16x2, bf16 = type == Type::bf16 || type == Type::bf16x2;
  const bool ftz = d.has("ftz"), nan = d.has("NaN"), xorsign = d.has("xorsign");
  describe(inst, Max ? Op::max : Op::min, type, TimingClass::half);
  inst.exec = bf16  ? min_max_exec<Bf16, Max, false>(packed, nan, xorsign)
              : ftz ? min_max_exec<F16, Max, true>(packed, nan, xorsign)
                    : min_max_exec<F16, Max, false>(packed, nan, xorsign);
  return expect_operands(inst, d, {type, type, type});
}

// ---- abs, neg: on the sign bit; a NaN becomes the canonical one ----

template <class Fmt, bool Ftz, uint16_t And, uint16_t Xor>
uint16_t sign_half(uint16_t a) {
  const auto r = static_cast<uint16_t>(((Ftz ? Fmt::flush(a) : a) & And) ^ Xor);
  return (a & 0x7fffu) > Fmt::kInfinity ? fp::kNan16 : r;
}
template <uint16_t And, uint16_t Xor>
ExecFn sign_exec(Type type, bool ftz) {
  const bool packed = bits(type) == 32;
  if (type == Type::bf16 || type == Type::bf16x2) return one<&sign_half<Bf16, false, And, Xor>>(packed);
  return ftz ? one<&sign_half<F16, true, And, Xor>>(packed) : one<&sign_half<F16, false, And, Xor>>(packed);
}

std::string bind_abs(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::abs, type, TimingClass::half);
  inst.exec = sign_exec<0x7fff, 0>(type, d.has("ftz"));
  return expect_operands(inst, d, {type, type});
}
std::string bind_neg(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::neg, type, TimingClass::half);
  inst.exec = sign_exec<0xffff, 0x8000>(type, d.has("ftz"));
  return expect_operands(inst, d, {type, type});
}

// ---- tanh, ex2: the f32 approximation cut to the format, as the chip does; the manual's bounds (2^-10.987 and 2^-9.9 for
// f16, 2^-8 and 2^-7 for bf16) leave room for that and no more ----

template <class Fmt>
uint16_t cut(float x) {
  // The chip's intermediate is short enough that what lies next to a value of the format is that value (tanh of 9 is 1).
  const float near = fp::float_of((fp::bits32(x) + 2u) & ~3u);
  const double r = conversion::round_to<typename Fmt::Grid>(static_cast<double>(near), kRoundZero);
  const bool beyond = !(std::fabs(x) <= static_cast<float>(Fmt::Grid::max));  // infinity, or NaN
  return Fmt::narrow(beyond ? x * 2.0f : static_cast<float>(r));
}
template <class Fmt>
uint16_t tanh_half(uint16_t a) {
  return cut<Fmt>(approx::hyperbolic_tangent(Fmt::widen(a)));
}
template <class Fmt, bool Ftz>
uint16_t ex2_half(uint16_t a) {
  const uint16_t r = cut<Fmt>(approx::ex2(Fmt::widen(Ftz ? Fmt::flush(a) : a)));
  return Ftz ? Fmt::flush(r) : r;
}
std::string bind_tanh(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::tanh, type, TimingClass::mufu);
  const bool packed = bits(type) == 32;
  inst.exec = type == Type::bf16 || type == Type::bf16x2 ? one<&tanh_half<Bf16>>(packed) : one<&tanh_half<F16>>(packed);
  return expect_operands(inst, d, {type, type});
}
std::string bind_ex2(Inst& inst, const Decoded& d) {
  const Type type = d.has("ftz") ? d.type("btype") : d.type("atype");
  describe(inst, Op::ex2, type, TimingClass::mufu);
  const bool packed = bits(type) == 32;
  inst.exec = d.has("ftz") ? one<&ex2_half<Bf16, true>>(packed) : one<&ex2_half<F16, false>>(packed);
  return expect_operands(inst, d, {type, type});
}

constexpr InstDef kHalfSelectRows[] = {
    {.base = "min",
     .syntax = "min{.ftz}{.NaN}.type d, a, b;  .type = { .f16, .f16x2 };",
     .op = Op::min,
     .bind = &bind_min_max<false>,
     .since = {7, 0, 80},
     .manual = "Half Precision Floating Point Instructions: min",
     .doc = "smaller of two values, f16"},
    {.base = "min",
     .syntax = "min{.ftz}{.NaN}.xorsign.abs.type d, a, b;  .type = { .f16, .f16x2 };",
     .op = Op::min,
     .bind = &bind_min_max<false>,
     .since = {7, 2, 86},
     .manual = "Half Precision Floating Point Instructions: min",
     .doc = "smaller magnitude with the sign of a xor b, f16"},
    {.base = "min",
     .syntax = "min{.NaN}.type d, a, b;  .type = { .bf16, .bf16x2 };",
     .op = Op::min,
     .bind = &bind_min_max<false>,
     .since = {7, 0, 80},
     .manual = "Half Precision Floating Point Instructions: min",
     .doc = "smaller of two values, bf16"},
    {.base = "min",
     .syntax = "min{.NaN}.xorsign.abs.type d, a, b;  .type = { .bf16, .bf16x2 };",
     .op = Op::min,
     .bind = &bind_min_max<false>,
     .since = {7, 2, 86},
     .manual = "Half Precision Floating Point Instructions: min",
     .doc = "smaller magnitude with the sign of a xor b, bf16"},
    {.base = "max",
     .syntax = "max{.ftz}{.NaN}.type d, a, b;  .type = { .f16, .f16x2 };",
     .op = Op::max,
     .bind = &bind_min_max<true>,
     .since = {7, 0, 80},
     .manual = "Half Precision Floating Point Instructions: max",
     .doc = "larger of two values, f16"},
    {.base = "max",
     .syntax = "max{.ftz}{.NaN}.xorsign.abs.type d, a, b;  .type = { .f16, .f16x2 };",
     .op = Op::max,
     .bind = &bind_min_max<true>,
     .since = {7, 2, 86},
     .manual = "Half Precision Floating Point Instructions: max",
     .doc = "larger magnitude with the sign of a xor b, f16"},
    {.base = "max",
     .syntax = "max{.NaN}.type d, a, b;  .type = { .bf16, .bf16x2 };",
     .op = Op::max,
     .bind = &bind_min_max<true>,
     .since = {7, 0, 80},
     .manual = "Half Precision Floating Point Instructions: max",
     .doc = "larger of two values, bf16"},
    {.base = "max",
     .syntax = "max{.NaN}.xorsign.abs.type d, a, b;  .type = { .bf16, .bf16x2 };",
     .op = Op::max,
     .bind = &bind_min_max<true>,
     .since = {7, 2, 86},
     .manual = "Half Precision Floating Point Instructions: max",
     .doc = "larger magnitude with the sign of a xor b, bf16"},
    {.base = "abs",
     .syntax = "abs{.ftz}.type d, a;  .type = { .f16, .f16x2 };",
     .op = Op::abs,
     .bind = &bind_abs,
     .since = {6, 5, 53},
     .manual = "Half Precision Floating Point Instructions: abs",
     .doc = "absolute value, f16"},
    {.base = "abs",
     .syntax = "abs.type d, a;  .type = { .bf16, .bf16x2 };",
     .op = Op::abs,
     .bind = &bind_abs,
     .since = {7, 0, 80},
     .manual = "Half Precision Floating Point Instructions: abs",
     .doc = "absolute value, bf16"},
    {.base = "neg",
     .syntax = "neg{.ftz}.type d, a;  .type = { .f16, .f16x2 };",
     .op = Op::neg,
     .bind = &bind_neg,
     .since = {6, 0, 53},
     .manual = "Half Precision Floating Point Instructions: neg",
     .doc = "negate, f16"},
    {.base = "neg",
     .syntax = "neg.type d, a;  .type = { .bf16, .bf16x2 };",
     .op = Op::neg,
     .bind = &bind_neg,
     .since = {7, 0, 80},
     .manual = "Half Precision Floating Point Instructions: neg",
     .doc = "negate, bf16"},
    {.base = "tanh",
     .syntax = "tanh.approx.type d, a;  .type = { .f16, .f16x2 };",
     .op = Op::tanh,
     .bind = &bind_tanh,
     .since = {7, 0, 75},
     .manual = "Half Precision Floating Point Instructions: tanh",
     .doc = "hyperbolic tangent, approximate, f16"},
    {.base = "tanh",
     .syntax = "tanh.approx.type d, a;  .type = { .bf16, .bf16x2 };",
     .op = Op::tanh,
     .bind = &bind_tanh,
     .since = {7, 8, 90},
     .manual = "Half Precision Floating Point Instructions: tanh",
     .doc = "hyperbolic tangent, approximate, bf16"},
    {.base = "ex2",
     .syntax = "ex2.approx.atype d, a;  .atype = { .f16, .f16x2 };",
     .op = Op::ex2,
     .bind = &bind_ex2,
     .since = {7, 0, 75},
     .manual = "Half Precision Floating Point Instructions: ex2",
     .doc = "2 to the power a, approximate, f16"},
    {.base = "ex2",
     .syntax = "ex2.approx.ftz.btype d, a;  .btype = { .bf16, .bf16x2 };",
     .op = Op::ex2,
     .bind = &bind_ex2,
     .since = {7, 8, 90},
     .manual = "Half Precision Floating Point Instructions: ex2",
     .doc = "2 to the power a, approximate, bf16"},
};

}  // namespace

std::span<const InstDef> half_select_rows() { return kHalfSelectRows; }

}  // namespace tcsim::isa
