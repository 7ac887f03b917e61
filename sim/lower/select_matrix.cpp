// Matrix instructions: one tensor operation of the machine's row, and the moves and copies that an emulated form needs.
#include <algorithm>

#include <fmt/format.h>

#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

/// The operation carries the row's whole interval; further native instructions and helpers take issue slots beside it.
void Selector::select_matrix(int32_t i) {
  const Inst& inst = fn_.inst(i);
  const auto row = fn_.machine.mma.find(inst.timing_key);
  if (row == fn_.machine.mma.end()) {
    diags_.error("unsupported-instruction", {fn_.module.path, inst.line, inst.col},
                 fmt::format("'{}' has no timing on machine {}, expected [mma.\"{}\"]", inst.text.substr(0, inst.text.find(' ')),
                             fn_.machine.name, inst.timing_key));
    return;
  }
  const cfg::MmaTiming* timing = &row->second;
  const auto known = std::find(fn_.mma_rows.begin(), fn_.mma_rows.end(), timing);
  const auto index = static_cast<uint16_t>(known - fn_.mma_rows.begin());
  if (known == fn_.mma_rows.end()) fn_.mma_rows.push_back(timing);
  Values uses;
  for (int g = 1; g < inst.group_count; ++g) {
    if (inst.group(g).size() > 1) add_tuple(uses, g, i);
    else add_group(uses, g, i);
  }
  for (uint32_t k = 0; k < timing->helpers; ++k) uses.push_back(step(i, TimingClass::alu, uses.empty() ? Values{} : Values{uses[0]}, true));
  for (uint32_t k = 1; k < timing->instructions; ++k) emit(i, TimingClass::nop, {});
  const int32_t op = emit_result(i, TimingClass::mma, uses);
  fn_.ops[op].mma_row = index;
}

void Selector::select_wmma_move(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values uses;
  const bool load = inst.op == Op::wmma_load;
  const bool shared = inst.space == isa::Space::shared;
  uses_global_ |= !shared;
  add_address(uses, inst.operand(load ? 1 : 0), i, shared);
  for (int g = load ? 2 : 1; g < inst.group_count; ++g)
    for (const Operand& operand : inst.group(g)) add_register(uses, operand, i);
  emit_result(i, inst.timing, uses);
}

}  // namespace tcsim::sim::lowering
