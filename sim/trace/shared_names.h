// What a place in a kernel's shared memory is called, for people: "full_bar[2]", "smem+98304".
#pragma once
#include <cstdint>
#include <string>

#include "isa/ptx/module.h"

namespace tcsim::sim {

struct SharedPlace {
  std::string symbol;     // "shared" when no variable lies there
  uint64_t offset = 0;    // in it, bytes
  bool is_array = false;  // of 64-bit words, as mbarriers are: then `index` counts them
  uint64_t index = 0;
  std::string str() const;
};

SharedPlace shared_place(const isa::Module& module, const isa::Kernel& kernel, uint32_t offset);

}  // namespace tcsim::sim
