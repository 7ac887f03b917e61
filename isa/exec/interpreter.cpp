#include "isa/exec/interpreter.h"

#include <algorithm>
#include <bit>
#include <random>

#include "isa/exec/mbarrier.h"
#include "isa/exec/report.h"

namespace tcsim::isa {
namespace {

constexpr uint32_t kQuantum = 512;                  // steps of a warp before the next one has its turn
constexpr uint64_t kProgressSteps = 1ull << 22;     // steps between progress reports inside a CTA

class Interpreter {
 public:
  Interpreter(const Module& module, const Kernel& kernel, const LaunchInfo& launch, GlobalMemory& global, const InterpreterOptions& options,
              Diagnostics& diags)
      : module_(module), launch_(launch), global_(global), options_(options), diags_(diags), program_(identity_program(kernel)),
        random_(options.seed) {}

  InterpreterResult run() {
    total_ = launch_.grid.count();
    slots_.resize(std::min<uint64_t>(std::max<uint32_t>(1, options_.resident_ctas), total_));
    used_.assign(slots_.size(), false);
    for (size_t i = 0; i < slots_.size(); ++i) start_next(i);
    while (!failed_ && done_ < total_) {
      bool progress = false;
      for (size_t i = 0; i < slots_.size() && !failed_; ++i)
        if (used_[i]) progress |= run_cta(i);
      if (!progress && !failed_ && done_ < total_ && !flush_all()) deadlock();
    }
    hazards_.report(module_, *program_.kernel, diags_);
    result_.ok = !failed_;
    return result_;
  }

 private:
  void start_next(size_t slot) {
    if (next_ >= total_) {
      used_[slot] = false;
      return;
    }
    const Dim3& g = launch_.grid;
    const auto n = next_++;
    const Dim3 id{static_cast<uint32_t>(n % g.x), static_cast<uint32_t>(n / g.x % g.y), static_cast<uint32_t>(n / g.x / g.y)};
    slots_[slot].start(program_, launch_, global_, id, static_cast<uint32_t>(slot), true);
    used_[slot] = true;
  }

  /// Each warp has a turn. True when some warp ran.
  bool run_cta(size_t slot) {
    Cta& cta = slots_[slot];
    bool ran = false;
    for (Warp& warp : cta.warps) {
      if (!warp.runnable()) continue;
      ran = true;
      run_warp(cta, warp);
      if (failed_) return true;
    }
    if (cta.warps_running == 0) {
      ++done_;
      report_progress();
      start_next(slot);
      return true;
    }
    return ran;
  }

  void report_progress() {
    if (options_.progress) options_.progress(done_, total_);
  }

  void run_warp(Cta& cta, Warp& warp) {
    uint32_t quantum = kQuantum;
    if (options_.order == AsyncOrder::random) quantum = 1 + static_cast<uint32_t>(random_() % kQuantum);
    uint32_t live = warp.live();
    uint64_t instructions = 0, threads = 0;
    uint32_t left = quantum;
    for (; left > 0 && warp.runnable(); --left) {
      warp.ctx.clock = result_.warp_instructions + instructions;
      const Control control = warp.step();
      ++instructions;
      threads += static_cast<uint64_t>(std::popcount(warp.last_active()));
      const Effects& fx = warp.ctx.fx;
      if (fx.has_copy) issue_copy(cta, warp);
      if (fx.hazard) [[unlikely]] hazards_.add(cta, warp);
      if (control != Control::next) [[unlikely]] {
        if (!handle(cta, warp, control)) break;
        if (control == Control::sleep) left = 1;
      }
      if (warp.live() != live) [[unlikely]] {
        released_.clear();
        if (cta.barriers.exit(static_cast<uint32_t>(std::popcount(live & ~warp.live())), released_)) release(cta);
        live = warp.live();
      }
    }
    const uint64_t before = result_.warp_instructions / kProgressSteps;
    result_.warp_instructions += instructions;
    result_.thread_instructions += threads;
    warp.ctx.globaltimer_ns = result_.warp_instructions;
    if (result_.warp_instructions / kProgressSteps != before) report_progress();
    if (failed_) return;
    if (warp.exited()) {
      complete(cta, warp, warp.async.outstanding());
      --cta.warps_running;
    } else if (options_.order == AsyncOrder::random) {
      complete_some(cta, warp);
    } else if (left == 0 && warp.async.has_arrivals()) {
      complete(cta, warp, warp.async.outstanding());  // it may be spinning on the mbarrier
    }
    warp.rotate();
  }

  void issue_copy(Cta& cta, Warp& warp) {
    const uint32_t id = warp.async.issue(warp.ctx.fx.copy);
    const bool now = options_.order == AsyncOrder::eager || (options_.order == AsyncOrder::random && random_() % 2 == 0);
    if (now) warp.async.complete(id, global_, cta.shared);
  }

  void complete(Cta& cta, Warp& warp, std::vector<uint32_t> ids) {
    if (options_.order == AsyncOrder::random) std::shuffle(ids.begin(), ids.end(), random_);
    for (const uint32_t id : ids) warp.async.complete(id, global_, cta.shared);
    arrivals(cta, warp);
  }

  void complete_some(Cta& cta, Warp& warp) {
    std::vector<uint32_t> ids = warp.async.outstanding();
    std::erase_if(ids, [this](uint32_t) { return random_() % 2 == 0; });
    complete(cta, warp, std::move(ids));
  }

  void arrivals(Cta& cta, Warp& warp) {
    if (!warp.async.has_arrivals()) return;
    for (const AsyncGroups::Arrival& a : warp.async.take_arrivals()) {
      if (!arrive_mbarrier(cta.shared, a.offset, static_cast<uint32_t>(std::popcount(a.lanes))))
        fail(fault_diagnostic(module_, launch_, cta, warp, "cp.async.mbarrier.arrive: more arrivals than the mbarrier's phase expects"));
    }
  }

  void release(Cta& cta) {
    for (const CtaBarriers::Release& r : released_) cta.warps[r.warp].unblock(r.lanes, r.red_result);
  }

  void fail(Diagnostic d) {
    if (!failed_) diags_.add(std::move(d));
    failed_ = true;
  }

  /// False: the warp's turn ends.
  bool handle(Cta& cta, Warp& warp, Control control) {
    const Effects& fx = warp.ctx.fx;
    switch (control) {
      case Control::barrier: return barrier(cta, warp);
      case Control::async_commit: warp.async.commit(fx.lanes); return true;
      case Control::async_wait:
        if (!warp.async.satisfied(fx.lanes, fx.count, fx.flag)) complete(cta, warp, warp.async.blocking(fx.lanes, fx.count, fx.flag));
        return !failed_;
      case Control::async_arrive:
        warp.async.arrive_on(fx.lanes, static_cast<uint32_t>(fx.count), fx.flag);
        arrivals(cta, warp);
        return !failed_;
      case Control::sleep: return true;
      default: fail(fault_diagnostic(module_, launch_, cta, warp)); return false;
    }
  }

  bool barrier(Cta& cta, Warp& warp) {
    const BarrierRequest& request = warp.ctx.fx.barrier;
    released_.clear();
    error_.clear();
    if (cta.barriers.arrive(request, warp.index(), warp.ctx.fx.lanes, released_, error_)) {
      release(cta);
      return true;
    }
    if (!error_.empty()) {
      fail(fault_diagnostic(module_, launch_, cta, warp, error_));
      return false;
    }
    if (request.kind != BarrierRequest::Kind::arrive) warp.block();
    return true;
  }

  /// Nobody can run: whatever is in flight lands. False: nothing was.
  bool flush_all() {
    bool any = false;
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!used_[i]) continue;
      for (Warp& warp : slots_[i].warps) {
        const auto ids = warp.async.outstanding();
        any |= !ids.empty();
        complete(slots_[i], warp, ids);
      }
    }
    return any;
  }

  void deadlock() {
    std::vector<const Cta*> ctas;
    for (size_t i = 0; i < slots_.size(); ++i)
      if (used_[i]) ctas.push_back(&slots_[i]);
    fail(deadlock_diagnostic(module_, ctas));
  }

  const Module& module_;
  const LaunchInfo& launch_;
  GlobalMemory& global_;
  const InterpreterOptions& options_;
  Diagnostics& diags_;
  Program program_;
  std::mt19937_64 random_;
  std::vector<Cta> slots_;
  std::vector<uint8_t> used_;
  std::vector<CtaBarriers::Release> released_;
  std::string error_;
  HazardLog hazards_;
  InterpreterResult result_;
  uint64_t next_ = 0, done_ = 0, total_ = 0;
  bool failed_ = false;
};

}  // namespace

InterpreterResult interpret(const Module& module, const Kernel& kernel, const LaunchInfo& launch, GlobalMemory& global,
                            const InterpreterOptions& options, Diagnostics& diags) {
  return Interpreter(module, kernel, launch, global, options, diags).run();
}

}  // namespace tcsim::isa
