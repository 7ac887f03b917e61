// The memory system below the SMs: crossbar ports, two-partition L2 with slices and sectors, HBM channels.
//
// Requests carry one 128-byte line and a mask of its 32-byte sectors. Every resource is a queue with a time at which it
// is next free; serving a request in arrival order moves those times. Requests must come in (cycle, SM, sequence) order.
//
//   Response r = memory.serve(request);   // r.cycle: when the data can be used in the SM (or the write is acknowledged)
#pragma once
#include <cstdint>
#include <vector>

#include "sim/config/machine.h"
#include "sim/engine/types.h"
#include "sim/stats/counters.h"

namespace tcsim::sim {

struct MemRequest {
  enum class Kind : uint8_t { read, write, atomic, reduction };
  Cycle cycle = 0;    // leaves the SM
  uint64_t line = 0;  // byte address / line size
  uint32_t id = 0;    // the SM's own
  uint16_t sm = 0;
  Kind kind = Kind::read;
  uint8_t sectors = 0;  // mask
};

class MemorySystem {
 public:
  /// free_stores: writes are acknowledged and forgotten (a counterfactual).
  explicit MemorySystem(const cfg::Machine& machine, bool free_stores = false);

  /// When the response reaches the SM. Never earlier than request.cycle + min_latency().
  Cycle serve(const MemRequest& request);
  /// Smallest distance from a request to its response: the look-ahead between SMs.
  Cycle min_latency() const { return min_latency_; }
  /// L2 and DRAM counters. Dirty sectors that stay in L2 do not count as DRAM writes, as on the chip.
  const CounterBlock& counters() const { return counters_; }

 private:
  struct Line {
    uint64_t tag = ~0ull;
    Cycle ready = 0;    // when a fill in flight arrives
    uint32_t used = 0;  // LRU stamp
    uint8_t valid = 0, dirty = 0;
    uint8_t copied = 0;    // sectors that the other partition has a copy of ...
    Cycle copy_ready = 0;  // ... and when the last of them gets there
  };
  struct Place {
    uint32_t slice, set;
  };
  /// A read on its way back to a group of SMs: another SM of the group that asks meanwhile shares it.
  struct InFlight {
    uint64_t line = ~0ull;
    Cycle data = 0, done = 0;  // data at L2, response
    uint8_t sectors = 0;
  };
  static constexpr uint32_t kInFlight = 4096;  // entries a group, by line: more than its SMs have in flight
  static constexpr uint32_t kQueued = 16384;   // entries a GPC
  /// A read of a GPC that waits for its L2 slice: others of the GPC that ask meanwhile are served with it. (H200, 2048^3:
  /// neighbouring CTAs that share an operand read 1.5 to 2.3 times less from L2 than they ask for, 1.33 times when the
  /// slices are idle and only the two SMs of a TPC meet.)
  struct Queued {
    uint64_t line = ~0ull;
    Cycle served = 0, data = 0;
    uint8_t sectors = 0;
  };

  Place place_of(uint64_t line) const;
  uint32_t channel_of(uint64_t line) const;
  Line& find_or_evict(Place place, uint64_t line, Cycle now, bool& hit);
  Cycle fetch_from_dram(uint64_t line, uint32_t sectors, Cycle now);
  Cycle after_refresh(uint64_t line, Cycle at) const;
  Cycle cross(Line& line, const MemRequest& request, uint32_t partition, double asked, Cycle data);
  InFlight& in_flight(const MemRequest& request) { return in_flight_[size_t{request.sm / group_} * kInFlight + request.line % kInFlight]; }
  Cycle respond(const MemRequest& request, Cycle data, bool far);
  void write_back(uint64_t line, uint32_t sectors, Cycle now);
  uint32_t partition_of_sm(uint32_t sm) const { return sm * partitions_ / sms_; }
  uint32_t partition_of_slice(uint32_t slice) const { return slice * partitions_ / slices_; }

  const cfg::Machine& machine_;
  bool free_stores_;
  uint32_t group_;
  std::vector<InFlight> in_flight_;
  std::vector<uint32_t> gpc_of_sm_;  // empty: no such merging
  std::vector<Queued> queued_;       // kQueued a GPC, by line
  uint32_t slices_, sets_, ways_, partitions_, sms_, channels_;
  Cycle min_latency_;
  double slice_cycles_per_sector_, link_cycles_per_sector_, fill_cycles_per_sector_, store_cycles_per_sector_, channel_cycles_per_byte_;
  uint32_t stamp_ = 0;
  std::vector<Line> lines_;
  std::vector<double> slice_free_, link_free_, fill_free_, store_free_, channel_free_;
  std::vector<Cycle> tlb_;  // cycle at which a page's translation is known
  CounterBlock counters_;
};

}  // namespace tcsim::sim
