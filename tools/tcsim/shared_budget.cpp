#include "tools/tcsim/shared_budget.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/gpu/occupancy.h"
#include "tools/tcsim/gemm_kernel.h"
#include "tools/tcsim/gemm_table.h"

namespace tcsim::tool {
namespace {

/// A generated kernel as far as its shared memory goes.
struct Plan {
  gemm::Program program;
  std::unique_ptr<isa::Module> module;
  const isa::Kernel* kernel = nullptr;

  uint32_t bytes() const { return sim::shared_bytes(*kernel, program.dynamic_smem_bytes); }
};

std::optional<Plan> plan_of(const gemm::Config& config, const cfg::Machine& machine, Diagnostics& diags) {
  Plan plan;
  plan.program = gemm::generate(for_machine(config, machine), diags);
  if (diags.has_errors()) return std::nullopt;
  plan.module = isa::load_module(plan.program.entry + ".ptx", plan.program.ptx, diags);
  if (!plan.module || diags.has_errors()) return std::nullopt;
  plan.kernel = plan.module->find_kernel(plan.program.entry);
  return plan;
}

/// 0: the generator refuses so many.
uint32_t bytes_with(gemm::Config config, uint32_t stages, const cfg::Machine& machine) {
  Diagnostics refused;
  config.stages = stages;
  const auto plan = plan_of(config, machine, refused);
  return plan ? plan->bytes() : 0;
}

/// From where a constant size of a stage would put it, down to what really fits.
uint32_t largest_stages(const gemm::Config& config, const cfg::Machine& machine, const SharedBudget& budget) {
  const uint32_t fixed = budget.bytes - std::min(budget.bytes, budget.stages * budget.stage_bytes);
  if (budget.stage_bytes == 0 || fixed > budget.limit_bytes) return 0;
  uint32_t stages = (budget.limit_bytes - fixed) / budget.stage_bytes;
  for (; stages > 0; --stages)
    if (const uint32_t bytes = bytes_with(config, stages, machine); bytes != 0 && bytes <= budget.limit_bytes) break;
  return stages;
}

void add_variables(const isa::Module& module, const isa::Kernel& kernel, SharedBudget& budget) {
  for (const auto& [symbol, offset] : kernel.shared_symbols)
    if (const isa::Symbol& variable = module.symbols[symbol]; variable.bytes > 0)
      budget.uses.push_back({variable.name, 1, static_cast<uint32_t>(variable.bytes)});
}

/// What the listed parts do not explain: gaps before aligned variables.
void add_rest(SharedBudget& budget) {
  uint32_t listed = 0;
  for (const gemm::SharedUse& use : budget.uses) listed += use.stages * use.bytes;
  if (listed < budget.bytes) budget.uses.push_back({"gaps before aligned parts", 1, budget.bytes - listed});
}

/// Triton 3 keeps num_stages - 1 copies of what cp.async loads for mma.sync, num_stages of what wgmma and tcgen05 read; the kernels in
/// validation/data/triton_* show both. The epilogue's scratch shares the same bytes and may be the larger part with few stages.
void estimate_triton(const launch::TritonMetadata& triton, int sm, uint32_t dynamic_bytes, SharedBudget& budget) {
  constexpr int kCpAsync = 80, kWgmma = 90;
  const uint32_t spare = sm < kWgmma ? 1 : 0;
  if (sm < kCpAsync || dynamic_bytes == 0 || triton.stages <= spare) return;
  const uint32_t buffers = triton.stages - spare, fixed = budget.bytes - dynamic_bytes;
  budget.stages = triton.stages;
  budget.stage_bytes = (dynamic_bytes + buffers - 1) / buffers;
  const uint32_t fitting = budget.limit_bytes < fixed ? 0 : (budget.limit_bytes - fixed) / budget.stage_bytes;
  budget.largest_stages = fitting == 0 ? 0 : fitting + spare;
  budget.estimate = fmt::format("an estimate from Triton's metadata: num_stages {}, {} buffer{} of the loop's operands", triton.stages, buffers,
                                buffers == 1 ? "" : "s");
}

std::string part_of(const gemm::SharedUse& use) {
  if (use.per_stage) return fmt::format("{} stage{} x {} B", use.stages, use.stages == 1 ? "" : "s", use.bytes);
  return use.stages == 1 ? fmt::format("{} B", use.bytes) : fmt::format("{} x {} B", use.stages, use.bytes);
}

}  // namespace

SharedBudget kernel_budget(const isa::Module& module, const isa::Kernel& kernel, uint32_t dynamic_bytes, const launch::TritonMetadata* triton,
                           const cfg::Machine& machine) {
  SharedBudget budget;
  budget.kernel = kernel.name;
  budget.arch = machine.name;
  budget.limit_bytes = machine.limits.smem_per_cta_bytes;
  budget.bytes = sim::shared_bytes(kernel, dynamic_bytes);
  if (dynamic_bytes > 0) budget.uses.push_back({"dynamic", 1, dynamic_bytes});
  add_variables(module, kernel, budget);
  add_rest(budget);
  if (triton != nullptr) estimate_triton(*triton, module.sm, dynamic_bytes, budget);
  return budget;
}

SharedBudget gemm_budget(const gemm::Config& config, const cfg::Machine& machine, Diagnostics& diags) {
  const auto plan = plan_of(config, machine, diags);
  if (!plan) return {};
  SharedBudget budget;
  budget.kernel = plan->program.entry;
  budget.arch = machine.name;
  budget.limit_bytes = machine.limits.smem_per_cta_bytes;
  budget.bytes = plan->bytes();
  budget.uses = plan->program.shared;
  add_variables(*plan->module, *plan->kernel, budget);
  add_rest(budget);
  budget.stages = config.stages;
  const uint32_t more = bytes_with(config, config.stages + 1, machine);
  if (more != 0) budget.stage_bytes = more - budget.bytes;
  else
    for (const gemm::SharedUse& use : budget.uses) budget.stage_bytes += use.per_stage ? use.bytes : 0;
  budget.largest_stages = largest_stages(config, machine, budget);
  return budget;
}

std::string budget_text(const SharedBudget& b) {
  std::string out = fmt::format("shared memory of a CTA of {}: {} of {} B on {}{}\n", b.kernel, grouped(b.bytes), grouped(b.limit_bytes), b.arch,
                                b.fits() ? "" : fmt::format(", {} too many", grouped(b.bytes - b.limit_bytes)));
  std::vector<std::vector<std::string>> lines;
  for (const gemm::SharedUse& use : b.uses)
    lines.push_back(
        {"  " + use.what, use.per_stage || use.stages > 1 ? part_of(use) : "", grouped(static_cast<double>(use.stages) * use.bytes) + " B"});
  if (!lines.empty()) out += aligned(lines, [](size_t column) { return column == 2; });
  if (b.stages == 0) return out;
  out += fmt::format("  {} B a stage; ", grouped(b.stage_bytes));
  out += b.largest_stages == 0 ? "not even one stage fits: a smaller tile"
                               : fmt::format("the most that fit: {} stage{}", b.largest_stages, b.largest_stages == 1 ? "" : "s");
  return out + (b.estimate.empty() ? "" : fmt::format(" ({})", b.estimate)) + "\n";
}

std::string budget_line(const SharedBudget& b) {
  std::vector<std::string> parts;
  for (const gemm::SharedUse& use : b.uses) parts.push_back(fmt::format("{} {}", use.what, part_of(use)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

nlohmann::ordered_json budget_json(const SharedBudget& b) {
  nlohmann::ordered_json out = {{"kernel", b.kernel}, {"arch", b.arch}, {"bytes", b.bytes}, {"limit_bytes", b.limit_bytes}, {"fits", b.fits()}};
  out["uses"] = nlohmann::ordered_json::array();
  for (const gemm::SharedUse& use : b.uses)
    out["uses"].push_back({{"what", use.what}, {"copies", use.stages}, {"bytes", use.bytes}, {"per_stage", use.per_stage}});
  if (b.stages == 0) return out;
  out["stages"] = b.stages;
  out["stage_bytes"] = b.stage_bytes;
  out["largest_stages"] = b.largest_stages;
  out["estimate"] = !b.estimate.empty();
  return out;
}

}  // namespace tcsim::tool
