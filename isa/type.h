// Scalar types and state spaces of PTX (PTX ISA, "Types" and "State Spaces").
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tcsim::isa {

enum class Type : uint8_t {
  none,
  pred,
  b1,
  b8,
  b16,
  b32,
  b64,
  b128,
  u4,
  s4,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  u16x2,
  s16x2,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  e3m2,
  e2m3,
  e2m1,
  e3m2x2,
  e2m3x2,
  e2m1x2,
  e2m1x4,
  ue8m0,
  ue8m0x2,
  ue4m3
};

/// Width in bits of one value (pred counts as 1).
int bits(Type type);
/// "f16", "s32", ...; the PTX spelling without the dot.
std::string_view name(Type type);
/// From the PTX spelling without the dot.
std::optional<Type> type_from_name(std::string_view text);

constexpr bool is_signed(Type t) { return t == Type::s4 || t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64; }
constexpr bool is_unsigned(Type t) { return t == Type::u4 || t == Type::u8 || t == Type::u16 || t == Type::u32 || t == Type::u64; }
constexpr bool is_float(Type t) { return t >= Type::f16 && t <= Type::f64; }

/// State spaces. generic covers "no state space given" for ld, st, atom, cvta.
enum class Space : uint8_t { none, generic, global, shared, shared_cluster, local, param, constant };

std::string_view name(Space space);

/// A PTX virtual register lives in slots of 32 lanes x 32 bits: predicates in a mask array of their own,
/// up to 32 bits in one slot (upper bits zero), 64 bits in two (as 32 x u64), 128 bits in four (as 32 x 16 bytes).
constexpr int slots_of(int bit_width) { return bit_width <= 32 ? 1 : bit_width / 32; }

}  // namespace tcsim::isa
