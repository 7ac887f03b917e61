// Gives CTAs to SMs: breadth first over the chip while there is room, then to whichever SM finishes one.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "isa/check.h"
#include "sim/sm/sm.h"

namespace tcsim::sim {

class CtaScheduler {
 public:
  /// ctas: how many of the grid's CTAs to run, in launch order; 0: all.
  CtaScheduler(const isa::LaunchInfo& launch, const cfg::Machine& machine, uint64_t ctas = 0)
      : info_(launch),
        total_(ctas == 0 ? launch.grid.count() : std::min(ctas, launch.grid.count())),
        size_(static_cast<uint32_t>(launch.cluster.count())),
        launch_(machine.launch),
        cluster_cycles_(machine.cluster.launch_cycles),
        gpc_sms_(machine.chip.gpc_sms) {
    TC_CHECK(total_ % size_ == 0, "a sample of CTAs is whole clusters");
  }

  /// A cluster that has not started never will: clusterlaunchcontrol.try_cancel got it. nullopt: all have.
  std::optional<isa::Dim3> cancel_next() {
    if (all_placed()) return std::nullopt;
    const isa::Dim3 first = isa::cta_of_cluster(info_, next_ / size_, 0);
    next_ += size_;
    done_ += size_;
    return first;
  }

  bool all_placed() const { return next_ == total_; }
  uint64_t total() const { return total_; }
  uint64_t done() const { return done_; }

  /// First wave: one CTA to each SM in turn until all slots are full.
  void place_first(std::vector<std::unique_ptr<Sm>>& sms) {
    if (size_ > 1) {
      while (!all_placed() && place_cluster(sms, launch_.start_cycles)) {}
      return;
    }
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
      for (const Sm::Finished& end : sms[sm]->finished) {
        ends.emplace_back(end.cycle, sm);
        if (size_ > 1 && --end.cluster->cluster.running == 0) release(end.cluster);
      }
      sms[sm]->finished.clear();
    }
    std::sort(ends.begin(), ends.end());
    done_ += ends.size();
    if (size_ > 1) {
      for (const auto& [cycle, sm] : ends)
        while (!all_placed() && place_cluster(sms, cycle + launch_.cta_cycles)) {}
      return;
    }
    for (const auto& [cycle, sm] : ends)
      if (!all_placed()) place(*sms[sm], cycle + launch_.cta_cycles);
  }

 private:
  void place(Sm& sm, Cycle earliest) {
    free_at_ = std::max(free_at_, static_cast<double>(earliest));
    const Cycle at = static_cast<Cycle>(std::ceil(free_at_));
    free_at_ += 1.0 / launch_.ctas_per_cycle;
    sm.start_cta(isa::cta_of_cluster(info_, next_, 0), next_, at);
    ++next_;
  }

  /// A cluster's CTAs start together, in one GPC, each on an SM of its own where that is possible: on the GPC with most
  /// room, on its emptiest SMs. False: no GPC has room.
  bool place_cluster(std::vector<std::unique_ptr<Sm>>& sms, Cycle earliest) {
    std::vector<uint32_t> best;
    uint32_t most = 0;
    uint32_t first = 0, end = 0;
    for (const uint32_t size : gpc_sms_) {
      std::vector<uint32_t> free;  // SMs, one entry a free place: all first places, then all second ones, ...
      first = end;
      end = std::min<uint32_t>(first + size, static_cast<uint32_t>(sms.size()));
      uint32_t deepest = 0;
      for (uint32_t sm = first; sm < end; ++sm) deepest = std::max(deepest, sms[sm]->free_ctas());
      for (uint32_t level = deepest; level > 0; --level)
        for (uint32_t sm = first; sm < end; ++sm)
          if (sms[sm]->free_ctas() >= level) free.push_back(sm);
      if (free.size() < size_ || free.size() <= most) continue;
      most = static_cast<uint32_t>(free.size());
      best.assign(free.begin(), free.begin() + size_);
    }
    if (best.empty()) return false;
    start(sms, best, earliest);
    return true;
  }

  void start(std::vector<std::unique_ptr<Sm>>& sms, const std::vector<uint32_t>& where, Cycle earliest) {
    ClusterState* cluster;
    if (unused_.empty()) {
      clusters_.push_back(std::make_unique<ClusterState>());
      cluster = clusters_.back().get();
    } else {
      cluster = unused_.back();
      unused_.pop_back();
      *cluster = ClusterState{};
    }
    free_at_ = std::max(free_at_, static_cast<double>(earliest + cluster_cycles_));
    const Cycle at = static_cast<Cycle>(std::ceil(free_at_));
    free_at_ += size_ / launch_.ctas_per_cycle;
    std::vector<isa::Cta*> ctas;
    for (uint32_t rank = 0; rank < size_; ++rank) {
      Sm& sm = *sms[where[rank]];
      const uint32_t slot = sm.start_cta(isa::cta_of_cluster(info_, next_ / size_, rank), next_ + rank, at);
      cluster->members.push_back({where[rank], slot});
      sm.connect(slot, cluster);
      ctas.push_back(&sm.cta(slot));
    }
    cluster->cluster.connect(std::move(ctas));
    next_ += size_;
  }
  void release(ClusterState* cluster) { unused_.push_back(cluster); }

  const isa::LaunchInfo& info_;
  uint64_t total_, next_ = 0, done_ = 0;
  uint32_t size_;
  cfg::LaunchCost launch_;
  uint32_t cluster_cycles_;
  std::vector<uint32_t> gpc_sms_;
  double free_at_ = 0;
  std::vector<std::unique_ptr<ClusterState>> clusters_;
  std::vector<ClusterState*> unused_;
};

}  // namespace tcsim::sim
