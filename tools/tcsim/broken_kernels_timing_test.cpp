// The timing model gives the same diagnoses, in timing mode without data.
#include "sim/config/machine.h"
#include "sim/gpu/gpu.h"
#include "tools/tcsim/broken_kernels.h"

namespace tcsim::tool {
namespace {

void simulate(HopperCase& c, sim::Mode mode) {
  const auto machine = cfg::load_machine("h200", {}, c.diags);
  ASSERT_TRUE(machine);
  sim::SimOptions options;
  options.mode = mode;
  sim::simulate(*c.module, c.kernel(), c.launch, c.memory, *machine, options, c.diags);
}

bool has(const HopperCase& c, const std::string& kind, const char* line) {
  for (const Diagnostic& d : c.diags.all())
    if (d.kind == kind && c.line_of(d).find(line) != std::string::npos) return true;
  return false;
}

TEST(BrokenKernelsTiming, UnbrokenOnesGetNoDiagnosis) {
  for (const char* style : {"hopper-tma", "hopper-ws", "hopper-cooperative", "hopper-pingpong"})
    for (const sim::Mode mode : {sim::Mode::timing, sim::Mode::full}) {
      HopperCase c(hopper_config(style));
      simulate(c, mode);
      EXPECT_TRUE(c.diags.all().empty()) << style << "\n" << text_of(c.diags);
    }
}

struct Expected {
  Fault fault;
  sim::Mode mode;
  const char* kind;
  const char* line;  // words of the PTX line that it names
};

TEST(BrokenKernelsTiming, EachGetsItsDiagnosis) {
  constexpr sim::Mode timing = sim::Mode::timing, full = sim::Mode::full;
  constexpr const char* kLoad = "cp.async.bulk.tensor.2d.shared::cluster";
  const Expected table[] = {
      {Fault::no_full_wait, timing, "missing-wait", "wgmma.mma_async"},      // the first load takes longer than the way to the first wgmma
      {Fault::no_empty_wait, timing, "barrier-misuse", "arrive.expect_tx"},  // the third load comes while the first is on its way
      {Fault::no_store_fence, timing, "missing-proxy-fence", "cp.async.bulk.tensor.2d.global"},
      {Fault::no_empty_arrive, timing, "deadlock", "mbarrier.try_wait"},
      {Fault::short_expect_tx, timing, "tma-byte-mismatch", kLoad},
      {Fault::long_expect_tx, timing, "tma-byte-mismatch", "arrive.expect_tx"},
      {Fault::map_swizzle_none, timing, "swizzle-mismatch", "wgmma.mma_async"},
      {Fault::misaligned_stage, timing, "swizzle-mismatch", "wgmma.mma_async"},
      {Fault::missing_init, timing, "barrier-misuse", "arrive.expect_tx"},
      {Fault::reinit_in_use, timing, "barrier-misuse", "mbarrier.init"},
      {Fault::early_release, timing, "overwrite-in-flight", kLoad},
      {Fault::no_wgmma_wait, full, "wgmma-register-hazard", "cvt.rn.f16x2.f32"},  // timing mode does not run what reads accumulators
      {Fault::no_init_sync, timing, "barrier-misuse", "mbarrier."},               // consumers come first, or before a barrier
  };
  for (const Expected& e : table) {
    HopperCase c(hopper_config("hopper-ws", e.fault));
    simulate(c, e.mode);
    EXPECT_TRUE(has(c, e.kind, e.line)) << "fault " << static_cast<int>(e.fault) << ": expected " << e.kind << " at " << e.line
                                        << ", but the run said\n"
                                        << text_of(c.diags);
  }
}

}  // namespace
}  // namespace tcsim::tool
