// Event wheel of one SM: a ring of cycles with one occupancy bit each and a FIFO per cycle; events beyond the ring wait
// in a heap. Order is total: by cycle, then by insertion.
//
//   wheel.add(cycle, {Event::Kind::response, slot});
//   while (wheel.next() <= now) wheel.pop(handler);
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "isa/check.h"
#include "sim/engine/types.h"

namespace tcsim::sim {

/// What happens at a cycle. 16 bytes.
struct Event {
  enum class Kind : uint8_t { response, warp_wake, cta_start, sleep_end, tma, wgmma, wgmma_result, bulk_done, message, time_out, tcgen05 } kind;
  uint8_t flags = 0;
  uint16_t warp = 0;
  uint32_t id = 0;
  uint64_t data = 0;
};

class EventWheel {
 public:
  static constexpr uint32_t kSpan = 4096;  // cycles that the ring covers

  EventWheel() {
    heads_.fill(kNone);
    tails_.fill(kNone);
  }

  void add(Cycle cycle, Event event) {
    TC_DCHECK(cycle >= base_, "event at {} before {}", cycle, base_);
    ++size_;
    if (cycle < next_) next_ = cycle;
    if (cycle - base_ < kSpan) return link(cycle, event);
    far_.push_back({cycle, sequence_++, event});
    std::push_heap(far_.begin(), far_.end(), later);
  }

  /// Cycle of the earliest event, kNever when there is none.
  Cycle next() const { return next_; }
  bool empty() const { return size_ == 0; }

  /// Calls handle(event) for all events of cycle next(), in order; handle may add events at the same or later cycles.
  template <class Handle>
  void deliver(Handle&& handle) {
    const Cycle cycle = next_;
    advance(cycle);
    const uint32_t index = cycle % kSpan;
    while (heads_[index] != kNone) {
      const uint32_t node = heads_[index];
      heads_[index] = pool_[node].next;
      if (heads_[index] == kNone) tails_[index] = kNone;
      const Event event = pool_[node].event;
      pool_[node].next = free_;
      free_ = node;
      --size_;
      handle(event);
    }
    occupied_[index / 64] &= ~(1ull << index % 64);
    next_ = find_next(cycle + 1);
  }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Node {
    Event event;
    uint32_t next;
  };
  struct Far {
    Cycle cycle;
    uint64_t sequence;
    Event event;
  };
  static bool later(const Far& a, const Far& b) { return a.cycle != b.cycle ? a.cycle > b.cycle : a.sequence > b.sequence; }

  void link(Cycle cycle, const Event& event) {
    uint32_t node = free_;
    if (node == kNone) {
      node = static_cast<uint32_t>(pool_.size());
      pool_.push_back({});
    } else {
      free_ = pool_[node].next;
    }
    pool_[node] = {event, kNone};
    const uint32_t index = cycle % kSpan;
    if (tails_[index] == kNone) heads_[index] = node;
    else pool_[tails_[index]].next = node;
    tails_[index] = node;
    occupied_[index / 64] |= 1ull << index % 64;
  }
  /// Moves the ring's start to cycle and takes in far events that now fit.
  void advance(Cycle cycle) {
    base_ = cycle;
    while (!far_.empty() && far_.front().cycle - base_ < kSpan) {
      std::pop_heap(far_.begin(), far_.end(), later);
      link(far_.back().cycle, far_.back().event);
      far_.pop_back();
    }
  }
  Cycle find_next(Cycle from) const {
    if (size_ == 0) return kNever;
    for (uint32_t step = 0; step < kSpan;) {
      const uint32_t index = (from + step) % kSpan;
      const uint64_t word = occupied_[index / 64] >> index % 64;
      if (word != 0) return from + step + static_cast<uint32_t>(std::countr_zero(word));
      step += 64 - index % 64;
    }
    return far_.front().cycle;
  }

  std::vector<Node> pool_;
  std::array<uint32_t, kSpan> heads_, tails_;
  std::array<uint64_t, kSpan / 64> occupied_{};
  std::vector<Far> far_;
  uint32_t free_ = kNone;
  uint64_t size_ = 0, sequence_ = 0;
  Cycle base_ = 0, next_ = kNever;
};

}  // namespace tcsim::sim
