// Timing mode: what is not computed, and that nothing depends on it silently.
#include "isa/exec/value_slice.h"

#include <gtest/gtest.h>

#include "isa/exec/cta.h"
#include "isa/exec/ptx_harness.h"
#include "isa/exec/tensor_memory.h"

namespace tcsim::isa {
namespace {

struct TimingRunResult {
  Control last = Control::next;
  std::string fault_kind, fault_text;
  std::vector<uint32_t> out;
  bool out_undefined = false;
};

class TimingMode : public testing::Test {
 protected:
  void load(const std::string& body, const char* target = "sm_80") {
    Diagnostics diags;
    PtxHarness harness;
    harness.target = target;
    harness.version = "9.0";
    module = load_module("t.ptx", harness.text(body), diags);
    ASSERT_FALSE(diags.has_errors()) << diags.all()[0].str();
    program = identity_program(module->kernels[0]);
  }
  TimingRun of(std::string_view text) const {
    const Kernel& k = module->kernels[0];
    for (size_t i = 0; i < k.insts.size(); ++i)
      if (k.insts[i].text.substr(0, text.size()) == text) return program.slice->run[i];
    ADD_FAILURE() << "no " << text;
    return TimingRun::run;
  }
  const ValueSlice::Checks& checks_of(std::string_view text) const {
    const Kernel& k = module->kernels[0];
    size_t i = 0;
    while (k.insts[i].text.substr(0, text.size()) != text) ++i;
    return program.slice->checks[i];
  }
  TimingRunResult run() {
    const Kernel& kernel = module->kernels[0];
    GlobalMemory memory;
    const uint64_t out = memory.allocate("out", 32 * 64), in = memory.allocate("in", 1024);
    LaunchInfo launch;
    launch.block = {32, 1, 1};
    launch.params.resize(kernel.param_bytes);
    std::memcpy(launch.params.data() + kernel.params[0].offset, &out, 8);
    std::memcpy(launch.params.data() + kernel.params[1].offset, &in, 8);
    Cta cta;
    TensorMemory tensor;
    cta.tensor = &tensor;
    cta.start(program, launch, memory, {0, 0, 0}, 0, false);
    Warp& warp = cta.warps[0];
    TimingRunResult r;
    while (warp.runnable() && r.last == Control::next) {
      r.last = warp.step();
      if (r.last == Control::tensor_wait) r.last = Control::next;  // nothing is late here
    }
    if (r.last == Control::trap) r.fault_kind = warp.ctx.fx.fault.kind, r.fault_text = warp.ctx.fx.fault.text;
    r.out.resize(512);
    std::memcpy(r.out.data(), memory.map(out, 2048), 2048);
    return r;
  }
  std::unique_ptr<Module> module;
  Program program;
};

constexpr const char* kMma =
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f3, %f4, %f5, %f6}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f1, %f2, %f2, %f1};\n";

TEST_F(TimingMode, TensorDataIsNeitherMovedNorComputed) {
  load(std::string(R"(
    .shared .align 16 .b8 s[1024];
    mov.u32 %r1, s; mad.lo.u32 %r2, %tid_x, 16, %r1;
    st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1};
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r2];
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r14, %r15}, [%r2];)") +
       kMma + R"(
    mul.f32 %f7, %f3, 0f3f000000; cvt.rn.f16.f32 %h1, %f7;
    st.global.b16 [%out], %h1;)");
  EXPECT_EQ(of("ldmatrix"), TimingRun::addresses);
  EXPECT_EQ(of("mma"), TimingRun::skip);
  EXPECT_EQ(of("mul.f32"), TimingRun::skip);
  EXPECT_EQ(of("cvt.rn"), TimingRun::skip);
  EXPECT_EQ(of("st.global"), TimingRun::addresses);
  EXPECT_EQ(of("st.shared"), TimingRun::addresses);
  EXPECT_EQ(of("mad.lo.u32 %r2"), TimingRun::run);
  EXPECT_FALSE(program.slice->shared_needed);
  EXPECT_EQ(run().last, Control::next);
}

TEST_F(TimingMode, AValueThatDecidesABranchIsLoadedAndChecked) {
  load(R"(
    .shared .align 4 .b32 s;
    st.shared.u32 [s], 3;
    ld.shared.u32 %r1, [s];
    mov.u32 %r2, 0;
  LOOP:
    add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra LOOP;
    mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %outbase; st.global.u32 [%rd1], 1;)");
  EXPECT_TRUE(program.slice->shared_needed);
  EXPECT_EQ(of("ld.shared"), TimingRun::checked);
  EXPECT_EQ(run().last, Control::next);
}

// The address of Tensor Memory is needed, and goes through shared memory; the data of the same shared memory are not.
TEST_F(TimingMode, TensorMemoryAddressesAreKnown) {
  load(R"(
    .shared .align 16 .b8 s[1024]; .shared .align 4 .b32 slot;
    mov.u32 %r1, slot; mov.u32 %r2, s; mad.lo.u32 %r3, %tid_x, 16, %r2; cvt.rn.f32.u32 %f1, %tid_x; st.shared.f32 [%r3], %f1;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64; add.u32 %r4, %r1, 0; ld.shared.b32 %r5, [%r4];
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5], {%f1}; tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%r5]; tcgen05.wait::ld.sync.aligned; add.u32 %r7, %r6, 1; st.global.u32 [%out], %r7;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 64;)",
       "sm_100a");
  EXPECT_FALSE(program.slice->shared_needed);
  EXPECT_EQ(of("tcgen05.alloc"), TimingRun::run);
  EXPECT_EQ(of("ld.shared"), TimingRun::checked);
  // Their address comes from memory, so it is looked at; no data move.
  for (const char* text : {"tcgen05.ld", "tcgen05.st"}) {
    EXPECT_EQ(of(text), TimingRun::checked);
    EXPECT_TRUE(checks_of(text).idle);
  }
  EXPECT_EQ(of("cvt.rn"), TimingRun::skip);
  EXPECT_EQ(of("add.u32 %r7"), TimingRun::skip);
  EXPECT_EQ(of("st.shared"), TimingRun::addresses);
  EXPECT_EQ(run().last, Control::next);
}

TEST_F(TimingMode, BranchOnAMatrixResultNeedsFullMode) {
  load(std::string(kMma) + "setp.gt.f32 %p1, %f3, %f2; @%p1 bra END; st.global.u32 [%out], 1;\nEND:");
  const TimingRunResult r = run();
  EXPECT_EQ(r.last, Control::trap);
  EXPECT_EQ(r.fault_kind, "unknown-value");
  EXPECT_NE(r.fault_text.find("--mode full"), std::string::npos);
}

TEST_F(TimingMode, AddressFromAMatrixResultThroughSharedMemoryNeedsFullMode) {
  load(std::string(".shared .align 4 .b32 s;\n") + kMma +
       "st.shared.f32 [s], %f3; ld.shared.u32 %r1, [s]; and.b32 %r1, %r1, 3; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %outbase; st.global.u32 "
       "[%rd1], 1;");
  EXPECT_EQ(run().fault_kind, "unknown-value");
}

TEST_F(TimingMode, AKnownValueOverwritesAnUnknownOne) {
  load(std::string(kMma) + R"(
    mov.f32 %f3, 0f40000000; setp.gt.f32 %p1, %f3, 0f3f800000; @!%p1 bra END; st.global.u32 [%out], 1;
  END:)");
  EXPECT_EQ(run().last, Control::next);
}

TEST_F(TimingMode, SelectBetweenKnownAndUnknownIsUnknown) {
  load(std::string(kMma) +
       "setp.eq.u32 %p2, %tid_x, 40; selp.f32 %f8, %f3, 0f00000000, %p2; setp.gt.f32 %p1, %f8, %f2; @%p1 bra END; st.global.u32 [%out], 1;\nEND:");
  EXPECT_EQ(run().fault_kind, "unknown-value");
}

}  // namespace
}  // namespace tcsim::isa
