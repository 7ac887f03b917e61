#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "isa/insn/lane_harness.h"

namespace tcsim::isa {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
uint64_t b(float x) { return std::bit_cast<uint32_t>(x); }
uint64_t b(double x) { return std::bit_cast<uint64_t>(x); }

struct Case {
  const char* name;
  bool less, equal, greater, unordered;  // result for a < b, a == b, a > b, NaN
};
// PTX ISA, "Floating Point Comparisons" and "Operators for testing".
constexpr Case kFloatCases[] = {{"eq", 0, 1, 0, 0},  {"ne", 1, 0, 1, 0},  {"lt", 1, 0, 0, 0},  {"le", 1, 1, 0, 0},  {"gt", 0, 0, 1, 0},
                                {"ge", 0, 1, 1, 0},  {"equ", 0, 1, 0, 1}, {"neu", 1, 0, 1, 1}, {"ltu", 1, 0, 0, 1}, {"leu", 1, 1, 0, 1},
                                {"gtu", 0, 0, 1, 1}, {"geu", 0, 1, 1, 1}, {"num", 1, 1, 1, 0}, {"nan", 0, 0, 0, 1}};

TEST(Compare, FloatOperators) {
  for (const Case& c : kFloatCases) {
    Harness f32(std::string("setp.") + c.name + ".f32", 3), f64(std::string("setp.") + c.name + ".f64", 3);
    EXPECT_EQ(f32.run({b(-1.0f), b(2.0f)}), c.less) << c.name;
    EXPECT_EQ(f32.run({b(0.0f), b(-0.0f)}), c.equal) << c.name;
    EXPECT_EQ(f32.run({b(kInf), b(2.0f)}), c.greater) << c.name;
    EXPECT_EQ(f32.run({b(kNan), b(2.0f)}), c.unordered) << c.name;
    EXPECT_EQ(f32.run({b(2.0f), b(kNan)}), c.unordered) << c.name;
    EXPECT_EQ(f64.run({b(-1.0), b(2.0)}), c.less) << c.name;
    EXPECT_EQ(f64.run({b(double{kNan}), b(double{kNan})}), c.unordered) << c.name;
    Harness f16(std::string("setp.") + c.name + ".f16", 3), bf16x2(std::string("setp.") + c.name + ".bf16x2", 3);
    EXPECT_EQ(f16.run({0xbc00, 0x3c00}), c.less) << c.name;  // -1, 1
    EXPECT_EQ(f16.run({0x7e00, 0x3c00}), c.unordered) << c.name;
    EXPECT_EQ(bf16x2.run({0x3f80bf80, 0xbf803f80}), c.less) << c.name;  // low: -1 and 1; high: 1 and -1
    EXPECT_EQ(bf16x2.second, c.greater ? kFullMask : 0u) << c.name;
  }
}

TEST(Compare, FtzFlushesSources) {
  EXPECT_EQ(Harness("setp.eq.f32", 3).run({1, 0}), 0u);
  EXPECT_EQ(Harness("setp.eq.ftz.f32", 3).run({1, 0}), 1u);
  EXPECT_EQ(Harness("setp.gt.f16", 3).run({1, 0}), 1u);
  EXPECT_EQ(Harness("setp.gt.ftz.f16", 3).run({1, 0}), 0u);
}

TEST(Compare, Integers) {
  const uint64_t minus = 0xffffffffu;
  EXPECT_EQ(Harness("setp.lt.s32", 3).run({minus, 0}), 1u);
  EXPECT_EQ(Harness("setp.lt.u32", 3).run({minus, 0}), 0u);
  EXPECT_EQ(Harness("setp.lo.u32", 3).run({0, minus}), 1u);
  EXPECT_EQ(Harness("setp.hs.u64", 3).run({~0ull, 5}), 1u);
  EXPECT_EQ(Harness("setp.ge.s64", 3).run({~0ull, 5}), 0u);
  EXPECT_EQ(Harness("setp.le.s16", 3).run({0x8000, 0x7fff}), 1u);
  EXPECT_EQ(Harness("setp.le.u16", 3).run({0x8000, 0x7fff}), 0u);
  EXPECT_EQ(Harness("setp.ne.b64", 3).run({1ull << 40, 0}), 1u);
  EXPECT_THROW(Harness("setp.lt.b32", 3), std::runtime_error);  // bit types have eq and ne only
  EXPECT_THROW(Harness("setp.lo.s32", 3), std::runtime_error);
}

TEST(Compare, BooleanOperatorsAndPair) {
  for (unsigned c = 0; c < 2; ++c)
    for (unsigned t = 0; t < 2; ++t) {
      EXPECT_EQ(Harness("setp.eq.and.s32", 4).run({t, 1, c}), t & c);
      EXPECT_EQ(Harness("setp.eq.or.s32", 4).run({t, 1, c}), t | c);
      EXPECT_EQ(Harness("setp.eq.xor.s32", 4).run({t, 1, c}), t ^ c);
    }
}

TEST(Compare, Set) {
  EXPECT_EQ(Harness("set.lt.u32.s32", 3).run({1, 2}), 0xffffffffu);
  EXPECT_EQ(Harness("set.lt.f32.s32", 3).run({1, 2}), b(1.0f));
  EXPECT_EQ(Harness("set.gt.f32.f32", 3).run({b(1.0f), b(2.0f)}), 0u);
  EXPECT_EQ(Harness("set.eq.f16.f16", 3).run({0x3c00, 0x3c00}), 0x3c00u);
  EXPECT_EQ(Harness("set.eq.bf16x2.bf16x2", 3).run({0x3f800000, 0x3f803f80}), 0x3f800000u);
  EXPECT_EQ(Harness("set.ne.u32.f16x2", 3).run({0x3c000000, 0x3c003c00}), 0x0000ffffu);
  EXPECT_EQ(Harness("set.eq.and.u32.u32", 4).run({5, 5, 0}), 0u);
}

TEST(Compare, Selections) {
  EXPECT_EQ(Harness("selp.b64", 4).run({1ull << 40, 2, 1}), 1ull << 40);
  EXPECT_EQ(Harness("selp.f32", 4).run({1, 2, 0}), 2u);
  EXPECT_EQ(Harness("slct.u32.s32", 4).run({7, 8, 0}), 7u);
  EXPECT_EQ(Harness("slct.u32.s32", 4).run({7, 8, 0xffffffff}), 8u);
  EXPECT_EQ(Harness("slct.u32.f32", 4).run({7, 8, b(-0.0f)}), 7u);
  EXPECT_EQ(Harness("slct.u32.f32", 4).run({7, 8, b(kNan)}), 8u);  // the manual: NaN selects b
  EXPECT_EQ(Harness("slct.u64.f32", 4).run({7, 8, 0x80000001}), 8u);
  EXPECT_EQ(Harness("slct.ftz.u64.f32", 4).run({7, 8, 0x80000001}), 7u);
}

}  // namespace
}  // namespace tcsim::isa
