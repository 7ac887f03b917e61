#include "isa/insn/approx.h"

#include "isa/insn/float.h"

namespace tcsim::isa {
namespace {

using namespace fp;

template <float (*F)(float), bool Ftz>
float unary(float x) {
  if constexpr (Ftz) return flush(F(flush(x)));
  else return F(x);
}
template <float (*F)(float, float), bool Ftz>
float binary(float a, float b) {
  if constexpr (Ftz) return flush(F(flush(a), flush(b)));
  else return F(a, b);
}

template <float (*F)(float)>
std::string bind_unary(Inst& inst, const Decoded& d, Op op) {
  describe(inst, op, Type::f32, TimingClass::mufu);
  inst.exec = d.has("ftz") ? exec<&unary<F, true>> : exec<&unary<F, false>>;
  return expect_operands(inst, d, {Type::f32, Type::f32});
}
std::string bind_rcp(Inst& inst, const Decoded& d) { return bind_unary<&approx::rcp>(inst, d, Op::rcp); }
std::string bind_sqrt(Inst& inst, const Decoded& d) { return bind_unary<&approx::square_root>(inst, d, Op::sqrt); }
std::string bind_rsqrt(Inst& inst, const Decoded& d) { return bind_unary<&approx::rsqrt>(inst, d, Op::rsqrt); }
std::string bind_sin(Inst& inst, const Decoded& d) { return bind_unary<&approx::sine>(inst, d, Op::sin); }
std::string bind_cos(Inst& inst, const Decoded& d) { return bind_unary<&approx::cosine>(inst, d, Op::cos); }
std::string bind_lg2(Inst& inst, const Decoded& d) { return bind_unary<&approx::lg2>(inst, d, Op::lg2); }
std::string bind_ex2(Inst& inst, const Decoded& d) { return bind_unary<&approx::ex2>(inst, d, Op::ex2); }
std::string bind_tanh(Inst& inst, const Decoded& d) { return bind_unary<&approx::hyperbolic_tangent>(inst, d, Op::tanh); }

std::string bind_div(Inst& inst, const Decoded& d) {
  describe(inst, Op::div, Type::f32, TimingClass::mufu);
  const bool ftz = d.has("ftz");
  if (d.has("full")) inst.exec = ftz ? exec<&binary<&approx::div_full, true>> : exec<&binary<&approx::div_full, false>>;
  else inst.exec = ftz ? exec<&binary<&approx::div_approx, true>> : exec<&binary<&approx::div_approx, false>>;
  return expect_operands(inst, d, {Type::f32, Type::f32, Type::f32});
}

// ---- f64: only the upper 32 bits of source and result count (the manual's 1.11.20 format); subnormals flush ----

double upper_half(double x) {
  const uint64_t b = bits64(x) & 0xffffffff00000000u;
  return double_of((b & 0x7ff0000000000000u) == 0 ? b & 0x8000000000000000u : b);
}
/// Cut to the upper half; the NaN is the one that the chip gives.
double gross(double x) { return x == x ? upper_half(x) : double_of(0x7fffffff00000000u); }
double rcp_gross(double x) { return gross(1.0 / upper_half(x)); }
double rsqrt_gross(double x) { return gross(1.0 / std::sqrt(upper_half(x))); }
double rsqrt_f64(double x) { return 1.0 / std::sqrt(x); }

std::string bind_f64(Inst& inst, const Decoded& d, Op op, ExecFn fn) {
  describe(inst, op, Type::f64, TimingClass::mufu);
  inst.exec = fn;
  return expect_operands(inst, d, {Type::f64, Type::f64});
}
std::string bind_rcp_f64(Inst& inst, const Decoded& d) { return bind_f64(inst, d, Op::rcp, exec<&rcp_gross>); }
std::string bind_rsqrt_f64(Inst& inst, const Decoded& d) {
  return bind_f64(inst, d, Op::rsqrt, d.has("ftz") ? exec<&rsqrt_gross> : exec<&rsqrt_f64>);
}

constexpr InstDef kApproximationRows[] = {
    {.base = "rcp",
     .syntax = "rcp.approx{.ftz}.f32 d, a;",
     .op = Op::rcp,
     .bind = &bind_rcp,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: rcp",
     .doc = "reciprocal, approximate"},
    {.base = "sqrt",
     .syntax = "sqrt.approx{.ftz}.f32 d, a;",
     .op = Op::sqrt,
     .bind = &bind_sqrt,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: sqrt",
     .doc = "square root, approximate"},
    {.base = "rsqrt",
     .syntax = "rsqrt.approx{.ftz}.f32 d, a;",
     .op = Op::rsqrt,
     .bind = &bind_rsqrt,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: rsqrt",
     .doc = "reciprocal square root, approximate"},
    {.base = "sin",
     .syntax = "sin.approx{.ftz}.f32 d, a;",
     .op = Op::sin,
     .bind = &bind_sin,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: sin",
     .doc = "sine, approximate"},
    {.base = "cos",
     .syntax = "cos.approx{.ftz}.f32 d, a;",
     .op = Op::cos,
     .bind = &bind_cos,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: cos",
     .doc = "cosine, approximate"},
    {.base = "lg2",
     .syntax = "lg2.approx{.ftz}.f32 d, a;",
     .op = Op::lg2,
     .bind = &bind_lg2,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: lg2",
     .doc = "logarithm to base 2, approximate"},
    {.base = "ex2",
     .syntax = "ex2.approx{.ftz}.f32 d, a;",
     .op = Op::ex2,
     .bind = &bind_ex2,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: ex2",
     .doc = "2 to the power a, approximate"},
    {.base = "tanh",
     .syntax = "tanh.approx.f32 d, a;",
     .op = Op::tanh,
     .bind = &bind_tanh,
     .since = {7, 0, 75},
     .manual = "Floating Point Instructions: tanh",
     .doc = "hyperbolic tangent, approximate"},
    {.base = "div",
     .syntax = "div.approx{.ftz}.f32 d, a, b;",
     .op = Op::div,
     .bind = &bind_div,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: div",
     .doc = "a * (1/b), approximate"},
    {.base = "div",
     .syntax = "div.full{.ftz}.f32 d, a, b;",
     .op = Op::div,
     .bind = &bind_div,
     .since = {1, 0, 0},
     .manual = "Floating Point Instructions: div",
     .doc = "quotient over the full range, approximate"},
    {.base = "rcp",
     .syntax = "rcp.approx.ftz.f64 d, a;",
     .op = Op::rcp,
     .bind = &bind_rcp_f64,
     .since = {2, 1, 20},
     .manual = "Floating Point Instructions: rcp.approx.ftz.f64",
     .doc = "gross reciprocal of the upper 32 bits"},
    {.base = "rsqrt",
     .syntax = "rsqrt.approx{.ftz}.f64 d, a;",
     .op = Op::rsqrt,
     .bind = &bind_rsqrt_f64,
     .since = {1, 0, 13},
     .manual = "Floating Point Instructions: rsqrt",
     .doc = "reciprocal square root, approximate"},
};

}  // namespace

std::span<const InstDef> approximation_rows() { return kApproximationRows; }

}  // namespace tcsim::isa
