// Loads, stores, atomics, cp.async and mbarrier, run as PTX.
#include <bit>

#include "isa/exec/ptx_harness.h"

namespace tcsim::isa {
namespace {

TEST(Ld, NarrowValuesAreExtendedToTheRegister) {
  PtxHarness h;
  h.in[0] = 0x8081f2f3;
  h.run(R"(
    ld.global.u8 %r1, [%in]; ld.global.s8 %r2, [%in]; ld.global.u16 %r3, [%in]; ld.global.s16 %r4, [%in+2];
    st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};
    ld.global.s8 %h1, [%in+1]; cvt.u32.u16 %r5, %h1; ld.global.s32 %rd1, [%in]; st.global.u32 [%out+16], %r5; st.global.u64 [%out+24], %rd1;
    ld.global.u32 %rd1, [%in]; st.global.u64 [%out+32], %rd1;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0, 0), 0xf3u);
  EXPECT_EQ(h.at(0, 1), 0xfffffff3u);
  EXPECT_EQ(h.at(0, 2), 0xf2f3u);
  EXPECT_EQ(h.at(0, 3), 0xffff8081u);
  EXPECT_EQ(h.at(0, 4), 0xfff2u);
  EXPECT_EQ(h.at(0, 6), 0x8081f2f3u);
  EXPECT_EQ(h.at(0, 7), 0xffffffffu);
  EXPECT_EQ(h.at(0, 9), 0u);
}

TEST(Ld, VectorsAndModifiers) {
  PtxHarness h;
  for (uint32_t i = 0; i < 64; ++i) h.in[i] = i * 7;
  h.run(R"(
    ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1, %r2, %r3, %r4}, [%in+16];
    ld.volatile.global.v2.u64 {%rd1, %rd2}, [%in+32];
    ld.relaxed.gpu.global.u32 %r5, [%in+4]; ld.acquire.sys.global.u32 %r6, [%in+8]; ld.global.cg.u32 %r7, [%in+12];
    createpolicy.fractional.L2::evict_last.b64 %rd5, 1.0;
    ld.global.L2::cache_hint.v2.u32 {%r8, _}, [%in+24], %rd5;
    st.global.v4.u32 [%out], {%r1, %r4, %r5, %r6}; st.global.v2.u32 [%out+16], {%r7, %r8}; st.global.v2.u64 [%out+32], {%rd1, %rd2};)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0, 0), 28u);
  EXPECT_EQ(h.at(0, 1), 49u);
  EXPECT_EQ(h.at(0, 2), 7u);
  EXPECT_EQ(h.at(0, 3), 14u);
  EXPECT_EQ(h.at(0, 4), 21u);
  EXPECT_EQ(h.at(0, 5), 42u);
  EXPECT_EQ(h.at(0, 8), 56u);
  EXPECT_EQ(h.at(0, 11), 77u);
}

TEST(Local, EachLaneHasItsOwn) {
  PtxHarness h;
  h.block = {64, 1, 1};
  h.run(R"(
    .local .align 16 .b8 stack[64];
    mov.u64 %rd1, stack; mul.wide.u32 %rd2, %tid_x, 4; and.b64 %rd2, %rd2, 63; add.u64 %rd3, %rd1, %rd2;
    st.local.u32 [stack+8], 1; st.local.u32 [%rd3], %tid_x; ld.local.u32 %r1, [%rd3]; st.global.u32 [%out], %r1;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(h.at(t), t);
}

TEST(Atom, IntegerOperations) {
  PtxHarness h;
  h.in = {0, 0xffffffff, 100, 5, 5, 0xf0f0, 0x0f0f, 0, 77, 30, 3, 0};
  h.run(R"(
    atom.global.add.u32 %r1, [%in], 2; st.global.u32 [%out], %r1;
    red.global.and.b32 [%in+4], %tid_x;
    red.global.min.s32 [%in+8], %tid_x; red.global.max.u32 [%in+12], %tid_x;
    red.global.inc.u32 [%in+16], 9; red.global.or.b32 [%in+20], 1; red.global.xor.b32 [%in+24], 0xff;
    atom.global.exch.b32 %r2, [%in+28], %tid_x;
    atom.global.cas.b32 %r3, [%in+32], 77, %tid_x;
    red.global.dec.u32 [%in+36], 31;
    atom.relaxed.gpu.global.add.u64 %rd1, [%in+40], 1;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(h.at(t), 2 * t);  // in lane order
  EXPECT_EQ(h.in[0], 64u);
  EXPECT_EQ(h.in[1], 0u);
  EXPECT_EQ(h.in[2], 0u);
  EXPECT_EQ(h.in[3], 31u);
  EXPECT_EQ(h.in[4], 7u);  // 5, then 32 increments modulo 10: 37 mod 10
  EXPECT_EQ(h.in[5], 0xf0f1u);
  EXPECT_EQ(h.in[6], 0x0f0fu);
  EXPECT_EQ(h.in[7], 31u);
  EXPECT_EQ(h.in[8], 0u);   // lane 0 swapped, nobody after it
  EXPECT_EQ(h.in[9], 30u);  // 32 decrements modulo 32
  EXPECT_EQ(h.in[10], 35u);
}

TEST(Atom, FloatingPointAndPacked) {
  PtxHarness h;
  h.target = "sm_90";
  h.in = {0, std::bit_cast<uint32_t>(0.5f), 0x3c003c00, 0x3f803f80, 0, 0, 0, 0};
  h.run(R"(
    setp.ne.u32 %p1, %tid_x, 0; @%p1 bra END;
    mov.f32 %f1, 0f40200000; atom.global.add.f32 %f2, [%in+4], %f1; st.global.f32 [%out], %f2;
    mov.b32 %r1, 0x40004400; red.global.add.noftz.f16x2 [%in+8], %r1;
    mov.b32 %r2, 0x40004080; red.global.add.noftz.bf16x2 [%in+12], %r2;
    mov.f64 %fd1, 0d3ff8000000000000; red.global.add.f64 [%in+16], %fd1;
    mov.f32 %f3, 0f3f800000; red.global.add.v2.f32 [%in+24], {%f3, %f1};
  END:)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0), std::bit_cast<uint32_t>(0.5f));
  EXPECT_EQ(h.in[1], std::bit_cast<uint32_t>(3.0f));
  EXPECT_EQ(h.in[2], 0x42004500u);  // {1 + 4, 1 + 2} = 5 (0x4500), 3 (0x4200)
  EXPECT_EQ(h.in[3], 0x404040a0u);  // 1 + 4 = 5 (0x40a0), 1 + 2 = 3 (0x4040)
  EXPECT_EQ(h.in[5], 0x3ff80000u);
  EXPECT_EQ(h.in[6], std::bit_cast<uint32_t>(1.0f));
  EXPECT_EQ(h.in[7], std::bit_cast<uint32_t>(2.5f));
}

TEST(Atom, GlobalF32AddFlushesSubnormalsSharedDoesNot) {
  PtxHarness h;  // PTX ISA, atom: .add.f32
  h.in = {0, 0, 0, 0};
  h.run(R"(
    .shared .align 4 .f32 s;
    setp.ne.u32 %p1, %tid_x, 0; @%p1 bra END;
    mov.f32 %f1, 0f00000001; mov.f32 %f2, 0f00000000;
    red.global.add.f32 [%in], %f1;
    st.shared.f32 [s], %f2; red.shared.add.f32 [s], %f1; ld.shared.u32 %r1, [s]; st.global.u32 [%out], %r1;
  END:)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.in[0], 0u);
  EXPECT_EQ(h.at(0), 1u);
}

TEST(Wide, Registers128) {
  PtxHarness h;
  h.target = "sm_90";
  h.in = {1, 2, 3, 4, 5, 6, 7, 8};
  h.run(R"(
    .reg .b128 %q<4>;
    setp.ne.u32 %p1, %tid_x, 0; @%p1 bra END;
    ld.global.v2.u64 {%rd1, %rd2}, [%in]; mov.b128 %q1, {%rd2, %rd1};
    mov.b128 %q2, %q1; mov.b128 {%rd3, %rd4}, %q2; st.global.v2.u64 [%out], {%rd3, %rd4};
    atom.global.exch.b128 %q3, [%in+16], %q2; mov.b128 {%rd5, %rd6}, %q3; st.global.v2.u64 [%out+16], {%rd5, %rd6};
    atom.global.cas.b128 %q3, [%in+16], %q2, %q3;
  END:)");
  ASSERT_TRUE(h.ok()) << h.messages();
  const uint32_t want[8] = {3, 4, 1, 2, 5, 6, 7, 8};
  for (size_t w = 0; w < 8; ++w) EXPECT_EQ(h.at(0, w), want[w]) << w;
  EXPECT_EQ(h.in[4], 5u);  // exchanged, then swapped back by cas
  EXPECT_EQ(h.in[7], 8u);
}

TEST(NoEffect, FencesHintsAndTheLikeAreAccepted) {
  PtxHarness h;
  h.target = "sm_90";
  h.run(R"(
    membar.cta; membar.gl; membar.sys; fence.acq_rel.gpu; fence.sc.cta; fence.acq_rel.cluster; fence.proxy.async.shared::cta;
    fence.mbarrier_init.release.cluster; fence.proxy.alias;
    prefetch.global.L2 [%in]; prefetch.global.L1 [%in+64]; prefetchu.L1 [%in]; prefetch.global.L2::evict_last [%in];
    discard.global.L2 [%in], 128; applypriority.global.L2::evict_normal [%in], 128;
    createpolicy.fractional.L2::evict_first.b64 %rd1, 0.5; createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1;
    st.global.L2::cache_hint.u32 [%out+4], 5, %rd1;
    nanosleep.u32 20; pmevent 3; griddepcontrol.wait; griddepcontrol.launch_dependents;
    mov.u32 %r1, 64; mapa.shared::cluster.u32 %r2, %r1, 0; st.global.u32 [%out], %r2;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(7, 0), 64u);
  EXPECT_EQ(h.at(7, 1), 5u);
}

TEST(CpAsync, ZeroFillAndIgnoreSource) {
  PtxHarness h;
  for (uint32_t i = 0; i < h.in.size(); ++i) h.in[i] = 0x01010101u * (i + 1);
  h.run(R"(
    .shared .align 16 .b8 s[1024];
    mov.u32 %r1, s; mad.lo.u32 %r1, %tid_x, 16, %r1;
    and.b32 %r2, %tid_x, 15;
    cp.async.ca.shared.global [%r1], [%in], 16, %r2;
    cp.async.wait_all;
    ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1]; st.global.v4.u32 [%out], {%r3, %r4, %r5, %r6};
    setp.lt.u32 %p1, %tid_x, 4;
    cp.async.ca.shared.global [%r1], [%in+4], 4, %p1;
    cp.async.wait_all;
    ld.shared.u32 %r3, [%r1]; st.global.u32 [%out+16], %r3;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    uint8_t want[16] = {};
    for (uint32_t b = 0; b < t % 16; ++b) want[b] = static_cast<uint8_t>(b / 4 + 1);
    for (uint32_t w = 0; w < 4; ++w) {
      uint32_t word;
      std::memcpy(&word, want + 4 * w, 4);
      EXPECT_EQ(h.at(t, w), word) << t << " " << w;
    }
    EXPECT_EQ(h.at(t, 4), t < 4 ? 0u : 0x02020202u);
  }
}

TEST(CpAsync, SourceIsNotReadWhenItsSizeIsZero) {
  PtxHarness h;
  h.run(R"(
    .shared .align 16 .b8 s[512];
    mov.u32 %r1, s; mad.lo.u32 %r1, %tid_x, 16, %r1; mov.u64 %rd1, 16; mov.u32 %r2, 0;
    cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;
    cp.async.wait_all; ld.shared.u32 %r3, [%r1]; st.global.u32 [%out], %r3;)");
  EXPECT_TRUE(h.ok()) << h.messages();
}

TEST(Mbarrier, PhasesCountsAndStates) {
  PtxHarness h;
  h.run(R"(
    .shared .align 8 .b64 bar;
    setp.ne.u32 %p1, %tid_x, 0; @%p1 bra END;
    mbarrier.init.shared.b64 [bar], 2;
    mbarrier.arrive.shared.b64 %rd1, [bar];
    mbarrier.pending_count.b64 %r1, %rd1;
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd1; selp.u32 %r2, 1, 0, %p2;
    mbarrier.arrive_drop.shared.b64 %rd2, [bar];
    mbarrier.test_wait.shared.b64 %p3, [bar], %rd1; selp.u32 %r3, 1, 0, %p3;
    mbarrier.arrive.shared.b64 %rd3, [bar];
    mbarrier.pending_count.b64 %r4, %rd3;
    mbarrier.test_wait.parity.shared.b64 %p4, [bar], 0; selp.u32 %r5, 1, 0, %p4;
    mbarrier.test_wait.parity.shared.b64 %p5, [bar], 1; selp.u32 %r6, 1, 0, %p5;
    mbarrier.inval.shared.b64 [bar];
    st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.v2.u32 [%out+16], {%r5, %r6};
  END:)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0, 0), 2u);  // pending before the first arrival
  EXPECT_EQ(h.at(0, 1), 0u);  // one of two arrived
  EXPECT_EQ(h.at(0, 2), 1u);  // phase 0 is over
  EXPECT_EQ(h.at(0, 3), 1u);  // arrive_drop left one arrival a phase
  EXPECT_EQ(h.at(0, 4), 0u);  // that one ended phase 1: the current phase has parity 0 and is not over
  EXPECT_EQ(h.at(0, 5), 1u);
}

TEST(Mbarrier, TooManyArrivalsAreMisuse) {
  PtxHarness h;
  h.run(R"(
    .shared .align 8 .b64 bar;
    setp.ne.u32 %p1, %tid_x, 0; @%p1 bra END;
    mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.noComplete.shared.b64 %rd1, [bar], 1; mbarrier.arrive.noComplete.shared.b64 %rd1, [bar], 1;
  END:)");
  ASSERT_FALSE(h.ok());
  EXPECT_EQ(h.diags.all()[0].kind, "barrier-misuse") << h.messages();
  h.run(R"(
    .shared .align 8 .b64 bar;
    setp.ne.u32 %p1, %tid_x, 0; @%p1 bra END;
    mbarrier.init.shared.b64 [bar], 2; mov.u32 %r1, 3; mbarrier.arrive.noComplete.shared.b64 %rd1, [bar], %r1;
  END:)");
  ASSERT_FALSE(h.ok());
  EXPECT_EQ(h.diags.all()[0].kind, "barrier-misuse") << h.messages();
}

}  // namespace
}  // namespace tcsim::isa
