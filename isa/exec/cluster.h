// CTAs of one cluster (PTX ISA, "Cluster of Cooperative Thread Arrays"): their shared memories, the cluster barrier, and the
// delivery of operations on another CTA's shared memory.
#pragma once
#include <cstdint>
#include <vector>

#include "isa/exec/cta.h"
#include "isa/exec/tensor_memory.h"
#include "isa/exec/tensor_watch.h"

namespace tcsim::isa {

/// barrier.cluster: a phase is over when every thread of the cluster that has not exited has arrived in it.
class ClusterBarrier {
 public:
  void reset(const std::vector<Cta*>& ctas);
  /// Lanes of a warp arrive. Empty: they may. Else what is wrong (they arrived in this phase already).
  std::string arrive(uint32_t rank, uint32_t warp, uint32_t lanes);
  /// The lanes' last arrival lies in a phase that is over (lanes that never arrived: an error in `error`).
  bool may_pass(uint32_t rank, uint32_t warp, uint32_t lanes, std::string& error) const;
  /// Threads that exit are not waited for.
  void exit(uint32_t lanes_count);
  /// Counts phases: whoever waits looks again when it has changed.
  uint64_t phase() const { return phase_; }
  uint32_t arrived() const { return arrived_; }
  uint32_t expected() const { return threads_; }

 private:
  void settle();
  struct WarpState {
    uint32_t pending = 0, ever = 0;
  };  // lanes that arrived in this phase; in any
  std::vector<std::vector<WarpState>> warps_;
  std::vector<Cta*> ctas_;
  uint32_t threads_ = 0, arrived_ = 0;
  uint64_t phase_ = 0;
};

struct Cluster {
  std::vector<Cta*> ctas;             // by rank
  std::vector<WindowMemory*> shared;  // of each rank: ExecContext::cluster_shared
  std::vector<TensorMemory*> tensor;  // likewise; empty: the kernel does not use Tensor Memory
  TensorWatch tensor_watch;
  ClusterBarrier barrier;
  uint32_t running = 0;  // CTAs with warps that have not exited

  /// The CTAs were started; lets their warps see each other.
  void connect(std::vector<Cta*> members);
  /// An operation reaches its target CTA.
  MbarrierError deliver(const RemoteOp& op, MbarrierSource source);

  /// An operation of the tensor core takes effect: it computes and writes, or (commit) arrives on its mbarriers. values: false: it only
  /// arrives (timing mode).
  MbarrierError complete(const Tcgen05Op& op, bool values = true);
  Tcgen05Memories memories(const Tcgen05Op& op) const;
  /// Operations with the same number complete in the order of issue: those of a CTA, or of a CTA pair with cta_group::2.
  static uint32_t tensor_queue(const Tcgen05Op& op) { return op.cta_group == 2 ? op.rank & ~1u : op.rank; }
};

}  // namespace tcsim::isa
