// toml++ 3.3 made safe for any bytes; include it in one .cpp of a library only (it takes seconds to compile).
//
// The library asserts (clang in release builds: assumes) that a table header begins with a key and afterwards reports that it
// does not: without the assertions "[@x]" is an error like any other. On some bytes that TOML does not allow it fails in other
// ways, so texts go through find_stray_byte first.
#pragma once
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isa/diag.h"

namespace tcsim {

/// Place of the first byte that cannot stand where it does: control characters anywhere, and characters outside ASCII but in
/// comments and one-line strings. A quote opens a string only where a key or a value can begin. Multi-line strings count as
/// outside: nothing here needs other characters in them.
inline std::optional<Place> find_stray_byte(std::string_view text, const std::string& path) {
  constexpr std::string_view kBeforeString = "\n=[{,.";
  char quote = 0;    // of the string that we are in; '#': a comment
  char last = '\n';  // the last character that is not white space
  size_t line = 1, line_start = 0;
  for (size_t i = text.starts_with("\xef\xbb\xbf") ? 3 : 0; i < text.size(); ++i) {  // a byte-order mark may begin the text
    const char c = text[i];
    const bool control = (c >= 0 && c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;
    const bool outside_ascii = static_cast<unsigned char>(c) > 0x7f;
    if (control || (outside_ascii && quote == 0)) return Place{path, static_cast<uint32_t>(line), static_cast<uint32_t>(i - line_start + 1)};
    if (c == '\n') {
      quote = 0;
      ++line;
      line_start = i + 1;
    } else if (quote == 0 && (c == '#' || ((c == '"' || c == '\'') && kBeforeString.find(last) != std::string_view::npos))) {
      quote = c;
    } else if (quote == '"' && c == '\\') {
      if (i + 1 < text.size() && text[i + 1] >= ' ') ++i;
    } else if (quote != 0 && quote != '#' && c == quote) {
      quote = 0;
    }
    if (c != ' ' && c != '\t' && c != '\r') last = c;
  }
  return std::nullopt;
}

}  // namespace tcsim
