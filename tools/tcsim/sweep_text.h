// What a sweep found, for people: for each machine and problem the ranked points, those that cannot run, and what changed between the
// winner, the runner-up and the default.
#pragma once
#include <string>
#include <vector>

#include "tools/tcsim/sweep_row.h"

namespace tcsim::tool {

struct SweepTextOptions {
  size_t top = 10;                 // rows of a ranking; 0: all
  std::vector<SweepRow> defaults;  // for winners: what their style takes on that machine and problem when nothing is given
};
std::string sweep_text(const std::vector<SweepRow>& rows, const SweepTextOptions& options);

/// The fastest point of each machine and problem: its index.
std::vector<size_t> winners(const std::vector<SweepRow>& rows);

/// Key columns with more than one value.
std::vector<std::string> varied_columns(const std::vector<SweepRow>& rows);

}  // namespace tcsim::tool
