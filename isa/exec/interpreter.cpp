#include "isa/exec/interpreter.h"

#include <algorithm>
#include <bit>
#include <random>

#include "isa/exec/functional_cluster.h"
#include "isa/exec/report.h"

namespace tcsim::isa {
namespace {

constexpr uint32_t kQuantum = 512;               // steps of a warp before the next one has its turn
constexpr uint32_t kPollsOfSpinner = 16;         // test_waits in vain in one turn: the warp spins
constexpr uint32_t kIdlePolls = 64;              // rounds in which everybody spins before it is a deadlock
constexpr uint64_t kProgressSteps = 1ull << 22;  // steps between progress reports inside a CTA

class Interpreter {
 public:
  Interpreter(const Module& module, const Kernel& kernel, const LaunchInfo& launch, GlobalMemory& global, const InterpreterOptions& options,
              Diagnostics& diags)
      : module_(module),
        launch_(launch),
        global_(global),
        options_(options),
        diags_(diags),
        program_(options.program != nullptr ? *options.program : identity_program(kernel)),
        random_(options.seed) {}

  InterpreterResult run() {
    total_ = launch_.grid.count();
    const uint64_t size = launch_.cluster.count(), clusters = total_ / size;
    const uint64_t resident = std::min<uint64_t>(std::max<uint64_t>(1, options_.resident_ctas / size), clusters);
    for (uint64_t i = 0; i < resident; ++i)
      slots_.emplace_back(options_.order, random_, global_, [this] { return take_cluster(); }).resize(size, program_.tensor_memory);
    used_.assign(slots_.size(), false);
    for (size_t i = 0; i < slots_.size(); ++i) start_next(i);
    while (!failed_ && done_ < total_) {
      bool progress = false;
      only_polled_ = true;
      for (size_t i = 0; i < slots_.size() && !failed_; ++i)
        if (used_[i]) progress |= run_cluster(i);
      if (failed_ || done_ == total_) break;
      if (progress && !only_polled_) continue;
      if (flush_all()) continue;
      if (progress ? ++idle_polls_ > kIdlePolls : !time_out()) deadlock();
    }
    hazards_.report(module_, *program_.kernel, diags_);
    result_.ok = !failed_;
    return result_;
  }

 private:
  void start_next(size_t slot) {
    used_[slot] = next_ < total_;
    if (!used_[slot]) return;
    FunctionalCluster& c = slots_[slot];
    for (uint32_t rank = 0; rank < c.ctas.size(); ++rank)
      c.ctas[rank].start(program_, launch_, global_, cta_of_cluster(launch_, next_ / c.ctas.size(), rank), static_cast<uint32_t>(slot), true);
    next_ += c.ctas.size();
    c.begin();
  }

  /// clusterlaunchcontrol: the first CTA of a cluster that will not run.
  std::optional<Dim3> take_cluster() {
    if (next_ >= total_) return std::nullopt;
    const uint64_t size = launch_.cluster.count();
    const Dim3 first = cta_of_cluster(launch_, next_ / size, 0);
    next_ += size;
    done_ += size;
    return first;
  }

  bool run_cluster(size_t slot) {
    FunctionalCluster& c = slots_[slot];
    bool ran = false;
    c.wake();
    for (size_t rank = 0; rank < c.ctas.size() && !failed_; ++rank) ran |= run_cta(c, c.ctas[rank]);
    if (c.done()) {
      c.end();
      if (const AsyncFault* fault = c.fault()) return fail(async_fault(*fault)), true;
      done_ += c.ctas.size();
      report_progress();
      start_next(slot);
      return true;
    }
    return ran;
  }

  /// Each warp has a turn. True when some warp ran.
  bool run_cta(FunctionalCluster& c, Cta& cta) {
    bool ran = false;
    for (Warp& warp : cta.warps) {
      if (!warp.runnable()) continue;
      ran = true;
      run_warp(c, cta, warp);
      if (failed_) return true;
      if (const AsyncFault* fault = c.fault()) return fail(async_fault(*fault)), true;
    }
    return ran;
  }

  void report_progress() {
    if (options_.progress) options_.progress(done_, total_);
  }

  void run_warp(FunctionalCluster& c, Cta& cta, Warp& warp) {
    uint32_t quantum = kQuantum;
    if (options_.order == AsyncOrder::random) quantum = 1 + static_cast<uint32_t>(random_() % kQuantum);
    uint32_t live = warp.live();
    uint64_t instructions = 0, threads = 0;
    uint32_t left = quantum, polls = 0;
    const uint64_t events = c.events;
    for (; left > 0 && warp.runnable(); --left) {
      warp.ctx.clock = warp.ctx.globaltimer_ns = result_.warp_instructions + instructions;
      const Control control = warp.step();
      ++instructions;
      threads += static_cast<uint64_t>(std::popcount(warp.last_active()));
      const Effects& fx = warp.ctx.fx;
      if (fx.has_copy) issue_copy(cta, warp);
      if (fx.hazard) [[unlikely]]
        hazards_.add(cta, warp);
      if (fx.issued) [[unlikely]] {
        if (fx.issued == Effects::kPoll) polls += control == Control::next;
        else c.issue(cta, warp);
        if (c.fault()) break;
      }
      if (control != Control::next) [[unlikely]] {
        if (!handle(c, cta, warp, control)) break;
        if (control == Control::sleep) left = 1;
      }
      if (warp.live() != live) [[unlikely]] {
        released_.clear();
        if (cta.barriers.exit(static_cast<uint32_t>(std::popcount(live & ~warp.live())), released_)) release(cta);
        c.lanes_exited(cta, warp, live & ~warp.live());
        live = warp.live();
      }
    }
    const uint64_t before = result_.warp_instructions / kProgressSteps;
    result_.warp_instructions += instructions;
    result_.thread_instructions += threads;
    if (result_.warp_instructions / kProgressSteps != before) report_progress();
    if (failed_) return;
    only_polled_ = only_polled_ && polls > kPollsOfSpinner && c.events == events && !warp.exited();
    if (!only_polled_) idle_polls_ = 0;
    if (warp.exited()) {
      complete(cta, warp, warp.async.outstanding());
      if (--cta.warps_running == 0) --c.cluster.running;
    } else if (options_.order == AsyncOrder::random) {
      complete_some(cta, warp);
      c.some_complete();
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
      const MbarrierSource source{MbarrierSource::Kind::cp_async, static_cast<uint8_t>(cta.rank), static_cast<uint16_t>(warp.index()),
                                  warp.last_inst()};
      if (auto e = cta.mbarriers.arrive(a.offset, {.count = static_cast<uint32_t>(std::popcount(a.lanes))}, source))
        fail(async_fault_diagnostic(module_, *program_.kernel, cta, warp.index(), warp.last_inst(), e));
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
  bool handle(FunctionalCluster& c, Cta& cta, Warp& warp, Control control) {
    const Effects& fx = warp.ctx.fx;
    std::string error;
    bool goes_on = true;
    switch (control) {
      case Control::mbarrier_wait: goes_on = c.wait_mbarrier(cta, warp); break;
      case Control::bulk_commit: warp.bulk.commit(fx.lanes); break;
      case Control::bulk_wait: goes_on = c.wait_bulk(cta, warp); break;
      case Control::wgmma_commit: warp.wgmma.commit(); break;
      case Control::wgmma_wait: goes_on = c.wait_wgmma(cta, warp, fx.count); break;
      case Control::wgmma_fence:
      case Control::dependents: break;  // one launch: nothing runs before or after it
      case Control::cluster_arrive: error = c.cluster.barrier.arrive(cta.rank, warp.index(), fx.lanes); break;
      case Control::cluster_wait: goes_on = c.wait_cluster(cta, warp, error); break;
      case Control::register_count: goes_on = c.set_registers(cta, warp); break;
      case Control::barrier: return barrier(cta, warp);
      case Control::async_commit: warp.async.commit(fx.lanes); return true;
      case Control::async_wait:
        if (!warp.async.satisfied(fx.lanes, fx.count, fx.flag)) complete(cta, warp, warp.async.blocking(fx.lanes, fx.count, fx.flag));
        return !failed_;
      case Control::async_arrive:
        warp.async.arrive_on(fx.lanes, static_cast<uint32_t>(fx.count), fx.flag);
        arrivals(cta, warp);
        return !failed_;
      case Control::tensor_alloc: goes_on = c.wait_tensor(cta, warp); break;
      case Control::launch_cancel: c.issue_cancel(cta, warp); break;
      case Control::tensor_wait: break;  // loads and stores have taken effect
      case Control::sleep: return true;
      default: fail(fault_diagnostic(module_, launch_, cta, warp)); return false;
    }
    if (!error.empty()) return fail(fault_diagnostic(module_, launch_, cta, warp, error)), false;
    if (!goes_on) warp.block();
    return true;
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
      for (Cta& cta : slots_[i].ctas)
        for (Warp& warp : cta.warps) {
          const auto ids = warp.async.outstanding();
          any |= !ids.empty();
          complete(cta, warp, ids);
        }
      any |= slots_[i].flush();
      if (const AsyncFault* fault = slots_[i].fault()) fail(async_fault(*fault));
      slots_[i].wake();
    }
    return any;
  }

  /// try_wait gives up after a while; when nothing happened since everybody's last wait, they will wait for ever.
  bool time_out() {
    uint64_t events = 0;
    for (const FunctionalCluster& c : slots_) events += c.events;
    if (events == events_at_time_out_) return false;
    events_at_time_out_ = events;
    bool any = false;
    for (size_t i = 0; i < slots_.size(); ++i)
      if (used_[i]) any |= slots_[i].time_out();
    return any;
  }

  Diagnostic async_fault(const AsyncFault& f) const { return async_fault_diagnostic(module_, *program_.kernel, *f.cta, f.warp, f.inst, f.error); }

  void deadlock() {
    std::vector<const Cta*> ctas;
    for (size_t i = 0; i < slots_.size(); ++i)
      if (used_[i])
        for (const Cta& cta : slots_[i].ctas) ctas.push_back(&cta);
    if (failed_) return;
    failed_ = true;
    for (Diagnostic& d : deadlock_diagnostics(module_, ctas)) diags_.add(std::move(d));
  }

  const Module& module_;
  const LaunchInfo& launch_;
  GlobalMemory& global_;
  const InterpreterOptions& options_;
  Diagnostics& diags_;
  Program program_;
  std::mt19937_64 random_;
  std::vector<FunctionalCluster> slots_;
  std::vector<uint8_t> used_;
  std::vector<CtaBarriers::Release> released_;
  std::string error_;
  HazardLog hazards_;
  InterpreterResult result_;
  uint64_t next_ = 0, done_ = 0, total_ = 0;
  uint64_t events_at_time_out_ = ~0ull;
  uint32_t idle_polls_ = 0;
  bool only_polled_ = true;  // since the last look, warps did nothing but ask mbarriers in vain
  bool failed_ = false;
};

}  // namespace

InterpreterResult interpret(const Module& module, const Kernel& kernel, const LaunchInfo& launch, GlobalMemory& global,
                            const InterpreterOptions& options, Diagnostics& diags) {
  return Interpreter(module, kernel, launch, global, options, diags).run();
}

}  // namespace tcsim::isa
