#include "isa/exec/cluster.h"

#include <fmt/format.h>

#include <bit>

#include "isa/exec/reduce.h"
#include "isa/exec/shared_watch.h"

namespace tcsim::isa {

void ClusterBarrier::reset(const std::vector<Cta*>& ctas) {
  threads_ = arrived_ = 0;
  phase_ = 0;
  ctas_ = ctas;
  warps_.assign(ctas.size(), {});
  for (size_t r = 0; r < ctas.size(); ++r) {
    warps_[r].resize(ctas[r]->warps.size());
    for (const Warp& w : ctas[r]->warps) threads_ += static_cast<uint32_t>(std::popcount(w.live()));
  }
}

void ClusterBarrier::settle() {
  if (threads_ == 0 || arrived_ < threads_) return;
  arrived_ = 0;
  ++phase_;
  for (auto& cta : warps_)
    for (WarpState& w : cta) w.pending = 0;
}

std::string ClusterBarrier::arrive(uint32_t rank, uint32_t warp, uint32_t lanes) {
  WarpState& w = warps_[rank][warp];
  if (w.pending & lanes) return "barrier.cluster.arrive twice in the same phase: barrier.cluster.wait must come between";
  ctas_[rank]->watch.publish(warp);
  w.pending |= lanes;
  w.ever |= lanes;
  arrived_ += static_cast<uint32_t>(std::popcount(lanes));
  settle();
  return {};
}

bool ClusterBarrier::may_pass(uint32_t rank, uint32_t warp, uint32_t lanes, std::string& error) const {
  const WarpState& w = warps_[rank][warp];
  if (lanes & ~w.ever) error = "barrier.cluster.wait without barrier.cluster.arrive";
  return (w.pending & lanes) == 0;
}

void ClusterBarrier::exit(uint32_t lanes_count) {
  threads_ -= std::min(threads_, lanes_count);
  settle();
}

void Cluster::connect(std::vector<Cta*> members) {
  ctas = std::move(members);
  shared.clear();
  for (Cta* cta : ctas) shared.push_back(&cta->shared);
  running = static_cast<uint32_t>(ctas.size());
  barrier.reset(ctas);
  tensor.clear();
  const bool uses_tensor = ctas[0]->tensor != nullptr;
  if (uses_tensor)
    for (Cta* cta : ctas) tensor.push_back(cta->tensor);
  tensor_watch.start(uses_tensor, ctas);
  for (Cta* cta : ctas) {
    cta->watch.set_tensor_watch(uses_tensor ? &tensor_watch : nullptr);
    for (Warp& warp : cta->warps) {
      warp.ctx.cluster_size = static_cast<uint32_t>(ctas.size());
      warp.ctx.cluster_shared = shared.data();
      warp.ctx.cluster_tensor = uses_tensor ? tensor.data() : nullptr;
      warp.ctx.tensor_watch = uses_tensor ? &tensor_watch : nullptr;
    }
  }
}

MbarrierError Cluster::deliver(const RemoteOp& op, MbarrierSource source) {
  Cta& target = *ctas[op.target.rank];
  switch (op.kind) {
    case RemoteOp::Kind::mbarrier_arrive:
      return target.mbarriers.arrive(op.target.offset, {.count = op.count, .expect_bytes = op.expect_tx ? op.bytes : 0, .drop = op.drop}, source);
    case RemoteOp::Kind::mbarrier_tx:
      return op.expect_tx ? target.mbarriers.expect(op.target.offset, op.bytes, source)
                          : target.mbarriers.complete(op.target.offset, op.bytes, source);
    case RemoteOp::Kind::store:
      std::memcpy(target.shared.data() + op.target.offset, op.value.data(), op.bytes_each);
      target.shared.mark_written(op.target.offset, op.bytes_each);
      break;
    case RemoteOp::Kind::reduce:
      reduce_integer(op.reduce, op.type, target.shared.data() + op.target.offset, reinterpret_cast<const uint8_t*>(op.value.data()));
      break;
  }
  if (!op.asynchronous) return {};
  source.kind = MbarrierSource::Kind::store;
  return ctas[op.mbarrier.rank]->mbarriers.complete(op.mbarrier.offset, op.bytes, source);
}

Tcgen05Memories Cluster::memories(const Tcgen05Op& op) const {
  Tcgen05Memories m;
  for (uint32_t cta = 0; cta < op.cta_group; ++cta) {
    const uint32_t rank = tensor_queue(op) + cta;
    m.tensor[cta] = tensor[rank];
    m.shared[cta] = shared[rank];
  }
  return m;
}

MbarrierError Cluster::complete(const Tcgen05Op& op, bool values) {
  if (op.kind != Tcgen05Op::Kind::commit) {
    if (!values) return {};
    const StaleView stale(op.stale.get(), *shared[op.rank]);
    Tcgen05Ops::of(op).complete(op, memories(op));
    return {};
  }
  const MbarrierSource source{MbarrierSource::Kind::tensor, op.rank, op.warp, op.index};
  for (uint32_t mask = op.cta_mask; mask; mask &= mask - 1) {
    const auto rank = static_cast<uint32_t>(std::countr_zero(mask));
    MbarrierUnit& unit = ctas[rank]->mbarriers;
    if (const auto* record = unit.find(op.mbarrier.offset)) tensor_watch.committed(op, rank, record->phase);
    if (auto error = unit.arrive(op.mbarrier.offset, {}, source)) return error;
  }
  return {};
}

}  // namespace tcsim::isa
