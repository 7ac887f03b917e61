// tcsim gemm --timeline: the picture says the same as the counters.
//
// The kernel: C of 128x128 from K = 256, one CTA, tile 128x128x64, two stages, a producer and two consumer warpgroups.
// So 4 steps of K, each loading 2 * 128 * 64 * 2 B = 32,768 B; the consumers' m64n128k16 are 2 * 4 steps * (64 / 16) = 32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/tcsim/program.h"

namespace tcsim::tool {
namespace {

using Json = nlohmann::json;

const std::string kGemm = "gemm --arch h200 --style hopper-ws -m 128 -n 128 -k 256 --tile 128x128x64 --stages 2 --consumers 2 --quiet ";
constexpr int kSteps = 4, kStages = 2, kWgmmas = 32;
constexpr double kLoadBytes = kSteps * 32768.0;

int64_t cycle(const Json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

class TimelineTest : public testing::Test {
protected:
  void SetUp() override {
    const auto done = box_.run(kGemm + "--timeline t.json --json r.json");
    ASSERT_EQ(done.code, 0);
    trace_ = Json::parse(box_.read("t.json"));
    report_ = Json::parse(box_.read("r.json"));
  }
  std::vector<Json> slices(const std::string& category) const {
    std::vector<Json> out;
    for (const Json& e : trace_["traceEvents"])
      if (e["ph"] == "X" && e["cat"] == category) out.push_back(e);
    return out;
  }
  double metric(const std::string& name) const { return report_["metrics"][name].get<double>(); }
  Json barrier(const std::string& name) const {
    for (const Json& b : report_["barriers"])
      if (b["name"] == name) return b;
    ADD_FAILURE() << "no barrier " << name;
    return {};
  }

  Sandbox box_;
  Json trace_, report_;
};

TEST_F(TimelineTest, SlicesOfATrackDoNotOverlap) {
  std::map<std::pair<int64_t, int64_t>, std::vector<std::pair<int64_t, int64_t>>> tracks;
  for (const Json& e : trace_["traceEvents"])
    if (e["ph"] == "X") tracks[{e["pid"].get<int64_t>(), e["tid"].get<int64_t>()}].push_back({cycle(e["ts"]), cycle(e["dur"])});
  // 12 warps, and at least one track each of copies, tensor cores and mbarriers.
  EXPECT_GE(tracks.size(), 15u);
  for (auto& [track, list] : tracks) {
    std::sort(list.begin(), list.end());
    for (size_t i = 1; i < list.size(); ++i) EXPECT_LE(list[i - 1].first + list[i - 1].second, list[i].first) << "track " << track.second;
  }
}

TEST_F(TimelineTest, EveryCopyLandsOnce) {
  double loaded = 0;
  for (const Json& e : slices("tma")) {
    EXPECT_TRUE(e["args"]["landed"].get<bool>());
    EXPECT_GT(cycle(e["dur"]), 0);
    if (e["name"] == "load") loaded += e["args"]["bytes"].get<double>();
  }
  EXPECT_EQ(loaded, kLoadBytes);
  EXPECT_EQ(static_cast<double>(slices("tma").size()), metric("sim__tma_instructions.sum"));
}

TEST_F(TimelineTest, MatrixInstructionsAreAllThere) {
  const auto list = slices("tensor");
  EXPECT_EQ(list.size(), static_cast<size_t>(kWgmmas));
  EXPECT_EQ(metric("sm__inst_executed_pipe_tensor_op_gmma.sum"), 4 * kWgmmas);  // one a warp of the warpgroup
  // N = 128 columns at two a cycle (arXiv 2501.12084, Table 9).
  for (const Json& e : list) EXPECT_GE(cycle(e["dur"]), 63);
}

TEST_F(TimelineTest, WaitsAreTheStallsOfTheWarps) {
  std::map<std::string, double> cycles;
  for (const Json& e : slices("wait")) cycles[e["args"]["reason"]] += static_cast<double>(cycle(e["dur"]));
  for (const Json& e : slices("issue")) cycles["selected"] += static_cast<double>(cycle(e["dur"]));
  for (const auto& [name, share] : report_["stalls"].items()) EXPECT_EQ(cycles[name], metric("sim__warp_cycles_stalled_" + name + ".sum")) << name;
}

TEST_F(TimelineTest, ArrowsHaveTwoEndsInOrder) {
  std::map<int64_t, int64_t> begins, ends;
  for (const Json& e : trace_["traceEvents"]) {
    if (e["ph"] == "s") EXPECT_TRUE(begins.emplace(e["id"].get<int64_t>(), cycle(e["ts"])).second);
    if (e["ph"] == "f") EXPECT_TRUE(ends.emplace(e["id"].get<int64_t>(), cycle(e["ts"])).second);
  }
  // One from each issue at least.
  EXPECT_GE(begins.size(), slices("tma").size() + slices("tensor").size());
  ASSERT_EQ(begins.size(), ends.size());
  for (const auto& [id, at] : begins) EXPECT_LE(at, ends.at(id));
}

TEST_F(TimelineTest, BarriersCountTheirPhases) {
  std::map<std::string, int> phases;
  for (const Json& e : slices("mbarrier")) ++phases[e["args"]["mbarrier"]];
  for (int stage = 0; stage < kStages; ++stage) {
    const std::string name = "full_bar[" + std::to_string(stage) + "]";
    EXPECT_EQ(barrier(name)["phases"], kSteps / kStages);
    EXPECT_EQ(phases[name], kSteps / kStages);
    EXPECT_EQ(barrier(name)["kind"], "data");
    EXPECT_GT(barrier(name)["wait_cycles"], 0);  // the first load of each stage is waited for
  }
  EXPECT_EQ(barrier("empty_bar[0]")["kind"], "arrivals");
}

TEST_F(TimelineTest, RecordingChangesNoCycle) {
  ASSERT_EQ(box_.run(kGemm + "--json off.json").code, 0);
  const Json off = Json::parse(box_.read("off.json"));
  EXPECT_EQ(off["metrics"], report_["metrics"]);
}

TEST_F(TimelineTest, ChosenCtasWithAnyNumberOfThreads) {
  const std::string four = "gemm --arch h200 --style hopper-ws -m 256 -n 256 -k 128 --tile 128x128x64 --stages 2 --quiet --timeline-ctas 1,3 ";
  ASSERT_EQ(box_.run(four + "--timeline one.json").code, 0);
  ASSERT_EQ(box_.run(four + "--timeline three.json --threads 3").code, 0);
  EXPECT_EQ(box_.read("one.json"), box_.read("three.json"));
  std::vector<std::string> processes;
  const Json trace = Json::parse(box_.read("one.json"));
  for (const Json& e : trace["traceEvents"])
    if (e["name"] == "process_name") processes.push_back(e["args"]["name"]);
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_TRUE(processes[0].starts_with("CTA 1 ")) << processes[0];
  EXPECT_TRUE(processes[1].starts_with("CTA 3 ")) << processes[1];
  EXPECT_EQ(box_.run(four + "--timeline-ctas 4 --timeline x.json").code, 1);
}

} // namespace
} // namespace tcsim::tool
