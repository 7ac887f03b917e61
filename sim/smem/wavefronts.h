// Shared-memory wavefronts of one warp instruction, from its addresses alone.
//
// A wavefront is one pass of the 32 banks. 32-bit accesses are served for all 32 lanes together, 64-bit ones for 16 lanes
// at a time, 128-bit ones for 8 (a group); ldmatrix and stmatrix serve 8 row addresses of 16 bytes at a time. Lanes of a
// group that touch the same bank in different words need one wavefront each; lanes that touch the same word share it
// (multicast; for stores one lane wins). In loads, two neighbouring groups become one when every lane reads the address of
// lane ^ 1, or every lane that of lane ^ 2. Source: validation/data/h200/README.md, conflicts/ (24 kernels, 128 sharing cases).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/exec/context.h"

namespace tcsim::sim {

struct Banks {
  uint32_t count = 32, bytes = 4;
};

struct Wavefronts {
  uint32_t total = 0, ideal = 0;  // conflicts = total - ideal
  uint32_t conflicts() const { return total - ideal; }
};

/// access.space must be shared. Number of wavefronts of the instruction as the LSU data pipe serves it.
/// extra, by bank (or empty): for each group, the words that its lanes need from the bank beyond the first are added.
Wavefronts count_wavefronts(const isa::Access& access, Banks banks, std::span<uint32_t> extra = {});

/// For people: which lanes meet in which bank, for the worst group, e.g. "lanes 0, 4, 8, ... (8) meet in bank 0".
std::string describe_conflict(const isa::Access& access, Banks banks);

/// The conflicts of an instruction in a run.
struct InstructionConflicts {
  std::string lanes;            // of its first execution that conflicts
  std::vector<uint64_t> extra;  // by bank, as count_wavefronts adds them up, of all executions
};

}  // namespace tcsim::sim
