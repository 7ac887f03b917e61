// The 264 rows of microbench-blackwell's tcgen05.mma tables: intervals within 1 cycle with cta_group::1 and 4 with ::2, latencies within 10 %.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "validation/published/table.h"

namespace tcsim::published {
namespace {

std::vector<Compared> compared(const std::string& quantity, const std::string& prefix = "") {
  Diagnostics diags;
  auto readings = load_readings(std::string(TCSIM_SOURCE_DIR) + "/validation/data/published", diags);
  for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
  std::erase_if(readings, [&](const Reading& r) { return r.quantity != quantity || !r.what.starts_with(prefix); });
  return compare_readings(readings, 2, {});
}

std::string text(const Compared& c) { return fmt::format("{}: published {}, simulated {} {}", c.reading.what, c.reading.value, c.value, c.note); }

TEST(Tcgen05, IntervalsAreThePublishedOnes) {
  const auto rows = compared("tcgen05_interval");
  ASSERT_EQ(rows.size(), 264u);
  for (const Compared& c : rows) {
    const bool pair = c.reading.what.find("cta_group::2") != std::string::npos;
    EXPECT_TRUE(c.simulated) << text(c);
    EXPECT_NEAR(c.value, c.reading.value, pair ? 4 : 1) << text(c);
  }
}

TEST(Tcgen05, LatenciesAreThePublishedOnes) {
  const auto rows = compared("tcgen05_latency");
  ASSERT_EQ(rows.size(), 264u);
  for (const Compared& c : rows) {
    EXPECT_TRUE(c.simulated) << text(c);
    EXPECT_NEAR(c.value, c.reading.value, 0.10 * c.reading.value) << text(c);
  }
}

// 8192 FLOP per SM and cycle of 16-bit types, twice that of 8-bit and four times of 4-bit types.
TEST(Tcgen05, PeakIsTheChips) {
  const auto rows = compared("tensor_peak", "tcgen05 ");
  ASSERT_EQ(rows.size(), 7u);
  for (const Compared& c : rows) {
    EXPECT_TRUE(c.simulated) << text(c);
    EXPECT_GE(c.value, 0.99 * c.reading.value) << text(c);
    EXPECT_LE(c.value, 1.0001 * c.reading.value) << text(c);
  }
}

}  // namespace
}  // namespace tcsim::published
