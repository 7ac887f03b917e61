// What is said about tcgen05 operations that are not ordered as the manual wants ("Memory Consistency Model for 5th generation of
// TensorCore operations: canonical synchronization patterns"), CTA pairs, and clusterlaunchcontrol.
#include "isa/exec/ptx_harness.h"

namespace tcsim::isa {
namespace {

constexpr AsyncOrder kOrders[] = {AsyncOrder::eager, AsyncOrder::late, AsyncOrder::random};

PtxHarness harness(uint32_t threads = 128) {
  PtxHarness h;
  h.block = {threads, 1, 1};
  h.target = "sm_100a";
  h.version = "9.0";
  h.generation = Generation::blackwell;
  return h;
}

/// Warp 0 allocates 64 columns at %r1; %r2 has the warp's lanes; %rd1 describes 32 rows of 16 zero bytes at s; bar is an mbarrier.
std::string kernel(const std::string& body) {
  return R"(
    .shared .align 1024 .b8 s[1024]; .shared .align 8 .b32 slot[2]; .shared .align 8 .b64 bar[2];
    setp.lt.u32 %p1, %tid_x, 32; setp.eq.u32 %p2, %tid_x, 0;
    @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    @%p2 mbarrier.init.shared::cta.b64 [bar], 1; @%p2 mbarrier.init.shared::cta.b64 [bar+8], 128;
    mov.u32 %r4, s; mov.u32 %r9, 0; mad.lo.u32 %r5, %tid_x, 8, %r4; st.shared.v2.u32 [%r5], {%r9, %r9};
    shr.u32 %r7, %r4, 4; cvt.u64.u32 %rd1, %r7; or.b64 %rd1, %rd1, 0x0000400800010000;
    fence.proxy.async.shared::cta; bar.sync 0; ld.shared.b32 %r1, [slot];
    and.b32 %r2, %tid_x, 96; shl.b32 %r2, %r2, 16; add.u32 %r2, %r2, %r1;
    )" + body +
         R"(
    bar.sync 0;
    @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;)";
}

const std::string kCopy = "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r1], %rd1;\n";
const std::string kCommit = "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n";
const std::string kWait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;\n";
const std::string kAfter = "tcgen05.fence::after_thread_sync;\n", kBefore = "tcgen05.fence::before_thread_sync;\n";
const std::string kLoad = "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r10,%r11,%r12,%r13}, [%r2];\n", kWaitLoad = "tcgen05.wait::ld.sync.aligned;\n";
const std::string kStore = "tcgen05.st.sync.aligned.32x32b.x4.b32 [%r2], {%r9,%r9,%r9,%r9};\n", kWaitStore = "tcgen05.wait::st.sync.aligned;\n";
const std::string kBar = "bar.sync 0;\n";

/// Warnings, one a line: "[kind] text".
std::string warnings(const std::string& body, AsyncOrder order = AsyncOrder::late) {
  PtxHarness h = harness();
  h.options.order = order;
  h.run(kernel(body));
  EXPECT_TRUE(h.ok()) << h.messages();
  return h.messages();
}

void expect(const std::string& body, const char* kind, const char* text) {
  for (const AsyncOrder order : kOrders) {
    const std::string got = warnings(body, order);
    EXPECT_NE(got.find(kind), std::string::npos) << body << got;
    EXPECT_NE(got.find(text), std::string::npos) << body << got;
  }
}

TEST(Tcgen05Hazards, CleanPatterns) {
  for (const AsyncOrder order : kOrders) {
    EXPECT_EQ(warnings(kStore + kWaitStore + kLoad + kWaitLoad, order), "");
    EXPECT_EQ(warnings(kCopy + kCommit + kWait + kAfter + kLoad + kWaitLoad, order), "");
    EXPECT_EQ(warnings(kStore + kWaitStore + kBefore + kBar + kAfter + kCopy + kCommit + kWait + kAfter + kLoad + kWaitLoad, order), "");
    EXPECT_EQ(warnings(kStore + kWaitStore + kLoad + kWaitLoad + kBefore + kBar + kAfter + kCopy + kCommit + kWait, order), "");
  }
}

TEST(Tcgen05Hazards, MissingWaits) {
  expect(kCopy + kCommit + kBar + kLoad + kWaitLoad + kWait, "missing-wait", "no wait for a tcgen05.commit after it has passed");
  expect(kStore + kLoad + kWaitStore + kWaitLoad, "missing-wait", "tcgen05.wait::st is missing after it");
  expect(kStore + kBar + kCopy + kCommit + kWait + kWaitStore, "missing-wait", "tcgen05.wait::st is missing after it");
  expect(kStore + kWaitStore + kLoad + kBefore + kBar + kAfter + kCopy + kCommit + kWait + kWaitLoad, "overwrite-in-flight",
         "tcgen05.wait::ld is missing after it");
  expect(kStore + kWaitStore + kLoad + kStore + kWaitStore + kWaitLoad, "overwrite-in-flight", "tcgen05.wait::ld is missing after it");
  expect(kStore + kWaitStore + kLoad + "st.global.u32 [%out], %r11;" + kWaitLoad, "missing-wait",
         "reads %r11, which 'tcgen05.ld.sync.aligned.32x32b.x4.b32");
  expect(kLoad + kWaitLoad, "uninitialised-read", "which nobody wrote");
}

TEST(Tcgen05Hazards, MissingFences) {
  expect(kCopy + kCommit + kWait + kLoad + kWaitLoad, "missing-tcgen05-fence", "tcgen05.fence::after_thread_sync is missing");
  expect(kStore + kWaitStore + kBar + kAfter + kCopy + kCommit + kWait, "missing-tcgen05-fence", "tcgen05.fence::before_thread_sync is missing");
  expect(kStore + kWaitStore + kBefore + kBar + kCopy + kCommit + kWait, "missing-tcgen05-fence", "tcgen05.fence::after_thread_sync is missing");
}

// Shared memory is released too early: nobody has waited for the commit.
TEST(Tcgen05Hazards, SourceOverwritten) {
  expect(kCopy + "st.shared.u32 [%r4], %r9;" + kCommit + kWait, "overwrite-in-flight", "nobody has waited for a tcgen05.commit after it");
  expect("st.shared.u32 [%r5], %r9; bar.sync 0;" + kCopy + kCommit + kWait, "missing-proxy-fence", "fence.proxy.async is missing");
}

// Operands of an mma in columns that it writes, or that an mma before it writes; columns that nobody allocated.
TEST(Tcgen05Hazards, Operands) {
  // f32 = f16 * f16, M 128 (bits 24 to 28 in units of 16), N 32 (bits 17 to 22 in units of 8); A: 8 columns.
  const std::string set =
      "mov.u32 %r6, 0x08080010; setp.ne.u32 %p6, %tid_x, %tid_x; mov.u32 %r9, 0; add.u32 %r8, %r1, 48; add.u32 %r20, %r1, 32;"
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r2+48], {%r9,%r9,%r9,%r9,%r9,%r9,%r9,%r9}; tcgen05.wait::st.sync.aligned;" +
      kBefore + kBar + kAfter;
  const auto mma = [](const char* d, const char* a) {
    return std::string("@%p2 tcgen05.mma.cta_group::1.kind::f16 [") + d + "], [" + a + "], %rd1, %r6, %p6;\n";
  };
  EXPECT_EQ(warnings(set + mma("%r1", "%r8") + kCommit + kWait + kAfter + kLoad + kWaitLoad), "");
  EXPECT_EQ(warnings(set + mma("%r1", "%r8") + mma("%r1", "%r8") + kCommit + kWait), "");
  const auto failure = [&](const std::string& body) {
    PtxHarness h = harness();
    h.run(kernel(set + body + kCommit + kWait));
    EXPECT_FALSE(h.result.ok);
    return h.messages();
  };
  EXPECT_NE(failure(mma("%r20", "%r8")).find("they overlap"), std::string::npos);
  EXPECT_NE(failure(mma("%r1", "%r8") + mma("%r20", "%r1")).find("an earlier tcgen05.mma in flight writes D"), std::string::npos);
  EXPECT_NE(failure(mma("%r1+40", "%r8")).find("column 64 is not allocated"), std::string::npos);
  // The accumulator is read before anybody wrote it, or the operand is not waited for.
  expect(set + mma("%r1", "%r8") + kCommit + kLoad + kWaitLoad + kWait, "missing-wait", "tcgen05.mma");
  expect(set + mma("%r1", "%r8") + "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2+48], {%r9}; tcgen05.wait::st.sync.aligned;" + kCommit + kWait,
         "overwrite-in-flight", "tcgen05.mma");
}

/// Two CTAs: both allocate, CTA 0 copies into both, a multicast commit tells both.
TEST(Tcgen05Pair, CopyAndCommit) {
  const std::string body = R"(
    .shared .align 1024 .b8 s[1024]; .shared .align 8 .b32 slot[2]; .shared .align 8 .b64 bar;
    mov.u32 %r20, %cluster_ctarank; setp.lt.u32 %p1, %tid_x, 32; setp.eq.u32 %p2, %tid_x, 0; setp.eq.u32 %p4, %r20, 0; and.pred %p5, %p2, %p4;
    @%p1 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 32;
    @%p1 tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
    @%p2 mbarrier.init.shared::cta.b64 [bar], 1;
    mov.u32 %r4, s; shl.b32 %r6, %r20, 16; add.u32 %r6, %r6, %tid_x; mad.lo.u32 %r5, %tid_x, 4, %r4; st.shared.u32 [%r5], %r6;
    bfe.u32 %r7, %r4, 4, 14; cvt.u64.u32 %rd1, %r7; or.b64 %rd1, %rd1, 0x0000400800010000;
    fence.proxy.async.shared::cta; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ld.shared.b32 %r1, [slot];
    and.b32 %r2, %tid_x, 96; shl.b32 %r2, %r2, 16; add.u32 %r2, %r2, %r1; mov.u16 %h1, 3;
    @%p5 tcgen05.cp.cta_group::2.32x128b.warpx4 [%r1], %rd1;
    @%p5 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], %h1;
    W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r10,%r11,%r12,%r13}, [%r2]; tcgen05.wait::ld.sync.aligned;
    st.global.v4.u32 [%out], {%r10,%r11,%r12,%r13};
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    @%p1 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r1, 32;)";
  for (const AsyncOrder order : kOrders) {
    PtxHarness h = harness();
    h.grid = h.cluster = {2, 1, 1};
    h.options.order = order;
    h.run(body);
    ASSERT_TRUE(h.ok()) << h.messages();
    EXPECT_TRUE(h.diags.all().empty()) << h.messages();
    for (uint32_t t = 0; t < 256; ++t)
      for (uint32_t w = 0; w < 4; ++w) ASSERT_EQ(h.at(t, w), (t / 128 << 16) + t % 32 * 4 + w) << t;
  }
}

/// One CTA of a grid of 8 takes the work of the others until none is left; each piece of work is done once.
TEST(LaunchControl, TakesClusters) {
  const std::string body = R"(
    .shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar; .reg .b128 %q; .reg .b32 %x;
    mov.u32 %x, %ctaid.x; mov.u32 %r30, 0; setp.eq.u32 %p2, %tid_x, 0;
    @%p2 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;
    NEXT: mul.wide.u32 %rd2, %x, 2048; add.u64 %rd2, %rd2, %outbase; mul.wide.u32 %rd3, %tid_x, 64; add.u64 %rd2, %rd2, %rd3;
    mov.u32 %r31, 1; atom.global.add.u32 %r32, [%rd2], %r31; st.global.u32 [%rd2+4], %x;
    bar.sync 0; @!%p2 bra WAIT;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [bar];
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], %r30; @!%p3 bra WAIT;
    xor.b32 %r30, %r30, 1; ld.shared.b128 %q, [answer];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %q;
    @%p4 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%x, %r21, %r22, _}, %q;
    @%p4 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r23, %q;
    @%p4 bra NEXT;)";
  for (const AsyncOrder order : kOrders) {
    PtxHarness h = harness(32);
    h.grid = {8, 1, 1};
    h.options.order = order;
    h.run(body);
    ASSERT_TRUE(h.ok()) << h.messages();
    for (uint32_t cta = 0; cta < 8; ++cta)
      for (uint32_t t = 0; t < 32; ++t) {
        ASSERT_EQ(h.at(32 * cta + t, 0), 1u) << cta;
        ASSERT_EQ(h.at(32 * cta + t, 1), cta);
      }
    // The CTA that ran took them all: 8 pieces of work, each with one tcgen05-free loop; the others did not start.
    EXPECT_LT(h.result.warp_instructions, 8u * 60);
  }
}

}  // namespace
}  // namespace tcsim::isa
