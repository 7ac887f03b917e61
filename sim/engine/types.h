// Time and identity in the timing model.
#pragma once
#include <cstdint>

namespace tcsim::sim {

/// SM clock cycles since the launch.
using Cycle = uint64_t;
constexpr Cycle kNever = ~Cycle{0};

}  // namespace tcsim::sim
