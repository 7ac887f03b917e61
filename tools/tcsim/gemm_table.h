// The comparison table of `tcsim gemm` over machines: text for people, JSON and CSV for scripts.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/tcsim/gemm_best.h"

namespace tcsim::tool {

/// The resource with the largest share of its peak, and that share; and as text: "L2 bandwidth 83 %", "latency (L2 bandwidth 41 %)".
std::pair<std::string, double> binding(const GemmTiming& timing);
std::string binding_text(const GemmTiming& timing);

struct Stall {
  std::string_view name;
  double share;  // of the warps' cycles
};
/// Reasons why warps wait, the largest first; issuing is none.
std::vector<Stall> waits(const GemmTiming& timing);

/// "21,655".
std::string grouped(double value);
/// Columns of even width; the first line is the head. number(column): to the right.
std::string aligned(const std::vector<std::vector<std::string>>& lines, const std::function<bool(size_t)>& number);
/// A cell of a CSV file, quoted where it needs to be.
std::string quoted(const std::string& text);

std::string table_text(const std::vector<GemmRow>& rows);
std::string table_json(const std::vector<GemmRow>& rows, const std::vector<std::string>& command);
std::string table_csv(const std::vector<GemmRow>& rows);

/// The textbook estimate beside the simulated cycles (0: not simulated), a few lines.
std::string estimate_text(const analytic::Estimate& estimate, double simulated_cycles);

}  // namespace tcsim::tool
