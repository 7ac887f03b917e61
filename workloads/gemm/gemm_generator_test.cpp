#include <gtest/gtest.h>

#include <set>

#include "workloads/gemm/common.h"

namespace tcsim::gemm {
namespace {

// 64-byte rows (32 f16): four chunks a row, two rows in 128 bytes. Eight consecutive rows at one chunk index must fall
// into eight different 16-byte bank groups: group = offset / 16 % 8.
TEST(SmemTile, XorSpreadsEightRowsOverAllBankGroups) {
  for (uint32_t row_bytes : {16u, 32u, 64u, 128u, 256u}) {
    const SmemTile tile{64, row_bytes, "xor"};
    for (uint32_t chunk = 0; chunk < tile.chunks(); ++chunk) {
      std::set<uint32_t> groups;
      for (uint32_t row = 0; row < 8; ++row) groups.insert(tile.offset(row, chunk) / 16 % 8);
      EXPECT_EQ(groups.size(), 8u) << row_bytes << " chunk " << chunk;
    }
  }
}

TEST(SmemTile, XorIsABijection) {
  const SmemTile tile{16, 64, "xor"};
  std::set<uint32_t> offsets;
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t chunk = 0; chunk < 4; ++chunk) offsets.insert(tile.offset(row, chunk));
  EXPECT_EQ(offsets.size(), 64u);
  EXPECT_EQ(*offsets.rbegin(), 16u * 64 - 16);
}

// By hand: row 3 of a 64-byte-row tile: key = 3 >> 1 & 3 = 1, chunk 2 -> 3; offset = 3 * 64 + 3 * 16 = 240.
TEST(SmemTile, XorOffsetByHand) { EXPECT_EQ((SmemTile{8, 64, "xor"}.offset(3, 2)), 240u); }
TEST(SmemTile, PaddedPitch) { EXPECT_EQ((SmemTile{8, 64, "padded"}.offset(3, 2)), 3u * 80 + 32); }

TEST(Gemm, SharedMemoryBudget) {
  Diagnostics diags;
  // 128x128x32 f16, 3 stages: (128 * 64 + 128 * 64) * 3 = 49152 bytes.
  const Program p = generate({.m = 512, .n = 512, .k = 512}, diags);
  EXPECT_EQ(p.dynamic_smem_bytes, 49152u);
  EXPECT_EQ(p.grid[0] * p.grid[1], 16u);
  EXPECT_FALSE(diags.has_errors());
}

TEST(Gemm, BadConfigurationsSayWhat) {
  const auto first = [](const Config& c) {
    Diagnostics diags;
    generate(c, diags);
    return diags.all().empty() ? std::string() : diags.all().front().text;
  };
  EXPECT_NE(first({.style = "volta"}).find("expected simt, wmma, ampere, hopper-tma"), std::string::npos);
  EXPECT_NE(first({.tile = {128, 100, 32}}).find("powers of two"), std::string::npos);
  EXPECT_NE(first({.dtype = "f64"}).find("dtype f64"), std::string::npos);
  EXPECT_NE(first({.swizzle = "banana"}).find("none, padded or xor"), std::string::npos);
  EXPECT_NE(first({.style = "wmma", .swizzle = "xor"}).find("leading dimension"), std::string::npos);
  EXPECT_NE(first({.dtype = "e4m3", .sm = 80}).find("sm_89"), std::string::npos);
}

}  // namespace
}  // namespace tcsim::gemm
