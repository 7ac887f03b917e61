// The four tensor cores of an SM as wgmma uses them: one instruction of a warpgroup at a time, its operands streaming
// through the shared-memory port that loads, stores and TMA use too.
//
//   unit.push(group, warp, cost, now);           // a warp's part was issued; the instruction is whole with the fourth
//   while (auto done = unit.advance(now)) ...    // an instruction's interval is over: its result comes `latency` later
//
// An interval is the longest of: the tensor cores' time (a fixed rate per column of D), the time in which the operands
// stream at the port's width, and the least interval of the form. Nothing else limits it, so that the closed form
// max(N/2, (A + B bytes)/128) is a consequence (Luo et al., arXiv 2501.12084, Table 9). Operands go first at the port: other
// accesses get what is left (validation/data/h200/hopper.jsonl wgmma_contention).
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/engine/types.h"

namespace tcsim::sim {

/// What one wgmma needs, in cycles.
struct WgmmaCost {
  double math = 0;    // of the tensor cores
  double stream = 0;  // of the shared-memory port
  double least = 0;   // interval
  double interval() const { return std::max({math, stream, least}); }
};

class WgmmaUnit {
 public:
  static constexpr uint32_t kWarps = 4;  // of a warpgroup

  struct Done {
    uint32_t group = 0;
    Cycle begin = 0, end = 0;  // of the interval
    double math = 0;
  };

  void resize(uint32_t groups) { groups_.resize(groups); }
  /// Warp `warp` (0..3) of a group issued its next instruction.
  void push(uint32_t group, uint32_t warp, const WgmmaCost& cost, Cycle now) {
    Group& g = groups_[group];
    const uint64_t n = g.issued[warp]++ - g.popped;
    if (n == g.queue.size()) g.queue.push_back({cost, 0, 0});
    Entry& e = g.queue[n];
    if (++e.warps == kWarps) e.ready = now;
  }
  /// The groups' CTA ended.
  void reset_groups(uint32_t first, uint32_t count) {
    for (uint32_t g = first; g < std::min<size_t>(first + count, groups_.size()); ++g) groups_[g] = {};
  }
  bool busy() const { return running_.has_value(); }
  /// Share of the port that the instruction under way takes.
  double port_share() const { return running_ ? std::min(1.0, running_->cost.stream / std::max(1e-9, running_->end - running_->start)) : 0.0; }

  /// When the port is free of operands again, as far as is known now.
  double busy_until() const {
    double end = running_ ? running_->end : 0.0;
    if (running_)
      for (const Group& g : groups_)
        for (const Entry& e : g.queue)
          if (e.warps == kWarps) end += e.cost.interval();
    return end;
  }

  /// Cycle in which the unit next has something to do; kNever when idle and nothing is ready.
  Cycle next() const {
    if (running_) return static_cast<Cycle>(running_->end + 0.999999);
    Cycle first = kNever;
    for (const Group& g : groups_)
      if (ready(g)) first = std::min(first, std::max(g.queue.front().ready, static_cast<Cycle>(free_ + 0.999999)));
    return first;
  }
  /// Ends the instruction under way when its time is over, and starts the next one. Call at next().
  std::optional<Done> advance(Cycle now) {
    std::optional<Done> done;
    if (running_ && running_->end <= static_cast<double>(now) + 1e-6) {
      done = Done{running_->group, static_cast<Cycle>(running_->start), now, running_->cost.math};
      free_ = running_->end;
      running_.reset();
    }
    if (!running_) start(now);
    return done;
  }

 private:
  struct Entry {
    WgmmaCost cost;
    uint32_t warps;
    Cycle ready;
  };
  struct Group {
    std::deque<Entry> queue;
    uint64_t issued[kWarps] = {}, popped = 0;
  };
  struct Running {
    uint32_t group;
    WgmmaCost cost;
    double start, end;
  };
  static bool ready(const Group& g) { return !g.queue.empty() && g.queue.front().warps == kWarps; }

  /// Groups take turns.
  void start(Cycle now) {
    for (uint32_t i = 1; i <= groups_.size(); ++i) {
      const uint32_t index = (last_ + i) % static_cast<uint32_t>(groups_.size());
      Group& g = groups_[index];
      if (!ready(g) || g.queue.front().ready > now) continue;
      const WgmmaCost cost = g.queue.front().cost;
      const Cycle ready_at = g.queue.front().ready;
      g.queue.pop_front();
      ++g.popped;
      const double begin = std::max(free_, static_cast<double>(ready_at));
      running_ = Running{index, cost, begin, begin + cost.interval()};
      last_ = index;
      return;
    }
  }

  std::vector<Group> groups_;
  std::optional<Running> running_;
  double free_ = 0;
  uint32_t last_ = 0;
};

}  // namespace tcsim::sim
