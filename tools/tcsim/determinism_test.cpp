// The same input twice, and with one and two threads: the same JSON but for the wall-clock fields, the same
// dumps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tcsim/program.h"

namespace tcsim::tool {
namespace {

const std::string kCase = TCSIM_SOURCE_DIR "/workloads/triton/mma_128x128x32_s3_w4";

/// Report of a run; wall-clock fields and the command (it names files and threads) taken out.
nlohmann::ordered_json report(const Sandbox& box, const std::string& options, const std::string& name) {
  const Outcome outcome = box.run("run " + kCase + ".ptx --launch " + kCase + ".toml --quiet --json " + name + ".json " + options);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  auto json = nlohmann::ordered_json::parse(box.read(name + ".json"), nullptr, false);
  EXPECT_TRUE(json.is_object());
  EXPECT_TRUE(json.contains("wall_s"));
  json.erase("wall_s");
  json["tcsim"].erase("command");
  return json;
}

TEST(Determinism, TwiceAndWithTwoThreads) {
  const Sandbox box;
  for (const std::string mode : {"full", "timing"}) {
    SCOPED_TRACE(mode);
    const std::string dump = mode == "full" ? " --dump C=" : "";
    const auto first = report(box, "--mode " + mode + (dump.empty() ? "" : dump + "1.bin"), "first");
    const auto second = report(box, "--mode " + mode + (dump.empty() ? "" : dump + "2.bin"), "second");
    const auto threads = report(box, "--threads 2 --mode " + mode + (dump.empty() ? "" : dump + "3.bin"), "threads");
    EXPECT_GT(first.at("cycles").get<uint64_t>(), 0u);
    EXPECT_EQ(first.dump(1), second.dump(1));
    EXPECT_EQ(first.dump(1), threads.dump(1));
    if (dump.empty()) continue;
    EXPECT_EQ(box.read("1.bin").size(), 512u * 512 * 2);
    EXPECT_TRUE(box.read("1.bin") == box.read("2.bin"));
    EXPECT_TRUE(box.read("1.bin") == box.read("3.bin"));
  }
}

TEST(Determinism, FullModeLeavesTheSameResultAsFunctionalMode) {
  const Sandbox box;
  EXPECT_EQ(box.run("run " + kCase + ".ptx --launch " + kCase + ".toml --quiet --dump C=full.bin").code, 0);
  EXPECT_EQ(box.run("run " + kCase + ".ptx --launch " + kCase + ".toml --quiet --mode functional --dump C=functional.bin").code, 0);
  EXPECT_TRUE(box.read("full.bin") == box.read("functional.bin"));
}

TEST(Determinism, JsonHasWhatTheContractNames) {
  const Sandbox box;
  const auto json = report(box, "--set smem.banks=32", "r");
  for (const char* key : {"tcsim", "arch", "kernel", "launch", "cycles", "time_us", "tflops", "simulated_warp_instructions", "metrics", "stalls",
                          "instructions", "barriers", "diagnostics", "check"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["kernel"], "gemm_ptr");
  EXPECT_EQ(json["launch"]["grid"], (std::vector<int>{16, 1, 1}));
  EXPECT_EQ(json["launch"]["dynamic_smem_bytes"], 32768);
  EXPECT_EQ(json["arch"]["set"]["smem.banks"], "32");
  EXPECT_EQ(json["metrics"]["sm__cycles_elapsed.max"], json["cycles"]);
  EXPECT_TRUE(json["check"]["passed"].get<bool>());
  EXPECT_EQ(json["check"]["elements"], 512 * 512);
  double sum = 0;
  for (const auto& share : json["stalls"]) sum += share.get<double>();
  EXPECT_NEAR(sum, 1, 1e-9);
}

}  // namespace
}  // namespace tcsim::tool
