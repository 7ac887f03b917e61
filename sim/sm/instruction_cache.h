// Instruction fetch: L0 per sub-core, L1 per SM, everything beyond it one latency away. Straight-line code is prefetched.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/config/machine.h"
#include "sim/engine/types.h"

namespace tcsim::sim {

class InstructionCache {
 public:
  InstructionCache(const cfg::InstructionFetch& config, uint32_t subcores, uint32_t instructions)
      : config_(config),
        lines_((instructions * config.bytes_per_instruction) / config.line_bytes + 2 + config.prefetch_lines),
        l1_(lines_, kNever),
        l0_(subcores, Level0{std::vector<Cycle>(lines_, kNever), {}, 0}) {
    for (auto& level : l0_) level.order.assign(std::max<uint32_t>(1, config.l0_bytes / config.line_bytes), ~0u);
    l1_order_.assign(std::max<uint32_t>(1, config.l1_bytes / config.line_bytes), ~0u);
  }
  uint32_t line_of(uint32_t instruction) const { return instruction * config_.bytes_per_instruction / config_.line_bytes; }

  /// Cycle from which the line's instructions can issue in the sub-core.
  Cycle fetch(uint32_t subcore, uint32_t line, Cycle now, uint64_t& misses) {
    Level0& l0 = l0_[subcore];
    if (l0.ready[line] == kNever) {
      ++misses;
      load_l0(l0, line, from_l1(line, now) + config_.l1_hit_cycles);
    }
    // The stream buffer runs ahead of the warp.
    for (uint32_t ahead = 1; ahead <= config_.prefetch_lines && line + ahead < lines_; ++ahead)
      if (l0.ready[line + ahead] == kNever) load_l0(l0, line + ahead, from_l1(line + ahead, now) + config_.l1_hit_cycles);
    return std::max(now, l0.ready[line]);
  }

 private:
  struct Level0 {
    std::vector<Cycle> ready;
    std::vector<uint32_t> order;  // FIFO of resident lines
    uint32_t head;
  };
  Cycle from_l1(uint32_t line, Cycle now) {
    if (l1_[line] == kNever) {
      // Misses stream: a line asked for while another is on its way comes one hit time behind it.
      const Cycle alone = now + config_.miss_cycles;
      l1_[line] = line > 0 && l1_[line - 1] != kNever && l1_[line - 1] > now ? std::min(alone, l1_[line - 1] + config_.l1_hit_cycles) : alone;
      evict(l1_order_, l1_head_, l1_, line);
    }
    return std::max(now, l1_[line]);
  }
  void load_l0(Level0& l0, uint32_t line, Cycle ready) {
    l0.ready[line] = ready;
    evict(l0.order, l0.head, l0.ready, line);
  }
  static void evict(std::vector<uint32_t>& order, uint32_t& head, std::vector<Cycle>& ready, uint32_t line) {
    if (order[head] != ~0u) ready[order[head]] = kNever;
    order[head] = line;
    head = (head + 1) % order.size();
  }

  cfg::InstructionFetch config_;
  uint32_t lines_;
  std::vector<Cycle> l1_;
  std::vector<Level0> l0_;
  std::vector<uint32_t> l1_order_;
  uint32_t l1_head_ = 0;
};

}  // namespace tcsim::sim
