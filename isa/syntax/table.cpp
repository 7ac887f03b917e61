#include "isa/syntax/matcher.h"

namespace tcsim::isa {

const std::vector<const InstDef*>& instruction_table() {
  static const std::vector<const InstDef*> table = [] {
    std::vector<const InstDef*> all;
    for (const auto chapter :
         {integer_instructions(), float_instructions(), compare_instructions(), logic_instructions(), move_instructions(), convert_instructions(),
          memory_instructions(), async_instructions(), bulk_instructions(), barrier_instructions(), mbarrier_instructions(), cluster_instructions(),
          control_instructions(), matrix_instructions(), tcgen05_instructions()})
      for (const InstDef& def : chapter) all.push_back(&def);
    return all;
  }();
  return table;
}

const Matcher& default_matcher() {
  static const Matcher matcher(instruction_table());
  return matcher;
}

}  // namespace tcsim::isa
