// The lowered program must leave memory exactly as PTX order does: random straight-line code, random loops, real kernels.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "sim/lower/lower.h"
#include "sim/lower/run_program.h"

namespace tcsim::sim {
namespace {

struct Case {
  std::unique_ptr<isa::Module> module;
  isa::LaunchInfo launch;
  std::vector<uint64_t> sizes;    // of the buffers whose addresses are the first parameters
  std::vector<uint32_t> scalars;  // 32-bit parameters after them
};

const cfg::Machine& h200() {
  static const cfg::Machine machine = [] {
    Diagnostics diags;
    return cfg::load_machine("h200", {}, diags).value();
  }();
  return machine;
}

/// All buffers after a run from the same pseudo-random contents (finite f16 values in each half word).
std::vector<uint8_t> memory_after(const Case& c, const isa::Program& program, uint64_t ctas) {
  isa::GlobalMemory global;
  isa::LaunchInfo launch = c.launch;
  launch.params.assign(program.kernel->param_bytes, 0);
  std::vector<uint64_t> bases;
  uint32_t state = 12345;
  for (uint64_t bytes : c.sizes) {
    bases.push_back(global.allocate("b", bytes));
    auto* data = reinterpret_cast<uint16_t*>(global.map(bases.back(), bytes));
    for (uint64_t i = 0; i < bytes / 2; ++i) {
      state = state * 1664525u + 1013904223u;
      data[i] = static_cast<uint16_t>(0x3000 | (state >> 16 & 0x8bff));
    }
  }
  std::memcpy(launch.params.data(), bases.data(), bases.size() * 8);
  if (!c.scalars.empty()) std::memcpy(launch.params.data() + bases.size() * 8, c.scalars.data(), c.scalars.size() * 4);
  const testing::RunCounts counts = testing::run_program(program, launch, global, ctas);
  EXPECT_EQ(counts.problem, "");
  std::vector<uint8_t> all;
  for (size_t b = 0; b < bases.size(); ++b) all.insert(all.end(), global.map(bases[b], c.sizes[b]), global.map(bases[b], c.sizes[b]) + c.sizes[b]);
  return all;
}

/// Each live instruction runs in exactly one step of its own block.
void expect_each_once(const LoweredProgram& program) {
  std::vector<int> seen(program.kernel->insts.size(), 0);
  for (uint32_t inst : program.order) ++seen[inst];
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_LE(seen[i], 1) << program.kernel->insts[i].text;
  ASSERT_EQ(program.ops.size(), program.step_count());
  for (const MachineOp& op : program.ops) {
    for (Token t : program.sources(op)) EXPECT_LT(t, program.token_count);
    for (Token t : program.results(op)) EXPECT_LT(t, program.token_count);
  }
}

void expect_equal(const Case& c, uint64_t ctas, std::initializer_list<uint32_t> registers) {
  const isa::Kernel& kernel = c.module->kernels[0];
  const std::vector<uint8_t> expected = memory_after(c, isa::identity_program(kernel), ctas);
  for (uint32_t limit : registers)
    for (bool schedule : {true, false}) {
      Diagnostics diags;
      const LoweredProgram program = lower(*c.module, kernel, h200(), {.registers = limit, .schedule = schedule}, diags);
      ASSERT_FALSE(diags.has_errors());
      expect_each_once(program);
      ASSERT_TRUE(memory_after(c, program, ctas) == expected) << kernel.name << " with " << limit << " registers, schedule " << schedule;
    }
}

Case from_text(std::string path, std::string text) {
  Diagnostics diags;
  Case c;
  c.module = isa::load_module(std::move(path), std::move(text), diags);
  for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
  return c;
}

Case from_file(const std::string& path) {
  std::ifstream file(std::string(TCSIM_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return from_text(path, text.str());
}

/// Straight-line code over few registers, each rewritten many times, with guards, carries, shared and global accesses.
class RandomCode {
 public:
  explicit RandomCode(uint32_t seed) : random_(seed) {}

  std::string kernel(int lines, bool loop) {
    out_ =
        ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .pred %p<5>; .reg .b32 %c; .shared .align 16 .b8 s[16384];\n"
        "ld.param.u64 %rd7, [p]; mov.u32 %r11, %tid.x; mul.wide.u32 %rd6, %r11, 256; add.s64 %rd7, %rd7, %rd6;\n"
        "shl.b32 %r11, %r11, 7; mov.u32 %r10, s; add.s32 %r11, %r11, %r10;\n";
    for (int i = 0; i < 10; ++i) line("ld.global.u32 " + r(i) + ", [%rd7+" + std::to_string(4 * i) + "];");
    for (int i = 0; i < 6; ++i) line("ld.global.u64 " + rd(i) + ", [%rd7+" + std::to_string(64 + 8 * i) + "];");
    for (int i = 0; i < 8; ++i) line("ld.global.f32 " + f(i) + ", [%rd7+" + std::to_string(128 + 4 * i) + "];");
    for (int i = 0; i < 5; ++i) line("setp.lt.s32 " + p(i) + ", " + r(i) + ", " + r(i + 1) + ";");
    for (int i = 0; i < 32; ++i) line("st.shared.u32 [%r11+" + std::to_string(4 * i) + "], " + r(i % 10) + ";");
    if (loop) line("mov.u32 %c, 0;\nLOOP:");
    for (int i = 0; i < lines; ++i) statement();
    if (loop) line("add.u32 %c, %c, 1; setp.lt.u32 %p0, %c, 5; @%p0 bra LOOP;");
    for (int i = 0; i < 10; ++i) line("st.global.u32 [%rd7+" + std::to_string(4 * i) + "], " + r(i) + ";");
    for (int i = 0; i < 6; ++i) line("st.global.u64 [%rd7+" + std::to_string(64 + 8 * i) + "], " + rd(i) + ";");
    for (int i = 0; i < 8; ++i) line("st.global.f32 [%rd7+" + std::to_string(128 + 4 * i) + "], " + f(i) + ";");
    for (int i = 0; i < 5; ++i) line("selp.u32 %r0, 1, 0, " + p(i) + "; st.global.u32 [%rd7+" + std::to_string(192 + 4 * i) + "], %r0;");
    line("ret;\n}");
    return out_;
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  static std::string name(const char* prefix, int i) { return prefix + std::to_string(i); }
  static std::string r(int i) { return name("%r", i); }
  static std::string rd(int i) { return name("%rd", i); }
  static std::string f(int i) { return name("%f", i); }
  static std::string p(int i) { return name("%p", i); }
  std::string r() { return r(pick(10)); }
  std::string rd() { return rd(pick(6)); }
  std::string f() { return f(pick(8)); }
  std::string p() { return p(1 + pick(4)); }  // %p0 is the loop's
  std::string source() { return pick(4) == 0 ? std::to_string(pick(64)) : r(); }
  void line(const std::string& text) { out_ += text + "\n"; }

  void statement() {
    const std::string guard = pick(6) == 0 ? std::string(pick(2) ? "@" : "@!") + p() + " " : "";
    const std::string shared = "[%r11+" + std::to_string(4 * pick(30)) + "]", global = "[%rd7+" + std::to_string(200 + 4 * pick(12)) + "]";
    switch (pick(30)) {
      case 0: return line(guard + "add.s32 " + r() + ", " + r() + ", " + source() + ";");
      case 1: return line(guard + "sub.s32 " + r() + ", " + r() + ", " + source() + ";");
      case 2: return line(guard + "mul.lo.s32 " + r() + ", " + r() + ", " + source() + ";");
      case 3: return line(guard + "mad.lo.s32 " + r() + ", " + r() + ", " + source() + ", " + r() + ";");
      case 4: return line(guard + "and.b32 " + r() + ", " + r() + ", " + source() + ";");
      case 5: return line(guard + "xor.b32 " + r() + ", " + r() + ", " + source() + ";");
      case 6: return line(guard + "shl.b32 " + r() + ", " + r() + ", " + std::to_string(pick(8)) + ";");
      case 7: return line(guard + "shr.s32 " + r() + ", " + r() + ", " + std::to_string(pick(8)) + ";");
      case 8: return line(guard + "mov.u32 " + r() + ", " + source() + ";");
      case 9: return line(guard + "mul.wide.s32 " + rd() + ", " + r() + ", " + source() + ";");
      case 10: return line(guard + "add.s64 " + rd() + ", " + rd() + ", " + rd() + ";");
      case 11: return line("mov.b64 {" + r(pick(5)) + ", " + r(5 + pick(5)) + "}, " + rd() + ";");
      case 12: return line("mov.b64 " + rd() + ", {" + r() + ", " + r() + "};");
      case 13: return line(guard + "cvt.s64.s32 " + rd() + ", " + r() + ";");
      case 14: return line(guard + "cvt.u32.u64 " + r() + ", " + rd() + ";");
      case 15: return line(guard + "selp.b32 " + r() + ", " + r() + ", " + source() + ", " + p() + ";");
      case 16: return line(guard + "setp.lt.s32 " + p() + ", " + r() + ", " + source() + ";");
      case 17: return line("and.pred " + p() + ", " + p() + ", " + p() + ";");
      case 18: return line("not.pred " + p() + ", " + p() + ";");
      case 19: return line(guard + "fma.rn.f32 " + f() + ", " + f() + ", " + f() + ", " + f() + ";");
      case 20: return line(guard + "add.f32 " + f() + ", " + f() + ", " + f() + ";");
      case 21: return line(guard + "neg.f32 " + f() + ", " + f() + ";");
      case 22: return line(guard + "ld.shared.u32 " + r() + ", " + shared + ";");
      case 23: return line(guard + "st.shared.u32 " + shared + ", " + r() + ";");
      case 24: return line(guard + "ld.global.u32 " + r() + ", " + global + ";");
      case 25: return line(guard + "st.global.u32 " + global + ", " + r() + ";");
      case 26: return line("add.cc.u32 " + r() + ", " + r() + ", " + r() + "; addc.u32 " + r() + ", " + r() + ", " + r() + ";");
      case 27: return line("atom.shared.add.u32 " + r() + ", " + shared + ", " + r() + ";");
      case 28: return line("shfl.sync.bfly.b32 " + r() + ", " + r() + ", " + std::to_string(1 << pick(5)) + ", 31, -1;");
      default: return line("bar.sync 0;");
    }
  }

  std::mt19937 random_;
  std::string out_;
};

TEST(LowerEqual, RandomStraightLineCode) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    Case c = from_text("random.ptx", RandomCode(seed).kernel(120, false));
    c.launch.block = {64, 1, 1};
    c.sizes = {64 * 256};
    expect_equal(c, 1, {0, 24});
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(LowerEqual, RandomLoops) {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    Case c = from_text("random.ptx", RandomCode(1000 + seed).kernel(60, true));
    c.launch.block = {64, 1, 1};
    c.sizes = {64 * 256};
    expect_equal(c, 1, {0, 24});
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(LowerEqual, TritonGemm) {
  Case c = from_file("isa/ptx/testdata/triton_mma_64x64x32.ptx");
  const uint32_t n = 128;
  c.launch = {.grid = {n / 64 * n / 64, 1, 1}, .block = {128, 1, 1}, .dynamic_smem_bytes = 16384 * 2};
  c.sizes = {n * n * 2, n * n * 2, n * n * 2};
  c.scalars = {n, n, n, n, n, n};
  expect_equal(c, 4, {0, 94, 64});
}

TEST(LowerSpeed, LargeBlockLowersQuickly) {
  std::string text = RandomCode(7).kernel(6000, false);
  Case c = from_text("large.ptx", std::move(text));
  Diagnostics diags;
  const clock_t start = clock();
  const LoweredProgram program = lower(*c.module, c.module->kernels[0], h200(), {}, diags);
  const double seconds = static_cast<double>(clock() - start) / CLOCKS_PER_SEC;
  EXPECT_GT(program.ops.size(), 3000u);
  EXPECT_LT(seconds, 3.0);  // 0.3 s in a release build: quadratic behaviour would not hide in the margin
}

}  // namespace
}  // namespace tcsim::sim
