// What a suspended warp waits for, for the timeline.
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

}  // namespace tcsim::sim
