#include "isa/exec/functional_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "isa/exec/launch_response.h"

namespace tcsim::isa {
namespace {

MbarrierSource source_of(const Cta& cta, const Warp& warp, uint32_t inst, MbarrierSource::Kind kind) {
  return {kind, static_cast<uint8_t>(cta.rank), static_cast<uint16_t>(warp.index()), inst};
}

}  // namespace

void FunctionalCluster::begin() {
  pending_.clear();
  waiters_.clear();
  for (auto& queue : tensor_) queue.clear();
  cancels_.clear();
  std::vector<Cta*> members;
  for (Cta& cta : ctas) members.push_back(&cta);
  cluster.connect(std::move(members));
}

void FunctionalCluster::end() {
  for (const Cta& cta : ctas) {
    if (const TensorAllocation* a = cta.tensor ? cta.tensor->held_by(cta.tensor_key) : nullptr)
      return fail({"tmem-misuse", a->not_freed()}, a->inst, cta, a->warp);
    MbarrierSource source;
    if (auto e = cta.mbarriers.leftover(source)) return fail(std::move(e), source.inst, cta, source.warp);
  }
}

bool FunctionalCluster::compute_wgmma(Cta& cta, Warp& warp) {
  const WgmmaIssue* next = warp.wgmma.next_to_compute();
  if (next == nullptr) return false;
  complete_wgmma(warp.ctx, *next, cta.shared);
  warp.wgmma.set_computed();
  return true;
}

void FunctionalCluster::fail(MbarrierError error, uint32_t inst, const Cta& cta, uint32_t warp) {
  if (error && !fault_.error) fault_ = {std::move(error), inst, &cta, warp};
}

// ---- issue ----

void FunctionalCluster::issue(Cta& cta, Warp& warp) {
  Effects& fx = warp.ctx.fx;
  ++events;
  if (fx.issued & Effects::kBulk)
    for (const BulkCopy& copy : fx.bulk) issue_bulk(cta, warp, copy);
  if (fx.issued & Effects::kWgmma) {
    // Computed or not, it stays in the queue, and its registers and operands its own, until the warp waits for it.
    if (order_ == AsyncOrder::random && fx.wgmma.stale && coin()) fx.wgmma.stale.reset();
    warp.wgmma.issue(fx.wgmma);
    if (order_ == AsyncOrder::eager || (order_ == AsyncOrder::random && coin()))
      while (compute_wgmma(cta, warp)) {}
  }
  if (fx.issued & Effects::kTcgen05)
    for (Tcgen05Op& op : fx.tcgen05) issue_tensor(cta, std::move(op));
  if (fx.issued & Effects::kRemote)
    for (const RemoteOp& op : fx.remote)
      fail(cluster.deliver(op, source_of(cta, warp, warp.last_inst(), MbarrierSource::Kind::thread)), warp.last_inst(), cta, warp.index());
}

void FunctionalCluster::issue_bulk(Cta& cta, Warp& warp, const BulkCopy& issued) {
  if (issued.kind == BulkCopy::Kind::prefetch) return;
  Pending p{issued, &cta, &warp};
  p.copy.inst = warp.last_inst();
  const MbarrierSource source = source_of(cta, warp, p.copy.inst, MbarrierSource::Kind::bulk);
  for (uint32_t m = p.copy.targets(); m; m &= m - 1) {
    const auto rank = static_cast<uint32_t>(std::countr_zero(m));
    if (rank >= ctas.size()) return fail({"out-of-bounds", "the copy names a CTA that the cluster does not have"}, p.copy.inst, cta, warp.index());
    ctas[rank].shared.fly(p.copy.target_offset(), p.copy.bytes);
    if (p.copy.has_mbarrier)
      fail(ctas[p.copy.mbarrier_rank(rank)].mbarriers.issued(p.copy.mbarrier.offset, p.copy.bytes, source), p.copy.inst, cta, warp.index());
  }
  if (order_ == AsyncOrder::random && p.copy.stale && coin()) p.copy.stale.reset();
  p.copy.id = p.copy.has_mbarrier ? 0 : warp.bulk.issue(p.copy.lane);
  if (order_ == AsyncOrder::eager || (order_ == AsyncOrder::random && coin())) land(std::move(p));
  else pending_.push_back(std::move(p));
}

void FunctionalCluster::issue_tensor(Cta& cta, Tcgen05Op op) {
  auto& queue = tensor_[Cluster::tensor_queue(op)];
  if (order_ == AsyncOrder::random && op.stale && coin()) op.stale.reset();
  queue.push_back({std::move(op), &cta});
  if (order_ == AsyncOrder::eager || (order_ == AsyncOrder::random && coin()))
    while (complete_tensor(queue)) {}
}

void FunctionalCluster::issue_cancel(Cta& cta, Warp& warp) {
  ++events;
  const PendingCancel p{warp.ctx.fx.cancel, source_of(cta, warp, warp.last_inst(), MbarrierSource::Kind::bulk), &cta};
  for (uint32_t m = p.targets(ctas.size()); m; m &= m - 1) {
    Cta& target = ctas[static_cast<size_t>(std::countr_zero(m))];
    target.shared.fly(p.cancel.response.offset, LaunchResponse::kBytes);
    fail(target.mbarriers.issued(p.cancel.mbarrier.offset, LaunchResponse::kBytes, p.source), p.source.inst, cta, p.source.warp);
  }
  cancels_.push_back(p);
  if (order_ == AsyncOrder::eager || (order_ == AsyncOrder::random && coin()))
    while (answer_cancel()) {}
}

// ---- completion ----

bool FunctionalCluster::answer_cancel() {
  if (cancels_.empty()) return false;
  ++events;
  const PendingCancel p = cancels_.front();
  cancels_.pop_front();
  const LaunchResponse response = LaunchResponse::of(take_cluster_());
  for (uint32_t m = p.targets(ctas.size()); m; m &= m - 1) {
    Cta& target = ctas[static_cast<size_t>(std::countr_zero(m))];
    land_response(response, p.cancel.response.offset, target.shared);
    fail(target.mbarriers.complete(p.cancel.mbarrier.offset, LaunchResponse::kBytes, p.source), p.source.inst, *p.cta, p.source.warp);
  }
  return true;
}

bool FunctionalCluster::complete_tensor(std::deque<PendingTensor>& queue) {
  if (queue.empty()) return false;
  ++events;
  const PendingTensor next = std::move(queue.front());
  queue.pop_front();
  fail(cluster.complete(next.op), next.op.index, *next.cta, next.op.warp);
  return true;
}

void FunctionalCluster::land_in(const BulkCopy& copy, const MbarrierSource& source, Cta& target, const Cta& from) {
  target.shared.land(copy.target_offset(), copy.bytes);  // first: undefined source bytes leave theirs undefined
  if (copy.kind == BulkCopy::Kind::load) land_load(copy, global_, target.shared);
  else land_shared(copy, from.shared, target.shared);
  target.watch.landed(copy, copy.target_offset());
  if (copy.has_mbarrier)
    fail(ctas[copy.mbarrier_rank(target.rank)].mbarriers.complete(copy.mbarrier.offset, copy.bytes, source), copy.inst, from, source.warp);
}

void FunctionalCluster::land(Pending p) {
  ++events;
  const BulkCopy& copy = p.copy;
  const MbarrierSource source = source_of(*p.cta, *p.warp, copy.inst, MbarrierSource::Kind::bulk);
  for (uint32_t m = copy.targets(); m; m &= m - 1) land_in(copy, source, ctas[static_cast<size_t>(std::countr_zero(m))], *p.cta);
  if (copy.kind == BulkCopy::Kind::store || copy.kind == BulkCopy::Kind::reduce) land_store(copy, p.cta->shared, global_);
  p.cta->watch.has_read(copy);
  if (copy.id != 0) p.warp->bulk.done(copy.id);
}

template <class F>
size_t FunctionalCluster::land_if(F&& wanted) {
  std::vector<Pending> now;
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (wanted(*it)) {
      now.push_back(std::move(*it));
      it = pending_.erase(it);
    } else {
      ++it;
    }
  }
  if (order_ == AsyncOrder::random) std::shuffle(now.begin(), now.end(), random_);
  for (Pending& p : now) land(std::move(p));
  return now.size();
}

void FunctionalCluster::some_complete() {
  land_if([this](const Pending&) { return coin(); });
  while (!cancels_.empty() && coin()) answer_cancel();
  for (auto& queue : tensor_)
    while (coin() && complete_tensor(queue)) {}
  for (Cta& cta : ctas)
    for (Warp& warp : cta.warps)
      while (coin() && compute_wgmma(cta, warp)) {}
}

bool FunctionalCluster::flush() {
  const auto awaited = [this](const Pending& p) {
    return std::any_of(waiters_.begin(), waiters_.end(), [&](const Waiter& w) {
      return w.why == Control::mbarrier_wait && p.copy.has_mbarrier && w.wait.address.offset == p.copy.mbarrier.offset &&
             (p.copy.targets() >> w.cta->rank & 1 || p.copy.mbarrier_rank(static_cast<uint32_t>(std::countr_zero(p.copy.targets()))) == w.cta->rank);
    });
  };
  if (land_if(awaited) > 0) return true;
  // In order of issue: the first commits first.
  bool any = false;
  for (auto& queue : tensor_)
    while (!queue.empty()) {
      const bool commit = queue.front().op.kind == Tcgen05Op::Kind::commit;
      any |= complete_tensor(queue);
      if (commit) break;
    }
  any |= answer_cancel();
  if (any) return true;
  return land_if([](const Pending&) { return true; }) > 0;
}

// ---- waits ----

bool FunctionalCluster::wait_mbarrier(Cta& cta, Warp& warp) {
  waiters_.push_back({&cta, &warp, warp.ctx.fx.lanes, Control::mbarrier_wait, warp.ctx.fx.wait, 0});
  return false;
}

bool FunctionalCluster::wait_bulk(Cta&, Warp& warp) {
  const Effects& fx = warp.ctx.fx;
  const std::vector<uint64_t> ids = warp.bulk.blocking(fx.lanes, fx.count, fx.flag);
  if (!ids.empty()) land_if([&](const Pending& p) { return p.warp == &warp && std::find(ids.begin(), ids.end(), p.copy.id) != ids.end(); });
  return true;
}

/// A wgmma-group belongs to the warpgroup (PTX ISA, "wgmma.commit_group"): it is complete when the parts of all four warps are, so
/// one warp may release the operands for all of them.
bool FunctionalCluster::complete_group(Cta& cta, Warp& warp, uint64_t keep) {
  const size_t blocking = warp.wgmma.blocking(keep);
  if (blocking == 0) return true;
  const uint64_t needed = warp.wgmma.popped() + blocking;
  const size_t first = warp.index() / kWarpsPerGroup * kWarpsPerGroup, end = std::min(first + kWarpsPerGroup, cta.warps.size());
  for (size_t w = first; w < end; ++w)
    if (cta.warps[w].wgmma.issued() < needed) return false;
  for (size_t w = first; w < end; ++w)
    while (cta.warps[w].wgmma.computed() < needed) compute_wgmma(cta, cta.warps[w]);
  for (size_t n = 0; n < blocking; ++n) warp.wgmma.pop();
  return true;
}

bool FunctionalCluster::wait_wgmma(Cta& cta, Warp& warp, uint64_t keep) {
  if (complete_group(cta, warp, keep)) return true;
  waiters_.push_back({&cta, &warp, warp.ctx.fx.lanes, Control::wgmma_wait, {}, keep});
  return false;
}

bool FunctionalCluster::wait_cluster(Cta& cta, Warp& warp, std::string& error) {
  if (cluster.barrier.may_pass(cta.rank, warp.index(), warp.ctx.fx.lanes, error)) return true;
  if (error.empty()) waiters_.push_back({&cta, &warp, warp.ctx.fx.lanes, Control::cluster_wait, {}, 0});
  return !error.empty();
}

bool FunctionalCluster::wait_tensor(Cta& cta, Warp& warp) {
  ++events;
  waiters_.push_back({&cta, &warp, warp.ctx.fx.lanes, Control::tensor_alloc, {}, cta.tensor->changes()});
  return false;
}

bool FunctionalCluster::set_registers(Cta& cta, Warp& warp) {
  if (cta.set_registers(warp, static_cast<uint32_t>(warp.ctx.fx.count))) return true;
  waiters_.push_back({&cta, &warp, warp.ctx.fx.lanes, Control::register_count, {}, warp.ctx.fx.count});
  return false;
}

void FunctionalCluster::lanes_exited(Cta& cta, Warp& warp, uint32_t lanes) {
  ++events;
  cluster.barrier.exit(static_cast<uint32_t>(std::popcount(lanes)));
  if (!warp.exited()) return;
  while (compute_wgmma(cta, warp)) {}
  while (!warp.wgmma.empty()) warp.wgmma.pop();
  land_if([&](const Pending& p) { return p.warp == &warp && !p.copy.has_mbarrier; });
}

bool FunctionalCluster::over(const Waiter& w) {
  std::string error;
  switch (w.why) {
    case Control::mbarrier_wait:
      return w.cta->mbarriers.find(w.wait.address.offset) == nullptr || w.cta->mbarriers.ended(w.wait.address.offset, w.wait.parity);
    case Control::cluster_wait: return cluster.barrier.may_pass(w.cta->rank, w.warp->index(), w.lanes, error);
    case Control::wgmma_wait: return complete_group(*w.cta, *w.warp, w.count);
    case Control::tensor_alloc: return w.cta->tensor->changes() != w.count;
    default: return w.cta->set_registers(*w.warp, static_cast<uint32_t>(w.count));
  }
}

void FunctionalCluster::wake() {
  for (size_t i = 0; i < waiters_.size();) {
    if (!over(waiters_[i])) {
      ++i;
      continue;
    }
    const Waiter w = waiters_[i];
    waiters_.erase(waiters_.begin() + static_cast<ptrdiff_t>(i));
    if (w.why == Control::mbarrier_wait) w.cta->mbarriers.passed(w.wait.address.offset, w.warp->index(), w.lanes);
    w.warp->unblock(w.lanes, 1);
    ++events;
  }
}

bool FunctionalCluster::time_out() {
  std::vector<Waiter> rest;
  bool any = false;
  for (const Waiter& w : waiters_) {
    if (w.why != Control::mbarrier_wait) {
      rest.push_back(w);
      continue;
    }
    w.warp->unblock(w.lanes, 0);
    any = true;
  }
  waiters_.swap(rest);
  return any;
}

}  // namespace tcsim::isa
