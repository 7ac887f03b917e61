// The comparison table of `tcsim gemm` over machines: text for people, JSON and CSV for scripts.
#pragma once
#include <string>
#include <vector>

#include "tools/tcsim/gemm_best.h"

namespace tcsim::tool {

std::string table_text(const std::vector<GemmRow>& rows);
std::string table_json(const std::vector<GemmRow>& rows, const std::vector<std::string>& command);
std::string table_csv(const std::vector<GemmRow>& rows);

/// The textbook estimate beside the simulated cycles (0: not simulated), a few lines.
std::string estimate_text(const analytic::Estimate& estimate, double simulated_cycles);

}  // namespace tcsim::tool
