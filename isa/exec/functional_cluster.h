// One resident cluster of the functional interpreter: its CTAs, the warps that wait outside, and the asynchronous
// operations that have not taken effect.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "isa/exec/cluster.h"
#include "isa/exec/interpreter.h"

namespace tcsim::isa {

/// An asynchronous operation met a fault: where it was issued and what is wrong.
struct AsyncFault {
  MbarrierError error;
  uint32_t inst = 0;
  const Cta* cta = nullptr;
  uint32_t warp = 0;
};

class FunctionalCluster {
 public:
  /// take_cluster: gives the work of a cluster that has not started to a running one (clusterlaunchcontrol).
  FunctionalCluster(AsyncOrder order, std::mt19937_64& random, GlobalMemory& global, std::function<std::optional<Dim3>()> take_cluster)
      : order_(order), random_(random), global_(global), take_cluster_(std::move(take_cluster)) {}
  FunctionalCluster(FunctionalCluster&&) = default;
  /// uses_tensor: the kernel uses Tensor Memory.
  void resize(size_t size, bool uses_tensor) {
    ctas.resize(size);
    tensor_.resize(size);
    for (Cta& cta : ctas)
      if (uses_tensor) cta.tensor = memories_.emplace_back(std::make_unique<TensorMemory>()).get();
    for (Cta& cta : ctas) cta.watch.keep_old(order_ != AsyncOrder::eager);
  }

  std::vector<Cta> ctas;
  Cluster cluster;
  uint64_t events = 0;  // counts whatever can let somebody go on: no change between two stalls is a deadlock

  /// The CTAs were started.
  void begin();
  /// All CTAs have ended: what is wrong with the barriers that they leave.
  void end();
  bool done() const { return cluster.running == 0; }

  // What a warp's last step issued or asks for. False: the warp must block.
  void issue(Cta& cta, Warp& warp);
  bool wait_mbarrier(Cta& cta, Warp& warp);
  bool wait_bulk(Cta& cta, Warp& warp);
  bool wait_wgmma(Cta& cta, Warp& warp, uint64_t keep);
  bool wait_cluster(Cta& cta, Warp& warp, std::string& error);
  bool set_registers(Cta& cta, Warp& warp);
  void lanes_exited(Cta& cta, Warp& warp, uint32_t lanes);
  /// tcgen05.alloc found no room.
  bool wait_tensor(Cta& cta, Warp& warp);
  void issue_cancel(Cta& cta, Warp& warp);

  /// Lets warps go on whose wait is over.
  void wake();
  /// Random order: some operations in flight take effect.
  void some_complete();
  /// Nobody can run: the copies that somebody waits for land (all, if nobody's would help). False: none was in flight.
  bool flush();
  /// try_wait's time limit passes for everybody who is suspended. False: nobody was.
  bool time_out();

  const AsyncFault* fault() const { return fault_.error ? &fault_ : nullptr; }

 private:
  struct Pending {
    BulkCopy copy;
    Cta* cta;
    Warp* warp;
  };
  struct Waiter {
    Cta* cta;
    Warp* warp;
    uint32_t lanes;
    Control why;
    MbarrierWait wait;
    uint64_t count;
  };
  struct PendingTensor {
    Tcgen05Op op;
    Cta* cta;
  };
  struct PendingCancel {
    LaunchCancel cancel;
    MbarrierSource source;
    const Cta* cta;
    uint32_t targets(size_t ctas) const { return cancel.multicast ? (1u << ctas) - 1 : 1u << cancel.response.rank; }
  };
  void issue_tensor(Cta& cta, Tcgen05Op op);
  bool answer_cancel();
  /// The oldest operation of a queue takes effect. False: there is none.
  bool complete_tensor(std::deque<PendingTensor>& queue);
  bool coin() { return random_() % 2 == 0; }
  void issue_bulk(Cta& cta, Warp& warp, const BulkCopy& copy);
  void land(Pending pending);
  void land_in(const BulkCopy& copy, const MbarrierSource& source, Cta& target, const Cta& from);
  /// The oldest wgmma of the warp that is not computed, now. False: all are.
  static bool compute_wgmma(Cta& cta, Warp& warp);
  /// Completes the warpgroup's instructions that `warp` waits for. False: a warp of it has not issued its part yet.
  static bool complete_group(Cta& cta, Warp& warp, uint64_t keep);
  void fail(MbarrierError error, uint32_t inst, const Cta& cta, uint32_t warp);
  bool over(const Waiter& waiter);
  template <class F>
  size_t land_if(F&& wanted);

  AsyncOrder order_;
  std::mt19937_64& random_;
  GlobalMemory& global_;
  std::function<std::optional<Dim3>()> take_cluster_;
  std::deque<Pending> pending_;
  std::deque<PendingCancel> cancels_;
  std::vector<std::deque<PendingTensor>> tensor_;        // by Cluster::tensor_queue
  std::vector<std::unique_ptr<TensorMemory>> memories_;  // by rank; empty: the kernel does not use it
  std::vector<Waiter> waiters_;
  AsyncFault fault_;
};

}  // namespace tcsim::isa
