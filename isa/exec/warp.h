// A warp: registers, the splits into which divergence divides its lanes, and its cp.async groups.
//
// Splits: at a divergent branch both sides become splits that wait for each other at the branch's immediate
// post-dominator. The wait is soft: when the siblings have run `kReconvergePatience` steps without arriving, the waiting
// split goes on, so that a lane which spins for another lane of its warp is always served (independent thread scheduling).
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "isa/exec/context.h"
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
  std::vector<uint8_t> params;      // the parameter bank, kernel.param_bytes long
  std::vector<uint8_t> constants;   // .const window
};

/// cp.async groups of one warp, tracked with lane masks so that divergent commits and waits count per lane.
class AsyncGroups {
 public:
  /// Registers an issued copy in the open (uncommitted) group; the id is used to complete it.
  uint32_t issue(const AsyncCopy& copy);
  /// cp.async.commit_group for the lanes in mask.
  void commit(uint32_t mask);
  /// The copy's bytes land in shared memory now (source bytes are read now).
  void complete(uint32_t id, GlobalMemory& global, WindowMemory& shared);
  /// True when, for every lane in mask, all committed groups but the newest `keep` are complete
  /// (all: uncommitted copies too).
  bool satisfied(uint32_t mask, uint64_t keep, bool all) const;
  /// Ids of copies not complete that `satisfied` is waiting for / of all copies not complete, oldest first.
  std::vector<uint32_t> blocking(uint32_t mask, uint64_t keep, bool all) const;
  std::vector<uint32_t> outstanding() const;
  bool empty() const;
  void clear();

  /// cp.async.mbarrier.arrive: when all copies issued so far by these lanes are complete, one arrival a lane on the
  /// mbarrier at `offset`. Arrivals that became due are returned by take_arrivals().
  struct Arrival { uint32_t offset, lanes; bool noinc; };
  void arrive_on(uint32_t mask, uint32_t offset, bool noinc);
  std::vector<Arrival> take_arrivals();

 private:
  struct Copy { uint32_t id; AsyncCopy data; bool done; };
  struct Group { uint32_t lanes; std::vector<uint32_t> ids; bool committed; };
  std::vector<Copy> copies_;
  std::vector<Group> groups_;
  std::vector<std::pair<Arrival, std::vector<uint32_t>>> arrivals_;
  uint32_t next_id_ = 1;
};

class Warp {
 public:
  static constexpr uint32_t kReconvergePatience = 4096;

  ExecContext ctx;        // ctx.fx holds the effects of the last step
  AsyncGroups async;

  /// Prepares the warp: `index` in the CTA; ctaid; sets special-register slots, clears registers (undefined bits set).
  /// values_known: false = timing mode, matrix results are tagged unknown instead of computed.
  void start(const Program& program, const LaunchInfo& launch, Dim3 ctaid, uint32_t index, uint32_t sm_id, bool values_known);

  bool exited() const { return live_ == 0; }
  uint32_t live() const { return live_; }
  /// Step and lanes of the split that runs next. Valid while runnable().
  uint32_t pc() const { return pc_; }
  uint32_t active() const { return active_; }
  bool runnable() const { return runnable_; }

  /// Runs the step at pc() for the current split and moves it. Handles branches, exits, reconvergence and warp-level
  /// barriers itself. Returns what the caller must handle: barrier, async_commit, async_wait, async_arrive, sleep, trap; else next.
  /// After barrier, async_wait or sleep the split (lanes in ctx.active before the step, kept in last_active()) is still
  /// running: call block() if it must wait.
  Control step();
  uint32_t last_active() const { return last_active_; }
  /// Instruction that caused the last control, access or fault (index into kernel.insts).
  uint32_t last_inst() const { return last_inst_; }

  /// The split that ran last waits outside (barrier, async wait, sleep); another split becomes current if there is one.
  void block();
  /// Lanes may run again.
  void unblock(uint32_t lanes);
  /// Lanes that wait outside.
  uint32_t blocked() const;
  /// Chooses another runnable split if there is one (fairness for spinning code).
  void rotate();
  bool diverged() const { return splits_.size() > 1; }
  const Program& program() const { return *program_; }
  uint32_t index() const { return index_; }

 private:
  struct Split { uint32_t mask, pc; enum class State : uint8_t { running, reconverging, outside, warp_barrier } state; uint32_t waited; };
  const Program* program_ = nullptr;
  std::vector<Split> splits_;
  uint32_t live_ = 0, pc_ = 0, active_ = 0, last_active_ = 0, last_inst_ = 0, index_ = 0;
  bool runnable_ = false;
  std::vector<uint32_t> storage_;
};

}  // namespace tcsim::isa
