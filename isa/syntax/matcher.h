// Finds the instruction form that a dotted mnemonic is: the table, indexed by base word.
//
//   const Matcher& m = default_matcher();
//   for (const Match& match : m.match("ldmatrix.sync.aligned.m8n8.x4.shared.b16")) ... match.form, match.mods
//
// Modifiers are matched in the manual's order first. When no form fits in order, in any order, as ptxas does (it takes
// add.f32.rn and ldmatrix...x4.m8n8); words of the same set keep their order (dtype before ctype).
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isa/insn/def.h"
#include "isa/syntax/notation.h"

namespace tcsim::isa {

struct TableForm {
  syntax::Form form;
  const InstDef* def = nullptr;
};

struct Match {
  const TableForm* form = nullptr;
  std::vector<MatchedMod> mods;  // views into the matcher
};

class Matcher {
 public:
  explicit Matcher(std::vector<const InstDef*> table);
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// Forms that fit the mnemonic, in table order. Several: they differ in their operands.
  std::vector<Match> match(std::string_view mnemonic) const;
  bool has_base(std::string_view base) const { return forms_.contains(std::string(base)); }
  /// Is `word` (without the dot) a modifier of some form, or of PTX as this release knows it?
  bool knows_modifier(std::string_view word) const;

  /// Why match() gave nothing.
  struct Misfit {
    enum class Kind { not_an_instruction, bad_modifier, unsupported } kind = Kind::unsupported;
    size_t offset = 0;     // of the offending word in the mnemonic
    std::string expected;  // ".b16, .b32 or .b64"; bad_modifier only
    std::string word;      // ".s33"
  };
  Misfit explain(std::string_view mnemonic) const;

 private:
  std::unordered_map<std::string, std::vector<TableForm>> forms_;
};

/// All chapters (instruction_table()).
const Matcher& default_matcher();

namespace syntax {
/// "a.b::c.d" -> {a, b::c, d}.
std::vector<std::string_view> split_mnemonic(std::string_view mnemonic);
/// First words of all PTX instructions, whether executed here or not.
bool is_ptx_base(std::string_view word);
/// Words that PTX uses as modifiers, beyond those in the table.
bool is_ptx_modifier(std::string_view word);
}  // namespace syntax

}  // namespace tcsim::isa
