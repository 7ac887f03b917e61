// mov, prmt, address conversion and lane exchanges, run as PTX. Expected values are worked out beside each test.
#include "isa/exec/ptx_harness.h"

namespace tcsim::isa {
namespace {

TEST(Mov, PackAndUnpackVectors) {
  PtxHarness h;
  h.run(R"(
    mov.u32 %r1, 0x11223344; mov.u32 %r2, 0x55667788;
    mov.b64 %rd1, {%r1, %r2};
    st.global.u64 [%out], %rd1;
    mov.b64 {%r3, %r4}, %rd1; st.global.u32 [%out+8], %r4;
    mov.b32 {%h1, %h2}, %r1; mov.b32 %r5, {%h2, %h1}; st.global.u32 [%out+12], %r5;
    mov.b64 {%h3, %h4, %h5, %h6}, %rd1; cvt.u32.u16 %r6, %h5; st.global.u32 [%out+16], %r6;
    mov.b64 {_, %r7}, %rd1; st.global.u32 [%out+20], %r7;
    mov.b64 %rd2, {%r1, 7}; st.global.u64 [%out+24], %rd2;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0, 0), 0x11223344u);
  EXPECT_EQ(h.at(0, 1), 0x55667788u);
  EXPECT_EQ(h.at(0, 2), 0x55667788u);
  EXPECT_EQ(h.at(0, 3), 0x33441122u);
  EXPECT_EQ(h.at(0, 4), 0x7788u);
  EXPECT_EQ(h.at(0, 5), 0x55667788u);
  EXPECT_EQ(h.at(0, 6), 0x11223344u);
  EXPECT_EQ(h.at(0, 7), 7u);
}

TEST(Mov, GuardedLanesKeepTheirValue) {
  PtxHarness h;
  h.run("mov.u32 %r1, 1; setp.lt.u32 %p1, %tid_x, 5; @%p1 mov.u32 %r1, 2; @!%p1 mov.u32 %r1, 3; st.global.u32 [%out], %r1;");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(h.at(t), t < 5 ? 2u : 3u);
}

TEST(Mov, ClockMovesOn) {
  PtxHarness h;
  h.run("mov.u64 %rd1, %clock64; mov.u32 %r1, %clock; mov.u64 %rd2, %clock64; sub.u64 %rd3, %rd2, %rd1; st.global.u64 [%out], %rd3;");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_GT(h.at(0), 0u);
}

TEST(Mov, GlobalTimerMovesOn) {
  PtxHarness h;
  h.run(
      "mov.u64 %rd1, %globaltimer; mov.u32 %r1, 0; mov.u32 %r1, 1; mov.u64 %rd2, %globaltimer; sub.u64 %rd3, %rd2, %rd1; st.global.u64 [%out], "
      "%rd3;");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_GT(h.at(0), 0u);
}

TEST(Prmt, AllModes) {
  PtxHarness h;
  // a = bytes 0..3 (10 11 12 13), b = bytes 4..7 (94 95 96 97): selector n picks byte n; bit 3 copies its sign.
  h.run(R"(
    mov.u32 %r1, 0x13121110; mov.u32 %r2, 0x97969594;
    prmt.b32 %r3, %r1, %r2, 0x7531; st.global.u32 [%out], %r3;
    prmt.b32 %r3, %r1, %r2, 0x00fb; st.global.u32 [%out+4], %r3;
    prmt.b32.f4e %r3, %r1, %r2, 3; st.global.u32 [%out+8], %r3;
    prmt.b32.b4e %r3, %r1, %r2, 1; st.global.u32 [%out+12], %r3;
    prmt.b32.rc8 %r3, %r1, %r2, 2; st.global.u32 [%out+16], %r3;
    prmt.b32.ecl %r3, %r1, %r2, 2; st.global.u32 [%out+20], %r3;
    prmt.b32.ecr %r3, %r1, %r2, 2; st.global.u32 [%out+24], %r3;
    prmt.b32.rc16 %r3, %r1, %r2, 1; st.global.u32 [%out+28], %r3;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0, 0), 0x97951311u);
  EXPECT_EQ(h.at(0, 1), 0x1010ff00u);  // selectors b (byte 3 sign: 0), f (byte 7 sign: ff), 0, 0
  EXPECT_EQ(h.at(0, 2), 0x96959413u);  // 3 4 5 6
  EXPECT_EQ(h.at(0, 3), 0x96971011u);  // 1 0 7 6
  EXPECT_EQ(h.at(0, 4), 0x12121212u);
  EXPECT_EQ(h.at(0, 5), 0x13121212u);  // max(2, i): 2 2 2 3
  EXPECT_EQ(h.at(0, 6), 0x12121110u);  // min(2, i): 0 1 2 2
  EXPECT_EQ(h.at(0, 7), 0x13121312u);  // halfword 1 twice
}

TEST(Addresses, GenericAndBack) {
  PtxHarness h;
  h.globals = ".const .align 4 .b32 c0[2] = {11, 22};\n.global .align 4 .b32 g0 = 33;";
  h.run(R"(
    .shared .align 4 .b32 s; .local .align 4 .b32 l;
    mov.u64 %rd1, s; cvta.shared.u64 %rd2, %rd1; st.u32 [%rd2], 5; ld.shared.u32 %r1, [s];
    mov.u64 %rd3, l; cvta.local.u64 %rd4, %rd3; st.u32 [%rd4], %tid_x; ld.local.u32 %r2, [l];
    mov.u64 %rd5, c0; cvta.const.u64 %rd6, %rd5; ld.u32 %r3, [%rd6+4];
    mov.u64 %rd7, g0; cvta.global.u64 %rd8, %rd7; ld.u32 %r4, [%rd8];
    cvta.to.shared.u64 %rd9, %rd2; sub.u64 %rd9, %rd9, %rd1; cvt.u32.u64 %r5, %rd9;
    isspacep.shared %p1, %rd2; isspacep.global %p2, %rd2; isspacep.local %p3, %rd4; isspacep.global %p4, %rd8;
    selp.u32 %r6, 1, 0, %p1; @%p2 add.u32 %r6, %r6, 10; @%p3 add.u32 %r6, %r6, 100; @%p4 add.u32 %r6, %r6, 1000;
    st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.v2.u32 [%out+16], {%r5, %r6};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(h.at(t, 0), 5u);
    EXPECT_EQ(h.at(t, 1), t);
    EXPECT_EQ(h.at(t, 2), 22u);
    EXPECT_EQ(h.at(t, 3), 33u);
    EXPECT_EQ(h.at(t, 4), 0u);
    EXPECT_EQ(h.at(t, 5), 1101u);
  }
}

TEST(Addresses, OneInstructionMayTouchSeveralSpaces) {
  PtxHarness h;
  for (uint32_t i = 0; i < h.in.size(); ++i) h.in[i] = 1000 + i;
  h.run(R"(
    .shared .align 4 .b32 s[32];
    mov.u64 %rd1, s; cvta.shared.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %tid_x, 4; add.u64 %rd4, %rd2, %rd3; st.u32 [%rd4], %tid_x;
    add.u64 %rd5, %in, %rd3;
    and.b32 %r1, %tid_x, 1; setp.eq.u32 %p1, %r1, 0;
    selp.u64 %rd6, %rd4, %rd5, %p1;
    ld.u32 %r2, [%rd6]; st.global.u32 [%out], %r2;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(h.at(t), t % 2 ? 1000 + t : t);
}

TEST(Shfl, AllModesWithPredicate) {
  PtxHarness h;
  h.run(R"(
    add.u32 %r1, %tid_x, 100;
    shfl.sync.up.b32 %r2|%p1, %r1, 3, 0, 0xffffffff; selp.u32 %r3, 1, 0, %p1;
    shfl.sync.down.b32 %r4|%p2, %r1, 5, 0x1f, 0xffffffff; selp.u32 %r5, 1, 0, %p2;
    shfl.sync.bfly.b32 %r6, %r1, 7, 0x1f, 0xffffffff;
    shfl.sync.idx.b32 %r7, %r1, 9, 0x181f, 0xffffffff;
    shfl.sync.idx.b32 %r8|%p3, %r1, %tid_x, 0x0f, 0xffffffff; selp.u32 %r9, 1, 0, %p3;
    st.global.v4.u32 [%out], {%r2, %r3, %r4, %r5}; st.global.v4.u32 [%out+16], {%r6, %r7, %r8, %r9};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(h.at(t, 0), t >= 3 ? t + 97 : t + 100);
    EXPECT_EQ(h.at(t, 1), t >= 3 ? 1u : 0u);
    EXPECT_EQ(h.at(t, 2), t < 27 ? t + 105 : t + 100);
    EXPECT_EQ(h.at(t, 3), t < 27 ? 1u : 0u);
    EXPECT_EQ(h.at(t, 4), (t ^ 7) + 100);
    EXPECT_EQ(h.at(t, 5), (t & 24) + 1 + 100);  // segments of 8: lane 9 & 7 = 1 of each
    EXPECT_EQ(h.at(t, 6), t + 100);             // clamp 15: lanes above are out of range and keep their own
    EXPECT_EQ(h.at(t, 7), t <= 15 ? 1u : 0u);
  }
}

TEST(Shfl, LanesMayNameDifferentMasks) {
  PtxHarness h;  // tiles of 4 lanes, each with its own member mask, in converged code
  h.run(R"(
    and.b32 %r1, %tid_x, 0x1c; mov.u32 %r2, 15; shl.b32 %r2, %r2, %r1;
    shfl.sync.bfly.b32 %r3, %tid_x, 1, 0x1c1f, %r2; st.global.u32 [%out], %r3;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(h.at(t), t ^ 1);
}

TEST(Vote, AllKinds) {
  PtxHarness h;
  h.run(R"(
    setp.lt.u32 %p1, %tid_x, 7; setp.lt.u32 %p2, %tid_x, 32;
    vote.sync.ballot.b32 %r1, %p1, 0xffffffff;
    vote.sync.all.pred %p3, %p1, 0xffffffff; vote.sync.all.pred %p4, %p2, 0xffffffff;
    vote.sync.any.pred %p5, %p1, 0xffffffff; vote.sync.any.pred %p6, !%p2, 0xffffffff;
    vote.sync.uni.pred %p7, %p1, 0xffffffff; vote.sync.uni.pred %p8, !%p2, 0xffffffff;
    mov.u32 %r2, 0;
    @%p3 or.b32 %r2, %r2, 1; @%p4 or.b32 %r2, %r2, 2; @%p5 or.b32 %r2, %r2, 4;
    @%p6 or.b32 %r2, %r2, 8; @%p7 or.b32 %r2, %r2, 16; @%p8 or.b32 %r2, %r2, 32;
    st.global.v2.u32 [%out], {%r1, %r2};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(30, 0), 0x7fu);
  EXPECT_EQ(h.at(30, 1), 2u + 4u + 32u);
}

TEST(Match, AnyAndAll) {
  PtxHarness h;
  h.run(R"(
    and.b32 %r1, %tid_x, 3;
    match.any.sync.b32 %r2, %r1, 0xffffffff;
    match.all.sync.b32 %r3|%p1, %r1, 0xffffffff; selp.u32 %r4, 1, 0, %p1;
    match.all.sync.b32 %r5|%p2, %n, 0xffffffff; selp.u32 %r6, 1, 0, %p2;
    st.global.v4.u32 [%out], {%r2, %r3, %r4, %r5}; st.global.u32 [%out+16], %r6;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(h.at(t, 0), 0x11111111u << (t & 3));
    EXPECT_EQ(h.at(t, 1), 0u);
    EXPECT_EQ(h.at(t, 2), 0u);
    EXPECT_EQ(h.at(t, 3), kFullMask);
    EXPECT_EQ(h.at(t, 4), 1u);
  }
}

TEST(Redux, AllOperations) {
  PtxHarness h;
  h.run(R"(
    sub.s32 %r1, %tid_x, 10;
    redux.sync.add.s32 %r2, %r1, 0xffffffff;
    redux.sync.min.s32 %r3, %r1, 0xffffffff; redux.sync.max.s32 %r4, %r1, 0xffffffff;
    redux.sync.min.u32 %r5, %r1, 0xffffffff; redux.sync.max.u32 %r6, %r1, 0xffffffff;
    redux.sync.and.b32 %r7, %r1, 0xffffffff; redux.sync.or.b32 %r8, %tid_x, 0xffffffff; redux.sync.xor.b32 %r9, %tid_x, 0xffffffff;
    st.global.v4.u32 [%out], {%r2, %r3, %r4, %r5}; st.global.v4.u32 [%out+16], {%r6, %r7, %r8, %r9};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(9, 0), 176u);  // 0 + ... + 31 - 320 = 496 - 320
  EXPECT_EQ(h.at(9, 1), static_cast<uint32_t>(-10));
  EXPECT_EQ(h.at(9, 2), 21u);
  EXPECT_EQ(h.at(9, 3), 0u);
  EXPECT_EQ(h.at(9, 4), static_cast<uint32_t>(-1));
  EXPECT_EQ(h.at(9, 5), 0u);
  EXPECT_EQ(h.at(9, 6), 31u);
  EXPECT_EQ(h.at(9, 7), 0u);  // each bit is set in 16 lanes
}

TEST(Elect, OneLeaderAmongTheMembers) {
  PtxHarness h;
  h.target = "sm_90";
  h.run(R"(
    setp.lt.u32 %p1, %tid_x, 12; @%p1 bra END;
    elect.sync %r1|%p2, 0xfffff000; selp.u32 %r2, 1, 0, %p2; st.global.v2.u32 [%out], {%r1, %r2};
  END:)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 12; t < 32; ++t) {
    EXPECT_EQ(h.at(t, 0), 12u);
    EXPECT_EQ(h.at(t, 1), t == 12 ? 1u : 0u);
  }
}

}  // namespace
}  // namespace tcsim::isa
