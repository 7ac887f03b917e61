#include "sim/smem/wavefronts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace tcsim::sim {
namespace {

using isa::Access;
using isa::AccessKind;

constexpr uint32_t kMaxBanks = 256;
using BankCounts = std::array<uint16_t, kMaxBanks>;

uint32_t lanes_per_group(const Access& access) {
  if (access.kind == AccessKind::ldmatrix || access.kind == AccessKind::stmatrix) return 8;
  return access.bytes <= 4 ? 32 : access.bytes == 8 ? 16 : 8;
}

/// Distinct words per bank of the lanes [first, first + n) that are active; the largest count is the group's wavefronts.
uint32_t group_wavefronts(const Access& access, uint32_t first, uint32_t n, Banks banks, BankCounts& used) {
  std::array<uint64_t, 32 * 4> words;  // at most 4 words of each lane
  uint32_t count = 0;
  for (uint32_t lane = first; lane < first + n; ++lane) {
    if (!(access.mask >> lane & 1)) continue;
    const uint64_t begin = access.address[lane] / banks.bytes;
    const uint64_t end = (access.address[lane] + access.bytes - 1) / banks.bytes;
    for (uint64_t word = begin; word <= end && count < words.size(); ++word) words[count++] = word;
  }
  std::sort(words.begin(), words.begin() + count);
  const auto end = std::unique(words.begin(), words.begin() + count);
  used.fill(0);
  uint16_t most = 0;
  for (auto it = words.begin(); it != end; ++it) most = std::max(most, ++used[*it % banks.count]);
  return most;
}

/// Every active lane reads the address of its partner lane ^ distance.
bool shares_with(const Access& access, uint32_t distance) {
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if (!(access.mask >> lane & 1)) continue;
    if (!(access.mask >> (lane ^ distance) & 1) || access.address[lane] != access.address[lane ^ distance]) return false;
  }
  return true;
}

/// Lanes that are served together: groups of wide loads merge in pairs when neighbours read the same words.
uint32_t lanes_together(const Access& access) {
  const uint32_t n = lanes_per_group(access);
  const bool wide_load = access.kind == AccessKind::load && access.bytes > 4;
  return wide_load && (shares_with(access, 1) || shares_with(access, 2)) ? 2 * n : n;
}

/// 16-byte rows or lanes: one pass serves them all when they use different bank quads or the same 16 bytes. This is the
/// case that well-swizzled kernels are in all the time.
bool conflict_free_16(const Access& access, uint32_t first, uint32_t n) {
  uint32_t quads = 0, active = 0;
  for (uint32_t lane = first; lane < first + n; ++lane) {
    if (!(access.mask >> lane & 1)) continue;
    quads |= 1u << (access.address[lane] >> 4 & 7);
    ++active;
  }
  return static_cast<uint32_t>(std::popcount(quads)) == active;
}

}  // namespace

Wavefronts count_wavefronts(const Access& access, Banks banks, std::span<uint32_t> extra) {
  Wavefronts result;
  BankCounts used;
  const uint32_t n = lanes_together(access);
  const bool quads = n == 8 && access.bytes == 16 && banks.count == 32 && banks.bytes == 4;
  for (uint32_t first = 0; first < 32; first += n) {
    const uint32_t group_mask = n == 32 ? ~0u : ((1u << n) - 1) << first;
    if ((access.mask & group_mask) == 0) continue;
    result.ideal += 1;
    if (quads && conflict_free_16(access, first, n)) {
      result.total += 1;
      continue;
    }
    const uint32_t passes = group_wavefronts(access, first, n, banks, used);
    result.total += passes;
    if (passes < 2) continue;
    for (uint32_t bank = 0; bank < extra.size(); ++bank) extra[bank] += used[bank] > 1 ? used[bank] - 1u : 0u;
  }
  return result;
}

std::string describe_conflict(const Access& access, Banks banks) {
  const uint32_t n = lanes_together(access);
  std::vector<uint32_t> worst_lanes;
  uint32_t worst_bank = 0, worst = 1;
  for (uint32_t first = 0; first < 32; first += n) {
    for (uint32_t bank = 0; bank < banks.count; ++bank) {
      std::vector<uint64_t> words;
      std::vector<uint32_t> lanes;
      for (uint32_t lane = first; lane < first + n; ++lane) {
        if (!(access.mask >> lane & 1)) continue;
        const uint64_t begin = access.address[lane] / banks.bytes;
        const uint64_t end = (access.address[lane] + access.bytes - 1) / banks.bytes;
        for (uint64_t word = begin; word <= end; ++word) {
          if (word % banks.count != bank || std::find(words.begin(), words.end(), word) != words.end()) continue;
          words.push_back(word);
          lanes.push_back(lane);
        }
      }
      if (words.size() > worst) {
        worst = static_cast<uint32_t>(words.size());
        worst_bank = bank;
        worst_lanes = lanes;
      }
    }
  }
  if (worst_lanes.empty()) return {};
  std::string list;
  for (size_t i = 0; i < worst_lanes.size() && i < 8; ++i) list += fmt::format("{}{}", i ? ", " : "", worst_lanes[i]);
  if (worst_lanes.size() > 8) list += ", ...";
  return fmt::format("lanes {} ({}-way) meet in bank {}", list, worst, worst_bank);
}

}  // namespace tcsim::sim
