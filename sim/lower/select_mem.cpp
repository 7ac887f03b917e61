// Memory instructions: addresses folded into [register + uniform register + immediate], vectors in consecutive registers.
#include <algorithm>

#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

namespace {

constexpr int64_t kOffsetLimit = 1 << 23;  // immediate offsets have 24 bits, signed

bool fits_offset(const Source& s) { return s.constant && s.value > -kOffsetLimit && s.value < kOffsetLimit; }

TimingClass class_of(const Inst& inst) {
  if (inst.timing != TimingClass::none) return inst.timing;
  const bool shared = inst.space == isa::Space::shared || inst.space == isa::Space::shared_cluster;
  const bool local = inst.space == isa::Space::local;
  switch (inst.op) {
    case Op::ld:
    case Op::ldu:
      return inst.space == isa::Space::constant ? TimingClass::ldc : shared ? TimingClass::lds : local ? TimingClass::ldl : TimingClass::ldg;
    case Op::st: return shared ? TimingClass::sts : local ? TimingClass::stl : TimingClass::stg;
    case Op::atom: return shared ? TimingClass::atoms : TimingClass::atomg;
    case Op::red: return shared ? TimingClass::atoms : TimingClass::red;
    case Op::ldmatrix: return TimingClass::ldsm;
    case Op::stmatrix: return TimingClass::stsm;
    case Op::cp_async: return TimingClass::ldgsts;
    default: return TimingClass::nop;
  }
}

}  // namespace

void Selector::add_address(Values& to, const Operand& operand, int32_t user, bool offset_register) {
  if (fn_.sm >= 90 && operand.space == isa::Space::shared) uses_shared_symbol_ = true;
  if (operand.slot < 0) return;
  ValueId id = fn_.value_read(operand.slot, user);
  bool has_uniform = false;
  for (;;) {
    const Source s = look_through(id, user);
    if (s.constant) return;
    id = s.id;
    const Value value = fn_.values[id];
    if (value.reg < 0 || value.def < 0) break;
    const Inst& producer = fn_.inst(value.def);
    const bool sum = producer.op == Op::add || producer.op == Op::sub;
    if (!sum || isa::is_float(producer.type) || producer.guard >= 0 || has_mod(producer, "cc") || !inputs_unchanged(value.def, user)) break;
    const Source a = source(producer.operand(1), value.def), b = source(producer.operand(2), value.def);
    const auto symbol = [&](const Operand& o) { return fn_.sm >= 90 && source_is_shared_symbol(o, value.def); };
    const auto take = [&](const Source& base, const Source& offset, const Operand& offset_operand) {
      if (base.constant || !fits_offset(offset)) return false;
      if (symbol(offset_operand)) {  // the window's base is a uniform register
        if (!offset_register || has_uniform) return false;
        has_uniform = true;
      }
      id = base.id;
      return true;
    };
    if (take(a, b, producer.operand(2)) || (producer.op == Op::add && take(b, a, producer.operand(1)))) continue;
    if (offset_register && !has_uniform && producer.op == Op::add && fn_.sm >= 75 && !a.constant && !b.constant) {
      const auto is_uniform = [&](const Source& x) { return fn_.values[x.id].reg >= 0 && fn_.uniform[fn_.values[x.id].reg]; };
      if (is_uniform(a) != is_uniform(b)) {
        has_uniform = true;
        add_value(to, is_uniform(a) ? a.id : b.id, user);
        id = is_uniform(a) ? b.id : a.id;
        continue;
      }
    }
    break;
  }
  add_value(to, id, user);
}

bool Selector::source_is_shared_symbol(const Operand& operand, int32_t user) {
  const Operand* at = &operand;
  for (int32_t reader = user;;) {
    if (at->kind == Operand::Kind::constant) return at->space == isa::Space::shared;
    const int32_t reg = fn_.reg_of(*at);
    if (reg < 0) return false;
    const Value value = fn_.values[fn_.value_read(reg, reader)];
    if (value.def < 0) return false;
    at = copied_operand(value.def);
    if (at == nullptr) return false;
    reader = value.def;
  }
}

bool Selector::select_memory(int32_t i) {
  const Inst& inst = fn_.inst(i);
  const bool shared = inst.space == isa::Space::shared;
  Values uses;
  switch (inst.op) {
    case Op::ld:
    case Op::ldu:
      if (inst.space == isa::Space::param) {
        select_param(i);
        return true;
      }
      uses_global_ |= inst.space == isa::Space::global;
      add_address(uses, inst.operand(1), i, shared);
      emit_result(i, class_of(inst), uses);
      return true;
    case Op::st:
      uses_global_ |= inst.space == isa::Space::global;
      add_address(uses, inst.operand(0), i, shared);
      add_tuple(uses, 1, i);
      emit_result(i, class_of(inst), uses);
      return true;
    case Op::ldmatrix:
      add_address(uses, inst.operand(1), i, true);
      emit_result(i, class_of(inst), uses);
      return true;
    case Op::stmatrix:
      add_address(uses, inst.operand(0), i, true);
      add_tuple(uses, 1, i);
      emit_result(i, class_of(inst), uses);
      return true;
    case Op::cp_async: {
      uses_global_ = true;
      add_address(uses, inst.operand(0), i, false);
      add_address(uses, inst.operand(1), i, false);
      for (int g = 2; g < inst.group_count; ++g) {
        const Source s = source(inst.operand(g), i);
        if (s.constant) continue;
        // A source size chosen between all and nothing is the predicate of LDGSTS.
        const Value value = fn_.values[s.id];
        const Inst* chosen = value.def >= 0 ? &fn_.inst(value.def) : nullptr;
        if (chosen != nullptr && chosen->op == Op::selp && source(chosen->operand(1), value.def).constant &&
            source(chosen->operand(2), value.def).constant && inputs_unchanged(value.def, i))
          add_reads(uses, chosen->operand(3), value.def);
        else add_value(uses, s.id, i);
      }
      emit_result(i, class_of(inst), uses);
      return true;
    }
    case Op::atom:
    case Op::red: {
      const int first = first_source(inst);
      uses_global_ |= !shared;
      add_address(uses, inst.operand(first), i, shared);
      for (int g = first + 1; g < inst.group_count; ++g) add_group(uses, g, i);
      emit_result(i, class_of(inst), uses);
      return true;
    }
    default: return false;
  }
}

}  // namespace tcsim::sim::lowering
