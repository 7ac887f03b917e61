// What all SMs of one launch share: the program, the launch, the machine. Immutable while the SMs run.
#pragma once
#include <cstdint>
#include <vector>

#include "isa/exec/cta.h"
#include "sim/config/machine.h"
#include "sim/engine/types.h"
#include "sim/lower/lower.h"

namespace tcsim::sim {

/// Why a warp did not issue in a cycle. Names and meanings are Nsight Compute's; see sim/stats.
enum class Stall : uint8_t {
  barrier, branch_resolving, dispatch_stall, drain, gmma, imc_miss, lg_throttle, long_scoreboard, math_pipe_throttle,
  membar, mio_throttle, misc, no_instruction, not_selected, selected, short_scoreboard, sleeping, tex_throttle, wait, count
};
constexpr size_t kStalls = static_cast<size_t>(Stall::count);

/// What one machine operation did, over all warps of an SM.
struct OpStats {
  uint64_t executed = 0, threads = 0;
  uint64_t wavefronts = 0, wavefronts_ideal = 0;  // shared memory
  uint64_t sectors = 0, lines = 0, l1_hits = 0;   // global and local memory
  std::array<uint64_t, kStalls> stalls{};         // warp-cycles, charged to the waiting operation
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
  uint32_t l1_bytes = 0;         // what the shared-memory carve-out leaves
};

}  // namespace tcsim::sim
