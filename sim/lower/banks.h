// Register banks: which bank each value lies in, and the extra cycles that an operation needs to read its operands.
//
// ptxas numbers registers so that operands of one operation fall into different banks where it can, and keeps operands in
// the reuse cache between neighbours. Both are imitated: members of a vector keep their place in it, every other register
// takes the bank that the operation which reads it first has least in use.
#pragma once
#include "sim/lower/ir.h"

namespace tcsim::sim::lowering {

class Banks {
 public:
  explicit Banks(const Function& fn);
  void start_block();
  /// Extra cycles of the operation, called in issue order.
  uint32_t read_cycles(const MOp& op);

 private:
  int8_t& bank(ValueId id);
  const Function& fn_;
  std::vector<int8_t> of_register_, of_temporary_;
  std::vector<ValueId> held_;  // operands in the reuse cache
};

}  // namespace tcsim::sim::lowering
