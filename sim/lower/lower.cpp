#include "sim/lower/lower.h"

#include <algorithm>

#include "sim/lower/emit.h"
#include "sim/lower/registers.h"
#include "sim/lower/select.h"

namespace tcsim::sim {

namespace {

// Small kernels are not squeezed: occupancy is not limited by registers below this.
constexpr int32_t kFewRegisters = 32;

}  // namespace

LoweredProgram lower(const isa::Module& module, const isa::Kernel& kernel, const cfg::Machine& machine, const LowerOptions& options,
                     Diagnostics& diags) {
  using namespace lowering;
  LoweredProgram program;
  Function fn(module, kernel, machine);
  find_uniform(fn);
  program.wgmma_serialised = fn.wgmma_serialised = serialises_wgmma(fn, diags);
  select(fn, diags);
  const Pressure pressure = find_pressure(fn);
  int32_t budget = register_budget(fn, options);
  const auto count = static_cast<int32_t>(fn.blocks.size());
  int32_t estimate = 0, peak = 0;
  for (int32_t b = 0; b < count; ++b) {
    Graph graph = build_graph(fn, b);
    estimate = std::max(estimate, options.schedule ? least_pressure(fn, pressure, graph) : peak_pressure(fn, pressure, graph, source_order(graph)));
  }
  if (options.registers == 0) budget = std::min(budget, std::max(estimate, kFewRegisters));
  const int32_t limit = load_limit(fn, budget);
  Emitter emitter(fn, program);
  for (int32_t b = 0; b < count; ++b) {
    Graph graph = build_graph(fn, b);
    Schedule schedule;
    if (options.schedule) schedule = schedule_block(fn, pressure, graph, budget, limit);
    else schedule = {source_order(graph), {}, 0};
    for (int32_t op : schedule.moved) fn.ops[op].timing = isa::TimingClass::imad;
    peak = std::max(peak, schedule.peak);
    emitter.block(graph, schedule.order);
  }
  emitter.finish();
  program.registers_over = static_cast<uint32_t>(std::max(0, peak - budget));
  set_registers(fn, options, std::max(estimate, options.registers == 0 ? peak : 0), program);
  return program;
}

}  // namespace tcsim::sim
