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

std::string str(const Dim3& d);  // "(0,1,0)"
/// Place of an instruction in the PTX text.
Place place_of(const Module& module, const Inst& inst);
/// The statement with long register lists cut: "{%f0, ..., %f63}".
std::string brief(const Inst& inst);
/// " (gemm.py:12)" where .loc tells; else empty.
std::string source_note(const Module& module, const Inst& inst);
/// What a byte of shared memory is called: "full_bar[1]" in an array of 64-bit words, "tile+64" elsewhere; empty: no variable of
/// known size covers it.
std::string shared_name(const Module& module, const Kernel& kernel, uint32_t offset);

/// warp.ctx.fx.fault of the instruction that ran last. error (not empty): a fault found outside the warp, for example
/// what CtaBarriers::arrive says (kind "barrier-misuse").
Diagnostic fault_diagnostic(const Module& module, const LaunchInfo& launch, const Cta& cta, const Warp& warp, const std::string& error = {});

/// A fault of an asynchronous operation (a bulk copy, a remote arrival) that instruction `inst` issued.
Diagnostic async_fault_diagnostic(const Module& module, const Kernel& kernel, const Cta& cta, uint32_t warp, uint32_t inst,
                                  const MbarrierError& error);

/// Collects hazards: one warning an instruction and kind, with a count and where it was seen first.
class HazardLog {
 public:
  /// Call after a step with ctx.fx.hazard != 0.
  void add(const Cta& cta, Warp& warp);
  void merge(const HazardLog& other);
  bool empty() const { return entries_.empty(); }
  void report(const Module& module, const Kernel& kernel, Diagnostics& diags) const;

 private:
  struct Entry {
    uint64_t count = 0, address = 0;
    Space space = Space::none;
    Dim3 cta;
    uint32_t warp = 0;
    int lane = 0;       // -1: a finding
    std::string where;  // "offset 64 of shared memory"
    HazardFinding finding;
  };
  std::map<std::pair<uint32_t, uint8_t>, Entry> entries_;  // (instruction, hazard bit)
};

/// The deadlock: which warps wait where and for what; for each mbarrier waited for, who brought what to its current phase, who
/// came to the phase before and not to this one, and where those are (at most `limit` lines). Then a tma-byte-mismatch for each
/// mbarrier on which nothing but bytes is missing and none is on its way. (isa/exec/deadlock.cpp)
std::vector<Diagnostic> deadlock_diagnostics(const Module& module, const std::vector<const Cta*>& ctas, size_t limit = 24);

}  // namespace tcsim::isa
