#include "validation/published/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "sim/gpu/gpu.h"
#include "tools/launch/prepare.h"

namespace tcsim::published {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// A ring through all places in a random order (a fixed seed: the same for every run).
void fill(const Chase& chase, uint64_t base, isa::GlobalMemory& memory) {
  const uint64_t places = chase.bytes / chase.stride;
  std::vector<uint32_t> order(places);
  for (uint32_t i = 0; i < places; ++i) order[i] = i;
  std::shuffle(order.begin() + 1, order.end(), std::mt19937(1));  // the kernel starts at place 0
  for (uint64_t i = 0; i < places; ++i) {
    const uint64_t at = order[i] * chase.stride, next = order[(i + 1) % places] * chase.stride;
    uint8_t* bytes = memory.map(base + at, 8);
    const uint64_t value = chase.pointers ? base + next : next / 4;
    std::memcpy(bytes, &value, chase.pointers ? 8 : 4);
  }
}

double clocks_of(const std::vector<uint64_t>& out, Probe::Clocks clocks) {
  if (clocks == Probe::Clocks::span) {
    uint64_t first = ~0ull, last = 0;
    for (size_t i = 0; i < out.size(); i += 2) first = std::min(first, out[i]), last = std::max(last, out[i + 1]);
    return static_cast<double>(last - first);
  }
  std::vector<double> each;
  for (size_t i = 0; i < out.size(); i += 2) each.push_back(static_cast<double>(out[i + 1] - out[i]));
  std::nth_element(each.begin(), each.begin() + each.size() / 2, each.end());
  return each[each.size() / 2];
}

double cycles_of(const Run& run, Probe::Clocks clocks, const cfg::Machine& machine, Diagnostics& diags) {
  auto module = isa::load_module("probe.ptx", run.ptx, diags);
  auto file = launch::parse_launch_file("probe.toml", run.launch, diags);
  launch::Workspace work;
  if (!module || !file || diags.has_errors() || !launch::prepare(*file, *module, {}, work, diags)) return kNothing;
  if (run.chase.bytes != 0) fill(run.chase, work.address.at("chase"), work.memory);
  const launch::BoundLaunch& bound = work.launches.front();
  sim::SimOptions options;
  options.mode = sim::Mode::timing;
  const sim::SimResult result = sim::simulate(*module, *bound.kernel, bound.info, work.memory, machine, options, diags);
  if (!result.ok || diags.has_errors()) return kNothing;
  if (clocks == Probe::Clocks::kernel) return static_cast<double>(result.kernel_cycles);
  std::vector<uint64_t> out(2 * run.pairs);
  std::memcpy(out.data(), work.memory.map(work.address.at("out"), 8 * out.size()), 8 * out.size());
  return clocks_of(out, clocks);
}

}  // namespace

double run_probe(const Probe& probe, const cfg::Machine& machine, Diagnostics& diags) {
  double cycles = 0, work = 0;
  for (const Run& run : probe.runs) {
    const double c = cycles_of(run, probe.clocks, machine, diags);
    if (std::isnan(c)) return kNothing;
    cycles = c - cycles;
    work = run.work - work;
  }
  return probe.rate ? work / cycles : cycles / work;
}

}  // namespace tcsim::published
