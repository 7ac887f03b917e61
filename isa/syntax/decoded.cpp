#include "isa/insn/def.h"

namespace tcsim::isa {

bool Decoded::has(std::string_view value) const {
  for (const MatchedMod& mod : mods)
    if (mod.value == value) return true;
  return false;
}

std::string_view Decoded::value(std::string_view set) const {
  for (const MatchedMod& mod : mods)
    if (mod.set == set) return mod.value;
  return {};
}

Type Decoded::type(std::string_view set) const { return type_from_name(value(set)).value_or(Type::none); }

}  // namespace tcsim::isa
