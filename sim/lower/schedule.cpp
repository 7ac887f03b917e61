// List scheduler: the ready operation with the longest path to the end of the block goes first, one a cycle, each pipe at
// its interval; near the register budget, operations that add registers wait until others have freed some.
#include <algorithm>
#include <array>
#include <queue>

#include "sim/lower/schedule.h"

namespace tcsim::sim::lowering {

namespace {

constexpr size_t kScanLimit = 128;  // candidates looked at when registers are scarce: bounds the work on huge blocks

enum Pipe : uint8_t { alu, multiply, fp64, special, tensor, uniform, shared, memory, none, pipe_count };

Pipe pipe_of(TimingClass c) {
  using T = TimingClass;
  switch (c) {
    case T::alu: case T::isetp: case T::cvt_pack: case T::vote: return alu;
    case T::imad: case T::imad_wide: case T::fma: case T::half: return multiply;
    case T::fp64: return fp64;
    case T::mufu: case T::cvt: case T::popc: return special;
    case T::mma: return tensor;
    case T::uniform: case T::redux: return uniform;
    case T::lds: case T::sts: case T::ldsm: case T::stsm: case T::movm: case T::atoms: case T::shfl: case T::s2r: return shared;
    case T::ldg: case T::stg: case T::ldl: case T::stl: case T::atomg: case T::red: case T::ldgsts: return memory;
    default: return none;
  }
}

void find_heights(Graph& graph) {
  // Edges go from lower to higher keys except for a few shared operations, so a reverse topological order is built.
  std::vector<int32_t> blockers(graph.nodes.size()), order;
  for (size_t n = 0; n < graph.nodes.size(); ++n) blockers[n] = graph.nodes[n].blockers;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (blockers[n] == 0) order.push_back(static_cast<int32_t>(n));
  for (size_t k = 0; k < order.size(); ++k)
    for (const Edge& e : graph.nodes[order[k]].next)
      if (--blockers[e.to] == 0) order.push_back(e.to);
  for (size_t k = order.size(); k-- > 0;) {
    Node& node = graph.nodes[order[k]];
    node.height = node.op >= 0 ? 1 : 0;
    for (const Edge& e : node.next) node.height = std::max(node.height, e.cycles + graph.nodes[e.to].height);
  }
}

class Scheduler {
 public:
  Scheduler(const Function& fn, const Pressure& pressure, Graph& graph, int32_t budget)
      : fn_(fn), graph_(graph), tracker_(fn, pressure, graph), budget_(budget) {}

  std::vector<int32_t> run() {
    const size_t count = graph_.nodes.size();
    blockers_.resize(count);
    earliest_.assign(count, 0);
    for (size_t n = 0; n < count; ++n) blockers_[n] = graph_.nodes[n].blockers;
    for (size_t n = 0; n < count; ++n)
      if (graph_.nodes[n].blockers == 0) release(static_cast<int32_t>(n));
    while (order_.size() < count) {
      while (!pending_.empty() && pending_.top().first <= now_) {
        ready_.push_back(pending_.top().second);
        std::push_heap(ready_.begin(), ready_.end(), by_rank_);
        pending_.pop();
      }
      const int32_t chosen = choose();
      if (chosen >= 0) {
        issue(chosen);
        ++now_;
      } else if (!advance()) {
        return {};  // a cycle: the caller keeps PTX order
      }
    }
    return std::move(order_);
  }

 private:
  struct ByRank {
    const Graph* graph;
    bool operator()(int32_t a, int32_t b) const {  // true: a after b
      const Node &x = graph->nodes[a], &y = graph->nodes[b];
      if (x.height != y.height) return x.height < y.height;
      return x.key != y.key ? x.key > y.key : a > b;
    }
  };

  void release(int32_t n) {
    Node& node = graph_.nodes[n];
    if (node.op < 0) {  // costs nothing: runs at once, with the next operation
      order_.push_back(n);
      tracker_.issue(node);
      for (const Edge& e : node.next) satisfy(e.to, earliest_[n] + e.cycles);
      return;
    }
    pending_.push({earliest_[n], n});
  }

  void satisfy(int32_t n, uint32_t time) {
    earliest_[n] = std::max(earliest_[n], time);
    if (--blockers_[n] == 0) release(n);
  }

  uint32_t interval(const MOp& op) const {
    return op.timing == TimingClass::mma ? fn_.mma_rows[op.mma_row]->interval : fn_.machine.of(op.timing).interval;
  }

  /// The pipe that the operation can enter now; pipe_count: none.
  Pipe open_pipe(const MOp& op) const {
    const Pipe pipe = pipe_of(op.timing);
    if (pipe == none || free_[pipe] <= now_) return pipe;
    if (op.flexible && free_[multiply] <= now_) return multiply;
    return pipe_count;
  }

  int32_t choose() {
    // Candidates in rank order; those put aside return afterwards.
    std::vector<int32_t> aside;
    int32_t chosen = -1, fallback = -1, fallback_delta = 0;
    while (!ready_.empty() && aside.size() < kScanLimit) {
      std::pop_heap(ready_.begin(), ready_.end(), by_rank_);
      const int32_t n = ready_.back();
      ready_.pop_back();
      const Node& node = graph_.nodes[n];
      if (open_pipe(fn_.ops[node.op]) != pipe_count) {
        const int32_t delta = tracker_.delta(node);
        if (delta <= 0 || tracker_.current() + delta <= budget_) { chosen = n; break; }
        if (fallback < 0 || delta < fallback_delta) { fallback = n; fallback_delta = delta; }
      }
      aside.push_back(n);
    }
    if (chosen < 0 && fallback >= 0 && pending_.empty()) {
      // Everything adds registers and nothing else is coming: over the budget by the least.
      const bool waits = std::any_of(aside.begin(), aside.end(), [&](int32_t n) {
        return n != fallback && open_pipe(fn_.ops[graph_.nodes[n].op]) == pipe_count && tracker_.delta(graph_.nodes[n]) <= 0;
      });
      if (!waits) {
        chosen = fallback;
        aside.erase(std::find(aside.begin(), aside.end(), fallback));
      }
    }
    for (int32_t n : aside) {
      ready_.push_back(n);
      std::push_heap(ready_.begin(), ready_.end(), by_rank_);
    }
    return chosen;
  }

  void issue(int32_t n) {
    const Node& node = graph_.nodes[n];
    const MOp& op = fn_.ops[node.op];
    const Pipe pipe = open_pipe(op);
    if (pipe != none) free_[pipe] = now_ + std::max(1u, interval(op));
    if (op.flexible && pipe == multiply) moved_.push_back(node.op);
    tracker_.issue(node);
    order_.push_back(n);
    for (const Edge& e : node.next) satisfy(e.to, now_ + e.cycles);
  }

  /// To the next cycle in which something may change.
  bool advance() {
    uint32_t next = UINT32_MAX;
    if (!pending_.empty()) next = pending_.top().first;
    for (uint32_t free : free_)
      if (free > now_) next = std::min(next, free);
    if (next == UINT32_MAX) {
      if (ready_.empty()) return false;
      next = now_ + 1;
    }
    now_ = std::max(now_ + 1, next);
    return true;
  }

 public:
  const std::vector<int32_t>& moved() const { return moved_; }

 private:
  const Function& fn_;
  Graph& graph_;
  PressureTracker tracker_;
  int32_t budget_;
  uint32_t now_ = 0;
  std::vector<int32_t> blockers_, order_, ready_, moved_;
  std::vector<uint32_t> earliest_;
  ByRank by_rank_{&graph_};
  std::array<uint32_t, pipe_count> free_{};
  using Entry = std::pair<uint32_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> pending_;
};

}  // namespace

std::vector<int32_t> source_order(const Graph& graph) {
  std::vector<int32_t> order(graph.nodes.size());
  for (size_t n = 0; n < order.size(); ++n) order[n] = static_cast<int32_t>(n);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return graph.nodes[a].key < graph.nodes[b].key; });
  return order;
}

std::vector<int32_t> schedule_block(Function& fn, const Pressure& pressure, Graph& graph, int32_t budget) {
  find_heights(graph);
  Scheduler scheduler(fn, pressure, graph, budget);
  std::vector<int32_t> order = scheduler.run();
  const std::vector<int32_t> plain = source_order(graph);
  if (order.empty()) return plain;
  const int32_t peak = peak_pressure(fn, pressure, graph, order);
  if (peak > budget && peak_pressure(fn, pressure, graph, plain) < peak) return plain;
  for (int32_t op : scheduler.moved()) fn.ops[op].timing = TimingClass::imad;
  return order;
}

}  // namespace tcsim::sim::lowering
