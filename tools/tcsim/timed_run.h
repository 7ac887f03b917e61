// A launch under the timing model, as a Report.
#pragma once
#include <cstdint>

#include "isa/ptx/module.h"
#include "sim/gpu/gpu.h"
#include "sim/report/report.h"
#include "sim/trace/perfetto.h"
#include "tools/launch/prepare.h"
#include "tools/tcsim/output.h"

namespace tcsim::tool {

/// The parts of a report that are known without the timing model: machine, kernel, launch.
sim::Report describe_launch(const isa::Module& module, const launch::BoundLaunch& bound, const cfg::Machine& machine,
                            const sim::Occupancy& occupancy);

/// --timeline and --html: which CTAs, and what they did, launch after launch.
struct TimelineRequest {
  sim::TraceOptions options;
  bool tell_end = true;  // a note says when the events are used up
  sim::Timeline timeline;
};

/// Runs it. Faults go to diags; the report then holds what was known before the run. timeline: nullptr when none is wanted.
sim::Report run_timed(const isa::Module& module, const launch::BoundLaunch& bound, isa::GlobalMemory& memory, const cfg::Machine& machine,
                      sim::SimOptions options, ProgressLine& progress, Diagnostics& diags, TimelineRequest* timeline = nullptr);

}  // namespace tcsim::tool
