// cvt against the exact routine of isa/numeric (decode, one rounding, encode), exhaustively where sources have 16 bits or
// less, and against hand values.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "isa/insn/lane_harness.h"
#include "isa/numeric/formats.h"

namespace tcsim::isa {
namespace {

uint64_t b(float x) { return std::bit_cast<uint32_t>(x); }
uint64_t b(double x) { return std::bit_cast<uint64_t>(x); }

TEST(Convert, IntegersTruncateExtendSaturate) {
  EXPECT_EQ(Harness("cvt.u16.u32", 2).run({0x12345678}), 0x5678u);
  EXPECT_EQ(Harness("cvt.s64.s32", 2).run({0x80000000}), 0xffffffff80000000ull);
  EXPECT_EQ(Harness("cvt.u64.u32", 2).run({0x80000000}), 0x80000000u);
  EXPECT_EQ(Harness("cvt.u64.s32", 2).run({0xffffffff}), ~0ull);
  EXPECT_EQ(Harness("cvt.s32.s8", 2).run({0x80}), 0xffffff80u);
  EXPECT_EQ(Harness("cvt.s32.s16", 2).run({0xffff}), 0xffffffffu);
  EXPECT_EQ(Harness("cvt.u32.u64", 2).run({0x123456789abcdef0}), 0x9abcdef0u);
  EXPECT_EQ(Harness("cvt.sat.u8.s32", 2).run({300}), 255u);
  EXPECT_EQ(Harness("cvt.sat.u8.s32", 2).run({static_cast<uint32_t>(-3)}), 0u);
  EXPECT_EQ(Harness("cvt.sat.s16.s32", 2).run({40000}), 0x7fffu);
  EXPECT_EQ(Harness("cvt.sat.s32.u32", 2).run({0xffffffff}), 0x7fffffffu);
  EXPECT_EQ(Harness("cvt.sat.u64.s64", 2).run({~0ull}), 0u);
}

TEST(Convert, IntegersToFloat) {
  EXPECT_EQ(Harness("cvt.rn.f32.s32", 2).run({16777217}), b(16777216.0f));  // tie to even
  EXPECT_EQ(Harness("cvt.rp.f32.s32", 2).run({16777217}), b(16777218.0f));
  EXPECT_EQ(Harness("cvt.rz.f32.u64", 2).run({~0ull}), b(0x1.fffffep63f));
  EXPECT_EQ(Harness("cvt.rn.f32.u64", 2).run({~0ull}), b(0x1p64f));
  EXPECT_EQ(Harness("cvt.rm.f32.s64", 2).run({static_cast<uint64_t>(-16777217)}), b(-16777218.0f));
  EXPECT_EQ(Harness("cvt.rn.f64.u32", 2).run({0xffffffff}), b(4294967295.0));
  EXPECT_EQ(Harness("cvt.rz.f64.u64", 2).run({~0ull}), b(0x1.fffffffffffffp63));
  EXPECT_EQ(Harness("cvt.rp.f64.s64", 2).run({0x20000000000001}), b(0x1.0000000000001p53));
  EXPECT_EQ(Harness("cvt.rn.f16.s32", 2).run({65520}), 0x7c00u);  // rounds to 65536: infinity
  EXPECT_EQ(Harness("cvt.rz.f16.s32", 2).run({65535}), 0x7bffu);
  EXPECT_EQ(Harness("cvt.rn.f16.u64", 2).run({2049}), 0x6800u);  // 2048, tie to even
  EXPECT_EQ(Harness("cvt.rn.bf16.s32", 2).run({static_cast<uint32_t>(-257)}), 0xc380u);
}

// 1 + half a last place: the random bits decide, at one half exactly upwards. f16 has 13 of them, bf16 16.
TEST(Convert, StochasticPairs) {
  EXPECT_EQ(Harness("cvt.rs.f16x2.f32", 4).run({b(0x1.002p0f), b(0x1.002p0f), 0x10000fff}), 0x3c013c00u);
  EXPECT_EQ(Harness("cvt.rs.f16x2.f32", 4).run({b(0x1.002p0f), b(0x1.002p0f), 0xf000e000}), 0x3c013c00u);  // three bits count nothing
  EXPECT_EQ(Harness("cvt.rs.bf16x2.f32", 4).run({b(0x1.01p0f), b(-0x1.01p0f), 0x80007fff}), 0x3f81bf80u);
  EXPECT_EQ(Harness("cvt.rs.relu.satfinite.f16x2.f32", 4).run({b(1e6f), b(-1.0f), 0}), 0x7bff0000u);
  EXPECT_EQ(Harness("cvt.rs.f16x2.f32", 4).run({b(65535.0f), b(std::nanf("")), 0x1fff0000}), 0x7c007fffu);
}

TEST(Convert, FloatsToIntegers) {
  EXPECT_EQ(Harness("cvt.rni.s32.f32", 2).run({b(2.5f)}), 2u);
  EXPECT_EQ(Harness("cvt.rzi.s32.f32", 2).run({b(-2.9f)}), static_cast<uint32_t>(-2));
  EXPECT_EQ(Harness("cvt.rmi.s32.f32", 2).run({b(-2.1f)}), static_cast<uint32_t>(-3));
  EXPECT_EQ(Harness("cvt.rpi.s32.f32", 2).run({b(2.1f)}), 3u);
  EXPECT_EQ(Harness("cvt.rzi.s32.f32", 2).run({b(1e20f)}), 0x7fffffffu);  // the manual: clamped by default
  EXPECT_EQ(Harness("cvt.rzi.u8.f32", 2).run({b(-5.0f)}), 0u);
  EXPECT_EQ(Harness("cvt.rzi.s8.f32", 2).run({b(-500.0f)}) & 0xff, 0x80u);
  EXPECT_EQ(Harness("cvt.rzi.u32.f32", 2).run({0x7fc00000}), 0u);                // NaN: 0 ...
  EXPECT_EQ(Harness("cvt.rzi.s32.f64", 2).run({b(std::nan(""))}), 0x80000000u);  // ... but 1 << 31 from f64
  EXPECT_EQ(Harness("cvt.rzi.s64.f32", 2).run({0x7fc00000}), 1ull << 63);
  EXPECT_EQ(Harness("cvt.rzi.u64.f64", 2).run({b(1.8446744073709550e19)}), 18446744073709549568ull);
  EXPECT_EQ(Harness("cvt.rzi.s64.f64", 2).run({b(-1e30)}), 1ull << 63);
  EXPECT_EQ(Harness("cvt.rpi.s32.f32", 2).run({1}), 1u);
  EXPECT_EQ(Harness("cvt.rpi.ftz.s32.f32", 2).run({1}), 0u);
  EXPECT_EQ(Harness("cvt.rni.s16.f16", 2).run({0x7bff}), 0x7fffu);  // 65504
}

TEST(Convert, FloatsToFloats) {
  EXPECT_EQ(Harness("cvt.rn.f32.f64", 2).run({b(1.0 + 0x1p-24)}), b(1.0f));
  EXPECT_EQ(Harness("cvt.rp.f32.f64", 2).run({b(1.0 + 0x1p-24)}), b(1.0f + 0x1p-23f));
  EXPECT_EQ(Harness("cvt.rz.f32.f64", 2).run({b(1e300)}), b(0x1.fffffep127f));
  EXPECT_EQ(Harness("cvt.f64.f32", 2).run({b(1.5f)}), b(1.5));
  EXPECT_EQ(Harness("cvt.rni.f32.f32", 2).run({b(-0.4f)}), b(-0.0f));
  EXPECT_EQ(Harness("cvt.rmi.f64.f64", 2).run({b(-1.5)}), b(-2.0));
  EXPECT_EQ(Harness("cvt.sat.f32.f32", 2).run({b(-1.5f)}), 0u);
  EXPECT_EQ(Harness("cvt.sat.f32.f32", 2).run({b(1.5f)}), b(1.0f));
  EXPECT_EQ(Harness("cvt.ftz.f32.f32", 2).run({1}), 0u);
  EXPECT_EQ(Harness("cvt.rn.ftz.f32.f64", 2).run({b(0x1p-140)}), 0u);
  EXPECT_EQ(Harness("cvt.rn.relu.f16.f32", 2).run({b(-1.0f)}), 0u);
  EXPECT_EQ(Harness("cvt.rn.satfinite.f16.f32", 2).run({b(1e9f)}), 0x7bffu);
  EXPECT_EQ(Harness("cvt.rn.satfinite.f16.f32", 2).run({b(-INFINITY)}), 0xfbffu);
  EXPECT_EQ(Harness("cvt.rn.f16x2.f32", 3).run({b(1.0f), b(2.0f)}), 0x3c004000u);  // a above b
  EXPECT_EQ(Harness("cvt.rz.relu.bf16x2.f32", 3).run({b(-1.0f), b(0x1.ffp0f)}), 0x00003fffu);
  EXPECT_EQ(Harness("cvt.rna.tf32.f32", 2).run({0x3f801000}), 0x3f802000u);  // tie away from zero
  EXPECT_EQ(Harness("cvt.rn.tf32.f32", 2).run({0x3f801000}), 0x3f800000u);
  EXPECT_EQ(Harness("cvt.rna.satfinite.tf32.f32", 2).run({b(INFINITY)}), 0x7f7fe000u);
}

uint64_t convert_bits(Type to, Type from, uint64_t x, const ConvertOptions& o) { return convert(from, to, x, o); }

/// Our instruction and numeric's routine on the same sources.
void same(const std::string& mnemonic, size_t operands, const std::vector<uint64_t>& sources, const std::function<uint64_t(uint64_t)>& expected) {
  Harness h(mnemonic, operands);
  std::vector<std::vector<uint64_t>> in{sources};
  if (operands == 3) in.push_back(sources);
  const auto out = run_all(h, in);
  for (size_t i = 0; i < sources.size(); ++i) ASSERT_EQ(out[i], expected(sources[i])) << mnemonic << " of " << std::hex << sources[i];
}

std::vector<uint64_t> floats_around_ties() {
  std::mt19937_64 g(5);
  std::vector<uint64_t> out;
  for (int i = 0; i < 60000; ++i) {
    uint64_t x = g() & 0xffffffffu;
    if (i % 3 == 0) x &= ~((uint64_t{1} << (g() % 24)) - 1);          // few bits: ties
    if (i % 3 == 1) x = (x & 0x80ffffffu) | (0x38 + g() % 10) << 24;  // near the small formats' range
    if ((x & 0x7fffffff) <= 0x7f800000) out.push_back(x);             // NaN is tested apart
  }
  return out;
}

TEST(Convert, HalvesInEveryDirection) {
  const auto sources = floats_around_ties();
  for (const auto& [name, mode] : {std::pair{"rn", Rounding::rn}, {"rz", Rounding::rz}, {"rm", Rounding::rm}, {"rp", Rounding::rp}}) {
    const ConvertOptions o{mode};
    same(std::string("cvt.") + name + ".f16.f32", 2, sources, [&](uint64_t x) { return convert_bits(Type::f16, Type::f32, x, o); });
  }
  for (const auto& [name, mode] : {std::pair{"rn", Rounding::rn}, {"rz", Rounding::rz}}) {
    const ConvertOptions o{mode};
    same(std::string("cvt.") + name + ".bf16.f32", 2, sources, [&](uint64_t x) { return convert_bits(Type::bf16, Type::f32, x, o); });
  }
}

TEST(Convert, AllEncodingsOfTheSmallFormats) {
  for (const auto& [pair, type, mask] :
       {std::tuple{"e4m3x2", Type::e4m3, 0xffu}, {"e5m2x2", Type::e5m2, 0xffu}, {"e3m2x2", Type::e3m2, 0x3fu}, {"e2m3x2", Type::e2m3, 0x3fu}}) {
    std::vector<uint64_t> codes;
    for (uint64_t c = 0; c <= mask; ++c) codes.push_back(c << 8 | (mask - c));
    same(std::string("cvt.rn.f16x2.") + pair, 2, codes,
         [&, type = type](uint64_t x) { return convert_bits(Type::f16, type, x >> 8, {}) << 16 | convert_bits(Type::f16, type, x & 0xff, {}); });
  }
  std::vector<uint64_t> nibbles;
  for (uint64_t c = 0; c < 256; ++c) nibbles.push_back(c);
  same("cvt.rn.f16x2.e2m1x2", 2, nibbles,
       [](uint64_t x) { return convert_bits(Type::f16, Type::e2m1, x >> 4, {}) << 16 | convert_bits(Type::f16, Type::e2m1, x & 15, {}); });
}

TEST(Convert, ToTheSmallFormats) {
  const auto sources = floats_around_ties();
  ConvertOptions o;
  o.satfinite = true;
  for (const auto& [pair, type] :
       {std::pair{"e4m3x2", Type::e4m3}, {"e5m2x2", Type::e5m2}, {"e3m2x2", Type::e3m2}, {"e2m3x2", Type::e2m3}, {"e2m1x2", Type::e2m1}}) {
    const int spacing = type == Type::e2m1 ? 4 : 8;
    const auto twice = [&, type = type](const ConvertOptions& options) {
      return [=](uint64_t x) {
        const uint64_t c = convert_bits(type, Type::f32, x, options);
        return c << spacing | c;
      };
    };
    same(std::string("cvt.rn.satfinite.") + pair + ".f32", 3, sources, twice(o));
    ConvertOptions relu = o;
    relu.relu = true;
    same(std::string("cvt.rn.satfinite.relu.") + pair + ".f32", 3, sources, twice(relu));
  }
  EXPECT_EQ(Harness("cvt.rn.satfinite.e4m3x2.f32", 3).run({0x7fc00000, b(1e9f)}), 0x7f7eu);
  EXPECT_EQ(Harness("cvt.rn.satfinite.e2m1x2.f32", 3).run({0xffc00000, b(-0.0f)}), 0x78u);  // NaN: the largest value
  std::vector<uint64_t> halves;
  for (uint64_t h = 0; h < 0x10000; ++h)
    if ((h & 0x7fff) <= 0x7c00) halves.push_back(h << 16 | h);
  same("cvt.rn.satfinite.e5m2x2.f16x2", 2, halves, [&](uint64_t x) {
    const uint64_t c = convert_bits(Type::e5m2, Type::f16, x & 0xffff, o);
    return c << 8 | c;
  });
}

TEST(Convert, PowersOfTwo) {
  Harness rz("cvt.rz.ue8m0x2.f32", 3), rp("cvt.rp.satfinite.ue8m0x2.f32", 3), back("cvt.rn.bf16x2.ue8m0x2", 2);
  EXPECT_EQ(rz.run({b(1.0f), b(3.9f)}), 0x7f80u);            // 2^0, 2^1
  EXPECT_EQ(rp.run({b(1.0f), b(3.9f)}), 0x7f81u);            // 2^2
  EXPECT_EQ(rp.run({b(0x1.8p127f), b(INFINITY)}), 0xfefeu);  // satfinite: 2^127
  EXPECT_EQ(rz.run({0x7fc00000, b(0x1p-127f)}), 0xff00u);
  EXPECT_EQ(rp.run({b(0x1p-127f), b(0x1.8p-127f)}), 0x0001u);
  EXPECT_EQ(back.run({0x7f00}), 0x3f800040u);  // 1, and the subnormal 2^-127
}

TEST(Convert, Pack) {
  EXPECT_EQ(Harness("cvt.pack.sat.s16.s32", 3).run({40000, static_cast<uint32_t>(-2)}), 0x7ffffffeu);
  EXPECT_EQ(Harness("cvt.pack.sat.u8.s32.b32", 4).run({300, static_cast<uint32_t>(-1), 0x00001234}), 0x1234ff00u);
  EXPECT_EQ(Harness("cvt.pack.sat.s4.s32.b32", 4).run({static_cast<uint32_t>(-9), 9, 1}), 0x187u);
  EXPECT_EQ(Harness("cvt.pack.sat.u2.s32.b32", 4).run({2, 5, 3}), 0x3bu);
}

TEST(Convert, CombinationsThatDoNotExist) {
  for (const char* mnemonic : {"cvt.s32.f32", "cvt.f32.s32", "cvt.rn.f64.f32", "cvt.sat.s64.s32", "cvt.rni.f64.f32", "cvt.ftz.f16.f64"})
    EXPECT_THROW(Harness(mnemonic, 2), std::runtime_error) << mnemonic;
}

}  // namespace
}  // namespace tcsim::isa
