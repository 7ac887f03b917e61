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
  explicit TimelineTest(std::string command = kGemm) : command_(std::move(command)) {}
  void SetUp() override {
    const auto done = box_.run(command_ + "--timeline t.json --json r.json");
    ASSERT_EQ(done.code, 0);
    trace_ = Json::parse(box_.read("t.json"));
    report_ = Json::parse(box_.read("r.json"));
  }
  /// Slices of a track must not overlap. Returns the number of tracks.
  size_t check_tracks() const {
    std::map<std::pair<int64_t, int64_t>, std::vector<std::pair<int64_t, int64_t>>> tracks;
    for (const Json& e : trace_["traceEvents"])
      if (e["ph"] == "X") tracks[{e["pid"].get<int64_t>(), e["tid"].get<int64_t>()}].push_back({cycle(e["ts"]), cycle(e["dur"])});
    for (auto& [track, list] : tracks) {
      std::sort(list.begin(), list.end());
      for (size_t i = 1; i < list.size(); ++i) EXPECT_LE(list[i - 1].first + list[i - 1].second, list[i].first) << "track " << track.second;
    }
    return tracks.size();
  }
  struct Arrow {
    int64_t from_track = 0, from = 0, to_track = 0, to = 0;
  };
  std::vector<Arrow> arrows(const std::string& name) const {
    std::map<int64_t, Arrow> found;
    for (const Json& e : trace_["traceEvents"]) {
      if ((e["ph"] != "s" && e["ph"] != "f") || e["name"] != name) continue;
      Arrow& arrow = found[e["id"].get<int64_t>()];
      (e["ph"] == "s" ? arrow.from_track : arrow.to_track) = e["tid"].get<int64_t>();
      (e["ph"] == "s" ? arrow.from : arrow.to) = cycle(e["ts"]);
    }
    std::vector<Arrow> out;
    for (const auto& [id, arrow] : found) out.push_back(arrow);
    return out;
  }
  /// Tracks whose name begins so.
  std::vector<int64_t> tracks(const std::string& begin) const {
    std::vector<int64_t> out;
    for (const Json& e : trace_["traceEvents"])
      if (e["name"] == "thread_name" && e["args"]["name"].get<std::string>().starts_with(begin)) out.push_back(e["tid"].get<int64_t>());
    return out;
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
  std::string command_;
  Json trace_, report_;
};

TEST_F(TimelineTest, SlicesOfATrackDoNotOverlap) {
  EXPECT_GE(check_tracks(), 15u);  // 12 warps, and at least one track each of copies, tensor cores and mbarriers
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
    if (e["ph"] != "s" && e["ph"] != "f") continue;
    EXPECT_TRUE((e["ph"] == "s" ? begins : ends).emplace(e["id"].get<int64_t>(), cycle(e["ts"])).second);
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

// The same C and K on Blackwell: per step of K 64 / 16 tcgen05.mma of 128x128x16, and one commit that frees the stage; one commit
// more says that the accumulator is done. Four epilogue warps read its 128 columns, each its 32 lanes.
constexpr int kMmas = kSteps * 4, kCommits = kSteps + 1, kColumns = 128, kEpilogueWarps = 4;

class Tcgen05TimelineTest : public TimelineTest {
 protected:
  Tcgen05TimelineTest() : TimelineTest("gemm --arch b200 --style blackwell-ws -m 128 -n 128 -k 256 --tile 128x128x64 --stages 2 --quiet ") {}
};

TEST_F(Tcgen05TimelineTest, OperationsAreAllThere) {
  check_tracks();
  const auto list = slices("tensor");
  ASSERT_EQ(list.size(), static_cast<size_t>(kMmas));
  for (const Json& e : list) {
    EXPECT_EQ(e["name"], "tcgen05.mma m128n128k16 f16");
    // A and B are 128 * 16 * 2 B each: max(N / 2, 8192 B / 128) = 64 cycles (SemiAnalysis B200 microbenchmarks). Whole cycles: one less at most.
    EXPECT_GE(cycle(e["dur"]), 63);
    EXPECT_LE(cycle(e["dur"]), 65);
  }
  EXPECT_EQ(slices("commit").size(), static_cast<size_t>(kCommits));
  double read = 0;
  for (const Json& e : slices("tmem")) read += e["args"]["columns"].get<double>();
  EXPECT_EQ(read, kColumns * kEpilogueWarps);
  EXPECT_EQ(tracks("TMEM lanes").size(), 4u);
  // Held from before the first operation until after the last read.
  ASSERT_EQ(slices("columns").size(), 1u);
  const Json owned = slices("columns")[0];
  EXPECT_GE(owned["args"]["columns"], kColumns);
  EXPECT_LT(cycle(owned["ts"]), cycle(list[0]["ts"]));
  EXPECT_GT(cycle(owned["ts"]) + cycle(owned["dur"]), cycle(slices("tmem").back()["ts"]));
}

TEST_F(Tcgen05TimelineTest, ArrowsLeadFromTheIssueToTheEpilogue) {
  const std::vector<int64_t> core = tracks("tensor core"), commits = tracks("commit"), barriers = tracks("mbarrier");
  ASSERT_EQ(core.size(), 1u);
  const auto holds = [](const std::vector<int64_t>& list, int64_t track) { return std::find(list.begin(), list.end(), track) != list.end(); };
  const auto issued = arrows("issued"), completed = arrows("completed"), arrives = arrows("arrives"), committed = arrows("committed");
  EXPECT_EQ(std::count_if(issued.begin(), issued.end(), [&](const Arrow& a) { return a.to_track == core[0]; }), kMmas);
  // The last operation before each commit -> the commit -> its mbarrier.
  EXPECT_EQ(std::count_if(completed.begin(), completed.end(),
                          [&](const Arrow& a) { return a.from_track == core[0] && holds(commits, a.to_track) && a.from <= a.to; }),
            kCommits);
  EXPECT_EQ(std::count_if(arrives.begin(), arrives.end(),
                          [&](const Arrow& a) { return holds(commits, a.from_track) && holds(barriers, a.to_track) && a.from <= a.to; }),
            kCommits);
  // Warps that a commit woke: the epilogue's at least.
  const auto epilogue = [&](const Arrow& a) {
    for (const std::string warp : {"warp 0 epilogue", "warp 1 epilogue", "warp 2 epilogue", "warp 3 epilogue"})
      if (holds(tracks(warp), a.to_track)) return true;
    return false;
  };
  EXPECT_EQ(std::count_if(committed.begin(), committed.end(), epilogue), kEpilogueWarps);
  // tcgen05.wait::ld names what it waits for.
  EXPECT_GE(arrows("accessed").size(), static_cast<size_t>(kEpilogueWarps));
  bool found = false;
  for (const Json& e : slices("wait")) found |= e["name"] == "tcgen05.wait::ld";
  EXPECT_TRUE(found);
}

TEST_F(Tcgen05TimelineTest, WaitsAreTheStallsOfTheWarps) {
  std::map<std::string, double> cycles;
  for (const Json& e : slices("wait")) cycles[e["args"]["reason"]] += static_cast<double>(cycle(e["dur"]));
  for (const Json& e : slices("issue")) cycles["selected"] += static_cast<double>(cycle(e["dur"]));
  for (const auto& [name, share] : report_["stalls"].items()) EXPECT_EQ(cycles[name], metric("sim__warp_cycles_stalled_" + name + ".sum")) << name;
}

// A pair of CTAs: both SMs' tensor cores work on the operations that the even CTA issues, and both timelines show it.
TEST(PairTimelineTest, BothTensorCoresWork) {
  Sandbox box;
  ASSERT_EQ(box.run("gemm --arch b200 --style blackwell-2cta -m 256 -n 128 -k 128 --quiet --timeline t.json").code, 0);
  const Json trace = Json::parse(box.read("t.json"));
  std::map<int64_t, std::vector<int64_t>> begins;  // by CTA
  for (const Json& e : trace["traceEvents"])
    if (e["ph"] == "X" && e["cat"] == "tensor") begins[e["pid"].get<int64_t>()].push_back(cycle(e["ts"]));
  ASSERT_EQ(begins.size(), 2u);
  EXPECT_EQ(begins.begin()->second, begins.rbegin()->second);
}

// A warp arrives at an mbarrier that waits for 33 threads, and waits for it: the picture shows the wait and the phase that do not end.
TEST(DeadlockTimelineTest, ShowsWhatDoesNotEnd) {
  Sandbox box;
  box.write("d.ptx", R"(.version 8.5
.target sm_90a
.address_size 64
.visible .entry d() {
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<2>;
  .shared .align 8 .b64 bar[1];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, bar;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra ready;
  mbarrier.init.shared::cta.b64 [%r2], 33;
ready:
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 %rd1, [%r2];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
  @!%p1 bra wait;
  ret;
}
)");
  box.write("d.toml", "entry = \"d\"\ngrid = [1]\nblock = [32]\n");
  EXPECT_EQ(box.run("run d.ptx --launch d.toml --arch h200 --quiet --timeline t.json").code, 3);
  const Json trace = Json::parse(box.read("t.json"));
  int waits = 0, phases = 0;
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    waits += e["name"] == "bar phase 0" && e["args"].value("ended_by", "") == "nothing";
    phases += e["name"] == "phase 0, unfinished" && e["args"]["mbarrier"] == "bar";
  }
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(phases, 1);
}

}  // namespace
}  // namespace tcsim::tool
