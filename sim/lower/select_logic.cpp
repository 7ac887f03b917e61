// LOP3 trees, comparisons and predicate logic.
#include <algorithm>

#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

/// Leaves of the logic tree under instruction i as `user` would read them; false when they are more than LOP3 takes.
bool Selector::gather_logic(int32_t i, int32_t user, Values& leaves, bool& has_constant, int depth) {
  const Inst& inst = fn_.inst(i);
  for (int g = 1; g < inst.group_count; ++g) {
    const Source s = source(inst.operand(g), i);
    if (s.constant) {
      if (inst.op == Op::lop3 && g == 4) continue;  // the table
      if (has_constant) return false;
      has_constant = true;
      continue;
    }
    const int32_t p = depth < 2 ? absorbable(s, i, {Op::and_, Op::or_, Op::xor_, Op::not_}) : -1;
    if (p >= 0 && isa::bits(fn_.inst(p).type) == isa::bits(inst.type) && inputs_unchanged(p, user)) {
      Values inner = leaves;
      bool constant = has_constant;
      // A producer that fits takes the place of its one value; the others still need a place each.
      const size_t later = static_cast<size_t>(inst.group_count - 1 - g);
      if (gather_logic(p, user, inner, constant, depth + 1) && inner.size() + (constant ? 1 : 0) + later <= 3) {
        leaves = inner;
        has_constant = constant;
        continue;
      }
    }
    if (std::find(leaves.begin(), leaves.end(), s.id) == leaves.end()) leaves.push_back(s.id);
  }
  return leaves.size() + (has_constant ? 1 : 0) <= 3;
}

void Selector::select_logic(int32_t i) {
  const Inst& inst = fn_.inst(i);
  if (inst.type == isa::Type::pred) return select_predicate_logic(i);
  if (inst.guard < 0 && copied_operand(i) != nullptr) return select_copy(i);
  if (inst.op == Op::cnot) {
    const ValueId test = step(i, TimingClass::isetp, reads(i, 1));
    const ValueId chosen = step(i, TimingClass::alu, {test});
    emit_result(i, TimingClass::alu, {chosen}, true);
    return;
  }
  Values leaves, uses;
  bool constant = false;
  if (gather_logic(i, i, leaves, constant, 0)) {
    for (ValueId id : leaves) add_value(uses, id, i);
  } else {
    uses = reads(i, 1);
  }
  if (wide(inst) && alu(i) != TimingClass::uniform) pair(i, alu(i), uses, false);
  else emit_result(i, alu(i), uses);  // a descriptor's constant bits are in one half
}

void Selector::select_predicate_logic(int32_t i) {
  const Inst& inst = fn_.inst(i);
  if (copied_operand(i) != nullptr) return select_copy(i);
  // ISETP combines its result with one more predicate.
  for (int g = 1; g < inst.group_count && inst.group_count == 3; ++g) {
    const int32_t p = absorbable(source(inst.operand(g), i), i, {Op::setp});
    if (p < 0 || fn_.inst(p).group_count > 3 || wide(fn_.inst(p))) continue;
    Values uses;
    for (int k = 1; k < fn_.inst(p).group_count; ++k) add_reads(uses, fn_.inst(p).operand(k), p);
    add_reads(uses, inst.operand(3 - g), i);
    emit_result(i, fn_.inst(p).timing == TimingClass::none ? TimingClass::isetp : fn_.inst(p).timing, uses);
    return;
  }
  emit_result(i, TimingClass::alu, reads(i, 1));  // PLOP3
}

void Selector::select_compare(int32_t i) {
  const Inst& inst = fn_.inst(i);
  // setp's own type is the type of what it compares; set's is its second one.
  const isa::Type type = inst.op == Op::set ? inst.type2 : inst.type;
  Values uses = reads(i, 1);
  TimingClass timing = TimingClass::isetp;
  if (type == isa::Type::f64) timing = TimingClass::fp64;
  if (type == isa::Type::f16 || type == isa::Type::f16x2 || type == isa::Type::bf16 || type == isa::Type::bf16x2) timing = TimingClass::half;
  if (alu(i) == TimingClass::uniform) timing = TimingClass::uniform;
  if (!isa::is_float(type) && isa::bits(type) == 64) uses.push_back(step(i, timing, uses));
  if (!isa::is_float(type) && isa::bits(type) == 16) uses.push_back(step(i, TimingClass::alu, uses));
  if (inst.op == Op::setp) {
    emit_result(i, timing, uses);
  } else if (type == isa::Type::f32 && inst.type == isa::Type::f32) {
    emit_result(i, TimingClass::alu, uses);  // FSET
  } else {
    const ValueId test = step(i, timing, uses);
    emit_result(i, TimingClass::alu, {test});
  }
}

}  // namespace tcsim::sim::lowering
