// The TMA engine of an SM: bulk instructions become requests to L2, line by line; bytes land in shared memory through the
// port that everything else uses; completion goes to mbarriers or bulk groups.
#include <algorithm>
#include <bit>
#include <cmath>

#include "isa/exec/bulk_walk.h"
#include "isa/exec/value_slice.h"
#include "sim/sm/pipes.h"
#include "sim/sm/sm.h"

namespace tcsim::sim {
namespace {

using Kind = isa::BulkCopy::Kind;

bool writes_global(Kind kind) { return kind == Kind::store || kind == Kind::reduce; }

isa::MbarrierSource source_of(const BulkJob& job) {
  return {isa::MbarrierSource::Kind::bulk, static_cast<uint8_t>(job.rank), static_cast<uint16_t>(job.warp_index), job.copy.inst};
}

/// Splits the rows of the box into lines with sector masks, each with the engine's time for it.
void make_lines(BulkJob& job, const cfg::Machine& m) {
  const double rate = job.copy.kind == Kind::store    ? m.tma.store_bytes_per_cycle
                      : job.copy.kind == Kind::reduce ? m.tma.reduce_bytes_per_cycle
                                                      : m.tma.request_bytes_per_cycle;
  if (job.copy.kind == Kind::shared_to_cluster) return;
  isa::for_each_row(job.copy, [&](const isa::BulkRow& row) {
    const size_t first = job.lines.size();
    for (uint64_t at = row.global, end = row.global + row.bytes; at < end;) {
      const uint64_t line = at / m.l1.line_bytes, next = std::min(end, (line + 1) * m.l1.line_bytes);
      const auto low = static_cast<uint32_t>(at % m.l1.line_bytes / m.l1.sector_bytes);
      const auto high = static_cast<uint32_t>(((next - 1) % m.l1.line_bytes) / m.l1.sector_bytes);
      const auto sectors = static_cast<uint8_t>((2u << high) - (1u << low));
      job.lines.push_back({line, sectors, static_cast<float>(static_cast<double>(next - at) / rate)});
      at = next;
    }
    double cost = std::max(m.tma.row_cycles, row.shared_bytes / rate);
    if (job.lines.size() == first) {  // nothing of the row lies in the tensor: time without a request
      job.lines.push_back({0, 0, static_cast<float>(cost)});
      return;
    }
    for (size_t i = first; i < job.lines.size(); ++i) cost -= job.lines[i].cycles;
    if (cost > 0) job.lines.back().cycles += static_cast<float>(cost);
  });
}

}  // namespace

void Sm::issue_bulk(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  CtaSlot& cta = ctas_[w.cta_slot];
  const bool bytes_matter = run_.values_known;
  for (const isa::BulkCopy& issued : w.warp->ctx.fx.bulk) {
    auto job = std::make_shared<BulkJob>();
    job->copy = issued;
    job->copy.inst = w.warp->last_inst();
    job->cluster = cta.cluster;
    job->sm = id_;
    job->slot = w.cta_slot;
    job->warp = slot;
    job->warp_index = w.index_in_cta;
    job->rank = cta.cta.rank;
    job->issued = now_;
    job->earliest = now_ + (writes_global(issued.kind) ? m_.tma.store_cycles : m_.tma.start_cycles);
    for (uint32_t mask = issued.targets(); mask; mask &= mask - 1) {
      const auto rank = static_cast<size_t>(std::countr_zero(mask));
      if (rank >= cta.cluster->members.size())
        return async_fault({"out-of-bounds", "the copy names a CTA that the cluster does not have"}, cta, w.index_in_cta, job->copy.inst);
      isa::Cta& target = *cta.cluster->cluster.ctas[rank];
      if (bytes_matter) target.shared.fly(issued.target_offset(), issued.bytes);
      if (!issued.has_mbarrier) continue;
      const uint32_t told = issued.mbarrier_rank(static_cast<uint32_t>(rank));
      if (told >= cta.cluster->members.size())
        return async_fault({"out-of-bounds", "the copy's mbarrier lies in a CTA that the cluster does not have"}, cta, w.index_in_cta,
                           job->copy.inst);
      if (auto e = cta.cluster->cluster.ctas[told]->mbarriers.issued(issued.mbarrier.offset, issued.bytes, source_of(*job)))
        return async_fault(e, cta, w.index_in_cta, job->copy.inst);
    }
    counters[Counter::tma_instructions] += 1;
    counters[Counter::tma_bytes] += issued.bytes;
    if (!issued.has_mbarrier && issued.kind != Kind::prefetch) job->copy.id = w.warp->bulk.issue(issued.lane);
    if (writes_global(issued.kind) || issued.kind == Kind::shared_to_cluster) ++w.outstanding;
    job->cta = cta.linear;
    if (w.trace) job->traced = w.trace->copy_issued(w.index_in_cta, job->copy, now_);
    tma_jobs_.push_back(std::move(job));
  }
  schedule_tma(std::max(now_, tma_jobs_.front()->earliest));
}

void Sm::schedule_tma(Cycle at) {
  if (tma_event_ != kNever && tma_event_ <= at) return;
  tma_event_ = at;
  wheel_.add(at, {Event::Kind::tma, 0, 0, 0, 0});
}

/// The tensor map is at hand; otherwise asks L2 for it, and the response lets the engine look again.
bool Sm::descriptor_ready(BulkJob& job) {
  const uint64_t address = job.copy.map_address;
  if (!job.copy.map) return true;
  const auto touch = [address](std::vector<uint64_t>& list, size_t most) {  // most recently used last; false: it was not there
    const auto it = std::find(list.begin(), list.end(), address);
    const bool there = it != list.end();
    if (there) list.erase(it);
    else if (list.size() >= most) list.erase(list.begin());
    list.push_back(address);
    return there;
  };
  const bool at_hand = touch(descriptors_, m_.tma.descriptors), cached = touch(cached_descriptors_, m_.tma.cached_descriptors);
  if (at_hand) return true;
  if (cached || address >> 40 == isa::kParamWindow >> 40) {
    job.earliest = now_ + m_.tma.descriptor_cycles;
    schedule_tma(job.earliest);
    return false;
  }
  auto fetch = std::make_shared<BulkJob>();
  fetch->copy.kind = Kind::prefetch;
  const auto all = static_cast<uint8_t>((1u << m_.l1.line_bytes / m_.l1.sector_bytes) - 1);
  tma_waits_ = true;
  send_line(fetch, {address / m_.l1.line_bytes, all, 0});
  return false;
}

void Sm::start_job(BulkJob& job) {
  job.begun = true;
  make_lines(job, m_);
  tma_free_ = std::max(tma_free_, static_cast<double>(now_));
}

/// Sends requests until the engine is a few cycles ahead, has too many bytes in flight, or has nothing to do.
void Sm::run_tma() {
  constexpr uint32_t kBatch = 4;  // lines an event: their times differ by less than the memory system can tell
  if (tma_waits_ || tma_jobs_.empty()) return;
  std::shared_ptr<BulkJob> job = tma_jobs_.front();
  if (now_ < job->earliest) return schedule_tma(job->earliest);
  if (!job->begun) {
    if (!descriptor_ready(*job)) return;
    start_job(*job);
  }
  for (uint32_t i = 0; i < kBatch && job->next < job->lines.size(); ++i) {
    const BulkJob::Line& line = job->lines[job->next];
    const uint32_t bytes = static_cast<uint32_t>(std::popcount(line.sectors)) * m_.l1.sector_bytes;
    if (tma_in_flight_ + bytes > m_.tma.max_bytes_in_flight && tma_in_flight_ > 0) {
      tma_waits_ = true;
      return;
    }
    if (bytes != 0) send_line(job, line);
    tma_free_ += static_cast<double>(line.cycles);
    ++job->next;
  }
  const auto free = static_cast<Cycle>(std::ceil(tma_free_));
  if (job->next == job->lines.size()) {
    tma_jobs_.pop_front();
    tma_free_ += m_.tma.issue_cycles;
    all_sent(job);
    if (tma_jobs_.empty()) return;
    return schedule_tma(std::max({now_ + 1, static_cast<Cycle>(std::ceil(tma_free_)), tma_jobs_.front()->earliest}));
  }
  schedule_tma(std::max(now_ + 1, free));
}

void Sm::change_in_flight(int64_t bytes) {
  counters[Counter::tma_byte_cycles] += tma_in_flight_ * (now_ - tma_changed_);
  tma_changed_ = now_;
  tma_in_flight_ += static_cast<uint64_t>(bytes);
  counters[Counter::tma_most_in_flight] = std::max(counters[Counter::tma_most_in_flight], tma_in_flight_);
}

/// nullptr: not recorded. The issuer's CTA may be gone already (stores).
CtaTrace* Sm::issuer_trace(const BulkJob& job) const { return job.traced == CtaTrace::kNone ? nullptr : run_.trace->of(job.cta); }

void Sm::send_line(const std::shared_ptr<BulkJob>& job, const BulkJob::Line& line) {
  const uint32_t id = new_request(line.line, line.sectors);
  Request& request = requests_[id];
  request.job = job;
  request.multicast = job->copy.multicast;
  const uint32_t bytes = static_cast<uint32_t>(std::popcount(line.sectors)) * m_.l1.sector_bytes;
  change_in_flight(bytes);
  ++job->responses;
  using Memory = MemRequest::Kind;
  const Memory kind = job->copy.kind == Kind::store ? Memory::write : job->copy.kind == Kind::reduce ? Memory::reduction : Memory::read;
  counters[kind == Memory::read ? Counter::l1_fill_bytes : Counter::l1_store_bytes] += bytes;
  stores_open_ += kind != Memory::read;
  if (kind != Memory::read)
    mio_free_ = std::max(mio_free_, static_cast<double>(now_)) + static_cast<double>(bytes) / (m_.smem.banks * m_.smem.bank_bytes);
  outbox.push_back({std::max(now_, static_cast<Cycle>(tma_free_)), line.line, id, static_cast<uint16_t>(id_), kind, line.sectors});
}

void Sm::bulk_response(const std::shared_ptr<BulkJob>& job, uint32_t bytes) {
  change_in_flight(-int64_t{bytes});
  --job->responses;
  if (tma_waits_) {
    tma_waits_ = false;
    schedule_tma(now_);
  }
  if (job->copy.kind == Kind::prefetch) return;
  if (writes_global(job->copy.kind)) { return store_acknowledged(); }
  // Bytes that arrive do not hold up loads: both go at full rate (hopper.jsonl shared_contention; stores do slow down there, 46 cycles
  // against 16.5, which is not modelled).
  if (job->responses != 0 || job->next != job->lines.size() || job->copy.multicast) return;
  schedule_done(job, now_ + m_.tma.load_cycles);
}

/// All requests of the job are on their way: its source in shared memory has been read.
void Sm::all_sent(const std::shared_ptr<BulkJob>& job) {
  if (writes_global(job->copy.kind)) {
    CtaSlot& cta = ctas_[job->slot];
    cta.cta.watch.has_read(job->copy);
    if (run_.values_known || run_.program->slice->global_needed) isa::land_store(job->copy, cta.cta.shared, global_);
    WarpSlot& w = warps_[job->warp];
    if (CtaTrace* trace = issuer_trace(*job)) trace->copy_read(job->traced, now_);
    if (job->copy.id != 0) w.warp->bulk.read_done(job->copy.id);
    check_bulk_wait(job->warp);
    schedule_done(job, now_ + m_.tma.store_done_cycles);
    return;
  }
  if (job->copy.kind == Kind::shared_to_cluster) {
    ctas_[job->slot].cta.watch.has_read(job->copy);
    remote_free_ = std::max(remote_free_, static_cast<double>(now_)) + job->copy.bytes / m_.cluster.bytes_per_cycle;
    const ClusterState::Member to = job->cluster->members[job->copy.target.rank];
    ClusterMessage message{.kind = ClusterMessage::Kind::bulk,
                           .cycle = static_cast<Cycle>(std::ceil(remote_free_)) + m_.cluster.remote_cycles,
                           .sm = to.sm,
                           .slot = to.slot};
    message.cluster = job->cluster;
    message.job = job;
    cluster_outbox.push_back(std::move(message));
    WarpSlot& w = warps_[job->warp];
    if (--w.outstanding == 0 && w.blocked == Blocked::stores) finish_warp(job->warp);
    return;
  }
  if (CtaTrace* trace = job->copy.kind == Kind::prefetch ? issuer_trace(*job) : nullptr) trace->copy_landed(job->cta, job->traced, now_);
  // Boxes that lie outside the tensor altogether make no request; a multicast of one has no response to tell its targets.
  if (job->responses == 0 && !job->copy.multicast && job->copy.kind != Kind::prefetch) schedule_done(job, now_ + m_.tma.load_cycles);
  if (job->copy.multicast) {
    const bool none = std::all_of(job->lines.begin(), job->lines.end(), [](const BulkJob::Line& line) { return line.sectors == 0; });
    for (uint32_t mask = job->copy.targets(); none && mask; mask &= mask - 1) {
      const ClusterState::Member to = job->cluster->members[static_cast<size_t>(std::countr_zero(mask))];
      ClusterMessage message{.kind = ClusterMessage::Kind::bulk, .cycle = now_ + m_.cluster.remote_cycles, .sm = to.sm, .slot = to.slot};
      message.cluster = job->cluster;
      message.job = job;
      cluster_outbox.push_back(std::move(message));
    }
  }
}

void Sm::schedule_done(const std::shared_ptr<BulkJob>& job, Cycle at) {
  uint32_t id;
  if (free_done_.empty()) {
    id = static_cast<uint32_t>(done_jobs_.size());
    done_jobs_.emplace_back();
  } else {
    id = free_done_.back();
    free_done_.pop_back();
  }
  done_jobs_[id] = job;
  wheel_.add(at, {Event::Kind::bulk_done, 0, 0, id, 0});
}

/// One line for this SM's CTA of a multicast load.
void Sm::multicast_arrival(const std::shared_ptr<BulkJob>& job, Cycle cycle) {
  auto [it, first] = arriving_.emplace(job.get(), 0);
  if (first)
    for (const BulkJob::Line& line : job->lines) it->second += line.sectors != 0;
  if (--it->second > 0) return;
  arriving_.erase(it);
  schedule_done(job, std::max(now_ + 1, cycle + m_.tma.load_cycles + m_.tma.multicast_cycles));
}

void Sm::finish_job(const std::shared_ptr<BulkJob>& job) {
  if (writes_global(job->copy.kind)) {
    WarpSlot& w = warps_[job->warp];
    if (CtaTrace* trace = issuer_trace(*job)) trace->copy_landed(job->cta, job->traced, now_);
    if (job->copy.id != 0) w.warp->bulk.done(job->copy.id);
    check_bulk_wait(job->warp);
    if (--w.outstanding == 0 && w.blocked == Blocked::stores) finish_warp(job->warp);
    return;
  }
  // A multicast load is finished by each receiver for itself.
  for (uint32_t mask = job->copy.targets(); mask; mask &= mask - 1) {
    const ClusterState::Member& to = job->cluster->members[static_cast<size_t>(std::countr_zero(mask))];
    if (to.sm == id_) {
      land(*job, to.slot);
    } else if (!job->copy.multicast) {  // a load into another CTA's shared memory
      ClusterMessage message{.kind = ClusterMessage::Kind::bulk, .cycle = now_ + m_.cluster.remote_cycles, .sm = to.sm, .slot = to.slot};
      message.cluster = job->cluster;
      message.job = job;
      cluster_outbox.push_back(std::move(message));
    }
  }
}

/// The bytes of a load or of a copy between CTAs are in the shared memory of the CTA in `cta_slot`.
void Sm::land(const BulkJob& job, uint32_t cta_slot) {
  CtaSlot& cta = ctas_[cta_slot];
  const isa::BulkCopy& copy = job.copy;
  if (!cta.used || cta.cluster != job.cluster)
    return async_fault({"out-of-bounds", "a bulk copy reaches the shared memory of a CTA that has exited"}, cta, job.warp_index, copy.inst);
  if (run_.values_known) cta.cta.shared.land(copy.target_offset(), copy.bytes);  // first: undefined source bytes leave theirs undefined
  if (run_.values_known || run_.program->slice->shared_needed) {
    if (copy.kind == Kind::load) isa::land_load(copy, global_, cta.cta.shared);
    else isa::land_shared(copy, job.cluster->cluster.ctas[job.rank]->shared, cta.cta.shared);
  }
  cta.cta.watch.landed(copy, copy.target_offset());
  if (cta.trace) cta.trace->copy_landed(job.cta, job.traced, now_);
  if (!copy.has_mbarrier) return;
  if (const uint32_t told = copy.mbarrier_rank(cta.cta.rank); told != cta.cta.rank) {  // .cta_group::2: in the other CTA of the pair
    const ClusterState::Member to = job.cluster->members[told];
    ClusterMessage message{.kind = ClusterMessage::Kind::remote, .cycle = now_ + m_.cluster.remote_cycles, .sm = to.sm, .slot = to.slot};
    message.op.kind = isa::RemoteOp::Kind::mbarrier_tx;
    message.op.target = message.op.mbarrier = {.offset = copy.mbarrier.offset, .rank = static_cast<uint8_t>(told)};
    message.op.bytes = copy.bytes;
    message.source = source_of(job);
    message.cluster = job.cluster;
    cluster_outbox.push_back(std::move(message));
    return;
  }
  if (auto e = cta.cta.mbarriers.complete(copy.mbarrier.offset, copy.bytes, source_of(job))) return async_fault(e, cta, job.warp_index, copy.inst);
  wake_mbarrier_waiters(cta);
}

void Sm::check_bulk_wait(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  if (w.blocked != Blocked::bulk_group || !w.warp->bulk.satisfied(w.wait_lanes, w.wait_keep, w.waits_all)) return;
  w.warp->unblock(w.wait_lanes);
  end_wait(slot, now_ + m_.of(isa::TimingClass::tma_wait).latency, wait_reason(isa::TimingClass::tma_wait));
}

}  // namespace tcsim::sim
