// ldmatrix and stmatrix against fragments: the usual addresses of each operand, and the mistakes of public reports.
#include "tools/layout/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "tools/layout/instructions.h"

namespace tcsim::layout {
namespace {

using Address = std::function<RowStart(int)>;

MovePlan plan_of(const char* move, const Address& address = nullptr, Order order = Order::row) {
  MovePlan p;
  p.name = move, p.order = order;
  if (address)
    for (int lane = 0; lane < 32; ++lane) p.starts.push_back(address(lane));
  return p;
}

Coverage covers(const char* instruction, const char* operand, const MovePlan& plan, std::string* wrong = nullptr) {
  std::string error;
  const auto tables = make_tables(instruction, operand, {}, error);
  EXPECT_EQ(tables.size(), 1u) << error;
  const Coverage c = cover(tables.at(0), plan, error);
  if (wrong) *wrong = error;
  else EXPECT_EQ(error, "");
  return c;
}

// The usual addresses (CUTLASS, SM75_U32x4_LDSM_N and _T with SM80_16x8x16): lane l of x4 gives row l % 16, columns from l / 16 * 8.
TEST(Coverage, UsualAddresses) {
  const auto rows16 = [](int l) { return RowStart{.row = l % 16, .col = l / 16 * 8}; };
  EXPECT_TRUE(covers("mma.m16n8k16.f16", "A", plan_of("ldmatrix.x4", rows16)).complete());
  EXPECT_TRUE(covers("mma.m16n8k8.f16", "A", plan_of("ldmatrix.x2", rows16)).complete());
  // B with K contiguous ("col"): matrix j is k from 8 j on: lane l gives column l % 8, k from l / 8 * 8.
  EXPECT_TRUE(covers("mma.m16n8k16.f16", "B",
                     plan_of(
                         "ldmatrix.x2", [](int l) { return RowStart{.row = l / 8 % 2 * 8, .col = l % 8}; }, Order::col))
                  .complete());
  // B with N contiguous: .trans, lane l gives k = l % 16.
  EXPECT_TRUE(covers("mma.m16n8k16.f16", "B", plan_of("ldmatrix.x2.trans", [](int l) { return RowStart{.row = l % 16, .col = 0}; })).complete());
  // Bytes: 16 of them are 16 columns of A: the same lanes give columns from l / 16 * 16.
  EXPECT_TRUE(covers("mma.m16n8k32.s8", "A", plan_of("ldmatrix.x4", [](int l) { return RowStart{.row = l % 16, .col = l / 16 * 16}; })).complete());
  EXPECT_TRUE(covers("mma.m16n8k8.tf32", "A", plan_of("ldmatrix.x4", [](int l) { return RowStart{.row = l % 16, .col = l / 16 * 4}; })).complete());
  // The result after packing to f16: 8 rows, then the next 8.
  EXPECT_TRUE(covers("mma.m16n8k16.f16", "D", plan_of("stmatrix.x2", [](int l) { return RowStart{.row = l % 16, .col = 0}; })).complete());
}

// cubek #599: the divisor of the row offset is taken from the wrong extent: at m16n8k8 every matrix begins at row 0.
TEST(Coverage, RowsNeverAddressed) {
  const Coverage c = covers("mma.m16n8k8.f16", "A", plan_of("ldmatrix.x2", [](int l) { return RowStart{.row = l % 8, .col = 0}; }));
  EXPECT_FALSE(c.complete());
  EXPECT_EQ(c.never, "rows 8-15");
  EXPECT_EQ(c.repeated, "rows 0-7");
  EXPECT_EQ(c.elements, 128);
  EXPECT_EQ(c.in_place, 64);
  ASSERT_EQ(c.wrong.size(), 1u);
  EXPECT_EQ(c.wrong[0].number, 1);
  EXPECT_EQ(c.wrong[0].moved, "rows 0-7");
  EXPECT_EQ(c.wrong[0].expected, "rows 8-15");
  EXPECT_EQ(c.needed, (std::vector<std::string>{"lanes 0-7: rows 0-7, column 0", "lanes 8-15: rows 8-15, column 0"}));
  EXPECT_EQ(c.formula, "row = lane, column = 0");
}

// Matrices 1 and 2 exchanged: right elements, wrong registers; going to 0, 2, 1, 3 mends it.
TEST(Coverage, RegisterOrder) {
  MovePlan plan = plan_of("ldmatrix.x4", [](int l) { return RowStart{.row = l % 8 + l / 16 * 8, .col = l / 8 % 2 * 8}; });
  const Coverage c = covers("mma.m16n8k16.f16", "A", plan);
  EXPECT_EQ(c.never, "");
  EXPECT_EQ(c.repeated, "");
  EXPECT_EQ(c.in_place, 128);
  ASSERT_EQ(c.wrong.size(), 2u);
  EXPECT_EQ(c.wrong[0].number, 1);
  EXPECT_EQ(c.wrong[0].moved, "columns 8-15 of rows 0-7");
  EXPECT_EQ(c.wrong[0].expected, "columns 0-7 of rows 8-15");
  EXPECT_EQ(c.hints, (std::vector<std::string>{"with the moved registers going to 0, 2, 1, 3 in this order (--into) it is complete"}));
  plan.into = {0, 2, 1, 3};
  EXPECT_TRUE(covers("mma.m16n8k16.f16", "A", plan).complete());
}

// CUTLASS #2740: register 2 named twice, 1 never.
TEST(Coverage, ARegisterTwice) {
  MovePlan plan = plan_of("ldmatrix.x4");
  plan.into = {0, 2, 2, 3};
  const Coverage c = covers("mma.m16n8k16.f16", "A", plan);
  EXPECT_EQ(c.unfilled, std::vector<int>{1});
  EXPECT_EQ(c.overwritten, std::vector<int>{2});
  EXPECT_FALSE(c.complete());
}

TEST(Coverage, TransposedOrNot) {
  // N contiguous without .trans: each 8 x 8 matrix arrives mirrored.
  const Coverage b = covers("mma.m16n8k16.f16", "B", plan_of("ldmatrix.x2", [](int l) { return RowStart{.row = l % 16, .col = 0}; }));
  EXPECT_EQ(b.hints, std::vector<std::string>{"with .trans it is complete"});
  EXPECT_EQ(b.in_place, 16);  // the diagonals of two matrices
  EXPECT_EQ(b.never, "");
  // No addresses at all: the same, before any are chosen.
  EXPECT_EQ(covers("mma.m16n8k16.f16", "B", plan_of("ldmatrix.x2")).hints,
            std::vector<std::string>{"no addresses make it complete; with .trans there are some"});
  EXPECT_TRUE(covers("mma.m16n8k16.f16", "B", plan_of("ldmatrix.x2", nullptr, Order::col)).complete());
  EXPECT_EQ(covers("mma.m16n8k16.f16", "A", plan_of("ldmatrix.x4.trans", [](int l) { return RowStart{.row = l % 16, .col = l / 16 * 8}; })).hints,
            std::vector<std::string>{"without .trans it is complete"});
}

// LeetCUDA #521: one x4.trans for B of two steps of K, into two buffers of two registers: lane l gives k = l. It is right, but only if the
// four matrices are k 0-7, 8-15 (step 0) and 16-23, 24-31 (step 1); with lanes that give k = l % 16 both buffers hold step 0.
TEST(Coverage, TwoBuffers) {
  MovePlan plan = plan_of("ldmatrix.x4.trans", [](int l) { return RowStart{.row = l, .col = 0}; });
  plan.tiles_down = 2;
  EXPECT_TRUE(covers("mma.m16n8k16.f16", "B", plan).complete());
  plan.starts.clear();
  for (int l = 0; l < 32; ++l) plan.starts.push_back({.row = l % 16, .col = 0});
  const Coverage c = covers("mma.m16n8k16.f16", "B", plan);
  EXPECT_EQ(c.never, "rows 16-31");
  EXPECT_EQ(c.formula, "row = lane, column = 0");
  plan.tiles_down = 1;  // for one fragment: two registers too many
  EXPECT_EQ(covers("mma.m16n8k16.f16", "B", plan).homeless, (std::vector<int>{2, 3}));
}

TEST(Coverage, Bytes) {
  // Rows of 80 bytes: 64 of them (32 halves) are the tile of two fragments across; lane l gives row l % 16. Row 1 is byte 80.
  const auto byte = [](int l) { return RowStart{.is_bytes = true, .byte = l % 16 * 80 + l / 16 * 16}; };
  MovePlan plan = plan_of("ldmatrix.x4", byte);
  plan.pitch = 80;
  const Coverage c = covers("mma.m16n8k16.f16", "A", plan);
  EXPECT_TRUE(c.complete());
  // 80 = 5 * 16: eight rows begin 20 banks apart: 0, 20, 8, 28, 16, 4, 24, 12: no conflict.
  EXPECT_EQ(c.wavefronts.total, 4u);
  EXPECT_EQ(c.wavefronts.ideal, 4u);
  // Off by 8 bytes: not a row of 16.
  for (RowStart& s : plan.starts) s.byte += 8;
  EXPECT_EQ(covers("mma.m16n8k16.f16", "A", plan).misaligned.size(), 16u);
  // Beyond the last row.
  for (RowStart& s : plan.starts) s.byte += 72;
  const Coverage beyond = covers("mma.m16n8k16.f16", "A", plan);
  EXPECT_EQ(beyond.never, "row 0");
  EXPECT_EQ(beyond.outside.size(), 2u);
  EXPECT_EQ(beyond.outside[0], "lane 15: byte 0x500");
}

// Stored with the 128-byte swizzle: byte 0 of row r of 128 bytes lies at 128 r + 16 (r % 8).
TEST(Coverage, Swizzled) {
  MovePlan plan = plan_of("ldmatrix.x4", [](int l) { return RowStart{.is_bytes = true, .byte = l % 16 * 128 + ((l / 16) ^ (l % 8)) * 16}; });
  plan.pitch = 128, plan.swizzle = isa::kSwizzle128B;
  const Coverage c = covers("mma.m16n8k16.f16", "A", plan);
  EXPECT_TRUE(c.complete());
  EXPECT_EQ(c.wavefronts.conflicts(), 0u);
  // A program that forgets the swizzle reads row 0 of each 8 right: pieces 0 and 1 of rows 0 and 8; row 1 swaps its pieces: both are in the
  // fragment, in the wrong registers; other rows read pieces that are not in the fragment.
  for (int l = 0; l < 32; ++l) plan.starts[static_cast<size_t>(l)].byte = l % 16 * 128 + l / 16 * 16;
  const Coverage forgot = covers("mma.m16n8k16.f16", "A", plan);
  EXPECT_EQ(forgot.in_place, 2 * 16);
  EXPECT_EQ(forgot.never, "rows 2-7, 10-15");
}

// An epilogue of wgmma m64n64: 32 registers of f32, 16 of f16 pairs: four stmatrix.x4, each of 16 columns.
TEST(Coverage, StoreOfAWarpgroup) {
  MovePlan plan = plan_of("stmatrix.x4");
  for (int store = 0; store < 4; ++store)
    for (int l = 0; l < 32; ++l) plan.starts.push_back({.row = l % 16, .col = store * 16 + l / 16 * 8});
  plan.warp = 2;
  const Coverage c = covers("wgmma.m64n64k16.f16", "D", plan);
  EXPECT_TRUE(c.complete()) << coverage_text(c);
  EXPECT_EQ(c.elements, 16 * 64);
  // All four stores to the same columns.
  for (size_t i = 32; i < 128; ++i) plan.starts[i].col %= 16;
  EXPECT_EQ(covers("wgmma.m64n64k16.f16", "D", plan).never, "columns 16-63");
}

TEST(Coverage, Impossible) {
  const auto error = [](const char* instruction, const char* operand, const char* move) {
    std::string e;
    covers(instruction, operand, plan_of(move), &e);
    return e;
  };
  EXPECT_NE(error("mma.m16n8k8.tf32", "B", "ldmatrix.x2.trans").find("torn apart"), std::string::npos);
  EXPECT_NE(error("mma.m8n8k4.f64", "A", "ldmatrix.x1").find("registers of 64 bits"), std::string::npos);
  EXPECT_NE(error("mma.m8n8k4.f16", "A", "ldmatrix.x2").find("quad pairs"), std::string::npos);
  EXPECT_NE(error("wgmma.m64n64k16.f16", "B", "ldmatrix.x4").find("not in registers"), std::string::npos);
  EXPECT_NE(error("mma.m16n8k16.f16", "A", "ldmatrix.x3").find("is no ldmatrix or stmatrix"), std::string::npos);
  // 8 columns of 16 bits fit x2; x4 fills registers that are not there.
  EXPECT_EQ(covers("mma.m16n8k8.f16", "A", plan_of("ldmatrix.x4")).homeless, (std::vector<int>{2, 3}));
}

// PTX ISA, "ldmatrix .m16n16.b8": matrix j has k from 16 j on and 16 columns: registers 2 j and 2 j + 1 are columns 0-7 and 8-15. Two fragments
// of m16n8k32 have k 0-15 and 16-31 in neighbouring registers: moved registers 0, 1, 2, 3 go to 0, 2, 1, 3.
TEST(Coverage, ByteMatrices) {
  MovePlan plan = plan_of("ldmatrix.m16n16.x2.trans.b8");
  plan.tiles_across = 2;
  EXPECT_EQ(covers("mma.m16n8k32.e4m3", "B", plan).hints,
            std::vector<std::string>{"no addresses make it complete; with --into 0,2,1,3 there are some"});
  plan.into = {0, 2, 1, 3};
  const Coverage c = covers("mma.m16n8k32.e4m3", "B", plan);
  EXPECT_TRUE(c.complete());
  EXPECT_EQ(c.formula, "row = lane, column = 0");
  // Results of f32 are not rows of 16 bytes spread over four lanes by twos.
  const std::string text = coverage_text(covers("mma.m16n8k16.f16", "C", plan_of("ldmatrix.x4")));
  EXPECT_NE(text.find("NOT covered, whatever the lanes address"), std::string::npos) << text;
}

TEST(Coverage, TextAndJson) {
  const Coverage c = covers("mma.m16n8k8.f16", "A", plan_of("ldmatrix.x2", [](int l) { return RowStart{.row = l % 8, .col = 0}; }));
  const std::string text = coverage_text(c);
  EXPECT_NE(text.find("NOT covered: 64 of 128 elements"), std::string::npos) << text;
  EXPECT_NE(text.find("never addressed: rows 8-15"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(coverage_json(c));
  EXPECT_EQ(json.at("covered"), false);
  EXPECT_EQ(json.at("never"), "rows 8-15");
  EXPECT_EQ(json.at("wrong_registers")[0].at("register"), 1);
}

// cuda-oxide #474's kind: c[1] taken for the element 8 rows down.
TEST(Belief, OrderOfTheAccumulator) {
  std::string error;
  const auto tables = make_tables("mma.m16n8k16.f16", "C", {}, error);
  std::vector<Belief> wrong, right;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      wrong.push_back({0, lane, i, lane / 4 + 8 * (i % 2), lane % 4 * 2 + i / 2});
      right.push_back({0, lane, i, lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2});
    }
  const BeliefCheck c = check_belief(tables[0], wrong, error);
  EXPECT_EQ(c.checked, 128);
  EXPECT_EQ(c.wrong, 64);  // elements 1 and 2 of 32 lanes
  EXPECT_EQ(c.missing, "");
  EXPECT_EQ(c.examples[0], "lane 0, element 1 (register 1): believed C[8][0], it is C[0][1]");
  EXPECT_NE(c.hint.find("is true of 0, 2, 1, 3"), std::string::npos) << c.hint;
  EXPECT_TRUE(check_belief(tables[0], right, error).right());
  for (Belief& b : right) std::swap(b.row, b.col);
  EXPECT_EQ(check_belief(tables[0], right, error).hint, "rows and columns are exchanged");
}

TEST(Region, Words) {
  std::vector<std::pair<int, int>> all;
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) all.emplace_back(r, c);
  EXPECT_EQ(describe_region(all, 4, 4), "everything");
  EXPECT_EQ(describe_region(all, 8, 4), "rows 0-3");
  EXPECT_EQ(describe_region(all, 4, 8), "columns 0-3");
  EXPECT_EQ(describe_region(all, 8, 8), "columns 0-3 of rows 0-3");
  EXPECT_EQ(describe_region({{1, 2}, {3, 2}}, 8, 8), "column 2 of rows 1, 3");
}

}  // namespace
}  // namespace tcsim::layout
