// Everything that a run tells, as plain data; writers.h turns it into JSON (the contract for scripts), a raw page as Nsight
// Compute prints it, and text for people.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/diag.h"
#include "sim/stats/metrics.h"

namespace tcsim::sim {

struct ReportArch {
  std::string name, description;
  uint32_t sm = 0, sms = 0, max_warps_per_sm = 0;
  double clock_mhz = 0;
  uint32_t values = 0, assumed_values = 0;
  std::map<std::string, std::string> set;  // --set
};

struct ReportLaunch {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t dynamic_smem_bytes = 0, static_smem_bytes = 0;
  uint32_t registers_per_thread = 0;
  bool registers_estimated = false;  // nobody gave them: liveness estimate
  uint32_t ctas_per_sm = 0, warps_per_cta = 0;
  std::string limiter;  // what limits ctas_per_sm: "registers", "shared memory", ...
};

/// Roofs, in SM cycles of the whole chip. 0: not known.
struct Roofline {
  double flops = 0;                 // of the run
  double peak_flops_per_cycle = 0;  // of the matrix instructions (or FMA) that the kernel uses
  std::string peak_name;            // "mma.sync f16 -> f32"
  double dram_bytes_per_cycle = 0, l2_bytes_per_cycle = 0;
  double dram_bytes = 0, l2_bytes = 0;
};

struct ReportInstruction {
  uint32_t index = 0;
  std::string text;
  std::string source;  // "triton_matmul.py:31" from .loc, empty without debug information
  std::string place;   // "kernel.ptx:120"
  uint64_t executed = 0;
  uint64_t wavefronts = 0, wavefronts_ideal = 0;  // shared memory
  StallCycles stalls{};                           // warp-cycles charged to this instruction
  std::string note;                               // lanes that collide, in the first execution that conflicts
  std::vector<uint64_t> bank_conflicts{};         // by bank: words needed beyond the first of each pass, of all executions; empty: none

  uint64_t conflicts() const { return wavefronts - wavefronts_ideal; }
  uint64_t cycles() const;          // all warp-cycles, selected included
  uint64_t waiting_cycles() const;  // without selected and not_selected
};

struct ReportBarrier {
  /// data: an mbarrier on which asynchronous copies complete; arrivals: one that only counts arrivals; cta: bar.sync.
  enum class Kind : uint8_t { cta, data, arrivals };
  struct Waiter {
    std::string where;
    uint64_t waits = 0, wait_cycles = 0;
  };

  std::string name;                     // "full_bar[2]"
  uint64_t waits = 0, wait_cycles = 0;  // mbarriers: warps that were suspended, and for how long until the phase's end
  uint64_t phases = 0;                  // that ended, over all CTAs; 0: not known
  Kind kind = Kind::cta;
  std::string array{};            // "full_bar": the elements are the stages of one pipeline; empty: none
  uint64_t index = 0;             // in it
  std::vector<Waiter> waiters{};  // by place in the source
};

struct ReportCheck {
  bool passed = false;
  double max_abs = 0, max_ulp = 0, rel_l2 = 0;
  uint64_t elements = 0, failures = 0;
  std::string first_failure;  // "C[3, 7]: got 1.5, want 1.25"
};

struct Report {
  std::string version;
  std::vector<std::string> command;
  std::string mode = "full";  // full timing functional; functional has no times
  ReportArch arch;
  std::string kernel, kernel_path;
  ReportLaunch launch;
  uint64_t cycles = 0, kernel_cycles = 0;
  uint64_t simulated_warp_instructions = 0;
  double wall_s = 0;
  Roofline roofline;
  Metrics metrics;
  StallCycles stalls{};
  std::vector<ReportInstruction> instructions;
  std::vector<ReportBarrier> barriers;
  std::vector<Diagnostic> diagnostics;
  std::optional<ReportCheck> check;
  std::vector<std::string> not_modelled;  // what the numbers leave out, one line each

  bool timed() const { return mode != "functional"; }
  double time_us() const { return arch.clock_mhz > 0 ? static_cast<double>(cycles) / arch.clock_mhz : 0; }
  double tflops() const { return time_us() > 0 ? roofline.flops / time_us() * 1e-6 : 0; }
  double metric(const std::string& name) const;  // 0 when absent
};

/// A resource and the share of what it could do in the run's cycles, 0 to 1.
struct ResourceUse {
  std::string name;  // "compute (mma.sync m16n8k16.f32.f16)", "L2 bandwidth", ...
  double used = 0;
};
/// Of the whole chip; empty when the run took no time or its roofs are not known. The largest is the one that binds.
std::vector<ResourceUse> resource_uses(const Report& report);
/// What the largest of them means: "mostly bound by L2 bandwidth"; empty when there is none.
std::string verdict(const Report& report);

}  // namespace tcsim::sim
