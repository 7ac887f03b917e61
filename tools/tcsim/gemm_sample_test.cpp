// The plan of a sample by hand, and that it gives a bilinear time exactly.
#include <gtest/gtest.h>

#include "tools/tcsim/gemm_sample.h"

namespace tcsim::tool {
namespace {

cfg::Machine machine_of(const char* name) {
  Diagnostics diags;
  auto machine = cfg::load_machine(name, {}, diags);
  EXPECT_TRUE(machine.has_value());
  return *machine;
}

/// A kernel whose plan depends on numbers that the test gives.
GemmKernel kernel_of(const cfg::Machine& machine, uint32_t mn, uint32_t k, uint32_t ctas_per_sm) {
  GemmKernel kernel;
  Diagnostics diags;
  const gemm::Config config{.m = mn, .n = mn, .k = k, .style = "ampere", .tile = {128, 128, 32}, .stages = 3};
  auto built = build_gemm(config, machine, diags);
  EXPECT_TRUE(built.has_value());
  built->occupancy.ctas_per_sm = ctas_per_sm;
  return std::move(*built);
}

TEST(Sample, PlanByHand) {
  const cfg::Machine a100 = machine_of("a100");
  const SamplePlan plan = plan_sample(kernel_of(a100, 4096, 4096, 2), a100);
  // 32 x 32 tiles on 2 x 108 places: 4.74 waves. Three are left out: 1024 - 3 * 216 = 376 CTAs, and 376 + 216.
  // 128 steps of K; 32 and 64 are run.
  ASSERT_EQ(plan.parts.size(), 4u);
  EXPECT_EQ(plan.parts[0].k, 1024u);
  EXPECT_EQ(plan.parts[2].k, 2048u);
  EXPECT_EQ(plan.parts[0].ctas, 376u);
  EXPECT_EQ(plan.parts[1].ctas, 592u);
  // T(K) = -2 T(1024) + 3 T(2048) with (128 - 32) / 32 = 3; T(waves) = -2 T(376) + 3 T(592).
  EXPECT_DOUBLE_EQ(plan.parts[0].weight, 4);
  EXPECT_DOUBLE_EQ(plan.parts[1].weight, -6);
  EXPECT_DOUBLE_EQ(plan.parts[2].weight, -6);
  EXPECT_DOUBLE_EQ(plan.parts[3].weight, 9);
  // A wave: 32 x 128 rows of A and ceil(216 / 32) x 128 of B, 4992 x 8192 B, one and a bit of the 40 MB of L2: L2 shrinks as K does.
  EXPECT_EQ(plan.parts[0].l2_bytes, a100.l2.bytes / 4);
  EXPECT_DOUBLE_EQ(plan.work, (1024 + 2048) / 4096.0 * (376 + 592) / 1024.0);
}

TEST(Sample, L2KeepsItsSizeWhereWavesOverflowIt) {
  cfg::Machine machine = machine_of("a100");
  machine.l2.bytes = 4 << 20;
  // 4992 x 8192 B are 9.75 times 4 MiB; from 2.5 times on nothing is left for the next wave: 4 MiB / 4 x 9.75 / 2.5.
  EXPECT_EQ(plan_sample(kernel_of(machine, 4096, 4096, 2), machine).parts[0].l2_bytes, static_cast<uint64_t>((4 << 20) / 4 * 9.75 / 2.5));
}

TEST(Sample, ShortLaunchesRunWhole) {
  const cfg::Machine a100 = machine_of("a100");
  const SamplePlan plan = plan_sample(kernel_of(a100, 512, 224, 2), a100);  // 7 steps: half of them do not fill a pipeline twice
  ASSERT_TRUE(plan.whole());
  EXPECT_EQ(plan.parts[0].k, 224u);
  EXPECT_DOUBLE_EQ(plan.work, 1);
}

TEST(Sample, BilinearTimeIsExact) {
  const cfg::Machine a100 = machine_of("a100");
  const GemmKernel kernel = kernel_of(a100, 4096, 4096, 2);
  const SamplePlan plan = plan_sample(kernel, a100);
  const auto time = [](double ctas, double k) { return 5000 + 3 * ctas + 0.5 * k + 0.25 * ctas * k; };
  std::vector<GemmTiming> parts;
  for (const SamplePart& part : plan.parts) {
    GemmTiming t;
    t.cycles = time(static_cast<double>(part.ctas), part.k);
    parts.push_back(t);
  }
  EXPECT_DOUBLE_EQ(extrapolate(plan, parts).cycles, time(1024, 4096));
}

}  // namespace
}  // namespace tcsim::tool
