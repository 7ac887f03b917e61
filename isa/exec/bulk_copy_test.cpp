#include "isa/exec/bulk_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "isa/exec/bulk_walk.h"
#include "isa/exec/memory.h"

namespace tcsim::isa {
namespace {

using testing::ElementsAre;

/// A tensor of u16 in global memory whose elements are their own index, and a window that starts undefined.
struct Scene {
  GlobalMemory global;
  WindowMemory window{8192};
  std::shared_ptr<TensorMap> map = std::make_shared<TensorMap>();
  BulkCopy copy;

  Scene(std::vector<uint64_t> dims, std::vector<uint32_t> box) {
    map->type = TensorMap::Type::u16;
    map->rank = static_cast<uint8_t>(dims.size());
    uint64_t bytes = 2;
    for (size_t d = 0; d < dims.size(); ++d) {
      map->dims[d] = dims[d];
      if (d > 0) map->strides[d - 1] = bytes;
      bytes *= dims[d];
    }
    std::copy(box.begin(), box.end(), map->box.begin());
    map->address = global.allocate("T", bytes);
    for (uint32_t i = 0; i < bytes / 2; ++i) {
      const auto v = static_cast<uint16_t>(i);
      std::memcpy(global.map(map->address + 2 * i, 2), &v, 2);
    }
    copy.map = map;
  }
  void load(std::array<int32_t, 5> coordinate) {
    copy.coordinate = coordinate;
    copy.bytes = map->box_bytes();
    land_load(copy, global, window);
  }
  uint16_t at(uint32_t offset) const {
    uint16_t v;
    std::memcpy(&v, window.data() + offset, 2);
    return v;
  }
  std::vector<uint16_t> row(uint32_t offset, uint32_t count) const {
    std::vector<uint16_t> out;
    for (uint32_t i = 0; i < count; ++i) out.push_back(at(offset + 2 * i));
    return out;
  }
};

TEST(BulkCopy, SwizzledBox) {
  Scene s({256, 64}, {64, 16});
  s.map->swizzle = TensorMap::Swizzling::b128;
  s.copy.shared.offset = 1024;
  s.load({64, 8});
  // Row r, piece p (8 elements) of the box lies in place p ^ (r mod 8) of its 128 bytes; it holds (8 + r) * 256 + 64 + 8 p.
  EXPECT_EQ(s.at(1024), 8 * 256 + 64);
  EXPECT_EQ(s.at(1024 + 128 * 1 + 16 * 1), 9 * 256 + 64);
  EXPECT_EQ(s.at(1024 + 128 * 5 + 16 * (2 ^ 5)), 13 * 256 + 64 + 16);
  EXPECT_EQ(s.at(1024 + 128 * 15 + 16 * (7 ^ 7) + 2), 23 * 256 + 64 + 56 + 1);
  EXPECT_EQ(s.copy.bytes, 2048u);
  EXPECT_FALSE(s.window.is_undefined(1024, 2048));
  EXPECT_TRUE(s.window.is_undefined(1023, 1));
  EXPECT_TRUE(s.window.is_undefined(3072, 1));
}

TEST(BulkCopy, PatternCountsFromAddressesNotFromTheBox) {
  Scene s({64, 64}, {64, 8});
  s.map->swizzle = TensorMap::Swizzling::b128;
  s.copy.shared.offset = 1024 + 128;
  s.load({0, 0});
  EXPECT_EQ(s.at(1024 + 128 + 16), 0);  // row 0 lies in a line whose number is 1 modulo 8: piece 0 in place 1
}

TEST(BulkCopy, OutsideIsFilledAndCounted) {
  Scene s({16, 4}, {16, 4});
  s.load({-8, 2});  // columns -8 to 7, rows 2 to 5 of 4
  EXPECT_THAT(s.row(0, 16), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 32, 33, 34, 35, 36, 37, 38, 39));
  EXPECT_EQ(s.at(32 + 16), 48);
  EXPECT_EQ(s.at(64 + 16), 0);  // row 4
  EXPECT_FALSE(s.window.is_undefined(0, 128));
  EXPECT_EQ(s.copy.bytes, 128u);
  s.map->type = TensorMap::Type::f16;
  s.map->fill = TensorMap::Fill::nan;
  s.load({8, 3});
  EXPECT_EQ(s.at(0), 56);
  EXPECT_EQ(s.at(16), 0x7ff7);
  EXPECT_EQ(s.at(32), 0x7ff7);
  std::vector<uint32_t> asked;
  for_each_row(s.copy, [&](const BulkRow& r) { asked.push_back(r.bytes); });
  EXPECT_THAT(asked, ElementsAre(16, 0, 0, 0));
}

TEST(BulkCopy, ElementStridesTakeEveryOtherRow) {
  Scene s({8, 16}, {8, 5});
  s.map->element_strides[1] = 2;
  s.load({0, 1});  // ceil(5 / 2) = 3 rows: 1, 3, 5
  EXPECT_EQ(s.copy.bytes, 48u);
  EXPECT_EQ(s.at(0), 8);
  EXPECT_EQ(s.at(16), 24);
  EXPECT_EQ(s.at(32), 40);
}

TEST(BulkCopy, FiveDimensions) {
  Scene s({8, 3, 4, 5, 6}, {8, 2, 2, 2, 2});
  s.load({0, 1, 2, 3, 4});
  const auto index = [](int b, int c, int d, int e) { return 8 * (b + 3 * (c + 4 * (d + 5 * e))); };
  EXPECT_EQ(s.at(0), index(1, 2, 3, 4));
  EXPECT_EQ(s.at(16), index(2, 2, 3, 4));
  EXPECT_EQ(s.at(32), index(1, 3, 3, 4));
  EXPECT_EQ(s.at(64), index(1, 2, 4, 4));
  EXPECT_EQ(s.at(128 + 112), index(2, 3, 4, 5));
}

TEST(BulkCopy, StoreWritesOnlyWhatIsInside) {
  Scene s({16, 4}, {8, 2});
  for (uint32_t i = 0; i < 32; ++i) s.window.data()[i] = 0xaa;
  s.window.mark_written(0, 32);
  s.copy.kind = BulkCopy::Kind::store;
  s.copy.coordinate = {12, 3};
  land_store(s.copy, s.window, s.global);
  const auto at = [&](uint32_t i) {
    uint16_t v;
    std::memcpy(&v, s.global.map(s.map->address + 2 * i, 2), 2);
    return v;
  };
  EXPECT_EQ(at(59), 59);
  EXPECT_EQ(at(60), 0xaaaa);
  EXPECT_EQ(at(63), 0xaaaa);
  EXPECT_EQ(at(48), 48);
}

TEST(BulkCopy, ByteMask) {
  Scene s({16, 4}, {8, 2});
  s.copy.map = nullptr;
  s.copy.kind = BulkCopy::Kind::store;
  s.copy.global = s.map->address;
  s.copy.bytes = 32;
  s.copy.byte_mask = 0x8001;
  s.window.mark_written(0, 32);
  std::fill_n(s.window.data(), 32, uint8_t{0x55});
  land_store(s.copy, s.window, s.global);
  const uint8_t* g = s.global.map(s.map->address, 32);
  EXPECT_EQ(g[0], 0x55);
  EXPECT_EQ(g[2], 1);  // element 1
  EXPECT_EQ(g[15], 0x55);
  EXPECT_EQ(g[16], 0x55);
  EXPECT_EQ(g[18], 9);
}

/// C, W, H, N of every pixel that a column takes.
std::vector<std::array<int64_t, 3>> pixels(const BulkCopy& copy, size_t count) {
  std::vector<std::array<int64_t, 3>> out;
  const TensorMap& m = *copy.map;
  for_each_box_row(copy, [&](const BoxRow& row) {
    if (out.size() == count) return;
    if (row.first == row.last) return out.push_back({-1, -1, -1});
    const auto element = static_cast<int64_t>((row.global - m.address) / 2) - copy.coordinate[0];
    const auto w = static_cast<int64_t>(m.dims[1]), h = static_cast<int64_t>(m.dims[2]), c = static_cast<int64_t>(m.dims[0]);
    out.push_back({element / c % w, element / c / w % h, element / c / w / h});
  });
  return out;
}

Scene convolution(uint64_t w, std::array<int32_t, 3> lower, std::array<int32_t, 3> upper, uint32_t channels, uint32_t count) {
  Scene s({64, w, 14, 4}, {});
  s.map->mode = TensorMap::Mode::im2col;
  s.map->channels = channels;
  s.map->pixels = count;
  s.map->lower = lower;
  s.map->upper = upper;
  return s;
}

// PTX ISA, "Im2col mode", example 1: W of 9, corners -1: the filter's base runs from -1 to 9 - 1 - 1 = 7. From (7, 4) the next
// base is (-1, 5), which with offset 0 lies outside, then (0, 5).
TEST(BulkCopy, Im2colExample1) {
  Scene s = convolution(9, {-1, -1, 0}, {-1, -1, 0}, 8, 64);
  s.copy.coordinate = {7, 7, 4, 0};
  const auto p = pixels(s.copy, 64);
  ASSERT_EQ(p.size(), 64u);
  EXPECT_THAT(p[0], ElementsAre(7, 4, 0));
  EXPECT_THAT(p[1], ElementsAre(-1, -1, -1));
  EXPECT_THAT(p[2], ElementsAre(0, 5, 0));
  EXPECT_THAT(p[9], ElementsAre(7, 5, 0));
  EXPECT_THAT(p[10], ElementsAre(-1, -1, -1));
  // 1 + 8 rows of 9 (H 5 to 12, the last base) is 73 > 64: the 64th pixel is number 63 - 1 = 62 = 6 x 9 + 8 after the first
  // row: H 5 + 6 = 11, W -1 + 8 = 7.
  EXPECT_THAT(p[63], ElementsAre(7, 11, 0));
  EXPECT_EQ(s.map->box_bytes(), 64u * 8 * 2);
}

// Example 2: corners 0 and -2: bases 0 to 6; offsets (2, 2) read two to the right and below. The base (7, 4) of the example is
// the last before a wrap; it reads (9, 6), outside W.
TEST(BulkCopy, Im2colExample2) {
  Scene s = convolution(9, {0, 0, 0}, {-2, -2, 0}, 8, 64);
  s.copy.coordinate = {7, 7, 4, 0};
  s.copy.im2col_offset = {2, 2, 0};
  const auto p = pixels(s.copy, 64);
  EXPECT_THAT(p[0], ElementsAre(-1, -1, -1));
  EXPECT_THAT(p[1], ElementsAre(2, 7, 0));  // base (0, 5)
  EXPECT_THAT(p[7], ElementsAre(8, 7, 0));  // base (6, 5)
  EXPECT_THAT(p[8], ElementsAre(2, 8, 0));  // base (0, 6)
  // Bases of H end at 14 - 1 - 2 = 11: rows 5 to 11 are 49 pixels, then the next image from (0, 0).
  EXPECT_THAT(p[49], ElementsAre(8, 13, 0));
  EXPECT_THAT(p[50], ElementsAre(2, 2, 1));
}

// Example 3: traversal stride 2 moves the base by two, and does not change the number of pixels.
TEST(BulkCopy, Im2colTraversalStride) {
  Scene s = convolution(8, {-1, -1, 0}, {-1, -1, 0}, 16, 32);
  s.map->element_strides = {1, 2, 2, 1, 1};
  s.copy.coordinate = {7, 3, 5, 0};
  s.copy.im2col_offset = {1, 1, 0};
  const auto p = pixels(s.copy, 32);
  ASSERT_EQ(p.size(), 32u);
  EXPECT_THAT(p[0], ElementsAre(4, 6, 0));
  EXPECT_THAT(p[1], ElementsAre(6, 6, 0));  // base 5; bases end at 8 - 1 - 1 = 6
  EXPECT_THAT(p[2], ElementsAre(0, 8, 0));  // base (-1, 7)
}

TEST(BulkCopy, Im2colChannelsBeyondTheTensorAreFilled) {
  Scene s = convolution(9, {0, 0, 0}, {0, 0, 0}, 16, 1);
  s.load({56, 0, 0, 0});
  EXPECT_EQ(s.at(14), 63);
  EXPECT_EQ(s.at(16), 0);
  EXPECT_FALSE(s.window.is_undefined(0, 32));
}

TEST(BulkCopy, PoisonStaysUndefined) {
  Scene s({16, 4}, {16, 4});
  s.global.mark_undefined(s.map->address + 34, 2);
  s.load({0, 0});
  EXPECT_FALSE(s.window.is_undefined(0, 34));
  EXPECT_TRUE(s.window.is_undefined(34, 2));
  EXPECT_FALSE(s.window.is_undefined(36, 92));
}

uint64_t add(uint64_t a, uint64_t b, uint64_t) { return a + b; }

TEST(BulkCopy, Reduction) {
  Scene s({16, 4}, {8, 2});
  s.copy.kind = BulkCopy::Kind::reduce;
  s.copy.reduce = BulkCopy::ReduceOp::add;
  s.copy.type = Type::u16;
  s.copy.combine = &add;
  s.copy.coordinate = {8, 1};
  for (uint32_t i = 0; i < 16; ++i) s.window.data()[2 * i] = 3, s.window.data()[2 * i + 1] = 0;
  s.window.mark_written(0, 32);
  land_store(s.copy, s.window, s.global);
  uint16_t v;
  std::memcpy(&v, s.global.map(s.map->address + 2 * 24, 2), 2);
  EXPECT_EQ(v, 27);
  std::memcpy(&v, s.global.map(s.map->address + 2 * 23, 2), 2);
  EXPECT_EQ(v, 23);
}

}  // namespace
}  // namespace tcsim::isa
