// Kernels made to be bound by one thing: the study names it first, and where an option of the kernel removes it, the time with that
// option is near the time that was predicted. What binds them follows from how they are made, not from a run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tools/explain/writers.h"

namespace tcsim::explain {
namespace {

constexpr double kNear = 0.2;  // of the predicted time

cfg::Machine machine_of(const std::string& name) {
  Diagnostics diags;
  auto machine = cfg::load_machine(name, {}, diags);
  EXPECT_TRUE(machine) << name;
  return *machine;
}

struct Explained {
  cfg::Machine machine;
  Study study;
  std::vector<Advice> advice;
};

Explained explain(const Subject& subject, const gemm::Config* config, const std::string& arch) {
  Explained out{machine_of(arch), {}, {}};
  Diagnostics diags;
  const StudyOptions options{.jobs = 2};
  out.study = run_study(subject, out.machine, options, diags);
  EXPECT_TRUE(out.study.base.failure.empty()) << out.study.base.failure;
  if (!out.study.base.failure.empty()) return out;
  out.advice = advise(out.study, config, out.machine);
  std::erase_if(out.advice, [&](const Advice& a) { return a.limit != out.study.rows.front().limit; });
  try_advice(out.advice, out.machine, options);
  return out;
}

Explained explain(const gemm::Config& config, const std::string& arch) {
  Diagnostics diags;
  const Subject subject = subject_of(config, machine_of(arch), diags);
  EXPECT_FALSE(diags.has_errors());
  return explain(subject, &config, arch);
}

std::string text_of(const Explained& e) { return write_text({"", {}, e.study, e.advice, {}}); }

const Remedy* remedy_of(const Explained& e, const std::string& prefix) {
  for (const Advice& advice : e.advice)
    for (const Remedy& remedy : advice.remedies)
      if (remedy.option.starts_with(prefix)) return &remedy;
  return nullptr;
}

void expect_first(const Explained& e, LimitId id) {
  ASSERT_FALSE(e.study.rows.empty());
  EXPECT_EQ(e.study.rows.front().limit->name, limit_of(id).name) << text_of(e);
  EXPECT_GT(e.study.gain(e.study.rows.front().cycles), kSmallGain);
}

void expect_remedy(const Explained& e, const std::string& option) {
  const Remedy* remedy = remedy_of(e, option);
  ASSERT_NE(remedy, nullptr) << text_of(e);
  EXPECT_EQ(remedy->failure, "");
  EXPECT_NEAR(remedy->simulated_cycles / remedy->predicted_cycles, 1.0, kNear) << text_of(e);
}

// Rows of 64 bytes without a swizzle: the eight 16-byte rows of an ldmatrix lie 64 bytes apart, so that they fall on two of the
// eight bank quads and take four wavefronts instead of one.
TEST(Explain, BankConflicts) {
  const Explained e = explain({.m = 512, .n = 512, .k = 512, .style = "ampere", .tile = {128, 128, 32}, .stages = 3, .swizzle = "none"}, "a100");
  expect_first(e, LimitId::bank_conflicts);
  expect_remedy(e, "--swizzle");
}

// One stage: nothing is asked for while the tensor cores work.
TEST(Explain, TooFewStages) {
  const Explained e = explain({.m = 512, .n = 512, .k = 1024, .style = "hopper-tma", .tile = {128, 128, 64}, .stages = 1, .swizzle = "none"}, "h200");
  expect_first(e, LimitId::data_in_time);
  expect_remedy(e, "--stages");
}

// 128 x 256 of C a CTA and a long K: 64 cycles of wgmma (N/2) for each 128 columns against 48 KB a step of 64 that TMA brings in time.
TEST(Explain, TensorPipe) {
  const Explained e =
      explain({.m = 256, .n = 512, .k = 8192, .style = "hopper-cooperative", .tile = {128, 256, 64}, .stages = 4, .swizzle = "none"}, "h200");
  expect_first(e, LimitId::tensor_pipe);
  EXPECT_TRUE(e.study.only_tensor_pipe) << text_of(e);
}

/// Each thread adds up `loads` words of 16 bytes that nobody else reads, a grid's width apart.
Subject reader(uint32_t ctas, uint32_t loads) {
  constexpr uint32_t kThreads = 256, kBytes = 16;
  const uint64_t step = uint64_t{ctas} * kThreads * kBytes;
  std::string ptx =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry reader(.param .u64 in, .param .u64 out)\n{\n"
      ".reg .b32 %r<5>;\n.reg .b64 %d<6>;\n";
  ptx += fmt::format(".reg .b32 %a<{}>;\n", 4 * loads);
  ptx +=
      "ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\n"
      "mad.lo.u32 %r3, %r0, %r1, %r2;\nmul.wide.u32 %d2, %r3, 16;\nadd.s64 %d3, %d0, %d2;\n";
  for (uint32_t i = 0; i < loads; ++i)
    ptx += fmt::format("ld.global.v4.u32 {{%a{}, %a{}, %a{}, %a{}}}, [%d3+{}];\n", 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3, i * step);
  for (uint32_t i = 1; i < 4 * loads; ++i) ptx += fmt::format("add.u32 %a0, %a0, %a{};\n", i);
  ptx += "mul.wide.u32 %d4, %r3, 4;\nadd.s64 %d5, %d1, %d4;\nst.global.u32 [%d5], %a0;\nret;\n}\n";
  Subject subject;
  subject.kernel = {"reader.ptx", ptx, std::nullopt};
  subject.launch_path = "reader.toml";
  subject.launch_text = fmt::format(
      "entry = \"reader\"\ngrid = [{0}, 1, 1]\nblock = [{1}, 1, 1]\nargs = [ {{ buffer = \"in\" }}, {{ buffer = \"out\" }} ]\n"
      "[buffer.in]\ndtype = \"u32\"\nshape = [{2}]\ninit = \"zeros\"\n[buffer.out]\ndtype = \"u32\"\nshape = [{3}]\ninit = \"zeros\"\n",
      ctas, kThreads, step * loads / 4, ctas * kThreads);
  return subject;
}

// 16 MB at 203 bytes a cycle (320 GB/s at 1.59 GHz) are 80 000 cycles; everything else of a T4 is several times faster.
TEST(Explain, Dram) {
  const Explained e = explain(reader(1024, 4), nullptr, "t4");
  expect_first(e, LimitId::dram_bandwidth);
  EXPECT_FALSE(e.study.only_tensor_pipe);
}

}  // namespace
}  // namespace tcsim::explain
