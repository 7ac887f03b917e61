#include "isa/layout/tensor_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tcsim::isa {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Swizzling = TensorMap::Swizzling;

TensorMap matrix() {  // 1024 x 1024 f16, boxes of 64 x 128
  TensorMap map;
  map.type = TensorMap::Type::f16;
  map.rank = 2;
  map.address = 0x7f0000000000;
  map.dims = {1024, 1024, 1, 1, 1};
  map.strides = {2048};
  map.box = {64, 128, 1, 1, 1};
  map.swizzle = Swizzling::b128;
  return map;
}

/// Which 16-byte cell of a 128-byte line lies in each place of line `row`: a row of the manual's tables.
std::vector<uint32_t> cells(Swizzling s, uint32_t row) {
  std::vector<uint32_t> out(8);
  for (uint32_t cell = 0; cell < 8; ++cell) out[swizzled(s, row * 128 + cell * 16) % 128 / 16] = cell;
  return out;
}

// PTX ISA, "Swizzling Modes": the tables.
TEST(TensorMap, SwizzleTablesOfTheManual) {
  EXPECT_THAT(cells(Swizzling::none, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(cells(Swizzling::b32, 1), ElementsAre(1, 0, 3, 2, 5, 4, 7, 6));
  EXPECT_THAT(cells(Swizzling::b32, 2), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(cells(Swizzling::b64, 2), ElementsAre(2, 3, 0, 1, 6, 7, 4, 5));
  EXPECT_THAT(cells(Swizzling::b64, 3), ElementsAre(3, 2, 1, 0, 7, 6, 5, 4));
  EXPECT_THAT(cells(Swizzling::b128, 0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(cells(Swizzling::b128, 3), ElementsAre(3, 2, 1, 0, 7, 6, 5, 4));
  EXPECT_THAT(cells(Swizzling::b128, 5), ElementsAre(5, 4, 7, 6, 1, 0, 3, 2));
  EXPECT_THAT(cells(Swizzling::b128, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(cells(Swizzling::b128_atom_32b, 1), ElementsAre(2, 3, 0, 1, 6, 7, 4, 5));
  EXPECT_THAT(cells(Swizzling::b128_atom_32b, 3), ElementsAre(6, 7, 4, 5, 2, 3, 0, 1));
  EXPECT_THAT(cells(Swizzling::b128_atom_64b, 1), ElementsAre(4, 5, 6, 7, 0, 1, 2, 3));
}

// "a flip of adjacent 8 bytes within the 16-byte data at every alternate shared memory line"
TEST(TensorMap, FlipSwapsEightBytesInEveryOtherLine) {
  EXPECT_EQ(swizzled(Swizzling::b128_atom_32b_flip_8b, 0), 0u);
  EXPECT_EQ(swizzled(Swizzling::b128_atom_32b_flip_8b, 128), 128u + 32 + 8);  // line 1: atom 0 in place 1, halves swapped
  EXPECT_EQ(swizzled(Swizzling::b128_atom_32b_flip_8b, 128 + 8), 128u + 32);
}

TEST(TensorMap, ASwizzledTileThatStarts128BytesLateHasNoPieceInPlace) {
  // Addresses count, not offsets in the tile: at base + 128 each line uses the pattern of the next one, and no two lines of the
  // pattern agree in any place, so all 64 pieces differ from those of an aligned tile.
  int same = 0;
  for (uint32_t offset = 0; offset < 1024; offset += 16) same += swizzled(Swizzling::b128, 128 + offset) - 128 == swizzled(Swizzling::b128, offset);
  EXPECT_EQ(same, 0);
  EXPECT_EQ(swizzle_repeat(Swizzling::b128), 1024u);
  EXPECT_EQ(swizzle_repeat(Swizzling::b64), 512u);
  EXPECT_EQ(swizzle_repeat(Swizzling::b32), 256u);
}

TEST(TensorMap, EncodeAndDecode) {
  TensorMap map = matrix();
  map.fill = TensorMap::Fill::nan;
  map.promotion = TensorMap::Promotion::b256;
  map.strides[0] = 0x12'3456'7890;
  map.dims[1] = uint64_t{1} << 32;
  map.box[1] = 256;
  map.element_strides[1] = 8;
  map.swizzle = Swizzling::b128_atom_32b_flip_8b;
  EXPECT_EQ(TensorMap::decode(map.encode()), map);
  map.mode = TensorMap::Mode::im2col;
  map.rank = 4;
  map.lower = {-128, -1, 0};
  map.upper = {-2, 127, 0};
  map.channels = 256;
  map.pixels = 1024;
  EXPECT_EQ(TensorMap::decode(map.encode()), map);
}

uint32_t word(const TensorMapBytes& bytes, size_t at) {
  uint32_t w;
  std::memcpy(&w, bytes.data() + at, 4);
  return w;
}

// Words that ptxas 13.0 makes tensormap.replace write for sm_90a: for example swizzle_mode 3 sets bits 13 and 14 of word 0x08,
// global_dim 0 stores n - 1 to 0x20, box_dim 0 goes to the top byte of 0x34, global_stride 0 stores stride >> 4 to 0x0c.
TEST(TensorMap, TiledFieldsLieWhereTheChipHasThem) {
  const TensorMapBytes bytes = matrix().encode();
  EXPECT_EQ(word(bytes, 0x00), 0u);
  EXPECT_EQ(word(bytes, 0x04), 0x7f00u);
  EXPECT_EQ(word(bytes, 0x08), 1u << 4 | 6u << 7 | 3u << 13);  // rank - 1, .f16, 128-byte swizzle
  EXPECT_EQ(word(bytes, 0x0c), 2048u >> 4);
  EXPECT_EQ(word(bytes, 0x20), 1023u);
  EXPECT_EQ(word(bytes, 0x24), 1023u);
  EXPECT_EQ(word(bytes, 0x34), 63u << 24);
  EXPECT_EQ(word(bytes, 0x38), 127u);
}

TEST(TensorMap, MadeFromNothingByReplace) {
  using F = TensorMapFieldName;
  TensorMapBytes bytes{};
  replace_field(bytes, F::global_address, 0, 0x7f0000000000);
  replace_field(bytes, F::rank, 0, 1);  // "ones less than the desired tensor rank"
  replace_field(bytes, F::elemtype, 0, 6);
  replace_field(bytes, F::swizzle_mode, 0, 3);
  for (uint32_t d = 0; d < 2; ++d) {
    replace_field(bytes, F::global_dim, d, 1024);
    replace_field(bytes, F::element_stride, d, 1);
    replace_field(bytes, F::box_dim, d, d == 0 ? 64 : 128);
  }
  replace_field(bytes, F::global_stride, 0, 2048);
  EXPECT_EQ(TensorMap::decode(bytes), matrix());
  replace_field(bytes, F::swizzle_atomicity, 0, 1);
  EXPECT_EQ(TensorMap::decode(bytes).swizzle, Swizzling::b128_atom_32b);
}

TEST(TensorMap, RulesOfTheDriver) {
  EXPECT_THAT(matrix().check(), IsEmpty());
  TensorMap map = matrix();
  map.box[0] = 128;
  EXPECT_THAT(map.check(), ElementsAre("box inner 128 x 2 B = 256 B exceeds the 128 B span of swizzle 128B"));
  map.swizzle = Swizzling::none;
  EXPECT_THAT(map.check(), IsEmpty());
  map.box[0] = 48;
  map.swizzle = Swizzling::b32;
  EXPECT_THAT(map.check(), ElementsAre(HasSubstr("48 x 2 B = 96 B exceeds the 32 B span")));

  map = matrix();
  map.address += 8;
  map.strides[0] = 2040;
  map.box = {60, 257, 1, 1, 1};
  map.element_strides[1] = 0;
  EXPECT_THAT(map.check(),
              ElementsAre(HasSubstr("address 0x7f0000000008 is not a multiple of 16 B"), HasSubstr("stride 2040 B of dimension 1"),
                          HasSubstr("element stride 0 of dimension 1, expected 1 to 8"), HasSubstr("box 257 of dimension 1, expected 1 to 256"),
                          HasSubstr("box inner 60 x 2 B = 120 B is not a multiple of 16 B")));
  map = matrix();
  map.interleave = TensorMap::Interleave::b32;
  EXPECT_THAT(map.check(), ElementsAre(HasSubstr("rank 2, expected 3 to 5 with an interleaved layout")));
  map.rank = 3;
  map.dims[2] = 2;
  map.strides[1] = 1 << 21;
  EXPECT_THAT(map.check(), ElementsAre(HasSubstr("swizzle 128B with interleave 32B, expected swizzle 32B")));
  map = matrix();
  map.type = TensorMap::Type::u16;
  map.fill = TensorMap::Fill::nan;
  EXPECT_THAT(map.check(), ElementsAre(HasSubstr("fill nan with elements of type u16")));
}

TEST(TensorMap, Im2colRules) {
  TensorMap map;
  map.mode = TensorMap::Mode::im2col;
  map.type = TensorMap::Type::f16;
  map.rank = 4;
  map.dims = {64, 9, 14, 64, 1};
  map.strides = {128, 1152, 16128};
  map.lower = {-1, -1, 0};
  map.upper = {-1, -1, 0};
  map.channels = 8;
  map.pixels = 64;
  EXPECT_THAT(map.check(), IsEmpty());
  map.lower[0] = -129;
  map.upper[1] = -15;
  map.channels = 257;
  map.pixels = 1025;
  EXPECT_THAT(map.check(),
              ElementsAre(HasSubstr("lower corner -129 of W, expected -128 to 127 for rank 4"),
                          HasSubstr("pixel box of H runs from -1 to 14 + -15 - 1: it is empty"),
                          HasSubstr("257 channels per pixel, expected 1 to 256"), HasSubstr("1025 pixels per column, expected 1 to 1024"),
                          HasSubstr("channels per pixel 257 x 2 B = 514 B is not a multiple of 16 B")));
}

}  // namespace
}  // namespace tcsim::isa
