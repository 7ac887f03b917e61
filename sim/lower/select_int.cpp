// Integer arithmetic and shifts: IADD3, LEA, IMAD, IMAD.WIDE, SHF and their 64-bit pairs.
#include <bit>

#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

namespace {

bool power_of_two(const Source& s) { return s.constant && s.value > 0 && std::has_single_bit(static_cast<uint64_t>(s.value)); }

}  // namespace

void Selector::select_add(int32_t i) {
  const Inst& inst = fn_.inst(i);
  if (inst.guard < 0 && copied_operand(i) != nullptr) return select_copy(i);
  if (wide(inst)) return select_add64(i);
  Values uses;
  int terms = 2;
  bool multiply = false, flexible = true;
  for (int g : {1, 2}) {
    const Source s = source(inst.operand(g), i);
    const int32_t p = terms == 2 && !multiply ? absorbable(s, i, {Op::mul_lo, Op::mad_lo, Op::shl, Op::shr, Op::add, Op::sub, Op::neg}) : -1;
    const Inst* producer = p < 0 ? nullptr : &fn_.inst(p);
    const bool int32 = producer != nullptr && isa::bits(producer->type) == 32 && !isa::is_float(producer->type);
    if (!int32) {
      add_reads(uses, inst.operand(g), i);
      continue;
    }
    const bool by_constant = producer->group_count > 2 && source(producer->operand(2), p).constant;
    if (producer->op == Op::mul_lo) {  // IMAD
      multiply = true;
      for (int k : {1, 2}) add_reads(uses, producer->operand(k), p);
    } else if ((producer->op == Op::shl || (producer->op == Op::shr && inst.op == Op::add)) && by_constant) {  // LEA, LEA.HI
      add_reads(uses, producer->operand(1), p);
      terms = 3;
      flexible = false;
    } else if (producer->op == Op::add || producer->op == Op::sub) {  // IADD3
      for (int k : {1, 2}) add_reads(uses, producer->operand(k), p);
      terms = 3;
      flexible = false;
    } else if (producer->op == Op::neg) {
      add_reads(uses, producer->operand(1), p);
    } else {
      add_value(uses, s.id, i);
    }
  }
  if (multiply && alu(i) != TimingClass::uniform) emit_result(i, TimingClass::imad, uses);
  else emit_result(i, alu(i), uses, flexible && uses.size() <= 2);
}

/// UIADD3.64. The first sum of a base and a constant of more than 32 bits (the fixed part of a descriptor) takes three
/// moves before it; ptxas makes the others of the same base from that one.
void Selector::select_uniform_add64(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values uses = reads(i, 1);
  for (int g : {1, 2}) {
    const Source s = source(inst.operand(g), i), other = source(inst.operand(3 - g), i);
    if (!s.constant || s.value == static_cast<int32_t>(s.value) || other.constant) continue;
    if (!wide_sum_bases_.insert(other.id).second) continue;
    for (int k = 0; k < 3; ++k) uses.push_back(step(i, TimingClass::uniform, {}));
  }
  emit_result(i, TimingClass::uniform, uses);
}

void Selector::select_add64(int32_t i) {
  const Inst& inst = fn_.inst(i);
  if (alu(i) == TimingClass::uniform) return select_uniform_add64(i);
  Values uses;
  int terms = 2;
  for (int g : {1, 2}) {
    const Source s = source(inst.operand(g), i);
    const int32_t p = terms == 2 ? absorbable(s, i, {Op::mul_wide, Op::shl, Op::cvt, Op::add}) : -1;
    const Inst* producer = p < 0 ? nullptr : &fn_.inst(p);
    if (producer == nullptr) {
      add_reads(uses, inst.operand(g), i);
      continue;
    }
    const auto from_32 = [&](const Inst& cvt) {
      return cvt.op == Op::cvt && isa::bits(cvt.type) == 64 && isa::bits(cvt.type2) == 32 && !isa::is_float(cvt.type2);
    };
    bool product = producer->op == Op::mul_wide && isa::bits(producer->type) == 32;
    int32_t at = p;
    if (producer->op == Op::shl && source(producer->operand(2), p).constant) {
      const int32_t inner = absorbable(source(producer->operand(1), p), p, {Op::cvt});
      if (inner >= 0 && from_32(fn_.inst(inner)) && inputs_unchanged(inner, i)) {
        product = true;
        at = inner;
      }
    }
    if (product && inst.op == Op::add) {  // IMAD.WIDE
      add_reads(uses, fn_.inst(at).operand(1), at);
      if (at == p) add_reads(uses, producer->operand(2), p);
      add_reads(uses, inst.operand(3 - g), i);
      emit_result(i, TimingClass::imad_wide, uses);
      return;
    }
    if (producer->op == Op::shl && source(producer->operand(2), p).constant) {  // LEA, LEA.HI.X
      add_reads(uses, producer->operand(1), p);
      terms = 3;
    } else if (from_32(*producer)) {  // the high half is the carry, or LEA.HI.X.SX32
      add_reads(uses, producer->operand(1), p);
    } else if (producer->op == Op::add && wide(*producer)) {  // IADD3 with two carries
      for (int k : {1, 2}) add_reads(uses, producer->operand(k), p);
      terms = 3;
    } else {
      add_value(uses, s.id, i);
    }
  }
  pair(i, alu(i), uses, true);
}

void Selector::select_multiply(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values uses = reads(i, 1);
  const bool uniform = alu(i) == TimingClass::uniform;
  const bool shift = inst.op == Op::mul_lo && (power_of_two(source(inst.operand(1), i)) || power_of_two(source(inst.operand(2), i)));
  switch (inst.op) {
    case Op::mul_wide:
    case Op::mad_wide:
      if (isa::bits(inst.type) == 16) emit_result(i, TimingClass::imad, uses);
      else emit_result(i, TimingClass::imad_wide, uses);
      return;
    case Op::mul_hi:
    case Op::mad_hi:
      if (wide(inst)) break;
      emit_result(i, TimingClass::imad_wide, uses);
      return;
    case Op::mul24:
    case Op::mad24: {
      const ValueId a = step(i, TimingClass::alu, uses), b = step(i, TimingClass::alu, uses);
      uses.push_back(a);
      uses.push_back(b);
      emit_result(i, TimingClass::imad, uses);
      return;
    }
    default: break;
  }
  if (!wide(inst)) {
    if (uniform) emit_result(i, TimingClass::uniform, uses);
    else if (shift) emit_result(i, TimingClass::alu, uses, true);
    else emit_result(i, TimingClass::imad, uses);
    return;
  }
  if (shift) return pair(i, TimingClass::alu, uses, true);
  if (inst.op == Op::mul_hi || inst.op == Op::mad_hi) {  // four partial products and their carries
    const ValueId a = step(i, TimingClass::imad_wide, uses), b = step(i, TimingClass::imad_wide, uses);
    const ValueId c = step(i, TimingClass::alu, {a, b}, true), d = step(i, TimingClass::alu, {a}, true);
    const ValueId e = step(i, TimingClass::alu, {c, d}, true);
    const ValueId f = step(i, TimingClass::imad_wide, {d, e});
    uses.push_back(f);
    emit_result(i, TimingClass::imad_wide, uses);
    return;
  }
  // Low 64 bits: the two cross products and one full product.
  const ValueId a = step(i, TimingClass::imad, uses);
  Values cross = uses;
  cross.push_back(a);
  const ValueId b = step(i, TimingClass::imad, cross), c = step(i, TimingClass::imad_wide, uses);
  emit_result(i, TimingClass::alu, {b, c}, true);
}

void Selector::select_shift(int32_t i) {
  const Inst& inst = fn_.inst(i);
  if (inst.guard < 0 && copied_operand(i) != nullptr) return select_copy(i);
  const Source by = source(inst.operand(2), i);
  Values uses;
  if (wide(inst) && alu(i) != TimingClass::uniform) {
    const int32_t p = inst.op == Op::shl && by.constant ? absorbable(source(inst.operand(1), i), i, {Op::cvt}) : -1;
    if (p >= 0 && isa::bits(fn_.inst(p).type2) == 32 && !isa::is_float(fn_.inst(p).type2)) {  // IMAD.WIDE by 2^n
      add_reads(uses, fn_.inst(p).operand(1), p);
      emit_result(i, TimingClass::imad_wide, uses);
      return;
    }
    return pair(i, TimingClass::alu, reads(i, 1), false);
  }
  if (isa::bits(inst.type) == 16 && !by.constant) {  // clamp of the amount first
    uses = reads(i, 1);
    const ValueId test = step(i, TimingClass::isetp, uses);
    const ValueId amount = step(i, TimingClass::alu, {test});
    uses.push_back(amount);
  } else if (inst.op == Op::shr && by.constant) {
    // shl then shr by the same amount is one extension (SGXT, PRMT).
    const Source inner = source(inst.operand(1), i);
    const int32_t p = absorbable(inner, i, {Op::shl});
    const Source left = p >= 0 ? source(fn_.inst(p).operand(2), p) : Source{};
    if (p >= 0 && left.constant && left.value == by.value && !wide(fn_.inst(p))) add_reads(uses, fn_.inst(p).operand(1), p);
    else add_reads(uses, inst.operand(1), i);
  } else {
    uses = reads(i, 1);
  }
  emit_result(i, alu(i), uses, inst.op == Op::shl && by.constant);
}

bool Selector::select_integer(int32_t i) {
  const Inst& inst = fn_.inst(i);
  if (isa::is_float(inst.type)) return false;
  switch (inst.op) {
    case Op::add:
    case Op::sub: select_add(i); return true;
    case Op::addc:
    case Op::subc:
      if (wide(inst)) pair(i, TimingClass::alu, reads(i, 1), true);
      else {
        Values uses = reads(i, 1);
        const ValueId carry = fn_.value_read(fn_.carry_reg(), i);
        uses.push_back(carry);
        demand(carry);
        emit_result(i, TimingClass::alu, uses, true);
      }
      return true;
    case Op::mad_lo:
    case Op::mul_lo:
    case Op::mul_hi:
    case Op::mad_hi:
    case Op::mul_wide:
    case Op::mad_wide:
    case Op::mul24:
    case Op::mad24:
    case Op::madc: select_multiply(i); return true;
    case Op::shl:
    case Op::shr: select_shift(i); return true;
    case Op::neg:
      if (wide(inst)) pair(i, TimingClass::alu, reads(i, 1), true);
      else emit_result(i, alu(i), reads(i, 1), true);
      return true;
    case Op::min:
    case Op::max:
      if (wide(inst)) {
        const Values uses = reads(i, 1);
        const ValueId low = step(i, TimingClass::isetp, uses);
        Values more = uses;
        more.push_back(low);
        const ValueId high = step(i, TimingClass::isetp, more);
        more.back() = high;
        pair(i, TimingClass::alu, more, false);
      } else {
        emit_result(i, alu(i), reads(i, 1));
      }
      return true;
    default: return false;
  }
}

}  // namespace tcsim::sim::lowering
