#include "isa/exec/cta.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "isa/exec/tensor_memory.h"

namespace tcsim::isa {

void CtaBarriers::reset(uint32_t cta_threads, SharedWatch* watch) {
  threads_ = cta_threads;
  watch_ = watch;
  for (Barrier& b : barriers_) b = {};
}

void CtaBarriers::complete(Barrier& b, std::vector<Release>& released) {
  const uint32_t result = b.kind == BarrierRequest::Kind::red_popc ? b.popc : b.kind == BarrierRequest::Kind::red_and ? b.all : b.any;
  for (Release r : b.waiting) {
    r.red_result = result;
    released.push_back(r);
  }
  b = {};
}

bool CtaBarriers::arrive(const BarrierRequest& request, uint32_t warp, uint32_t lanes, std::vector<Release>& released, std::string& error) {
  using Kind = BarrierRequest::Kind;
  if (request.id >= kCount) {
    error = fmt::format("barrier {} does not exist, expected 0 to {}", request.id, kCount - 1);
    return false;
  }
  Barrier& b = barriers_[request.id];
  const bool whole = request.threads == 0;
  const uint32_t expected = whole ? threads_ : request.threads;
  const bool is_red = request.kind != Kind::sync && request.kind != Kind::arrive;
  if (!whole && expected % kLanes != 0) {
    error = fmt::format("barrier {} for {} threads, expected a multiple of the warp size {}", request.id, expected, kLanes);
    return false;
  }
  if (b.arrived == 0) {
    b.expected = expected;
    b.whole_cta = whole;
    b.kind = request.kind;
  } else {
    if (b.expected != expected) {
      error = fmt::format("barrier {} for {} threads, but lanes that arrived before expect {}", request.id, expected, b.expected);
      return false;
    }
    // arrive may pair with sync; a reduction may only meet the same reduction.
    const bool was_red = b.kind != Kind::sync && b.kind != Kind::arrive;
    if ((is_red || was_red) && b.kind != request.kind) {
      error = fmt::format("barrier {}: a reduction meets another kind of barrier instruction", request.id);
      return false;
    }
  }
  const auto count = static_cast<uint32_t>(std::popcount(lanes));
  if (b.arrived + count > b.expected) {
    error = fmt::format("barrier {}: {} threads arrive, but it expects {} and {} are there already", request.id, count, b.expected, b.arrived);
    return false;
  }
  if (watch_ != nullptr) watch_->publish(warp);
  b.arrived += count;
  b.popc += static_cast<uint32_t>(std::popcount(request.predicate & lanes));
  b.all = b.all && (lanes & ~request.predicate) == 0;
  b.any = b.any || (lanes & request.predicate) != 0;
  if (request.kind != Kind::arrive) b.waiting.push_back({warp, lanes, 0});
  if (b.arrived < b.expected) return false;
  complete(b, released);
  return true;
}

bool CtaBarriers::exit(uint32_t lanes_count, std::vector<Release>& released) {
  threads_ -= std::min(threads_, lanes_count);
  bool any = false;
  for (Barrier& b : barriers_) {
    if (!b.whole_cta || b.arrived == 0) continue;
    b.expected = threads_;
    if (b.arrived < b.expected) continue;
    complete(b, released);
    any = true;
  }
  return any;
}

CtaBarriers::State CtaBarriers::state(uint32_t id) const {
  if (id >= kCount) return {};
  const Barrier& b = barriers_[id];
  return {b.expected, b.arrived, !b.waiting.empty()};
}

void Cta::start(const Program& program, const LaunchInfo& launch, GlobalMemory& global, Dim3 ctaid, uint32_t sm, bool values_known) {
  const Kernel& kernel = *program.kernel;
  const auto threads = static_cast<uint32_t>(launch.block.count());
  const uint32_t count = (threads + kLanes - 1) / kLanes;
  if (tensor != nullptr) tensor->reset(tensor_key);
  id = ctaid;
  sm_id = sm;
  shared.reset(std::max(kernel.shared_static_bytes, kernel.dynamic_shared_offset) + launch.dynamic_smem_bytes);
  barriers.reset(threads, &watch);
  warps.resize(count);
  locals.resize(count);
  for (uint32_t w = 0; w < count; ++w) {
    warps[w].start(program, launch, ctaid, w, sm, values_known);
    locals[w].reset(warps[w].ctx.local_stride * kLanes);
    warps[w].ctx.global = &global;
    warps[w].ctx.shared = warps[w].ctx.target = &shared;
    warps[w].ctx.mbarriers = &mbarriers;
    warps[w].ctx.cluster_size = 1;
    warps[w].ctx.cluster_shared = nullptr;
    warps[w].ctx.tensor = tensor;
    warps[w].ctx.cta_key = tensor_key;
    warps[w].ctx.cluster_tensor = nullptr;
    warps[w].ctx.tensor_watch = nullptr;
    warps[w].registers = launch.registers_per_thread;
    warps[w].ctx.local = &locals[w];
  }
  warps_running = count;
  rank = warps[0].ctx.cluster_rank;
  pooled_registers = 0;
  watch.start(program.async_proxy, shared.size(), warps, rank);
  shared.set_watch(watch.on() ? &watch : nullptr);
  mbarriers.reset(shared, &watch, rank);
}

bool Cta::set_registers(Warp& warp, uint32_t count) {
  if (warp.registers == 0) return true;  // the launch does not say how many each thread has
  if (count <= warp.registers) {
    pooled_registers += warp.registers - count;
  } else if (count - warp.registers <= pooled_registers) {
    pooled_registers -= count - warp.registers;
  } else {
    return false;
  }
  warp.registers = count;
  return true;
}

}  // namespace tcsim::isa
