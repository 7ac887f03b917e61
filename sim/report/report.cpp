#include "sim/report/report.h"

#include <numeric>

namespace tcsim::sim {

uint64_t ReportInstruction::cycles() const {
  return std::accumulate(stalls.begin(), stalls.end(), uint64_t{0});
}

uint64_t ReportInstruction::waiting_cycles() const {
  return cycles() - stalls[static_cast<size_t>(StallReason::selected)] -
         stalls[static_cast<size_t>(StallReason::not_selected)];
}

double Report::metric(const std::string& name) const {
  const auto it = metrics.find(name);
  return it == metrics.end() ? 0 : it->second;
}

} // namespace tcsim::sim
