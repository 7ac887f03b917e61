// PTX ISA "Comparison and Selection Instructions" and "Half Precision Comparison Instructions".
//
// A comparison is a TestFn (32 lanes -> mask), found once by bind: Inst::plan points at it. The Boolean operator works on
// whole lane masks, so it costs nothing per lane.
#include "isa/insn/compare_exec.h"

#include <fmt/format.h>

#include "isa/insn/fp.h"

namespace tcsim::isa {
namespace {

using namespace compare;

enum Combine : uint32_t { kNoCombine = 0, kAnd = 1, kOr = 2, kXor = 3 };

Combine combine_of(std::string_view name) { return name == "and" ? kAnd : name == "or" ? kOr : name == "xor" ? kXor : kNoCombine; }
uint32_t combine(uint32_t kind, uint32_t t, uint32_t c) {
  switch (kind) {
    case kAnd: return t & c;
    case kOr: return t | c;
    default: return t ^ c;
  }
}

uint32_t low_test(ExecContext& ctx, const Inst& inst) { return static_cast<const Tests*>(inst.plan)->low(ctx, inst); }
uint32_t high_test(ExecContext& ctx, const Inst& inst) { return static_cast<const Tests*>(inst.plan)->high(ctx, inst); }

// ---- setp ----

void exec_setp(ExecContext& ctx, const Inst& inst, uint32_t mask) { ctx.set_pred(inst.operand(0).slot, low_test(ctx, inst), mask); }
void set_both(ExecContext& ctx, const Inst& inst, uint32_t p, uint32_t q, uint32_t mask) {
  if (inst.flags != kNoCombine) {
    const uint32_t c = ctx.pred(inst.operand(3));
    p = combine(inst.flags, p, c);
    q = combine(inst.flags, q, c);
  }
  const auto d = inst.group(0);
  if (d[0].kind == Operand::Kind::pred) ctx.set_pred(d[0].slot, p, mask);
  if (d.size() > 1 && d[1].kind == Operand::Kind::pred) ctx.set_pred(d[1].slot, q, mask);
}
void exec_setp_full(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const uint32_t t = low_test(ctx, inst);
  set_both(ctx, inst, t, ~t, mask);
}
void exec_setp_packed(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const uint32_t t0 = low_test(ctx, inst), t1 = high_test(ctx, inst);
  set_both(ctx, inst, t0, t1, mask);
}

std::string use_tests(Inst& inst, const Decoded& d, Type type) {
  const auto cmp = d.value("CmpOp");
  const Tests* found = find_tests(cmp, type, d.has("ftz"));
  if (!found) return fmt::format("comparison .{}{} does not exist for .{}", cmp, d.has("ftz") ? ".ftz" : "", name(type));
  inst.plan = found;
  inst.flags = combine_of(d.value("BoolOp"));
  return {};
}

std::string bind_setp(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  const bool half = type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
  describe(inst, Op::setp, type, half ? TimingClass::half : type == Type::f64 ? TimingClass::fp64 : TimingClass::isetp);
  if (auto error = use_tests(inst, d, type); !error.empty()) return error;
  const bool packed = type == Type::f16x2 || type == Type::bf16x2;
  const bool simple = inst.flags == kNoCombine && inst.group(0).size() == 1 && inst.operand(0).kind == Operand::Kind::pred;
  inst.exec = packed ? &exec_setp_packed : simple ? &exec_setp : &exec_setp_full;
  for (const Operand& p : inst.group(0))
    if (p.kind != Operand::Kind::pred && p.kind != Operand::Kind::sink) return "the destination of setp is not a predicate";
  return expect_operands(inst, d, {Type::none, type, type, Type::pred});
}

// ---- set: d = (t BoolOp c) ? one : 0 ----

uint32_t combined(ExecContext& ctx, const Inst& inst, uint32_t t) {
  return inst.flags == kNoCombine ? t : combine(inst.flags, t, ctx.pred(inst.operand(3)));
}
template <uint32_t One>
void exec_set(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const uint32_t t = combined(ctx, inst, low_test(ctx, inst));
  alignas(64) uint32_t value[kLanes];
  for (int l = 0; l < kLanes; ++l) value[l] = (t >> l & 1) ? One : 0u;
  commit(ctx.reg<uint32_t>(inst.operand(0).slot), value, mask);
}
template <uint32_t One>  // of a half
void exec_set_packed(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const uint32_t t0 = combined(ctx, inst, low_test(ctx, inst)), t1 = combined(ctx, inst, high_test(ctx, inst));
  alignas(64) uint32_t value[kLanes];
  for (int l = 0; l < kLanes; ++l) value[l] = ((t0 >> l & 1) ? One : 0u) | ((t1 >> l & 1) ? One << 16 : 0u);
  commit(ctx.reg<uint32_t>(inst.operand(0).slot), value, mask);
}

ExecFn set_exec(Type dtype, bool packed) {
  switch (dtype) {
    case Type::f32: return &exec_set<0x3f800000u>;
    case Type::f16: return &exec_set<0x3c00u>;
    case Type::bf16: return &exec_set<0x3f80u>;
    case Type::f16x2: return &exec_set_packed<0x3c00u>;
    case Type::bf16x2: return &exec_set_packed<0x3f80u>;
    case Type::u16:
    case Type::s16: return &exec_set<0xffffu>;
    default: return packed ? &exec_set_packed<0xffffu> : &exec_set<0xffffffffu>;
  }
}
std::string bind_set(Inst& inst, const Decoded& d) {
  const Type dtype = d.type("dtype"), stype = d.type("stype");
  describe(inst, Op::set, dtype, stype == Type::f64 ? TimingClass::fp64 : TimingClass::isetp, stype);
  if (auto error = use_tests(inst, d, stype); !error.empty()) return error;
  inst.exec = set_exec(dtype, stype == Type::f16x2 || stype == Type::bf16x2);
  return expect_operands(inst, d, {dtype, stype, stype, Type::pred});
}

// ---- selp, slct ----

template <class Raw>
void exec_selp(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const Raw* a = ctx.src<Raw>(inst.operand(1));
  const Raw* b = ctx.src<Raw>(inst.operand(2));
  const uint32_t c = ctx.pred(inst.operand(3));
  alignas(64) Raw value[kLanes];
  for (int l = 0; l < kLanes; ++l) value[l] = (c >> l & 1) ? a[l] : b[l];
  commit(ctx.reg<Raw>(inst.operand(0).slot), value, mask);
}
std::string bind_selp(Inst& inst, const Decoded& d) {
  const Type type = d.type();
  describe(inst, Op::selp, type, TimingClass::alu);
  inst.exec = bits(type) == 64 ? &exec_selp<uint64_t> : &exec_selp<uint32_t>;
  return expect_operands(inst, d, {type, type, type, Type::pred});
}

// c is a NaN: b. -0 and, with ftz, negative subnormals count as 0.
template <class Raw>
Raw slct_s32(Raw a, Raw b, int32_t c) {
  return c >= 0 ? a : b;
}
template <class Raw>
Raw slct_f32(Raw a, Raw b, float c) {
  return c >= 0.0f ? a : b;
}
template <class Raw>
Raw slct_f32_ftz(Raw a, Raw b, float c) {
  return fp::flush(c) >= 0.0f ? a : b;
}

std::string bind_slct_s32(Inst& inst, const Decoded& d) {
  const Type type = d.type("dtype");
  describe(inst, Op::slct, type, TimingClass::alu, Type::s32);
  inst.exec = bits(type) == 64 ? exec<&slct_s32<uint64_t>> : exec<&slct_s32<uint32_t>>;
  return expect_operands(inst, d, {type, type, type, Type::s32});
}
std::string bind_slct_f32(Inst& inst, const Decoded& d) {
  const Type type = d.type("dtype");
  describe(inst, Op::slct, type, TimingClass::alu, Type::f32);
  const bool wide = bits(type) == 64;
  if (d.has("ftz")) inst.exec = wide ? exec<&slct_f32_ftz<uint64_t>> : exec<&slct_f32_ftz<uint32_t>>;
  else inst.exec = wide ? exec<&slct_f32<uint64_t>> : exec<&slct_f32<uint32_t>>;
  return expect_operands(inst, d, {type, type, type, Type::f32});
}

constexpr InstDef kCompareRows[] = {
    {.base = "setp",
     .syntax = "setp.CmpOp{.ftz}.type p{|q}, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, .leu, .gtu, .geu, "
               ".num, .nan };  .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };",
     .op = Op::setp,
     .bind = &bind_setp,
     .since = {1, 0, 0},
     .manual = "Comparison and Selection Instructions: setp",
     .doc = "compare, and combine with a predicate"},
    {.base = "setp",
     .syntax =
         "setp.CmpOp.BoolOp{.ftz}.type p{|q}, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, .leu, "
         ".gtu, .geu, .num, .nan };  .BoolOp = { .and, .or, .xor };  .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };",
     .op = Op::setp,
     .bind = &bind_setp,
     .since = {1, 0, 0},
     .manual = "Comparison and Selection Instructions: setp",
     .doc = "compare, and combine with a predicate"},
    {.base = "setp",
     .syntax = "setp.CmpOp{.ftz}.type p, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  .type = "
               "{ .f16 };",
     .op = Op::setp,
     .bind = &bind_setp,
     .since = {4, 2, 53},
     .manual = "Half Precision Comparison Instructions: setp",
     .doc = "compare f16 values"},
    {.base = "setp",
     .syntax = "setp.CmpOp.BoolOp{.ftz}.type p, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan "
               "};  .BoolOp = { .and, .or, .xor };  .type = { .f16 };",
     .op = Op::setp,
     .bind = &bind_setp,
     .since = {4, 2, 53},
     .manual = "Half Precision Comparison Instructions: setp",
     .doc = "compare f16 values"},
    {.base = "setp",
     .syntax = "setp.CmpOp{.ftz}.type p|q, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  .type "
               "= { .f16x2 };",
     .op = Op::setp,
     .bind = &bind_setp,
     .since = {4, 2, 53},
     .manual = "Half Precision Comparison Instructions: setp",
     .doc = "compare two pairs of f16 values"},
    {.base = "setp",
     .syntax = "setp.CmpOp.BoolOp{.ftz}.type p|q, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, "
               ".nan };  .BoolOp = { .and, .or, .xor };  .type = { .f16x2 };",
     .op = Op::setp,
     .bind = &bind_setp,
     .since = {4, 2, 53},
     .manual = "Half Precision Comparison Instructions: setp",
     .doc = "compare two pairs of f16 values"},
    {.base = "setp",
     .syntax =
         "setp.CmpOp.type p, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  .type = { .bf16 };",
     .op = Op::setp,
     .bind = &bind_setp,
     .since = {7, 8, 90},
     .manual = "Half Precision Comparison Instructions: setp",
     .doc = "compare bf16 values"},
    {.base = "setp",
     .syntax = "setp.CmpOp.BoolOp.type p, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  "
               ".BoolOp = { .and, .or, .xor };  .type = { .bf16 };",
     .op = Op::setp,
     .bind = &bind_setp,
     .since = {7, 8, 90},
     .manual = "Half Precision Comparison Instructions: setp",
     .doc = "compare bf16 values"},
    {.base = "setp",
     .syntax = "setp.CmpOp.type p|q, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  .type = { "
               ".bf16x2 };",
     .op = Op::setp,
     .bind = &bind_setp,
     .since = {7, 8, 90},
     .manual = "Half Precision Comparison Instructions: setp",
     .doc = "compare two pairs of bf16 values"},
    {.base = "setp",
     .syntax = "setp.CmpOp.BoolOp.type p|q, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  "
               ".BoolOp = { .and, .or, .xor };  .type = { .bf16x2 };",
     .op = Op::setp,
     .bind = &bind_setp,
     .since = {7, 8, 90},
     .manual = "Half Precision Comparison Instructions: setp",
     .doc = "compare two pairs of bf16 values"},
    {.base = "set",
     .syntax = "set.CmpOp{.ftz}.dtype.stype d, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, .leu, .gtu, "
               ".geu, .num, .nan };  .dtype = { .u32, .s32, .f32 };  .stype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {1, 0, 0},
     .manual = "Comparison and Selection Instructions: set",
     .doc = "compare, result as a number"},
    {.base = "set",
     .syntax = "set.CmpOp.BoolOp{.ftz}.dtype.stype d, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, "
               ".leu, .gtu, .geu, .num, .nan };  .BoolOp = { .and, .or, .xor };  .dtype = { .u32, .s32, .f32 };  .stype = { .b16, .b32, .b64, .u16, "
               ".u32, .u64, .s16, .s32, .s64, .f32, .f64 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {1, 0, 0},
     .manual = "Comparison and Selection Instructions: set",
     .doc = "compare, result as a number"},
    {.base = "set",
     .syntax = "set.CmpOp{.ftz}.dtype.stype d, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  "
               ".dtype = { .f16 };  .stype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f16, .f32, .f64 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {4, 2, 53},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare, result as f16"},
    {.base = "set",
     .syntax = "set.CmpOp.BoolOp{.ftz}.dtype.stype d, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, "
               ".num, .nan };  .BoolOp = { .and, .or, .xor };  .dtype = { .f16 };  .stype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, "
               ".f16, .f32, .f64 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {4, 2, 53},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare, result as f16"},
    {.base = "set",
     .syntax = "set.CmpOp.dtype.stype d, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  .dtype = "
               "{ .bf16 };  .stype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .bf16, .f32, .f64 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {7, 8, 90},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare, result as bf16"},
    {.base = "set",
     .syntax =
         "set.CmpOp.BoolOp.dtype.stype d, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  "
         ".BoolOp = { .and, .or, .xor };  .dtype = { .bf16 };  .stype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .bf16, .f32, .f64 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {7, 8, 90},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare, result as bf16"},
    {.base = "set",
     .syntax = "set.CmpOp{.ftz}.dtype.stype d, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  "
               ".dtype = { .u16, .s16, .u32, .s32 };  .stype = { .f16 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {6, 5, 53},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare f16 values, result as an integer"},
    {.base = "set",
     .syntax = "set.CmpOp.BoolOp{.ftz}.dtype.stype d, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, "
               ".num, .nan };  .BoolOp = { .and, .or, .xor };  .dtype = { .u16, .s16, .u32, .s32 };  .stype = { .f16 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {6, 5, 53},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare f16 values, result as an integer"},
    {.base = "set",
     .syntax = "set.CmpOp.dtype.stype d, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  .dtype = "
               "{ .u16, .s16, .u32, .s32 };  .stype = { .bf16 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {7, 8, 90},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare bf16 values, result as an integer"},
    {.base = "set",
     .syntax = "set.CmpOp.BoolOp.dtype.stype d, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan "
               "};  .BoolOp = { .and, .or, .xor };  .dtype = { .u16, .s16, .u32, .s32 };  .stype = { .bf16 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {7, 8, 90},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare bf16 values, result as an integer"},
    {.base = "set",
     .syntax = "set.CmpOp{.ftz}.dtype.stype d, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  "
               ".dtype = { .f16x2 };  .stype = { .f16x2 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {4, 2, 53},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare two pairs of f16 values"},
    {.base = "set",
     .syntax = "set.CmpOp.BoolOp{.ftz}.dtype.stype d, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, "
               ".num, .nan };  .BoolOp = { .and, .or, .xor };  .dtype = { .f16x2 };  .stype = { .f16x2 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {4, 2, 53},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare two pairs of f16 values"},
    {.base = "set",
     .syntax = "set.CmpOp{.ftz}.dtype.stype d, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  "
               ".dtype = { .u32, .s32 };  .stype = { .f16x2 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {6, 5, 53},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare two pairs of f16 values"},
    {.base = "set",
     .syntax = "set.CmpOp.BoolOp{.ftz}.dtype.stype d, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, "
               ".num, .nan };  .BoolOp = { .and, .or, .xor };  .dtype = { .u32, .s32 };  .stype = { .f16x2 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {6, 5, 53},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare two pairs of f16 values"},
    {.base = "set",
     .syntax = "set.CmpOp.dtype.stype d, a, b;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };  .dtype = "
               "{ .bf16x2, .u32, .s32 };  .stype = { .bf16x2 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {7, 8, 90},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare two pairs of bf16 values"},
    {.base = "set",
     .syntax = "set.CmpOp.BoolOp.dtype.stype d, a, b, {!}c;  .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan "
               "};  .BoolOp = { .and, .or, .xor };  .dtype = { .bf16x2, .u32, .s32 };  .stype = { .bf16x2 };",
     .op = Op::set,
     .bind = &bind_set,
     .since = {7, 8, 90},
     .manual = "Half Precision Comparison Instructions: set",
     .doc = "compare two pairs of bf16 values"},
    {.base = "selp",
     .syntax = "selp.type d, a, b, c;  .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };",
     .op = Op::selp,
     .bind = &bind_selp,
     .since = {1, 0, 0},
     .manual = "Comparison and Selection Instructions: selp",
     .doc = "a where the predicate c is true, else b"},
    {.base = "slct",
     .syntax = "slct.dtype.s32 d, a, b, c;  .dtype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };",
     .op = Op::slct,
     .bind = &bind_slct_s32,
     .since = {1, 0, 0},
     .manual = "Comparison and Selection Instructions: slct",
     .doc = "a where c >= 0, else b"},
    {.base = "slct",
     .syntax = "slct{.ftz}.dtype.f32 d, a, b, c;  .dtype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };",
     .op = Op::slct,
     .bind = &bind_slct_f32,
     .since = {1, 0, 0},
     .manual = "Comparison and Selection Instructions: slct",
     .doc = "a where c >= 0, else b"},
};

}  // namespace

std::span<const InstDef> compare_instructions() { return kCompareRows; }

}  // namespace tcsim::isa
