// The whole chip for one launch: CTA scheduler, SMs, memory system, run loop.
//
//   SimResult r = simulate(module, kernel, launch, memory, machine, options, diags);
//
// SMs run in quanta no longer than the shortest way from an SM to another (through L2, or the CTA scheduler); between
// quanta their requests are served in (cycle, SM, sequence) order. So any number of threads gives the same bytes.
#pragma once
#include <functional>
#include <map>
#include <vector>

#include "isa/diag.h"
#include "isa/exec/cta.h"
#include "sim/gpu/occupancy.h"
#include "sim/lower/lower.h"
#include "sim/mem/memory_system.h"
#include "sim/sm/sm.h"
#include "sim/stats/metrics.h"

namespace tcsim::sim {

enum class Mode : uint8_t { full, timing };

struct SimOptions {
  Mode mode = Mode::full;
  uint32_t threads = 1;
  uint32_t registers = 0;  // --regs; 0: .maxnreg or the estimate
  uint64_t ctas = 0;       // only the first so many CTAs of the grid run, whole clusters (a sample); 0: all
  struct Progress {
    uint64_t instructions, cycles, ctas_done, ctas_total;
  };
  std::function<void(const Progress&)> progress;
  Lifted lifted;                               // counterfactual runs ("what if ..."), and ...
  const cfg::Machine* compiled_for = nullptr;  // ... the machine whose instructions, order and L1 size the kernel keeps; nullptr: the simulated one
  const Trace* trace = nullptr;                // where the chosen CTAs' time goes; nullptr: nobody wants to know
};

struct SimResult {
  bool ok = false;
  LoweredProgram program;
  Occupancy occupancy;
  Cycle cycles = 0;                                              // sm__cycles_elapsed.max, launch and drain included
  Cycle kernel_cycles = 0;                                       // first CTA's first instruction to the last CTA's end
  std::vector<OpStats> ops;                                      // per operation of `program`, over all SMs
  RunCounters counters;                                          // for make_metrics (sim/stats)
  std::map<uint32_t, MbarrierStats> mbarriers;                   // by offset in shared memory, over all CTAs
  std::unordered_map<uint32_t, InstructionConflicts> conflicts;  // by PTX instruction
  double wall_s = 0;
};

SimResult simulate(const isa::Module& module, const isa::Kernel& kernel, const isa::LaunchInfo& launch, isa::GlobalMemory& memory,
                   const cfg::Machine& machine, const SimOptions& options, Diagnostics& diags);

}  // namespace tcsim::sim
