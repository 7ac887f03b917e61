// Does ptxas run wgmma one at a time? It does when an instruction that is no wgmma defines an accumulator inside a pipeline
// stage: after a wgmma, in the order of the text, and before the wait_group 0 that ends the stage (its remark C7515). Then
// each HGMMA is followed by WARPGROUP.DEPBAR and WARPGROUP.ARRIVE.
#include <fmt/format.h>

#include <algorithm>

#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

namespace {

std::vector<uint8_t> accumulators(const Function& fn) {
  std::vector<uint8_t> set(static_cast<size_t>(fn.reg_count), 0);
  for (const Inst& inst : fn.kernel.insts) {
    if (!is_wgmma(inst.op)) continue;
    for (const Operand& operand : inst.group(0))
      if (const int32_t reg = fn.reg_of(operand); reg >= 0) set[static_cast<size_t>(reg)] = 1;
  }
  return set;
}

}  // namespace

bool serialises_wgmma(const Function& fn, Diagnostics& diags) {
  const std::vector<uint8_t> accumulator = accumulators(fn);
  const Inst* open = nullptr;  // a wgmma of the stage that is open here
  for (size_t i = 0; i < fn.kernel.insts.size(); ++i) {
    const Inst& inst = fn.kernel.insts[i];
    if (is_wgmma(inst.op)) open = &inst;
    else if (inst.op == Op::wgmma_wait && inst.aux == 0) open = nullptr;
    if (open == nullptr || is_wgmma(inst.op) || inst.op == Op::wgmma_wait || inst.op == Op::wgmma_fence) continue;
    const auto& defs = fn.insts[i].defs;
    if (std::none_of(defs.begin(), defs.end(), [&](int32_t reg) { return accumulator[static_cast<size_t>(reg)] != 0; })) continue;
    diags.warning(
        "wgmma-register-hazard", {fn.module.path, inst.line, inst.col},
        fmt::format(
            "'{}' defines an accumulator of the wgmma at line {} before the wgmma.wait_group 0 that ends its pipeline stage: ptxas makes every wgmma "
            "wait for its own result (C7515), and so does this model",
            inst.text, open->line));
    return true;
  }
  return false;
}

}  // namespace tcsim::sim::lowering
