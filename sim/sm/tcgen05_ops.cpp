// tcgen05: operations from their issue through the tensor core to Tensor Memory and mbarriers; accesses of warps to Tensor
// Memory; allocation.
#include <algorithm>
#include <bit>
#include <cmath>

#include "isa/insn/tcgen05.h"
#include "sim/sm/pipes.h"
#include "sim/sm/sm.h"

namespace tcsim::sim {
namespace {

using Kind = isa::Tcgen05Op::Kind;

constexpr uint32_t kHalfM = 128;  // of a pair: each SM has 64 rows and the tensor core takes two columns at once

Tcgen05Cost cost_of(const isa::Tcgen05Work& work, const isa::Tcgen05Op& op, const cfg::Tcgen05& m) {
  Tcgen05Cost cost;
  switch (op.kind) {
    case Kind::mma: {
      const bool pair = op.cta_group == 2, half = pair && work.m == kHalfM;
      const double a = std::max(work.a_bytes[0], work.a_bytes[1]), b = std::max(work.b_bytes[0], work.b_bytes[1]);
      cost.math = work.n * (half ? m.pair_half_cycles_per_column : m.cycles_per_column);
      cost.load = a / m.operand_bytes_per_cycle;
      cost.stream = (a + b) / m.operand_bytes_per_cycle;
      cost.latency = m.latency + (half ? m.pair_half_latency : pair ? m.pair_latency : 0);
      break;
    }
    case Kind::cp:
      cost.math = work.copy_bytes / m.copy_bytes_per_cycle;
      cost.stream = std::max(work.a_bytes[0], work.a_bytes[1]) / m.operand_bytes_per_cycle;
      cost.latency = m.copy_latency;
      break;
    case Kind::shift: cost.math = m.shift_cycles; break;
    case Kind::commit: break;
  }
  return cost;
}

}  // namespace

void Sm::issue_tcgen05(uint32_t slot, const MachineOp& op) {
  WarpSlot& w = warps_[slot];
  CtaSlot& cta = ctas_[w.cta_slot];
  for (const isa::Tcgen05Op& issued : w.warp->ctx.fx.tcgen05) {
    Tcgen05Unit::Times times{now_, now_, now_};
    Cycle done;
    if (issued.kind == Kind::commit) {
      done = std::max(now_, cta.tensor_done) + m_.tcgen05.commit_cycles;
    } else {
      const isa::Tcgen05Work work = isa::Tcgen05Ops::of(issued).work(issued);
      const Tcgen05Cost cost = cost_of(work, issued, m_.tcgen05);
      times = tcgen05_.push(cost, now_);
      done = cta.tensor_done = std::max(cta.tensor_done, times.done);
      const uint64_t bytes = uint64_t{work.a_bytes[0]} + work.a_bytes[1] + work.b_bytes[0] + work.b_bytes[1];
      const uint64_t wavefronts = bytes / (uint64_t{m_.smem.banks} * m_.smem.bank_bytes);
      OpStats& stats = ops[static_cast<size_t>(&op - run_.program->ops.data())];
      stats.wavefronts += wavefronts;
      stats.wavefronts_ideal += wavefronts;
      counters[Counter::smem_wavefronts] += wavefronts;
      if (issued.kind == Kind::mma) {
        const double cycles = cost.math * issued.cta_group;
        counters[Counter::tensor_cycles_active] += static_cast<uint64_t>(cycles * m_.limits.subcores);
        stats.operations += 2ull * work.m * work.n * work.k;
        stats.tensor_cycles += cycles;
        stats.kind = work.kind;
      }
    }
    uint32_t id;
    if (free_tensor_jobs_.empty()) {
      id = static_cast<uint32_t>(tensor_jobs_.size());
      tensor_jobs_.emplace_back();
    } else {
      id = free_tensor_jobs_.back();
      free_tensor_jobs_.pop_back();
    }
    tensor_jobs_[id] = {issued, slot,
                        w.trace ? w.trace->tensor_issued({issued, w.index_in_cta, now_, times.begin, times.end, done}) : CtaTrace::kNone};
    ++w.outstanding;
    wheel_.add(std::max(done, now_ + 1), {Event::Kind::tcgen05, 0, 0, id, 0});
  }
}

/// The operation is over: its result is in Tensor Memory, or its arrivals go out.
void Sm::finish_tcgen05(uint32_t id) {
  const TensorJob job = std::move(tensor_jobs_[id]);
  free_tensor_jobs_.push_back(id);
  WarpSlot& w = warps_[job.warp];
  if (job.op.kind == Kind::commit) arrive_committed(job);
  else ctas_[w.cta_slot].cluster->cluster.complete(job.op, run_.values_known);
  --w.outstanding;
  if (w.blocked == Blocked::stores && w.outstanding == 0) finish_warp(job.warp);
}

/// An arrival in this CTA now; in others after the way there.
void Sm::arrive_committed(const TensorJob& job) {
  CtaSlot& cta = ctas_[warps_[job.warp].cta_slot];
  ClusterState& cluster = *cta.cluster;
  for (uint32_t mask = job.op.cta_mask; mask; mask &= mask - 1) {
    const auto rank = static_cast<uint32_t>(std::countr_zero(mask));
    isa::Tcgen05Op arrival = job.op;
    arrival.cta_mask = static_cast<uint16_t>(1u << rank);
    if (rank == cta.cta.rank) {
      tensor_arrival(arrival, {cta.linear, job.traced}, cluster, cta);
      continue;
    }
    const ClusterState::Member to = cluster.members[rank];
    ClusterMessage message{.kind = ClusterMessage::Kind::tensor, .cycle = now_ + m_.cluster.remote_cycles, .sm = to.sm, .slot = to.slot};
    message.tensor = std::move(arrival);
    message.commit = {cta.linear, job.traced};
    message.cluster = &cluster;
    cluster_outbox.push_back(std::move(message));
  }
}

void Sm::tensor_arrival(const isa::Tcgen05Op& commit, const TracedCommit& traced, ClusterState& cluster, CtaSlot& cta) {
  if (cta.trace) cta.trace->committed(traced.cta, traced.index, now_);
  if (auto e = cluster.cluster.complete(commit)) return async_fault(e, cta, commit.warp, commit.index);
  wake_mbarrier_waiters(cta);
}

/// ld and st: the warp's columns pass through its sub-core's way to Tensor Memory. Returns how long they hold it.
uint32_t Sm::access_tensor_memory(WarpSlot& w, const MachineOp& op, uint32_t interval) {
  const isa::Inst& inst = run_.kernel->insts[w.warp->last_inst()];
  const uint32_t held = isa::TensorAccess::of(inst).columns() * interval;
  Cycle& over = op.timing == isa::TimingClass::tcgen05_ld ? w.tensor_read : w.tensor_written;
  over = std::max(over, now_ + held + m_.of(op.timing).latency);
  if (w.trace) w.trace->tensor_accessed({w.warp->last_inst(), w.index_in_cta, now_, now_ + held, over});
  return held;
}

void Sm::wait_tensor(uint32_t slot) {
  const WarpSlot& w = warps_[slot];
  const Cycle over = w.warp->ctx.fx.flag ? w.tensor_written : w.tensor_read;
  const Cycle ready = std::max(over, now_ + m_.of(isa::TimingClass::tcgen05_wait).latency);
  if (w.trace) {
    w.trace->suspended(w.index_in_cta, {.on = Blocked::no, .inst = w.warp->last_inst()});
    w.trace->resumed(w.index_in_cta, ready);
  }
  plan(slot, ready_at(ready, Stall::long_scoreboard));
}

/// No room: the warp asks again and again.
void Sm::wait_tensor_alloc(uint32_t slot) {
  warps_[slot].wait_lanes = warps_[slot].warp->ctx.fx.lanes;
  begin_wait(slot, Blocked::tensor_alloc);
  if (warps_[slot].blocked == Blocked::tensor_alloc)
    wheel_.add(now_ + m_.of(isa::TimingClass::tcgen05_alloc).latency, {Event::Kind::tcgen05, 1, static_cast<uint16_t>(slot), 0, 0});
}

void Sm::retry_tensor_alloc(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  if (w.blocked != Blocked::tensor_alloc) return;
  w.warp->unblock(w.wait_lanes);
  end_wait(slot, now_, Stall::long_scoreboard);
}

// ---- clusterlaunchcontrol ----

namespace {
uint32_t targets(const isa::LaunchCancel& cancel, size_t cluster_size) {
  return cancel.multicast ? (1u << cluster_size) - 1 : 1u << cancel.response.rank;
}
}  // namespace

void Sm::ask_for_cluster(uint32_t slot) {
  const WarpSlot& w = warps_[slot];
  CtaSlot& cta = ctas_[w.cta_slot];
  ClusterState& cluster = *cta.cluster;
  const isa::LaunchCancel& cancel = w.warp->ctx.fx.cancel;
  const isa::MbarrierSource source{isa::MbarrierSource::Kind::bulk, static_cast<uint8_t>(cta.cta.rank), static_cast<uint16_t>(w.index_in_cta),
                                   w.warp->last_inst()};
  for (uint32_t m = targets(cancel, cluster.members.size()); m; m &= m - 1) {
    isa::Cta& target = *cluster.cluster.ctas[static_cast<size_t>(std::countr_zero(m))];
    target.shared.fly(cancel.response.offset, isa::LaunchResponse::kBytes);
    if (auto e = target.mbarriers.issued(cancel.mbarrier.offset, isa::LaunchResponse::kBytes, source))
      return async_fault(e, cta, w.index_in_cta, source.inst);
  }
  cancel_outbox.push_back({now_ + m_.of(isa::TimingClass::launch_cancel).latency, cancel, source, &cluster});
}

/// The answer goes to every CTA that shall have it.
void Sm::answer_cancel(const CancelRequest& request, const isa::LaunchResponse& response, std::vector<ClusterMessage>& messages) {
  for (uint32_t m = targets(request.cancel, request.cluster->members.size()); m; m &= m - 1) {
    const ClusterState::Member to = request.cluster->members[static_cast<size_t>(std::countr_zero(m))];
    ClusterMessage message{.kind = ClusterMessage::Kind::launch_response, .cycle = request.cycle, .sm = to.sm, .slot = to.slot};
    message.source = request.source;
    message.cluster = request.cluster;
    message.response = response;
    message.cancel = request.cancel;
    messages.push_back(std::move(message));
  }
}

void Sm::land_launch_response(const ClusterMessage& message, CtaSlot& cta) {
  isa::land_response(message.response, message.cancel.response.offset, cta.cta.shared);
  if (auto e = cta.cta.mbarriers.complete(message.cancel.mbarrier.offset, isa::LaunchResponse::kBytes, message.source))
    return async_fault(e, cta, message.source.warp, message.source.inst);
  wake_mbarrier_waiters(cta);
}

}  // namespace tcsim::sim
