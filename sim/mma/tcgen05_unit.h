// The tensor core of an SM as tcgen05 uses it: operations start in the order of issue and overlap; the next one starts when
// the interval of the one before is over, and each completes a latency after its start.
//
//   const auto times = unit.push(cost, now);     // begin, end of the interval, completion
//
// interval   the longer of the columns' time and the time in which A and B stream from shared memory: max(N/2, (A + B bytes)/128)
//            on B200 is a consequence (SemiAnalysis B200 microbenchmarks, fit_results.csv)
// completion begin + time of A + columns' time + latency: A is loaded first, then B streams by (lat_results_full.csv: N/2 + 104
//            with A in Tensor Memory, + A bytes/128 with A in shared memory)
#pragma once
#include <algorithm>
#include <cmath>
#include <deque>

#include "sim/engine/types.h"

namespace tcsim::sim {

/// What one operation needs, in cycles.
struct Tcgen05Cost {
  double math = 0;     // of the tensor core for the columns of D
  double load = 0;     // of the shared-memory port for A, before the columns
  double stream = 0;   // of the shared-memory port for A and B
  double latency = 0;  // beyond load and math
  double interval() const { return std::max(math, stream); }
};

class Tcgen05Unit {
 public:
  struct Times {
    Cycle begin = 0, end = 0, done = 0;
  };

  Times push(const Tcgen05Cost& cost, Cycle now) {
    const double begin = std::max(free_, static_cast<double>(now));
    free_ = begin + cost.interval();
    done_ = std::max(done_, begin + cost.load + cost.math + cost.latency);
    if (cost.stream > 0) running_.push_back({begin, free_, cost.stream});
    return {static_cast<Cycle>(begin), ceil(free_), ceil(done_)};
  }
  /// Completion of everything pushed so far; `now` when that is past.
  Cycle all_done(Cycle now) const { return std::max(now, ceil(done_)); }

  /// Operands stream at this time: the share of the shared-memory port that they take, and until when (0: they do not).
  struct Port {
    double share = 0, until = 0;
  };
  Port port(double at) {
    while (!running_.empty() && running_.front().end <= at) running_.pop_front();
    if (running_.empty() || running_.front().begin > at) return {};
    const Running& r = running_.front();
    return {std::min(1.0, r.stream / (r.end - r.begin)), running_.back().end};
  }

 private:
  struct Running {
    double begin, end, stream;
  };
  static Cycle ceil(double t) { return static_cast<Cycle>(std::ceil(t - 1e-6)); }
  std::deque<Running> running_;
  double free_ = 0, done_ = 0;
};

}  // namespace tcsim::sim
