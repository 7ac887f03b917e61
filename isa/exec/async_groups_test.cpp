#include "isa/exec/async_groups.h"

#include <gtest/gtest.h>

namespace tcsim::isa {
namespace {

class Groups : public testing::Test {
 protected:
  void SetUp() override {
    base = global.allocate("A", 4096);
    for (int i = 0; i < 4096; ++i) *global.map(base + static_cast<uint64_t>(i), 1) = static_cast<uint8_t>(i);
  }
  /// A copy of 4 bytes a lane: lane l reads base + 4 l, writes dst + 4 l.
  AsyncCopy copy(uint32_t mask, uint32_t dst = 0, uint8_t src_bytes = 4) const {
    AsyncCopy c;
    c.mask = mask;
    c.bytes = 4;
    for (uint32_t l = 0; l < 32; ++l) {
      c.src[l] = base + 4 * l;
      c.dst[l] = dst + 4 * l;
      c.src_bytes[l] = src_bytes;
    }
    return c;
  }
  GlobalMemory global;
  WindowMemory shared{1024};
  uint64_t base = 0;
  AsyncGroups groups;
};

TEST_F(Groups, BytesLandAtCompletionAndTheRestIsZero) {
  const uint32_t id = groups.issue(copy(kFullMask, 0, 2));
  EXPECT_FALSE(groups.empty());
  shared.data()[6] = 99;
  groups.complete(id, global, shared);
  EXPECT_EQ(shared.data()[4], 4);  // lane 1: source bytes 4, 5, then zeros
  EXPECT_EQ(shared.data()[5], 5);
  EXPECT_EQ(shared.data()[6], 0);
  EXPECT_FALSE(shared.is_undefined(0, 128));
  EXPECT_TRUE(groups.empty());
}

TEST_F(Groups, WaitKeepsTheNewestGroups) {
  const uint32_t a = groups.issue(copy(kFullMask));
  groups.commit(kFullMask);
  const uint32_t b = groups.issue(copy(kFullMask, 128));
  groups.commit(kFullMask);
  EXPECT_TRUE(groups.satisfied(kFullMask, 2, false));
  EXPECT_FALSE(groups.satisfied(kFullMask, 1, false));
  EXPECT_EQ(groups.blocking(kFullMask, 1, false), std::vector<uint32_t>{a});
  EXPECT_EQ(groups.blocking(kFullMask, 0, false), (std::vector<uint32_t>{a, b}));
  groups.complete(a, global, shared);
  EXPECT_TRUE(groups.satisfied(kFullMask, 1, false));
  EXPECT_FALSE(groups.satisfied(kFullMask, 0, false));
  groups.complete(b, global, shared);
  EXPECT_TRUE(groups.satisfied(kFullMask, 0, true));
}

TEST_F(Groups, EmptyGroupsCount) {
  const uint32_t a = groups.issue(copy(kFullMask));
  groups.commit(kFullMask);
  groups.commit(kFullMask);  // empty: wait_group 1 now needs a
  EXPECT_FALSE(groups.satisfied(kFullMask, 1, false));
  groups.complete(a, global, shared);
  EXPECT_TRUE(groups.satisfied(kFullMask, 0, false));
}

TEST_F(Groups, UncommittedCopiesOnlyMatterToWaitAll) {
  const uint32_t a = groups.issue(copy(kFullMask));
  EXPECT_TRUE(groups.satisfied(kFullMask, 0, false));
  EXPECT_FALSE(groups.satisfied(kFullMask, 0, true));
  EXPECT_EQ(groups.blocking(kFullMask, 0, true), std::vector<uint32_t>{a});
}

TEST_F(Groups, DivergentCommitsCountPerLane) {
  const uint32_t a = groups.issue(copy(kFullMask));
  groups.commit(0x0000ffff);  // the lower half only
  EXPECT_FALSE(groups.satisfied(0x0000ffff, 0, false));
  EXPECT_TRUE(groups.satisfied(0xffff0000, 0, false));
  EXPECT_FALSE(groups.satisfied(0xffff0000, 0, true));
  groups.commit(0xffff0000);
  EXPECT_FALSE(groups.satisfied(0xffff0000, 0, false));
  // The lower half has one group, so keeping one is satisfied; the upper half likewise.
  EXPECT_TRUE(groups.satisfied(kFullMask, 1, false));
  groups.complete(a, global, shared);  // both parts
  EXPECT_TRUE(groups.satisfied(kFullMask, 0, true));
  EXPECT_TRUE(groups.empty());
  EXPECT_EQ(shared.data()[4 * 31], 4 * 31);
}

TEST_F(Groups, ManyCopiesWithoutCommitDoNotConfuseOldIds) {
  for (int i = 0; i < 1000; ++i) groups.complete(groups.issue(copy(kFullMask)), global, shared);
  const uint32_t last = groups.issue(copy(kFullMask));
  groups.commit(kFullMask);
  EXPECT_EQ(groups.blocking(kFullMask, 0, false), std::vector<uint32_t>{last});
}

TEST_F(Groups, ArrivalComesWhenTheCopiesIssuedBeforeAreComplete) {
  const uint32_t a = groups.issue(copy(0xff));
  groups.arrive_on(0xffff, 64, true);
  const uint32_t b = groups.issue(copy(kFullMask, 128));
  auto due = groups.take_arrivals();  // lanes without copies arrive at once
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].lanes, 0xff00u);
  groups.complete(b, global, shared);
  EXPECT_TRUE(groups.take_arrivals().empty());
  groups.complete(a, global, shared);
  due = groups.take_arrivals();
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].offset, 64u);
  EXPECT_EQ(due[0].lanes, 0xffu);
  EXPECT_FALSE(groups.has_arrivals());
}

}  // namespace
}  // namespace tcsim::isa
