// Operands: names are resolved here, except labels and functions, which may come later in the text.
#include <algorithm>

#include <fmt/format.h>

#include "isa/ptx/parser.h"

namespace tcsim::isa::ptx {
namespace {

/// "%r12" -> ("%r", 12). False when there is no number, or one with a leading zero.
bool split_number(std::string_view name, std::string_view& prefix, uint32_t& number) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const size_t count = name.size() - digits;
  if (count == 0 || count > 7 || (count > 1 && name[digits] == '0')) return false;
  number = 0;
  for (size_t i = digits; i < name.size(); ++i) number = number * 10 + static_cast<uint32_t>(name[i] - '0');
  prefix = name.substr(0, digits);
  return true;
}

int component_index(std::string_view directive) {
  if (directive.size() != 2) return -1;
  switch (directive[1]) {
    case 'x':
    case 'r': return 0;
    case 'y':
    case 'g': return 1;
    case 'z':
    case 'b': return 2;
    case 'w':
    case 'a': return 3;
    default: return -1;
  }
}

}  // namespace

int32_t Parser::dense_register(RegisterRange& range, std::string_view name, uint32_t number) {
  int32_t& dense = range.dense[number];
  if (dense < 0) {
    dense = static_cast<int32_t>(function_->registers.size());
    std::string full(name);
    if (range.vector > 1) full += '.', full += "xyzw"[number % range.vector];
    function_->registers.push_back({std::move(full), range.type});
  }
  return dense;
}

bool Parser::resolve(std::string_view name, Atom& out, std::vector<Atom>* components) {
  std::string_view prefix;
  uint32_t number = 0;
  const bool numbered = split_number(name, prefix, number);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const Entry* entry = nullptr;
    uint32_t index = 0;
    if (const auto it = scope->names.find(name); it != scope->names.end()) entry = &it->second;
    else if (numbered && !scope->prefixes.empty()) {
      const auto range = scope->prefixes.find(prefix);
      if (range != scope->prefixes.end() && number < ranges_[range->second.index].count) entry = &range->second, index = number;
    }
    if (!entry) continue;
    if (!entry->is_register) {
      out.kind = Atom::Kind::symbol;
      out.id = static_cast<int32_t>(entry->index);
      return true;
    }
    RegisterRange& range = ranges_[entry->index];
    out.kind = Atom::Kind::reg;
    out.type = range.type;
    if (range.vector == 1) {
      out.id = dense_register(range, name, index);
      return true;
    }
    const int part = peek().kind == TokenKind::directive ? component_index(peek().text) : -1;
    if (part >= 0 && part < range.vector) {
      lexer_.next();
      out.id = dense_register(range, name, index * range.vector + static_cast<uint32_t>(part));
      return true;
    }
    for (uint32_t c = 0; c < range.vector; ++c) {
      out.id = dense_register(range, name, index * range.vector + c);
      if (components) components->push_back(out);
    }
    return true;
  }
  return false;
}

void Parser::add_atom(AtomGroup& group, const Atom& atom, const Token& at) {
  if (group.count >= kMaxGroupAtoms) fail(at, fmt::format("found more than {} elements in one operand, expected fewer", kMaxGroupAtoms));
  function_->atoms.push_back(atom);
  ++group.count;
}

Atom Parser::constant_atom(const Token& at, const Value& value) {
  Atom atom;
  atom.form = value.kind;
  atom.value = value.as_int();
  atom.text = lexer_.text().substr(static_cast<size_t>(at.text.data() - lexer_.text().data()));
  atom.text = atom.text.substr(0, static_cast<size_t>(lexer_.text().data() + lexer_.last_end() - at.text.data()));
  atom.line = at.line;
  atom.col = at.col;
  return atom;
}

void Parser::add_identifier(AtomGroup& group, const Token& at) {
  lexer_.next();
  Atom atom;
  atom.text = at.text;
  atom.line = at.line;
  atom.col = at.col;
  if (at.text == "_") {
    atom.kind = Atom::Kind::sink;
    return add_atom(group, atom, at);
  }
  std::vector<Atom> components;
  if (resolve(at.text, atom, &components)) {
    if (!components.empty()) {
      group.form = group.form == AtomGroup::Form::single ? AtomGroup::Form::vector : group.form;
      for (const Atom& c : components) add_atom(group, c, at);
      return;
    }
    if (atom.kind == Atom::Kind::symbol && (peek().is("+") || peek().is("-"))) atom.value = integer_expression("an offset");
    return add_atom(group, atom, at);
  }
  std::string_view special = at.text;
  if (at.text[0] == '%' && peek().kind == TokenKind::directive && peek().text.size() == 2) {
    special = std::string_view(at.text.data(), at.text.size() + 2);
    if (special.data() + at.text.size() == peek().text.data() && is_special_register(special)) lexer_.next();
    else special = at.text;
  }
  if (is_special_register(special)) {
    atom.kind = Atom::Kind::special;
    atom.text = special;
    return add_atom(group, atom, at);
  }
  atom.kind = Atom::Kind::name;
  if (at.text[0] != '%' && (peek().is("+") || peek().is("-"))) atom.value = integer_expression("an offset");
  scopes_.back().pending.push_back(static_cast<uint32_t>(function_->atoms.size()));
  add_atom(group, atom, at);
}

void Parser::operand() {
  if (function_->groups.size() - function_->instructions.back().first_group >= kMaxGroups)
    fail(peek(), fmt::format("found more than {} operands, expected fewer", kMaxGroups));
  AtomGroup group;
  group.first = static_cast<uint32_t>(function_->atoms.size());
  const Token at = peek();
  if (accept("[")) {
    group.form = AtomGroup::Form::address;
    address(group);
    if (accept_directive(".unified")) {}  // a hint of ld.global, PTX ISA "ld"
  } else if (accept("{")) {
    group.form = AtomGroup::Form::vector;
    atom_list(group, "}");
  } else if (function_->instructions.back().opcode.substr(0, 4) == "call" && accept("(")) {
    group.form = AtomGroup::Form::list;
    atom_list(group, ")");
  } else {
    const bool negated = accept("!");
    const Token first = peek();
    if (first.kind == TokenKind::identifier && first.text != "WARP_SZ") {
      add_identifier(group, first);
      function_->atoms.back().negated = negated;
      if (accept("|")) {
        group.form = AtomGroup::Form::pair;
        const Token second = peek();
        if (second.kind != TokenKind::identifier) fail(second, fmt::format("found {}, expected a register after '|'", show(second)));
        add_identifier(group, second);
      }
    } else {
      if (first.kind != TokenKind::integer && first.kind != TokenKind::real32 && first.kind != TokenKind::real64 &&
          first.kind != TokenKind::identifier && first.kind != TokenKind::punctuation)
        fail(first, fmt::format("found {}, expected an operand", show(first)));
      if (first.is(";") || first.is(",") || first.is("}") || first.is("]") || first.is(")"))
        fail(first, fmt::format("found {}, expected an operand", show(first)));
      Value value = expression();
      if (negated) value.bits = value.bits == 0;
      add_atom(group, constant_atom(at, value), at);
    }
  }
  function_->groups.push_back(group);
}

void Parser::atom_list(AtomGroup& group, std::string_view close) {
  if (accept(close)) return;
  in_vector_ = close == "}";
  do {
    const Token at = peek();
    if (at.kind == TokenKind::identifier && at.text != "WARP_SZ") add_identifier(group, at);
    else add_atom(group, constant_atom(at, expression()), at);
  } while (accept(","));
  if (close == "}") expect("}", "after the vector");
  else expect(")", "after the list");
  in_vector_ = false;
}

void Parser::address(AtomGroup& group) {
  const Token at = peek();
  if (at.kind == TokenKind::identifier && at.text != "WARP_SZ") {
    add_identifier(group, at);
    Atom& base = function_->atoms.back();
    if (base.kind == Atom::Kind::reg && (peek().is("+") || peek().is("-"))) base.value = integer_expression("an offset");
    if (group.count != 1) fail(at, fmt::format("found the vector '{}' in an address, expected one register", at.text));
    if (base.kind == Atom::Kind::special || base.kind == Atom::Kind::sink)
      fail(at, fmt::format("found '{}' in an address, expected a register, a variable or a constant", at.text));
  } else {
    const Value value = expression();
    if (value.kind != Literal::integer) fail(at, fmt::format("found {} in an address, expected an integer", show(at)));
    add_atom(group, constant_atom(at, value), at);
  }
  while (accept(",")) {  // coordinates of a tensor access: [map, {c0, c1}], and [map, {..}, {..}]
    const Token more = peek();
    if (accept("{")) atom_list(group, "}");
    else if (more.kind == TokenKind::identifier) add_identifier(group, more);
    else add_atom(group, constant_atom(more, expression()), more);
  }
  expect("]", "after the address");
}

}  // namespace tcsim::isa::ptx
