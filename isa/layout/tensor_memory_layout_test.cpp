#include "isa/layout/tensor_memory_layout.h"

#include <gtest/gtest.h>

#include <set>

namespace tcsim::isa {
namespace {

using S = TensorShape;
using C = TensorCopyShape;

std::vector<TensorFragment> every_fragment() {
  std::vector<TensorFragment> all;
  for (const S shape : {S::s32x32b, S::s16x64b, S::s16x128b, S::s16x256b, S::s16x32bx2})
    for (const bool packed : {false, true})
      for (uint16_t n = 1; n <= 128; n = static_cast<uint16_t>(2 * n)) {
        TensorFragment f{shape, n, packed, 0};
        if (!f.exists()) continue;
        if (shape == S::s16x32bx2) f.half_split = static_cast<uint16_t>(f.columns() + 3);
        all.push_back(f);
      }
  return all;
}

// PTX ISA, table "Various-combinations of .num and .shape": up to 128 registers.
TEST(TensorFragment, Registers) {
  const struct {
    S shape;
    uint16_t n;
    uint32_t registers;
    bool exists;
  } cases[] = {{S::s32x32b, 1, 1, true},     {S::s32x32b, 128, 128, true},  {S::s16x64b, 128, 128, true},   {S::s16x32bx2, 64, 64, true},
               {S::s16x128b, 1, 2, true},    {S::s16x128b, 64, 128, true},  {S::s16x128b, 128, 256, false}, {S::s16x256b, 1, 4, true},
               {S::s16x256b, 32, 128, true}, {S::s16x256b, 64, 256, false}, {S::s32x32b, 3, 3, false}};
  for (const auto& c : cases) {
    const TensorFragment f{c.shape, c.n};
    EXPECT_EQ(f.registers(), c.registers);
    EXPECT_EQ(f.exists(), c.exists);
  }
}

// Each cell has one home and each half register one cell: the two maps invert each other.
TEST(TensorFragment, Bijection) {
  for (const TensorFragment& f : every_fragment()) {
    SCOPED_TRACE(std::string(kTensorShapeNames[static_cast<size_t>(f.shape)]) + ".x" + std::to_string(f.repeats) + (f.packed ? ".pack::16b" : ""));
    std::set<std::pair<uint32_t, uint32_t>> cells;
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t reg = 0; reg < f.registers(); ++reg)
        for (uint32_t half = 0; half < f.per_register(); ++half) {
          const TensorCell c = f.cell(lane, reg, half);
          ASSERT_LT(c.lane, f.lanes());
          ASSERT_TRUE(cells.insert({c.lane, c.column}).second);
          const auto home = f.home(c.lane, c.column);
          ASSERT_TRUE(home.has_value());
          ASSERT_EQ(*home, (TensorHome{static_cast<uint8_t>(lane), static_cast<uint8_t>(reg), static_cast<uint8_t>(16 * half)}));
        }
    EXPECT_EQ(cells.size(), size_t{f.lanes()} * f.columns() * f.accesses());
    EXPECT_FALSE(f.home(0, f.columns()).has_value());
    EXPECT_FALSE(f.home(f.lanes(), 0).has_value());
  }
}

// PTX ISA, figures "Matrix Fragment for shape .32x32b" (thread i has row i), ".16x64b" (T0 T2 in row 0, T1 T3 in row 8), ".16x128b"
// (T0 to T3 in row 0, r1 eight rows down), ".16x256b" (two neighbouring columns a thread, r2 eight rows down).
TEST(TensorFragment, Figures) {
  const TensorFragment a{S::s32x32b, 4}, b{S::s16x64b, 2}, c{S::s16x128b, 2}, d{S::s16x256b, 2};
  EXPECT_EQ(a.cell(7, 3), (TensorCell{7, 3}));
  EXPECT_EQ(b.cell(0, 0), (TensorCell{0, 0}));
  EXPECT_EQ(b.cell(1, 0), (TensorCell{8, 0}));
  EXPECT_EQ(b.cell(2, 0), (TensorCell{0, 1}));
  EXPECT_EQ(b.cell(3, 0), (TensorCell{8, 1}));
  EXPECT_EQ(b.cell(31, 1), (TensorCell{15, 3}));
  EXPECT_EQ(c.cell(5, 0), (TensorCell{1, 1}));
  EXPECT_EQ(c.cell(5, 1), (TensorCell{9, 1}));
  EXPECT_EQ(c.cell(5, 2), (TensorCell{1, 5}));
  EXPECT_EQ(d.cell(1, 0), (TensorCell{0, 2}));
  EXPECT_EQ(d.cell(1, 1), (TensorCell{0, 3}));
  EXPECT_EQ(d.cell(1, 2), (TensorCell{8, 2}));
  EXPECT_EQ(d.cell(4, 7), (TensorCell{9, 9}));
  const TensorFragment two{S::s16x32bx2, 32, false, 32};  // lanes 16 to 31 of the warp read the second access
  EXPECT_EQ(two.cell(3, 5), (TensorCell{3, 5}));
  EXPECT_EQ(two.cell(19, 5), (TensorCell{3, 37}));
}

// CUTLASS, Copy_Traits<SM100_TMEM_LOAD_16dp64b128x_16b>: a lane's registers are 64 bits apart in a row of 16-bit elements, lane bit 1
// adds 32 bits, lane bit 0 eight rows; ValID takes the low 16 bits of each column.
TEST(TensorFragment, Packed) {
  const TensorFragment f{S::s16x64b, 128, true};
  EXPECT_EQ(f.columns(), 512u);
  EXPECT_EQ(f.cell(2, 1, 0), (TensorCell{0, 6}));  // (64 + 32) bits / 16
  EXPECT_EQ(f.cell(2, 1, 1), (TensorCell{0, 7}));
  EXPECT_EQ(f.cell(1, 0, 1), (TensorCell{8, 1}));
  EXPECT_EQ(*f.home(8, 1), (TensorHome{1, 0, 16}));
}

// PTX ISA, "tcgen05.cp": which warps share the data.
TEST(TensorCopyLayout, Lanes) {
  const struct {
    C shape;
    uint32_t rows, words, copies;
  } shapes[] = {{C::s128x256b, 128, 8, 1},     {C::s4x256b, 4, 8, 1},         {C::s128x128b, 128, 4, 1},
                {C::s64x128b_02_13, 64, 4, 2}, {C::s64x128b_01_23, 64, 4, 2}, {C::s32x128b, 32, 4, 4}};
  for (const auto& s : shapes) {
    const TensorCopyLayout l{s.shape};
    EXPECT_EQ(l.rows(), s.rows);
    EXPECT_EQ(l.words(), s.words);
    EXPECT_EQ(l.copies(), s.copies);
    std::set<uint32_t> lanes;
    for (uint32_t row = 0; row < l.rows(); ++row)
      for (uint32_t copy = 0; copy < l.copies(); ++copy) EXPECT_TRUE(lanes.insert(l.lane(row, copy)).second);
    EXPECT_EQ(lanes.size(), s.rows * s.copies);
    EXPECT_LT(*lanes.rbegin(), 128u);
  }
  EXPECT_EQ((TensorCopyLayout{C::s64x128b_02_13}.lane(40, 0)), 40u);   // warp 1
  EXPECT_EQ((TensorCopyLayout{C::s64x128b_02_13}.lane(40, 1)), 104u);  // warp 3
  EXPECT_EQ((TensorCopyLayout{C::s64x128b_01_23}.lane(8, 1)), 40u);    // warp 1
  EXPECT_EQ((TensorCopyLayout{C::s64x128b_01_23}.lane(40, 0)), 72u);   // warp 2
  EXPECT_EQ((TensorCopyLayout{C::s4x256b}.lane(3, 0)), 96u);
  EXPECT_EQ((TensorCopyLayout{C::s32x128b}.lane(5, 3)), 101u);
}

TEST(TensorDecompress, Formats) {
  uint8_t four[16] = {0x21, 0x43, 0, 0, 0, 0, 0, 0xf0, 0xee, 0xee}, six[16] = {};
  const auto a = decompress(TensorDecompress::b4x16_p64, four);
  EXPECT_EQ(a[0], 1 << 2);
  EXPECT_EQ(a[1], 2 << 2);
  EXPECT_EQ(a[3], 4 << 2);
  EXPECT_EQ(a[15], 0xf << 2);
  // Elements 0, 1, 2, 3 = 1, 2, 3, 4: bits 000001 000010 000011 000100 from the lowest on = 0x103081 as three bytes.
  six[0] = 0x81, six[1] = 0x30, six[2] = 0x10;
  six[11] = 0xfc;            // element 15: bits 90 to 95, all ones
  six[12] = six[15] = 0xee;  // padding
  const auto b = decompress(TensorDecompress::b6x16_p32, six);
  for (uint8_t i = 0; i < 4; ++i) EXPECT_EQ(b[i], i + 1);
  EXPECT_EQ(b[4], 0);
  EXPECT_EQ(b[15], 0x3f);
}

}  // namespace
}  // namespace tcsim::isa
