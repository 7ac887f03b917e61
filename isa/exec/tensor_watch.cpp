#include "isa/exec/tensor_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/exec/cta.h"

namespace tcsim::isa {
namespace {

constexpr const char* kMissingFence = "missing-tcgen05-fence";

bool same(const TensorRange& a, const TensorRange& b) {
  return a.cta == b.cta && a.lane == b.lane && a.lanes == b.lanes && a.column == b.column && a.columns == b.columns;
}

bool overlap(const TensorRange& a, const TensorRange& b) {
  return a.cta == b.cta && a.lane < b.lane + b.lanes && b.lane < a.lane + a.lanes && a.column < b.column + b.columns &&
         b.column < a.column + a.columns;
}

}  // namespace

/// The access under examination, and what it met.
struct TensorWatch::Check {
  uint32_t inst = 0;
  uint16_t warp = 0;  // index(rank, warp)
  struct Found {
    Hazard kind = kFindings;
    const char* named = nullptr;
    uint32_t other = 0, other_warp = 0, column = 0;
    std::string text;
  };
  std::vector<Found> found{};
  uint32_t column = 0;  // of the cell looked at

  void add(Hazard kind, const char* named, const Event& other, std::string text) {
    for (const Found& f : found)
      if (f.kind == kind && f.named == named) return;
    found.push_back({kind, named, other.inst, other.warp % kWarps, column, std::move(text)});
  }
};

void TensorWatch::start(bool on, const std::vector<Cta*>& ctas) {
  on_ = on;
  if (!on) return;
  ctas_ = ctas;
  time_ = next_id_ = accesses_ = 0;
  cells_.assign(ctas.size() * TensorMemory::kColumns * kRows, {});
  events_.assign(1, {});
  free_.clear();
  warps_.assign(ctas.size() * kWarps, {});
  published_.clear();
  commits_.clear();
  last_ = {};
}

// ---- events and who knows of them ----

uint32_t TensorWatch::new_event(Event event) {
  if (free_.empty()) {
    events_.push_back(event);
    return static_cast<uint32_t>(events_.size() - 1);
  }
  const uint32_t i = free_.back();
  free_.pop_back();
  events_[i] = event;
  return i;
}

void TensorWatch::point(uint32_t& slot, uint32_t event) {
  if (slot == event) return;
  if (slot != 0 && --events_[slot].cells == 0) free_.push_back(slot);
  slot = event;
  if (event != 0) ++events_[event].cells;
}

void TensorWatch::see(std::vector<Seen>& seen, Seen what) {
  for (Seen& s : seen)
    if (s.warp == what.warp) return void(s.id = std::max(s.id, what.id));
  seen.push_back(what);
}

bool TensorWatch::visible(const WarpState& reader, const Event& event) const {
  for (const auto* list : {&reader.seen, &published_})
    for (const Seen& s : *list)
      if (s.warp == event.warp && s.id >= event.id) return true;
  return false;
}

bool TensorWatch::pending(const Event& event) const {
  const WarpState& w = warps_[event.warp];
  return event.time > (event.kind == Event::Kind::store ? w.waited_store : w.waited_load);
}

/// The fence that is missing between an access that is complete and one of another thread; nullptr: none. What the tensor core completes
/// needs only ::after_thread_sync ("implicitly performed by tcgen05.commit").
const char* TensorWatch::missing_fence(uint16_t reader, const Event& event) const {
  const bool operation = event.kind == Event::Kind::operation || event.kind == Event::Kind::operand;
  if (event.warp == reader && !operation) return nullptr;
  if (!operation && warps_[event.warp].before <= event.time) return "tcgen05.fence::before_thread_sync";
  return warps_[reader].after <= event.time ? "tcgen05.fence::after_thread_sync" : nullptr;
}

void TensorWatch::waited(ExecContext& ctx, bool stores) {
  if (!on_) return;
  WarpState& w = warps_[index(ctx.cluster_rank, ctx.warp_index)];
  (stores ? w.waited_store : w.waited_load) = ++time_;
  if (!stores) w.loading.clear();
}

void TensorWatch::fence(ExecContext& ctx, bool after) {
  if (!on_) return;
  WarpState& w = warps_[index(ctx.cluster_rank, ctx.warp_index)];
  (after ? w.after : w.before) = ++time_;
}

void TensorWatch::publish(uint32_t rank, uint32_t warp) {
  if (!on_) return;
  for (const Seen& s : warps_[index(rank, warp)].seen) see(published_, s);
}

void TensorWatch::committed(const Tcgen05Op& commit, uint32_t rank, uint64_t phase) {
  if (!on_) return;
  auto& list = commits_[uint64_t{rank} << 32 | commit.mbarrier.offset];
  const auto warp = static_cast<uint16_t>(index(commit.rank, commit.warp));
  for (Commit& c : list)
    if (c.warp == warp && c.phase == phase) return void(c.id = std::max(c.id, commit.id));
  list.push_back({warp, commit.id, phase});
}

void TensorWatch::passed(uint32_t rank, uint32_t warp, uint32_t mbarrier, uint64_t ended) {
  if (!on_) return;
  const auto it = commits_.find(uint64_t{rank} << 32 | mbarrier);
  if (it == commits_.end()) return;
  WarpState& w = warps_[index(rank, warp)];
  for (const Commit& c : it->second) {
    if (c.phase >= ended) continue;
    see(w.seen, {c.warp, c.id});
    const uint32_t issuer = c.warp / kWarps;
    for (const uint32_t r : {issuer, issuer ^ 1})
      if (r < ctas_.size()) ctas_[r]->watch.tensor_waited(c.warp, c.id);
  }
  // Older phases say nothing more.
  uint64_t newest = 0;
  for (const Commit& c : it->second)
    if (c.phase < ended) newest = std::max(newest, c.phase);
  std::erase_if(it->second, [newest](const Commit& c) { return c.phase < newest; });
}

// ---- checks ----

/// What the access does with columns that somebody wrote. same_queue: it follows that operation in the tensor core.
void TensorWatch::check_reader(Check& check, const Event& write, bool same_queue) {
  const WarpState& reader = warps_[check.warp];
  switch (write.kind) {
    case Event::Kind::operation:
      if (same_queue) return;
      if (!visible(reader, write))
        return check.add(kMissingWait, nullptr, write,
                         "meets columns from {} on that {{}} writes, and no wait for a tcgen05.commit after it has passed");
      break;
    case Event::Kind::store:
      if (pending(write))
        return check.add(kMissingWait, nullptr, write, "meets columns from {} on that {{}} wrote: tcgen05.wait::st is missing after it");
      break;
    default: return;
  }
  if (const char* fence = missing_fence(check.warp, write))
    check.add(kFindings, kMissingFence, write, std::string("meets columns from {} on that {{}} wrote in another thread: ") + fence + " is missing");
}

/// What a writing access does to those who read the columns before it.
void TensorWatch::check_writer(Check& check, const Cell& cell, bool same_queue) {
  check_reader(check, events_[cell.write], same_queue);
  const Event& read = events_[cell.read];
  switch (read.kind) {
    case Event::Kind::operand:
      if (same_queue) return;
      if (!visible(warps_[check.warp], read))
        return check.add(kOverwriteInFlight, nullptr, read,
                         "overwrites columns from {} on that {{}} reads, and no wait for a tcgen05.commit after it has passed");
      break;
    case Event::Kind::load:
      if (pending(read))
        return check.add(kOverwriteInFlight, nullptr, read, "overwrites columns from {} on that {{}} reads: tcgen05.wait::ld is missing after it");
      break;
    default: return;
  }
  if (const char* fence = missing_fence(check.warp, read))
    check.add(kFindings, kMissingFence, read,
              std::string("overwrites columns from {} on that {{}} read in another thread: ") + fence + " is missing");
}

void TensorWatch::check_cells(Check& check, uint32_t rank, const TensorRange& range, bool write, bool same_queue) {
  const uint32_t first = range.lane / kRow, end = (range.lane + range.lanes + kRow - 1) / kRow;
  Cell done{~0u, ~0u};
  for (uint32_t c = range.column; c < uint32_t{range.column} + range.columns; ++c)
    for (uint32_t row = first; row < end; ++row) {
      const Cell& at = cell(rank, row, c);
      if (at.write == done.write && at.read == done.read) continue;
      done = at;
      check.column = c;
      if (write) check_writer(check, at, same_queue);
      else check_reader(check, events_[at.write], same_queue);
    }
}

void TensorWatch::mark(uint32_t rank, const TensorRange& range, uint32_t event, bool write) {
  const uint32_t first = range.lane / kRow, end = (range.lane + range.lanes + kRow - 1) / kRow;
  for (uint32_t c = range.column; c < uint32_t{range.column} + range.columns; ++c)
    for (uint32_t row = first; row < end; ++row) {
      Cell& at = cell(rank, row, c);
      if (!write) {
        point(at.read, event);
        continue;
      }
      point(at.write, event);
      point(at.read, 0);
    }
}

void TensorWatch::report(ExecContext& ctx, const Check& check) {
  for (const Check::Found& f : check.found)
    ctx.find({f.kind, check.inst, ctx.warp_index, f.other, f.other_warp, HazardFinding::kNone, fmt::format(fmt::runtime(f.text), f.column), f.named});
}

// ---- ld, st ----

void TensorWatch::load(ExecContext& ctx, uint32_t inst, const Move& move) {
  if (!on_) return;
  Check check{.inst = inst, .warp = static_cast<uint16_t>(index(ctx.cluster_rank, ctx.warp_index))};
  const uint32_t event = new_event({Event::Kind::load, {}, check.warp, inst, 0, 0, ++time_});
  ++accesses_;
  for (uint32_t a = 0; a < move.accesses; ++a) {
    const TensorRange range{0, static_cast<uint16_t>(move.lane), static_cast<uint16_t>(move.lanes), static_cast<uint16_t>(move.column[a]),
                            static_cast<uint16_t>(move.columns)};
    check_cells(check, ctx.cluster_rank, range, false, false);
    mark(ctx.cluster_rank, range, event, false);
    if (const auto at = ctx.tensor->undefined(move.lane, move.lanes, move.column[a], move.columns))
      check.add(kUninitialisedRead, nullptr, events_[event],
                fmt::format("reads lane {}, column {} of Tensor Memory, which nobody wrote", at->lane, at->column));
  }
  for (Check::Found& f : check.found)
    if (f.kind == kUninitialisedRead) f.other = HazardFinding::kNone;
  std::vector<uint32_t>& loading = warps_[check.warp].loading;
  if (std::find(loading.begin(), loading.end(), inst) == loading.end()) loading.push_back(inst);
  report(ctx, check);
}

void TensorWatch::store(ExecContext& ctx, uint32_t inst, const Move& move) {
  if (!on_) return;
  Check check{.inst = inst, .warp = static_cast<uint16_t>(index(ctx.cluster_rank, ctx.warp_index))};
  const uint32_t event = new_event({Event::Kind::store, {}, check.warp, inst, 0, 0, ++time_});
  ++accesses_;
  for (uint32_t a = 0; a < move.accesses; ++a) {
    const TensorRange range{0, static_cast<uint16_t>(move.lane), static_cast<uint16_t>(move.lanes), static_cast<uint16_t>(move.column[a]),
                            static_cast<uint16_t>(move.columns)};
    check_cells(check, ctx.cluster_rank, range, true, false);
    mark(ctx.cluster_rank, range, event, true);
  }
  report(ctx, check);
}

// ---- operations of the tensor core ----

/// An mma like the last one, with nothing in between: only its place in the order is new.
bool TensorWatch::repeat(const Tcgen05Op& op, const Tcgen05Touches& touches) {
  if (last_.event == 0 || last_.accesses != accesses_ || !touches.reads.empty() || touches.writes.size() != last_.writes.size()) return false;
  Event& e = events_[last_.event];
  if (e.kind != Event::Kind::operation || e.cells != last_.cells || e.warp != index(op.rank, op.warp) || op.kind != Tcgen05Op::Kind::mma ||
      e.op != op.kind)
    return false;
  for (size_t i = 0; i < touches.writes.size(); ++i)
    if (!same(touches.writes[i], last_.writes[i])) return false;
  e.id = op.id;
  e.time = ++time_;
  e.inst = op.index;
  return true;
}

/// Operands in columns that the operation itself writes, or that an mma or shift before it writes: the tensor core orders only an mma
/// after a cp or shift, and accumulators (PTX ISA, "Pipelined tcgen05 Instructions").
bool TensorWatch::check_operands(ExecContext& ctx, const Tcgen05Op& op, const Tcgen05Touches& touches) {
  const auto fault = [&](const TensorRange& r, std::string text) {
    ctx.fault("tmem-misuse", -1, TensorAddress{r.lane, r.column}.bits(), std::move(text));
    return false;
  };
  if (op.kind != Tcgen05Op::Kind::mma) return true;
  for (const auto& read : touches.reads) {
    constexpr const char* kRoles[] = {"D", "A", "the scale factors of A", "the scale factors of B", "the sparsity metadata", "the source"};
    const char* role = kRoles[read.role];
    for (const TensorRange& w : touches.writes)
      if (overlap(read.range, w))
        return fault(read.range,
                     fmt::format("tcgen05.mma reads {} from columns {} to {} of Tensor Memory, and writes D to columns {} to {}: they overlap", role,
                                 read.range.column, read.range.column + read.range.columns - 1, w.column, w.column + w.columns - 1));
    const uint32_t rank = rank_of(op, read.range.cta);
    const WarpState& issuer = warps_[index(op.rank, op.warp)];
    for (uint32_t c = read.range.column; c < uint32_t{read.range.column} + read.range.columns; ++c)
      for (uint32_t row = read.range.lane / kRow; row * kRow < uint32_t{read.range.lane} + read.range.lanes; ++row) {
        const Event& e = events_[cell(rank, row, c).write];
        if (e.kind == Event::Kind::operation && e.op == Tcgen05Op::Kind::mma && !visible(issuer, e))
          return fault(read.range, fmt::format("tcgen05.mma reads {} from column {} of Tensor Memory, where an earlier tcgen05.mma in flight writes "
                                               "D: a tcgen05.commit and a wait for its "
                                               "mbarrier must come between",
                                               role, c));
      }
  }
  return true;
}

bool TensorWatch::issue(ExecContext& ctx, Tcgen05Op& op, const Tcgen05Touches& touches) {
  op.id = ++next_id_;
  if (!on_ || op.kind == Tcgen05Op::Kind::commit || repeat(op, touches)) return true;
  if (!check_operands(ctx, op, touches)) return false;
  ++accesses_;
  Check check{.inst = op.index, .warp = static_cast<uint16_t>(index(op.rank, op.warp))};
  const uint64_t now = ++time_;
  for (const auto& read : touches.reads) check_cells(check, rank_of(op, read.range.cta), read.range, false, true);
  for (const TensorRange& w : touches.writes) check_cells(check, rank_of(op, w.cta), w, true, true);
  if (!touches.reads.empty()) {
    const uint32_t event = new_event({Event::Kind::operand, op.kind, check.warp, op.index, 0, op.id, now});
    for (const auto& read : touches.reads) mark(rank_of(op, read.range.cta), read.range, event, false);
  }
  const uint32_t event = new_event({Event::Kind::operation, op.kind, check.warp, op.index, 0, op.id, now});
  for (const TensorRange& w : touches.writes) mark(rank_of(op, w.cta), w, event, true);
  last_ = {event, accesses_, touches.writes, events_[event].cells};
  report(ctx, check);
  return true;
}

void TensorWatch::forget(uint32_t rank, uint32_t column, uint32_t columns) {
  if (!on_) return;
  ++accesses_;
  mark(rank, {0, 0, TensorMemory::kLanes, static_cast<uint16_t>(column), static_cast<uint16_t>(columns)}, 0, true);
}

}  // namespace tcsim::isa
