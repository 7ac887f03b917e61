#include "sim/lower/lower.h"

#include <algorithm>

#include "sim/lower/emit.h"
#include "sim/lower/registers.h"
#include "sim/lower/select.h"

namespace tcsim::sim {

LoweredProgram lower(const isa::Module& module, const isa::Kernel& kernel, const cfg::Machine& machine,
                     const LowerOptions& options, Diagnostics& diags) {
  using namespace lowering;
  LoweredProgram program;
  Function fn(module, kernel, machine);
  find_uniform(fn);
  select(fn, diags);
  const Pressure pressure = find_pressure(fn);
  const int32_t budget = register_budget(fn, options);
  Emitter emitter(fn, program);
  int32_t peak = 0;
  for (int32_t b = 0; b < static_cast<int32_t>(fn.blocks.size()); ++b) {
    Graph graph = build_graph(fn, b);
    const std::vector<int32_t> order = options.schedule ? schedule_block(fn, pressure, graph, budget) : source_order(graph);
    peak = std::max(peak, peak_pressure(fn, pressure, graph, order));
    emitter.block(graph, order);
  }
  emitter.finish();
  set_registers(fn, options, peak, program);
  return program;
}

}  // namespace tcsim::sim
