// Simulated micro-kernels against published numbers. Expected values are the table's literals (validation/data/published), never the simulator's.
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
  EXPECT_FALSE(readings.empty()) << quantity;
  return compare_readings(readings, 2, {});
}

std::string text(const Compared& c) {
  return fmt::format("{} {} {}: published {}, simulated {} {}", c.reading.machine, c.reading.quantity, c.reading.what, c.reading.value, c.value,
                     c.note);
}

/// FLOP or OP per SM and cycle: at least 99 % of the vendor's number, and not more than it.
void expect_peak(const char* prefix) {
  for (const Compared& c : compared("tensor_peak", prefix)) {
    EXPECT_TRUE(c.simulated) << text(c);
    // Volta's m8n8k4 has up to four steps; where those of two warps meet at the scheduler, a cycle of the tensor core is lost.
    const double least = 0.99;
    EXPECT_GE(c.value, least * c.reading.value) << text(c);
    EXPECT_LE(c.value, 1.0001 * c.reading.value) << text(c);
  }
}

TEST(TensorPeak, WarpInstructions) { expect_peak("mma "); }
TEST(TensorPeak, WarpgroupInstructions) { expect_peak("wgmma "); }

TEST(Published, MmaIntervals) {
  for (const Compared& c : compared("mma_interval")) {
    EXPECT_TRUE(c.simulated) << text(c);
    // Derived from TFLOPS that clocks and launch cost lower by up to 8 %.
    EXPECT_NEAR(c.value, c.reading.value, 0.08 * c.reading.value) << text(c);
  }
}

TEST(Published, MmaLatencies) {
  for (const Compared& c : compared("mma_latency")) {
    EXPECT_TRUE(c.simulated) << text(c);
    // GeForce's FP64 unit serves the whole SM, which the model of a tensor core in each sub-core does not have.
    if (c.reading.what == "m8n8k4.f64.f64" && c.reading.machine == "rtx4090") continue;
    if (c.reading.mark != "unconfirmed") { EXPECT_NEAR(c.value, c.reading.value, 1) << text(c); }
  }
}

// Luo et al., arXiv 2501.12084, Tables 8 and 9: whole cycles.
TEST(Published, WgmmaIntervals) {
  for (const Compared& c : compared("wgmma_interval")) {
    EXPECT_TRUE(c.simulated) << text(c);
    EXPECT_NEAR(c.value, c.reading.value, 1) << text(c);
  }
}

}  // namespace
}  // namespace tcsim::published
