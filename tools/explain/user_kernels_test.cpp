// PTX that no generator stands behind, each made to be bound by one thing: the study names it first. Where the same kernel can be written
// without it, its time is near the one that was predicted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tools/explain/writers.h"

namespace tcsim::explain {
namespace {

constexpr double kNear = 0.2;  // of the predicted time

cfg::Machine a100() {
  Diagnostics diags;
  auto machine = cfg::load_machine("a100", {}, diags);
  EXPECT_TRUE(machine);
  return *machine;
}

/// The body has %thread, the buffers' addresses in %in and %out, and one result per thread in %f0.
Subject kernel_of(const std::string& registers, const std::string& body, uint32_t ctas, uint32_t threads, uint64_t in_bytes = 16,
                  uint32_t shared_bytes = 16) {
  Subject subject;
  subject.kernel.path = "k.ptx";
  subject.kernel.text =
      fmt::format(
          ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p_in, .param .u64 p_out)\n{{\n"
          ".shared .align 16 .b8 tile[{}];\n.reg .b32 %thread, %block, %at;\n.reg .b64 %in, %out, %place;\n.reg .f32 %f<64>;\n.reg .b32 "
          "%r<32>;\n.reg .pred %p;\n{}\n"
          "mov.u32 %thread, %tid.x;\nmov.u32 %block, %ctaid.x;\nld.param.u64 %in, [p_in];\nld.param.u64 %out, [p_out];\nmov.f32 %f0, 0f3F800000;\n",
          shared_bytes, registers) +
      body +
      fmt::format(
          "mad.lo.u32 %at, %block, {}, %thread;\nmul.wide.u32 %place, %at, 4;\nadd.s64 %out, %out, %place;\nst.global.f32 [%out], %f0;\nret;\n}}\n",
          threads);
  subject.launch_path = "k.toml";
  subject.launch_text = fmt::format(
      "grid = [{0}, 1, 1]\nblock = [{1}, 1, 1]\nargs = [ {{ buffer = \"in\" }}, {{ buffer = \"out\" }} ]\n"
      "[buffer.in]\ndtype = \"u32\"\nshape = [{2}]\ninit = \"zeros\"\n[buffer.out]\ndtype = \"f32\"\nshape = [{3}]\ninit = \"zeros\"\n",
      ctas, threads, in_bytes / 4, ctas * threads);
  return subject;
}

Study study_of(const Subject& subject) {
  Diagnostics diags;
  Study study = run_study(subject, a100(), {.jobs = 2}, diags);
  EXPECT_EQ(study.base.failure, "");
  EXPECT_FALSE(study.rows.empty());
  return study;
}

std::string text_of(const Study& study) { return write_text({"a100", {}, study, advise(study, nullptr, a100()), remarks(study, a100())}); }

void expect_first(const Study& study, LimitId id) {
  EXPECT_EQ(study.rows.front().limit->name, limit_of(id).name) << text_of(study);
  EXPECT_GT(study.gain(study.rows.front().cycles), kSmallGain);
}

double cycles_of(const Subject& subject) {
  Diagnostics diags;
  const Timing timing = time_subject(subject, a100(), nullptr, 1, diags);
  EXPECT_EQ(timing.failure, "");
  return timing.cycles();
}

std::string loop(uint32_t times, const std::string& body) {
  return fmt::format("mov.u32 %r0, {};\nLOOP:\n{}sub.u32 %r0, %r0, 1;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra LOOP;\n", times, body);
}

/// Each lane adds up a row of 32 words, the rows `stride` bytes apart.
Subject rows(uint32_t stride) {
  std::string reads = "";
  for (uint32_t i = 0; i < 32; ++i) reads += fmt::format("ld.shared.f32 %f{}, [%r2+{}];\n", 1 + i, 4 * i);
  for (uint32_t i = 0; i < 32; ++i) reads += fmt::format("add.f32 %f0, %f0, %f{};\n", 1 + i);
  return kernel_of("", fmt::format("and.b32 %r1, %thread, 31;\nmov.u32 %r2, tile;\nmad.lo.u32 %r2, %r1, {}, %r2;\n", stride) + loop(8, reads), 1, 128,
                   16, 32 * 132);
}

// 128 bytes apart all lanes meet in one bank: 32 wavefronts for one. 132 bytes apart each has its own.
TEST(UserKernels, ColumnReads) {
  const Study study = study_of(rows(128));
  expect_first(study, LimitId::bank_conflicts);
  EXPECT_NEAR(cycles_of(rows(132)) / study.rows.front().cycles, 1, kNear) << text_of(study);
}

// One warp, each fma needs the one before.
TEST(UserKernels, DependentChain) {
  std::string chain;
  for (int i = 0; i < 16; ++i) chain += "fma.rn.f32 %f0, %f0, %f0, %f0;\n";
  expect_first(study_of(kernel_of("", loop(64, chain), 1, 32)), LimitId::instruction_latency);
}

/// Adds up the first accumulators: what nobody reads is not computed.
std::string sum_of(int count) {
  std::string out;
  for (int i = 1; i < count; ++i) out += fmt::format("add.f32 %f0, %f0, %f{};\n", i);
  return out;
}

// 16 warps with four products each under way, nothing loaded: 8 cycles of a sub-core's tensor core each (2048 FMA of 256 a cycle).
TEST(UserKernels, ProductsInRegisters) {
  std::string products = "";
  for (int i = 0; i < 4; ++i)
    products += fmt::format(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f{0}, %f{1}, %f{2}, %f{3}}}, {{%r1, %r1, %r1, %r1}}, {{%r1, %r1}}, {{%f{0}, %f{1}, "
        "%f{2}, %f{3}}};\n",
        4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
  std::string clear = "mov.u32 %r1, 0;\n";
  for (int i = 0; i < 16; ++i) clear += fmt::format("mov.f32 %f{}, 0f00000000;\n", i);
  const Study study = study_of(kernel_of("", clear + loop(128, products) + sum_of(16), 1, 512));
  expect_first(study, LimitId::tensor_pipe);
  EXPECT_TRUE(study.only_tensor_pipe) << text_of(study);
  EXPECT_NE(text_of(study).find("Nothing is left but the tensor pipe"), std::string::npos);
}

// 32 warps meet again and again and do nothing else.
TEST(UserKernels, Barriers) {
  std::string meet;
  for (int i = 0; i < 8; ++i) meet += "bar.sync 0;\n";
  expect_first(study_of(kernel_of("", loop(64, meet), 1, 1024)), LimitId::barriers);
}

// Every lane on a line of its own, in L1: 32 lines for each load.
TEST(UserKernels, UncoalescedLoads) {
  std::string loads;
  for (int i = 0; i < 8; ++i) loads += fmt::format("ld.global.ca.f32 %f{}, [%d0+{}];\n", 1 + i, 4 * i);
  for (int i = 0; i < 8; ++i) loads += fmt::format("add.f32 %f0, %f0, %f{};\n", 1 + i);
  const std::string start = "and.b32 %r1, %thread, 63;\nmul.wide.u32 %d0, %r1, 128;\nadd.s64 %d0, %d0, %in;\n";
  expect_first(study_of(kernel_of(".reg .b64 %d<2>;", start + loop(32, loads), 1, 256, 64 * 128)), LimitId::l1_throughput);
}

/// 16 steps of 8 KB by cp.async, 48 products a warp each, S buffers.
Subject pipelined(uint32_t stages) {
  constexpr uint32_t kSteps = 16, kThreads = 128, kPieces = 4, kStageBytes = kThreads * kPieces * 16;
  std::string body = fmt::format(
      "mul.lo.u32 %r1, %thread, 16;\nmov.u32 %r2, tile;\nadd.u32 %r2, %r2, %r1;\nmad.lo.u32 %r1, %block, {}, %r1;\ncvt.u64.u32 %d0, %r1;\nadd.s64 "
      "%d0, %d0, %in;\n",
      kSteps * kStageBytes);
  for (int i = 0; i < 24; ++i) body += fmt::format("mov.f32 %f{}, 0f00000000;\n", i);
  const auto issue = [&](uint32_t step) {
    for (uint32_t i = 0; i < kPieces && step < kSteps; ++i)
      body += fmt::format("cp.async.cg.shared.global [%r2+{}], [%d0+{}], 16;\n", step % stages * kStageBytes + i * kThreads * 16,
                          step * kStageBytes + i * kThreads * 16);
    body += "cp.async.commit_group;\n";
  };
  for (uint32_t s = 0; s + 1 < stages; ++s) issue(s);
  for (uint32_t step = 0; step < kSteps; ++step) {
    if (stages == 1) issue(step);
    body += fmt::format("cp.async.wait_group {};\nbar.sync 0;\n", stages == 1 ? 0 : stages - 2);
    if (stages > 1) issue(step + stages - 1);
    for (uint32_t i = 0; i < kPieces; ++i) {
      body += fmt::format("ld.shared.v4.u32 {{%r4, %r5, %r6, %r7}}, [%r2+{}];\n", step % stages * kStageBytes + i * kThreads * 16);
      for (int product = 0; product < 12; ++product) {
        const int j = product % 6;
        body += fmt::format(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f{0}, %f{1}, %f{2}, %f{3}}}, {{%r4, %r5, %r6, %r7}}, {{%r4, %r5}}, {{%f{0}, %f{1}, "
            "%f{2}, %f{3}}};\n",
            4 * j, 4 * j + 1, 4 * j + 2, 4 * j + 3);
      }
    }
    if (stages == 1) body += "bar.sync 0;\n";
  }
  return kernel_of(".reg .b64 %d<2>;", body + sum_of(24), 8, kThreads, 8 * kSteps * kStageBytes, stages * kStageBytes);
}

// A step's products take 384 cycles (48 x 8), a load from DRAM more than twice that: with one buffer they take turns, with five they do not.
TEST(UserKernels, OneStage) {
  const Study study = study_of(pipelined(1));
  expect_first(study, LimitId::data_in_time);
  EXPECT_NEAR(cycles_of(pipelined(5)) / study.rows.front().cycles, 1, kNear) << text_of(study);
}

// Nothing but a store: no limit matters.
TEST(UserKernels, NothingButTheLaunch) {
  const Study study = study_of(kernel_of("", "", 1, 32));
  EXPECT_NE(text_of(study).find("Launch and drain are"), std::string::npos) << text_of(study);
}

}  // namespace
}  // namespace tcsim::explain
