#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "validation/compare/score.h"

namespace tcsim::compare {
namespace {

Row row(const char* kernel, double measured, double simulated, Shares want = {}, Shares got = {}) {
  Row out;
  out.measured.kernel = kernel;
  out.measured.m = out.measured.n = out.measured.k = 512;
  out.measured.cycles = measured;
  for (const auto& [reason, share] : want) out.measured.columns["stall_" + reason] = share;
  out.simulated.ok = true;
  out.simulated.cycles = simulated;
  out.simulated.stalls = std::move(got);
  return out;
}

TEST(Score, CyclesByHand) {
  const std::vector<Row> rows{row("a", 100, 110), row("b", 200, 150)};
  const CycleScore score = score_cycles(rows);
  EXPECT_NEAR(score.mean_abs_error, 0.175, 1e-12);  // (10 % + 25 %) / 2
  EXPECT_NEAR(score.mean_error, -0.075, 1e-12);
  EXPECT_NEAR(score.worst_error, -0.25, 1e-12);
  EXPECT_EQ(score.worst_row, "b 512x512x512");
}

TEST(Score, PairsMoreThanTenPercentApart) {
  // a-b 9 % apart: not a pair. a-c and b-c are; simulated order of a and c is right, of b and c wrong.
  const std::vector<Row> rows{row("a", 100, 50), row("b", 109, 70), row("c", 130, 60)};
  const PairScore score = score_pairs(rows);
  EXPECT_EQ(score.pairs, 2u);
  EXPECT_EQ(score.right, 1u);
}

TEST(Score, SpearmanOfTextbookExample) {
  // IQ against hours of TV (the standard worked example, rho = -29/165).
  const std::vector<double> iq{106, 100, 86, 101, 99, 103, 97, 113, 112, 110}, tv{7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
  EXPECT_NEAR(spearman(iq, tv), -29.0 / 165, 1e-12);
  const std::vector<double> up{1, 2, 2, 3}, down{9, 8, 8, 1};
  EXPECT_NEAR(spearman(up, down), -1, 1e-12);
}

TEST(Score, StallsAreNormalisedWithoutSelected) {
  const Shares shares = normalise({{"wait", 1}, {"barrier", 3}, {"selected", 1}, {"not_selected", 7}});
  EXPECT_EQ(shares, (Shares{{"wait", 0.25}, {"barrier", 0.75}}));
  EXPECT_NEAR(half_l1({{"a", 0.5}, {"b", 0.5}}, {{"a", 0.25}, {"c", 0.75}}), 0.75,
              1e-12);  // (0.25 + 0.5 + 0.75) / 2
}

TEST(Score, StallsAgainstTheBestConstant) {
  const std::vector<Row> rows{row("a", 1, 1, {{"x", 1}, {"y", 0}}, {{"x", 1}}), row("b", 1, 1, {{"x", 0.8}, {"y", 0.2}}, {{"y", 1}}),
                              row("c", 1, 1, {{"x", 0}, {"y", 1}}, {{"y", 1}})};
  const StallScore score = score_stalls(rows);
  EXPECT_EQ(score.rows, 3u);
  EXPECT_EQ(score.largest_right, 2u);
  EXPECT_EQ(score.constant_reason, "x");
  EXPECT_EQ(score.constant_right, 2u);
  EXPECT_NEAR(score.median_half_l1, 0, 1e-12);             // distances 0, 0.8, 0
  EXPECT_NEAR(score.constant_median_half_l1, 0.4, 1e-12);  // mean x 0.6, y 0.4: distances 0.4, 0.2, 0.6
}

TEST(Score, WavefrontsWithoutArbitration) {
  Row r = row("a", 1, 1);
  r.measured.columns = {{"smem_wavefronts_ld", 110}, {"smem_conflicts_ld", 10}, {"smem_wavefronts_st", 50}, {"smem_conflicts_st", 0}};
  r.simulated.wavefronts_ld = 100;
  r.simulated.wavefronts_st = 52;
  const WavefrontScore score = score_wavefronts(std::vector<Row>{r});
  EXPECT_EQ(score.compared, 2u);
  EXPECT_EQ(score.exact, 1u);
  EXPECT_EQ(score.within_2_percent, 1u);
  EXPECT_NEAR(score.worst_error, 0.04, 1e-12);
  r.measured.columns["sass_wavefronts_ld"] = 105;  // address-exact: wins
  EXPECT_EQ(score_wavefronts(std::vector<Row>{r}).exact, 0u);
}

TEST(Data, CsvWithQuotesAndBadRows) {
  Diagnostics diags;
  const CsvTable table = parse_csv("t.csv", "case,grid,cycles\n# comment\na,\"(1, 2)\",5\nb,1\n", diags);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0][1], "(1, 2)");
  ASSERT_EQ(diags.all().size(), 1u);
  EXPECT_EQ(diags.all()[0].str(), "t.csv:4: error: 2 fields, the header has 3");
}

TEST(Data, ShippedTritonTable) {
  Diagnostics diags;
  const auto sets = load_data(std::string(TCSIM_SOURCE_DIR) + "/validation/data/triton_gemm", diags);
  ASSERT_FALSE(diags.has_errors()) << diags.all()[0].str();
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].rows.size(), 96u);  // 32 kernels at three sizes
  for (const Measurement& measured : sets[0].rows) {
    EXPECT_TRUE(std::filesystem::exists(sets[0].ptx_path(measured)));
    const auto text = sets[0].launch_text(measured, diags);
    ASSERT_TRUE(text);
    EXPECT_EQ(text->find('@'), std::string::npos);
    const Shares stalls = measured_stalls(measured);
    double sum = 0;
    for (const auto& [reason, share] : stalls) sum += share;
    EXPECT_NEAR(sum, 1, 1e-9);
  }
}

}  // namespace
}  // namespace tcsim::compare
