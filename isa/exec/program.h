// What a warp walks: steps, each of one or more instructions of a kernel that issue together.
// The interpreter walks the identity program (one step an instruction, in PTX order); the timing model walks a lowered
// one (fused and scheduled inside each basic block). Both run the same semantics, so they must end in the same state.
#pragma once
#include <cstdint>
#include <vector>

#include "isa/ptx/module.h"

namespace tcsim::isa {

struct Program {
  const Kernel* kernel = nullptr;
  std::vector<uint32_t> order;          // instruction indices in execution order
  std::vector<uint32_t> first;          // step s runs order[first[s] .. first[s + 1])
  std::vector<uint32_t> step_of_block;  // first step of each basic block
  uint32_t step_count() const { return static_cast<uint32_t>(first.size()) - 1; }
  /// Step at which an instruction index that starts a basic block begins (branch targets, reconvergence points).
  uint32_t step_of_leader(uint32_t inst) const { return step_of_block[kernel->block_of[inst]]; }
};

/// One step an instruction, in PTX order.
Program identity_program(const Kernel& kernel);

}  // namespace tcsim::isa
