// PTX ISA "Floating Point Instructions" without rounding: min, max, abs, neg, copysign, testp.
#include "isa/insn/float.h"
#include "isa/insn/minmax.h"

namespace tcsim::isa {
namespace {

using namespace fp;

// ---- min, max ----

template <bool Max>
double min_max_f64(double a, double b) {
  return quiet(min_max<Max, false>(a, b));
}

template <bool Max>
ExecFn exec_two(bool ftz, bool nan, bool xorsign) {
  if (xorsign) {
    if (ftz) return nan ? exec<&min_max_f32<Max, true, true, true>> : exec<&min_max_f32<Max, true, false, true>>;
    return nan ? exec<&min_max_f32<Max, false, true, true>> : exec<&min_max_f32<Max, false, false, true>>;
  }
  if (ftz) return nan ? exec<&min_max_f32<Max, true, true, false>> : exec<&min_max_f32<Max, true, false, false>>;
  return nan ? exec<&min_max_f32<Max, false, true, false>> : exec<&min_max_f32<Max, false, false, false>>;
}

template <bool Max, bool Ftz, bool NaN, bool Abs>
float min_max3(float a, float b, float c) {
  if constexpr (Abs) a = std::fabs(a), b = std::fabs(b), c = std::fabs(c);
  return min_max_f32<Max, Ftz, NaN, false>(a, min_max_f32<Max, Ftz, NaN, false>(b, c));
}
template <bool Max>
ExecFn exec_three(bool ftz, bool nan, bool abs) {
  if (abs) {
    if (ftz) return nan ? exec<&min_max3<Max, true, true, true>> : exec<&min_max3<Max, true, false, true>>;
    return nan ? exec<&min_max3<Max, false, true, true>> : exec<&min_max3<Max, false, false, true>>;
  }
  if (ftz) return nan ? exec<&min_max3<Max, true, true, false>> : exec<&min_max3<Max, true, false, false>>;
  return nan ? exec<&min_max3<Max, false, true, false>> : exec<&min_max3<Max, false, false, false>>;
}

template <bool Max>
std::string bind_min_max(Inst& inst, const Decoded& d) {
  const isa::Op op = Max ? Op::max : Op::min;
  if (d.has("f64")) {
    describe(inst, op, Type::f64, TimingClass::fp64);
    inst.exec = exec<&min_max_f64<Max>>;
    return expect_operands(inst, d, {Type::f64, Type::f64, Type::f64});
  }
  describe(inst, op, Type::f32, TimingClass::alu);
  const bool three = inst.group_count == 4, abs = d.has("abs");
  inst.exec = three ? exec_three<Max>(d.has("ftz"), d.has("NaN"), abs) : exec_two<Max>(d.has("ftz"), d.has("NaN"), d.has("xorsign"));
  return expect_operands(inst, d, {Type::f32, Type::f32, Type::f32, Type::f32});
}

// ---- abs, neg, copysign: on the sign bit. NaN: canonical in f32, quiet with its own sign in f64 (seen on an H200) ----

template <bool Ftz>
float abs_f32(float a) {
  return canonical(std::fabs(Ftz ? flush(a) : a));
}
template <bool Ftz>
float neg_f32(float a) {
  return canonical(float_of(bits32(Ftz ? flush(a) : a) ^ 0x80000000u));
}
double abs_f64(double a) { return a == a ? std::fabs(a) : quiet(a); }
double neg_f64(double a) { return a == a ? double_of(bits64(a) ^ 0x8000000000000000u) : quiet(a); }
uint32_t copysign_f32(uint32_t a, uint32_t b) { return (a & 0x80000000u) | (b & 0x7fffffffu); }
uint64_t copysign_f64(uint64_t a, uint64_t b) { return (a & 0x8000000000000000u) | (b & 0x7fffffffffffffffu); }

std::string bind_unary(Inst& inst, const Decoded& d, isa::Op op, ExecFn plain, ExecFn ftz, ExecFn f64) {
  const Type type = d.has("f64") ? Type::f64 : Type::f32;
  describe(inst, op, type, type == Type::f64 ? TimingClass::fp64 : TimingClass::fma);
  inst.exec = type == Type::f64 ? f64 : d.has("ftz") ? ftz : plain;
  return expect_operands(inst, d, {type, type});
}
std::string bind_abs(Inst& inst, const Decoded& d) {
  return bind_unary(inst, d, Op::abs, exec<&abs_f32<false>>, exec<&abs_f32<true>>, exec<&abs_f64>);
}
std::string bind_neg(Inst& inst, const Decoded& d) {
  return bind_unary(inst, d, Op::neg, exec<&neg_f32<false>>, exec<&neg_f32<true>>, exec<&neg_f64>);
}
std::string bind_copysign(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::copysign, type, TimingClass::alu);
  inst.exec = type == Type::f64 ? exec<&copysign_f64> : exec<&copysign_f32>;
  return expect_operands(inst, d, {type, type, type});
}

// ---- testp ----

/// Class of a value from its exponent and mantissa bits (E: exponent mask, M: mantissa mask).
template <class U, U E, U M>
struct Class {
  static bool finite(U x) { return (x & E) != E; }
  static bool infinite(U x) { return (x & (E | M)) == E; }
  static bool number(U x) { return (x & (E | M)) <= E; }
  static bool notanumber(U x) { return (x & (E | M)) > E; }
  static bool normal(U x) { return (x & E) != E && ((x & E) != 0 || (x & M) == 0); }  // zeros count as normal
  static bool subnormal(U x) { return (x & E) == 0 && (x & M) != 0; }
};
using Class32 = Class<uint32_t, 0x7f800000u, 0x007fffffu>;
using Class64 = Class<uint64_t, 0x7ff0000000000000u, 0x000fffffffffffffu>;

template <auto F>
void exec_testp(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  ctx.set_pred(inst.operand(0).slot, LaneTest<F>::run(ctx, inst), mask);
}
template <class C>
ExecFn testp_exec(std::string_view op) {
  if (op == "finite") return &exec_testp<&C::finite>;
  if (op == "infinite") return &exec_testp<&C::infinite>;
  if (op == "number") return &exec_testp<&C::number>;
  if (op == "notanumber") return &exec_testp<&C::notanumber>;
  if (op == "normal") return &exec_testp<&C::normal>;
  return &exec_testp<&C::subnormal>;
}
std::string bind_testp(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::testp, type, TimingClass::isetp);
  inst.exec = type == Type::f64 ? testp_exec<Class64>(d.value("op")) : testp_exec<Class32>(d.value("op"));
  return expect_operands(inst, d, {Type::pred, type});
}

constexpr InstDef kSelectRows[] = {
    {.base = "min",
     .syntax = "min{.ftz}.f32 d, a, b;",
     .op = Op::min,
     .bind = &bind_min_max<false>,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: min",
     .doc = "smaller of two values"},
    {.base = "min",
     .syntax = "min{.ftz}.NaN.f32 d, a, b;",
     .op = Op::min,
     .bind = &bind_min_max<false>,
     .since = {7, 0, 80},
     .manual = "Floating Point Instructions: min",
     .doc = "smaller of two values, NaN wins"},
    {.base = "min",
     .syntax = "min{.ftz}{.NaN}.xorsign.abs.f32 d, a, b;",
     .op = Op::min,
     .bind = &bind_min_max<false>,
     .since = {7, 2, 86},
     .manual = "Floating Point Instructions: min",
     .doc = "smaller magnitude with the sign of a xor b"},
    {.base = "min",
     .syntax = "min{.ftz}{.NaN}{.abs}.f32 d, a, b, c;",
     .op = Op::min,
     .bind = &bind_min_max<false>,
     .since = {8, 8, 100},
     .manual = "Floating Point Instructions: min",
     .doc = "smaller of three values"},
    {.base = "min",
     .syntax = "min.f64 d, a, b;",
     .op = Op::min,
     .bind = &bind_min_max<false>,
     .since = {1, 0, 13},
     .manual = "Floating Point Instructions: min",
     .doc = "smaller of two values"},
    {.base = "max",
     .syntax = "max{.ftz}.f32 d, a, b;",
     .op = Op::max,
     .bind = &bind_min_max<true>,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: max",
     .doc = "larger of two values"},
    {.base = "max",
     .syntax = "max{.ftz}.NaN.f32 d, a, b;",
     .op = Op::max,
     .bind = &bind_min_max<true>,
     .since = {7, 0, 80},
     .manual = "Floating Point Instructions: max",
     .doc = "larger of two values, NaN wins"},
    {.base = "max",
     .syntax = "max{.ftz}{.NaN}.xorsign.abs.f32 d, a, b;",
     .op = Op::max,
     .bind = &bind_min_max<true>,
     .since = {7, 2, 86},
     .manual = "Floating Point Instructions: max",
     .doc = "larger magnitude with the sign of a xor b"},
    {.base = "max",
     .syntax = "max{.ftz}{.NaN}{.abs}.f32 d, a, b, c;",
     .op = Op::max,
     .bind = &bind_min_max<true>,
     .since = {8, 8, 100},
     .manual = "Floating Point Instructions: max",
     .doc = "larger of three values"},
    {.base = "max",
     .syntax = "max.f64 d, a, b;",
     .op = Op::max,
     .bind = &bind_min_max<true>,
     .since = {1, 0, 13},
     .manual = "Floating Point Instructions: max",
     .doc = "larger of two values"},
    {.base = "abs",
     .syntax = "abs{.ftz}.f32 d, a;",
     .op = Op::abs,
     .bind = &bind_abs,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: abs",
     .doc = "absolute value"},
    {.base = "abs",
     .syntax = "abs.f64 d, a;",
     .op = Op::abs,
     .bind = &bind_abs,
     .since = {1, 0, 13},
     .manual = "Floating Point Instructions: abs",
     .doc = "absolute value"},
    {.base = "neg",
     .syntax = "neg{.ftz}.f32 d, a;",
     .op = Op::neg,
     .bind = &bind_neg,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: neg",
     .doc = "negate"},
    {.base = "neg",
     .syntax = "neg.f64 d, a;",
     .op = Op::neg,
     .bind = &bind_neg,
     .since = {1, 0, 13},
     .manual = "Floating Point Instructions: neg",
     .doc = "negate"},
    {.base = "copysign",
     .syntax = "copysign.type d, a, b;  .type = { .f32, .f64 };",
     .op = Op::copysign,
     .bind = &bind_copysign,
     .since = {2, 0, 20},
     .manual = "Floating Point Instructions: copysign",
     .doc = "b with the sign of a"},
    {.base = "testp",
     .syntax = "testp.op.type p, a;  .op = { .finite, .infinite, .number, .notanumber, .normal, .subnormal };  .type = { .f32, .f64 };",
     .op = Op::testp,
     .bind = &bind_testp,
     .since = {2, 0, 20},
     .manual = "Floating Point Instructions: testp",
     .doc = "test the class of a value"},
};

}  // namespace

std::span<const InstDef> float_select_rows() { return kSelectRows; }

}  // namespace tcsim::isa
