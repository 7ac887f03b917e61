// Bind helpers of the chapters whose instructions take vectors, addresses and optional operands.
#pragma once
#include <string>

#include "isa/exec/context.h"
#include "isa/insn/def.h"

namespace tcsim::isa {

/// Checks that a value operand (register or immediate) can hold or give a value of `width` bits; a register may be wider
/// (wider: ld and st). Gives immediates that width. `what` names the operand in the error text.
std::string expect_value(const Operand& op, const Decoded& decoded, int width, bool wider, std::string_view what);

/// The same for all operands of a group; `destination`: registers and sinks only.
std::string expect_group(const Inst& inst, int group, const Decoded& decoded, int width, bool wider, bool destination);

/// The operand is a memory address.
std::string expect_address(const Inst& inst, int group);
std::string expect_pred(const Inst& inst, int group);

/// State space from the matched modifiers in set `ss` (".shared::cta" counts as shared); generic when none is given, or the
/// space of the symbol that the address names.
Space space_of(const Inst& inst, const Decoded& decoded, int address_group);

}  // namespace tcsim::isa
