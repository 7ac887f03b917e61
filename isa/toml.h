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

/// Place of the first byte that cannot stand where it does: outside comments and one-line strings TOML has printable ASCII,
/// tabs and line ends only. Multi-line strings count as outside: nothing here needs other characters in them.
inline std::optional<Place> find_stray_byte(std::string_view text, const std::string& path) {
  char quote = 0;  // of the string that we are in; '#': a comment
  size_t line = 1, line_start = 0;
  for (size_t i = text.starts_with("\xef\xbb\xbf") ? 3 : 0; i < text.size(); ++i) {  // a byte-order mark may begin the text
    const char c = text[i];
    const bool plain = (c >= ' ' && c <= '~') || c == '\t' || c == '\r' || c == '\n';
    if (quote == 0 && !plain) return Place{path, static_cast<uint32_t>(line), static_cast<uint32_t>(i - line_start + 1)};
    if (c == '\n') {
      quote = 0;
      ++line;
      line_start = i + 1;
    } else if (quote == 0 && (c == '"' || c == '\'' || c == '#')) {
      quote = c;
    } else if (quote == '"' && c == '\\') {
      if (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (quote != 0 && quote != '#' && c == quote) {
      quote = 0;
    }
  }
  return std::nullopt;
}

}  // namespace tcsim
