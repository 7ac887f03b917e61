// Bank conflicts of public reports, and proposals that keep their word.
#include "tools/layout/bank_study.h"

#include <gtest/gtest.h>

namespace tcsim::layout {
namespace {

AccessPattern access(const char* name, int row_bytes, int stride_bytes, const char* swizzle, int element_bytes) {
  std::string error;
  AccessPattern p = *parse_access(name, error);
  p.row_bytes = row_bytes, p.stride_bytes = stride_bytes, p.element_bytes = element_bytes;
  p.lanes_per_row = 1;
  p.swizzle = *parse_swizzle(swizzle, element_bytes, error);
  EXPECT_EQ(error, "");
  return p;
}

uint32_t wavefronts(const AccessPattern& p) {
  std::string error;
  const BankStudy s = study(p, {}, error);
  EXPECT_EQ(error, "");
  for (const Proposal& proposal : s.proposals) EXPECT_EQ(proposal.after.conflicts(), 0u) << proposal.text;
  EXPECT_EQ(s.proposals.empty(), s.now.conflicts() == 0);
  return s.now.total;
}

// CUTLASS #3172: f16 atom (128, 8), M-major: rows of 256 bytes. Bits 7 to 9 of the element index are k: 8 different pieces with <3,3,4>;
// <3,3,3> and <3,3,5> see two of the three bits of k: 4 pieces, two rows each.
TEST(BankStudy, Cutlass3172) {
  EXPECT_EQ(wavefronts(access("ldmatrix.x4.trans", 256, 0, "3,3,4", 2)), 4u);
  EXPECT_EQ(wavefronts(access("ldmatrix.x4.trans", 256, 0, "none", 2)), 32u);
  EXPECT_EQ(wavefronts(access("ldmatrix.x4.trans", 256, 0, "3,3,3", 2)), 8u);
  EXPECT_EQ(wavefronts(access("ldmatrix.x4.trans", 256, 0, "3,3,5", 2)), 8u);
}

// cuda-oxide #544: a column of f32 with rows of 32, 64, 16 and 33 elements; swizzles of rows of 32.
TEST(BankStudy, Columns) {
  EXPECT_EQ(wavefronts(access("ld.shared.f32", 0, 4 * 32, "none", 4)), 32u);
  EXPECT_EQ(wavefronts(access("ld.shared.f32", 0, 4 * 64, "none", 4)), 32u);
  EXPECT_EQ(wavefronts(access("ld.shared.f32", 0, 4 * 16, "none", 4)), 16u);
  EXPECT_EQ(wavefronts(access("ld.shared.f32", 0, 4 * 33, "none", 4)), 1u);
  EXPECT_EQ(wavefronts(access("ld.shared.f32", 0, 4 * 32, "5,0,5", 4)), 1u);
  EXPECT_EQ(wavefronts(access("ld.shared.f32", 0, 4 * 32, "3,0,5", 4)), 4u);
  EXPECT_EQ(wavefronts(access("ld.shared.f32", 0, 4 * 32, "2,0,5", 4)), 8u);
}

// Forum 359822: LDS.128, 32 wavefronts against 4: lanes 128 bytes apart all begin in bank 0, eight in a group; 16 apart they do not meet.
TEST(BankStudy, Lds128) {
  EXPECT_EQ(wavefronts(access("ld.shared.b128", 0, 128, "none", 16)), 32u);
  EXPECT_EQ(wavefronts(access("ld.shared.v4.f32", 0, 16, "none", 4)), 4u);
  // 272 = 2 * 128 + 16: each lane is four banks on.
  EXPECT_EQ(wavefronts(access("ld.shared.b128", 0, 272, "none", 16)), 4u);
}

TEST(BankStudy, SaysWhoMeetsAndWhatHelps) {
  std::string error;
  const BankStudy s = study(access("ldmatrix.x4", 128, 0, "none", 2), {}, error);
  EXPECT_EQ(s.now.total, 32u);
  ASSERT_EQ(s.meetings.size(), 4u);
  EXPECT_EQ(s.meetings[0].bank, 0u);
  EXPECT_EQ(s.meetings[0].lanes, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(s.meetings[0].others, 3u);  // 16 bytes a lane: banks 0 to 3
  ASSERT_EQ(s.proposals.size(), 2u);
  EXPECT_EQ(s.proposals[0].text, "the 128B swizzle of TMA: Swizzle<3,4,3> on bytes = Swizzle<3,3,3> on elements of 2 B");
  EXPECT_EQ(s.proposals[1].text, "no swizzle, rows of 144 B (16 of padding)");
}

TEST(BankStudy, Errors) {
  std::string error;
  EXPECT_FALSE(parse_access("ld.global.b32", error));
  EXPECT_NE(error.find("expected ld.shared.TYPE"), std::string::npos);
  EXPECT_FALSE(parse_swizzle("3,4", 2, error));
  EXPECT_FALSE(parse_swizzle("3,4,2", 2, error));
  error.clear();
  study(access("ldmatrix.x4", 128, 0, "3,0,3", 2), {}, error);
  EXPECT_NE(error.find("torn apart"), std::string::npos) << error;
  error.clear();
  study(access("ldmatrix.x4", 120, 0, "none", 2), {}, error);
  EXPECT_EQ(error, "lane 1 accesses address 0x78, expected a multiple of 16 for ldmatrix.x4");
}

}  // namespace
}  // namespace tcsim::layout
