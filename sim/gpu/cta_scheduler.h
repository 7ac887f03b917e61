// Gives CTAs to SMs: breadth first over the chip while there is room, then to whichever SM finishes one.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "sim/sm/sm.h"

namespace tcsim::sim {

class CtaScheduler {
 public:
  CtaScheduler(const isa::LaunchInfo& launch, const cfg::Machine& machine)
      : grid_(launch.grid), total_(launch.grid.count()), launch_(machine.launch) {}

  bool all_placed() const { return next_ == total_; }
  uint64_t total() const { return total_; }
  uint64_t done() const { return done_; }

  /// First wave: one CTA to each SM in turn until all slots are full.
  void place_first(std::vector<std::unique_ptr<Sm>>& sms) {
    bool placed = true;
    while (placed && !all_placed()) {
      placed = false;
      for (auto& sm : sms) {
        if (all_placed()) break;
        if (sm->free_ctas() == 0) continue;
        place(*sm, launch_.start_cycles);
        placed = true;
      }
    }
  }

  /// CTAs that ended in the last quantum, in (cycle, SM) order: each makes room for the next one.
  void refill(std::vector<std::unique_ptr<Sm>>& sms) {
    std::vector<std::pair<Cycle, uint32_t>> ends;
    for (uint32_t sm = 0; sm < sms.size(); ++sm) {
      for (const Sm::Finished& end : sms[sm]->finished) ends.emplace_back(end.cycle, sm);
      sms[sm]->finished.clear();
    }
    std::sort(ends.begin(), ends.end());
    done_ += ends.size();
    for (const auto& [cycle, sm] : ends)
      if (!all_placed()) place(*sms[sm], cycle + launch_.cta_cycles);
  }

 private:
  void place(Sm& sm, Cycle earliest) {
    free_at_ = std::max(free_at_, static_cast<double>(earliest));
    const Cycle at = static_cast<Cycle>(std::ceil(free_at_));
    free_at_ += 1.0 / launch_.ctas_per_cycle;
    const isa::Dim3 id{static_cast<uint32_t>(next_ % grid_.x), static_cast<uint32_t>(next_ / grid_.x % grid_.y),
                       static_cast<uint32_t>(next_ / grid_.x / grid_.y)};
    sm.start_cta(id, next_, at);
    ++next_;
  }

  isa::Dim3 grid_;
  uint64_t total_, next_ = 0, done_ = 0;
  cfg::LaunchCost launch_;
  double free_at_ = 0;
};

}  // namespace tcsim::sim
