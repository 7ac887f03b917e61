// What to do about a limit: a sentence, and for generated GEMMs the options that lift it, with the time that the study predicts.
#pragma once
#include <string>
#include <vector>

#include "tools/explain/remedies.h"

namespace tcsim::explain {

struct Advice {
  const Limit* limit = nullptr;  // nullptr: not a limit of the machine but the launch
  std::string name, text;
  std::vector<Remedy> remedies{};
};

/// For each limit that is worth lifting, in the order of the study, then what no limit shows: too few CTAs for the SMs. gemm: nullptr for
/// other kernels.
std::vector<Advice> advise(const Study& study, const gemm::Config* gemm, const cfg::Machine& machine);

/// Times the remedies, options.jobs of them side by side.
void try_advice(std::vector<Advice>& advice, const cfg::Machine& machine, const StudyOptions& options);

/// The remedy whose simulated time is least, be it more than the kernel's own; nullptr: none was simulated.
const Remedy* best_tried(const std::vector<Advice>& advice);

/// Remarks on the launch: what launch and drain take, a last wave that leaves SMs idle.
std::vector<std::string> remarks(const Study& study, const cfg::Machine& machine);

}  // namespace tcsim::explain
