// Basic blocks and immediate post-dominators: where the lanes that a branch divides meet again.
#include <algorithm>

#include "isa/ptx/linker.h"

namespace tcsim::isa::ptx {
namespace {

bool is_branch(const Inst& inst) { return inst.op == Op::bra || inst.op == Op::brx; }
bool ends_thread(const Inst& inst) { return inst.op == Op::ret || inst.op == Op::exit || inst.op == Op::trap; }

/// Instruction indices that a branch may go to.
template <class F>
void for_targets(const Inst& inst, uint32_t count, F&& f) {
  for (int g = 0; g < inst.group_count; ++g)
    for (const Operand& operand : inst.group(g))
      if (operand.kind == Operand::Kind::label && operand.value >= 0 && operand.value <= count) f(static_cast<uint32_t>(operand.value));
}

void find_blocks(Kernel& kernel) {
  const auto n = static_cast<uint32_t>(kernel.insts.size());
  std::vector<bool> leader(n + 1, false);
  if (n > 0) leader[0] = true;
  for (uint32_t i = 0; i < n; ++i) {
    const Inst& inst = kernel.insts[i];
    if (is_branch(inst)) for_targets(inst, n, [&](uint32_t t) { leader[t] = true; });
    if (is_branch(inst) || ends_thread(inst)) leader[i + 1] = true;
  }
  kernel.block_of.resize(n);
  for (uint32_t i = 0; i < n; ++i) {
    if (leader[i]) kernel.blocks.emplace_back().first = i;
    kernel.blocks.back().end = i + 1;
    kernel.block_of[i] = static_cast<uint32_t>(kernel.blocks.size()) - 1;
  }
}

void find_successors(Kernel& kernel) {
  const auto n = static_cast<uint32_t>(kernel.insts.size());
  for (size_t b = 0; b < kernel.blocks.size(); ++b) {
    BasicBlock& block = kernel.blocks[b];
    const Inst& last = kernel.insts[block.end - 1];
    std::vector<int32_t> next;
    const bool falls = last.guard >= 0 || !(is_branch(last) || ends_thread(last));
    if (falls && block.end < n) next.push_back(static_cast<int32_t>(b) + 1);
    if (is_branch(last))
      for_targets(last, n, [&](uint32_t t) {
        const int32_t to = t < n ? static_cast<int32_t>(kernel.block_of[t]) : -1;
        if (to >= 0 && std::find(next.begin(), next.end(), to) == next.end()) next.push_back(to);
      });
    for (size_t i = 0; i < next.size(); ++i) {
      if (i < 2) block.successors[i] = next[i];
      else block.more_successors.push_back(next[i]);
    }
  }
}

std::vector<int32_t> successors_of(const BasicBlock& block) {
  std::vector<int32_t> all;
  for (const int32_t s : block.successors)
    if (s >= 0) all.push_back(s);
  all.insert(all.end(), block.more_successors.begin(), block.more_successors.end());
  return all;
}

/// Post-dominators by Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001) on the reversed graph with a
/// virtual exit node `n`. Blocks from which no exit can be reached (endless loops) keep -1.
void find_post_dominators(Kernel& kernel) {
  const auto n = static_cast<int32_t>(kernel.blocks.size());
  std::vector<std::vector<int32_t>> succ(static_cast<size_t>(n) + 1), pred(static_cast<size_t>(n) + 1);
  for (int32_t b = 0; b < n; ++b) {
    const BasicBlock& block = kernel.blocks[static_cast<size_t>(b)];
    auto& s = succ[static_cast<size_t>(b)];
    s = successors_of(block);
    const Inst& last = kernel.insts[block.end - 1];
    if (s.empty() || ends_thread(last)) s.push_back(n);
    for (const int32_t t : s) pred[static_cast<size_t>(t)].push_back(b);
  }
  std::vector<int32_t> order, number(static_cast<size_t>(n) + 1, -1);  // post-order of the reversed graph
  std::vector<std::pair<int32_t, size_t>> stack{{n, 0}};
  std::vector<bool> seen(static_cast<size_t>(n) + 1, false);
  seen[static_cast<size_t>(n)] = true;
  while (!stack.empty()) {
    auto& [b, next] = stack.back();
    if (next < pred[static_cast<size_t>(b)].size()) {
      const int32_t p = pred[static_cast<size_t>(b)][next++];
      if (!seen[static_cast<size_t>(p)]) seen[static_cast<size_t>(p)] = true, stack.emplace_back(p, 0);
      continue;
    }
    number[static_cast<size_t>(b)] = static_cast<int32_t>(order.size());
    order.push_back(b);
    stack.pop_back();
  }
  std::vector<int32_t> idom(static_cast<size_t>(n) + 1, -1);
  idom[static_cast<size_t>(n)] = n;
  const auto intersect = [&](int32_t a, int32_t b) {
    while (a != b) {
      while (number[static_cast<size_t>(a)] < number[static_cast<size_t>(b)]) a = idom[static_cast<size_t>(a)];
      while (number[static_cast<size_t>(b)] < number[static_cast<size_t>(a)]) b = idom[static_cast<size_t>(b)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const int32_t b = *it;
      if (b == n) continue;
      int32_t found = -1;
      for (const int32_t s : succ[static_cast<size_t>(b)])
        if (idom[static_cast<size_t>(s)] >= 0) found = found < 0 ? s : intersect(s, found);
      if (found >= 0 && idom[static_cast<size_t>(b)] != found) idom[static_cast<size_t>(b)] = found, changed = true;
    }
  }
  for (int32_t b = 0; b < n; ++b) {
    const int32_t d = idom[static_cast<size_t>(b)];
    kernel.blocks[static_cast<size_t>(b)].post_dominator = d == n ? -1 : d;
  }
}

}  // namespace

void analyse_flow(Kernel& kernel) {
  if (kernel.insts.empty()) return;
  find_blocks(kernel);
  find_successors(kernel);
  find_post_dominators(kernel);
  for (uint32_t i = 0; i < kernel.insts.size(); ++i) {
    Inst& inst = kernel.insts[i];
    if (!is_branch(inst)) continue;
    const int32_t join = kernel.blocks[kernel.block_of[i]].post_dominator;
    inst.reconverge = join < 0 ? -1 : static_cast<int32_t>(kernel.blocks[static_cast<size_t>(join)].first);
    if (inst.op == Op::bra) for_targets(inst, static_cast<uint32_t>(kernel.insts.size()), [&](uint32_t t) { inst.target = static_cast<int32_t>(t); });
    inst.uniform_branch = inst.text.substr(0, 7) == "bra.uni" || inst.text.substr(0, 11) == "brx.idx.uni";
  }
}

}  // namespace tcsim::isa::ptx
