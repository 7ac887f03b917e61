#include "tools/tcsim/gemm_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tcsim::tool {

std::pair<std::string, double> binding(const GemmTiming& t) {
  if (t.busy.empty() || t.cycles <= 0) return {"", 0};
  const auto most = std::max_element(t.busy.begin(), t.busy.end(), [](const auto& a, const auto& b) { return a.used < b.used; });
  return {most->name, most->used / t.cycles};
}

namespace {
// 60 % is the threshold of Nsight Compute's speed-of-light rule: below it no resource but latency binds.
constexpr double kBinds = 0.6;
}  // namespace

std::string binding_text(const GemmTiming& t) {
  auto [name, share] = binding(t);
  name = name.substr(0, name.find(" ("));
  return share < kBinds ? fmt::format("latency ({} {:.0f} %)", name, share * 100) : fmt::format("{} {:.0f} %", name, share * 100);
}

std::vector<Stall> waits(const GemmTiming& t) {
  double all = 0;
  for (const double cycles : t.stalls) all += cycles;
  std::vector<Stall> out;
  for (const sim::StallInfo& s : sim::kStallTable) {
    const double cycles = t.stalls[static_cast<size_t>(s.reason)];
    if (all > 0 && cycles > 0 && s.reason != sim::StallReason::selected && s.reason != sim::StallReason::not_selected)
      out.push_back({s.name, cycles / all});
  }
  std::stable_sort(out.begin(), out.end(), [](const Stall& a, const Stall& b) { return a.share > b.share; });
  return out;
}

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char ch : text) out += ch == '"' ? std::string("\"\"") : std::string(1, ch);
  return out + "\"";
}

std::string aligned(const std::vector<std::vector<std::string>>& lines, const std::function<bool(size_t)>& number) {
  std::vector<size_t> widths(lines.front().size());
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string out;
  for (const auto& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i)
      text += number(i) ? fmt::format("{:>{}}  ", line[i], widths[i]) : fmt::format("{:<{}}  ", line[i], widths[i]);
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

namespace {

using Json = nlohmann::ordered_json;

std::string tile_text(const gemm::Config& c) { return fmt::format("{}x{}x{}", c.tile[0], c.tile[1], c.tile[2]); }
std::string cluster_text(const gemm::Config& c) { return fmt::format("{}x{}", c.cluster[0], c.cluster[1]); }

constexpr size_t kStallsShown = 2;

std::string stalls_text(const GemmTiming& t) {
  std::vector<std::string> parts;
  for (const Stall& s : waits(t))
    if (parts.size() < kStallsShown) parts.push_back(fmt::format("{} {:.0f} %", s.name, s.share * 100));
  return fmt::format("{}", fmt::join(parts, ", "));
}

const std::vector<std::string> kHead = {"machine", "style",  "tile",      "stages",   "cluster",  "cycles",
                                        "time us", "TFLOPS", "% of peak", "estimate", "bound by", "warps wait for"};

std::vector<std::string> cells(const GemmRow& r) {
  if (!r.failure.empty()) return {r.arch, r.config.style, "-", "-", "-", "-", "-", "-", "-", "-", r.failure, ""};
  return {r.arch,
          r.config.style,
          tile_text(r.config),
          fmt::format("{}", r.config.stages),
          cluster_text(r.config),
          grouped(r.timing.cycles),
          fmt::format("{:.1f}", r.time_us()),
          fmt::format("{:.1f}", r.tflops()),
          fmt::format("{:.1f}", r.timing.share_of_peak() * 100),
          grouped(r.estimate.cycles),
          binding_text(r.timing),
          stalls_text(r.timing)};
}

bool is_number_column(size_t column) { return column == 3 || (column >= 5 && column <= 9); }

/// What was sampled and how well: under the table.
std::string sampling_text(const GemmRow& r) {
  if (!r.failure.empty()) return "";
  std::string text = fmt::format("{}: ", r.arch);
  if (r.considered > 0) text += fmt::format("{} choices, {} fit, {} simulated; ", r.considered, r.feasible, r.simulated);
  if (r.sampled_work >= 1) return text + "whole launch\n";
  text += fmt::format("sampled, {:.1f} % of the work", r.sampled_work * 100);
  text += r.error_size != 0 ? fmt::format(", error {:+.1f} % at {}^3\n", r.sampling_error * 100, r.error_size) : ", error not measured\n";
  return text;
}

Json row_json(const GemmRow& r) {
  const gemm::Config& c = r.config;
  Json out = {{"arch", r.arch}, {"style", c.style}, {"m", c.m}, {"n", c.n}, {"k", c.k}, {"dtype", c.dtype}, {"acc", c.acc}};
  if (!r.failure.empty()) {
    out["failure"] = r.failure;
    return out;
  }
  out["tile"] = c.tile;
  out["stages"] = c.stages;
  out["cluster"] = c.cluster;
  out["swizzle"] = c.swizzle;
  out["cycles"] = std::round(r.timing.cycles);
  out["time_us"] = r.time_us();
  out["tflops"] = r.tflops();
  out["share_of_peak"] = r.timing.share_of_peak();
  out["peak"] = r.timing.peak_name;
  out["peak_operations_per_sm_cycle"] = r.timing.peak_flops_per_cycle / std::max(1u, c.sms);
  out["bound_by"] = binding(r.timing).first;
  Json resources = Json::object(), stalls = Json::object();
  for (const sim::ResourceUse& use : r.timing.busy) resources[use.name] = use.used / r.timing.cycles;
  for (const Stall& s : waits(r.timing)) stalls[std::string(s.name)] = s.share;
  out["resources"] = resources;
  out["stalls"] = stalls;
  out["l2_to_sm_bytes"] = std::round(r.timing.l2_to_sm_bytes);
  out["estimate_cycles"] = std::round(r.estimate.cycles);
  out["estimate_bound_by"] = r.estimate.bound;
  out["sampled"] = r.sampled_work < 1;
  out["sampled_work"] = r.sampled_work;
  if (r.error_size != 0) out["sampling_error"] = r.sampling_error, out["sampling_error_size"] = r.error_size;
  if (r.considered > 0) out["considered"] = r.considered, out["feasible"] = r.feasible, out["simulated"] = r.simulated;
  return out;
}

}  // namespace

std::string table_text(const std::vector<GemmRow>& rows) {
  std::vector<std::vector<std::string>> lines = {kHead};
  for (const GemmRow& row : rows) lines.push_back(cells(row));
  std::string out = aligned(lines, is_number_column);
  out += "\n";
  for (const GemmRow& row : rows) out += sampling_text(row);
  return out;
}

std::string table_json(const std::vector<GemmRow>& rows, const std::vector<std::string>& command) {
  Json out = {{"tcsim", {{"version", TCSIM_VERSION}, {"command", command}}}, {"rows", Json::array()}};
  for (const GemmRow& row : rows) out["rows"].push_back(row_json(row));
  return out.dump(1) + "\n";
}

std::string table_csv(const std::vector<GemmRow>& rows) {
  std::string out =
      "machine,style,m,n,k,dtype,acc,tile,stages,cluster,cycles,time_us,tflops,share_of_peak,bound_by,stalls,estimate_cycles,sampled_work,sampling_"
      "error,status\n";
  for (const GemmRow& r : rows) {
    const gemm::Config& c = r.config;
    out += fmt::format("{},{},{},{},{},{},{},", quoted(r.arch), c.style, c.m, c.n, c.k, c.dtype, c.acc);
    if (!r.failure.empty()) {
      out += fmt::format(",,,,,,,,,,,,{}\n", quoted(r.failure));
      continue;
    }
    out += fmt::format("{},{},{},{:.0f},{:.3f},{:.3f},{:.4f},{},{},{:.0f},{:.4f},", tile_text(c), c.stages, cluster_text(c), r.timing.cycles,
                       r.time_us(), r.tflops(), r.timing.share_of_peak(), quoted(binding(r.timing).first), quoted(stalls_text(r.timing)),
                       r.estimate.cycles, r.sampled_work);
    out += r.error_size != 0 ? fmt::format("{:.4f},ok\n", r.sampling_error) : ",ok\n";
  }
  return out;
}

std::string estimate_text(const analytic::Estimate& e, double simulated) {
  std::string out = fmt::format("Textbook estimate  {} cycles", grouped(e.cycles));
  if (simulated > 0)
    out += fmt::format(" ({:.1f} % {} the simulated)", std::abs(e.cycles / simulated - 1) * 100, e.cycles < simulated ? "below" : "above");
  out += fmt::format(", bound by {}; {:.2f} waves\n", e.bound, e.waves);
  out += "  cycles of an SM for a step of K\n";
  const std::pair<const char*, double> parts[] = {{"arithmetic", e.step.compute}, {"shared memory", e.step.shared},
                                                  {"issue slots", e.step.issue},  {"L2", e.step.l2},
                                                  {"DRAM", e.step.dram},          {"load latency / stages", e.step.latency}};
  for (const auto& [name, cycles] : parts) out += fmt::format("  {:<22}{:>8.0f}\n", name, cycles);
  return out;
}

}  // namespace tcsim::tool
