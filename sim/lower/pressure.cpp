// Registers that operations keep alive: liveness over what operations read and write, and its running sum in a block.
#include <algorithm>

#include "sim/lower/schedule.h"

namespace tcsim::sim::lowering {

namespace {

bool test(const std::vector<uint64_t>& bits, int32_t i) { return bits[static_cast<size_t>(i) >> 6] >> (i & 63) & 1; }
void set(std::vector<uint64_t>& bits, int32_t i) { bits[static_cast<size_t>(i) >> 6] |= uint64_t{1} << (i & 63); }

}  // namespace

Pressure find_pressure(const Function& fn) {
  const size_t words = (static_cast<size_t>(fn.reg_count) + 63) / 64, count = fn.blocks.size();
  Pressure p;
  p.live_in.assign(count, std::vector<uint64_t>(words, 0));
  p.live_out = p.live_in;
  auto gen = p.live_in, kill = p.live_in;
  for (size_t b = 0; b < count; ++b) {
    const auto read = [&](ValueId id) {
      const int32_t reg = fn.values[id].reg;
      if (reg >= 0 && !fn.special[reg] && !test(kill[b], reg)) set(gen[b], reg);
    };
    for (uint32_t i = fn.kernel.blocks[b].first; i < fn.kernel.blocks[b].end; ++i) {
      const InstInfo& info = fn.insts[i];
      for (int32_t op : info.ops)
        for (ValueId id : fn.ops[op].uses) read(id);
      for (const auto& copy : info.copies) read(copy.second);
      for (int32_t op : info.ops)
        for (ValueId id : fn.ops[op].defs)
          if (fn.values[id].reg >= 0) set(kill[b], fn.values[id].reg);
      for (const auto& copy : info.copies) set(kill[b], fn.values[copy.first].reg);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = count; b-- > 0;) {
      for (int32_t s : fn.kernel.blocks[b].successors)
        if (s >= 0)
          for (size_t w = 0; w < words; ++w) p.live_out[b][w] |= p.live_in[s][w];
      for (size_t w = 0; w < words; ++w) {
        const uint64_t in = gen[b][w] | (p.live_out[b][w] & ~kill[b][w]);
        changed |= in != p.live_in[b][w];
        p.live_in[b][w] = in;
      }
    }
  }
  return p;
}

thread_local std::vector<int32_t> PressureTracker::scratch_;

PressureTracker::PressureTracker(const Function& fn, const Pressure& pressure, const Graph& graph)
    : fn_(fn), graph_(graph), live_out_(pressure.live_out[graph.block]), remaining_(scratch_) {
  remaining_.resize(fn.values.size());
  const auto each_use = [&](auto&& f) {
    for (const Node& node : graph.nodes) {
      if (node.op >= 0)
        for (ValueId id : fn.ops[node.op].uses) f(id);
      if (node.inst >= 0)
        for (const auto& copy : fn.insts[node.inst].copies) f(copy.second);
    }
  };
  each_use([&](ValueId id) { remaining_[id] = 0; });
  for (const Node& node : graph.nodes)
    if (node.op >= 0)
      for (ValueId id : fn.ops[node.op].defs) remaining_[id] = 0;
  each_use([&](ValueId id) { ++remaining_[id]; });
  for (int32_t reg = 0; reg < fn.reg_count; ++reg)
    if (!fn.uniform[reg] && test(pressure.live_in[graph.block], reg)) current_ += fn.reg_words[reg];
  peak_ = current_;
}

/// A value that lives on in its register after the block.
bool PressureTracker::stays(ValueId id) const {
  const Value& value = fn_.values[id];
  if (value.reg < 0 || !test(live_out_, value.reg)) return false;
  if (value.def >= 0 && fn_.block_of(value.def) == graph_.block) return value.leaves_block || fn_.def_list[value.reg].size() == 1;
  // Came in from another block: stays unless this block replaces it.
  const auto& list = fn_.def_list[value.reg];
  const auto in_block = std::lower_bound(list.begin(), list.end(), static_cast<int32_t>(fn_.kernel.blocks[graph_.block].first));
  return in_block == list.end() || fn_.block_of(*in_block) != graph_.block;
}

int32_t PressureTracker::delta(const Node& node) const {
  if (node.op < 0) return 0;
  const MOp& op = fn_.ops[node.op];
  int32_t change = 0;
  for (ValueId id : op.defs)
    if (remaining_[id] > 0 || stays(id)) change += fn_.values[id].words;
  for (ValueId id : op.uses) {
    const Value& value = fn_.values[id];
    if (remaining_[id] == 1 && value.words > 0 && !stays(id) && (value.reg < 0 || !fn_.special[value.reg])) change -= value.words;
  }
  return change;
}

void PressureTracker::issue(const Node& node) {
  if (node.op >= 0) {
    const int32_t change = delta(node);
    int32_t added = 0;  // results that nobody reads still need a register at this moment
    for (ValueId id : fn_.ops[node.op].defs)
      if (remaining_[id] == 0 && fn_.values[id].reg >= 0 && !stays(id)) added += fn_.values[id].words;
    current_ += change;
    peak_ = std::max(peak_, current_ + added);
    for (ValueId id : fn_.ops[node.op].uses) --remaining_[id];
  }
  if (node.inst >= 0)
    for (const auto& [to, from] : fn_.insts[node.inst].copies) {
      // The copy shares its source's register: count it only while both live.
      const bool ends = --remaining_[from] == 0 && !stays(from);
      if (!ends) current_ += fn_.values[to].words;
      peak_ = std::max(peak_, current_);
    }
}

int32_t peak_pressure(const Function& fn, const Pressure& pressure, const Graph& graph, const std::vector<int32_t>& order) {
  PressureTracker tracker(fn, pressure, graph);
  for (int32_t n : order) tracker.issue(graph.nodes[n]);
  return tracker.peak();
}

}  // namespace tcsim::sim::lowering
