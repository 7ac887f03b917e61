#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tools/tcsim/program.h"

namespace tcsim::tool {
namespace {

using testing::HasSubstr;

class Compare : public testing::Test {
 protected:
  Outcome run(const std::string& arguments) { return box_.run("compare " + arguments); }
  Sandbox box_;
};

// Our own raw page says the same as our report.
TEST_F(Compare, OwnPageIsEqual) {
  ASSERT_EQ(box_.run("gemm -m 128 -n 128 -k 64 --mode timing --json r.json --ncu-csv r.csv --quiet").code, 0);
  const Outcome out = run("r.json r.csv --csv d.csv --json d.json --top 0");
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(out.err, "");
  EXPECT_THAT(out.out, HasSubstr("sm__cycles_elapsed.max"));
  std::istringstream lines(box_.read("d.csv"));
  std::string line, metric, unit, ours, theirs;
  size_t metrics = 0;
  for (std::getline(lines, line); std::getline(lines, metric, ','); ++metrics) {
    std::getline(lines, unit, ','), std::getline(lines, ours, ','), std::getline(lines, theirs, ',');
    std::getline(lines, line);
    EXPECT_NEAR(std::stod(ours), std::stod(theirs), 1e-6 + 1e-9 * std::stod(ours)) << metric;  // the page has six digits after the point
  }
  EXPECT_GT(metrics, 20u);
  EXPECT_THAT(box_.read("d.json"), HasSubstr("\"only_ncu\": []"));
}

const char* kReport =
    R"({"kernel": "gemm", "launch": {"grid": [8, 1, 1], "block": [128, 1, 1]}, "metrics": {"sm__cycles_elapsed.max": 1500, "smsp__inst_executed.sum": 10}})";
const char* kPage =
    "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"sm__cycles_elapsed.max\",\"smsp__inst_executed.sum\",\"dram__cycles_active.avg\"\n"
    "\"\",\"\",\"\",\"\",\"cycle\",\"Kinst\",\"cycle\"\n"
    "\"0\",\"other\",\"(128, 1, 1)\",\"(8, 1, 1)\",\"7\",\"7\",\"7\"\n"
    "\"1\",\"void gemm(float*)\",\"(128, 1, 1)\",\"(8, 1, 1)\",\"1,000\",\"0.01\",\"5\"\n"
    "\"2\",\"void gemm(float*)\",\"(128, 1, 1)\",\"(4, 1, 1)\",\"2,000\",\"0.02\",\"5\"\n";

TEST_F(Compare, ChoosesTheKernel) {
  box_.write("r.json", kReport);
  box_.write("p.csv", kPage);
  const Outcome first = run("r.json p.csv");
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.err, HasSubstr("p.csv:4: warning: 2 launches of 'void gemm(float*)'"));
  EXPECT_THAT(first.out, HasSubstr("+50.0 %"));  // 1500 against 1000
  EXPECT_THAT(first.out, HasSubstr("only ncu has (1):\n  dram__cycles_active.avg"));
  const Outcome second = run("r.json p.csv --id 2");
  EXPECT_THAT(second.out, HasSubstr("-25.0 %"));  // against 2000
  EXPECT_THAT(second.out, HasSubstr("-50.0 %"));  // 10 against 0.02 Kinst
  EXPECT_THAT(second.err, HasSubstr("grid (4, 1, 1) in the page, (8,1,1) in the report"));
}

TEST_F(Compare, WrongInput) {
  box_.write("r.json", kReport);
  box_.write("p.csv", kPage);
  box_.write("bad.json", "{\n\"a\": 1,\n}");
  box_.write("plain.json", "{}");
  box_.write("plain.csv", "a,b\n1,2\n");
  const auto said = [&](const std::string& arguments) {
    const Outcome out = run(arguments);
    return fmt::format("{}: {}", out.code, out.err);
  };
  EXPECT_THAT(said("bad.json p.csv"), HasSubstr("1: bad.json:3: error: this is no JSON"));
  EXPECT_THAT(said("plain.json p.csv"), HasSubstr("1: plain.json: error: the report has no metrics"));
  EXPECT_THAT(said("r.json plain.csv"), HasSubstr("1: plain.csv:1:1: error: this is no CSV of ncu"));
  EXPECT_THAT(said("r.json nowhere.csv"), HasSubstr("1: nowhere.csv: error: cannot read the file"));
  EXPECT_THAT(said("r.json p.csv --kernel conv"), HasSubstr("1: p.csv: error: no kernel 'conv' in the page; it has other (id 0)"));
  EXPECT_THAT(said("r.json p.csv --id 9"), HasSubstr("1: p.csv: error: no id '9' in the page"));
  EXPECT_EQ(run("r.json").code, 2);
}

}  // namespace
}  // namespace tcsim::tool
