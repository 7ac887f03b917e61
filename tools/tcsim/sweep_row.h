// A point of a sweep as the CSV has it: one text a column. The first columns are those of the CUTLASS profiler (Runtime in ms, GB/s in
// 2^30 bytes, as there); what describes the point identifies it, so that a sweep goes on where it was interrupted.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace tcsim::tool {

const std::vector<std::string>& sweep_columns();
/// The columns that identify a point.
const std::vector<std::string>& sweep_key_columns();

class SweepRow {
 public:
  std::string& operator[](const std::string& column) { return cells_[column]; }
  /// "" when the point has none.
  const std::string& at(const std::string& column) const;
  double number(const std::string& column) const;  // 0 when it is none
  std::string key() const;
  bool ran() const { return number("cycles") > 0; }
  std::vector<std::string> texts() const;  // in the order of sweep_columns()

 private:
  std::map<std::string, std::string> cells_;
};

/// Whole lines, with their end.
std::string sweep_csv_head();
std::string sweep_csv_line(const SweepRow& row);

}  // namespace tcsim::tool
