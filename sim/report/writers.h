// Writers of a Report. All return the text; none touches a file.
//
//   std::string json = write_json(report);        // interface.md, "JSON report"
//   std::string csv = write_ncu_csv({report});    // `ncu --page raw --csv`: names, units, one row a kernel
//   std::string text = write_text(report, {.colour = isatty});
//
// The same report gives the same bytes, but for wall_s.
#pragma once
#include <span>
#include <string>

#include "sim/report/report.h"

namespace tcsim::sim {

std::string write_json(const Report& report);

std::string write_ncu_csv(std::span<const Report> reports);

struct TextOptions {
  bool colour = false;  // ANSI colours; give true only when writing to a terminal
  bool unicode = true;  // bars of block characters, else of '#'
  uint32_t top = 5;     // instructions to show
};
std::string write_text(const Report& report, const TextOptions& options = {});

}  // namespace tcsim::sim
