// PTX ISA "Logic and Shift Instructions".
#include "isa/insn/logic.h"

#include "isa/insn/common.h"

namespace tcsim::isa {
namespace {

using namespace logic;

// ---- and, or, xor, not on predicates: one operation on lane masks ----

template <class Op>
void exec_pred_binary(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  ctx.set_pred(inst.operand(0).slot, Op::template f<uint32_t>(ctx.pred(inst.operand(1)), ctx.pred(inst.operand(2))), mask);
}
void exec_pred_not(ExecContext& ctx, const Inst& inst, uint32_t mask) { ctx.set_pred(inst.operand(0).slot, ~ctx.pred(inst.operand(1)), mask); }

template <class Op>
std::string bind_binary(Inst& inst, const Decoded& d, isa::Op op) {
  const Type type = d.type();
  describe(inst, op, type, TimingClass::alu);
  inst.exec = type == Type::pred ? &exec_pred_binary<Op> : exec_for_width<Op>(type);
  return expect_operands(inst, d, {type, type, type});
}
std::string bind_and(Inst& inst, const Decoded& d) { return bind_binary<And>(inst, d, Op::and_); }
std::string bind_or(Inst& inst, const Decoded& d) { return bind_binary<Or>(inst, d, Op::or_); }
std::string bind_xor(Inst& inst, const Decoded& d) { return bind_binary<Xor>(inst, d, Op::xor_); }
std::string bind_not(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::not_, type, TimingClass::alu);
  inst.exec = type == Type::pred ? &exec_pred_not : exec_for_width<Not>(type);
  return expect_operands(inst, d, {type, type});
}
std::string bind_cnot(Inst& inst, const Decoded& d) {
  describe(inst, Op::cnot, d.type(), TimingClass::alu);
  inst.exec = exec_for_width<Cnot>(d.type());
  return expect_operands(inst, d, {d.type(), d.type()});
}

// ---- lop3: inst.aux = truth table; flags: how the predicate result is combined ----

constexpr uint32_t kLopOr = 1, kLopAnd = 2;

void lop3_lanes(ExecContext& ctx, const Inst& inst, uint32_t* value) {
  const uint32_t* a = ctx.src<uint32_t>(inst.operand(1));
  const uint32_t* b = ctx.src<uint32_t>(inst.operand(2));
  const uint32_t* c = ctx.src<uint32_t>(inst.operand(3));
  const auto table = static_cast<uint32_t>(inst.aux);
  uint32_t row[8];
  for (int i = 0; i < 8; ++i) row[i] = table >> i & 1 ? ~0u : 0u;
  for (int l = 0; l < kLanes; ++l) value[l] = lop3(a[l], b[l], c[l], row);
}
void exec_lop3(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  alignas(64) uint32_t value[kLanes];
  lop3_lanes(ctx, inst, value);
  commit(ctx.reg<uint32_t>(inst.operand(0).slot), value, mask);
}
void exec_lop3_bool(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  alignas(64) uint32_t value[kLanes];
  lop3_lanes(ctx, inst, value);
  uint32_t nonzero = 0;
  for (int l = 0; l < kLanes; ++l) nonzero |= static_cast<uint32_t>(value[l] != 0) << l;
  const uint32_t q = ctx.pred(inst.operand(5));
  const Operand& d = inst.group(0)[0];
  if (d.kind == Operand::Kind::reg) commit(ctx.reg<uint32_t>(d.slot), value, mask);
  ctx.set_pred(inst.group(0)[1].slot, inst.flags == kLopOr ? nonzero | q : nonzero & q, mask);
}
std::string bind_lop3(Inst& inst, const Decoded& d) {
  describe(inst, Op::lop3, Type::b32, TimingClass::alu);
  const Operand& table = inst.operand(4);
  if (table.kind != Operand::Kind::constant || table.value < 0 || table.value > 255) return "immLut is not an immediate from 0 to 255";
  inst.aux = static_cast<uint64_t>(table.value);
  inst.exec = &exec_lop3;
  if (d.has("or") || d.has("and")) {
    inst.exec = &exec_lop3_bool;
    inst.flags = d.has("or") ? kLopOr : kLopAnd;
    if (inst.group(0).size() != 2 || inst.group(0)[1].kind != Operand::Kind::pred)
      return "lop3 with a Boolean operator has no predicate destination, expected d|p";
    return expect_operands(inst, d, {Type::b32, Type::b32, Type::b32, Type::b32, Type::none, Type::pred});
  }
  return expect_operands(inst, d, {Type::b32, Type::b32, Type::b32, Type::b32});
}

// ---- shifts ----

std::string bind_shl(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::shl, type, TimingClass::alu);
  inst.exec = exec_for_width<Shl>(type);
  return expect_operands(inst, d, {type, type, Type::u32});
}
std::string bind_shr(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::shr, type, TimingClass::alu);
  inst.exec = exec_for_type<Shr>(type);
  return expect_operands(inst, d, {type, type, Type::u32});
}
std::string bind_shf(Inst& inst, const Decoded& d) {
  describe(inst, Op::shf, Type::b32, TimingClass::alu);
  const bool clamp = d.value("mode") == "clamp";
  inst.exec = d.value("direction") == "l" ? (clamp ? exec<&shf_left<true>> : exec<&shf_left<false>>)
                                          : (clamp ? exec<&shf_right<true>> : exec<&shf_right<false>>);
  return expect_operands(inst, d, {Type::b32, Type::b32, Type::b32, Type::u32});
}

constexpr InstDef kLogicRows[] = {
    {.base = "and",
     .syntax = "and.type d, a, b;  .type = { .pred, .b16, .b32, .b64 };",
     .op = Op::and_,
     .bind = &bind_and,
     .since = {1, 0, 0},
     .manual = "Logic and Shift Instructions: and",
     .doc = "bitwise and"},
    {.base = "or",
     .syntax = "or.type d, a, b;  .type = { .pred, .b16, .b32, .b64 };",
     .op = Op::or_,
     .bind = &bind_or,
     .since = {1, 0, 0},
     .manual = "Logic and Shift Instructions: or",
     .doc = "bitwise or"},
    {.base = "xor",
     .syntax = "xor.type d, a, b;  .type = { .pred, .b16, .b32, .b64 };",
     .op = Op::xor_,
     .bind = &bind_xor,
     .since = {1, 0, 0},
     .manual = "Logic and Shift Instructions: xor",
     .doc = "bitwise exclusive or"},
    {.base = "not",
     .syntax = "not.type d, a;  .type = { .pred, .b16, .b32, .b64 };",
     .op = Op::not_,
     .bind = &bind_not,
     .since = {1, 0, 0},
     .manual = "Logic and Shift Instructions: not",
     .doc = "one's complement"},
    {.base = "cnot",
     .syntax = "cnot.type d, a;  .type = { .b16, .b32, .b64 };",
     .op = Op::cnot,
     .bind = &bind_cnot,
     .since = {1, 0, 0},
     .manual = "Logic and Shift Instructions: cnot",
     .doc = "1 if a is 0, else 0"},
    {.base = "lop3",
     .syntax = "lop3.b32 d, a, b, c, immLut;",
     .op = Op::lop3,
     .bind = &bind_lop3,
     .since = {4, 3, 50},
     .manual = "Logic and Shift Instructions: lop3",
     .doc = "any logical function of three inputs, given as a truth table"},
    {.base = "lop3",
     .syntax = "lop3.BoolOp.b32 d|p, a, b, c, immLut, {!}q;  .BoolOp = { .or, .and };",
     .op = Op::lop3,
     .bind = &bind_lop3,
     .since = {8, 2, 70},
     .manual = "Logic and Shift Instructions: lop3",
     .doc = "lop3, and p = (d != 0) BoolOp q"},
    {.base = "shl",
     .syntax = "shl.type d, a, b;  .type = { .b16, .b32, .b64 };",
     .op = Op::shl,
     .bind = &bind_shl,
     .since = {1, 0, 0},
     .manual = "Logic and Shift Instructions: shl",
     .doc = "shift left, amounts beyond the width give 0"},
    {.base = "shr",
     .syntax = "shr.type d, a, b;  .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64 };",
     .op = Op::shr,
     .bind = &bind_shr,
     .since = {1, 0, 0},
     .manual = "Logic and Shift Instructions: shr",
     .doc = "shift right, signed types fill with the sign"},
    {.base = "shf",
     .syntax = "shf.direction.mode.b32 d, a, b, c;  .direction = { .l, .r };  .mode = { .clamp, .wrap };",
     .op = Op::shf,
     .bind = &bind_shf,
     .since = {3, 1, 32},
     .manual = "Logic and Shift Instructions: shf",
     .doc = "funnel shift of the 64 bits b:a"},
};

}  // namespace

std::span<const InstDef> logic_instructions() { return kLogicRows; }

}  // namespace tcsim::isa
