#include "tools/ncu/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "validation/compare/measurements.h"

namespace tcsim::ncu {
namespace {

/// Labels of the sections' tables (Nsight Compute's .section files) and the metrics that they show.
struct Label {
  std::string_view label, metric;
  std::string_view unit = "";  // where one label names two metrics
};
constexpr Label kLabels[] = {
    // SpeedOfLight
    {"Elapsed Cycles", "sm__cycles_elapsed.max"},
    {"SM Active Cycles", "sm__cycles_active.avg"},
    {"Duration", "gpu__time_duration.sum"},
    {"Memory Throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%"},
    {"DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    // ComputeWorkloadAnalysis
    {"Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active"},
    {"Executed Ipc Elapsed", "sm__inst_executed.avg.per_cycle_elapsed"},
    {"Issued Ipc Active", "sm__inst_issued.avg.per_cycle_active"},
    {"Issue Slots Busy", "sm__inst_issued.avg.pct_of_peak_sustained_active"},
    // MemoryWorkloadAnalysis
    {"Memory Throughput", "dram__bytes.sum.per_second"},
    {"L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct"},
    {"L2 Hit Rate", "lts__t_sector_hit_rate.pct"},
    // SchedulerStats
    {"One or More Eligible", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    {"Issued Warp Per Scheduler", "smsp__issue_active.avg.per_cycle_active"},
    {"Active Warps Per Scheduler", "smsp__warps_active.avg.per_cycle_active"},
    {"Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active"},
    // WarpStateStats
    {"Warp Cycles Per Issued Instruction", "smsp__average_warp_latency_per_inst_issued.ratio"},
    {"Warp Cycles Per Executed Instruction", "smsp__average_warps_active_per_inst_executed.ratio"},
    // InstructionStats
    {"Executed Instructions", "smsp__inst_executed.sum"},
    {"Issued Instructions", "smsp__inst_issued.sum"},
    {"Avg. Executed Instructions Per Scheduler", "smsp__inst_executed.avg"},
    {"Avg. Issued Instructions Per Scheduler", "smsp__inst_issued.avg"},
    // LaunchStats
    {"Block Size", "launch__block_size"},
    {"Grid Size", "launch__grid_size"},
    {"Registers Per Thread", "launch__registers_per_thread"},
    {"Threads", "launch__thread_count"},
    {"Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic"},
    {"Static Shared Memory Per Block", "launch__shared_mem_per_block_static"},
    {"Driver Shared Memory Per Block", "launch__shared_mem_per_block_driver"},
    {"Shared Memory Configuration Size", "launch__shared_mem_config_size"},
    {"Waves Per SM", "launch__waves_per_multiprocessor"},
    // Occupancy
    {"Block Limit SM", "launch__occupancy_limit_blocks"},
    {"Block Limit Registers", "launch__occupancy_limit_registers"},
    {"Block Limit Shared Mem", "launch__occupancy_limit_shared_mem"},
    {"Block Limit Warps", "launch__occupancy_limit_warps"},
    {"Block Limit Barriers", "launch__occupancy_limit_barriers"},
    {"Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"},
    {"Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"Achieved Active Warps Per SM", "sm__warps_active.avg.per_cycle_active"},
};

/// The rest of the file with the lines of ncu and of the program blanked, so that line numbers stay.
std::string without_preamble(std::string_view text) {
  std::string out;
  bool begun = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    begun = begun || line.starts_with("\"ID\"") || line.starts_with("ID,");
    if (begun && !line.starts_with("==")) out += line;
    out += '\n';
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return out;
}

/// "1,234.5" is a number; "n/a" and "(128, 1, 1)" are none.
std::optional<double> number(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0) return std::nullopt;
  return value;
}

class Reader {
 public:
  Reader(const std::string& path, const compare::CsvTable& table, Diagnostics& diags) : path_(path), table_(table), diags_(diags) {}

  std::vector<Kernel> read() {
    const bool details = column("Metric Name") >= 0;
    if (column("Kernel Name") < 0 || (details && column("Metric Value") < 0)) {
      diags_.error("syntax", {path_, 1, 1},
                   "this is no CSV of ncu: expected columns ID, Kernel Name and metrics (--page raw --csv), or Metric Name and Metric Value (--page "
                   "details --csv)");
      return {};
    }
    if (details) read_details();
    else read_raw();
    return std::move(kernels_);
  }

 private:
  int column(std::string_view name) const {
    const auto at = std::find(table_.header.begin(), table_.header.end(), name);
    return at == table_.header.end() ? -1 : static_cast<int>(at - table_.header.begin());
  }
  std::string cell(size_t row, const char* name) const {
    const int at = column(name);
    return at < 0 ? "" : table_.rows[row][static_cast<size_t>(at)];
  }
  Place place(size_t row) const { return {path_, table_.lines[row], 0}; }
  Kernel kernel(size_t row) const {
    return {cell(row, "ID"), cell(row, "Kernel Name"), cell(row, "Block Size"), cell(row, "Grid Size"), {}, place(row)};
  }

  void read_raw() {
    // The units' row names no kernel.
    const bool units = !table_.rows.empty() && cell(0, "Kernel Name").empty();
    if (!units && !table_.rows.empty()) diags_.warning("syntax", place(0), "no row of units below the header: values are taken in ncu's base units");
    for (size_t row = units ? 1 : 0; row < table_.rows.size(); ++row) {
      Kernel k = kernel(row);
      for (size_t i = 0; i < table_.header.size(); ++i)
        if (table_.header[i].find("__") != std::string::npos)
          if (const auto value = number(table_.rows[row][i])) k.metrics[table_.header[i]] = {*value, units ? table_.rows[0][i] : ""};
      kernels_.push_back(std::move(k));
    }
  }

  void read_details() {
    for (size_t row = 0; row < table_.rows.size(); ++row) {
      const std::string label = cell(row, "Metric Name"), unit = cell(row, "Metric Unit");
      if (label.empty()) continue;  // a rule's advice
      if (kernels_.empty() || kernels_.back().id != cell(row, "ID")) kernels_.push_back(kernel(row));
      const auto value = number(cell(row, "Metric Value"));
      if (!value) continue;
      const std::string known = label.find("__") != std::string::npos ? label : metric_of_label(label, unit);
      kernels_.back().metrics[known.empty() ? label : known] = {*value, unit};
    }
  }

  const std::string& path_;
  const compare::CsvTable& table_;
  Diagnostics& diags_;
  std::vector<Kernel> kernels_;
};

/// One part of a unit, "Kbyte" or "nsecond": how many base units.
double part_scale(std::string_view part) {
  constexpr std::pair<std::string_view, double> kTimes[] = {{"s", 1},     {"second", 1},     {"ms", 1e-3}, {"msecond", 1e-3},
                                                            {"us", 1e-6}, {"usecond", 1e-6}, {"ns", 1e-9}, {"nsecond", 1e-9}};
  for (const auto& [name, scale] : kTimes)
    if (part == name) return scale;
  constexpr std::pair<char, double> kPrefixes[] = {{'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};
  constexpr std::array<std::string_view, 7> kScaled = {"byte", "hz", "Hz", "inst", "cycle", "sector", "bit"};
  for (const auto& [prefix, scale] : kPrefixes)
    if (!part.empty() && part.front() == prefix && std::find(kScaled.begin(), kScaled.end(), part.substr(1)) != kScaled.end()) return scale;
  return 1;
}

}  // namespace

std::vector<Kernel> parse_page(const std::string& path, std::string_view text, Diagnostics& diags) {
  const compare::CsvTable table = compare::parse_csv(path, without_preamble(text), diags);
  if (diags.has_errors()) return {};
  std::vector<Kernel> out = Reader(path, table, diags).read();
  if (out.empty() && !diags.has_errors()) diags.error("syntax", {path, 0, 0}, "the page has no kernel");
  return out;
}

std::string metric_of_label(std::string_view label, std::string_view unit) {
  for (const Label& known : kLabels)
    if (known.label == label && (known.unit.empty() || known.unit == unit)) return std::string(known.metric);
  return "";
}

double unit_scale(std::string_view unit) {
  const size_t slash = unit.find('/');
  const double scale = part_scale(unit.substr(0, slash));
  return slash == std::string_view::npos ? scale : scale / part_scale(unit.substr(slash + 1));
}

double in_base_units(const Value& value) { return value.value * unit_scale(value.unit); }

}  // namespace tcsim::ncu
