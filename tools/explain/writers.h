// A study for people and for scripts.
#pragma once
#include <string>
#include <vector>

#include "tools/explain/advice.h"

namespace tcsim::explain {

/// All that the command tells. cycles are sm__cycles_elapsed.max, launch and drain included.
struct Explanation {
  std::string arch;
  std::vector<std::string> command;
  Study study;
  std::vector<Advice> advice;
  std::vector<std::string> remarks;
};

std::string write_text(const Explanation& explanation);
/// {"tcsim": .., "arch": .., "kernel": .., "cycles": .., "limits": [{"name", "cycles", "gain", "meaning", ..}], "pairs": [..], "advice": [..]}
std::string write_json(const Explanation& explanation);

}  // namespace tcsim::explain
