#include "sim/gpu/target_check.h"

#include <fmt/format.h>

#include "isa/check.h"
#include "isa/exec/generation.h"
#include "isa/insn/def.h"

namespace tcsim::sim {
namespace {

/// The first instruction whose form is younger than the machine; nullptr: none.
const isa::Inst* first_missing(const isa::Module& module, uint32_t sm) {
  for (const isa::Kernel& kernel : module.kernels)
    for (const isa::Inst& inst : kernel.insts)
      if (inst.def && inst.def->since.sm > sm) return &inst;
  return nullptr;
}

}  // namespace

bool check_target(const isa::Module& module, const cfg::Machine& machine, Diagnostics& diags) {
  const auto sm = static_cast<uint32_t>(module.sm), have = machine.chip.sm;
  const bool family = module.target.ends_with('f');
  const bool fits = !module.arch_specific ? sm <= have : family ? sm <= have && sm / 10 == have / 10 : sm == have;
  if (fits) return true;
  Place where{module.path, 1, 1};
  std::string text = fmt::format("found .target {}, but machine {} is sm_{}", module.target, machine.name, have);
  if (const isa::Inst* inst = sm > have ? first_missing(module, have) : nullptr) {
    where = {module.path, inst->line, inst->col};
    text += fmt::format(": '{}' needs sm_{}", inst->text.substr(0, inst->text.find(' ')), inst->def->since.sm);
  }
  text += sm <= have
              ? fmt::format(", expected a machine of sm_{}{}: architecture-specific code does not run on others", sm, family ? " or its family" : "")
              : fmt::format(", expected a machine of sm_{}{}, or PTX for sm_{}", sm, module.arch_specific ? "" : " or later", have);
  diags.error("target-version", where, std::move(text));
  return false;
}

uint8_t generation_of(const cfg::Machine& machine) {
  const auto generation = isa::parse_generation(machine.chip.generation);
  TC_CHECK(generation.has_value(), "machine {} has generation '{}'", machine.name, machine.chip.generation);
  return static_cast<uint8_t>(*generation);
}

}  // namespace tcsim::sim
