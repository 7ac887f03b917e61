// PTX ISA "Floating Point Instructions" with IEEE 754 results: add, sub, mul, fma, mad, div, rcp, sqrt in f32, f32x2 and
// f64, and "Mixed Precision Floating Point Instructions".
#include "isa/insn/float.h"

namespace tcsim::isa {
namespace {

using namespace fp;

// ---- f32: optional flushing of sources and result, optional saturation, canonical NaN ----

template <bool Ftz>
inline float source(float x) {
  return Ftz ? flush(x) : x;
}
template <bool Ftz, bool Sat>
inline float result(float x) {
  if constexpr (Sat) return saturate(Ftz ? flush(x) : x);
  else return canonical(Ftz ? flush(x) : x);
}

struct AddF32 {
  template <bool Ftz, bool Sat>
  static float f(float a, float b) {
    return result<Ftz, Sat>(source<Ftz>(a) + source<Ftz>(b));
  }
};
struct SubF32 {
  template <bool Ftz, bool Sat>
  static float f(float a, float b) {
    return result<Ftz, Sat>(source<Ftz>(a) - source<Ftz>(b));
  }
};
struct MulF32 {
  template <bool Ftz, bool Sat>
  static float f(float a, float b) {
    return result<Ftz, Sat>(source<Ftz>(a) * source<Ftz>(b));
  }
};
struct FmaF32 {
  template <bool Ftz, bool Sat>
  static float f(float a, float b, float c) {
    return result<Ftz, Sat>(std::fma(source<Ftz>(a), source<Ftz>(b), source<Ftz>(c)));
  }
};
struct DivF32 {
  template <bool Ftz, bool>
  static float f(float a, float b) {
    return result<Ftz, false>(source<Ftz>(a) / source<Ftz>(b));
  }
};
struct RcpF32 {
  template <bool Ftz, bool>
  static float f(float a) {
    return result<Ftz, false>(1.0f / source<Ftz>(a));
  }
};
struct SqrtF32 {
  template <bool Ftz, bool>
  static float f(float a) {
    return result<Ftz, false>(std::sqrt(source<Ftz>(a)));
  }
};

template <class Op>
ExecFn exec_f32(RoundingMode rounding, bool ftz) {
  return ftz ? exec_rounded<&Op::template f<true, false>>(rounding) : exec_rounded<&Op::template f<false, false>>(rounding);
}
template <class Op>
ExecFn exec_f32_sat(RoundingMode rounding, bool ftz) {
  return ftz ? exec_rounded<&Op::template f<true, true>>(rounding) : exec_rounded<&Op::template f<false, true>>(rounding);
}
template <class Op>
ExecFn exec_f32x2(RoundingMode rounding, bool ftz) {
  constexpr bool kTernary = std::is_same_v<Op, FmaF32>;
  if constexpr (kTernary) {
    using Pair = uint64_t (*)(uint64_t, uint64_t, uint64_t);
    constexpr Pair kFtz = &f32_pair<&Op::template f<true, false>>, kPlain = &f32_pair<&Op::template f<false, false>>;
    return ftz ? exec_rounded<kFtz>(rounding) : exec_rounded<kPlain>(rounding);
  } else {
    using Pair = uint64_t (*)(uint64_t, uint64_t);
    constexpr Pair kFtz = &f32_pair<&Op::template f<true, false>>, kPlain = &f32_pair<&Op::template f<false, false>>;
    return ftz ? exec_rounded<kFtz>(rounding) : exec_rounded<kPlain>(rounding);
  }
}

// ---- f64 ----

/// A NaN result is the last NaN source made quiet (H200), spelled out because a compiler may exchange the operands of + and *.
inline double quiet(double x) { return double_of(bits64(x) | 0x0008000000000000u); }
inline double add_f64(double a, double b) { return b == b ? a + b : quiet(b); }
inline double sub_f64(double a, double b) { return b == b ? a - b : quiet(b); }
inline double mul_f64(double a, double b) { return b == b ? a * b : quiet(b); }
inline double fma_f64(double a, double b, double c) {
  const double r = std::fma(a, b, c);
  return c == c ? (b == b ? r : quiet(b)) : quiet(c);
}
inline double div_f64(double a, double b) { return a / b; }
inline double rcp_f64(double a) { return 1.0 / a; }
inline double sqrt_f64(double a) { return std::sqrt(a); }

// ---- bind ----

/// The shape of all three-type instructions: f32 with sat, f32x2, f64.
template <class Op, auto F64>
std::string bind_arith(Inst& inst, const Decoded& d, isa::Op op, int sources) {
  const RoundingMode rounding = rounding_of(d.value("rnd"));
  const bool ftz = d.has("ftz");
  const Type type = d.has("f64") ? Type::f64 : d.has("f32x2") ? Type::f32x2 : Type::f32;
  describe(inst, op, type, type == Type::f64 ? TimingClass::fp64 : TimingClass::fma);
  inst.flags = rounding;
  if (type == Type::f64) inst.exec = exec_rounded<F64>(rounding);
  else if (type == Type::f32x2) inst.exec = exec_f32x2<Op>(rounding, ftz);
  else inst.exec = d.has("sat") ? exec_f32_sat<Op>(rounding, ftz) : exec_f32<Op>(rounding, ftz);
  return expect_operands(inst, d, {type, type, type, sources > 2 ? type : Type::none});
}
std::string bind_add(Inst& inst, const Decoded& d) { return bind_arith<AddF32, &add_f64>(inst, d, Op::add, 2); }
std::string bind_sub(Inst& inst, const Decoded& d) { return bind_arith<SubF32, &sub_f64>(inst, d, Op::sub, 2); }
std::string bind_mul(Inst& inst, const Decoded& d) { return bind_arith<MulF32, &mul_f64>(inst, d, Op::mul_lo, 2); }
std::string bind_fma(Inst& inst, const Decoded& d) { return bind_arith<FmaF32, &fma_f64>(inst, d, Op::fma, 3); }

/// div, rcp, sqrt with IEEE rounding: sequences whose main work is on the FMA pipe.
template <class F32, auto F64>
std::string bind_exact(Inst& inst, const Decoded& d, isa::Op op, int sources) {
  const RoundingMode rounding = rounding_of(d.value("rnd"));
  const Type type = d.has("f64") ? Type::f64 : Type::f32;
  describe(inst, op, type, type == Type::f64 ? TimingClass::fp64 : TimingClass::fma);
  inst.flags = rounding;
  inst.exec = type == Type::f64 ? exec_rounded<F64>(rounding) : exec_f32<F32>(rounding, d.has("ftz"));
  return expect_operands(inst, d, {type, type, sources > 1 ? type : Type::none});
}
std::string bind_div(Inst& inst, const Decoded& d) { return bind_exact<DivF32, &div_f64>(inst, d, Op::div, 2); }
std::string bind_rcp(Inst& inst, const Decoded& d) { return bind_exact<RcpF32, &rcp_f64>(inst, d, Op::rcp, 1); }
std::string bind_sqrt(Inst& inst, const Decoded& d) { return bind_exact<SqrtF32, &sqrt_f64>(inst, d, Op::sqrt, 1); }

// ---- mixed precision: f16 or bf16 sources widened exactly, then the f32 operation ----

template <float (*Widen)(uint16_t), class Op, bool Sat>
float mixed2(uint16_t a, float c) {
  return Op::template f<false, Sat>(Widen(a), c);
}
template <float (*Widen)(uint16_t), bool Sat>
float mixed3(uint16_t a, uint16_t b, float c) {
  return FmaF32::f<false, Sat>(Widen(a), Widen(b), c);
}

template <float (*Widen)(uint16_t), class Op>
ExecFn exec_mixed(RoundingMode rounding, bool sat) {
  if constexpr (std::is_same_v<Op, FmaF32>) return sat ? exec_rounded<&mixed3<Widen, true>>(rounding) : exec_rounded<&mixed3<Widen, false>>(rounding);
  else return sat ? exec_rounded<&mixed2<Widen, Op, true>>(rounding) : exec_rounded<&mixed2<Widen, Op, false>>(rounding);
}
template <class Op>
std::string bind_mixed(Inst& inst, const Decoded& d, isa::Op op, bool ternary) {
  const RoundingMode rounding = rounding_of(d.value("rnd"));
  const Type from = d.has("bf16") ? Type::bf16 : Type::f16;
  describe(inst, op, Type::f32, TimingClass::fma, from);
  inst.flags = rounding;
  inst.exec = from == Type::f16 ? exec_mixed<&half_to_float, Op>(rounding, d.has("sat")) : exec_mixed<&bf16_to_float, Op>(rounding, d.has("sat"));
  return ternary ? expect_operands(inst, d, {Type::f32, from, from, Type::f32}) : expect_operands(inst, d, {Type::f32, from, Type::f32});
}
std::string bind_add_mixed(Inst& inst, const Decoded& d) { return bind_mixed<AddF32>(inst, d, Op::add, false); }
std::string bind_sub_mixed(Inst& inst, const Decoded& d) { return bind_mixed<SubF32>(inst, d, Op::sub, false); }
std::string bind_fma_mixed(Inst& inst, const Decoded& d) { return bind_mixed<FmaF32>(inst, d, Op::fma, true); }

constexpr InstDef kArithmeticRows[] = {
    {.base = "add",
     .syntax = "add{.rnd}{.ftz}{.sat}.f32 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::add,
     .bind = &bind_add,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: add",
     .doc = "add"},
    {.base = "add",
     .syntax = "add{.rnd}{.ftz}.f32x2 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::add,
     .bind = &bind_add,
     .since = {8, 6, 100},
     .manual = "Floating Point Instructions: add",
     .doc = "add, two values"},
    {.base = "add",
     .syntax = "add{.rnd}.f64 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::add,
     .bind = &bind_add,
     .since = {1, 0, 13},
     .manual = "Floating Point Instructions: add",
     .doc = "add"},
    {.base = "sub",
     .syntax = "sub{.rnd}{.ftz}{.sat}.f32 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::sub,
     .bind = &bind_sub,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: sub",
     .doc = "subtract b from a"},
    {.base = "sub",
     .syntax = "sub{.rnd}{.ftz}.f32x2 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::sub,
     .bind = &bind_sub,
     .since = {8, 6, 100},
     .manual = "Floating Point Instructions: sub",
     .doc = "subtract b from a, two values"},
    {.base = "sub",
     .syntax = "sub{.rnd}.f64 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::sub,
     .bind = &bind_sub,
     .since = {1, 0, 13},
     .manual = "Floating Point Instructions: sub",
     .doc = "subtract b from a"},
    {.base = "mul",
     .syntax = "mul{.rnd}{.ftz}{.sat}.f32 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::mul_lo,
     .bind = &bind_mul,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: mul",
     .doc = "multiply"},
    {.base = "mul",
     .syntax = "mul{.rnd}{.ftz}.f32x2 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::mul_lo,
     .bind = &bind_mul,
     .since = {8, 6, 100},
     .manual = "Floating Point Instructions: mul",
     .doc = "multiply, two values"},
    {.base = "mul",
     .syntax = "mul{.rnd}.f64 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::mul_lo,
     .bind = &bind_mul,
     .since = {1, 0, 13},
     .manual = "Floating Point Instructions: mul",
     .doc = "multiply"},
    {.base = "fma",
     .syntax = "fma.rnd{.ftz}{.sat}.f32 d, a, b, c;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::fma,
     .bind = &bind_fma,
     .since = {2, 0, 20},
     .manual = "Floating Point Instructions: fma",
     .doc = "a * b + c with one rounding"},
    {.base = "fma",
     .syntax = "fma.rnd{.ftz}.f32x2 d, a, b, c;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::fma,
     .bind = &bind_fma,
     .since = {8, 6, 100},
     .manual = "Floating Point Instructions: fma",
     .doc = "a * b + c with one rounding, two values"},
    {.base = "fma",
     .syntax = "fma.rnd.f64 d, a, b, c;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::fma,
     .bind = &bind_fma,
     .since = {1, 4, 13},
     .manual = "Floating Point Instructions: fma",
     .doc = "a * b + c with one rounding"},
    {.base = "mad",
     .syntax = "mad.rnd{.ftz}{.sat}.f32 d, a, b, c;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::fma,
     .bind = &bind_fma,
     .since = {1, 0, 20},
     .manual = "Floating Point Instructions: mad",
     .doc = "a * b + c; the same as fma from sm_20 on"},
    {.base = "mad",
     .syntax = "mad.rnd.f64 d, a, b, c;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::fma,
     .bind = &bind_fma,
     .since = {1, 0, 13},
     .manual = "Floating Point Instructions: mad",
     .doc = "a * b + c; the same as fma"},
    {.base = "div",
     .syntax = "div.rnd{.ftz}.f32 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::div,
     .bind = &bind_div,
     .since = {1, 4, 20},
     .manual = "Floating Point Instructions: div",
     .doc = "quotient, IEEE 754 rounding"},
    {.base = "div",
     .syntax = "div.rnd.f64 d, a, b;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::div,
     .bind = &bind_div,
     .since = {1, 4, 13},
     .manual = "Floating Point Instructions: div",
     .doc = "quotient, IEEE 754 rounding"},
    {.base = "rcp",
     .syntax = "rcp.rnd{.ftz}.f32 d, a;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::rcp,
     .bind = &bind_rcp,
     .since = {1, 4, 20},
     .manual = "Floating Point Instructions: rcp",
     .doc = "reciprocal, IEEE 754 rounding"},
    {.base = "rcp",
     .syntax = "rcp.rnd.f64 d, a;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::rcp,
     .bind = &bind_rcp,
     .since = {1, 4, 13},
     .manual = "Floating Point Instructions: rcp",
     .doc = "reciprocal, IEEE 754 rounding"},
    {.base = "sqrt",
     .syntax = "sqrt.rnd{.ftz}.f32 d, a;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::sqrt,
     .bind = &bind_sqrt,
     .since = {1, 4, 20},
     .manual = "Floating Point Instructions: sqrt",
     .doc = "square root, IEEE 754 rounding"},
    {.base = "sqrt",
     .syntax = "sqrt.rnd.f64 d, a;  .rnd = { .rn, .rz, .rm, .rp };",
     .op = Op::sqrt,
     .bind = &bind_sqrt,
     .since = {1, 4, 13},
     .manual = "Floating Point Instructions: sqrt",
     .doc = "square root, IEEE 754 rounding"},
    {.base = "add",
     .syntax = "add{.rnd}{.sat}.f32.atype d, a, c;  .rnd = { .rn, .rz, .rm, .rp };  .atype = { .f16, .bf16 };",
     .op = Op::add,
     .bind = &bind_add_mixed,
     .since = {8, 6, 100},
     .manual = "Mixed Precision Floating Point Instructions: add",
     .doc = "f16 or bf16 sources, f32 arithmetic"},
    {.base = "sub",
     .syntax = "sub{.rnd}{.sat}.f32.atype d, a, c;  .rnd = { .rn, .rz, .rm, .rp };  .atype = { .f16, .bf16 };",
     .op = Op::sub,
     .bind = &bind_sub_mixed,
     .since = {8, 6, 100},
     .manual = "Mixed Precision Floating Point Instructions: sub",
     .doc = "f16 or bf16 sources, f32 arithmetic"},
    {.base = "fma",
     .syntax = "fma.rnd{.sat}.f32.atype d, a, b, c;  .rnd = { .rn, .rz, .rm, .rp };  .atype = { .f16, .bf16 };",
     .op = Op::fma,
     .bind = &bind_fma_mixed,
     .since = {8, 6, 100},
     .manual = "Mixed Precision Floating Point Instructions: fma",
     .doc = "f16 or bf16 sources, f32 arithmetic"},
};

}  // namespace

std::span<const InstDef> arithmetic_rows() { return kArithmeticRows; }

std::span<const InstDef> float_instructions() {
  static const std::vector<InstDef> rows = [] {
    std::vector<InstDef> all;
    for (const auto part : {arithmetic_rows(), float_select_rows(), approximation_rows(), half_rows(), half_select_rows()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace tcsim::isa
