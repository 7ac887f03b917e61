// cvt between scalar types: which combinations of types, rounding, .ftz and .sat exist, and the shell that runs a core.
#include <fmt/format.h>
#include <algorithm>
#include <vector>

#include "isa/insn/convert.h"
#include "isa/insn/convert_exec.h"
#include "isa/insn/convert_rows.h"

namespace tcsim::isa {
namespace {

using namespace conversion;

// ---- shell. flags: rounding (2 bits) and how registers differ from the types ----

constexpr uint32_t kRoundingMask = 3, kWideSource = 4, kWideResult = 8, kSignedResult = 16, kResult8 = 32, kResult16 = 64, kSignedTo16 = 128;

/// Natural registers: 32 bits for types up to 32 bits, 64 for 64-bit types.
template <class Raw>
void exec_natural(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  alignas(64) Raw value[kLanes];
  static_cast<const Plan*>(inst.plan)->core(ctx.src<uint32_t>(inst.operand(1)), value, inst.flags & kRoundingMask);
  commit(ctx.reg<Raw>(inst.operand(0).slot), value, mask);
}

/// Result bits as the destination register wants them: types below 32 bits are sign- or zero-extended.
void extend_small(uint32_t* value, uint32_t flags) {
  const bool is_signed = (flags & (kSignedResult | kSignedTo16)) != 0;
  const int shift = (flags & kResult8) ? 24 : 16;
  const uint32_t keep = (flags & kSignedTo16) ? 0xffffu : ~0u;
  for (int l = 0; l < kLanes; ++l)
    value[l] = keep & (is_signed ? static_cast<uint32_t>(static_cast<int32_t>(value[l] << shift) >> shift) : value[l] << shift >> shift);
}
void exec_any_width(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  alignas(64) uint32_t narrow[kLanes];
  alignas(64) uint64_t value[kLanes];
  auto* words = reinterpret_cast<uint32_t*>(value);
  const void* source = ctx.src<uint32_t>(inst.operand(1));
  if (inst.flags & kWideSource) {
    const auto* wide = ctx.src<uint64_t>(inst.operand(1));
    for (int l = 0; l < kLanes; ++l) narrow[l] = static_cast<uint32_t>(wide[l]);
    source = narrow;
  }
  static_cast<const Plan*>(inst.plan)->core(source, value, inst.flags & kRoundingMask);
  const Operand& d = inst.operand(0);
  if (bits(inst.type) == 64) return commit(ctx.reg<uint64_t>(d.slot), value, mask);
  if (inst.flags & (kResult8 | kResult16)) extend_small(words, inst.flags);
  if (!(inst.flags & kWideResult)) return commit(ctx.reg<uint32_t>(d.slot), words, mask);
  alignas(64) uint64_t wide[kLanes];
  const bool is_signed = (inst.flags & kSignedResult) != 0;
  for (int l = 0; l < kLanes; ++l) wide[l] = is_signed ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(words[l]))) : words[l];
  commit(ctx.reg<uint64_t>(d.slot), wide, mask);
}

// ---- which conversions exist ----

bool is_integer(Type type) { return is_signed(type) || is_unsigned(type); }
/// Values of `from` that `to` cannot hold exist, so that .sat has something to do.
bool range_exceeds(Type to, Type from) {
  if (is_signed(to) == is_signed(from)) return bits(to) < bits(from);
  return is_signed(from) ? true : bits(to) <= bits(from);
}
/// Float to float that can lose digits or range.
bool narrows(Type to, Type from) {
  if (to == from) return false;
  if (to == Type::f64) return false;
  if (to == Type::f32) return from == Type::f64;
  return true;  // to f16 or bf16 from anything else
}

struct Request {
  Type to, from;
  bool integral_rounding, float_rounding, ftz, sat;
};

/// Empty when the manual has the combination.
std::string check_combination(const Request& r) {
  const bool from_int = is_integer(r.from), to_int = is_integer(r.to);
  if (r.ftz && r.to != Type::f32 && r.from != Type::f32) return ".ftz needs .f32 as one of the types";
  if (from_int && to_int) {
    if (r.integral_rounding || r.float_rounding) return "a conversion between integers takes no rounding modifier";
    if (r.sat && !range_exceeds(r.to, r.from)) return fmt::format(".sat has no effect from .{} to .{}, expected no .sat", name(r.from), name(r.to));
    return {};
  }
  if (to_int) return r.integral_rounding ? "" : "a conversion to an integer has no rounding modifier, expected .rni, .rzi, .rmi or .rpi";
  if (from_int) return r.float_rounding ? "" : "a conversion from an integer has no rounding modifier, expected .rn, .rz, .rm or .rp";
  if (narrows(r.to, r.from))
    return r.float_rounding
               ? ""
               : fmt::format("a conversion from .{} to .{} has no rounding modifier, expected .rn, .rz, .rm or .rp", name(r.from), name(r.to));
  if (r.float_rounding) return fmt::format("a conversion from .{} to .{} is exact, expected no rounding modifier", name(r.from), name(r.to));
  if (r.integral_rounding && r.to != r.from) return "rounding to an integral value needs two equal types";
  return {};
}

TimingClass timing_of(Type to, Type from) {
  const bool from_int = is_integer(from), to_int = is_integer(to);
  if (from_int && to_int) return TimingClass::alu;
  if (from_int != to_int) return TimingClass::cvt;
  if (to == Type::f64 || from == Type::f64) return TimingClass::cvt;
  if (to == from) return TimingClass::alu;
  return to == Type::f32 ? TimingClass::alu : TimingClass::cvt_pack;
}

const Plan* choose_plan(const Request& r, uint32_t rounding) {
  const bool from_int = is_integer(r.from), to_int = is_integer(r.to), directed = rounding != kRoundNearest;
  if (from_int && to_int) return int_to_int_plan(r.to, r.from, r.sat);
  if (from_int) return int_to_float_plan(r.to, r.from, r.sat, directed);
  if (to_int) return float_to_int_plan(r.to, r.from, r.ftz);
  return float_to_float_plan(r.to, r.from, r.ftz, r.sat, r.integral_rounding, directed);
}

/// Width of a register as declared; Operand::bit_width counts 8 and 16 bits as 32. 16 when nothing is known.
int declared_bits(const Operand& op, const Decoded& d) {
  if (op.bit_width > 32 || !d.kernel) return op.bit_width == 32 ? 16 : op.bit_width;
  const auto& names = d.kernel->register_names;
  for (size_t i = names.size(); i-- > 0;)
    if (names[i].first == op.slot && i < d.kernel->register_types.size()) return bits(d.kernel->register_types[i]);
  return 16;
}

/// Register width of an operand: at least that of its type; immediates get the natural width of the type.
std::string fit_registers(Inst& inst, const Decoded& d) {
  const int to_bits = bits(inst.type), from_bits = bits(inst.type2);
  const Operand& dst = inst.operand(0);
  const Operand& src = inst.operand(1);
  if (dst.kind != Operand::Kind::reg) return fmt::format("operand 1 is not a register, expected a register for .{}", name(inst.type));
  if (src.kind == Operand::Kind::constant) {
    if (auto error = expect_operands(inst, d, {Type::none, inst.type2}); !error.empty()) return error;
  } else if (src.kind != Operand::Kind::reg) {
    return fmt::format("operand 2 is not a register, expected a register for .{}", name(inst.type2));
  }
  if (src.bit_width > 32 && from_bits <= 32) inst.flags |= kWideSource;
  if (dst.bit_width > 32 && to_bits <= 32) inst.flags |= kWideResult;
  if (src.kind == Operand::Kind::reg && src.bit_width <= 32 && from_bits == 64)
    return fmt::format("the source is a {}-bit register, expected 64 bits for .{}", src.bit_width, name(inst.type2));
  if (dst.bit_width <= 32 && to_bits == 64)
    return fmt::format("the destination is a {}-bit register, expected 64 bits for .{}", dst.bit_width, name(inst.type));
  if (is_integer(inst.type) && to_bits < 32) {
    inst.flags |= to_bits == 8 ? kResult8 : kResult16;
    if (is_signed(inst.type)) {
      const int width = declared_bits(dst, d);  // a signed result is extended to the register's width, and no further
      if (width > 16) inst.flags |= kSignedResult;
      else if (width == 16 && to_bits == 8) inst.flags |= kSignedTo16;
    }
  } else if (inst.type == Type::s32) {
    inst.flags |= kSignedResult;
  }
  return {};
}

std::string bind_cvt(Inst& inst, const Decoded& d) {
  const auto irnd = d.value("irnd"), frnd = d.value("frnd");
  // Literals of the bf16 rows have no set name: the last two modifiers are always the types.
  const Type to = type_from_name(d.mods[d.mods.size() - 2].value).value_or(Type::none);
  const Type from = type_from_name(d.mods.back().value).value_or(Type::none);
  const Request request{to, from, !irnd.empty(), !frnd.empty(), d.has("ftz"), d.has("sat")};
  if (auto error = check_combination(request); !error.empty()) return error;
  describe(inst, Op::cvt, to, timing_of(to, from), from);
  const uint32_t rounding = rounding_of(irnd.empty() ? frnd : irnd.substr(0, 2));
  inst.plan = choose_plan(request, rounding);
  inst.flags = rounding;
  if (auto error = fit_registers(inst, d); !error.empty()) return error;
  const bool natural = (inst.flags & ~(kRoundingMask | kSignedResult)) == 0;
  inst.exec = !natural ? &exec_any_width : bits(to) == 64 ? &exec_natural<uint64_t> : &exec_natural<uint32_t>;
  return {};
}

constexpr InstDef kScalarRows[] = {
    {.base = "cvt",
     .syntax = "cvt{.frnd}{.ftz}{.sat}.dtype.atype d, a;  cvt.irnd{.ftz}{.sat}.dtype.atype d, a;"
               "  .frnd = { .rn, .rz, .rm, .rp };  .irnd = { .rni, .rzi, .rmi, .rpi };"
               "  .dtype = { .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f16, .f32, .f64 };"
               "  .atype = { .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f16, .f32, .f64 };",
     .op = Op::cvt,
     .bind = &bind_cvt,
     .since = {1, 0, 0},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "convert"},
    {.base = "cvt",
     .syntax = "cvt.f32.bf16 d, a;",
     .op = Op::cvt,
     .bind = &bind_cvt,
     .since = {7, 1, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "bf16 to f32"},
    {.base = "cvt",
     .syntax = "cvt.ftz.f32.bf16 d, a;",
     .op = Op::cvt,
     .bind = &bind_cvt,
     .since = {7, 8, 90},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "bf16 to f32"},
    {.base = "cvt",
     .syntax = "cvt{.frnd}.dtype.bf16 d, a;  cvt.irnd.dtype.bf16 d, a;"
               "  .frnd = { .rn, .rz, .rm, .rp };  .irnd = { .rni, .rzi, .rmi, .rpi };"
               "  .dtype = { .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f16, .f64, .bf16 };",
     .op = Op::cvt,
     .bind = &bind_cvt,
     .since = {7, 8, 90},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "convert from bf16"},
    {.base = "cvt",
     .syntax = "cvt{.frnd}.bf16.atype d, a;  .frnd = { .rn, .rz, .rm, .rp };"
               "  .atype = { .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f16, .f64 };",
     .op = Op::cvt,
     .bind = &bind_cvt,
     .since = {7, 8, 90},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "convert to bf16"},
};

}  // namespace

std::span<const InstDef> convert_instructions() {
  static const std::vector<InstDef> rows = [] {
    std::vector<InstDef> all(std::begin(kScalarRows), std::end(kScalarRows));
    for (const InstDef& row : packed_convert_rows()) all.push_back(row);
    for (const InstDef& row : stochastic_convert_rows()) all.push_back(row);
    return all;
  }();
  return rows;
}

}  // namespace tcsim::isa
