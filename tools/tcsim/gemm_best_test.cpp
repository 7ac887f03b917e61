// How far pruning and sampling are off, against launches that are simulated whole at 1024^3. The bounds are those that the README states.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdio>

#include "tools/tcsim/gemm_best.h"

namespace tcsim::tool {
namespace {

constexpr double kSamplingBound = 0.03;  // of the cycles, either way
constexpr double kPruningBound = 0.10;   // the best of the kept choices over the best of all

cfg::Machine machine_of(const std::string& name) {
  Diagnostics diags;
  auto machine = cfg::load_machine(name, {}, diags);
  EXPECT_TRUE(machine.has_value());
  return *machine;
}

struct Case {
  const char *arch, *style;
  std::array<uint32_t, 3> tile;
  uint32_t stages;
};
class Sampling : public testing::TestWithParam<Case> {};

TEST_P(Sampling, ErrorAt1024) {
  const Case c = GetParam();
  const cfg::Machine machine = machine_of(c.arch);
  gemm::Config config{.m = kErrorSize, .n = kErrorSize, .k = kErrorSize, .style = c.style, .tile = c.tile, .stages = c.stages};
  config.swizzle = std::string(c.style) == "ampere" ? "xor" : "none";
  Diagnostics diags;
  const auto kernel = build_gemm(config, machine, diags);
  ASSERT_TRUE(kernel.has_value()) << first_error(diags);
  const SamplePlan plan = plan_sample(*kernel, machine);
  ASSERT_FALSE(plan.whole());
  std::vector<GemmTiming> parts;
  for (const SamplePart& part : plan.parts) parts.push_back(time_part(config, machine, part));
  const GemmTiming sampled = extrapolate(plan, parts), whole = time_gemm(config, machine, {});
  ASSERT_EQ(sampled.failure + whole.failure, "");
  const double error = sampled.cycles / whole.cycles - 1;
  std::printf("%s %s: %.0f cycles whole, sampled %+.2f %%\n", c.arch, c.style, whole.cycles, 100 * error);
  EXPECT_LT(error, kSamplingBound);
  EXPECT_GT(error, -kSamplingBound);
  // Work is counted, not estimated: it extrapolates exactly.
  EXPECT_NEAR(sampled.flops / whole.flops, 1, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Machines, Sampling,
                         testing::Values(Case{"t4", "turing", {128, 128, 32}, 2}, Case{"a100", "ampere", {128, 128, 32}, 3},
                                         Case{"rtx4090", "ampere", {128, 64, 32}, 3}, Case{"h100", "hopper-ws", {128, 256, 64}, 4},
                                         Case{"h100", "hopper-cooperative", {128, 128, 64}, 4}),
                         [](const auto& tested) { return fmt::format("{}_{}", tested.param.arch, tested.index); });

/// Every choice of a space simulated whole, against those that the estimate keeps.
TEST(Pruning, ErrorAt1024) {
  const cfg::Machine machine = machine_of("h100");
  const gemm::Config base{.m = kErrorSize, .n = kErrorSize, .k = kErrorSize};
  SearchSpace space = whole_space(machine);
  space.styles = {"hopper-ws"};
  space.stages = {2, 4};
  const Candidates kept = rank_candidates(base, machine, space);
  double best_kept = 0, best = 0;
  for (const auto& tile : space.tiles)
    for (const auto& cluster : space.clusters)
      for (const uint32_t stages : space.stages) {
        SearchSpace one = space;
        one.tiles = {tile}, one.clusters = {cluster}, one.stages = {stages};
        for (const Candidate& candidate : rank_candidates(base, machine, one).ranked) {
          const GemmTiming timing = time_gemm(candidate.config, machine, {});
          ASSERT_EQ(timing.failure, "");
          if (best == 0 || timing.cycles < best) best = timing.cycles;
        }
      }
  for (size_t i = 0; i < std::min(kKept, kept.ranked.size()); ++i) {
    const double cycles = time_gemm(kept.ranked[i].config, machine, {}).cycles;
    if (best_kept == 0 || cycles < best_kept) best_kept = cycles;
  }
  ASSERT_GT(best, 0);
  std::printf("best of all %.0f cycles, of the %zu kept %+.2f %%\n", best, kKept, 100 * (best_kept / best - 1));
  EXPECT_LT(best_kept / best - 1, kPruningBound);
  EXPECT_GT(best_kept / best - 1, -kPruningBound);
}

}  // namespace
}  // namespace tcsim::tool
