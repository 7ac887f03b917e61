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
  bool accepted = true;  // by the bind function, for the given target
  std::string reason;    // why not
  // Ready to run: the destination is in slots 0 and 1 (or predicates 0 and 1), source i (from 1) in slots 4i.. or predicate 4i.
  Inst inst;
  std::vector<Operand> operands;
};

/// What the module header says.
struct Target {
  int ptx_major, ptx_minor, sm;
  bool arch_specific = false;  // sm_90a
};

/// At most `limit` variants of a row, spread evenly over the product of its sets.
std::vector<Variant> variants_of(const InstDef& def, const Target& target, size_t limit);

/// The instruction a mnemonic stands for, with `operands` operand positions; from the arithmetic chapters. def is nullptr
/// when no row fits.
Variant variant_of(std::string_view mnemonic, size_t operands, const Target& target = {9, 0, 100, true}, uint32_t lut = 0x96);

/// Register declarations that the statements use, and the kernel around them.
std::string kernel_with(const std::string& version, const std::string& target, const std::vector<std::string>& statements);

}  // namespace tcsim::isa
