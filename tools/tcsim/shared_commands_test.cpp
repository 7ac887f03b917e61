// tcsim banks, swizzle, descriptor, tensormap and tmem as a user runs them, with the numbers of public reports.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tcsim/program.h"

namespace tcsim::tool {
namespace {

using Json = nlohmann::json;

Outcome run(const std::string& arguments) { return Sandbox().run(arguments); }
void expect_says(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

std::string counted(const std::string& access) {
  const Json j = Json::parse(run("banks --format json --access " + access).out);
  for (const auto& p : j.at("proposals")) EXPECT_EQ(p.at("conflicts"), 0) << access;
  return fmt::format("{} {} {}", j.at("wavefronts").get<int>(), j.at("wavefronts_ideal").get<int>(), j.at("conflicts").get<int>());
}

// Rows of 128 B: the 16 bytes of eight lanes lie in banks 0 to 3.
TEST(BanksCommand, CountsOtherBanks) {
  expect_says(run("banks --access ldmatrix.x4 --row-bytes 128").out, "up to 3 more banks of theirs have conflicts too");
  EXPECT_EQ(run("banks --access ldmatrix.x4 --row-bytes 80").out.find("more bank"), std::string::npos);
}

// CUTLASS #3172; NVIDIA forum 359822: 283,023,360 / 8,844,480 = 32 wavefronts an instruction, 35,377,920 / 8,844,480 = 4; cuda-oxide #544.
TEST(BanksCommand, PublicReports) {
  EXPECT_EQ(counted("ldmatrix.x4.trans --row-bytes 256 --swizzle 3,3,4"), "4 4 0");
  EXPECT_EQ(counted("ldmatrix.x4.trans --row-bytes 256"), "32 4 28");
  EXPECT_EQ(counted("ldmatrix.x4.trans --row-bytes 256 --swizzle 3,3,3"), "8 4 4");
  EXPECT_EQ(counted("ldmatrix.x4.trans --row-bytes 256 --swizzle 3,3,5"), "8 4 4");
  EXPECT_EQ(counted("ld.shared.b128 --stride-bytes 128"), "32 4 28");
  EXPECT_EQ(counted("ld.shared.b128"), "4 4 0");
  EXPECT_EQ(counted("ld.shared.f32 --stride-bytes 128"), "32 1 31");
  EXPECT_EQ(counted("ld.shared.f32 --stride-bytes 256"), "32 1 31");
  EXPECT_EQ(counted("ld.shared.f32 --stride-bytes 64"), "16 1 15");
  EXPECT_EQ(counted("ld.shared.f32 --stride-bytes 132"), "1 1 0");
  EXPECT_EQ(counted("ld.shared.f32 --stride-bytes 128 --swizzle 5,0,5"), "1 1 0");
  EXPECT_EQ(counted("ld.shared.f32 --stride-bytes 128 --swizzle 3,0,5"), "4 1 3");
  EXPECT_EQ(counted("ld.shared.f32 --stride-bytes 128 --swizzle 2,0,5"), "8 1 7");
}

TEST(BanksCommand, Words) {
  expect_says(run("banks --access ldmatrix.x4.trans --row-bytes 256 --swizzle 3,3,4").out, "The addresses are clean. A hardware counter above zero");
  const std::string text = run("banks --access ldmatrix.x4 --row-bytes 128").out;
  expect_says(text, "bank  0: 8-way, lanes 0, 1, 2, 3, 4, 5, 6, 7 in different words");
  expect_says(text, "Without conflicts: the 128B swizzle of TMA");
  expect_says(text, "rows of 144 B (16 of padding)");
}

TEST(BanksCommand, AddressesAndErrors) {
  const Sandbox box;
  std::string column;
  for (int lane = 0; lane < 32; ++lane) column += fmt::format("{:#x}\n", lane * 128);
  box.write("column.txt", column);
  EXPECT_EQ(Json::parse(box.run("banks --access ld.shared.b32 --addresses column.txt --format json").out).at("wavefronts"), 32);
  box.write("bad.txt", "0\n4\nx\n");
  Outcome o = box.run("banks --addresses bad.txt");
  EXPECT_EQ(o.code, 1);
  expect_says(o.err, "bad.txt:3:1: error: found 'x', expected one byte offset");
  box.write("few.txt", "0\n4\n");
  expect_says(box.run("banks --addresses few.txt").err, "2 byte offsets, expected 32");
  box.write("rows.txt", "0,1\n");
  expect_says(box.run("banks --addresses rows.txt").err, "expected byte offsets");
  EXPECT_EQ(box.run("banks --access ld.global.b32").code, 1);
  EXPECT_EQ(box.run("banks --access ldmatrix.x4").code, 2);
  EXPECT_EQ(box.run("banks --swizzle 3,4").code, 1);
  expect_says(box.run("banks --access ldmatrix.x4 --row-bytes 120").err, "lane 1 accesses address 0x78, expected a multiple of 16");
}

// PTX ISA, "Tensor swizzling modes": in row r of 128 bytes piece p lies in place p ^ r.
TEST(SwizzleCommand, Drawn) {
  const std::string text = run("swizzle 128B").out;
  expect_says(text, "Swizzle<3,4,3> on bytes");
  expect_says(text, "   1 |   1   0   3   2   5   4   7   6\n");
  expect_says(text, "   7 |   7   6   5   4   3   2   1   0\n");
  expect_says(run("swizzle 3,3,3 --element-bytes 2 --address 0x90").out, "address 0x90 -> 0x80");
  for (const char* format : {"csv", "markdown", "svg", "html", "json"})
    EXPECT_EQ(run(fmt::format("swizzle 64B --format {}", format)).code, 0) << format;
  EXPECT_EQ(run("swizzle 128B --by lane").code, 0);
  // Rows of 80 B = 20 banks: rows begin in banks 0, 20, 8, 28, 16, 4, 24, 12: ldmatrix's eight rows meet nowhere.
  const std::string padded = run("swizzle none --row-bytes 80 --address 0x50").out;
  for (const char* line : {"   1 |   0   1   2   3   4  | 20\n", "   2 |   0   1   2   3   4  |  8\n", "   7 |   0   1   2   3   4  | 12\n"})
    expect_says(padded, line);
  expect_says(padded, "address 0x50 -> 0x50, bank 20");
  EXPECT_EQ(run("swizzle 3,4").code, 1);
  EXPECT_EQ(run("swizzle").code, 2);
  EXPECT_EQ(run("swizzle 128B --row-bytes 24").code, 2);
}

// MatmulTutorial #10: LBO 1, SBO 64, 128-byte swizzle, K-major.
TEST(DescriptorCommand, Decodes) {
  const std::string text = run("descriptor 0x4000004000010000").out;
  expect_says(text, "leading 16 B (ignored: swizzled K-major), stride 1024 B (8 rows x 128 B), swizzle 128 B");
  expect_says(text, "  valid\n");
  const Json j = Json::parse(run("descriptor 0x4000004000010000 --format json").out);
  EXPECT_EQ(j.at("format"), "wgmma");
  EXPECT_EQ(j.at("stride_bytes"), 1024);
  EXPECT_EQ(j.at("leading_bytes"), 16);
  EXPECT_EQ(j.at("swizzle"), "128B");
  EXPECT_EQ(j.at("valid"), true);
  // tcgen05: bits 46-48 are 1, 128 bytes is 2 in bits 61-63.
  EXPECT_EQ(Json::parse(run("descriptor 0x4000404000010000 --format json").out).at("format"), "tcgen05");
}

// tilelang #813: SBO 1024 not divided by 16.
TEST(DescriptorCommand, FieldNotShifted) {
  for (const char* bits : {"0x4000040000400000", "0x4000440000400000"}) {
    const Outcome o = run(fmt::format("descriptor {}", bits));
    expect_says(o.err, "stride field 1024 = 16384 B exceeds the matrix of 8192 B; fields count units of 16 bytes: was >> 4 forgotten?");
  }
  EXPECT_EQ(run("descriptor 0x4000004000010000").err, "");
}

// FlashMLA #67: one instruction takes 32 bytes of K whatever the type: 2 in the field, which counts 16 bytes: elements / 8 of f16.
TEST(DescriptorCommand, StepsAlongK) {
  const auto step = [](const std::string& arguments) {
    const Json j = Json::parse(run("descriptor --format json " + arguments).out).at("k_step");
    return fmt::format("{} {} +{} x{}", j.at("elements").get<int>(), j.at("bytes").get<int>(), j.at("start_field").get<int>(),
                       j.at("descriptors").size());
  };
  // K-major: rows of 128, 64, 32 bytes have 4, 2, 1 steps.
  EXPECT_EQ(step("0x4000004000010000 --type f16"), "16 32 +2 x4");
  EXPECT_EQ(step("0x4000004000010000 --type tf32"), "8 32 +2 x4");
  EXPECT_EQ(step("0x4000004000010000 --type e4m3"), "32 32 +2 x4");
  EXPECT_EQ(step("0x8000002000010000 --type bf16"), "16 32 +2 x2");
  EXPECT_EQ(step("0xC000001000010000 --type s8"), "32 32 +2 x1");
  // No swizzle: two core matrices of 128 bytes, LBO 128 apart.
  EXPECT_EQ(step("0x0000001000080000 --type f16"), "16 256 +16 x2");
  // MN-major, 128 bytes: 16 k are two groups of 8, SBO 1024 apart; without swizzle LBO apart.
  EXPECT_EQ(step("0x4000004000400000 --major mn"), "16 2048 +128 x2");
  EXPECT_EQ(step("0x0000000800400000 --major mn"), "16 2048 +128 x2");
  const std::string text = run("descriptor 0x4000004000010000").out;
  expect_says(text, "a step of K of 16 elements is 32 B (inside rows of 128 B): adds 2 to the start field (bytes / 16 = elements / 8)");
  expect_says(text, "0x4000004000010000, 0x4000004000010002, 0x4000004000010004, 0x4000004000010006, then the row of the pattern ends");
  expect_says(run("descriptor 0x4000004000010000 --advance 64").out, "64 B further on: 0x4000004000010004 (start field + 4)");
  // 128 bytes further on is row 1 of the pattern, not the next K; 24 is no field.
  EXPECT_EQ(run("descriptor 0x4000004000010000 --advance 128").code, 1);
  EXPECT_EQ(run("descriptor 0x4000004000010000 --advance 24").code, 1);
}

// MatmulTutorial #14: TMA without swizzle, the descriptor with 128B: rows 0, 8, 16, ... of the pattern agree, 7 of 8 do not (reported: 87.4 %).
TEST(DescriptorCommand, SwizzleOfTma) {
  const Outcome wrong = run("descriptor 0x4000004000010000 --tma-swizzle none");
  EXPECT_EQ(wrong.code, 1);
  expect_says(wrong.err,
              "TMA wrote swizzle none, the descriptor reads 128B: 3584 of 4096 elements are others (87.5 %), the first in line 1 at byte 0");
  expect_says(run("descriptor 0x4000004000010000 --tma-swizzle 128B").out, "(4096 elements agree)");
}

// MN-major, 128 rows: atoms of 64 f16 need LBO apart; 16 B is an overlap. Of boxes of 64 k each atom is 64 * 128 = 8192 B.
TEST(DescriptorCommand, WholeOperand) {
  const Outcome overlap = run("descriptor 0x4000004000010000 --major mn --mn 128 --tma-swizzle 128B");
  EXPECT_EQ(overlap.code, 1);
  expect_says(overlap.err, "elements overlap");
  expect_says(overlap.err, "without overlap or gaps: leading 2048 B, stride 1024 B");
  expect_says(overlap.err, "TMA wrote swizzle 128B in 2 boxes side by side");
  EXPECT_EQ(overlap.out.find("valid"), std::string::npos) << overlap.out;
  const Outcome right = run("descriptor 0x4000004002000000 --major mn --mn 128 --tma-swizzle 128B --box-rows 64");
  EXPECT_EQ(right.code, 0) << right.err;
  expect_says(right.out, "(2048 elements agree; 2 boxes side by side, each 64 rows (K) of 128 B)");
  expect_says(run("descriptor 0x4000004004000000 --major mn --mn 128 --tma-swizzle 128B --box-rows 64").err,
              "1024 of 2048 elements are others (50.0 %)");
  expect_says(run("descriptor 0x4000004004000000 --major mn --mn 128 --tma-swizzle 128B").out, "right for boxes of 128 rows only, 16384 B apart");
  EXPECT_EQ(run("descriptor 0x4000001000010000 --major mn --mn 64 --tma-swizzle 128B").code, 1);
  // K-major: row 8 begins in row 4 with SBO 512; on row 0 with 0.
  expect_says(run("descriptor 0x4000002000010000").err, "elements overlap: row 4, byte 0 and row 8, byte 0 both lie at 0x240");
  EXPECT_EQ(run("descriptor 0x4000000000010000").code, 1);
  // wgmma transposes 16-bit types only; tcgen05 others too.
  EXPECT_EQ(run("descriptor 0x4000004000400000 --major mn --type tf32 --mn 32").code, 1);
  EXPECT_EQ(run("descriptor 0x4000404000400000 --major mn --type e4m3").code, 0);
}

TEST(DescriptorCommand, HexadecimalOnly) {
  const Outcome o = run("descriptor 4000004000010000");
  EXPECT_EQ(o.code, 1);
  expect_says(o.err, "with 0x before it: 0x4000004000010000");
  EXPECT_EQ(run("descriptor --idesc 08200010").code, 1);
}

TEST(DescriptorCommand, BadInput) {
  EXPECT_EQ(run("descriptor").code, 2);
  EXPECT_EQ(run("descriptor 0x4000004000010000 --wgmma --tcgen05").code, 2);
  EXPECT_EQ(run("descriptor 0x4000004000010000 --box-rows 64").code, 2);
  EXPECT_EQ(run("descriptor abc").code, 1);
  EXPECT_EQ(run("descriptor 0x4000004000010000 --arch a100").code, 1);
  EXPECT_EQ(run("descriptor 0x4000004000010000 --type f64").code, 1);
  // Start 0x80: 128 bytes past where the pattern starts, with base offset 0.
  const Outcome o = run("descriptor 0x4000004000010008");
  EXPECT_EQ(o.code, 1);
  expect_says(o.err, "128 bytes past a multiple of 1024");
}

// tilelang #2379: base 128 past 1024: every piece is elsewhere; #2578, #2630: boxes too wide; Triton #10474: the second stage's address.
TEST(TensorMapCommand, PublicReports) {
  const Outcome base = run("tensormap --type f16 --box 64,128 --swizzle 128B --base 0x80");
  EXPECT_EQ(base.code, 1);
  expect_says(base.err, "1024 of 1024 pieces of 16 B lie elsewhere");
  expect_says(base.err, "expected an address % 1024 == 0");
  expect_says(run("tensormap --type f16 --box 32,64 --swizzle 64B --base 128").err, "% 512 == 0");
  expect_says(run("tensormap --type f16 --box 16,64 --swizzle 32B --base 128").err, "% 256 == 0");
  expect_says(run("tensormap --type f16 --box 128,64 --swizzle 128B").err, "box inner 128 x 2 B = 256 B exceeds the 128 B span of swizzle 128B");
  expect_says(run("tensormap --type f16 --box 48,64 --swizzle 32B").err, "box inner 48 x 2 B = 96 B exceeds the 32 B span of swizzle 32B");
  const Outcome stages = run("tensormap --type f16 --box 64,64 --swizzle 128B --stages 3 --stage-bytes 8320");
  expect_says(stages.err, "stage 1 at 0x2080: the 128B pattern repeats every 1024 B and this is 128 B past one");
  EXPECT_EQ(stages.err.find("stage 0"), std::string::npos) << stages.err;
  const Outcome good = run("tensormap --type f16 --box 64,128 --swizzle 128B --stages 4");
  EXPECT_EQ(good.code, 0) << good.err;
  expect_says(good.out, "16384 B in all (the bytes that mbarrier.expect_tx needs)");
}

// MatmulTutorial #14 as the two sides of the kernel: rows 0, 8, 16, ... agree, 7 of 8 do not. A stride of 512 B reads row 8 where row 4 is.
TEST(TensorMapCommand, DescriptorThatReadsTheBox) {
  const Outcome wrong = run("tensormap --type f16 --box 64,64 --swizzle none --descriptor 0x4000004000010000");
  EXPECT_EQ(wrong.code, 1);
  expect_says(wrong.err, "TMA wrote SWIZZLE_NONE, the descriptor reads SWIZZLE_128B");
  expect_says(wrong.err, "3584 of 4096 elements lie elsewhere (87.5 %), the first is row 1, column 0");
  const Outcome right = run("tensormap --type f16 --box 64,64 --swizzle 128B --descriptor 0x4000004000010000");
  EXPECT_EQ(right.code, 0) << right.err;
  expect_says(right.out, "reads all 4096 elements where the copy writes them");
  expect_says(run("tensormap --type f16 --box 64,64 --swizzle 128B --descriptor 0x4000002000010000").err,
              "3584 of 4096 elements lie elsewhere (87.5 %), the first is row 8, column 0");
  EXPECT_EQ(run("tensormap --type f16 --box 64,64 --swizzle 128B --descriptor x").code, 1);
}

TEST(TensorMapCommand, Drawn) {
  // Row 9, column 3: byte 6 of piece 0 in place 0 ^ 1: 9 * 128 + 16 + 6; bank 22 / 4.
  EXPECT_EQ(run("tensormap --type f16 --box 64,16 --swizzle 128B --element 9,3").out, "A[9][3]: byte 0x496 of shared memory, bank 5, bits 0-15\n");
  EXPECT_EQ(Json::parse(run("tensormap --type f16 --box 64,16 --swizzle 128B --element 9,3 --format json").out).at("shared"), 0x496);
  for (const char* format : {"ascii", "csv", "markdown", "svg", "html", "json"})
    EXPECT_EQ(run(fmt::format("tensormap --type f16 --box 64,16 --swizzle 128B --format {}", format)).code, 0) << format;
  EXPECT_EQ(run("tensormap --type f16 --box 64,16 --element 16,0").code, 1);
  EXPECT_EQ(run("tensormap --type f16").code, 1);
  EXPECT_EQ(run("tensormap --type q7 --box 64,16").code, 1);
  EXPECT_EQ(run("tensormap --type f16 --box 64,16 --base x").code, 2);
  EXPECT_EQ(run("tensormap --hex 00").code, 1);
}

// TVM #20075: M = 64 has 16 rows in each 32 lanes; which warp may touch an address: DeepGEMM #341.
TEST(TmemCommand, LayoutsAndAddresses) {
  const std::string f = run("tmem -m 64 -n 128").out;
  expect_says(f, "data path layout F, 128 columns for D");
  expect_says(f, "96-111");
  const Json j = Json::parse(run("tmem -m 64 -n 128 --format json").out);
  EXPECT_EQ(j.at("layout"), "F");
  EXPECT_EQ(j.at("parts")[1].at("tmem_lanes"), (Json{32, 47}));
  EXPECT_EQ(j.at("parts")[1].at("rows"), (Json{16, 31}));
  expect_says(run("tmem -m 128 -n 256 --cta-group 2").out, "data path layout B, 128 columns");
  const Outcome wrong = run("tmem --taddr 0x00200040 --warp 0");
  EXPECT_EQ(wrong.code, 1);
  expect_says(wrong.err, "warp 0 may touch lanes 0 to 31 only (32 * (warp % 4)), taddr names lane 32");
  EXPECT_EQ(run("tmem --taddr 0x00200040 --warp 5").code, 0);
  EXPECT_EQ(run("tmem --taddr 0x02000000").code, 1);  // lane 512
  // Two accumulators of 256 columns fill the 512; three do not fit.
  EXPECT_EQ(run("tmem -m 128 -n 256 --buffers 2").code, 0);
  expect_says(run("tmem -m 128 -n 256 --buffers 3").err, "TMEM columns 768 > 512: 2 buffers of D fit");
  EXPECT_EQ(run("tmem -m 96").code, 1);
  EXPECT_EQ(run("tmem --kind f12").code, 2);
}

}  // namespace
}  // namespace tcsim::tool
