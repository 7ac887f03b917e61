// One shared-memory access: its wavefronts, who meets in which bank, and what would remove the conflicts.
//
//   AccessPattern p = parse_access("ldmatrix.x4", error).value();
//   p.row_bytes = 128;
//   study(p, {})    -> 32 wavefronts, ideal 4; "128-byte swizzle: 4 wavefronts", "rows of 144 B: 4 wavefronts"
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/layout/swizzle.h"
#include "sim/smem/wavefronts.h"

namespace tcsim::layout {

struct AccessPattern {
  std::string name;  // "ld.shared.b128", "ldmatrix.x4.trans"
  isa::AccessKind kind = isa::AccessKind::load;
  int bytes = 4;                             // a lane (ldmatrix, stmatrix: 16 a row)
  int matrices = 0;                          // ldmatrix, stmatrix; 0: neither
  int stride_bytes = 0;                      // loads and stores: between lanes
  int row_bytes = 0;                         // between rows; ldmatrix: lane l gives row l % 16, 16-byte piece l / 16
  int lanes_per_row = 0;                     // loads and stores with row_bytes: lane l reads row l / n, place l % n
  uint32_t offset = 0;                       // of the first byte
  std::vector<uint32_t> addresses;           // given one by one instead
  isa::Swizzle swizzle = isa::kSwizzleNone;  // on byte addresses
  int element_bytes = 2;                     // unit in which CuTe's notation is written
};

/// "ld.shared.b128", "st.shared.v4.f32", "ldmatrix.x2.trans", "stmatrix.x4", ...
std::optional<AccessPattern> parse_access(const std::string& name, std::string& error);
/// "128B", "none" (bytes) or "B,M,S" (elements of element_bytes).
std::optional<isa::Swizzle> parse_swizzle(const std::string& text, int element_bytes, std::string& error);
/// "Swizzle<3,4,3> on bytes = Swizzle<3,3,3> on elements of 2 B".
std::string describe(const isa::Swizzle& bytes, int element_bytes);
/// The name of TMA's patterns ("128B"), "" if it is none of them.
std::string tma_name(const isa::Swizzle& bytes);

/// The access of the pattern; an error if the swizzle would tear a lane's bytes apart or an address is misaligned.
isa::Access make_access(const AccessPattern& p, std::string& error);

struct BankMeeting {
  uint32_t first_lane = 0, bank = 0;  // of the lanes served together
  std::vector<uint32_t> lanes;        // in different words of the bank
  uint32_t others = 0;                // further banks with a conflict among the same lanes
};

struct Proposal {
  std::string text;       // "rows of 144 B (16 of padding)"
  sim::Wavefronts after;  // what count_wavefronts gives for the changed addresses
};

struct BankStudy {
  sim::Wavefronts now;
  std::vector<BankMeeting> meetings;  // the worst bank of each group that has a conflict
  std::vector<Proposal> proposals;    // that remove all conflicts; empty without conflicts
};
BankStudy study(const AccessPattern& p, sim::Banks banks, std::string& error);

}  // namespace tcsim::layout
