#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "tools/ncu/compare.h"

namespace tcsim::ncu {
namespace {

// The raw page: names, units, one row a kernel.
const std::string kRaw = R"page(==PROF== Connected to process 1
==PROF== Disconnected
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","sm__cycles_elapsed.max","gpu__time_duration.sum","dram__bytes_read.sum","x__not_there.sum","lts__t_sectors.sum"
"","","","","","","","","","","","cycle","us","Mbyte","inst","sector"
"0","7","python","127.0.0.1","gemm","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","20,000","12.5","1.06","n/a","0"
"1","7","python","127.0.0.1","other<1, 2>","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","10","1","0","3","5"
)page";

// The details page: one row a metric, a rule without a metric.
const std::string kDetails =
    R"page("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"
"0","7","python","127.0.0.1","gemm","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Elapsed Cycles","cycle","20,000","","",""
"0","7","python","127.0.0.1","gemm","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Memory Throughput","%","41.5","","",""
"0","7","python","127.0.0.1","gemm","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","","","","","Bottleneck","OPT","low, very low"
"0","7","python","127.0.0.1","gemm","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","Memory Workload Analysis","Memory Throughput","Gbyte/s","300","","",""
"0","7","python","127.0.0.1","gemm","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","Launch Statistics","Dynamic Shared Memory Per Block","Kbyte/block","49.15","","",""
"0","7","python","127.0.0.1","gemm","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","Launch Statistics","Cluster Scheduling Policy","","PolicySpread","","",""
)page";

TEST(Page, Raw) {
  Diagnostics diags;
  const auto kernels = parse_page("raw.csv", kRaw, diags);
  ASSERT_FALSE(diags.has_errors());
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "gemm");
  EXPECT_EQ(kernels[0].grid, "(64, 1, 1)");
  EXPECT_EQ(kernels[0].place.line, 5u);  // of the file, ncu's own lines counted
  EXPECT_EQ(kernels[0].metrics.at("sm__cycles_elapsed.max").value, 20000);
  EXPECT_EQ(kernels[0].metrics.count("x__not_there.sum"), 0u);
  EXPECT_EQ(kernels[1].name, "other<1, 2>");
  EXPECT_NEAR(in_base_units(kernels[0].metrics.at("gpu__time_duration.sum")), 12.5e-6, 1e-12);
  EXPECT_NEAR(in_base_units(kernels[0].metrics.at("dram__bytes_read.sum")), 1.06e6, 1e-6);
}

TEST(Page, Details) {
  Diagnostics diags;
  const auto kernels = parse_page("details.csv", kDetails, diags);
  ASSERT_FALSE(diags.has_errors());
  ASSERT_EQ(kernels.size(), 1u);
  const auto& metrics = kernels[0].metrics;
  EXPECT_EQ(metrics.size(), 4u);
  EXPECT_EQ(metrics.at("sm__cycles_elapsed.max").value, 20000);
  // One label, two metrics: the unit tells.
  EXPECT_EQ(metrics.at("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed").value, 41.5);
  EXPECT_EQ(in_base_units(metrics.at("dram__bytes.sum.per_second")), 300e9);
  EXPECT_EQ(in_base_units(metrics.at("launch__shared_mem_per_block_dynamic")), 49150);
}

TEST(Page, Units) {
  EXPECT_EQ(unit_scale("Kbyte/block"), 1e3);
  EXPECT_EQ(unit_scale("msecond"), 1e-3);
  EXPECT_DOUBLE_EQ(unit_scale("cycle/nsecond"), 1e9);  // ncu's GHz
  EXPECT_EQ(unit_scale("%"), 1);
  EXPECT_EQ(unit_scale("register/thread"), 1);
}

TEST(Page, WrongFiles) {
  for (const auto& [text, place] :
       {std::pair{"", ":1:1: error"},
        {"a,b\n1,2\n", ":1:1: error"},
        {"\"ID\",\"Kernel Name\",\"a__b\"\n\"\",\"\",\"inst\"\n\"0\",\"k\"\n", ":3: error: 2 fields, the header has 3"}}) {
    Diagnostics diags;
    EXPECT_TRUE(parse_page("p.csv", text, diags).empty());
    ASSERT_TRUE(diags.has_errors()) << text;
    EXPECT_NE(diags.all()[0].str().find(place), std::string::npos) << diags.all()[0].str();
  }
}

// 25000 against 20000 cycles: +25 %, 0.2 of the larger. 12500 ns are 12.5 us: equal. 4 sectors against none: the largest.
TEST(Compare, LargestFirstInOurUnits) {
  Diagnostics diags;
  const auto kernels = parse_page("raw.csv", kRaw, diags);
  const Comparison c =
      compare({{"sm__cycles_elapsed.max", 25000}, {"gpu__time_duration.sum", 12500}, {"lts__t_sectors.sum", 4}, {"sim__own", 1}}, kernels[0]);
  ASSERT_EQ(c.differences.size(), 3u);
  EXPECT_EQ(c.differences[0].metric, "lts__t_sectors.sum");
  EXPECT_TRUE(std::isinf(c.differences[0].relative()));
  EXPECT_EQ(c.differences[1].metric, "sm__cycles_elapsed.max");
  EXPECT_DOUBLE_EQ(c.differences[1].relative(), 0.25);
  EXPECT_DOUBLE_EQ(c.differences[1].distance(), 0.2);
  EXPECT_NEAR(c.differences[2].theirs, 12500, 1e-6);
  EXPECT_EQ(c.only_ours, std::vector<std::string>{"sim__own"});
  EXPECT_EQ(c.only_theirs, std::vector<std::string>{"dram__bytes_read.sum"});
  EXPECT_NE(write_text(c, 0).find("+25.0 %"), std::string::npos);
  EXPECT_NE(write_csv(c).find("sm__cycles_elapsed.max,cycle,25000,20000,0.25\n"), std::string::npos);
  EXPECT_NE(write_json(c).find("\"only_ncu\""), std::string::npos);
}

// A page as ncu 2025 wrote it on an H200.
TEST(Page, MeasuredFile) {
  const std::string path = std::string(TCSIM_SOURCE_DIR) + "/validation/data/h200/launch_ncu.csv";
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  Diagnostics diags;
  const auto kernels = parse_page(path, text.str(), diags);
  ASSERT_FALSE(diags.has_errors());
  ASSERT_FALSE(kernels.empty());
  for (const Kernel& kernel : kernels) {
    EXPECT_GT(kernel.metrics.at("sm__cycles_elapsed.max").value, 0);
    EXPECT_GT(kernel.metrics.at("launch__registers_per_thread").value, 0);
  }
}

}  // namespace
}  // namespace tcsim::ncu
