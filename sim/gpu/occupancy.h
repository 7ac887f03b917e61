// How many CTAs of a kernel fit on an SM at the same time, and what limits them (CUDA Programming Guide, occupancy).
#pragma once
#include <cstdint>
#include <string>

#include "isa/diag.h"
#include "isa/exec/warp.h"
#include "sim/config/machine.h"

namespace tcsim::sim {

struct Occupancy {
  uint32_t ctas_per_sm = 0, warps_per_cta = 0;
  // CTAs that each resource alone would allow: launch__occupancy_limit_{registers,shared_mem,warps,blocks,barriers}
  uint32_t by_registers = 0, by_shared = 0, by_warps = 0, by_ctas = 0, by_barriers = 0;
  uint32_t registers_per_thread = 0;   // as allocated
  uint32_t shared_per_cta_bytes = 0;   // static + dynamic + reserved, rounded
  uint32_t shared_carveout_bytes = 0;  // configured for the SM
  uint32_t l1_bytes = 0;               // the rest of the pool
  std::string limiter;                 // "registers", "shared memory", ...
};

/// Bytes of shared memory that a CTA asks for: static variables, and the dynamic part at its alignment.
uint32_t shared_bytes(const isa::Kernel& kernel, uint32_t dynamic_bytes);

/// Errors of kind too-many-resources when not even one CTA fits: says what is asked for and what there is.
Occupancy compute_occupancy(const isa::Kernel& kernel, const isa::LaunchInfo& launch, uint32_t registers_per_thread, const cfg::Machine& machine,
                            const Place& place, Diagnostics& diags);

}  // namespace tcsim::sim
