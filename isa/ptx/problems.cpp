#include "isa/ptx/problems.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace tcsim::isa::ptx {

void Problems::add(std::string kind, uint32_t line, uint32_t col, std::string text) {
  errors_ = true;
  std::string key = fmt::format("{}\n{}:{}\n{}", kind, line, col, text);
  Problem& problem = problems_[std::move(key)];
  problem.kind = std::move(kind);
  problem.text = std::move(text);
  problem.places.emplace(line, col);
}

void Problems::add_grouped(std::string kind, std::string_view found, uint32_t line, uint32_t col, std::string text) {
  errors_ |= !kind.empty();
  Problem& problem = problems_[fmt::format("{}\n{}", kind, found)];
  problem.kind = std::move(kind);
  if (problem.text.empty()) problem.text = std::move(text);
  problem.places.emplace(line, col);
}

void Problems::report(const std::string& path, Diagnostics& diags) const {
  std::vector<const Problem*> sorted;
  for (const auto& [key, problem] : problems_) sorted.push_back(&problem);
  std::sort(sorted.begin(), sorted.end(),
            [](const Problem* a, const Problem* b) { return std::pair(*a->places.begin(), a->text) < std::pair(*b->places.begin(), b->text); });
  uint32_t errors = 0;
  for (const Problem* problem : sorted) {
    const auto& [line, col] = *problem->places.begin();
    std::string text = problem->text;
    if (const size_t more = problem->places.size() - 1) text += fmt::format(" (and at {} more place{})", more, more == 1 ? "" : "s");
    if (problem->kind.empty()) {
      diags.note("external-function", {path, line, col}, std::move(text));
      continue;
    }
    if (++errors > kMaxProblems) continue;
    diags.error(problem->kind, {path, line, col}, std::move(text));
  }
  if (errors > kMaxProblems) diags.note("syntax", {path, 0, 0}, fmt::format("{} more problems are not shown", errors - kMaxProblems));
}

}  // namespace tcsim::isa::ptx
