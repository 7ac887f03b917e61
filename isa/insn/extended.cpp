// PTX ISA "Extended-Precision Integer Arithmetic Instructions": add.cc, addc, sub.cc, subc, mad.cc, madc. The condition
// code CC.CF is a lane mask; for the subtractions it holds the borrow, as the manual writes it.
#include "isa/insn/common.h"
#include "isa/insn/integer.h"

namespace tcsim::isa {
namespace {

using namespace integer;

enum class Kind { add, sub, mad_lo, mad_hi_u, mad_hi_s };

/// One lane: d and the carry (or borrow) out.
template <class U, Kind K, bool In>
inline U step(U a, U b, U c, uint32_t carry_in, uint32_t& carry_out) {
  const U carry = In ? static_cast<U>(carry_in) : U{0};
  if constexpr (K == Kind::sub) {
    const U t = static_cast<U>(a - b), d = static_cast<U>(t - carry);
    carry_out = (a < b) | (t < carry);
    return d;
  } else {
    using S = std::make_signed_t<U>;
    U x = a;
    if constexpr (K != Kind::add) {
      x = K == Kind::mad_lo     ? MulLo::f<U>(a, b)
          : K == Kind::mad_hi_u ? MulHi::f<U>(a, b)
                                : static_cast<U>(MulHi::f<S>(static_cast<S>(a), static_cast<S>(b)));
    }
    const U y = K == Kind::add ? b : c;
    const U t = static_cast<U>(x + y), d = static_cast<U>(t + carry);
    carry_out = (t < x) | (d < t);
    return d;
  }
}

template <class U, Kind K, bool In, bool Out>
void exec_carry(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  constexpr bool kThree = K != Kind::add && K != Kind::sub;
  const U* a = ctx.src<U>(inst.operand(1));
  const U* b = ctx.src<U>(inst.operand(2));
  const U* c = kThree ? ctx.src<U>(inst.operand(3)) : a;
  const uint32_t in = In ? *ctx.carry : 0;
  alignas(64) U value[kLanes];
  alignas(64) uint32_t out[kLanes];
  for (int l = 0; l < kLanes; ++l) value[l] = step<U, K, In>(a[l], b[l], c[l], in >> l & 1, out[l]);
  commit(ctx.reg<U>(inst.operand(0).slot), value, mask);
  if (Out) *ctx.carry = (*ctx.carry & ~mask) | (pack_mask(out) & mask);
}

template <Kind K>
ExecFn pick(Type type, bool in, bool out) {
  if (bits(type) == 64)
    return in ? (out ? exec_carry<uint64_t, K, true, true> : exec_carry<uint64_t, K, true, false>) : exec_carry<uint64_t, K, false, true>;
  return in ? (out ? exec_carry<uint32_t, K, true, true> : exec_carry<uint32_t, K, true, false>) : exec_carry<uint32_t, K, false, true>;
}

std::string bind_carry(Inst& inst, const Decoded& d, Op op, bool in) {
  const Type type = d.type();
  const bool out = d.has("cc");
  const bool three = op == Op::madc;
  describe(inst, op, type, three ? (bits(type) == 64 ? TimingClass::imad_wide : TimingClass::imad) : TimingClass::alu);
  inst.flags = (in ? kReadsCarry : 0) | (out ? kWritesCarry : 0);
  if (op == Op::addc) inst.exec = pick<Kind::add>(type, in, out);
  else if (op == Op::subc) inst.exec = pick<Kind::sub>(type, in, out);
  else if (d.value("hilo") == "lo") inst.exec = pick<Kind::mad_lo>(type, in, out);
  else inst.exec = is_signed(type) ? pick<Kind::mad_hi_s>(type, in, out) : pick<Kind::mad_hi_u>(type, in, out);
  return expect_operands(inst, d, {type, type, type, three ? type : Type::none});
}
std::string bind_add_cc(Inst& inst, const Decoded& d) { return bind_carry(inst, d, Op::addc, false); }
std::string bind_addc(Inst& inst, const Decoded& d) { return bind_carry(inst, d, Op::addc, true); }
std::string bind_sub_cc(Inst& inst, const Decoded& d) { return bind_carry(inst, d, Op::subc, false); }
std::string bind_subc(Inst& inst, const Decoded& d) { return bind_carry(inst, d, Op::subc, true); }
std::string bind_mad_cc(Inst& inst, const Decoded& d) { return bind_carry(inst, d, Op::madc, false); }
std::string bind_madc(Inst& inst, const Decoded& d) { return bind_carry(inst, d, Op::madc, true); }

// 64-bit add.cc, addc, sub.cc and subc came with PTX 4.3; the 64-bit mad.cc and madc too.
constexpr InstDef kExtendedRows[] = {
    {.base = "add",
     .syntax = "add.cc.type d, a, b;  .type = { .u32, .s32, .u64, .s64 };",
     .op = Op::addc,
     .bind = &bind_add_cc,
     .since = {1, 2, 0},
     .manual = "Extended-Precision Integer Arithmetic Instructions: add.cc",
     .doc = "add, carry out to CC.CF"},
    {.base = "addc",
     .syntax = "addc{.cc}.type d, a, b;  .type = { .u32, .s32, .u64, .s64 };",
     .op = Op::addc,
     .bind = &bind_addc,
     .since = {1, 2, 0},
     .manual = "Extended-Precision Integer Arithmetic Instructions: addc",
     .doc = "add with carry in from CC.CF"},
    {.base = "sub",
     .syntax = "sub.cc.type d, a, b;  .type = { .u32, .s32, .u64, .s64 };",
     .op = Op::subc,
     .bind = &bind_sub_cc,
     .since = {1, 2, 0},
     .manual = "Extended-Precision Integer Arithmetic Instructions: sub.cc",
     .doc = "subtract, borrow out to CC.CF"},
    {.base = "subc",
     .syntax = "subc{.cc}.type d, a, b;  .type = { .u32, .s32, .u64, .s64 };",
     .op = Op::subc,
     .bind = &bind_subc,
     .since = {3, 0, 0},
     .manual = "Extended-Precision Integer Arithmetic Instructions: subc",
     .doc = "subtract with borrow in from CC.CF"},
    {.base = "mad",
     .syntax = "mad.hilo.cc.type d, a, b, c;  .hilo = { .hi, .lo };  .type = { .u32, .s32, .u64, .s64 };",
     .op = Op::madc,
     .bind = &bind_mad_cc,
     .since = {3, 0, 20},
     .manual = "Extended-Precision Integer Arithmetic Instructions: mad.cc",
     .doc = "multiply and add, carry out to CC.CF"},
    {.base = "madc",
     .syntax = "madc.hilo{.cc}.type d, a, b, c;  .hilo = { .hi, .lo };  .type = { .u32, .s32, .u64, .s64 };",
     .op = Op::madc,
     .bind = &bind_madc,
     .since = {3, 0, 20},
     .manual = "Extended-Precision Integer Arithmetic Instructions: madc",
     .doc = "multiply and add with carry in from CC.CF"},
};

}  // namespace

std::span<const InstDef> extended_precision_rows() { return kExtendedRows; }

}  // namespace tcsim::isa
