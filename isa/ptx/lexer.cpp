#include "isa/ptx/lexer.h"

#include <bit>
#include <cstdlib>

#include <fmt/format.h>

namespace tcsim::isa::ptx {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Lexer::finish(TokenKind kind, size_t begin, size_t end) {
  token_.kind = kind;
  token_.text = text_.substr(begin, end - begin);
  at_ = end;
  line_has_token_ = true;
}

void Lexer::bad(size_t begin, size_t end, std::string problem) {
  problem_ = std::move(problem);
  finish(TokenKind::invalid, begin, end);
}

Token Lexer::next() {
  const Token out = token_;
  last_end_ = at_;
  skip_blank();
  scan();
  return out;
}

Token Lexer::take_opcode() {
  Token out = token_;
  const size_t begin = token_begin();
  size_t end = at_;
  while (end + 1 < text_.size() && text_[end] == '.' && is_follow(text_[end + 1])) {
    ++end;
    while (end < text_.size()) {
      if (is_follow(text_[end])) ++end;
      else if (end + 2 < text_.size() && text_[end] == ':' && text_[end + 1] == ':' && is_follow(text_[end + 2])) end += 2;
      else break;
    }
  }
  out.text = text_.substr(begin, end - begin);
  at_ = last_end_ = end;
  skip_blank();
  scan();
  return out;
}

bool Lexer::skip_braces() {
  for (int depth = 1; depth > 0;) {
    if (token_.kind == TokenKind::end) return false;
    if (token_.is("{")) ++depth;
    if (token_.is("}")) --depth;
    next();
  }
  return true;
}

void Lexer::skip_blank() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      new_line(++at_);
      line_has_token_ = false;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '*') {
      const size_t close = text_.find("*/", at_ + 2);
      if (close == std::string_view::npos) return;  // scan() reports it
      for (size_t i = at_; i < close; ++i)
        if (text_[i] == '\n') new_line(i + 1);
      at_ = close + 2;
    } else if ((c == '#' || (c == '@' && text_.substr(at_, 7) == "@@DWARF")) && !line_has_token_) {
      at_ = std::min(text_.find('\n', at_), text_.size());  // preprocessor line, old debug data
    } else {
      return;
    }
  }
}

void Lexer::scan() {
  token_ = Token{};
  token_.line = line_;
  token_.col = static_cast<uint32_t>(at_ - line_start_) + 1;
  if (at_ >= text_.size()) {
    token_.text = text_.substr(text_.size());
    return;
  }
  const size_t begin = at_;
  const char c = text_[begin];
  const char after = begin + 1 < text_.size() ? text_[begin + 1] : '\0';
  size_t end = begin + 1;
  if (is_letter(c) || ((c == '_' || c == '$' || c == '%') && is_follow(after)) || c == '_') {
    while (end < text_.size() && is_follow(text_[end])) ++end;
    return finish(TokenKind::identifier, begin, end);
  }
  if (is_digit(c)) return scan_number();
  if (c == '.' && is_follow(after)) {
    if (is_digit(after)) return scan_number();
    while (end < text_.size() &&
           (is_follow(text_[end]) || (text_[end] == ':' && end + 2 < text_.size() && text_[end + 1] == ':' && is_follow(text_[end + 2])) ||
            (text_[end] == ':' && text_[end - 1] == ':')))
      ++end;
    return finish(TokenKind::directive, begin, end);
  }
  if (c == '"') return scan_string();
  if (c == '/' && after == '*') return bad(begin, text_.size(), "comment that does not end");
  static constexpr std::string_view kPairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
  for (const std::string_view pair : kPairs)
    if (text_.substr(begin, 2) == pair) return finish(TokenKind::punctuation, begin, begin + 2);
  if (std::string_view("{}()[],;:|!+-*/%&^~<>=?@").find(c) != std::string_view::npos) return finish(TokenKind::punctuation, begin, begin + 1);
  const auto byte = static_cast<unsigned char>(c);
  bad(begin, begin + 1, byte > 0x20 && byte < 0x7f ? fmt::format("'{}'", c) : fmt::format("the byte 0x{:02x}", byte));
}

void Lexer::scan_hex_real(char kind) {
  const size_t begin = at_;
  const size_t digits = kind == 'f' ? 8 : 16;
  uint64_t value = 0;
  size_t end = begin + 2;
  while (end < text_.size() && hex_value(text_[end]) >= 0 && end - begin - 2 < digits)
    value = value << 4 | static_cast<uint64_t>(hex_value(text_[end++]));
  if (end - begin - 2 != digits || (end < text_.size() && is_follow(text_[end]))) {
    while (end < text_.size() && is_follow(text_[end])) ++end;
    return bad(begin, end, fmt::format("'{}', expected {} hexadecimal digits after 0{}", text_.substr(begin, end - begin), digits, kind));
  }
  token_.value = value;
  finish(kind == 'f' ? TokenKind::real32 : TokenKind::real64, begin, end);
}

void Lexer::scan_number() {
  const size_t begin = at_;
  const auto at = [this](size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  if (text_[begin] == '0') {
    const char k = at(begin + 1);
    if (k == 'f' || k == 'F') return scan_hex_real('f');
    if (k == 'd' || k == 'D') return scan_hex_real('d');
  }
  size_t end = begin;
  unsigned base = 10;
  if (text_[begin] == '0' && (at(begin + 1) == 'x' || at(begin + 1) == 'X')) base = 16, end += 2;
  else if (text_[begin] == '0' && (at(begin + 1) == 'b' || at(begin + 1) == 'B')) base = 2, end += 2;
  const size_t first = end;
  while (hex_value(at(end)) >= 0 && hex_value(at(end)) < (base == 16 ? 16 : 10)) ++end;
  const bool exponent =
      (at(end) == 'e' || at(end) == 'E') && (is_digit(at(end + 1)) || ((at(end + 1) == '+' || at(end + 1) == '-') && is_digit(at(end + 2))));
  if (base == 10 && (at(end) == '.' || exponent)) {
    if (at(end) == '.')
      for (++end; is_digit(at(end));) ++end;
    if ((at(end) == 'e' || at(end) == 'E') && (is_digit(at(end + 1)) || is_digit(at(end + 2)))) {
      end += 2;
      while (is_digit(at(end))) ++end;
    }
    if (is_follow(at(end))) {
      while (is_follow(at(end))) ++end;
      return bad(begin, end, fmt::format("'{}', expected a number", text_.substr(begin, end - begin)));
    }
    const std::string copy(text_.substr(begin, end - begin));
    token_.value = std::bit_cast<uint64_t>(std::strtod(copy.c_str(), nullptr));
    token_.is_decimal_real = true;
    return finish(TokenKind::real64, begin, end);
  }
  if (base == 10 && text_[begin] == '0' && end - begin > 1) base = 8;
  uint64_t value = 0;
  bool ok = end > first;
  bool too_big = false;
  for (size_t i = first; i < end; ++i) {
    const auto digit = static_cast<unsigned>(hex_value(text_[i]));
    ok &= digit < base;
    too_big |= value > (~0ull - digit) / base;
    value = value * base + digit;
  }
  if (at(end) == 'U') token_.is_unsigned = true, ++end;
  if (is_follow(at(end))) ok = false;
  while (is_follow(at(end))) ++end;
  const std::string_view text = text_.substr(begin, end - begin);
  if (!ok) return bad(begin, end, fmt::format("'{}', expected a number", text.substr(0, 40)));
  if (too_big) return bad(begin, end, fmt::format("'{}', expected an integer of at most 64 bits", text.substr(0, 40)));
  token_.value = value;
  token_.is_unsigned |= value >> 63;
  finish(TokenKind::integer, begin, end);
}

void Lexer::scan_string() {
  const size_t begin = at_;
  size_t end = begin + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' && end + 1 < text_.size() ? 2 : 1;
  end = std::min(end, text_.size());
  if (end >= text_.size() || text_[end] != '"') return bad(begin, end, "a string that does not end on its line");
  finish(TokenKind::string, begin + 1, end);
  at_ = end + 1;
}

}  // namespace tcsim::isa::ptx
