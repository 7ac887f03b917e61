// Divergence, reconvergence and waiting inside a warp, run as PTX by the interpreter.
#include "isa/exec/ptx_harness.h"

namespace tcsim::isa {
namespace {

TEST(Divergence, IfElseRunsBothSidesAndReconverges) {
  PtxHarness h;
  h.run(R"(
    setp.lt.u32 %p1, %tid_x, 10;
    @%p1 bra LOW;
    mov.u32 %r1, 200;
    bra JOIN;
  LOW:
    mov.u32 %r1, 100;
  JOIN:
    activemask.b32 %r2;
    st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(h.at(t), t < 10 ? 100u : 200u);
    EXPECT_EQ(h.at(t, 1), kFullMask) << t;
  }
}

TEST(Divergence, LoopWithAnExitPerLaneReconvergesBehindIt) {
  PtxHarness h;
  h.run(R"(
    mov.u32 %r1, 0; mov.u32 %r2, 0;
  LOOP:
    add.u32 %r2, %r2, %r1;
    add.u32 %r1, %r1, 1;
    setp.le.u32 %p1, %r1, %tid_x;
    @%p1 bra LOOP;
    activemask.b32 %r3;
    st.global.u32 [%out], %r2; st.global.u32 [%out+4], %r3;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(h.at(t), t * (t + 1) / 2);  // 0 + 1 + ... + t
    EXPECT_EQ(h.at(t, 1), kFullMask);
  }
  // Behind the loop the warp is one again: 3 steps (two stores, ret) once, not once a lane.
  EXPECT_LT(h.result.warp_instructions, 32u * 4 + 40);
}

TEST(Divergence, NestedBranchesJoinInside) {
  PtxHarness h;
  h.run(R"(
    and.b32 %r1, %tid_x, 1; setp.eq.u32 %p1, %r1, 0;
    and.b32 %r1, %tid_x, 2; setp.eq.u32 %p2, %r1, 0;
    mov.u32 %r5, 0;
    @%p1 bra OUTER_END;
    @%p2 bra INNER_ELSE;
    add.u32 %r5, %r5, 1;
    bra INNER_END;
  INNER_ELSE:
    add.u32 %r5, %r5, 2;
  INNER_END:
    activemask.b32 %r6;
  OUTER_END:
    activemask.b32 %r7;
    st.global.u32 [%out], %r5; st.global.u32 [%out+4], %r6; st.global.u32 [%out+8], %r7;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(h.at(t), t % 2 == 0 ? 0u : t % 4 == 3 ? 1u : 2u);
    EXPECT_EQ(h.at(t, 1), t % 2 ? 0xaaaaaaaau : 0u);  // the odd lanes met at INNER_END
    EXPECT_EQ(h.at(t, 2), kFullMask);
  }
}

TEST(Divergence, GuardedExitLeavesTheOthersRunning) {
  PtxHarness h;
  h.run(R"(
    st.global.u32 [%out], 1;
    setp.ge.u32 %p1, %tid_x, 20;
    @%p1 ret;
    st.global.u32 [%out], 2;
    bar.sync 0;
    activemask.b32 %r1; st.global.u32 [%out+4], %r1;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(h.at(t), t < 20 ? 2u : 1u);
    EXPECT_EQ(h.at(t, 1), t < 20 ? 0xfffffu : 0u);
  }
}

TEST(Divergence, ExitInsideABranchCompletesTheJoin) {
  PtxHarness h;
  h.run(R"(
    setp.lt.u32 %p1, %tid_x, 16;
    @%p1 bra SKIP;
    ret;
  SKIP:
    activemask.b32 %r1; st.global.u32 [%out], %r1;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0), 0xffffu);
}

// The lane that holds the lock must run although the others spin (independent thread scheduling).
TEST(Divergence, LanesThatSpinForAnotherLaneOfTheWarpAreServed) {
  PtxHarness h;
  h.run(R"(
    setp.eq.u32 %p1, %tid_x, 31;
    @%p1 bra SET;
  SPIN:
    ld.volatile.global.u32 %r1, [%in];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra SPIN;
    bra DONE;
  SET:
    st.volatile.global.u32 [%in], 7;
  DONE:
    ld.volatile.global.u32 %r1, [%in];
    st.global.u32 [%out], %r1;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(h.at(t), 7u);
}

// The same with the flag set behind the join: the waiting lane must pass the join before the spinners arrive.
TEST(Divergence, TheWaitAtAJoinIsSoft) {
  PtxHarness h;
  h.run(R"(
    setp.eq.u32 %p1, %tid_x, 31;
    @%p1 bra DONE;
  SPIN:
    ld.volatile.global.u32 %r1, [%in];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra SPIN;
  DONE:
    @%p1 st.volatile.global.u32 [%in], 9;
    ld.volatile.global.u32 %r1, [%in];
    st.global.u32 [%out], %r1;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(h.at(t), 9u);
}

// A lock taken by each lane in turn.
TEST(Divergence, SpinLockAmongLanes) {
  PtxHarness h;
  h.block = {64, 1, 1};
  h.run(R"(
    mov.u32 %r10, 0;
  TRY:
    atom.global.cas.b32 %r1, [%in], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    ld.volatile.global.u32 %r2, [%in+4];
    add.u32 %r2, %r2, 1;
    st.volatile.global.u32 [%in+4], %r2;
    mov.u32 %r10, 1;
    atom.global.exch.b32 %r1, [%in], 0;
  AGAIN:
    setp.eq.u32 %p2, %r10, 0;
    @%p2 bra TRY;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.in[1], 64u);
  EXPECT_EQ(h.in[0], 0u);
}

TEST(WarpBarrier, BarWarpSyncInBothSidesOfABranch) {
  PtxHarness h;
  h.run(R"(
    .shared .align 4 .b8 s[128];
    mov.u32 %r1, s; shl.b32 %r2, %tid_x, 2; add.u32 %r1, %r1, %r2;
    mov.u32 %r3, s;
    setp.lt.u32 %p1, %tid_x, 16;
    @%p1 bra LOW;
    st.shared.u32 [%r1], %tid_x;
    bar.warp.sync 0xffffffff;
    bra END;
  LOW:
    bar.warp.sync 0xffffffff;
    ld.shared.u32 %r5, [%r1+64];
    st.global.u32 [%out], %r5;
  END:)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 16; ++t) EXPECT_EQ(h.at(t), t + 16);
  EXPECT_TRUE(h.diags.all().empty()) << h.messages();
}

TEST(WarpBarrier, ShuffleWaitsForTheOtherHalf) {
  PtxHarness h;
  // Both sides fall into the same shuffle; the upper half comes later. Without the wait it would read stale registers.
  h.run(R"(
    mov.u32 %r1, 0;
    setp.ge.u32 %p1, %tid_x, 16;
    @%p1 bra HIGH;
    add.u32 %r1, %tid_x, 100;
    bra MEET;
  HIGH:
    add.u32 %r1, %tid_x, 200;
  MEET:
    shfl.sync.bfly.b32 %r2, %r1, 16, 31, 0xffffffff;
    st.global.u32 [%out], %r2;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(h.at(t), t < 16 ? t + 16 + 200 : t - 16 + 100);
}

TEST(WarpBarrier, PartialMaskDoesNotWaitForOthers) {
  PtxHarness h;
  h.run(R"(
    setp.ge.u32 %p1, %tid_x, 8;
    @%p1 bra END;
    shfl.sync.down.b32 %r2, %tid_x, 1, 0x181f, 0xff;
    st.global.u32 [%out], %r2;
  END:)");
  ASSERT_TRUE(h.ok()) << h.messages();
  // c = 0x181f: segments of 8 lanes; lane 7 keeps its own value.
  for (uint32_t t = 0; t < 8; ++t) EXPECT_EQ(h.at(t), t == 7 ? 7u : t + 1);
}

TEST(WarpBarrier, MembersThatExitedAreNotWaitedFor) {
  PtxHarness h;
  h.run(R"(
    setp.ge.u32 %p1, %tid_x, 16;
    @%p1 exit;
    vote.sync.ballot.b32 %r1, 1, 0xffffffff;
    st.global.u32 [%out], %r1;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(3), 0xffffu);
}

TEST(WarpBarrier, MembersThatNeverComeAreADeadlock) {
  PtxHarness h;
  h.run(R"(
    setp.ge.u32 %p1, %tid_x, 16;
    @%p1 bra OTHER;
    bar.warp.sync 0xffffffff;
    bra END;
  OTHER:
    bar.sync 1;
  END:)");
  ASSERT_FALSE(h.ok());
  ASSERT_EQ(h.diags.all().size(), 1u) << h.messages();
  EXPECT_EQ(h.diags.all()[0].kind, "deadlock");
  EXPECT_NE(h.messages().find("lanes 0xffff wait for the other lanes of the warp"), std::string::npos) << h.messages();
  EXPECT_NE(h.messages().find("waits at barrier 1: 16 of 32 threads arrived"), std::string::npos) << h.messages();
}

TEST(Branch, BrxIdxGoesToTheLabelOfEachLane) {
  PtxHarness h;
  h.run(R"(
    and.b32 %r1, %tid_x, 3;
    TABLE: .branchtargets L0, L1, L2, L3;
    brx.idx %r1, TABLE;
  L0: mov.u32 %r2, 10; bra END;
  L1: mov.u32 %r2, 11; bra END;
  L2: mov.u32 %r2, 12; bra END;
  L3: mov.u32 %r2, 13;
  END:
    activemask.b32 %r3;
    st.global.u32 [%out], %r2; st.global.u32 [%out+4], %r3;)");
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(h.at(t), 10 + t % 4);
    EXPECT_EQ(h.at(t, 1), kFullMask);
  }
}

}  // namespace
}  // namespace tcsim::isa
