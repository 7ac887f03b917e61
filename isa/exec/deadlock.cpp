// The deadlock report: who waits for what, and who should have brought it.
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "isa/exec/report.h"

namespace tcsim::isa {
namespace {

using Share = MbarrierUnit::Share;
using Kind = MbarrierSource::Kind;

/// "warp 4", "warps 0-3, 8".
std::string warps_text(std::vector<uint32_t> warps) {
  std::sort(warps.begin(), warps.end());
  warps.erase(std::unique(warps.begin(), warps.end()), warps.end());
  std::string out;
  for (size_t i = 0; i < warps.size();) {
    size_t k = i;
    while (k + 1 < warps.size() && warps[k + 1] == warps[k] + 1) ++k;
    out += (out.empty() ? "" : ", ") + (k == i ? fmt::format("{}", warps[i]) : fmt::format("{}-{}", warps[i], warps[k]));
    i = k + 1;
  }
  return (warps.size() == 1 ? "warp " : "warps ") + out;
}

class CtaReport {
 public:
  CtaReport(const Module& module, const Cta& cta) : module_(module), kernel_(*cta.warps[0].program().kernel), cta_(cta) {}

  /// Lines without the CTA's name.
  std::vector<std::string> lines() {
    collect();
    std::vector<std::string> out;
    for (const Group& g : groups_) out.push_back(fmt::format("{}{}: {}", warps_text(g.warps), g.lanes, g.text));
    for (const uint32_t offset : awaited_) describe_barrier(offset, out);
    return out;
  }

  void byte_mismatches(std::vector<Diagnostic>& out) const {
    for (const uint32_t offset : awaited_) {
      const MbarrierUnit::Record* record = cta_.mbarriers.find(offset);
      if (record == nullptr || record->in_flight != 0) continue;
      const Mbarrier m = cta_.mbarriers.word(offset);
      if (m.pending != 0 || m.tx == 0) continue;
      uint64_t expected = 0, delivered = 0;
      const Inst* at = &kernel_.insts[record->init_inst];
      for (const Share& s : record->now) {
        expected += s.expected;
        delivered += s.delivered;
        if (s.expected > 0) at = &kernel_.insts[s.source.inst];
      }
      out.push_back({Severity::error, "tma-byte-mismatch", place_of(module_, *at),
                     fmt::format("{}: expected {} B, delivered {} B, phase {} never completes: {}: '{}'{} in CTA {}", name(offset), expected,
                                 delivered, record->phase,
                                 m.tx > 0 ? fmt::format("expect_tx counts {} B that no copy brings", m.tx)
                                          : fmt::format("copies bring {} B that expect_tx does not count", -m.tx),
                                 brief(*at), source_note(module_, *at), str(cta_.id))});
    }
  }

 private:
  struct Group {
    std::vector<uint32_t> warps;
    std::string lanes, text;
  };

  std::string name(uint32_t offset) const {
    const std::string name = shared_name(module_, kernel_, offset);
    return name.empty() ? fmt::format("the mbarrier at offset {}", offset) : name;
  }
  std::string at(const Inst& inst) const { return fmt::format("{}{} '{}'", place_of(module_, inst).str(), source_note(module_, inst), brief(inst)); }

  void collect() {
    for (const Warp& warp : cta_.warps)
      for (uint32_t rest = warp.live(); rest;) {
        const uint32_t inst = warp.waiting_inst_of(std::countr_zero(rest));
        uint32_t lanes = 0;
        for (uint32_t m = rest; m; m &= m - 1)
          if (warp.waiting_inst_of(std::countr_zero(m)) == inst) lanes |= m & -m;
        rest &= ~lanes;
        add(warp, kernel_.insts[inst], lanes);
      }
  }

  void add(const Warp& warp, const Inst& inst, uint32_t lanes) {
    const bool waits = ((warp.blocked() | warp.warp_barrier_lanes()) & lanes) != 0;
    const std::string text = at(inst) + " " + (waits ? wait_text(warp, inst, lanes) : "can run");
    const std::string some = lanes == warp.live() ? "" : fmt::format(" lanes {:#x}", lanes);
    const auto it = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.text == text && g.lanes == some; });
    if (it != groups_.end()) it->warps.push_back(warp.index());
    else groups_.push_back({{warp.index()}, some, text});
  }

  std::string wait_text(const Warp& warp, const Inst& inst, uint32_t lanes) {
    const int lane = std::countr_zero(lanes);
    switch (inst.op) {
      case Op::bar_sync:
      case Op::bar_red: {
        const int g = inst.op == Op::bar_red ? 1 : 0;  // group of the barrier id
        uint32_t id = 0;
        if (g < inst.group_count) {
          const Operand& op = inst.operand(g);
          id = op.kind == Operand::Kind::constant ? static_cast<uint32_t>(op.value) : warp.ctx.regs[op.slot * kLanes + lane];
        }
        const CtaBarriers::State s = cta_.barriers.state(id);
        return fmt::format("waits at barrier {}: {} of {} threads arrived", id, s.arrived, s.expected);
      }
      case Op::cp_async_wait: return "waits for cp.async";
      case Op::mbarrier_try_wait: return mbarrier_wait_text(warp.mbarrier_wait_of(lane));
      case Op::wgmma_wait: return wgmma_wait_text(warp);
      case Op::cp_async_bulk_wait: return "waits for bulk copies";
      case Op::barrier_cluster_wait: return "waits for the other threads of the cluster";
      case Op::setmaxnreg: return fmt::format("waits for registers: {} are in the CTA's pool", cta_.pooled_registers);
      case Op::tcgen05_alloc: return "waits for columns of Tensor Memory that other allocations hold";
      case Op::nanosleep: return "sleeps";
      default: return fmt::format("lanes {:#x} wait for the other lanes of the warp", lanes);
    }
  }

  /// The other warps of the warpgroup have not issued as many wgmmas.
  std::string wgmma_wait_text(const Warp& warp) const {
    std::vector<uint32_t> behind;
    const size_t first = warp.index() / kWarpsPerGroup * kWarpsPerGroup, end = std::min(first + kWarpsPerGroup, cta_.warps.size());
    for (size_t w = first; w < end; ++w)
      if (cta_.warps[w].wgmma.issued() < warp.wgmma.issued()) behind.push_back(static_cast<uint32_t>(w));
    if (behind.empty()) return "waits for wgmma";
    return fmt::format("waits for wgmma: warp{} {} of the warpgroup {} not issued as many as this warp", behind.size() > 1 ? "s" : "",
                       fmt::join(behind, ", "), behind.size() > 1 ? "have" : "has");
  }

  std::string mbarrier_wait_text(const MbarrierWait& wait) {
    const uint32_t offset = wait.address.offset;
    const MbarrierUnit::Record* record = cta_.mbarriers.find(offset);
    if (record == nullptr) return fmt::format("waits on offset {} of shared memory, where no mbarrier is", offset);
    if (std::find(awaited_.begin(), awaited_.end(), offset) == awaited_.end()) awaited_.push_back(offset);
    const Mbarrier m = cta_.mbarriers.word(offset);
    // A wait for the other parity would have passed: the phase awaited is the current one.
    return fmt::format("waits for phase {} of {} (parity {}) to end; it is in phase {}: {} of {} arrivals and {} bytes are missing", record->phase,
                       name(offset), wait.parity ? 1 : 0, record->phase, m.pending, m.expected, m.tx);
  }

  /// Shares of one instruction, warps together.
  struct Contribution {
    MbarrierSource source;
    std::vector<uint32_t> warps;
    Share sum;
  };
  static std::vector<Contribution> contributions(const std::vector<Share>& shares) {
    std::vector<Contribution> out;
    for (const Share& s : shares) {
      auto it = std::find_if(out.begin(), out.end(), [&](const Contribution& c) {
        return c.source.kind == s.source.kind && c.source.inst == s.source.inst && c.source.rank == s.source.rank;
      });
      if (it == out.end()) it = out.insert(out.end(), Contribution{s.source, {}, {}});
      it->warps.push_back(s.source.warp);
      it->sum.arrivals += s.arrivals;
      it->sum.expected += s.expected;
      it->sum.delivered += s.delivered;
      it->sum.issued += s.issued;
    }
    return out;
  }

  std::string who(const Contribution& c) const {
    const std::string rank = c.source.rank == cta_.rank ? "" : fmt::format("CTA {} of the cluster, ", c.source.rank);
    return fmt::format("{}{} {}", rank, warps_text(c.warps), at(kernel_.insts[c.source.inst]));
  }

  static std::string did(const Contribution& c) {
    const Share& s = c.sum;
    if (c.source.kind == Kind::tensor) return fmt::format("{} arrivals of tcgen05.commit", s.arrivals);
    if (c.source.kind != Kind::thread)
      return s.arrivals ? fmt::format("{} arrivals of cp.async", s.arrivals)
                        : fmt::format("brought {} of {} bytes", s.delivered, std::max(s.issued, s.delivered));
    std::string text;
    if (s.arrivals) text += fmt::format("{} arrival{}", s.arrivals, s.arrivals == 1 ? "" : "s");
    if (s.expected) text += fmt::format("{}expects {} bytes", text.empty() ? "" : ", ", s.expected);
    if (s.delivered) text += fmt::format("{}completed {} bytes", text.empty() ? "" : ", ", s.delivered);
    return text;
  }

  /// Where a warp of this CTA is now.
  std::string whereabouts(const Contribution& c) const {
    if (c.source.rank != cta_.rank) return {};
    std::vector<uint32_t> ended;
    for (const uint32_t w : c.warps)
      if (w < cta_.warps.size() && cta_.warps[w].exited()) ended.push_back(w);
    return ended.empty() ? " (see above where they are)" : fmt::format(" ({} ended)", warps_text(ended));
  }

  void describe_barrier(uint32_t offset, std::vector<std::string>& out) const {
    const MbarrierUnit::Record& record = *cta_.mbarriers.find(offset);
    const Mbarrier m = cta_.mbarriers.word(offset);
    out.push_back(fmt::format("{} was initialised at {} with a count of {}", name(offset), place_of(module_, kernel_.insts[record.init_inst]).str(),
                              record.count));
    const auto now = contributions(record.now), before = contributions(record.before);
    for (const Contribution& c : now) out.push_back(fmt::format("  in phase {}: {}: {}", record.phase, who(c), did(c)));
    if (record.in_flight != 0) out.push_back(fmt::format("  {} bytes are on their way", record.in_flight));
    if (m.pending == 0) return;
    bool known = false;
    for (const Contribution& c : before) {
      const bool came = std::any_of(now.begin(), now.end(), [&](const Contribution& n) {
        return n.source.inst == c.source.inst && n.source.rank == c.source.rank && n.source.kind == c.source.kind;
      });
      if (came || c.sum.arrivals == 0) continue;
      known = true;
      out.push_back(fmt::format("  missing, but there in phase {}: {}: {}{}", record.phase - 1, who(c), did(c), whereabouts(c)));
    }
    if (!known && now.empty())
      out.push_back(record.phase == 0 ? "  nobody has ever arrived on it"
                                      : fmt::format("  nobody has arrived on it since phase {} ended", record.phase - 1));
  }

  const Module& module_;
  const Kernel& kernel_;
  const Cta& cta_;
  std::vector<Group> groups_;
  std::vector<uint32_t> awaited_;  // offsets of mbarriers
};

}  // namespace

std::vector<Diagnostic> deadlock_diagnostics(const Module& module, const std::vector<const Cta*>& ctas, size_t limit) {
  // CTAs mostly stand alike: equal reports are told once.
  struct Same {
    std::vector<std::string> lines;
    const Cta* first;
    size_t more;
  };
  std::vector<Same> reports;
  std::vector<Diagnostic> out(1);
  Place place{module.path, 0, 0};
  for (const Cta* cta : ctas) {
    const auto live = std::find_if(cta->warps.begin(), cta->warps.end(), [](const Warp& w) { return !w.exited(); });
    if (live == cta->warps.end()) continue;
    if (place.line == 0) place = place_of(module, live->program().kernel->insts[live->waiting_inst_of(std::countr_zero(live->live()))]);
    CtaReport report(module, *cta);
    std::vector<std::string> lines = report.lines();
    const auto it = std::find_if(reports.begin(), reports.end(), [&](const Same& s) { return s.lines == lines; });
    if (it != reports.end()) {
      ++it->more;
      continue;
    }
    reports.push_back({std::move(lines), cta, 0});
    if (out.size() < 4) report.byte_mismatches(out);
  }
  std::string text = "deadlock: no warp can go on";
  size_t written = 0, left_out = 0;
  for (const Same& same : reports) {
    if (written >= limit) {
      left_out += same.lines.size();
      continue;
    }
    text += fmt::format("\n  CTA {}{}", str(same.first->id), same.more == 0 ? "" : fmt::format(" and {} more", same.more));
    for (const std::string& line : same.lines) {
      if (written++ < limit) text += "\n    " + line;
      else ++left_out;
    }
  }
  if (left_out > 0) text += fmt::format("\n  and {} more lines", left_out);
  out.front() = {Severity::error, "deadlock", place, text};
  return out;
}

}  // namespace tcsim::isa
