// Options of a generated GEMM that lift a limit, with the time that the study predicts for them.
#pragma once
#include <string>
#include <vector>

#include "tools/explain/study.h"
#include "workloads/gemm/gemm.h"

namespace tcsim::explain {

/// A generated GEMM; errors of the generator go to diags.
Subject subject_of(const gemm::Config& config, const cfg::Machine& machine, Diagnostics& diags);

/// A generated GEMM with other options.
struct Remedy {
  std::string option;  // "--swizzle xor"
  gemm::Config config;
  double predicted_cycles = 0;  // of the run without the limit; 0: no run predicts it
  bool whole = false;           // it lifts all of the limit and nothing else: the prediction is one; else it is a bound for that limit alone
  double simulated_cycles = 0;  // 0: not tried
  std::string failure{};        // why it does not run
};

/// Tiles of M x N stay on an SM, so that stages and stores of one overlap with the next.
bool persistent_style(const std::string& style);

/// Why no stage more would ask for anything earlier: all of K is under way, or the style takes no more; "" when one would.
std::string why_no_more_stages(const gemm::Config& gemm, const cfg::Machine& machine);

/// For a limit whose run takes so many cycles.
std::vector<Remedy> remedies_of(LimitId limit, double predicted_cycles, const gemm::Config& gemm, const Study& study, const cfg::Machine& machine);

/// For a grid that leaves SMs idle; nothing predicts their time.
std::vector<Remedy> more_ctas(const gemm::Config& gemm, const cfg::Machine& machine);

/// Times them, options.jobs side by side.
void try_remedies(const std::vector<Remedy*>& remedies, const cfg::Machine& machine, const StudyOptions& options);

}  // namespace tcsim::explain
