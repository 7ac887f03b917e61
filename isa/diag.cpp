#include "isa/diag.h"

#include <fmt/format.h>

namespace tcsim {

std::string Place::str() const {
  if (line == 0) return file;
  return col == 0 ? fmt::format("{}:{}", file, line) : fmt::format("{}:{}:{}", file, line, col);
}

std::string Diagnostic::str() const {
  const char* word = severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
  const std::string where = place.str();
  return where.empty() ? fmt::format("{}: {}", word, text) : fmt::format("{}: {}: {}", where, word, text);
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::error) ++errors_;
  all_.push_back(std::move(diagnostic));
}

}  // namespace tcsim
