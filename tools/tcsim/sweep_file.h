// The CSV of a sweep while it runs: each row is written when its point is done, as one whole line, so that an interrupted sweep leaves
// every finished point, and --append goes on from there.
#pragma once
#include <map>
#include <string>

#include "isa/diag.h"
#include "tools/tcsim/sweep_row.h"

namespace tcsim::tool {

class SweepFile {
 public:
  SweepFile() = default;
  ~SweepFile();
  SweepFile(const SweepFile&) = delete;
  SweepFile& operator=(const SweepFile&) = delete;

  /// append: keeps the finished points of the file (a last line without end is what an interruption left: it is removed); else the file
  /// is begun anew. Errors, with the line: a file that is no CSV of a sweep.
  bool open(const std::string& path, bool append, Diagnostics& diags);
  /// Finished points by key.
  const std::map<std::string, SweepRow>& finished() const { return finished_; }
  /// False when the line could not be written.
  bool add(const SweepRow& row);

 private:
  bool read(const std::string& path, Diagnostics& diags);
  bool write(const std::string& line);

  int file_ = -1;
  std::map<std::string, SweepRow> finished_;
};

}  // namespace tcsim::tool
