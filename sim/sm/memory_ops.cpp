// Shared-memory instructions in the MIO pipe, global ones through LSU and L1, cp.async.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "sim/sm/pipes.h"
#include "sim/sm/sm.h"

namespace tcsim::sim {
namespace {

Cycle up(double cycles) { return static_cast<Cycle>(std::ceil(cycles)); }

/// Remembers when the newest entry leaves a queue of fixed depth; returns when the queue has room again.
Cycle push(std::vector<Cycle>& starts, uint32_t& head, Cycle start) {
  starts[head] = start;
  head = (head + 1) % starts.size();
  return starts[head];
}

/// Passes of the banks that write a cp.async: its bytes over the width of the banks. (Rows shorter than the banks count as
/// more wavefronts in ncu, but charging the pipe for them contradicts the run times of kernels that are bound by it.)
uint32_t copy_wavefronts(const isa::AsyncCopy& copy, const cfg::Machine& m) {
  const uint32_t row = m.smem.banks * m.smem.bank_bytes;
  return std::max<uint32_t>(1, (static_cast<uint32_t>(std::popcount(copy.mask)) * copy.bytes + row - 1) / row);
}

}  // namespace

/// An instruction of `wavefronts` passes enters the shared pipe: it takes its sub-core's own data path and the SM's banks.
Cycle Sm::enter_mio(SubCore& core, uint32_t wavefronts, double per_wavefront, bool yields) {
  const double start = std::max({mio_free_, core.mio_path_free, static_cast<double>(now_)});
  if (yields && wgmma_.busy()) {  // operands of wgmma go first at the port
    const double left = std::max(m_.wgmma.port_left, 1.0 - wgmma_.port_share()), own = wavefronts * per_wavefront;
    const double until = std::max(0.0, wgmma_.busy_until() - start);
    per_wavefront += std::min(own / left - own, until * (1.0 - left)) / wavefronts;
  }
  if (yields && tensor_memory_ != nullptr) {  // and those of tcgen05: the share that they leave, at most until they are through
    if (const Tcgen05Unit::Port port = tcgen05_.port(start); port.share > 0) {
      const double left = std::max(m_.tcgen05.port_left, 1.0 - port.share), own = wavefronts * per_wavefront;
      per_wavefront += std::min(own / left - own, (port.until - start) * (1.0 - left)) / wavefronts;
    }
  }
  counters[Counter::mio_arbitration_cycles] += static_cast<uint64_t>(start) - now_;
  mio_free_ = start + std::max<double>(wavefronts * per_wavefront, m_.smem.issue_interval);
  core.mio_path_free = start + wavefronts * m_.smem.subcore_wavefront_cycles;
  Cycle& free = core.pipe_free[static_cast<size_t>(Pipe::mio)];
  free = std::max(free, push(core.mio_starts, core.mio_head, up(start)));
  return up(start);
}

Cycle Sm::enter_lsu(SubCore& core, double cost) {
  const double start = std::max(lsu_free_, static_cast<double>(now_));
  lsu_free_ = start + cost;
  Cycle& free = core.pipe_free[static_cast<size_t>(Pipe::lsu)];
  free = std::max(free, push(core.lsu_starts, core.lsu_head, up(start)));
  return up(start);
}

/// A shared-memory instruction: its wavefronts in the pipe. Returns when the result can be used.
Cycle Sm::shared_access(SubCore& core, const MachineOp& op, const isa::Access& access) {
  Wavefronts w = count_wavefronts(access, banks_, run_.lifted.bank_conflicts ? std::span<uint32_t>() : extra_words_);
  if (run_.lifted.bank_conflicts) w.total = w.ideal;
  const bool store = access.kind == isa::AccessKind::store || access.kind == isa::AccessKind::stmatrix;
  const double per_wavefront = store ? m_.smem.store_wavefront_cycles : m_.smem.wavefront_cycles;
  OpStats& stats = ops[static_cast<size_t>(&op - run_.program->ops.data())];
  stats.wavefronts += w.total;
  stats.wavefronts_ideal += w.ideal;
  counters[store ? Counter::smem_wavefronts_st : Counter::smem_wavefronts_ld] += w.total;
  counters[Counter::smem_wavefronts] += w.total;
  counters[store ? Counter::smem_conflicts_st : Counter::smem_conflicts_ld] += w.conflicts();
  counters[Counter::smem_conflicts] += w.conflicts();
  if (access.kind == isa::AccessKind::ldmatrix) counters[Counter::smem_conflicts_ldsm] += w.conflicts();
  if (access.kind == isa::AccessKind::stmatrix) counters[Counter::smem_conflicts_stsm] += w.conflicts();
  if (w.conflicts() != 0) note_conflict(op.inst, access);
  const Cycle start = enter_mio(core, w.total, per_wavefront);
  return start + m_.of(op.timing).latency + up((w.total - 1) * m_.smem.subcore_wavefront_cycles);
}

/// extra_words_ holds the access's own; it is zero again afterwards.
void Sm::note_conflict(uint32_t inst, const isa::Access& access) {
  InstructionConflicts& known = conflicts[inst];
  if (known.extra.empty()) known = {describe_conflict(access, banks_), std::vector<uint64_t>(banks_.count)};
  for (uint32_t bank = 0; bank < banks_.count; ++bank) known.extra[bank] += std::exchange(extra_words_[bank], 0);
}

void Sm::memory_op(SubCore& core, uint32_t slot, const MachineOp& op, Cycle& ready, bool& pending, uint32_t& load_slot) {
  using isa::AccessKind;
  WarpSlot& w = warps_[slot];
  const isa::Effects& fx = w.warp->ctx.fx;
  if (fx.has_copy) return async_copy(core, slot);
  if (fx.access.kind == AccessKind::none || fx.access.mask == 0) {
    // No address: shfl, s2r, or all lanes predicated off. An operation of a sequence (wmma.load) whose accesses are
    // made by its last one costs its issue only.
    const bool runs_something = run_.program->first[w.op] != run_.program->first[w.op + 1];
    if (core.pipe[w.place] == Pipe::mio && runs_something) ready = enter_mio(core, 1, 1.0) + m_.of(op.timing).latency;
    return;
  }
  const isa::Space space = fx.access.space;
  if (space == isa::Space::param || space == isa::Space::constant || fx.access.kind == AccessKind::prefetch) return;
  const bool shared = space == isa::Space::shared;
  const bool store = fx.access.kind == AccessKind::store || fx.access.kind == AccessKind::atomic;
  const bool with_result = fx.access.kind == AccessKind::atomic && op.results != 0;
  if (!shared && (!store || with_result)) load_slot = new_load(w, 0, Stall::long_scoreboard);
  Cycle latest = ready;
  for (uint32_t i = 0; i <= fx.more_count; ++i) {
    const isa::Access& access = i == 0 ? fx.access : fx.more[i - 1];
    if (shared && access.remote) latest = std::max(i == 0 ? Cycle{0} : latest, remote_access(core, access));
    else if (shared) latest = i == 0 ? shared_access(core, op, access) : std::max(latest, shared_access(core, op, access));
    else if (store) global_store(core, slot, access, with_result, load_slot);
    else latest = i == 0 ? global_load(core, slot, op, access, load_slot) : std::max(latest, global_load(core, slot, op, access, load_slot));
  }
  ready = latest;
  if (shared || (store && !with_result)) return;
  pending = w.loads[load_slot].responses != 0;
  if (!pending) w.free_loads.push_back(load_slot);
}

/// Local memory is private: each warp's window is its own range of line addresses, far from the global ones.
uint64_t Sm::private_lines(const WarpSlot& w, isa::Space space) const {
  if (space != isa::Space::local) return 0;
  const uint64_t slot = static_cast<uint64_t>(&w - warps_.data());
  return 1ull << 58 | uint64_t{id_} << 40 | slot << 24;
}

uint32_t Sm::new_load(WarpSlot& w, uint32_t responses, Stall reason) {
  uint32_t index;
  if (w.free_loads.empty()) {
    index = static_cast<uint32_t>(w.loads.size());
    w.loads.emplace_back();
  } else {
    index = w.free_loads.back();
    w.free_loads.pop_back();
  }
  w.loads[index] = {responses, 0, 0, reason, false};
  return index;
}

uint32_t Sm::new_request(uint64_t line, uint8_t sectors) {
  uint32_t id;
  if (free_requests_.empty()) {
    id = static_cast<uint32_t>(requests_.size());
    requests_.emplace_back();
  } else {
    id = free_requests_.back();
    free_requests_.pop_back();
  }
  Request& request = requests_[id];
  request.line = line;
  request.sectors = sectors;
  request.in_l1 = request.is_store = false;
  request.waiters.clear();
  return id;
}

uint32_t Sm::send(uint64_t line, uint8_t sectors, MemRequest::Kind kind, Cycle at) {
  const uint32_t id = new_request(line, sectors);
  const uint32_t count = static_cast<uint32_t>(std::popcount(sectors));
  counters[kind == MemRequest::Kind::read ? Counter::l1_fill_bytes : Counter::l1_store_bytes] += count * m_.l1.sector_bytes;
  const MemRequest request{at, line, id, static_cast<uint16_t>(id_), kind, sectors};
  if (!held_back_.empty() || inflight_sectors_ + count > m_.l1.miss_queue_sectors) {
    held_back_.push_back(request);
  } else {
    inflight_sectors_ += count;
    outbox.push_back(request);
  }
  return id;
}

Cycle Sm::global_load(SubCore& core, uint32_t slot, const MachineOp& op, const isa::Access& access, uint32_t load_slot) {
  coalesce(access, m_.l1.line_bytes, m_.l1.sector_bytes, lines_);
  const double data = lines_.sectors * m_.l1.sector_bytes / m_.l1.data_bytes_per_cycle;
  const Cycle start = enter_lsu(core, std::max(lines_.count * m_.l1.tag_cycles, data));
  OpStats& stats = ops[static_cast<size_t>(&op - run_.program->ops.data())];
  stats.lines += lines_.count;
  stats.sectors += lines_.sectors;
  counters[Counter::l1_requests] += lines_.count;
  counters[Counter::l1_sectors] += lines_.sectors;
  WarpSlot& w = warps_[slot];
  uint32_t responses = 0;
  for (uint32_t i = 0; i < lines_.count; ++i) {
    const uint64_t line = lines_.lines[i].line | private_lines(w, access.space);
    const Cycle at = start + up(i * m_.l1.tag_cycles);
    const Waiter waiter{static_cast<uint16_t>(slot), static_cast<uint16_t>(load_slot), 0};
    responses += fetch_line(line, lines_.lines[i].sectors, access.cache_global, at, waiter);
  }
  stats.l1_hits += responses == 0;
  w.loads[load_slot].responses += responses;
  return start + m_.l1.hit_cycles + up((lines_.count - 1) * m_.l1.subcore_line_cycles);
}

/// Looks a line up in L1 and asks L2 for what is missing. True when `waiter` will be told by a response.
bool Sm::fetch_line(uint64_t line, uint8_t sectors, bool bypass_l1, Cycle at, const Waiter& waiter) {
  L1Tags::Line* entry = bypass_l1 ? nullptr : l1_.access(line);
  if (entry != nullptr) {
    counters[Counter::l1_sectors_hit] += static_cast<uint32_t>(std::popcount(static_cast<uint32_t>(sectors & entry->valid)));
    sectors = static_cast<uint8_t>(sectors & ~entry->valid);
    if (sectors == 0) return false;
    if ((sectors & entry->pending) == sectors) {  // on its way already
      requests_[entry->request].waiters.push_back(waiter);
      return true;
    }
  }
  const uint32_t id = send(line, sectors, MemRequest::Kind::read, at);
  requests_[id].waiters.push_back(waiter);
  if (entry != nullptr) {
    requests_[id].in_l1 = true;
    entry->pending |= sectors;
    entry->request = id;
  }
  return true;
}

/// The way into the crossbar is narrower than L1: stores wait for it in a buffer, and when that is full, so do the sub-core's next accesses.
void Sm::hold_stores(SubCore& core, uint32_t bytes) {
  if (m_.l1.store_buffer_bytes == 0 || run_.lifted.stores) return;
  stores_leave_ = std::max(stores_leave_, static_cast<double>(now_)) + bytes / m_.l1.store_bytes_per_cycle;
  const double room = stores_leave_ - m_.l1.store_buffer_bytes / m_.l1.store_bytes_per_cycle;
  Cycle& free = core.pipe_free[static_cast<size_t>(Pipe::lsu)];
  if (room > static_cast<double>(free)) free = up(room);
}

void Sm::global_store(SubCore& core, uint32_t slot, const isa::Access& access, bool with_result, uint32_t load_slot) {
  coalesce(access, m_.l1.line_bytes, m_.l1.sector_bytes, lines_);
  const Cycle start =
      enter_lsu(core, std::max<double>(lines_.count * m_.l1.tag_cycles, lines_.sectors * m_.l1.sector_bytes / m_.l1.data_bytes_per_cycle));
  hold_stores(core, lines_.sectors * m_.l1.sector_bytes);
  WarpSlot& w = warps_[slot];
  w.stores_leave = up(stores_leave_);
  const bool atomic = access.kind == isa::AccessKind::atomic;
  const MemRequest::Kind kind = !atomic ? MemRequest::Kind::write : with_result ? MemRequest::Kind::atomic : MemRequest::Kind::reduction;
  OpStats& stats = ops[w.op];
  stats.lines += lines_.count;
  stats.sectors += lines_.sectors;
  for (uint32_t i = 0; i < lines_.count; ++i) {
    const uint64_t line = lines_.lines[i].line | private_lines(w, access.space);
    const uint8_t sectors = lines_.lines[i].sectors;
    if (L1Tags::Line* entry = atomic ? l1_.find(line) : nullptr) entry->valid &= static_cast<uint8_t>(~sectors);
    const uint32_t id = send(line, sectors, kind, start + up(i * m_.l1.tag_cycles));
    requests_[id].is_store = true;
    ++stores_open_;
    if (!with_result) continue;
    requests_[id].waiters.push_back({static_cast<uint16_t>(slot), static_cast<uint16_t>(load_slot), 0});
    ++w.loads[load_slot].responses;
  }
}

void Sm::async_copy(SubCore& core, uint32_t slot) {
  WarpSlot& w = warps_[slot];
  isa::Effects& fx = w.warp->ctx.fx;
  const isa::AsyncCopy& copy = fx.copy;
  isa::Access access = fx.access;
  access.kind = isa::AccessKind::load;
  access.bytes = copy.bytes;
  access.mask = 0;
  for (uint32_t lane = 0; lane < isa::kLanes; ++lane) {
    access.address[lane] = copy.src[lane];
    if ((copy.mask >> lane & 1) && copy.src_bytes[lane] != 0) access.mask |= 1u << lane;
    counters[Counter::ldgsts_bytes] += copy.mask >> lane & 1 ? copy.src_bytes[lane] : 0;
  }
  // The bytes pass the banks when they are written; the pipe is charged for them where the instruction enters it.
  const uint32_t wavefronts = copy_wavefronts(copy, m_);
  // (They arrive as TMA's do, which do not yield to wgmma: hopper.jsonl wgmma_contention.)
  enter_mio(core, wavefronts, m_.smem.store_wavefront_cycles + m_.smem.async_copy_cycles / wavefronts, false);
  const uint32_t id = w.warp->async.issue(copy);
  coalesce(access, m_.l1.line_bytes, m_.l1.sector_bytes, lines_);
  const double start = std::max(lsu_free_, static_cast<double>(now_));
  lsu_free_ = start + lines_.count * m_.l1.tag_cycles;
  OpStats& stats = ops[w.op];
  stats.lines += lines_.count;
  stats.sectors += lines_.sectors;
  counters[Counter::l1_requests] += lines_.count;
  counters[Counter::l1_sectors] += lines_.sectors;
  uint32_t responses = 0;
  for (uint32_t i = 0; i < lines_.count; ++i)
    responses += fetch_line(lines_.lines[i].line, lines_.lines[i].sectors, access.cache_global, up(start + i * m_.l1.tag_cycles),
                            {static_cast<uint16_t>(slot), 0, id});
  if (responses == 0) {
    // Nothing to fetch (zero fill or L1 hits): the bytes land after an L1 hit's time.
    const uint32_t local = new_request(0, 0);
    requests_[local].waiters.push_back({static_cast<uint16_t>(slot), 0, id});
    wheel_.add(up(start) + m_.l1.hit_cycles, {Event::Kind::response, 0, 0, local, 0});
    responses = 1;
  }
  copies_[uint64_t{slot} << 32 | id] = {responses};
  ++w.outstanding;
}

/// cp.async.mbarrier.arrive: arrivals that became due.
void Sm::deliver_arrivals(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  if (!w.warp->async.has_arrivals()) return;
  for (const auto& arrival : w.warp->async.take_arrivals()) {
    const uint32_t count = static_cast<uint32_t>(std::popcount(arrival.lanes));
    CtaSlot& cta = ctas_[w.cta_slot];
    const isa::MbarrierSource source{isa::MbarrierSource::Kind::cp_async, static_cast<uint8_t>(cta.cta.rank), static_cast<uint16_t>(w.index_in_cta),
                                     w.warp->last_inst()};
    if (auto e = cta.cta.mbarriers.arrive(arrival.offset, {.count = count}, source)) return async_fault(e, cta, w.index_in_cta, w.warp->last_inst());
    wake_mbarrier_waiters(cta);
  }
}

void Sm::complete_copy(uint32_t slot, uint32_t copy) {
  WarpSlot& w = warps_[slot];
  isa::WindowMemory& shared = ctas_[w.cta_slot].cta.shared;
  w.warp->async.complete(copy, global_, shared);
  deliver_arrivals(slot);
  check_async_wait(slot);
  if (--w.outstanding == 0 && w.blocked == Blocked::stores) finish_warp(slot);
}

}  // namespace tcsim::sim
