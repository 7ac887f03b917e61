#include "tools/tcsim/sweep_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "tools/tcsim/gemm_table.h"
#include "tools/tcsim/sweep_axis.h"

namespace tcsim::tool {
namespace {

using Rows = std::vector<const SweepRow*>;

// A ranking is within these: times of other machines and problems do not compete.
const std::vector<std::string> kGroup = {"arch", "set", "m", "n", "k", "dtype", "acc", "layout"};

std::string group_of(const SweepRow& row) {
  std::string out;
  for (const std::string& column : kGroup) out += row.at(column) + "\x1f";
  return out;
}

std::string title_of(const SweepRow& row) {
  std::string out = row.at("arch");
  if (!row.at("set").empty()) out += " with " + row.at("set");
  if (!row.at("m").empty()) out += fmt::format(", {} x {} x {}", row.at("m"), row.at("n"), row.at("k"));
  for (const char* column : {"dtype", "acc", "layout"})
    if (!row.at(column).empty()) out += fmt::format("{}{}", std::string_view(column) == "dtype" ? ", " : " ", row.at(column));
  return out;
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

/// "128x128x64, 4 stages, xor": what tells points apart.
std::string name_of(const SweepRow& row, const std::vector<std::string>& varied) {
  std::vector<std::string> parts;
  for (const std::string& column : varied) {
    const std::string& value = row.at(column);
    if (value.empty()) continue;
    const bool named = column == "cluster" || column == "warps" || column == "consumers";
    parts.push_back(column == "stages" ? value + " stages" : named ? column + " " + value : value);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The columns of a choice to show: those that vary in the group, tile and stages when nothing does.
std::vector<std::string> shown_columns(const Rows& rows) {
  std::vector<std::string> out;
  for (const std::string& column : sweep_key_columns()) {
    if (std::find(kGroup.begin(), kGroup.end(), column) != kGroup.end()) continue;
    const bool varies = std::any_of(rows.begin(), rows.end(), [&](const SweepRow* row) { return row->at(column) != rows.front()->at(column); });
    if (varies || ((column == "tile" || column == "stages") && !rows.front()->at(column).empty())) out.push_back(column);
  }
  return out.empty() ? std::vector<std::string>{"kernel"} : out;
}

std::string largest_stalls(const SweepRow& row, size_t most) {
  std::vector<std::string> parts = split_list(row.at("stalls"));
  if (parts.size() > most) parts.resize(most);
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string ranking(const Rows& ran, const std::vector<std::string>& columns, size_t top) {
  std::vector<std::string> head = {"rank"};
  head.insert(head.end(), columns.begin(), columns.end());
  for (const char* name : {"cycles", "over best", "TFLOPS", "% of peak", "occupancy", "bound by", "warps wait for"}) head.push_back(name);
  std::vector<std::vector<std::string>> lines = {head};
  const size_t shown = top == 0 ? ran.size() : std::min(top, ran.size());
  for (size_t i = 0; i < shown; ++i) {
    const SweepRow& row = *ran[i];
    std::vector<std::string> line = {fmt::format("{}", i + 1)};
    for (const std::string& column : columns) line.push_back(row.at(column));
    line.push_back(grouped(row.number("cycles")));
    line.push_back(i == 0 ? "" : fmt::format("+{}", percent(row.number("cycles") / ran[0]->number("cycles") - 1)));
    line.push_back(fmt::format("{:.1f}", row.number("tflops")));
    line.push_back(fmt::format("{:.1f}", row.number("share_of_peak") * 100));
    line.push_back(percent(row.number("occupancy")));
    line.push_back(row.at("bound_by"));
    line.push_back(largest_stalls(row, 2));
    lines.push_back(std::move(line));
  }
  const size_t first_number = 1 + columns.size();
  std::string out = aligned(lines, [&](size_t at) { return at == 0 || (at >= first_number && at < first_number + 5); });
  if (shown < ran.size()) out += fmt::format("... and {} more (--top 0 prints all)\n", ran.size() - shown);
  return out;
}

/// "  (A 8 stages x 16384 B, ...; at most 7 stages fit)"
std::string budget_of(const SweepRow& row) {
  std::string out = row.at("shared_budget");
  if (!row.at("largest_stages").empty())
    out += row.number("largest_stages") > 0 ? fmt::format("; at most {} stages fit", row.at("largest_stages")) : "; not even one stage fits";
  return out.empty() ? "" : fmt::format("  ({})", out);
}

std::string refused(const Rows& rows, const std::vector<std::string>& columns, size_t top) {
  const size_t shown = top == 0 ? rows.size() : std::min(top, rows.size());
  std::string out;
  for (size_t i = 0; i < shown; ++i) {
    const SweepRow& row = *rows[i];
    out += fmt::format("  {}: {}", name_of(row, columns), row.at("reason"));
    if (row.at("reason").starts_with("smem ")) out += budget_of(row);
    out += "\n";
  }
  if (shown < rows.size()) out += fmt::format("  ... and {} more\n", rows.size() - shown);
  return out.empty() ? "" : "cannot run:\n" + out;
}

/// "barrier 12.0 %, wait 3.1 %" -> shares.
std::map<std::string, double> stall_shares(const SweepRow& row) {
  std::map<std::string, double> out;
  for (const std::string& part : split_list(row.at("stalls"))) {
    std::istringstream in(part);
    std::string name;
    double share = 0;
    if (in >> name >> share) out[name] = share;
  }
  return out;
}

/// The stalls whose share differs most, in points.
std::string moved_stalls(const SweepRow& winner, const SweepRow& other) {
  const auto with = stall_shares(winner), without = stall_shares(other);
  std::set<std::string> names;
  for (const auto& [name, share] : with) names.insert(name);
  for (const auto& [name, share] : without) names.insert(name);
  const auto share = [](const auto& shares, const std::string& name) { return shares.count(name) ? shares.at(name) : 0.0; };
  std::vector<std::pair<std::string, double>> moves;
  for (const std::string& name : names) moves.emplace_back(name, share(with, name) - share(without, name));
  std::stable_sort(moves.begin(), moves.end(), [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  constexpr size_t kMoves = 3;
  constexpr double kLeast = 0.5;  // points
  std::vector<std::string> parts;
  for (const auto& [name, points] : moves)
    if (parts.size() < kMoves && std::abs(points) >= kLeast)
      parts.push_back(fmt::format("{} {:.1f} -> {:.1f} % ({:+.1f})", name, share(without, name), share(with, name), points));
  return parts.empty() ? "none by half a point" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string line(const char* what, const std::string& before, const std::string& after) {
  return before == after ? fmt::format("    {:<16} {} (the same)\n", what, after) : fmt::format("    {:<16} {} -> {}\n", what, before, after);
}

std::string occupancy_of(const SweepRow& row) {
  return fmt::format("{} ({} CTAs an SM, limited by {})", percent(row.number("occupancy")), row.at("ctas_per_sm"), row.at("occupancy_limiter"));
}

std::string bytes_of(const SweepRow& row) {
  return row.at("bytes_in_flight").empty() ? row.at("shared_bytes") + " B a CTA" : grouped(row.number("bytes_in_flight")) + " B an SM";
}

std::string against(const SweepRow& winner, const SweepRow& other, const char* what, const std::vector<std::string>& columns) {
  std::string out =
      fmt::format("  against the {}, {}: {} of its time\n", what, name_of(other, columns), percent(winner.number("cycles") / other.number("cycles")));
  out += line("occupancy", occupancy_of(other), occupancy_of(winner));
  out += line(winner.at("bytes_in_flight").empty() ? "shared memory" : "bytes in flight", bytes_of(other), bytes_of(winner));
  out += line("bound by", other.at("bound_by"), winner.at("bound_by"));
  return out + fmt::format("    {:<16} {}\n", "stalls moved", moved_stalls(winner, other));
}

std::string what_changed(const Rows& ran, const SweepTextOptions& options, const std::vector<std::string>& columns) {
  const SweepRow& winner = *ran.front();
  std::string out = fmt::format("winner: {}\n", name_of(winner, columns));
  if (ran.size() > 1) out += against(winner, *ran[1], "runner-up", columns);
  const auto usual = std::find_if(options.defaults.begin(), options.defaults.end(),
                                  [&](const SweepRow& row) { return group_of(row) == group_of(winner) && row.at("style") == winner.at("style"); });
  if (usual == options.defaults.end()) return out;
  if (usual->key() == winner.key()) return out + "  it is the default of this style\n";
  std::vector<std::string> named = columns;  // also what did not vary
  for (const char* column : {"tile", "stages"})
    if (std::find(named.begin(), named.end(), column) == named.end()) named.push_back(column);
  if (!usual->ran()) return out + fmt::format("  the default, {}, cannot run: {}\n", name_of(*usual, named), usual->at("reason"));
  return out + against(winner, *usual, "default", named);
}

std::string group_text(const Rows& rows, const SweepTextOptions& options) {
  Rows ran, not_run;
  for (const SweepRow* row : rows) (row->ran() ? ran : not_run).push_back(row);
  std::stable_sort(ran.begin(), ran.end(), [](const SweepRow* a, const SweepRow* b) { return a->number("cycles") < b->number("cycles"); });
  const std::vector<std::string> columns = shown_columns(rows);
  std::string out = fmt::format("{}: {} points", title_of(*rows.front()), rows.size());
  if (!not_run.empty()) out += fmt::format(", {} cannot run", not_run.size());
  out += "\n";
  if (!ran.empty()) out += ranking(ran, columns, options.top);
  out += refused(not_run, columns, options.top);
  if (!ran.empty()) out += what_changed(ran, options, columns);
  return out;
}

}  // namespace

std::vector<size_t> winners(const std::vector<SweepRow>& rows) {
  std::map<std::string, size_t> best;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].ran()) continue;
    const auto [at, is_new] = best.emplace(group_of(rows[i]), i);
    if (!is_new && rows[i].number("cycles") < rows[at->second].number("cycles")) at->second = i;
  }
  std::vector<size_t> out;
  for (const auto& [group, index] : best) out.push_back(index);
  return out;
}

std::vector<std::string> varied_columns(const std::vector<SweepRow>& rows) {
  std::vector<std::string> out;
  for (const std::string& column : sweep_key_columns())
    if (std::any_of(rows.begin(), rows.end(), [&](const SweepRow& row) { return row.at(column) != rows.front().at(column); })) out.push_back(column);
  return out;
}

std::string sweep_text(const std::vector<SweepRow>& rows, const SweepTextOptions& options) {
  std::vector<std::string> order;
  std::map<std::string, Rows> groups;
  for (const SweepRow& row : rows) {
    Rows& group = groups[group_of(row)];
    if (group.empty()) order.push_back(group_of(row));
    group.push_back(&row);
  }
  std::string out;
  for (const std::string& name : order) out += (out.empty() ? "" : "\n") + group_text(groups[name], options);
  return out;
}

}  // namespace tcsim::tool
