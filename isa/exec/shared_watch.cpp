#include "isa/exec/shared_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "isa/exec/mbarrier_unit.h"
#include "isa/exec/tensor_watch.h"
#include "isa/exec/warp.h"
#include "isa/layout/tensor_map.h"

namespace tcsim::isa {
namespace {

bool overlap(uint32_t a, uint32_t a_bytes, uint32_t b, uint32_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

/// Row length of the pattern in wgmma's terms; nullopt-like 255 for patterns that wgmma descriptors do not have.
uint32_t pattern_bytes(TensorMap::Swizzling swizzle) {
  using S = TensorMap::Swizzling;
  switch (swizzle) {
    case S::none: return 0;
    case S::b32: return 32;
    case S::b64: return 64;
    case S::b128: return 128;
    default: return 255;
  }
}

std::string pattern_name(uint32_t bytes) { return bytes == 0 ? "SWIZZLE_NONE" : fmt::format("SWIZZLE_{}B", bytes); }

}  // namespace

StaleView::StaleView(const StaleBytes* stale, const WindowMemory& memory) {
  if (stale == nullptr) return;
  memory_ = const_cast<WindowMemory*>(&memory);  // put back as it was
  now_.granules.reserve(stale->granules.size());
  for (const auto& granule : stale->granules) {
    uint8_t* at = memory_->data() + granule.offset;
    StaleBytes::Granule& now = now_.granules.emplace_back(granule);
    std::memcpy(now.bytes.data(), at, now.bytes.size());
    std::memcpy(at, granule.bytes.data(), granule.bytes.size());
  }
}

StaleView::~StaleView() {
  for (const auto& granule : now_.granules) std::memcpy(memory_->data() + granule.offset, granule.bytes.data(), granule.bytes.size());
}

void SharedWatch::start(bool on, uint32_t bytes, const std::vector<Warp>& warps, uint32_t rank) {
  on_ = on;
  rank_ = rank;
  tensor_watch_ = nullptr;
  warps_ = &warps;
  publishes_.assign(warps.size(), 0);
  if (!on) return;
  const size_t granules = (bytes + kGranule - 1) / kGranule;
  dirty_count_ = 0;
  tags_.assign(granules, 0);
  writers_.resize(granules);
  if (keep_old_) old_.resize(granules);
  dirty_.resize(warps.size());
  for (auto& runs : dirty_) runs.clear();
  published_.clear();
  blocks_.assign((bytes + kBlock - 1) / kBlock, {});
  loads_.clear();
  stores_.clear();
  last_loads_.clear();
  tensor_reads_.clear();
}

void SharedWatch::forget(std::vector<Flight>& flights, const BulkCopy& copy, uint32_t offset) {
  const auto it = std::find_if(flights.begin(), flights.end(),
                               [&](const Flight& f) { return f.offset == offset && f.bytes == copy.bytes && f.inst == copy.inst; });
  if (it != flights.end()) flights.erase(it);
}

// ---- threads ----

void SharedWatch::tag(uint32_t warp, uint32_t inst, uint32_t offset, uint32_t bytes, bool remote) {
  const uint8_t mine = remote ? kAnybody : static_cast<uint8_t>(warp + 1);
  for (uint32_t g = offset / kGranule, end = (offset + bytes + kGranule - 1) / kGranule; g < end; ++g) {
    uint8_t& tag = tags_[g];
    writers_[g] = {inst, warp};
    if (tag == mine) continue;
    if (tag == 0) {
      ++dirty_count_;
      // The window may end inside its last granule; such bytes are no asynchronous reader's.
      if (keep_old_ && (g + 1) * kGranule <= (*warps_)[0].ctx.shared->size())
        std::memcpy(old_[g].data(), (*warps_)[0].ctx.shared->data() + g * kGranule, kGranule);
    }
    tag = mine;
    if (remote) {
      note_publication({g, 1});
      continue;
    }
    std::vector<Run>& runs = dirty_[warp];
    if (!runs.empty() && runs.back().first + runs.back().count == g) ++runs.back().count;
    else runs.push_back({g, 1});
  }
}

void SharedWatch::writes(ExecContext& ctx, uint32_t inst, uint32_t mask, const uint32_t* offset, uint32_t bytes, bool remote) {
  uint32_t low = ~0u, high = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t at = offset[std::countr_zero(m)];
    low = std::min(low, at);
    high = std::max(high, at + bytes);
    tag(ctx.warp_index, inst, at, bytes, remote);
    blocks_[at / kBlock].mode = 0;
  }
  for (const Flight& f : stores_)
    if (overlap(low, high - low, f.offset, f.bytes))
      for (uint32_t m = mask; m; m &= m - 1)
        if (const uint32_t at = offset[std::countr_zero(m)]; overlap(at, bytes, f.offset, f.bytes))
          return ctx.find({kOverwriteInFlight, inst, ctx.warp_index, f.inst, f.warp, at, "overwrites bytes that {}, still in flight, has not read"});
  const bool busy = !tensor_reads_.empty() || std::any_of(warps_->begin(), warps_->end(), [](const Warp& w) { return !w.wgmma.empty(); });
  if (!busy) return;
  for (uint32_t m = mask; m; m &= m - 1)
    if (check_wgmma_readers(ctx, inst, offset[std::countr_zero(m)], bytes)) return;
}

void SharedWatch::clear(std::vector<Run>& runs, uint8_t tag) {
  for (const Run& run : runs)
    for (uint32_t g = run.first; g < run.first + run.count; ++g)
      if (tags_[g] == tag) tags_[g] = 0, --dirty_count_;
  runs.clear();
}

void SharedWatch::clear_range(uint32_t offset, uint32_t bytes) {
  if (dirty_count_ == 0) return;
  for (uint32_t g = offset / kGranule, end = (offset + bytes + kGranule - 1) / kGranule; g < end; ++g)
    if (tags_[g] != 0) tags_[g] = 0, --dirty_count_;
}

void SharedWatch::fence(uint32_t warp) {
  if (!on_ || dirty_count_ == 0) return;
  clear(dirty_[warp], static_cast<uint8_t>(warp + 1));
  clear(published_, kAnybody);
}

void SharedWatch::note_publication(Run run) {
  published_.push_back(run);
  if (published_.size() <= tags_.size()) return;
  // Written and published again and again without a fence: each granule once is enough.
  published_.clear();
  for (uint32_t g = 0; g < tags_.size(); ++g)
    if (tags_[g] == kAnybody) published_.push_back({g, 1});
}

void SharedWatch::publish(uint32_t warp) {
  if (warp >= publishes_.size()) return;
  ++publishes_[warp];
  if (tensor_watch_ != nullptr) tensor_watch_->publish(rank_, warp);
  if (!on_ || dirty_[warp].empty()) return;
  for (const Run& run : dirty_[warp]) {
    for (uint32_t g = run.first; g < run.first + run.count; ++g)
      if (tags_[g] == warp + 1) tags_[g] = kAnybody;
    note_publication(run);
  }
  dirty_[warp].clear();
}

// ---- the asynchronous proxy reads ----

std::shared_ptr<const StaleBytes> SharedWatch::check_fences(ExecContext& ctx, uint32_t inst, const std::vector<WgmmaRead>& runs) {
  if (dirty_count_ == 0) return nullptr;
  std::shared_ptr<StaleBytes> stale;
  bool found = false;
  for (const WgmmaRead& run : runs)
    for (uint32_t g = run.offset / kGranule, end = (run.offset + run.bytes + kGranule - 1) / kGranule; g < end; ++g) {
      if (tags_[g] == 0) continue;
      if (!found)
        ctx.find({kMissingProxyFence, inst, ctx.warp_index, writers_[g].inst, writers_[g].warp, g * kGranule,
                  "reads through the asynchronous proxy what {} wrote through the generic proxy: fence.proxy.async is missing after the write"});
      found = true;
      if (!keep_old_) return nullptr;
      if (!stale) stale = std::make_shared<StaleBytes>();
      stale->granules.push_back({g * kGranule, old_[g]});
    }
  return stale;
}

void SharedWatch::check_flights(ExecContext& ctx, uint32_t inst, const std::vector<WgmmaRead>& runs) {
  for (const Flight& f : loads_)
    for (const WgmmaRead& run : runs)
      if (overlap(run.offset, run.bytes, f.offset, f.bytes))
        return ctx.find({kMissingWait, inst, ctx.warp_index, f.inst, f.warp, std::max(run.offset, f.offset),
                         "reads bytes that {}, still in flight, will write: a wait for its mbarrier is missing"});
}

void SharedWatch::check_undefined(ExecContext& ctx, uint32_t inst, const std::vector<WgmmaRead>& runs, const WindowMemory& shared) {
  for (const WgmmaRead& run : runs) {
    if (!shared.is_undefined(run.offset, run.bytes)) continue;
    uint32_t at = run.offset;
    while (!shared.is_undefined(at, 1)) ++at;
    const bool flying = shared.is_in_flight(at, 1);
    if (flying && !loads_.empty()) return;  // check_flights names the copy
    return ctx.find({flying ? kMissingWait : kUninitialisedRead, inst, ctx.warp_index, HazardFinding::kNone, 0, at,
                     flying ? "reads bytes that a cp.async in flight will write (a wait is missing)" : "reads bytes that were never written"});
  }
}

void SharedWatch::check_swizzle(ExecContext& ctx, const WgmmaIssue& issue) {
  const auto extents = wgmma_extents(issue);
  for (size_t operand = 0; operand < extents.size(); ++operand) {
    const WgmmaExtent& e = extents[operand];
    if (e.begin >= e.end || e.begin / kBlock >= blocks_.size()) continue;
    const Block& block = blocks_[e.begin / kBlock];
    if (block.mode == 0) continue;
    const auto written = static_cast<TensorMap::Swizzling>(block.mode - 1);
    const uint32_t bytes = pattern_bytes(written);
    if (bytes == 255) continue;
    if (bytes != e.swizzle_bytes) {
      ctx.find({kSwizzleMismatch, issue.index, ctx.warp_index, block.inst, block.warp, e.begin,
                fmt::format("reads operand {} with another swizzle than {{}} wrote: TMA wrote {}, the descriptor reads {}: {}",
                            operand == 0 ? 'A' : 'B', pattern_name(bytes), pattern_name(e.swizzle_bytes),
                            WgmmaOps::of(issue).swizzle_difference(issue, static_cast<int>(operand), bytes))});
      continue;
    }
    const uint32_t repeat = swizzle_repeat(written), past = block.base % repeat;
    if (past != 0 && repeat != 0 && (block.base >> 7 & 7) != e.base_offset)
      ctx.find({kSwizzleMismatch, issue.index, ctx.warp_index, block.inst, block.warp, e.begin,
                fmt::format("reads operand {} from the tile at offset {} that {{}} wrote: it starts {} bytes past a multiple of {}, where the {} "
                            "pattern starts, and "
                            "the descriptor's base offset is {}",
                            operand == 0 ? 'A' : 'B', block.base, past, repeat, pattern_name(bytes), e.base_offset)});
  }
}

void SharedWatch::wgmma(ExecContext& ctx, WgmmaIssue& issue) {
  issue.stale.reset();
  check_swizzle(ctx, issue);
  bool look = ctx.values_known || dirty_count_ != 0;
  if (!look && !loads_.empty())
    for (const WgmmaExtent& e : wgmma_extents(issue))
      look = look || std::any_of(loads_.begin(), loads_.end(), [&](const Flight& f) { return f.offset < e.end && e.begin < f.offset + f.bytes; });
  if (!look) return;
  runs_.clear();
  wgmma_reads(issue, runs_);
  check_flights(ctx, issue.index, runs_);
  issue.stale = check_fences(ctx, issue.index, runs_);
  if (ctx.values_known) check_undefined(ctx, issue.index, runs_, *ctx.shared);
}

void SharedWatch::check_swizzle(ExecContext& ctx, uint32_t inst, const std::vector<WgmmaRead>& runs) {
  uint8_t seen = 0;  // a bit an operand: its first run tells
  for (const WgmmaRead& run : runs) {
    if (seen >> run.operand & 1 || run.offset / kBlock >= blocks_.size()) continue;
    seen = static_cast<uint8_t>(seen | 1u << run.operand);
    const Block& block = blocks_[run.offset / kBlock];
    if (block.mode == 0) continue;
    const uint32_t bytes = pattern_bytes(static_cast<TensorMap::Swizzling>(block.mode - 1));
    if (bytes != 255 && bytes != run.swizzle_bytes)
      ctx.find({kSwizzleMismatch, inst, ctx.warp_index, block.inst, block.warp, run.offset,
                fmt::format("reads with another swizzle than {{}} wrote: TMA wrote {}, the descriptor reads {}", pattern_name(bytes),
                            pattern_name(run.swizzle_bytes))});
  }
}

void SharedWatch::tensor(ExecContext& ctx, const Tcgen05Op& op, uint32_t issuer, const WindowMemory& memory, const std::vector<WgmmaRead>& runs,
                         std::shared_ptr<const StaleBytes>* stale) {
  if (!on_ || runs.empty()) return;
  TensorReads reads{issuer, op.id, op.index, op.warp, ~0u, 0, runs};
  for (const WgmmaRead& run : runs) reads.begin = std::min(reads.begin, run.offset), reads.end = std::max(reads.end, run.offset + run.bytes);
  check_swizzle(ctx, op.index, runs);
  if (std::any_of(loads_.begin(), loads_.end(), [&](const Flight& f) { return overlap(reads.begin, reads.end - reads.begin, f.offset, f.bytes); }))
    check_flights(ctx, op.index, runs);
  auto old = check_fences(ctx, op.index, runs);
  if (stale != nullptr) *stale = std::move(old);
  if (ctx.values_known) check_undefined(ctx, op.index, runs, memory);
  tensor_reads_.push_back(std::move(reads));
}

void SharedWatch::tensor_waited(uint32_t issuer, uint64_t id) {
  std::erase_if(tensor_reads_, [&](const TensorReads& r) { return r.issuer == issuer && r.id <= id; });
}

void SharedWatch::bulk_reads(ExecContext& ctx, uint32_t inst, BulkCopy& copy) {
  runs_.assign(1, {copy.shared.offset, copy.bytes, 0, 0});
  check_flights(ctx, inst, runs_);
  copy.stale = check_fences(ctx, inst, runs_);
  check_alignment(ctx, inst, copy, "source");
  stores_.push_back({copy.shared.offset, copy.bytes, inst, ctx.warp_index});
}

// ---- the asynchronous proxy writes ----

/// True when something was found.
bool SharedWatch::check_tensor_readers(ExecContext& ctx, uint32_t inst, uint32_t offset, uint32_t bytes) {
  for (const TensorReads& reads : tensor_reads_) {
    if (!overlap(offset, bytes, reads.begin, reads.end - reads.begin)) continue;
    for (const WgmmaRead& run : reads.runs) {
      if (!overlap(run.offset, run.bytes, offset, bytes)) continue;
      ctx.find({kOverwriteInFlight, inst, ctx.warp_index, reads.inst, reads.warp, std::max(offset, run.offset),
                "overwrites bytes that {} reads, and nobody has waited for a tcgen05.commit after it: they were released too early"});
      return true;
    }
  }
  return false;
}

/// How many of the oldest wgmmas in the queue of `reader` have read their operands as far as warp `writer` can know: a group is the
/// warpgroup's (PTX ISA, "wgmma.commit_group"), so one warp's wait does for all four. A writer of the same warpgroup must have waited
/// itself; one of another learnt of it from whichever warp waited.
static size_t waited_for(const std::vector<Warp>& warps, const Warp& reader, uint32_t writer) {
  const auto group_of = [](size_t warp) { return warp / kWarpsPerGroup; };
  uint64_t popped = reader.wgmma.popped();
  if (group_of(writer) == group_of(reader.index())) {
    popped = std::max(popped, warps[writer].wgmma.popped());
  } else {
    const size_t first = group_of(reader.index()) * kWarpsPerGroup, end = std::min(first + kWarpsPerGroup, warps.size());
    for (size_t w = first; w < end; ++w) popped = std::max(popped, warps[w].wgmma.popped());
  }
  return static_cast<size_t>(popped - reader.wgmma.popped());
}

bool SharedWatch::check_wgmma_readers(ExecContext& ctx, uint32_t inst, uint32_t offset, uint32_t bytes) {
  if (!tensor_reads_.empty() && check_tensor_readers(ctx, inst, offset, bytes)) return true;
  std::vector<WgmmaRead> runs;
  for (const Warp& warp : *warps_)
    for (size_t i = waited_for(*warps_, warp, ctx.warp_index); i < warp.wgmma.size(); ++i) {
      const WgmmaIssue& issue = warp.wgmma.at(i);
      const auto extents = wgmma_extents(issue);
      if (std::none_of(extents.begin(), extents.end(), [&](const WgmmaExtent& e) { return offset < e.end && e.begin < offset + bytes; })) continue;
      runs.clear();
      wgmma_reads(issue, runs);
      for (const WgmmaRead& run : runs) {
        if (!overlap(run.offset, run.bytes, offset, bytes)) continue;
        ctx.find({kOverwriteInFlight, inst, ctx.warp_index, issue.index, warp.index(), std::max(offset, run.offset),
                  "overwrites bytes that {}, which no wgmma.wait_group has waited for, reads: they were released too early"});
        return true;
      }
    }
  return false;
}

void SharedWatch::check_overwrite(ExecContext& ctx, uint32_t inst, uint32_t offset, uint32_t bytes) {
  if (check_wgmma_readers(ctx, inst, offset, bytes)) return;
  for (const Flight& f : stores_)
    if (overlap(offset, bytes, f.offset, f.bytes))
      return ctx.find({kOverwriteInFlight, inst, ctx.warp_index, f.inst, f.warp, std::max(offset, f.offset),
                       "overwrites bytes that {}, still in flight, has not read"});
  for (const Flight& f : loads_)
    if (overlap(offset, bytes, f.offset, f.bytes))
      return ctx.find({kOverwriteInFlight, inst, ctx.warp_index, f.inst, f.warp, std::max(offset, f.offset),
                       "writes bytes that {}, still in flight, will write too"});
}

/// Bytes that an earlier copy brought and that nobody can have used: no thread has waited for the phase that they completed.
void SharedWatch::check_unread(ExecContext& ctx, uint32_t inst, const BulkCopy& copy, uint32_t offset) {
  if (!copy.has_mbarrier || copy.mbarrier.rank != ctx.cluster_rank || copy.multicast || copy.pair_mbarrier) return;
  const MbarrierUnit::Record* record = ctx.mbarriers->find(copy.mbarrier.offset);
  if (record == nullptr) return;
  const auto it = last_loads_.find(offset);
  if (it != last_loads_.end() && it->second.mbarrier == copy.mbarrier.offset && record->phase > it->second.phase && record->seen <= it->second.phase)
    ctx.find({kOverwriteInFlight, inst, ctx.warp_index, it->second.inst, it->second.warp, offset,
              fmt::format("overwrites what {{}} brought in phase {} of its mbarrier, whose end no thread has waited for: nobody has read it",
                          it->second.phase)});
  last_loads_[offset] = {copy.mbarrier.offset, inst, ctx.warp_index, record->phase};
}

void SharedWatch::check_alignment(ExecContext& ctx, uint32_t inst, const BulkCopy& copy, const char* what) {
  if (!copy.map || copy.map->swizzle == TensorMap::Swizzling::none) return;
  const uint32_t repeat = swizzle_repeat(copy.map->swizzle), past = copy.shared.offset % repeat;
  if (past == 0 || copy.bytes < repeat) return;  // less than a pattern: a part of a larger tile
  ctx.find(
      {kSwizzleMismatch, inst, ctx.warp_index, HazardFinding::kNone, 0, copy.shared.offset,
       fmt::format("{} tile at offset {} starts {} bytes past a multiple of {}, where the swizzle pattern {} starts: row 0 is swizzled as row {}",
                   what, copy.shared.offset, past, repeat, name(copy.map->swizzle), past / 128)});
}

void SharedWatch::bulk_writes(ExecContext& ctx, uint32_t inst, const BulkCopy& copy, uint32_t offset) {
  check_overwrite(ctx, inst, offset, copy.bytes);
  check_unread(ctx, inst, copy, offset);
  if (copy.kind == BulkCopy::Kind::load) check_alignment(ctx, inst, copy, "destination");
  clear_range(offset, copy.bytes);
  loads_.push_back({offset, copy.bytes, inst, ctx.warp_index});
  const uint8_t mode = copy.map ? static_cast<uint8_t>(1 + static_cast<uint8_t>(copy.map->swizzle)) : 0;
  for (uint32_t b = offset / kBlock; copy.bytes > 0 && b <= (offset + copy.bytes - 1) / kBlock; ++b)
    blocks_[b] = {mode, offset, inst, ctx.warp_index};
}

}  // namespace tcsim::isa
