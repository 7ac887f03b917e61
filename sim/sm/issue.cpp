// Choosing a warp, issuing its operation, charging what it waited for.
#include <algorithm>
#include <bit>

#include "sim/sm/pipes.h"
#include "sim/sm/sm.h"

namespace tcsim::sim {

void Sm::set_ready(WarpSlot& w, Cycle ready, Pipe pipe) {
  SubCore& core = cores_[w.subcore];
  core.ready[w.place] = ready;
  core.pipe[w.place] = pipe;
  if (ready != kNever) core.next = std::min(core.next, std::max({ready, core.pipe_free[static_cast<size_t>(pipe)], now_}));
}

/// Looks at the warp's next operation: when can it issue, and what does it wait for until then?
void Sm::plan(uint32_t slot, ReadyAt at_least) {
  WarpSlot& w = warps_[slot];
  if (!w.warp->runnable()) {
    w.blocked = Blocked::warp_split;
    w.arrived = now_;
    return set_ready(w, kNever, Pipe::none);
  }
  const LoweredProgram& program = *run_.program;
  w.op = w.warp->pc();
  w.blocked = Blocked::no;
  const MachineOp& op = program.ops[w.op];
  ReadyAt depends = at_least;
  const uint32_t line = icache_.line_of(w.op);
  if (line != w.fetch_line) {
    w.fetch_line = line;
    const Cycle fetched = icache_.fetch(w.subcore, line, now_, counters[Counter::icache_misses]);
    if (fetched > now_) depends = std::max(depends, ready_at(fetched, Stall::no_instruction));
  }
  for (const Token token : program.sources(op)) depends = std::max(depends, w.tokens[token]);
  w.depends = depends;
  if (depends & kPendingBit) {
    w.blocked = Blocked::load;
    w.arrived = now_;
    return set_ready(w, kNever, Pipe::none);
  }
  set_ready(w, std::max(ready_cycle(depends), w.stall_until), pipe_of(op.timing));
}

void Sm::update_next(SubCore& core) {
  Cycle next = kNever;
  for (size_t i = 0; i < core.warps.size(); ++i) next = std::min(next, std::max(core.ready[i], core.pipe_free[static_cast<size_t>(core.pipe[i])]));
  core.next = next == kNever ? kNever : std::max(next, now_ + 1);
}

bool Sm::issue_from(SubCore& core) {
  uint32_t chosen = ~0u;
  uint64_t age = 0;
  for (size_t i = 0; i < core.warps.size(); ++i) {
    if (std::max(core.ready[i], core.pipe_free[static_cast<size_t>(core.pipe[i])]) > now_) continue;
    const uint16_t slot = core.warps[i];
    if (m_.scheduler.greedy && slot == core.last) {
      chosen = slot;
      break;
    }
    if (chosen == ~0u || warps_[slot].age > age) {
      chosen = slot;
      age = warps_[slot].age;
    }
  }
  if (chosen != ~0u) issue(core, chosen);
  update_next(core);
  return chosen != ~0u;
}

/// Distributes the cycles since the last issue over the reasons, in the order in which they held the warp back.
void Sm::charge(const SubCore& core, WarpSlot& w) {
  auto& stalls = ops[w.op].stalls;
  Cycle from = w.issued + 1;
  const auto until = [&](Stall reason, Cycle to) {
    to = std::min(to, now_);
    if (to <= from) return;
    stalls[static_cast<size_t>(reason)] += to - from;
    if (w.trace) [[unlikely]]
      w.trace->waited(w.index_in_cta, w.op, reason, from, to);
    from = to;
  };
  until(w.stall_reason, w.stall_until);
  until(ready_reason(w.depends), ready_cycle(w.depends));
  const size_t pipe = static_cast<size_t>(core.pipe[w.place]);
  // Distance between instructions of one warp on one pipe is in its code (stall counts): ncu shows it as "wait".
  if (core.warps[w.place] == core.pipe_user[pipe]) until(Stall::wait, core.pipe_spaced[pipe]);
  until(throttle_reason(core.pipe[w.place]), core.pipe_free[pipe]);
  until(Stall::not_selected, now_);
  stalls[static_cast<size_t>(Stall::selected)] += 1;
  if (w.trace) [[unlikely]]
    w.trace->issued(w.index_in_cta, w.op, now_);
}

void Sm::set_results(WarpSlot& w, const MachineOp& op, ReadyAt value) {
  for (const Token token : run_.program->results(op)) w.tokens[token] = value;
}

void Sm::apply_copies(WarpSlot& w, const MachineOp& op) {
  const TokenCopy* copy = run_.program->copies.data() + op.copies;
  for (uint32_t i = 0; i < op.copy_count; ++i) w.tokens[copy[i].to] = w.tokens[copy[i].from];
}

void Sm::issue(SubCore& core, uint32_t slot) {
  WarpSlot& w = warps_[slot];
  const LoweredProgram& program = *run_.program;
  const MachineOp& op = program.ops[w.op];
  charge(core, w);
  if (now_ < first_issue_) first_issue_ = now_;
  w.issued = now_;
  core.last = static_cast<uint16_t>(slot);

  w.warp->ctx.clock = now_;
  w.warp->ctx.globaltimer_ns = static_cast<uint64_t>(static_cast<double>(now_) * 1000 / m_.chip.clock_mhz);
  const uint32_t live_before = w.warp->live();
  const isa::Control control = w.warp->step();
  OpStats& stats = ops[w.op];
  const uint32_t threads = static_cast<uint32_t>(std::popcount(w.warp->last_active()));
  stats.executed += 1;
  stats.threads += threads;
  counters[Counter::inst_executed] += 1;
  counters[Counter::thread_inst_executed] += threads;
  counters[Counter::issue_active] += 1;
  if (w.warp->ctx.fx.issued != 0) [[unlikely]] {
    issue_async(slot, op);
    if (!faults.empty()) return;
  }
  if (w.warp->ctx.fx.hazard != 0) hazards.add(ctas_[w.cta_slot].cta, *w.warp);
  if (w.warp->ctx.fx.fault.kind != nullptr) return report_fault(slot);

  const cfg::OpTiming& timing = m_.of(op.timing);
  const Pipe pipe = core.pipe[w.place];
  Cycle ready = now_ + timing.latency;
  uint32_t interval = timing.interval, load_slot = 0;
  bool pending = false;
  w.stall_until = now_ + std::max<uint32_t>(1, timing.stall) + op.read_cycles;
  w.stall_reason = wait_reason(op.timing) == Stall::membar ? Stall::membar : Stall::wait;
  counters[Counter::register_bank_conflict_cycles] += op.read_cycles;
  if (op.timing == isa::TimingClass::mma) {
    const cfg::MmaTiming& row = *program.mma_rows[op.mma_row];
    interval = row.interval / op.mma_steps;
    ready = now_ + std::max(1u, row.latency - std::min(row.latency, interval * (op.mma_steps - 1u)));  // latency: from the first step
    w.stall_until = now_ + std::max<uint32_t>(1, row.stall) + op.read_cycles;
    counters[Counter::tensor_cycles_active] += interval;
  }
  if (run_.lifted.issue_slots) w.stall_until = now_;
  if (w.trace && op.timing == isa::TimingClass::tcgen05_alloc) [[unlikely]]
    trace_tensor_allocation(w);
  if (pipe == Pipe::tensor_memory) interval = access_tensor_memory(w, op, interval);
  if (pipe != Pipe::none) {
    core.pipe_free[static_cast<size_t>(pipe)] = now_ + interval;
    core.pipe_spaced[static_cast<size_t>(pipe)] = now_ + interval;
    core.pipe_user[static_cast<size_t>(pipe)] = static_cast<uint16_t>(slot);
  }
  if (pipe == Pipe::mio || pipe == Pipe::lsu) memory_op(core, slot, op, ready, pending, load_slot);
  set_results(w, op, pending ? pending_on(load_slot, w.loads[load_slot].reason) : ready_at(ready, wait_reason(op.timing)));
  if (op.copy_count != 0) apply_copies(w, op);

  if (const uint32_t gone = live_before & ~w.warp->live(); gone != 0) {
    std::vector<isa::CtaBarriers::Release> released;
    CtaSlot& cta = ctas_[w.cta_slot];
    if (cta.cta.barriers.exit(static_cast<uint32_t>(std::popcount(gone)), released)) release_barrier(cta, released);
    if (cta.cluster != nullptr) lanes_exited(slot, gone);
    if (w.warp->exited()) return finish_warp(slot);
  }
  if (program.wgmma_serialised && (w.warp->ctx.fx.issued & isa::Effects::kWgmma) && w.warp->runnable()) {
    w.warp->wgmma.commit();
    w.wait_keep = 0;
    w.wait_lanes = w.warp->last_active();
    return begin_wait(slot, Blocked::wgmma);
  }
  if (control != isa::Control::next) return handle_control(slot, control);
  if (op.ends_block && w.warp->runnable() && w.warp->pc() != w.op + 1) {
    w.stall_until = now_ + m_.scheduler.branch_taken_cycles;
    w.stall_reason = Stall::branch_resolving;
  }
  plan(slot);
}

void Sm::handle_control(uint32_t slot, isa::Control control) {
  WarpSlot& w = warps_[slot];
  const isa::Effects& fx = w.warp->ctx.fx;
  const uint32_t lanes = w.warp->last_active();
  CtaSlot& cta = ctas_[w.cta_slot];
  switch (control) {
    case isa::Control::barrier: {
      counters[Counter::barrier_waits] += 1;
      std::vector<isa::CtaBarriers::Release> released;
      std::string error;
      const bool waits = fx.barrier.kind != isa::BarrierRequest::Kind::arrive;
      cta.barrier_free = std::max(cta.barrier_free, now_) + m_.scheduler.barrier_warp_cycles;
      const bool complete = cta.cta.barriers.arrive(fx.barrier, w.index_in_cta, lanes, released, error);
      if (!error.empty()) return report_fault(slot, error);
      if (waits) begin_wait(slot, Blocked::barrier);
      else plan(slot);
      if (complete) release_barrier(cta, released);
      return;
    }
    case isa::Control::async_commit: w.warp->async.commit(lanes); return plan(slot);
    case isa::Control::async_wait:
      w.wait_keep = fx.count;
      w.waits_all = fx.flag;
      w.wait_lanes = lanes;
      if (w.warp->async.satisfied(lanes, w.wait_keep, w.waits_all))
        return plan(slot, ready_at(now_ + m_.of(isa::TimingClass::depbar).latency, Stall::wait));
      return begin_wait(slot, Blocked::async_group);
    case isa::Control::async_arrive:
      w.warp->async.arrive_on(lanes, static_cast<uint32_t>(fx.count), fx.flag);
      deliver_arrivals(slot);
      return plan(slot);
    case isa::Control::sleep: {
      const Cycle cycles = static_cast<Cycle>(static_cast<double>(fx.count) * m_.chip.clock_mhz / 1000.0);
      begin_wait(slot, Blocked::sleep);
      wheel_.add(now_ + std::max<Cycle>(1, cycles), {Event::Kind::sleep_end, 0, static_cast<uint16_t>(slot), 0, 0});
      return;
    }
    case isa::Control::trap: return report_fault(slot);
    default:
      if (!async_control(slot, control)) plan(slot);
  }
}

void Sm::begin_wait(uint32_t slot, Blocked kind) {
  WarpSlot& w = warps_[slot];
  w.warp->block();
  // Another split of the warp goes on, unless the wait needs nothing from it: then the hardware holds the whole warp.
  const bool holds_warp = kind == Blocked::bulk_group || kind == Blocked::async_group || kind == Blocked::wgmma;
  if (!holds_warp && w.warp->runnable()) return plan(slot);
  w.blocked = kind;
  w.arrived = now_;
  if (w.trace) trace_wait(w);
  set_ready(w, kNever, Pipe::none);
}

void Sm::end_wait(uint32_t slot, Cycle ready, Stall reason) {
  WarpSlot& w = warps_[slot];
  if (w.trace) w.trace->resumed(w.index_in_cta, now_);
  if (w.blocked == Blocked::sleep) w.warp->unblock(w.warp->blocked());
  plan(slot, ready_at(ready, reason));
}

void Sm::release_barrier(CtaSlot& cta, const std::vector<isa::CtaBarriers::Release>& released) {
  const Cycle ready = std::max(now_, cta.barrier_free) + m_.scheduler.barrier_cycles;
  for (const auto& release : released) {
    const uint32_t slot = cta.first_warp + release.warp;
    warps_[slot].warp->unblock(release.lanes, release.red_result);
    const Blocked blocked = warps_[slot].blocked;
    if (blocked == Blocked::barrier || blocked == Blocked::warp_split) end_wait(slot, ready, Stall::barrier);
    else if (blocked == Blocked::mbarrier) end_mbarrier_wait(slot, false, ready);  // lanes that waited at the barrier go on
  }
}

void Sm::check_async_wait(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  if (w.blocked != Blocked::async_group || !w.warp->async.satisfied(w.wait_lanes, w.wait_keep, w.waits_all)) return;
  w.warp->unblock(w.wait_lanes);
  end_wait(slot, now_ + m_.of(isa::TimingClass::depbar).latency, Stall::long_scoreboard);
}

}  // namespace tcsim::sim
