// Tokens of PTX text (PTX ISA, "Syntax"). The lexer works on the text in place: tokens are views into it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tcsim::isa::ptx {

enum class TokenKind : uint8_t {
  end,
  identifier,   // foo, %r1, $L__BB0_1
  directive,    // .reg, .shared::cta, .b32 (view includes the dot)
  integer,      // value; is_unsigned: U suffix or more than 63 bits
  real32,       // 0f3F800000: bits in value
  real64,       // 0d...: bits in value, and decimal 1.5e3
  string,       // view without quotes
  punctuation,  // one or two characters: { } ( ) [ ] , ; : | ! + - * / % & ^ ~ < > = ? @ << >> <= >= == != && ||
  invalid
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  uint64_t value = 0;
  bool is_unsigned = false;
  bool is_decimal_real = false;  // 1.0, not 0d...
  uint32_t line = 1, col = 1;

  bool is(std::string_view punctuation_or_word) const { return kind >= TokenKind::punctuation ? text == punctuation_or_word : false; }
  bool is_directive(std::string_view name) const { return kind == TokenKind::directive && text == name; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { next(); }

  const Token& peek() const { return token_; }
  /// Returns the current token and moves on.
  Token next();
  /// The current token is an identifier that starts an instruction: appends ".mod.mod::x" that follows it.
  Token take_opcode();
  /// Position right behind the last token returned by next() or take_opcode().
  size_t last_end() const { return last_end_; }
  size_t token_begin() const { return static_cast<size_t>(token_.text.data() - text_.data()); }
  /// The character behind the current token, '\0' at the end.
  char after_token() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  /// Skips to behind the '}' that closes the '{' that was just taken. False: there is none.
  bool skip_braces();
  std::string_view text() const { return text_; }
  /// Text of the problem if the current token is invalid.
  const std::string& problem() const { return problem_; }

 private:
  void skip_blank();
  void scan();
  void scan_number();
  void scan_hex_real(char kind);
  void scan_string();
  void finish(TokenKind kind, size_t begin, size_t end);
  void bad(size_t begin, size_t end, std::string problem);
  void new_line(size_t at) { ++line_, line_start_ = at; }

  std::string_view text_;
  Token token_;
  size_t at_ = 0, last_end_ = 0, line_start_ = 0;
  uint32_t line_ = 1;
  bool line_has_token_ = false;
  std::string problem_;
};

/// Characters of identifiers after the first.
constexpr bool is_follow(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$'; }

}  // namespace tcsim::isa::ptx
