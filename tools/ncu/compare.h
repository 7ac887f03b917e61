// Our report beside a kernel of an ncu page, metric by metric.
#pragma once
#include <string>
#include <vector>

#include "sim/stats/metrics.h"
#include "tools/ncu/page.h"

namespace tcsim::ncu {

struct Difference {
  std::string metric, unit;  // our unit
  double ours = 0, theirs = 0;

  /// ours / theirs - 1; infinite when only theirs is 0.
  double relative() const;
  /// |ours - theirs| over the larger of them: 0 equal, 1 when one of them is 0. What the differences are ordered by.
  double distance() const;
};

struct Comparison {
  std::vector<Difference> differences;  // the largest first
  std::vector<std::string> only_ours, only_theirs;
};

Comparison compare(const sim::Metrics& ours, const Kernel& theirs);

/// For people, as CSV and as JSON. most: rows and names of the text, 0: all.
std::string write_text(const Comparison& comparison, size_t most);
std::string write_csv(const Comparison& comparison);
std::string write_json(const Comparison& comparison);

}  // namespace tcsim::ncu
