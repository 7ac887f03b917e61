// The order inside each block: a dependence graph of machine operations and riders, and a list scheduler over it.
#pragma once
#include "sim/lower/ir.h"

namespace tcsim::sim::lowering {

struct Edge {
  int32_t to;
  uint32_t cycles;  // earliest issue of `to` after the issue of the source
};

/// A node is a machine operation, a PTX instruction that only rides along, or both at once.
struct Node {
  int32_t inst = -1;  // runs this instruction's semantics; -1: none
  int32_t op = -1;    // machine operation; -1: costs nothing
  int32_t key = 0;    // PTX order
  int32_t blockers = 0;
  uint32_t height = 0;  // cycles from its issue to the end of the block on the longest path
  std::vector<Edge> next;
};

struct Graph {
  int32_t block = 0;
  std::vector<Node> nodes;
};

/// Registers that machine operations keep alive between blocks (folded instructions need none of their own).
struct Pressure {
  std::vector<std::vector<uint64_t>> live_in, live_out;  // per block, a bit per register
};
Pressure find_pressure(const Function& fn);

/// Registers in use while a block's nodes run in an order.
class PressureTracker {
 public:
  PressureTracker(const Function& fn, const Pressure& pressure, const Graph& graph);
  int32_t delta(const Node& node) const;  // registers that the node would add, less those it frees
  void issue(const Node& node);
  int32_t current() const { return current_; }
  int32_t peak() const { return peak_; }

 private:
  bool stays(ValueId id) const;
  const Function& fn_;
  const Graph& graph_;
  const std::vector<uint64_t>& live_out_;
  std::vector<int32_t>& remaining_;
  int32_t current_ = 0, peak_ = 0;
  static thread_local std::vector<int32_t> scratch_;
};

Graph build_graph(Function& fn, int32_t block);

/// Node indices in issue order, flexible operations that took the multiply pipe, and the registers in use at most.
struct Schedule {
  std::vector<int32_t> order, moved;
  int32_t peak = 0;
  int32_t excess = 0;  // registers beyond the budget that loads from global memory took
};
/// Loads from global memory do not wait for registers up to `limit`.
Schedule schedule_block(const Function& fn, const Pressure& pressure, Graph& graph, int32_t budget, int32_t limit);
/// Registers of an order in which nothing is started before it is needed: what a compiler that is not pressed would use.
int32_t least_pressure(const Function& fn, const Pressure& pressure, Graph& graph);
/// The same graph in PTX order.
std::vector<int32_t> source_order(const Graph& graph);
int32_t peak_pressure(const Function& fn, const Pressure& pressure, const Graph& graph, const std::vector<int32_t>& order);

/// Latency that the scheduler plans with: the machine's, for global memory that of an L2 hit.
uint32_t planned_latency(const Function& fn, const MOp& op);

}  // namespace tcsim::sim::lowering
