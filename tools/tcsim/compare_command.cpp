// tcsim compare REPORT.json NCU.csv: metric by metric, the largest differences first.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/ncu/compare.h"
#include "tools/tcsim/commands.h"
#include "tools/tcsim/output.h"
#include "tools/tcsim/text_file.h"

namespace tcsim::tool {
namespace {

using Json = nlohmann::json;

struct CompareCommand {
  std::string report, page, kernel, id, csv, json;
  uint32_t launch = 0, top = 20;
};

/// The chosen launch of a report: an object, or an array with one a launch.
std::optional<Json> read_report(const CompareCommand& command, Diagnostics& diags) {
  const auto text = read_text_file(command.report, diags);
  if (!text) return std::nullopt;
  Json report;
  try {
    report = Json::parse(*text);
  } catch (const Json::parse_error& error) {
    const std::string before = text->substr(0, error.byte);
    const auto line = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n') + 1);
    diags.error("syntax", {command.report, line, 0}, "this is no JSON: expected a report of tcsim (--json)");
    return std::nullopt;
  }
  if (report.is_array()) {
    if (command.launch >= report.size()) {
      diags.error("syntax", {command.report, 0, 0}, fmt::format("there is no launch {}: the report has {}", command.launch, report.size()));
      return std::nullopt;
    }
    report = Json(report[command.launch]);
  }
  if (!report.is_object() || !report.contains("metrics") || !report["metrics"].is_object()) {
    diags.error("syntax", {command.report, 0, 0}, "the report has no metrics: expected one of tcsim (--json) in a mode with time");
    return std::nullopt;
  }
  return report;
}

/// The kernel that was asked for, else the first whose name contains the report's, else the only one.
const ncu::Kernel* choose(const CompareCommand& command, const std::vector<ncu::Kernel>& kernels, const std::string& simulated, Diagnostics& diags) {
  std::vector<const ncu::Kernel*> found;
  const std::string& wanted = command.kernel.empty() ? simulated : command.kernel;
  for (const ncu::Kernel& each : kernels)
    if (command.id.empty() ? each.name.find(wanted) != std::string::npos : each.id == command.id) found.push_back(&each);
  if (found.empty() && kernels.size() == 1 && command.id.empty() && command.kernel.empty()) {
    diags.warning("syntax", kernels[0].place, fmt::format("the page has kernel '{}', the report '{}'", kernels[0].name, simulated));
    return &kernels[0];
  }
  if (found.empty()) {
    std::string names;
    for (size_t i = 0; i < std::min<size_t>(kernels.size(), 10); ++i)
      names += fmt::format("{}{} (id {})", i == 0 ? "" : ", ", kernels[i].name, kernels[i].id);
    diags.error("syntax", {command.page, 0, 0},
                fmt::format("no {} in the page; it has {}", command.id.empty() ? "kernel '" + wanted + "'" : "id '" + command.id + "'", names));
    return nullptr;
  }
  if (found.size() > 1)
    diags.warning("syntax", found[0]->place,
                  fmt::format("{} launches of '{}': the first is taken, --id chooses another", found.size(), found[0]->name));
  return found[0];
}

/// "(64, 1, 1)" of ncu against [64, 1, 1].
void check_shape(const char* what, const std::string& theirs, const Json& ours, const Place& place, Diagnostics& diags) {
  if (theirs.empty() || !ours.is_array() || ours.size() != 3) return;
  std::string digits = theirs;
  std::erase_if(digits, [](char c) { return c == '(' || c == ')' || c == ' '; });
  const std::string want = fmt::format("{},{},{}", ours[0].dump(), ours[1].dump(), ours[2].dump());
  if (digits != want)
    diags.warning("launch-mismatch", place, fmt::format("{} {} in the page, ({}) in the report: another launch?", what, theirs, want));
}

sim::Metrics metrics_of(const Json& report) {
  sim::Metrics out;
  for (const auto& [name, value] : report["metrics"].items())
    if (value.is_number()) out[name] = value.get<double>();
  return out;
}

int run(const CompareCommand& command) {
  Diagnostics diags;
  for (const std::string* path : {&command.csv, &command.json}) check_writable(*path, diags);
  const auto report = read_report(command, diags);
  const auto text = read_text_file(command.page, diags);
  std::vector<ncu::Kernel> kernels;
  if (text) kernels = ncu::parse_page(command.page, *text, diags);
  const std::string simulated = report ? report->value("kernel", "") : "";
  const ncu::Kernel* kernel = diags.has_errors() ? nullptr : choose(command, kernels, simulated, diags);
  if (kernel != nullptr) {
    const Json launch = report->value("launch", Json::object());
    check_shape("grid", kernel->grid, launch.value("grid", Json()), kernel->place, diags);
    check_shape("block", kernel->block, launch.value("block", Json()), kernel->place, diags);
    const ncu::Comparison comparison = ncu::compare(metrics_of(*report), *kernel);
    if (!command.csv.empty()) write_file(command.csv, ncu::write_csv(comparison), diags);
    if (!command.json.empty()) write_file(command.json, ncu::write_json(comparison), diags);
    if (command.csv != "-" && command.json != "-")
      fmt::print("{} in {} against {} (id {}) in {}\n{}", simulated, command.report, kernel->name, kernel->id, command.page,
                 ncu::write_text(comparison, command.top));
    if (comparison.differences.empty()) diags.error("syntax", {command.page, 0, 0}, "no metric is in both");
  }
  std::fflush(stdout);
  print_diagnostics(diags, false);
  return exit_code(diags, false);
}

}  // namespace

Action add_compare(CLI::App& app) {
  auto command = std::make_shared<CompareCommand>();
  app.add_option("REPORT", command->report, "a report of tcsim as JSON")->required();
  app.add_option("NCU", command->page, "CSV of Nsight Compute: ncu --page raw --csv, or --page details --csv")->required();
  app.add_option("--kernel", command->kernel, "kernel of the page whose name contains this; default: the report's");
  app.add_option("--id", command->id, "launch of the page by its ID");
  app.add_option("--launch", command->launch, "launch of a report that has several, from 0")->capture_default_str();
  app.add_option("--top", command->top, "rows to print; 0: all")->capture_default_str();
  app.add_option("--csv", command->csv, "write all rows as CSV (- for stdout)");
  app.add_option("--json", command->json, "write all rows as JSON (- for stdout)");
  return [command](const Invocation&) { return run(*command); };
}

}  // namespace tcsim::tool
