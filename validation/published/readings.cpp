#include "validation/published/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "validation/compare/measurements.h"

namespace tcsim::published {
namespace {

namespace fs = std::filesystem;

/// A table with its columns by name.
class Table {
 public:
  Table(const fs::path& path, Diagnostics& diags) : path_(path.string()), diags_(diags) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) diags.error("syntax", {path_, 0, 0}, "found no such table");
    csv_ = compare::parse_csv(path_, text.str(), diags);
    for (size_t i = 0; i < csv_.header.size(); ++i) columns_[csv_.header[i]] = i;
  }
  size_t size() const { return csv_.rows.size(); }
  std::string text(size_t row, const std::string& column) const {
    const auto it = columns_.find(column);
    if (it != columns_.end()) return csv_.rows[row][it->second];
    diags_.error("syntax", {path_, 1, 1}, fmt::format("found no column {}, expected one", column));
    return {};
  }
  double number(size_t row, const std::string& column) const {
    const std::string s = text(row, column);
    double value = 0;
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (failed != std::errc{} || end != s.data() + s.size())
      diags_.error("syntax", place(row), fmt::format("found '{}' for {}, expected a number", s, column));
    return value;
  }
  Place place(size_t row) const { return {path_, csv_.lines[row], 1}; }

 private:
  std::string path_;
  Diagnostics& diags_;
  compare::CsvTable csv_;
  std::map<std::string, size_t> columns_;
};

void add_own(const fs::path& folder, std::vector<Reading>& out, Diagnostics& diags) {
  const Table t(folder / "readings.csv", diags);
  for (size_t r = 0; r < t.size(); ++r)
    out.push_back({"readings.csv", t.text(r, "machine"), t.text(r, "quantity"), t.text(r, "case"), t.number(r, "value"), t.text(r, "unit"),
                   t.text(r, "mark"), t.text(r, "source"), t.place(r)});
}

constexpr const char* kB200Source = "SemiAnalysisAI/microbench-blackwell @9a068d853d";

struct B200Table {
  const char *file, *quantity, *column, *unit;
  const char* format;  // of the case, with {COLUMN}
};
constexpr const char* kMmaCase = "{Format} {ABLayout} cta_group::{CTAGroup} m{M}n{N}";
constexpr B200Table kB200Tables[] = {
    {"tput_results_max.csv", "tcgen05_interval", "CyclesPerMMA", "cycles", "{Format} {ABLayout} cta_group::{CTAGroup} m{M}n{N} x {PipelineDepth}"},
    {"lat_results_full.csv", "tcgen05_latency", "MedianCycles", "cycles", kMmaCase},
    {"tma2d_lat_results.csv", "tma_latency", "LatencyCyclesMedian", "cycles", "{SmemWidth}x{SmemHeight} f32, cold"},
    {"tma2d_tput_results.csv", "tma_interval", "CyclesPerTMA", "cycles", "{SmemWidth}x{SmemHeight} f32, {NumStages} stages"},
    {"ldgsts_lat_results.csv", "ldgsts_latency", "LatencyCyclesMedian", "cycles", "{CTAsPerSM} x {ThreadsPerBlock} threads, {LoadBytes} B, cold"},
    {"ldgsts_tput.csv", "ldgsts_bandwidth", "DRAMBandwidthBps", "TB/s", "{CTAsPerSM} x {ThreadsPerBlock} threads, {NumStages} stages, {LoadBytes} B"},
};

/// The format with every {COLUMN} replaced.
std::string filled(std::string_view format, const Table& t, size_t row) {
  std::string out;
  for (size_t at = 0; at < format.size();) {
    const size_t open = std::min(format.find('{', at), format.size());
    out += format.substr(at, open - at);
    if (open == format.size()) break;
    const size_t close = format.find('}', open);
    out += t.text(row, std::string(format.substr(open + 1, close - open - 1)));
    at = close + 1;
  }
  return out;
}

void add_b200(const fs::path& folder, std::vector<Reading>& out, Diagnostics& diags) {
  for (const B200Table& b : kB200Tables) {
    const Table t(folder / b.file, diags);
    for (size_t r = 0; r < t.size(); ++r) {
      const double scale = std::string_view(b.unit) == "TB/s" ? 1e-12 : 1;
      out.push_back({std::string("b200/") + b.file, "b200", b.quantity, filled(b.format, t, r), t.number(r, b.column) * scale, b.unit, "raw",
                     kB200Source, t.place(r)});
    }
  }
}

}  // namespace

bool has_readings(const std::string& folder) { return fs::is_regular_file(fs::path(folder) / "readings.csv"); }

std::vector<Reading> load_readings(const std::string& folder, Diagnostics& diags) {
  std::vector<Reading> out;
  add_own(folder, out, diags);
  if (fs::is_directory(fs::path(folder) / "b200")) add_b200(fs::path(folder) / "b200", out, diags);
  return out;
}

}  // namespace tcsim::published
