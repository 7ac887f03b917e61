#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/report/text_parts.h"

namespace tcsim::sim::text {
namespace {

double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

/// Barriers that are the stages of one pipeline.
struct Stages {
  std::string name;
  uint64_t first = 0, last = 0;
  ReportBarrier::Kind kind = ReportBarrier::Kind::arrivals;
  double waits = 0, cycles = 0, phases = 0;
  double worst = 0;  // wait cycles of the stage that warps waited for longest
  uint64_t worst_index = 0;
  std::map<std::string, double> where;  // cycles by place of the waiting instruction

  bool takes(const ReportBarrier& b) const { return !b.array.empty() && b.array == name && b.index == last + 1 && b.kind == kind; }
  void add(const ReportBarrier& b) {
    last = b.index;
    waits += static_cast<double>(b.waits);
    cycles += static_cast<double>(b.wait_cycles);
    phases += static_cast<double>(b.phases);
    for (const ReportBarrier::Waiter& w : b.waiters) where[w.where] += static_cast<double>(w.wait_cycles);
    if (static_cast<double>(b.wait_cycles) <= worst) return;
    worst = static_cast<double>(b.wait_cycles);
    worst_index = b.index;
  }
  uint64_t count() const { return last - first + 1; }
  std::string title() const { return count() > 1 ? fmt::format("{}[{}..{}]", name, first, last) : name; }
};

std::vector<Stages> group(const std::vector<ReportBarrier>& barriers) {
  std::vector<Stages> out;
  for (const ReportBarrier& b : barriers) {
    if (b.kind == ReportBarrier::Kind::cta) continue;
    if (out.empty() || !out.back().takes(b))
      out.push_back({.name = b.array.empty() ? b.name : b.array, .first = b.index, .last = b.index, .kind = b.kind, .where = {}});
    out.back().add(b);
  }
  // One element of an array alone keeps its own name.
  for (Stages& s : out)
    for (const ReportBarrier& b : barriers)
      if (s.count() == 1 && b.array == s.name && b.index == s.first) s.name = b.name;
  return out;
}

/// Below this share of the warp-cycles nothing is to be gained; above the other a bandwidth counts as used up (as in Nsight
/// Compute's speed-of-light rule).
constexpr double kSmall = 0.05, kUsedUp = 0.6;

std::string verdict(const Report& r, double data, double arrivals, double all) {
  const Roofline& f = r.roofline;
  const double cycles = static_cast<double>(r.cycles);
  const bool memory = ratio(f.l2_bytes, f.l2_bytes_per_cycle * cycles) >= kUsedUp || ratio(f.dram_bytes, f.dram_bytes_per_cycle * cycles) >= kUsedUp;
  if (data + arrivals < kSmall * all) return "warps hardly wait at mbarriers";
  if (data < arrivals) return "buffers come free late: consumers are the limit, not the loads";
  if (memory) return "data comes late, and memory bandwidth is used up: reuse more (larger tiles, multicast)";
  return "data comes late: too few bytes in flight; more stages, or loads issued earlier";
}

}  // namespace

std::string mbarrier_lines(const Report& r, const Paint& paint) {
  double all = 0, data = 0, arrivals = 0;
  for (const uint64_t cycles : r.stalls) all += static_cast<double>(cycles);
  std::string out;
  for (const Stages& s : group(r.barriers)) {
    (s.kind == ReportBarrier::Kind::data ? data : arrivals) += s.cycles;
    if (s.waits == 0 && s.cycles == 0) continue;
    out += fmt::format("  {} {}  {}  {} waits of {:.0f} cycles for {}\n", pad(fit(s.title(), 20), 20), pad_left(share(ratio(s.cycles, all)), 7),
                       paint.bar(ratio(s.cycles, all), 20), count(s.waits), ratio(s.cycles, s.waits),
                       s.kind == ReportBarrier::Kind::data ? "copies" : "arrivals");
    const auto most = std::max_element(s.where.begin(), s.where.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    std::string note = fmt::format("{} phases", count(s.phases));
    if (most != s.where.end()) note += fmt::format("; most waiting at {}", most->first);
    // Twice an equal share: something is wrong with one stage (a prologue that is too short, say).
    if (s.count() > 2 && s.worst * static_cast<double>(s.count()) > 2 * s.cycles)
      note += fmt::format(", {} for stage {}", share(ratio(s.worst, s.cycles)), s.worst_index);
    out += fmt::format("           {}\n", paint.dim(fit(note, 88)));
  }
  if (all > 0 && data + arrivals > 0) out += fmt::format("  {}\n", verdict(r, data, arrivals, all));
  return out;
}

}  // namespace tcsim::sim::text
