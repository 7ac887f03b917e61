// The estimate against arithmetic by hand on a machine with round numbers.
#include <gtest/gtest.h>

#include "workloads/analytic/analytic.h"

namespace tcsim::analytic {
namespace {

cfg::Machine round_machine() {
  cfg::Machine m;
  m.chip.sms = 10;
  m.limits.subcores = 4;
  m.smem.banks = 32, m.smem.bank_bytes = 4, m.smem.wavefront_cycles = 1;  // 128 B a cycle
  m.l1.fill_bytes_per_cycle = 64, m.l1.store_bytes_per_cycle = 64;
  m.l2.slices = 10, m.l2.slice_bytes_per_cycle = 64;  // 64 B a cycle and SM
  m.l2.coalescing_sms = 1;
  m.l2.near_cycles = 200, m.l2.far_cycles = 400;
  m.dram.bytes_per_cycle = 1000, m.dram.extra_cycles = 300;
  m.launch.overhead_cycles = 2000, m.launch.cta_cycles = 100;
  return m;
}

Gemm round_gemm() {
  Gemm g;
  g.m = 1280, g.n = 256, g.k = 640;  // 10 x 2 tiles: two waves of one CTA an SM
  g.tile = {128, 128, 64};
  g.stages = 4;
  g.flops_per_cycle = 2048;
  g.shared_bytes_per_flop = 1.0 / 128;
  g.issues_per_flop = 1.0 / 4096;
  return g;
}

TEST(Analytic, StepByHand) {
  const Estimate e = estimate(round_gemm(), round_machine());
  // 2 * 128 * 128 * 64 = 2097152 operations; 256 * 64 * 2 = 32768 B loaded.
  EXPECT_DOUBLE_EQ(e.step.compute, 1024);  // 2097152 / 2048
  EXPECT_DOUBLE_EQ(e.step.shared, 384);    // (2097152 / 128 + 32768) / 128
  EXPECT_DOUBLE_EQ(e.step.issue, 128);     // 2097152 / 4096 / 4
  EXPECT_DOUBLE_EQ(e.step.l2, 512);        // 32768 / 64
  EXPECT_DOUBLE_EQ(e.step.dram, 180.224);  // (1280 + 128) * 64 * 2 / 1000
  EXPECT_DOUBLE_EQ(e.step.latency, 459);   // (300 + 512 + 1024) / 4
  EXPECT_EQ(e.bound, "arithmetic");
  EXPECT_DOUBLE_EQ(e.waves, 2);
  // Two waves of: 700 to the first data, 10 steps of 1024, 128 * 128 * 2 / 64 = 512 of stores, 100 to the next CTA.
  EXPECT_DOUBLE_EQ(e.cycles, 2000 + 2 * (700 + 10240 + 512 + 100));
}

TEST(Analytic, OneBufferSerialises) {
  Gemm g = round_gemm();
  g.stages = 1;
  const Estimate e = estimate(g, round_machine());
  EXPECT_DOUBLE_EQ(e.step.latency, 1836);  // 300 + 512 + 1024: load, then use
  EXPECT_EQ(e.bound, "load latency");
}

TEST(Analytic, MulticastHalvesL2Requests) {
  cfg::Machine m = round_machine();
  m.l1.fill_bytes_per_cycle = 1e9;  // the SM takes anything: L2 alone counts
  Gemm g = round_gemm();
  const double alone = estimate(g, m).step.l2;
  g.cluster = {2, 1};  // B is shared by two CTAs along M: 3/4 of the bytes
  EXPECT_DOUBLE_EQ(estimate(g, m).step.l2, 0.75 * alone);
}

TEST(Analytic, NeighboursServedTogetherShareB) {
  cfg::Machine m = round_machine();
  m.l1.fill_bytes_per_cycle = 1e9;
  const double alone = estimate(round_gemm(), m).step.l2;
  m.l2.coalescing_sms = 2;
  EXPECT_DOUBLE_EQ(estimate(round_gemm(), m).step.l2, 0.75 * alone);
}

TEST(Analytic, LastWaveWithOneCtaAnSm) {
  Gemm g = round_gemm();
  g.m = 1280 * 3 / 2, g.ctas_per_sm = 2;  // 15 x 2 tiles on 20 places: a wave of 2 an SM, then one of 1
  const Estimate e = estimate(g, round_machine());
  EXPECT_DOUBLE_EQ(e.waves, 1.5);
  EXPECT_DOUBLE_EQ(e.cycles, 2000 + (700 + 10 * 2048 + 1024 + 100) + (700 + 10 * 1024 + 512 + 100));
}

// 20 tiles on 10 SMs with room for 4 each: half a wave, though every SM has work.
TEST(Analytic, WavesCountTheRoom) {
  Gemm g = round_gemm();
  g.ctas_per_sm = 4;
  EXPECT_DOUBLE_EQ(estimate(g, round_machine()).waves, 0.5);
}

}  // namespace
}  // namespace tcsim::analytic
