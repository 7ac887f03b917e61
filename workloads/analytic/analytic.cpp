#include "workloads/analytic/analytic.h"

#include <algorithm>
#include <cmath>

namespace tcsim::analytic {
namespace {

double shared_bytes_per_cycle(const cfg::Machine& m) { return m.smem.banks * m.smem.bank_bytes / m.smem.wavefront_cycles; }

/// Tiles of A and B that `resident` CTAs touch when the grid runs along M first.
double wave_rows(const Gemm& g, double resident) {
  const double tiles_m = std::ceil(double(g.m) / g.tile[0]);
  return std::min(resident, tiles_m) * g.tile[0] + std::ceil(resident / tiles_m) * g.tile[1];
}

Step step_of(const Gemm& g, const cfg::Machine& m, double ctas_per_sm) {
  Step s;
  const auto [bm, bn, bk] = g.tile;
  const double flops = 2.0 * bm * bn * bk, loaded = (double(bm) + bn) * bk * g.element_bytes;
  s.compute = ctas_per_sm * flops / g.flops_per_cycle;
  s.shared = ctas_per_sm * (flops * g.shared_bytes_per_flop + loaded) / shared_bytes_per_cycle(m);
  s.issue = ctas_per_sm * flops * g.issues_per_flop / m.limits.subcores;
  // Multicast: a CTA's share of A comes from L2 once for the cluster's columns, and the other way round. SMs whose reads L2 serves
  // together have CTAs that follow each other along M: they share B.
  const double share_b = std::max<double>(g.cluster[0], std::min<double>(m.l2.coalescing_sms, std::ceil(double(g.m) / bm)));
  const double requested = (double(bm) / g.cluster[1] + double(bn) / share_b) * bk * g.element_bytes;
  s.l2 = ctas_per_sm * std::max(loaded / m.l1.fill_bytes_per_cycle, requested * m.chip.sms / (m.l2.slices * m.l2.slice_bytes_per_cycle));
  s.dram = wave_rows(g, ctas_per_sm * m.chip.sms) * bk * g.element_bytes / m.dram.bytes_per_cycle;
  const double load = 0.5 * (m.l2.near_cycles + m.l2.far_cycles) + loaded / m.l1.fill_bytes_per_cycle;
  s.latency = (load + s.compute / ctas_per_sm) / g.stages;
  return s;
}

std::string name_of_slowest(const Step& s) {
  const std::pair<double, const char*> parts[] = {{s.compute, "arithmetic"}, {s.shared, "shared memory"}, {s.issue, "issue slots"}, {s.l2, "L2"},
                                                  {s.dram, "DRAM"},          {s.latency, "load latency"}};
  return std::max_element(std::begin(parts), std::end(parts), [](auto& a, auto& b) { return a.first < b.first; })->second;
}

/// A wave: the first load comes from DRAM, then step after step, then C leaves.
double wave_cycles(const Gemm& g, const cfg::Machine& m, double ctas_per_sm) {
  const double steps = std::ceil(double(g.k) / g.tile[2]);
  const double store = ctas_per_sm * g.tile[0] * g.tile[1] * g.out_bytes / m.l1.store_bytes_per_cycle;
  return m.l2.far_cycles + m.dram.extra_cycles + steps * step_of(g, m, ctas_per_sm).slowest() + store + m.launch.cta_cycles;
}

}  // namespace

double Step::slowest() const { return std::max({compute, shared, issue, l2, dram, latency}); }

Estimate estimate(const Gemm& g, const cfg::Machine& m) {
  Estimate e;
  const double ctas = std::ceil(double(g.m) / g.tile[0]) * std::ceil(double(g.n) / g.tile[1]);
  const double per_sm = std::min<double>(g.ctas_per_sm, std::ceil(ctas / m.chip.sms)), resident = per_sm * m.chip.sms;
  e.waves = ctas / (static_cast<double>(m.chip.sms) * g.ctas_per_sm);
  e.step = step_of(g, m, per_sm);
  e.bound = name_of_slowest(e.step);
  const double whole = std::floor(ctas / resident), rest = ctas - whole * resident;
  e.cycles = m.launch.overhead_cycles + whole * wave_cycles(g, m, per_sm);
  if (rest > 0) e.cycles += wave_cycles(g, m, std::ceil(rest / m.chip.sms));
  return e;
}

}  // namespace tcsim::analytic
