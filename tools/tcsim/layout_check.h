// tcsim layout ... --loaded-by, --stored-by, --assume: does a program's own idea of a fragment agree with the instruction's?
#pragma once
#include <string>
#include <vector>

#include "isa/diag.h"
#include "tools/layout/layout_table.h"

namespace CLI {
class App;
}

namespace tcsim::tool {

struct LayoutCheck {
  std::string move, stored_by, addresses, lane_row, lane_col, lane_byte, order, tiles;
  std::string assume, assume_row, assume_col;
  std::vector<int> into;
  int row_bytes = 0, offset = 0, loads = 0;
  bool wanted() const { return !move.empty() || !stored_by.empty() || !assume.empty() || !assume_row.empty() || !assume_col.empty(); }
};

void add_check_options(CLI::App& app, LayoutCheck& c);
/// What options exclude each other or lack; empty: nothing.
std::string check_usage(const LayoutCheck& c);
/// The answer as text or JSON. An error in diags: bad input, or the answer is no. swizzle: "" for none; warp: -1 for the first.
std::string answer_check(const LayoutCheck& c, const layout::Table& fragment, const std::string& swizzle, int warp, bool json, Diagnostics& diags);

}  // namespace tcsim::tool
