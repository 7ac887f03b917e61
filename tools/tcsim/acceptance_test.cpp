// Every shipped kernel computes what the host's GEMM computes, within one unit in the last place of the
// output type plus K * 2^-23 * sum|a b| (wl::kAcceptance), and the same bits under all three orders of
// asynchronous copies.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/tcsim/acceptance.h"
#include "validation/compare/measurements.h"

namespace tcsim::tool {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name, ptx_path, launch_path, launch_text;
};

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  return std::move(content).str();
}

/// The Triton kernels of a data set at a size.
std::vector<Case> triton_cases(const std::string& folder, int64_t size) {
  Diagnostics diags;
  std::vector<Case> out;
  for (const compare::DataSet& set : compare::load_data(TCSIM_SOURCE_DIR "/validation/data/" + folder, diags))
    for (const auto& [kernel, facts] : set.kernels) {
      compare::Measurement row;
      row.kernel = kernel;
      row.m = row.n = row.k = size;
      if (auto text = set.launch_text(row, diags)) out.push_back({kernel, set.ptx_path(row), set.folder + "/launch.toml.in", *text});
    }
  EXPECT_FALSE(diags.has_errors()) << errors_of(diags);
  return out;
}

/// The generated Hopper kernels, as they were measured at 512^3.
std::vector<Case> hopper_cases() {
  Diagnostics diags;
  std::vector<Case> out;
  for (const compare::DataSet& set : compare::load_data(TCSIM_SOURCE_DIR "/validation/data/own_gemm_hopper", diags))
    for (const compare::Measurement& row : set.rows)
      if (auto text = set.launch_text(row, diags); text && row.size() == "512x512x512")
        out.push_back({row.kernel, set.ptx_path(row), set.folder + "/launch.toml.in", *text});
  EXPECT_FALSE(diags.has_errors()) << errors_of(diags);
  return out;
}

/// Workloads with a launch file beside their PTX.
std::vector<Case> shipped_cases() {
  std::vector<Case> out;
  for (const char* folder : {"cuda", "triton"})
    for (const auto& entry : fs::directory_iterator(fs::path(TCSIM_SOURCE_DIR) / "workloads" / folder))
      if (entry.path().extension() == ".toml")
        out.push_back(
            {entry.path().stem().string(), fs::path(entry.path()).replace_extension(".ptx").string(), entry.path().string(), slurp(entry.path())});
  std::sort(out.begin(), out.end(), [](const Case& a, const Case& b) { return a.ptx_path < b.ptx_path; });
  return out;
}

void expect_right_under_all_orders(const std::vector<Case>& cases, size_t least) {
  ASSERT_GE(cases.size(), least);
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const std::string ptx = slurp(each.ptx_path);
    const bool float8 = each.launch_text.find("\"e4m3\"") != std::string::npos || each.launch_text.find("\"e5m2\"") != std::string::npos;
    const wl::Tolerance& tolerance = float8 ? wl::kAcceptanceFloat8 : wl::kAcceptance;
    const FunctionalRun eager = run_functional(each.ptx_path, ptx, each.launch_path, each.launch_text, isa::AsyncOrder::eager, 1, tolerance);
    EXPECT_TRUE(eager.comparison.passed) << eager.comparison.str("C");
    EXPECT_GT(eager.comparison.elements, 0u);
    const FunctionalRun late = run_functional(each.ptx_path, ptx, each.launch_path, each.launch_text, isa::AsyncOrder::late);
    const FunctionalRun random = run_functional(each.ptx_path, ptx, each.launch_path, each.launch_text, isa::AsyncOrder::random, 12345);
    EXPECT_TRUE(late.d == eager.d) << "late differs from eager";
    EXPECT_TRUE(random.d == eager.d) << "random differs from eager";
    testing::Test::RecordProperty(each.name, eager.comparison.str("C"));
  }
}

TEST(Acceptance, TritonKernels256) { expect_right_under_all_orders(triton_cases("triton_gemm", 256), 32); }
TEST(Acceptance, TritonKernels512) { expect_right_under_all_orders(triton_cases("triton_gemm", 512), 32); }
TEST(Acceptance, TritonTmaKernels256) { expect_right_under_all_orders(triton_cases("triton_tma", 256), 12); }
TEST(Acceptance, TritonTmaKernels512) { expect_right_under_all_orders(triton_cases("triton_tma", 512), 12); }
TEST(Acceptance, TritonWgmmaKernels256) { expect_right_under_all_orders(triton_cases("triton_wgmma", 256), 24); }
TEST(Acceptance, TritonWgmmaKernels512) { expect_right_under_all_orders(triton_cases("triton_wgmma", 512), 24); }
TEST(Acceptance, HopperKernels512) { expect_right_under_all_orders(hopper_cases(), 41); }
TEST(Acceptance, ShippedWorkloads) { expect_right_under_all_orders(shipped_cases(), 8); }

}  // namespace
}  // namespace tcsim::tool
