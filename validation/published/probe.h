// Micro-kernels that repeat published measurements: for a reading, the PTX text that its authors' program comes down to, how to
// launch it, and how its clocks become the published number.
//
//   std::optional<Probe> probe = make_probe(reading, machine);   // nullopt: no micro-kernel for it
//   double value = run_probe(*probe, machine, diags);            // simulates; NaN with errors in diags
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/diag.h"
#include "sim/config/machine.h"
#include "validation/published/readings.h"

namespace tcsim::published {

/// Contents of the buffer "chase": a ring through all places `stride` bytes apart, in an order that no prefetcher would guess.
struct Chase {
  uint64_t bytes = 0, stride = 0;
  bool pointers = true;  // 64-bit addresses, else 32-bit indices of 32-bit words
};

/// One launch. The kernel writes pairs of 64-bit clocks to the buffer "out". It adds the zero that it finds there to the buffer's
/// address: what is stored must then be computed, in timing mode too.
struct Run {
  std::string ptx, launch;  // launch: text of a launch file
  uint32_t pairs = 1;
  double work = 1;  // steps, operations or bytes between the clocks
  Chase chase;
};

struct Probe {
  std::vector<Run> runs;  // two: what the second takes longer for its additional work
  enum class Clocks : uint8_t {
    span,    // from the first start to the last end: warps that work side by side
    median,  // of the pairs: samples, or CTAs
    kernel,  // the simulator's own count, from the first CTA's start to the last one's end
  };
  Clocks clocks = Clocks::span;
  bool rate = false;  // work / cycles, else cycles / work
};

std::optional<Probe> make_probe(const Reading& reading, const cfg::Machine& machine);
double run_probe(const Probe& probe, const cfg::Machine& machine, Diagnostics& diags);

// By what they measure; used by make_probe.
Probe mma_latency(const std::string& row, const cfg::Machine& machine);
Probe mma_interval(const std::string& row, const cfg::Machine& machine, bool peak);
Probe wgmma_interval(const std::string& row, const cfg::Machine& machine, bool peak);
/// An mma on Tensor Memory as the SemiAnalysis tables have it. peak: operations a cycle and SM instead of cycles an operation.
struct Tcgen05Case {
  std::string format;  // BF16 TF32 E4M3 S8 F4 MXF8 MXF4 (kinds f16 tf32 f8f6f4 i8 f8f6f4 mxf8f6f4 mxf8f6f4) and MXF4K64 (mxf4)
  bool a_in_tensor_memory = false;
  uint32_t cta_group = 1, m = 128, n = 64;
  uint32_t depth = 256;  // operations of a batch, which ends with a commit and a wait
};
/// "BF16 SS cta_group::1 m128n64[ x DEPTH]"
std::optional<Tcgen05Case> parse_tcgen05_case(const std::string& text);
Probe tcgen05_interval(const Tcgen05Case& c, bool peak);
Probe tcgen05_latency(const Tcgen05Case& c);
std::optional<Probe> memory_probe(const Reading& reading, const cfg::Machine& machine);
std::optional<Probe> bulk_probe(const Reading& reading, const cfg::Machine& machine);

/// ".version ... .target sm_90a ..." of the machine.
std::string ptx_header(uint32_t sm);
/// Launch file of a kernel (out[, chase]).
std::string launch_text(uint32_t ctas, uint32_t threads, uint32_t smem_bytes, uint32_t out_words, uint64_t chase_bytes = 0, uint32_t cluster = 1);

}  // namespace tcsim::published
