// Hopper's asynchronous instructions: wgmma, bulk copies, mbarriers. The TMA engine, the tensor cores and the mbarrier unit
// take their operands in uniform registers; counts of the moves around them are those of ptxas 13 for the Triton kernels.
#include <algorithm>

#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

namespace {

bool is_uniform(const Function& fn, ValueId id) { return fn.values[id].reg >= 0 && fn.uniform[fn.values[id].reg]; }

}  // namespace

/// R2UR: once where the value is made; a value that changes on the way (a loop's) each time that it is read.
void Selector::add_moved_to_uniform(Values& to, ValueId id, int32_t user) {
  const Value value = fn_.values[id];
  const bool once = value.reg >= 0 && value.def >= 0 && fn_.inst(value.def).guard < 0;
  if (!once) {
    Values from;
    add_value(from, id, user);
    for (int k = 0; k < value.words; ++k) to.push_back(step(user, TimingClass::uniform, from));
    return;
  }
  auto [it, fresh] = moved_to_uniform_.try_emplace(id, -1);
  if (fresh) {
    Values from;
    add_value(from, id, user);
    for (int k = 0; k < value.words; ++k) it->second = add_extra(fn_.block_of(value.def), value.def, TimingClass::uniform, from);
  }
  if (it->second < 0) return;
  if (fn_.block_of(value.def) == fn_.block_of(user)) to.push_back(fn_.ops[it->second].defs[0]);
}

void Selector::add_in_uniform(Values& to, const Operand& operand, int32_t user) {
  const Source s = source(operand, user);
  if (s.constant) to.push_back(step(user, TimingClass::uniform, {}));
  else if (is_uniform(fn_, s.id)) add_value(to, s.id, user);
  else add_moved_to_uniform(to, s.id, user);
}

/// A shared address: as it is when a register holds it, one addition when it is a register and an offset.
void Selector::add_uniform_address(Values& to, const Operand& operand, int32_t user) {
  Values base;
  add_address(base, operand, user, true);
  bool sum = operand.value != 0;
  if (operand.slot >= 0) {
    const Source direct = look_through(fn_.value_read(operand.slot, user), user);
    sum |= !direct.constant && (base.empty() || std::find(base.begin(), base.end(), direct.id) == base.end());
  }
  Values moved;
  for (ValueId id : base) {
    if (is_uniform(fn_, id)) moved.push_back(id);
    else add_moved_to_uniform(moved, id, user);
  }
  if (sum) to.push_back(step(user, TimingClass::uniform, moved));
  else to.insert(to.end(), moved.begin(), moved.end());
}

/// The address of a tensor map. Under a predicate ptxas adds the parameter's offset in vector registers and moves the sum
/// to uniform ones by way of a select.
void Selector::add_tensor_map(Values& to, const Operand& operand, int32_t user) {
  const Source s = operand.slot >= 0 ? look_through(fn_.value_read(operand.slot, user), user) : Source{true, operand.value, -1};
  Values from;
  if (!s.constant) add_value(from, s.id, user);
  else uses_parameter_address_ = true;
  if (fn_.inst(user).guard >= 0) {
    const ValueId low = step(user, TimingClass::alu, from), high = step(user, TimingClass::alu, {low}, true);
    for (ValueId half : {low, high}) {
      const ValueId first = step(user, TimingClass::uniform, {half});
      to.push_back(step(user, TimingClass::uniform, {step(user, TimingClass::alu, {first}, true)}));
    }
  } else {
    for (int half = 0; half < 2; ++half) to.push_back(step(user, TimingClass::uniform, from));
  }
}

void Selector::select_bulk(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values uses;
  const bool tensor =
      inst.op == Op::cp_async_bulk_tensor || inst.op == Op::cp_reduce_async_bulk_tensor || inst.op == Op::cp_async_bulk_prefetch_tensor;
  const bool load = inst.group_count > 2 && inst.operand(0).kind == Operand::Kind::address && inst.group(0).size() == 1;
  for (int g = 0; g < inst.group_count; ++g) {
    const auto group = inst.group(g);
    if (tensor && group.size() > 1 && group[0].kind == Operand::Kind::address) {
      add_tensor_map(uses, group[0], i);
      for (const Operand& coordinate : group.subspan(1)) add_in_uniform(uses, coordinate, i);
      continue;
    }
    for (const Operand& operand : group) {
      if (operand.kind == Operand::Kind::address) add_uniform_address(uses, operand, i);
      else add_in_uniform(uses, operand, i);
    }
  }
  // VOTEU: the predicate as the uniform datapath sees it, for the operands and for the copy.
  if (inst.guard >= 0)
    for (int k = 0; k < (load ? 2 : 1); ++k) uses.push_back(step(i, TimingClass::uniform, {}));
  emit_result(i, TimingClass::tma, uses);
}

void Selector::select_wgmma(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values uses;
  for (const Operand& operand : inst.group(0)) {
    const ValueId id = fn_.value_read(operand.slot, i);
    uses.push_back(id);
    demand(id);
  }
  for (int g = 1; g < inst.group_count; ++g) {
    if (g == 1 && inst.group(1).size() > 1) add_tuple(uses, g, i);
    else
      for (const Operand& operand : inst.group(g)) {
        const Source s = source(operand, i);
        if (!s.constant && operand.bit_width == 64) {
          // The descriptors of A and B are four registers in a row: one that another wgmma pairs differently is copied.
          const int32_t def = fn_.values[s.id].def;
          const bool fresh = descriptors_.insert(s.id).second;
          if (!fresh && def >= 0 && fn_.block_of(def) == fn_.block_of(i)) uses.push_back(step(i, TimingClass::uniform, {}));
          add_in_uniform(uses, operand, i);
        } else if (!s.constant) add_value(uses, s.id, i);
      }
  }
  emit_result(i, TimingClass::wgmma, uses);
  if (!fn_.wgmma_serialised) return;
  fn_.insts[i].home = static_cast<int32_t>(fn_.insts[i].ops.size()) - 1;
  for (const TimingClass after : {TimingClass::wgmma_wait, TimingClass::wgmma_fence}) emit(i, after, {});
}

void Selector::select_mbarrier(int32_t i) {
  const Inst& inst = fn_.inst(i);
  const int at = inst.op == Op::mbarrier_test_wait || inst.op == Op::mbarrier_try_wait ? 1 : first_source(inst);
  Values uses;
  add_address(uses, inst.operand(at), i, true);
  const Operand* value = at + 1 < inst.group_count ? &inst.operand(at + 1) : nullptr;
  if (inst.op == Op::mbarrier_init) {
    // The word of a fresh barrier is made of the count: three uniform operations on a constant.
    ValueId word = step(i, TimingClass::uniform, {});
    if (value != nullptr && !source(*value, i).constant) add_reads(uses, *value, i);
    for (int k = 0; k < 3; ++k) word = step(i, TimingClass::uniform, {word});
    uses.push_back(word);
    if (inst.guard >= 0) uses.push_back(step(i, TimingClass::uniform, {}));
    if (fn_.blocks[fn_.block_of(i)].depth > 0) emit(i, TimingClass::fence_proxy, {});
  } else if (at == 1 && value != nullptr && has_mod(inst, "parity")) {
    const Source parity = source(*value, i);  // wanted in the sign bit
    if (!parity.constant) {
      Values from;
      add_value(from, parity.id, i);
      if (is_uniform(fn_, parity.id)) from = {step(i, TimingClass::uniform, from)};
      uses.push_back(step(i, TimingClass::alu, from, true));
    } else if (parity.value != 0) {
      uses.push_back(step(i, TimingClass::alu, {}, true));
    }
  } else if (value != nullptr) {
    add_register(uses, *value, i);
  }
  // An arrival that releases at cluster scope is a fence first (H200: 270 cycles against 6).
  if ((inst.op == Op::mbarrier_arrive || inst.op == Op::mbarrier_arrive_drop) && has_mod(inst, "cluster") && has_mod(inst, "release"))
    emit(i, TimingClass::membar_gl, {});
  emit_result(i, inst.timing, uses);
}

/// tcgen05 operations and clusterlaunchcontrol take descriptors, Tensor Memory and shared addresses in uniform registers.
void Selector::select_tcgen05(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values uses;
  for (int g = 0; g < inst.group_count; ++g)
    for (const Operand& operand : inst.group(g)) {
      if (operand.kind == Operand::Kind::address) add_uniform_address(uses, operand, i);
      else if (operand.kind == Operand::Kind::pred) add_reads(uses, operand, i);
      else if (operand.kind == Operand::Kind::reg) add_in_uniform(uses, operand, i);
    }
  emit_result(i, inst.timing, uses);
}

/// ld, st: the warp's registers in a row, and a uniform address.
void Selector::select_tensor_access(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values uses;
  const bool store = inst.op == Op::tcgen05_st;
  for (int g = store ? 0 : 1; g < inst.group_count; ++g) {
    if (inst.group(g)[0].kind == Operand::Kind::address) add_uniform_address(uses, inst.group(g)[0], i);
    else if (inst.group(g).size() > 1) add_tuple(uses, g, i);
    else add_reads(uses, inst.operand(g), i);
  }
  emit_result(i, inst.timing, uses);
}

bool Selector::select_async(int32_t i) {
  const Inst& inst = fn_.inst(i);
  switch (inst.op) {
    case Op::wgmma_mma:
    case Op::wgmma_mma_sp: select_wgmma(i); return true;
    case Op::wgmma_commit: return true;  // a flag of the last wgmma
    case Op::tcgen05_alloc:
    case Op::tcgen05_dealloc:
    case Op::tcgen05_cp:
    case Op::tcgen05_shift:
    case Op::tcgen05_mma:
    case Op::tcgen05_commit:
    case Op::clusterlaunchcontrol_try_cancel: select_tcgen05(i); return true;
    case Op::tcgen05_ld:
    case Op::tcgen05_st: select_tensor_access(i); return true;
    case Op::wgmma_fence:
    case Op::wgmma_wait:
    case Op::tcgen05_wait: {
      Values uses;
      for (int32_t reg : fn_.insts[i].uses) {
        const ValueId id = fn_.value_read(reg, i);
        uses.push_back(id);
        demand(id);
      }
      emit_result(i, inst.timing, uses);
      return true;
    }
    case Op::cp_async_bulk:
    case Op::cp_async_bulk_tensor:
    case Op::cp_reduce_async_bulk:
    case Op::cp_reduce_async_bulk_tensor:
    case Op::cp_async_bulk_prefetch:
    case Op::cp_async_bulk_prefetch_tensor: select_bulk(i); return true;
    case Op::mbarrier_init:
    case Op::mbarrier_inval:
    case Op::mbarrier_arrive:
    case Op::mbarrier_arrive_drop:
    case Op::mbarrier_expect_tx:
    case Op::mbarrier_complete_tx:
    case Op::mbarrier_test_wait:
    case Op::mbarrier_try_wait: select_mbarrier(i); return true;
    case Op::fence_proxy:
      if (has_mod(inst, "async")) emit(i, TimingClass::membar_cta, {});
      emit_result(i, inst.timing, {});
      return true;
    case Op::shfl:
      if (alu(i) != TimingClass::uniform) return false;
      emit_result(i, TimingClass::uniform, reads(i, 1));
      return true;
    default: return false;
  }
}

}  // namespace tcsim::sim::lowering
