// Shared-memory addresses in a cluster (PTX ISA, "Shared State Space"). A 32-bit shared::cluster address, and the low half
// of a generic one, holds the CTA's rank in the cluster above the offset in that CTA's window, as the hardware does:
//
//   bits 0..23  byte offset in the window of one CTA      bits 24..31  %cluster_ctarank of that CTA
#pragma once
#include <cstdint>

namespace tcsim::isa {

struct SharedAddress {
  static constexpr int kRankShift = 24;
  static constexpr uint32_t kOffsetMask = (1u << kRankShift) - 1;

  uint32_t offset = 0;
  uint8_t rank = 0;

  static constexpr SharedAddress of(uint32_t address) { return {address & kOffsetMask, static_cast<uint8_t>(address >> kRankShift)}; }
  constexpr uint32_t encode() const { return offset | uint32_t{rank} << kRankShift; }
  constexpr bool operator==(const SharedAddress&) const = default;
};

}  // namespace tcsim::isa
