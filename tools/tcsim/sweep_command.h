// What `tcsim sweep` was asked for, and the points of it.
#pragma once
#include <string>
#include <vector>

#include "tools/tcsim/gemm_command.h"
#include "tools/tcsim/sweep_run.h"

namespace tcsim::tool {

/// Lists as given; "" where not.
struct SweepCommand {
  GemmCommand gemm;  // what a GEMM takes beside the lists
  std::string folder, arch = "h200", m, n, k, dtype, style, tile, stages, cluster, swizzle, warps, consumers;
  std::vector<std::string> set;
  std::string csv, html;
  uint32_t jobs = 1, top = 10;
  bool append = false, quiet = false;
};

/// A sweep at most: more is a mistake in a range.
constexpr size_t kMostPoints = 100'000;

/// Every combination, in the order of the options. kUsage after a message for what cannot be read, kBadInput with diags for machines and
/// folders.
int sweep_points(const SweepCommand& command, std::vector<SweepPoint>& out, Diagnostics& diags);

/// For the winner of each machine and problem among the rows of these points, the point that its style takes when nothing is given.
std::vector<SweepPoint> default_points(const SweepCommand& command, const std::vector<SweepPoint>& points, const std::vector<SweepRow>& rows);

}  // namespace tcsim::tool
