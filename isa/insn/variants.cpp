#include "isa/insn/variants.h"

#include <fmt/format.h>
#include <cstdio>

#include "isa/syntax/matcher.h"

namespace tcsim::isa {
namespace {

using syntax::Form;
using syntax::Node;
using syntax::OperandSpec;

struct Spelled {
  std::string text;
  std::vector<MatchedMod> mods;
};

/// Number of spellings from node `at` up to `end`, and the spelling with a given number.
size_t count(const Form& form, size_t at, size_t end) {
  size_t product = 1;
  while (at < end) {
    const Node& node = form.nodes[at];
    if (node.kind == Node::Kind::open) {
      product *= 1 + count(form, at + 1, node.end);
      at = node.end;
    } else {
      product *= node.choices.size();
      ++at;
    }
  }
  return product;
}
void spell(const Form& form, size_t at, size_t end, size_t number, Spelled& out) {
  while (at < end) {
    const Node& node = form.nodes[at];
    if (node.kind == Node::Kind::open) {
      const size_t inner = 1 + count(form, at + 1, node.end);
      if (number % inner != 0) spell(form, at + 1, node.end, number % inner - 1, out);
      number /= inner;
      at = node.end;
    } else {
      const auto& choice = node.choices[number % node.choices.size()];
      for (const auto& word : choice.words) (out.text += '.') += word;
      out.mods.push_back({node.set, choice.value});
      number /= node.choices.size();
      ++at;
    }
  }
}

std::string register_for(Type type, size_t position) {
  if (type == Type::pred) return fmt::format("%p{}", position + 1);
  if (bits(type) == 8) return fmt::format("%bb{}", position + 1);
  if (bits(type) == 16) return fmt::format("%bh{}", position + 1);
  if (bits(type) == 64) return fmt::format("%bd{}", position + 1);
  return fmt::format("%bw{}", position + 1);
}

/// An operand with a register of the type's width, at its place (see Variant).
Operand operand_for(Type type, size_t position) {
  Operand op;
  op.kind = type == Type::pred ? Operand::Kind::pred : Operand::Kind::reg;
  op.slot = static_cast<int32_t>(4 * position);
  op.bit_width = static_cast<uint8_t>(bits(type) == 64 ? 64 : bits(type) < 32 ? bits(type) : 32);
  return op;
}

/// The type that a bind function asks for: its text says "operand N ... .type" at the first operand that does not fit.
bool asked_type(const std::string& error, size_t& position, Type& type) {
  int number = 0;
  if (std::sscanf(error.c_str(), "operand %d ", &number) != 1) return false;
  const auto found = type_from_name(error.substr(error.rfind('.') + 1));
  if (!found) return false;
  position = static_cast<size_t>(number) - 1;
  type = *found;
  return true;
}

Variant bind_variant(const InstDef& def, const std::string& mnemonic, const std::vector<OperandSpec>& specs, const std::vector<MatchedMod>& mods,
                     const Module& module, uint32_t lut) {
  Variant v;
  v.def = &def;
  v.mnemonic = mnemonic;
  Decoded decoded;
  decoded.mods = mods;
  decoded.module = const_cast<Module*>(&module);
  Inst& inst = v.inst;
  inst.def = &def;
  inst.op = def.op;
  inst.group_count = static_cast<uint8_t>(specs.size());
  v.operand_types.assign(specs.size(), Type::none);
  std::vector<size_t> first(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    first[i] = v.operands.size();
    inst.groups[i] = {static_cast<uint8_t>(v.operands.size()), specs[i].min_atoms};
    Operand op;
    if (specs[i].name == "immLut") op.kind = Operand::Kind::constant, op.value = lut;
    if (specs[i].name == "p" || specs[i].predicate) op = operand_for(v.operand_types[i] = Type::pred, i);
    v.operands.push_back(op);
    if (specs[i].min_atoms == 2) v.operands.push_back(operand_for(Type::pred, i)), v.operands.back().slot = 1;
  }
  inst.operands = v.operands.data();
  for (int tries = 0; tries < 12; ++tries) {
    v.reason = def.bind(inst, decoded);
    size_t position = 0;
    Type type = Type::none;
    if (v.reason.empty() || !asked_type(v.reason, position, type) || position >= specs.size()) break;
    v.operand_types[position] = type;
    v.operands[first[position]] = operand_for(type, position);
  }
  v.accepted = v.reason.empty();
  return v;
}

Module module_for(const Target& target) {
  Module module;
  module.version_major = target.ptx_major;
  module.version_minor = target.ptx_minor;
  module.sm = target.sm;
  module.arch_specific = target.arch_specific;
  module.target = fmt::format("sm_{}{}", target.sm, target.arch_specific ? "a" : "");
  return module;
}

void write_statement(Variant& v, const std::vector<OperandSpec>& specs) {
  std::string list;
  for (size_t i = 0; i < specs.size(); ++i) {
    Type type = v.operand_types[i];
    if (type == Type::none) type = Type::b32;
    list += i ? ", " : " ";
    list += specs[i].name == "immLut" ? "0x96" : register_for(type, i);
    if (specs[i].min_atoms == 2) list += "|%p9";
  }
  v.statement = v.mnemonic + list + ";";
}

}  // namespace

std::vector<Variant> variants_of(const InstDef& def, const Target& target, size_t limit) {
  const Module module = module_for(target);
  std::vector<Variant> out;
  for (const Form& form : syntax::parse_notation(def.syntax)) {
    const size_t total = count(form, 0, form.nodes.size());
    const size_t step = total > limit ? ((total / limit + 1) | 1) : 1;  // odd, so that it visits all members of even sets
    for (size_t n = 0; n < total; n += step) {
      Spelled spelled;
      spell(form, 0, form.nodes.size(), n, spelled);
      for (const auto& specs : form.operand_lists) {
        Variant v = bind_variant(def, form.base + spelled.text, specs, spelled.mods, module, 0x96);
        write_statement(v, specs);
        out.push_back(std::move(v));
      }
    }
  }
  return out;
}

Variant variant_of(std::string_view mnemonic, size_t operands, const Target& target, uint32_t lut) {
  static const Matcher matcher([] {
    std::vector<const InstDef*> table;
    for (const auto chapter : {integer_instructions(), float_instructions(), compare_instructions(), logic_instructions(), convert_instructions()})
      for (const InstDef& def : chapter) table.push_back(&def);
    return table;
  }());
  const Module module = module_for(target);
  Variant last;
  for (const Match& match : matcher.match(mnemonic))
    for (const auto& specs : match.form->form.operand_lists) {
      if (specs.size() != operands) continue;
      last = bind_variant(*match.form->def, std::string(mnemonic), specs, match.mods, module, lut);
      if (last.accepted) return last;
    }
  return last;
}

std::string kernel_with(const std::string& version, const std::string& target, const std::vector<std::string>& statements) {
  std::string text = fmt::format(".version {}\n.target {}\n.address_size 64\n.visible .entry k()\n{{\n", version, target);
  text += "  .reg .pred %p<12>;\n  .reg .b8 %bb<12>;\n  .reg .b16 %bh<12>;\n  .reg .b32 %bw<160>;\n  .reg .b64 %bd<12>;\n";
  for (const auto& statement : statements) text += statement + "\n";
  return text + "  ret;\n}\n";
}

}  // namespace tcsim::isa
