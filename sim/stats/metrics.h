// From counters to metrics: the roll-ups (.sum .avg .min .max .pct_of_peak_sustained_active ...) and ratios
// that Nsight Compute shows, under its names.
//
//   RunCounters run;                      // filled by sim/gpu when a launch is over
//   Metrics m = make_metrics(run, machine);
//   m.at("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active")
//
// .avg .min .max of smsp metrics are over sub-cores; only sums over an SM's sub-cores are kept, so they have
// no .min .max.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/config/machine.h"
#include "sim/stats/counters.h"
#include "sim/stats/stall.h"

namespace tcsim::sim {

using Metrics = std::map<std::string, double>;

/// What was launched, for the launch__ metrics.
struct LaunchShape {
  uint64_t grid_ctas = 0;
  uint32_t block_threads = 0, registers_per_thread = 0;
  uint32_t shared_dynamic_bytes = 0, shared_static_bytes = 0, shared_reserved_bytes = 0;
  uint32_t ctas_per_sm = 0, warps_per_cta = 0;
  /// CTAs that each resource alone would allow: launch__occupancy_limit_*.
  uint32_t limit_registers = 0, limit_shared_mem = 0, limit_warps = 0, limit_blocks = 0, limit_barriers = 0;
};

struct RunCounters {
  std::vector<CounterBlock> sms;  // one for each SM of the chip; those without work stay 0
  CounterBlock memory;            // L2 and DRAM
  StallCycles stalls{};           // warp-cycles of all SMs
  uint64_t cycles = 0;            // sm__cycles_elapsed.max
  uint64_t kernel_cycles = 0;     // first instruction to last store
  LaunchShape launch;
};

Metrics make_metrics(const RunCounters& run, const cfg::Machine& machine);

/// Shares of the active warp-cycles by reason; they sum to 1 (all 0 when nothing ran).
std::array<double, kStallReasons> stall_shares(const StallCycles& stalls);

/// Unit of a metric as ncu prints it in the second row of its raw page ("", "cycle", "%", "inst", "byte",
/// "nsecond").
std::string metric_unit(const std::string& metric);

/// Reference page: every counter with its unit and meaning (Markdown).
std::string describe_counters();

}  // namespace tcsim::sim
