#include "tools/ncu/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace tcsim::ncu {
namespace {

using Json = nlohmann::ordered_json;

std::string short_number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return std::abs(value) < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.1f}", value);
}

std::string relative_text(const Difference& d) {
  if (d.ours == d.theirs) return "0 %";
  return std::isfinite(d.relative()) ? fmt::format("{:+.1f} %", d.relative() * 100) : "ncu has 0";
}

std::string names_text(const char* title, const std::vector<std::string>& names, size_t most) {
  if (names.empty()) return "";
  const size_t shown = most == 0 ? names.size() : std::min(most, names.size());
  std::string out = fmt::format("\n{} ({}):\n", title, names.size());
  for (size_t i = 0; i < shown; ++i) out += "  " + names[i] + "\n";
  if (shown < names.size()) out += fmt::format("  ... and {} more (--top 0 lists all)\n", names.size() - shown);
  return out;
}

}  // namespace

double Difference::relative() const {
  if (ours == theirs) return 0;
  return theirs == 0 ? std::numeric_limits<double>::infinity() : ours / theirs - 1;
}

double Difference::distance() const {
  const double most = std::max(std::abs(ours), std::abs(theirs));
  return most == 0 ? 0 : std::abs(ours - theirs) / most;
}

Comparison compare(const sim::Metrics& ours, const Kernel& theirs) {
  Comparison out;
  for (const auto& [metric, value] : ours) {
    const auto found = theirs.metrics.find(metric);
    if (found == theirs.metrics.end()) {
      out.only_ours.push_back(metric);
      continue;
    }
    const std::string unit = sim::metric_unit(metric);
    // Without a unit ncu's value is taken to be in ours.
    const double scale = found->second.unit.empty() ? 1 : unit_scale(found->second.unit) / unit_scale(unit);
    out.differences.push_back({metric, unit, value, found->second.value * scale});
  }
  for (const auto& [metric, value] : theirs.metrics)
    if (!ours.count(metric)) out.only_theirs.push_back(metric);
  std::stable_sort(out.differences.begin(), out.differences.end(),
                   [](const Difference& a, const Difference& b) { return a.distance() > b.distance(); });
  return out;
}

std::string write_text(const Comparison& c, size_t most) {
  size_t wide = 6;
  for (const Difference& d : c.differences) wide = std::max(wide, d.metric.size());
  std::string out = fmt::format("{:<{}}  {:>14}  {:>14}  {:>10}  unit\n", "metric", wide, "tcsim", "ncu", "difference");
  const size_t shown = most == 0 ? c.differences.size() : std::min(most, c.differences.size());
  for (size_t i = 0; i < shown; ++i) {
    const Difference& d = c.differences[i];
    const std::string line =
        fmt::format("{:<{}}  {:>14}  {:>14}  {:>10}  {}", d.metric, wide, short_number(d.ours), short_number(d.theirs), relative_text(d), d.unit);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (shown < c.differences.size()) out += fmt::format("... and {} smaller differences (--top 0 lists all)\n", c.differences.size() - shown);
  out += names_text("only tcsim has", c.only_ours, most);
  return out + names_text("only ncu has", c.only_theirs, most);
}

std::string write_csv(const Comparison& c) {
  std::string out = "metric,unit,tcsim,ncu,relative_difference\n";
  for (const Difference& d : c.differences)
    out += fmt::format("{},{},{:.10g},{:.10g},{}\n", d.metric, d.unit, d.ours, d.theirs,
                       std::isfinite(d.relative()) ? fmt::format("{:.6g}", d.relative()) : "");
  for (const std::string& metric : c.only_ours) out += metric + ",,,,only tcsim\n";
  for (const std::string& metric : c.only_theirs) out += fmt::format("\"{}\",,,,only ncu\n", metric);
  return out;
}

std::string write_json(const Comparison& c) {
  Json out = {{"differences", Json::array()}, {"only_tcsim", c.only_ours}, {"only_ncu", c.only_theirs}};
  for (const Difference& d : c.differences)
    out["differences"].push_back({{"metric", d.metric},
                                  {"unit", d.unit},
                                  {"tcsim", d.ours},
                                  {"ncu", d.theirs},
                                  {"relative_difference", std::isfinite(d.relative()) ? Json(d.relative()) : Json(nullptr)}});
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tcsim::ncu
