// A CTA: its warps, shared memory and named barriers. Used by the interpreter and by the timing model's SM.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "isa/exec/mbarrier_unit.h"
#include "isa/exec/shared_watch.h"
#include "isa/exec/warp.h"

namespace tcsim::isa {

/// The 16 named barriers of a CTA (PTX ISA, "Parallel Synchronization: barrier"). Counts threads.
class CtaBarriers {
 public:
  static constexpr uint32_t kCount = 16;
  struct Release {
    uint32_t warp, lanes;
    uint32_t red_result;
  };  // red_result: popc, or 0/1 for and/or
  /// watch hears of arrivals.
  void reset(uint32_t cta_threads, SharedWatch* watch = nullptr);
  /// Lanes of a warp arrive. True when this completes the barrier: then `released` lists who may go on, the lanes that
  /// arrived last among them (unless they only arrive): Warp::unblock() is right for each entry, blocked or not.
  /// fault text in `error` (empty: none): counts that disagree, more arrivals than expected, id out of range.
  bool arrive(const BarrierRequest& request, uint32_t warp, uint32_t lanes, std::vector<Release>& released, std::string& error);
  /// Threads (a count) that exit no longer take part in barriers that wait for the whole CTA. May complete barriers.
  bool exit(uint32_t lanes_count, std::vector<Release>& released);
  struct State {
    uint32_t expected = 0, arrived = 0;
    bool has_waiters = false;
  };
  State state(uint32_t id) const;

 private:
  struct Barrier {
    uint32_t expected = 0, arrived = 0;
    bool whole_cta = false;
    BarrierRequest::Kind kind = BarrierRequest::Kind::sync;
    uint32_t popc = 0;
    bool all = true, any = false;
    std::vector<Release> waiting;
  };
  void complete(Barrier& barrier, std::vector<Release>& released);
  std::array<Barrier, kCount> barriers_;
  SharedWatch* watch_ = nullptr;
  uint32_t threads_ = 0;
};

struct Cta {
  Dim3 id;
  WindowMemory shared;
  CtaBarriers barriers;
  MbarrierUnit mbarriers;
  SharedWatch watch;
  std::vector<Warp> warps;
  std::vector<WindowMemory> locals;  // one a warp
  uint32_t warps_running = 0;        // warps that have not exited; kept by the caller from start() on
  uint32_t sm_id = 0;
  uint32_t rank = 0;               // in its cluster
  TensorMemory* tensor = nullptr;  // of the SM; set by the caller before start(): nullptr: none, or the kernel does not use it
  uint32_t tensor_key = 0;         // names this CTA in it
  uint32_t pooled_registers = 0;   // registers a thread, times warps, that setmaxnreg.dec gave back

  /// Sets everything up for one CTA of the launch; reuses storage of an earlier CTA.
  void start(const Program& program, const LaunchInfo& launch, GlobalMemory& global, Dim3 ctaid, uint32_t sm, bool values_known);

  /// setmaxnreg of one warp (PTX ISA, "setmaxnreg"): false when an increase must wait for registers in the CTA's pool.
  bool set_registers(Warp& warp, uint32_t count);
};

}  // namespace tcsim::isa
