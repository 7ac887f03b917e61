// All problems of a module, from parsing and linking, in text order; the same one at many places only once.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "isa/diag.h"

namespace tcsim::isa::ptx {

/// Most problems reported for one module; a note says how many more there are.
constexpr uint32_t kMaxProblems = 50;

class Problems {
 public:
  void add(std::string kind, uint32_t line, uint32_t col, std::string text);
  /// The same `found` at several places becomes one diagnostic with a count. kind "": a note.
  void add_grouped(std::string kind, std::string_view found, uint32_t line, uint32_t col, std::string text);
  bool has_errors() const { return errors_; }
  void report(const std::string& path, Diagnostics& diags) const;

 private:
  struct Problem {
    std::string kind, text;
    std::set<std::pair<uint32_t, uint32_t>> places;
  };
  std::map<std::string, Problem> problems_;
  bool errors_ = false;
};

}  // namespace tcsim::isa::ptx
