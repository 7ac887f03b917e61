// Floating-point arithmetic: one operation each; signs are folded where they are read, mul + add without .rn contracts.
#include <algorithm>

#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

namespace {

bool rounding_given(const Inst& inst) { return has_mod(inst, "rn") || has_mod(inst, "rz") || has_mod(inst, "rm") || has_mod(inst, "rp"); }

bool sign_only(Op op) { return op == Op::neg || op == Op::abs; }

TimingClass default_class(const Inst& inst) {
  if (inst.timing != TimingClass::none) return inst.timing;
  switch (inst.type) {
    case isa::Type::f64: return TimingClass::fp64;
    case isa::Type::f16:
    case isa::Type::f16x2:
    case isa::Type::bf16:
    case isa::Type::bf16x2: return TimingClass::half;
    default: return TimingClass::fma;
  }
}

}  // namespace

bool Selector::select_float(int32_t i) {
  const Inst& inst = fn_.inst(i);
  if (!isa::is_float(inst.type)) return false;
  switch (inst.op) {
    case Op::add:
    case Op::sub:
    case Op::mul_lo:
    case Op::fma:
    case Op::mad_lo:
    case Op::min:
    case Op::max:
    case Op::neg:
    case Op::abs: break;
    default: return false;
  }
  Values uses;
  const auto add = [&](const Operand& operand, int32_t user) {
    Source s = source(operand, user);
    while (!s.constant) {  // -x and |x| are operand modifiers
      const Value& value = fn_.values[s.id];
      if (value.reg < 0 || value.def < 0) break;
      const Inst& producer = fn_.inst(value.def);
      if (!sign_only(producer.op) || producer.guard >= 0 || producer.type != inst.type || !inputs_unchanged(value.def, i)) break;
      s = source(producer.operand(1), value.def);
    }
    if (!s.constant) add_value(uses, s.id, i);
  };
  const bool contracts = (inst.op == Op::add || inst.op == Op::sub) && !rounding_given(inst) && inst.type != isa::Type::f64;
  bool contracted = false;
  for (int g = 1; g < inst.group_count; ++g) {
    if (contracts && !contracted) {
      const int32_t p = absorbable(source(inst.operand(g), i), i, {Op::mul_lo});
      if (p >= 0 && fn_.inst(p).type == inst.type && !rounding_given(fn_.inst(p)) && !has_mod(fn_.inst(p), "sat")) {
        contracted = true;
        for (int k : {1, 2}) add(fn_.inst(p).operand(k), p);
        continue;
      }
    }
    add(inst.operand(g), i);
  }
  emit_result(i, default_class(inst), uses);
  return true;
}

}  // namespace tcsim::sim::lowering
