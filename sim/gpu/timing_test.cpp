// Closed forms: what n more instructions cost must be exactly what the machine file's numbers say, no cycle more or less.
// The H200's numbers are measured (validation/data/h200), so these are also the hardware's: FFMA chain 4, LDS chain 23,
// 32-way conflict 85, ldmatrix.x4 29, HMMA.16816 24 dependent and 6 independent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "sim/gpu/gpu.h"

namespace tcsim::sim {
namespace {

/// No instruction-fetch time: the bodies are long straight lines that run once.
cfg::Machine machine() {
  Diagnostics diags;
  auto m = cfg::load_machine("h200", {{"fetch.miss_cycles", "0"}, {"fetch.l1_hit_cycles", "0"}}, diags);
  EXPECT_TRUE(m.has_value());
  return *m;
}

struct Body {
  std::string setup, step;  // PTX; in step, {0} is the number of the copy
  uint32_t threads = 32, smem = 0;
  bool schedule = true;
};

std::string kernel_text(const Body& body, int copies) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 smem[];\n"
      ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n{\n"
      ".reg .pred %p<4>; .reg .b32 %r<900>; .reg .f32 %f<900>; .reg .b64 %rd<20>; .reg .f64 %fd<9>;\n"
      "ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd2, %rd1; ld.param.u32 %r1, [k_param_1];\n"
      "mov.u32 %r2, %tid.x; mov.u32 %r3, smem;\n";
  text += body.setup;
  for (int i = 0; i < copies; ++i) text += fmt::format(fmt::runtime(body.step), i) + "\n";
  // Everything that a body may compute is used, so that nothing is removed.
  text += "st.global.f32 [%rd2], %f10; st.global.f32 [%rd2+4], %f11; st.global.f32 [%rd2+8], %f12; st.global.u32 [%rd2+12], %r10;\n";
  text += "st.global.u32 [%rd2+16], %r11; st.global.u32 [%rd2+20], %r12; st.global.f32 [%rd2+24], %f13;\nret;\n}\n";
  return text;
}

/// Cycles of the kernel with so many copies of the step.
Cycle cycles(const Body& body, int copies, const cfg::Machine& m) {
  Diagnostics diags;
  const auto module = isa::load_module("k.ptx", kernel_text(body, copies), diags);
  for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
  if (!module || module->kernels.empty()) return 0;
  isa::GlobalMemory memory;
  const uint64_t out = memory.allocate("out", 1 << 20);
  isa::LaunchInfo launch;
  launch.block = {body.threads, 1, 1};
  launch.dynamic_smem_bytes = body.smem;
  const isa::Kernel& kernel = module->kernels.front();
  launch.params.resize(kernel.param_bytes);
  std::memcpy(launch.params.data(), &out, 8);
  SimOptions options;
  options.registers = 64;
  const SimResult result = simulate(*module, kernel, launch, memory, m, options, diags);
  EXPECT_TRUE(result.ok);
  return result.kernel_cycles;
}

/// Cycles that 64 more copies cost, per copy.
double slope(const Body& body, const cfg::Machine& m = machine()) { return static_cast<double>(cycles(body, 128, m) - cycles(body, 64, m)) / 64; }

const std::string kFloats =
    "mov.f32 %f10, 0f3f800000; mov.f32 %f11, 0f3f800000; mov.f32 %f12, 0f3f800000; mov.f32 %f13, 0f3f800000;\n"
    "cvt.rn.f32.u32 %f1, %r1; mov.u32 %r10, %r1; mov.u32 %r11, %r1; mov.u32 %r12, %r1;\n";
const std::string kMma = kFloats + "mov.b32 %r20, 0; mov.b32 %r21, 0; mov.b32 %r22, 0; mov.b32 %r23, 0; mov.b32 %r24, 0; mov.b32 %r25, 0;\n";

TEST(Timing, DependentFma) { EXPECT_EQ(slope({kFloats, "fma.rn.f32 %f10, %f10, %f1, %f1;"}), 4); }
TEST(Timing, IndependentFmaIsOneACycle) {
  EXPECT_EQ(
      slope({kFloats,
             "fma.rn.f32 %f10, %f10, %f1, %f1; fma.rn.f32 %f11, %f11, %f1, %f1; fma.rn.f32 %f12, %f12, %f1, %f1; fma.rn.f32 %f13, %f13, %f1, %f1;"}),
      4);
}
TEST(Timing, IntegerAddIsHalfRate) {
  // ALU takes one warp instruction in two cycles: three independent chains of latency 4 need 6 cycles a round.
  EXPECT_EQ(slope({kFloats, "max.s32 %r10, %r10, %r2; min.u32 %r11, %r11, %r2; min.s32 %r12, %r12, %r2;"}), 6);
}

const char* const kHmma =
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f10,%f11,%f12,%f13}}, {{%r20,%r21,%r22,%r23}}, {{%r24,%r25}}, {{%f10,%f11,%f12,%f13}};";
TEST(Timing, DependentMma) { EXPECT_EQ(slope({kMma, kHmma}), 24); }
TEST(Timing, IndependentMmaRunsAtTheInterval) {
  std::string setup = kMma, step;
  for (int chain = 0; chain < 8; ++chain) {  // 8 chains x 6 cycles > latency 24
    std::string d;
    for (int i = 0; i < 4; ++i) {
      setup += fmt::format("mov.f32 %f{}, 0f00000000;\n", 100 + chain * 4 + i);
      d += fmt::format("{}%f{}", i ? "," : "", 100 + chain * 4 + i);
    }
    step += "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{" + d + "}}, {{%r20,%r21,%r22,%r23}}, {{%r24,%r25}}, {{" + d + "}};\n";
  }
  // All results are used after the loop of copies would end: sums that hide behind the next matrix instructions.
  for (int chain = 0; chain < 8; ++chain) step += fmt::format("add.f32 %f{}, %f{}, %f{};\n", 200 + chain, 200 + chain, 100 + chain * 4);
  for (int chain = 0; chain < 8; ++chain) setup += fmt::format("mov.f32 %f{}, %f1;\n", 200 + chain);
  step += "max.f32 %f10, %f200, %f201; max.f32 %f11, %f202, %f203; max.f32 %f12, %f204, %f205; max.f32 %f13, %f206, %f207;";
  EXPECT_NEAR(slope({setup, step}), 8 * 6, 1.0);
}
TEST(Timing, FourWarpsHaveFourTensorCores) {
  EXPECT_EQ(slope({kMma, kHmma, 128}), 24);
  // Eight warps: two a sub-core, whose dependent chains (24 cycles) still overlap on a pipe of interval 6.
  EXPECT_EQ(slope({kMma, kHmma, 256}), 24);
}

// Shared memory: a chain of loads whose address is the loaded value (memory holds zeros, so the address stays).
const std::string kZero =
    kFloats + "mov.b32 %r30, 0; mad.lo.s32 %r31, %r2, 4, %r3; st.shared.u32 [%r31], %r30; st.shared.u32 [%r31+128], %r30; bar.sync 0;\n";
TEST(Timing, SharedLoadChain) {
  EXPECT_EQ(slope({kZero + "mov.b32 %r10, %r31;\n", "ld.shared.u32 %r11, [%r10]; add.s32 %r10, %r11, %r31;", 32, 8192}), 23 + 4);
}
TEST(Timing, SharedLoadConflictsAddTwoCyclesAWavefront) {
  for (const auto& [stride, ways] : {std::pair{4, 1}, {8, 2}, {16, 4}, {128, 32}}) {
    const std::string setup =
        kFloats +
        fmt::format("mad.lo.s32 %r31, %r2, {}, %r3; mov.b32 %r30, 0; st.shared.u32 [%r31], %r30; mov.b32 %r10, %r31; bar.sync 0;\n", stride);
    EXPECT_EQ(slope({setup, "ld.shared.u32 %r11, [%r10]; add.s32 %r10, %r11, %r31;", 32, 8192}), 23 + 2 * (ways - 1) + 4) << ways << "-way";
  }
}
TEST(Timing, LdmatrixThroughputIsOneWavefrontACycle) {
  // 16 warps x 8 instructions x 4 wavefronts = 512 cycles of the SM's banks a round; four warps a sub-core hide the latency.
  const std::string setup = kZero + "and.b32 %r32, %r2, 31; mad.lo.s32 %r33, %r32, 16, %r3;\n";
  std::string step;
  for (int i = 0; i < 8; ++i)
    step += fmt::format("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{{%r{},%r{},%r{},%r{}}}}}, [%r33+{}];\n", 40 + i * 4, 41 + i * 4, 42 + i * 4,
                        43 + i * 4, i * 512);
  for (int i = 0; i < 8; ++i) step += fmt::format("max.u32 %r10, %r10, %r{};\n", 40 + i * 4);
  EXPECT_NEAR(slope({setup, step, 512, 8192}), 512, 10);
}
TEST(Timing, BarrierCost) {
  // 12 + 2 a warp from the last arrival to the next issue.
  for (uint32_t warps : {1u, 2u, 4u, 8u, 16u, 32u}) EXPECT_EQ(slope({kFloats, "bar.sync 0;", warps * 32}), 12 + 2 * warps) << warps;
}
TEST(Timing, L1HitChain) {
  // The word at rd2 holds its own address.
  const std::string setup = kFloats + "st.global.u64 [%rd2+64], %rd2; add.s64 %rd3, %rd2, 64; st.global.u64 [%rd3], %rd3;\n";
  EXPECT_EQ(slope({setup, "ld.global.u64 %rd3, [%rd3]; cvt.u32.u64 %r10, %rd3;"}), 33);
}

TEST(Timing, SameInputSameCyclesForAnyThreads) {
  Diagnostics diags;
  const auto m = machine();
  const auto module = isa::load_module("k.ptx", kernel_text({kMma, kHmma, 128}, 50), diags);
  std::vector<Cycle> seen;
  for (uint32_t threads : {1u, 2u, 4u}) {
    isa::GlobalMemory memory;
    const uint64_t out = memory.allocate("out", 1 << 20);
    isa::LaunchInfo launch;
    launch.grid = {700, 1, 1};
    launch.block = {128, 1, 1};
    launch.params.resize(module->kernels.front().param_bytes);
    std::memcpy(launch.params.data(), &out, 8);
    SimOptions options;
    options.registers = 64;
    options.threads = threads;
    const SimResult r = simulate(*module, module->kernels.front(), launch, memory, m, options, diags);
    seen.push_back(r.cycles);
    seen.push_back(r.counters.stalls[0] + 3 * r.counters.stalls[18]);
  }
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_EQ(seen[0], seen[4]);
  EXPECT_EQ(seen[1], seen[3]);
}

// Conservation: every warp-cycle from a CTA's start to its end has exactly one reason.
TEST(Timing, StallsSumToActiveWarpCycles) {
  Diagnostics diags;
  const auto m = machine();
  const auto module =
      isa::load_module("k.ptx", kernel_text({kZero, "ld.shared.u32 %r11, [%r31]; add.s32 %r10, %r10, %r11; bar.sync 0;", 128, 8192}, 50), diags);
  isa::GlobalMemory memory;
  const uint64_t out = memory.allocate("out", 1 << 20);
  isa::LaunchInfo launch;
  launch.grid = {200, 1, 1};
  launch.block = {128, 1, 1};
  launch.dynamic_smem_bytes = 8192;
  launch.params.resize(module->kernels.front().param_bytes);
  std::memcpy(launch.params.data(), &out, 8);
  SimOptions options;
  options.registers = 64;
  const SimResult r = simulate(*module, module->kernels.front(), launch, memory, m, options, diags);
  uint64_t charged = 0, active = 0;
  for (const uint64_t cycles : r.counters.stalls) charged += cycles;
  for (const CounterBlock& sm : r.counters.sms) active += sm[Counter::warps_active];
  EXPECT_EQ(charged, active);
}

}  // namespace
}  // namespace tcsim::sim
