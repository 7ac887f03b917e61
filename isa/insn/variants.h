// For tests: every instruction that a table row describes, as PTX text with suitable registers.
#pragma once
#include <string>
#include <vector>

#include "isa/insn/def.h"

namespace tcsim::isa {

struct Variant {
  const InstDef* def = nullptr;
  std::string mnemonic;   // "add.rn.ftz.f32"
  std::string statement;  // "add.rn.ftz.f32 %f1, %f2, %f3;"
  std::vector<Type> operand_types;
  bool accepted = true;   // by the bind function, for the given target
  std::string reason;     // why not
};

/// At most `limit` variants of a row, spread evenly over the product of its sets.
std::vector<Variant> variants_of(const InstDef& def, int sm, bool arch_specific, size_t limit);

/// Register declarations that the statements use, and the kernel around them.
std::string kernel_with(const std::string& version, const std::string& target, const std::vector<std::string>& statements);

}  // namespace tcsim::isa
