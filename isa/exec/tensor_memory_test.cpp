#include "isa/exec/tensor_memory.h"

#include <gtest/gtest.h>

namespace tcsim::isa {
namespace {

TEST(TensorMemory, TheCtaThatAllocatesKeepsThePermit) {
  TensorMemory m;
  EXPECT_EQ(m.allocate({.key = 1, .columns = 128}), 0u);
  const uint64_t before = m.changes();
  EXPECT_EQ(m.allocate({.key = 2, .columns = 32}), std::nullopt);  // CTA 1 may want more
  EXPECT_EQ(m.changes(), before);
  m.relinquish(1);
  EXPECT_TRUE(m.relinquished(1));
  EXPECT_NE(m.changes(), before);
  EXPECT_EQ(m.allocate({.key = 2, .columns = 256}), 256u);  // aligned to its size: 128 to 255 stays free
  EXPECT_EQ(m.allocate({.key = 2, .columns = 256}), std::nullopt);
  EXPECT_EQ(m.allocate({.key = 2, .columns = 32}), 128u);
  EXPECT_EQ(m.check_owned(2, 0, 256, 256), "");
  EXPECT_NE(m.check_owned(2, 0, 120, 16).find("column 120 is not allocated by this CTA (allocated: 256 to 511, 128 to 159)"), std::string::npos);
  EXPECT_NE(m.check_owned(2, 0, 500, 20).find("which has 512"), std::string::npos);
  ASSERT_NE(m.held_by(1), nullptr);
  EXPECT_EQ(m.free(1, 0, 128), "");
  EXPECT_EQ(m.held_by(1), nullptr);
  m.reset(2);  // the CTA ends
  EXPECT_EQ(m.allocate({.key = 3, .columns = 512}), 0u);
}

// Each CTA of a pair asks; the columns are free in both memories.
TEST(TensorMemory, Pairs) {
  TensorMemory a, b;
  std::string error;
  EXPECT_EQ(b.allocate({.key = 9, .columns = 64}), 0u);
  b.relinquish(9);
  const TensorAllocation of_a{.key = 1, .columns = 64, .pair = 5}, of_b{.key = 2, .columns = 64, .pair = 5};
  EXPECT_EQ(a.allocate_pair(of_a, b, error), std::nullopt);
  const uint64_t before = a.changes();
  EXPECT_EQ(b.allocate_pair(of_b, a, error), 64u);
  EXPECT_NE(a.changes(), before);
  EXPECT_EQ(a.allocate_pair(of_a, b, error), 64u);
  EXPECT_EQ(error, "");
  EXPECT_EQ(a.check_owned(0, 5, 64, 64), "");
  EXPECT_NE(a.check_owned(0, 6, 64, 64), "");
  EXPECT_EQ(a.allocate_pair(of_a, b, error), std::nullopt);
  EXPECT_EQ(b.allocate_pair({.key = 2, .columns = 32, .pair = 5}, a, error), std::nullopt);
  EXPECT_EQ(error, "tcgen05.alloc.cta_group::2 of 32 columns, but the other CTA of the pair allocates 64");
}

TEST(TensorMemory, UndefinedWords) {
  TensorMemory m;
  m.mark_written(48, 32, 10, 2);  // across lanes 63 and 64
  EXPECT_FALSE(m.undefined(48, 32, 10, 2).has_value());
  EXPECT_EQ(m.undefined(47, 33, 10, 1)->lane, 47u);
  EXPECT_EQ(m.undefined(64, 17, 10, 1)->lane, 80u);
  EXPECT_EQ(m.undefined(48, 32, 10, 3)->column, 12u);
  m.mark_undefined(10, 1);
  EXPECT_EQ(m.undefined(48, 32, 10, 2)->column, 10u);
}

}  // namespace
}  // namespace tcsim::isa
