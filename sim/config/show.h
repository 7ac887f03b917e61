// Text of `tcsim arch list | show NAME | diff A B`, and the Markdown reference of the machine file.
#pragma once
#include <string>

#include "sim/config/machine.h"

namespace tcsim::cfg {

struct ShowOptions {
  bool colour = false;  // ANSI colours
  std::string only;     // show only keys that begin with this ("smem", "timing.lds"); empty: all
};

/// One line a built-in machine: name, compute capability, SMs, clock, assumed values, description.
std::string list_machines();

/// Every value with unit, source and meaning, grouped by section; assumed values are marked with '?' and
/// counted.
std::string show_machine(const Machine& machine, const ShowOptions& options = {});

/// Only what differs, side by side; '-' where a machine has no such row.
std::string diff_machines(const Machine& a, const Machine& b, const ShowOptions& options = {});

/// Reference page: every key with unit, range and meaning.
std::string describe_fields();

}  // namespace tcsim::cfg
