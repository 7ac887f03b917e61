// ptxas as an oracle: every generated kernel must assemble.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "workloads/gemm/gemm.h"

namespace tcsim::gemm {
namespace {

std::vector<Config> all() {
  std::vector<Config> list;
  for (const char* dtype : {"f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"})
    for (const char* swizzle : {"none", "padded", "xor"})
      for (uint32_t stages : {1u, 3u}) {
        const bool wide = std::string(dtype) == "s8" || std::string(dtype) == "u8";
        const bool fp8 = dtype[0] == 'e';
        list.push_back({.m = 256,
                        .n = 256,
                        .k = 256,
                        .tile = {128, 128, wide || fp8 ? 64u : 32u},
                        .stages = stages,
                        .swizzle = swizzle,
                        .dtype = dtype,
                        .acc = wide ? "s32" : "f32",
                        .sm = fp8 ? 89u : 80u});
      }
  for (const char* layout : {"tn", "nn", "nt", "tt"}) list.push_back({.m = 256, .n = 256, .k = 256, .tile = {64, 128, 64}, .layout = layout});
  list.push_back({.m = 100, .n = 120, .k = 88, .tile = {64, 64, 32}, .stages = 4});  // edges in all three dimensions
  list.push_back({.m = 256, .n = 256, .k = 256, .tile = {128, 256, 32}, .acc = "f16"});
  for (uint32_t sm : {75u, 80u})
    for (const char* swizzle : {"none", "padded"}) {
      list.push_back(
          {.m = 256, .n = 256, .k = 256, .style = "wmma", .tile = {64, 64, 32}, .stages = sm == 75 ? 1u : 2u, .swizzle = swizzle, .sm = sm});
      list.push_back({.m = 256, .n = 256, .k = 256, .style = "wmma", .tile = {64, 64, 32}, .stages = 1, .swizzle = swizzle, .acc = "f16", .sm = sm});
      list.push_back({.m = 256,
                      .n = 256,
                      .k = 256,
                      .style = "wmma",
                      .tile = {64, 64, 64},
                      .stages = 1,
                      .swizzle = swizzle,
                      .dtype = "s8",
                      .acc = "s32",
                      .sm = sm});
      list.push_back({.m = 256,
                      .n = 256,
                      .k = 256,
                      .style = "simt",
                      .tile = {128, 128, 8},
                      .stages = sm == 75 ? 1u : 2u,
                      .swizzle = swizzle,
                      .dtype = "f32",
                      .sm = sm});
    }
  for (const char* how : {"3xtf32", "bf16x9"}) list.push_back({.m = 256, .n = 256, .k = 256, .tile = {64, 64, 32}, .dtype = "f32", .emulate = how});
  return list;
}

/// Styles without cp.async. ptxas 13.0 begins at sm_75; Volta's instructions exist there, too, so that its kernels are assembled for it.
std::vector<Config> staged() {
  std::vector<Config> list;
  for (const char* style : {"volta", "turing"})
    for (const char* swizzle : {"none", "padded", "xor"})
      for (uint32_t stages : {1u, 2u})
        list.push_back({.m = 256, .n = 256, .k = 256, .style = style, .tile = {128, 128, 32}, .stages = stages, .swizzle = swizzle, .sm = 75});
  for (const char* style : {"volta", "turing"})
    list.push_back({.m = 104, .n = 120, .k = 88, .style = style, .tile = {64, 64, 32}, .stages = 2, .sm = 75});
  for (const char* layout : {"nn", "nt", "tt"})
    list.push_back({.m = 256, .n = 256, .k = 256, .style = "turing", .tile = {64, 64, 32}, .stages = 2, .layout = layout, .sm = 75});
  list.push_back({.m = 256, .n = 256, .k = 256, .style = "turing", .tile = {64, 64, 32}, .stages = 2, .acc = "f16", .sm = 75});
  for (const char* dtype : {"s8", "u8"})
    list.push_back({.m = 256, .n = 256, .k = 256, .style = "turing", .tile = {64, 64, 64}, .stages = 2, .dtype = dtype, .acc = "s32", .sm = 75});
  return list;
}

/// Style x type x epilogue, then layouts, tiles and pairs.
std::vector<Config> blackwell() {
  std::vector<Config> list;
  const auto add = [&](Config c) {
    c.m = c.n = c.k = 1536;
    c.acc = c.dtype == "s8" || c.dtype == "u8" ? "s32" : "f32";
    list.push_back(c);
  };
  for (const char* style : {"blackwell", "blackwell-2cta", "blackwell-ws"}) {
    for (const char* dtype : {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "mxfp8", "mxfp4", "nvfp4"})
      for (const char* epilogue : {"tma", "direct"})
        add({.style = style, .tile = {128, 128, swizzled_row(dtype)}, .dtype = dtype, .epilogue = epilogue});
    for (const char* layout : {"nn", "nt", "tt"}) add({.style = style, .tile = {128, 128, 64}, .layout = layout});
    add({.style = style, .tile = {128, 256, 64}, .stages = 4, .out = "f32"});
    add({.style = style, .tile = {128, 64, 128}, .stages = 1, .raster = style == std::string("blackwell-ws") ? "n" : "m"});
  }
  for (const char* dtype : {"f16", "mxfp8", "nvfp4"})
    add({.style = "blackwell-ws", .tile = {128, 128, swizzled_row(dtype)}, .dtype = dtype, .cluster = {2, 1}});
  return list;
}

const std::vector<std::string> kHopper = {"hopper-tma", "hopper-ws", "hopper-cooperative", "hopper-pingpong"};

/// Style x tile x stages x cluster x type x epilogue, as far as a style takes the tile.
std::vector<Config> hopper() {
  std::vector<Config> list;
  const auto add = [&](Config c) {
    c.m = c.n = c.k = 1536;  // a multiple of every tile and cluster below
    c.acc = c.dtype == "s8" ? "s32" : "f32";
    Diagnostics diags;
    generate(c, diags);
    if (!diags.has_errors()) list.push_back(c);
  };
  for (const std::string& style : kHopper) {
    for (const auto& tile : std::vector<std::array<uint32_t, 3>>{
             {64, 64, 64}, {64, 128, 64}, {128, 64, 64}, {128, 128, 64}, {128, 192, 64}, {128, 256, 64}, {256, 128, 64}})
      for (uint32_t stages : {1u, 4u}) add({.style = style, .tile = tile, .stages = stages});
    for (const auto& cluster : std::vector<std::array<uint32_t, 2>>{{2, 1}, {1, 2}, {2, 2}, {4, 1}})
      for (const char* epilogue : {"tma", "direct"})
        add({.style = style, .tile = {128, 128, 64}, .stages = 3, .cluster = cluster, .epilogue = epilogue});
    for (const char* dtype : {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8"})
      for (uint32_t bytes : {64u, 128u, 256u})
        add({.style = style,
             .tile = {128, 128,
                      bytes / (dtype[0] == 't'                      ? 4
                               : dtype[1] == '1' || dtype[0] == 'b' ? 2
                                                                    : 1)},
             .stages = 2,
             .dtype = dtype});
    for (const char* out : {"f32", "bf16", "f16"}) add({.style = style, .tile = {128, 64, 128}, .dtype = "e4m3", .out = out, .promote = true});
    for (const char* layout : {"nn", "nt", "tt"}) add({.style = style, .tile = {128, 128, 64}, .layout = layout, .cluster = {2, 1}});
    add({.style = style,
         .tile = {128, 128, 64},
         .setmaxnreg = false,
         .raster = style == "hopper-cooperative" || style == "hopper-pingpong" ? "n" : "m"});
  }
  return list;
}

/// ptxas accepts it and does not serialise its wgmma (C7510 to C7515 say so).
void expect_assembles(const Config& config, const std::filesystem::path& dir, const std::string& arch) {
  Diagnostics diags;
  const Program program = generate(config, diags);
  for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
  const std::string file = (dir / "h.ptx").string(), log = (dir / "h.log").string();
  std::ofstream(file) << program.ptx;
  const std::string command = std::string(TCSIM_PTXAS) + " -arch=" + arch + " -o " + (dir / "h.cubin").string() + " " + file + " > " + log + " 2>&1";
  const std::string what = config.style + " " + config.dtype + " " + program.launch_toml;
  EXPECT_EQ(std::system(command.c_str()), 0) << what;
  std::ifstream stream(log);
  const std::string said{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(said.find("C75"), std::string::npos) << what << said;
}

TEST(Gemm, HopperKernelsAssemble) {
  const auto dir = std::filesystem::temp_directory_path() / "tcsim_gemm_hopper";
  std::filesystem::create_directories(dir);
  const auto list = hopper();
  // 4 styles; hopper-tma and pingpong do not take M = 256, cooperative not M = 64, and so on: most of 4 x 41 remain.
  EXPECT_GT(list.size(), 120u);
  for (const Config& config : list) expect_assembles(config, dir, "sm_90a");
}

TEST(Gemm, BrokenHopperKernelsAssembleAndDiffer) {
  const auto dir = std::filesystem::temp_directory_path() / "tcsim_gemm_hopper_broken";
  std::filesystem::create_directories(dir);
  for (const std::string& style : kHopper) {
    const Config sound{.m = 512, .n = 512, .k = 512, .style = style, .tile = {128, 128, 64}, .stages = 3, .cluster = {2, 1}};
    Diagnostics diags;
    const Program good = generate(sound, diags);
    for (int fault = 1; fault <= static_cast<int>(Fault::no_init_sync); ++fault) {
      Config broken = sound;
      broken.fault = static_cast<Fault>(fault);
      const Program bad = generate(broken, diags);
      EXPECT_TRUE(bad.ptx != good.ptx || bad.launch_toml != good.launch_toml) << style << " fault " << fault;
      if (broken.fault != Fault::no_wgmma_wait) expect_assembles(broken, dir, "sm_90a");  // ptxas inserts the missing wait, and says so
    }
  }
}

TEST(Gemm, BlackwellKernelsAssemble) {
  const auto dir = std::filesystem::temp_directory_path() / "tcsim_gemm_blackwell";
  std::filesystem::create_directories(dir);
  for (const Config& config : blackwell()) expect_assembles(config, dir, "sm_100a");
}

TEST(Gemm, EveryGeneratedKernelAssembles) {
  const auto dir = std::filesystem::temp_directory_path() / "tcsim_gemm_assembles";
  std::filesystem::create_directories(dir);
  auto list = all();
  for (const Config& config : staged()) list.push_back(config);
  for (const Config& config : list) expect_assembles(config, dir, "sm_" + std::to_string(config.sm));
}

}  // namespace
}  // namespace tcsim::gemm
