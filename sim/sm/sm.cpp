#include "sim/sm/sm.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/sm/pipes.h"

namespace tcsim::sim {

Sm::Sm(const KernelRun& run, uint32_t id, const isa::GlobalMemory& global)
    : run_(run),
      m_(*run.machine),
      id_(id),
      global_(global),
      icache_(run.machine->fetch, run.machine->limits.subcores, run.program->step_count()),
      l1_(run.machine->l1, run.l1_bytes),
      banks_{run.machine->smem.banks, run.machine->smem.bank_bytes},
      extra_words_(run.machine->smem.banks) {
  ops.resize(run.program->step_count());
  ctas_.resize(run.ctas_per_sm);
  warps_.resize(size_t{run.ctas_per_sm} * run.warps_per_cta);
  cores_.resize(m_.limits.subcores);
  free_ctas_ = run.ctas_per_sm;
  if (run.asynchronous) wgmma_.resize(run.ctas_per_sm * ((run.warps_per_cta + WgmmaUnit::kWarps - 1) / WgmmaUnit::kWarps));
  for (uint32_t slot = 0; slot < warps_.size(); ++slot) {
    WarpSlot& w = warps_[slot];
    w.cta_slot = slot / run.warps_per_cta;
    w.index_in_cta = slot % run.warps_per_cta;
    w.subcore = slot % m_.limits.subcores;
    SubCore& core = cores_[w.subcore];
    w.place = static_cast<uint32_t>(core.warps.size());
    core.warps.push_back(static_cast<uint16_t>(slot));
    core.ready.push_back(kNever);
    core.pipe.push_back(Pipe::none);
  }
  for (SubCore& core : cores_) {
    core.mio_starts.assign(m_.smem.mio_queue, 0);
    core.lsu_starts.assign(m_.l1.lsu_queue, 0);
  }
}

uint32_t Sm::start_cta(isa::Dim3 ctaid, uint64_t linear, Cycle at) {
  TC_CHECK(free_ctas_ > 0, "SM {}: no free CTA slot at cycle {}", id_, at);
  uint32_t index = 0;
  while (ctas_[index].used) ++index;
  CtaSlot& slot = ctas_[index];
  slot.used = true;
  slot.linear = linear;
  slot.first_warp = index * run_.warps_per_cta;
  slot.warps_left = run_.warps_per_cta;
  slot.started = at;
  slot.barrier_free = at;
  slot.tensor_done = 0;
  slot.trace = run_.trace == nullptr ? nullptr : run_.trace->of(linear);
  if (slot.trace) slot.trace->start(id_, ctaid, run_.warps_per_cta, at);
  if (run_.program->tensor_memory && m_.tcgen05.latency > 0) {
    if (!tensor_memory_) tensor_memory_ = std::make_unique<isa::TensorMemory>();
    slot.cta.tensor = tensor_memory_.get();
    slot.cta.tensor_key = static_cast<uint32_t>(linear) + 1;
    tensor_memory_->reset(slot.cta.tensor_key);
  }
  slot.cta.start(*run_.program, *run_.launch, global_, ctaid, id_, run_.values_known);
  slot.cluster = nullptr;
  if (run_.asynchronous && run_.cluster_size == 1) {
    if (!slot.alone) slot.alone = std::make_unique<ClusterState>();
    *slot.alone = ClusterState{};
    slot.alone->members = {{id_, index}};
    slot.alone->cluster.connect({&slot.cta});
    slot.cluster = slot.alone.get();
  }
  --free_ctas_;
  wheel_.add(at, {Event::Kind::cta_start, 0, 0, index, 0});
  return index;
}

Cycle Sm::next_event() const {
  Cycle next = wheel_.next();
  for (const SubCore& core : cores_) next = std::min(next, core.next);
  return next;
}

void Sm::run(Cycle until) {
  while (true) {
    const Cycle t = next_event();
    if (t >= until) return;
    now_ = t;
    if (wheel_.next() == t) wheel_.deliver([this](const Event& event) { handle(event); });
    for (SubCore& core : cores_)
      if (core.next <= t)
        while (issue_from(core) && run_.lifted.issue_slots && faults.empty()) {}
    if (!faults.empty()) return;
  }
}

void Sm::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::response: handle_response(event.id); break;
    case Event::Kind::sleep_end: end_wait(event.warp, now_, Stall::sleeping); break;
    case Event::Kind::warp_wake: wake(event.warp); break;
    case Event::Kind::tma:
      if (tma_event_ == now_) {
        tma_event_ = kNever;
        run_tma();
      }
      break;
    case Event::Kind::wgmma:
      if (wgmma_event_ == now_) advance_wgmma();
      break;
    case Event::Kind::wgmma_result: {
      const uint32_t group = wgmma_results_.front();
      wgmma_results_.pop_front();
      finish_wgmma(group);
      break;
    }
    case Event::Kind::bulk_done: {
      const std::shared_ptr<BulkJob> job = std::move(done_jobs_[event.id]);
      free_done_.push_back(event.id);
      finish_job(job);
      break;
    }
    case Event::Kind::tcgen05: event.flags == 0 ? finish_tcgen05(event.id) : retry_tensor_alloc(event.warp); break;
    case Event::Kind::message: handle_message(event.id); break;
    case Event::Kind::time_out: time_out(event.warp, event.data); break;
    case Event::Kind::cta_start: {
      CtaSlot& slot = ctas_[event.id];
      if (resident_ctas_++ == 0) active_since_ = now_;
      if (counters[Counter::ctas_launched] == 0) constants_ready_ = now_ + m_.launch.first_cycles;
      counters[Counter::ctas_launched] += 1;
      for (uint32_t i = 0; i < run_.warps_per_cta; ++i) {
        const uint32_t index = slot.first_warp + i;
        WarpSlot& w = warps_[index];
        w.warp = &slot.cta.warps[i];
        w.trace = slot.trace;
        w.age = next_age_++;
        w.resident = true;
        w.issued = now_ - 1;
        w.stall_until = std::max(now_, constants_ready_);
        w.stall_reason = Stall::imc_miss;
        w.blocked = Blocked::no;
        w.fetch_line = ~0u;
        w.outstanding = 0;
        w.stores_leave = 0;
        w.tensor_read = w.tensor_written = 0;
        w.vain_waits = 0;
        w.cluster_lanes = 0;
        w.tokens.assign(run_.program->token_count, 0);
        w.loads.clear();
        w.free_loads.clear();
        plan(index);
      }
      break;
    }
  }
}

void Sm::wake(uint32_t slot) {
  if (warps_[slot].blocked == Blocked::stores) finish_warp(slot);
  else check_async_wait(slot);
}

void Sm::report_fault(uint32_t slot, const std::string& error) {
  const WarpSlot& w = warps_[slot];
  Diagnostic fault = isa::fault_diagnostic(*run_.module, *run_.launch, ctas_[w.cta_slot].cta, *w.warp, error);
  fault.text += fmt::format(" (SM {}, cycle {})", id_, now_);
  faults.push_back(std::move(fault));
}

/// The warp has no lanes left: its CTA slot is free when all warps are gone and their stores have left the SM. L2's answers matter to the
/// end of the launch only (H200: 549 cycles from the last of 64 KB of stores to the next CTA's start, 422 without any; burst.jsonl epilogue).
void Sm::finish_warp(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  if (w.outstanding > 0 || w.stores_leave > now_) {
    if (w.blocked != Blocked::stores) {
      w.blocked = Blocked::stores;
      w.arrived = now_;
      set_ready(w, kNever, Pipe::none);
    }
    if (w.outstanding == 0) wheel_.add(w.stores_leave, {Event::Kind::warp_wake, 0, static_cast<uint16_t>(slot), 0, 0});
    return;
  }
  if (w.blocked == Blocked::stores && now_ > w.arrived) {
    ops[w.op].stalls[static_cast<size_t>(Stall::drain)] += now_ - w.arrived;
    if (w.trace) w.trace->waited(w.index_in_cta, w.op, Stall::drain, w.arrived + 1, now_ + 1);  // the exit itself was `arrived`
  }
  w.resident = false;
  w.blocked = Blocked::no;
  set_ready(w, kNever, Pipe::none);
  CtaSlot& cta = ctas_[w.cta_slot];
  counters[Counter::warps_active] += now_ + 1 - cta.started;
  if (--cta.warps_left > 0) return;
  if (tensor_memory_) {
    if (const isa::TensorAllocation* held = tensor_memory_->held_by(cta.cta.tensor_key))
      return async_fault({"tmem-misuse", held->not_freed()}, cta, held->warp, held->inst);
    tensor_memory_->reset(cta.cta.tensor_key);
  }
  isa::MbarrierSource source;
  if (auto e = cta.cta.mbarriers.leftover(source)) return async_fault(e, cta, source.warp, source.inst);
  cta.used = false;
  ++free_ctas_;
  if (run_.asynchronous) {
    const uint32_t groups = (run_.warps_per_cta + WgmmaUnit::kWarps - 1) / WgmmaUnit::kWarps;
    wgmma_.reset_groups(w.cta_slot * groups, groups);
  }
  finished.push_back({now_ + m_.scheduler.exit_cycles, cta.linear, cta.cluster});
  last_active_ = std::max(last_active_, now_ + 1);
  if (--resident_ctas_ == 0) counters[Counter::cycles_active] += now_ + 1 - active_since_;
}

void Sm::handle_response(uint32_t id) {
  Request& request = requests_[id];
  if (request.job) {
    const std::shared_ptr<BulkJob> job = std::move(request.job);
    request.multicast = false;
    free_requests_.push_back(id);
    return bulk_response(job, static_cast<uint32_t>(std::popcount(request.sectors)) * m_.l1.sector_bytes);
  }
  inflight_sectors_ -= static_cast<uint32_t>(std::popcount(request.sectors));
  while (!held_back_.empty() && inflight_sectors_ + static_cast<uint32_t>(std::popcount(held_back_.front().sectors)) <= m_.l1.miss_queue_sectors) {
    MemRequest held = held_back_.front();
    held_back_.pop_front();
    held.cycle = now_;
    inflight_sectors_ += static_cast<uint32_t>(std::popcount(held.sectors));
    outbox.push_back(held);
  }
  if (request.in_l1) {
    if (L1Tags::Line* line = l1_.find(request.line); line != nullptr && (line->pending & request.sectors)) {
      line->pending &= static_cast<uint8_t>(~request.sectors);
      line->valid |= request.sectors;
    }
  }
  std::vector<Waiter> waiters;
  waiters.swap(request.waiters);
  if (request.is_store) store_acknowledged();
  free_requests_.push_back(id);
  for (const Waiter& waiter : waiters) {
    if (waiter.copy != 0) {
      const uint64_t key = uint64_t{waiter.warp} << 32 | waiter.copy;
      const auto it = copies_.find(key);
      if (it != copies_.end() && --it->second.responses == 0) {
        copies_.erase(it);
        complete_copy(waiter.warp, waiter.copy);
      }
      continue;
    }
    WarpSlot& w = warps_[waiter.warp];
    LoadSlot& load = w.loads[waiter.slot];
    if (--load.responses > 0) continue;
    const ReadyAt pending = pending_on(waiter.slot, load.reason), ready = ready_at(now_, load.reason);
    for (ReadyAt& token : w.tokens)
      if (token == pending) token = ready;
    w.free_loads.push_back(waiter.slot);
    if (w.blocked == Blocked::load) plan(waiter.warp);
  }
}

void Sm::store_acknowledged() {
  --stores_open_;
  last_active_ = std::max(last_active_, now_ + 1);
}

std::vector<const isa::Cta*> Sm::resident_ctas() const {
  std::vector<const isa::Cta*> list;
  for (const CtaSlot& slot : ctas_)
    if (slot.used) list.push_back(&slot.cta);
  return list;
}

}  // namespace tcsim::sim
