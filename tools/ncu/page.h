// A CSV that Nsight Compute wrote: the raw page (`ncu --page raw --csv`: a column a metric, the first row holds units, then one row a
// kernel) or the details page (`--page details --csv`: one row a metric). Lines before the header (==PROF== ...) are skipped.
//
//   const std::vector<ncu::Kernel> kernels = ncu::parse_page("k.csv", text, diags);
//   kernels[0].metrics.at("sm__cycles_elapsed.max").value
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isa/diag.h"

namespace tcsim::ncu {

struct Value {
  double value = 0;
  std::string unit;  // as printed: "cycle", "Kbyte/block", "us"
};

struct Kernel {
  std::string id, name, block, grid;     // as printed
  std::map<std::string, Value> metrics;  // by ncu's name; a label of the details page that has no known name stays as it is
  Place place;                           // of its (first) row
};

/// Errors (kind "syntax"), with the line: no header, rows of another width, a metric that is no number where one is expected.
std::vector<Kernel> parse_page(const std::string& path, std::string_view text, Diagnostics& diags);

/// ncu's metric behind a label of the details page ("Elapsed Cycles", "%"): empty when it is not known.
std::string metric_of_label(std::string_view label, std::string_view unit);

/// A value in base units: bytes, seconds, 1 ("Kbyte/block" 8.19 -> 8190; "us" -> 1e-6). Units that no prefix scales stay.
double in_base_units(const Value& value);
/// How many base units one of `unit` is: 1e3 for "Kbyte/block".
double unit_scale(std::string_view unit);

}  // namespace tcsim::ncu
