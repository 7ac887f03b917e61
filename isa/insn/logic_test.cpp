#include <gtest/gtest.h>

#include <random>

#include "isa/insn/lane_harness.h"

namespace tcsim::isa {
namespace {

TEST(Logic, Bitwise) {
  EXPECT_EQ(Harness("and.b32", 3).run({0b1100, 0b1010}), 0b1000u);
  EXPECT_EQ(Harness("or.b64", 3).run({1ull << 63, 1}), (1ull << 63) | 1);
  EXPECT_EQ(Harness("xor.b16", 3).run({0xffff, 0x00ff}), 0xff00u);
  EXPECT_EQ(Harness("not.b16", 2).run({0}), 0xffffu);
  EXPECT_EQ(Harness("cnot.b32", 2).run({0}), 1u);
  EXPECT_EQ(Harness("cnot.b32", 2).run({7}), 0u);
}

TEST(Logic, Predicates) {
  for (unsigned a = 0; a < 2; ++a) {
    EXPECT_EQ(Harness("not.pred", 2).run({a}), 1 - a);
    for (unsigned b = 0; b < 2; ++b) {
      EXPECT_EQ(Harness("and.pred", 3).run({a, b}), a & b);
      EXPECT_EQ(Harness("or.pred", 3).run({a, b}), a | b);
      EXPECT_EQ(Harness("xor.pred", 3).run({a, b}), a ^ b);
    }
  }
}

// Manual: the table is F(0xF0, 0xCC, 0xAA), so with these sources the low byte of the result is the table itself.
TEST(Logic, Lop3AllTables) {
  for (uint32_t table = 0; table < 256; ++table) {
    Harness lop3("lop3.b32", 5, table);
    EXPECT_EQ(lop3.run({0xf0, 0xcc, 0xaa, 0}) & 0xff, table);
    Harness with_pred("lop3.or.b32", 6, table);
    EXPECT_EQ(with_pred.run({0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0, 0}), table * 0x01010101u);
    EXPECT_EQ(with_pred.second, table ? kFullMask : 0u);
  }
  Harness both("lop3.and.b32", 6, 0x80);  // a & b & c
  both.run({1, 1, 1, 0, 0});
  EXPECT_EQ(both.second, 0u);
  both.run({1, 1, 1, 0, 1});
  EXPECT_EQ(both.second, kFullMask);
}

TEST(Logic, ShiftsClampTheirAmount) {
  EXPECT_EQ(Harness("shl.b32", 3).run({1, 31}), 0x80000000u);
  EXPECT_EQ(Harness("shl.b32", 3).run({1, 32}), 0u);
  EXPECT_EQ(Harness("shl.b16", 3).run({0xffff, 8}), 0xff00u);
  EXPECT_EQ(Harness("shl.b64", 3).run({1, 0xffffffff}), 0u);
  EXPECT_EQ(Harness("shr.u32", 3).run({0x80000000, 31}), 1u);
  EXPECT_EQ(Harness("shr.u32", 3).run({0x80000000, 40}), 0u);
  EXPECT_EQ(Harness("shr.b64", 3).run({1ull << 63, 63}), 1u);
  EXPECT_EQ(Harness("shr.s32", 3).run({0x80000000, 40}), 0xffffffffu);
  EXPECT_EQ(Harness("shr.s16", 3).run({0x8000, 15}), 0xffffu);
  EXPECT_EQ(Harness("shr.s64", 3).run({1ull << 63, 4}), 0xf800000000000000ull);
}

// Manual, shf: n = c clamped to 32 or wrapped; l: upper word of (b:a) << n, r: lower word of (b:a) >> n.
TEST(Logic, FunnelShifts) {
  Harness lc("shf.l.clamp.b32", 4), lw("shf.l.wrap.b32", 4), rc("shf.r.clamp.b32", 4), rw("shf.r.wrap.b32", 4);
  const uint32_t a = 0x89abcdef, b = 0x01234567;
  for (uint32_t c = 0; c < 70; ++c) {
    const uint32_t clamp = c > 32 ? 32 : c, wrap = c & 31;
    const auto left = [&](uint32_t n) { return n == 0 ? b : n == 32 ? a : b << n | a >> (32 - n); };
    const auto right = [&](uint32_t n) { return n == 0 ? a : n == 32 ? b : b << (32 - n) | a >> n; };
    EXPECT_EQ(lc.run({a, b, c}), left(clamp));
    EXPECT_EQ(lw.run({a, b, c}), left(wrap));
    EXPECT_EQ(rc.run({a, b, c}), right(clamp));
    EXPECT_EQ(rw.run({a, b, c}), right(wrap));
  }
}

}  // namespace
}  // namespace tcsim::isa
