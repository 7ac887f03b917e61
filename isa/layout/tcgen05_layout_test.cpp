// Tensor Memory layouts of tcgen05.mma: entries as the manual's figures and CUTLASS's layouts have them, and every element one place.
#include "isa/layout/tcgen05_layout.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace tcsim::isa {
namespace {

using L = DatapathLayout;

TEST(Datapath, Layouts) {
  // The manual's table "Datapath organization".
  EXPECT_EQ(datapath_layout(32, 1, false, true), L::g);
  EXPECT_EQ(datapath_layout(64, 1, false, true), L::e);
  EXPECT_EQ(datapath_layout(64, 1, true, false), L::f);
  EXPECT_EQ(datapath_layout(128, 1, false, false), L::d);
  EXPECT_EQ(datapath_layout(128, 1, false, true), L::d);
  EXPECT_EQ(datapath_layout(128, 2, false, false), L::b);
  EXPECT_EQ(datapath_layout(128, 2, true, false), L::c);
  EXPECT_EQ(datapath_layout(256, 2, true, false), L::a);
  EXPECT_EQ(datapath_layout(32, 1, false, false), std::nullopt);
  EXPECT_EQ(datapath_layout(64, 2, false, false), std::nullopt);
  EXPECT_EQ(datapath_layout(256, 1, false, false), std::nullopt);
}

TEST(Datapath, HomesByHand) {
  // A: CTA 0 has rows 0 to 127, CTA 1 rows 128 to 255; lane = row % 128.
  const Datapath a(L::a, 64, 0);
  EXPECT_EQ(a.home(127, 3), (DatapathHome{0, 127, 3}));
  EXPECT_EQ(a.home(128, 63), (DatapathHome{1, 0, 63}));
  // B: 64 rows a CTA; lanes 0 to 63 have the first half of the columns, 64 to 127 the second. ((64),(N/2,2)):((1),(128,64))
  const Datapath b(L::b, 64, 0);
  EXPECT_EQ(b.home(63, 31), (DatapathHome{0, 63, 31}));
  EXPECT_EQ(b.home(5, 32), (DatapathHome{0, 69, 0}));
  EXPECT_EQ(b.home(64, 0), (DatapathHome{1, 0, 0}));
  EXPECT_EQ(b.home(127, 63), (DatapathHome{1, 127, 31}));
  // C: 16 rows in each quarter; the upper 16 lanes are free.
  const Datapath c(L::c, 32, 0);
  EXPECT_EQ(c.home(15, 0), (DatapathHome{0, 15, 0}));
  EXPECT_EQ(c.home(16, 0), (DatapathHome{0, 32, 0}));
  EXPECT_EQ(c.home(64 + 63, 31), (DatapathHome{1, 111, 31}));
  EXPECT_EQ(Datapath(L::d, 256, 0).home(77, 255), (DatapathHome{0, 77, 255}));
  // E: as B with one CTA.
  const Datapath e(L::e, 128, 0);
  EXPECT_EQ(e.home(40, 63), (DatapathHome{0, 40, 63}));
  EXPECT_EQ(e.home(40, 64), (DatapathHome{0, 104, 0}));
  // F: ((16,4),N):((1,32),128), from lane 0 or 16.
  EXPECT_EQ(Datapath(L::f, 8, 0).home(17, 5), (DatapathHome{0, 33, 5}));
  EXPECT_EQ(Datapath(L::f, 8, 16).home(17, 5), (DatapathHome{0, 49, 5}));
  EXPECT_EQ(Datapath(L::f, 8, 16).home(63, 7), (DatapathHome{0, 127, 7}));
  // G: ((32),(N/4,4)):((1),(128,32))
  const Datapath g(L::g, 64, 0);
  EXPECT_EQ(g.home(31, 15), (DatapathHome{0, 31, 15}));
  EXPECT_EQ(g.home(31, 16), (DatapathHome{0, 63, 0}));
  EXPECT_EQ(g.home(0, 63), (DatapathHome{0, 96, 15}));
}

TEST(Datapath, EveryElementHasOnePlace) {
  for (const L layout : {L::a, L::b, L::c, L::d, L::e, L::f, L::g})
    for (const int n : {64, 256})
      for (const int first : {0, 16}) {
        if (first && !is_half_datapath(layout)) continue;
        const Datapath d(layout, n, first);
        std::set<std::tuple<int, int, int>> places;
        for (int row = 0; row < rows_of(layout); ++row)
          for (int j = 0; j < n; ++j) {
            const DatapathHome h = d.home(row, j);
            EXPECT_LT(h.column, d.columns());
            EXPECT_LT(h.lane, 128);
            places.emplace(h.cta, h.lane, h.column);
          }
        EXPECT_EQ(places.size(), static_cast<size_t>(rows_of(layout) * n));
        // All lanes are in use but for the half data paths.
        const size_t lanes = is_half_datapath(layout) ? 64u : 128u;
        EXPECT_EQ(places.size(), static_cast<size_t>(d.ctas()) * lanes * static_cast<size_t>(d.columns()));
      }
}

TEST(TensorA, ElementsByHand) {
  EXPECT_EQ(tensor_a_home(MmaKind::f16, 3).column, 1);  // two a word
  EXPECT_EQ(tensor_a_home(MmaKind::f16, 3).bit, 16);
  EXPECT_EQ(tensor_a_home(MmaKind::tf32, 7).column, 7);
  EXPECT_EQ(tensor_a_home(MmaKind::f8f6f4, 31).column, 7);  // four 8-bit containers a word
  EXPECT_EQ(tensor_a_home(MmaKind::f8f6f4, 31).bit, 24);
  EXPECT_EQ(tensor_a_home(MmaKind::mxf4, 63).column, 7);  // eight a word
  EXPECT_EQ(tensor_a_home(MmaKind::mxf4, 63).bit, 28);
}

TEST(Metadata, ByHand) {
  // CUTLASS tmem_e_frg, 16-bit: ((8,2,8),(16,2)):((1,2048,16),(128,8)) in bits of columns (128 a bit): row 9 is 16 bits up (2048 / 128)
  // in lane 1; the second 16 elements of K are 8 lanes down.
  const TensorBits row9 = metadata_home(MmaKind::f16, 9, 0);
  EXPECT_EQ(row9.lane, 1);
  EXPECT_EQ(row9.bit, 16);
  const TensorBits late = metadata_home(MmaKind::f16, 9, 5);  // K 20 to 23: element 4 of the second half
  EXPECT_EQ(late.lane, 9);
  EXPECT_EQ(late.bit, 20);
  // tf32: ((8,2,8),(8,2)):((1,1024,16),(128,8)) in pairs of bits: the same.
  EXPECT_EQ(metadata_home(MmaKind::tf32, 9, 5).lane, 9);
  EXPECT_EQ(metadata_home(MmaKind::tf32, 9, 5).bit, 20);
  // 8-bit: (128,64):(1,128): a lane has its row's 64 bits, in two columns.
  EXPECT_EQ(metadata_home(MmaKind::i8, 9, 11).lane, 9);
  EXPECT_EQ(metadata_home(MmaKind::i8, 9, 11).column, 1);
  EXPECT_EQ(metadata_home(MmaKind::i8, 9, 11).bit, 12);
}

TEST(Metadata, EveryChunkHasOnePlace) {
  for (const MmaKind kind : {MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::i8, MmaKind::mxf8f6f4, MmaKind::mxf4}) {
    std::set<std::tuple<int, int, int>> places;
    for (int row = 0; row < 16; ++row)
      for (int chunk = 0; chunk < metadata_chunks(kind); ++chunk) {
        const TensorBits at = metadata_home(kind, row, chunk);
        EXPECT_EQ(at.bit % 4, 0);
        places.emplace(at.lane, at.column, at.bit);
      }
    EXPECT_EQ(places.size(), static_cast<size_t>(16 * metadata_chunks(kind)));
    EXPECT_EQ(places.size(), static_cast<size_t>(16 * 8 * metadata_columns(kind))) << "16 lanes of 8 nibbles are full";
  }
}

TEST(ScaleFactors, ByHand) {
  // CUTLASS tmem_sf_frg, bytes: ((32,M/32),4),(VS,NSF)) : ((1,512),32),(0,128)): row 33 is in lane 1, the next word (512 bytes of 128
  // lanes); factor 3 of a row is 3 bytes on.
  EXPECT_EQ(scale_home(33, 3, 0).lane, 1);
  EXPECT_EQ(scale_home(33, 3, 0).column, 1);
  EXPECT_EQ(scale_home(33, 3, 0).bit, 24);
  EXPECT_EQ(scale_home(127, 0, 2).column, 3);
  EXPECT_EQ(scale_home(127, 0, 2).bit, 16);
  EXPECT_EQ(scale_home(255, 0, 0).column, 7);  // N = 256: eight columns
}

}  // namespace
}  // namespace tcsim::isa
