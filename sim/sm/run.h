// What all SMs of one launch share: the program, the launch, the machine. Immutable while the SMs run.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "isa/exec/cta.h"
#include "sim/config/machine.h"
#include "sim/engine/types.h"
#include "sim/lower/lower.h"
#include "sim/stats/counters.h"
#include "sim/stats/stall.h"

namespace tcsim::sim {

class Trace;

using Stall = StallReason;

/// What one machine operation did, over all warps of an SM.
struct OpStats {
  uint64_t executed = 0, threads = 0;
  uint64_t wavefronts = 0, wavefronts_ideal = 0;  // shared memory
  uint64_t sectors = 0, lines = 0, l1_hits = 0;   // global and local memory
  uint64_t operations = 0;                        // of tcgen05.mma: 2 m n k each ...
  double tensor_cycles = 0;                       // ... and the cycles in which one SM's tensor core could do them
  std::string_view kind;                          // "f16", "mxf4nvf4", ...
  StallCycles stalls{};                           // warp-cycles, charged to the waiting operation
};

/// What happened at the mbarriers at one offset of shared memory, over CTAs.
struct MbarrierStats {
  struct Waits {
    uint64_t count = 0, cycles = 0;
  };  // waits that ended; warp-cycles from suspension to the phase's end
  uint64_t phases = 0;
  bool data = false;                  // asynchronous copies complete on it
  std::map<uint32_t, Waits> waiters;  // by waiting instruction (index in the kernel)
};

/// What a counterfactual run lifts where no number of the machine stands for it. Nothing in an ordinary run.
struct Lifted {
  bool bank_conflicts = false;  // every shared-memory access takes its ideal wavefronts
  bool issue_slots = false;     // instructions take no time to issue; their pipes and results still do
  bool stores = false;          // writes to global memory cost nothing below the SM
};

struct KernelRun {
  const isa::Module* module = nullptr;
  const isa::Kernel* kernel = nullptr;
  const LoweredProgram* program = nullptr;
  const isa::LaunchInfo* launch = nullptr;
  const cfg::Machine* machine = nullptr;
  bool values_known = true;  // full mode; false: timing mode
  uint32_t ctas_per_sm = 1;
  uint32_t warps_per_cta = 1;
  bool asynchronous = false;  // the kernel has mbarriers, bulk copies, clusters or wgmma
  uint32_t cluster_size = 1;
  uint32_t l1_bytes = 0;         // what the shared-memory carve-out leaves
  const Trace* trace = nullptr;  // nullptr: nobody records
  Lifted lifted;
};

}  // namespace tcsim::sim
