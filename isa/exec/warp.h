// A warp: registers, the splits into which divergence divides its lanes, and its cp.async groups.
//
// Splits: at a divergent branch both sides become splits that wait for each other at the branch's immediate
// post-dominator (a Join). The wait is soft: when the siblings have run `kReconvergePatience` steps without arriving, or
// wait at a barrier themselves, the waiting split goes on, so that a lane which spins for another lane of its warp is
// always served (independent thread scheduling). *.sync instructions wait, as splits, for the lanes of their member mask.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "isa/exec/async_groups.h"
#include "isa/exec/async_queues.h"
#include "isa/exec/context.h"
#include "isa/exec/generation.h"
#include "isa/exec/program.h"

namespace tcsim::isa {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

/// Facts of a launch that instructions can see.
struct LaunchInfo {
  Dim3 grid, block, cluster;
  uint32_t dynamic_smem_bytes = 0;
  uint32_t sm_count = 1;                                          // %nsmid
  uint32_t registers_per_thread = 0;                              // as allocated, for setmaxnreg; 0: not known
  uint8_t generation = static_cast<uint8_t>(Generation::ampere);  // of the tensor cores that run it (parse_generation)
  std::vector<uint8_t> params;                                    // the parameter bank, kernel.param_bytes long
  std::vector<uint8_t> constants;                                 // .const window
};

/// Index of CTA `rank` of the n-th cluster, clusters in the order x, y, z.
inline Dim3 cta_of_cluster(const LaunchInfo& launch, uint64_t n, uint32_t rank) {
  const Dim3 &g = launch.grid, &c = launch.cluster;
  const uint64_t nx = g.x / c.x, ny = g.y / c.y;
  return {static_cast<uint32_t>(n % nx) * c.x + rank % c.x, static_cast<uint32_t>(n / nx % ny) * c.y + rank / c.x % c.y,
          static_cast<uint32_t>(n / nx / ny) * c.z + rank / c.x / c.y};
}

class Warp {
 public:
  static constexpr uint32_t kReconvergePatience = 4096;

  ExecContext ctx;  // ctx.fx holds the effects of the last step
  AsyncGroups async;
  BulkGroups bulk;
  WgmmaQueue wgmma;
  uint32_t registers = 0;  // a thread, as setmaxnreg left them; 0: not known

  /// Prepares the warp: `index` in the CTA; ctaid; sets special-register slots, clears registers. The program must be
  /// finished (finish_program). values_known: false = timing mode, matrix results are tagged unknown instead of computed.
  /// Program and launch must outlive the warp's run.
  void start(const Program& program, const LaunchInfo& launch, Dim3 ctaid, uint32_t index, uint32_t sm_id, bool values_known);

  bool exited() const { return live_ == 0; }
  uint32_t live() const { return live_; }
  /// Step and lanes of the split that runs next. Valid while runnable().
  uint32_t pc() const { return pc_; }
  uint32_t active() const { return active_; }
  bool runnable() const { return runnable_; }

  /// Runs the step at pc() for the current split and moves it. Handles branches, exits, reconvergence and warp-level
  /// barriers itself. Returns what the caller must handle: barrier, async_commit, async_wait, async_arrive, sleep, trap
  /// (ctx.fx.fault tells the fault); else next. A cp.async is in ctx.fx.has_copy / copy: give it to async.issue.
  /// After barrier, async_wait or sleep the split (exactly the lanes ctx.fx.lanes == last_active()) is still running: call
  /// block() if it must wait. It need not be blocked when it may go on at once; unblock() of such lanes only delivers the
  /// result of a bar.red.
  Control step() {
    if (special_) [[unlikely]]
      return step_special();
    return run(entries_ + first_[pc_]);
  }
  uint32_t last_active() const { return last_active_; }
  /// Instruction that ran last in the step: the cause of its control, access or fault (index into kernel.insts).
  uint32_t last_inst() const { return last_inst_; }

  /// The split that ran last waits outside (barrier, async wait, sleep); another split becomes current if there is one.
  void block();
  /// Lanes may run again. red_result: what bar.red gives them (popc, or 0/1), ignored for other waits.
  void unblock(uint32_t lanes, uint32_t red_result = 0);
  /// Lanes that wait outside.
  uint32_t blocked() const;
  /// Lanes that wait for other lanes of the warp at a *.sync instruction, and the index of that instruction.
  uint32_t warp_barrier_lanes() const;
  uint32_t warp_barrier_inst() const;
  /// Instruction index where the split of `lane` waits, or its next instruction when it does not wait.
  uint32_t waiting_inst_of(int lane) const;
  /// What the split of `lane` waits for when it waits at an mbarrier.
  const MbarrierWait& mbarrier_wait_of(int lane) const;
  /// Chooses another runnable split if there is one (fairness for spinning code).
  void rotate();
  bool diverged() const { return splits_.size() > 1; }
  const Program& program() const { return *program_; }
  uint32_t index() const { return index_; }

 private:
  struct Split {
    enum class State : uint8_t { running, reconverging, outside, warp_barrier };
    uint32_t mask = 0, pc = 0;
    int32_t join = -1;  // innermost join the split will meet, -1: none
    State state = State::running;
    Control reason = Control::next;  // why outside
    uint32_t inst = 0;               // instruction that made it wait
    uint32_t resume = 0;             // entries of the step that ran already (it waits at a *.sync inside a step)
    uint32_t members = 0;            // warp_barrier: lanes that it waits for
    MbarrierWait wait;               // outside, at an mbarrier
  };
  struct Join {
    uint32_t pc = 0, lanes = 0;  // lanes that take part: still under way or arrived; 0: free
    int32_t parent = -1;
  };
  static constexpr uint32_t kNoJoin = 0xffffffffu;

  /// Runs the entries of the current step from `e` on.
  Control run(const ProgramEntry* e) {
    const ProgramEntry* end = entries_ + first_[pc_ + 1];
    ctx.fx.reset();
    ctx.active = last_active_ = active_;
    for (; e != end; ++e) {
      uint32_t mask = active_;
      if (e->guard >= 0) {
        const uint32_t p = ctx.preds[e->guard];
        mask &= e->guard_negated ? ~p : p;
        if (mask == 0 && e->timing_run != TimingRun::checked) continue;
      }
      last_inst_ = e->index;
      if (e->timing_run == TimingRun::run) [[likely]]
        e->exec(ctx, *e->inst, mask);
      else run_timing(*e, mask);
      if (ctx.fx.control != Control::next) [[unlikely]]
        return handle_control(*e, mask);
    }
    ++pc_;
    if (pc_ == join_pc_ || --budget_ == 0) [[unlikely]]
      advance_slow();
    return Control::next;
  }
  Control handle_control(const ProgramEntry& entry, uint32_t mask);
  void run_timing(const ProgramEntry& entry, uint32_t mask);
  void advance_slow();
  Control step_special();
  void advance() {
    ++pc_;
    if (pc_ == join_pc_ || --budget_ == 0) advance_slow();
  }
  void branch(const Inst& inst, uint32_t taken);
  void branch_indexed(const Inst& inst, uint32_t mask);
  int32_t join_for(const Inst& inst);
  void exit_lanes(uint32_t lanes);
  void wait_for_members(const ProgramEntry& entry, uint32_t mask);
  bool release_warp_barrier(uint32_t members);
  void split_off(uint32_t others, uint32_t pc, uint32_t resume);
  void keep_only(uint32_t mask);
  void arrive_at_join();
  void place(Split& split);  // running, or reconverging when it stands at its join
  void complete_joins();
  void merge_equal();
  void merge(size_t into, size_t from);
  void release_reconverging();
  void save_current();
  void make_current(size_t i);
  void choose();
  int32_t new_join(uint32_t pc, uint32_t lanes, int32_t parent);
  uint32_t step_at(int32_t inst) const { return program_->step_of_leader(static_cast<uint32_t>(inst)); }
  void write_red(uint32_t inst, uint32_t lanes, uint32_t result);
  void set_specials(const LaunchInfo& launch, Dim3 ctaid, uint32_t sm_id);

  const ProgramEntry* entries_ = nullptr;
  const uint32_t* first_ = nullptr;
  uint32_t pc_ = 0, active_ = 0, join_pc_ = kNoJoin, budget_ = 0;
  uint32_t live_ = 0, last_active_ = 0, last_inst_ = 0, index_ = 0;
  uint32_t resume_ = 0;
  // special_: the next step() has more to do than to run a step from its start (see step_special).
  bool runnable_ = false, special_ = false, pending_arrival_ = false;
  const Program* program_ = nullptr;
  size_t current_ = 0;
  std::vector<Split> splits_;
  std::vector<Join> joins_;
  std::vector<uint32_t> storage_;
  std::vector<uint32_t> preds_;    // and the carry
  std::vector<uint64_t> unknown_;  // timing mode: a bit per slot, then per predicate
};

}  // namespace tcsim::isa
