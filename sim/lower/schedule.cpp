// List scheduler: the ready operation with the longest path to the end of the block goes first, one a cycle, each pipe at
// its interval; near the register budget, operations that add registers wait until others have freed some.
#include <algorithm>
#include <array>
#include <queue>

#include "sim/lower/schedule.h"

namespace tcsim::sim::lowering {

namespace {

constexpr int kPasses = 3;
constexpr size_t kScanLimit = 32;  // candidates looked at when registers are scarce: bounds the work on huge blocks

enum Pipe : uint8_t { alu, multiply, fp64, special, tensor, uniform, shared, memory, none, pipe_count };

Pipe pipe_of(TimingClass c) {
  using T = TimingClass;
  switch (c) {
    case T::alu:
    case T::isetp:
    case T::cvt_pack:
    case T::vote: return alu;
    case T::imad:
    case T::imad_wide:
    case T::fma:
    case T::half: return multiply;
    case T::fp64: return fp64;
    case T::mufu:
    case T::cvt:
    case T::popc: return special;
    case T::mma: return tensor;
    case T::uniform:
    case T::redux: return uniform;
    case T::lds:
    case T::sts:
    case T::ldsm:
    case T::stsm:
    case T::movm:
    case T::atoms:
    case T::shfl:
    case T::s2r: return shared;
    case T::ldg:
    case T::stg:
    case T::ldl:
    case T::stl:
    case T::atomg:
    case T::red:
    case T::ldgsts: return memory;
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

/// Cycles for which an operation holds its pipe. A shared-memory operation moves 128 bytes a cycle: a wide one holds the
/// pipe longer than its issue.
uint32_t planned_interval(const Function& fn, const MOp& op) {
  if (op.timing == TimingClass::mma) return fn.mma_rows[op.mma_row]->interval / op.mma_steps;
  uint32_t interval = fn.machine.of(op.timing).interval;
  const bool load = op.timing == TimingClass::ldsm || op.timing == TimingClass::lds;
  if (load) {
    double words = 0;
    for (ValueId id : op.defs) words += fn.values[id].words;
    interval = std::max(interval, static_cast<uint32_t>(words * fn.machine.smem.wavefront_cycles));
  }
  return std::max(1u, interval);
}

/// May be issued later than it could, to keep its result out of a register for longer.
bool can_wait(const Function& fn, const MOp& op, bool loads_too) {
  switch (op.timing) {
    case TimingClass::alu:
    case TimingClass::imad:
    case TimingClass::imad_wide:
    case TimingClass::isetp:
    case TimingClass::fma:
    case TimingClass::half:
    case TimingClass::cvt_pack: break;
    case TimingClass::lds:
    case TimingClass::ldsm:
      if (!loads_too) return false;
      break;
    default: return false;
  }
  return !op.branch && std::any_of(op.defs.begin(), op.defs.end(), [&](ValueId id) { return fn.values[id].words > 0; });
}

/// Loads from global memory and what computes their addresses. These start as soon as they can, whatever registers they take: ptxas puts
/// the loads of a block before what waits for the first of them (LDG x 8, then STS x 16 in the Triton kernels without cp.async), and the
/// budget is what came of that.
std::vector<uint8_t> early_nodes(const Function& fn, const Graph& graph) {
  std::unordered_map<ValueId, int32_t> producer;
  std::vector<int32_t> work;
  std::vector<uint8_t> early(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op < 0) continue;
    const MOp& op = fn.ops[graph.nodes[n].op];
    if (op.timing == TimingClass::ldg) early[n] = 1, work.push_back(static_cast<int32_t>(n));
    if (op.timing != TimingClass::alu && op.timing != TimingClass::imad && op.timing != TimingClass::imad_wide) continue;
    for (ValueId id : op.defs) producer[id] = static_cast<int32_t>(n);
  }
  while (!work.empty()) {
    const MOp& op = fn.ops[graph.nodes[work.back()].op];
    work.pop_back();
    for (ValueId id : op.uses)
      if (const auto it = producer.find(id); it != producer.end() && early[it->second] == 0) early[it->second] = 1, work.push_back(it->second);
  }
  return early;
}

class Scheduler {
 public:
  Scheduler(const Function& fn, const Pressure& pressure, Graph& graph, int32_t budget, int32_t limit)
      : fn_(fn), graph_(graph), tracker_(fn, pressure, graph), budget_(budget), limit_(limit) {
    if (limit_ > budget_) early_ = early_nodes(fn, graph);
  }

  /// Earliest issue times beside those that dependences give.
  void hold(std::vector<uint32_t> until) { hold_ = std::move(until); }
  const std::vector<uint32_t>& times() const { return times_; }

  std::vector<int32_t> run() {
    const size_t count = graph_.nodes.size();
    blockers_.resize(count);
    earliest_.assign(count, 0);
    times_.assign(count, 0);
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
    pending_.push({hold_.empty() ? earliest_[n] : std::max(earliest_[n], hold_[n]), n});
  }

  void satisfy(int32_t n, uint32_t time) {
    earliest_[n] = std::max(earliest_[n], time);
    if (--blockers_[n] == 0) release(n);
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
        const bool early = !early_.empty() && early_[n] != 0 && tracker_.current() + delta <= limit_;
        if (early) excess_ = std::max(excess_, tracker_.current() + delta - budget_);
        // Registers that a more urgent operation waits for are not given to a less urgent one.
        if (delta <= 0 || early || (fallback < 0 && tracker_.current() + delta <= budget_)) {
          chosen = n;
          break;
        }
        if (fallback < 0 || delta < fallback_delta) {
          fallback = n;
          fallback_delta = delta;
        }
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
    if (pipe != none) free_[pipe] = now_ + planned_interval(fn_, op);
    if (op.flexible && pipe == multiply) moved_.push_back(node.op);
    tracker_.issue(node);
    order_.push_back(n);
    times_[n] = now_;
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
  int32_t excess() const { return excess_; }

 private:
  const Function& fn_;
  Graph& graph_;
  PressureTracker tracker_;
  int32_t budget_, limit_, excess_ = 0;
  std::vector<uint8_t> early_;  // by node; empty: none
  uint32_t now_ = 0;
  std::vector<int32_t> blockers_, order_, ready_, moved_;
  std::vector<uint32_t> earliest_, times_, hold_;
  ByRank by_rank_{&graph_};
  std::array<uint32_t, pipe_count> free_{};
  using Entry = std::pair<uint32_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> pending_;
};

}  // namespace

namespace {

/// From the issue times of a first pass: operations whose result is not needed yet wait until just before its reader.
std::vector<uint32_t> hold_times(const Function& fn, const Graph& graph, const std::vector<int32_t>& order, const std::vector<uint32_t>& times,
                                 bool loads_too) {
  std::vector<uint32_t> until(graph.nodes.size(), 0), issue = times;
  std::unordered_map<ValueId, int32_t> producer;
  for (size_t k = 0; k < order.size(); ++k) {
    const Node& node = graph.nodes[order[k]];
    if (node.op >= 0)
      for (ValueId id : fn.ops[node.op].defs) producer[id] = order[k];
  }
  std::unordered_map<ValueId, int32_t> readers;
  for (const Node& node : graph.nodes)
    if (node.op >= 0)
      for (ValueId id : fn.ops[node.op].uses) ++readers[id];
  // Only what adds registers waits: an accumulator's update gives up as many as it takes.
  const auto grows = [&](const MOp& op) {
    int32_t words = 0;
    for (ValueId id : op.defs) words += fn.values[id].words;
    for (ValueId id : op.uses)
      if (readers[id] == 1) words -= fn.values[id].words;
    return words > 0;
  };
  std::vector<uint32_t> needed(graph.nodes.size(), UINT32_MAX);
  for (size_t k = order.size(); k-- > 0;) {
    const int32_t n = order[k];
    const Node& node = graph.nodes[n];
    if (node.op < 0) continue;
    const MOp& op = fn.ops[node.op];
    if (needed[n] != UINT32_MAX && can_wait(fn, op, loads_too) && grows(op)) issue[n] = until[n] = std::max(times[n], needed[n]);
    for (ValueId id : op.uses) {
      const auto it = producer.find(id);
      if (it == producer.end()) continue;
      const uint32_t before = planned_latency(fn, fn.ops[graph.nodes[it->second].op]) + planned_interval(fn, fn.ops[graph.nodes[it->second].op]);
      needed[it->second] = std::min(needed[it->second], issue[n] - std::min(issue[n], before));
    }
  }
  return until;
}

}  // namespace

std::vector<int32_t> source_order(const Graph& graph) {
  std::vector<int32_t> order(graph.nodes.size());
  for (size_t n = 0; n < order.size(); ++n) order[n] = static_cast<int32_t>(n);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return graph.nodes[a].key < graph.nodes[b].key; });
  return order;
}

namespace {

/// The first pass tells when results are needed; the next ones hold back what would only occupy registers until then.
Schedule schedule_once(const Function& fn, const Pressure& pressure, Graph& graph, int32_t budget, int32_t limit, bool lazy_loads) {
  std::vector<uint32_t> until;
  Schedule result;
  for (int pass = 0; pass < kPasses; ++pass) {
    Scheduler scheduler(fn, pressure, graph, pass == 0 ? INT32_MAX : budget, limit);
    scheduler.hold(std::move(until));
    result.order = scheduler.run();
    if (result.order.empty()) break;
    until = hold_times(fn, graph, result.order, scheduler.times(), lazy_loads);
    result.moved = scheduler.moved();
    result.excess = scheduler.excess();
  }
  if (result.order.empty()) result = {source_order(graph), {}, 0, 0};
  result.peak = peak_pressure(fn, pressure, graph, result.order);
  return result;
}

}  // namespace

Schedule schedule_block(const Function& fn, const Pressure& pressure, Graph& graph, int32_t budget, int32_t limit) {
  find_heights(graph);
  Schedule best = schedule_once(fn, pressure, graph, budget, limit, false);
  if (best.peak <= budget + best.excess) return best;
  // Too many registers: loads later, then an order that starts nothing early, then PTX order; the least wins.
  const auto consider = [&](Schedule other) {
    if (other.peak < best.peak) best = std::move(other);
  };
  consider(schedule_once(fn, pressure, graph, budget, 0, true));
  if (best.peak > budget) consider(schedule_once(fn, pressure, graph, INT32_MAX, 0, true));
  if (best.peak > budget) {
    Schedule plain{source_order(graph), {}, 0, 0};
    plain.peak = peak_pressure(fn, pressure, graph, plain.order);
    consider(std::move(plain));
  }
  return best;
}

int32_t least_pressure(const Function& fn, const Pressure& pressure, Graph& graph) {
  find_heights(graph);
  return schedule_once(fn, pressure, graph, INT32_MAX, 0, true).peak;
}

}  // namespace tcsim::sim::lowering
