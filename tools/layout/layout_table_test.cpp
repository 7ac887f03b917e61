// Tables: one element of each kind by hand from the formulas of the PTX manual; agreement with
// what the instructions themselves do to registers and with what an H200 gave.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "isa/matrix/hardware_case.h"
#include "isa/matrix/matrix_move.h"
#include "tools/layout/instructions.h"
#include "tools/layout/render.h"

namespace tcsim::layout {
namespace {

Table table(const char* name, const char* operand, const LayoutOptions& options = {}) {
  std::string error;
  auto tables = make_tables(name, operand, options, error);
  EXPECT_EQ(tables.size(), 1u) << name << " " << operand << ": " << error;
  return tables.empty() ? Table("", "", 1, 1) : std::move(tables[0]);
}

// The interface's own example. PTX ISA, "Matrix Fragments for mma.m16n8k16": row = groupID + 8 for a2, a3; col = 2 threadID_in_group + (i & 1):
// row 9 = 1 + 8, col 3 = 2 * 1 + 1: lane 4 * 1 + 1 = 5, i = 3: register 1, upper half.
TEST(LayoutTable, ElementOfTheInterface) {
  const Table t = table("mma.m16n8k16.f16", "A");
  const auto homes = t.homes({0, 9, 3});
  ASSERT_EQ(homes.size(), 1u);
  EXPECT_EQ(elements_json(t, {{{0, 9, 3}, homes[0]}}, false), R"({"operand":"A","row":9,"col":3,"lane":5,"register":1,"bit_lo":16,"bit_hi":31})");
  const auto found = t.find({.lane = 5, .reg = 1});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].element, (ElementAt{0, 9, 2}));
  EXPECT_EQ(found[1].element, (ElementAt{0, 9, 3}));
}

TEST(LayoutTable, ByHand) {
  const auto home = [](const char* name, const char* operand, int row, int col, const LayoutOptions& options = {}) {
    return table(name, operand, options).homes({0, row, col})[0];
  };
  // "ldmatrix": thread T holds elements 2 (T % 4), + 1 of row T / 4; register j is matrix j, whose rows lanes 8 j to 8 j + 7 address.
  // Row 13 is row 5 of matrix 1, element 6: lane 5 * 4 + 3. With .trans element c of row r is where (c, r) was: row 6, column 5: lane 6 * 4 + 2, odd.
  EXPECT_EQ(home("ldmatrix.x4", "D", 13, 6), (Home{.lane = 23, .reg = 1, .bit_lo = 0, .bit_hi = 15}));
  EXPECT_EQ(home("ldmatrix.x4.trans", "D", 13, 6), (Home{.lane = 26, .reg = 1, .bit_lo = 16, .bit_hi = 31}));
  EXPECT_EQ(home("stmatrix.x2", "A", 13, 6), (Home{.lane = 23, .reg = 1, .bit_lo = 0, .bit_hi = 15}));
  // "movmatrix": A[2][5] is D[5][2]: lane 5 * 4 + 1, lower half.
  EXPECT_EQ(home("movmatrix", "D", 2, 5), (Home{.lane = 21, .reg = 0, .bit_lo = 0, .bit_hi = 15}));
  // "Register Fragments for wgmma.mma_async.m64nNk16", D: row 41 = 16 * 2 + 1 + 8 (warp 2, group 1), column 77 = 8 * 9 + 2 * 2 + 1: i = 4 * 9 + 2 + 1.
  EXPECT_EQ(home("wgmma.m64n128k16.f16", "D", 41, 77), (Home{.warp = 2, .lane = 6, .reg = 39, .bit_lo = 0, .bit_hi = 31}));
  // B, K-major, 128-byte swizzle: column n 3 is row 3 of the atom, k 10 is byte 20: piece 1 lies at 1 ^ 3 = 2: 3 * 128 + 2 * 16 + 4, bank 9.
  EXPECT_EQ(home("wgmma.m64n128k16.f16", "B", 10, 3), (Home{.bit_lo = 0, .bit_hi = 15, .shared = 3 * 128 + 36, .bank = 9}));
  // "tcgen05.ld .16x256b": rows T / 4 and T / 4 + 8 (registers 2, 3), columns 2 (T % 4) + r % 2. Lane 9, column 3: T = 4 * 1 + 1, register 2 + 1.
  EXPECT_EQ(home("tcgen05.ld.16x256b.x2", "D", 9, 3), (Home{.lane = 5, .reg = 3, .bit_lo = 0, .bit_hi = 31, .tmem_lane = 9, .tmem_column = 3}));
  // "Data Path Layout F" (M = 64): row 17 is row 1 of the second 16: lane 32 + 1. "Layout D" (M = 128): lane = row.
  EXPECT_EQ(home("tcgen05.mma.m64n128k16.f16", "D", 17, 5), (Home{.bit_lo = 0, .bit_hi = 31, .tmem_lane = 33, .tmem_column = 5}));
  EXPECT_EQ(home("tcgen05.mma.m128n256k16.f16", "D", 100, 200), (Home{.bit_lo = 0, .bit_hi = 31, .tmem_lane = 100, .tmem_column = 200}));
  // "Layout B" (M = 128 of a pair): CTA 1 has rows 64 to 127; its lanes 64 up hold the right half. Row 70 = 64 + 6, n 200 = 128 + 72.
  EXPECT_EQ(home("tcgen05.mma.m128n256k16.f16.cta_group::2", "D", 70, 200),
            (Home{.bit_lo = 0, .bit_hi = 31, .cta = 1, .tmem_lane = 70, .tmem_column = 72}));
  // "Scale factor layout", 1X: row 77 = 2 * 32 + 13: column 2, lane 13 (and its copies 32, 64, 96 further).
  EXPECT_EQ(table("tcgen05.mma.m128n128k32.mxf8f6f4", "SFA").homes({0, 77, 0})[1],
            (Home{.bit_lo = 0, .bit_hi = 7, .tmem_lane = 45, .tmem_column = 2}));
  // "Block Scaling for mma.sync": row 9 of A: lane 4 * 1 + 9 / 8.
  EXPECT_EQ(home("mma.m16n8k32.e4m3", "SFA", 9, 0), (Home{.lane = 5, .reg = 0, .bit_lo = 0, .bit_hi = 7}));
  // Core matrix without swizzle, MN-major: m 5, k 3 is byte 3 * 16 + 10.
  EXPECT_EQ(home("core.mn.none.f16", "A", 5, 3), (Home{.bit_lo = 0, .bit_hi = 15, .shared = 58, .bank = 14}));
}

TEST(LayoutTable, CuteNotation) {
  // CUTLASS, mma_traits_sm90_gmma.hpp: B128 K-major ((8,m),(T,2)):((8T,SBO),(1,T)); T = 8 halves.
  EXPECT_EQ(isa::cute_layout({isa::Major::k, 128, 16}, 16), "Swizzle<3,4,3> o smem_ptr o ((8,m),(8,2)):((64,SBO),(1,8))");
  EXPECT_EQ(isa::cute_layout({isa::Major::mn, 64, 16}, 16), "Swizzle<2,4,3> o smem_ptr o ((8,4,m),(8,k)):((1,8,LBO),(32,SBO))");
  EXPECT_EQ(isa::cute_layout({isa::Major::k, 0, 16}, 8), "Swizzle<0,4,3> o smem_ptr o ((8,m),(16,2)):((16,SBO),(1,LBO))");
}

/// Row i is 16 bytes 16 i, 16 i + 1, ...: what the moves of isa/matrix give must be what the table says.
TEST(LayoutTable, MovesAgreeWithExecution) {
  std::array<uint8_t, 512> memory{};
  std::iota(memory.begin(), memory.end(), uint8_t{0});
  std::array<const uint8_t*, 32> rows;
  for (size_t i = 0; i < 32; ++i) rows[i] = memory.data() + 16 * i;
  std::array<std::array<uint32_t, 32>, 4> words{};
  std::array<uint32_t*, 4> d{words[0].data(), words[1].data(), words[2].data(), words[3].data()};
  const auto compare = [&](const char* name, int bytes) {
    const Table t = table(name, "D");
    for (const auto& f : t.find({})) {
      const uint32_t got = words[static_cast<size_t>(f.home.reg)][static_cast<size_t>(f.home.lane)] >> f.home.bit_lo & 0xff;
      EXPECT_EQ(got, static_cast<uint32_t>(16 * f.element.row + bytes * f.element.col) & 0xff)
          << name << " " << f.element.row << "," << f.element.col;
    }
  };
  isa::ldmatrix(d.data(), rows.data(), 4, false);
  compare("ldmatrix.x4", 2);
  isa::ldmatrix(d.data(), rows.data(), 4, true);
  compare("ldmatrix.x4.trans", 2);
  isa::ldmatrix_m16n16_trans(d.data(), rows.data(), 2, 8);
  compare("ldmatrix.m16n16.x2.trans.b8", 1);
}

// A[i][k] that mma uses is in the register that the table names: stored operands of an H200 give D of the first tiles of moderate numbers.
// For m16n8k32 s8 every product is exact: D - C must be the sum over k of A and B taken through the tables.
TEST(LayoutTable, IntegerProductsOfAnH200) {
  auto test = isa::HardwareCase::read(std::string(TCSIM_SOURCE_DIR) + "/validation/data/mma_bits/m16n8k32_s32_s8");
  const Table a = table("mma.m16n8k32.s8", "A"), b = table("mma.m16n8k32.s8", "B"), c = table("mma.m16n8k32.s8", "C"),
              dt = table("mma.m16n8k32.s8", "D");
  const auto value = [&](isa::HardwareCase::Words& w, const Table& t, int tile, int row, int col) {
    const Home h = t.homes({0, row, col})[0];
    const uint32_t word = w.words[static_cast<size_t>((tile * w.registers + h.reg) * 32 + h.lane)] >> h.bit_lo;
    return t.element_bits == 8 ? static_cast<int64_t>(static_cast<int8_t>(word)) : static_cast<int64_t>(static_cast<int32_t>(word));
  };
  for (int tile = 0; tile < test.tiles; ++tile)
    for (int row = 0; row < 16; ++row)
      for (int col = 0; col < 8; ++col) {
        int64_t sum = value(test.c, c, tile, row, col);
        for (int k = 0; k < 32; ++k) sum += value(test.a, a, tile, row, k) * value(test.b, b, tile, k, col);
        ASSERT_EQ(static_cast<int32_t>(sum), value(test.d, dt, tile, row, col)) << tile << " " << row << "," << col;
      }
}

// What wmma.load gave each lane of an H200: [register][lane][element] = 1000 * row + col. Keys: "wmma.SHAPE.TYPE.a.row" and
// "wmma.SHAPE.ACCUMULATOR.c.row.TYPE".
TEST(LayoutTable, WmmaOfAnH200) {
  std::ifstream in(std::string(TCSIM_SOURCE_DIR) + "/validation/data/mma_bits_h200/wmma_layouts.json");
  const auto all = nlohmann::json::parse(in);
  EXPECT_EQ(all.size(), 57u);
  for (const auto& [key, captured] : all.items()) {
    const auto words = split_words(key, '.');
    const std::string shape(words[1]), type(words[2]), operand(1, static_cast<char>(words[3][0] - 32));
    const bool accumulator = operand == "C";
    const Table t = table(("wmma." + shape + "." + (accumulator ? std::string(words[5]) : type)).c_str(), operand.c_str(),
                          {.accumulator = accumulator ? type : "f32"});
    size_t count = 0;
    for (const auto& reg : captured)
      for (const auto& lane : reg) count += lane.size();
    const auto found = t.find({});
    ASSERT_EQ(found.size(), count) << key;
    for (const auto& f : found)
      ASSERT_EQ(captured[static_cast<size_t>(f.home.reg)][static_cast<size_t>(f.home.lane)][static_cast<size_t>(f.home.bit_lo / t.element_bits)],
                1000 * f.element.row + f.element.col)
          << key;
  }
}

TEST(LayoutTable, Errors) {
  std::string error;
  EXPECT_TRUE(make_tables("mma.m16n8k17.f16", "", {}, error).empty());
  EXPECT_NE(error.find("there is no instruction 'mma.m16n8k17.f16', expected a name like 'mma.m16n8k1"), std::string::npos) << error;
  EXPECT_TRUE(make_tables("mma.m16n8k16.f16", "SFA", {}, error).empty());
  EXPECT_EQ(error, "mma.m16n8k16.f16 has no operand SFA, expected A, B, C, D");
  EXPECT_TRUE(make_tables("tcgen05.mma.m128n12k16.f16", "", {}, error).empty());
  EXPECT_NE(error.find("N is 12, expected a multiple of 8"), std::string::npos) << error;
  EXPECT_TRUE(make_tables("tcgen05.ld.32x32b.x256", "", {}, error).empty());
  EXPECT_NE(error.find("at most 128 registers"), std::string::npos) << error;
}

TEST(LayoutTable, Formats) {
  const std::vector<Table> one{table("mma.m16n8k16.f16", "A")};
  // The figure of the manual: row 0 begins T0:{a0,a1}, T1:{a0,a1}; column 8 is T0:{a4,a5}.
  EXPECT_NE(render(one, Format::ascii, false).find("T0:a0  T0:a1  T1:a0"), std::string::npos) << render(one, Format::ascii, false);
  EXPECT_NE(render(one, Format::ascii, true).find("(9,2)(9,3)"), std::string::npos);
  EXPECT_NE(render(one, Format::csv, false).find("\nA,9,3,5,1,16,31\n"), std::string::npos);
  EXPECT_NE(render(one, Format::markdown, false).find("| **9** |"), std::string::npos);
  EXPECT_NE(render(one, Format::svg, false).find(">T5:a3<"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(render(one, Format::json, false)).at("elements").size(), 256u);
  std::string error;
  const std::string html = render(make_tables("tcgen05.mma.m256n256k16.f16", "", {}, error), Format::html, false);
  EXPECT_LT(html.size(), 3'000'000u);
  EXPECT_EQ(html.find("http://"), std::string::npos);
  EXPECT_EQ(html.find("https://"), std::string::npos);
}

// Names as the manual's examples write them.
TEST(PtxNames, BecomeShortNames) {
  const auto name = [](std::string_view text) {
    const auto n = from_ptx_name(text);
    return n ? n->name : "";
  };
  EXPECT_EQ(name("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), "mma.m16n8k16.f16");
  EXPECT_EQ(name("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32"), "mma.m16n8k32.u8");
  EXPECT_EQ(name("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc"), "mma.m16n8k256.b1");
  EXPECT_EQ(name("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"), "mma.m16n8k64.e2m1.block_scale");
  EXPECT_EQ(name("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16"), "mma.sp.m16n8k32.f16");
  EXPECT_EQ(name("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"), "wmma.m16n16k16.f16");
  EXPECT_EQ(name("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2"), "wgmma.m64n128k32.e4m3");
  EXPECT_EQ(name("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16"), "ldmatrix.x4.trans");
  EXPECT_EQ(name("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8"), "ldmatrix.m16n16.x1.trans.b8");
  EXPECT_EQ(name("movmatrix.sync.aligned.m8n8.trans.b16"), "movmatrix");
  EXPECT_EQ(name("tcgen05.ld.sync.aligned.16x64b.x8.pack::16b.b32"), "tcgen05.ld.16x64b.x8.pack::16b");
  EXPECT_EQ(name("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13"), "tcgen05.cp.64x128b.warpx2::02_13");
  EXPECT_EQ(name("mad.lo.s32"), "");
  // f16 accumulators are two a register, whatever the default is.
  std::string error;
  const auto tables = make_tables("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "D", {}, error);
  ASSERT_EQ(tables.size(), 1u) << error;
  EXPECT_EQ(tables[0].element_bits, 16);
  EXPECT_EQ(make_tables("nothing", "", {}, error).size(), 0u);
  EXPECT_EQ(error, "there is no instruction 'nothing', expected a name like 'mma.m16n8k16.f16' (tcsim layout --list names all)");
}

}  // namespace
}  // namespace tcsim::layout
