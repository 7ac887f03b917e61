// Looking through operands, making operations, and the dispatch by instruction.
#include "sim/lower/select.h"

#include <algorithm>

namespace tcsim::sim::lowering {

namespace {

bool plain_cast(const Inst& inst) {
  // Integer conversions that keep or drop upper bits: the low register serves as it is.
  return inst.op == Op::cvt && !isa::is_float(inst.type) && !isa::is_float(inst.type2) && inst.type != isa::Type::pred &&
         isa::bits(inst.type) <= 64 && isa::bits(inst.type2) <= 64 && !has_mod(inst, "sat") &&
         (isa::bits(inst.type) <= isa::bits(inst.type2) || (isa::bits(inst.type) <= 32 && !isa::is_signed(inst.type2)));
}

}  // namespace

const Operand* Selector::copied_operand(int32_t producer) const {
  const Inst& inst = fn_.inst(producer);
  if (inst.guard >= 0 || inst.group_count < 2) return nullptr;
  const auto sources = inst.group(1);
  switch (inst.op) {
    case Op::mov: {
      if (sources.size() != 1 || reads_clock(inst)) return nullptr;  // a pack is several sources
      const Operand& from = sources[0];
      if (from.kind == Operand::Kind::reg && fn_.special[from.slot]) return nullptr;
      return &from;
    }
    case Op::cvta: return sources.size() == 1 && sources[0].kind != Operand::Kind::address ? &sources[0] : nullptr;
    case Op::cvt: return plain_cast(inst) ? &sources[0] : nullptr;
    case Op::not_: return inst.type == isa::Type::pred ? &sources[0] : nullptr;  // predicates are negated where they are read
    case Op::add:
    case Op::sub:
    case Op::or_:
    case Op::xor_:
    case Op::shl:
    case Op::shr: {
      if (isa::is_float(inst.type) || inst.type == isa::Type::pred || inst.group_count < 3 || has_mod(inst, "cc")) return nullptr;
      const Operand& b = inst.operand(2);
      return b.kind == Operand::Kind::constant && b.value == 0 && (fn_.sm < 90 || b.space != isa::Space::shared) ? &sources[0] : nullptr;
    }
    default: return nullptr;
  }
}

Source Selector::look_through(ValueId id, int32_t user) {
  bool shared = false;
  for (;;) {
    const Value value = fn_.values[id];
    if (value.reg < 0 || value.def < 0) return {false, 0, id, shared};
    const Inst& producer = fn_.inst(value.def);
    if (producer.op == Op::ld && producer.space == isa::Space::param && fn_.sm < 90 && producer.guard < 0 && producer.group(0).size() == 1 &&
        producer.operand(1).slot < 0)
      return {true, INT64_MIN, -1};  // a constant-bank operand
    const Operand* from = copied_operand(value.def);
    if (from == nullptr) return {false, 0, id, shared};
    if (from->kind == Operand::Kind::constant) {
      if (fn_.sm >= 90 && from->space == isa::Space::shared) uses_shared_symbol_ = true;
      return {true, from->value, -1};
    }
    const int32_t reg = fn_.reg_of(*from);
    if (reg < 0 || !fn_.unchanged(reg, value.def, user)) return {false, 0, id, shared};
    shared |= value.reads != 1 || (value.leaves_block && fn_.def_list[value.reg].size() != 1);
    id = fn_.value_read(reg, value.def);
  }
}

Source Selector::source(const Operand& operand, int32_t user) {
  if (operand.kind == Operand::Kind::constant) {
    if (fn_.sm >= 90 && operand.space == isa::Space::shared) uses_shared_symbol_ = true;
    return {true, operand.value, -1};
  }
  const int32_t reg = fn_.reg_of(operand);
  if (reg < 0) return {true, 0, -1};
  return look_through(fn_.value_read(reg, user), user);
}

/// Adds what must be ready for a value to be read: the value, or the parts that a pack made it of.
void Selector::add_value(Values& to, ValueId id, int32_t user) {
  const Value value = fn_.values[id];
  if (value.reg >= 0 && value.def >= 0) {
    const Inst& producer = fn_.inst(value.def);
    if (producer.op == Op::mov && producer.guard < 0 && producer.group_count == 2) {
      const bool pack = producer.group(1).size() > 1, unpack = producer.group(0).size() > 1;
      if ((pack || unpack) && inputs_unchanged(value.def, user)) {
        const int32_t at = value.def;
        for (const Operand& part : producer.group(1)) add_reads(to, part, at);
        return;
      }
    }
  }
  if (std::find(to.begin(), to.end(), id) != to.end()) return;
  to.push_back(id);
  demand(id);
}

void Selector::add_reads(Values& to, const Operand& operand, int32_t user) {
  if (operand.kind == Operand::Kind::label || operand.kind == Operand::Kind::sink || operand.kind == Operand::Kind::none) return;
  const Source s = source(operand, user);
  if (!s.constant) add_value(to, s.id, user);
}

void Selector::add_register(Values& to, const Operand& operand, int32_t user) {
  const Source s = source(operand, user);
  if (!s.constant) return add_value(to, s.id, user);
  if (s.value == 0) return;  // RZ
  const int32_t reg = fn_.reg_of(operand);
  if (reg >= 0) {  // a constant that a PTX register holds is moved there once
    const ValueId id = fn_.value_read(reg, user);
    to.push_back(id);
    demand(id);
  } else {
    to.push_back(step(user, TimingClass::alu, {}, true));
  }
}

void Selector::add_group(Values& to, int group, int32_t user) {
  for (const Operand& operand : fn_.inst(user).group(group)) add_register(to, operand, user);
}

Values Selector::reads(int32_t i, int from_group) {
  Values uses;
  const Inst& inst = fn_.inst(i);
  for (int g = from_group; g < inst.group_count; ++g)
    for (const Operand& operand : inst.group(g)) {
      if (operand.kind == Operand::Kind::address) add_address(uses, operand, i, false);
      else add_reads(uses, operand, i);
    }
  return uses;
}

bool Selector::inputs_unchanged(int32_t producer, int32_t user) const {
  return std::all_of(fn_.insts[producer].uses.begin(), fn_.insts[producer].uses.end(),
                     [&](int32_t reg) { return fn_.unchanged(reg, producer, user); });
}

int32_t Selector::absorbable(const Source& s, int32_t user, std::initializer_list<Op> ops) const {
  if (s.constant || s.shared) return -1;
  const Value& value = fn_.values[s.id];
  if (value.reg < 0 || value.def < 0 || value.reads != 1 || fn_.insts[value.def].selected) return -1;
  if (value.leaves_block && fn_.def_list[value.reg].size() != 1) return -1;
  const Inst& producer = fn_.inst(value.def);
  if (producer.guard >= 0 || std::find(ops.begin(), ops.end(), producer.op) == ops.end()) return -1;
  if (fn_.block_of(value.def) != fn_.block_of(user) || has_mod(producer, "cc") || !inputs_unchanged(value.def, user)) return -1;
  const auto& defs = fn_.insts[user].defs;
  if (!defs.empty() && fn_.uniform[defs[0]] != fn_.uniform[value.reg]) return -1;
  return value.def;
}

void Selector::demand(ValueId id) {
  const Value value = fn_.values[id];
  if (value.reg < 0 || fn_.special[value.reg]) return;
  if (value.def >= 0) {
    work_.push_back(value.def);
    // A predicated definition leaves the older value in the other lanes.
    if (fn_.inst(value.def).guard >= 0) demand(fn_.value_read(value.reg, value.def));
    return;
  }
  for (int32_t d : fn_.def_list[value.reg]) work_.push_back(d);
}

// --- operations -------------------------------------------------------------------------------------------------------

ValueId Selector::result(int32_t i, int k) { return fn_.value_of(fn_.insts[i].defs[k], i); }

TimingClass Selector::alu(int32_t i) const {
  const auto& defs = fn_.insts[i].defs;
  return !defs.empty() && fn_.uniform[defs[0]] ? TimingClass::uniform : TimingClass::alu;
}

int32_t Selector::emit(int32_t i, TimingClass timing, Values uses, bool flexible) {
  MOp op;
  op.timing = timing;
  op.flexible = flexible && timing == TimingClass::alu;
  op.inst = i;
  op.block = fn_.block_of(i);
  op.uses = std::move(uses);
  const ValueId temp = fn_.temporary(timing == TimingClass::uniform ? 0 : 1);
  op.defs = {temp};
  fn_.values[temp].op = static_cast<int32_t>(fn_.ops.size());
  fn_.insts[i].ops.push_back(static_cast<int32_t>(fn_.ops.size()));
  fn_.ops.push_back(std::move(op));
  return static_cast<int32_t>(fn_.ops.size() - 1);
}

int32_t Selector::emit_result(int32_t i, TimingClass timing, Values uses, bool flexible) {
  const int32_t at = emit(i, timing, std::move(uses), flexible);
  fn_.ops[at].defs.clear();
  for (int32_t reg : fn_.insts[i].defs) {
    const ValueId id = fn_.value_of(reg, i);
    fn_.values[id].op = at;
    fn_.ops[at].defs.push_back(id);
  }
  return at;
}

void Selector::pair(int32_t i, TimingClass timing, const Values& uses, bool carry) {
  const ValueId low = step(i, timing, uses, true);
  Values high = uses;
  if (carry) high.push_back(low);
  emit_result(i, timing, high, true);
  if (!carry) fn_.ops[fn_.insts[i].ops.back()].uses.push_back(low);
}

/// Guards: every operation of a predicated instruction waits for the predicate, the last also for the old results.
void Selector::finish(int32_t i) {
  const Inst& inst = fn_.inst(i);
  InstInfo& info = fn_.insts[i];
  if (info.ops.empty() || inst.guard < 0) return;
  Values extra;
  const Source guard = look_through(fn_.value_read(fn_.pred_reg(inst.guard), i), i);
  if (!guard.constant) add_value(extra, guard.id, i);
  for (int32_t at : info.ops)
    for (ValueId id : extra) fn_.ops[at].uses.push_back(id);
  for (int32_t reg : info.defs) {
    const ValueId old = fn_.value_read(reg, i);
    fn_.ops[info.ops.back()].uses.push_back(old);
    demand(old);
  }
}

void Selector::select(int32_t i) {
  InstInfo& info = fn_.insts[i];
  if (info.selected || !info.live) return;
  info.selected = true;
  info.fate = Fate::op;
  const Inst& inst = fn_.inst(i);
  switch (inst.op) {
    case Op::mov:
      if (reads_clock(inst)) {
        emit_result(i, TimingClass::s2r, {});
        break;
      }
      if (inst.group(1).size() > 1 || inst.group(0).size() > 1) select_pack(i);
      else if (inst.group(1)[0].kind == Operand::Kind::reg && fn_.special[inst.group(1)[0].slot]) select_special(i);
      else select_copy(i);
      break;
    case Op::cvta: select_copy(i); break;
    case Op::cvt: select_convert(i); break;
    case Op::selp:
    case Op::slct: select_select(i); break;
    case Op::setp:
    case Op::set: select_compare(i); break;
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::not_:
    case Op::cnot:
    case Op::lop3: select_logic(i); break;
    case Op::mma:
    case Op::mma_sp:
    case Op::wmma_mma: select_matrix(i); break;
    case Op::wmma_load:
    case Op::wmma_store: select_wmma_move(i); break;
    default:
      if (select_async(i)) break;
      if (select_memory(i) || select_expansion(i) || select_float(i) || select_integer(i)) break;
      if (inst.op == Op::label_nop || inst.op == Op::pmevent) {
        info.fate = Fate::rider;
        break;
      }
      emit_result(i, inst.timing == TimingClass::none ? TimingClass::alu : inst.timing, reads(i, first_source(inst)));
  }
  if (info.ops.empty()) info.fate = Fate::rider;
  if (!info.ops.empty() && (inst.op == Op::bra || inst.op == Op::brx || inst.op == Op::exit || inst.op == Op::ret))
    fn_.ops[info.ops.back()].branch = true;
  finish(i);
}

void Selector::run() {
  open_zero_.assign(fn_.blocks.size(), -1);
  find_tuples();
  for (size_t i = fn_.insts.size(); i-- > 0;) {
    if (!fn_.insts[i].live || !has_side_effect(fn_.kernel.insts[i])) continue;
    const Inst& inst = fn_.kernel.insts[i];
    const bool next = inst.op == Op::bra && inst.guard < 0 && inst.target == static_cast<int32_t>(i) + 1;
    if (next) {  // falls through: neither costs nor changes anything
      fn_.insts[i].live = false;
      continue;
    }
    work_.push_back(static_cast<int32_t>(i));
    while (!work_.empty()) {
      const int32_t at = work_.back();
      work_.pop_back();
      select(at);
    }
  }
  for (size_t i = 0; i < fn_.insts.size(); ++i)
    if (fn_.insts[i].live && fn_.insts[i].fate == Fate::dead) fn_.insts[i].fate = Fate::rider;
  add_prologue();
}

/// An operation that belongs to no instruction's result.
int32_t Selector::add_extra(int32_t block, int32_t inst, TimingClass timing, Values uses) {
  MOp op;
  op.timing = timing;
  op.inst = inst;
  op.block = block;
  op.uses = std::move(uses);
  const ValueId temp = fn_.temporary(timing == TimingClass::uniform ? 0 : 1);
  op.defs = {temp};
  const auto at = static_cast<int32_t>(fn_.ops.size());
  fn_.values[temp].op = at;
  fn_.blocks[block].extra_ops.push_back(at);
  fn_.ops.push_back(std::move(op));
  return at;
}

/// What every kernel starts with: the stack pointer, the descriptor of global memory, the CTA's shared window.
void Selector::add_prologue() {
  if (fn_.blocks.empty()) return;
  const auto add = [&](TimingClass timing, std::initializer_list<int32_t> after) {
    Values uses;
    for (int32_t at : after) uses.push_back(fn_.ops[at].defs[0]);
    return add_extra(0, 0, timing, std::move(uses));
  };
  add(fn_.sm >= 90 ? TimingClass::ldc : TimingClass::alu, {});
  if (uses_global_ && fn_.sm >= 80) add(TimingClass::uniform, {});
  if (uses_parameter_address_) add(TimingClass::ldc, {});
  if (uses_shared_symbol_ && fn_.sm >= 90) {  // the window's base holds the CTA's rank in its cluster
    const int32_t base = add(TimingClass::uniform, {}), rank = add(TimingClass::s2r, {});
    add(TimingClass::uniform, {base, rank});
  }
}

void select(Function& fn, Diagnostics& diags) { Selector(fn, diags).run(); }

}  // namespace tcsim::sim::lowering
