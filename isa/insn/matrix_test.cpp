// Matrix instructions as PTX: operands reach the right registers and addresses. Their arithmetic and fragment maps are
// tested in isa/matrix and isa/layout; here the products are small integers, exact in every format.
#include <bit>

#include "isa/exec/ptx_harness.h"

namespace tcsim::isa {
namespace {

TEST(Ldmatrix, RowsReachTheLanesThePtxManualNames) {
  PtxHarness h;
  // Row i of matrix m (8 halves) is at s + 16 * (8 m + i) and holds 64 m + 8 i + column.
  h.run(R"(
    .shared .align 16 .b8 s[512];
    mov.u32 %r1, s; mad.lo.u32 %r2, %tid_x, 16, %r1;
    mul.lo.u32 %r3, %tid_x, 8;
    mad.lo.u32 %r4, %r3, 0x10001, 0x10000; add.u32 %r5, %r4, 0x20002; add.u32 %r6, %r4, 0x40004; add.u32 %r7, %r4, 0x60006;
    st.shared.v4.u32 [%r2], {%r4, %r5, %r6, %r7};
    bar.warp.sync 0xffffffff;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r2];
    ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%r14, %r15}, [%r2];
    movmatrix.sync.aligned.m8n8.trans.b16 %r16, %r10;
    st.global.v4.u32 [%out], {%r10, %r11, %r12, %r13}; st.global.v4.u32 [%out+16], {%r14, %r15, %r16, %r16};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t row = t / 4, col = 2 * (t % 4);
    for (uint32_t m = 0; m < 4; ++m) {
      const uint32_t low = 64 * m + 8 * row + col;
      EXPECT_EQ(h.at(t, m), low | (low + 1) << 16);
    }
    // Transposed: element (row, col) of the result is (col, row) of the matrix.
    for (uint32_t m = 0; m < 2; ++m) {
      const uint32_t low = 64 * m + 8 * col + row;
      EXPECT_EQ(h.at(t, 4 + m), low | (low + 8) << 16);
    }
    EXPECT_EQ(h.at(t, 6), h.at(t, 4));
  }
  EXPECT_TRUE(h.diags.all().empty()) << h.messages();
}

TEST(Stmatrix, IsTheReverse) {
  PtxHarness h;
  h.target = "sm_90";
  h.run(R"(
    .shared .align 16 .b8 s[256];
    mov.u32 %r1, s; mad.lo.u32 %r2, %tid_x, 16, %r1; and.b32 %r3, %r2, 255;
    stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {%tid_x, %n};
    bar.warp.sync 0xffffffff;
    mad.lo.u32 %r4, %tid_x, 4, %r1; ld.shared.u32 %r5, [%r4]; ld.shared.u32 %r6, [%r4+128];
    st.global.v2.u32 [%out], {%r5, %r6};)");
  // %r3 only differs from %r2 if s is not at offset 0; lanes 0..15 give the rows.
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(h.at(t, 0), t);  // row t / 4, columns 2 (t % 4): word t of the matrix
    EXPECT_EQ(h.at(t, 1), 0u);
  }
}

TEST(Ldmatrix, MisalignedRowIsLocated) {
  PtxHarness h;
  h.dynamic_smem = 1024;
  h.run(
      "mad.lo.u32 %r1, %tid_x, 16, 0; setp.eq.u32 %p1, %tid_x, 9; @%p1 add.u32 %r1, %r1, 8; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, %r3}, "
      "[%r1];");
  ASSERT_FALSE(h.ok());
  EXPECT_EQ(h.diags.all()[0].kind, "misaligned");
  EXPECT_NE(h.messages().find("lane 9"), std::string::npos) << h.messages();
}

// A = identity in the first 8 columns, so D = B's first rows + C. Fragment of B for m16n8k16: register 0 of lane l holds
// rows 2 (l % 4), + 1 of column l / 4; D register 0: row l / 4, columns 2 (l % 4), + 1 (PTX ISA, mma.m16n8k16).
TEST(Mma, F16ProductWithF32Accumulator) {
  for (const Generation generation : {Generation::turing, Generation::ampere, Generation::ada, Generation::hopper}) {
    PtxHarness h;
    h.generation = generation;
    // A(i, j) = [i == j]: lane l, register 0: row l/4, columns 2(l%4), +1.
    h.run(R"(
      shr.u32 %r1, %tid_x, 2; and.b32 %r2, %tid_x, 3; shl.b32 %r2, %r2, 1;
      mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r13, 0;
      setp.eq.u32 %p1, %r1, %r2; @%p1 mov.u32 %r10, 0x3c00;
      add.u32 %r3, %r2, 1; setp.eq.u32 %p2, %r1, %r3; @%p2 mov.u32 %r10, 0x3c000000;
      cvt.rn.f16.u32 %h1, %tid_x; mov.b16 %h2, 0x4000; mov.b32 %r14, {%h1, %h2};
      mov.u32 %r15, 0;
      mov.f32 %f1, 0f3f000000; mov.f32 %f2, 0f00000000;
      mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f3, %f4, %f5, %f6}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f1, %f2, %f2, %f1};
      st.global.v4.f32 [%out], {%f3, %f4, %f5, %f6};)");
    ASSERT_TRUE(h.ok()) << h.messages();
    for (uint32_t t = 0; t < 32; ++t) {
      const auto b = [](uint32_t row, uint32_t col) { return row % 2 ? 2.0f : static_cast<float>(col * 4 + row / 2); };
      const uint32_t row = t / 4, col = 2 * (t % 4);
      EXPECT_EQ(std::bit_cast<float>(h.at(t, 0)), b(row, col) + 0.5f);
      EXPECT_EQ(std::bit_cast<float>(h.at(t, 1)), b(row, col + 1));
      EXPECT_EQ(std::bit_cast<float>(h.at(t, 2)), 0.0f);  // rows 8 and up of A are zero
      EXPECT_EQ(std::bit_cast<float>(h.at(t, 3)), 0.5f);
    }
  }
}

// A = 1 everywhere; B = 1 in rows 0, 1 of each four and 3 in rows 2, 3. Metadata 0100 picks rows 0, 1 and 1110 rows 2, 3:
// 16 stored elements a row give 16 or 48. Register i of B holds rows 8 i + 2 (l % 4), + 1, so odd lanes hold rows 2, 3.
TEST(MmaSp, MetadataAndSelectorReachTheProduct) {
  for (const bool high : {false, true})
    for (const int selector : {0, 1}) {
      PtxHarness h;
      h.version = "8.5";
      h.run(fmt::format(R"(
        and.b32 %r1, %tid_x, 1; setp.eq.u32 %p1, %r1, 1; mov.u32 %r2, 0x3c003c00; selp.b32 %r3, 0x42004200, %r2, %p1;
        mov.u32 %r4, {:#x}; mov.f32 %f1, 0f00000000;
        mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {{%f3, %f4, %f5, %f6}}, {{%r2, %r2, %r2, %r2}},
          {{%r3, %r3, %r3, %r3}}, {{%f1, %f1, %f1, %f1}}, %r4, {};
        st.global.v4.f32 [%out], {{%f3, %f4, %f5, %f6}};)",
                        high ? 0xeeeeeeeeu : 0x44444444u, selector));
      ASSERT_TRUE(h.ok()) << h.messages();
      for (uint32_t t = 0; t < 32; ++t)
        for (size_t w = 0; w < 4; ++w) EXPECT_EQ(std::bit_cast<float>(h.at(t, w)), high ? 48.0f : 16.0f);
    }
}

TEST(Mma, OperandCountIsChecked) {
  PtxHarness h;
  h.run("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f3, %f4, %f5, %f6}, {%r10, %r11}, {%r14, %r15}, {%f1, %f2, %f2, %f1};");
  ASSERT_FALSE(h.ok());
  EXPECT_NE(h.messages().find("operand a has 2 registers, expected 4"), std::string::npos) << h.messages();
}

// D = A B with A(i, k) = i + k (mod 4) and B(k, j) = j (mod 3), both through wmma.load from row- and column-major memory.
TEST(Wmma, LoadMultiplyStoreRoundTrip) {
  PtxHarness h;
  h.in.assign(512, 0);
  const auto a = [](int i, int k) { return (i + k) % 4; };
  const auto b = [](int k, int j) { return (k + j) % 3; };
  const uint16_t half[] = {0, 0x3c00, 0x4000, 0x4200};  // 0 1 2 3
  auto* words = reinterpret_cast<uint16_t*>(h.in.data());
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k) {
      words[i * 24 + k] = half[a(i, k)];        // A row-major, stride 24
      words[512 + i * 16 + k] = half[b(k, i)];  // B column-major: column i, row k, stride 16
    }
  h.run(R"(
    .shared .align 32 .b8 s[1024];
    mov.u32 %r60, 24;
    wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%in], %r60;
    wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18}, [%in+1024];
    mov.f32 %f1, 0f40a00000;
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f10, %f11, %f12, %f13, %f14, %f15, %f16, %f17},
      {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, {%r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18}, {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};
    mov.u32 %r20, s;
    wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r20], {%f10, %f11, %f12, %f13, %f14, %f15, %f16, %f17}, 16;
    bar.sync 0;
    mad.lo.u32 %r21, %tid_x, 32, %r20;
    ld.shared.v4.u32 {%r22, %r23, %r24, %r25}, [%r21]; ld.shared.v4.u32 {%r26, %r27, %r28, %r29}, [%r21+16];
    st.global.v4.u32 [%out], {%r22, %r23, %r24, %r25}; st.global.v4.u32 [%out+16], {%r26, %r27, %r28, %r29};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      int sum = 5;
      for (int k = 0; k < 16; ++k) sum += a(i, k) * b(k, j);
      const int at = i * 16 + j;
      EXPECT_EQ(std::bit_cast<float>(h.at(static_cast<size_t>(at / 8), static_cast<size_t>(at % 8))), static_cast<float>(sum)) << i << " " << j;
    }
  EXPECT_TRUE(h.diags.all().empty()) << h.messages();
}

// All A are 2 and all B are -3: 16 products of -6 on a C of 100.
TEST(Wmma, Int8) {
  PtxHarness h;
  h.run(R"(
    mov.u32 %r1, 0x02020202; mov.u32 %r2, 0xfdfdfdfd; mov.u32 %r3, 100;
    wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, {%r1, %r1}, {%r2, %r2},
      {%r3, %r3, %r3, %r3, %r3, %r3, %r3, %r3};
    st.global.v4.u32 [%out], {%r10, %r11, %r12, %r13}; st.global.v4.u32 [%out+16], {%r14, %r15, %r16, %r17};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t)
    for (size_t w = 0; w < 8; ++w) EXPECT_EQ(static_cast<int32_t>(h.at(t, w)), 4);
}

}  // namespace
}  // namespace tcsim::isa
