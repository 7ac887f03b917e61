// What to do about a limit: a sentence, and for generated GEMMs the options that lift it, with the time that the study predicts.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/explain/study.h"
#include "workloads/gemm/gemm.h"

namespace tcsim::explain {

/// A generated GEMM; errors of the generator go to diags.
Subject subject_of(const gemm::Config& config, const cfg::Machine& machine, Diagnostics& diags);

/// A generated GEMM with other options.
struct Remedy {
  std::string option;          // "--swizzle xor"
  gemm::Config config;
  double predicted_cycles = 0; // of the run without the limit
  bool whole = false;          // it lifts all of the limit: the prediction is one; else it is a bound ("at best")
  double simulated_cycles = 0; // 0: not tried
  std::string failure{};       // why it does not run
};

struct Advice {
  const Limit* limit = nullptr;
  std::string text;
  std::vector<Remedy> remedies{};
};

/// For each limit that is worth lifting, in the order of the study. gemm: nullptr for other kernels.
std::vector<Advice> advise(const Study& study, const gemm::Config* gemm, const cfg::Machine& machine);

/// Times the remedies, options.jobs of them side by side.
void try_remedies(std::vector<Advice>& advice, const cfg::Machine& machine, const StudyOptions& options);

/// Remarks on the launch that no limit shows: too few CTAs, a last wave that leaves SMs idle.
std::vector<std::string> remarks(const Study& study, const cfg::Machine& machine);

}  // namespace tcsim::explain
