// The built-in machine files: they load, their sources can be followed, and their peak rates are the chips'.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "sim/config/fields.h"
#include "sim/config/machine.h"

namespace tcsim::cfg {
namespace {

Machine load(const std::string& name) {
  Diagnostics diags;
  auto m = load_machine(name, {}, diags);
  for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
  return m ? *m : Machine{};
}

TEST(Machines, AllBuiltinOnesLoad) {
  const auto names = builtin_machines();
  ASSERT_EQ(names, (std::vector<std::string>{"a100", "b200", "h100", "h200", "rtx4090", "rtx5090", "t4", "v100"}));
  for (const auto& name : names) EXPECT_EQ(load(name).name, name);
}

TEST(Machines, MeasuredSourcesNameFilesThatExist) {
  const std::regex path("measured:([^ ,:]+)");
  size_t found = 0;
  for (const auto& name : builtin_machines()) {
    for (const auto& p : load(name).provenance) {
      std::smatch match;
      if (!std::regex_search(p.source, match, path)) continue;
      ++found;
      const auto file = std::filesystem::path(TCSIM_SOURCE_DIR) / match[1].str();
      EXPECT_TRUE(std::filesystem::is_regular_file(file)) << name << " " << p.key << " " << file;
    }
  }
  EXPECT_GT(found, 100u);
}

// H100 SXM5: the H200's die with 3350 GB/s of HBM3 where the H200 has 4800 (NVIDIA's data sheets); 3010 of them measured.
TEST(Machines, H100IsTheH200DieWithOtherMemory) {
  const Machine h100 = load("h100"), h200 = load("h200");
  EXPECT_EQ(h100.chip.sms, 132u);
  EXPECT_EQ(h100.limits.smem_per_cta_bytes, 227u * 1024);
  EXPECT_EQ(h100.wgmma.cycles_per_column, h200.wgmma.cycles_per_column);
  const double gb_s = h100.dram.bytes_per_cycle * h100.chip.clock_mhz / 1000;
  EXPECT_NEAR(gb_s, 3010, 2);
  EXPECT_LT(gb_s, 3350);
}

/// Dense operations per SM and cycle of a row: 2 m n k / interval on each sub-core.
double rate(const Machine& m, const std::string& row, double shape_operations) {
  return shape_operations / m.mma.at(row).interval * m.limits.subcores;
}

// NVIDIA's whitepapers, FLOP or OP per SM and cycle (GeForce Ada: half rate for f32 accumulation).
TEST(Machines, TensorPeaksAreTheChips) {
  const double k8 = 2 * 16 * 8 * 8, k16 = 2 * 16 * 8 * 16, k32 = 2 * 16 * 8 * 32;
  const Machine a100 = load("a100");
  EXPECT_EQ(rate(a100, "m16n8k16.f32.f16", k16), 2048);
  EXPECT_EQ(rate(a100, "m16n8k8.f32.f16", k8), 2048);
  EXPECT_EQ(rate(a100, "m16n8k8.f32.tf32", k8), 1024);
  EXPECT_EQ(rate(a100, "m16n8k32.s32.s8", k32), 4096);
  EXPECT_EQ(rate(a100, "m16n8k32.f32.f16.sp", k32), 4096);
  EXPECT_EQ(rate(a100, "m8n8k4.f64.f64", 2 * 8 * 8 * 4), 128);
  EXPECT_EQ(rate(a100, "m16n16k16.f32.f16", 2 * k16), 2048);
  const Machine ada = load("rtx4090");
  EXPECT_EQ(rate(ada, "m16n8k16.f16.f16", k16), 1024);
  EXPECT_EQ(rate(ada, "m16n8k16.f32.f16", k16), 512);
  EXPECT_EQ(rate(ada, "m16n8k32.s32.s8", k32), 2048);
  EXPECT_EQ(rate(ada, "m16n8k32.f16.e4m3", k32), 2048);
  const Machine v100 = load("v100");  // four 8x8x4 products a warp instruction
  EXPECT_EQ(rate(v100, "m8n8k4.f32.f16", 4 * 2 * 8 * 8 * 4), 1024);
  EXPECT_EQ(rate(v100, "m16n16k16.f16.f16", 2 * k16), 1024);
  EXPECT_EQ(rate(load("b200"), "m16n8k16.f32.f16", k16), 2048);  // mma.sync at the A100's rate
  const Machine rtx5090 = load("rtx5090");                       // 2407 MHz, 170 SMs: 419 TFLOPS f16 with f16 accumulation, 1676 of FP4
  EXPECT_EQ(rate(rtx5090, "m16n8k16.f16.f16", k16), 1024);
  EXPECT_EQ(rate(rtx5090, "m16n8k32.f32.e4m3", k32), 1024);
  EXPECT_EQ(rate(rtx5090, "m16n8k64.f32.mxf4", 2 * k32), 4096);
  const Machine t4 = load("t4");
  EXPECT_EQ(rate(t4, "m16n8k8.f32.f16", k8), 1024);
  EXPECT_EQ(rate(t4, "m8n8k16.s32.s8", 2 * 8 * 8 * 16), 2048);
  EXPECT_EQ(rate(t4, "m16n16k16.f32.f16", 2 * k16), 1024);
  // mma.sync on Hopper does not reach the 4096 of wgmma: k8 shapes at half of it (H100: exactly 2048
  // measured).
  EXPECT_EQ(rate(load("h200"), "m16n8k8.f32.f16", k8), 2048);
}

TEST(Machines, RowsFollowTheGeneration) {
  EXPECT_FALSE(load("t4").mma.contains("m16n8k16.f32.f16"));           // sm_80
  EXPECT_FALSE(load("a100").mma.contains("m16n8k32.f32.e4m3"));        // sm_89
  EXPECT_FALSE(load("a100").mma.contains("m16n8k16.f64.f64"));         // sm_90
  EXPECT_EQ(load("rtx4090").mma.at("m16n8k32.f32.e4m3").helpers, 0u);  // native
  EXPECT_GT(load("h200").mma.at("m16n8k32.f32.e4m3").helpers, 0u);     // emulated by f16
  EXPECT_EQ(load("h200").mma.at("m16n8k32.f32.e4m3").instructions, 2u);
}

TEST(Machines, SignednessDoesNotChangeTiming) {
  for (const auto& name : builtin_machines()) {
    const Machine m = load(name);
    if (m.chip.sm < 75) continue;  // no integer instructions on Volta
    EXPECT_EQ(m.mma.at("m8n8k16.s32.u8").interval, m.mma.at("m8n8k16.s32.s8").interval) << name;
    EXPECT_EQ(m.mma.at("m8n8k16.s32.u8.s8").latency, m.mma.at("m8n8k16.s32.s8").latency) << name;
  }
}

TEST(Machines, EveryTimingClassHasItsRow) {
  const Machine h200 = load("h200"), b200 = load("b200");
  for (size_t c = 0; c < static_cast<size_t>(isa::TimingClass::count); ++c) {
    const auto timing = static_cast<isa::TimingClass>(c);
    const bool without = timing == isa::TimingClass::none || timing == isa::TimingClass::mma;
    EXPECT_EQ(timing_name(timing).empty(), without) << c;
    EXPECT_EQ(h200.of(timing).interval >= 1 || b200.of(timing).interval >= 1, !without) << c;
  }
}

}  // namespace
}  // namespace tcsim::cfg
