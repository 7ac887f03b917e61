// Control flow (PTX ISA, "Control Flow Instructions" and "Miscellaneous Instructions"). Calls are inlined by the front end.
#include <algorithm>

#include "isa/insn/access.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

void run_nothing(ExecContext&, const Inst&, uint32_t) {}

/// The warp moves the lanes: to inst.target, or (brx) to the label that the index chooses.
void run_branch(ExecContext& ctx, const Inst&, uint32_t mask) {
  ctx.fx.control = Control::branch;
  ctx.fx.lanes = mask;
}

std::string bind_bra(Inst& inst, const Decoded& d) {
  inst.op = Op::bra;
  inst.timing = TimingClass::branch;
  inst.uniform_branch = d.has("uni");
  inst.exec = &run_branch;
  if (inst.operand(0).kind != Operand::Kind::label) return "operand 1 is not a label, expected a label";
  return {};
}

std::string bind_brx(Inst& inst, const Decoded& d) {
  inst.op = Op::brx;
  inst.timing = TimingClass::branch;
  inst.exec = &run_branch;
  return expect_group(inst, 0, d, 32, false, false);
}

void run_exit(ExecContext& ctx, const Inst&, uint32_t mask) {
  ctx.fx.control = Control::exit;
  ctx.fx.lanes = mask;
}

std::string bind_exit(Inst& inst, const Decoded&) {
  inst.op = inst.def && inst.def->op == Op::ret ? Op::ret : Op::exit;
  inst.timing = TimingClass::branch;
  inst.exec = &run_exit;
  return {};
}

void run_trap(ExecContext& ctx, const Inst&, uint32_t mask) {
  ctx.fault("illegal-instruction", std::countr_zero(mask), 0, "the kernel executed trap");
}

std::string bind_trap(Inst& inst, const Decoded&) {
  inst.op = Op::trap;
  inst.timing = TimingClass::branch;
  inst.exec = &run_trap;
  return {};
}

/// Breakpoints and performance-monitor events have nobody who listens.
std::string bind_nothing(Inst& inst, const Decoded&) {
  inst.op = inst.def ? inst.def->op : Op::pmevent;
  inst.timing = TimingClass::nop;
  inst.exec = &run_nothing;
  return {};
}

void run_nanosleep(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const uint32_t* t = ctx.src<uint32_t>(inst.operand(0));
  uint32_t longest = 0;
  each_lane(mask, [&](int l) { longest = std::max(longest, t[l]); });
  ctx.fx.control = Control::sleep;
  ctx.fx.lanes = mask;
  ctx.fx.count = longest;
}

std::string bind_nanosleep(Inst& inst, const Decoded& d) {
  inst.op = Op::nanosleep;
  inst.type = Type::u32;
  inst.timing = TimingClass::nanosleep;
  inst.exec = &run_nanosleep;
  return expect_group(inst, 0, d, 32, false, false);
}

}  // namespace

std::span<const InstDef> control_instructions() {
  static const std::vector<InstDef> table = {
      {.base = "bra",
       .syntax = "bra{.uni} tgt;",
       .op = Op::bra,
       .bind = &bind_bra,
       .since = {1, 0, 0},
       .manual = "Control Flow: bra",
       .doc = "branch"},
      {.base = "brx",
       .syntax = "brx.idx{.uni} index, tlist;",
       .op = Op::brx,
       .bind = &bind_brx,
       .since = {6, 0, 30},
       .manual = "Control Flow: brx.idx",
       .doc = "branch to a label of a table"},
      {.base = "ret",
       .syntax = "ret{.uni};",
       .op = Op::ret,
       .bind = &bind_exit,
       .since = {1, 0, 0},
       .manual = "Control Flow: ret",
       .doc = "return; in a kernel: end the thread"},
      {.base = "exit",
       .syntax = "exit;",
       .op = Op::exit,
       .bind = &bind_exit,
       .since = {1, 0, 0},
       .manual = "Control Flow: exit",
       .doc = "end the thread"},
      {.base = "trap",
       .syntax = "trap;",
       .op = Op::trap,
       .bind = &bind_trap,
       .since = {1, 0, 0},
       .manual = "Miscellaneous: trap",
       .doc = "end the kernel with an error"},
      {.base = "brkpt",
       .syntax = "brkpt;",
       .op = Op::brkpt,
       .bind = &bind_nothing,
       .since = {1, 0, 0},
       .manual = "Miscellaneous: brkpt",
       .doc = "breakpoint; does nothing here"},
      {.base = "pmevent",
       .syntax = "pmevent a;\n\npmevent.mask a;",
       .op = Op::pmevent,
       .bind = &bind_nothing,
       .since = {1, 4, 0},
       .manual = "Miscellaneous: pmevent",
       .doc = "performance-monitor event; does nothing here"},
      {.base = "nanosleep",
       .syntax = "nanosleep.u32 t;",
       .op = Op::nanosleep,
       .bind = &bind_nanosleep,
       .since = {6, 3, 70},
       .manual = "Miscellaneous: nanosleep",
       .doc = "suspend the thread for about t nanoseconds"},
  };
  return table;
}

}  // namespace tcsim::isa
