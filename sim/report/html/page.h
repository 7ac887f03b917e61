// Pages for a browser: each one file that opens offline, with its data as JSON and the same static script (app/) and library
// (third_party/echarts). A page asks nothing of the network: its content security policy forbids it. All return the text.
//
//   write_run_page({.reports = reports, .machine = &machine, .timeline = timeline.json()});
//   write_sweep_page({.title = "...", .columns = {"tile", "stages", "cycles"}, .rows = {{"128x128x32", "3", "21655"}}});
//
// The content of a run's page is that of its JSON report (writers.h). A page stays under 3 MB: what does not fit (the cheapest
// instructions, the end of the timeline) is left out, and the page says so.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/config/machine.h"
#include "sim/report/report.h"

namespace tcsim::sim {

struct RunPage {
  std::span<const Report> reports;                  // one a launch, at least one
  const cfg::Machine* machine = nullptr;            // nullptr: without the table of its values
  std::string timeline;                             // Timeline::json() (sim/trace/perfetto.h); empty: none
  std::map<std::string, std::string> source_lines;  // "gemm.py:31" -> the line's text, as far as the files are there
};
std::string write_run_page(const RunPage& page);

/// A sweep as its CSV has it: every cell a text. A role names the column that plays it; a column that is absent is left out.
struct SweepPage {
  struct Roles {
    std::string tile = "tile", stages = "stages", cycles = "cycles";
    std::string time = "time_us";           // empty cells or no column: cycles are drawn
    std::string bound = "bound_by";         // the binding resource; "(...)" and "83 %" after its name are not part of it
    std::string stalls = "stalls";          // what warps wait for, the largest first: "long_scoreboard 57.5 %, wait 12.8 %"
    std::string reason = "reason";          // why the point cannot run
    std::vector<std::string> parameters{};  // what else was varied (machine, style, ...): the maps offer a choice of each
    std::vector<std::string> shown{};       // columns of the table, as far as they differ; empty: all
  };
  std::string title, version;
  std::vector<std::string> command, columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns; a point without cycles could not run
  Roles roles;
};
std::string write_sweep_page(const SweepPage& page);

}  // namespace tcsim::sim
