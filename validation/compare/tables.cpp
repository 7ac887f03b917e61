#include "validation/compare/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tcsim::compare {
namespace {

using Json = nlohmann::ordered_json;

/// Rows by size in order of first appearance, then all of them.
std::vector<std::pair<std::string, std::vector<Row>>> groups_of(std::span<const Row> rows) {
  std::vector<std::pair<std::string, std::vector<Row>>> out;
  for (const Row& row : rows) {
    const std::string key = row.data_set + " " + row.measured.size();
    auto at = std::find_if(out.begin(), out.end(), [&](const auto& group) { return group.first == key; });
    if (at == out.end()) at = out.insert(out.end(), {key, {}});
    at->second.push_back(row);
  }
  out.emplace_back("all", std::vector<Row>(rows.begin(), rows.end()));
  return out;
}

double rank_correlation(std::span<const Row> rows) {
  std::vector<double> measured, simulated;
  for (const Row& row : rows)
    if (row.simulated.ok) {
      measured.push_back(row.measured.cycles);
      simulated.push_back(row.simulated.cycles);
    }
  return spearman(measured, simulated);
}

std::string top_shares(const Shares& shares) {
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [reason, share] : shares) order.emplace_back(-share, reason);
  std::sort(order.begin(), order.end());
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(2, order.size()); ++i)
    out += fmt::format("{}{} {:.0f}%", i ? ", " : "", order[i].second, -100 * order[i].first);
  return out;
}

std::string row_line(const Row& row) {
  const std::string head = fmt::format("{:<36} {:<15} {:>9.0f}", row.measured.kernel, row.measured.size(), row.measured.cycles);
  if (!row.simulated.ok) return fmt::format("{}  not simulated: {}\n", head, row.simulated.error);
  return fmt::format("{} {:>9.0f} {:>+7.1f} %  {:<46} {}\n", head, row.simulated.cycles, 100 * row.error(), top_shares(measured_stalls(row.measured)),
                     top_shares(normalise(row.simulated.stalls)));
}

std::string summary_line(const std::string& name, std::span<const Row> rows) {
  const CycleScore cycles = score_cycles(rows);
  const PairScore pairs = score_pairs(rows);
  const StallScore stalls = score_stalls(rows);
  // Sizes differ by orders of magnitude: over all of them a rank correlation would say nothing of the
  // kernels.
  const std::string correlation = name == "all" ? "    -" : fmt::format("{:5.3f}", rank_correlation(rows));
  return fmt::format(
      "{:<28} {:>4} {:>7.1f} % {:>+7.1f} % {:>+7.1f} %  {:>5}/{:<5} {:>5.1f} %   {}   "
      "{:>3.0f} % ({:.0f} %)   {:.3f} ({:.3f})\n",
      name, cycles.rows, 100 * cycles.mean_abs_error, 100 * cycles.mean_error, 100 * cycles.worst_error, pairs.right, pairs.pairs,
      100 * pairs.share(), correlation, 100 * stalls.largest_share(), 100 * stalls.constant_share(), stalls.median_half_l1,
      stalls.constant_median_half_l1);
}

Json json_summary(const std::string& name, std::span<const Row> rows) {
  const CycleScore cycles = score_cycles(rows);
  const PairScore pairs = score_pairs(rows);
  const StallScore stalls = score_stalls(rows);
  const WavefrontScore waves = score_wavefronts(rows);
  Json out = {{"rows", cycles.rows},
              {"mean_abs_error", cycles.mean_abs_error},
              {"mean_error", cycles.mean_error},
              {"worst_error", cycles.worst_error},
              {"worst_row", cycles.worst_row},
              {"pairs", pairs.pairs},
              {"pairs_right", pairs.right},
              {"stalls",
               {{"rows", stalls.rows},
                {"largest_right", stalls.largest_right},
                {"median_half_l1", stalls.median_half_l1},
                {"constant_reason", stalls.constant_reason},
                {"constant_right", stalls.constant_right},
                {"constant_median_half_l1", stalls.constant_median_half_l1}}},
              {"wavefronts",
               {{"compared", waves.compared},
                {"exact", waves.exact},
                {"within_2_percent", waves.within_2_percent},
                {"worst_error", waves.worst_error},
                {"worst_row", waves.worst_row}}}};
  if (name != "all") out["spearman"] = rank_correlation(rows);
  return out;
}

}  // namespace

std::string write_table(std::span<const Row> rows, const TableOptions& options) {
  std::string out;
  if (options.rows) {
    out += fmt::format("{:<36} {:<15} {:>9} {:>9} {:>9}  {:<46} {}\n", "kernel", "M x N x K", "measured", "simulated", "error", "stalls measured",
                       "stalls simulated");
    for (const Row& row : rows) out += row_line(row);
    out += "\n";
  }
  out += fmt::format("{:<28} {:>4} {:>9} {:>9} {:>9}  {:<19}   {:<5}   {:<14} {}\n", "", "rows", "mean|err|", "mean err", "worst",
                     "pairs >10 % right", "Spear-", "top stall", "half L1,");
  out += fmt::format("{:<28} {:>4} {:>9} {:>9} {:>9}  {:<19}   {:<5}    {:<14} {}\n", "", "", "", "", "", "", "man", "right (const.)",
                     "median (const.)");
  for (const auto& [name, group] : groups_of(rows)) out += summary_line(name, group);
  const CycleScore cycles = score_cycles(rows);
  const WavefrontScore waves = score_wavefronts(rows);
  out += "(const.): what the best single answer for all rows would reach\n";
  out += fmt::format("\nworst: {} {:+.1f} %\n", cycles.worst_row, 100 * cycles.worst_error);
  if (waves.compared)
    out += fmt::format("shared-memory wavefronts (loads, stores): {} of {} exact, {} within 2 %, worst {} {:+.2f} %\n", waves.exact, waves.compared,
                       waves.within_2_percent, waves.worst_row.empty() ? "-" : waves.worst_row, 100 * waves.worst_error);
  if (const size_t failed = rows.size() - cycles.rows) out += fmt::format("{} rows were not simulated\n", failed);
  return out;
}

std::string write_json(std::span<const Row> rows) {
  Json list = Json::array(), summary = Json::object();
  for (const Row& row : rows) {
    Json each = {{"data", row.data_set}, {"case", row.measured.kernel}, {"M", row.measured.m},
                 {"N", row.measured.n},  {"K", row.measured.k},         {"measured_cycles", row.measured.cycles}};
    if (row.simulated.ok) {
      each["cycles"] = row.simulated.cycles;
      each["error"] = row.error();
      each["stalls_measured"] = measured_stalls(row.measured);
      each["stalls"] = normalise(row.simulated.stalls);
      each["smem_wavefronts_ld"] = row.simulated.wavefronts_ld;
      each["smem_wavefronts_st"] = row.simulated.wavefronts_st;
      each["simulated_warp_instructions"] = row.simulated.warp_instructions;
      each["wall_s"] = row.simulated.wall_s;
    } else {
      each["not_simulated"] = row.simulated.error;
    }
    list.push_back(std::move(each));
  }
  for (const auto& [name, group] : groups_of(rows)) summary[name] = json_summary(name, group);
  return Json{{"rows", std::move(list)}, {"summary", std::move(summary)}}.dump(2) + "\n";
}

}  // namespace tcsim::compare
