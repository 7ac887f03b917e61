#include <gtest/gtest.h>

#include <set>

#include "workloads/gemm/common.h"

namespace tcsim::gemm {
namespace {

// 64-byte rows (32 f16): four chunks a row, two rows in 128 bytes. Eight consecutive rows at one chunk index must fall
// into eight different 16-byte bank groups: group = offset / 16 % 8.
TEST(SmemTile, XorSpreadsEightRowsOverAllBankGroups) {
  for (uint32_t row_bytes : {16u, 32u, 64u, 128u, 256u}) {
    const SmemTile tile{64, row_bytes, "xor"};
    for (uint32_t chunk = 0; chunk < tile.chunks(); ++chunk) {
      std::set<uint32_t> groups;
      for (uint32_t row = 0; row < 8; ++row) groups.insert(tile.offset(row, chunk) / 16 % 8);
      EXPECT_EQ(groups.size(), 8u) << row_bytes << " chunk " << chunk;
    }
  }
}

TEST(SmemTile, XorIsABijection) {
  const SmemTile tile{16, 64, "xor"};
  std::set<uint32_t> offsets;
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t chunk = 0; chunk < 4; ++chunk) offsets.insert(tile.offset(row, chunk));
  EXPECT_EQ(offsets.size(), 64u);
  EXPECT_EQ(*offsets.rbegin(), 16u * 64 - 16);
}

// By hand: row 3 of a 64-byte-row tile: key = 3 >> 1 & 3 = 1, chunk 2 -> 3; offset = 3 * 64 + 3 * 16 = 240.
TEST(SmemTile, XorOffsetByHand) { EXPECT_EQ((SmemTile{8, 64, "xor"}.offset(3, 2)), 240u); }
TEST(SmemTile, PaddedPitch) { EXPECT_EQ((SmemTile{8, 64, "padded"}.offset(3, 2)), 3u * 80 + 32); }

TEST(Gemm, SharedMemoryBudget) {
  Diagnostics diags;
  // 128x128x32 f16, 3 stages: (128 * 64 + 128 * 64) * 3 = 49152 bytes.
  const Program p = generate({.m = 512, .n = 512, .k = 512}, diags);
  EXPECT_EQ(p.dynamic_smem_bytes, 49152u);
  EXPECT_EQ(p.grid[0] * p.grid[1], 16u);
  EXPECT_FALSE(diags.has_errors());
}

TEST(Gemm, BadConfigurationsSayWhat) {
  const auto first = [](const Config& c) {
    Diagnostics diags;
    generate(c, diags);
    return diags.all().empty() ? std::string() : diags.all().front().text;
  };
  EXPECT_NE(first({.style = "kepler"}).find("expected simt, wmma, volta, turing, ampere, hopper-tma"), std::string::npos);
  EXPECT_NE(first({.tile = {128, 100, 32}}).find("powers of two"), std::string::npos);
  EXPECT_NE(first({.dtype = "f64"}).find("dtype f64"), std::string::npos);
  EXPECT_NE(first({.swizzle = "banana"}).find("none, padded or xor"), std::string::npos);
  EXPECT_NE(first({.style = "wmma", .swizzle = "xor"}).find("leading dimension"), std::string::npos);
  EXPECT_NE(first({.dtype = "e4m3", .sm = 80}).find("sm_89"), std::string::npos);
}

// What a style would leave out is refused, so that a comparison of two values cannot compare a kernel with itself.
TEST(Gemm, OptionsThatAStyleDoesNotTake) {
  const auto errors = [](const Config& c) {
    Diagnostics diags;
    generate(c, diags);
    std::string out;
    for (const Diagnostic& each : diags.all()) out += each.text + "\n";
    return out;
  };
  EXPECT_EQ(errors({.style = "hopper-tma", .tile = {128, 128, 64}, .swizzle = "xor"}),
            "--swizzle xor is for simt volta turing ampere wmma; hopper-tma uses TMA's swizzle\n");
  EXPECT_EQ(errors({.style = "hopper-tma", .tile = {128, 128, 64}, .swizzle = "none"}), "");
  EXPECT_EQ(errors({.cluster = {2, 1}, .out = "f32"}),
            "--cluster is for the Hopper and Blackwell styles; ampere does not take it\n--out is for the Hopper and Blackwell styles; ampere does "
            "not take it\n");
  for (const char* style : {"ampere", "hopper-cooperative", "blackwell"})
    EXPECT_NE(errors({.style = style, .consumers = 2}).find("--consumers is for hopper-ws"), std::string::npos) << style;
  EXPECT_NE(errors({.promote = true}).find("--promote is for the Hopper styles; ampere does not take it"), std::string::npos);
  EXPECT_NE(errors({.style = "hopper-ws", .tile = {128, 128, 64}, .warps = {2, 2}}).find("--warps is for volta turing ampere wmma"),
            std::string::npos);
  EXPECT_NE(errors({.style = "hopper-ws", .tile = {128, 128, 64}, .raster = "n"}).find("--raster is for the persistent styles"), std::string::npos);
  EXPECT_NE(errors({.style = "hopper-tma", .tile = {128, 128, 64}, .setmaxnreg = false}).find("--setmaxnreg is for hopper-ws"), std::string::npos);
  EXPECT_EQ(errors({.tile = {100, 100, 32}}), "tile 100x100x32: expected powers of two up to 512\n");
}

Program sound(const Config& config) {
  Diagnostics diags;
  Program program = generate(config, diags);
  for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
  return program;
}

TEST(Hopper, SharedMemoryBudget) {
  // A and B: 128 rows x 128 bytes = 16384 each, four times; two consumers x two slots x 64 rows x 128 bytes; 1024 to align.
  const Program p = sound({.m = 512, .n = 512, .k = 512, .style = "hopper-ws", .tile = {128, 128, 64}, .stages = 4});
  EXPECT_EQ(p.dynamic_smem_bytes, 4u * 2 * 16384 + 4u * 8192 + 1024);
  EXPECT_EQ(p.block[0], 384u);
  // The direct epilogue needs no slots.
  EXPECT_EQ(sound({.m = 512, .n = 512, .k = 512, .style = "hopper-tma", .tile = {64, 64, 64}, .stages = 1, .epilogue = "direct"}).dynamic_smem_bytes,
            2u * 8192 + 1024);
}

TEST(Hopper, MulticastSplitsTheBoxAndExpectsTheWholeTile) {
  const Program p = sound({.m = 512, .n = 512, .k = 512, .style = "hopper-ws", .tile = {128, 128, 64}, .stages = 2, .cluster = {2, 1}});
  ASSERT_EQ(p.tensor_maps.size(), 3u);
  EXPECT_EQ(p.tensor_maps[0].box, (std::array<uint32_t, 2>{64, 128}));  // A: one CTA along N
  EXPECT_EQ(p.tensor_maps[1].box, (std::array<uint32_t, 2>{64, 64}));   // B: each of the two CTAs along M brings half
  EXPECT_EQ(p.tensor_maps[2].box, (std::array<uint32_t, 2>{64, 64}));   // C: 128 bytes by 64 rows
  // (128 + 128) rows x 128 bytes.
  EXPECT_NE(p.ptx.find("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r"), std::string::npos);
  EXPECT_NE(p.ptx.find("], 32768;"), std::string::npos);
  // Two consumer warpgroups of four warps, in two CTAs.
  EXPECT_NE(p.ptx.find("], 16;  // empty_bar[0]"), std::string::npos);
  EXPECT_NE(p.ptx.find(".reqnctapercluster 2, 1, 1"), std::string::npos);
  EXPECT_NE(p.launch_toml.find("cluster = [2, 1, 1]"), std::string::npos);
  EXPECT_NE(p.launch_toml.find("{ tensormap = \"mapA\" }"), std::string::npos);
}

TEST(Hopper, PersistentGrids) {
  const auto grid = [](uint32_t size, std::array<uint32_t, 2> cluster, uint32_t sms) {
    return sound({.m = size, .n = size, .k = 512, .style = "hopper-cooperative", .tile = {128, 128, 64}, .cluster = cluster, .sms = sms}).grid;
  };
  EXPECT_EQ(grid(2048, {1, 1}, 132), (std::array<uint32_t, 3>{132, 1, 1}));  // 256 tiles
  EXPECT_EQ(grid(512, {1, 1}, 132), (std::array<uint32_t, 3>{16, 1, 1}));    // 16 tiles
  EXPECT_EQ(grid(2048, {1, 2}, 133), (std::array<uint32_t, 3>{66, 2, 1}));   // 66 clusters of 2
}

TEST(Hopper, RowsOfTheSharedTileChooseTheSwizzle) {
  const auto swizzle = [](const std::string& dtype, uint32_t k) {
    return sound({.m = 512, .n = 512, .k = 512, .style = "hopper-tma", .tile = {128, 64, k}, .dtype = dtype}).tensor_maps[0].swizzle;
  };
  EXPECT_EQ(swizzle("f16", 16), "32B");
  EXPECT_EQ(swizzle("f16", 32), "64B");
  EXPECT_EQ(swizzle("f16", 128), "128B");
  EXPECT_EQ(swizzle("e4m3", 64), "64B");
  EXPECT_EQ(swizzle("tf32", 32), "128B");
}

TEST(Hopper, BadConfigurationsSayWhat) {
  const auto first = [](Config c) {
    Diagnostics diags;
    if (c.style == "ampere") c.style = "hopper-ws";
    if (c.dtype == "s8") c.acc = "s32";
    generate(c, diags);
    return diags.all().empty() ? std::string() : diags.all().front().text;
  };
  EXPECT_NE(first({.m = 1000, .tile = {128, 128, 64}}).find("M = 1000 is not a multiple of 128"), std::string::npos);
  EXPECT_NE(first({.m = 1152, .tile = {128, 128, 64}, .cluster = {2, 1}}).find("M = 1152 is not a multiple of 256 (tile x cluster)"),
            std::string::npos);
  EXPECT_NE(first({.style = "hopper-cooperative", .tile = {64, 128, 64}}).find("expected 64 or 128"), std::string::npos);
  EXPECT_NE(first({.style = "hopper-tma", .tile = {128, 256, 64}}).find("256 accumulator registers"), std::string::npos);
  EXPECT_NE(first({.tile = {128, 128, 64}, .promote = true}).find("8-bit operands"), std::string::npos);
  EXPECT_NE(first({.tile = {128, 128, 64}, .dtype = "e4m3", .promote = true}).find("multiple of 128"), std::string::npos);
  EXPECT_NE(first({.tile = {128, 128, 64}, .dtype = "s8", .layout = "nn"}).find("does not take for s8"), std::string::npos);
  EXPECT_NE(first({.k = 960, .tile = {128, 128, 48}}).find("expected 32, 64 or a multiple of 128"), std::string::npos);
  EXPECT_NE(first({.tile = {128, 32, 64}}).find("the direct epilogue takes any"), std::string::npos);
  EXPECT_NE(first({.tile = {128, 128, 64}, .dtype = "u8"}).find("dtype u8"), std::string::npos);
  EXPECT_NE(first({.tile = {128, 128, 64}, .out = "s32"}).find("expected f16 or f32"), std::string::npos);
}

TEST(Blackwell, SharedAndTensorMemory) {
  // A and B: 128 rows x 128 bytes each, three times; four warps x two slots x 32 rows x 128 bytes; 1024 to align.
  const Program p = sound({.m = 512, .n = 512, .k = 512, .style = "blackwell", .tile = {128, 128, 64}, .stages = 3});
  EXPECT_EQ(p.dynamic_smem_bytes, 3u * 2 * 16384 + 8u * 4096 + 1024);
  EXPECT_NE(p.ptx.find("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r"), std::string::npos);
  EXPECT_NE(p.ptx.find("], 128;"), std::string::npos);  // one column for each of N
  // Two buffers of 256 columns fill Tensor Memory.
  EXPECT_NE(sound({.m = 512, .n = 512, .k = 512, .style = "blackwell-ws", .tile = {128, 256, 64}}).ptx.find("], 512;"), std::string::npos);
  // Scale factors: 512 bytes for 128 rows x 128 of K, of A and of B, in 1024; 16 of Tensor Memory's columns beside 128.
  EXPECT_EQ(sound({.m = 512, .n = 512, .k = 512, .style = "blackwell", .tile = {128, 128, 128}, .stages = 3, .dtype = "mxfp8", .epilogue = "direct"})
                .dynamic_smem_bytes,
            3u * (32768 + 1024) + 1024);
}

// The descriptor of f32 = f16 x f16, m128n128, as Triton has it for sm_100 (0x8210010 with B transposed): c_format 1 in bits 4-5,
// N / 8 = 16 in bits 17-22, M / 16 = 8 in bits 24-28.
TEST(Blackwell, InstructionDescriptorByHand) {
  EXPECT_NE(sound({.m = 512, .n = 512, .k = 512, .style = "blackwell", .tile = {128, 128, 64}}).ptx.find("0x8200010;"), std::string::npos);
  EXPECT_NE(sound({.m = 512, .n = 512, .k = 512, .style = "blackwell", .tile = {128, 128, 64}, .layout = "tt"}).ptx.find("0x8210010;"),
            std::string::npos);
  // A pair: M = 256.
  EXPECT_NE(sound({.m = 512, .n = 512, .k = 512, .style = "blackwell-2cta", .tile = {128, 128, 64}}).ptx.find("0x10200010;"), std::string::npos);
}

TEST(Blackwell, PairsSplitB) {
  const Program p = sound({.m = 512, .n = 512, .k = 512, .style = "blackwell-2cta", .tile = {128, 256, 64}});
  EXPECT_EQ(p.cluster[0], 2u);
  EXPECT_EQ(p.tensor_maps[0].box, (std::array<uint32_t, 2>{64, 128}));
  EXPECT_EQ(p.tensor_maps[1].box, (std::array<uint32_t, 2>{64, 128}));  // half of 256 columns
}

TEST(Blackwell, BadConfigurationsSayWhat) {
  const auto first = [](Config c) {
    Diagnostics diags;
    c.tile[2] = swizzled_row(c.dtype);
    generate(c, diags);
    return diags.all().empty() ? std::string() : diags.all().front().text;
  };
  EXPECT_NE(first({.style = "blackwell", .tile = {64, 128, 0}}).find("M must be 128"), std::string::npos);
  EXPECT_NE(first({.style = "blackwell", .cluster = {2, 1}}).find("blackwell-2cta"), std::string::npos);
  EXPECT_NE(first({.style = "blackwell-ws", .cluster = {2, 2}}).find("expected 1x1 or 2x1"), std::string::npos);
  EXPECT_NE(first({.style = "blackwell", .tile = {128, 64, 0}, .dtype = "mxfp8"}).find("multiple of 128"), std::string::npos);
  EXPECT_NE(first({.style = "blackwell-ws", .tile = {128, 256, 0}, .dtype = "nvfp4"}).find("columns of Tensor Memory"), std::string::npos);
  EXPECT_NE(first({.style = "blackwell", .dtype = "f16", .acc = "f16"}).find("blackwell takes f16"), std::string::npos);
  EXPECT_NE(first({.style = "volta", .stages = 3}).find("expected 1 or 2"), std::string::npos);
  EXPECT_NE(first({.style = "volta", .stages = 2, .dtype = "bf16"}).find("volta takes f16 with f32"), std::string::npos);
  EXPECT_NE(first({.style = "hopper-ws", .emulate = "3xtf32"}).find("the ampere style has it"), std::string::npos);
}

}  // namespace
}  // namespace tcsim::gemm
