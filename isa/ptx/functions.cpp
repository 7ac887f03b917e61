// Functions: headers with parameters and performance directives, bodies with their nested scopes.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "isa/ptx/parser.h"

namespace tcsim::isa::ptx {

void Parser::function(bool is_entry) {
  Function& fn = ast_.functions.emplace_back();
  function_ = &fn;
  fn.is_entry = is_entry;
  registers_declared_ = 0;
  ranges_.clear();
  loc_ = {};
  scopes_.resize(1);
  open_scope();
  if (accept_directive(".attribute")) {
    expect("(", "after .attribute");
    while (!peek().is(")") && peek().kind != TokenKind::end) lexer_.next();
    expect(")", "after the attribute");
  }
  if (!is_entry && peek().is("(")) formals(fn.returns, false);
  fn.line = peek().line;
  fn.col = peek().col;
  fn.name = identifier("a function name");
  if (peek().is("(")) formals(fn.params, is_entry);
  performance_directives();
  if (!accept(";")) {
    expect("{", fmt::format("at the start of the body of '{}'", fn.name));
    fn.has_body = true;
    open_scope();
    body();
    finish_function();
  }
  scopes_.resize(1);
  function_ = nullptr;
}

void Parser::formals(std::vector<Formal>& list, bool is_entry) {
  expect("(", "before the parameters");
  if (accept(")")) return;
  do list.push_back(formal(is_entry));
  while (accept(","));
  expect(")", "after the parameters");
}

Formal Parser::formal(bool is_entry) {
  const Token at = peek();
  if (accept_directive(".reg")) {
    uint8_t vector = 1;
    if (accept_directive(".v2")) vector = 2;
    else if (accept_directive(".v4")) vector = 4;
    const Type type = type_directive("after .reg");
    const Token name = peek();
    identifier("a register name");
    if (is_entry || vector != 1) fail(at, fmt::format("found a {}register parameter '{}', expected .param", vector > 1 ? "vector " : "", name.text));
    const int32_t range = declare_register(name.text, type, 0, 1, name);
    return {-1, dense_register(ranges_[static_cast<size_t>(range)], name.text, 0)};
  }
  if (!accept_directive(".param")) fail(at, fmt::format("found {}, expected .param", show(at)));
  uint32_t align = 0;
  bool pointer = false;
  int vector = 1;
  std::optional<Type> type;
  for (;;) {
    const Token t = peek();
    if (accept_directive(".align")) {
      align = static_cast<uint32_t>(unsigned_number("an alignment", 1u << 20));
      if (!std::has_single_bit(align)) fail(t, fmt::format("found .align {}, expected a power of two", align));
    } else if (accept_directive(".ptr")) {  // .ptr .space .align n: of what is pointed to
      pointer = true;
      for (;;) {
        if (accept_directive(".align")) unsigned_number("an alignment", ~0ull);
        else if (peek().kind == TokenKind::directive && space_of(peek().text) != Space::none) lexer_.next();
        else break;
      }
    } else if (accept_directive(".v2")) vector = 2;
    else if (accept_directive(".v4")) vector = 4;
    else if (t.is_directive(".texref") || t.is_directive(".samplerref") || t.is_directive(".surfref")) {
      lexer_.next();
      type = Type::u64;
    } else if (!type) type = type_directive("of the parameter");
    else break;
  }
  const Token name = peek();
  identifier("a parameter name");
  Variable& variable = declare_variable(Space::param, *type, vector, align, name, false);
  variable.is_pointer = pointer;
  bool open_ended = false;
  dimensions(variable, variable.symbol.bytes, open_ended);
  return {static_cast<int32_t>(ast_.variables.size()) - 1, -1};
}

void Parser::three_numbers(std::array<uint32_t, 3>& out) {
  out = {1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    out[i] = static_cast<uint32_t>(unsigned_number("a count", ~0u));
    if (!accept(",")) return;
  }
}

void Parser::performance_directives() {
  Function& fn = *function_;
  for (;;) {
    const Token at = peek();
    const auto number = [&] { return static_cast<uint32_t>(unsigned_number("a count", ~0u)); };
    if (at.kind != TokenKind::directive) return;
    lexer_.next();
    if (at.text == ".reqntid") three_numbers(fn.reqntid);
    else if (at.text == ".maxntid") three_numbers(fn.maxntid);
    else if (at.text == ".reqnctapercluster") three_numbers(fn.reqnctapercluster);
    else if (at.text == ".minnctapersm") fn.minnctapersm = number();
    else if (at.text == ".maxnreg") fn.maxnreg = number();
    else if (at.text == ".maxnctapersm" || at.text == ".maxclusterrank" || at.text == ".abi_preserve" || at.text == ".abi_preserve_control") number();
    else if (at.text == ".noreturn" || at.text == ".explicitcluster" || at.text == ".blocksareclusters" || at.text == ".unique") {
    } else if (at.text == ".pragma") skip_statement(false);
    else if (at.text == ".attribute") {
      expect("(", "after .attribute");
      while (!peek().is(")") && peek().kind != TokenKind::end) lexer_.next();
      expect(")", "after the attribute");
    } else fail(at, fmt::format("found {}, expected a performance directive like .reqntid, or the body", show(at)));
  }
}

void Parser::body() {
  const size_t outer = scopes_.size();
  for (;;) {
    if (peek().kind == TokenKind::end)
      fail(peek(), fmt::format("found end of file, expected '}}' that closes '{}' of line {}", function_->name, function_->line));
    if (accept("}")) {
      close_scope();
      if (scopes_.size() < outer) return;
      continue;
    }
    const size_t before = lexer_.token_begin();
    try {
      body_statement();
    } catch (const SyntaxError&) {
      if (lexer_.token_begin() == before && !peek().is("}")) lexer_.next();
      skip_statement(true);
    }
  }
}

void Parser::body_statement() {
  const Token at = peek();
  if (accept(";")) return;
  if (at.is("{")) {
    if (static_cast<int>(scopes_.size()) > kMaxScopeDepth) {
      problem("syntax", at.line, at.col, fmt::format("found braces nested more than {} deep, expected fewer", kMaxScopeDepth));
      lexer_.next();
      if (!lexer_.skip_braces()) fail(peek(), "found end of file, expected '}'");
      return;
    }
    lexer_.next();
    return open_scope();
  }
  if (at.kind == TokenKind::directive && body_directive()) return;
  if (at.kind == TokenKind::identifier || at.is("@")) return instruction();
  fail(at, fmt::format("found {}, expected an instruction, a label or a declaration", show(at)));
}

bool Parser::body_directive() {
  const std::string_view d = peek().text;
  if (d == ".reg") return register_statement(), true;
  if (d == ".loc") return loc_directive(), true;
  if (d == ".file") return file_directive(), true;
  if (d == ".pragma") return skip_statement(true), true;
  if (d == ".section") return section(), true;
  if (d == ".branchtargets") return branch_targets(), true;
  if (d == ".callprototype" || d == ".calltargets") {
    if (!function_->labels.empty()) function_->labels.back().prototype = true;
    return skip_statement(true), true;
  }
  if (d == ".extern" || d == ".visible" || d == ".weak") {
    lexer_.next();
    const Space space = space_of(peek().text);
    if (space == Space::none) fail(peek(), fmt::format("found {}, expected a variable declaration after {}", show(peek()), d));
    lexer_.next();
    return variable_statement(space, d, false), true;
  }
  if (const Space space = space_of(d); space != Space::none) {
    lexer_.next();
    return variable_statement(space, {}, false), true;
  }
  return false;
}

void Parser::label(const Token& name) {
  lexer_.next();
  const auto index = static_cast<uint32_t>(function_->labels.size());
  if (!scopes_.back().labels.emplace(name.text, index).second)
    problem("syntax", name.line, name.col, fmt::format("found the label '{}' a second time, expected a new name", name.text));
  function_->labels.push_back({name.text, static_cast<uint32_t>(function_->instructions.size()), -1, false});
}

void Parser::branch_targets() {
  const Token at = lexer_.next();
  if (function_->labels.empty()) fail(at, "found .branchtargets without a label, expected 'name: .branchtargets ...'");
  AtomGroup group;
  group.first = static_cast<uint32_t>(function_->atoms.size());
  do {
    const Token target = peek();
    identifier("a label");
    Atom atom;
    atom.kind = Atom::Kind::name;
    atom.text = target.text;
    atom.line = target.line;
    atom.col = target.col;
    scopes_.back().pending.push_back(static_cast<uint32_t>(function_->atoms.size()));
    add_atom(group, atom, target);
  } while (accept(","));
  expect(";", "after the branch targets");
  function_->labels.back().table = static_cast<int32_t>(function_->tables.size());
  function_->tables.push_back(group);
}

void Parser::instruction() {
  Function& fn = *function_;
  Instruction inst;
  inst.loc = loc_;
  if (accept("@")) {
    inst.guarded = true;
    const bool negated = accept("!");
    const Token at = peek();
    identifier("a predicate register");
    if (!resolve(at.text, inst.guard, nullptr)) fail(at, fmt::format("found '{}', which is not declared, expected a predicate register", at.text));
    if (inst.guard.kind != Atom::Kind::reg || inst.guard.type != Type::pred)
      fail(at, fmt::format("found '{}' as a guard, expected a predicate register", at.text));
    inst.guard.negated = negated;
    inst.guard.text = at.text;
    inst.guard.line = at.line;
    inst.guard.col = at.col;
  }
  if (peek().kind != TokenKind::identifier) fail(peek(), fmt::format("found {}, expected an instruction", show(peek())));
  if (!inst.guarded && lexer_.after_token() != '.') {
    const Token name = peek();
    // A name before ':' is a label; "::" only occurs inside mnemonics, which have a dot before it.
    Lexer ahead = lexer_;
    ahead.next();
    if (ahead.peek().is(":")) {
      lexer_.next();
      return label(name);
    }
  }
  const Token opcode = lexer_.take_opcode();
  inst.opcode = opcode.text;
  inst.line = opcode.line;
  inst.col = opcode.col;
  inst.first_group = static_cast<uint32_t>(fn.groups.size());
  fn.instructions.push_back(inst);
  try {
    if (!peek().is(";")) {
      do operand();
      while (accept(","));
    }
    Instruction& made = fn.instructions.back();
    made.group_count = static_cast<uint32_t>(fn.groups.size()) - made.first_group;
    const size_t begin = static_cast<size_t>(opcode.text.data() - lexer_.text().data());
    made.text = lexer_.text().substr(begin, lexer_.last_end() - begin);
    expect(";", fmt::format("after '{}'", opcode.text.substr(0, 60)));
  } catch (const SyntaxError&) {
    fn.instructions.pop_back();
    throw;
  }
}

void Parser::close_scope() {
  Scope& scope = scopes_.back();
  Scope* parent = scopes_.size() > 2 ? &scopes_[scopes_.size() - 2] : nullptr;
  for (const uint32_t index : scope.pending) {
    Atom& atom = function_->atoms[index];
    if (atom.kind != Atom::Kind::name) continue;
    const auto it = scope.labels.find(atom.text);
    if (it != scope.labels.end()) {
      atom.kind = Atom::Kind::label;
      atom.id = static_cast<int32_t>(it->second);
    } else if (parent) {
      parent->pending.push_back(index);
    }
  }
  scopes_.pop_back();
}

void Parser::finish_function() {
  Function& fn = *function_;
  fn.groups.shrink_to_fit();
  fn.atoms.shrink_to_fit();
}

}  // namespace tcsim::isa::ptx
