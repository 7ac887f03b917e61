// Published against simulated, as a table for people and as JSON.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "validation/published/readings.h"

namespace tcsim::published {

struct Compared {
  Reading reading;
  bool simulated = false;  // false: `note` says why not
  double value = 0;
  std::string note;
  double error() const { return value / reading.value - 1; }
};

/// Simulates every reading; `jobs` at a time. progress(done, of) may be empty.
std::vector<Compared> compare_readings(std::span<const Reading> readings, uint32_t jobs, const std::function<void(size_t, size_t)>& progress);

/// One line a reading unless `summary`, then for each table and quantity how near they come.
std::string write_readings(std::span<const Compared> rows, bool summary);
std::string readings_json(std::span<const Compared> rows);

}  // namespace tcsim::published
