// The readings load, name machines and micro-kernels that exist, and ptxas (where the machine has it) assembles what it knows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "validation/published/probe.h"

namespace tcsim::published {
namespace {

const std::string kFolder = std::string(TCSIM_SOURCE_DIR) + "/validation/data/published";

std::vector<Reading> readings() {
  Diagnostics diags;
  auto out = load_readings(kFolder, diags);
  for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
  return out;
}

const cfg::Machine& machine(const std::string& name) {
  static std::map<std::string, cfg::Machine> all;
  if (!all.contains(name)) {
    Diagnostics diags;
    auto m = cfg::load_machine(name, {}, diags);
    for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
    all[name] = m ? *m : cfg::Machine{};
  }
  return all[name];
}

TEST(Readings, AllOfTheTablesAreThere) {
  std::map<std::string, size_t> rows;
  for (const Reading& r : readings()) {
    ++rows[r.quantity];
    EXPECT_GT(r.value, 0) << r.place.str();
    EXPECT_FALSE(r.source.empty()) << r.place.str();
    const std::set<std::string> marks = {"raw", "paper", "whitepaper", "derived", "unconfirmed"};
    EXPECT_TRUE(marks.contains(r.mark)) << r.place.str() << " " << r.mark;
  }
  // umma_throughput and umma_latency of microbench-blackwell: 6 formats x layouts x groups x 6 N.
  EXPECT_EQ(rows["tcgen05_interval"], 264u);
  EXPECT_EQ(rows["tcgen05_latency"], 264u);
  EXPECT_EQ(rows["tma_interval"], 24u);
  EXPECT_EQ(rows["ldgsts_bandwidth"], 116u);
}

TEST(Tcgen05Case, IsReadFromTheTablesWords) {
  const auto c = parse_tcgen05_case("MXF8 TS cta_group::2 m256n112");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->format, "MXF8");
  EXPECT_TRUE(c->a_in_tensor_memory);
  EXPECT_EQ(c->cta_group, 2u);
  EXPECT_EQ(c->m, 256u);
  EXPECT_EQ(c->n, 112u);
  EXPECT_FALSE(parse_tcgen05_case("FP7 TS cta_group::2 m256n112"));
  EXPECT_FALSE(parse_tcgen05_case("BF16 TS cta_group::3 m256n112"));
}

#ifdef TCSIM_PTXAS
/// Every kernel for an architecture goes into one file: ptxas starts once. ptxas 13 has dropped sm_70.
TEST(Probes, PtxasTakesTheKernels) {
  std::map<uint32_t, std::string> files;
  std::map<uint32_t, std::set<std::string>> seen;
  size_t b200_rows = 0;
  for (const Reading& r : readings()) {
    if (r.table.starts_with("b200/") && b200_rows++ % 7 != 0) continue;  // their kernels differ in numbers only
    const cfg::Machine& m = machine(r.machine);
    const auto probe = make_probe(r, m);
    if (!probe) continue;
    for (const published::Run& run : probe->runs) {
      const uint32_t sm = m.chip.sm;
      if (sm < 75 || !seen[sm].insert(run.ptx).second) continue;
      const size_t header = ptx_header(sm).size();
      std::string text = run.ptx.substr(header);
      const std::string shared = ".extern .shared .align 1024 .b8 smem[];\n";
      if (text.starts_with(shared)) text = text.substr(shared.size());
      if (files[sm].empty()) files[sm] = run.ptx.substr(0, header) + shared;
      const size_t name = text.find("k(");
      files[sm] += text.substr(0, name) + fmt::format("k{}(", seen[sm].size()) + text.substr(name + 2);
    }
  }
  EXPECT_EQ(files.size(), 6u);  // sm_75, 80, 89, 90, 100, 120
  const auto folder = std::filesystem::temp_directory_path() / "tcsim_probe_text_test";
  std::filesystem::create_directories(folder);
  for (const auto& [sm, text] : files) {
    const auto ptx = folder / fmt::format("sm_{}.ptx", sm);
    std::ofstream(ptx) << text;
    const std::string command = fmt::format("{} -O0 -arch=sm_{}{} {} -o {}.cubin > {}.log 2>&1", TCSIM_PTXAS, sm, sm >= 90 ? "a" : "", ptx.string(),
                                            ptx.string(), ptx.string());
    const int rc = std::system(command.c_str());
    std::ifstream log(ptx.string() + ".log");
    EXPECT_EQ(rc, 0) << std::string(std::istreambuf_iterator<char>(log), {}).substr(0, 2000);
  }
  std::filesystem::remove_all(folder);
}
#endif

}  // namespace
}  // namespace tcsim::published
