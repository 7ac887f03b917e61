// Timing mode does not compute matrix results. This analysis of a kernel finds, once and without running it:
//   needed       values that decide control flow, addresses, masks or barriers. Nothing else must be computed.
//   may_unknown  values that may come from a matrix instruction or from memory that holds such values (or was never
//                written). A needed value that may be unknown is checked when it is used.
// Everything else is not run at all: no ldmatrix bytes move, no epilogue arithmetic is done.
#pragma once
#include <cstdint>
#include <vector>

#include "isa/exec/program.h"

namespace tcsim::isa {

/// What an instruction reads and writes, as operands and memory.
struct InstUses {
  std::vector<const Operand*> defs;      // registers and predicates written
  std::vector<const Operand*> data;      // sources that only flow into the results or to memory
  std::vector<const Operand*> critical;  // sources that must be known: address bases, member masks, barrier ids, ...
  bool reads_carry = false, writes_carry = false;
  bool loads = false, stores = false;          // data of memory (mbarrier words and parameters are not data)
  Space from = Space::none, to = Space::none;  // where; generic: any
};

InstUses uses_of(const Inst& inst);

/// Tags: slot s of a register is s, predicate p is slot_count + p, the carry is slot_count + pred_count.
struct ValueSlice {
  struct Checks {  // of a checked instruction
    std::vector<uint32_t> data, critical, defs;
    bool idle = false;  // memory instruction whose data nobody needs
  };
  std::vector<TimingRun> run;  // per instruction
  std::vector<Checks> checks;  // per instruction; empty for the others
  uint32_t tag_count = 0;
  bool global_needed = true;
  bool shared_needed = false;  // some needed value is loaded from shared memory: copies must move bytes
};

ValueSlice value_slice(const Kernel& kernel);

}  // namespace tcsim::isa
