// --best: which style, tile, stages and cluster run a GEMM fastest on a machine. Every choice that the generator and the machine take is
// estimated (workloads/analytic), the best few are simulated by sampling (gemm_sample.h), the fastest of them wins, and the error of its
// sampling is measured at a size that is simulated whole as well.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tools/tcsim/gemm_sample.h"

namespace tcsim::tool {

/// What may vary; a list with one entry is what the user asked for. Tiles with K of 0: by the operands, 64 and 128 bytes.
struct SearchSpace {
  std::vector<std::string> styles;
  std::vector<std::array<uint32_t, 3>> tiles;
  std::vector<uint32_t> stages;
  std::vector<std::array<uint32_t, 2>> clusters;
  std::vector<std::string> swizzles = {"xor", "padded", "none"};  // from the best: the first that the style takes
};
/// Everything worth trying; styles are the machine's own.
SearchSpace whole_space(const cfg::Machine& machine);
std::vector<std::string> own_styles(const cfg::Machine& machine);
/// What a GEMM takes when no style is given: mma.sync in the form of the machine's generation; ampere's runs on all later ones.
std::string default_style(const cfg::Machine& machine);

/// One line of the table.
struct GemmRow {
  std::string arch;
  double clock_mhz = 0;
  gemm::Config config;
  GemmTiming timing;
  analytic::Estimate estimate;
  double sampled_work = 1;    // share of the launch that was simulated; 1: whole
  double sampling_error = 0;  // at kErrorSize: sampled / whole - 1
  uint32_t error_size = 0;    // M = N = K of that; 0: not measured
  uint32_t considered = 0, feasible = 0, simulated = 0;
  std::string failure;  // why there is no timing

  double time_us() const { return clock_mhz > 0 ? timing.cycles / clock_mhz : 0; }
  double tflops() const { return time_us() > 0 ? timing.flops / time_us() * 1e-6 : 0; }
};

struct Candidate {
  gemm::Config config;
  analytic::Estimate estimate;
};
struct Candidates {
  uint32_t considered = 0, feasible = 0;
  std::vector<Candidate> ranked;  // by the estimate, best first; of each style and M x N of a tile the best K, stages and cluster
  std::string refusal;            // of the last choice that cannot run
};
Candidates rank_candidates(const gemm::Config& base, const cfg::Machine& machine, const SearchSpace& space);

/// Of the ranked candidates, how many are simulated.
constexpr size_t kKept = 4;
/// M = N = K at which the error of sampling is measured.
constexpr uint32_t kErrorSize = 1024;

struct Contest {
  std::string arch;
  cfg::Machine machine;
  SearchSpace space;
  gemm::Config base;
};
/// One row a contest. threads: simulations side by side; told(done, total) may come from any of them, one at a time.
std::vector<GemmRow> run_best(const std::vector<Contest>& contests, uint32_t threads, const std::function<void(uint64_t, uint64_t)>& told);

/// A row without a search: the configuration as it is, whole.
GemmRow run_plain(const std::string& arch, const cfg::Machine& machine, const gemm::Config& config);

/// Runs the jobs on so many threads, first come first served; rethrows what one of them threw.
void run_jobs(const std::vector<std::function<void()>>& jobs, uint32_t threads);

}  // namespace tcsim::tool
