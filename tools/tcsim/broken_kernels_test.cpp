// Kernels that were broken in one place each get the diagnosis of that place under every order of asynchronous copies; unbroken
// ones get none.
#include "tools/tcsim/broken_kernels.h"

namespace tcsim::tool {
namespace {

using Order = isa::AsyncOrder;
constexpr Order kOrders[] = {Order::eager, Order::late, Order::random};
constexpr const char* kOrderNames[] = {"eager", "late", "random"};

TEST(BrokenKernels, UnbrokenOnesGetNoDiagnosis) {
  for (const char* style : {"hopper-tma", "hopper-ws", "hopper-cooperative", "hopper-pingpong"})
    for (const char* epilogue : {"tma", "direct"}) {
      if (std::string(epilogue) == "direct" && std::string(style) != "hopper-ws") continue;
      std::vector<uint8_t> first;
      for (const Order order : kOrders) {
        SCOPED_TRACE(std::string(style) + " " + epilogue + " " + kOrderNames[static_cast<int>(order)]);
        gemm::Config config = hopper_config(style);
        config.epilogue = epilogue;
        HopperCase c(config);
        c.interpret(order, 7);
        EXPECT_TRUE(c.diags.all().empty()) << text_of(c.diags);
        if (first.empty()) first = c.result();
        EXPECT_TRUE(c.result() == first);
      }
      EXPECT_NE(first, std::vector<uint8_t>(first.size(), 0));
    }
}

TEST(BrokenKernels, UnbrokenClusterGetsNoDiagnosis) {
  for (const Order order : kOrders) {
    gemm::Config config = hopper_config("hopper-ws");
    config.m = config.n = 256;
    config.k = 256;
    config.cluster = {2, 1};
    HopperCase c(config);
    c.interpret(order, 7);
    EXPECT_TRUE(c.diags.all().empty()) << text_of(c.diags);
  }
}

/// A diagnosis: its kind, words of the PTX line that it names, and words of its text.
struct Diagnosis {
  const char* kind;
  const char* line;
  const char* text;
};
struct Expected {
  Fault fault;
  const char* name;
  std::vector<Diagnosis> eager, late;  // each must be there; random must give the late ones or the eager ones
};

constexpr const char* kLoad = "cp.async.bulk.tensor.2d.shared::cluster";
constexpr const char* kStore = "cp.async.bulk.tensor.2d.global";

/// Style hopper-ws: producer warp 0, consumer warps 4 to 11, so that the first of eager's turns is the producer's.
std::vector<Expected> table() {
  // Consumers reach the stage before the producer has loaded it (warps 4 and up have not run when warp 0 waits for room): eager's
  // loads bring all bytes at once, so they read what nobody wrote; late's leave bytes in flight.
  const Diagnosis unwritten{"uninitialised-read", "wgmma.mma_async", "reads bytes that were never written"};
  // The producer runs rounds ahead: eager finds the stage full but unread, late finds the barrier's phase still open.
  const Diagnosis unread{"overwrite-in-flight", kLoad, "whose end no thread has waited for"};
  const Diagnosis ahead{"barrier-misuse", "mbarrier.arrive.expect_tx", "mbarrier full_bar[0] (offset 0): 1 arrival, but phase 0 expects 0 more"};
  const Diagnosis fence{"missing-proxy-fence", kStore, "what 'stmatrix"};
  const Diagnosis empty{"deadlock", "mbarrier.try_wait", "nobody has ever arrived on it"};
  // expect_tx counts A's 128 x 64 x 2 B = 16384 B, A and B bring 32768 B.
  const Diagnosis fewer{"tma-byte-mismatch", "mbarrier.arrive.expect_tx", "full_bar[0]: expected 16384 B"};
  const Diagnosis early{"tma-byte-mismatch", kLoad, "phase 0 ends after the 16384 bytes that it expected, while 16384 bytes"};
  const Diagnosis more{"tma-byte-mismatch", "mbarrier.arrive.expect_tx",
                       "full_bar[0]: expected 32896 B, delivered 32768 B, phase 0 never completes: expect_tx counts 128 B"};
  // 16 rows x 2 pieces of a wgmma of K = 16: rows with row % 8 == 0 keep their places, 2 of 16, so 28 of 32 pieces differ (87.5 %).
  const Diagnosis swizzle{
      "swizzle-mismatch", "wgmma.mma_async",
      "TMA wrote SWIZZLE_NONE, the descriptor reads SWIZZLE_128B: first differing element row 1, byte 0; 28 of 32 pieces of 16 bytes (87.5 %)"};
  const Diagnosis descriptor{"swizzle-mismatch", "wgmma.mma_async", "is 128 bytes past a multiple of 1024"};
  const Diagnosis tile{"swizzle-mismatch", kLoad, "destination tile at offset 1152 starts 128 bytes past a multiple of 1024"};
  const Diagnosis missing{"barrier-misuse", "mbarrier.arrive.expect_tx", "the mbarrier full_bar[1] (offset 8) of shared memory is not initialised"};
  const Diagnosis again{"barrier-misuse", "mbarrier.init",
                        "full_bar[1] (offset 8) that is in use (phase 0, 0 of 1 arrivals and 32768 bytes missing)"};
  const Diagnosis released{"overwrite-in-flight", kLoad, "which no wgmma.wait_group has waited for, reads: they were released too early"};
  const Diagnosis registers{"wgmma-register-hazard", "cvt.rn.f16x2.f32", "an accumulator of 'wgmma.mma_async"};
  const Diagnosis unsynchronised{"barrier-misuse", "mbarrier.try_wait",
                                 "warp 0 initialised it and has not arrived at a barrier since, so that warp 4 cannot know of it"};
  return {
      {Fault::no_full_wait, "no_full_wait", {unwritten}, {unwritten, {"missing-wait", "wgmma.mma_async", "still in flight, will write"}}},
      {Fault::no_empty_wait, "no_empty_wait", {unread}, {ahead}},
      {Fault::no_store_fence, "no_store_fence", {fence}, {fence}},
      {Fault::no_empty_arrive, "no_empty_arrive", {empty}, {empty}},
      {Fault::short_expect_tx, "short_expect_tx", {fewer}, {early}},
      {Fault::long_expect_tx, "long_expect_tx", {more}, {more}},
      {Fault::map_swizzle_none, "map_swizzle_none", {swizzle}, {swizzle}},
      {Fault::misaligned_stage, "misaligned_stage", {descriptor, tile}, {descriptor, tile}},
      {Fault::missing_init, "missing_init", {missing}, {missing}},
      {Fault::reinit_in_use, "reinit_in_use", {again}, {again}},
      {Fault::early_release, "early_release", {released}, {released}},
      {Fault::no_wgmma_wait, "no_wgmma_wait", {registers}, {registers}},
      {Fault::no_init_sync, "no_init_sync", {unsynchronised}, {unsynchronised}},
  };
}

bool has(const HopperCase& c, const Diagnosis& wanted) {
  for (const Diagnostic& d : c.diags.all())
    if (d.kind == wanted.kind && c.line_of(d).find(wanted.line) != std::string::npos && d.text.find(wanted.text) != std::string::npos) return true;
  return false;
}

TEST(BrokenKernels, EachGetsItsDiagnosis) {
  for (const Expected& e : table())
    for (const Order order : {Order::eager, Order::late}) {
      SCOPED_TRACE(std::string(e.name) + " " + kOrderNames[static_cast<int>(order)]);
      HopperCase c(hopper_config("hopper-ws", e.fault));
      c.interpret(order);
      for (const Diagnosis& d : order == Order::eager ? e.eager : e.late)
        EXPECT_TRUE(has(c, d)) << d.kind << " at '" << d.line << "': " << d.text << "\nbut the run said\n" << text_of(c.diags);
    }
}

/// The same kind again where roles and barriers are laid out otherwise.
TEST(BrokenKernels, OtherStylesToo) {
  for (const char* style : {"hopper-tma", "hopper-pingpong"})
    for (const Expected& e : table()) {
      if (e.fault == Fault::no_empty_arrive && std::string(style) == "hopper-tma") continue;  // has no empty barriers
      if (e.fault == Fault::no_empty_wait || e.fault == Fault::no_full_wait) continue;        // other symptoms there
      SCOPED_TRACE(std::string(style) + " " + e.name);
      HopperCase c(hopper_config(style, e.fault));
      c.interpret(Order::late);
      bool found = false;
      for (const Diagnostic& d : c.diags.all()) found = found || d.kind == e.late[0].kind;
      EXPECT_TRUE(found) << e.late[0].kind << ", but the run said\n" << text_of(c.diags);
    }
}

/// What was not fenced is not what a late reader sees: C differs from the whole kernel's.
TEST(BrokenKernels, LateReadersSeeOldBytesWithoutTheFence) {
  HopperCase whole(hopper_config("hopper-ws")), eager(hopper_config("hopper-ws", Fault::no_store_fence)),
      late(hopper_config("hopper-ws", Fault::no_store_fence));
  whole.interpret(Order::eager);
  eager.interpret(Order::eager);
  late.interpret(Order::late);
  EXPECT_TRUE(eager.result() == whole.result());
  EXPECT_FALSE(late.result() == whole.result());
}

/// A deadlock names warps, lines, barrier, phases, what is missing and who was there before.
TEST(BrokenKernels, DeadlockSaysWhoShouldHaveCome) {
  HopperCase c(hopper_config("hopper-ws", Fault::no_empty_arrive));
  c.interpret(Order::late);
  const std::string text = text_of(c.diags);
  for (const char* words :
       {"warps 4-11: k.ptx:", "waits for phase 1 of full_bar[0] (parity 1) to end; it is in phase 1: 1 of 1 arrivals and 0 bytes are missing",
        "waits for phase 0 of empty_bar[0] (parity 0) to end; it is in phase 0: 8 of 8 arrivals and 0 bytes are missing",
        "empty_bar[0] was initialised at k.ptx:", "missing, but there in phase 0: warp 0 k.ptx:", "1 arrival, expects 32768 bytes"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\nin\n" << text;
}

/// A consumer that does not flip its parity passes the second round's waits on the first round's phases.
TEST(BrokenKernels, StaleParity) {
  gemm::Config config = hopper_config("hopper-ws");
  HopperCase whole(config);
  // The consumers' walk is the second one: its parity is XORed with the second flip.
  size_t at = whole.program.ptx.find("$consumer_wait_full:");
  ASSERT_NE(at, std::string::npos);
  at = whole.program.ptx.find("xor.b32", at);
  ASSERT_NE(at, std::string::npos);
  std::string broken = whole.program.ptx;
  broken.replace(at, broken.find(';', at) - at, "mov.b32 %r0, %r0");
  // It shows where the refill is under way when the wait is passed, which depends on the order.
  bool stale = false;
  for (uint64_t seed = 1; seed <= 10 && !stale; ++seed) {
    HopperCase c(config);
    c.module = isa::load_module("k.ptx", broken, c.diags);
    ASSERT_TRUE(c.module != nullptr) << text_of(c.diags);
    c.interpret(Order::random, seed);
    for (const Diagnostic& d : c.diags.all()) stale = stale || d.kind == "stale-phase";
  }
  EXPECT_TRUE(stale);
}

}  // namespace
}  // namespace tcsim::tool
