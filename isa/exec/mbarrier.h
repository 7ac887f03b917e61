// The mbarrier object (PTX ISA, "mbarrier"): 64 bits in shared memory whose layout is the implementation's choice. Ours:
//
//   bits  0..19  arrivals still missing in this phase (pending count)
//   bits 20..39  arrivals of each phase (expected count of the next phase)
//   bits 40..61  transaction bytes still missing (tx-count, two's complement)
//   bit  63      phase parity
//
// The opaque state that arrive returns is the word before the arrival.
#pragma once
#include <cstdint>
#include <cstring>

#include "isa/exec/memory.h"

namespace tcsim::isa {

struct Mbarrier {
  static constexpr uint32_t kMaxCount = (1u << 20) - 1;  // PTX ISA, "mbarrier": valid range of the counts
  uint32_t pending = 0, expected = 0;
  int32_t tx = 0;
  bool phase = false;

  static Mbarrier decode(uint64_t word) {
    Mbarrier m;
    m.pending = word & kMaxCount;
    m.expected = word >> 20 & kMaxCount;
    m.tx = static_cast<int32_t>(word >> 40 << 10) >> 10;
    m.phase = word >> 63;
    return m;
  }
  uint64_t encode() const {
    return pending | uint64_t{expected} << 20 | (uint64_t{static_cast<uint32_t>(tx)} & 0x3fffff) << 40 | uint64_t{phase} << 63;
  }
  /// The phase is over when nothing is missing; the next one starts at once.
  void settle() {
    if (pending != 0 || tx != 0) return;
    pending = expected;
    phase = !phase;
  }
};

inline Mbarrier load_mbarrier(const WindowMemory& shared, uint32_t offset) {
  uint64_t word;
  std::memcpy(&word, shared.data() + offset, 8);
  return Mbarrier::decode(word);
}

inline void store_mbarrier(WindowMemory& shared, uint32_t offset, const Mbarrier& m) {
  const uint64_t word = m.encode();
  std::memcpy(shared.data() + offset, &word, 8);
}

}  // namespace tcsim::isa
