// Fragment maps: every map is complete, and elements read off the figures of the PTX manual by hand.
#include "isa/layout/fragment.h"

#include <gtest/gtest.h>

#include <set>

#include "isa/layout/swizzle.h"

namespace tcsim::isa {
namespace {

constexpr MatrixRole kRoles[] = {MatrixRole::a, MatrixRole::b, MatrixRole::c, MatrixRole::d};

// Every slot of every lane holds exactly one element, every element has a home, and both directions agree.
TEST(Fragment, EveryMapIsComplete) {
  int maps = 0;
  for (const std::string& base : fragment_names()) {
    std::vector<std::string> names{base};
    if (base == "mma.m8n8k4.f16") names = {base + ".row.row", base + ".row.col", base + ".col.row", base + ".col.col"};
    for (const std::string& name : names)
      for (MatrixRole role : kRoles)
        for (Type acc : {Type::f32, Type::f16}) {
          const auto map = find_fragment(name, role, acc);
          if (role == MatrixRole::b && name.starts_with("wgmma")) {
            ASSERT_FALSE(map) << name;  // B is in shared memory
            continue;
          }
          ASSERT_TRUE(map) << name;
          const int slots = 32 * map->registers() * map->per_register();
          std::vector<bool> seen(static_cast<size_t>(map->warps() * slots));
          int homes = 0;
          for (int tile = 0; tile < map->tiles(); ++tile)
            for (int row = 0; row < map->rows(); ++row)
              for (int col = 0; col < map->cols(); ++col)
                for (const Home& h : map->homes(row, col, tile)) {
                  const auto want = Element{static_cast<int16_t>(row), static_cast<int16_t>(col), static_cast<int16_t>(tile)};
                  const int sub = h.bit / map->element_bits();
                  ASSERT_EQ(map->element(h.lane, h.reg, sub, h.warp), want) << name;
                  const auto place = static_cast<size_t>(h.warp * slots + (h.reg * 32 + h.lane) * map->per_register() + sub);
                  ASSERT_FALSE(seen.at(place)) << name << ": two elements in one place";
                  seen[place] = true;
                  ++homes;
                }
          ASSERT_EQ(homes, map->warps() * slots) << name;
          ++maps;
        }
  }
  EXPECT_GT(maps, 400);
}

Home home(const char* name, MatrixRole role, int row, int col, Type acc = Type::f32) { return find_fragment(name, role, acc)->home(row, col); }

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type":
// a_i: row = groupID for 0 <= i < 2 || 4 <= i < 6, else groupID + 8; col = threadID_in_group * 2 + (i & 1), + 8 for i >= 4.
TEST(Fragment, M16n8k16F16) {
  // (9, 3): groupID 1 (+8), column 3 = 2 * 1 + 1: thread 1 of group 1 = lane 5, i = 3: register 1, upper half.
  EXPECT_EQ(home("mma.m16n8k16.f16", MatrixRole::a, 9, 3), (Home{5, 1, 16}));
  // (2, 12): groupID 2, column 12 = 2 * 2 + 8: lane 10, i = 4: register 2, lower half.
  EXPECT_EQ(home("mma.m16n8k16.f16", MatrixRole::a, 2, 12), (Home{10, 2, 0}));
  // b_i: row = threadID_in_group * 2 + (i & 1), + 8 for i >= 2; col = groupID. (11, 6): 11 = 2 * 1 + 1 + 8: lane 25, i = 3.
  EXPECT_EQ(home("mma.m16n8k16.f16", MatrixRole::b, 11, 6), (Home{25, 1, 16}));
  // c_i: row = groupID, + 8 for i >= 2; col = threadID_in_group * 2 + (i & 1). (12, 7): lane 19, i = 3.
  EXPECT_EQ(home("mma.m16n8k16.f16", MatrixRole::c, 12, 7), (Home{19, 3, 0}));
  EXPECT_EQ(home("mma.m16n8k16.f16", MatrixRole::c, 12, 7, Type::f16), (Home{19, 1, 16}));
}

// "Matrix Fragments for mma.m16n8k8": tf32: a0 (g, t), a1 (g+8, t), a2 (g, t+4), a3 (g+8, t+4); b0 (t, g), b1 (t+4, g).
TEST(Fragment, Tf32) {
  EXPECT_EQ(home("mma.m16n8k8.tf32", MatrixRole::a, 3, 6), (Home{14, 2, 0}));
  EXPECT_EQ(home("mma.m16n8k8.tf32", MatrixRole::a, 11, 1), (Home{13, 1, 0}));
  EXPECT_EQ(home("mma.m16n8k8.tf32", MatrixRole::b, 5, 2), (Home{9, 1, 0}));
  EXPECT_EQ(home("mma.m16n8k4.tf32", MatrixRole::b, 3, 7), (Home{31, 0, 0}));
}

// "Matrix Fragments for mma.m16n8k32" (integer): a_i: row = groupID for i < 4 || 8 <= i < 12; col = t * 4 + (i & 3), + 16 for i >= 8.
TEST(Fragment, Integers) {
  EXPECT_EQ(home("mma.m16n8k32.s8", MatrixRole::a, 8, 22), (Home{1, 3, 16}));   // t 1, i = 14
  EXPECT_EQ(home("mma.m16n8k32.u8", MatrixRole::b, 30, 4), (Home{19, 1, 16}));  // 30 = 3 * 4 + 2 + 16: lane 16 + 3
  EXPECT_EQ(home("mma.m8n8k16.s8", MatrixRole::a, 5, 9), (Home{22, 0, 8}));
  // "mma.m16n8k64": a_i: col = t * 8 + (i & 7), + 32 for i >= 16.
  EXPECT_EQ(home("mma.m16n8k64.s4", MatrixRole::a, 10, 45), (Home{9, 3, 20}));  // 45 = 1 * 8 + 5 + 32, row 8 + 2
  // "mma.m16n8k256": a_i: col = t * 32 + (i & 31), + 128 for i >= 64.
  EXPECT_EQ(home("mma.m16n8k256.b1", MatrixRole::a, 7, 200), (Home{30, 2, 8}));  // 200 = 2 * 32 + 8 + 128
  EXPECT_EQ(home("mma.m8n8k128.b1", MatrixRole::c, 7, 6), (Home{31, 0, 0}));
}

// "Matrix Fragments for mma.m8n8k4 with .f64": a (g, t), b (t, g), c_i (g, 2t + i).
TEST(Fragment, Doubles) {
  EXPECT_EQ(home("mma.m8n8k4.f64", MatrixRole::a, 6, 1), (Home{25, 0, 0}));
  EXPECT_EQ(home("mma.m8n8k4.f64", MatrixRole::c, 4, 3), (Home{17, 1, 0}));
  // "mma.m16n8k16 .f64": a_i: row = g (i even), g + 8 (i odd); col = (i / 2) * 4 + t.
  EXPECT_EQ(home("mma.m16n8k16.f64", MatrixRole::a, 13, 10), (Home{22, 5, 0}));
}

// "Matrix Fragments for mma.m8n8k4 with .f16": quad pair q is lanes 4q..4q+3 and 4q+16..4q+19.
TEST(Fragment, VoltaQuadPairs) {
  const auto a = find_fragment("mma.m8n8k4.f16.row.col", MatrixRole::a);
  EXPECT_EQ(a->home(6, 3, 1), (Home{22, 1, 16}));  // row 6 = 2 + 4: upper half-warp, lane 16 + 4 + 2; element i = 3
  const auto a_col = find_fragment("mma.m8n8k4.f16.col.col", MatrixRole::a);
  EXPECT_EQ(a_col->home(6, 3, 1), (Home{23, 1, 0}));  // col: lane % 4 = 3, i = row - 4 = 2
  const auto b = find_fragment("mma.m8n8k4.f16.row.row", MatrixRole::b);
  EXPECT_EQ(b->home(2, 5, 0), (Home{18, 0, 16}));  // row: lane % 4 = 2, col 5 = i + 4: i = 1
  const auto c = find_fragment("mma.m8n8k4.f16", MatrixRole::c);
  // X = (lane & 1) + (i & 2), + 4 for lane >= 16; col = (i & 4) + (lane & 2) + (i & 1). (3, 6): lane 3 has X = 1 + 2, col = 4 + 2 + 0: i = 6.
  EXPECT_EQ(c->home(3, 6, 0), (Home{3, 6, 0}));
  const auto c16 = find_fragment("mma.m8n8k4.f16", MatrixRole::c, Type::f16);
  EXPECT_EQ(c16->home(5, 7, 3), (Home{29, 3, 16}));  // lane 16 + 12 + 1, i = 7
}

// PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16": D: row = %warpid % 4 * 16 + groupID (+ 8 for odd i / 2),
// column = i / 4 * 8 + threadID_in_group * 2 + (i & 1); A as mma.m16n8k16 in each warp.
TEST(Fragment, Wgmma) {
  // (41, 77): warp 2, row 9 = group 1 + 8; column 77 = 9 * 8 + 2 * 2 + 1: lane 4 + 2, i = 4 * 9 + 2 + 1.
  EXPECT_EQ(home("wgmma.m64n128k16.f16", MatrixRole::d, 41, 77), (Home{6, 39, 0, 2}));
  // In f16 two columns share a register: i = 39 is the upper half of register 19.
  EXPECT_EQ(home("wgmma.m64n128k16.f16", MatrixRole::d, 41, 77, Type::f16), (Home{6, 19, 16, 2}));
  EXPECT_EQ(home("wgmma.m64n256k16.f16", MatrixRole::d, 63, 255), (Home{31, 127, 0, 3}));
  EXPECT_EQ(home("wgmma.m64n8k16.bf16", MatrixRole::a, 16 + 9, 3), (Home{5, 1, 16, 1}));
  EXPECT_EQ(home("wgmma.m64n8k32.e4m3", MatrixRole::a, 48 + 8, 22), (Home{1, 3, 16, 3}));
  EXPECT_EQ(home("wgmma.m64n8k8.tf32", MatrixRole::a, 11, 1), (Home{13, 1, 0, 0}));
  EXPECT_EQ(home("wgmma.m64n8k256.b1", MatrixRole::a, 32 + 7, 200), (Home{30, 2, 8, 2}));
  // Sparse: A holds the 16 stored elements of a row of m64n8k32.
  EXPECT_EQ(find_fragment("wgmma.sp.m64n8k32.f16", MatrixRole::a)->cols(), 16);
  EXPECT_EQ(find_fragment("wgmma.m64n24k32.s8", MatrixRole::d)->cols(), 24);
}

TEST(Fragment, WmmaCopies) {
  const auto a = find_fragment("wmma.m16n16k16.f16", MatrixRole::a);
  EXPECT_EQ(a->registers(), 8);
  EXPECT_EQ(a->homes(0, 0).size(), 2u);
  EXPECT_EQ(find_fragment("wmma.m8n32k16.f16", MatrixRole::a)->homes(0, 0).size(), 4u);
  EXPECT_EQ(find_fragment("wmma.m16n16k16.bf16", MatrixRole::a)->homes(0, 0).size(), 1u);
}

// PTX ISA, "Sparse matrix storage": m16n8k16 .f16: the selected lane of four holds rows g (low half) and g + 8 (high half).
TEST(Fragment, Metadata) {
  EXPECT_EQ(metadata_home(true, 4, 2, 3, 1), (Home{14, 0, 4}));
  EXPECT_EQ(metadata_home(true, 4, 2, 11, 1), (Home{14, 0, 20}));
  std::set<std::pair<int, int>> seen;
  for (int row = 0; row < 16; ++row)
    for (int chunk = 0; chunk < 16; ++chunk) {
      const Home h = metadata_home(false, 16, 0, row, chunk);
      EXPECT_TRUE(seen.insert({h.lane, h.bit}).second);
    }
  EXPECT_EQ(seen.size(), 256u);  // 32 lanes of 8 chunks
}

TEST(Fragment, UnknownNames) {
  for (const char* name : {"",
                           "mma",
                           "mma.m16n8k16",
                           "mma.m16n8k16.f13",
                           "mma.m16n8k17.f16",
                           "wmma.m16n8k16.f16",
                           "mma.sp.m16n8k8.f16",
                           "mma.m16n8k16.f16.diag",
                           "mma.m16n8k16.f16.row.col.row",
                           "ldmatrix.x4",
                           "wgmma.m64n40k32.s8",
                           "wgmma.m64n264k16.f16",
                           "wgmma.m64n12k16.f16",
                           "wgmma.m64n64k8.f16",
                           "wgmma.m64n64k16.f16.row",
                           "wgmma.sp.m64n64k16.f16",
                           "wgmma.sp.m64n64k512.b1",
                           "wgmma.sp.m64n64k0.b1",
                           "wgmma.m64n64k16.s4",
                           "wmma.sp.m16n16k16.f16"})
    EXPECT_FALSE(find_fragment(name, MatrixRole::a)) << name;
}

// Swizzle<3,4,3> on 128-byte rows: 16-byte piece p of row r lies at piece p ^ (r % 8) (PTX ISA, "Tensor swizzling modes").
TEST(Swizzle, Bytes128) {
  for (uint64_t r = 0; r < 16; ++r)
    for (uint64_t p = 0; p < 8; ++p) EXPECT_EQ(kSwizzle128B(r * 128 + p * 16 + 5), r * 128 + (p ^ (r % 8)) * 16 + 5);
  // 64B: pieces in pairs of rows: bits 7..8 into 4..5. 32B: bit 7 into 4.
  EXPECT_EQ(kSwizzle64B(0x180), 0x1b0u);
  EXPECT_EQ(kSwizzle64B(0x200), 0x200u);
  EXPECT_EQ(kSwizzle32B(0x80), 0x90u);
  EXPECT_EQ(kSwizzleNone(0x1234), 0x1234u);
}

TEST(Swizzle, ElementsAgreeWithBytes) {
  const Swizzle half = kSwizzle128B.for_elements(2);
  EXPECT_EQ(half, (Swizzle{3, 3, 3}));  // CuTe writes the same atom as Swizzle<3,3,3> for f16
  for (uint64_t i = 0; i < 1024; ++i) EXPECT_EQ(half(i) * 2, kSwizzle128B(i * 2));
  EXPECT_EQ(half.for_bytes(2), kSwizzle128B);
}

}  // namespace
}  // namespace tcsim::isa
