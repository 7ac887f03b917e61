// Which operands an instruction defines and reads, and what it does to memory.
#include <algorithm>

#include "sim/lower/ir.h"

namespace tcsim::sim::lowering {

bool is_bulk(Op op) {
  switch (op) {
    case Op::cp_async_bulk:
    case Op::cp_async_bulk_tensor:
    case Op::cp_reduce_async_bulk:
    case Op::cp_reduce_async_bulk_tensor:
    case Op::cp_async_bulk_prefetch:
    case Op::cp_async_bulk_prefetch_tensor:
    case Op::tensormap_replace:
    case Op::tensormap_cp_fenceproxy: return true;
    default: return false;
  }
}

namespace {

bool no_result(Op op) {
  switch (op) {
    case Op::st:
    case Op::red:
    case Op::prefetch:
    case Op::prefetchu:
    case Op::applypriority:
    case Op::discard:
    case Op::fence:
    case Op::membar:
    case Op::cp_async:
    case Op::cp_async_commit:
    case Op::cp_async_wait:
    case Op::cp_async_mbarrier_arrive:
    case Op::bar_sync:
    case Op::bar_arrive:
    case Op::bar_warp:
    case Op::mbarrier_init:
    case Op::mbarrier_inval:
    case Op::mbarrier_expect_tx:
    case Op::mbarrier_complete_tx:
    case Op::griddepcontrol:
    case Op::nanosleep:
    case Op::bra:
    case Op::brx:
    case Op::call:
    case Op::ret:
    case Op::exit:
    case Op::trap:
    case Op::brkpt:
    case Op::pmevent:
    case Op::label_nop:
    case Op::stackrestore:
    case Op::setmaxnreg:
    case Op::wmma_store:
    case Op::stmatrix:
    case Op::fence_proxy:
    case Op::barrier_cluster_arrive:
    case Op::barrier_cluster_wait:
    case Op::st_async:
    case Op::red_async:
    case Op::cp_async_bulk_commit:
    case Op::cp_async_bulk_wait:
    case Op::wgmma_fence:
    case Op::wgmma_commit:
    case Op::wgmma_wait:
    case Op::clusterlaunchcontrol_try_cancel: return true;
    default: return is_bulk(op) || (is_tcgen05(op) && op != Op::tcgen05_ld);
  }
}

void add(std::vector<int32_t>& list, int32_t reg) {
  if (reg >= 0 && std::find(list.begin(), list.end(), reg) == list.end()) list.push_back(reg);
}

bool reads_carry(Op op) { return op == Op::addc || op == Op::subc || op == Op::madc; }

}  // namespace

bool has_mod(const Inst& inst, std::string_view mod) {
  std::string_view word = inst.text.substr(0, inst.text.find_first_of(" \t\n"));
  for (size_t at = word.find('.'); at != std::string_view::npos;) {
    const size_t next = word.find('.', at + 1);
    if (word.substr(at + 1, next == std::string_view::npos ? next : next - at - 1) == mod) return true;
    at = next;
  }
  return false;
}

int first_source(const Inst& inst) {
  if (inst.group_count == 0 || no_result(inst.op)) return 0;
  const Operand::Kind kind = inst.operand(0).kind;
  return kind == Operand::Kind::reg || kind == Operand::Kind::pred || kind == Operand::Kind::sink ? 1 : 0;
}

int width_words(const Inst& inst) { return isa::bits(inst.type) >= 64 ? 2 : 1; }

void collect_registers(const Function& fn, const Inst& inst, std::vector<int32_t>& defs, std::vector<int32_t>& uses) {
  const int sources = first_source(inst);
  for (int g = 0; g < inst.group_count; ++g)
    for (const Operand& operand : inst.group(g)) add(g < sources ? defs : uses, fn.reg_of(operand));
  if (inst.guard >= 0) {
    add(uses, fn.pred_reg(inst.guard));
    for (int32_t reg : defs) add(uses, reg);  // a partial write keeps the other lanes
  }
  if (is_wgmma(inst.op))
    for (int32_t reg : defs) add(uses, reg);  // accumulates; scale-d is decided when it runs
  if (reads_carry(inst.op)) add(uses, fn.carry_reg());
  if (has_mod(inst, "cc")) add(defs, fn.carry_reg());
}

bool reads_clock(const Inst& inst) {
  return inst.op == Op::mov && (inst.text.find("%clock") != std::string_view::npos || inst.text.find("%globaltimer") != std::string_view::npos);
}

bool has_side_effect(const Inst& inst) {
  if (no_result(inst.op) || reads_clock(inst)) return true;
  switch (inst.op) {
    case Op::atom:
    case Op::bar_red:
    case Op::mbarrier_arrive:
    case Op::mbarrier_arrive_drop:
    case Op::mbarrier_test_wait:
    case Op::mbarrier_try_wait:
    case Op::alloca:
    case Op::stacksave:
    case Op::wgmma_mma:
    case Op::wgmma_mma_sp:
    case Op::tcgen05_ld: return true;
    case Op::ld: return has_mod(inst, "volatile") || has_mod(inst, "acquire");
    default: return false;
  }
}

MemoryRole memory_role(const Inst& inst) {
  MemoryRole role;
  switch (inst.op) {
    case Op::ld:
    case Op::ldu:
    case Op::ldmatrix:
    case Op::wmma_load: role.kind = MemoryKind::load; break;
    case Op::st:
    case Op::stmatrix:
    case Op::wmma_store: role.kind = MemoryKind::store; break;
    case Op::atom:
    case Op::red: role.kind = MemoryKind::atomic; break;
    case Op::cp_async: role.kind = MemoryKind::copy; break;
    case Op::cp_async_commit:
    case Op::cp_async_wait:
    case Op::cp_async_mbarrier_arrive:
    case Op::fence:
    case Op::membar:
    case Op::bar_sync:
    case Op::bar_arrive:
    case Op::bar_red:
    case Op::bar_warp:
    case Op::mbarrier_init:
    case Op::mbarrier_inval:
    case Op::mbarrier_arrive:
    case Op::mbarrier_arrive_drop:
    case Op::mbarrier_expect_tx:
    case Op::mbarrier_complete_tx:
    case Op::mbarrier_test_wait:
    case Op::mbarrier_try_wait:
    case Op::griddepcontrol:
    case Op::nanosleep:
    case Op::discard:
    case Op::applypriority:
    case Op::pmevent:
    case Op::setmaxnreg:
    case Op::trap:
    case Op::brkpt:
    case Op::alloca:
    case Op::stacksave:
    case Op::stackrestore:
    case Op::wgmma_mma:
    case Op::wgmma_mma_sp:
    case Op::wgmma_fence:
    case Op::wgmma_commit:
    case Op::wgmma_wait:
    case Op::fence_proxy:
    case Op::barrier_cluster_arrive:
    case Op::barrier_cluster_wait:
    case Op::st_async:
    case Op::red_async:
    case Op::cp_async_bulk_commit:
    case Op::cp_async_bulk_wait: role.kind = MemoryKind::ordered; return role;
    default:
      if (is_bulk(inst.op) || is_tcgen05(inst.op) || inst.op == Op::clusterlaunchcontrol_try_cancel) role.kind = MemoryKind::ordered;
      return role;
  }
  const isa::Space space = inst.space;
  if (space == isa::Space::param || space == isa::Space::constant) return {};
  const bool any = space == isa::Space::generic || space == isa::Space::none;
  const bool copy = role.kind == MemoryKind::copy;
  role.global = any || space == isa::Space::global || copy;
  role.shared = any || space == isa::Space::shared || space == isa::Space::shared_cluster || copy;
  role.local = any || space == isa::Space::local;
  if (inst.op == Op::ldmatrix || inst.op == Op::stmatrix) role = {role.kind, false, true, false, false};
  role.is_volatile = has_mod(inst, "volatile") || has_mod(inst, "acquire") || has_mod(inst, "release");
  return role;
}

}  // namespace tcsim::sim::lowering
