#include <fmt/format.h>

#include <cmath>
#include <set>

#include "sim/report/writers.h"

namespace tcsim::sim {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += c;
    out += c;
  }
  out += '"';
  return out;
}

std::string triple(const std::array<uint32_t, 3>& v) { return fmt::format("({}, {}, {})", v[0], v[1], v[2]); }

/// Integers as integers, the rest with six digits after the point as ncu's csv prints them.
std::string number(double v) { return v == std::floor(v) ? fmt::format("{:.0f}", v) : fmt::format("{:.6f}", v); }

constexpr std::string_view kColumns[] = {"ID",     "Process ID", "Process Name", "Host Name", "Kernel Name", "Context",
                                         "Stream", "Block Size", "Grid Size",    "Device",    "CC"};

std::string row(const std::vector<std::string>& cells) {
  std::string out;
  for (const std::string& cell : cells) {
    if (!out.empty()) out += ',';
    out += quoted(cell);
  }
  out += '\n';
  return out;
}

}  // namespace

std::string write_ncu_csv(std::span<const Report> reports) {
  std::set<std::string> names;
  for (const Report& r : reports) {
    for (const auto& [name, value] : r.metrics) names.insert(name);
  }
  std::vector<std::string> header(std::begin(kColumns), std::end(kColumns)), units(std::size(kColumns));
  for (const std::string& name : names) {
    header.push_back(name);
    units.push_back(metric_unit(name));
  }
  std::string out = row(header) + row(units);
  for (size_t id = 0; id < reports.size(); ++id) {
    const Report& r = reports[id];
    std::vector<std::string> cells = {fmt::format("{}", id),
                                      "0",
                                      "tcsim",
                                      "127.0.0.1",
                                      r.kernel,
                                      "1",
                                      "7",
                                      triple(r.launch.block),
                                      triple(r.launch.grid),
                                      "0",
                                      fmt::format("{}.{}", r.arch.sm / 10, r.arch.sm % 10)};
    for (const std::string& name : names) {
      const auto it = r.metrics.find(name);
      cells.push_back(it == r.metrics.end() ? "n/a" : number(it->second));
    }
    out += row(cells);
  }
  return out;
}

}  // namespace tcsim::sim
