#include "sim/lsu/l1_cache.h"

#include <algorithm>
#include <bit>

namespace tcsim::sim {

void coalesce(const isa::Access& access, uint32_t line_bytes, uint32_t sector_bytes, Coalesced& out) {
  out.count = out.sectors = 0;
  const uint32_t line_shift = static_cast<uint32_t>(std::countr_zero(line_bytes));
  const uint32_t sector_shift = static_cast<uint32_t>(std::countr_zero(sector_bytes));
  const uint32_t sector_mask = line_bytes / sector_bytes - 1;
  uint32_t last = 0;  // neighbouring lanes mostly touch the same line
  for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t begin = access.address[lane], end = begin + access.bytes - 1;
    for (uint64_t sector = begin >> sector_shift; sector <= end >> sector_shift; ++sector) {
      const uint64_t line = sector << sector_shift >> line_shift;
      const uint8_t bit = static_cast<uint8_t>(1u << (sector & sector_mask));
      uint32_t i = last < out.count && out.lines[last].line == line ? last : 0;
      while (i < out.count && out.lines[i].line != line) ++i;
      if (i == out.count) {
        if (out.count == out.lines.size()) continue;  // cannot happen: at most two lines a lane
        out.lines[out.count++] = {line, 0};
      }
      if (!(out.lines[i].sectors & bit)) ++out.sectors;
      out.lines[i].sectors |= bit;
      last = i;
    }
  }
}

L1Tags::L1Tags(const cfg::L1Cache& config, uint32_t bytes) {
  ways_ = config.ways;
  const uint32_t lines = bytes / config.line_bytes;
  sets_ = ways_ == 0 ? 0 : lines / ways_;
  lines_.resize(size_t{sets_} * ways_);
}

L1Tags::Line* L1Tags::find(uint64_t line) {
  if (sets_ == 0) return nullptr;
  Line* set = &lines_[(line % sets_) * ways_];
  for (uint32_t way = 0; way < ways_; ++way)
    if (set[way].tag == line) return &set[way];
  return nullptr;
}

L1Tags::Line* L1Tags::access(uint64_t line) {
  if (sets_ == 0) return nullptr;
  if (Line* found = find(line)) {
    found->used = ++stamp_;
    return found;
  }
  Line* set = &lines_[(line % sets_) * ways_];
  Line* victim = nullptr;
  for (uint32_t way = 0; way < ways_; ++way)
    if (set[way].pending == 0 && (victim == nullptr || set[way].used < victim->used)) victim = &set[way];
  if (victim != nullptr) *victim = {line, ++stamp_, 0, 0, 0};
  return victim;
}

}  // namespace tcsim::sim
