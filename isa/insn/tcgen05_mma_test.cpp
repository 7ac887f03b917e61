// tcgen05.mma as PTX: data reach Tensor Memory, misuse is said, what an operation touches and costs, and which forms exist. What it
// computes is tested in isa/matrix/tcgen05_plan_test.cpp.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "isa/exec/ptx_harness.h"
#include "isa/exec/tcgen05_issue.h"
#include "isa/layout/tcgen05_descriptor.h"

namespace tcsim::isa {
namespace {

/// A [128][16], B [16][16] in core matrices without swizzle: K-major, 8 rows x 16 bytes; stride 128 B, leading 2048 B and 256 B.
constexpr uint32_t kBAt = 4096;
uint64_t descriptor_a() { return encode_tcgen05_descriptor({0, 2048, 128, 0, 0, 16}); }
uint64_t descriptor_b() { return encode_tcgen05_descriptor({kBAt, 256, 128, 0, 0, 16}); }
constexpr uint32_t kIdesc = 0x8040010;  // m128n16k16, f32 = f16 * f16: 1 << 4, 16 / 8 << 17, 128 / 16 << 24

/// Thread t writes A[t][0] = t % 16 and, t < 16, B[t][0] = t + 1, zeros elsewhere; thread 0 issues `mma` (%r1: Tensor Memory, %rd1, %rd2:
/// descriptors); each thread then reads 16 columns of its lane.
std::string kernel(const std::string& mma, uint64_t a = descriptor_a(), uint64_t b = descriptor_b()) {
  return fmt::format(R"(
    .shared .align 1024 .b8 s[8192]; .shared .align 8 .b32 slot[2]; .shared .align 8 .b64 bar;
    setp.lt.u32 %p1, %tid_x, 32; setp.eq.u32 %p2, %tid_x, 0; setp.lt.u32 %p3, %tid_x, 16; setp.ne.u32 %p4, %tid_x, %tid_x;
    @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    @%p2 mbarrier.init.shared::cta.b64 [bar], 1;
    mov.u32 %r2, s; shl.b32 %r3, %tid_x, 4; add.u32 %r3, %r3, %r2; mov.u32 %r4, 0;
    and.b32 %r5, %tid_x, 15; cvt.rn.f16.u32 %h1, %r5; cvt.u32.u16 %r6, %h1;
    st.shared.v4.b32 [%r3], {{%r6, %r4, %r4, %r4}}; st.shared.v4.b32 [%r3+2048], {{%r4, %r4, %r4, %r4}};
    add.u32 %r7, %tid_x, 1; cvt.rn.f16.u32 %h2, %r7; cvt.u32.u16 %r8, %h2;
    @%p3 st.shared.v4.b32 [%r3+4096], {{%r8, %r4, %r4, %r4}}; @%p3 st.shared.v4.b32 [%r3+4352], {{%r4, %r4, %r4, %r4}};
    fence.proxy.async.shared::cta;
    bar.sync 0; ld.shared.b32 %r1, [slot];
    shr.u32 %r9, %r2, 4; cvt.u64.u32 %rd3, %r9; add.u64 %rd1, %rd3, {}; add.u64 %rd2, %rd3, {};
    {}
    @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [bar];
  W: mbarrier.try_wait.parity.shared::cta.b64 %p5, [bar], 0; @!%p5 bra W;
    tcgen05.fence::after_thread_sync;
    and.b32 %r10, %tid_x, 96; shl.b32 %r10, %r10, 16; add.u32 %r10, %r10, %r1;
    tcgen05.ld.sync.aligned.32x32b.x16.b32 {{%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27,%r28,%r29,%r30,%r31,%r32,%r33,%r34,%r35}}, [%r10];
    tcgen05.wait::ld.sync.aligned;
    st.global.v4.b32 [%out], {{%r20,%r21,%r22,%r23}}; st.global.v4.b32 [%out+16], {{%r24,%r25,%r26,%r27}};
    st.global.v4.b32 [%out+32], {{%r28,%r29,%r30,%r31}}; st.global.v4.b32 [%out+48], {{%r32,%r33,%r34,%r35}};
    tcgen05.fence::before_thread_sync; bar.sync 0;
    @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;)",
                     a, b, mma);
}

PtxHarness harness() {
  PtxHarness h;
  h.block = {128, 1, 1};
  h.target = "sm_100a";
  h.version = "9.0";
  h.generation = Generation::blackwell;
  return h;
}

std::string plain(const std::string& idesc, const std::string& d = "%r1", const std::string& enable = "%p4") {
  return fmt::format("mov.u32 %r11, {}; @%p2 tcgen05.mma.cta_group::1.kind::f16 [{}], %rd1, %rd2, %r11, {};", idesc, d, enable);
}
std::string plain() { return plain(std::to_string(kIdesc)); }

TEST(Tcgen05Mma, Product) {
  for (const AsyncOrder order : {AsyncOrder::eager, AsyncOrder::late, AsyncOrder::random}) {
    PtxHarness h = harness();
    h.options.order = order;
    // The second one adds: D = 2 A B. The third is 2^-1 of that, and A B: 2 A B again.
    h.run(
        kernel(plain() + plain(std::to_string(kIdesc), "%r1", "!%p4") + "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r11, !%p4, 1;"));
    ASSERT_TRUE(h.ok()) << h.messages();
    EXPECT_TRUE(h.diags.all().empty()) << h.messages();
    for (uint32_t t = 0; t < 128; ++t)
      for (uint32_t j = 0; j < 16; ++j) ASSERT_EQ(h.at(t, j), std::bit_cast<uint32_t>(2.0f * static_cast<float>(t % 16 * (j + 1)))) << t << " " << j;
  }
}

TEST(Tcgen05Mma, LanesThatAreDisabledKeepTheirs) {
  PtxHarness h = harness();
  h.run(kernel(plain() + "mov.u32 %r12, 0x80000000; @%p2 tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r11, {%r12, 0, 0, 1}, !%p4;"));
  ASSERT_TRUE(h.ok()) << h.messages();
  for (uint32_t t = 0; t < 128; ++t)
    EXPECT_EQ(h.at(t, 2), std::bit_cast<uint32_t>((t == 31 || t == 96 ? 1.0f : 2.0f) * static_cast<float>(t % 16 * 3))) << t;
}

std::string fault_of(const std::string& mma, uint64_t a = descriptor_a(), uint64_t b = descriptor_b()) {
  PtxHarness h = harness();
  h.run(kernel(mma, a, b));
  EXPECT_FALSE(h.result.ok);
  return h.messages();
}

TEST(Tcgen05Mma, Faults) {
  const auto has = [](const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << text; };
  has(fault_of(plain("0x8040050")), "instruction descriptor 0x08040050 of tcgen05.mma kind::f16: reserved bit 6 of kind::f16 is 1, expected 0");
  has(fault_of(plain(std::to_string(kIdesc), "%r1+262144")), "D of tcgen05.mma with M = 128 begins at lane 4 of Tensor Memory");
  has(fault_of(plain(), descriptor_a() & ~(uint64_t{1} << 46)), "bits 46-48 are 0, expected the constant 1");
  has(fault_of(plain(), descriptor_a(), descriptor_b() | 0x3000), "out-of-bounds");
  has(fault_of(plain(), descriptor_a() | uint64_t{1} << 61), "which exists for transposed matrices of tf32 only");
  // Transposed A (bit 15) with units of 32 bytes.
  has(fault_of(plain("0x8048010"), encode_tcgen05_descriptor({0, 1024, 512, 0, 128, 32})), "is for transposed matrices of tf32, not of kind::f16");
}

// ---- touches, work ----

struct Loaded {
  std::unique_ptr<Module> module;
  Tcgen05Op op;
};

Loaded load(const std::string& statement, MmaKind kind, const InstructionDescriptor& d) {
  Loaded l;
  Diagnostics diags;
  l.module =
      load_module("k.ptx",
                  ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() { .reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %rd<8>; " +
                      statement + " ret; }\n",
                  diags);
  if (!l.module || diags.has_errors()) {
    ADD_FAILURE() << diags.all()[0].str();
    return l;
  }
  l.op.inst = &l.module->find_kernel("k")->insts[0];
  l.op.idesc = encode_instruction_descriptor(kind, d);
  return l;
}

std::string text_of(const TensorRange& r) { return fmt::format("{}:{}+{}/{}+{}", r.cta, r.lane, r.lanes, r.column, r.columns); }

TEST(Tcgen05Mma, TouchesByHand) {
  // m64: 16 lanes in each quarter from lane 16 on; A in Tensor Memory: 8 columns.
  Loaded half = load("tcgen05.mma.cta_group::1.kind::f16 [%r0], [%r1], %rd1, %r9, %p1;", MmaKind::f16,
                     {.d = Type::f32, .a = Type::f16, .b = Type::f16, .m = 64, .n = 24});
  half.op.d = 16 << 16 | 32, half.op.a = 16 << 16 | 100, half.op.desc_b = descriptor_b();
  Tcgen05Touches t;
  Tcgen05Ops::of(half.op).touches(half.op, t);
  ASSERT_EQ(t.writes.size(), 4u);
  EXPECT_EQ(text_of(t.writes[0]), "0:16+16/32+24");
  EXPECT_EQ(text_of(t.writes[3]), "0:112+16/32+24");
  ASSERT_EQ(t.reads.size(), 4u);
  EXPECT_EQ(text_of(t.reads[2].range), "0:80+16/100+8");
  // B: 24 rows of 32 bytes in two columns of core matrices, 256 B apart: they overlap to 4096 ... 4096 + 256 + 384.
  uint32_t last = 0;
  for (const WgmmaRead& r : t.shared[0]) last = std::max(last, r.offset + r.bytes);
  EXPECT_EQ(last, kBAt + 256 + 3 * 128);
  EXPECT_TRUE(t.shared[1].empty());

  // A pair with block scaling: m256n96: each CTA all columns, scales of 128 rows in 4 columns and of 96 columns in 3.
  Loaded pair = load("tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale [%r0], %rd0, %rd1, %r9, [%r2], [%r3], %p1;", MmaKind::mxf8f6f4,
                     {.d = Type::f32, .a = Type::e4m3, .b = Type::e4m3, .m = 256, .n = 96, .scale = Type::ue8m0});
  pair.op.cta_group = 2;
  pair.op.desc_a = encode_tcgen05_descriptor({0, 0, 1024, 0, 128, 16}), pair.op.desc_b = encode_tcgen05_descriptor({16384, 0, 1024, 0, 128, 16});
  pair.op.scale_a = 200, pair.op.scale_b = 300;
  t = {};
  Tcgen05Ops::of(pair.op).touches(pair.op, t);
  ASSERT_EQ(t.writes.size(), 2u);
  EXPECT_EQ(text_of(t.writes[1]), "1:0+128/0+96");
  ASSERT_EQ(t.reads.size(), 4u);
  EXPECT_EQ(text_of(t.reads[0].range), "0:0+128/200+4");
  EXPECT_EQ(text_of(t.reads[3].range), "1:0+128/300+3");
  for (const int cta : {0, 1}) {
    uint32_t bytes = 0;
    for (const WgmmaRead& r : t.shared[static_cast<size_t>(cta)]) bytes += r.bytes;
    EXPECT_EQ(bytes, 128u * 32 + 48 * 32) << "128 rows of A and 48 columns of B, 32 bytes of K each";
  }
  const Tcgen05Work w = Tcgen05Ops::of(pair.op).work(pair.op);
  EXPECT_EQ(w.m, 256u);
  EXPECT_EQ(w.n, 96u);
  EXPECT_EQ(w.k, 32u);
  EXPECT_EQ(w.k_bytes, 32u);
  EXPECT_TRUE(w.scaled);
  EXPECT_EQ(w.kind, "mxf8f6f4");
  EXPECT_EQ(w.a_bytes[1], 4096u);
  EXPECT_EQ(w.b_bytes[0], 1536u);
  EXPECT_FALSE(w.arithmetic_note.empty());
}

// ---- forms ----

struct Form {
  std::string text;
  bool accepted;
};

std::vector<Form> forms() {
  std::vector<Form> out;
  std::ifstream in(TCSIM_SOURCE_DIR "/isa/insn/testdata/tcgen05_mma_forms.txt");
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out.push_back({line[0] == '!' ? line.substr(1) : line, line[0] != '!'});
  return out;
}

constexpr const char* kHeader = ".version 9.0\n.target sm_100a\n.address_size 64\n";
/// A kernel a form: ptxas does not let one have both cta_group::1 and ::2.
std::string entry(size_t i, const std::string& statement) {
  return fmt::format(".visible .entry k{}() {{ .reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %rd<8>; {} ret; }}\n", i, statement);
}

TEST(Tcgen05MmaForms, TheTableAcceptsWhatPtxasAccepts) {
  ASSERT_GT(forms().size(), 700u);
  for (const Form& form : forms()) {
    Diagnostics diags;
    load_module("k.ptx", kHeader + entry(0, form.text), diags);
    EXPECT_EQ(!diags.has_errors(), form.accepted) << form.text << (diags.all().empty() ? "" : "\n" + diags.all()[0].str());
  }
}

// Target ISA Notes of tcgen05.mma; ptxas 13.0 -arch=sm_100f says the same.
TEST(Tcgen05MmaForms, FamilyTargetsHaveLess) {
  const auto accepts = [](const std::string& statement) {
    Diagnostics diags;
    load_module("k.ptx", ".version 9.0\n.target sm_100f\n.address_size 64\n" + entry(0, statement), diags);
    return !diags.has_errors();
  };
  EXPECT_TRUE(accepts("tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd1, %r9, %p1, 3;"));
  EXPECT_TRUE(accepts("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32 [%r0], %rd0, %rd1, %r9, [%r6], [%r7], %p1;"));
  EXPECT_TRUE(accepts("tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale [%r0], %rd0, %rd1, [%r5], %r9, [%r6], [%r7], %p1;"));
  EXPECT_FALSE(accepts("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%r0], %rd0, %rd1, %r9, [%r6], [%r7], %p1;"));
  EXPECT_FALSE(accepts("tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale.block32 [%r0], %rd0, %rd1, [%r5], %r9, [%r6], [%r7], %p1;"));
  EXPECT_FALSE(accepts("tcgen05.mma.cta_group::1.kind::i8 [%r0], %rd0, %rd1, %r9, %p1;"));
}

#ifdef TCSIM_PTXAS
TEST(Tcgen05MmaForms, PtxasAgrees) {
  constexpr int kHeaderLines = 3;
  const std::vector<Form> all = forms();
  std::vector<bool> rejected(all.size());
  const auto base = std::filesystem::temp_directory_path() / fmt::format("tcsim_mma_forms_{}", ::getpid());
  const std::string source = base.string() + ".ptx", log = base.string() + ".log";
  for (int round = 0; round < 1000; ++round) {
    {
      std::ofstream out(source);
      out << kHeader;
      for (size_t i = 0; i < all.size(); ++i) out << entry(i, rejected[i] ? "" : all[i].text);
    }
    if (std::system(fmt::format("{} -arch=sm_100a -O0 -o /dev/null {} > {} 2>&1", TCSIM_PTXAS, source, log).c_str()) == 0) break;
    bool any = false;
    std::ifstream in(log);
    for (std::string line; std::getline(in, line);) {
      const size_t at = line.find(", line ");
      if (at == std::string::npos) continue;
      const auto i = static_cast<size_t>(std::atoi(line.c_str() + at + 7) - kHeaderLines - 1);
      if (i < all.size() && !rejected[i]) rejected[i] = any = true;
    }
    ASSERT_TRUE(any) << "ptxas fails without naming a line; see " << log;
  }
  std::filesystem::remove(source);
  std::filesystem::remove(log);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(!rejected[i], all[i].accepted) << all[i].text;
}
#endif

}  // namespace
}  // namespace tcsim::isa
