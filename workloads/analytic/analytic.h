// The textbook estimate of a tiled GEMM: how long each resource needs for one step of K, the slowest of them sets the pace, and
// waves of CTAs follow each other. It knows no bank conflicts, no contention and no instruction order: what it leaves out is what the
// simulation beside it shows. `tcsim gemm --best` prunes with it.
//
//   analytic::Estimate e = analytic::estimate(gemm, machine);
//   e.cycles;            // launch to end, cold caches
//   e.step.compute ...;  // cycles of an SM for a step of all its CTAs
//   e.bound;             // "arithmetic"
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "sim/config/machine.h"

namespace tcsim::analytic {

/// A GEMM kernel as far as the estimate needs it. A step is tile[2] of K.
struct Gemm {
  uint32_t m = 0, n = 0, k = 0;
  std::array<uint32_t, 3> tile{1, 1, 1};
  uint32_t stages = 1;                      // buffers of a CTA in shared memory
  std::array<uint32_t, 2> cluster{1, 1};    // CTAs along M and N that share loads by multicast
  double element_bytes = 2, out_bytes = 2;  // of A and B; of C
  uint32_t ctas_per_sm = 1;
  double flops_per_cycle = 0;        // of an SM: its matrix instruction (or FFMA) back to back
  double shared_bytes_per_flop = 0;  // operands that the matrix instructions read from shared memory
  double issues_per_flop = 0;        // warp instructions of the main loop
};

/// Cycles of an SM for one step of all its resident CTAs, by resource, each as if alone.
struct Step {
  double compute = 0, shared = 0, issue = 0;
  double l2 = 0, dram = 0;  // the SM's share of the chip's bandwidth
  double latency = 0;       // a buffer is loaded, used, and loaded again: 1 / stages of that time
  double slowest() const;
};

struct Estimate {
  double cycles = 0;  // as sm__cycles_elapsed.max: launch overhead included
  double waves = 0;   // CTAs / (SMs x CTAs that an SM has room for), as launch__waves_per_multiprocessor
  Step step;
  std::string bound;  // the slowest of the step
};

Estimate estimate(const Gemm& gemm, const cfg::Machine& machine);

}  // namespace tcsim::analytic
