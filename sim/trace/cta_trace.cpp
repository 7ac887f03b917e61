#include "sim/trace/cta_trace.h"

#include <algorithm>

namespace tcsim::sim {
namespace {

/// Several things happen in one cycle: the last one that did is the cause only when it is of the right kind.
bool can_end(CtaTrace::Cause::By by, Blocked on) {
  using By = CtaTrace::Cause::By;
  switch (on) {
    case Blocked::mbarrier: return by != By::wgmma;
    case Blocked::wgmma: return by == By::wgmma;
    case Blocked::bulk_group: return by == By::copy;
    case Blocked::barrier:
    case Blocked::registers: return by == By::warp;
    default: return false;
  }
}

}  // namespace

bool CtaTrace::take(Cycle now) {
  if (full_at_ != kNever) return false;
  if (room_ == 0) {
    full_at_ = now;
    return false;
  }
  --room_;
  return true;
}

void CtaTrace::start(uint32_t sm, isa::Dim3 id, uint32_t warps, Cycle at) {
  sm_ = sm;
  id_ = id;
  begin_ = at;
  warps_.assign(warps, {});
  open_.assign(warps, kNone);
}

void CtaTrace::issued(uint32_t warp, uint32_t op, Cycle now) {
  cause_ = {Cause::By::warp, warp, linear_, now};
  if (full_at_ != kNever) return;
  std::vector<Slice>& slices = warps_[warp];
  if (!slices.empty() && slices.back().reason == Stall::selected && slices.back().to == now) {
    slices.back().to = now + 1;
    return;
  }
  if (take(now)) slices.push_back({op, Stall::selected, now, now + 1, kNone});
}

void CtaTrace::waited(uint32_t warp, uint32_t op, Stall reason, Cycle from, Cycle to) {
  if (!take(from)) return;
  uint32_t& open = open_[warp];
  uint32_t wait = kNone;
  // The suspension ended in this part of the time (or before it, when it was shorter than the issue's own distance).
  if (open != kNone && waits_[open].resumed != kNever && waits_[open].resumed <= to) {
    if (waits_[open].resumed >= from) wait = open;
    open = kNone;
  }
  warps_[warp].push_back({op, reason, from, to, wait});
}

void CtaTrace::suspended(uint32_t warp, const Wait& wait) {
  if (full_at_ != kNever) return;
  open_[warp] = static_cast<uint32_t>(waits_.size());
  waits_.push_back(wait);
}

void CtaTrace::resumed(uint32_t warp, Cycle now, bool timed_out) {
  const uint32_t open = open_[warp];
  if (open == kNone || waits_[open].resumed != kNever) return;
  waits_[open].resumed = now;
  waits_[open].timed_out = timed_out;
  if (cause_.at == now && !timed_out && can_end(cause_.by, waits_[open].on)) waits_[open].cause = cause_;
}

uint32_t CtaTrace::copy_issued(uint32_t warp, const isa::BulkCopy& copy, Cycle now) {
  if (!take(now)) return kNone;
  copies_.push_back({copy, warp, now});
  return static_cast<uint32_t>(copies_.size() - 1);
}

void CtaTrace::copy_read(uint32_t copy, Cycle now) { cause_ = {Cause::By::copy, copy, linear_, now}; }

void CtaTrace::copy_landed(uint64_t cta, uint32_t copy, Cycle now) {
  cause_ = {Cause::By::copy, copy, cta, now};
  if (copy != kNone) landings_.push_back({cta, copy, now});  // one or a few for each copy that found room
}

void CtaTrace::wgmma_issued(uint32_t group, uint32_t inst, Cycle now) {
  Queue& queue = groups_[group];
  queue.issued.push_back(take(now) ? static_cast<uint32_t>(wgmmas_.size()) : kNone);
  if (queue.issued.back() != kNone) wgmmas_.push_back({.inst = inst, .group = group, .issued = now});
}

void CtaTrace::wgmma_ran(uint32_t group, Cycle from, Cycle to) {
  Queue& queue = groups_[group];
  const uint32_t index = queue.issued[queue.ran++];
  if (index == kNone) return;
  wgmmas_[index].from = from;
  wgmmas_[index].to = to;
}

void CtaTrace::wgmma_done(uint32_t group, Cycle now) {
  Queue& queue = groups_[group];
  const uint32_t index = queue.issued[queue.done++];
  cause_ = {index == kNone ? Cause::By::none : Cause::By::wgmma, index, linear_, now};
  if (index != kNone) wgmmas_[index].done = now;
}

uint32_t CtaTrace::tensor_issued(const TensorOp& op) {
  if (!take(op.issued)) return kNone;
  tensor_ops_.push_back(op);
  return static_cast<uint32_t>(tensor_ops_.size() - 1);
}

void CtaTrace::committed(uint64_t cta, uint32_t index, Cycle now) {
  cause_ = {index == kNone ? Cause::By::none : Cause::By::tensor, index, cta, now};
  if (index != kNone) commits_.push_back({cta, index, now});  // one or a few for each commit that found room
}

void CtaTrace::tensor_accessed(const TensorAccess& access) {
  if (take(access.from)) accesses_.push_back(access);
}

void CtaTrace::tensor_columns(uint32_t units, Cycle now) {
  const uint32_t before = columns_.empty() ? 0 : columns_.back().units;
  if (units != before && take(now)) columns_.push_back({now, units});
}

void CtaTrace::look_at(const isa::MbarrierUnit& barriers, Cycle now) {
  for (const auto& [offset, record] : barriers.all()) {
    const isa::Mbarrier word = barriers.word(offset);
    BarrierChange change{offset, 0, record.phase, word.pending, word.expected, word.tx};
    BarrierChange& before = seen_[offset];
    if (before == change) continue;
    before = change;
    change.at = now;
    if (take(now)) changes_.push_back(change);
  }
}

Trace::Trace(const TraceOptions& options, uint64_t cluster_ctas) {
  std::vector<uint64_t> chosen = options.ctas;
  for (uint64_t rank = 0; options.ctas.empty() && rank < cluster_ctas; ++rank) chosen.push_back(rank);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  for (const uint64_t linear : chosen) ctas_.push_back(std::make_unique<CtaTrace>(linear, options.max_events / chosen.size()));
}

CtaTrace* Trace::of(uint64_t linear) const {
  const auto it = std::lower_bound(ctas_.begin(), ctas_.end(), linear, [](const auto& cta, uint64_t value) { return cta->linear() < value; });
  return it != ctas_.end() && (*it)->linear() == linear ? it->get() : nullptr;
}

Cycle Trace::full_at() const {
  Cycle first = kNever;
  for (const auto& cta : ctas_) first = std::min(first, cta->full_at());
  return first;
}

}  // namespace tcsim::sim
