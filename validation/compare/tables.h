// Scores as a table for people and as JSON for scripts.
#pragma once
#include <span>
#include <string>

#include "validation/compare/score.h"

namespace tcsim::compare {

struct TableOptions {
  bool rows = true;  // one line a launch before the summary
};
std::string write_table(std::span<const Row> rows, const TableOptions& options = {});

/// {"rows": [...], "summary": {"all": {...}, "512x512x512": {...}}}
std::string write_json(std::span<const Row> rows);

}  // namespace tcsim::compare
