// The lane tests of setp and set: which lanes satisfy a comparison, chosen once when the instruction is bound.
#pragma once
#include <string_view>

#include "isa/insn/common.h"

namespace tcsim::isa::compare {

/// Lanes for which "a CmpOp b" holds (all 32 lanes are evaluated).
using TestFn = uint32_t (*)(ExecContext&, const Inst&);

/// Tests of one comparison: `low` also serves scalars; `high` is the upper half of a packed pair.
struct Tests {
  TestFn low = nullptr, high = nullptr;
};

/// The tests of a comparison for a source type, in static storage. nullptr: the manual has no such comparison for it.
const Tests* find_tests(std::string_view cmp, Type type, bool ftz);

}  // namespace tcsim::isa::compare
