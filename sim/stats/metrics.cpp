#include "sim/stats/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace tcsim::sim {
namespace {

double ratio(double a, double b) { return b == 0 ? 0 : a / b; }
double percent(double a, double b) { return 100 * ratio(a, b); }

/// Largest amount in a cycle of an SM, or of the chip.
double peak_of(Peak peak, const cfg::Machine& m) {
  switch (peak) {
    case Peak::none: return 0;
    case Peak::one: return 1;
    case Peak::subcores: return m.limits.subcores;
    case Peak::warps: return m.limits.max_warps;
    case Peak::issue: return static_cast<double>(m.limits.subcores) * m.scheduler.issue_per_cycle;
    case Peak::smem_wavefronts: return 1 / m.smem.wavefront_cycles;
    case Peak::l1_sectors: return m.l1.data_bytes_per_cycle / m.l1.sector_bytes;
    case Peak::fill_bytes: return m.l1.fill_bytes_per_cycle;
    case Peak::store_bytes: return m.l1.store_bytes_per_cycle;
    case Peak::l2_sectors: return m.l2.slice_bytes_per_cycle * m.l2.slices / m.l2.sector_bytes;
    case Peak::dram_bytes: return m.dram.bytes_per_cycle;
  }
  return 0;
}

class Maker {
 public:
  Maker(const RunCounters& run, const cfg::Machine& machine) : run_(run), m_(machine), blocks_(run.sms) {
    for (CounterBlock& sm : blocks_) {
      sm[Counter::cycles_elapsed] = run.cycles;
      total_.merge(sm);
    }
    total_.merge(run.memory);
  }

  Metrics make() {
    for (const CounterInfo& counter : kCounterTable) roll_up(counter);
    add_stalls();
    add_ratios();
    add_launch();
    return std::move(out_);
  }

 private:
  double sum(Counter c) const { return static_cast<double>(total_[c]); }
  double elapsed() const { return static_cast<double>(run_.cycles); }
  void put(std::string_view name, std::string_view suffix, double value) { out_[fmt::format("{}.{}", name, suffix)] = value; }

  /// The tensor pipes of the sub-cores are counted together and shown as ncu does: as one pipe of the SM.
  double shown(const CounterInfo& c, double value) const { return c.id == Counter::tensor_cycles_active ? value / m_.limits.subcores : value; }

  void roll_up(const CounterInfo& c) {
    const double all = sum(c.id);
    put(c.name, "sum", shown(c, all));
    const double peak = peak_of(c.peak, m_);
    if (c.scope == Scope::lts || c.scope == Scope::dram) {
      if (peak > 0) put(c.name, "sum.pct_of_peak_sustained_elapsed", percent(all, peak * elapsed()));
      return;
    }
    const double sms = static_cast<double>(blocks_.size());
    const double instances = c.scope == Scope::smsp ? sms * m_.limits.subcores : sms;
    put(c.name, "avg", shown(c, ratio(all, instances)));
    if (c.scope != Scope::smsp && !blocks_.empty()) {
      const auto less = [&](const CounterBlock& a, const CounterBlock& b) { return a[c.id] < b[c.id]; };
      const auto [low, high] = std::minmax_element(blocks_.begin(), blocks_.end(), less);
      put(c.name, "min", shown(c, static_cast<double>((*low)[c.id])));
      put(c.name, "max", shown(c, static_cast<double>((*high)[c.id])));
    }
    if (peak > 0) {
      if (c.id != Counter::cycles_active) put(c.name, "avg.pct_of_peak_sustained_active", percent(all, peak * sum(Counter::cycles_active)));
      put(c.name, "avg.pct_of_peak_sustained_elapsed", percent(all, peak * elapsed() * sms));
    }
  }

  void add_stalls() {
    for (const StallInfo& stall : kStallTable) {
      const double cycles = static_cast<double>(run_.stalls[static_cast<size_t>(stall.reason)]);
      out_[fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", stall.name)] = ratio(cycles, sum(Counter::issue_active));
      out_[fmt::format("sim__warp_cycles_stalled_{}.sum", stall.name)] = cycles;
    }
  }

  void add_ratios() {
    const double active = sum(Counter::cycles_active) * m_.limits.subcores;  // sub-core cycles
    out_["smsp__cycles_active.avg"] = ratio(sum(Counter::cycles_active), static_cast<double>(blocks_.size()));
    out_["smsp__inst_executed.avg.per_cycle_active"] = ratio(sum(Counter::inst_executed), active);
    out_["sm__inst_executed.sum"] = sum(Counter::inst_executed);
    out_["sm__inst_executed.avg.per_cycle_active"] = ratio(sum(Counter::inst_executed), sum(Counter::cycles_active));
    out_["sm__inst_executed.avg.per_cycle_elapsed"] = ratio(sum(Counter::inst_executed), sum(Counter::cycles_elapsed));
    out_["smsp__issue_active.avg.per_cycle_active"] = ratio(sum(Counter::issue_active), active);
    out_["smsp__warps_active.avg.per_cycle_active"] = ratio(sum(Counter::warps_active), active);
    out_["smsp__thread_inst_executed_per_inst_executed.ratio"] = ratio(sum(Counter::thread_inst_executed), sum(Counter::inst_executed));
    out_["smsp__average_warp_latency_per_inst_issued.ratio"] = ratio(sum(Counter::warps_active), sum(Counter::inst_issued));
    out_["l1tex__t_sector_hit_rate.pct"] = percent(sum(Counter::l1_sectors_hit), sum(Counter::l1_sectors));
    out_["lts__t_sector_hit_rate.pct"] = percent(sum(Counter::l2_sectors_hit), sum(Counter::l2_sectors));
    const double dram = sum(Counter::dram_bytes_read) + sum(Counter::dram_bytes_write);
    out_["dram__bytes.sum"] = dram;
    out_["dram__throughput.avg.pct_of_peak_sustained_elapsed"] = percent(dram, m_.dram.bytes_per_cycle * elapsed());
    out_["sim__cycles_kernel"] = static_cast<double>(run_.kernel_cycles);
    out_["sim__tma_bytes_in_flight.avg.per_cycle_active"] = ratio(sum(Counter::tma_byte_cycles), sum(Counter::cycles_active));
    const double nanoseconds = ratio(elapsed(), m_.chip.clock_mhz) * 1000;
    out_["gpu__time_duration.sum"] = nanoseconds;
  }

  void add_launch() {
    const LaunchShape& l = run_.launch;
    out_["launch__grid_size"] = static_cast<double>(l.grid_ctas);
    out_["launch__block_size"] = l.block_threads;
    out_["launch__thread_count"] = static_cast<double>(l.grid_ctas) * l.block_threads;
    out_["launch__registers_per_thread"] = l.registers_per_thread;
    out_["launch__shared_mem_per_block_dynamic"] = l.shared_dynamic_bytes;
    out_["launch__shared_mem_per_block_static"] = l.shared_static_bytes;
    out_["launch__shared_mem_per_block_driver"] = l.shared_reserved_bytes;
    out_["launch__occupancy_limit_registers"] = l.limit_registers;
    out_["launch__occupancy_limit_shared_mem"] = l.limit_shared_mem;
    out_["launch__occupancy_limit_warps"] = l.limit_warps;
    out_["launch__occupancy_limit_blocks"] = l.limit_blocks;
    out_["launch__occupancy_limit_barriers"] = l.limit_barriers;
    out_["launch__waves_per_multiprocessor"] = ratio(static_cast<double>(l.grid_ctas), static_cast<double>(m_.chip.sms) * l.ctas_per_sm);
    out_["sm__maximum_warps_per_active_cycle_pct"] = percent(static_cast<double>(l.ctas_per_sm) * l.warps_per_cta, m_.limits.max_warps);
  }

  const RunCounters& run_;
  const cfg::Machine& m_;
  std::vector<CounterBlock> blocks_;
  CounterBlock total_;
  Metrics out_;
};

}  // namespace

Metrics make_metrics(const RunCounters& run, const cfg::Machine& machine) { return Maker(run, machine).make(); }

std::array<double, kStallReasons> stall_shares(const StallCycles& stalls) {
  double all = 0;
  for (const uint64_t cycles : stalls) all += static_cast<double>(cycles);
  std::array<double, kStallReasons> shares{};
  for (size_t i = 0; i < kStallReasons; ++i) shares[i] = ratio(static_cast<double>(stalls[i]), all);
  return shares;
}

std::string metric_unit(const std::string& metric) {
  const auto ends = [&](std::string_view end) { return metric.ends_with(end); };
  if (ends(".pct") || ends("_pct") || metric.find("pct_of_peak") != std::string::npos) return "%";
  if (ends(".ratio")) return metric.find("warps_issue_stalled") != std::string::npos ? "inst" : "";
  if (metric.starts_with("sim__tma_bytes_in_flight")) return "byte";
  if (metric.find("per_cycle") != std::string::npos) return "inst/cycle";
  if (metric == "gpu__time_duration.sum") return "nsecond";
  if (metric == "sim__cycles_kernel" || metric.starts_with("sim__warp_cycles") || metric.starts_with("smsp__cycles")) return "cycle";
  if (metric.starts_with("dram__bytes.")) return "byte";
  if (metric.starts_with("sm__inst_executed.")) return "inst";
  if (metric.starts_with("launch__shared_mem")) return "byte/block";
  if (metric == "launch__registers_per_thread") return "register/thread";
  if (metric.starts_with("launch__occupancy_limit")) return "block";
  if (metric == "launch__thread_count") return "thread";
  for (const CounterInfo& counter : kCounterTable) {
    if (metric.starts_with(counter.name) && metric.size() > counter.name.size() && metric[counter.name.size()] == '.')
      return std::string(counter.unit);
  }
  return "";
}

std::string describe_counters() {
  static constexpr std::string_view scopes[] = {"SM", "sub-core", "SM", "L2", "DRAM"};
  std::string out = "# Counters\n\n| name | per | unit | meaning |\n| --- | --- | --- | --- |\n";
  for (const CounterInfo& c : kCounterTable) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", c.name, scopes[static_cast<size_t>(c.scope)], c.unit, c.doc);
  }
  out += "\n# Stall reasons\n\n| reason | meaning |\n| --- | --- |\n";
  for (const StallInfo& s : kStallTable) out += fmt::format("| `{}` | {} |\n", s.name, s.meaning);
  return out;
}

}  // namespace tcsim::sim
