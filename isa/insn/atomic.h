// atom and red (PTX ISA, "Parallel Synchronization and Communication Instructions: atom, red"). Part of the memory chapter.
#pragma once
#include <span>

#include "isa/insn/def.h"

namespace tcsim::isa {

std::span<const InstDef> atomic_instructions();

/// new = f(old, b, c) on raw bits, for the operation and type given by their PTX names; nullptr: no such operation.
/// Packed types (f16x2, bf16x2) work on both halves.
using Combine = uint64_t (*)(uint64_t old, uint64_t b, uint64_t c);
Combine combine_for(std::string_view op, Type type);

}  // namespace tcsim::isa
