// cvt.rs: stochastic rounding with the caller's random bits (PTX ISA "cvt", .rs and rbits).
#include <fmt/format.h>

#include "isa/insn/convert_rows.h"
#include "isa/insn/convert_small.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

using namespace conversion;

// Inst::flags: relu, satfinite. Inst::type2: the format of one result.
enum : uint32_t { kRelu = 1, kSatfinite = 2 };

/// The random bits are added below the last place of the result, the highest one counting half of it, and what is then
/// below the last place is dropped. The manual shows this as a picture for sources whose lower bits are as many as the random
/// ones; for the 8-bit and smaller results, where they are more, the random bits are taken to lie at the top.
template <class Format>
double rounded(double x, uint32_t random, int random_bits) {
  const double magnitude = std::fabs(x);
  const uint64_t e = fp::bits64(magnitude) >> 52;
  constexpr uint64_t kLowest = Format::emin + 1023;
  const uint64_t last = (e > kLowest ? e : kLowest) - (Format::p - 1);
  const double units = std::floor(magnitude * fp::double_of((2046 - last) << 52) + std::ldexp(static_cast<double>(random), -random_bits));
  return std::copysign(units * fp::double_of(last << 52), x);
}

double rounded(Type to, double x, uint32_t random, int random_bits) {
  switch (to) {
    case Type::f16: return rounded<HalfFormat>(x, random, random_bits);
    case Type::bf16: return rounded<Bf16Format>(x, random, random_bits);
    case Type::e4m3: return rounded<E4m3>(x, random, random_bits);
    case Type::e5m2: return rounded<E5m2>(x, random, random_bits);
    case Type::e3m2: return rounded<E3m2>(x, random, random_bits);
    case Type::e2m3: return rounded<E2m3>(x, random, random_bits);
    default: return rounded<E2m1>(x, random, random_bits);
  }
}

uint32_t narrow(const Inst& inst, float x, uint32_t random, int random_bits) {
  const double value = std::isfinite(x) ? rounded(inst.type2, static_cast<double>(x), random, random_bits) : static_cast<double>(x);
  const ConvertOptions options{Rounding::rn, (inst.flags & kSatfinite) != 0, (inst.flags & kRelu) != 0};
  return static_cast<uint32_t>(convert(Type::f64, inst.type2, fp::bits64(value), options));
}

void run_pair(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const uint32_t *a = ctx.src<uint32_t>(inst.operand(1)), *b = ctx.src<uint32_t>(inst.operand(2)), *random = ctx.src<uint32_t>(inst.operand(3));
  const int bits = inst.type2 == Type::f16 ? 13 : 16;
  uint32_t d[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t high = random[l] >> 16 & ((1u << bits) - 1), low = random[l] & ((1u << bits) - 1);
    d[l] = narrow(inst, fp::float_of(a[l]), high, bits) << 16 | narrow(inst, fp::float_of(b[l]), low, bits);
  }
  commit(ctx.reg<uint32_t>(inst.operand(0).slot), d, mask);
}

void run_four(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const uint32_t* const random = ctx.src<uint32_t>(inst.operand(2));
  const bool fp4 = inst.type2 == Type::e2m1;
  uint32_t d[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    // The first two results share one half of the random bits, the others the other; fp4: the upper bytes of both halves, the lower.
    const uint32_t r = random[l], upper = fp4 ? (r >> 16 & 0xff00) | (r >> 8 & 0xff) : r >> 16,
                   lower = fp4 ? (r >> 8 & 0xff00) | (r & 0xff) : r & 0xffff;
    d[l] = 0;
    for (size_t i = 0; i < 4; ++i)
      d[l] = d[l] << (fp4 ? 4 : 8) | narrow(inst, fp::float_of(ctx.src<uint32_t>(inst.group(1)[i])[l]), i < 2 ? upper : lower, 16);
  }
  commit(ctx.reg<uint32_t>(inst.operand(0).slot), d, mask);
}

std::string check_target(const Decoded& d) {
  const Module* m = d.module;
  if (!m || (m->sm >= 100 && m->sm < 120 && m->target.ends_with('a'))) return {};
  return fmt::format("target {} does not have .rs, expected sm_100a", m->target);
}

void describe_stochastic(Inst& inst, const Decoded& d, Type result, Type element) {
  describe(inst, Op::cvt, result, TimingClass::cvt_pack, element);
  inst.flags = (d.has("relu") ? kRelu : 0u) | (d.has("satfinite") ? kSatfinite : 0u);
}

std::string bind_pair(Inst& inst, const Decoded& d) {
  if (auto e = check_target(d); !e.empty()) return e;
  const bool half = d.has("f16x2");
  describe_stochastic(inst, d, half ? Type::f16x2 : Type::bf16x2, half ? Type::f16 : Type::bf16);
  inst.exec = &run_pair;
  return expect_operands(inst, d, {Type::b32, Type::f32, Type::f32, Type::b32});
}

std::string bind_four(Inst& inst, const Decoded& d) {
  if (auto e = check_target(d); !e.empty()) return e;
  const std::string_view to = d.value("to");
  describe_stochastic(inst, d, Type::b32, *type_from_name(to.substr(0, to.size() - 2)));
  inst.exec = &run_four;
  if (inst.group(1).size() != 4) return fmt::format("operand 2 has {} elements, expected {{a, b, e, f}}", inst.group(1).size());
  if (auto e = expect_operands(inst, d, {to == "e2m1x4" ? Type::b16 : Type::b32, Type::none, Type::b32}); !e.empty()) return e;
  return expect_group(inst, 1, d, 32, false, false);
}

constexpr std::string_view kManual = "Data Movement and Conversion Instructions: cvt";
const InstDef kRows[] = {
    {.base = "cvt",
     .syntax = "cvt.rs{.relu}{.satfinite}.to.f32 d, a, b, rbits;  .to = { .f16x2, .bf16x2 };",
     .op = Op::cvt,
     .bind = &bind_pair,
     .since = {8, 7, 100},
     .manual = kManual,
     .doc = "two f32 to f16 or bf16, rounded by chance"},
    {.base = "cvt",
     .syntax = "cvt.rs{.relu}.satfinite.to.f32 d, a, rbits;  .to = { .e4m3x4, .e5m2x4, .e2m3x4, .e3m2x4, .e2m1x4 };",
     .op = Op::cvt,
     .bind = &bind_four,
     .since = {8, 7, 100},
     .manual = kManual,
     .doc = "four f32 to fp8, fp6 or fp4, rounded by chance"},
};

}  // namespace

std::span<const InstDef> stochastic_convert_rows() { return kRows; }

}  // namespace tcsim::isa
