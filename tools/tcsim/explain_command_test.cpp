// tcsim explain as a user calls it: KERNEL or --style, --set, the table and the JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tcsim/program.h"

namespace tcsim::tool {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kGemm = "--arch a100 --style ampere -m 128 -n 128 -k 128 --tile 64x64x32 --stages 2";

TEST(ExplainCommand, KernelAndStyleAgreeWithRun) {
  const Sandbox box;
  ASSERT_EQ(box.run("gemm " + kGemm + " --mode timing --emit-ptx k.ptx --json run.json --quiet").code, 0);
  const Outcome generated = box.run("explain " + kGemm + " --json style.json");
  ASSERT_EQ(generated.code, 0) << generated.err;
  EXPECT_THAT(generated.out, HasSubstr("upper bound"));
  const Outcome kernel = box.run("explain k.ptx --launch k.ptx.toml --arch a100 --json kernel.json --quiet");
  ASSERT_EQ(kernel.code, 0) << kernel.err;
  EXPECT_EQ(kernel.out, "");
  const json run = json::parse(box.read("run.json")), style = json::parse(box.read("style.json")), file = json::parse(box.read("kernel.json"));
  EXPECT_EQ(style.at("cycles").get<double>(), run.at("cycles").get<double>());
  EXPECT_EQ(file.at("cycles").get<double>(), run.at("cycles").get<double>());
  // A gain of 0.25 is 25 % faster: the ratio of the two times less one.
  EXPECT_GE(style.at("limits").size(), 12u);
  for (const json& limit : style.at("limits")) {
    const double cycles = limit.at("cycles");
    EXPECT_NEAR(limit.at("gain").get<double>(), style.at("cycles").get<double>() / cycles - 1, 1e-9);
  }
}

// A hundred times the L2's latency: every load waits for it, and the run without it is that much faster.
TEST(ExplainCommand, SetChangesTheMachine) {
  const Sandbox box;
  const Outcome plain = box.run("explain " + kGemm + " --no-remedies --quiet --json plain.json");
  const Outcome slow = box.run("explain " + kGemm + " --no-remedies --quiet --set l2.near_cycles=20000 --set l2.far_cycles=20000 --json slow.json");
  ASSERT_EQ(plain.code, 0) << plain.err;
  ASSERT_EQ(slow.code, 0) << slow.err;
  const json fast = json::parse(box.read("plain.json")), late = json::parse(box.read("slow.json"));
  EXPECT_GT(late.at("cycles").get<double>(), fast.at("cycles").get<double>() + 40000);  // a load of operands and a store of C
  EXPECT_THAT(late.at("limits").at(0).at("name").get<std::string>(), testing::AnyOf("data comes too late", "L2 latency"));
}

TEST(ExplainCommand, UsageErrorsAreTwo) {
  const Sandbox box;
  EXPECT_EQ(box.run("explain k.ptx").code, 1);  // a file that is missing is said before what else it needs
  box.write("k.ptx", ".version 7.0\n.target sm_80\n.address_size 64\n");
  for (const char* options : {"", "k.ptx", "k.ptx --launch l.toml --style ampere", "--style kepler", "--style ampere --arch a100,h200",
                              "--style ampere --mode full", "--style ampere --html x", "--style ampere --ncu-csv x", "--style ampere --jobs 0"})
    EXPECT_EQ(box.run(std::string("explain ") + options).code, 2) << options;
  EXPECT_EQ(box.run("explain k.ptx --launch l.toml").code, 1);       // there is no such launch file
  EXPECT_EQ(box.run("explain --style ampere --stages 30").code, 1);  // does not fit
}

}  // namespace
}  // namespace tcsim::tool
