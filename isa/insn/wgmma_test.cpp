// wgmma as PTX: operands reach the right registers and descriptors, and what is wrong with them is said. The arithmetic and
// the layouts are tested in isa/matrix.
#include "isa/insn/wgmma.h"

#include <bit>

#include "isa/exec/ptx_harness.h"

namespace tcsim::isa {
namespace {

/// Fills 32 KiB of shared memory with f16 ones; %rd1, %rd2: descriptors of A at 0 and B at 16384, K-major, 128-byte swizzle;
/// accumulators %f0 to %f3 are 100.
std::string ones() {
  return R"(
    .shared .align 1024 .b8 s[32768];
    mov.u32 %r1, s; mad.lo.u32 %r2, %tid_x, 256, %r1; mov.u32 %r3, 0x3c003c00; mov.u32 %r4, 0;
    FILL: st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3}; add.u32 %r2, %r2, 16; add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, 16; @%p1 bra FILL;
    fence.proxy.async.shared::cta; bar.sync 0;
    shr.u32 %r5, %r1, 4; cvt.u64.u32 %rd1, %r5; or.b64 %rd1, %rd1, 0x4000004000010000; add.u64 %rd2, %rd1, 1024;
    mov.f32 %f0, 100.0; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
    setp.eq.u32 %p2, %r4, 16;
    wgmma.fence.sync.aligned;)";
}
const std::string kFinish = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; st.global.v4.f32 [%out], {%f0, %f1, %f2, %f3};";

PtxHarness harness() {
  PtxHarness h;
  h.block = {128, 1, 1};
  h.target = "sm_90a";
  h.version = "8.6";
  h.generation = Generation::hopper;
  return h;
}

void expect_all(const PtxHarness& h, float value) {
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_TRUE(h.diags.all().empty()) << h.messages();
  for (size_t t = 0; t < 128; ++t)
    for (size_t w = 0; w < 4; ++w) ASSERT_EQ(std::bit_cast<float>(h.at(t, w)), value) << t;
}

// 16 products of 1 on 100: scale-d, the signs of A and B, steps along K, A in registers.
TEST(WgmmaPtx, Operands) {
  const struct {
    const char* mma;
    float want;
  } cases[] = {
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, %p2, 1, 1, 0, 0;", 116},
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, !%p2, 1, 1, 0, 0;", 16},
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 0, 1, -1, 1, 1;", -16},
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 1, -1, -1, 0, 1;", 116},
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, {%r3,%r3,%r3,%r3}, %rd2, 1, -1, 1, 0;", 84},
      {"add.u64 %rd1, %rd1, 6; add.u64 %rd2, %rd2, 6; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 1, 1, 1, 0, "
       "0;",
       116},
      // 2:4 sparse, metadata 0x4 in every chunk (elements 0 and 1): 16 stored elements of 32.
      {"mov.u32 %r6, 0x44444444; wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, %r6, 1, 1, 1, 1, 0, 0;", 116}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.mma);
    for (AsyncOrder order : {AsyncOrder::eager, AsyncOrder::late}) {
      PtxHarness h = harness();
      h.options.order = order;
      h.run(ones() + c.mma + kFinish);
      expect_all(h, c.want);
    }
  }
}

/// The message of a run that must fail.
std::string failure(const std::string& body, const char* kind, const char* target = "sm_90a", uint32_t threads = 128) {
  PtxHarness h = harness();
  h.target = target;
  h.block = {threads, 1, 1};
  h.run(ones() + body + kFinish);
  EXPECT_FALSE(h.ok());
  for (const Diagnostic& d : h.diags.all())
    if (d.kind == kind) return d.str();
  return "no " + std::string(kind) + " but " + h.messages();
}

const std::string kMma = " wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, 1, 1, 1, 0, 0;";

// A 128 bytes further with base offset 0: bits 7 to 9 of the address then shift the pattern. Said, and run.
TEST(WgmmaPtx, StartInsideThePattern) {
  PtxHarness h = harness();
  h.run(ones() + "add.u64 %rd1, %rd1, 8;" + kMma + kFinish);
  ASSERT_TRUE(h.ok()) << h.messages();
  ASSERT_EQ(h.diags.all().size(), 1u) << h.messages();
  EXPECT_EQ(h.diags.all()[0].kind, "swizzle-mismatch");
  EXPECT_NE(h.messages().find("operand A: start address 0x80 is 128 bytes past a multiple of 1024"), std::string::npos) << h.messages();
  EXPECT_EQ(std::bit_cast<float>(h.at(0, 0)), 116.0f);
}

// "wgmma.commit_group ... creates a new wgmma-group per warpgroup": when warp 0 has waited for it, all four warps' parts have read
// their operands, and warp 0 may overwrite them without a barrier. B is 8 rows of 128 bytes at 0x400: 16 products of 1 on 100.
TEST(WgmmaPtx, OneWarpReleasesTheOperandsOfAllFour) {
  for (AsyncOrder order : {AsyncOrder::eager, AsyncOrder::late, AsyncOrder::random}) {
    PtxHarness h = harness();
    h.options.order = order;
    h.run(ones() + kMma + R"(
      wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
      mov.u32 %r7, 0; mad.lo.u32 %r8, %tid_x, 32, %r1; setp.lt.u32 %p3, %tid_x, 32;
      @%p3 st.shared.v4.u32 [%r8+1024], {%r7, %r7, %r7, %r7}; @%p3 st.shared.v4.u32 [%r8+1040], {%r7, %r7, %r7, %r7};)" +
          kFinish);
    expect_all(h, 116);
  }
}

// A warp of the warpgroup that leaves out the wgmma: the others wait for ever.
TEST(WgmmaPtx, AWarpThatIsMissing) {
  const std::string text = failure("setp.ge.u32 %p3, %tid_x, 96; @%p3 bra FINISH;" + kMma + "FINISH:", "deadlock");
  EXPECT_NE(text.find("warp 3 of the warpgroup has not issued as many"), std::string::npos) << text;
}

TEST(WgmmaPtx, Faults) {
  std::string text = failure("add.u64 %rd2, %rd2, 7;" + kMma, "bad-descriptor");
  EXPECT_NE(text.find("operand B: start address 0x4070 is byte 112 of a 128-byte row"), std::string::npos) << text;
  // Stride 1024 units instead of 64: row 8 of A lies 16 KiB on, row 16 beyond the 32 KiB.
  text = failure("mov.u64 %rd3, 0x3c000000000; add.u64 %rd1, %rd1, %rd3;" + kMma, "out-of-bounds");
  EXPECT_NE(text.find("was >> 4 forgotten?"), std::string::npos) << text;
  text = failure("cvt.u64.u32 %rd3, %tid_x; add.u64 %rd2, %rd2, %rd3;" + kMma, "illegal-instruction");
  EXPECT_NE(text.find("in lane 1 and"), std::string::npos) << text;
  text = failure("setp.eq.u32 %p3, %tid_x, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, %rd2, %p3, 1, 1, 0, 0;",
                 "illegal-instruction");
  EXPECT_NE(text.find("scale-d"), std::string::npos) << text;
}

// The base offset repairs a pattern that starts at 128: no fault.
TEST(WgmmaPtx, BaseOffset) {
  PtxHarness h = harness();
  h.run(ones() + "add.u64 %rd1, %rd1, 8; mov.u64 %rd3, 0x2000000000000; add.u64 %rd1, %rd1, %rd3;" + kMma + kFinish);
  expect_all(h, 116);
}

TEST(WgmmaPtx, OnlyOnSm90a) {
  for (const char* target : {"sm_90", "sm_100a"}) {
    const std::string text = failure(kMma, "syntax", target);
    EXPECT_NE(text.find("expected sm_90a"), std::string::npos) << text;
  }
}

/// The reads of warp 1 of one wgmma; A at 0, B at 0x2000 by the given layout.
std::vector<WgmmaRead> reads(const WgmmaDesc& desc, const MatrixDescriptor& layout, uint32_t& bytes) {
  const auto plan = WgmmaInst::of(desc);
  Inst inst;
  inst.plan = static_cast<const WgmmaOps*>(plan.get());
  MatrixDescriptor b = layout;
  b.start += 0x2000;
  const WgmmaIssue issue{&inst, 0, encode_wgmma_descriptor(layout), encode_wgmma_descriptor(b), true, 1};
  std::vector<WgmmaRead> out;
  wgmma_reads(issue, out);
  bytes = wgmma_shared_bytes(issue);
  return out;
}

// compute-sanitizer-samples #19: a warp of m64n256k16 reads 512 bytes of A, not 2048.
TEST(WgmmaPtx, Reads) {
  WgmmaDesc desc{.shape = {64, 256, 16}};
  uint32_t bytes = 0;
  auto plain = reads(desc, {0, 128, 256, 0, 0}, bytes);
  EXPECT_EQ(bytes, 64u * 32 + 256 * 32);
  uint32_t of_a = 0, of_b = 0;
  for (const WgmmaRead& r : plain) {
    (r.operand ? of_b : of_a) += r.bytes;
    EXPECT_EQ(r.swizzle_bytes, 0);
    EXPECT_GE(r.offset, r.operand ? 0x2000u : 512u);  // rows 16 to 31: 2 x 8 rows of 32 bytes from 512 on
    EXPECT_LE(r.offset + r.bytes, r.operand ? 0x4000u : 1024u);
  }
  EXPECT_EQ(of_a, 512u);
  EXPECT_EQ(of_b, 8192u);
  // 128-byte swizzle: 32 bytes of every row of 128.
  auto swizzled = reads(desc, {32, 16, 1024, 0, 128}, bytes);
  EXPECT_EQ(swizzled.size(), 16u + 256u);
  for (const WgmmaRead& r : swizzled) {
    EXPECT_EQ(r.bytes, 32u);
    EXPECT_EQ(r.swizzle_bytes, 128);
  }
  EXPECT_EQ(swizzled[0].offset, 2048u + 32);       // row 16, pieces 2 and 3
  EXPECT_EQ(swizzled[2].offset, 2048u + 256 + 0);  // row 18: 2 ^ 2 = 0
  // Transposed B: whole atoms of 8 k x 64 columns.
  desc.b_major = Major::mn;
  desc.a_in_registers = true;
  auto rows = reads(desc, {0, 1024, 4096, 0, 128}, bytes);
  EXPECT_EQ(bytes, 256u * 32);
  uint32_t total = 0;
  for (const WgmmaRead& r : rows) total += r.bytes;
  EXPECT_EQ(total, 8192u);
}

}  // namespace
}  // namespace tcsim::isa
