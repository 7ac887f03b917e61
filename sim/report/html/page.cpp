#include "sim/report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/html/assets.h"
#include "sim/report/html/compact_timeline.h"
#include "sim/report/writers.h"

namespace tcsim::sim {
namespace {

using Json = nlohmann::ordered_json;

// With the library (1.1 MB) and the script these keep a page under 3 MB.
constexpr size_t kInstructionBytes = 800'000, kTimelineBytes = 700'000;
constexpr size_t kTextLength = 200;  // of an instruction: a wgmma names up to 128 registers

/// Everything that a page loads is in it; the policy makes a browser refuse anything else.
constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
)";
constexpr std::string_view kBody = R"(</head>
<body>
<header id="head"></header>
<nav aria-label="sections"><div id="sections"></div></nav>
<main id="app"><noscript>This page draws its tables and charts with JavaScript.</noscript></main>
<footer id="foot"></footer>
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// Inside <script>: no text may end it.
std::string script_json(const Json& data) {
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

std::string page_text(const std::string& title, const Json& data) {
  return fmt::format(
      "{}<title>{}</title>\n<style>\n{}</style>\n{}<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n'use "
      "strict';\n{}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
      kHead, escaped(title), html::kStyle, kBody, script_json(data), html::kApp, html::kEcharts);
}

uint64_t cycles_of(const Json& instruction) {
  uint64_t sum = 0;
  for (const auto& [reason, cycles] : instruction["stalls"].items()) sum += cycles.get<uint64_t>();
  return sum;
}

/// Drops the cheapest instructions of a report until the rest has max_bytes.
void limit_instructions(Json& report, size_t max_bytes) {
  std::vector<std::pair<uint64_t, size_t>> costs;  // cycles, bytes
  size_t all = 0;
  for (Json& instruction : report["instructions"]) {
    std::string text = instruction["text"].get<std::string>();
    if (text.size() > kTextLength) instruction["text"] = text.substr(0, kTextLength) + " ...";
    costs.emplace_back(cycles_of(instruction), instruction.dump(-1, ' ', false, Json::error_handler_t::replace).size());
    all += costs.back().second;
  }
  if (all <= max_bytes) return;
  std::vector<size_t> order(costs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return costs[a].first > costs[b].first; });
  size_t kept = 0;
  for (size_t taken = 0; kept < order.size() && taken + costs[order[kept]].second <= max_bytes; ++kept) taken += costs[order[kept]].second;
  report["instructions_left_out"] = order.size() - kept;
  order.resize(kept);
  std::sort(order.begin(), order.end());
  Json rest = Json::array();
  for (const size_t i : order) rest.push_back(std::move(report["instructions"][i]));
  report["instructions"] = std::move(rest);
}

Json machine_object(const cfg::Machine& machine) {
  Json out = {{"name", machine.name}};
  Json& values = out["values"] = Json::array();
  for (const cfg::Machine::Provenance& v : machine.provenance)
    values.push_back(
        {{"key", v.key}, {"value", v.value}, {"unit", v.unit}, {"source", v.source}, {"doc", v.doc}, {"assumed", v.source.starts_with("assumed:")}});
  return out;
}

Json reason_meanings() {
  Json out = Json::object();
  for (const StallInfo& s : kStallTable) out[std::string(s.name)] = s.meaning;
  return out;
}

}  // namespace

std::string write_run_page(const RunPage& page) {
  const Report& first = page.reports.front();
  Json data = {{"kind", "run"}, {"version", first.version}, {"command", first.command}};
  Json& reports = data["reports"] = Json::array();
  for (const Report& report : page.reports) {
    reports.push_back(Json::parse(write_json(report)));
    limit_instructions(reports.back(), kInstructionBytes / page.reports.size());
  }
  data["machine"] = page.machine != nullptr ? machine_object(*page.machine) : Json(nullptr);
  data["timeline"] = page.timeline.empty() ? Json(nullptr) : html::compact_timeline(page.timeline, kTimelineBytes);
  data["source_lines"] = page.source_lines;
  data["reasons"] = reason_meanings();
  return page_text(fmt::format("{} on {}", first.kernel, first.arch.name), data);
}

std::string write_sweep_page(const SweepPage& page) {
  const SweepPage::Roles& r = page.roles;
  Json data = {{"kind", "sweep"}, {"version", page.version}, {"command", page.command}, {"title", page.title}};
  data["sweep"] = {{"columns", page.columns}, {"rows", page.rows}};
  data["sweep"]["roles"] = {{"tile", r.tile},     {"stages", r.stages}, {"cycles", r.cycles},         {"time", r.time},  {"bound", r.bound},
                            {"stalls", r.stalls}, {"reason", r.reason}, {"parameters", r.parameters}, {"shown", r.shown}};
  return page_text(page.title, data);
}

}  // namespace tcsim::sim
