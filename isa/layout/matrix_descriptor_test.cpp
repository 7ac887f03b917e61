// Matrix descriptors: fields by hand, addresses from the canonical layouts of the manual and of CUTLASS, public bug reports.
#include "isa/layout/matrix_descriptor.h"

#include <gtest/gtest.h>

#include <set>

#include "isa/layout/swizzle.h"

namespace tcsim::isa {
namespace {

MatrixDescriptor sw128(uint32_t start) { return {start, 16, 1024, 0, 128}; }

// github.com/KnowingNothing/MatmulTutorial/issues/10: layout 1, leading 1, stride 64.
TEST(Descriptor, MatmulTutorial10) {
  const uint64_t bits = uint64_t{1} << 62 | uint64_t{64} << 32 | 1 << 16 | 0x400 >> 4;
  const MatrixDescriptor d = decode_wgmma_descriptor(bits);
  EXPECT_EQ(d, sw128(0x400));
  EXPECT_EQ(encode_wgmma_descriptor(d), bits);
  EXPECT_EQ(check_descriptor(d, Major::k, 32).kind, nullptr);
  EXPECT_TRUE(wgmma_descriptor_notes(bits, Major::k, 64 * 128).empty());
  EXPECT_EQ(describe(d, Major::k),
            "start 0x400, leading 16 B (ignored: swizzled K-major), stride 1024 B (8 rows x 128 B), swizzle 128 B, base offset 0");
  EXPECT_EQ(MatrixAddress(d, Major::k).byte(9, 20), 0x884u);
}

TEST(Descriptor, Fields) {
  // Start 0x3fff0 (14 bits of ones), leading 0x20, stride 0x3fff0, base offset 5, swizzle 32 bytes (3).
  const MatrixDescriptor d{0x3fff0, 0x20, 0x3fff0, 5, 32};
  EXPECT_EQ(encode_wgmma_descriptor(d), 0xc00a3fff00023fffu);
  EXPECT_EQ(decode_wgmma_descriptor(0xc00a3fff00023fffu), d);
  EXPECT_EQ(decode_wgmma_descriptor(uint64_t{2} << 62).swizzle_bytes, 64);
  EXPECT_EQ(unused_wgmma_bits(0xc00a3fff00023fffu), 0u);
  EXPECT_EQ(unused_wgmma_bits(0x0010400040008000u), 0x0010400040008000u);
}

// tilelang PR #813: leading and stride stored in bytes: 1024 in the field means 16384 B.
TEST(Descriptor, Tilelang813) {
  const uint64_t bits = uint64_t{1} << 62 | uint64_t{1024} << 32 | 0x400 >> 4;
  const auto notes = wgmma_descriptor_notes(bits, Major::k, 64 * 128);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(wgmma_descriptor_notes(uint64_t{1} << 62 | uint64_t{64} << 32, Major::k, 8 * 32).empty());  // n8: stride 1024 is right
  EXPECT_EQ(notes[0], "stride field 1024 = 16384 B exceeds the matrix of 8192 B; fields count units of 16 bytes: was >> 4 forgotten?");
}

// FlashMLA #67: 16 halves along K are 32 bytes, 2 in the start field; the pieces then come from the addresses' own bits.
TEST(Descriptor, FlashMla67) {
  const uint64_t bits = encode_wgmma_descriptor(sw128(0x1400));
  EXPECT_EQ(advance_wgmma_descriptor(bits, 32), bits + 2);
  for (uint32_t step = 0; step < 4; ++step) {
    const auto d = decode_wgmma_descriptor(advance_wgmma_descriptor(bits, 32 * step));
    EXPECT_EQ(check_descriptor(d, Major::k, 32).kind, nullptr);
    const MatrixAddress at(d, Major::k);
    for (uint32_t row = 0; row < 64; ++row)
      for (uint32_t piece = 0; piece < 2; ++piece)  // TMA put piece p of row r at r * 128 + (p ^ r % 8) * 16
        EXPECT_EQ(at.piece(row, piece), 0x1400 + row * 128 + ((2 * step + piece) ^ (row % 8)) * 16);
  }
}

// tilelang #2379: a tile at a multiple of 128 only. 128-byte pattern: % 1024, 64: % 512, 32: % 256.
TEST(Descriptor, Tilelang2379) {
  for (const auto& [swizzle, pattern] : {std::pair<uint8_t, uint32_t>{128, 1024}, {64, 512}, {32, 256}}) {
    MatrixDescriptor d{4 * pattern + 128, 16, pattern, 0, swizzle};
    const DescriptorProblem problem = check_descriptor(d, Major::k, 32);
    ASSERT_STREQ(problem.kind, "misaligned") << int{swizzle};
    EXPECT_NE(problem.text.find("is 128 bytes past a multiple of " + std::to_string(pattern)), std::string::npos) << problem.text;
    // "base offset = (pattern start address >> 7) & 7" repairs it: rows then count from the pattern's start.
    d.base_offset = 1;
    EXPECT_EQ(check_descriptor(d, Major::k, 32).kind, nullptr);
    d.start = 4 * pattern;
    EXPECT_STREQ(check_descriptor(d, Major::k, 32).kind, "misaligned");
  }
  // At + 128 each row's XOR is taken from the next row of the pattern: all 64 pieces of the atom are elsewhere than row % 8 says.
  const MatrixAddress at(sw128(0x480), Major::k);
  for (uint32_t row = 0; row < 8; ++row)
    for (uint32_t piece = 0; piece < 8; ++piece) EXPECT_NE(at.piece(row, piece), 0x480 + row * 128 + (piece ^ row) * 16);
  MatrixDescriptor repaired = sw128(0x480);
  repaired.base_offset = 1;
  for (uint32_t row = 0; row < 8; ++row) EXPECT_EQ(MatrixAddress(repaired, Major::k).piece(row, 0), 0x480 + row * 128 + row * 16);
}

TEST(Descriptor, SliceAcrossTheRow) {
  EXPECT_STREQ(check_descriptor(sw128(0x470), Major::k, 32).kind, "bad-descriptor");
  EXPECT_EQ(check_descriptor(sw128(0x460), Major::k, 32).kind, nullptr);
  EXPECT_STREQ(check_descriptor({0x410, 16, 256, 0, 32}, Major::k, 32).kind, "bad-descriptor");
  EXPECT_EQ(check_descriptor({0x470, 128, 256, 0, 0}, Major::k, 32).kind, nullptr);
}

// compute-sanitizer-samples #19: wgmma m64n256k16, A: a warp reads 16 rows of 32 bytes = 512 bytes, and warp 2's part is
// [0x1bc20, 0x1be20) when A is a plain stack of 8 x 16-byte core matrices (leading 128, stride 256) at 0x1b820.
TEST(Descriptor, Sanitizer19) {
  const MatrixAddress at({0x1b820, 128, 256, 0, 0}, Major::k);
  std::set<uint32_t> pieces;
  for (uint32_t row = 32; row < 48; ++row)
    for (uint32_t piece = 0; piece < 2; ++piece) pieces.insert(at.piece(row, piece));
  EXPECT_EQ(pieces.size() * 16, 512u);
  EXPECT_EQ(*pieces.begin(), 0x1bc20u);
  EXPECT_EQ(*pieces.rbegin() + 16, 0x1be20u);
}

// CUTLASS, make_gmma_desc<Major::K>, 16-byte units: none ((8,n),2):((1,SBO),LBO); SW32 ((8,n),2):((2,SBO),1); SW64 4; SW128 8.
TEST(Descriptor, CanonicalK) {
  const MatrixAddress none({0, 128, 256, 0, 0}, Major::k);
  EXPECT_EQ(none.piece(13, 1), 256u + 5 * 16 + 128);
  for (const auto& [swizzle, pattern] : {std::pair{uint8_t{32}, kSwizzle32B}, {uint8_t{64}, kSwizzle64B}, {uint8_t{128}, kSwizzle128B}}) {
    const MatrixAddress at({2048, 16, 8u * swizzle, 0, swizzle}, Major::k);
    for (uint32_t row = 0; row < 32; ++row)
      for (uint32_t byte = 0; byte < 32; ++byte) EXPECT_EQ(at.byte(row, byte), pattern(2048 + row * swizzle + byte));
  }
}

// CUTLASS, make_gmma_desc<Major::MN>, 16-byte units: none ((1,n),(8,k)):((X,SBO),(1,LBO)); SWw ((w,n),(8,k)):((1,LBO),(w,SBO)).
TEST(Descriptor, CanonicalMn) {
  const MatrixAddress none({0, 2048, 128, 0, 0}, Major::mn);
  // Element (m 19, k 11) of halves: m 19 = piece 2, byte 6; k 11 = group 1, line 3.
  EXPECT_EQ(none.element(19, 11, 2), 2 * 128u + 6 + 2048 + 3 * 16);
  const MatrixAddress at({1024, 4096, 1024, 0, 128}, Major::mn);
  // m 77 = 64 + 13: second atom (leading), piece 1, byte 10; k 11: second group (stride), line 3: piece 1 ^ 3.
  EXPECT_EQ(at.element(77, 11, 2), 1024 + 4096 + 1024 + 3 * 128u + (1 ^ 3) * 16 + 10);
  const MatrixAddress half({1024, 512, 4096, 0, 64}, Major::mn);
  // 64-byte rows: m 45 = 32 + 13; k 3 lies at 3 * 64 = 192: bit 7 is set, XOR 1.
  EXPECT_EQ(half.element(45, 3, 2), 1024 + 512 + 192u + (1 ^ 1) * 16 + 10);
}

}  // namespace
}  // namespace tcsim::isa
