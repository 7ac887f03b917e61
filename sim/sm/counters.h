// Plain counters of one SM in the hot loop; sim/gpu turns them into the metrics of sim/stats.
#pragma once
#include <array>
#include <cstdint>

#include "isa/op.h"

namespace tcsim::sim {

struct SmCounters {
  std::array<uint64_t, static_cast<size_t>(isa::TimingClass::count)> issued{};  // warp instructions by timing class
  uint64_t inst_executed = 0, thread_inst = 0, inst_tensor = 0;
  uint64_t issue_active = 0;        // sub-core cycles with an issue
  uint64_t active_cycles = 0;       // cycles with a CTA resident
  uint64_t warp_cycles = 0;         // warps resident x cycles
  uint64_t tensor_active = 0;       // sub-core cycles in which the tensor pipe is busy
  uint64_t wavefronts_ld = 0, wavefronts_st = 0, ideal_ld = 0, ideal_st = 0;
  uint64_t conflicts_ldsm = 0, conflicts_stsm = 0;
  uint64_t arbitration_cycles = 0;  // MIO instructions that waited for the pipe because something else used it
  uint64_t l1_sectors = 0, l1_sector_hits = 0, l1_lines = 0;
  uint64_t register_bank_cycles = 0, icache_misses = 0, barriers = 0;
  uint64_t read_sectors = 0, write_sectors = 0, ldgsts_bytes = 0;
  uint64_t ctas = 0;
};

}  // namespace tcsim::sim
