// Numbers of 8, 6 and 4 bits as PTX: rows of bytes in and out of shared memory, block-scaled products, stochastic rounding;
// and Volta's quad pairs. Operands are small exact numbers: the sums themselves are tested in isa/matrix.
#include <bit>

#include "isa/exec/ptx_harness.h"

namespace tcsim::isa {
namespace {

PtxHarness harness(const char* target, Generation generation) {
  PtxHarness h;
  h.target = target;
  h.version = "8.7";
  h.generation = generation;
  return h;
}

// Byte i of s holds i; row r is the 16 bytes from 16 r on.
const std::string kBytes = R"(
    .shared .align 16 .b8 s[512];
    mov.u32 %r1, s; mad.lo.u32 %r2, %tid_x, 16, %r1; mad.lo.u32 %r3, %tid_x, 8, %r1;
    mul.lo.u32 %r4, %tid_x, 0x08080808; add.u32 %r5, %r4, 0x03020100; add.u32 %r6, %r4, 0x07060504;
    st.shared.v2.u32 [%r3], {%r5, %r6};
    bar.warp.sync 0xffffffff;
)";

// PTX ISA, "ldmatrix", 16x16 with .trans: four consecutive columns in rows l/4 and l/4 + 8 of the transposed matrix.
TEST(NarrowMoves, SixteenRowsTransposed) {
  PtxHarness h = harness("sm_120a", Generation::rtx_blackwell);
  h.run(kBytes + R"(
    ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r10, %r11}, [%r2];
    st.global.v2.u32 [%out], {%r10, %r11};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t r = 0; r < 2; ++r)
      for (uint32_t b = 0; b < 4; ++b) EXPECT_EQ(h.at(t, r) >> (8 * b) & 0xff, 16 * (4 * (t % 4) + b) + t / 4 + 8 * r);
  EXPECT_TRUE(h.diags.all().empty()) << h.messages();
}

// Element c of a row of 4-bit elements: the low half of byte c / 2 when c is even, else the high half. Byte 16 r + j: j and r.
TEST(NarrowMoves, FourAndSixBitsBecomeBytes) {
  PtxHarness h = harness("sm_100a", Generation::blackwell);
  h.run(kBytes + R"(
    ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%r10}, [%r2];
    ldmatrix.sync.aligned.m8n16.x2.shared::cta.b8x16.b6x16_p32 {%r11, %r12}, [%r2];
    st.global.v4.u32 [%out], {%r10, %r11, %r12, %r12};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t b = 0; b < 4; ++b) {
      const uint32_t row = t / 4, col = 4 * (t % 4) + b;
      EXPECT_EQ(h.at(t, 0) >> (8 * b) & 0xff, b % 2 ? row : col / 2);
      for (uint32_t m = 0; m < 2; ++m) {
        uint32_t want = 0;  // bit k of element col is bit 6 col + k of the row
        for (uint32_t k = 0; k < 6; ++k) {
          const uint32_t bit = 6 * col + k, byte = 16 * (8 * m + row) + bit / 8;
          want |= (byte >> (bit % 8) & 1) << k;
        }
        EXPECT_EQ(h.at(t, 1 + m) >> (8 * b) & 0xff, want);
      }
    }
}

// Lane l holds bytes 4 l to 4 l + 3: (l/4, 2(l%4)), (l/4, 2(l%4) + 1), and the same 8 rows on; a column goes to 16 bytes.
TEST(NarrowMoves, ColumnsOfBytesAreStored) {
  PtxHarness h = harness("sm_100a", Generation::blackwell);
  h.run(kBytes + R"(
    mul.lo.u32 %r7, %tid_x, 0x04040404; add.u32 %r7, %r7, 0x03020100;
    stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r7};
    bar.warp.sync 0xffffffff;
    mad.lo.u32 %r8, %tid_x, 4, %r1; ld.shared.u32 %r9, [%r8];
    st.global.u32 [%out], %r9;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t i = 0; i < 128; ++i) {
    const uint32_t column = i / 16, row = i % 16, lane = 4 * (row % 8) + column / 2;
    EXPECT_EQ(h.at(i / 4) >> (8 * (i % 4)) & 0xff, 4 * lane + column % 2 + 2 * (row / 8)) << i;
  }
}

// A = 1 (e2m1 0b0010 in bits 2 to 5; e3m2 0b001100), B = 2 (e2m1 0b0100), C = 0.5: 32 * 2 + 0.5.
TEST(NarrowMma, TypesMix) {
  PtxHarness h = harness("sm_120a", Generation::rtx_blackwell);
  h.run(R"(
    mov.u32 %r1, 0x08080808; mov.u32 %r2, 0x0c0c0c0c; mov.u32 %r3, 0x10101010; mov.f32 %f1, 0f3f000000;
    mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e2m1.f32 {%f2, %f3, %f4, %f5}, {%r1, %r1, %r1, %r1}, {%r3, %r3}, {%f1, %f1, %f1, %f1};
    mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32 {%f6, %f7, %f8, %f9}, {%r2, %r2, %r2, %r2}, {%r3, %r3}, {%f1, %f1, %f1, %f1};
    st.global.v4.f32 [%out], {%f2, %f5, %f6, %f9};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (size_t t = 0; t < 32; ++t)
    for (size_t w = 0; w < 4; ++w) EXPECT_EQ(std::bit_cast<float>(h.at(t, w)), 64.5f);
}

// Scales of A: byte 1 of lanes 4 (i % 8) + 2 + i / 8 (thread-id 1): 2^0 in even lanes, 2^1 in odd ones, so rows 8 and up double.
// nvfp4: scales 1, 2, 0.5, 1.5 (ue4m3) of 16 ones each: 16 * 5 = 80.
TEST(NarrowMma, BlockScales) {
  PtxHarness h = harness("sm_120a", Generation::rtx_blackwell);
  h.run(R"(
    mov.u32 %r1, 0x38383838; mov.u32 %r2, 0x40404040; mov.f32 %f1, 0f3f000000;
    and.b32 %r3, %tid_x, 1; shl.b32 %r3, %r3, 8; add.u32 %r3, %r3, 0xff7fff; mov.u32 %r4, 0x7f;
    mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0
        {%f2, %f3, %f4, %f5}, {%r1, %r1, %r1, %r1}, {%r2, %r2}, {%f1, %f1, %f1, %f1}, %r3, {1, 1}, %r4, {0, 0};
    mov.u32 %r5, 0x22222222; mov.u32 %r6, 0x3c304038; mov.u32 %r7, 0x38383838;
    mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3
        {%f6, %f7, %f8, %f9}, {%r5, %r5, %r5, %r5}, {%r5, %r5}, {%f1, %f1, %f1, %f1}, %r6, {0, 0}, %r7, {0, 3};
    st.global.v4.f32 [%out], {%f2, %f5, %f6, %f9};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (size_t t = 0; t < 32; ++t) {
    EXPECT_EQ(std::bit_cast<float>(h.at(t, 0)), 64.5f);  // e4m3: 1 is 0x38, 2 is 0x40
    EXPECT_EQ(std::bit_cast<float>(h.at(t, 1)), 128.5f);
    EXPECT_EQ(std::bit_cast<float>(h.at(t, 2)), 80.5f);
    EXPECT_EQ(std::bit_cast<float>(h.at(t, 3)), 80.5f);
  }
}

TEST(NarrowMma, WhatPtxasRefusesIsRefused) {
  const std::string registers = "{%f2, %f3, %f4, %f5}, {%r1, %r1, %r1, %r1}, {%r2, %r2}, {%f1, %f1, %f1, %f1}";
  const auto why = [&](const char* target, const std::string& statement) {
    PtxHarness h = harness(target, Generation::rtx_blackwell);
    h.run(statement);
    return h.messages();
  };
  const std::string plain = "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e2m1.f32 " + registers + ";";
  EXPECT_NE(why("sm_100a", plain).find("expected sm_120a"), std::string::npos);
  EXPECT_NE(why("sm_120", plain).find("expected sm_120a"), std::string::npos);
  const std::string scaled = "mma.sync.aligned.kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0 " + registers;
  EXPECT_NE(why("sm_100a", scaled + ", %r1, {0, 0}, %r2, {0, 0};").find("target-version"), std::string::npos);
  EXPECT_NE(why("sm_120a", scaled + ", %r1, {1, 0}, %r2, {0, 0};").find("byte-id is 1, expected 0 or 2"), std::string::npos);
  EXPECT_NE(why("sm_120a", scaled + ", %r1, {0, 2}, %r2, {0, 0};").find("thread-id is 2, expected 0 to 1"), std::string::npos);
  EXPECT_EQ(why("sm_120a", scaled + ", %r1, {2, 1}, %r2, {2, 3};"), "");
  const std::string nv = "mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3 " + registers;
  EXPECT_NE(why("sm_120a", nv + ", %r1, {0, 0}, %r2, {0, 0};").find("expected scale_vec::4X"), std::string::npos);
}

// e4m3: 1.0625 is half way from 1 (0x38) to 1.125 (0x39); 448 is 0x7e. e2m1: 1.25 from 1 (2) to 1.5 (3), 0.25 from 0 to 0.5 (1), 6 is 7.
// The upper random bits (e2m1: the upper bytes of both halves) say one half exactly: up; the lower ones just less: down.
TEST(NarrowCvt, StochasticFours) {
  PtxHarness h = harness("sm_100a", Generation::blackwell);
  h.run(R"(
    mov.f32 %f1, 0f3f880000; neg.f32 %f2, %f1; mov.f32 %f3, 0f447a0000; mov.u32 %r1, 0x80007fff;
    cvt.rs.satfinite.e4m3x4.f32 %r2, {%f1, %f2, %f1, %f3}, %r1;
    cvt.rs.relu.satfinite.e4m3x4.f32 %r3, {%f1, %f2, %f1, %f3}, %r1;
    mov.f32 %f4, 0f3fa00000; mov.f32 %f5, 0f3e800000; mov.f32 %f6, 0f40dccccd; mov.u32 %r4, 0x807f00ff;
    cvt.rs.satfinite.e2m1x4.f32 %h1, {%f4, %f5, %f4, %f6}, %r4;
    cvt.u32.u16 %r5, %h1;
    st.global.v4.u32 [%out], {%r2, %r3, %r5, %r5};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(7, 0), 0x39b9387eu);
  EXPECT_EQ(h.at(7, 1), 0x3900387eu);
  EXPECT_EQ(h.at(7, 2), 0x3127u);
}

// Four independent 8x8x4 products: quad pair q (lanes 4q .. 4q+3 and 16 more) has A = q + 1 and B = 1 everywhere, C = 0.5.
TEST(QuadPairs, FourProducts) {
  for (const Generation generation : {Generation::volta, Generation::turing, Generation::hopper}) {
    PtxHarness h = harness("sm_70", generation);
    h.run(R"(
      shr.u32 %r1, %tid_x, 2; and.b32 %r1, %r1, 3; add.u32 %r1, %r1, 1;
      cvt.rn.f16.u32 %h1, %r1; mov.b32 %r2, {%h1, %h1}; mov.u32 %r3, 0x3c003c00; mov.f32 %f1, 0f3f000000;
      mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5, %f6, %f7, %f8, %f9}, {%r2, %r2}, {%r3, %r3},
          {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};
      mov.u32 %r4, 0x38003800;
      mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16 {%r5, %r6, %r7, %r8}, {%r2, %r2}, {%r3, %r3}, {%r4, %r4, %r4, %r4};
      st.global.v4.f32 [%out], {%f2, %f3, %f8, %f9}; st.global.v2.u32 [%out+16], {%r5, %r8};)");
    ASSERT_TRUE(h.ok()) << h.messages();
    for (uint32_t t = 0; t < 32; ++t) {
      const float want = 4.0f * static_cast<float>(t % 16 / 4 + 1) + 0.5f;
      for (size_t w = 0; w < 4; ++w) EXPECT_EQ(std::bit_cast<float>(h.at(t, w)), want);
      constexpr uint32_t kHalves[] = {0x44804480, 0x48404840, 0x4a404a40, 0x4c204c20};  // 4.5, 8.5, 12.5, 16.5
      EXPECT_EQ(h.at(t, 4), kHalves[t % 16 / 4]);
      EXPECT_EQ(h.at(t, 5), kHalves[t % 16 / 4]);
    }
  }
}

}  // namespace
}  // namespace tcsim::isa
