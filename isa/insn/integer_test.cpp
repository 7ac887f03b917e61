// Expected values: hand arithmetic, or the manual's pseudo code written out bit by bit.
#include <gtest/gtest.h>

#include <random>

#include "isa/insn/lane_harness.h"

namespace tcsim::isa {
namespace {

constexpr uint64_t kAll32 = 0xffffffffu;

TEST(Integer, AddSubWrapAndSaturate) {
  EXPECT_EQ(Harness("add.u32", 3).run({kAll32, 2}), 1u);
  EXPECT_EQ(Harness("add.u16", 3).run({0xffff, 2}), 1u);  // the upper half of the lane stays zero
  EXPECT_EQ(Harness("add.s64", 3).run({~0ull, 1}), 0u);
  EXPECT_EQ(Harness("sub.s16", 3).run({0, 1}), 0xffffu);
  EXPECT_EQ(Harness("add.sat.s32", 3).run({0x7fffffff, 1}), 0x7fffffffu);
  EXPECT_EQ(Harness("sub.sat.s32", 3).run({0x80000000, 1}), 0x80000000u);
  EXPECT_EQ(Harness("add.u16x2", 3).run({0xffff0001, 0x00010002}), 0x00000003u);  // no carry between halves
}

TEST(Integer, Products) {
  EXPECT_EQ(Harness("mul.lo.s32", 3).run({0x80000001, 3}), 0x80000003u);
  EXPECT_EQ(Harness("mul.hi.s32", 3).run({kAll32, 5}), kAll32);  // -1 * 5 = -5: high half all ones
  EXPECT_EQ(Harness("mul.hi.u32", 3).run({kAll32, 5}), 4u);      // (2^32 - 1) * 5 = 4 * 2^32 + ...
  EXPECT_EQ(Harness("mul.wide.s32", 3).run({kAll32, 5}), static_cast<uint64_t>(-5));
  EXPECT_EQ(Harness("mul.wide.u16", 3).run({0xffff, 0xffff}), 0xfffe0001u);
  EXPECT_EQ(Harness("mul.hi.u64", 3).run({~0ull, ~0ull}), ~0ull - 1);  // (2^64-1)^2 = 2^128 - 2*2^64 + 1
  EXPECT_EQ(Harness("mul.lo.u16", 3).run({0xffff, 0xffff}), 1u);
  EXPECT_EQ(Harness("mad.wide.u32", 4).run({3, 4, 1ull << 40}), (1ull << 40) + 12);
  EXPECT_EQ(Harness("mad.lo.s32", 4).run({static_cast<uint32_t>(-3), 4, 2}), static_cast<uint32_t>(-10));
  EXPECT_EQ(Harness("mad.hi.sat.s32", 4).run({0x7fffffff, 0x7fffffff, 0x7fffffff}), 0x7fffffffu);
  EXPECT_EQ(Harness("mul24.lo.u32", 3).run({0xff000003, 4}), 12u);          // the upper 8 bits do not count
  EXPECT_EQ(Harness("mul24.hi.s32", 3).run({0x00800000, 2}), 0xffffff00u);  // -2^23 * 2 = -2^24; bits 47..16 = -2^8
  EXPECT_EQ(Harness("mad24.lo.s32", 4).run({0x00ffffff, 7, 10}), 3u);       // -1 * 7 + 10
  EXPECT_EQ(Harness("sad.s32", 4).run({static_cast<uint32_t>(-3), 4, 100}), 107u);
  EXPECT_EQ(Harness("sad.u16", 4).run({3, 10, 0xffff}), 6u);
}

TEST(Integer, DivisionAndRemainder) {
  EXPECT_EQ(Harness("div.s32", 3).run({static_cast<uint32_t>(-7), 2}), static_cast<uint32_t>(-3));  // towards zero
  EXPECT_EQ(Harness("rem.s32", 3).run({static_cast<uint32_t>(-7), 2}), static_cast<uint32_t>(-1));  // sign of a
  EXPECT_EQ(Harness("div.s32", 3).run({0x80000000, kAll32}), 0x80000000u);
  EXPECT_EQ(Harness("rem.s32", 3).run({0x80000000, kAll32}), 0u);
  EXPECT_EQ(Harness("div.u64", 3).run({~0ull, 10}), 1844674407370955161ull);
}

TEST(Integer, MinMaxAbsNeg) {
  EXPECT_EQ(Harness("min.s32", 3).run({static_cast<uint32_t>(-1), 1}), kAll32);
  EXPECT_EQ(Harness("min.u32", 3).run({static_cast<uint32_t>(-1), 1}), 1u);
  EXPECT_EQ(Harness("max.s16x2", 3).run({0xffff0005, 0x00010004}), 0x00010005u);
  EXPECT_EQ(Harness("max.relu.s16x2", 3).run({0xfffe0005, 0xffff0004}), 0x00000005u);
  EXPECT_EQ(Harness("min.relu.s32", 3).run({static_cast<uint32_t>(-4), 3}), 0u);
  EXPECT_EQ(Harness("abs.s32", 2).run({0x80000000}), 0x80000000u);
  EXPECT_EQ(Harness("abs.s16", 2).run({0xffff}), 1u);
  EXPECT_EQ(Harness("neg.s64", 2).run({1}), ~0ull);
}

TEST(Integer, BitCounts) {
  EXPECT_EQ(Harness("popc.b64", 2).run({~0ull}), 64u);
  EXPECT_EQ(Harness("clz.b32", 2).run({0}), 32u);
  EXPECT_EQ(Harness("clz.b64", 2).run({1}), 63u);
  EXPECT_EQ(Harness("bfind.u32", 2).run({0}), kAll32);
  EXPECT_EQ(Harness("bfind.u32", 2).run({0x00010000}), 16u);
  EXPECT_EQ(Harness("bfind.s32", 2).run({static_cast<uint32_t>(-1)}), kAll32);
  EXPECT_EQ(Harness("bfind.s32", 2).run({static_cast<uint32_t>(-3)}), 1u);  // ~(-3) = 2
  EXPECT_EQ(Harness("bfind.shiftamt.u64", 2).run({1}), 63u);
  EXPECT_EQ(Harness("brev.b32", 2).run({1}), 0x80000000u);
  EXPECT_EQ(Harness("brev.b64", 2).run({0x00000000000000f0}), 0x0f00000000000000ull);
}

// The four examples of the manual, "Integer Arithmetic Instructions: fns".
TEST(Integer, Fns) {
  Harness fns("fns.b32", 4);
  EXPECT_EQ(fns.run({0xaaaaaaaa, 3, 1}), 3u);
  EXPECT_EQ(fns.run({0xaaaaaaaa, 3, static_cast<uint32_t>(-1)}), 3u);
  EXPECT_EQ(fns.run({0xaaaaaaaa, 2, 1}), 3u);
  EXPECT_EQ(fns.run({0xaaaaaaaa, 2, static_cast<uint32_t>(-1)}), 1u);
  EXPECT_EQ(fns.run({0xaaaaaaaa, 31, 2}), kAll32);
}

// The manual's loops, bit by bit.
uint64_t bfe_by_bits(uint64_t a, uint32_t b, uint32_t c, int msb, bool is_signed) {
  const uint32_t pos = b & 0xff, len = c & 0xff;
  const bool sbit = is_signed && len != 0 && (a >> std::min<uint32_t>(pos + len - 1, msb) & 1);
  uint64_t d = 0;
  for (uint32_t i = 0; i <= static_cast<uint32_t>(msb); ++i)
    if ((i < len && pos + i <= static_cast<uint32_t>(msb)) ? (a >> (pos + i) & 1) : sbit) d |= uint64_t{1} << i;
  return d;
}
uint64_t bfi_by_bits(uint64_t a, uint64_t b, uint32_t c, uint32_t d, int msb) {
  const uint32_t pos = c & 0xff, len = d & 0xff;
  uint64_t f = b;
  for (uint32_t i = 0; i < len && pos + i <= static_cast<uint32_t>(msb); ++i) f = (f & ~(uint64_t{1} << (pos + i))) | (a >> i & 1) << (pos + i);
  return f;
}

TEST(Integer, BitFieldsAgreeWithTheManualsLoops) {
  std::mt19937_64 random(1);
  Harness bfe_u32("bfe.u32", 4), bfe_s32("bfe.s32", 4), bfe_u64("bfe.u64", 4), bfe_s64("bfe.s64", 4), bfi_32("bfi.b32", 5), bfi_64("bfi.b64", 5);
  for (uint32_t pos = 0; pos < 70; ++pos)
    for (uint32_t len : {0u, 1u, 2u, 7u, 31u, 32u, 33u, 63u, 64u, 100u, 255u}) {
      const uint64_t a = random(), b = random();
      EXPECT_EQ(bfe_u32.run({a & kAll32, pos, len}), bfe_by_bits(a & kAll32, pos, len, 31, false));
      EXPECT_EQ(bfe_s32.run({a & kAll32, pos, len}), bfe_by_bits(a & kAll32, pos, len, 31, true)) << pos << " " << len;
      EXPECT_EQ(bfe_u64.run({a, pos, len}), bfe_by_bits(a, pos, len, 63, false));
      EXPECT_EQ(bfe_s64.run({a, pos, len}), bfe_by_bits(a, pos, len, 63, true));
      EXPECT_EQ(bfi_32.run({a & kAll32, b & kAll32, pos, len}), bfi_by_bits(a & kAll32, b & kAll32, pos, len, 31));
      EXPECT_EQ(bfi_64.run({a, b, pos, len}), bfi_by_bits(a, b, pos, len, 63));
    }
}

TEST(Integer, SzextAndBmsk) {
  EXPECT_EQ(Harness("szext.wrap.u32", 3).run({kAll32, 0}), 0u);  // the manual's example
  EXPECT_EQ(Harness("szext.clamp.s32", 3).run({0x80, 8}), 0xffffff80u);
  EXPECT_EQ(Harness("szext.clamp.s32", 3).run({0x80, 32}), 0x80u);  // all 32 bits kept
  EXPECT_EQ(Harness("szext.wrap.s32", 3).run({0x80, 40}), 0xffffff80u);
  EXPECT_EQ(Harness("bmsk.wrap.b32", 3).run({1, 2}), 6u);  // the manual's example
  EXPECT_EQ(Harness("bmsk.clamp.b32", 3).run({32, 2}), 0u);
  EXPECT_EQ(Harness("bmsk.clamp.b32", 3).run({4, 40}), 0xfffffff0u);
  EXPECT_EQ(Harness("bmsk.wrap.b32", 3).run({4, 0}), 0u);
}

TEST(Integer, DotProducts) {
  EXPECT_EQ(Harness("dp4a.u32.u32", 4).run({0x01020304, 0x05060708, 1}), 5u + 12 + 21 + 32 + 1);
  EXPECT_EQ(Harness("dp4a.s32.u32", 4).run({0x000000ff, 0x00000002, 10}), 8u);     // -1 * 2 + 10
  EXPECT_EQ(Harness("dp2a.lo.s32.u32", 4).run({0xffff0002, 0x00000305, 0}), 7u);   // 2 * 5 - 1 * 3
  EXPECT_EQ(Harness("dp2a.hi.u32.u32", 4).run({0x00010002, 0x03050000, 0}), 13u);  // 2 * 5 + 1 * 3
}

TEST(Integer, CarryChains) {
  // 128-bit: (2^64 - 1) + 1 by 32-bit pieces, then the high word takes the carry.
  Harness low("add.cc.u32", 3), high("addc.u32", 3);
  EXPECT_EQ(low.run({kAll32, 1}), 0u);
  EXPECT_EQ(low.carry, kFullMask);
  high.carry = low.carry;
  EXPECT_EQ(high.run({7, 0}), 8u);
  EXPECT_EQ(high.carry, kFullMask);  // addc without .cc leaves it

  Harness sub("sub.cc.u64", 3), borrow("subc.cc.u64", 3);
  EXPECT_EQ(sub.run({0, 1}), ~0ull);
  EXPECT_EQ(sub.carry, kFullMask);
  borrow.carry = sub.carry;
  EXPECT_EQ(borrow.run({5, 4}), 0u);
  EXPECT_EQ(borrow.carry, 0u);
  borrow.carry = kFullMask;
  EXPECT_EQ(borrow.run({0, ~0ull}), 0u);  // 0 - (2^64 - 1) - 1 = -2^64
  EXPECT_EQ(borrow.carry, kFullMask);

  Harness mad("mad.lo.cc.u32", 4), madc("madc.hi.u32", 4);
  EXPECT_EQ(mad.run({0x10000, 0x10000, 5}), 5u);
  EXPECT_EQ(mad.carry, 0u);
  madc.carry = kFullMask;
  EXPECT_EQ(madc.run({0x10000, 0x10000, 5}), 7u);
}

TEST(Integer, MaskedLanesKeepTheirValue) {
  Harness add("add.u32", 3);
  std::vector<Harness::Row> rows(2);
  for (int l = 0; l < kLanes; ++l) rows[0][l] = 100 + l, rows[1][l] = 1;
  const auto out = add.run_lanes(rows, 0x0000ff0fu, 42);
  for (int l = 0; l < kLanes; ++l) EXPECT_EQ(out[l], (0x0000ff0fu >> l & 1) ? 101u + l : 42u);
}

}  // namespace
}  // namespace tcsim::isa
