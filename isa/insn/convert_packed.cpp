// cvt to and from packed formats: f16x2, bf16x2, tf32, e4m3x2, e5m2x2, e3m2x2, e2m3x2, e2m1x2, ue8m0x2; and cvt.pack.
#include <fmt/format.h>

#include "isa/insn/convert_rows.h"
#include "isa/insn/convert_small.h"

namespace tcsim::isa {
namespace {

using namespace conversion;

// ---- one f32 to f16, bf16 or tf32 with .relu and .satfinite ----

enum : uint32_t { kPlain = 0, kRelu = 1, kSatfinite = 2 };

template <class Format, uint32_t Mods>
inline double adjust(double x) {
  if constexpr ((Mods & kSatfinite) != 0)
    if (std::fabs(x) > Format::max) x = std::copysign(Format::max, x);  // infinity too; NaN compares false
  if constexpr ((Mods & kRelu) != 0)
    if (x <= 0.0) x = 0.0;
  return x;
}
template <class Format>
inline uint32_t encode(double rounded) {
  const auto f = static_cast<float>(rounded);
  if constexpr (std::is_same_v<Format, HalfFormat>) return fp::half_from_float(f);
  else if constexpr (std::is_same_v<Format, Bf16Format>) return fp::bf16_from_float(f);
  else return fp::bits32(fp::canonical(f)) & ~0x1fffu;  // tf32
}
template <class Format, uint32_t Rounding, uint32_t Mods>
inline uint32_t narrow(float x) {
  if constexpr (Rounding == kRoundNearest && Mods == kPlain && std::is_same_v<Format, HalfFormat>) return fp::half_from_float(x);
  else if constexpr (Rounding == kRoundNearest && Mods == kPlain && std::is_same_v<Format, Bf16Format>) return fp::bf16_from_float(x);
  else return encode<Format>(round_to<Format>(adjust<Format, Mods>(x), Rounding));
}
template <class Format, uint32_t Rounding, uint32_t Mods>
uint32_t narrow_pair(float a, float b) {
  return narrow<Format, Rounding, Mods>(a) << 16 | narrow<Format, Rounding, Mods>(b);
}
template <class Format, uint32_t Rounding>
ExecFn one_exec(uint32_t mods) {
  switch (mods) {
    case kPlain: return exec<&narrow<Format, Rounding, kPlain>>;
    case kRelu: return exec<&narrow<Format, Rounding, kRelu>>;
    case kSatfinite: return exec<&narrow<Format, Rounding, kSatfinite>>;
    default: return exec<&narrow<Format, Rounding, kRelu | kSatfinite>>;
  }
}
template <class Format, uint32_t Rounding>
ExecFn pair_exec(uint32_t mods) {
  switch (mods) {
    case kPlain: return exec<&narrow_pair<Format, Rounding, kPlain>>;
    case kRelu: return exec<&narrow_pair<Format, Rounding, kRelu>>;
    case kSatfinite: return exec<&narrow_pair<Format, Rounding, kSatfinite>>;
    default: return exec<&narrow_pair<Format, Rounding, kRelu | kSatfinite>>;
  }
}
uint32_t mods_of(const Decoded& d) { return (d.has("relu") ? kRelu : 0u) | (d.has("satfinite") ? kSatfinite : 0u); }

template <class Format>
std::string bind_one(Inst& inst, const Decoded& d, Type type) {
  describe(inst, Op::cvt, type, TimingClass::cvt_pack, Type::f32);
  inst.exec = d.has("rz") ? one_exec<Format, kRoundZero>(mods_of(d)) : one_exec<Format, kRoundNearest>(mods_of(d));
  return expect_operands(inst, d, {type == Type::tf32 ? Type::b32 : Type::b16, Type::f32});
}
template <class Format>
std::string bind_pair(Inst& inst, const Decoded& d, Type type) {
  describe(inst, Op::cvt, type, TimingClass::cvt_pack, Type::f32);
  inst.exec = d.has("rz") ? pair_exec<Format, kRoundZero>(mods_of(d)) : pair_exec<Format, kRoundNearest>(mods_of(d));
  return expect_operands(inst, d, {Type::b32, Type::f32, Type::f32});
}
std::string bind_f16(Inst& inst, const Decoded& d) { return bind_one<HalfFormat>(inst, d, Type::f16); }
std::string bind_bf16(Inst& inst, const Decoded& d) { return bind_one<Bf16Format>(inst, d, Type::bf16); }
std::string bind_tf32(Inst& inst, const Decoded& d) { return bind_one<Tf32Format>(inst, d, Type::tf32); }
std::string bind_f16x2(Inst& inst, const Decoded& d) { return bind_pair<HalfFormat>(inst, d, Type::f16x2); }
std::string bind_bf16x2(Inst& inst, const Decoded& d) { return bind_pair<Bf16Format>(inst, d, Type::bf16x2); }
std::string bind_tf32_away(Inst& inst, const Decoded& d) {
  describe(inst, Op::cvt, Type::tf32, TimingClass::alu, Type::f32);
  inst.exec = d.has("satfinite") ? exec<&tf32_rna<true>> : exec<&tf32_rna<false>>;
  return expect_operands(inst, d, {Type::b32, Type::f32});
}

// ---- 8 bits and less. Elements of packed fp8 and fp6 are 8 bits apart, of fp4 4 bits ----

template <class Format>
constexpr int kSpacing = std::is_same_v<Format, E2m1> ? 4 : 8;

template <class Format, bool Relu>
uint32_t small_from_floats(float a, float b) {
  return encode_small<Format, Relu>(a) << kSpacing<Format> | encode_small<Format, Relu>(b);
}
template <class Format, bool Relu>
uint32_t small_from_halves(uint32_t a) {
  const auto hi = static_cast<double>(fp::half_to_float(static_cast<uint16_t>(a >> 16)));
  const auto lo = static_cast<double>(fp::half_to_float(static_cast<uint16_t>(a)));
  return encode_small<Format, Relu>(hi) << kSpacing<Format> | encode_small<Format, Relu>(lo);
}
/// Every value of these formats is an f16, so there is no rounding.
template <class Format, bool Relu>
uint32_t halves_from_small(uint32_t a) {
  uint32_t r = 0;
  for (int i = 0; i < 2; ++i) {
    const auto value = static_cast<float>(decode_small<Format>(a >> (kSpacing<Format> * i)));
    r |= static_cast<uint32_t>(fp::half_from_float(Relu ? fp::relu(value) : value)) << (16 * i);
  }
  return r;
}

Type storage(Type small) { return small == Type::e2m1x2 ? Type::b8 : Type::b16; }

template <class Format>
std::string bind_small_as(Inst& inst, const Decoded& d, Type small) {
  const bool relu = d.has("relu");
  if (d.has("f32")) {
    describe(inst, Op::cvt, small, TimingClass::cvt_pack, Type::f32);
    inst.exec = relu ? exec<&small_from_floats<Format, true>> : exec<&small_from_floats<Format, false>>;
    return expect_operands(inst, d, {storage(small), Type::f32, Type::f32});
  }
  if (d.mods.back().value == "f16x2") {
    describe(inst, Op::cvt, small, TimingClass::cvt_pack, Type::f16x2);
    inst.exec = relu ? exec<&small_from_halves<Format, true>> : exec<&small_from_halves<Format, false>>;
    return expect_operands(inst, d, {storage(small), Type::b32});
  }
  describe(inst, Op::cvt, Type::f16x2, TimingClass::cvt_pack, small);
  inst.exec = relu ? exec<&halves_from_small<Format, true>> : exec<&halves_from_small<Format, false>>;
  return expect_operands(inst, d, {Type::b32, storage(small)});
}
std::string bind_small(Inst& inst, const Decoded& d) {
  const Module* m = d.module;  // fp8 came to sm_90 with PTX 7.8 and to sm_89 with PTX 8.1
  if (m && m->sm == 89 && m->version_major < 9 && (m->version_major < 8 || m->version_minor < 1))
    return fmt::format("conversions of fp8 on sm_89 need PTX 8.1, found {}.{}", m->version_major, m->version_minor);
  if (d.has("e4m3x2")) return bind_small_as<E4m3>(inst, d, Type::e4m3x2);
  if (d.has("e5m2x2")) return bind_small_as<E5m2>(inst, d, Type::e5m2x2);
  if (d.has("e3m2x2")) return bind_small_as<E3m2>(inst, d, Type::e3m2x2);
  if (d.has("e2m3x2")) return bind_small_as<E2m3>(inst, d, Type::e2m3x2);
  return bind_small_as<E2m1>(inst, d, Type::e2m1x2);
}
/// The forms that only the architecture-specific targets (sm_100a and later) have.
std::string bind_small_specific(Inst& inst, const Decoded& d) {
  if (d.module && !d.module->arch_specific)
    return fmt::format("target {} does not have this form, expected sm_100a or later with suffix a", d.module->target);
  return bind_small(inst, d);
}

// ---- ue8m0 ----

template <bool Up, bool Satfinite>
uint32_t ue8m0_from_floats(float a, float b) {
  return encode_ue8m0<Up, Satfinite>(a) << 8 | encode_ue8m0<Up, Satfinite>(b);
}
template <bool Up, bool Satfinite>
uint32_t ue8m0_from_bf16x2(uint32_t a) {
  return ue8m0_from_floats<Up, Satfinite>(fp::float_of(a & 0xffff0000u), fp::float_of(a << 16));
}
uint32_t bf16x2_from_ue8m0(uint32_t a) { return static_cast<uint32_t>(decode_ue8m0(a >> 8 & 0xff)) << 16 | decode_ue8m0(a & 0xff); }

std::string bind_ue8m0(Inst& inst, const Decoded& d) {
  if (d.module && !d.module->arch_specific)
    return fmt::format("target {} does not have this form, expected sm_100a or later with suffix a", d.module->target);
  if (d.mods.back().value == "ue8m0x2") {
    describe(inst, Op::cvt, Type::bf16x2, TimingClass::cvt_pack, Type::ue8m0x2);
    inst.exec = exec<&bf16x2_from_ue8m0>;
    return expect_operands(inst, d, {Type::b32, Type::b16});
  }
  const bool up = d.has("rp"), sat = d.has("satfinite"), pair = d.has("f32");
  describe(inst, Op::cvt, Type::ue8m0x2, TimingClass::cvt_pack, pair ? Type::f32 : Type::bf16x2);
  if (pair)
    inst.exec = up ? (sat ? exec<&ue8m0_from_floats<true, true>> : exec<&ue8m0_from_floats<true, false>>)
                   : (sat ? exec<&ue8m0_from_floats<false, true>> : exec<&ue8m0_from_floats<false, false>>);
  else
    inst.exec = up ? (sat ? exec<&ue8m0_from_bf16x2<true, true>> : exec<&ue8m0_from_bf16x2<true, false>>)
                   : (sat ? exec<&ue8m0_from_bf16x2<false, true>> : exec<&ue8m0_from_bf16x2<false, false>>);
  return expect_operands(inst, d, {Type::b16, Type::b32, pair ? Type::f32 : Type::none});
}

// ---- cvt.pack: a and b limited to N bits, a above b, and above both the low bits of c ----

template <int N, bool Signed>
inline uint32_t limited(int32_t x) {
  constexpr int64_t lo = Signed ? -(int64_t{1} << (N - 1)) : 0, hi = Signed ? (int64_t{1} << (N - 1)) - 1 : (int64_t{1} << N) - 1;
  const auto clamped = static_cast<uint32_t>(x < lo ? lo : x > hi ? hi : x);
  return clamped & static_cast<uint32_t>((uint64_t{1} << N) - 1);
}
template <int N, bool Signed>
uint32_t pack2(int32_t a, int32_t b) {
  return limited<N, Signed>(a) << N | limited<N, Signed>(b);
}
template <int N, bool Signed>
uint32_t pack3(int32_t a, int32_t b, uint32_t c) {
  return c << (2 * N) | pack2<N, Signed>(a, b);
}

std::string bind_pack(Inst& inst, const Decoded& d) {
  const auto to = d.value("convertType");
  describe(inst, Op::cvt, type_from_name(to).value_or(Type::b8), TimingClass::alu, Type::s32);
  if (to == "u16") inst.exec = exec<&pack2<16, false>>;
  else if (to == "s16") inst.exec = exec<&pack2<16, true>>;
  else if (to == "u8") inst.exec = exec<&pack3<8, false>>;
  else if (to == "s8") inst.exec = exec<&pack3<8, true>>;
  else if (to == "u4") inst.exec = exec<&pack3<4, false>>;
  else if (to == "s4") inst.exec = exec<&pack3<4, true>>;
  else if (to == "u2") inst.exec = exec<&pack3<2, false>>;
  else inst.exec = exec<&pack3<2, true>>;
  return expect_operands(inst, d, {Type::b32, Type::s32, Type::s32, Type::b32});
}

constexpr InstDef kPackedRows[] = {
    {.base = "cvt",
     .syntax = "cvt.frnd2.relu.f16.f32 d, a;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_f16,
     .since = {7, 0, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "f32 to f16, not below zero"},
    {.base = "cvt",
     .syntax = "cvt.frnd2.satfinite.f16.f32 d, a;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_f16,
     .since = {8, 1, 53},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "f32 to f16, limited to finite values"},
    {.base = "cvt",
     .syntax = "cvt.frnd2.relu.satfinite.f16.f32 d, a;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_f16,
     .since = {8, 1, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "f32 to f16, limited to finite values, not below zero"},
    {.base = "cvt",
     .syntax = "cvt.frnd2{.relu}.f16x2.f32 d, a, b;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_f16x2,
     .since = {7, 0, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two f32 to f16x2, a in the upper half"},
    {.base = "cvt",
     .syntax = "cvt.frnd2{.relu}.satfinite.f16x2.f32 d, a, b;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_f16x2,
     .since = {8, 1, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two f32 to f16x2, limited to finite values"},
    {.base = "cvt",
     .syntax = "cvt.frnd2{.relu}.bf16.f32 d, a;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_bf16,
     .since = {7, 0, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "f32 to bf16"},
    {.base = "cvt",
     .syntax = "cvt.frnd2{.relu}.satfinite.bf16.f32 d, a;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_bf16,
     .since = {8, 1, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "f32 to bf16, limited to finite values"},
    {.base = "cvt",
     .syntax = "cvt.frnd2{.relu}.bf16x2.f32 d, a, b;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_bf16x2,
     .since = {7, 0, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two f32 to bf16x2, a in the upper half"},
    {.base = "cvt",
     .syntax = "cvt.frnd2{.relu}.satfinite.bf16x2.f32 d, a, b;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_bf16x2,
     .since = {8, 1, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two f32 to bf16x2, limited to finite values"},
    {.base = "cvt",
     .syntax = "cvt.rna.tf32.f32 d, a;",
     .op = Op::cvt,
     .bind = &bind_tf32_away,
     .since = {7, 0, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "f32 to tf32, ties away from zero"},
    {.base = "cvt",
     .syntax = "cvt.rna.satfinite.tf32.f32 d, a;",
     .op = Op::cvt,
     .bind = &bind_tf32_away,
     .since = {8, 1, 80},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "f32 to tf32, limited to finite values"},
    {.base = "cvt",
     .syntax = "cvt.frnd2{.relu}.tf32.f32 d, a;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_tf32,
     .since = {7, 8, 90},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "f32 to tf32"},
    {.base = "cvt",
     .syntax = "cvt.frnd2.satfinite{.relu}.tf32.f32 d, a;  .frnd2 = { .rn, .rz };",
     .op = Op::cvt,
     .bind = &bind_tf32,
     .since = {8, 6, 100},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "f32 to tf32, limited to finite values"},
    {.base = "cvt",
     .syntax = "cvt.rn.satfinite{.relu}.f8x2type.f32 d, a, b;  .f8x2type = { .e4m3x2, .e5m2x2 };",
     .op = Op::cvt,
     .bind = &bind_small,
     .since = {7, 8, 89},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two f32 to fp8, a in the upper byte"},
    {.base = "cvt",
     .syntax = "cvt.rn.satfinite{.relu}.f8x2type.f16x2 d, a;  .f8x2type = { .e4m3x2, .e5m2x2 };",
     .op = Op::cvt,
     .bind = &bind_small,
     .since = {7, 8, 89},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two f16 to fp8"},
    {.base = "cvt",
     .syntax = "cvt.rn{.relu}.f16x2.f8x2type d, a;  .f8x2type = { .e4m3x2, .e5m2x2 };",
     .op = Op::cvt,
     .bind = &bind_small,
     .since = {7, 8, 89},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two fp8 to f16"},
    {.base = "cvt",
     .syntax = "cvt.rn.satfinite{.relu}.f6f4type.f32 d, a, b;  .f6f4type = { .e2m3x2, .e3m2x2, .e2m1x2 };",
     .op = Op::cvt,
     .bind = &bind_small_specific,
     .since = {8, 6, 100},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two f32 to fp6 or fp4"},
    {.base = "cvt",
     .syntax = "cvt.rn.satfinite{.relu}.f4type.f16x2 d, a;  .f4type = { .e2m1x2 };",
     .op = Op::cvt,
     .bind = &bind_small_specific,
     .since = {8, 6, 100},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two f16 to fp4"},
    {.base = "cvt",
     .syntax = "cvt.rn{.relu}.f16x2.f6f4type d, a;  .f6f4type = { .e2m3x2, .e3m2x2, .e2m1x2 };",
     .op = Op::cvt,
     .bind = &bind_small_specific,
     .since = {8, 6, 100},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two fp6 or fp4 to f16"},
    {.base = "cvt",
     .syntax = "cvt.frnd3{.satfinite}.ue8m0x2.f32 d, a, b;  .frnd3 = { .rz, .rp };",
     .op = Op::cvt,
     .bind = &bind_ue8m0,
     .since = {8, 6, 100},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two f32 to ue8m0 (powers of two)"},
    {.base = "cvt",
     .syntax = "cvt.frnd3{.satfinite}.ue8m0x2.bf16x2 d, a;  .frnd3 = { .rz, .rp };",
     .op = Op::cvt,
     .bind = &bind_ue8m0,
     .since = {8, 6, 100},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two bf16 to ue8m0"},
    {.base = "cvt",
     .syntax = "cvt.rn.bf16x2.ue8m0x2 d, a;",
     .op = Op::cvt,
     .bind = &bind_ue8m0,
     .since = {8, 6, 100},
     .manual = "Data Movement and Conversion Instructions: cvt",
     .doc = "two ue8m0 to bf16"},
    {.base = "cvt",
     .syntax = "cvt.pack.sat.convertType.s32 d, a, b;  .convertType = { .u16, .s16 };",
     .op = Op::cvt,
     .bind = &bind_pack,
     .since = {6, 5, 72},
     .manual = "Data Movement and Conversion Instructions: cvt.pack",
     .doc = "two s32 to limited 16-bit values"},
    {.base = "cvt",
     .syntax = "cvt.pack.sat.convertType.s32.b32 d, a, b, c;  .convertType = { .u8, .s8 };",
     .op = Op::cvt,
     .bind = &bind_pack,
     .since = {6, 5, 72},
     .manual = "Data Movement and Conversion Instructions: cvt.pack",
     .doc = "two s32 to limited 8-bit values above shifted c"},
    {.base = "cvt",
     .syntax = "cvt.pack.sat.convertType.s32.b32 d, a, b, c;  .convertType = { .u4, .s4, .u2, .s2 };",
     .op = Op::cvt,
     .bind = &bind_pack,
     .since = {6, 5, 75},
     .manual = "Data Movement and Conversion Instructions: cvt.pack",
     .doc = "two s32 to limited 4- or 2-bit values above shifted c"},
};

}  // namespace

std::span<const InstDef> packed_convert_rows() { return kPackedRows; }

}  // namespace tcsim::isa
