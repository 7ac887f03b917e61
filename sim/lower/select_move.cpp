// Copies, packs, special registers, parameters, conversions, selects.
#include <algorithm>

#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

namespace {

// A copy into a register that is changed later needs an instruction when its source is still wanted beside it.
bool source_outlives_copy(const Function& fn, ValueId from, int32_t copy) {
  const Value& value = fn.values[from];
  if (value.reg < 0) return false;
  const int32_t block = fn.block_of(copy);
  if (fn.blocks[block].live_out[value.reg >> 6] >> (value.reg & 63) & 1) return true;
  for (uint32_t i = copy + 1; i < fn.kernel.blocks[block].end; ++i) {
    if (!fn.insts[i].live) continue;
    const auto& uses = fn.insts[i].uses;
    if (std::find(uses.begin(), uses.end(), value.reg) != uses.end()) return true;
    const auto& defs = fn.insts[i].defs;
    if (std::find(defs.begin(), defs.end(), value.reg) != defs.end()) return false;
  }
  return false;
}

}  // namespace

/// A copy that somebody reads as a register of its own (through a loop, or after its source changed).
void Selector::select_copy(int32_t i) {
  const Inst& inst = fn_.inst(i);
  const ValueId to = result(i);
  const int32_t reg = fn_.insts[i].defs[0];
  const Source from = source(inst.group(1)[0], i);
  const int words = fn_.uniform[reg] ? 1 : fn_.reg_words[reg];
  if (inst.guard >= 0 || (inst.op == Op::cvta && from.constant)) {
    Values uses;
    if (!from.constant) add_value(uses, from.id, i);
    if (words == 2) pair(i, TimingClass::alu, uses, false);
    else emit_result(i, alu(i), uses, true);
    return;
  }
  if (from.constant) {
    const int32_t block = fn_.block_of(i);
    const bool live_in = fn_.blocks[block].live_in[reg >> 6] >> (reg & 63) & 1;
    const auto& defs = fn_.def_list[reg];
    const auto in_block = std::count_if(defs.begin(), defs.end(), [&](int32_t d) { return fn_.block_of(d) == block; });
    // CS2R clears two registers at once.
    if (from.value == 0 && words == 1 && !fn_.uniform[reg] && !live_in && in_block == 1) {
      int32_t& open = open_zero_[block];
      if (open >= 0) {
        fn_.ops[open].defs.push_back(to);
        fn_.values[to].op = open;
        open = -1;
      } else {
        open = emit_result(i, TimingClass::alu, {});
      }
    } else if (from.value == 0 && words == 2) {
      emit_result(i, TimingClass::alu, {});
    } else {
      if (words == 2) pair(i, TimingClass::alu, {}, false);
      else emit_result(i, words == 0 ? TimingClass::alu : alu(i), {}, true);
    }
    return;
  }
  Values parts;
  add_value(parts, from.id, i);
  if (parts.size() == 1 && fn_.def_list[reg].size() > 1 && source_outlives_copy(fn_, from.id, i)) {
    if (words == 2) pair(i, TimingClass::alu, parts, false);
    else emit_result(i, alu(i), parts, words == 1);
    return;
  }
  for (ValueId part : parts) fn_.insts[i].copies.emplace_back(to, part);
}

/// mov.b64 {a, b} and back: registers are named, nothing moves, unless the packed register lives on.
void Selector::select_pack(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values parts;
  for (const Operand& operand : inst.group(1)) add_reads(parts, operand, i);
  // 16-bit halves into one register are a PRMT.
  if (inst.group(1).size() > 1 && isa::bits(inst.type) == 32) {
    emit_result(i, TimingClass::alu, parts);
    return;
  }
  for (size_t k = 0; k < fn_.insts[i].defs.size(); ++k)
    for (ValueId part : parts) fn_.insts[i].copies.emplace_back(result(i, static_cast<int>(k)), part);
}

void Selector::select_special(int32_t i) {
  const Inst& inst = fn_.inst(i);
  const int32_t slot = inst.group(1)[0].slot;
  std::string_view name;
  for (const isa::SpecialSlot& s : fn_.kernel.specials)
    if (s.slot == slot) name = s.name;
  // Launch dimensions lie in the constant bank.
  const bool constant = name.starts_with("%ntid") || name.starts_with("%nctaid") || name.starts_with("%warpsz");
  if (constant) emit_result(i, fn_.sm >= 90 ? TimingClass::ldc : alu(i), {}, true);
  else emit_result(i, TimingClass::s2r, {});
}

void Selector::select_param(int32_t i) {
  const Inst& inst = fn_.inst(i);
  const bool two = wide(inst) && inst.group(0).size() == 1;
  if (fn_.sm >= 90) {
    emit_result(i, two ? TimingClass::uniform : TimingClass::ldc, {});
  } else if (two) {
    pair(i, TimingClass::alu, {}, false);
  } else {
    emit_result(i, TimingClass::alu, {}, true);
  }
}

void Selector::select_select(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values uses = reads(i, 1);
  if (inst.op == Op::slct) {
    const ValueId test = step(i, TimingClass::isetp, uses);
    uses.push_back(test);
  }
  if (wide(inst)) pair(i, alu(i), uses, false);
  else emit_result(i, alu(i), uses);
}

void Selector::select_convert(int32_t i) {
  const Inst& inst = fn_.inst(i);
  using isa::Type;
  const int to = isa::bits(inst.type), from = isa::bits(inst.type2);
  const bool float_to = isa::is_float(inst.type), float_from = isa::is_float(inst.type2);
  if (copied_operand(i) != nullptr) return select_copy(i);
  const Values uses = reads(i, 1);
  if (!float_to && !float_from) {
    if (alu(i) == TimingClass::uniform) {  // the upper half of a descriptor is a constant
      for (ValueId part : uses) fn_.insts[i].copies.emplace_back(result(i), part);
      return;
    }
    if (has_mod(inst, "sat")) step(i, TimingClass::alu, uses);
    emit_result(i, alu(i), uses, true);  // the high register: sign (SHF) or zero; or a sign extension (PRMT)
    return;
  }
  const bool int_to_f32 = !float_from && inst.type == Type::f32 && from <= 32;
  if (int_to_f32 && fn_.sm >= 86) {
    emit_result(i, TimingClass::alu, uses);  // I2FP
  } else if (inst.type == Type::tf32 || has_mod(inst, "tf32")) {
    const ValueId test = step(i, TimingClass::isetp, uses);
    Values rest = uses;
    rest.push_back(test);
    const ValueId rounded = step(i, TimingClass::alu, rest, true);
    emit_result(i, TimingClass::alu, {rounded});
  } else if (inst.type == Type::f32 && inst.type2 == Type::bf16) {
    emit_result(i, TimingClass::alu, uses, true);
  } else if (inst.type == Type::f32 && inst.type2 == Type::f16) {
    emit_result(i, TimingClass::half, uses);  // HADD2.F32
  } else if (inst.type == Type::f32 && inst.type2 == Type::f32 && !has_mod(inst, "rni") && !has_mod(inst, "rzi") && !has_mod(inst, "rmi") &&
             !has_mod(inst, "rpi")) {
    emit_result(i, TimingClass::fma, uses);  // saturation only
  } else if (from == 32 && inst.type2 == Type::f32 && to <= 32 && float_to && inst.type != Type::f32) {
    emit_result(i, TimingClass::cvt_pack, uses);
  } else {
    emit_result(i, inst.timing == TimingClass::none ? TimingClass::cvt : inst.timing, uses);
  }
}

}  // namespace tcsim::sim::lowering
