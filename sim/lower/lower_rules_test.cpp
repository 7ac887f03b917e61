// One rule each: the operations that a few PTX instructions become. Expected sequences are what ptxas 13.0 emits for the
// same lines at -arch sm_80 (opcodes counted in its cubin), written as timing classes: IADD3, LOP3, SHF, LEA = alu.
#include <gmock/gmock.h>

#include <map>

#include "sim/lower/lower.h"

namespace tcsim::sim {
namespace {

using isa::TimingClass;
using ::testing::ElementsAre;

struct Lowered {
  std::unique_ptr<isa::Module> module;
  LoweredProgram program;
  std::vector<std::string> classes;  // flexible ones count as alu: the multiply pipe takes them at will

  int count(std::string_view name) const { return static_cast<int>(std::count(classes.begin(), classes.end(), name)); }
};

cfg::Machine machine_of(int sm) {
  Diagnostics diags;
  cfg::Machine machine = cfg::load_machine("h200", {}, diags).value();
  machine.chip.sm = static_cast<uint32_t>(sm);  // rules follow the compute capability; latencies do not matter here
  return machine;
}

/// Body between loads of %r1..%r4, %rd1..%rd3, %f1..%f3 and stores of what is named in `out`.
Lowered lower_body(const std::string& body, const std::string& out, int sm = 80, bool schedule = false) {
  std::string text = ".version 8.5\n.target sm_" + std::to_string(sm) + R"(
.address_size 64
.extern .shared .align 16 .b8 smem[];
.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {
  .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<40>; .reg .f64 %d<9>; .reg .b16 %h<9>; .reg .pred %p<9>;
  ld.param.u64 %rd20, [p];
  ld.param.u64 %rd21, [q];
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd20];
  ld.global.v2.u64 {%rd1, %rd2}, [%rd20+16];
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd20+32];
)" + body + "\n";
  std::string rest = out;
  int offset = 0;
  while (!rest.empty()) {
    const std::string reg = rest.substr(0, rest.find(' '));
    rest.erase(0, reg.size() + 1);
    const std::string type = reg.starts_with("%rd") ? "b64" : reg.starts_with("%d") ? "f64" : reg.starts_with("%h") ? "b16" : "b32";
    text += "  st.global." + type + " [%rd21+" + std::to_string(offset) + "], " + reg + ";\n";
    offset += 8;
  }
  text += "  ret;\n}\n";
  Diagnostics diags;
  Lowered result;
  result.module = isa::load_module("k.ptx", text, diags);
  for (const auto& d : diags.all()) ADD_FAILURE() << d.str();
  const cfg::Machine machine = machine_of(sm);
  result.program = lower(*result.module, result.module->kernels[0], machine, {.registers = 0, .schedule = schedule}, diags);
  EXPECT_FALSE(diags.has_errors());
  for (const MachineOp& op : result.program.ops) result.classes.emplace_back(name(op.timing));
  return result;
}

/// Operations of the body alone: those of the frame (its own three loads, its addresses, the stores) are left out.
std::vector<std::string> body_classes(const std::string& body, const std::string& out, int sm = 80) {
  const Lowered with = lower_body(body, out, sm);
  std::vector<std::string> result;
  for (size_t s = 0; s < with.program.ops.size(); ++s) {
    const MachineOp& op = with.program.ops[s];
    const isa::Inst& inst = with.module->kernels[0].insts[op.inst];
    const bool frame = inst.space == isa::Space::param || inst.op == isa::Op::ret ||
                       (inst.space == isa::Space::global && (inst.op == isa::Op::ld || (inst.op == isa::Op::st && op.timing == TimingClass::stg)));
    if (!frame && op.inst != 0) result.emplace_back(name(op.timing));
  }
  return result;
}

TEST(LowerRules, CopiesAndImmediatesAreFree) {
  EXPECT_THAT(body_classes("mov.u32 %r10, %r1; mov.u32 %r11, 5; add.s32 %r12, %r10, %r11;", "%r12"), ElementsAre("alu"));
  EXPECT_THAT(body_classes("mov.b64 {%r10, %r11}, %rd1; add.s32 %r12, %r10, %r11;", "%r12"), ElementsAre("alu"));
  EXPECT_THAT(body_classes("mov.b64 %rd5, {%r1, %r2}; add.s64 %rd6, %rd5, %rd1;", "%rd6"), ElementsAre("alu", "alu"));
  EXPECT_THAT(body_classes("cvt.u32.u64 %r10, %rd1; add.s32 %r11, %r10, %r2;", "%r11"), ElementsAre("alu"));
  EXPECT_THAT(body_classes("cvta.to.global.u64 %rd5, %rd1; ld.global.u32 %r9, [%rd5];", "%r9"), ElementsAre());
}

TEST(LowerRules, DeadCodeGoes) {
  const Lowered a = lower_body("add.s32 %r10, %r1, %r2; mul.lo.s32 %r11, %r10, %r10; ld.shared.u32 %r12, [smem];", "%r1");
  EXPECT_EQ(a.count("alu") + a.count("imad") + a.count("lds"), lower_body("", "%r1").count("alu"));
}

TEST(LowerRules, AdditionsFuse) {
  EXPECT_THAT(body_classes("add.s32 %r10, %r1, %r2; add.s32 %r11, %r10, %r3;", "%r11"), ElementsAre("alu"));      // IADD3
  EXPECT_THAT(body_classes("shl.b32 %r10, %r1, 4; add.s32 %r11, %r10, %r3;", "%r11"), ElementsAre("alu"));        // LEA
  EXPECT_THAT(body_classes("mul.lo.s32 %r10, %r1, %r2; add.s32 %r11, %r10, %r3;", "%r11"), ElementsAre("imad"));  // IMAD
  EXPECT_THAT(body_classes("shr.u32 %r10, %r1, 26; add.s32 %r11, %r10, %r3;", "%r11"), ElementsAre("alu"));       // LEA.HI
  EXPECT_THAT(body_classes("neg.s32 %r10, %r1; add.s32 %r11, %r10, %r3;", "%r11"), ElementsAre("alu"));
  // The sum is wanted as well: two operations.
  EXPECT_THAT(body_classes("add.s32 %r10, %r1, %r2; add.s32 %r11, %r10, %r3;", "%r11 %r10"), ElementsAre("alu", "alu"));
}

TEST(LowerRules, WideArithmetic) {
  EXPECT_THAT(body_classes("add.s64 %rd5, %rd1, %rd2;", "%rd5"), ElementsAre("alu", "alu"));
  EXPECT_THAT(body_classes("mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd5, %rd2;", "%rd6"), ElementsAre("imad_wide"));
  EXPECT_THAT(body_classes("cvt.s64.s32 %rd5, %r1; shl.b64 %rd6, %rd5, 2; add.s64 %rd7, %rd6, %rd2;", "%rd7"), ElementsAre("imad_wide"));
  EXPECT_THAT(body_classes("mul.lo.s64 %rd5, %rd1, %rd2;", "%rd5"), ElementsAre("imad", "imad", "imad_wide", "alu"));
  EXPECT_THAT(body_classes("shl.b64 %rd5, %rd1, 5;", "%rd5"), ElementsAre("alu", "alu"));
  EXPECT_THAT(body_classes("setp.lt.s64 %p1, %rd1, %rd2; selp.b32 %r9, %r1, %r2, %p1;", "%r9"), ElementsAre("isetp", "isetp", "alu"));
  EXPECT_THAT(body_classes("setp.lt.s32 %p1, %r1, %r2; selp.b64 %rd9, %rd1, %rd2, %p1;", "%rd9"), ElementsAre("isetp", "alu", "alu"));
}

TEST(LowerRules, LogicTreesOfThreeInputs) {
  EXPECT_THAT(body_classes("and.b32 %r10, %r1, %r2; xor.b32 %r11, %r10, %r3;", "%r11"), ElementsAre("alu"));
  EXPECT_THAT(body_classes("and.b32 %r10, %r1, 112; xor.b32 %r11, %r10, %r3;", "%r11"), ElementsAre("alu"));
  EXPECT_THAT(body_classes("not.b32 %r9, %r2; and.b32 %r10, %r1, %r9; or.b32 %r11, %r10, %r3;", "%r11"), ElementsAre("alu"));
  // Four inputs need two operations.
  EXPECT_THAT(body_classes("and.b32 %r10, %r1, %r2; xor.b32 %r11, %r10, %r3; or.b32 %r12, %r11, %r4;", "%r12"), ElementsAre("alu", "alu"));
}

TEST(LowerRules, PredicatesCombineInTheComparison) {
  EXPECT_THAT(body_classes("setp.lt.s32 %p1, %r1, %r2; setp.lt.s32 %p2, %r3, %r4; and.pred %p3, %p1, %p2; selp.b32 %r9, %r1, %r2, %p3;", "%r9"),
              ElementsAre("isetp", "isetp", "alu"));
}

TEST(LowerRules, AddressesFoldIntoOffsets) {
  EXPECT_THAT(body_classes("add.s64 %rd5, %rd1, 64; ld.global.u32 %r9, [%rd5+8];", "%r9"), ElementsAre());
  EXPECT_THAT(body_classes("add.s32 %r5, %r1, 64; add.s32 %r6, %r5, 32; ld.shared.u32 %r9, [%r6];", "%r9"), ElementsAre("lds"));
  // A symbol's address is a constant before sm_90 and a uniform register from there on: neither costs an addition.
  const std::string symbol = "mov.u32 %r5, smem; add.s32 %r6, %r5, %r1; ld.shared.u32 %r9, [%r6+4];";
  EXPECT_THAT(body_classes(symbol, "%r9", 80), ElementsAre("lds"));
  EXPECT_THAT(body_classes(symbol, "%r9", 90), ElementsAre("lds"));
}

TEST(LowerRules, AsyncCopySizeBecomesThePredicate) {
  EXPECT_THAT(body_classes("setp.gt.s32 %p1, %r2, 3; selp.b32 %r9, 16, 0, %p1; cp.async.cg.shared.global [%r1], [%rd1], 16, %r9;", "%r1"),
              ElementsAre("isetp", "ldgsts"));
}

TEST(LowerRules, IdleSharedLoadsBeforeTheFirstCopyAfterABarrier) {
  const std::string copies = "bar.sync 0; cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.cg.shared.global [%r1+16], [%rd1+16], 16;";
  EXPECT_THAT(body_classes(copies, "%r1"), ElementsAre("bar", "lds", "lds", "lds", "ldgsts", "ldgsts"));
}

TEST(LowerRules, ZeroesComeInPairs) {
  // Five registers that a loop changes: CS2R clears two at a time, so three operations.
  const Lowered a = lower_body(R"(mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0; mov.b32 %r14, 0;
    LOOP: mad.lo.s32 %r10, %r1, %r2, %r10; mad.lo.s32 %r11, %r1, %r3, %r11; mad.lo.s32 %r12, %r1, %r4, %r12;
    mad.lo.s32 %r13, %r2, %r3, %r13; mad.lo.s32 %r14, %r2, %r4, %r14; setp.lt.s32 %p1, %r10, %r14; @%p1 bra LOOP;)",
                               "%r10 %r11 %r12 %r13 %r14");
  const Lowered frame = lower_body("", "%r1");
  EXPECT_EQ(a.count("alu"), frame.count("alu") + 3);
  EXPECT_EQ(a.count("imad"), 5);
}

TEST(LowerRules, Expansions) {
  // Counts of ptxas: div.s32 26, rem.u32 17, popc.b64 3, clz.b32 2, bfe with constants 2, ex2 with denormals 4.
  EXPECT_NEAR(body_classes("div.s32 %r9, %r1, %r2;", "%r9").size(), 26, 2);
  EXPECT_NEAR(body_classes("rem.u32 %r9, %r1, %r2;", "%r9").size(), 17, 1);
  EXPECT_NEAR(body_classes("div.s64 %rd9, %rd1, %rd2;", "%rd9").size(), 88, 4);
  EXPECT_NEAR(body_classes("div.u64 %rd9, %rd1, %rd2;", "%rd9").size(), 72, 4);
  EXPECT_THAT(body_classes("popc.b64 %r9, %rd1;", "%r9"), ElementsAre("popc", "popc", "alu"));
  EXPECT_THAT(body_classes("clz.b32 %r9, %r1;", "%r9"), ElementsAre("popc", "alu"));
  EXPECT_THAT(body_classes("bfe.u32 %r9, %r1, 3, 5;", "%r9"), ElementsAre("alu", "alu"));
  EXPECT_THAT(body_classes("ex2.approx.f32 %f9, %f1;", "%f9"), ElementsAre("isetp", "fma", "mufu", "fma"));
  EXPECT_THAT(body_classes("ex2.approx.ftz.f32 %f9, %f1;", "%f9"), ElementsAre("mufu"));
  EXPECT_THAT(body_classes("sin.approx.f32 %f9, %f1;", "%f9"), ElementsAre("fma", "mufu"));
}

TEST(LowerRules, FloatSignsAndContraction) {
  EXPECT_THAT(body_classes("neg.f32 %f8, %f1; fma.rn.f32 %f9, %f8, %f2, %f3;", "%f9"), ElementsAre("fma"));
  EXPECT_THAT(body_classes("mul.f32 %f8, %f1, %f2; add.f32 %f9, %f8, %f3;", "%f9"), ElementsAre("fma"));
  EXPECT_THAT(body_classes("mul.rn.f32 %f8, %f1, %f2; add.rn.f32 %f9, %f8, %f3;", "%f9"), ElementsAre("fma", "fma"));
}

TEST(LowerRules, ScatteredVectorsAreGathered) {
  // Elements of two pair loads, crossed: four MOVs; in the order in which they were loaded: none.
  const std::string loads = "ld.shared.v2.u32 {%r10, %r11}, [%r1]; ld.shared.v2.u32 {%r12, %r13}, [%r2]; ";
  EXPECT_THAT(body_classes(loads + "st.shared.v2.u32 [%r3], {%r10, %r12}; st.shared.v2.u32 [%r3+8], {%r11, %r13};", "%r1"),
              ElementsAre("lds", "lds", "alu", "alu", "sts", "alu", "alu", "sts"));
  EXPECT_THAT(body_classes(loads + "st.shared.v2.u32 [%r3], {%r10, %r11}; st.shared.v2.u32 [%r3+8], {%r12, %r13};", "%r1"),
              ElementsAre("lds", "lds", "sts", "sts"));
}

TEST(LowerRules, LoopCountersAreUniform) {
  const std::string loop = R"(mov.b32 %r10, 0; ld.param.u32 %r30, [n];
    LOOP: shl.b32 %r11, %r10, 4; add.s32 %r12, %r11, %r1; ld.shared.u32 %r13, [%r12]; st.shared.u32 [%r2], %r13;
    add.s32 %r10, %r10, 1; setp.lt.s32 %p1, %r10, BOUND; @%p1 bra LOOP;)";
  const auto with_bound = [&](const std::string& bound) {
    std::string text = loop;
    return lower_body(text.replace(text.find("BOUND"), 5, bound), "%r1");
  };
  // mov, shl and add of the counter, and the descriptor of global memory; [%r12] is [R + UR].
  EXPECT_EQ(with_bound("%r30").count("uniform"), 4);
  EXPECT_EQ(with_bound("%r30").count("isetp"), 1);  // the branch needs a vector predicate
  // Lanes that leave the loop at different times: the descriptor only.
  EXPECT_EQ(with_bound("%r4").count("uniform"), 1);
}

TEST(LowerTokens, ReadersWaitForTheSourceOfACopy) {
  const Lowered a = lower_body("mad.lo.s32 %r10, %r1, %r2, %r3; mov.u32 %r11, %r10; mad.lo.s32 %r12, %r11, %r1, %r1;", "%r12");
  std::vector<const MachineOp*> multiplies;
  for (const MachineOp& op : a.program.ops)
    if (op.timing == TimingClass::imad) multiplies.push_back(&op);
  ASSERT_EQ(multiplies.size(), 2u);
  ASSERT_EQ(multiplies[0]->results, 1);
  EXPECT_THAT(a.program.sources(*multiplies[1]), ::testing::Contains(a.program.results(*multiplies[0])[0]));
}

TEST(LowerTokens, LoopCarriedCopyMovesTheScoreboardEntry) {
  // %r10 of the next round is %r11 of this one: no operation, one entry copied.
  const Lowered a = lower_body(R"(mov.b32 %r10, %r4;
    LOOP: mad.lo.s32 %r11, %r10, %r1, %r2; setp.lt.s32 %p1, %r11, %r3; mov.b32 %r10, %r11; @%p1 bra LOOP;)",
                               "%r10");
  uint32_t copies = 0;
  for (const MachineOp& op : a.program.ops) copies += op.copy_count;
  EXPECT_GE(copies, 1u);
  EXPECT_EQ(a.count("imad"), 1);
  EXPECT_EQ(a.count("alu"), lower_body("", "%r1").count("alu"));
}

TEST(LowerSchedule, LoadsGoFirstAndTheBranchLast) {
  const Lowered a = lower_body("ld.shared.u32 %r10, [%r1]; fma.rn.f32 %f9, %f1, %f2, %f3; ld.shared.u32 %r11, [%r2]; add.s32 %r12, %r10, %r11;",
                               "%f9 %r12", 80, true);
  const auto at = [&](TimingClass c) {
    for (size_t s = 0; s < a.program.ops.size(); ++s)
      if (a.program.ops[s].timing == c) return s;
    return a.program.ops.size();
  };
  EXPECT_TRUE(a.program.ops.back().ends_block);
  EXPECT_LT(at(TimingClass::lds), at(TimingClass::fma));
}

TEST(LowerBanks, OperandsOfOneBankTakeTurns) {
  Diagnostics diags;
  const auto module = isa::load_module("k.ptx", R"(.version 8.5
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 %rd<3>; .reg .f32 %f<9>;
  ld.param.u64 %rd1, [p];
  ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; ld.global.f32 %f3, [%rd1+8]; ld.global.f32 %f4, [%rd1+12];
  fma.rn.f32 %f5, %f1, %f2, %f3;
  fma.rn.f32 %f6, %f1, %f2, %f4;
  st.global.f32 [%rd1], %f5; st.global.f32 [%rd1+4], %f6;
  ret;
}
)",
                                       diags);
  ASSERT_TRUE(module);
  const auto cycles = [&](uint32_t banks, uint32_t ports, uint32_t reuse) {
    cfg::Machine machine = machine_of(80);
    machine.regfile = {.banks = banks, .read_ports_per_bank = ports, .reuse_slots = reuse};
    machine.timing[static_cast<size_t>(TimingClass::fma)].interval = 1;
    const LoweredProgram program = lower(*module, module->kernels[0], machine, {.registers = 0, .schedule = false}, diags);
    std::vector<int> result;
    for (const MachineOp& op : program.ops)
      if (op.timing == TimingClass::fma) result.push_back(op.read_cycles);
    return result;
  };
  EXPECT_THAT(cycles(1, 1, 0), ElementsAre(2, 2));  // three reads through one port: two more cycles
  EXPECT_THAT(cycles(1, 3, 0), ElementsAre(0, 0));
  EXPECT_THAT(cycles(2, 1, 0), ElementsAre(1, 1));  // two of three operands must share one of two banks
  EXPECT_THAT(cycles(1, 1, 3), ElementsAre(2, 0));  // the second reads only %f4: the other two are held
}

TEST(LowerErrors, MatrixShapeWithoutARow) {
  Diagnostics diags;
  cfg::Machine machine = machine_of(90);
  machine.mma.clear();
  const auto module = isa::load_module("k.ptx", R"(.version 8.5
.target sm_80
.address_size 64
.visible .entry k() {
  .reg .b32 %r<9>; .reg .f32 %f<9>;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};
  st.shared.f32 [%r1], %f1;
  ret;
}
)",
                                       diags);
  ASSERT_TRUE(module);
  lower(*module, module->kernels[0], machine, {}, diags);
  ASSERT_EQ(diags.error_count(), 1u);
  EXPECT_EQ(diags.all()[0].kind, "unsupported-instruction");
  EXPECT_EQ(diags.all()[0].place.line, 6u);
}

}  // namespace
}  // namespace tcsim::sim
