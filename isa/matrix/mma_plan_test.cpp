// MmaPlan: small products by hand, aliasing, what is refused, and data movement.
#include "isa/matrix/mma_plan.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "isa/matrix/matrix_move.h"
#include "isa/numeric/formats.h"

namespace tcsim::isa {
namespace {

struct File {
  std::vector<std::vector<uint64_t>> registers;
  std::vector<uint32_t*> p;
  explicit File(int count) : registers(static_cast<size_t>(count), std::vector<uint64_t>(32, 0)) {
    for (auto& r : registers) p.push_back(reinterpret_cast<uint32_t*>(r.data()));
  }
};

void put(File& f, const FragmentMap& map, int row, int col, uint64_t bits) {
  for (const Home& h : map.homes(row, col)) {
    if (map.register_bits() == 64) std::memcpy(f.p[h.reg] + 2 * h.lane, &bits, 8);
    else f.p[h.reg][h.lane] |= static_cast<uint32_t>(bits) << h.bit;
  }
}

uint64_t get(const File& f, const FragmentMap& map, int row, int col) {
  const Home h = map.home(row, col);
  if (map.register_bits() == 64) return f.registers[h.reg][h.lane];
  return (f.p[h.reg][h.lane] >> h.bit) & ((uint64_t{1} << map.element_bits()) - 1);
}

uint64_t encode(Type t, int value) {
  if (t == Type::s32) return static_cast<uint32_t>(value);
  if (t == Type::f64) return std::bit_cast<uint64_t>(static_cast<double>(value));
  const Number n{value ? NumberKind::finite : NumberKind::zero, value < 0, 0, static_cast<uint64_t>(std::abs(value))};
  return encode_number(t, n);
}

// Small integers are exact in every type: D = A * B + C must be the integer product, on every generation and for every dense shape.
TEST(MmaPlan, IntegerProductsAreExactEverywhere) {
  struct Kind {
    Type ab, acc;
    int limit;
  };
  const Kind kinds[] = {{Type::f16, Type::f32, 3},  {Type::f16, Type::f16, 3},  {Type::bf16, Type::f32, 3}, {Type::tf32, Type::f32, 3},
                        {Type::f64, Type::f64, 3},  {Type::s8, Type::s32, 100}, {Type::u4, Type::s32, 15},  {Type::s4, Type::s32, 7},
                        {Type::e4m3, Type::f32, 3}, {Type::e5m2, Type::f16, 2}};
  std::mt19937 rng(7);
  int plans = 0;
  for (Generation g : {Generation::volta, Generation::turing, Generation::ampere, Generation::ada, Generation::hopper, Generation::blackwell})
    for (MatrixFamily family : {MatrixFamily::mma, MatrixFamily::wmma})
      for (const Kind& kind : kinds)
        for (int m : {8, 16, 32})
          for (int n : {8, 16, 32})
            for (int k : {4, 8, 16, 32, 64}) {
              const MmaDesc desc{.generation = g, .family = family, .shape = {m, n, k}, .a = kind.ab, .b = kind.ab, .c = kind.acc, .d = kind.acc};
              if (!MmaPlan::check(desc).empty()) continue;
              const MmaPlan plan(desc);
              const auto map = [&](MatrixRole r) {
                return FragmentMap(*fragment_spec(family, desc.shape, r, r == MatrixRole::a || r == MatrixRole::b ? kind.ab : kind.acc,
                                                  r == MatrixRole::b ? MatrixOrder::col : MatrixOrder::row));
              };
              const FragmentMap ma = map(MatrixRole::a), mb = map(MatrixRole::b), mc = map(MatrixRole::c);
              File a(ma.registers()), b(mb.registers()), c(mc.registers());
              std::vector<int> va(static_cast<size_t>(m * k)), vb(static_cast<size_t>(k * n)), vc(static_cast<size_t>(m * n));
              const bool is_unsigned = kind.ab == Type::u4;
              const auto value = [&] {
                return static_cast<int>(rng() % static_cast<uint32_t>(kind.limit + 1)) * (is_unsigned || rng() % 2 ? 1 : -1);
              };
              const auto fill = [&](File& f, const FragmentMap& fm, std::vector<int>& v, Type t, int rows, int cols) {
                for (int i = 0; i < rows; ++i)
                  for (int j = 0; j < cols; ++j) put(f, fm, i, j, encode(t, v[static_cast<size_t>(i * cols + j)] = value()));
              };
              fill(a, ma, va, kind.ab, m, k);
              fill(b, mb, vb, kind.ab, k, n);
              fill(c, mc, vc, kind.acc, m, n);
              plan.run(c.p.data(), a.p.data(), b.p.data(), c.p.data());  // D over C
              for (int i = 0; i < m; ++i)
                for (int j = 0; j < n; ++j) {
                  int sum = vc[static_cast<size_t>(i * n + j)];
                  for (int kk = 0; kk < k; ++kk) sum += va[static_cast<size_t>(i * k + kk)] * vb[static_cast<size_t>(kk * n + j)];
                  ASSERT_EQ(get(c, mc, i, j), encode(kind.acc, sum))
                      << "generation " << static_cast<int>(g) << " m" << m << "n" << n << "k" << k << " ." << name(kind.ab);
                }
              ++plans;
            }
  EXPECT_GT(plans, 150);
}

TEST(MmaPlan, SaturationAndWrap) {
  // 16 x 8 x 16 of s8 with all elements 127: each sum is 16 * 127 * 127 = 258064; C = 2^31 - 1.
  for (bool sat : {false, true}) {
    const MmaPlan plan({.shape = {16, 8, 16}, .a = Type::s8, .b = Type::s8, .c = Type::s32, .d = Type::s32, .satfinite = sat});
    File a(2), b(1), c(4);
    for (File* f : {&a, &b})
      for (uint32_t* r : f->p) std::fill_n(r, 32, 0x7f7f7f7fu);
    for (uint32_t* r : c.p) std::fill_n(r, 32, 0x7fffffffu);
    plan.run(c.p.data(), a.p.data(), b.p.data(), c.p.data());
    EXPECT_EQ(c.p[2][17], sat ? 0x7fffffffu : 0x80000000u + 258063u);
  }
}

TEST(MmaPlan, WhatDoesNotExist) {
  const auto why = [](MmaDesc d) { return MmaPlan::check(d); };
  EXPECT_NE(why({.shape = {16, 8, 17}}), "");
  EXPECT_NE(why({.shape = {16, 8, 16}, .a = Type::f16, .b = Type::bf16}), "");
  EXPECT_NE(why({.shape = {16, 8, 16}, .a = Type::bf16, .b = Type::bf16, .c = Type::f16, .d = Type::f16}), "");
  EXPECT_NE(why({.shape = {16, 8, 16}, .a_order = MatrixOrder::col}), "");
  EXPECT_NE(why({.shape = {16, 8, 256}, .a = Type::b1, .b = Type::b1, .c = Type::s32, .d = Type::s32}), "");
  EXPECT_NE(why({.family = MatrixFamily::mma_sparse, .shape = {16, 8, 32}, .selector = 2}), "");
  EXPECT_NE(why({.shape = {16, 8, 16}, .satfinite = true}), "");
  EXPECT_EQ(why({.family = MatrixFamily::mma_sparse, .shape = {16, 8, 32}, .selector = 1}), "");
  EXPECT_EQ(why({.shape = {16, 8, 32}, .a = Type::e5m2, .b = Type::e4m3, .c = Type::f16, .d = Type::f16}), "");
}

// ldmatrix x2: lane i gives row i; register j of lane l holds elements 2 * (l % 4) and the next of row l / 4 of matrix j.
TEST(MatrixMove, LoadAndStore) {
  std::vector<uint16_t> memory(256);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<uint16_t>(i);
  uint8_t* rows[32];
  for (size_t i = 0; i < 32; ++i) rows[i] = reinterpret_cast<uint8_t*>(memory.data() + 8 * i);
  File d(2);
  ldmatrix(d.p.data(), rows, 2, false);
  EXPECT_EQ(d.p[1][13], 0x005b005au);  // matrix 1, row 3: 64 + 24 + 2 = 90 and 91
  ldmatrix(d.p.data(), rows, 2, true);
  EXPECT_EQ(d.p[1][13], 0x005b0053u);  // column 3 of matrix 1, rows 2 and 3: 64 + 19 = 83, 64 + 27 = 91
  std::vector<uint16_t> before = memory;
  std::fill(memory.begin(), memory.end(), uint16_t{0});
  stmatrix(rows, d.p.data(), 2, true);
  before.resize(128), memory.resize(128);
  EXPECT_EQ(memory, before);
}

TEST(MatrixMove, WmmaPieces) {
  // A row-major f16: pairs along k are adjacent in memory, so a register is one piece; column-major: two pieces of 16 bits.
  const auto row = WmmaAccess::make({16, 16, 16}, MatrixRole::a, Type::f16, MatrixOrder::row);
  const auto col = WmmaAccess::make({16, 16, 16}, MatrixRole::a, Type::f16, MatrixOrder::col);
  ASSERT_TRUE(row && col);
  EXPECT_EQ(row->pieces().size(), 8u * 32);
  EXPECT_EQ(col->pieces().size(), 8u * 64);
  EXPECT_EQ(row->byte_offset(row->pieces()[5], 24), (1u * 24 + 2) * 2);   // lane 5: row 1, columns 2 and 3
  EXPECT_EQ(col->byte_offset(col->pieces()[11], 24), (3u * 24 + 1) * 2);  // lane 5, upper half: row 1, column 3
  EXPECT_FALSE(WmmaAccess::make({16, 8, 16}, MatrixRole::a, Type::f16, MatrixOrder::row));
}

// m16n16k16 on Volta: quad pair q (lanes 4q .. 4q+3 and 16 more) computes the 8x8 block at row 8 (q % 2), column 8 (q / 2).
TEST(MatrixMove, VoltaWmmaAccesses) {
  const auto a = volta_wmma_accesses({16, 16, 16}, MatrixRole::a, Type::f16, MatrixOrder::row);
  ASSERT_EQ(a.size(), 2u);  // a row of 16 halves: twice 16 bytes
  EXPECT_EQ(a[1].bytes, 16u);
  EXPECT_EQ(a[0].first[21], (Element{13, 0, 1}));  // pair 1: rows 8 to 15; lane 21 is its lane 1 of the upper half: row 8 + 4 + 1
  EXPECT_EQ(a[1].first[21], (Element{13, 8, 1}));
  const auto b = volta_wmma_accesses({16, 16, 16}, MatrixRole::b, Type::f16, MatrixOrder::row);
  ASSERT_EQ(b.size(), 4u);  // four columns of row 4 j + t: 8 bytes each
  EXPECT_EQ(b[3].bytes, 8u);
  EXPECT_EQ(b[3].first[10], (Element{14, 8, 2}));  // pair 2: columns 8 to 11; t = 2
  const auto d = volta_wmma_accesses({16, 16, 16}, MatrixRole::d, Type::f32, MatrixOrder::row);
  ASSERT_EQ(d.size(), 4u);
  EXPECT_EQ(d[0].bytes, 8u);
  EXPECT_EQ(volta_wmma_accesses({16, 16, 16}, MatrixRole::d, Type::f16, MatrixOrder::row).size(), 1u);
  std::vector<int> covered(256);
  for (const WmmaWideAccess& access : d)
    for (const Element& e : access.first)
      for (uint32_t i = 0; i < access.bytes / 4; ++i) ++covered[static_cast<size_t>(e.row * 16 + e.col) + i];
  EXPECT_EQ(covered, std::vector<int>(256, 1));
  EXPECT_TRUE(volta_wmma_accesses({8, 8, 4}, MatrixRole::a, Type::f64, MatrixOrder::row).empty());
}

}  // namespace
}  // namespace tcsim::isa
