#include "isa/type.h"

#include <array>
#include <utility>

namespace tcsim::isa {
namespace {

struct TypeFacts {
  Type type;
  std::string_view name;
  int bits;
};

// In the order of the enumeration; widths from PTX ISA "Fundamental Types", "Alternate Floating-Point Data Formats",
// "Packed Data Types". The sub-byte matrix types e2m1, e2m3, e3m2 alone take their exact width.
constexpr TypeFacts kTypes[] = {
    {Type::none, "none", 0},
    {Type::pred, "pred", 1},
    {Type::b1, "b1", 1},
    {Type::b8, "b8", 8},
    {Type::b16, "b16", 16},
    {Type::b32, "b32", 32},
    {Type::b64, "b64", 64},
    {Type::b128, "b128", 128},
    {Type::u4, "u4", 4},
    {Type::s4, "s4", 4},
    {Type::u8, "u8", 8},
    {Type::u16, "u16", 16},
    {Type::u32, "u32", 32},
    {Type::u64, "u64", 64},
    {Type::s8, "s8", 8},
    {Type::s16, "s16", 16},
    {Type::s32, "s32", 32},
    {Type::s64, "s64", 64},
    {Type::u16x2, "u16x2", 32},
    {Type::s16x2, "s16x2", 32},
    {Type::f16, "f16", 16},
    {Type::f16x2, "f16x2", 32},
    {Type::bf16, "bf16", 16},
    {Type::bf16x2, "bf16x2", 32},
    {Type::tf32, "tf32", 32},
    {Type::f32, "f32", 32},
    {Type::f32x2, "f32x2", 64},
    {Type::f64, "f64", 64},
    {Type::e4m3, "e4m3", 8},
    {Type::e5m2, "e5m2", 8},
    {Type::e4m3x2, "e4m3x2", 16},
    {Type::e5m2x2, "e5m2x2", 16},
    {Type::e3m2, "e3m2", 6},
    {Type::e2m3, "e2m3", 6},
    {Type::e2m1, "e2m1", 4},
    {Type::e3m2x2, "e3m2x2", 16},
    {Type::e2m3x2, "e2m3x2", 16},
    {Type::e2m1x2, "e2m1x2", 8},
    {Type::e2m1x4, "e2m1x4", 16},
    {Type::ue8m0, "ue8m0", 8},
    {Type::ue8m0x2, "ue8m0x2", 16},
    {Type::ue4m3, "ue4m3", 8},
};
static_assert(std::size(kTypes) == static_cast<size_t>(Type::ue4m3) + 1);

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (static_cast<size_t>(kTypes[i].type) != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

int bits(Type type) { return kTypes[static_cast<size_t>(type)].bits; }

std::string_view name(Type type) { return kTypes[static_cast<size_t>(type)].name; }

std::optional<Type> type_from_name(std::string_view text) {
  for (const TypeFacts& facts : kTypes)
    if (facts.type != Type::none && facts.name == text) return facts.type;
  return std::nullopt;
}

std::string_view name(Space space) {
  switch (space) {
    case Space::none: return "none";
    case Space::generic: return "generic";
    case Space::global: return "global";
    case Space::shared: return "shared";
    case Space::shared_cluster: return "shared::cluster";
    case Space::local: return "local";
    case Space::param: return "param";
    case Space::constant: return "const";
  }
  return "none";
}

}  // namespace tcsim::isa
