#include "isa/exec/memory.h"

#include <gtest/gtest.h>

namespace tcsim::isa {
namespace {

TEST(GlobalMemory, AccessesStayInsideOneAllocation) {
  GlobalMemory m;
  const uint64_t a = m.allocate("A", 100), b = m.allocate("B", 4096, 1024);
  EXPECT_EQ(a % 256, 0u);
  EXPECT_EQ(b % 1024, 0u);
  EXPECT_NE(m.map(a, 100), nullptr);
  EXPECT_NE(m.map(a + 96, 4), nullptr);
  EXPECT_EQ(m.map(a + 97, 4), nullptr);
  EXPECT_EQ(m.map(a + 100, 1), nullptr);
  EXPECT_EQ(m.map(a - 1, 1), nullptr);
  EXPECT_EQ(m.map(0, 1), nullptr);
  EXPECT_EQ(m.map(~0ull - 2, 4), nullptr);
  EXPECT_EQ(m.map(b + 4092, 8), nullptr);
}

TEST(GlobalMemory, SaysWhereABadAccessLies) {
  GlobalMemory m;
  const uint64_t a = m.allocate("A", 100);
  EXPECT_EQ(m.describe(a + 108, 4), "12 bytes past the end of buffer 'A' (100 bytes)");
  EXPECT_EQ(m.describe(a + 98, 4), "2 bytes past the end of buffer 'A' (100 bytes)");
  EXPECT_EQ(m.describe(a - 16, 4), "16 bytes before the start of buffer 'A' (100 bytes)");
  EXPECT_EQ(m.describe(8, 4), "in no buffer");
}

TEST(GlobalMemory, AViewSharesTheBytes) {
  GlobalMemory m;
  const uint64_t a = m.allocate("A", 64, 256, true);
  GlobalMemory view = m;
  *view.map(a, 1) = 7;
  view.mark_written(a, 1);
  EXPECT_EQ(*m.map(a, 1), 7);
  EXPECT_FALSE(m.is_undefined(a, 1));
  EXPECT_TRUE(m.is_undefined(a, 2));
}

TEST(GlobalMemory, UndefinedBytesAreTrackedOneByOne) {
  GlobalMemory m;
  const uint64_t plain = m.allocate("plain", 256), poisoned = m.allocate("poisoned", 200, 256, true);
  EXPECT_TRUE(m.any_undefined());
  EXPECT_FALSE(m.is_undefined(plain, 256));
  EXPECT_TRUE(m.is_undefined(poisoned, 1));
  m.mark_written(poisoned + 60, 8);  // crosses a 64-byte word of the shadow
  EXPECT_FALSE(m.is_undefined(poisoned + 60, 8));
  EXPECT_TRUE(m.is_undefined(poisoned + 59, 1));
  EXPECT_TRUE(m.is_undefined(poisoned + 68, 1));
  m.mark_undefined(plain + 10, 2);
  EXPECT_TRUE(m.is_undefined(plain + 8, 4));
  EXPECT_FALSE(m.is_undefined(plain + 12, 4));
}

TEST(WindowMemory, StartsUndefinedAndTracksRanges) {
  WindowMemory w(256);
  EXPECT_TRUE(w.is_undefined(0, 1));
  w.mark_written(48, 32);  // crosses a word
  EXPECT_FALSE(w.is_undefined(48, 32));
  EXPECT_TRUE(w.is_undefined(47, 2));
  EXPECT_TRUE(w.is_undefined(79, 2));
  w.mark_undefined(64, 1);
  EXPECT_TRUE(w.is_undefined(48, 32));
  EXPECT_FALSE(w.is_undefined(65, 15));
  w.mark_written(0, 256);
  EXPECT_FALSE(w.is_undefined(0, 256));
  EXPECT_TRUE(w.contains(255, 1));
  EXPECT_FALSE(w.contains(255, 2));
  EXPECT_FALSE(w.contains(~0ull, 2));
}

TEST(WindowMemory, CopiesInFlight) {
  WindowMemory w(128);
  w.mark_written(0, 128);
  EXPECT_TRUE(w.fly(16, 16));
  EXPECT_TRUE(w.is_in_flight(20, 4));
  EXPECT_FALSE(w.is_in_flight(0, 16));
  EXPECT_TRUE(w.is_undefined(16, 1));
  EXPECT_FALSE(w.fly(24, 8));  // overlaps
  w.land(16, 16);
  EXPECT_FALSE(w.is_in_flight(0, 128));
  EXPECT_FALSE(w.is_undefined(0, 128));
}

}  // namespace
}  // namespace tcsim::isa
