// Coalescing of a warp's global or local addresses into 128-byte lines of 32-byte sectors, and the L1's tags.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "isa/exec/context.h"
#include "sim/config/machine.h"
#include "sim/engine/types.h"

namespace tcsim::sim {

/// Lines that one warp instruction touches, each with its sectors, in order of first touch.
struct Coalesced {
  struct Line {
    uint64_t line;
    uint8_t sectors;
  };
  std::array<Line, 64> lines;  // a misaligned wide access can touch two lines a lane
  uint32_t count = 0, sectors = 0;
};

void coalesce(const isa::Access& access, uint32_t line_bytes, uint32_t sector_bytes, Coalesced& out);

/// Tags of the L1: set-associative, LRU, valid bits per sector; fills in flight know their request.
class L1Tags {
 public:
  struct Line {
    uint64_t tag = ~0ull;
    uint64_t used = 0;
    uint8_t valid = 0;     // sectors with data
    uint8_t pending = 0;   // sectors being fetched
    uint32_t request = 0;  // last request in flight for this line
  };
  L1Tags(const cfg::L1Cache& config, uint32_t bytes);
  /// The line's entry, allocated if absent (the least recently used without a fill in flight is evicted).
  /// nullptr: no place (capacity 0, or all ways have fills in flight).
  Line* access(uint64_t line);
  Line* find(uint64_t line);

 private:
  uint32_t sets_ = 0, ways_ = 0;
  uint64_t stamp_ = 0;
  std::vector<Line> lines_;
};

}  // namespace tcsim::sim
