// What a sweep found, for people: for each machine and problem the ranked points, those that cannot run, and what changed between the
// winner, the runner-up and the default.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/tcsim/sweep_row.h"

namespace tcsim::tool {

struct SweepTextOptions {
  size_t top = 10;                              // rows of a ranking; 0: all
  std::map<std::string, std::string> defaults;  // style -> key of the point that it takes when nothing is given, without machine and problem
};
std::string sweep_text(const std::vector<SweepRow>& rows, const SweepTextOptions& options);

/// The columns that describe a choice (style, tile, stages, ...): all of the key but machine and problem.
std::string choice_of(const SweepRow& row);

/// Key columns with more than one value.
std::vector<std::string> varied_columns(const std::vector<SweepRow>& rows);

}  // namespace tcsim::tool
