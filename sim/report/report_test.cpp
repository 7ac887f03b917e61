#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/report/text_parts.h"
#include "sim/report/writers.h"

namespace tcsim::sim {
namespace {

StallCycles stalls(std::initializer_list<std::pair<StallReason, uint64_t>> list) {
  StallCycles out{};
  for (const auto& [reason, cycles] : list) out[static_cast<size_t>(reason)] = cycles;
  return out;
}

/// A made-up run with round numbers: 20,000 cycles at 2000 MHz = 10 us; 2 GFLOP in 10 us = 200 TFLOPS.
Report sample() {
  Report r;
  r.version = "0.1.0";
  r.command = {"tcsim", "run", "k.ptx"};
  r.mode = "timing";
  r.arch = {.name = "h200",
            .sm = 90,
            .sms = 132,
            .max_warps_per_sm = 64,
            .clock_mhz = 2000,
            .values = 400,
            .assumed_values = 12,
            .set = {{"smem.banks", "64"}}};
  r.kernel = "gemm_ptr";
  r.launch = {.grid = {64, 1, 1},
              .block = {128, 1, 1},
              .dynamic_smem_bytes = 49152,
              .registers_per_thread = 96,
              .ctas_per_sm = 2,
              .warps_per_cta = 4,
              .limiter = "registers"};
  r.cycles = 20000;
  r.simulated_warp_instructions = 2000000;
  r.wall_s = 2;
  r.roofline = {.flops = 2e9,
                .peak_flops_per_cycle = 250000,
                .peak_name = "mma.sync f16",
                .dram_bytes_per_cycle = 2000,
                .l2_bytes_per_cycle = 6000,
                .dram_bytes = 10e6,
                .l2_bytes = 60e6};
  r.metrics = {{"sm__cycles_elapsed.max", 20000},
               {"launch__waves_per_multiprocessor", 0.25},
               {"sm__warps_active.avg.pct_of_peak_sustained_active", 6.25},
               {"smsp__issue_active.avg.pct_of_peak_sustained_elapsed", 15},
               {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 10000},
               {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 8000},
               {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", 2000},
               {"l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed", 25},
               {"lts__t_sectors.sum", 1875000},
               {"lts__t_sector_hit_rate.pct", 83.5},
               {"lts__t_sectors.sum.pct_of_peak_sustained_elapsed", 50},
               {"dram__bytes_read.sum", 8e6},
               {"dram__bytes_read.sum.pct_of_peak_sustained_elapsed", 20},
               {"dram__bytes_write.sum", 2e6},
               {"dram__bytes_write.sum.pct_of_peak_sustained_elapsed", 5}};
  r.stalls =
      stalls({{StallReason::long_scoreboard, 5000}, {StallReason::selected, 2000}, {StallReason::wait, 2000}, {StallReason::not_selected, 1000}});
  r.instructions = {{.index = 3,
                     .text = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5]",
                     .source = "gemm.py:31",
                     .place = "k.ptx:40",
                     .executed = 500,
                     .wavefronts = 8000,
                     .wavefronts_ideal = 2000,
                     .stalls = stalls({{StallReason::wait, 1500}, {StallReason::selected, 500}}),
                     .note = "lanes 0, 4 (2) meet in bank 0"},
                    {.index = 4,
                     .text = "ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1]",
                     .place = "k.ptx:41",
                     .executed = 100,
                     .stalls = stalls({{StallReason::long_scoreboard, 4500}, {StallReason::wait, 500}, {StallReason::not_selected, 1000}})}};
  r.barriers = {{.name = "bar.sync 0", .waits = 400, .wait_cycles = 8000}};
  Diagnostics diags;
  diags.warning("uninitialised-read", {"k.ptx", 12, 7}, "reads shared bytes that nobody wrote");
  r.diagnostics = diags.all();
  r.check = ReportCheck{.passed = true, .max_abs = 0.125, .max_ulp = 1, .rel_l2 = 2.1e-4, .elements = 1048576};
  r.not_modelled = {"power and clock changes"};
  return r;
}

TEST(WriteText, IsWhatAPersonReads) {
  const std::string expected =
      R"(gemm_ptr on h200 (sm_90, 132 SMs)               timing mode, 2 M warp instructions in 2.00 s (1 M/s)
----------------------------------------------------------------------------------------------------
20,000 cycles   10 us at 2000 MHz   200 TFLOPS   40.0 % of the mma.sync f16 peak
grid 64 x block 128: 64 CTAs of 4 warps, 49,152 B shared, 96 registers
occupancy: 2 CTAs = 8 of 64 warps an SM, limited by registers; 0.25 waves; 6.2 % achieved

Roofline  200 FLOP per DRAM byte (ridge 125), 33.3 FLOP per L2 byte (ridge 41.7)
  compute (mma.sync f16)              40.0 %  ########............
  L2 bandwidth                        50.0 %  ##########..........
  DRAM bandwidth                      25.0 %  #####...............
  shared-memory pipe                  25.0 %  #####...............
  issue slots                         15.0 %  ###.................
  no resource above 60 %: bound by latency and by too few CTAs; see where warps wait

Where warps wait  share of active warp-cycles; each has one reason
  long_scoreboard       50.0 %  ##########..........  waits for data from global memory, L1 or L2
  selected              20.0 %  ####................  issued
  wait                  20.0 %  ####................  waits for a result of fixed latency
  not_selected          10.0 %  ##..................  ready, but another warp issued

Costliest instructions  warp-cycles that warps waited before issuing them
   62.5 %  ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1]          k.ptx:41
           100 executed, long_scoreboard 90.0 %, wait 10.0 %
   18.8 %  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%...  gemm.py:31
           500 executed, wait 100 %

Bank conflicts  6,000 of 10,000 shared-memory wavefronts (60.0 %)
     4.0x  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%...  gemm.py:31
           8,000 wavefronts, 2,000 ideal
           lanes 0, 4 (2) meet in bank 0

Memory  bytes moved, hit rate, share of the peak over the run
  shared memory            10,000 wavefronts, 8,000 loads 2,000 stores
  L1                          0 B                      0.0 %
  L2                        60 MB  83.5 % hits        50.0 %
  DRAM read                  8 MB                     20.0 %
  DRAM write                 2 MB                      5.0 %

Barriers
  bar.sync 0                  400 waits, 20 cycles each

Result correct  1,048,576 elements, largest error 0.125, 1 ulp, relative L2 0.00021

Messages
  k.ptx:12:7: warning: reads shared bytes that nobody wrote

12 of 400 machine values are assumed; smem.banks = 64 (--set): tcsim arch show h200
not modelled: power and clock changes
)";
  EXPECT_EQ(write_text(sample(), {.unicode = false}), expected);
}

TEST(WriteText, FitsTheTerminalAndHasNoEscapesByDefault) {
  const std::string text = write_text(sample());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("█"), std::string::npos);
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    EXPECT_LE(text::width_of(text.substr(at, end - at)), text::kColumns) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(WriteText, ColoursOnlyWhenAsked) { EXPECT_NE(write_text(sample(), {.colour = true}).find("\x1b[1m"), std::string::npos); }

TEST(WriteText, FunctionalModeSaysNothingOfTime) {
  Report r = sample();
  r.mode = "functional";
  const std::string text = write_text(r);
  EXPECT_EQ(text.find("cycles"), std::string::npos) << text;
  EXPECT_EQ(text.find("assumed"), std::string::npos);
  EXPECT_NE(text.find("Result correct"), std::string::npos);
}

TEST(WriteText, AWrongResultStandsOut) {
  Report r = sample();
  r.check->passed = false;
  r.check->failures = 7;
  r.check->first_failure = "C[3, 7]: got 1.5, want 1.25";
  const std::string text = write_text(r);
  EXPECT_NE(text.find("Result WRONG  7 of 1,048,576 elements"), std::string::npos) << text;
  EXPECT_NE(text.find("first: C[3, 7]: got 1.5, want 1.25"), std::string::npos);
}

/// Four stages and 10,000 warp-cycles: warps waited 2,000 for data, 1,500 of them for stage 0, and 500 for free buffers.
Report with_mbarriers() {
  Report r = sample();
  using Kind = ReportBarrier::Kind;
  r.barriers.clear();
  for (uint64_t i = 0; i < 4; ++i) {
    const uint64_t data = i == 0 ? 1500 : i == 1 ? 500 : 0;
    r.barriers.push_back({.name = "full_bar[" + std::to_string(i) + "]",
                          .waits = 5,
                          .wait_cycles = data,
                          .phases = 8,
                          .kind = Kind::data,
                          .array = "full_bar",
                          .index = i,
                          .waiters = {{"k.ptx:200", 5, data}}});
  }
  r.barriers.push_back({.name = "empty_bar[0]",
                        .waits = 10,
                        .wait_cycles = 500,
                        .phases = 8,
                        .kind = Kind::arrivals,
                        .array = "empty_bar",
                        .index = 0,
                        .waiters = {{"k.ptx:90", 10, 500}}});
  return r;
}

TEST(WriteText, StagesOfAPipelineTogetherAndWhatTheySay) {
  Report r = with_mbarriers();
  const TextOptions ascii{.unicode = false};
  const std::string text = write_text(r, ascii);
  EXPECT_NE(text.find("  full_bar[0..3]        20.0 %  ####................  20 waits of 100 cycles for copies\n"
                      "           32 phases; most waiting at k.ptx:200, 75.0 % for stage 0\n"
                      "  empty_bar[0]           5.0 %  #...................  10 waits of 50 cycles for arrivals\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("more stages"), std::string::npos) << text;
  r.roofline.l2_bytes *= 1.5;  // 75 % of the L2 bandwidth
  EXPECT_NE(write_text(r, ascii).find("bandwidth is used up"), std::string::npos);
  r.barriers[4].wait_cycles = 6000;
  EXPECT_NE(write_text(r, ascii).find("consumers are the limit"), std::string::npos);
}

TEST(WriteJson, MbarriersHavePhasesAndWaiters) {
  const auto j = nlohmann::json::parse(write_json(with_mbarriers()));
  EXPECT_EQ(j["barriers"][1]["name"], "full_bar[1]");
  EXPECT_EQ(j["barriers"][1]["phases"], 8);
  EXPECT_EQ(j["barriers"][1]["kind"], "data");
  EXPECT_EQ(j["barriers"][1]["waiters"][0]["where"], "k.ptx:200");
  EXPECT_EQ(j["barriers"][4]["kind"], "arrivals");
}

TEST(WriteJson, HasTheFieldsOfTheContract) {
  const auto j = nlohmann::json::parse(write_json(sample()));
  EXPECT_EQ(j["arch"]["name"], "h200");
  EXPECT_EQ(j["arch"]["assumed_values"], 12);
  EXPECT_EQ(j["arch"]["set"]["smem.banks"], "64");
  EXPECT_EQ(j["kernel"], "gemm_ptr");
  EXPECT_EQ(j["launch"]["grid"], (std::vector<int>{64, 1, 1}));
  EXPECT_EQ(j["launch"]["registers_per_thread"], 96);
  EXPECT_EQ(j["launch"]["ctas_per_sm"], 2);
  EXPECT_EQ(j["cycles"], 20000);
  EXPECT_DOUBLE_EQ(j["time_us"].get<double>(), 10);
  EXPECT_DOUBLE_EQ(j["tflops"].get<double>(), 200);
  EXPECT_EQ(j["simulated_warp_instructions"], 2000000);
  EXPECT_TRUE(j["metrics"]["sm__cycles_elapsed.max"].is_number_integer());
  EXPECT_DOUBLE_EQ(j["metrics"]["lts__t_sector_hit_rate.pct"].get<double>(), 83.5);
  double all = 0;
  for (const auto& [name, share] : j["stalls"].items()) all += share.get<double>();
  EXPECT_DOUBLE_EQ(all, 1);
  EXPECT_DOUBLE_EQ(j["stalls"]["long_scoreboard"].get<double>(), 0.5);
  const auto& i = j["instructions"][0];
  EXPECT_EQ(i["index"], 3);
  EXPECT_EQ(i["source"], "gemm.py:31");
  EXPECT_EQ(i["conflicts"], 6000);
  EXPECT_EQ(i["stalls"]["wait"], 1500);
  EXPECT_EQ(j["barriers"][0]["wait_cycles"], 8000);
  EXPECT_EQ(j["diagnostics"][0]["where"], "k.ptx:12:7");
  EXPECT_EQ(j["diagnostics"][0]["kind"], "uninitialised-read");
  EXPECT_EQ(j["check"]["passed"], true);
  EXPECT_EQ(j["check"]["elements"], 1048576);
}

TEST(WriteJson, FunctionalModeHasNoCycles) {
  Report r = sample();
  r.mode = "functional";
  const auto j = nlohmann::json::parse(write_json(r));
  EXPECT_FALSE(j.contains("cycles"));
  EXPECT_FALSE(j.contains("metrics"));
  EXPECT_TRUE(j.contains("check"));
}

TEST(WriteJson, SameReportSameBytesAndBadTextIsNoError) {
  Report r = sample();
  EXPECT_EQ(write_json(r), write_json(r));
  r.kernel = "bad \xff byte";
  r.roofline.flops = 0;
  const auto j = nlohmann::json::parse(write_json(r));
  EXPECT_FALSE(j.contains("tflops"));
}

TEST(WriteNcuCsv, NamesUnitsThenOneRowAKernel) {
  Report r;
  r.kernel = "k \"x\"";
  r.arch.sm = 90;
  r.launch = {.grid = {8, 2, 1}, .block = {128, 1, 1}};
  r.metrics = {{"sm__cycles_elapsed.max", 1234}, {"lts__t_sector_hit_rate.pct", 83.5}};
  Report other = r;
  other.metrics.erase("lts__t_sector_hit_rate.pct");
  const std::vector<Report> both = {r, other};
  const char* expected =
      R"csv("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","lts__t_sector_hit_rate.pct","sm__cycles_elapsed.max"
"","","","","","","","","","","","%","cycle"
"0","0","tcsim","127.0.0.1","k ""x""","1","7","(128, 1, 1)","(8, 2, 1)","0","9.0","83.500000","1234"
"1","0","tcsim","127.0.0.1","k ""x""","1","7","(128, 1, 1)","(8, 2, 1)","0","9.0","n/a","1234"
)csv";
  EXPECT_EQ(write_ncu_csv(both), expected);
}

TEST(TextParts, Numbers) {
  EXPECT_EQ(text::count(21655), "21,655");
  EXPECT_EQ(text::count(999), "999");
  EXPECT_EQ(text::count(1048576), "1,048,576");
  EXPECT_EQ(text::amount(1234567, "B"), "1.23 MB");
  EXPECT_EQ(text::amount(999.6, "B"), "1.00 kB");
  EXPECT_EQ(text::amount(0, "B"), "0 B");
  EXPECT_EQ(text::amount(60e6, "B"), "60 MB");
  EXPECT_EQ(text::share(0.3125), "31.2 %");
  EXPECT_EQ(text::share(1), "100 %");
}

TEST(TextParts, FitAndPadCountDisplayColumns) {
  EXPECT_EQ(text::fit("abcdefgh", 6), "abc...");
  EXPECT_EQ(text::fit("äbcdefgh", 6), "äbc...");
  EXPECT_EQ(text::fit_place("kernel.cu:31", 12), "kernel.cu:31");
  EXPECT_EQ(text::fit_place("a_long_kernel_name.cu:31", 12), "a_long...:31");
  EXPECT_EQ(text::pad("ä", 3), "ä  ");
  EXPECT_EQ(text::pad_left("ä", 3), "  ä");
  const text::Paint paint{{.unicode = true}};
  EXPECT_EQ(paint.bar(0.5, 4), "██  ");
  EXPECT_EQ(paint.bar(2, 2), "██");          // a share above 1 is a bug elsewhere, never a broken line
  EXPECT_EQ(paint.bar(0.03125, 4), "▏   ");  // an eighth of a column
}

}  // namespace
}  // namespace tcsim::sim
