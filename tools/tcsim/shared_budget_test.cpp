// Budgets of shared memory worked out by hand; limits of a CTA are those of the CUDA Programming Guide (compute capabilities): 163 KiB on
// A100 (166912 B), 99 KiB on RTX 4090 (101376 B), 227 KiB on H200 (232448 B).
#include "tools/tcsim/shared_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tcsim::tool {
namespace {

using testing::HasSubstr;

cfg::Machine machine_of(const std::string& name) {
  Diagnostics diags;
  auto machine = cfg::load_machine(name, {}, diags);
  EXPECT_TRUE(machine) << name;
  return *machine;
}

SharedBudget budget_of(const gemm::Config& config, const std::string& arch) {
  Diagnostics diags;
  SharedBudget budget = gemm_budget(config, machine_of(arch), diags);
  EXPECT_FALSE(diags.has_errors());
  return budget;
}

// A and B: 128 rows x 32 x 2 B = 8192 B each, 16384 B a stage.
TEST(SharedBudget, CpAsyncStages) {
  gemm::Config config{.style = "ampere", .tile = {128, 128, 32}, .stages = 12, .swizzle = "xor"};
  const SharedBudget a100 = budget_of(config, "a100");
  EXPECT_EQ(a100.bytes, 196608u);
  EXPECT_EQ(a100.limit_bytes, 166912u);
  EXPECT_FALSE(a100.fits());
  EXPECT_EQ(a100.stage_bytes, 16384u);
  EXPECT_EQ(a100.largest_stages, 10u);  // 163840 <= 166912 < 180224
  EXPECT_EQ(budget_line(a100), "A 12 stages x 8192 B, B 12 stages x 8192 B");
  EXPECT_EQ(budget_of(config, "rtx4090").largest_stages, 6u);  // 98304 <= 101376 < 114688
  config.stages = 3;
  EXPECT_TRUE(budget_of(config, "a100").fits());
  EXPECT_EQ(budget_of(config, "a100").largest_stages, 10u);
}

// 32 KiB a stage; C leaves through 2 slots of 64 rows x 128 B for each of two consumers; a full and an empty barrier of 8 B a stage, before the
// dynamic part, which starts at 1024: 12 x 32768 + 4 x 8192 + 1024 + 1024 = 428032. 232448 - 34816 is 6.03 stages.
TEST(SharedBudget, TmaStagesBarriersAndEpilogue) {
  const SharedBudget budget = budget_of({.style = "hopper-ws", .tile = {128, 128, 64}, .stages = 12, .swizzle = "none"}, "h200");
  EXPECT_EQ(budget.bytes, 428032u);
  EXPECT_EQ(budget.largest_stages, 6u);
  const std::string line = budget_line(budget), text = budget_text(budget);
  for (const char* part : {"A 12 stages x 16384 B", "B 12 stages x 16384 B", "C slots 4 x 8192 B", "full_bar 96 B", "empty_bar 96 B"})
    EXPECT_THAT(line, HasSubstr(part));
  EXPECT_THAT(text, HasSubstr("428,032 of 232,448 B on h200, 195,584 too many"));
  EXPECT_THAT(text, HasSubstr("the most that fit: 6 stages"));
  uint32_t sum = 0;
  for (const gemm::SharedUse& use : budget.uses) sum += use.stages * use.bytes;
  EXPECT_EQ(sum, budget.bytes);
}

// 256 x 256 x 128 of f32 on Turing, 64 KiB a CTA: a stage of 256 KiB does not fit once. Turing's kernels take 2 stages at most.
TEST(SharedBudget, NotEvenOneStage) {
  const SharedBudget budget = budget_of({.style = "turing", .tile = {256, 256, 128}, .stages = 1, .swizzle = "xor"}, "t4");
  EXPECT_EQ(budget.largest_stages, 0u);
  EXPECT_THAT(budget_text(budget), HasSubstr("not even one stage fits"));
  // 128 x 128 x 32: 16384 B a stage, four fit into 65536 B, the style takes two.
  EXPECT_EQ(budget_of({.style = "turing", .tile = {128, 128, 32}, .stages = 1, .swizzle = "xor"}, "t4").largest_stages, 2u);
}

std::unique_ptr<isa::Module> module_of(const std::string& target) {
  Diagnostics diags;
  auto module = isa::load_module(
      "k.ptx",
      ".version 8.0\n.target " + target +
          "\n.address_size 64\n.extern .shared .align 16 .b8 dynamic_part[];\n.visible .entry k()\n{\n.shared .align 4 .b8 table[400];\n"
          ".shared .align 8 .b64 bars[3];\n.reg .b32 %r<4>;\n.reg .b64 %d;\nmov.u32 %r0, table;\nld.shared.u32 %r1, [%r0];\nmov.u32 %r2, bars;\n"
          "st.shared.u32 [%r2], %r1;\nmov.u32 %r3, dynamic_part;\nst.shared.u32 [%r3], %r1;\nret;\n}\n",
      diags);
  EXPECT_FALSE(diags.has_errors()) << (diags.all().empty() ? "" : diags.all().front().str());
  return module;
}

// 400 + 3 x 8 = 424 B of variables; the dynamic part starts at the next multiple of 16, 432.
TEST(SharedBudget, VariablesOfAUsersKernel) {
  const auto module = module_of("sm_80");
  const SharedBudget budget = kernel_budget(*module, module->kernels.front(), 167000, nullptr, machine_of("a100"));
  EXPECT_EQ(budget.bytes, 167432u);
  EXPECT_EQ(budget_line(budget), "dynamic 167000 B, table 400 B, bars 24 B, gaps before aligned parts 8 B");
  EXPECT_EQ(budget.stages, 0u);
  EXPECT_FALSE(budget_json(budget).contains("largest_stages"));
}

// Triton on sm_80 keeps num_stages - 1 buffers: 167936 B at 5 are 4 x 41984 B (triton-lang/triton #4756: 167936 > 166912); without the 432 B of
// variables 166480 B hold 3 of them, so num_stages 4. On sm_90 all 5 are kept: 33588 B each, 4 fit into 166480 B.
TEST(SharedBudget, StagesOfTriton) {
  launch::TritonMetadata triton;
  triton.stages = 5;
  for (const auto& [target, buffer, fitting] : {std::tuple{"sm_80", 41984u, 4u}, {"sm_90a", 33588u, 4u}}) {
    const auto module = module_of(target);
    const SharedBudget budget = kernel_budget(*module, module->kernels.front(), 167936, &triton, machine_of("a100"));
    EXPECT_EQ(budget.stage_bytes, buffer) << target;
    EXPECT_EQ(budget.largest_stages, fitting) << target;
    EXPECT_THAT(budget_text(budget), HasSubstr("an estimate from Triton's metadata: num_stages 5")) << target;
    EXPECT_TRUE(budget_json(budget).at("estimate").get<bool>());
  }
}

}  // namespace
}  // namespace tcsim::tool
