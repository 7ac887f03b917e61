// Hopper's asynchronous instructions: wgmma, bulk copies, mbarriers, clusters.
#include <algorithm>

#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

void Selector::select_wgmma(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values uses;
  for (int g = 0; g < inst.group_count; ++g) {
    if (g == 1 && inst.group(1).size() > 1) add_tuple(uses, g, i);
    else for (const Operand& operand : inst.group(g)) {
      if (operand.kind == Operand::Kind::reg && g == 0) {
        const ValueId id = fn_.value_read(operand.slot, i);
        uses.push_back(id);
        demand(id);
      } else {
        add_reads(uses, operand, i);
      }
    }
  }
  emit_result(i, TimingClass::wgmma, uses);
}

bool Selector::select_async(int32_t i) {
  const Inst& inst = fn_.inst(i);
  switch (inst.op) {
    case Op::wgmma_mma: case Op::wgmma_mma_sp: select_wgmma(i); return true;
    case Op::wgmma_commit: return true;
    case Op::wgmma_fence: case Op::wgmma_wait: {
      Values uses;
      for (int32_t reg : fn_.insts[i].uses) {
        const ValueId id = fn_.value_read(reg, i);
        uses.push_back(id);
        demand(id);
      }
      emit_result(i, inst.timing, uses);
      return true;
    }
    default: return false;
  }
}

}  // namespace tcsim::sim::lowering
