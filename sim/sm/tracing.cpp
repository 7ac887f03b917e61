// For the timeline: what a suspended warp waits for, who owns Tensor Memory.
#include "sim/sm/sm.h"

namespace tcsim::sim {

void Sm::trace_wait(const WarpSlot& w) const {
  const isa::Effects& fx = w.warp->ctx.fx;
  CtaTrace::Wait wait;
  wait.on = w.blocked;
  wait.inst = w.warp->last_inst();
  switch (w.blocked) {
    case Blocked::mbarrier:
      wait.id = fx.wait.address.offset;
      if (const auto* record = ctas_[w.cta_slot].cta.mbarriers.find(fx.wait.address.offset)) wait.phase = record->phase;
      break;
    case Blocked::barrier: wait.id = fx.barrier.id; break;
    default: wait.id = w.wait_keep; break;
  }
  w.trace->suspended(w.index_in_cta, wait);
}

/// After a tcgen05.alloc or dealloc.
void Sm::trace_tensor_allocation(const WarpSlot& w) const {
  using Memory = isa::TensorMemory;
  const uint32_t key = ctas_[w.cta_slot].cta.tensor_key;
  uint32_t units = 0;
  for (uint32_t unit = 0; unit < Memory::kColumns / Memory::kUnit; ++unit)
    if (tensor_memory_->check_owned(key, 0, unit * Memory::kUnit, Memory::kUnit).empty()) units |= 1u << unit;
  w.trace->tensor_columns(units, now_);
}

}  // namespace tcsim::sim
