// Draws traced CTAs as Chrome trace-event JSON, which https://ui.perfetto.dev opens.
//
//   Timeline timeline;
//   timeline.add(trace, result.program, module, result.cycles);   // launch after launch, on one time axis
//   write_file("t.json", timeline.json());
//
// A CTA is a process; its tracks are its warps (by role), the bulk copies of its TMA engine, its matrix instructions on the
// tensor cores, and its mbarriers. Time stamps are microseconds in the format: one SM cycle is 0.001, so that it shows as
// 1 ns. Arrows (flows) go from the issue of a copy or wgmma to its slice, and from what ended a wait to the waiting warp.
#pragma once
#include <string>

#include "isa/ptx/module.h"
#include "sim/lower/lower.h"
#include "sim/trace/cta_trace.h"

namespace tcsim::sim {

class Timeline {
 public:
  void add(const Trace& trace, const LoweredProgram& program, const isa::Module& module, Cycle cycles);
  std::string json() const;

 private:
  std::string events_;
  std::string kernels_;
  uint32_t launches_ = 0;
  uint64_t flows_ = 0;
  Cycle offset_ = 0;  // where the next launch begins
};

}  // namespace tcsim::sim
