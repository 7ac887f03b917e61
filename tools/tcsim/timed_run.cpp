#include "tools/tcsim/timed_run.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "sim/gpu/make_report.h"

namespace tcsim::tool {
namespace {

std::array<uint32_t, 3> dims(const isa::Dim3& d) { return {d.x, d.y, d.z}; }

void add_timeline(TimelineRequest& request, const sim::Trace& trace, const sim::SimResult& result, const isa::Module& module, Diagnostics& diags) {
  if (result.program.kernel == nullptr) return;  // nothing ran
  request.timeline.add(trace, result.program, module, result.cycles);
  if (request.tell_end && trace.full_at() != sim::kNever)
    diags.add(
        {Severity::note,
         "timeline",
         {"--timeline", 0, 0},
         fmt::format("the timeline ends at cycle {}: its {} events are used up; choose fewer CTAs", trace.full_at(), request.options.max_events)});
}

}  // namespace

sim::Report describe_launch(const isa::Module& module, const launch::BoundLaunch& bound, const cfg::Machine& machine,
                            const sim::Occupancy& occupancy) {
  sim::Report out;
  out.arch = sim::make_report_arch(machine);
  out.kernel = bound.kernel->name;
  out.kernel_path = module.path;
  out.launch.grid = dims(bound.info.grid);
  out.launch.block = dims(bound.info.block);
  out.launch.cluster = dims(bound.info.cluster);
  out.launch.dynamic_smem_bytes = bound.info.dynamic_smem_bytes;
  out.launch.static_smem_bytes = bound.kernel->shared_static_bytes;
  out.launch.registers_per_thread = occupancy.registers_per_thread;
  out.launch.ctas_per_sm = occupancy.ctas_per_sm;
  out.launch.warps_per_cta = occupancy.warps_per_cta;
  out.launch.limiter = occupancy.limiter;
  return out;
}

sim::Report run_timed(const isa::Module& module, const launch::BoundLaunch& bound, isa::GlobalMemory& memory, const cfg::Machine& machine,
                      sim::SimOptions options, ProgressLine& progress, Diagnostics& diags, TimelineRequest* timeline) {
  options.progress = [&](const sim::SimOptions::Progress& p) { progress.update(p.instructions, p.cycles, p.ctas_done, p.ctas_total); };
  std::optional<sim::Trace> trace;
  if (timeline != nullptr) options.trace = &trace.emplace(timeline->options, bound.info.cluster.count());
  const sim::SimResult result = sim::simulate(module, *bound.kernel, bound.info, memory, machine, options, diags);
  if (timeline != nullptr) add_timeline(*timeline, *trace, result, module, diags);
  if (result.ok) return sim::make_report(result, module, *bound.kernel, bound.info, machine, options);
  sim::Report out = describe_launch(module, bound, machine, result.occupancy);
  out.mode = options.mode == sim::Mode::timing ? "timing" : "full";
  return out;
}

}  // namespace tcsim::tool
