// Measurement tables: a folder with a .csv (one row a launch), kernels.json (what each case is), ptx/ and
// launch.toml.in. validation/data/triton_gemm/README.md describes the format.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/diag.h"

namespace tcsim::compare {

/// One measured launch.
struct Measurement {
  std::string kernel;  // the case: a key of kernels.json
  int64_t m = 0, n = 0, k = 0;
  double cycles = 0;
  uint32_t registers = 0;                 // as ptxas allocated them
  std::map<std::string, double> columns;  // every numeric column
  Place place;                            // of the row

  std::string size() const;  // "512x512x512"
};

struct DataSet {
  std::string name, folder;
  std::vector<Measurement> rows;
  std::map<std::string, std::map<std::string, std::string>> kernels;  // case -> facts: entry, threads, tile_m, ...
  std::string launch_template;

  std::string ptx_path(const Measurement& row) const;
  /// The launch file of a row: launch.toml.in with every @NAME@ replaced. Unknown names are errors.
  std::optional<std::string> launch_text(const Measurement& row, Diagnostics& diags) const;
};

/// All data sets in a folder: the folder itself, or its sub-folders that hold a kernels.json. Errors have
/// kind "syntax".
std::vector<DataSet> load_data(const std::string& folder, Diagnostics& diags);

/// A CSV table with a header. Quoted fields are understood. Rows of another width are errors.
struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<uint32_t> lines;  // of each row in the file
};
CsvTable parse_csv(const std::string& path, std::string_view text, Diagnostics& diags);

}  // namespace tcsim::compare
