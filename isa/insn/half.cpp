#include "isa/insn/half.h"

#include "isa/insn/float.h"

namespace tcsim::isa {
namespace {

using namespace half;

/// f16, f16x2, bf16 or bf16x2, whichever literal or set value the form has.
Type half_type(const Decoded& d) {
  for (const auto& mod : d.mods)
    for (const Type type : {Type::f16, Type::f16x2, Type::bf16, Type::bf16x2})
      if (mod.value == name(type)) return type;
  return Type::none;
}
bool is_packed(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }
bool is_bf16(Type type) { return type == Type::bf16 || type == Type::bf16x2; }

enum class Kind { add, sub, mul, fma, fma_oob };

/// exec function of a scalar F, or of F on both halves.
template <auto F>
ExecFn scalar_or_pair2(bool packed) {
  constexpr uint32_t (*kPair)(uint32_t, uint32_t) = &pair<F>;
  return packed ? exec<kPair> : exec<F>;
}
template <auto F>
ExecFn scalar_or_pair3(bool packed) {
  constexpr uint32_t (*kPair)(uint32_t, uint32_t, uint32_t) = &pair<F>;
  return packed ? exec<kPair> : exec<F>;
}

template <class A>
ExecFn binary_exec(Kind kind, bool packed) {
  switch (kind) {
    case Kind::add: return scalar_or_pair2<&A::add>(packed);
    case Kind::sub: return scalar_or_pair2<&A::sub>(packed);
    default: return scalar_or_pair2<&A::mul>(packed);
  }
}

ExecFn choose_binary(Kind kind, Type type, bool ftz, bool sat) {
  const bool packed = is_packed(type);
  if (is_bf16(type)) return binary_exec<Arith<Bf16, false, After::none>>(kind, packed);
  if (sat) return ftz ? binary_exec<Arith<F16, true, After::sat>>(kind, packed) : binary_exec<Arith<F16, false, After::sat>>(kind, packed);
  return ftz ? binary_exec<Arith<F16, true, After::none>>(kind, packed) : binary_exec<Arith<F16, false, After::none>>(kind, packed);
}

std::string bind_binary(Inst& inst, const Decoded& d, Op op, Kind kind) {
  const Type type = half_type(d);
  describe(inst, op, type, TimingClass::half);
  inst.exec = choose_binary(kind, type, d.has("ftz"), d.has("sat"));
  return expect_operands(inst, d, {type, type, type});
}
std::string bind_add(Inst& inst, const Decoded& d) { return bind_binary(inst, d, Op::add, Kind::add); }
std::string bind_sub(Inst& inst, const Decoded& d) { return bind_binary(inst, d, Op::sub, Kind::sub); }
std::string bind_mul(Inst& inst, const Decoded& d) { return bind_binary(inst, d, Op::mul_lo, Kind::mul); }

template <class Fmt, bool Ftz, After Post>
ExecFn fma_exec(bool packed, bool oob) {
  using A = Arith<Fmt, Ftz, Post>;
  return oob ? scalar_or_pair3<&A::fma_oob>(packed) : scalar_or_pair3<&A::fma>(packed);
}
std::string bind_fma(Inst& inst, const Decoded& d) {
  const Type type = half_type(d);
  const bool packed = is_packed(type), ftz = d.has("ftz"), sat = d.has("sat"), relu = d.has("relu"), oob = d.has("oob");
  describe(inst, Op::fma, type, TimingClass::half);
  if (is_bf16(type)) inst.exec = relu ? fma_exec<Bf16, false, After::relu>(packed, oob) : fma_exec<Bf16, false, After::none>(packed, oob);
  else if (oob) inst.exec = relu ? fma_exec<F16, false, After::relu>(packed, true) : fma_exec<F16, false, After::none>(packed, true);
  else if (sat)
    inst.exec = ftz ? scalar_or_pair3<&Arith<F16, true, After::sat>::fma>(packed) : scalar_or_pair3<&Arith<F16, false, After::sat>::fma>(packed);
  else if (relu)
    inst.exec = ftz ? scalar_or_pair3<&Arith<F16, true, After::relu>::fma>(packed) : scalar_or_pair3<&Arith<F16, false, After::relu>::fma>(packed);
  else inst.exec = ftz ? scalar_or_pair3<&Arith<F16, true, After::none>::fma>(packed) : scalar_or_pair3<&Arith<F16, false, After::none>::fma>(packed);
  return expect_operands(inst, d, {type, type, type, type});
}

constexpr InstDef kHalfRows[] = {
    {.base = "add",
     .syntax = "add{.rnd}{.ftz}{.sat}.type d, a, b;  .rnd = { .rn };  .type = { .f16, .f16x2 };",
     .op = Op::add,
     .bind = &bind_add,
     .since = {4, 2, 53},
     .manual = "Half Precision Floating Point Instructions: add",
     .doc = "add, f16"},
    {.base = "add",
     .syntax = "add{.rnd}.type d, a, b;  .rnd = { .rn };  .type = { .bf16, .bf16x2 };",
     .op = Op::add,
     .bind = &bind_add,
     .since = {7, 8, 90},
     .manual = "Half Precision Floating Point Instructions: add",
     .doc = "add, bf16"},
    {.base = "sub",
     .syntax = "sub{.rnd}{.ftz}{.sat}.type d, a, b;  .rnd = { .rn };  .type = { .f16, .f16x2 };",
     .op = Op::sub,
     .bind = &bind_sub,
     .since = {4, 2, 53},
     .manual = "Half Precision Floating Point Instructions: sub",
     .doc = "subtract b from a, f16"},
    {.base = "sub",
     .syntax = "sub{.rnd}.type d, a, b;  .rnd = { .rn };  .type = { .bf16, .bf16x2 };",
     .op = Op::sub,
     .bind = &bind_sub,
     .since = {7, 8, 90},
     .manual = "Half Precision Floating Point Instructions: sub",
     .doc = "subtract b from a, bf16"},
    {.base = "mul",
     .syntax = "mul{.rnd}{.ftz}{.sat}.type d, a, b;  .rnd = { .rn };  .type = { .f16, .f16x2 };",
     .op = Op::mul_lo,
     .bind = &bind_mul,
     .since = {4, 2, 53},
     .manual = "Half Precision Floating Point Instructions: mul",
     .doc = "multiply, f16"},
    {.base = "mul",
     .syntax = "mul{.rnd}.type d, a, b;  .rnd = { .rn };  .type = { .bf16, .bf16x2 };",
     .op = Op::mul_lo,
     .bind = &bind_mul,
     .since = {7, 8, 90},
     .manual = "Half Precision Floating Point Instructions: mul",
     .doc = "multiply, bf16"},
    {.base = "fma",
     .syntax = "fma.rnd{.ftz}{.sat}.type d, a, b, c;  .rnd = { .rn };  .type = { .f16, .f16x2 };",
     .op = Op::fma,
     .bind = &bind_fma,
     .since = {4, 2, 53},
     .manual = "Half Precision Floating Point Instructions: fma",
     .doc = "a * b + c with one rounding, f16"},
    {.base = "fma",
     .syntax = "fma.rnd{.ftz}.relu.type d, a, b, c;  .rnd = { .rn };  .type = { .f16, .f16x2 };",
     .op = Op::fma,
     .bind = &bind_fma,
     .since = {7, 0, 80},
     .manual = "Half Precision Floating Point Instructions: fma",
     .doc = "a * b + c, not below zero, f16"},
    {.base = "fma",
     .syntax = "fma.rnd{.relu}.type d, a, b, c;  .rnd = { .rn };  .type = { .bf16, .bf16x2 };",
     .op = Op::fma,
     .bind = &bind_fma,
     .since = {7, 0, 80},
     .manual = "Half Precision Floating Point Instructions: fma",
     .doc = "a * b + c with one rounding, bf16"},
    {.base = "fma",
     .syntax = "fma.rnd.oob{.relu}.type d, a, b, c;  .rnd = { .rn };  .type = { .f16, .f16x2, .bf16, .bf16x2 };",
     .op = Op::fma,
     .bind = &bind_fma,
     .since = {8, 1, 90},
     .manual = "Half Precision Floating Point Instructions: fma",
     .doc = "a * b + c, 0 where a or b lies outside a tensor"},
};

}  // namespace

std::span<const InstDef> half_rows() { return kHalfRows; }

}  // namespace tcsim::isa
