// Tensor-core generation by the name that machine files use (chip.generation).
#pragma once
#include <optional>
#include <string_view>

#include "isa/numeric/generation.h"

namespace tcsim::isa {

/// "volta", "turing", "ampere", "ada", "hopper", "blackwell", "rtx_blackwell".
constexpr std::optional<Generation> parse_generation(std::string_view name) {
  constexpr std::string_view kNames[] = {"volta", "turing", "ampere", "ada", "hopper", "blackwell", "rtx_blackwell"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<Generation>(i);
  return std::nullopt;
}

}  // namespace tcsim::isa
