// mbarriers, cluster barriers, operations on other CTAs' shared memory, setmaxnreg: what asynchronous kernels wait for.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/sm/pipes.h"
#include "sim/sm/sm.h"

namespace tcsim::sim {

using isa::Control;
using isa::Effects;

namespace {

/// Asynchronous copies had a part in the phase that ended last.
bool carried_data(const isa::MbarrierUnit::Record& record) {
  return std::any_of(record.before.begin(), record.before.end(), [](const isa::MbarrierUnit::Share& share) {
    return share.delivered > 0 || share.source.kind == isa::MbarrierSource::Kind::cp_async;
  });
}

}  // namespace

void Sm::async_fault(const isa::MbarrierError& error, const CtaSlot& cta, uint32_t warp, uint32_t inst) {
  Diagnostic d = isa::async_fault_diagnostic(*run_.module, *run_.kernel, cta.cta, warp, inst, error);
  d.text += fmt::format(" (SM {}, cycle {})", id_, now_);
  faults.push_back(std::move(d));
}

/// What the warp's last step handed out.
void Sm::issue_async(uint32_t slot, const MachineOp& op) {
  WarpSlot& w = warps_[slot];
  const uint8_t issued = w.warp->ctx.fx.issued;
  // Some of the warp's lanes may spin in a wait while others go on.
  if (issued & (Effects::kBulk | Effects::kWgmma | Effects::kTcgen05 | Effects::kRemote | Effects::kMbarrier)) w.vain_waits = 0;
  if (issued & Effects::kBulk) issue_bulk(slot);
  if (issued & Effects::kWgmma) {
    ++w.outstanding;
    issue_wgmma(slot, op);
  }
  if (issued & Effects::kTcgen05) issue_tcgen05(slot, op);
  if (issued & Effects::kRemote) send_remote(slot);
  if (issued & Effects::kMbarrier) wake_mbarrier_waiters(ctas_[w.cta_slot], m_.mbarrier.arrive_cycles);
}

/// True when the control was one of the asynchronous kinds: then the warp is planned or waits.
bool Sm::async_control(uint32_t slot, Control control) {
  WarpSlot& w = warps_[slot];
  const Effects& fx = w.warp->ctx.fx;
  switch (control) {
    case Control::mbarrier_wait: wait_mbarrier(slot); return true;
    case Control::bulk_commit: w.warp->bulk.commit(fx.lanes); return false;
    case Control::bulk_wait:
      w.wait_keep = fx.count;
      w.waits_all = fx.flag;
      w.wait_lanes = fx.lanes;
      if (w.warp->bulk.satisfied(fx.lanes, fx.count, fx.flag)) return false;
      begin_wait(slot, Blocked::bulk_group);
      return true;
    case Control::wgmma_commit: w.warp->wgmma.commit(); return false;
    case Control::wgmma_wait:
      w.wait_keep = fx.count;
      w.wait_lanes = fx.lanes;
      if (w.warp->wgmma.blocking(fx.count) == 0) return false;
      begin_wait(slot, Blocked::wgmma);
      return true;
    case Control::cluster_arrive: cluster_arrive(slot); return !faults.empty();
    case Control::cluster_wait: wait_cluster(slot); return true;
    case Control::register_count: set_registers(slot); return true;
    case Control::launch_cancel: ask_for_cluster(slot); return !faults.empty();
    case Control::tensor_wait: wait_tensor(slot); return true;
    case Control::tensor_alloc: wait_tensor_alloc(slot); return true;
    default: return false;
  }
}

// ---- mbarrier ----

void Sm::wait_mbarrier(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  const isa::MbarrierWait& wait = w.warp->ctx.fx.wait;
  w.wait_lanes = w.warp->ctx.fx.lanes;
  begin_wait(slot, Blocked::mbarrier);
  if (w.blocked != Blocked::mbarrier) {  // other lanes of the warp go on: these ask again
    w.warp->unblock(w.wait_lanes, 0);
    ++w.vain_waits;
    return plan(slot, ready_at(now_ + m_.of(isa::TimingClass::mbarrier_wait).latency, wait_reason(isa::TimingClass::mbarrier_wait)));
  }
  Cycle limit = m_.mbarrier.suspend_cycles;
  if (wait.time_hint_ns != 0) limit = static_cast<Cycle>(static_cast<double>(wait.time_hint_ns) * m_.chip.clock_mhz / 1000.0);
  wheel_.add(now_ + std::max<Cycle>(1, limit), {Event::Kind::time_out, 0, static_cast<uint16_t>(slot), 0, ++w.waits});
}

void Sm::end_mbarrier_wait(uint32_t slot, bool complete, Cycle ready) {
  WarpSlot& w = warps_[slot];
  const isa::MbarrierWait wait = w.warp->ctx.fx.wait;
  if (complete) ctas_[w.cta_slot].cta.mbarriers.passed(wait.address.offset, w.index_in_cta, w.wait_lanes);
  MbarrierStats::Waits& waits = mbarriers[wait.address.offset].waiters[w.warp->last_inst()];
  waits.count += complete;
  waits.cycles += now_ - w.arrived;
  if (w.trace) w.trace->resumed(w.index_in_cta, now_, !complete);
  ++w.waits;
  w.vain_waits = complete ? 0 : w.vain_waits + 1;
  w.warp->unblock(w.wait_lanes, complete ? 1 : 0);
  plan(slot, ready_at(ready, wait_reason(isa::TimingClass::mbarrier_wait)));
}

void Sm::wake_mbarrier_waiters(CtaSlot& cta, Cycle delay) {
  if (cta.trace) cta.trace->look_at(cta.cta.mbarriers, now_);
  if (!cta.cta.mbarriers.any_ended()) return;
  for (const uint32_t offset : cta.cta.mbarriers.take_ended()) {
    MbarrierStats& stats = mbarriers[offset];
    ++stats.phases;
    if (const auto* record = cta.cta.mbarriers.find(offset); record != nullptr && !stats.data) stats.data = carried_data(*record);
  }
  for_warps(cta, [&](uint32_t slot) {
    WarpSlot& w = warps_[slot];
    w.vain_waits = 0;
    if (w.blocked != Blocked::mbarrier) return;
    const isa::MbarrierWait& wait = w.warp->ctx.fx.wait;
    if (cta.cta.mbarriers.ended(wait.address.offset, wait.parity)) end_mbarrier_wait(slot, true, now_ + delay + m_.mbarrier.wake_cycles);
  });
}

void Sm::time_out(uint32_t slot, uint64_t wait) {
  WarpSlot& w = warps_[slot];
  if (w.blocked == Blocked::mbarrier && w.waits == wait) end_mbarrier_wait(slot, false, now_ + m_.mbarrier.wake_cycles);
}

/// Every live warp here waits, or has looked at mbarriers in vain again and again since something last happened.
bool Sm::idle_waiting() const {
  constexpr uint32_t kVain = 3;
  if (!requests_.empty() && requests_.size() != free_requests_.size()) return false;
  if (tensor_jobs_.size() != free_tensor_jobs_.size() || !tma_jobs_.empty() || wgmma_.busy() || !wgmma_results_.empty() ||
      messages_.size() != free_messages_.size() || done_jobs_.size() != free_done_.size())
    return false;
  for (const WarpSlot& w : warps_) {
    if (!w.resident || w.warp->exited()) continue;
    const bool waits = w.blocked == Blocked::barrier || w.blocked == Blocked::cluster || w.blocked == Blocked::registers ||
                       w.blocked == Blocked::warp_split || w.blocked == Blocked::tensor_alloc;
    if (!waits && w.vain_waits < kVain) return false;
  }
  return true;
}

// ---- clusters ----

void Sm::send_remote(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  CtaSlot& cta = ctas_[w.cta_slot];
  const isa::MbarrierSource source{isa::MbarrierSource::Kind::thread, static_cast<uint8_t>(cta.cta.rank), static_cast<uint16_t>(w.index_in_cta),
                                   w.warp->last_inst()};
  for (const isa::RemoteOp& op : w.warp->ctx.fx.remote) {
    const double bytes = op.bytes_each == 0 ? 0.0 : op.bytes_each;
    remote_free_ = std::max(remote_free_, static_cast<double>(now_)) + bytes / m_.cluster.bytes_per_cycle;
    const ClusterState::Member to = cta.cluster->members[op.target.rank];
    ClusterMessage message{.kind = ClusterMessage::Kind::remote,
                           .cycle = static_cast<Cycle>(std::ceil(remote_free_)) + m_.cluster.remote_cycles,
                           .sm = to.sm,
                           .slot = to.slot};
    message.op = op;
    message.source = source;
    message.cluster = cta.cluster;
    cluster_outbox.push_back(std::move(message));
  }
}

void Sm::receive(ClusterMessage message) {
  uint32_t id;
  if (free_messages_.empty()) {
    id = static_cast<uint32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    id = free_messages_.back();
    free_messages_.pop_back();
  }
  const Cycle at = std::max(message.cycle, now_ + 1);
  messages_[id] = std::move(message);
  wheel_.add(at, {Event::Kind::message, 0, 0, id, 0});
}

void Sm::handle_message(uint32_t id) {
  const ClusterMessage message = std::move(messages_[id]);
  free_messages_.push_back(id);
  CtaSlot& cta = ctas_[message.slot];
  switch (message.kind) {
    case ClusterMessage::Kind::remote:
      if (!cta.used || cta.cluster != message.cluster)
        return async_fault({"out-of-bounds", "an operation reaches the shared memory of a CTA of the cluster that has exited"}, cta,
                           message.source.warp, message.source.inst);
      if (cta.trace) cta.trace->remote_arrival(message.source.rank, message.source.warp, now_);
      if (auto e = message.cluster->cluster.deliver(message.op, message.source)) return async_fault(e, cta, message.source.warp, message.source.inst);
      return wake_mbarrier_waiters(cta);
    case ClusterMessage::Kind::barrier: return check_cluster_waits(cta);
    case ClusterMessage::Kind::bulk: return land(*message.job, message.slot);
    case ClusterMessage::Kind::tensor:
    case ClusterMessage::Kind::launch_response:
      if (!cta.used || cta.cluster != message.cluster)
        return async_fault({"out-of-bounds", "an arrival reaches an mbarrier of a CTA of the cluster that has exited"}, cta, message.tensor.warp,
                           message.tensor.index);
      return message.kind == ClusterMessage::Kind::tensor ? tensor_arrival(message.tensor, message.commit, *message.cluster, cta)
                                                          : land_launch_response(message, cta);
  }
}

void Sm::cluster_arrive(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  CtaSlot& cta = ctas_[w.cta_slot];
  ClusterState& cluster = *cta.cluster;
  cluster.last_arrival = std::max(cluster.last_arrival, now_);
  const std::string error = cluster.cluster.barrier.arrive(cta.cta.rank, w.index_in_cta, w.warp->ctx.fx.lanes);
  if (!error.empty()) return report_fault(slot, error);
  announce_cluster_phase(cluster);
}

/// A phase of the cluster barrier is over: its waiters go on a fixed time after the last arrival.
void Sm::announce_cluster_phase(ClusterState& cluster) {
  if (cluster.cluster.barrier.phase() == cluster.phase) return;
  cluster.phase = cluster.cluster.barrier.phase();
  cluster.released = cluster.last_arrival + m_.cluster.barrier_cycles;
  cluster.last_arrival = 0;
  for (const ClusterState::Member& member : cluster.members) {
    ClusterMessage message{.kind = ClusterMessage::Kind::barrier, .cycle = cluster.released, .sm = member.sm, .slot = member.slot};
    message.cluster = &cluster;
    cluster_outbox.push_back(std::move(message));
  }
}

void Sm::wait_cluster(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  CtaSlot& cta = ctas_[w.cta_slot];
  std::string error;
  w.wait_lanes = w.warp->ctx.fx.lanes;
  const bool passes = cta.cluster->cluster.barrier.may_pass(cta.cta.rank, w.index_in_cta, w.wait_lanes, error);
  if (!error.empty()) return report_fault(slot, error);
  if (passes && cta.cluster->released <= now_) return plan(slot);
  w.cluster_lanes |= w.wait_lanes;
  begin_wait(slot, Blocked::cluster);
}

void Sm::check_cluster_waits(CtaSlot& cta) {
  if (!cta.used || cta.cluster == nullptr) return;
  for_warps(cta, [&](uint32_t slot) {
    WarpSlot& w = warps_[slot];
    std::string error;
    const uint32_t lanes = w.cluster_lanes;
    if (lanes == 0 || !cta.cluster->cluster.barrier.may_pass(cta.cta.rank, w.index_in_cta, lanes, error)) return;
    w.cluster_lanes = 0;
    w.warp->unblock(lanes);
    if (w.blocked == Blocked::cluster || w.blocked == Blocked::warp_split) end_wait(slot, now_, Stall::barrier);
    else if (w.blocked == Blocked::mbarrier) end_mbarrier_wait(slot, false, now_);
  });
}

void Sm::lanes_exited(uint32_t slot, uint32_t lanes) {
  CtaSlot& cta = ctas_[warps_[slot].cta_slot];
  cta.cluster->last_arrival = std::max(cta.cluster->last_arrival, now_);
  cta.cluster->cluster.barrier.exit(static_cast<uint32_t>(std::popcount(lanes)));
  announce_cluster_phase(*cta.cluster);
}

/// A load, store or atomic on another CTA's shared memory (it acted already): the way there, and back for a result.
Cycle Sm::remote_access(SubCore& core, const isa::Access& access) {
  const double bytes = static_cast<double>(std::popcount(access.mask)) * access.bytes;
  const Cycle start = enter_mio(core, 1, 1.0);
  remote_free_ = std::max(remote_free_, static_cast<double>(start)) + bytes / m_.cluster.bytes_per_cycle;
  const bool store = access.kind == isa::AccessKind::store;
  const auto sent = static_cast<Cycle>(std::ceil(remote_free_));
  return sent + (store ? 0 : 2 * m_.cluster.remote_cycles) + m_.of(store ? isa::TimingClass::sts_remote : isa::TimingClass::lds_remote).latency;
}

// ---- setmaxnreg ----

void Sm::set_registers(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  CtaSlot& cta = ctas_[w.cta_slot];
  const auto wanted = static_cast<uint32_t>(w.warp->ctx.fx.count);
  w.wait_lanes = w.warp->ctx.fx.lanes;
  if (!cta.cta.set_registers(*w.warp, wanted)) {
    w.wait_keep = wanted;
    return begin_wait(slot, Blocked::registers);
  }
  plan(slot);
  for_warps(cta, [&](uint32_t other) {
    WarpSlot& o = warps_[other];
    if (o.blocked != Blocked::registers || !cta.cta.set_registers(*o.warp, static_cast<uint32_t>(o.wait_keep))) return;
    o.warp->unblock(o.wait_lanes);
    end_wait(other, now_ + m_.of(isa::TimingClass::setmaxnreg).latency, Stall::wait);
  });
}

}  // namespace tcsim::sim
