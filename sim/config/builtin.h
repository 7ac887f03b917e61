// The machine files that are compiled into the program (CMake turns machines/*.toml into builtin.cpp).
#pragma once
#include <span>
#include <string_view>

namespace tcsim::cfg {

struct BuiltinMachine {
  std::string_view name, text;
};
std::span<const BuiltinMachine> builtin_machine_texts();

}  // namespace tcsim::cfg
