#include "sim/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tcsim::sim {

uint64_t ReportInstruction::cycles() const { return std::accumulate(stalls.begin(), stalls.end(), uint64_t{0}); }

uint64_t ReportInstruction::waiting_cycles() const {
  return cycles() - stalls[static_cast<size_t>(StallReason::selected)] - stalls[static_cast<size_t>(StallReason::not_selected)];
}

double Report::metric(const std::string& name) const {
  const auto it = metrics.find(name);
  return it == metrics.end() ? 0 : it->second;
}

std::vector<ResourceUse> resource_uses(const Report& report) {
  const Roofline& f = report.roofline;
  const double cycles = static_cast<double>(report.cycles);
  std::vector<ResourceUse> uses;
  if (cycles == 0) return uses;
  const auto add = [&](const std::string& name, double work, double work_per_cycle) {
    if (work_per_cycle > 0) uses.push_back({name, work / (work_per_cycle * cycles)});
  };
  add("compute (" + f.peak_name + ")", f.flops, f.peak_flops_per_cycle);
  add("L2 bandwidth", f.l2_bytes, f.l2_bytes_per_cycle);
  add("DRAM bandwidth", f.dram_bytes, f.dram_bytes_per_cycle);
  if (uses.empty()) return uses;
  uses.push_back({"shared-memory pipe", report.metric("l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed") / 100});
  uses.push_back({"issue slots", report.metric("smsp__issue_active.avg.pct_of_peak_sustained_elapsed") / 100});
  return uses;
}

// 60 % and 80 % are the thresholds of Nsight Compute's speed-of-light rule.
std::string verdict(const Report& report) {
  const std::vector<ResourceUse> uses = resource_uses(report);
  if (uses.empty()) return {};
  const auto most = std::max_element(uses.begin(), uses.end(), [](const ResourceUse& a, const ResourceUse& b) { return a.used < b.used; });
  if (most->used >= 0.8) return fmt::format("bound by {}: little to gain without doing less of it", most->name);
  if (most->used >= 0.6) return fmt::format("mostly bound by {}", most->name);
  const bool small_grid = report.metric("launch__waves_per_multiprocessor") < 1;
  return fmt::format("no resource above 60 %: bound by latency{}; see where warps wait", small_grid ? " and by too few CTAs" : "");
}

}  // namespace tcsim::sim
