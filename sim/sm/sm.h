// One streaming multiprocessor: four sub-cores that issue, the shared-memory (MIO) pipe, the LSU with its L1, barriers
// and cp.async groups. Event driven: time moves to the next cycle in which something can happen.
//
// Timing rules in one place (numbers come from the machine file):
//   issue      one warp instruction a sub-core and cycle; greedy, then youngest
//   fixed      a result can be used `latency` cycles after issue; its pipe is free after `interval`
//   MIO        shared-memory instructions wait in a queue of the sub-core, enter the SM's pipe in issue order, and take
//              their wavefronts there
//   LSU        global instructions likewise; each line takes the tag stage, missing sectors go to L2 as requests
//   charge     each active warp-cycle has one stall reason, charged to the operation that waits
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/diag.h"
#include "isa/exec/report.h"
#include "isa/exec/tensor_memory.h"
#include "sim/engine/wheel.h"
#include "sim/lsu/l1_cache.h"
#include "sim/mem/memory_system.h"
#include "sim/mma/tcgen05_unit.h"
#include "sim/mma/wgmma_unit.h"
#include "sim/sm/cluster_state.h"
#include "sim/sm/instruction_cache.h"
#include "sim/sm/warp_slot.h"
#include "sim/smem/wavefronts.h"
#include "sim/trace/cta_trace.h"

namespace tcsim::sim {

class Sm {
 public:
  Sm(const KernelRun& run, uint32_t id, const isa::GlobalMemory& global);

  uint32_t free_ctas() const { return free_ctas_; }
  /// Places a CTA; its warps may issue from `at` on. Returns its slot. A CTA of a cluster of several is then connected.
  uint32_t start_cta(isa::Dim3 ctaid, uint64_t linear, Cycle at);
  isa::Cta& cta(uint32_t slot) { return ctas_[slot].cta; }
  void connect(uint32_t slot, ClusterState* cluster) { ctas_[slot].cluster = cluster; }
  /// Simulates all cycles before `until`.
  void run(Cycle until);
  /// Earliest cycle in which something happens without outside help; kNever when only memory responses can wake it.
  Cycle next_event() const;
  /// The memory system answers request `id` at `cycle`.
  void respond(uint32_t id, Cycle cycle) { wheel_.add(cycle, {Event::Kind::response, 0, 0, id, 0}); }

  std::vector<MemRequest> outbox;              // requests of this quantum, in issue order
  std::vector<ClusterMessage> cluster_outbox;  // to SMs of the same clusters; `cycle` is when they arrive
  void receive(ClusterMessage message);
  std::vector<CancelRequest> cancel_outbox;  // clusterlaunchcontrol.try_cancel of this quantum
  /// Messages with the answer to one of them.
  static void answer_cancel(const CancelRequest& request, const isa::LaunchResponse& response, std::vector<ClusterMessage>& messages);
  /// A line of a multicast load comes back at `cycle`, to all SMs that want it.
  std::shared_ptr<BulkJob> multicast_job(uint32_t request) const { return requests_[request].multicast ? requests_[request].job : nullptr; }
  void multicast_arrival(const std::shared_ptr<BulkJob>& job, Cycle cycle);
  /// Time limits of try_wait that nothing else comes before.
  bool idle_waiting() const;
  struct Finished {
    Cycle cycle;
    uint64_t linear;
    ClusterState* cluster;
  };
  std::vector<Finished> finished;  // CTAs of this quantum
  std::vector<OpStats> ops;        // one an operation of the program
  CounterBlock counters;
  std::map<uint32_t, MbarrierStats> mbarriers;                   // by offset in shared memory
  std::vector<Diagnostic> faults;                                // the user's fault: the run ends
  std::unordered_map<uint32_t, InstructionConflicts> conflicts;  // by PTX instruction

  isa::HazardLog hazards;  // suspicious reads and writes

  bool idle() const { return resident_ctas_ == 0 && stores_open_ == 0; }
  Cycle last_active() const { return last_active_; }
  Cycle first_issue() const { return first_issue_; }
  /// For the deadlock report.
  std::vector<const isa::Cta*> resident_ctas() const;

 private:
  struct CtaSlot {
    isa::Cta cta;
    uint64_t linear = 0;
    uint32_t first_warp = 0, warps_left = 0;
    Cycle started = 0;
    CtaTrace* trace = nullptr;
    ClusterState* cluster = nullptr;
    std::unique_ptr<ClusterState> alone;  // a cluster of this CTA only
    Cycle tensor_done = 0;                // completion of the tcgen05 operations that its threads issued
    Cycle barrier_free = 0;               // the barrier unit takes arrivals of the CTA one warp at a time
    bool used = false;
  };
  struct SubCore {
    std::vector<uint16_t> warps;  // slots resident here
    std::vector<Cycle> ready;     // of the same warps: may issue from here on, pipes permitting
    std::vector<Pipe> pipe;       // that the warp's next operation needs
    std::array<Cycle, kPipes> pipe_free{};
    std::array<uint16_t, kPipes> pipe_user{};   // warp slot that used the pipe last ...
    std::array<Cycle, kPipes> pipe_spaced{};    // ... and when its own interval is over (pipe_free may be later: queue full)
    std::vector<Cycle> mio_starts, lsu_starts;  // rings: when the n-th last queued instruction leaves the queue
    uint32_t mio_head = 0, lsu_head = 0;
    double mio_path_free = 0;  // the sub-core's own way into the shared pipe
    uint16_t last = 0xffff;    // greedy
    Cycle next = kNever;       // earliest possible issue
  };
  struct Waiter {
    uint16_t warp;
    uint16_t slot;
    uint32_t copy;
  };  // copy != 0: a cp.async
  struct Request {
    uint64_t line = 0;
    uint8_t sectors = 0;
    bool in_l1 = false, is_store = false;
    bool multicast = false;
    std::shared_ptr<BulkJob> job;
    std::vector<Waiter> waiters;
  };
  struct CopyState {
    uint32_t responses;
  };
  struct TensorJob {  // a tcgen05 operation on its way
    isa::Tcgen05Op op;
    uint32_t warp = 0;      // slot of the issuing warp
    uint32_t traced = ~0u;  // its index in the CTA's trace
  };

  // sm.cpp
  void handle(const Event& event);
  void handle_response(uint32_t id);
  void finish_warp(uint32_t slot);
  void store_acknowledged();
  void report_fault(uint32_t slot, const std::string& error = {});
  void wake(uint32_t slot);

  // issue.cpp
  void plan(uint32_t slot, ReadyAt at_least = 0);
  void set_ready(WarpSlot& w, Cycle ready, Pipe pipe);
  void update_next(SubCore& core);
  bool issue_from(SubCore& core);  // false: no warp was ready
  void issue(SubCore& core, uint32_t slot);
  void charge(const SubCore& core, WarpSlot& w);
  void set_results(WarpSlot& w, const MachineOp& op, ReadyAt value);
  void apply_copies(WarpSlot& w, const MachineOp& op);
  void handle_control(uint32_t slot, isa::Control control);
  void release_barrier(CtaSlot& cta, const std::vector<isa::CtaBarriers::Release>& released);
  void check_async_wait(uint32_t slot);
  void begin_wait(uint32_t slot, Blocked kind);
  void end_wait(uint32_t slot, Cycle ready, Stall reason);
  void trace_wait(const WarpSlot& w) const;
  void trace_tensor_allocation(const WarpSlot& w) const;

  // wgmma_ops.cpp
  void issue_wgmma(uint32_t slot, const MachineOp& op);
  void advance_wgmma();
  void schedule_wgmma();
  void finish_wgmma(uint32_t group);
  void check_wgmma_wait(uint32_t slot);

  // tcgen05_ops.cpp
  void issue_tcgen05(uint32_t slot, const MachineOp& op);
  void finish_tcgen05(uint32_t id);
  void arrive_committed(const TensorJob& job);
  uint32_t access_tensor_memory(WarpSlot& w, const MachineOp& op, uint32_t interval);
  void wait_tensor(uint32_t slot);
  void wait_tensor_alloc(uint32_t slot);
  void retry_tensor_alloc(uint32_t slot);
  void tensor_arrival(const isa::Tcgen05Op& commit, const TracedCommit& traced, ClusterState& cluster, CtaSlot& cta);
  void ask_for_cluster(uint32_t slot);
  void land_launch_response(const ClusterMessage& message, CtaSlot& cta);

  // bulk_ops.cpp
  void issue_bulk(uint32_t slot);
  void start_job(BulkJob& job);
  void run_tma();
  void schedule_tma(Cycle at);
  bool descriptor_ready(BulkJob& job);
  void send_line(const std::shared_ptr<BulkJob>& job, const BulkJob::Line& line);
  void bulk_response(const std::shared_ptr<BulkJob>& job, uint32_t bytes);
  void change_in_flight(int64_t bytes);
  CtaTrace* issuer_trace(const BulkJob& job) const;
  void all_sent(const std::shared_ptr<BulkJob>& job);
  void finish_job(const std::shared_ptr<BulkJob>& job);
  void schedule_done(const std::shared_ptr<BulkJob>& job, Cycle at);
  void land(const BulkJob& job, uint32_t cta_slot);
  void check_bulk_wait(uint32_t slot);

  // cluster_ops.cpp
  void issue_async(uint32_t slot, const MachineOp& op);
  void send_remote(uint32_t slot);
  bool async_control(uint32_t slot, isa::Control control);
  void wait_mbarrier(uint32_t slot);
  void wake_mbarrier_waiters(CtaSlot& cta, Cycle delay = 0);
  void end_mbarrier_wait(uint32_t slot, bool complete, Cycle ready);
  void cluster_arrive(uint32_t slot);
  void announce_cluster_phase(ClusterState& cluster);
  void wait_cluster(uint32_t slot);
  void check_cluster_waits(CtaSlot& cta);
  void set_registers(uint32_t slot);
  void handle_message(uint32_t id);
  void time_out(uint32_t slot, uint64_t wait);
  void async_fault(const isa::MbarrierError& error, const CtaSlot& cta, uint32_t warp, uint32_t inst);
  void lanes_exited(uint32_t slot, uint32_t lanes);
  Cycle remote_access(SubCore& core, const isa::Access& access);
  template <class F>
  void for_warps(const CtaSlot& cta, F&& f) {
    for (uint32_t i = 0; i < run_.warps_per_cta; ++i) f(cta.first_warp + i);
  }

  // memory_ops.cpp
  void memory_op(SubCore& core, uint32_t slot, const MachineOp& op, Cycle& ready, bool& pending, uint32_t& load_slot);
  Cycle enter_mio(SubCore& core, uint32_t wavefronts, double per_wavefront, bool yields = true);
  Cycle enter_lsu(SubCore& core, double cost);
  void hold_stores(SubCore& core, uint32_t bytes);
  Cycle shared_access(SubCore& core, const MachineOp& op, const isa::Access& access);
  void note_conflict(uint32_t inst, const isa::Access& access);
  /// Global accesses register what they wait for in the load slot; the return value is when the rest is there.
  Cycle global_load(SubCore& core, uint32_t slot, const MachineOp& op, const isa::Access& access, uint32_t load_slot);
  void global_store(SubCore& core, uint32_t slot, const isa::Access& access, bool with_result, uint32_t load_slot);
  bool fetch_line(uint64_t line, uint8_t sectors, bool bypass_l1, Cycle at, const Waiter& waiter);
  void async_copy(SubCore& core, uint32_t slot);
  uint32_t new_request(uint64_t line, uint8_t sectors);
  uint32_t send(uint64_t line, uint8_t sectors, MemRequest::Kind kind, Cycle at);
  void deliver_arrivals(uint32_t slot);
  void complete_copy(uint32_t slot, uint32_t copy);
  uint64_t private_lines(const WarpSlot& w, isa::Space space) const;
  uint32_t new_load(WarpSlot& w, uint32_t responses, Stall reason);

  const KernelRun& run_;
  const cfg::Machine& m_;
  uint32_t id_;
  isa::GlobalMemory global_;  // a view of the launch's buffers
  Cycle now_ = 0;
  EventWheel wheel_;
  std::vector<CtaSlot> ctas_;
  std::vector<WarpSlot> warps_;
  std::vector<SubCore> cores_;
  InstructionCache icache_;
  L1Tags l1_;
  Banks banks_;
  std::vector<uint32_t> extra_words_;  // by bank, of the access that is being counted
  double mio_free_ = 0, lsu_free_ = 0;
  uint32_t stores_open_ = 0;  // requests that L2 has not answered
  double stores_leave_ = 0;   // when the last store so far is in the crossbar
  std::vector<Request> requests_;
  std::vector<uint32_t> free_requests_;
  std::unordered_map<uint64_t, CopyState> copies_;  // (warp slot, copy id)
  uint32_t inflight_sectors_ = 0;
  std::deque<MemRequest> held_back_;  // no credit for sectors in flight
  WgmmaUnit wgmma_;
  Cycle wgmma_event_ = kNever;                        // its next event in the wheel
  std::unique_ptr<isa::TensorMemory> tensor_memory_;  // nullptr: the machine has none
  Tcgen05Unit tcgen05_;
  std::vector<TensorJob> tensor_jobs_;
  std::vector<uint32_t> free_tensor_jobs_;
  std::deque<uint32_t> wgmma_results_;             // groups whose results are on their way
  std::deque<std::shared_ptr<BulkJob>> tma_jobs_;  // the front one generates requests
  Cycle tma_event_ = kNever;
  double tma_free_ = 0;
  uint64_t tma_in_flight_ = 0;                              // bytes
  Cycle tma_changed_ = 0;                                   // when that last changed
  bool tma_waits_ = false;                                  // for room in flight or a descriptor
  std::vector<uint64_t> descriptors_, cached_descriptors_;  // addresses, most recently used last
  std::vector<std::shared_ptr<BulkJob>> done_jobs_;         // of bulk_done events
  std::vector<uint32_t> free_done_;
  std::unordered_map<const BulkJob*, uint32_t> arriving_;  // multicast lines still to come
  std::vector<ClusterMessage> messages_;
  std::vector<uint32_t> free_messages_;
  double remote_free_ = 0;  // this SM's way to other SMs' shared memory
  uint32_t free_ctas_ = 0, resident_ctas_ = 0, resident_warps_ = 0;
  uint64_t next_age_ = 0;
  Cycle constants_ready_ = 0;  // the constant bank is cold when the first CTA comes
  Cycle active_since_ = 0, last_active_ = 0, first_issue_ = kNever;
  Coalesced lines_;
};

}  // namespace tcsim::sim
