// What all SMs of one launch share: the program, the launch, the machine. Immutable while the SMs run.
#pragma once
#include <cstdint>
#include <vector>

#include "isa/exec/cta.h"
#include "sim/config/machine.h"
#include "sim/engine/types.h"
#include "sim/lower/lower.h"
#include "sim/stats/counters.h"
#include "sim/stats/stall.h"

namespace tcsim::sim {

using Stall = StallReason;

/// What one machine operation did, over all warps of an SM.
struct OpStats {
  uint64_t executed = 0, threads = 0;
  uint64_t wavefronts = 0, wavefronts_ideal = 0;  // shared memory
  uint64_t sectors = 0, lines = 0, l1_hits = 0;   // global and local memory
  StallCycles stalls{};         // warp-cycles, charged to the waiting operation
};

struct KernelRun {
  const isa::Module* module = nullptr;
  const isa::Kernel* kernel = nullptr;
  const LoweredProgram* program = nullptr;
  const isa::LaunchInfo* launch = nullptr;
  const cfg::Machine* machine = nullptr;
  bool values_known = true;      // full mode; false: timing mode
  uint32_t ctas_per_sm = 1;
  uint32_t warps_per_cta = 1;
  bool asynchronous = false;     // the kernel has mbarriers, bulk copies, clusters or wgmma
  uint32_t cluster_size = 1;
  uint32_t l1_bytes = 0;         // what the shared-memory carve-out leaves
};

}  // namespace tcsim::sim
