// Every element of every fragment against the formulas of the PTX manual, typed in from it.
#include <gtest/gtest.h>

#include "tools/layout/coverage.h"
#include "tools/layout/formula.h"
#include "tools/layout/instructions.h"

namespace tcsim::layout {
namespace {

/// g: groupID = %laneid >> 2, t: threadID_in_group = %laneid % 4, i: index of the element in the fragment, w: warp of the warpgroup.
struct Written {
  const char *instruction, *operand, *row, *col;
};

// PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type" ... "Matrix Fragments for mma.m16n8k256".
constexpr Written kMma[] = {
    {"mma.m8n8k4.f16", "A", "lane % 4 + (lane >= 16 ? 4 : 0)", "i"},
    {"mma.m8n8k4.f16.col", "A", "i % 4 + (lane >= 16 ? 4 : 0)", "lane % 4"},
    {"mma.m8n8k4.f16.row.row", "B", "lane % 4", "i + (lane >= 16 ? 4 : 0)"},
    {"mma.m8n8k4.f16.col", "B", "i", "lane % 4 + (lane >= 16 ? 4 : 0)"},
    {"mma.m8n8k4.f16", "C", "(lane & 1) + (i & 2) + (lane >= 16 ? 4 : 0)", "(i & 4) + (lane & 2) + (i & 1)"},
    {"mma.m8n8k4.f64", "A", "g", "t"},
    {"mma.m8n8k4.f64", "B", "t", "g"},
    {"mma.m8n8k4.f64", "D", "g", "t * 2 + (i & 1)"},
    {"mma.m8n8k16.s8", "A", "g", "t * 4 + i"},
    {"mma.m8n8k16.u8", "B", "t * 4 + i", "g"},
    {"mma.m8n8k16.s8", "D", "g", "t * 2 + i"},
    {"mma.m8n8k32.s4", "A", "g", "t * 8 + i"},
    {"mma.m8n8k32.u4", "B", "t * 8 + i", "g"},
    {"mma.m8n8k128.b1", "A", "g", "t * 32 + i"},
    {"mma.m8n8k128.b1", "B", "t * 32 + i", "g"},
    {"mma.m8n8k128.b1", "C", "g", "t * 2 + i"},
    {"mma.m16n8k4.tf32", "A", "i == 0 ? g : g + 8", "t"},
    {"mma.m16n8k4.tf32", "B", "t", "g"},
    {"mma.m16n8k4.tf32", "C", "i < 2 ? g : g + 8", "t * 2 + (i & 1)"},
    {"mma.m16n8k4.f64", "A", "i == 0 ? g : g + 8", "t"},
    {"mma.m16n8k4.f64", "B", "t", "g"},
    {"mma.m16n8k8.f16", "A", "i < 2 ? g : g + 8", "t * 2 + (i & 1)"},
    {"mma.m16n8k8.bf16", "B", "t * 2 + i", "g"},
    {"mma.m16n8k8.bf16", "D", "i < 2 ? g : g + 8", "t * 2 + (i & 1)"},
    {"mma.m16n8k8.tf32", "A", "i == 0 || i == 2 ? g : g + 8", "i < 2 ? t : t + 4"},
    {"mma.m16n8k8.tf32", "B", "i == 0 ? t : t + 4", "g"},
    {"mma.m16n8k8.f64", "A", "i == 0 || i == 2 ? g : g + 8", "i < 2 ? t : t + 4"},
    {"mma.m16n8k8.f64", "B", "i == 0 ? t : t + 4", "g"},
    {"mma.m16n8k16.f16", "A", "i < 2 || 4 <= i && i < 6 ? g : g + 8", "i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8"},
    {"mma.m16n8k16.bf16", "B", "i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8", "g"},
    {"mma.m16n8k16.f16", "C", "i < 2 ? g : g + 8", "t * 2 + (i & 1)"},
    {"mma.m16n8k16.f64", "A", "i % 2 == 0 ? g : g + 8", "i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t"},
    {"mma.m16n8k16.f64", "B", "t + i * 4", "g"},
    {"mma.m16n8k16.f64", "D", "i < 2 ? g : g + 8", "t * 2 + (i & 1)"},
    {"mma.m16n8k16.s8", "A", "i < 4 ? g : g + 8", "t * 4 + (i & 3)"},
    {"mma.m16n8k16.e4m3", "B", "t * 4 + i", "g"},
    {"mma.m16n8k16.u8", "C", "i < 2 ? g : g + 8", "t * 2 + (i & 1)"},
    {"mma.m16n8k32.s8", "A", "i < 4 || 8 <= i && i < 12 ? g : g + 8", "i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16"},
    {"mma.m16n8k32.e5m2", "A", "i < 4 || 8 <= i && i < 12 ? g : g + 8", "i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16"},
    {"mma.m16n8k32.e2m1", "B", "i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16", "g"},
    {"mma.m16n8k32.e3m2", "D", "i < 2 ? g : g + 8", "t * 2 + (i & 1)"},
    {"mma.m16n8k32.s4", "A", "i < 8 ? g : g + 8", "t * 8 + (i & 7)"},
    {"mma.m16n8k32.u4", "B", "t * 8 + (i & 7)", "g"},
    {"mma.m16n8k64.s4", "A", "i < 8 || 16 <= i && i < 24 ? g : g + 8", "i < 16 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32"},
    {"mma.m16n8k64.e2m1", "A", "i < 8 || 16 <= i && i < 24 ? g : g + 8", "i < 16 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32"},
    {"mma.m16n8k64.u4", "B", "i < 8 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32", "g"},
    {"mma.m16n8k128.b1", "A", "i < 32 ? g : g + 8", "t * 32 + (i & 31)"},
    {"mma.m16n8k128.b1", "B", "t * 32 + i", "g"},
    {"mma.m16n8k256.b1", "A", "i < 32 || 64 <= i && i < 96 ? g : g + 8", "i < 64 ? t * 32 + (i & 31) : t * 32 + (i & 31) + 128"},
    {"mma.m16n8k256.b1", "B", "i < 32 ? t * 32 + (i & 31) : t * 32 + (i & 31) + 128", "g"},
};

// "Matrix Fragments for sparse mma.m16n8k16" ... "k128": A's columns are [firstcol ... lastcol] of which half is stored; the tables count the
// stored ones: firstcol = t * 4 of four matrix columns is column t * 2 of the stored half.
constexpr Written kSparse[] = {
    {"mma.sp.m16n8k16.f16", "A", "i < 2 ? g : g + 8", "t * 2 + (i & 1)"},
    {"mma.sp.m16n8k16.f16", "B", "i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8", "g"},
    {"mma.sp.m16n8k32.bf16", "A", "i < 2 || 4 <= i && i < 6 ? g : g + 8", "(i < 4 ? t * 4 : t * 4 + 16) / 2 + (i & 1)"},
    {"mma.sp.m16n8k32.bf16", "B", "t * 2 + (i & 1) + i / 2 * 8", "g"},
    {"mma.sp.m16n8k16.tf32", "A", "i == 0 || i == 2 ? g : g + 8", "(i < 2 ? t * 2 : t * 2 + 8) / 2"},
    {"mma.sp.m16n8k16.tf32", "B", "t + i * 4", "g"},
    {"mma.sp.m16n8k8.tf32", "A", "i == 0 ? g : g + 8", "t * 2 / 2"},
    {"mma.sp.m16n8k32.s8", "A", "i < 4 ? g : g + 8", "t * 8 / 2 + (i & 3)"},
    {"mma.sp.m16n8k64.e4m3", "A", "i < 4 || 8 <= i && i < 12 ? g : g + 8", "(i < 8 ? t * 8 : t * 8 + 32) / 2 + (i & 3)"},
    {"mma.sp.m16n8k64.s8", "B", "t * 4 + (i & 3) + i / 4 * 16", "g"},
    {"mma.sp.m16n8k64.u4", "A", "i < 8 ? g : g + 8", "t * 16 / 2 + (i & 7)"},
    {"mma.sp.m16n8k128.s4", "A", "i < 8 || 16 <= i && i < 24 ? g : g + 8", "(i < 16 ? t * 16 : t * 16 + 64) / 2 + (i & 7)"},
    {"mma.sp.m16n8k128.s4", "D", "i < 2 ? g : g + 8", "t * 2 + (i & 1)"},
};

// "Register Fragments for wgmma.mma_async.m64nNk16" ... "k256", as the figures: warp w has rows 16 w to 16 w + 15.
constexpr Written kWgmma[] = {
    {"wgmma.m64n40k16.f16", "D", "16 * w + g + (i & 2 ? 8 : 0)", "i / 4 * 8 + t * 2 + (i & 1)"},
    {"wgmma.m64n256k32.s8", "D", "16 * w + g + (i & 2 ? 8 : 0)", "i / 4 * 8 + t * 2 + (i & 1)"},
    {"wgmma.m64n8k16.bf16", "A", "16 * w + (i < 2 || 4 <= i && i < 6 ? g : g + 8)", "i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8"},
    {"wgmma.m64n8k8.tf32", "A", "16 * w + (i % 2 == 0 ? g : g + 8)", "i < 2 ? t : t + 4"},
    {"wgmma.m64n8k32.e4m3", "A", "16 * w + (i < 4 || 8 <= i && i < 12 ? g : g + 8)", "i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16"},
    {"wgmma.m64n8k256.b1", "A", "16 * w + (i < 32 || 64 <= i && i < 96 ? g : g + 8)", "i < 64 ? t * 32 + (i & 31) : t * 32 + (i & 31) + 128"},
};

// "ldmatrix", "stmatrix" (b16: row of the 8 x 8 matrix T / 4, elements 2 (T % 4), + 1; register j is matrix j, its rows the addresses of lanes
// 8 j to 8 j + 7; .trans exchanges row and column); "movmatrix".
constexpr Written kMoves[] = {
    {"ldmatrix.x1", "D", "g", "t * 2 + i"},
    {"ldmatrix.x2", "D", "g + i / 2 * 8", "t * 2 + (i & 1)"},
    {"ldmatrix.x4", "D", "g + i / 2 * 8", "t * 2 + (i & 1)"},
    {"ldmatrix.x4.trans", "D", "t * 2 + (i & 1) + i / 2 * 8", "g"},
    {"stmatrix.x4", "A", "g + i / 2 * 8", "t * 2 + (i & 1)"},
    {"stmatrix.x2.trans", "A", "t * 2 + (i & 1) + i / 2 * 8", "g"},
    {"movmatrix", "A", "g", "t * 2 + i"},
    {"movmatrix", "D", "t * 2 + i", "g"},
};

template <size_t N>
void expect_formulas(const Written (&table)[N]) {
  for (const Written& w : table) {
    const std::string what = std::string(w.instruction) + " " + w.operand;
    std::string error;
    const auto tables = make_tables(w.instruction, w.operand, {}, error);
    ASSERT_EQ(tables.size(), 1u) << what << ": " << error;
    const std::vector<std::string> names{"lane", "i", "g", "t", "w"};
    const auto row = Formula::parse(w.row, names, error), col = Formula::parse(w.col, names, error);
    ASSERT_TRUE(row && col) << what << ": " << error;
    std::vector<Belief> all;
    for (int warp = 0; warp <= std::max(tables[0].largest(&Home::warp), 0); ++warp)
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < elements_of_lane(tables[0]); ++i) {
          const int64_t values[] = {lane, i, lane / 4, lane % 4, warp};
          all.push_back({warp, lane, i, static_cast<int>((*row)(values).value_or(-1)), static_cast<int>((*col)(values).value_or(-1))});
        }
    const BeliefCheck check = check_belief(tables[0], all, error);
    EXPECT_EQ(error, "") << what;
    EXPECT_TRUE(check.right()) << belief_text(check);
    EXPECT_EQ(check.checked, static_cast<int>(tables[0].find({}).size())) << what;
  }
}

TEST(PtxFormulas, Mma) { expect_formulas(kMma); }
TEST(PtxFormulas, SparseMma) { expect_formulas(kSparse); }
TEST(PtxFormulas, Wgmma) { expect_formulas(kWgmma); }
TEST(PtxFormulas, Moves) { expect_formulas(kMoves); }

TEST(Formula, LikeC) {
  const auto value = [](const char* text, int64_t lane) {
    std::string error;
    const auto f = Formula::parse(text, {"lane"}, error);
    const int64_t values[] = {lane};
    return f ? (*f)(values) : std::nullopt;
  };
  EXPECT_EQ(value("lane % 16 + lane / 16 * 8", 19), 11);
  EXPECT_EQ(value("1 + 2 * 3 << 1", 0), 14);    // + before <<
  EXPECT_EQ(value("lane & 3 == 3", 7), 7 & 1);  // == before &
  EXPECT_EQ(value("lane >= 16 ? lane - 16 : -1", 3), -1);
  EXPECT_EQ(value("lane ? 1 : lane ? 2 : 3", 0), 3);
  EXPECT_EQ(value("(lane ^ 0x1f) | ~0 & 0", 5), 26);
  EXPECT_EQ(value("!lane && 8 - 3 - 2 == 3", 0), 1);  // left to right
  EXPECT_EQ(value("8 / (lane - 4)", 4), std::nullopt);
}

TEST(Formula, SaysWhereItIsWrong) {
  const auto error = [](const char* text) {
    std::string e;
    EXPECT_FALSE(Formula::parse(text, {"lane", "load"}, e)) << text;
    return e;
  };
  EXPECT_EQ(error("lane % x"), "'lane % x', column 8: found 'x', expected a number, '(' or one of lane, load");
  EXPECT_EQ(error("(lane + 1"), "'(lane + 1', column 10: found the end, expected ')'");
  EXPECT_EQ(error("lane 3"), "'lane 3', column 6: found '3', expected an operator");
  EXPECT_EQ(error("lane ? 1"), "'lane ? 1', column 9: found the end, expected ':'");
  EXPECT_NE(error(""), "");
  EXPECT_NE(error(std::string(500, '(').c_str()), "");
}

}  // namespace
}  // namespace tcsim::layout
