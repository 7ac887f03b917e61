// Diagnostics: everything that is the user's fault, with its place, collected so that all problems come out in one go.
//   diags.error("syntax", {"k.ptx", 12, 7}, "found 'foo', expected an instruction");
//   -> k.ptx:12:7: error: found 'foo', expected an instruction
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tcsim {

/// A place in a text file. line and col count from 1; 0 means "not known".
struct Place {
  std::string file;
  uint32_t line = 0, col = 0;
  std::string str() const;
};

enum class Severity : uint8_t { error, warning, note };

/// kind is one of the stable kinds of the JSON report: "syntax", "unsupported-instruction", "deadlock", ...
struct Diagnostic {
  Severity severity;
  std::string kind;
  Place place;
  std::string text;
  std::string str() const;  // "file:line:col: error: text"
};

class Diagnostics {
 public:
  void error(std::string kind, Place place, std::string text) { add({Severity::error, std::move(kind), std::move(place), std::move(text)}); }
  void warning(std::string kind, Place place, std::string text) { add({Severity::warning, std::move(kind), std::move(place), std::move(text)}); }
  void note(std::string kind, Place place, std::string text) { add({Severity::note, std::move(kind), std::move(place), std::move(text)}); }
  void add(Diagnostic diagnostic);
  bool has_errors() const { return errors_ != 0; }
  uint32_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
  uint32_t errors_ = 0;
};

}  // namespace tcsim
