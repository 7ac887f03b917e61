// Waits by mbarrier, against a closed form: one warp arrives after a chain of dependent FFMAs, the other waits for it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "sim/gpu/gpu.h"

namespace tcsim::sim {
namespace {

std::string kernel_text(int chain) {
  std::string text = R"(.version 8.3
.target sm_90a
.address_size 64
.shared .align 8 .b64 bar[2];
.visible .entry k(.param .u64 out)
{
.reg .pred %p<4>; .reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r1, bar; mov.u32 %r2, %tid.x;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra ready;
mbarrier.init.shared::cta.b64 [%r1+8], 32;
ready:
bar.sync 0;
setp.ge.u32 %p2, %r2, 32;
@%p2 bra waiter;
cvt.rn.f32.u32 %f1, %r2;
)";
  for (int i = 0; i < chain; ++i) text += "fma.rn.f32 %f1, %f1, %f1, %f1;\n";
  text += R"(st.shared.f32 [%r1], %f1;
mbarrier.arrive.shared::cta.b64 _, [%r1+8];
bra end;
waiter:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+8], 0;
@!%p3 bra waiter;
end:
st.global.u32 [%rd2], %r2;
ret;
}
)";
  return text;
}

SimResult run(int chain) {
  Diagnostics diags;
  const auto machine = cfg::load_machine("h200", {{"fetch.miss_cycles", "0"}, {"fetch.l1_hit_cycles", "0"}}, diags);
  const auto module = isa::load_module("k.ptx", kernel_text(chain), diags);
  for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
  isa::GlobalMemory memory;
  const uint64_t out = memory.allocate("out", 4096);
  isa::LaunchInfo launch;
  launch.block = {64, 1, 1};
  launch.params.resize(module->kernels.front().param_bytes);
  std::memcpy(launch.params.data(), &out, 8);
  SimOptions options;
  options.registers = 32;
  SimResult result = simulate(*module, module->kernels.front(), launch, memory, *machine, options, diags);
  EXPECT_TRUE(result.ok);
  return result;
}

TEST(MbarrierWaits, LastAsLongAsTheArrivingWarpComputes) {
  const SimResult shorter = run(64), longer = run(128);
  // The barrier is the second word of `bar`; 32 threads arrive once; one warp waits once.
  ASSERT_EQ(shorter.mbarriers.size(), 1u);
  const MbarrierStats& a = shorter.mbarriers.begin()->second;
  const MbarrierStats& b = longer.mbarriers.begin()->second;
  EXPECT_EQ(shorter.mbarriers.begin()->first % 16, 8u);
  EXPECT_EQ(a.phases, 1u);
  EXPECT_FALSE(a.data);
  ASSERT_EQ(a.waiters.size(), 1u);
  ASSERT_EQ(b.waiters.size(), 1u);
  EXPECT_EQ(a.waiters.begin()->second.count, 1u);
  // 64 more dependent FFMAs of 4 cycles each (measured on an H200; timing_test.cpp).
  EXPECT_EQ(b.waiters.begin()->second.cycles - a.waiters.begin()->second.cycles, 64u * 4);
}

}  // namespace
}  // namespace tcsim::sim
