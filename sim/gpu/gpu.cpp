#include "sim/gpu/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "sim/gpu/count_operations.h"
#include "sim/gpu/cta_scheduler.h"
#include "sim/gpu/target_check.h"

namespace tcsim::sim {
namespace {

/// Runs the SMs of a quantum on a fixed set of threads; each thread takes SMs from a shared counter.
class SmPool {
 public:
  SmPool(std::vector<std::unique_ptr<Sm>>& sms, uint32_t threads) : sms_(sms), start_(threads), end_(threads) {
    for (uint32_t i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~SmPool() {
    stop_ = true;
    if (!workers_.empty()) start_.arrive_and_wait();
    for (auto& worker : workers_) worker.join();
  }
  void run(Cycle until) {
    until_ = until;
    next_ = 0;
    if (workers_.empty()) return take();
    start_.arrive_and_wait();
    take();
    end_.arrive_and_wait();
    for (auto& error : errors_)
      if (error) std::rethrow_exception(error);
  }

 private:
  void take() {
    for (uint32_t i; (i = next_.fetch_add(1)) < sms_.size();)
      if (sms_[i]->next_event() < until_) sms_[i]->run(until_);
  }
  void work() {
    while (true) {
      start_.arrive_and_wait();
      if (stop_) return;
      try {
        take();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        errors_.push_back(std::current_exception());
      }
      end_.arrive_and_wait();
    }
  }
  std::vector<std::unique_ptr<Sm>>& sms_;
  std::vector<std::thread> workers_;
  std::barrier<> start_, end_;
  std::atomic<uint32_t> next_ = 0;
  std::mutex mutex_;
  std::vector<std::exception_ptr> errors_;
  Cycle until_ = 0;
  bool stop_ = false;
};

/// CTAs talk to each other through global memory in the middle of a kernel: their order must not depend on threads.
/// The kernel needs clusters, mbarriers, bulk copies or wgmma.
bool is_asynchronous(const isa::Kernel& kernel) {
  return std::any_of(kernel.insts.begin(), kernel.insts.end(), [](const isa::Inst& inst) {
    using O = isa::Op;
    return (inst.op >= O::cp_async_mbarrier_arrive && inst.op <= O::red_async) ||
           (inst.op >= O::mbarrier_init && inst.op <= O::mbarrier_pending_count) || inst.op == O::barrier_cluster_arrive ||
           inst.op == O::barrier_cluster_wait || inst.op == O::mapa || inst.op == O::setmaxnreg || inst.op >= O::wgmma_mma;
  });
}

bool communicates(const isa::Kernel& kernel) {
  for (const isa::Inst& inst : kernel.insts) {
    if ((inst.op == isa::Op::atom || inst.op == isa::Op::red) && inst.space != isa::Space::shared) return true;
    if (inst.op == isa::Op::ld && inst.space != isa::Space::shared &&
        (inst.text.find(".volatile") != std::string_view::npos || inst.text.find(".acquire") != std::string_view::npos ||
         inst.text.find(".relaxed") != std::string_view::npos))
      return true;
  }
  return false;
}

void report_deadlock(const KernelRun& run, const std::vector<std::unique_ptr<Sm>>& sms, Cycle now, Diagnostics& diags) {
  std::vector<const isa::Cta*> ctas;
  for (const auto& sm : sms)
    for (const isa::Cta* cta : sm->resident_ctas()) ctas.push_back(cta);
  std::vector<Diagnostic> found = isa::deadlock_diagnostics(*run.module, ctas);
  found.front().text += fmt::format("\n  (nothing moves after cycle {})", now);
  for (Diagnostic& d : found) diags.add(std::move(d));
}

void add(OpStats& to, const OpStats& from) {
  to.operations += from.operations;
  to.tensor_cycles += from.tensor_cycles;
  if (to.kind.empty()) to.kind = from.kind;
  to.executed += from.executed;
  to.threads += from.threads;
  to.wavefronts += from.wavefronts;
  to.wavefronts_ideal += from.wavefronts_ideal;
  to.sectors += from.sectors;
  to.lines += from.lines;
  to.l1_hits += from.l1_hits;
  for (size_t i = 0; i < kStallReasons; ++i) to.stalls[i] += from.stalls[i];
}

void add(MbarrierStats& to, const MbarrierStats& from) {
  to.phases += from.phases;
  to.data |= from.data;
  for (const auto& [inst, waits] : from.waiters) {
    to.waiters[inst].count += waits.count;
    to.waiters[inst].cycles += waits.cycles;
  }
}

/// Serves the requests that left the SMs in the last quantum.
void exchange(std::vector<std::unique_ptr<Sm>>& sms, MemorySystem& memory, std::vector<MemRequest>& all) {
  all.clear();
  for (auto& sm : sms) {
    all.insert(all.end(), sm->outbox.begin(), sm->outbox.end());
    sm->outbox.clear();
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const MemRequest& a, const MemRequest& b) { return a.cycle != b.cycle ? a.cycle < b.cycle : a.sm < b.sm; });
  for (const MemRequest& request : all) {
    const Cycle at = memory.serve(request);
    sms[request.sm]->respond(request.id, at);
    if (const auto job = sms[request.sm]->multicast_job(request.id)) {
      uint64_t told[4] = {};  // SMs with two CTAs of the cluster get the line once
      for (uint32_t m = job->copy.cta_mask; m; m &= m - 1) {
        const uint32_t sm = job->cluster->members[static_cast<size_t>(std::countr_zero(m))].sm;
        if (told[sm / 64 % 4] >> sm % 64 & 1) continue;
        told[sm / 64 % 4] |= 1ull << sm % 64;
        sms[sm]->multicast_arrival(job, at);
      }
    }
  }
}

/// Messages between the SMs of a cluster: in (cycle, SM, sequence) order.
void exchange_messages(std::vector<std::unique_ptr<Sm>>& sms, std::vector<ClusterMessage>& all) {
  all.clear();
  for (auto& sm : sms) {
    std::move(sm->cluster_outbox.begin(), sm->cluster_outbox.end(), std::back_inserter(all));
    sm->cluster_outbox.clear();
  }
  std::stable_sort(all.begin(), all.end(), [](const ClusterMessage& a, const ClusterMessage& b) { return a.cycle < b.cycle; });
  for (ClusterMessage& message : all) {
    Sm& to = *sms[message.sm];
    to.receive(std::move(message));
  }
}

class Simulation {
 public:
  Simulation(const KernelRun& run, isa::GlobalMemory& global, const SimOptions& options, Diagnostics& diags)
      : run_(run), options_(options), diags_(diags), memory_(*run.machine, run.lifted.stores), scheduler_(*run.launch, *run.machine, options.ctas) {
    for (uint32_t i = 0; i < run.machine->chip.sms; ++i) sms_.push_back(std::make_unique<Sm>(run, i, global));
  }

  bool run() {
    const bool alone = communicates(*run_.kernel) || run_.cluster_size > 1;
    const uint32_t threads = alone ? 1 : std::max<uint32_t>(1, options_.threads);
    SmPool pool(sms_, threads);
    scheduler_.place_first(sms_);
    std::vector<MemRequest> requests;
    std::vector<ClusterMessage> messages;
    Cycle longest = memory_.min_latency();
    if (run_.cluster_size > 1) longest = std::min<Cycle>(longest, std::max<uint32_t>(1, run_.machine->cluster.remote_cycles));
    uint32_t rounds = 0;
    Cycle now = 0;
    while (true) {
      Cycle next = kNever;
      for (const auto& sm : sms_) next = std::min(next, sm->next_event());
      if (next == kNever) break;
      now = next;
      if (run_.asynchronous && ++rounds % kIdleCheck == 0 && all_idle()) break;
      Cycle quantum = longest;
      if (!scheduler_.all_placed()) quantum = std::min<Cycle>(quantum, std::max<uint32_t>(1, run_.machine->launch.cta_cycles));
      pool.run(now + quantum);
      if (collect_faults()) return false;
      exchange(sms_, memory_, requests);
      if (run_.asynchronous) exchange_messages(sms_, messages);
      if (run_.asynchronous) answer_cancels();
      scheduler_.refill(sms_);
      tell_progress(now);
    }
    if (scheduler_.done() != scheduler_.total()) {
      report_deadlock(run_, sms_, now, diags_);
      return false;
    }
    return true;
  }

  void finish(SimResult& result) {
    Cycle first = kNever, last = 0;
    result.ops.resize(run_.program->step_count());
    for (const auto& sm : sms_) {
      first = std::min(first, sm->first_issue());
      last = std::max(last, sm->last_active());
      count_operations(*run_.program, sm->ops, sm->counters);
      result.counters.sms.push_back(sm->counters);
      for (size_t i = 0; i < result.ops.size(); ++i) add(result.ops[i], sm->ops[i]);
      for (const auto& [inst, conflicts] : sm->conflicts) {
        const auto [known, is_new] = result.conflicts.emplace(inst, conflicts);
        for (size_t bank = 0; !is_new && bank < conflicts.extra.size(); ++bank) known->second.extra[bank] += conflicts.extra[bank];
      }
      for (const auto& [offset, stats] : sm->mbarriers) add(result.mbarriers[offset], stats);
    }
    for (const OpStats& op : result.ops)
      for (size_t i = 0; i < kStallReasons; ++i) result.counters.stalls[i] += op.stalls[i];
    const cfg::LaunchCost& launch = run_.machine->launch;
    result.counters.memory = memory_.counters();
    result.kernel_cycles = last - std::min(first, last);
    // Part of the overhead lies before the first CTA (start_cycles, in which `last` already counts), the rest after the last.
    result.cycles = last + (launch.overhead_cycles - std::min(launch.overhead_cycles, launch.start_cycles));
    result.counters.cycles = result.cycles;
    result.counters.kernel_cycles = result.kernel_cycles;
    result.counters.launch = launch_shape(result.occupancy);
    for (CounterBlock& sm : result.counters.sms) sm[Counter::cycles_elapsed] = result.cycles;
    warn_of_hazards();
  }

 private:
  static constexpr uint32_t kIdleCheck = 64;  // quanta between looks for a deadlock of suspended waits
  bool all_idle() const {
    return std::all_of(sms_.begin(), sms_.end(), [](const auto& sm) { return sm->idle() || sm->idle_waiting(); });
  }
  /// SMs run the same kernel, so several may meet the same fault in one quantum: one of an instruction is told.
  bool collect_faults() {
    std::set<std::tuple<std::string, uint32_t, uint32_t>> told;
    for (const auto& sm : sms_)
      for (const Diagnostic& fault : sm->faults)
        if (told.emplace(fault.kind, fault.place.line, fault.place.col).second) diags_.add(fault);
    return diags_.has_errors();
  }
  /// In the order of arrival at the CTA scheduler.
  void answer_cancels() {
    std::vector<CancelRequest> all;
    for (auto& sm : sms_) {
      all.insert(all.end(), sm->cancel_outbox.begin(), sm->cancel_outbox.end());
      sm->cancel_outbox.clear();
    }
    std::stable_sort(all.begin(), all.end(), [](const CancelRequest& a, const CancelRequest& b) { return a.cycle < b.cycle; });
    std::vector<ClusterMessage> answers;
    for (const CancelRequest& request : all) Sm::answer_cancel(request, isa::LaunchResponse::of(scheduler_.cancel_next()), answers);
    for (ClusterMessage& answer : answers) {
      Sm& to = *sms_[answer.sm];
      to.receive(std::move(answer));
    }
  }
  void warn_of_hazards() {
    isa::HazardLog all;
    for (const auto& sm : sms_) all.merge(sm->hazards);
    all.report(*run_.module, *run_.kernel, diags_);
  }
  LaunchShape launch_shape(const Occupancy& o) const {
    LaunchShape shape;
    shape.grid_ctas = run_.launch->grid.count();
    shape.block_threads = static_cast<uint32_t>(run_.launch->block.count());
    shape.registers_per_thread = o.registers_per_thread;
    shape.shared_dynamic_bytes = run_.launch->dynamic_smem_bytes;
    shape.shared_static_bytes = run_.kernel->shared_static_bytes;
    shape.shared_reserved_bytes = run_.machine->limits.smem_reserved_bytes;
    shape.ctas_per_sm = o.ctas_per_sm;
    shape.warps_per_cta = o.warps_per_cta;
    shape.limit_registers = o.by_registers;
    shape.limit_shared_mem = o.by_shared;
    shape.limit_warps = o.by_warps;
    shape.limit_blocks = o.by_ctas;
    shape.limit_barriers = o.by_barriers;
    return shape;
  }
  void tell_progress(Cycle now) {
    if (!options_.progress) return;
    uint64_t instructions = 0;
    for (const auto& sm : sms_) instructions += sm->counters[Counter::inst_executed];
    options_.progress({instructions, now, scheduler_.done(), scheduler_.total()});
  }

  const KernelRun& run_;
  const SimOptions& options_;
  Diagnostics& diags_;
  MemorySystem memory_;
  CtaScheduler scheduler_;
  std::vector<std::unique_ptr<Sm>> sms_;
};

/// The program, compiled for a machine, runs on another one with the same instructions: its rows of matrix instructions.
void retime(LoweredProgram& program, const cfg::Machine& from, const cfg::Machine& to) {
  for (const cfg::MmaTiming*& row : program.mma_rows) {
    const auto named = std::find_if(from.mma.begin(), from.mma.end(), [row](const auto& entry) { return &entry.second == row; });
    TC_CHECK(named != from.mma.end(), "a matrix instruction's row is in the machine {}", from.name);
    row = &to.mma.at(named->first);
  }
}

}  // namespace

SimResult simulate(const isa::Module& module, const isa::Kernel& kernel, const isa::LaunchInfo& launch, isa::GlobalMemory& memory,
                   const cfg::Machine& machine, const SimOptions& options, Diagnostics& diags) {
  const auto begin = std::chrono::steady_clock::now();
  SimResult result;
  const cfg::Machine& compiled_for = options.compiled_for == nullptr ? machine : *options.compiled_for;
  const Place place{module.path, kernel.line, 1};
  result.program = lower(module, kernel, compiled_for, {.registers = options.registers}, diags);
  if (diags.has_errors()) return result;
  result.occupancy = compute_occupancy(kernel, launch, result.program.registers, machine, place, diags);
  if (diags.has_errors()) return result;
  if (options.compiled_for != nullptr) {
    retime(result.program, compiled_for, machine);
    result.occupancy.l1_bytes = compute_occupancy(kernel, launch, result.program.registers, compiled_for, place, diags).l1_bytes;
  }
  isa::LaunchInfo info = launch;
  info.generation = generation_of(machine);
  info.registers_per_thread = result.occupancy.registers_per_thread;
  KernelRun run;
  run.module = &module;
  run.kernel = &kernel;
  run.program = &result.program;
  run.launch = &info;
  run.asynchronous = is_asynchronous(kernel);
  run.cluster_size = static_cast<uint32_t>(launch.cluster.count());
  run.machine = &machine;
  run.trace = options.trace;
  run.lifted = options.lifted;
  run.values_known = options.mode == Mode::full;
  run.warps_per_cta = result.occupancy.warps_per_cta;
  // No more slots than CTAs can come to an SM.
  const uint64_t share = (launch.grid.count() + machine.chip.sms - 1) / machine.chip.sms;
  run.ctas_per_sm = static_cast<uint32_t>(std::min<uint64_t>(result.occupancy.ctas_per_sm, share));
  run.l1_bytes = result.occupancy.l1_bytes;
  Simulation simulation(run, memory, options, diags);
  result.ok = simulation.run();
  simulation.finish(result);
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace tcsim::sim
