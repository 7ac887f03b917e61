// What a run has to tell the user about faults, suspicious accesses and warps that wait, as Diagnostics with PTX place,
// thread, warp and CTA. Used by the interpreter and by the timing model.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/diag.h"
#include "isa/exec/cta.h"

namespace tcsim::isa {

/// Place of an instruction in the PTX text.
Place place_of(const Module& module, const Inst& inst);

/// warp.ctx.fx.fault of the instruction that ran last. error (not empty): a fault found outside the warp, for example
/// what CtaBarriers::arrive says (kind "barrier-misuse").
Diagnostic fault_diagnostic(const Module& module, const LaunchInfo& launch, const Cta& cta, const Warp& warp, const std::string& error = {});

/// A fault of an asynchronous operation (a bulk copy, a remote arrival) that instruction `inst` issued.
Diagnostic async_fault_diagnostic(const Module& module, const Kernel& kernel, const Cta& cta, uint32_t warp, uint32_t inst, const MbarrierError& error);

/// Collects hazards: one warning an instruction and kind, with a count and where it was seen first.
class HazardLog {
 public:
  /// Call after a step with ctx.fx.hazard != 0.
  void add(const Cta& cta, const Warp& warp);
  void merge(const HazardLog& other);
  bool empty() const { return entries_.empty(); }
  void report(const Module& module, const Kernel& kernel, Diagnostics& diags) const;

 private:
  struct Entry {
    uint64_t count = 0, address = 0;
    Space space = Space::none;
    Dim3 cta;
    uint32_t warp = 0;
    int lane = 0;
    std::string where;  // "offset 64 of shared memory"
  };
  std::map<std::pair<uint32_t, uint8_t>, Entry> entries_;  // (instruction, hazard bit)
};

/// One line for each group of lanes that waits: "CTA (0,0,0) warp 3: k.ptx:31 (gemm.py:12) bar.sync 1: 32 of 64 threads arrived".
std::vector<std::string> describe_waiters(const Module& module, const Cta& cta);
/// The deadlock as one diagnostic: at most `limit` lines of waiters.
Diagnostic deadlock_diagnostic(const Module& module, const std::vector<const Cta*>& ctas, size_t limit = 16);

}  // namespace tcsim::isa
