// wgmma: from a warp's issue through the tensor cores to the registers.
#include "isa/insn/wgmma.h"
#include "sim/sm/pipes.h"
#include "sim/sm/sm.h"

namespace tcsim::sim {
namespace {

uint32_t groups_per_cta(const KernelRun& run) { return (run.warps_per_cta + WgmmaUnit::kWarps - 1) / WgmmaUnit::kWarps; }

/// A needs the port only when it is in shared memory; it is read again for every instruction.
WgmmaCost cost_of(const isa::WgmmaIssue& issue, const cfg::Machine& m) {
  const isa::WgmmaDesc& desc = static_cast<const isa::WgmmaInst&>(isa::WgmmaOps::of(issue)).plan.desc();
  WgmmaCost cost;
  cost.math = desc.shape.n * m.wgmma.cycles_per_column;
  cost.stream = static_cast<double>(isa::wgmma_shared_bytes(issue)) / (m.smem.banks * m.smem.bank_bytes);
  if (desc.a_in_registers) cost.least = m.wgmma.rs_min_cycles;
  else cost.stream += m.wgmma.ss_overhead_cycles;
  return cost;
}

}  // namespace

void Sm::issue_wgmma(uint32_t slot, const MachineOp& op) {
  WarpSlot& w = warps_[slot];
  const isa::WgmmaIssue& issue = w.warp->ctx.fx.wgmma;
  w.warp->wgmma.issue(issue);
  const uint32_t groups = groups_per_cta(run_);
  const WgmmaCost cost = cost_of(issue, m_);
  if (w.index_in_cta % WgmmaUnit::kWarps == 0) {
    const uint64_t wavefronts = isa::wgmma_shared_bytes(issue) / (m_.smem.banks * m_.smem.bank_bytes);
    OpStats& stats = ops[static_cast<size_t>(&op - run_.program->ops.data())];
    stats.wavefronts += wavefronts;
    stats.wavefronts_ideal += wavefronts;
    counters[Counter::smem_wavefronts] += wavefronts;
    if (w.trace) w.trace->wgmma_issued(w.index_in_cta / WgmmaUnit::kWarps, issue.index, now_);
  }
  wgmma_.push(w.cta_slot * groups + w.index_in_cta / WgmmaUnit::kWarps, w.index_in_cta % WgmmaUnit::kWarps, cost, now_);
  schedule_wgmma();
}

void Sm::schedule_wgmma() {
  const Cycle next = wgmma_.next();
  if (next == kNever || (wgmma_event_ != kNever && wgmma_event_ <= next)) return;
  wgmma_event_ = std::max(next, now_);
  wheel_.add(wgmma_event_, {Event::Kind::wgmma, 0, 0, 0, 0});
}

void Sm::advance_wgmma() {
  wgmma_event_ = kNever;
  if (const auto done = wgmma_.advance(now_)) {
    counters[Counter::tensor_cycles_active] += static_cast<uint64_t>(done->math * m_.limits.subcores);
    const uint32_t groups = groups_per_cta(run_);
    if (CtaTrace* trace = ctas_[done->group / groups].trace) trace->wgmma_ran(done->group % groups, done->begin, now_);
    wgmma_results_.push_back(done->group);
    wheel_.add(now_ + m_.wgmma.latency, {Event::Kind::wgmma_result, 0, 0, 0, 0});
  }
  schedule_wgmma();
}

/// The four warps' registers hold the oldest instruction's result now.
void Sm::finish_wgmma(uint32_t group) {
  const uint32_t groups = groups_per_cta(run_);
  CtaSlot& cta = ctas_[group / groups];
  if (cta.trace) cta.trace->wgmma_done(group % groups, now_);
  const uint32_t first = cta.first_warp + group % groups * WgmmaUnit::kWarps;
  for (uint32_t i = 0; i < WgmmaUnit::kWarps; ++i) {
    WarpSlot& w = warps_[first + i];
    if (run_.values_known) isa::complete_wgmma(w.warp->ctx, w.warp->wgmma.front(), cta.cta.shared);
    w.warp->wgmma.pop();
    --w.outstanding;
    check_wgmma_wait(first + i);
    if (w.blocked == Blocked::stores && w.outstanding == 0) finish_warp(first + i);
  }
}

void Sm::check_wgmma_wait(uint32_t slot) {
  WarpSlot& w = warps_[slot];
  if (w.blocked != Blocked::wgmma || w.warp->wgmma.blocking(w.wait_keep) != 0) return;
  w.warp->unblock(w.wait_lanes);
  end_wait(slot, now_ + m_.of(isa::TimingClass::wgmma_wait).latency, wait_reason(isa::TimingClass::wgmma_wait));
}

}  // namespace tcsim::sim
