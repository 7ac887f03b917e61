// Analysis of a kernel before selection: registers, dead code, liveness, loops, uniform values.
#include <algorithm>

#include "sim/lower/ir.h"

namespace tcsim::sim::lowering {

namespace {

using Bits = std::vector<uint64_t>;
bool test(const Bits& bits, int32_t i) { return bits[static_cast<size_t>(i) >> 6] >> (i & 63) & 1; }
void set(Bits& bits, int32_t i) { bits[static_cast<size_t>(i) >> 6] |= uint64_t{1} << (i & 63); }

}  // namespace

Function::Function(const isa::Module& m, const isa::Kernel& k, const cfg::Machine& mach)
    : module(m), kernel(k), machine(mach), sm(static_cast<int>(mach.chip.sm)) {
  find_registers();
  find_dead_code();
  find_liveness();
  find_loops();
  count_reads();
}

int32_t Function::reg_of(const Operand& operand) const {
  switch (operand.kind) {
    case Operand::Kind::reg:
    case Operand::Kind::address: return operand.slot;
    case Operand::Kind::pred: return operand.slot < 0 ? -1 : pred_reg(operand.slot);
    default: return -1;
  }
}

void Function::find_registers() {
  reg_count = carry_reg() + 1;
  reg_words.assign(reg_count, 0);
  special.assign(reg_count, 0);
  uniform.assign(reg_count, 0);
  vector_place.assign(reg_count, -1);
  def_list.resize(reg_count);
  for (const isa::SpecialSlot& s : kernel.specials)
    if (s.slot >= 0) special[s.slot] = 1;
  insts.resize(kernel.insts.size());
  for (size_t i = 0; i < insts.size(); ++i) {
    const Inst& inst = kernel.insts[i];
    collect_registers(*this, inst, insts[i].defs, insts[i].uses);
    for (int g = 0; g < inst.group_count; ++g)
      for (const Operand& operand : inst.group(g))
        if (operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::address)
          if (operand.slot >= 0) reg_words[operand.slot] = static_cast<uint8_t>(isa::slots_of(operand.bit_width));
  }
  add_async_registers(*this);
  // From Turing on, wmma fragments of 16-bit A and B hold each element once: half of their eight registers are not real.
  for (const Inst& inst : kernel.insts)
    if (inst.op == Op::wmma_load && isa::bits(inst.type) == 16 && (has_mod(inst, "a") || has_mod(inst, "b")) && sm >= 75)
      for (size_t k = 4; k < inst.group(0).size(); ++k)
        if (inst.group(0)[k].slot >= 0) reg_words[inst.group(0)[k].slot] = 0;
}

void Function::find_dead_code() {
  std::vector<std::vector<int32_t>> defs(reg_count);
  for (size_t i = 0; i < insts.size(); ++i)
    for (int32_t reg : insts[i].defs) defs[reg].push_back(static_cast<int32_t>(i));
  std::vector<int32_t> work;
  std::vector<uint8_t> wanted(reg_count, 0);
  for (size_t i = 0; i < insts.size(); ++i)
    if (has_side_effect(kernel.insts[i])) {
      insts[i].live = true;
      work.push_back(static_cast<int32_t>(i));
    }
  while (!work.empty()) {
    const int32_t i = work.back();
    work.pop_back();
    for (int32_t reg : insts[i].uses) {
      if (wanted[reg]) continue;
      wanted[reg] = 1;
      for (int32_t d : defs[reg])
        if (!insts[d].live) {
          insts[d].live = true;
          work.push_back(d);
        }
    }
  }
  for (size_t i = 0; i < insts.size(); ++i)
    if (insts[i].live)
      for (int32_t reg : insts[i].defs) def_list[reg].push_back(static_cast<int32_t>(i));
}

void Function::find_liveness() {
  const size_t words = (static_cast<size_t>(reg_count) + 63) / 64;
  blocks.resize(kernel.blocks.size());
  std::vector<Bits> gen(blocks.size(), Bits(words, 0)), kill(blocks.size(), Bits(words, 0));
  for (size_t b = 0; b < blocks.size(); ++b) {
    blocks[b].live_in.assign(words, 0);
    blocks[b].live_out.assign(words, 0);
    for (uint32_t i = kernel.blocks[b].first; i < kernel.blocks[b].end; ++i) {
      if (!insts[i].live) continue;
      for (int32_t reg : insts[i].uses)
        if (!test(kill[b], reg)) set(gen[b], reg);
      for (int32_t reg : insts[i].defs) set(kill[b], reg);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks.size(); b-- > 0;) {
      BlockInfo& block = blocks[b];
      for (int32_t s : kernel.blocks[b].successors)
        if (s >= 0)
          for (size_t w = 0; w < words; ++w) block.live_out[w] |= blocks[s].live_in[w];
      for (size_t w = 0; w < words; ++w) {
        const uint64_t in = gen[b][w] | (block.live_out[w] & ~kill[b][w]);
        changed |= in != block.live_in[w];
        block.live_in[w] = in;
      }
    }
  }
}

// Depth of back edges in layout order: enough to know what is inside a loop (compilers lay loops out contiguously).
void Function::find_loops() {
  for (size_t b = 0; b < blocks.size(); ++b)
    for (int32_t s : kernel.blocks[b].successors)
      if (s >= 0 && static_cast<size_t>(s) <= b)
        for (size_t in = s; in <= b; ++in) ++blocks[in].depth;
}

ValueId Function::value_of(int32_t reg, int32_t def) {
  const uint64_t key = uint64_t(uint32_t(reg)) << 32 | uint32_t(def + 1);
  auto [it, fresh] = value_ids_.try_emplace(key, static_cast<ValueId>(values.size()));
  if (fresh) {
    Value value;
    value.reg = reg;
    value.def = def;
    value.words = uniform[reg] ? 0 : reg_words[reg];
    value.leaves_block = def < 0;
    if (def >= 0) {
      const auto& list = def_list[reg];
      const auto next = std::upper_bound(list.begin(), list.end(), def);
      const bool redefined = next != list.end() && block_of(*next) == block_of(def);
      value.leaves_block = !redefined && test(blocks[block_of(def)].live_out, reg);
    }
    values.push_back(value);
  }
  return it->second;
}

ValueId Function::value_read(int32_t reg, int32_t user) {
  const auto& list = def_list[reg];
  const auto after = std::lower_bound(list.begin(), list.end(), user);
  if (after != list.begin()) {
    const int32_t d = *(after - 1);
    if (block_of(d) == block_of(user)) return value_of(reg, d);
  }
  if (list.size() == 1 && inst(list[0]).guard < 0) return value_of(reg, list[0]);
  return value_of(reg, -1);
}

ValueId Function::temporary(uint8_t words) {
  Value value;
  value.words = words;
  values.push_back(value);
  return static_cast<ValueId>(values.size() - 1);
}

bool Function::unchanged(int32_t reg, int32_t at, int32_t user) const {
  const auto& list = def_list[reg];
  if (list.size() <= 1) return true;
  if (block_of(at) != block_of(user)) return false;
  const auto next = std::upper_bound(list.begin(), list.end(), at);
  return next == list.end() || *next >= user;
}

void Function::count_reads() {
  for (size_t i = 0; i < insts.size(); ++i) {
    if (!insts[i].live) continue;
    for (int32_t reg : insts[i].uses) {
      Value& value = values[value_read(reg, static_cast<int32_t>(i))];
      if (value.reads < UINT16_MAX) ++value.reads;
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------

namespace {

bool uniform_datapath_op(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul_lo:
    case Op::mad_lo:
    case Op::shl:
    case Op::shr:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::not_:
    case Op::selp:
    case Op::setp:
    case Op::mov:
    case Op::lop3:
    case Op::min:
    case Op::max:
    case Op::bfe: return true;
    default: return false;
  }
}

/// 64-bit operations that descriptors of wgmma are made with.
bool uniform_wide_op(const Inst& inst) {
  switch (inst.op) {
    case Op::add:
    case Op::sub:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::shl:
    case Op::shr:
    case Op::mov: return true;
    case Op::cvt: return isa::bits(inst.type2) == 32 && !isa::is_float(inst.type2);
    default: return false;
  }
}

/// A lane's value for the whole warp: R2UR (ptxas keeps no SHFL for it).
bool broadcasts(const Function& fn, const Inst& inst) {
  return fn.sm >= 90 && inst.op == Op::shfl && has_mod(inst, "idx") && inst.guard < 0 && inst.group(0).size() == 1 &&
         inst.operand(2).kind == Operand::Kind::constant;
}

// Registers whose lanes agree: made of parameters, block indices and constants where control is uniform.
std::vector<uint8_t> equal_in_all_lanes(Function& fn) {
  std::vector<uint8_t> same(fn.reg_count, 1);
  for (const isa::SpecialSlot& s : fn.kernel.specials)
    if (s.slot >= 0 && (s.name.starts_with("%tid") || s.name.starts_with("%lane"))) same[s.slot] = 0;
  const auto varies = [&](int32_t i) {
    const Inst& inst = fn.inst(i);
    if (broadcasts(fn, inst)) return fn.blocks[fn.block_of(i)].divergent;
    const MemoryRole role = memory_role(inst);
    if (role.kind != MemoryKind::none) return true;
    switch (inst.op) {
      case Op::shfl:
      case Op::match:
      case Op::mma:
      case Op::mma_sp:
      case Op::wmma_mma:
      case Op::elect:
      case Op::movmatrix:
      case Op::wgmma_mma:
      case Op::wgmma_mma_sp:
      case Op::tcgen05_ld: return true;
      default: break;
    }
    if (fn.blocks[fn.block_of(i)].divergent) return true;
    return std::any_of(fn.insts[i].uses.begin(), fn.insts[i].uses.end(), [&](int32_t reg) { return !same[reg]; });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < fn.insts.size(); ++i) {
      if (!fn.insts[i].live || !varies(static_cast<int32_t>(i))) continue;
      for (int32_t reg : fn.insts[i].defs)
        if (same[reg]) {
          same[reg] = 0;
          changed = true;
        }
    }
  }
  return same;
}

// Blocks between a branch that may diverge and its post-dominator.
bool mark_divergent(Function& fn, const std::vector<uint8_t>& same) {
  bool changed = false;
  for (size_t b = 0; b < fn.blocks.size(); ++b) {
    const isa::BasicBlock& block = fn.kernel.blocks[b];
    if (block.end == block.first) continue;
    const Inst& last = fn.kernel.insts[block.end - 1];
    if (last.guard < 0 || last.op != Op::bra || same[fn.pred_reg(last.guard)]) continue;
    std::vector<int32_t> work(block.successors.begin(), block.successors.end());
    while (!work.empty()) {
      const int32_t at = work.back();
      work.pop_back();
      if (at < 0 || at == block.post_dominator || fn.blocks[at].divergent) continue;
      fn.blocks[at].divergent = changed = true;
      for (int32_t s : fn.kernel.blocks[at].successors) work.push_back(s);
    }
  }
  return changed;
}

}  // namespace

void find_uniform(Function& fn) {
  std::vector<uint8_t> same;
  do same = equal_in_all_lanes(fn);
  while (mark_divergent(fn, same));
  fn.uniform.assign(fn.reg_count, 0);
  if (fn.sm < 75) return;  // the uniform datapath came with Turing
  // Only chains that start from constants (loop counters, stage offsets) move there as a whole; what comes from
  // parameters and block indices mixes with per-thread values at once and stays in vector registers.
  std::vector<uint8_t>& uniform = fn.uniform;
  const int most_words = fn.sm >= 90 ? 2 : 1;
  for (int32_t reg = 0; reg < fn.reg_count; ++reg)
    uniform[reg] = same[reg] && !fn.special[reg] && !fn.def_list[reg].empty() && fn.reg_words[reg] <= most_words && reg != fn.carry_reg();
  const auto fits = [&](int32_t i) {
    const Inst& inst = fn.inst(i);
    if (broadcasts(fn, inst)) return true;
    if (inst.guard >= 0 || isa::is_float(inst.type)) return false;
    if (isa::bits(inst.type) > 32 ? !uniform_wide_op(inst) : !uniform_datapath_op(inst.op)) return false;
    return std::all_of(fn.insts[i].uses.begin(), fn.insts[i].uses.end(), [&](int32_t reg) { return uniform[reg] != 0; });
  };
  std::vector<std::vector<int32_t>> users(fn.reg_count);
  for (size_t i = 0; i < fn.insts.size(); ++i)
    if (fn.insts[i].live)
      for (int32_t reg : fn.insts[i].uses) users[reg].push_back(static_cast<int32_t>(i));
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t reg = 0; reg < fn.reg_count; ++reg) {
      if (!uniform[reg]) continue;
      bool keep = std::all_of(fn.def_list[reg].begin(), fn.def_list[reg].end(), fits);
      // Branches and vector selects need their predicate in a vector predicate register.
      if (keep && reg >= static_cast<int32_t>(fn.kernel.slot_count))
        keep = std::all_of(users[reg].begin(), users[reg].end(),
                           [&](int32_t i) { return fn.inst(i).op == Op::selp && !fn.insts[i].defs.empty() && uniform[fn.insts[i].defs[0]]; });
      // 64 bits are worth it for descriptors only.
      if (keep && fn.reg_words[reg] == 2)
        keep = std::all_of(users[reg].begin(), users[reg].end(),
                           [&](int32_t i) { return is_wgmma(fn.inst(i).op) || (!fn.insts[i].defs.empty() && uniform[fn.insts[i].defs[0]]); });
      if (!keep) {
        uniform[reg] = 0;
        changed = true;
      }
    }
  }
  for (Value& value : fn.values)
    if (value.reg >= 0 && uniform[value.reg]) value.words = 0;
}

}  // namespace tcsim::sim::lowering
