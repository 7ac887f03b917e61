#include "sim/lsu/l1_cache.h"

#include <gtest/gtest.h>

namespace tcsim::sim {
namespace {

isa::Access loads(uint8_t bytes, uint64_t base, uint64_t stride, uint32_t mask = isa::kFullMask) {
  isa::Access a;
  a.kind = isa::AccessKind::load;
  a.space = isa::Space::global;
  a.bytes = bytes;
  a.mask = mask;
  for (uint32_t lane = 0; lane < 32; ++lane) a.address[lane] = base + lane * stride;
  return a;
}

TEST(Coalesce, DenseWordsAreOneLineOfFourSectors) {
  Coalesced c;
  coalesce(loads(4, 1024, 4), 128, 32, c);
  EXPECT_EQ(c.count, 1u);
  EXPECT_EQ(c.sectors, 4u);
  EXPECT_EQ(c.lines[0].sectors, 0xf);
}

TEST(Coalesce, SixteenBytesALaneAreFourLines) {
  Coalesced c;
  coalesce(loads(16, 1024, 16), 128, 32, c);
  EXPECT_EQ(c.count, 4u);
  EXPECT_EQ(c.sectors, 16u);
}

TEST(Coalesce, OneSectorALaneWhenStridedByLines) {
  Coalesced c;
  coalesce(loads(4, 0, 128), 128, 32, c);
  EXPECT_EQ(c.count, 32u);
  EXPECT_EQ(c.sectors, 32u);
}

TEST(Coalesce, MisalignedByOneWordTouchesASecondLine) {
  Coalesced c;
  coalesce(loads(4, 1024 + 4, 4), 128, 32, c);  // words 1..32: 31 in the first line, 1 in the next
  EXPECT_EQ(c.count, 2u);
  EXPECT_EQ(c.sectors, 5u);
  EXPECT_EQ(c.lines[1].sectors, 0x1);
}

TEST(Coalesce, MaskedLanesDoNotCount) {
  Coalesced c;
  coalesce(loads(4, 0, 128, 0x5), 128, 32, c);
  EXPECT_EQ(c.count, 2u);
}

TEST(L1Tags, EvictsLeastRecentlyUsedButNeverAPendingLine) {
  cfg::L1Cache config{};
  config.line_bytes = 128;
  config.ways = 2;
  L1Tags tags(config, 2 * 128);  // one set
  tags.access(1)->valid = 0xf;
  tags.access(2)->valid = 0xf;
  tags.access(1);
  tags.access(3)->pending = 1;  // evicts 2
  EXPECT_EQ(tags.find(2), nullptr);
  ASSERT_NE(tags.find(1), nullptr);
  tags.access(4);  // must evict 1: 3 has a fill in flight
  EXPECT_EQ(tags.find(1), nullptr);
  ASSERT_NE(tags.find(3), nullptr);
}

TEST(L1Tags, NoCapacityMeansNoPlace) {
  cfg::L1Cache config{};
  config.line_bytes = 128;
  config.ways = 4;
  L1Tags tags(config, 0);
  EXPECT_EQ(tags.access(1), nullptr);
}

}  // namespace
}  // namespace tcsim::sim
