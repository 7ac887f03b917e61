// The mbarriers of one CTA: the operations on their words in shared memory, and a book of who brought what, for reports.
//
//   MbarrierError e = unit.arrive(offset, {.count = 1, .expect_bytes = 32768}, source, &state);
//   if (e) ctx.fault(e.kind, lane, offset, e.text);
//   if (unit.ended(offset, parity)) ...          // what try_wait asks
//   for (uint32_t offset : unit.take_ended()) wake the waiters;
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/exec/mbarrier.h"

namespace tcsim::isa {

class SharedWatch;  // isa/exec/shared_watch.h

/// A program's fault at an mbarrier: kind is the diagnostic's.
struct MbarrierError {
  const char* kind = nullptr;
  std::string text;
  explicit operator bool() const { return kind != nullptr; }
};

/// Who acts on a barrier.
struct MbarrierSource {
  enum class Kind : uint8_t { thread, bulk, cp_async, store, tensor } kind = Kind::thread;
  uint8_t rank = 0;  // CTA in the cluster
  uint16_t warp = 0;
  uint32_t inst = 0;  // index in the kernel

  auto operator<=>(const MbarrierSource&) const = default;
};

struct MbarrierArrival {
  uint32_t count = 1;
  uint32_t expect_bytes = 0;  // .expect_tx: before the arrival
  bool drop = false, no_complete = false;
};

class MbarrierUnit {
 public:
  /// What one source did in a phase.
  struct Share {
    MbarrierSource source;
    uint64_t arrivals = 0, expected = 0, delivered = 0, issued = 0;  // the last three in bytes
  };
  struct Record {
    uint32_t init_inst = 0, count = 0;
    uint32_t init_warp = 0, init_publishes = 0;  // SharedWatch::published of that warp then
    uint64_t seen = 0;                           // phases whose end a thread has waited for
    uint64_t phase = 0;                          // phases ended so far: its lowest bit is the parity of the current one
    uint64_t in_flight = 0;                      // bytes of bulk copies on their way to this barrier
    std::vector<Share> now, before;              // the current phase and the one before it
    struct Passed {
      uint16_t warp;
      uint32_t lanes;
      uint64_t phase;
    };
    std::vector<Passed> passed;  // the last wait that each warp passed
  };

  /// rank: of the CTA in its cluster.
  void reset(WindowMemory& shared, SharedWatch* watch, uint32_t rank);
  MbarrierError init(uint32_t offset, uint32_t count, MbarrierSource source);
  MbarrierError inval(uint32_t offset);
  /// state (may be nullptr): the opaque word before the arrival.
  MbarrierError arrive(uint32_t offset, const MbarrierArrival& arrival, MbarrierSource source, uint64_t* state = nullptr);
  /// cp.async.mbarrier.arrive without .noinc adds to the pending count first.
  MbarrierError add_pending(uint32_t offset, uint32_t count);
  MbarrierError expect(uint32_t offset, uint32_t bytes, MbarrierSource source);
  MbarrierError complete(uint32_t offset, uint32_t bytes, MbarrierSource source);
  /// A bulk copy that will complete `bytes` here was issued.
  MbarrierError issued(uint32_t offset, uint32_t bytes, MbarrierSource source);
  MbarrierError check(uint32_t offset) const;  // is there an initialised mbarrier?
  /// The same, and can the source know: was its warp, or some barrier, between it and mbarrier.init?
  MbarrierError check(uint32_t offset, const MbarrierSource& source) const;
  /// Lanes of a warp were told that a phase is over. True: they were told so of the same phase before, and bytes are on their way
  /// for the next one: the parity is not what they meant to ask.
  bool passed(uint32_t offset, uint32_t warp, uint32_t lanes);
  /// At the end of the CTA: a barrier that bytes are missing on, or too many came to, and none is on its way.
  MbarrierError leftover(MbarrierSource& source) const;

  /// The phase with this parity is over.
  bool ended(uint32_t offset, bool parity) const { return load_mbarrier(*shared_, offset).phase != parity; }
  Mbarrier word(uint32_t offset) const { return load_mbarrier(*shared_, offset); }

  const Record* find(uint32_t offset) const;
  Record* find(uint32_t offset);
  const std::map<uint32_t, Record>& all() const { return records_; }
  bool any_ended() const { return !ended_.empty(); }
  std::vector<uint32_t> take_ended();

 private:
  Share& share(Record& record, MbarrierSource source);
  MbarrierError settle(uint32_t offset, Record& record, Mbarrier& word);

  WindowMemory* shared_ = nullptr;
  SharedWatch* watch_ = nullptr;
  uint32_t rank_ = 0;
  std::map<uint32_t, Record> records_;
  std::vector<uint32_t> ended_;
};

}  // namespace tcsim::isa
