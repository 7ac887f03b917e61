// tcgen05 but for mma as PTX, and clusterlaunchcontrol: data reach the right registers, and misuse is said. The layouts themselves are
// tested in isa/layout.
#include "isa/insn/tcgen05.h"

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

/// Warp 0 allocates; %r1: the address, with the warp's lanes in %r2.
std::string with_columns(const std::string& body, int columns = 64, const std::string& end = "") {
  return fmt::format(R"(
    .shared .align 1024 .b8 s[32768]; .shared .align 8 .b32 slot[2]; .shared .align 8 .b64 bar[2];
    setp.lt.u32 %p1, %tid_x, 32; setp.eq.u32 %p2, %tid_x, 0;
    @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {0};
    @%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    @%p2 mbarrier.init.shared::cta.b64 [bar], 1; @%p2 mbarrier.init.shared::cta.b64 [bar+8], 1;
    bar.sync 0; ld.shared.b32 %r1, [slot];
    and.b32 %r2, %tid_x, 96; shl.b32 %r2, %r2, 16; add.u32 %r2, %r2, %r1;
    {1}
    bar.sync 0;
    {2}
    @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, {0};)",
                     columns, body, end);
}

std::string vector(const char* prefix, int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += fmt::format("{}{}{}", i ? ", " : "", prefix, first + i);
  return list + "}";
}

/// The diagnostic of this kind, or all of them.
std::string find(const PtxHarness& h, const std::string& kind) {
  for (const Diagnostic& d : h.diags.all())
    if (d.kind == kind) return d.str();
  return "no " + kind + " but " + h.messages();
}

std::string failure(const std::string& body, const char* kind, uint32_t threads = 128) {
  PtxHarness h = harness(threads);
  h.run(body);
  EXPECT_FALSE(h.result.ok);
  return find(h, kind);
}

std::string warning(const std::string& body, const char* kind) {
  PtxHarness h = harness();
  h.run(body);
  EXPECT_TRUE(h.result.ok) << h.messages();
  return find(h, kind);
}

// What .32x32b wrote, every other shape reads where its fragment says: word (lane, column) is 1000 lane + column.
TEST(Tcgen05Ptx, LoadsAndStores) {
  const TensorFragment fragments[] = {{TensorShape::s32x32b, 8},
                                      {TensorShape::s16x64b, 4},
                                      {TensorShape::s16x128b, 2},
                                      {TensorShape::s16x256b, 1},
                                      {TensorShape::s16x32bx2, 8, false, 4}};
  for (const TensorFragment& f : fragments)
    for (const uint32_t upper : {0u, 16u}) {
      if (f.lanes() == 32 && upper != 0) continue;
      const std::string name(kTensorShapeNames[static_cast<size_t>(f.shape)]);
      SCOPED_TRACE(name + (upper ? " at lane 16" : ""));
      std::string body = "mul.lo.u32 %r3, %tid_x, 1000;";
      for (int c = 0; c < 16; ++c) body += fmt::format("add.u32 %r{}, %r3, {};", 10 + c, c);
      body += fmt::format("tcgen05.st.sync.aligned.32x32b.x16.b32 [%r2], {}; tcgen05.wait::st.sync.aligned;", vector("%r", 10, 16));
      body += fmt::format("add.u32 %r4, %r2, {}; tcgen05.ld.sync.aligned.{}.x{}.b32 {}, [%r4]{}; tcgen05.wait::ld.sync.aligned;", (upper << 16) + 1,
                          name, f.repeats, vector("%r", 30, static_cast<int>(f.registers())), f.accesses() == 2 ? ", 4" : "");
      for (uint32_t r = 0; r < f.registers(); ++r) body += fmt::format("st.global.u32 [%out+{}], %r{};", 4 * r, 30 + r);
      PtxHarness h = harness();
      h.run(with_columns(body));
      ASSERT_TRUE(h.ok()) << h.messages();
      EXPECT_TRUE(h.diags.all().empty()) << h.messages();
      for (uint32_t t = 0; t < 128; ++t)
        for (uint32_t r = 0; r < f.registers(); ++r) {
          const TensorCell c = f.cell(t % 32, r);
          ASSERT_EQ(h.at(t, r), 1000 * (t / 32 * 32 + upper + c.lane) + c.column + 1) << t << " " << r;
        }
    }
}

// .16x256b writes, .32x32b reads: the store uses the same map.
TEST(Tcgen05Ptx, StoresInFragments) {
  PtxHarness h = harness();
  std::string body = "mov.u32 %r9, 0; and.b32 %r3, %tid_x, 31; mul.lo.u32 %r3, %r3, 10;";
  for (int r = 0; r < 4; ++r) body += fmt::format("add.u32 %r{}, %r3, {};", 10 + r, r);
  body += "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r2], {%r9,%r9,%r9,%r9,%r9,%r9,%r9,%r9}; tcgen05.wait::st.sync.aligned;";
  body += "tcgen05.st.sync.aligned.16x256b.x1.b32 [%r2], {%r10,%r11,%r12,%r13}; tcgen05.wait::st.sync.aligned;";
  body += "tcgen05.ld.sync.aligned.32x32b.x8.b32 " + vector("%r", 20, 8) + ", [%r2]; tcgen05.wait::ld.sync.aligned;";
  for (int r = 0; r < 8; ++r) body += fmt::format("st.global.u32 [%out+{}], %r{};", 4 * r, 20 + r);
  h.run(with_columns(body));
  ASSERT_TRUE(h.ok()) << h.messages();
  const TensorFragment f{TensorShape::s16x256b, 1};
  for (uint32_t row = 0; row < 32; ++row)
    for (uint32_t c = 0; c < 8; ++c) {
      const auto home = f.home(row, c);
      EXPECT_EQ(h.at(64 + row, c), home ? 10u * home->lane + home->reg : 0u) << row << " " << c;
    }
}

// Two 16-bit values a register: columns 2 r and 2 r + 1.
TEST(Tcgen05Ptx, Packing) {
  PtxHarness h = harness();
  std::string body =
      "mov.u32 %r10, 0x22221111; mov.u32 %r11, 0x44443333;"
      "tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%r2], {%r10,%r11}; tcgen05.wait::st.sync.aligned;"
      "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r20,%r21,%r22,%r23}, [%r2]; tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {%r24,%r25}, [%r2];"
      "tcgen05.wait::ld.sync.aligned;";
  for (int r = 0; r < 6; ++r) body += fmt::format("st.global.u32 [%out+{}], %r{};", 4 * r, 20 + r);
  h.run(with_columns(body));
  ASSERT_TRUE(h.ok()) << h.messages();
  const uint32_t want[] = {0x1111, 0x2222, 0x3333, 0x4444, 0x22221111, 0x44443333};
  for (uint32_t r = 0; r < 6; ++r) EXPECT_EQ(h.at(77, r), want[r]);
}

// Rows 128 to 255 of a CTA pair, as its second CTA counts them, are lanes 0 to 127 of its own Tensor Memory.
TEST(Tcgen05Ptx, LanesOfAPair) {
  PtxHarness h = harness();
  h.run(
      with_columns("mov.u32 %r10, 42; add.u32 %r3, %r2, 0x800000; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r3], {%r10}; tcgen05.wait::st.sync.aligned;"
                   "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r11}, [%r2]; tcgen05.wait::ld.sync.aligned; st.global.u32 [%out], %r11;"));
  ASSERT_TRUE(h.ok()) << h.messages();
  ASSERT_EQ(h.diags.all().size(), 1u) << h.messages();
  // The last warp at bar.sync goes on first and is named: warp 3, lane 128 + 3 * 32 = 224.
  EXPECT_NE(h.messages().find("names lane 224 of Tensor Memory, which has 128: taken as lane 96: 4 times"), std::string::npos) << h.messages();
  EXPECT_EQ(h.at(77, 0), 42u);
}

TEST(Tcgen05Ptx, LaneRules) {
  EXPECT_NE(failure(with_columns("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r1];"), "tmem-misuse")
                .find("warp 3 (warp 3 of its warpgroup) reaches lanes 96 to 127 only"),
            std::string::npos);
  EXPECT_NE(failure(with_columns("add.u32 %r2, %r2, 0x80000; tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r10}, [%r2];"), "tmem-misuse")
                .find(".16x64b starts at lane 96 or 112"),
            std::string::npos);
  EXPECT_NE(
      failure(with_columns("add.u32 %r2, %r2, 0x100000; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r2];"), "tmem-misuse").find("names lane 112"),
      std::string::npos);
  EXPECT_NE(failure(with_columns("add.u32 %r2, %r2, %tid_x; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%r10};"), "tmem-misuse")
                .find("expected the same in all lanes"),
            std::string::npos);
  EXPECT_NE(failure(with_columns("@%p2 tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r2];"), "deadlock")
                .find("lanes 0x1 wait for the other lanes of the warp"),
            std::string::npos);
  EXPECT_NE(failure("tcgen05.wait::ld.sync.aligned;", "tmem-misuse", 20).find("needs all 32 lanes of the warp, but 20"), std::string::npos);
  EXPECT_NE(failure(with_columns("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r2+64];"), "tmem-misuse")
                .find("column 64 is not allocated by this CTA (allocated: 0 to 63)"),
            std::string::npos);
  EXPECT_NE(failure(with_columns("tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r10}, [%r2], 600;"), "tmem-misuse")
                .find("columns 600 to 600 of Tensor Memory, which has 512"),
            std::string::npos);
}

TEST(Tcgen05Ptx, Allocation) {
  const std::string slot = ".shared .align 8 .b32 slot[4];", one = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 ";
  const auto dealloc = [](const char* at, int n) { return fmt::format("tcgen05.dealloc.cta_group::1.sync.aligned.b32 {}, {};", at, n); };
  {  // lowest free columns, aligned to their number
    PtxHarness h = harness(32);
    h.run(slot + one + "[slot], 64;" + one + "[slot+4], 32;" + one +
          "[slot+8], 32; ld.shared.b32 %r1, [slot]; ld.shared.b32 %r2, [slot+4]; ld.shared.b32 %r3, [slot+8];" + dealloc("%r1", 64) +
          dealloc("%r2", 32) + dealloc("%r3", 32) + "st.global.v4.u32 [%out], {%r1,%r2,%r3,%r3};");
    ASSERT_TRUE(h.ok()) << h.messages();
    EXPECT_EQ(h.at(0, 0), 0u);
    EXPECT_EQ(h.at(0, 1), 64u);
    EXPECT_EQ(h.at(0, 2), 96u);
  }
  EXPECT_NE(failure(slot + one + "[slot], 32;", "tmem-misuse", 32).find("ends without tcgen05.dealloc of columns 0 to 31"), std::string::npos);
  EXPECT_NE(failure(slot + dealloc("0", 32), "tmem-misuse", 32).find("no allocation of this CTA starts at column 0"), std::string::npos);
  EXPECT_NE(failure(slot + one + "[slot], 64; ld.shared.b32 %r1, [slot];" + dealloc("%r1", 32), "tmem-misuse", 32)
                .find("has 64 columns, tcgen05.dealloc names 32"),
            std::string::npos);
  EXPECT_NE(failure(slot + "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" + one + "[slot], 32;", "tmem-misuse", 32)
                .find("after this CTA executed tcgen05.relinquish_alloc_permit"),
            std::string::npos);
  EXPECT_NE(failure(slot + "mov.u32 %r1, 48;" + one + "[slot], %r1;", "tmem-misuse", 32).find("48 columns, expected a power of 2 from 32 to 512"),
            std::string::npos);
  EXPECT_NE(failure(slot + "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 32;", "tmem-misuse", 32).find("it has no peer CTA 1"),
            std::string::npos);
  EXPECT_NE(warning(slot + "setp.lt.u32 %p1, %tid_x, 32; @!%p1 bra E;" + one + "[slot], 32;" + one +
                        "[slot+4], 64; ld.shared.b32 %r1, [slot]; ld.shared.b32 %r2, [slot+4];" + dealloc("%r1", 32) + dealloc("%r2", 64) + "E:",
                    "tmem-misuse")
                .find("the number must not increase"),
            std::string::npos);
}

// Warp 1 waits for the columns that warp 0 gives back; without that it waits for ever, which is said.
TEST(Tcgen05Ptx, AllocationWaits) {
  const std::string head = R"(.shared .align 8 .b32 slot[4]; setp.ge.u32 %p1, %tid_x, 32;
    @%p1 bra SECOND;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512; ld.shared.b32 %r1, [slot]; bar.sync 0;)";
  const std::string tail = R"( bra E;
    SECOND: bar.sync 0; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 512; ld.shared.b32 %r2, [slot+4];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 512; st.global.u32 [%out], 7; E:)";
  PtxHarness h = harness(64);
  h.run(head + "nanosleep.u32 10; nanosleep.u32 10; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 512;" + tail);
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(40), 7u);
  EXPECT_NE(failure(head + "bar.sync 1;" + tail, "deadlock", 64).find("waits for columns of Tensor Memory"), std::string::npos);
}

// 32 rows of 16 bytes, to all four warps: byte i of the source is i.
TEST(Tcgen05Ptx, Copy) {
  const std::string fill = R"(
    mov.u32 %r4, s; mad.lo.u32 %r5, %tid_x, 4, %r4; mul.lo.u32 %r6, %tid_x, 0x04040404; add.u32 %r6, %r6, 0x03020100; st.shared.u32 [%r5], %r6;
    fence.proxy.async.shared::cta; bar.sync 0;
    shr.u32 %r7, %r4, 4; cvt.u64.u32 %rd1, %r7; or.b64 %rd1, %rd1, 0x0000400800010000;)";  // stride 128 bytes between groups of 8 rows
  const std::string wait = R"(
    @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
    W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r10,%r11,%r12,%r13}, [%r2]; tcgen05.wait::ld.sync.aligned; st.global.v4.u32 [%out], {%r10,%r11,%r12,%r13};)";
  for (const AsyncOrder order : kOrders) {
    PtxHarness h = harness();
    h.options.order = order;
    h.run(with_columns(fill + "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r1], %rd1;" + wait));
    ASSERT_TRUE(h.ok()) << h.messages();
    EXPECT_TRUE(h.diags.all().empty()) << h.messages();
    for (uint32_t t = 0; t < 128; ++t)
      for (uint32_t w = 0; w < 4; ++w) ASSERT_EQ(h.at(t, w), (t % 32 * 4 + w) * 0x04040404u + 0x03020100u) << t;
  }
  PtxHarness h = harness();  // two 4-bit elements a byte: bytes 0 and 1 of row 0 are 0x00, 0x01: elements 0, 0, 1, 0 in bits 2 to 5
  h.run(with_columns(fill + "@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b4x16_p64 [%r1], %rd1;" + wait));
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0, 0), 0x00040000u);
}

// Row i gets row i + 1; the last row of the warp stays.
TEST(Tcgen05Ptx, Shift) {
  PtxHarness h = harness();
  h.run(with_columns(R"(
    tcgen05.st.sync.aligned.32x32b.x8.b32 [%r2], {%tid_x,%tid_x,%tid_x,%tid_x,%tid_x,%tid_x,%tid_x,%tid_x}; tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
    add.u32 %r3, %r1, 0x200000; @%p2 tcgen05.shift.cta_group::1.down [%r3];
    @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
    W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r2+7]; tcgen05.wait::ld.sync.aligned; st.global.u32 [%out], %r10;)"));
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_TRUE(h.diags.all().empty()) << h.messages();
  for (uint32_t t = 0; t < 128; ++t) EXPECT_EQ(h.at(t), t >= 32 && t < 63 ? t + 1 : t);
}

TEST(Tcgen05Ptx, Targets) {
  for (const char* target : {"sm_90a", "sm_100", "sm_120a"}) {
    PtxHarness h = harness();
    h.target = target;
    h.run("tcgen05.wait::ld.sync.aligned;");
    EXPECT_TRUE(h.diags.has_errors());
    EXPECT_NE(h.messages().find(target), std::string::npos) << h.messages();
  }
  PtxHarness h = harness();
  h.run("tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r1, %r2}, %r3, [%r4];");
  EXPECT_NE(h.messages().find("sm_100 does not have it"), std::string::npos) << h.messages();
}

}  // namespace
}  // namespace tcsim::isa
