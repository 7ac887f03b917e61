// Steady-state sampling of a GEMM: the time of a launch grows linearly with K (each step of K costs the same once the pipeline runs) and
// with whole waves of CTAs (each wave after the first costs the same). So a long launch is extrapolated from short ones that run on the
// whole chip, all SMs contending as in the long one:
//
//   K       two lengths, k1 and k2 = 2 k1, of the same grid; T(K) = T(k2) + (K - k2) (T(k2) - T(k1)) / (k2 - k1)
//   waves   the first W - j waves and one more, W - j between 1 and 2, so that the fraction of the last wave is the real one
//
// and both together. L2 shrinks with K, so that a wave's operands fill the same share of it and waves find as much of each other's data
// as in the long launch. Cold caches stay cold: each step of K loads new data in the short runs as in the long one.
// The error is measured, not assumed: --best compares with the whole launch at a size that can be run (gemm_best.h).
#pragma once
#include <vector>

#include "tools/tcsim/gemm_kernel.h"

namespace tcsim::tool {

struct SamplePart {
  double weight = 1;  // weights add up to 1
  uint32_t k = 0;
  uint64_t ctas = 0;  // 0: the whole grid
  uint64_t l2_bytes = 0;
};

struct SamplePlan {
  std::vector<SamplePart> parts;
  double work = 1;  // of the whole launch's, that the parts simulate
  bool whole() const { return parts.size() == 1; }
  static SamplePlan of_whole(uint32_t k, const cfg::Machine& machine) { return {{{1, k, 0, machine.l2.bytes}}, 1}; }
};

/// ranking: a quarter of K and half of that. answer: half of K and a quarter, so that little is extrapolated: what is uneven in a short
/// run (CTAs that drift apart, DRAM that binds) would be multiplied.
enum class SampleFor : uint8_t { ranking, answer };

/// The whole launch when no shorter runs stand for it.
SamplePlan plan_sample(const GemmKernel& kernel, const cfg::Machine& machine, SampleFor purpose = SampleFor::answer);

/// The extrapolated time is less than some unit of the machine needs for the work: the sample does not stand for the launch.
bool impossible(const GemmTiming& timing);

/// One part, and their sum.
GemmTiming time_part(const gemm::Config& config, const cfg::Machine& machine, const SamplePart& part);
GemmTiming extrapolate(const SamplePlan& plan, const std::vector<GemmTiming>& parts);

}  // namespace tcsim::tool
