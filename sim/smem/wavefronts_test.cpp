#include "sim/smem/wavefronts.h"

#include <gtest/gtest.h>

#include <functional>

namespace tcsim::sim {
namespace {

using isa::Access;
using isa::AccessKind;

Access access(AccessKind kind, uint8_t bytes, const std::function<uint64_t(uint32_t)>& address, uint32_t mask = isa::kFullMask) {
  Access a;
  a.kind = kind;
  a.space = isa::Space::shared;
  a.bytes = bytes;
  a.mask = mask;
  for (uint32_t lane = 0; lane < 32; ++lane) a.address[lane] = address(lane);
  return a;
}

/// Swizzle<B,M,S> of CuTe on element offsets: bits [M, M+B) are xored with bits [M+S, M+S+B) (S > 0).
uint64_t swizzle(uint64_t offset, int b, int m, int s) {
  const uint64_t mask = (1ull << b) - 1;
  return offset ^ ((offset >> (m + s) & mask) << m);
}

// A column read of 32-bit words with a row stride of s words: all rows of equal (row * s) % 32 meet, so 32/gcd.. ways:
// stride 32 and 64: 32-way; 16: 16-way (two banks); 33: none.
TEST(Wavefronts, ColumnReadByStride) {
  for (auto [stride, ways] : {std::pair{32u, 32u}, {64u, 32u}, {16u, 16u}, {33u, 1u}}) {
    const auto w = count_wavefronts(access(AccessKind::load, 4, [s = stride](uint32_t l) { return uint64_t{l} * s * 4; }), {});
    EXPECT_EQ(w.total, ways) << "stride " << stride;
    EXPECT_EQ(w.ideal, 1u);
  }
}

// Stride of 16 words: even lanes' words lie in bank 0, odd lanes' in bank 16, 16 in each: 15 beyond the first. A second access with
// the same addresses adds as many again; one without a conflict adds nothing.
TEST(Wavefronts, ExtraWordsOfEachBank) {
  std::vector<uint32_t> extra(32);
  const auto strided = access(AccessKind::load, 4, [](uint32_t l) { return uint64_t{l} * 16 * 4; });
  count_wavefronts(strided, {}, extra);
  count_wavefronts(access(AccessKind::load, 4, [](uint32_t l) { return uint64_t{l} * 4; }), {}, extra);
  count_wavefronts(strided, {}, extra);
  for (uint32_t bank = 0; bank < 32; ++bank) EXPECT_EQ(extra[bank], bank == 0 || bank == 16 ? 30 : 0) << "bank " << bank;
}

// 16 bytes a lane, rows of 64 bytes, 8 lanes a group: rows of even number begin in bank 0, the others in bank 16, so 4 rows meet in
// each of the banks 0-3 and 16-19: 3 beyond the first in each of 4 groups.
TEST(Wavefronts, ExtraWordsOfAllGroups) {
  std::vector<uint32_t> extra(32);
  const auto w = count_wavefronts(access(AccessKind::load, 16, [](uint32_t l) { return uint64_t{l} * 64; }), {}, extra);
  EXPECT_EQ(w.conflicts(), 4u * 3);
  for (uint32_t bank = 0; bank < 32; ++bank) EXPECT_EQ(extra[bank], bank % 16 < 4 ? 4 * 3 : 0) << "bank " << bank;
}

// NVlabs/cuda-oxide PR 544: Swizzle<B,0,5> on a 32x32 f32 tile, column read: B = 5, 3, 2 -> 1, 4, 8 ways.
TEST(Wavefronts, ColumnReadSwizzled) {
  for (auto [b, ways] : {std::pair{5, 1u}, {3, 4u}, {2, 8u}}) {
    const auto w = count_wavefronts(access(AccessKind::load, 4, [b = b](uint32_t l) { return swizzle(l * 32ull, b, 0, 5) * 4; }), {});
    EXPECT_EQ(w.total, ways) << "B " << b;
  }
}

// NVIDIA forum 359822: LDS.128 whose lanes are 128 bytes apart take 32 wavefronts (8 lanes a group, all in one bank
// quad: 8 each, 4 groups), lanes 16 bytes apart take 4.
TEST(Wavefronts, WideLoads) {
  EXPECT_EQ(count_wavefronts(access(AccessKind::load, 16, [](uint32_t l) { return l * 128ull; }), {}).total, 32u);
  const auto dense = count_wavefronts(access(AccessKind::load, 16, [](uint32_t l) { return l * 16ull; }), {});
  EXPECT_EQ(dense.total, 4u);
  EXPECT_EQ(dense.ideal, 4u);
  EXPECT_EQ(count_wavefronts(access(AccessKind::load, 8, [](uint32_t l) { return l * 8ull; }), {}).total, 2u);
}

// CUTLASS 3172: f16 atom (128 rows M, 8 K) M-major, ldmatrix.x4.trans. Matrix m of the four: k = 0..7 are the rows of 8 M-contiguous
// elements at offset m*8 + k*128 elements. Unswizzled: 8 rows 256 bytes apart share a bank quad: 8 wavefronts each, 32.
// Swizzle<3,3,4> xors bits 3-5 with bits 7-9 = k: 8 different quads: 4. <3,3,3> uses bits 6-8: only k bits 0-1 differ
// (bit 6 is M): pairs collide: 2 each, 8; <3,3,5> uses bits 8-10: k bits 1-2: 8.
TEST(Wavefronts, LdmatrixTransposedSwizzles) {
  const auto run = [](int b, int m, int s) {
    return count_wavefronts(access(AccessKind::ldmatrix, 16,
                                   [=](uint32_t l) {
                                     const uint64_t offset = (l / 8) * 8ull + (l % 8) * 128ull;
                                     return (b == 0 ? offset : swizzle(offset, b, m, s)) * 2;
                                   }),
                            {});
  };
  EXPECT_EQ(run(0, 0, 0).total, 32u);
  EXPECT_EQ(run(3, 3, 4).total, 4u);
  EXPECT_EQ(run(3, 3, 4).ideal, 4u);
  EXPECT_EQ(run(3, 3, 3).total, 8u);
  EXPECT_EQ(run(3, 3, 5).total, 8u);
}

TEST(Wavefronts, BroadcastAndPartialMask) {
  EXPECT_EQ(count_wavefronts(access(AccessKind::load, 4, [](uint32_t) { return 64ull; }), {}).total, 1u);
  // Bytes: four lanes share each word, 8 words, no conflict.
  EXPECT_EQ(count_wavefronts(access(AccessKind::load, 1, [](uint32_t l) { return uint64_t{l}; }), {}).total, 1u);
  // Only lanes 0-7 of a 128-bit access: one group.
  const auto w = count_wavefronts(access(
                                      AccessKind::load, 16, [](uint32_t l) { return l * 16ull; }, 0xff),
                                  {});
  EXPECT_EQ(w.total, 1u);
  EXPECT_EQ(w.ideal, 1u);
}

// H200, conflicts/sharing.json: all lanes of a 128-bit load at one address: the quarters of each half merge: 2 passes; lanes
// in equal pairs 16 bytes apart (16 different words quads, 256 bytes): merged halves of 16 lanes with 8 different quads: 2.
// Stores never merge: 4.
TEST(Wavefronts, NeighboursThatReadTheSameWordsMerge) {
  EXPECT_EQ(count_wavefronts(access(AccessKind::load, 16, [](uint32_t) { return 0ull; }), {}).total, 2u);
  EXPECT_EQ(count_wavefronts(access(AccessKind::load, 16, [](uint32_t l) { return l / 2 * 16ull; }), {}).total, 2u);
  EXPECT_EQ(count_wavefronts(access(AccessKind::store, 16, [](uint32_t l) { return l / 2 * 16ull; }), {}).total, 4u);
  EXPECT_EQ(count_wavefronts(access(AccessKind::load, 8, [](uint32_t l) { return l / 2 * 8ull; }), {}).total, 1u);
}

TEST(Wavefronts, MachineWithMoreBanks) {
  // 64 banks: a stride of 32 words leaves two banks: 16-way.
  EXPECT_EQ(count_wavefronts(access(AccessKind::load, 4, [](uint32_t l) { return l * 128ull; }), {64, 4}).total, 16u);
}

TEST(Wavefronts, DescribesTheLanes) {
  const auto text = describe_conflict(access(AccessKind::load, 4, [](uint32_t l) { return (l % 2) * 128ull + (l / 2) * 4; }), {});
  EXPECT_EQ(text, "lanes 0, 1 (2-way) meet in bank 0");
  EXPECT_EQ(describe_conflict(access(AccessKind::load, 4, [](uint32_t l) { return l * 4ull; }), {}), "");
}

}  // namespace
}  // namespace tcsim::sim
