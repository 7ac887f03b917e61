// Dependences inside a block: registers as the PTX names them (semantics), values that operations wait for (time), memory,
// barriers, control.
#include <algorithm>

#include "sim/lower/schedule.h"

namespace tcsim::sim::lowering {

namespace {

constexpr size_t kAliasListLimit = 256;  // longer histories are cut: the next store then keeps its place among all

/// Address of a memory instruction as a base value and an offset; base -1: not known.
struct Location {
  ValueId base = -1;
  int64_t offset = 0;
  uint32_t bytes = 0;
  bool absolute = false;
};

class Builder {
 public:
  Builder(Function& fn, int32_t block) : fn_(fn), block_(fn.kernel.blocks[block]) { graph_.block = block; }

  Graph run() {
    last_write_.assign(fn_.reg_count, -1);
    home_.assign(block_.end - block_.first, -1);
    op_node_.clear();
    for (int32_t op : fn_.blocks[graph_.block].extra_ops) add_node(-1, op, -1);
    for (uint32_t i = block_.first; i < block_.end; ++i)
      if (fn_.insts[i].live) add_instruction(static_cast<int32_t>(i));
    for (uint32_t i = block_.first; i < block_.end; ++i)
      if (home_[i - block_.first] >= 0) add_timing_edges(static_cast<int32_t>(i));
    for (int32_t op : fn_.blocks[graph_.block].extra_ops)
      for (ValueId use : fn_.ops[op].uses) wait_for_value(use, node_of(op));
    keep_control_last();
    for (Node& node : graph_.nodes) {
      std::sort(node.next.begin(), node.next.end(), [](const Edge& a, const Edge& b) { return a.to != b.to ? a.to < b.to : a.cycles > b.cycles; });
      node.next.erase(std::unique(node.next.begin(), node.next.end(), [](const Edge& a, const Edge& b) { return a.to == b.to; }), node.next.end());
      for (const Edge& edge : node.next) ++graph_.nodes[edge.to].blockers;
    }
    return std::move(graph_);
  }

 private:
  int32_t add_node(int32_t inst, int32_t op, int32_t key) {
    graph_.nodes.push_back({inst, op, key, 0, 0, {}});
    const auto at = static_cast<int32_t>(graph_.nodes.size() - 1);
    if (op >= 0) op_node_[op] = at;
    return at;
  }
  int32_t node_of(int32_t op) const {
    const auto it = op_node_.find(op);
    return it == op_node_.end() ? -1 : it->second;
  }
  void edge(int32_t from, int32_t to, uint32_t cycles) {
    if (from >= 0 && to >= 0 && from != to) graph_.nodes[from].next.push_back({to, cycles});
  }
  int32_t home(int32_t inst) const { return home_[inst - static_cast<int32_t>(block_.first)]; }

  void add_instruction(int32_t i) {
    const InstInfo& info = fn_.insts[i];
    const size_t carrier = info.home >= 0 ? static_cast<size_t>(info.home) : info.ops.size() - 1;
    int32_t last = -1;
    for (size_t k = 0; k < info.ops.size(); ++k) {
      const int32_t node = add_node(k == carrier ? i : -1, info.ops[k], i);
      if (k == carrier) last = node;
    }
    if (last < 0) last = add_node(i, -1, i);
    home_[i - static_cast<int32_t>(block_.first)] = last;
    for (size_t k = 0; k < carrier && k < info.ops.size(); ++k) edge(node_of(info.ops[k]), last, 0);
    for (size_t k = carrier + 1; k < info.ops.size(); ++k) edge(last, node_of(info.ops[k]), 0);
    // Semantics: the instruction runs after those whose results it reads, before those that change what it reads.
    for (int32_t reg : info.uses) {
      edge(last_write_[reg], last, 0);
      readers_[reg].push_back(last);
    }
    for (int32_t reg : info.defs) {
      edge(last_write_[reg], last, 0);
      if (auto it = readers_.find(reg); it != readers_.end()) {
        for (int32_t reader : it->second) edge(reader, last, 0);
        it->second.clear();
      }
      last_write_[reg] = last;
    }
    add_memory_edges(i, last);
    if (reads_clock(fn_.inst(i)) || clock_ >= 0) {
      if (reads_clock(fn_.inst(i))) {
        for (int32_t n = clock_ < 0 ? 0 : clock_; n < static_cast<int32_t>(graph_.nodes.size()); ++n)
          if (n < last) edge(n, last, 0);
        clock_ = last;
      } else {
        for (int32_t op : info.ops) edge(clock_, node_of(op), 0);
        edge(clock_, last, 0);
      }
    }
  }

  void wait_for_value(ValueId id, int32_t node) {
    const Value& value = fn_.values[id];
    if (value.op < 0) return;
    const int32_t from = node_of(value.op);
    if (from >= 0) edge(from, node, planned_latency(fn_, fn_.ops[value.op]));
  }

  void add_timing_edges(int32_t i) {
    const InstInfo& info = fn_.insts[i];
    for (int32_t op : info.ops) read_values(i, node_of(op), fn_.ops[op].uses);
    for (const auto& [to, from] : info.copies) {
      read_values(i, home(i), {from}, true);
      (void)to;
    }
  }

  void read_values(int32_t i, int32_t node, const std::vector<ValueId>& uses, bool copy = false) {
    for (ValueId id : uses) {
      const Value& value = fn_.values[id];
      if (copy) {
        if (value.op >= 0) edge(node_of(value.op), node, 0);
      } else {
        wait_for_value(id, node);
      }
      if (value.reg < 0) continue;
      // The register must not be given to a later value before this read.
      const auto& list = fn_.def_list[value.reg];
      const auto next = std::upper_bound(list.begin(), list.end(), i);
      if (next != list.end() && *next < static_cast<int32_t>(block_.end)) edge(node, home(*next), 0);
    }
  }

  // --- memory ---------------------------------------------------------------------------------------------------------

  struct Access {
    int32_t node;
    MemoryRole role;
    Location where;
    bool shared_load;
  };

  Location location(int32_t i, const Inst& inst) {
    const Operand* operand = nullptr;
    for (int g = 0; g < inst.group_count && operand == nullptr; ++g)
      if (inst.operand(g).kind == Operand::Kind::address) operand = &inst.operand(g);
    if (operand == nullptr) return {};
    Location where;
    const int g = static_cast<int>(first_source(inst) == 0 ? 1 : 0);
    where.bytes = static_cast<uint32_t>(isa::bits(inst.type) / 8 * (inst.op == Op::atom || g >= inst.group_count ? 1 : inst.group(g).size()));
    if (inst.op == Op::ldmatrix || inst.op == Op::stmatrix || inst.op == Op::wmma_load || inst.op == Op::wmma_store) return {};
    where.offset = operand->value;
    if (operand->slot < 0) {
      where.absolute = true;
      return where;
    }
    ValueId id = fn_.value_read(operand->slot, i);
    for (;;) {  // through additions of constants
      const Value value = fn_.values[id];
      if (value.def < 0) break;
      const Inst& producer = fn_.inst(value.def);
      if (producer.op != Op::add || producer.guard >= 0 || producer.group_count < 3 || isa::is_float(producer.type)) break;
      const Operand &a = producer.operand(1), &b = producer.operand(2);
      if (a.kind != Operand::Kind::reg || b.kind != Operand::Kind::constant || !fn_.unchanged(a.slot, value.def, i)) break;
      where.offset += b.value;
      id = fn_.value_read(a.slot, value.def);
    }
    where.base = id;
    return where;
  }

  static bool apart(const Location& a, const Location& b) {
    if (a.bytes == 0 || b.bytes == 0 || a.absolute != b.absolute || (!a.absolute && (a.base < 0 || a.base != b.base))) return false;
    return a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
  }

  void add_memory_edges(int32_t i, int32_t node) {
    const Inst& inst = fn_.inst(i);
    const MemoryRole role = memory_role(inst);
    if (role.kind == MemoryKind::none) return;
    if (inst.op == Op::wgmma_commit) {  // closes the group of the wgmma before it, and becomes part of the last one
      edge(ordered_, node, 0);
      ordered_ = node;
      return;
    }
    if (inst.op == Op::cp_async_commit) {  // closes the group of the copies before it: nothing else needs to keep its side
      for (const Access& access : accesses_)
        if (access.role.kind == MemoryKind::copy) edge(access.node, node, 0);
      edge(ordered_, node, 0);
      edge(commit_, node, 0);
      commit_ = node;
      return;
    }
    if (role.kind == MemoryKind::copy || role.kind == MemoryKind::ordered) edge(commit_, node, 0);
    if (role.kind == MemoryKind::ordered) {
      for (const Access& access : accesses_) {
        // A barrier is placed after the data of shared loads has arrived: others may overwrite it from then on.
        const bool barrier = inst.op == Op::bar_sync || inst.op == Op::bar_red;
        const uint32_t cycles = barrier && access.shared_load ? planned_latency(fn_, fn_.ops[graph_.nodes[access.node].op]) : 0;
        edge(access.node, node, cycles);
      }
      edge(ordered_, node, 0);
      accesses_.clear();
      ordered_ = node;
      return;
    }
    edge(ordered_, node, 0);
    const bool reads_only = role.kind == MemoryKind::load;
    Access now{node, role, location(i, inst), false};
    now.shared_load = reads_only && role.shared && !role.global && graph_.nodes[node].op >= 0;
    bool cut = false;
    for (const Access& before : accesses_) {
      const bool both_copies = role.kind == MemoryKind::copy && before.role.kind == MemoryKind::copy;
      const bool both_load = reads_only && before.role.kind == MemoryKind::load;
      const bool keep = (role.is_volatile && before.role.is_volatile) || both_copies;
      // A copy reads global memory and writes shared memory; two spaces never overlap.
      const bool conflict =
          !both_load && ((role.shared && before.role.shared && !(reads_only && before.role.kind == MemoryKind::load)) ||
                         (role.global && before.role.global && !only_reads_global(role, before.role)) || (role.local && before.role.local));
      if (keep || (conflict && !apart(now.where, before.where))) edge(before.node, node, 0);
    }
    if (!reads_only && accesses_.size() > kAliasListLimit) {
      for (const Access& before : accesses_) edge(before.node, node, 0);
      ordered_ = node;
      cut = true;
    }
    if (cut) accesses_.clear();
    accesses_.push_back(now);
  }

  static bool only_reads_global(const MemoryRole& a, const MemoryRole& b) {
    const auto reads = [](const MemoryRole& r) { return r.kind == MemoryKind::load || r.kind == MemoryKind::copy; };
    return reads(a) && reads(b);
  }

  void keep_control_last() {
    if (block_.first == block_.end || !fn_.insts[block_.end - 1].live) return;
    const Inst& last = fn_.kernel.insts[block_.end - 1];
    if (last.op != Op::bra && last.op != Op::brx && last.op != Op::exit && last.op != Op::ret && last.op != Op::trap) return;
    const int32_t end = home(static_cast<int32_t>(block_.end) - 1);
    for (int32_t n = 0; n < static_cast<int32_t>(graph_.nodes.size()); ++n)
      if (n != end) edge(n, end, 0);
  }

  Function& fn_;
  const isa::BasicBlock& block_;
  Graph graph_;
  std::vector<int32_t> last_write_, home_;
  std::unordered_map<int32_t, std::vector<int32_t>> readers_;
  std::unordered_map<int32_t, int32_t> op_node_;
  std::vector<Access> accesses_;
  int32_t ordered_ = -1, commit_ = -1, clock_ = -1;
};

}  // namespace

uint32_t planned_latency(const Function& fn, const MOp& op) {
  if (op.timing == TimingClass::mma) return fn.mma_rows[op.mma_row]->latency;
  if (behind_wait(op.timing)) return 1;
  const uint32_t latency = fn.machine.of(op.timing).latency;
  if (op.timing == TimingClass::ldg || op.timing == TimingClass::ldl || op.timing == TimingClass::atomg)
    return std::max(latency, fn.machine.l2.near_cycles);
  return latency;
}

Graph build_graph(Function& fn, int32_t block) { return Builder(fn, block).run(); }

}  // namespace tcsim::sim::lowering
