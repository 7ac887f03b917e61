// Random straight-line PTX: any order that respects the dependences, in steps of any size, must end in the same state as
// PTX order with one step an instruction. This checks Warp's steps and uses_of() together.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "isa/exec/cta.h"
#include "isa/exec/ptx_harness.h"
#include "isa/exec/value_slice.h"

namespace tcsim::isa {
namespace {

constexpr int kRegs = 12, kPreds = 4, kLines = 120;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string body() {
    std::string text = ".shared .align 4 .b8 s[256];\nmov.u32 %r40, s;\n";
    for (int i = 0; i < kRegs; ++i) text += fmt::format("mad.lo.u32 %r{}, %tid_x, {}, {};\n", i, 2 * i + 1, random_() % 1000);
    for (int i = 0; i < kPreds; ++i) text += fmt::format("setp.gt.u32 %p{}, %tid_x, {};\n", i, random_() % 32);
    for (int i = 0; i < 64; ++i) text += fmt::format("st.shared.u32 [s+{}], {};\n", 4 * i, random_() % 100000);
    for (int i = 0; i < kLines; ++i) text += line() + "\n";
    for (int i = 0; i < kRegs; ++i) text += fmt::format("st.global.u32 [%out+{}], %r{};\n", 4 * i, i);
    return text;
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  std::string r() { return fmt::format("%r{}", pick(kRegs)); }
  std::string p() { return fmt::format("%p{}", pick(kPreds)); }

  std::string line() {
    std::string guard;
    if (pick(4) == 0) guard = fmt::format("@{}{} ", pick(2) ? "!" : "", p());
    switch (pick(14)) {
      case 0: return guard + fmt::format("add.u32 {}, {}, {};", r(), r(), r());
      case 1: return guard + fmt::format("sub.u32 {}, {}, {};", r(), r(), pick(99));
      case 2: return guard + fmt::format("mad.lo.u32 {}, {}, {}, {};", r(), r(), r(), r());
      case 3: return guard + fmt::format("xor.b32 {}, {}, {};", r(), r(), r());
      case 4: return guard + fmt::format("shl.b32 {}, {}, {};", r(), r(), pick(8));
      case 5: return guard + fmt::format("setp.lt.u32 {}, {}, {};", p(), r(), r());
      case 6: return guard + fmt::format("selp.u32 {}, {}, {}, {};", r(), r(), r(), p());
      case 7: return fmt::format("add.cc.u32 {0}, {0}, {1}; addc.u32 {2}, {2}, {3};", r(), r(), r(), r());
      case 8: return fmt::format("shfl.sync.bfly.b32 {}, {}, {}, 31, 0xffffffff;", r(), r(), pick(32));
      case 9: return fmt::format("mov.b64 %rd1, {{{}, {}}}; shr.u64 %rd1, %rd1, {}; cvt.u32.u64 {}, %rd1;", r(), r(), pick(40), r());
      case 10: return guard + fmt::format("and.b32 %r41, {}, 252; add.u32 %r41, %r41, %r40; ld.shared.u32 {}, [%r41];", r(), r());
      case 11: return fmt::format("and.b32 %r42, {}, 252; add.u32 %r42, %r42, %r40; {}st.shared.u32 [%r42], {};", r(), guard, r());
      case 12: return fmt::format("mul.wide.u32 %rd2, {}, {}; mov.b64 {{{}, {}}}, %rd2;", r(), r(), r(), r());
      default: return guard + fmt::format("or.pred {}, {}, {};", p(), p(), p());
    }
  }
  std::mt19937_64 random_;
};

/// What an instruction reads and writes, as numbers: slots, predicates from -2 down, the carry -1, memory kMemory.
struct Keys {
  static constexpr int kMemory = 1 << 30;
  std::vector<int> reads, writes;
  bool ends = false;
};

Keys keys_of(const Inst& inst) {
  const InstUses u = uses_of(inst);
  const auto key = [](const Operand& op) { return op.kind == Operand::Kind::pred ? -2 - op.slot : op.slot; };
  Keys k;
  for (const Operand* op : u.defs) k.writes.push_back(key(*op));
  for (const auto* list : {&u.data, &u.critical})
    for (const Operand* op : *list) k.reads.push_back(key(*op));
  if (inst.guard >= 0) k.reads.push_back(-2 - inst.guard);
  if (u.reads_carry) k.reads.push_back(-1);
  if (u.writes_carry) k.writes.push_back(-1);
  if (u.loads) k.reads.push_back(Keys::kMemory);
  if (u.stores) k.writes.push_back(Keys::kMemory);
  k.ends = inst.timing == TimingClass::branch;
  return k;
}

/// True when b must stay behind a.
bool ordered(const Keys& a, const Keys& b) {
  const auto meet = [](const std::vector<int>& x, const std::vector<int>& y) {
    return std::any_of(x.begin(), x.end(), [&](int k) { return std::find(y.begin(), y.end(), k) != y.end(); });
  };
  return b.ends || meet(a.writes, b.reads) || meet(a.writes, b.writes) || meet(a.reads, b.writes);
}

Program shuffled(const Kernel& kernel, std::mt19937_64& random) {
  Program program;
  program.kernel = &kernel;
  program.first = {0};
  for (const BasicBlock& block : kernel.blocks) {
    program.step_of_block.push_back(static_cast<uint32_t>(program.first.size()) - 1);
    const uint32_t count = block.end - block.first;
    std::vector<std::vector<uint32_t>> later(count);
    std::vector<uint32_t> waits(count, 0), ready;
    std::vector<Keys> keys;
    for (uint32_t i = 0; i < count; ++i) keys.push_back(keys_of(kernel.insts[block.first + i]));
    for (uint32_t b = 0; b < count; ++b)
      for (uint32_t a = 0; a < b; ++a)
        if (ordered(keys[a], keys[b])) later[a].push_back(b), ++waits[b];
    for (uint32_t i = 0; i < count; ++i)
      if (waits[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
      const size_t k = random() % ready.size();
      const uint32_t i = ready[k];
      ready.erase(ready.begin() + static_cast<ptrdiff_t>(k));
      for (const uint32_t b : later[i])
        if (--waits[b] == 0) ready.push_back(b);
      program.order.push_back(block.first + i);
      if (random() % 3 == 0 || ready.empty()) program.first.push_back(static_cast<uint32_t>(program.order.size()));
    }
  }
  finish_program(program);
  return program;
}

std::vector<uint32_t> run(const Module& module, const Kernel& kernel, const Program& program, bool values_known = true) {
  GlobalMemory memory;
  const uint64_t out = memory.allocate("out", 32 * 64), in = memory.allocate("in", 64);
  LaunchInfo launch;
  launch.block = {32, 1, 1};
  launch.params.resize(kernel.param_bytes);
  launch.constants = module.constant_bytes;
  std::memcpy(launch.params.data() + kernel.params[0].offset, &out, 8);
  std::memcpy(launch.params.data() + kernel.params[1].offset, &in, 8);
  Cta cta;
  cta.start(program, launch, memory, {0, 0, 0}, 0, values_known);
  Warp& warp = cta.warps[0];
  while (warp.runnable()) {
    const Control control = warp.step();
    if (control == Control::trap) ADD_FAILURE() << warp.ctx.fx.fault.text;
    if (control != Control::next) break;
  }
  EXPECT_TRUE(warp.exited());
  std::vector<uint32_t> words(32 * 16);
  std::memcpy(words.data(), memory.map(out, 32 * 64), 32 * 64);
  return words;
}

TEST(RandomPrograms, AnyValidOrderAndStepSizeGivesTheSameState) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    PtxHarness h;
    Diagnostics diags;
    const auto module = load_module("random.ptx", h.text(Generator(seed).body()), diags);
    ASSERT_FALSE(diags.has_errors()) << diags.all()[0].str();
    const Kernel& kernel = module->kernels[0];
    const auto want = run(*module, kernel, identity_program(kernel));
    std::mt19937_64 random(seed);
    for (int k = 0; k < 3; ++k) ASSERT_EQ(run(*module, kernel, shuffled(kernel, random)), want) << "seed " << seed;
    // Without matrix instructions timing mode computes whatever decides control flow and addresses.
    run(*module, kernel, identity_program(kernel), false);
  }
}

}  // namespace
}  // namespace tcsim::isa
