// Instruction counters that follow from how often each operation ran: by pipe and by kind.
#pragma once
#include <vector>

#include "sim/lower/lower.h"
#include "sim/sm/run.h"

namespace tcsim::sim {

/// Adds to the pipe_*, op_* and inst_issued counters of an SM.
void count_operations(const LoweredProgram& program, const std::vector<OpStats>& ops, CounterBlock& counters);

}  // namespace tcsim::sim
