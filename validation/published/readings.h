// Published readings of real GPUs, as data (validation/data/published): one number of a paper, repository or whitepaper each.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "isa/diag.h"

namespace tcsim::published {

struct Reading {
  std::string table;     // file it comes from
  std::string machine;   // machine file that stands for the GPU
  std::string quantity;  // "mma_latency", "tcgen05_interval", ...: what was measured, and so which micro-kernel repeats it
  std::string what;      // of which instruction, shape or size
  double value = 0;
  std::string unit;
  std::string mark;  // raw, paper, whitepaper, derived, unconfirmed
  std::string source;
  Place place;
};

/// True when the folder holds readings: a readings.csv.
bool has_readings(const std::string& folder);

/// readings.csv (machine,quantity,case,value,unit,mark,source) and the tables of b200/. Errors have kind "syntax".
std::vector<Reading> load_readings(const std::string& folder, Diagnostics& diags);

}  // namespace tcsim::published
