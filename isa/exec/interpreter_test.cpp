// Whole launches: waves, barriers, orders of asynchronous copies, faults and their texts.
#include "isa/exec/interpreter.h"

#include "isa/exec/ptx_harness.h"

namespace tcsim::isa {
namespace {

bool has(const PtxHarness& h, std::string_view kind, std::string_view text) {
  for (const Diagnostic& d : h.diags.all())
    if (d.kind == kind && d.str().find(text) != std::string::npos) return true;
  return false;
}

TEST(Launch, SpecialRegistersOfEveryThread) {
  PtxHarness h;
  h.grid = {3, 1, 1};
  h.block = {48, 1, 1};
  h.run(R"(
    mov.u32 %r1, %ctaid.x; st.global.u32 [%out], %r1;
    mov.u32 %r1, %nctaid.x; st.global.u32 [%out+4], %r1;
    mov.u32 %r1, %laneid; st.global.u32 [%out+8], %r1;
    mov.u32 %r1, %warpid; st.global.u32 [%out+12], %r1;
    mov.u32 %r1, %lanemask_lt; st.global.u32 [%out+16], %r1;
    mov.u32 %r1, %nwarpid; st.global.u32 [%out+20], %r1;
    mov.u32 %r1, %lanemask_ge; st.global.u32 [%out+24], %r1;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t g = 0; g < 144; ++g) {
    const uint32_t t = g % 48, lane = t % 32;
    EXPECT_EQ(h.at(g, 0), g / 48);
    EXPECT_EQ(h.at(g, 1), 3u);
    EXPECT_EQ(h.at(g, 2), lane);
    EXPECT_EQ(h.at(g, 3), t / 32);
    EXPECT_EQ(h.at(g, 4), (1u << lane) - 1);
    EXPECT_EQ(h.at(g, 5), 2u);
    EXPECT_EQ(h.at(g, 6), kFullMask << lane);
  }
}

TEST(Launch, ThreeDimensionalBlocks) {
  PtxHarness h;
  h.block = {4, 3, 5};
  h.run(R"(
    mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;
    mad.lo.u32 %r3, %r2, 3, %r1; mad.lo.u32 %r3, %r3, 4, %tid_x;
    mul.wide.u32 %rd1, %r3, 64; add.u64 %rd1, %rd1, %outbase;
    st.global.u32 [%rd1], %r3;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 60; ++t) EXPECT_EQ(h.at(t), t);
}

constexpr const char* kExchange = R"(
    .shared .align 4 .b8 s[1024];
    mov.u32 %r1, s; mad.lo.u32 %r2, %tid_x, 4, %r1;
    st.shared.u32 [%r2], %tid_x;
    bar.sync 0;
    sub.u32 %r3, 255, %tid_x; mad.lo.u32 %r3, %r3, 4, %r1;
    ld.shared.u32 %r4, [%r3]; st.global.u32 [%out], %r4;)";

TEST(Barrier, AllWarpsMeet) {
  PtxHarness h;
  h.block = {256, 1, 1};
  h.run(kExchange);
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 256; ++t) EXPECT_EQ(h.at(t), 255 - t);
  EXPECT_TRUE(h.diags.all().empty()) << h.messages();
}

TEST(Barrier, ForgottenBarrierReadsUninitialisedBytes) {
  PtxHarness h;
  h.block = {256, 1, 1};
  std::string body = kExchange;
  body.erase(body.find("bar.sync 0;"), 11);
  h.run(body);
  ASSERT_TRUE(h.ok());
  EXPECT_TRUE(has(h, "uninitialised-read", "reads bytes that were never written")) << h.messages();
  EXPECT_EQ(h.diags.all().size(), 1u) << "once an instruction: " << h.messages();
}

TEST(Barrier, NamedWithPartialCounts) {
  PtxHarness h;
  h.block = {128, 1, 1};
  // Warps 0 and 1 meet at barrier 1; warp 2 produces for warp 3 through barrier 2 (arrive and sync).
  h.run(R"(
    .shared .align 4 .b32 s[4];
    mov.u32 %r9, s; mov.u32 %r1, %warpid; mad.lo.u32 %r2, %r1, 4, %r9;
    mov.u32 %r20, 1; mov.u32 %r21, 64;
    setp.ge.u32 %p1, %r1, 2;
    @%p1 bra SECOND;
    st.shared.u32 [%r2], %r1;
    barrier.sync %r20, %r21;
    xor.b32 %r3, %r1, 1; mad.lo.u32 %r3, %r3, 4, %r9; ld.shared.u32 %r4, [%r3];
    bra END;
  SECOND:
    setp.eq.u32 %p2, %r1, 3;
    @%p2 bra CONSUME;
    st.shared.u32 [%r2], 77;
    bar.arrive 2, 64;
    mov.u32 %r4, 5;
    bra END;
  CONSUME:
    bar.sync 2, 64;
    ld.shared.u32 %r4, [%r2+-4];
  END:
    st.global.u32 [%out], %r4;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0), 1u);
  EXPECT_EQ(h.at(32), 0u);
  EXPECT_EQ(h.at(64), 5u);
  EXPECT_EQ(h.at(96), 77u);
  EXPECT_TRUE(h.diags.all().empty()) << h.messages();
}

TEST(Barrier, Reductions) {
  PtxHarness h;
  h.block = {64, 1, 1};
  h.run(R"(
    setp.lt.u32 %p1, %tid_x, 40; setp.lt.u32 %p2, %tid_x, 64; setp.gt.u32 %p3, %tid_x, 64;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p4, 0, %p2;
    bar.red.and.pred %p5, 0, %p1;
    bar.red.or.pred %p6, 1, 64, !%p2;
    barrier.red.or.pred %p7, 0, !%p3;
    selp.u32 %r2, 1, 0, %p4; selp.u32 %r3, 1, 0, %p5; selp.u32 %r4, 1, 0, %p6; selp.u32 %r5, 1, 0, %p7;
    st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.u32 [%out+16], %r5;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (const size_t t : {0u, 31u, 32u, 63u}) {
    EXPECT_EQ(h.at(t, 0), 40u);
    EXPECT_EQ(h.at(t, 1), 1u);
    EXPECT_EQ(h.at(t, 2), 0u);
    EXPECT_EQ(h.at(t, 3), 0u);
    EXPECT_EQ(h.at(t, 4), 1u);
  }
}

TEST(Barrier, DeadlockSaysWhoWaitsWhere) {
  PtxHarness h;
  h.block = {64, 1, 1};
  h.run(R"(
    mov.u32 %r1, %warpid; setp.eq.u32 %p1, %r1, 0;
    @%p1 bar.sync 3, 64;
    @!%p1 bar.sync 4, 64;)");
  ASSERT_FALSE(h.ok());
  EXPECT_TRUE(has(h, "deadlock", "CTA (0,0,0)\n    warp 0: test.ptx:")) << h.messages();
  EXPECT_TRUE(has(h, "deadlock", "'bar.sync 3, 64' waits at barrier 3: 32 of 64 threads arrived")) << h.messages();
  EXPECT_TRUE(has(h, "deadlock", "'bar.sync 4, 64' waits at barrier 4: 32 of 64 threads arrived")) << h.messages();
}

TEST(Barrier, CountsThatDisagreeAreMisuse) {
  PtxHarness h;
  h.block = {64, 1, 1};
  h.run(R"(
    mov.u32 %r1, %warpid; mad.lo.u32 %r2, %r1, 32, 64;
    bar.sync 3, %r2;)");
  ASSERT_FALSE(h.ok());
  EXPECT_TRUE(has(h, "barrier-misuse", "barrier 3 for 96 threads, but lanes that arrived before expect 64")) << h.messages();
}

TEST(Barrier, ThreadsThatExitAreNotExpected) {
  PtxHarness h;
  h.block = {64, 1, 1};
  h.run(R"(
    mov.u32 %r1, %warpid; setp.eq.u32 %p1, %r1, 1;
    @%p1 ret;
    bar.sync 0;
    st.global.u32 [%out], 1;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0), 1u);
}

// Reads in without a wait: only late and random can show that it is wrong.
constexpr const char* kCopy = R"(
    .shared .align 16 .b8 s[512];
    mov.u32 %r1, s; mad.lo.u32 %r1, %tid_x, 16, %r1;
    mul.wide.u32 %rd1, %tid_x, 16; add.u64 %rd1, %rd1, %in;
    cp.async.cg.shared.global [%r1], [%rd1], 16;
    cp.async.commit_group;
    WAIT
    ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1];
    st.global.v4.u32 [%out], {%r2, %r3, %r4, %r5};)";

std::string copy_kernel(const std::string& wait) {
  std::string body = kCopy;
  return body.replace(body.find("WAIT"), 4, wait);
}

TEST(AsyncOrders, ACorrectKernelGivesTheSameUnderAll) {
  for (const AsyncOrder order : {AsyncOrder::eager, AsyncOrder::late, AsyncOrder::random}) {
    PtxHarness h;
    h.options.order = order;
    for (uint32_t i = 0; i < h.in.size(); ++i) h.in[i] = i * 3 + 1;
    h.run(copy_kernel("cp.async.wait_group 0;"));
    ASSERT_TRUE(h.ok()) << h.messages();
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t w = 0; w < 4; ++w) EXPECT_EQ(h.at(t, w), (4 * t + w) * 3 + 1);
    EXPECT_TRUE(h.diags.all().empty()) << h.messages();
  }
}

TEST(AsyncOrders, LateShowsAForgottenWait) {
  PtxHarness eager, late;
  for (PtxHarness* h : {&eager, &late})
    for (uint32_t i = 0; i < h->in.size(); ++i) h->in[i] = i + 1;
  eager.run(copy_kernel(""));
  late.options.order = AsyncOrder::late;
  late.run(copy_kernel(""));
  EXPECT_EQ(eager.at(3), 13u);
  EXPECT_EQ(late.at(3), 0u);  // the bytes had not landed
  EXPECT_TRUE(has(late, "missing-wait", "a wait is missing")) << late.messages();
  EXPECT_TRUE(has(late, "missing-wait", "offset 0 of shared memory")) << late.messages();
  // wait_group 1 lets the only group stay pending, so it is as wrong.
  late.run(copy_kernel("cp.async.wait_group 1;"));
  EXPECT_TRUE(has(late, "missing-wait", "a wait is missing")) << late.messages();
}

TEST(AsyncOrders, OverwritingACopyInFlight) {
  PtxHarness h;
  h.options.order = AsyncOrder::late;
  h.run(copy_kernel("st.shared.u32 [%r1], 5; cp.async.wait_all;"));
  EXPECT_TRUE(has(h, "overwrite-in-flight", "'st.shared.u32 [%r1], 5'")) << h.messages();
}

TEST(AsyncOrders, MbarrierArrivalOfCopies) {
  for (const AsyncOrder order : {AsyncOrder::eager, AsyncOrder::late, AsyncOrder::random}) {
    PtxHarness h;
    h.options.order = order;
    h.block = {64, 1, 1};
    for (uint32_t i = 0; i < h.in.size(); ++i) h.in[i] = i + 5;
    h.run(R"(
      .shared .align 16 .b8 s[1024];
      .shared .align 8 .b64 bar;
      setp.eq.u32 %p1, %tid_x, 0;
      mov.u32 %r9, bar;
      @%p1 mbarrier.init.shared.b64 [%r9], 64;
      bar.sync 0;
      mov.u32 %r1, s; mad.lo.u32 %r1, %tid_x, 16, %r1;
      mul.wide.u32 %rd1, %tid_x, 16; add.u64 %rd1, %rd1, %in;
      cp.async.ca.shared.global [%r1], [%rd1], 16;
      cp.async.mbarrier.arrive.noinc.shared.b64 [%r9];
    WAIT:
      mbarrier.test_wait.parity.shared.b64 %p2, [%r9], 0;
      @!%p2 bra WAIT;
      ld.shared.u32 %r2, [%r1]; st.global.u32 [%out], %r2;)");
    ASSERT_TRUE(h.ok()) << h.messages();
    for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(h.at(t), 4 * t + 5);
    EXPECT_TRUE(h.diags.all().empty()) << h.messages();
  }
}

TEST(Faults, OutOfBoundsNamesTheBuffer) {
  PtxHarness h;
  h.run("setp.eq.u32 %p1, %tid_x, 5; @%p1 ld.global.u32 %r1, [%in+1032];");
  ASSERT_FALSE(h.ok());
  // in has 256 words = 1024 bytes; the 4 bytes from 1032 on end 12 bytes past its end.
  EXPECT_TRUE(has(h, "out-of-bounds", "12 bytes past the end of buffer 'in' (1024 bytes)")) << h.messages();
  EXPECT_TRUE(has(h, "out-of-bounds", "thread (5,0,0), warp 0 lane 5")) << h.messages();
  EXPECT_TRUE(has(h, "out-of-bounds", "'ld.global.u32 %r1, [%in+1032]'")) << h.messages();
}

TEST(Faults, Misaligned) {
  PtxHarness h;
  h.run("ld.global.v2.u32 {%r1, %r2}, [%in+4];");
  ASSERT_FALSE(h.ok());
  EXPECT_TRUE(has(h, "misaligned", "is not a multiple of 8")) << h.messages();
}

TEST(Faults, SharedAndLocalWindows) {
  PtxHarness h;
  h.dynamic_smem = 64;
  h.run("mov.u32 %r1, 64; ld.shared.u32 %r2, [%r1];");
  EXPECT_TRUE(has(h, "out-of-bounds", "4 bytes at offset 64 of shared memory, which has 64 bytes")) << h.messages();
}

TEST(Faults, Trap) {
  PtxHarness h;
  h.run("trap;");
  ASSERT_FALSE(h.ok());
  EXPECT_TRUE(has(h, "illegal-instruction", "the kernel executed trap")) << h.messages();
}

TEST(Faults, PoisonedBufferReadIsAWarning) {
  PtxHarness h;
  h.poison_in = true;
  h.run("ld.global.u32 %r1, [%in+8]; st.global.u32 [%out], %r1; ld.global.u32 %r1, [%in+8];");
  ASSERT_TRUE(h.ok());
  EXPECT_TRUE(has(h, "uninitialised-read", "1 time, first at byte 8 of buffer 'in'")) << h.messages();
}

// CTAs that wait for each other need to be resident together.
TEST(Waves, ResidentCtasRunTogether) {
  PtxHarness h;
  h.grid = {4, 1, 1};
  h.options.resident_ctas = 4;
  h.run(R"(
    setp.ne.u32 %p1, %tid_x, 0;
    @%p1 bra END;
    atom.global.add.u32 %r1, [%in], 1;
  SPIN:
    ld.acquire.gpu.global.u32 %r2, [%in];
    setp.lt.u32 %p2, %r2, 4;
    @%p2 bra SPIN;
    st.global.u32 [%out], %r2;
  END:)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t c = 0; c < 4; ++c) EXPECT_EQ(h.at(32 * c), 4u);
}

}  // namespace
}  // namespace tcsim::isa
