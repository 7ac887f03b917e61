// Matrix instructions: one tensor operation of the machine's row, and the moves and copies that an emulated form needs.
#include <algorithm>

#include <fmt/format.h>

#include "isa/exec/generation.h"
#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

/// The operation carries the row's whole interval; further native instructions and helpers take issue slots beside it. Volta's
/// are steps of one matrix instruction (HMMA.884), each of which holds the tensor core for its part of the interval.
void Selector::select_matrix(int32_t i) {
  const Inst& inst = fn_.inst(i);
  const auto row = fn_.machine.mma.find(inst.timing_key);
  if (row == fn_.machine.mma.end()) {
    diags_.error("unsupported-instruction", {fn_.module.path, inst.line, inst.col},
                 fmt::format("'{}' has no timing on machine {}, expected [mma.\"{}\"]", inst.text.substr(0, inst.text.find(' ')), fn_.machine.name,
                             inst.timing_key));
    return;
  }
  const cfg::MmaTiming* timing = &row->second;
  const auto known = std::find(fn_.mma_rows.begin(), fn_.mma_rows.end(), timing);
  const auto index = static_cast<uint16_t>(known - fn_.mma_rows.begin());
  if (known == fn_.mma_rows.end()) fn_.mma_rows.push_back(timing);
  Values uses;
  const auto is_selector = [&](int g) {  // of a sparse A or of scales: part of the instruction
    return g >= 4 && std::all_of(inst.group(g).begin(), inst.group(g).end(), [](const auto& op) { return op.kind == isa::Operand::Kind::constant; });
  };
  for (int g = 1; g < inst.group_count; ++g) {
    if (is_selector(g)) continue;
    if (inst.group(g).size() > 1) add_tuple(uses, g, i);
    else add_group(uses, g, i);
  }
  for (uint32_t k = 0; k < timing->helpers; ++k) uses.push_back(step(i, TimingClass::alu, uses.empty() ? Values{} : Values{uses[0]}, true));
  const bool in_steps = fn_.sm < 75 && timing->interval % timing->instructions == 0;
  const auto steps = static_cast<uint8_t>(in_steps ? timing->instructions : 1);
  const auto of_row = [&](int32_t op) {
    fn_.ops[op].mma_row = index;
    fn_.ops[op].mma_steps = steps;
  };
  for (uint32_t k = 1; k < timing->instructions; ++k) {
    if (in_steps) of_row(emit(i, TimingClass::mma, uses));
    else emit(i, TimingClass::nop, {});
  }
  of_row(emit_result(i, TimingClass::mma, uses));
}

namespace {

/// What ptxas makes of wmma.load and wmma.store (counted in its sm_80 output of one-instruction kernels): fragments of
/// 8- and 16-bit A and B in shared memory come by one LDSM, all else by plain accesses, two neighbours at a time where
/// the layout has them side by side; 16-bit fragments in the other layout from global memory are transposed by MOVM.
struct WmmaMoves {
  TimingClass timing;
  uint32_t accesses = 1, transposes = 0;
};

/// Volta has no LDSM, and f16 fragments of m8n8k4 on quad pairs (isa/matrix, volta_wmma_accesses): 16 elements a lane of A and
/// B, by 16 bytes along K or by 8 bytes across; of C and D eight, f32 in pairs, f16 a whole row.
WmmaMoves volta_wmma_moves(const Inst& inst, bool load, bool shared) {
  const bool row = inst.aux != 0, a = has_mod(inst, "a"), b = has_mod(inst, "b");
  WmmaMoves moves{shared ? (load ? TimingClass::lds : TimingClass::sts) : inst.timing};
  if (a || b) moves.accesses = a == row ? 2 : 4;
  else moves.accesses = !row ? 8 : isa::bits(inst.type) == 16 ? 1 : 4;
  return moves;
}

WmmaMoves wmma_moves(const Inst& inst, bool load, bool shared) {
  const bool row = inst.aux != 0;
  const bool a = has_mod(inst, "a"), b = has_mod(inst, "b");
  const int bits = isa::bits(inst.type);
  const auto registers = static_cast<uint32_t>(inst.group(load ? 0 : 1).size());
  WmmaMoves moves{inst.timing};
  if ((a || b) && bits <= 16) {
    const bool straight = a == row;  // A by rows and B by columns lie as the tensor core reads them
    if (shared && (bits == 16 || straight)) {
      moves.timing = TimingClass::ldsm;
    } else if (bits == 16) {
      moves.accesses = 4;
      moves.transposes = straight ? 0 : 4;
    } else {
      moves.accesses = straight ? registers : 4 * registers;
    }
    return moves;
  }
  moves.accesses = (a || b) || !row ? registers : std::max(1u, registers / 2);
  return moves;
}

}  // namespace

void Selector::select_wmma_move(int32_t i) {
  const Inst& inst = fn_.inst(i);
  Values address, data;
  const bool load = inst.op == Op::wmma_load;
  const bool shared = inst.space == isa::Space::shared;
  uses_global_ |= !shared;
  // Lane offsets follow from the stride alone and are shared between accesses; each address adds its base to them.
  add_address(address, inst.operand(load ? 1 : 0), i, shared);
  if (inst.group_count > 2) add_reads(address, inst.operand(2), i);
  Values at{step(i, TimingClass::alu, address, true)};
  if (!shared) at.push_back(step(i, TimingClass::alu, {at[0]}, true));
  if (!load)
    for (const Operand& operand : inst.group(1)) add_register(data, operand, i);
  const bool volta = isa::parse_generation(fn_.machine.chip.generation) == isa::Generation::volta;
  const WmmaMoves moves = volta ? volta_wmma_moves(inst, load, shared) : wmma_moves(inst, load, shared);
  Values uses = at;
  uses.insert(uses.end(), data.begin(), data.end());
  for (uint32_t k = 1; k < moves.accesses; ++k) emit(i, moves.timing, uses);
  if (moves.transposes == 0) {
    emit_result(i, moves.timing, uses);
    return;
  }
  // The instruction runs with its last access; the transposes follow it.
  const ValueId loaded = step(i, moves.timing, uses);
  fn_.insts[i].home = static_cast<int32_t>(fn_.insts[i].ops.size()) - 1;
  for (uint32_t k = 1; k < moves.transposes; ++k) emit(i, TimingClass::movm, {loaded});
  emit_result(i, TimingClass::movm, {loaded});
}

}  // namespace tcsim::sim::lowering
