#include "isa/ptx/parser.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace tcsim::isa::ptx {

// ---- tools ----

std::string Parser::show(const Token& token) {
  switch (token.kind) {
    case TokenKind::end: return "end of file";
    case TokenKind::string: return fmt::format("\"{}\"", token.text.substr(0, 60));
    default: return fmt::format("'{}'", token.text.substr(0, 60));
  }
}

void Parser::problem(std::string kind, uint32_t line, uint32_t col, std::string text) {
  problems_.add(std::move(kind), line, col, std::move(text));
  if (++problem_count_ >= kMaxProblems) throw TooMany{};
}

void Parser::fail(const Token& at, std::string text) {
  // What the lexer could not read is the problem, whatever the parser expected there.
  const Token& now = peek();
  if (now.kind == TokenKind::invalid && now.line == at.line && now.col == at.col) {
    text = fmt::format("found {}", lexer_.problem());
    if (text.find("expected") == std::string::npos) text += ", expected PTX text";
  }
  problem("syntax", at.line, at.col, std::move(text));
  throw SyntaxError{};
}

bool Parser::accept(std::string_view punctuation) {
  if (!peek().is(punctuation)) return false;
  lexer_.next();
  return true;
}

void Parser::expect(std::string_view punctuation, std::string_view where) {
  if (!accept(punctuation)) fail(peek(), fmt::format("found {}, expected '{}' {}", show(peek()), punctuation, where));
}

bool Parser::accept_directive(std::string_view name) {
  if (!peek().is_directive(name)) return false;
  lexer_.next();
  return true;
}

std::string_view Parser::identifier(std::string_view what) {
  if (peek().kind != TokenKind::identifier) fail(peek(), fmt::format("found {}, expected {}", show(peek()), what));
  return lexer_.next().text;
}

uint64_t Parser::unsigned_number(std::string_view what, uint64_t limit) {
  const Token at = peek();
  if (at.kind != TokenKind::integer) fail(at, fmt::format("found {}, expected {}", show(at), what));
  lexer_.next();
  if (at.value > limit) fail(at, fmt::format("found {}, expected {} of at most {}", at.value, what, limit));
  return at.value;
}

void Parser::skip_statement(bool in_body) {
  int depth = 0;
  while (peek().kind != TokenKind::end) {
    const Token& t = peek();
    if (t.is("{")) ++depth;
    else if (t.is("}")) {
      if (depth == 0 && in_body && !in_vector_) return;
      in_vector_ = false;  // the '}' of the vector in which the problem was
      if (depth > 0 && --depth == 0 && !in_body) {
        lexer_.next();
        return;
      }
    } else if (t.is(";") && depth == 0) {
      in_vector_ = false;
      lexer_.next();
      return;
    } else if (!in_body && depth == 0) {
      static constexpr std::string_view kStarts[] = {".visible", ".entry", ".func", ".extern", ".weak", ".section", ".global", ".const"};
      if (std::find(std::begin(kStarts), std::end(kStarts), t.text) != std::end(kStarts)) return;
    }
    lexer_.next();
  }
}

// ---- module level ----

ModuleAst Parser::parse() {
  scopes_.emplace_back();
  module_.files.assign(1, {});
  try {
    try {
      header();
    } catch (const SyntaxError&) { skip_statement(false); }
    while (peek().kind != TokenKind::end) {
      const size_t before = lexer_.token_begin();
      try {
        module_statement();
      } catch (const SyntaxError&) {
        scopes_.resize(1);
        function_ = nullptr;
        if (lexer_.token_begin() == before) lexer_.next();
        skip_statement(false);
      }
    }
  } catch (const TooMany&) { ast_.gave_up = true; }
  return std::move(ast_);
}

void Parser::header() {
  if (peek().kind == TokenKind::end) fail(peek(), "found an empty file, expected .version");
  if (!peek().is_directive(".version")) fail(peek(), fmt::format("found {}, expected .version", show(peek())));
  version();
  if (!peek().is_directive(".target")) fail(peek(), fmt::format("found {}, expected .target", show(peek())));
  target();
  if (accept_directive(".address_size")) {
    const Token at = peek();
    if (unsigned_number("an address size", ~0ull) != 64) fail(at, fmt::format("found .address_size {}, expected 64", at.text));
  }
}

void Parser::version() {
  lexer_.next();
  const Token at = lexer_.next();
  const size_t dot = at.text.find('.');
  int major = 0, minor = 0;
  bool ok = at.kind == TokenKind::real64 && dot != std::string_view::npos;
  if (ok) {
    const char* begin = at.text.data();
    const char* end = begin + at.text.size();
    ok = std::from_chars(begin, begin + dot, major).ptr == begin + dot && std::from_chars(begin + dot + 1, end, minor).ptr == end;
  }
  if (!ok) fail(at, fmt::format("found {}, expected a version like 8.7", show(at)));
  module_.version_major = major;
  module_.version_minor = minor;
}

void Parser::target() {
  lexer_.next();
  const Token at = peek();
  do {
    const Token token = peek();
    const std::string_view word = identifier("a target like sm_80");
    if (word.substr(0, 3) != "sm_") continue;  // debug, texmode_independent, map_f64_to_f32, ...
    module_.target = std::string(word);
    std::string_view digits = word.substr(3);
    module_.arch_specific = !digits.empty() && (digits.back() == 'a' || digits.back() == 'f');
    if (module_.arch_specific) digits.remove_suffix(1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), module_.sm);
    if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() || module_.sm < 10)
      fail(token, fmt::format("found {}, expected a target like sm_80", show(token)));
  } while (accept(","));
  if (module_.sm == 0) fail(at, fmt::format("found {}, expected a target like sm_80", show(at)));
}

void Parser::module_statement() {
  const Token at = peek();
  if (accept(";")) return;
  if (at.kind == TokenKind::directive) {
    const std::string_view d = at.text;
    std::string_view linkage;
    if (d == ".file") return file_directive();
    if (d == ".section") return section();
    if (d == ".loc") return loc_directive();
    if (d == ".alias") return alias();
    if (d == ".version") return version();
    if (d == ".target") return target();
    if (d == ".pragma" || d == ".address_size") return skip_statement(false);
    if (d == ".visible" || d == ".extern" || d == ".weak" || d == ".common") {
      linkage = d;
      lexer_.next();
    }
    if (peek().is_directive(".entry") || peek().is_directive(".func")) {
      const bool entry = lexer_.next().text == ".entry";
      return function(entry);
    }
    if (const Space space = space_of(peek().text); space != Space::none && peek().kind == TokenKind::directive) {
      lexer_.next();
      return variable_statement(space, linkage, true);
    }
    if (peek().is_directive(".reg")) fail(peek(), "found .reg outside of a function, expected it inside one");
    if (peek().is_directive(".tex")) return skip_statement(false);
  }
  fail(peek(), fmt::format("found {}, expected a directive like .entry, .func or .global", show(peek())));
}

void Parser::file_directive() {
  lexer_.next();
  const auto index = static_cast<size_t>(unsigned_number("a file index", 1u << 16));
  if (peek().kind != TokenKind::string) fail(peek(), fmt::format("found {}, expected a file name in quotes", show(peek())));
  if (module_.files.size() <= index) module_.files.resize(index + 1);
  module_.files[index] = std::string(lexer_.next().text);
  while (accept(",")) unsigned_number("a number", ~0ull);  // time stamp, size
  accept(";");
}

void Parser::loc_directive() {
  lexer_.next();
  loc_.file = static_cast<uint32_t>(unsigned_number("a file index", 1u << 16));
  loc_.line = static_cast<uint32_t>(unsigned_number("a line number", ~0u));
  loc_.col = static_cast<uint32_t>(unsigned_number("a column", ~0u));
  while (accept(",")) {
    const Token at = peek();
    const std::string_view word = identifier("function_name or inlined_at");
    if (word == "function_name") {
      identifier("a label");
      if (accept("+")) unsigned_number("an offset", ~0ull);
    } else if (word == "inlined_at") {
      for (int i = 0; i < 3; ++i) unsigned_number("a number", ~0ull);
    } else {
      fail(at, fmt::format("found {}, expected function_name or inlined_at", show(at)));
    }
  }
  accept(";");
}

void Parser::section() {
  const Token at = lexer_.next();
  while (peek().kind == TokenKind::directive || peek().kind == TokenKind::identifier || peek().kind == TokenKind::string || peek().is(","))
    lexer_.next();
  expect("{", "after the name of a section");
  if (!lexer_.skip_braces()) fail(peek(), fmt::format("found end of file, expected '}}' that closes the section of line {}", at.line));
}

void Parser::alias() {
  lexer_.next();
  const std::string_view name = identifier("a function name");
  expect(",", "between the names of .alias");
  ast_.aliases.emplace_back(name, identifier("a function name"));
  expect(";", "after .alias");
}

ModuleAst parse(Module& module, Problems& problems) { return Parser(module, problems).parse(); }

}  // namespace tcsim::isa::ptx
