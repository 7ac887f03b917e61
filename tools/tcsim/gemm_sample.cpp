#include "tools/tcsim/gemm_sample.h"

#include <algorithm>
#include <cmath>

namespace tcsim::tool {
namespace {

// What the sample runs: long enough for the pipeline to be full and the waves to be out of step, short enough to pay off.
constexpr uint32_t kSteps = 8, kStepsPerStage = 2;  // of K in the shorter run, at least
constexpr double kFewWaves = 3;                     // that are run as they are
constexpr double kNoReuse = 2.5;                    // a wave's operands in L2 sizes, from which on LRU keeps nothing for the next wave

struct Point {
  double weight;
  uint64_t value;
};

/// K of the runs: a number of whole steps, and the last, shorter step where there is one.
std::vector<Point> plan_k(const gemm::Config& c, SampleFor purpose) {
  const uint32_t step = c.tile[2], steps = c.k / step, rest = c.k % step;
  const uint32_t least = std::max(4u, c.stages);  // a run that never fills its pipeline tells nothing of the steady state
  const uint32_t long_run =
                     std::min(std::max(2 * std::max(kSteps, kStepsPerStage * c.stages), steps / (purpose == SampleFor::ranking ? 4 : 2)), steps / 2),
                 short_run = long_run / 2;
  if (short_run < least) return {{1, c.k}};
  const double beyond = double(steps - short_run) / (long_run - short_run);
  return {{1 - beyond, short_run * step + rest}, {beyond, long_run * step + rest}};
}

/// CTAs of the runs; 0: all. Persistent kernels have one wave.
std::vector<Point> plan_waves(const GemmKernel& k, const cfg::Machine& machine) {
  const uint64_t size = k.cluster_size(), resident = uint64_t{k.occupancy.ctas_per_sm} * machine.chip.sms / size * size, ctas = k.ctas();
  const double waves = double(ctas) / double(resident);
  if (waves <= kFewWaves) return {{1, 0}};
  const auto left_out = static_cast<uint64_t>(std::ceil(waves) - 2);
  return {{1 - double(left_out), ctas - left_out * resident}, {double(left_out), ctas - (left_out - 1) * resident}};
}

/// A wave's operands fill the same share of L2 as with the whole K; where they overflow it by far, L2 keeps the size that the CTAs of a
/// wave need among themselves.
uint64_t scaled_l2(const GemmKernel& k, const cfg::Machine& machine, uint64_t short_k) {
  const auto& c = k.config;
  const double resident = std::min<double>(double(k.ctas()), double(k.occupancy.ctas_per_sm) * machine.chip.sms);
  const double tiles_m = std::ceil(double(c.m) / c.tile[0]);
  const double rows = std::min(resident, tiles_m) * c.tile[0] + std::ceil(resident / tiles_m) * c.tile[1];
  const analytic::Gemm g = describe_gemm(k, machine);
  const double wave = rows * c.k * g.element_bytes, l2 = static_cast<double>(machine.l2.bytes);
  const double scaled = l2 * double(short_k) / c.k * std::max(1.0, wave / l2 / kNoReuse);
  return static_cast<uint64_t>(std::min(l2, scaled));
}

}  // namespace

bool impossible(const GemmTiming& timing) {
  return std::any_of(timing.busy.begin(), timing.busy.end(), [&](const sim::ResourceUse& use) { return use.used > timing.cycles; });
}

SamplePlan plan_sample(const GemmKernel& k, const cfg::Machine& machine, SampleFor purpose) {
  SamplePlan plan;
  double work = 0;
  for (const Point& length : plan_k(k.config, purpose))
    for (const Point& wave : plan_waves(k, machine)) {
      plan.parts.push_back({length.weight * wave.weight, static_cast<uint32_t>(length.value), wave.value, scaled_l2(k, machine, length.value)});
      work += double(length.value) / k.config.k * (wave.value == 0 ? 1 : double(wave.value) / double(k.ctas()));
    }
  plan.work = work;
  return plan;
}

GemmTiming time_part(const gemm::Config& config, const cfg::Machine& machine, const SamplePart& part) {
  gemm::Config shorter = config;
  shorter.k = part.k;
  cfg::Machine scaled = machine;
  scaled.l2.bytes = part.l2_bytes;
  return time_gemm(shorter, scaled, {.ctas = part.ctas});
}

GemmTiming extrapolate(const SamplePlan& plan, const std::vector<GemmTiming>& parts) {
  GemmTiming sum;
  for (size_t i = 0; i < parts.size(); ++i) sum.add(parts[i], plan.parts[i].weight);
  return sum;
}

}  // namespace tcsim::tool
