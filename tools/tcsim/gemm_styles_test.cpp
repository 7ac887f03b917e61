// Every generated GEMM computes what the host's GEMM computes, within wl::kAcceptance, and the same bits under all three orders of
// asynchronous work.
#include <gtest/gtest.h>

#include "tools/tcsim/acceptance.h"
#include "workloads/gemm/gemm.h"

namespace tcsim::tool {
namespace {

using gemm::Config;

void expect_right(const Config& config) {
  Diagnostics diags;
  const gemm::Program program = gemm::generate(config, diags);
  ASSERT_TRUE(diags.all().empty()) << errors_of(diags);
  SCOPED_TRACE(fmt::format("{} {} {} tile {}x{}x{} stages {} cluster {} out {} {} {}", config.style, config.dtype, config.layout, config.tile[0],
                           config.tile[1], config.tile[2], config.stages, config.cluster[0], config.out, config.epilogue, config.emulate));
  const auto run = [&](isa::AsyncOrder order) { return run_functional("gemm.ptx", program.ptx, "gemm.toml", program.launch_toml, order); };
  const FunctionalRun eager = run(isa::AsyncOrder::eager);
  EXPECT_TRUE(eager.comparison.passed) << eager.comparison.str("C");
  EXPECT_EQ(run(isa::AsyncOrder::late).d, eager.d);
  EXPECT_EQ(run(isa::AsyncOrder::random).d, eager.d);
}

TEST(GemmStyles, VoltaAndTuring) {
  expect_right({.m = 128, .n = 128, .k = 96, .style = "volta", .tile = {64, 64, 32}, .stages = 2, .sm = 70});
  expect_right({.m = 100, .n = 120, .k = 88, .style = "volta", .tile = {64, 64, 32}, .stages = 1, .swizzle = "padded", .sm = 70});
  expect_right({.m = 128, .n = 64, .k = 64, .style = "wmma", .tile = {64, 64, 32}, .stages = 1, .swizzle = "padded", .sm = 70});
  expect_right({.m = 128, .n = 128, .k = 96, .style = "turing", .tile = {64, 64, 32}, .stages = 2, .sm = 75});
  expect_right({.m = 104, .n = 120, .k = 88, .style = "turing", .tile = {64, 64, 32}, .stages = 1, .layout = "nt", .sm = 75});
  expect_right({.m = 128, .n = 64, .k = 128, .style = "turing", .tile = {64, 64, 64}, .stages = 2, .dtype = "s8", .acc = "s32", .sm = 75});
}

// f32 from products of narrower types keeps f32's accuracy: kAcceptance is K units in the last place of f32.
TEST(GemmStyles, EmulatedF32) {
  for (const char* how : {"3xtf32", "bf16x9"})
    expect_right({.m = 128, .n = 64, .k = 128, .style = "ampere", .tile = {64, 64, 32}, .stages = 3, .dtype = "f32", .emulate = how});
}

const std::vector<std::string> kBlackwell = {"blackwell", "blackwell-2cta", "blackwell-ws"};

/// K of a tile: 128 bytes.
Config blackwell(const std::string& style, const std::string& dtype) {
  Config c{.m = 256,
           .n = 256,
           .style = style,
           .tile = {128, 128, gemm::swizzled_row(dtype)},
           .stages = 2,
           .dtype = dtype,
           .acc = dtype == "s8" || dtype == "u8" ? "s32" : "f32"};
  c.k = 3 * c.tile[2];  // more tiles of K than stages
  c.sms = 2;            // persistent: two tiles a CTA
  return c;
}

TEST(GemmStyles, BlackwellF16) {
  for (const std::string& style : kBlackwell) expect_right(blackwell(style, "f16"));
}

TEST(GemmStyles, BlackwellPersistentPairs) {
  Config c = blackwell("blackwell-ws", "f16");
  c.cluster = {2, 1};
  expect_right(c);
  c.n = 512, c.tile[1] = 256;  // all 512 columns of Tensor Memory
  expect_right(c);
}

TEST(GemmStyles, BlackwellTypes) {
  for (const std::string& style : kBlackwell)
    for (const char* dtype : {"bf16", "tf32", "e4m3", "e5m2", "s8", "u8"}) expect_right(blackwell(style, dtype));
}

TEST(GemmStyles, BlackwellBlockScaled) {
  for (const std::string& style : kBlackwell)
    for (const char* dtype : {"mxfp8", "mxfp4", "nvfp4"}) expect_right(blackwell(style, dtype));
}

TEST(GemmStyles, BlackwellShapes) {
  for (const std::string& style : kBlackwell) {
    Config c = blackwell(style, "f16");
    c.out = "f32", c.epilogue = "direct", c.stages = 1;
    expect_right(c);
    c = blackwell(style, "f16");
    for (const char* layout : {"nn", "nt", "tt"}) {
      c.layout = layout;
      expect_right(c);
    }
    c = blackwell(style, "mxfp8");
    c.tile[1] = style == "blackwell-ws" ? 128 : 256;
    c.out = "bf16";
    expect_right(c);
    c = blackwell(style, "f16");
    c.tile = {128, 64, 32}, c.stages = 4;
    expect_right(c);
  }
}

}  // namespace
}  // namespace tcsim::tool
