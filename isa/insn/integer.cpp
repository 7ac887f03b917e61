#include "isa/insn/integer.h"

#include "isa/insn/common.h"

namespace tcsim::isa {
namespace {

using namespace integer;

/// Timing class of simple work: 64-bit forms are sequences of the same class, which the lowering expands.
TimingClass multiply_class(Type type, bool wide) { return wide || bits(type) == 64 ? TimingClass::imad_wide : TimingClass::imad; }

std::string bind_add_sub(Inst& inst, const Decoded& d, Op op, ExecFn plain, ExecFn packed, ExecFn saturated) {
  const Type type = d.has("s32") && d.has("sat") ? Type::s32 : d.type();
  describe(inst, op, type, TimingClass::alu);
  inst.exec = d.has("sat") ? saturated : (type == Type::u16x2 || type == Type::s16x2) ? packed : plain;
  return expect_operands(inst, d, {type, type, type});
}
std::string bind_add(Inst& inst, const Decoded& d) {
  return bind_add_sub(inst, d, Op::add, exec_for_width<Add>(d.type()), exec<&halves<Add, uint16_t>>, exec<&add_sat>);
}
std::string bind_sub(Inst& inst, const Decoded& d) {
  return bind_add_sub(inst, d, Op::sub, exec_for_width<Sub>(d.type()), exec<&halves<Sub, uint16_t>>, exec<&sub_sat>);
}

Type widened(Type type) {
  switch (type) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    default: return Type::s64;
  }
}

template <class Op>
ExecFn exec_widening(Type type) {
  switch (type) {
    case Type::u16: return exec<&Op::template f<uint16_t>>;
    case Type::s16: return exec<&Op::template f<int16_t>>;
    case Type::u32: return exec<&Op::template f<uint32_t>>;
    default: return exec<&Op::template f<int32_t>>;
  }
}

std::string bind_mul(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  const auto mode = d.value("mode");
  const bool wide = mode == "wide";
  if (wide && bits(type) == 64) return "mul.wide does not exist for 64-bit types, expected .u16, .s16, .u32 or .s32";
  describe(inst, wide ? Op::mul_wide : mode == "hi" ? Op::mul_hi : Op::mul_lo, type, multiply_class(type, wide || mode == "hi"));
  inst.exec = wide ? exec_widening<MulWide>(type) : mode == "hi" ? exec_for_type<MulHi>(type) : exec_for_width<MulLo>(type);
  return expect_operands(inst, d, {wide ? widened(type) : type, type, type});
}

std::string bind_mad(Inst& inst, const Decoded& d) {
  const bool sat = d.has("sat");
  const Type type = sat ? Type::s32 : d.type();
  const auto mode = sat ? std::string_view("hi") : d.value("mode");
  const bool wide = mode == "wide";
  if (wide && bits(type) == 64) return "mad.wide does not exist for 64-bit types, expected .u16, .s16, .u32 or .s32";
  describe(inst, wide ? Op::mad_wide : mode == "hi" ? Op::mad_hi : Op::mad_lo, type, multiply_class(type, wide || mode == "hi"));
  inst.exec = sat ? exec<&mad_hi_sat> : wide ? exec_widening<MadWide>(type) : mode == "hi" ? exec_for_type<MadHi>(type) : exec_for_width<MadLo>(type);
  const Type result = wide ? widened(type) : type;
  return expect_operands(inst, d, {result, type, type, result});
}

std::string bind_mul24(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  const bool hi = d.value("mode") == "hi", s = is_signed(type);
  describe(inst, Op::mul24, type, TimingClass::imad);
  inst.exec = hi ? (s ? exec<&Mul24Hi::f<int32_t>> : exec<&Mul24Hi::f<uint32_t>>) : (s ? exec<&Mul24Lo::f<int32_t>> : exec<&Mul24Lo::f<uint32_t>>);
  return expect_operands(inst, d, {type, type, type});
}

std::string bind_mad24(Inst& inst, const Decoded& d) {
  const bool sat = d.has("sat");
  const Type type = sat ? Type::s32 : d.type();
  const bool hi = d.value("mode") == "hi", s = is_signed(type);
  describe(inst, Op::mad24, type, TimingClass::imad);
  inst.exec = sat  ? exec<&mad24_hi_sat>
              : hi ? (s ? exec<&Mad24Hi::f<int32_t>> : exec<&Mad24Hi::f<uint32_t>>)
                   : (s ? exec<&Mad24Lo::f<int32_t>> : exec<&Mad24Lo::f<uint32_t>>);
  return expect_operands(inst, d, {type, type, type, type});
}

std::string bind_sad(Inst& inst, const Decoded& d) {
  describe(inst, Op::sad, d.type(), TimingClass::alu);
  inst.exec = exec_for_type<Sad>(d.type());
  return expect_operands(inst, d, {d.type(), d.type(), d.type(), d.type()});
}

std::string bind_div(Inst& inst, const Decoded& d) {
  describe(inst, Op::div, d.type(), TimingClass::imad);
  inst.exec = exec_for_type<Div>(d.type());
  return expect_operands(inst, d, {d.type(), d.type(), d.type()});
}
std::string bind_rem(Inst& inst, const Decoded& d) {
  describe(inst, Op::rem, d.type(), TimingClass::imad);
  inst.exec = exec_for_type<Rem>(d.type());
  return expect_operands(inst, d, {d.type(), d.type(), d.type()});
}

std::string bind_abs(Inst& inst, const Decoded& d) {
  describe(inst, Op::abs, d.type(), TimingClass::alu);
  inst.exec = exec_for_signed<Abs>(d.type());
  return expect_operands(inst, d, {d.type(), d.type()});
}
std::string bind_neg(Inst& inst, const Decoded& d) {
  describe(inst, Op::neg, d.type(), TimingClass::alu);
  inst.exec = exec_for_width<Neg>(d.type());
  return expect_operands(inst, d, {d.type(), d.type()});
}

template <class Plain, class Relu>
ExecFn exec_min_max(Type type, bool relu) {
  if (type == Type::u16x2) return exec<&halves<Plain, uint16_t>>;
  if (type == Type::s16x2) return relu ? exec<&halves<Relu, int16_t>> : exec<&halves<Plain, int16_t>>;
  if (relu) return exec<&Relu::template f<int32_t>>;
  return exec_for_type<Plain>(type);
}
std::string bind_min_max(Inst& inst, const Decoded& d, Op op) {
  const Type type = d.type("atype") != Type::none ? d.type("atype") : d.type("btype");
  describe(inst, op, type, TimingClass::alu);
  const bool relu = d.has("relu");
  inst.exec = op == Op::min ? exec_min_max<Min, MinRelu>(type, relu) : exec_min_max<Max, MaxRelu>(type, relu);
  return expect_operands(inst, d, {type, type, type});
}
std::string bind_min(Inst& inst, const Decoded& d) { return bind_min_max(inst, d, Op::min); }
std::string bind_max(Inst& inst, const Decoded& d) { return bind_min_max(inst, d, Op::max); }

std::string bind_popc(Inst& inst, const Decoded& d) {
  describe(inst, Op::popc, d.type(), TimingClass::popc);
  inst.exec = exec_for_32_64<Popc>(d.type());
  return expect_operands(inst, d, {Type::u32, d.type()});
}
std::string bind_clz(Inst& inst, const Decoded& d) {
  describe(inst, Op::clz, d.type(), TimingClass::popc);
  inst.exec = exec_for_32_64<Clz>(d.type());
  return expect_operands(inst, d, {Type::u32, d.type()});
}
template <class Op>
ExecFn exec_bfind(Type type) {
  const bool s = is_signed(type);
  if (bits(type) == 64) return s ? exec<&Op::template f<int64_t>> : exec<&Op::template f<uint64_t>>;
  return s ? exec<&Op::template f<int32_t>> : exec<&Op::template f<uint32_t>>;
}
std::string bind_bfind(Inst& inst, const Decoded& d) {
  describe(inst, Op::bfind, d.type(), TimingClass::popc);
  inst.exec = d.has("shiftamt") ? exec_bfind<BfindShift>(d.type()) : exec_bfind<Bfind>(d.type());
  return expect_operands(inst, d, {Type::u32, d.type()});
}
std::string bind_fns(Inst& inst, const Decoded& d) {
  describe(inst, Op::fns, Type::b32, TimingClass::alu);
  inst.exec = exec<&fns>;
  return expect_operands(inst, d, {Type::b32, Type::b32, Type::u32, Type::s32});
}
std::string bind_brev(Inst& inst, const Decoded& d) {
  describe(inst, Op::brev, d.type(), TimingClass::popc);
  inst.exec = d.type() == Type::b64 ? exec<&brev64> : exec<&brev32>;
  return expect_operands(inst, d, {d.type(), d.type()});
}
std::string bind_bfe(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::bfe, type, TimingClass::alu);
  inst.exec = exec_bfind<Bfe>(type);
  return expect_operands(inst, d, {type, type, Type::u32, Type::u32});
}
std::string bind_bfi(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::bfi, type, TimingClass::alu);
  inst.exec = exec_for_32_64<Bfi>(type);
  return expect_operands(inst, d, {type, type, type, Type::u32, Type::u32});
}
std::string bind_szext(Inst& inst, const Decoded& d) {
  const bool clamp = d.value("mode") == "clamp", s = is_signed(d.type());
  describe(inst, Op::szext, d.type(), TimingClass::alu);
  inst.exec = clamp ? (s ? exec<&szext<true, true>> : exec<&szext<true, false>>) : (s ? exec<&szext<false, true>> : exec<&szext<false, false>>);
  return expect_operands(inst, d, {d.type(), d.type(), Type::u32});
}
std::string bind_bmsk(Inst& inst, const Decoded& d) {
  describe(inst, Op::bmsk, Type::b32, TimingClass::alu);
  inst.exec = d.value("mode") == "clamp" ? exec<&bmsk<true>> : exec<&bmsk<false>>;
  return expect_operands(inst, d, {Type::b32, Type::b32, Type::b32});
}

std::string bind_dp4a(Inst& inst, const Decoded& d) {
  const bool sa = d.value("atype") == "s32", sb = d.value("btype") == "s32";
  describe(inst, Op::dp4a, d.type("atype"), TimingClass::imad, d.type("btype"));
  inst.exec =
      sa ? (sb ? exec<&dp4a<int8_t, int8_t>> : exec<&dp4a<int8_t, uint8_t>>) : (sb ? exec<&dp4a<uint8_t, int8_t>> : exec<&dp4a<uint8_t, uint8_t>>);
  return expect_operands(inst, d, {Type::b32, Type::b32, Type::b32, Type::b32});
}
template <bool Hi>
ExecFn exec_dp2a(bool sa, bool sb) {
  return sa ? (sb ? exec<&dp2a<int16_t, int8_t, Hi>> : exec<&dp2a<int16_t, uint8_t, Hi>>)
            : (sb ? exec<&dp2a<uint16_t, int8_t, Hi>> : exec<&dp2a<uint16_t, uint8_t, Hi>>);
}
std::string bind_dp2a(Inst& inst, const Decoded& d) {
  const bool sa = d.value("atype") == "s32", sb = d.value("btype") == "s32";
  describe(inst, Op::dp2a, d.type("atype"), TimingClass::imad, d.type("btype"));
  inst.exec = d.value("mode") == "hi" ? exec_dp2a<true>(sa, sb) : exec_dp2a<false>(sa, sb);
  return expect_operands(inst, d, {Type::b32, Type::b32, Type::b32, Type::b32});
}

constexpr InstDef kIntegerRows[] = {
    {.base = "add",
     .syntax = "add.type d, a, b;  .type = { .u16, .u32, .u64, .s16, .s32, .s64 };",
     .op = Op::add,
     .bind = &bind_add,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: add",
     .doc = "add two values"},
    {.base = "add",
     .syntax = "add.type d, a, b;  .type = { .u16x2, .s16x2 };",
     .op = Op::add,
     .bind = &bind_add,
     .since = {8, 0, 90},
     .manual = "Integer Arithmetic Instructions: add",
     .doc = "add two pairs of 16-bit values"},
    {.base = "add",
     .syntax = "add.sat.s32 d, a, b;",
     .op = Op::add,
     .bind = &bind_add,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: add",
     .doc = "add, limited to MININT..MAXINT"},
    {.base = "sub",
     .syntax = "sub.type d, a, b;  .type = { .u16, .u32, .u64, .s16, .s32, .s64 };",
     .op = Op::sub,
     .bind = &bind_sub,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: sub",
     .doc = "subtract b from a"},
    {.base = "sub",
     .syntax = "sub.sat.s32 d, a, b;",
     .op = Op::sub,
     .bind = &bind_sub,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: sub",
     .doc = "subtract, limited to MININT..MAXINT"},
    {.base = "mul",
     .syntax = "mul.mode.type d, a, b;  .mode = { .hi, .lo, .wide };  .type = { .u16, .u32, .u64, .s16, .s32, .s64 };",
     .op = Op::mul_lo,
     .bind = &bind_mul,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: mul",
     .doc = "multiply: low half, high half or whole product"},
    {.base = "mad",
     .syntax = "mad.mode.type d, a, b, c;  .mode = { .hi, .lo, .wide };  .type = { .u16, .u32, .u64, .s16, .s32, .s64 };",
     .op = Op::mad_lo,
     .bind = &bind_mad,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: mad",
     .doc = "multiply and add c to the chosen part of the product"},
    {.base = "mad",
     .syntax = "mad.hi.sat.s32 d, a, b, c;",
     .op = Op::mad_hi,
     .bind = &bind_mad,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: mad",
     .doc = "high half of the product plus c, limited to MININT..MAXINT"},
    {.base = "mul24",
     .syntax = "mul24.mode.type d, a, b;  .mode = { .hi, .lo };  .type = { .u32, .s32 };",
     .op = Op::mul24,
     .bind = &bind_mul24,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: mul24",
     .doc = "multiply 24-bit values"},
    {.base = "mad24",
     .syntax = "mad24.mode.type d, a, b, c;  .mode = { .hi, .lo };  .type = { .u32, .s32 };",
     .op = Op::mad24,
     .bind = &bind_mad24,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: mad24",
     .doc = "multiply 24-bit values and add"},
    {.base = "mad24",
     .syntax = "mad24.hi.sat.s32 d, a, b, c;",
     .op = Op::mad24,
     .bind = &bind_mad24,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: mad24",
     .doc = "multiply 24-bit values and add, limited to MININT..MAXINT"},
    {.base = "sad",
     .syntax = "sad.type d, a, b, c;  .type = { .u16, .u32, .u64, .s16, .s32, .s64 };",
     .op = Op::sad,
     .bind = &bind_sad,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: sad",
     .doc = "c plus the absolute difference of a and b"},
    {.base = "div",
     .syntax = "div.type d, a, b;  .type = { .u16, .u32, .u64, .s16, .s32, .s64 };",
     .op = Op::div,
     .bind = &bind_div,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: div",
     .doc = "quotient, rounded towards zero"},
    {.base = "rem",
     .syntax = "rem.type d, a, b;  .type = { .u16, .u32, .u64, .s16, .s32, .s64 };",
     .op = Op::rem,
     .bind = &bind_rem,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: rem",
     .doc = "remainder of the division, with the sign of a"},
    {.base = "abs",
     .syntax = "abs.type d, a;  .type = { .s16, .s32, .s64 };",
     .op = Op::abs,
     .bind = &bind_abs,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: abs",
     .doc = "absolute value"},
    {.base = "neg",
     .syntax = "neg.type d, a;  .type = { .s16, .s32, .s64 };",
     .op = Op::neg,
     .bind = &bind_neg,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: neg",
     .doc = "negate"},
    {.base = "min",
     .syntax = "min.atype d, a, b;  .atype = { .u16, .u32, .u64, .s16, .s32, .s64 };",
     .op = Op::min,
     .bind = &bind_min,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: min",
     .doc = "smaller of two values"},
    {.base = "min",
     .syntax = "min.atype d, a, b;  .atype = { .u16x2, .s16x2 };",
     .op = Op::min,
     .bind = &bind_min,
     .since = {8, 0, 90},
     .manual = "Integer Arithmetic Instructions: min",
     .doc = "smaller of two values, twice"},
    {.base = "min",
     .syntax = "min.relu.btype d, a, b;  .btype = { .s16x2, .s32 };",
     .op = Op::min,
     .bind = &bind_min,
     .since = {8, 0, 90},
     .manual = "Integer Arithmetic Instructions: min",
     .doc = "smaller of two values, not below zero"},
    {.base = "max",
     .syntax = "max.atype d, a, b;  .atype = { .u16, .u32, .u64, .s16, .s32, .s64 };",
     .op = Op::max,
     .bind = &bind_max,
     .since = {1, 0, 0},
     .manual = "Integer Arithmetic Instructions: max",
     .doc = "larger of two values"},
    {.base = "max",
     .syntax = "max.atype d, a, b;  .atype = { .u16x2, .s16x2 };",
     .op = Op::max,
     .bind = &bind_max,
     .since = {8, 0, 90},
     .manual = "Integer Arithmetic Instructions: max",
     .doc = "larger of two values, twice"},
    {.base = "max",
     .syntax = "max.relu.btype d, a, b;  .btype = { .s16x2, .s32 };",
     .op = Op::max,
     .bind = &bind_max,
     .since = {8, 0, 90},
     .manual = "Integer Arithmetic Instructions: max",
     .doc = "larger of two values, not below zero"},
    {.base = "popc",
     .syntax = "popc.type d, a;  .type = { .b32, .b64 };",
     .op = Op::popc,
     .bind = &bind_popc,
     .since = {2, 0, 20},
     .manual = "Integer Arithmetic Instructions: popc",
     .doc = "number of one bits"},
    {.base = "clz",
     .syntax = "clz.type d, a;  .type = { .b32, .b64 };",
     .op = Op::clz,
     .bind = &bind_clz,
     .since = {2, 0, 20},
     .manual = "Integer Arithmetic Instructions: clz",
     .doc = "number of leading zero bits"},
    {.base = "bfind",
     .syntax = "bfind{.shiftamt}.type d, a;  .type = { .u32, .u64, .s32, .s64 };",
     .op = Op::bfind,
     .bind = &bind_bfind,
     .since = {2, 0, 20},
     .manual = "Integer Arithmetic Instructions: bfind",
     .doc = "position of the most significant non-sign bit"},
    {.base = "fns",
     .syntax = "fns.b32 d, mask, base, offset;",
     .op = Op::fns,
     .bind = &bind_fns,
     .since = {6, 0, 30},
     .manual = "Integer Arithmetic Instructions: fns",
     .doc = "position of the n-th set bit from a base"},
    {.base = "brev",
     .syntax = "brev.type d, a;  .type = { .b32, .b64 };",
     .op = Op::brev,
     .bind = &bind_brev,
     .since = {2, 0, 20},
     .manual = "Integer Arithmetic Instructions: brev",
     .doc = "reverse the bits"},
    {.base = "bfe",
     .syntax = "bfe.type d, a, b, c;  .type = { .u32, .u64, .s32, .s64 };",
     .op = Op::bfe,
     .bind = &bind_bfe,
     .since = {2, 0, 20},
     .manual = "Integer Arithmetic Instructions: bfe",
     .doc = "extract a bit field"},
    {.base = "bfi",
     .syntax = "bfi.type f, a, b, c, d;  .type = { .b32, .b64 };",
     .op = Op::bfi,
     .bind = &bind_bfi,
     .since = {2, 0, 20},
     .manual = "Integer Arithmetic Instructions: bfi",
     .doc = "insert a bit field"},
    {.base = "szext",
     .syntax = "szext.mode.type d, a, b;  .mode = { .clamp, .wrap };  .type = { .u32, .s32 };",
     .op = Op::szext,
     .bind = &bind_szext,
     .since = {7, 6, 70},
     .manual = "Integer Arithmetic Instructions: szext",
     .doc = "sign or zero extend from bit b"},
    {.base = "bmsk",
     .syntax = "bmsk.mode.b32 d, a, b;  .mode = { .clamp, .wrap };",
     .op = Op::bmsk,
     .bind = &bind_bmsk,
     .since = {7, 6, 70},
     .manual = "Integer Arithmetic Instructions: bmsk",
     .doc = "mask of b ones from bit a"},
    {.base = "dp4a",
     .syntax = "dp4a.atype.btype d, a, b, c;  .atype = { .u32, .s32 };  .btype = { .u32, .s32 };",
     .op = Op::dp4a,
     .bind = &bind_dp4a,
     .since = {5, 0, 61},
     .manual = "Integer Arithmetic Instructions: dp4a",
     .doc = "dot product of four bytes, plus c"},
    {.base = "dp2a",
     .syntax = "dp2a.mode.atype.btype d, a, b, c;  .mode = { .lo, .hi };  .atype = { .u32, .s32 };  .btype = { .u32, .s32 };",
     .op = Op::dp2a,
     .bind = &bind_dp2a,
     .since = {5, 0, 61},
     .manual = "Integer Arithmetic Instructions: dp2a",
     .doc = "dot product of two 16-bit values with two bytes, plus c"},
};

}  // namespace

std::span<const InstDef> extended_precision_rows();  // extended.cpp

std::span<const InstDef> integer_instructions() {
  static const std::vector<InstDef> rows = [] {
    std::vector<InstDef> all(std::begin(kIntegerRows), std::end(kIntegerRows));
    for (const InstDef& row : extended_precision_rows()) all.push_back(row);
    return all;
  }();
  return rows;
}

}  // namespace tcsim::isa
