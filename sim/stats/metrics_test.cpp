#include "sim/stats/metrics.h"

#include <gtest/gtest.h>

#include <set>

namespace tcsim::sim {
namespace {

/// Two SMs of four sub-cores, 64 warps at most; round peaks.
cfg::Machine machine() {
  cfg::Machine m;
  m.chip.sms = 2;
  m.chip.clock_mhz = 1000;
  m.limits.subcores = 4;
  m.limits.max_warps = 64;
  m.scheduler.issue_per_cycle = 1;
  m.smem.wavefront_cycles = 1;
  m.l1.sector_bytes = 32;
  m.l1.data_bytes_per_cycle = 128;
  m.l1.fill_bytes_per_cycle = 64;
  m.l1.store_bytes_per_cycle = 64;
  m.l2.slices = 8;
  m.l2.sector_bytes = 32;
  m.l2.slice_bytes_per_cycle = 64;
  m.dram.bytes_per_cycle = 100;
  return m;
}

RunCounters counters() {
  RunCounters run;
  run.sms.resize(2);
  run.cycles = 1000;
  run.kernel_cycles = 700;
  run.sms[0][Counter::cycles_active] = 600;
  run.sms[1][Counter::cycles_active] = 400;
  run.sms[0][Counter::warps_active] = 8 * 600;
  run.sms[1][Counter::warps_active] = 8 * 400;
  run.sms[0][Counter::inst_executed] = 900;
  run.sms[1][Counter::inst_executed] = 300;
  run.sms[0][Counter::inst_issued] = 900;
  run.sms[1][Counter::inst_issued] = 300;
  run.sms[0][Counter::thread_inst_executed] = 900 * 32;
  run.sms[1][Counter::issue_active] = 300;
  run.sms[0][Counter::issue_active] = 900;
  run.sms[0][Counter::tensor_cycles_active] = 1200;
  run.sms[1][Counter::tensor_cycles_active] = 800;
  run.sms[0][Counter::l1_sectors] = 40;
  run.sms[0][Counter::l1_sectors_hit] = 10;
  run.memory[Counter::l2_sectors] = 3200;
  run.memory[Counter::l2_sectors_hit] = 800;
  run.memory[Counter::dram_bytes_read] = 40000;
  run.memory[Counter::dram_bytes_write] = 10000;
  run.stalls[static_cast<size_t>(StallReason::selected)] = 1200;
  run.stalls[static_cast<size_t>(StallReason::long_scoreboard)] = 3600;
  run.stalls[static_cast<size_t>(StallReason::wait)] = 3200;
  run.launch = {.grid_ctas = 12, .block_threads = 128, .registers_per_thread = 96, .ctas_per_sm = 2, .warps_per_cta = 4, .limit_registers = 5};
  return run;
}

TEST(Metrics, RollUpsAreArithmetic) {
  const Metrics m = make_metrics(counters(), machine());
  EXPECT_EQ(m.at("sm__cycles_elapsed.max"), 1000);
  EXPECT_EQ(m.at("sm__cycles_active.avg"), 500);  // (600 + 400) / 2
  EXPECT_EQ(m.at("sm__cycles_active.min"), 400);
  EXPECT_EQ(m.at("sm__cycles_active.max"), 600);
  EXPECT_EQ(m.at("sm__cycles_active.sum"), 1000);
  EXPECT_EQ(m.at("smsp__inst_executed.sum"), 1200);
  EXPECT_EQ(m.at("smsp__inst_executed.avg"), 150);  // 1200 / 8 sub-cores
  EXPECT_EQ(m.count("smsp__inst_executed.max"), 0u);
  EXPECT_EQ(m.at("sm__inst_executed.avg.per_cycle_active"), 1.2);  // 1200 / 1000
  EXPECT_EQ(m.at("smsp__inst_executed.avg.per_cycle_active"), 0.3);
}

TEST(Metrics, PercentagesOfPeak) {
  const Metrics m = make_metrics(counters(), machine());
  // 2000 tensor sub-core cycles of 4 x 1000 active, 4 x 2000 elapsed.
  EXPECT_EQ(m.at("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"), 50);
  EXPECT_EQ(m.at("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"), 25);
  EXPECT_EQ(m.at("sm__pipe_tensor_cycles_active.max"), 300);  // 1200 / 4 pipes
  EXPECT_EQ(m.at("smsp__issue_active.avg.pct_of_peak_sustained_active"), 30);
  EXPECT_EQ(m.at("sm__warps_active.avg.pct_of_peak_sustained_active"), 12.5);  // 8 of 64
  EXPECT_EQ(m.at("lts__t_sectors.sum.pct_of_peak_sustained_elapsed"), 20);     // 3200 of 16 a cycle x 1000
  EXPECT_EQ(m.at("dram__throughput.avg.pct_of_peak_sustained_elapsed"), 50);   // 50000 of 100 x 1000
}

TEST(Metrics, RatiosAndHitRates) {
  const Metrics m = make_metrics(counters(), machine());
  EXPECT_EQ(m.at("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"),
            3);  // 3600 / 1200
  EXPECT_EQ(m.at("smsp__average_warps_issue_stalled_selected_per_issue_active.ratio"), 1);
  EXPECT_EQ(m.at("l1tex__t_sector_hit_rate.pct"), 25);
  EXPECT_EQ(m.at("lts__t_sector_hit_rate.pct"), 25);
  EXPECT_EQ(m.at("smsp__thread_inst_executed_per_inst_executed.ratio"), 24);  // 28800 / 1200
  EXPECT_EQ(m.at("gpu__time_duration.sum"), 1000);                            // 1000 cycles at 1 GHz, in ns
  EXPECT_EQ(m.at("launch__waves_per_multiprocessor"), 3);                     // 12 CTAs / (2 SMs x 2)
  EXPECT_EQ(m.at("launch__occupancy_limit_registers"), 5);
  EXPECT_EQ(m.at("sm__maximum_warps_per_active_cycle_pct"), 12.5);  // 2 x 4 of 64
}

TEST(Metrics, NothingRanGivesZerosNotNan) {
  RunCounters empty;
  for (const auto& [name, value] : make_metrics(empty, machine())) EXPECT_EQ(value, value) << name;
}

TEST(Metrics, EveryCounterReachesTheMetrics) {
  for (size_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (counter == Counter::cycles_elapsed) continue;  // comes from RunCounters::cycles
    RunCounters run;
    run.sms.resize(2);
    run.sms[1][counter] = 8;
    const Metrics m = make_metrics(run, machine());
    const double shown = counter == Counter::tensor_cycles_active ? 2 : 8;  // 8 sub-core cycles on 4 pipes
    EXPECT_EQ(m.at(std::string(info(counter).name) + ".sum"), shown) << info(counter).name;
  }
}

TEST(Metrics, VocabularyIsThere) {
  const Metrics m = make_metrics(counters(), machine());
  for (const char* name : {"sm__cycles_elapsed.max",
                           "sm__cycles_elapsed.avg",
                           "sm__cycles_active.avg",
                           "gpu__time_duration.sum",
                           "smsp__inst_executed.sum",
                           "smsp__inst_issued.sum",
                           "smsp__issue_active.avg.pct_of_peak_sustained_active",
                           "sm__warps_active.avg.pct_of_peak_sustained_active",
                           "dram__bytes_read.sum",
                           "dram__bytes_write.sum",
                           "lts__t_sectors.sum",
                           "lts__t_sectors_op_read.sum",
                           "lts__t_sectors_op_write.sum",
                           "lts__t_sector_hit_rate.pct",
                           "l1tex__t_sector_hit_rate.pct",
                           "l1tex__m_xbar2l1tex_read_bytes.sum",
                           "launch__grid_size",
                           "launch__block_size",
                           "launch__registers_per_thread",
                           "launch__shared_mem_per_block_dynamic",
                           "launch__waves_per_multiprocessor",
                           "launch__occupancy_limit_registers",
                           "launch__occupancy_limit_shared_mem",
                           "launch__occupancy_limit_warps",
                           "launch__occupancy_limit_blocks",
                           "launch__occupancy_limit_barriers",
                           "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
                           "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                           "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
                           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
                           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
                           "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum",
                           "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_stsm.sum",
                           "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
                           "smsp__inst_executed_op_shared_ld.sum",
                           "smsp__inst_executed_op_shared_st.sum",
                           "smsp__inst_executed_op_ldsm.sum",
                           "smsp__inst_executed_op_ldgsts.sum",
                           "sm__inst_executed_pipe_tensor.sum",
                           "sm__inst_executed_pipe_tensor_op_hmma.sum",
                           "sm__inst_executed_pipe_tensor_op_imma.sum",
                           "sm__inst_executed_pipe_tensor_op_dmma.sum",
                           "sm__inst_executed_pipe_tensor_op_gmma.sum",
                           "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
                           "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"}) {
    EXPECT_EQ(m.count(name), 1u) << name;
  }
}

TEST(StallShares, SumToOne) {
  const auto shares = stall_shares(counters().stalls);
  EXPECT_DOUBLE_EQ(shares[static_cast<size_t>(StallReason::long_scoreboard)], 0.45);  // 3600 / 8000
  double all = 0;
  for (double s : shares) all += s;
  EXPECT_DOUBLE_EQ(all, 1);
}

TEST(CounterTable, NamesAreUniqueAndExplained) {
  std::set<std::string_view> names;
  for (const CounterInfo& c : kCounterTable) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_FALSE(c.doc.empty()) << c.name;
    EXPECT_NE(c.name.find("__"), std::string_view::npos) << c.name;
  }
}

TEST(MetricUnit, AsNcuPrintsThem) {
  EXPECT_EQ(metric_unit("sm__cycles_elapsed.max"), "cycle");
  EXPECT_EQ(metric_unit("dram__bytes_read.sum"), "byte");
  EXPECT_EQ(metric_unit("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"), "%");
  EXPECT_EQ(metric_unit("gpu__time_duration.sum"), "nsecond");
  EXPECT_EQ(metric_unit("launch__registers_per_thread"), "register/thread");
}

}  // namespace
}  // namespace tcsim::sim
