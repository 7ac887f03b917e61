#include "tools/tcsim/sweep_row.h"

#include <algorithm>
#include <cstdlib>

#include "tools/tcsim/gemm_table.h"

namespace tcsim::tool {
namespace {

std::string line_of(const std::vector<std::string>& cells) {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string text = cells[i];
    // A line is a row, also for readers that go line by line.
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '"'; }, ' ');
    out += (i == 0 ? "" : ",") + quoted(text);
  }
  return out + "\n";
}

}  // namespace

const std::vector<std::string>& sweep_columns() {
  static const std::vector<std::string> columns = {
      // CUTLASS profiler, performance report
      "Problem", "Provider", "OperationKind", "Operation", "Disposition", "Status", "gemm_kind", "m", "n", "k", "A", "B", "C", "D", "alpha", "beta",
      "split_k_slices", "batch_count", "op_class", "accum", "cta_m", "cta_n", "cta_k", "cluster_m", "cluster_n", "cluster_k", "stages", "warps_m",
      "warps_n", "Bytes", "Flops", "Flops/Byte", "Runtime", "GB/s", "GFLOPs",
      // what else describes the point
      "arch", "set", "style", "tile", "cluster", "warps", "consumers", "swizzle", "dtype", "acc", "layout", "options", "kernel", "launch",
      // what came out
      "cycles", "time_us", "tflops", "share_of_peak", "peak", "bound_by", "binding_resource", "binding_share", "stalls", "ctas_per_sm", "occupancy",
      "occupancy_limiter", "registers", "shared_bytes", "shared_budget", "largest_stages", "bytes_in_flight", "warp_instructions", "measured_cycles",
      "reason", "wall_s"};
  return columns;
}

const std::vector<std::string>& sweep_key_columns() {
  static const std::vector<std::string> columns = {"m",     "n",         "k",       "arch",  "set", "style",  "tile",    "stages", "cluster",
                                                   "warps", "consumers", "swizzle", "dtype", "acc", "layout", "options", "kernel", "launch"};
  return columns;
}

const std::string& SweepRow::at(const std::string& column) const {
  static const std::string none;
  const auto found = cells_.find(column);
  return found == cells_.end() ? none : found->second;
}

double SweepRow::number(const std::string& column) const { return std::strtod(at(column).c_str(), nullptr); }

std::string SweepRow::key() const {
  std::string out;
  for (const std::string& column : sweep_key_columns()) out += at(column) + "\x1f";
  return out;
}

std::vector<std::string> SweepRow::texts() const {
  std::vector<std::string> out;
  for (const std::string& column : sweep_columns()) out.push_back(at(column));
  return out;
}

std::string sweep_csv_head() { return line_of(sweep_columns()); }
std::string sweep_csv_line(const SweepRow& row) { return line_of(row.texts()); }

}  // namespace tcsim::tool
