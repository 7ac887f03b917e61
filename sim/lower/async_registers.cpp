// Registers of wgmma and tcgen05.ld are read and written while the warp runs on (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions: wgmma.fence"): accesses to them keep their side of the fence before and of the wait after the instruction.
#include <algorithm>

#include "sim/lower/ir.h"

namespace tcsim::sim::lowering {

namespace {

using Bits = std::vector<uint8_t>;  // per register

bool writes_later(const Inst& inst) { return is_wgmma(inst.op) || inst.op == Op::tcgen05_ld; }
bool waits_for_all(const Inst& inst) {
  return (inst.op == Op::wgmma_wait && inst.aux == 0) || (inst.op == Op::tcgen05_wait && has_mod(inst, "wait::ld"));
}

struct Sets {
  Bits d, a;
  explicit Sets(int32_t count) : d(static_cast<size_t>(count), 0), a(static_cast<size_t>(count), 0) {}
  void clear() {
    std::fill(d.begin(), d.end(), 0);
    std::fill(a.begin(), a.end(), 0);
  }
  bool merge(const Sets& other) {
    bool changed = false;
    for (size_t r = 0; r < d.size(); ++r) {
      changed |= (other.d[r] && !d[r]) || (other.a[r] && !a[r]);
      d[r] |= other.d[r];
      a[r] |= other.a[r];
    }
    return changed;
  }
  void add(const Function& fn, const Inst& inst) {
    for (const Operand& operand : inst.group(0))
      if (const int32_t reg = fn.reg_of(operand); reg >= 0) d[static_cast<size_t>(reg)] = 1;
    if (!is_wgmma(inst.op)) return;
    for (const Operand& operand : inst.group(1))
      if (operand.kind == Operand::Kind::reg && operand.bit_width <= 32) a[static_cast<size_t>(operand.slot)] = 1;
  }
};

void add_missing(std::vector<int32_t>& list, const Bits& regs) {
  for (size_t r = 0; r < regs.size(); ++r)
    if (regs[r] && std::find(list.begin(), list.end(), static_cast<int32_t>(r)) == list.end()) list.push_back(static_cast<int32_t>(r));
}

/// wgmma that may be in flight at the start of each block (nothing is after wait_group 0).
std::vector<Sets> in_flight_at_start(const Function& fn) {
  const auto& blocks = fn.kernel.blocks;
  std::vector<Sets> in(blocks.size(), Sets(fn.reg_count));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = 0; b < blocks.size(); ++b) {
      Sets now = in[b];
      for (uint32_t i = blocks[b].first; i < blocks[b].end; ++i) {
        const Inst& inst = fn.kernel.insts[i];
        if (writes_later(inst)) now.add(fn, inst);
        if (waits_for_all(inst)) now.clear();
      }
      for (int32_t s : blocks[b].successors)
        if (s >= 0) changed |= in[static_cast<size_t>(s)].merge(now);
    }
  }
  return in;
}

/// wgmma that may come after the end of each block with no fence between.
std::vector<Sets> upcoming_at_end(const Function& fn) {
  const auto& blocks = fn.kernel.blocks;
  std::vector<Sets> out(blocks.size(), Sets(fn.reg_count));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks.size(); b-- > 0;) {
      Sets now = out[b];
      for (uint32_t i = blocks[b].end; i-- > blocks[b].first;) {
        const Inst& inst = fn.kernel.insts[i];
        if (is_wgmma(inst.op)) now.add(fn, inst);
        if (inst.op == Op::wgmma_fence) now.clear();
      }
      for (size_t p = 0; p < blocks.size(); ++p)
        for (int32_t s : blocks[p].successors)
          if (s == static_cast<int32_t>(b)) changed |= out[p].merge(now);
    }
  }
  return out;
}

}  // namespace

void add_async_registers(Function& fn) {
  const auto& insts = fn.kernel.insts;
  if (std::none_of(insts.begin(), insts.end(), writes_later)) return;
  const std::vector<Sets> in = in_flight_at_start(fn), out = upcoming_at_end(fn);
  for (size_t b = 0; b < fn.kernel.blocks.size(); ++b) {
    const isa::BasicBlock& block = fn.kernel.blocks[b];
    Sets flying = in[b], upcoming = out[b];
    for (uint32_t i = block.first; i < block.end; ++i) {
      const Inst& inst = insts[i];
      if (writes_later(inst)) flying.add(fn, inst);
      if (inst.op != Op::wgmma_wait && !waits_for_all(inst)) continue;
      if (inst.op == Op::wgmma_wait)
        fn.accumulators = std::max(fn.accumulators, static_cast<int32_t>(std::count(flying.d.begin(), flying.d.end(), 1)));
      add_missing(fn.insts[i].defs, flying.d);
      add_missing(fn.insts[i].uses, flying.d);
      add_missing(fn.insts[i].uses, flying.a);
      if (waits_for_all(inst)) flying.clear();
    }
    for (uint32_t i = block.end; i-- > block.first;) {
      const Inst& inst = insts[i];
      if (is_wgmma(inst.op)) upcoming.add(fn, inst);
      if (inst.op != Op::wgmma_fence) continue;
      add_missing(fn.insts[i].uses, upcoming.d);
      add_missing(fn.insts[i].uses, upcoming.a);
      upcoming.clear();
    }
  }
}

}  // namespace tcsim::sim::lowering
