// The launch file's [check]: compares the result in memory with the host's GEMM or with a file.
#pragma once
#include <optional>

#include "tools/launch/prepare.h"
#include "workloads/common/gemm_reference.h"

namespace tcsim::launch {

struct CheckOutcome {
  bool passed = true;
  uint64_t elements = 0, failures = 0;
  double max_abs = 0, rel_l2 = 0, max_ulp = 0;
  std::string text;  // one line for people: the first failing element, or the errors
};

/// Runs after the launches. Wrong results become diagnostics of kind check-failed; a check that cannot be
/// made (extents, files) one of kind launch-mismatch. nullopt when the file has no [check].
std::optional<CheckOutcome> run_check(const LaunchFile& file, uint64_t seed, Workspace& work, Diagnostics& diags);

/// The same GEMM check under another tolerance, for tests.
std::optional<wl::Comparison> compare(const LaunchFile& file, uint64_t seed, Workspace& work, const wl::Tolerance& tolerance, Diagnostics& diags);

/// The check's problems that can be found before anything runs: extents that disagree. Kind launch-mismatch.
void validate_check(const LaunchFile& file, Diagnostics& diags);

}  // namespace tcsim::launch
