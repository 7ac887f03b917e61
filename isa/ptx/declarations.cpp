// Variables, registers and initialisers (PTX ISA, "State Spaces, Types, and Variables").
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "isa/exec/memory.h"
#include "isa/ptx/parser.h"

namespace tcsim::isa::ptx {

Space Parser::space_of(std::string_view d) const {
  if (d == ".global") return Space::global;
  if (d == ".shared" || d == ".shared::cta") return Space::shared;
  if (d == ".const") return Space::constant;
  if (d == ".local") return Space::local;
  if (d == ".param") return Space::param;
  return Space::none;
}

std::optional<Type> Parser::accept_type() {
  if (peek().kind != TokenKind::directive) return std::nullopt;
  const auto type = type_from_name(peek().text.substr(1));
  if (type) lexer_.next();
  return type;
}

Type Parser::type_directive(std::string_view where) {
  const auto type = accept_type();
  if (!type) fail(peek(), fmt::format("found {}, expected a type like .b32 {}", show(peek()), where));
  return *type;
}

void Parser::declare_name(std::string_view name, Entry entry, const Token& at) {
  if (!scopes_.back().names.emplace(name, entry).second)
    problem("syntax", at.line, at.col, fmt::format("found '{}', which is declared already in this scope, expected a new name", name));
}

// ---- registers ----

void Parser::register_statement() {
  lexer_.next();
  uint8_t vector = 1;
  if (accept_directive(".v2")) vector = 2;
  else if (accept_directive(".v4")) vector = 4;
  const Type type = type_directive("after .reg");
  do {
    const Token at = peek();
    const std::string_view name = identifier("a register name");
    uint32_t count = 0;
    if (accept("<")) {
      const Token number = peek();
      const uint64_t n = unsigned_number("a register count", ~0ull);
      if (n == 0 || n > kMaxRegisters) fail(number, fmt::format("found {} registers, expected a count from 1 to {}", n, kMaxRegisters));
      count = static_cast<uint32_t>(n);
      expect(">", "after the register count");
    }
    declare_register(name, type, count, vector, at);
  } while (accept(","));
  expect(";", "after the register declaration");
}

int32_t Parser::declare_register(std::string_view name, Type type, uint32_t count, uint8_t vector, const Token& at) {
  const uint32_t wanted = std::max(count, 1u) * vector;
  if (wanted > kMaxRegisters - registers_declared_)
    fail(at, fmt::format("found more than {} registers in one function, expected fewer", kMaxRegisters));
  registers_declared_ += wanted;
  const auto index = static_cast<uint32_t>(ranges_.size());
  ranges_.push_back({name, type, count, vector, std::vector<int32_t>(wanted, -1)});
  if (count == 0) {
    declare_name(name, {true, index}, at);
  } else if (!scopes_.back().prefixes.emplace(name, Entry{true, index}).second) {
    problem("syntax", at.line, at.col, fmt::format("found '{}<{}>', which is declared already in this scope, expected a new name", name, count));
  }
  return static_cast<int32_t>(index);
}

// ---- variables ----

void Parser::variable_statement(Space space, std::string_view linkage, bool module_scope) {
  uint32_t align = 0;
  int vector = 1;
  std::optional<Type> type;
  for (;;) {  // .align, .v2/.v4, .attribute(...), the type: in any order, as ptxas takes them
    const Token at = peek();
    if (accept_directive(".align")) {
      align = static_cast<uint32_t>(unsigned_number("an alignment", 1u << 20));
      if (!std::has_single_bit(align)) fail(at, fmt::format("found .align {}, expected a power of two", align));
    } else if (accept_directive(".v2")) vector = 2;
    else if (accept_directive(".v4")) vector = 4;
    else if (accept_directive(".attribute")) {
      expect("(", "after .attribute");
      while (!peek().is(")") && !peek().is(";") && peek().kind != TokenKind::end) lexer_.next();
      expect(")", "after the attribute");
    } else if (at.is_directive(".texref") || at.is_directive(".samplerref") || at.is_directive(".surfref")) {
      return skip_statement(false);
    } else if (!type) {
      type = type_directive(fmt::format("of the .{} variable", name(space)));
    } else {
      break;
    }
  }
  do {
    const Token at = peek();
    identifier("a variable name");
    Variable& variable = declare_variable(space, *type, vector, align, at, module_scope);
    variable.symbol.is_extern = linkage == ".extern";
    bool open_ended = false;
    const auto element = static_cast<uint32_t>(std::max(1, bits(*type) / 8 * vector));
    dimensions(variable, element, open_ended);
    if (accept("=")) {
      if (space != Space::global && space != Space::constant)
        fail(at, fmt::format("found an initial value for the .{} variable '{}', expected one only in .global and .const", name(space), at.text));
      initialiser(variable, *type, open_ended);
    } else if (open_ended && linkage != ".extern" && space != Space::shared) {
      fail(at, fmt::format("found the array '{}' without a size, expected a size or an initial value", at.text));
    }
  } while (accept(","));
  expect(";", "after the variable declaration");
}

Variable& Parser::declare_variable(Space space, Type type, int vector, uint32_t align, const Token& name_token, bool module_scope) {
  if (type == Type::pred) fail(name_token, fmt::format("found a variable '{}' of type .pred, expected .pred only for registers", name_token.text));
  const auto index = static_cast<uint32_t>(ast_.variables.size());
  Variable& variable = ast_.variables.emplace_back();
  variable.line = name_token.line;
  variable.col = name_token.col;
  variable.is_module_scope = module_scope;
  Symbol& symbol = variable.symbol;
  symbol.name = std::string(name_token.text);
  symbol.space = space;
  symbol.type = type;
  symbol.bytes = static_cast<uint64_t>(std::max(1, bits(type) / 8 * vector));
  symbol.align = align ? align : static_cast<uint32_t>(symbol.bytes);
  // An .extern or .weak variable may be declared again: the later declaration counts.
  auto& names = scopes_.back().names;
  const auto it = names.find(name_token.text);
  if (it != names.end() && module_scope && !it->second.is_register) it->second.index = index;
  else declare_name(name_token.text, {false, index}, name_token);
  return variable;
}

void Parser::dimensions(Variable& variable, uint64_t element, bool& open_ended) {
  unsigned __int128 bytes = element;
  while (peek().is("[")) {
    const Token at = lexer_.next();
    if (accept("]")) {
      open_ended = true;
      continue;
    }
    const Token size_token = peek();
    const int64_t n = integer_expression("an array size");
    expect("]", "after the array size");
    if (n < 0) fail(size_token, fmt::format("found an array of {} elements, expected 0 or more", n));
    bytes *= static_cast<uint64_t>(n);
    const uint64_t limit = variable.symbol.space == Space::shared  ? kSharedWindowBytes
                           : variable.symbol.space == Space::local ? kLocalWindowBytes
                           : variable.symbol.space == Space::param ? kMaxParamBytes
                                                                   : kMaxArrayBytes;
    if (bytes > limit)
      fail(at, fmt::format("found an array '{}' of more than {} bytes in .{}, expected at most that", variable.symbol.name, limit,
                           name(variable.symbol.space)));
  }
  variable.symbol.bytes = open_ended ? 0 : static_cast<uint64_t>(bytes);
}

// ---- initialisers ----

void Parser::initialiser(Variable& variable, Type type, bool open_ended) {
  const Token at = peek();
  const auto scalar = static_cast<uint32_t>(std::max(1, bits(type) / 8));
  if (peek().kind == TokenKind::string) {
    for (const char c : lexer_.next().text) put_init(variable.symbol, static_cast<unsigned char>(c), 1, at);
    put_init(variable.symbol, 0, 1, at);
  } else if (peek().is("{")) {
    init_list(variable, scalar, type, 0);
  } else {
    init_element(variable, scalar, type);
  }
  Symbol& symbol = variable.symbol;
  if (open_ended) symbol.bytes = symbol.init.size();
  const size_t given = symbol.init.size();
  if (given <= symbol.bytes) return;
  symbol.init.clear();
  symbol.init_addresses.clear();
  fail(at, fmt::format("found {} bytes of initial values for '{}', expected at most {}", given, symbol.name, symbol.bytes));
}

void Parser::init_list(Variable& variable, uint32_t element_bytes, Type type, int depth) {
  if (depth > kMaxExpressionDepth) fail(peek(), fmt::format("found braces nested more than {} deep, expected fewer", kMaxExpressionDepth));
  expect("{", "at the start of initial values");
  while (!peek().is("}")) {
    if (peek().is("{")) init_list(variable, element_bytes, type, depth + 1);
    else init_element(variable, element_bytes, type);
    if (!accept(",")) break;
  }
  expect("}", "after initial values");
}

void Parser::init_element(Variable& variable, uint32_t element_bytes, Type type) {
  const Token at = peek();
  if (at.kind == TokenKind::identifier && at.text != "WARP_SZ") return init_symbol(variable, element_bytes, ~0ull);
  const Value value = expression();
  if (peek().is("(") && value.kind == Literal::integer) {  // mask operator: 0xFF00(symbol)
    lexer_.next();
    init_symbol(variable, element_bytes, value.bits);
    return expect(")", "after the symbol of a mask");
  }
  put_init(variable.symbol, constant_bits(value.kind, value.bits, type), element_bytes, at);
}

void Parser::init_symbol(Variable& variable, uint32_t element_bytes, uint64_t mask) {
  const Token at = peek();
  AddressInit init;
  init.generic = at.text == "generic";
  if (init.generic) {
    lexer_.next();
    expect("(", "after generic");
  }
  init.symbol = std::string(identifier("a symbol"));
  if (init.generic) {
    if (peek().is("+")) init.addend = integer_expression("an offset");
    expect(")", "after the symbol");
  }
  if (peek().is("+") || peek().is("-")) init.addend += integer_expression("an offset");
  init.shift = mask == 0 || mask == ~0ull ? 0 : static_cast<uint32_t>(std::countr_zero(mask));
  init.bytes = std::min(element_bytes, 8u);
  init.offset = static_cast<uint32_t>(variable.symbol.init.size());
  put_init(variable.symbol, 0, element_bytes, at);
  variable.symbol.init_addresses.push_back(std::move(init));
}

void Parser::put_init(Symbol& symbol, uint64_t bits, uint32_t bytes, const Token& at) {
  if (symbol.init.size() + bytes > kMaxInitBytes) fail(at, fmt::format("found more than {} bytes of initial values, expected fewer", kMaxInitBytes));
  for (uint32_t i = 0; i < bytes; ++i) symbol.init.push_back(i < 8 ? static_cast<uint8_t>(bits >> (8 * i)) : 0);
}

}  // namespace tcsim::isa::ptx
