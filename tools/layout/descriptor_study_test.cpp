#include "tools/layout/descriptor_study.h"

#include <gtest/gtest.h>

#include "isa/layout/canonical_layout.h"

namespace tcsim::layout {
namespace {

using isa::Major;
using Swizzling = isa::TensorMap::Swizzling;

DescribedOperand operand(uint64_t bits, Major major, int mn) { return {isa::decode_wgmma_descriptor(bits), major, mn, 2}; }

// SBO 512 with rows of 128 B: 64 rows from 8 groups, of which each begins at row 4 of the one before. Distinct places are
// 7 * 4 + 8 = 36 rows of 8 pieces of 512: 224 pieces lie where another one does. The first is row 8, over row 4 at 512.
TEST(DescriptorStudy, RowGroupsOverlap) {
  const Overlap o = find_overlap(operand(0x4000002000010000, Major::k, 64));
  EXPECT_EQ(o.total, 512u);
  EXPECT_EQ(o.shared, 224u);
  EXPECT_EQ(o.line[0], 4u);
  EXPECT_EQ(o.line[1], 8u);
  EXPECT_EQ(find_overlap(operand(0x4000004000010000, Major::k, 64)).shared, 0u);
  // Stride 0: seven of eight groups lie on the first; one group alone needs no stride.
  EXPECT_EQ(find_overlap(operand(0x4000000000010000, Major::k, 64)).shared, 448u);
  EXPECT_EQ(find_overlap(operand(0x4000000000010000, Major::k, 8)).shared, 0u);
}

// 128 columns are two atoms of 64 f16 = 128 B wide; 16 k are two groups of 8 lines. Atoms LBO apart, groups SBO (1024) apart.
TEST(DescriptorStudy, AtomsAlongMn) {
  const auto with_lbo = [](uint64_t lbo) { return operand(0x4000004000000000 | lbo / 16 << 16, Major::mn, 128); };
  EXPECT_GT(find_overlap(with_lbo(16)).shared, 0u);
  EXPECT_EQ(find_overlap(with_lbo(1024)).shared, 64u);  // group 0 of the second atom on group 1 of the first: 8 lines of 8 pieces
  EXPECT_EQ(find_overlap(with_lbo(2048)).shared, 0u);
  EXPECT_EQ(find_overlap(with_lbo(8192)).shared, 0u);
  // SBO 256: k 8 lies where k 2 does, 6 of 8 lines of 8 pieces.
  EXPECT_EQ(find_overlap(operand(0x4000001000010000, Major::mn, 64)).shared, 48u);
}

// Boxes of 64 f16 by 64 k are 8192 B: LBO 8192. Any other LBO reads the second box elsewhere: 64 x 16 of 128 x 16 elements.
TEST(DescriptorStudy, BoxesAlongMn) {
  const auto wrong = [](uint64_t lbo, uint32_t box_rows) {
    return compare_with_tma(operand(0x4000004000000000 | lbo / 16 << 16, Major::mn, 128), Swizzling::b128, box_rows).wrong;
  };
  EXPECT_EQ(wrong(8192, 64), 0u);
  EXPECT_EQ(wrong(16384, 64), 1024u);
  EXPECT_EQ(wrong(16384, 128), 0u);
  EXPECT_EQ(wrong(16, 64), 1024u);
  EXPECT_EQ(wrong(16, 0), 1024u);
  EXPECT_EQ(wrong(2048, 0), 0u);
  const TmaComparison m = compare_with_tma(operand(0x4000004002000000, Major::mn, 128), Swizzling::b128, 0);
  EXPECT_EQ(m.total, 2048u);
  EXPECT_EQ(m.boxes, 2u);
  EXPECT_EQ(m.box_rows, 64u);
  EXPECT_TRUE(m.assumed);
  // One box: the second group of 8 k is 1024 B on; with SBO 256 half of the 64 x 16 elements are others.
  EXPECT_EQ(compare_with_tma(operand(0x4000001000010000, Major::mn, 64), Swizzling::b128, 0).wrong, 512u);
}

// What has no gaps has no overlap either, and TMA writes it, whatever the swizzle.
TEST(DescriptorStudy, CanonicalLayouts) {
  for (const Major major : {Major::k, Major::mn})
    for (const auto& [name, written] :
         {std::pair{"none", Swizzling::none}, {"32B", Swizzling::b32}, {"64B", Swizzling::b64}, {"128B", Swizzling::b128}})
      for (const int mn : {8, 64, 128, 256}) {
        const DescribedOperand o{isa::canonical_descriptor(*isa::canonical_layout(major, name), mn, 16, 16), major, mn, 2};
        EXPECT_EQ(find_overlap(o).shared, 0u) << name << " " << mn;
        const bool agrees = compare_with_tma(o, written, 0).wrong == 0;
        // Without swizzle the dense order is by core matrices of 8 x 8, not by boxes.
        EXPECT_TRUE(agrees || o.d.swizzle_bytes == 0) << name << " " << mn;
      }
}

TEST(DescriptorStudy, Numbers) {
  std::string error;
  EXPECT_EQ(parse_descriptor("0x4000004000010100", 64, error), 0x4000004000010100u);
  EXPECT_FALSE(parse_descriptor("4000004000010100", 64, error));
  EXPECT_EQ(error, "'4000004000010100', expected a 64-bit number in hexadecimal with 0x before it: 0x4000004000010100");
  for (const char* text : {"", "0x", "-0x1", "0x1g", "0x10000000000000000", "zzz"}) EXPECT_FALSE(parse_descriptor(text, 64, error)) << text;
  EXPECT_FALSE(parse_descriptor("0x100000000", 32, error));
  EXPECT_EQ(parse_descriptor("0xffffffff", 32, error), 0xffffffffu);
}

}  // namespace
}  // namespace tcsim::layout
