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
        list.push_back({.m = 256, .n = 256, .k = 256, .tile = {128, 128, wide || fp8 ? 64u : 32u}, .stages = stages, .swizzle = swizzle, .dtype = dtype,
                        .acc = wide ? "s32" : "f32", .sm = fp8 ? 89u : 80u});
      }
  for (const char* layout : {"tn", "nn", "nt", "tt"}) list.push_back({.m = 256, .n = 256, .k = 256, .tile = {64, 128, 64}, .layout = layout});
  list.push_back({.m = 100, .n = 120, .k = 88, .tile = {64, 64, 32}, .stages = 4});  // edges in all three dimensions
  list.push_back({.m = 256, .n = 256, .k = 256, .tile = {128, 256, 32}, .acc = "f16"});
  for (uint32_t sm : {75u, 80u})
    for (const char* swizzle : {"none", "padded"}) {
      list.push_back({.m = 256, .n = 256, .k = 256, .style = "wmma", .tile = {64, 64, 32}, .stages = sm == 75 ? 1u : 2u, .swizzle = swizzle, .sm = sm});
      list.push_back({.m = 256, .n = 256, .k = 256, .style = "wmma", .tile = {64, 64, 32}, .stages = 1, .swizzle = swizzle, .acc = "f16", .sm = sm});
      list.push_back({.m = 256, .n = 256, .k = 256, .style = "wmma", .tile = {64, 64, 64}, .stages = 1, .swizzle = swizzle, .dtype = "s8", .acc = "s32", .sm = sm});
      list.push_back({.m = 256, .n = 256, .k = 256, .style = "simt", .tile = {128, 128, 8}, .stages = sm == 75 ? 1u : 2u, .swizzle = swizzle, .dtype = "f32", .sm = sm});
    }
  return list;
}

TEST(Gemm, EveryGeneratedKernelAssembles) {
  const auto dir = std::filesystem::temp_directory_path() / "tcsim_gemm_assembles";
  std::filesystem::create_directories(dir);
  for (const Config& config : all()) {
    Diagnostics diags;
    const Program program = generate(config, diags);
    for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
    const auto file = dir / "k.ptx";
    std::ofstream(file) << program.ptx;
    const std::string command = std::string(TCSIM_PTXAS) + " -arch=sm_" + std::to_string(config.sm) + " -o " + (dir / "k.cubin").string() + " " + file.string();
    EXPECT_EQ(std::system(command.c_str()), 0) << config.style << " " << config.dtype << " " << config.swizzle << " " << config.layout << " sm_" << config.sm;
  }
}

}  // namespace
}  // namespace tcsim::gemm
