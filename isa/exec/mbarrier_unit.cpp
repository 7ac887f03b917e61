#include "isa/exec/mbarrier_unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/exec/shared_watch.h"
#include "isa/exec/tensor_watch.h"

namespace tcsim::isa {
namespace {

MbarrierError misuse(std::string text) { return {"barrier-misuse", std::move(text)}; }

}  // namespace

void MbarrierUnit::reset(WindowMemory& shared, SharedWatch* watch, uint32_t rank) {
  shared_ = &shared;
  watch_ = watch;
  rank_ = rank;
  records_.clear();
  ended_.clear();
}

const MbarrierUnit::Record* MbarrierUnit::find(uint32_t offset) const {
  const auto it = records_.find(offset);
  return it == records_.end() ? nullptr : &it->second;
}
MbarrierUnit::Record* MbarrierUnit::find(uint32_t offset) { return const_cast<Record*>(static_cast<const MbarrierUnit*>(this)->find(offset)); }

std::vector<uint32_t> MbarrierUnit::take_ended() {
  std::vector<uint32_t> out;
  out.swap(ended_);
  return out;
}

MbarrierError MbarrierUnit::check(uint32_t offset) const {
  if (find(offset) != nullptr) [[likely]]
    return {};
  return misuse(fmt::format(
      "the mbarrier at offset {} of shared memory is not initialised (mbarrier.init is missing, was not waited for, or went to another address)",
      offset));
}

MbarrierError MbarrierUnit::check(uint32_t offset, const MbarrierSource& source) const {
  if (auto e = check(offset)) return e;
  const Record& record = *find(offset);
  if (source.rank == rank_ && source.warp == record.init_warp) return {};
  if (watch_->published(record.init_warp) != record.init_publishes) return {};
  return misuse(
      fmt::format("mbarrier at offset {}: warp {} initialised it and has not arrived at a barrier since, so that warp {} cannot know of it (a "
                  "barrier between mbarrier.init and "
                  "the first use is missing)",
                  offset, record.init_warp, source.warp));
}

bool MbarrierUnit::passed(uint32_t offset, uint32_t warp, uint32_t lanes) {
  Record* record = find(offset);
  if (record == nullptr) return false;
  record->seen = record->phase;
  if (TensorWatch* tensor = watch_->tensor_watch()) tensor->passed(rank_, warp, offset, record->phase);
  for (Record::Passed& p : record->passed) {
    if (p.warp != warp) continue;
    const bool again = p.phase == record->phase && (p.lanes & lanes) != 0 && record->in_flight > 0;
    p.lanes = p.phase == record->phase ? p.lanes | lanes : lanes;
    p.phase = record->phase;
    return again;
  }
  record->passed.push_back({static_cast<uint16_t>(warp), lanes, record->phase});
  return false;
}

MbarrierError MbarrierUnit::leftover(MbarrierSource& source) const {
  for (const auto& [offset, record] : records_) {
    const Mbarrier m = word(offset);
    if (m.tx == 0 || record.in_flight != 0) continue;
    uint64_t expected = 0, delivered = 0;
    source = {MbarrierSource::Kind::thread, static_cast<uint8_t>(rank_), static_cast<uint16_t>(record.init_warp), record.init_inst};
    for (const Share& s : record.now) {
      expected += s.expected;
      delivered += s.delivered;
      source = s.source;
    }
    return {
        "tma-byte-mismatch",
        fmt::format(
            "mbarrier at offset {}: the CTA ends in its phase {}, which expects {} bytes and got {}: expect_tx and the copies disagree by {} bytes",
            offset, record.phase, expected, delivered, m.tx < 0 ? -m.tx : m.tx)};
  }
  return {};
}

MbarrierUnit::Share& MbarrierUnit::share(Record& record, MbarrierSource source) {
  for (Share& s : record.now)
    if (s.source == source) return s;
  return record.now.emplace_back(Share{.source = source});
}

MbarrierError MbarrierUnit::init(uint32_t offset, uint32_t count, MbarrierSource source) {
  if (count == 0 || count > Mbarrier::kMaxCount)
    return misuse(fmt::format("mbarrier.init with a count of {}, expected 1 to {}", count, Mbarrier::kMaxCount));
  if (const Record* old = find(offset)) {
    const Mbarrier m = word(offset);
    // PTX ISA, "mbarrier.init": undefined on a location that holds a valid mbarrier object.
    return misuse(
        fmt::format("mbarrier.init of the mbarrier at offset {} that is in use (phase {}, {} of {} arrivals and {} bytes missing): mbarrier.inval "
                    "must come first",
                    offset, old->phase, m.pending, m.expected, m.tx));
  }
  Record& record = records_[offset];
  record.init_inst = source.inst;
  record.count = count;
  record.init_warp = source.warp;
  record.init_publishes = watch_->published(source.warp);
  shared_->mark_written(offset, 8);
  store_mbarrier(*shared_, offset, {count, count, 0, false});
  return {};
}

MbarrierError MbarrierUnit::inval(uint32_t offset) {
  if (auto e = check(offset)) return e;
  records_.erase(offset);
  store_mbarrier(*shared_, offset, {});
  shared_->mark_undefined(offset, 8);
  return {};
}

/// Ends the phase when nothing is missing.
MbarrierError MbarrierUnit::settle(uint32_t offset, Record& record, Mbarrier& m) {
  if (m.pending != 0 || m.tx != 0) return {};
  m.settle();
  ++record.phase;
  ended_.push_back(offset);
  record.before.swap(record.now);
  record.now.clear();
  if (record.in_flight == 0) return {};
  uint64_t expected = 0;
  for (const Share& s : record.before) expected += s.expected;
  return {"tma-byte-mismatch",
          fmt::format(
              "mbarrier at offset {}: phase {} ends after the {} bytes that it expected, while {} bytes of bulk copies to it are still on their way: "
              "expect_tx must count them all",
              offset, record.phase - 1, expected, record.in_flight)};
}

MbarrierError MbarrierUnit::arrive(uint32_t offset, const MbarrierArrival& a, MbarrierSource source, uint64_t* state) {
  if (auto e = check(offset, source)) return e;
  Record& record = *find(offset);
  Mbarrier m = word(offset);
  if (state) *state = m.encode();
  if (a.count == 0 || a.count > m.pending || (a.no_complete && a.count == m.pending))
    return misuse(fmt::format(
        "mbarrier at offset {}: {} arrival{}, but phase {} expects {} more{} (initialised with a count of {}){}", offset, a.count,
        a.count == 1 ? "" : "s", record.phase, m.pending, a.no_complete ? " and .noComplete may not end it" : "", record.count,
        m.tx > 0 ? fmt::format("; {} bytes of the phase are still missing: the arrival is for a later one, whose turn nobody waited for", m.tx)
                 : ""));
  Share& s = share(record, source);
  s.arrivals += a.count;
  s.expected += a.expect_bytes;
  m.tx += static_cast<int32_t>(a.expect_bytes);
  m.pending -= a.count;
  // An arrival releases what its warp did before, to those who can know of the barrier.
  if (source.rank == rank_ && watch_->published(record.init_warp) != record.init_publishes) watch_->publish(source.warp);
  if (TensorWatch* tensor = watch_->tensor_watch(); tensor != nullptr && source.rank != rank_ && source.kind == MbarrierSource::Kind::thread)
    tensor->publish(source.rank, source.warp);
  if (a.drop) m.expected -= std::min(m.expected, a.count);
  MbarrierError e = settle(offset, record, m);
  store_mbarrier(*shared_, offset, m);
  return e;
}

MbarrierError MbarrierUnit::add_pending(uint32_t offset, uint32_t count) {
  if (auto e = check(offset)) return e;
  Mbarrier m = word(offset);
  if (m.pending + count > Mbarrier::kMaxCount)
    return misuse(fmt::format("mbarrier at offset {}: more than {} pending arrivals", offset, Mbarrier::kMaxCount));
  m.pending += count;
  store_mbarrier(*shared_, offset, m);
  return {};
}

MbarrierError MbarrierUnit::expect(uint32_t offset, uint32_t bytes, MbarrierSource source) {
  if (auto e = check(offset, source)) return e;
  share(*find(offset), source).expected += bytes;
  Mbarrier m = word(offset);
  m.tx += static_cast<int32_t>(bytes);
  store_mbarrier(*shared_, offset, m);
  return {};
}

MbarrierError MbarrierUnit::complete(uint32_t offset, uint32_t bytes, MbarrierSource source) {
  if (auto e = check(offset)) return e;
  Record& record = *find(offset);
  if (source.kind != MbarrierSource::Kind::thread) record.in_flight -= std::min<uint64_t>(record.in_flight, bytes);
  share(record, source).delivered += bytes;
  Mbarrier m = word(offset);
  m.tx -= static_cast<int32_t>(bytes);
  MbarrierError e = settle(offset, record, m);
  store_mbarrier(*shared_, offset, m);
  return e;
}

MbarrierError MbarrierUnit::issued(uint32_t offset, uint32_t bytes, MbarrierSource source) {
  if (auto e = check(offset, source)) return e;
  Record& record = *find(offset);
  record.in_flight += bytes;
  share(record, source).issued += bytes;
  return {};
}

}  // namespace tcsim::isa
