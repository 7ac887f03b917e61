// What the command says about a study, on studies made by hand: nothing is simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/explain/writers.h"

namespace tcsim::explain {
namespace {

using testing::HasSubstr;
using testing::Not;

Study study_of(double cycles, uint64_t ctas, std::vector<Row> rows) {
  Study study;
  study.base.launches = {{.cycles = cycles, .kernel_cycles = cycles}};
  study.rows = std::move(rows);
  study.floor_keeps = &limit_of(LimitId::tensor_pipe);
  study.ctas = ctas;
  study.sms = 132;
  return study;
}

Row row_of(LimitId id, double cycles) { return {&limit_of(id), cycles}; }

Remedy tried(const std::string& option, double predicted, bool whole, double simulated) { return {option, {}, predicted, whole, simulated}; }

std::string text_of(const Study& study, std::vector<Remedy> remedies = {}) {
  return write_text({"h200", {}, study, {{study.rows.front().limit, "a limit", "do this", std::move(remedies)}}, {}});
}

// 1000 cycles now: 500 are twice as fast, 1040 are 1.04 times the cycles; the bound of 800 is beaten by what lifts more than one limit.
TEST(Writers, RemediesAreToldAgainstTheKernelAsItIs) {
  const Study study = study_of(1000, 132, {row_of(LimitId::stores, 800)});
  const std::string text =
      text_of(study, {tried("--cluster 2x1", 800, false, 1040), tried("--tile 64x64x64", 800, false, 500), tried("--swizzle xor", 800, true, 760)});
  EXPECT_THAT(text, HasSubstr("--cluster 2x1: 800 cycles if only this limit fell; simulated 1,040, slower: 1.04 times the cycles\n"));
  EXPECT_THAT(text, HasSubstr("--tile 64x64x64: 800 cycles if only this limit fell; simulated 500, 2.00 times as fast as now\n"));
  EXPECT_THAT(text, HasSubstr("--swizzle xor: predicted 800 cycles; simulated 760 (-5.0 %)\n"));
  EXPECT_THAT(text, HasSubstr("Best tried: --tile 64x64x64, 500 cycles, 2.00 times as fast as now.\n"));
  EXPECT_THAT(text_of(study, {tried("--stages 5", 800, true, 1200)}),
              testing::AllOf(HasSubstr("(+50.0 %), slower: 1.20 times the cycles"), HasSubstr("None of the options tried is faster"),
                             Not(HasSubstr("Best tried"))));
}

// 65 of 132 SMs are fewer than half, 66 are half.
TEST(Writers, IdleSmsStandBeforeTheLimitOfThoseThatWork) {
  const std::string few = text_of(study_of(1000, 65, {row_of(LimitId::tensor_pipe, 800)}));
  EXPECT_LT(few.find("Too few CTAs: 65 for 132 SMs, 67 of which have nothing to do."), few.find("What binds first: tensor pipe."));
  EXPECT_THAT(text_of(study_of(1000, 66, {row_of(LimitId::tensor_pipe, 800)})), Not(HasSubstr("Too few CTAs")));
  Study study = study_of(1000, 16, {row_of(LimitId::tensor_pipe, 800)});
  study.only_tensor_pipe = true;
  EXPECT_THAT(text_of(study), HasSubstr("Nothing is left but the tensor pipe on the 16 SMs that work:"));
}

TEST(Writers, NoGainIsNone) {
  const std::string text =
      text_of(study_of(1000, 132, {row_of(LimitId::stores, 800), row_of(LimitId::barriers, 1000), row_of(LimitId::tma_issue, 1050)}));
  EXPECT_THAT(text, Not(HasSubstr("-4.8 %")));
  EXPECT_THAT(text, HasSubstr("1,050        none"));
}

TEST(Writers, OrderIsExplainedWhereASmallerGainStandsFirst) {
  EXPECT_THAT(text_of(study_of(1000, 132, {row_of(LimitId::bank_conflicts, 700), row_of(LimitId::shared_bandwidth, 500)})),
              HasSubstr("\"bank conflicts\" stands before shared-memory bandwidth, which includes it"));
  EXPECT_THAT(text_of(study_of(1000, 132, {row_of(LimitId::data_in_time, 780), row_of(LimitId::dram_latency, 750)})),
              HasSubstr("\"data comes too late\" stands before DRAM latency"));
  EXPECT_THAT(text_of(study_of(1000, 132, {row_of(LimitId::shared_bandwidth, 500), row_of(LimitId::bank_conflicts, 800)})),
              Not(HasSubstr("stands before")));
}

cfg::Machine machine_of(const std::string& name) {
  Diagnostics diags;
  auto machine = cfg::load_machine(name, {}, diags);
  EXPECT_TRUE(machine) << name;
  return *machine;
}

std::vector<std::string> options_of(LimitId id, const gemm::Config& config, const std::string& arch) {
  Study study;
  study.base.launches = {{.cycles = 40000, .kernel_cycles = 37000}};
  std::vector<std::string> out;
  for (const Remedy& remedy : remedies_of(id, 35000, config, study, machine_of(arch))) out.push_back(remedy.option);
  return out;
}

// A stage is 32 KB (two operands of 128 x 64 f16), C 32 KB: of 227 KB, four stages leave room for one CTA, three (128 KB) too, two (96 KB)
// for two. K of 256 is four steps of 64: all are under way with four stages, and a fifth would stay empty.
TEST(Remedies, StagesFollowTheStepsOfKAndTheRoom) {
  const gemm::Config four = {.m = 4096, .n = 4096, .k = 256, .style = "hopper-tma", .tile = {128, 128, 64}, .stages = 4, .swizzle = "none"};
  EXPECT_THAT(options_of(LimitId::shared_capacity, four, "h200"), testing::ElementsAre("--stages 2"));
  EXPECT_THAT(options_of(LimitId::data_in_time, four, "h200"), Not(testing::Contains(testing::StartsWith("--stages"))));
  EXPECT_THAT(why_no_more_stages(four, machine_of("h200")), HasSubstr("K has 4 steps"));
  gemm::Config two = four;
  two.stages = 2;
  EXPECT_EQ(why_no_more_stages(two, machine_of("h200")), "");
}

// 1024 tiles of 128 x 128 for 132 SMs: stores of one can overlap the next. A single tile an SM has no next one.
TEST(Remedies, PersistentStyleWhereAnSmHasSeveralTiles) {
  const gemm::Config many = {.m = 4096, .n = 4096, .k = 256, .style = "hopper-tma", .tile = {128, 128, 64}, .stages = 4, .swizzle = "none"};
  EXPECT_THAT(options_of(LimitId::stores, many, "h200"), testing::ElementsAre("--style hopper-cooperative"));
  gemm::Config one = many;
  one.m = one.n = 1024;
  EXPECT_THAT(options_of(LimitId::stores, one, "h200"), testing::IsEmpty());
}

// The volta style holds the next tile in registers: two stages at most (mma_sync.h).
TEST(Remedies, StylesThatTakeTwoStagesAreNotToldToTakeMore) {
  const gemm::Config volta = {.m = 512, .n = 512, .k = 512, .style = "volta", .tile = {128, 128, 32}, .stages = 2};
  EXPECT_NE(why_no_more_stages(volta, machine_of("v100")), "");
  EXPECT_THAT(options_of(LimitId::data_in_time, volta, "v100"), testing::IsEmpty());
}

}  // namespace
}  // namespace tcsim::explain
