// Addresses that the lanes of a warp give, from a file: one lane a line, a byte offset (0x140, 320) or row,column of an element.
#pragma once
#include <string>
#include <vector>

#include "isa/diag.h"
#include "tools/layout/coverage.h"

namespace tcsim::tool {

/// '#' begins a comment; empty lines are skipped; all lines are of one kind. kind: of the diagnostics. Errors say file, line and column.
std::vector<layout::RowStart> read_lane_addresses(const std::string& path, const std::string& kind, Diagnostics& diags);

}  // namespace tcsim::tool
