#include "isa/exec/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tcsim::isa {
namespace {

std::string str(const Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

const char* kind_of(uint8_t bit) {
  switch (bit) {
    case kUninitialisedRead: return "uninitialised-read";
    case kMissingWait: return "missing-wait";
    default: return "overwrite-in-flight";
  }
}

const char* text_of(uint8_t bit) {
  switch (bit) {
    case kUninitialisedRead: return "reads bytes that were never written";
    case kMissingWait: return "reads bytes that a cp.async in flight will write (a wait is missing)";
    default: return "overwrites bytes that a cp.async in flight will write";
  }
}

std::string source_note(const Module& module, const Inst& inst) {
  const std::string source = module.source_of(inst);
  // Without .loc the source is the PTX line itself, which the place tells already.
  return inst.loc.file ? fmt::format(" ({})", source) : std::string{};
}

/// Group of the barrier id of a bar instruction.
int barrier_id_group(const Inst& inst) { return inst.op == Op::bar_red ? 1 : 0; }

/// What the mbarrier that the warp's last try_wait asked about is missing.
std::string describe_mbarrier_wait(const Cta& cta, const Warp& warp) {
  const MbarrierWait& wait = warp.ctx.fx.wait;
  const MbarrierUnit::Record* record = cta.mbarriers.find(wait.address.offset);
  if (record == nullptr) return fmt::format("waits on offset {} of shared memory, where no mbarrier is", wait.address.offset);
  const Mbarrier m = cta.mbarriers.word(wait.address.offset);
  return fmt::format("waits for a phase of parity {} of the mbarrier at offset {} to end: it is in phase {}, {} of {} arrivals and {} bytes are missing",
                     wait.parity ? 1 : 0, wait.address.offset, record->phase, m.pending, m.expected, m.tx);
}

std::string describe_wait(const Cta& cta, const Warp& warp, const Inst& inst, uint32_t lanes) {
  const int lane = std::countr_zero(lanes);
  switch (inst.op) {
    case Op::bar_sync:
    case Op::bar_red: {
      const int g = barrier_id_group(inst);
      uint32_t id = 0;
      if (g < inst.group_count) {
        const Operand& op = inst.operand(g);
        id = op.kind == Operand::Kind::constant ? static_cast<uint32_t>(op.value) : warp.ctx.regs[op.slot * kLanes + lane];
      }
      const CtaBarriers::State s = cta.barriers.state(id);
      return fmt::format("waits at barrier {}: {} of {} threads arrived", id, s.arrived, s.expected);
    }
    case Op::cp_async_wait: return "waits for cp.async";
    case Op::mbarrier_try_wait: return describe_mbarrier_wait(cta, warp);
    case Op::wgmma_wait: return "waits for wgmma";
    case Op::cp_async_bulk_wait: return "waits for bulk copies";
    case Op::barrier_cluster_wait: return "waits for the other threads of the cluster";
    case Op::setmaxnreg: return fmt::format("waits for registers: {} are in the CTA's pool", cta.pooled_registers);
    case Op::nanosleep: return "sleeps";
    default: return fmt::format("lanes {:#x} wait for the other lanes of the warp", lanes);
  }
}

}  // namespace

Place place_of(const Module& module, const Inst& inst) { return {module.path, inst.line, inst.col}; }

Diagnostic fault_diagnostic(const Module& module, const LaunchInfo& launch, const Cta& cta, const Warp& warp, const std::string& error) {
  const Inst& inst = warp.program().kernel->insts[warp.last_inst()];
  const Fault& fault = warp.ctx.fx.fault;
  const bool own = error.empty();
  std::string where = fmt::format("CTA {}, warp {}", str(cta.id), warp.index());
  const int lane = own ? fault.lane : -1;
  if (lane >= 0) {
    const uint32_t t = warp.index() * kLanes + static_cast<uint32_t>(lane);
    const Dim3& b = launch.block;
    where = fmt::format("CTA {}, thread {}, warp {} lane {}", str(cta.id), str({t % b.x, t / b.x % b.y, t / b.x / b.y}), warp.index(), lane);
  }
  const char* kind = own ? (fault.kind ? fault.kind : "illegal-instruction") : "barrier-misuse";
  return {Severity::error, kind, place_of(module, inst),
          fmt::format("{}{}: '{}' in {}", own ? fault.text : error, source_note(module, inst), inst.text, where)};
}

Diagnostic async_fault_diagnostic(const Module& module, const Kernel& kernel, const Cta& cta, uint32_t warp, uint32_t inst, const MbarrierError& error) {
  const Inst& at = kernel.insts[inst];
  return {Severity::error, error.kind, place_of(module, at),
          fmt::format("{}{}: '{}' in CTA {}, warp {}", error.text, source_note(module, at), at.text, str(cta.id), warp)};
}

void HazardLog::add(const Cta& cta, const Warp& warp) {
  const Effects& fx = warp.ctx.fx;
  for (const uint8_t bit : {uint8_t{kUninitialisedRead}, uint8_t{kMissingWait}, uint8_t{kOverwriteInFlight}}) {
    if (!(fx.hazard & bit)) continue;
    Entry& e = entries_[{warp.last_inst(), bit}];
    if (e.count++ != 0) continue;
    e.cta = cta.id;
    e.warp = warp.index();
    e.lane = fx.hazard_lane;
    e.address = fx.hazard_address;
    e.space = fx.access.kind == AccessKind::cp_async ? Space::shared : fx.access.space;
    if (e.space != Space::global) {
      e.where = fmt::format("offset {} of {} memory", e.address, name(e.space));
    } else if (const Allocation* a = warp.ctx.global->nearest(e.address)) {
      e.where = fmt::format("byte {} of buffer '{}'", e.address - a->base, a->name);
    }
  }
}

void HazardLog::merge(const HazardLog& other) {
  for (const auto& [key, entry] : other.entries_) {
    const auto [it, added] = entries_.emplace(key, entry);
    if (!added) it->second.count += entry.count;
  }
}

void HazardLog::report(const Module& module, const Kernel& kernel, Diagnostics& diags) const {
  for (const auto& [key, e] : entries_) {
    const Inst& inst = kernel.insts[key.first];
    diags.warning(kind_of(key.second), place_of(module, inst),
                  fmt::format("'{}'{} {}: {} time{}, first at {}, CTA {} warp {} lane {}", inst.text, source_note(module, inst),
                              text_of(key.second), e.count, e.count == 1 ? "" : "s", e.where, str(e.cta), e.warp, e.lane));
  }
}

std::vector<std::string> describe_waiters(const Module& module, const Cta& cta) {
  std::vector<std::string> lines;
  for (const Warp& warp : cta.warps) {
    for (uint32_t rest = warp.live(); rest;) {
      const uint32_t at = warp.waiting_inst_of(std::countr_zero(rest));
      uint32_t lanes = 0;
      for (uint32_t m = rest; m; m &= m - 1)
        if (warp.waiting_inst_of(std::countr_zero(m)) == at) lanes |= m & -m;
      rest &= ~lanes;
      const Inst& inst = warp.program().kernel->insts[at];
      const uint32_t waiting = (warp.blocked() | warp.warp_barrier_lanes()) & lanes;
      lines.push_back(fmt::format("CTA {} warp {}{}: {}{} '{}' {}", str(cta.id), warp.index(),
                                  lanes == warp.live() ? "" : fmt::format(" lanes {:#x}", lanes), place_of(module, inst).str(),
                                  source_note(module, inst), inst.text, waiting ? describe_wait(cta, warp, inst, lanes) : "can run"));
    }
  }
  return lines;
}

Diagnostic deadlock_diagnostic(const Module& module, const std::vector<const Cta*>& ctas, size_t limit) {
  std::vector<std::string> lines;
  Place place{module.path, 0, 0};
  for (const Cta* cta : ctas) {
    for (const Warp& warp : cta->warps)
      if (!warp.exited() && place.line == 0)
        place = place_of(module, warp.program().kernel->insts[warp.waiting_inst_of(std::countr_zero(warp.live()))]);
    for (std::string& line : describe_waiters(module, *cta)) lines.push_back(std::move(line));
  }
  std::string text = "deadlock: no warp can go on";
  for (size_t i = 0; i < std::min(limit, lines.size()); ++i) text += "\n  " + lines[i];
  if (lines.size() > limit) text += fmt::format("\n  and {} more", lines.size() - limit);
  return {Severity::error, "deadlock", place, text};
}

}  // namespace tcsim::isa
