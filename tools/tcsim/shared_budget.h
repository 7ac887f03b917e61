// What the shared memory of a CTA consists of, buffer by buffer, and how many stages the machine has room for: the numbers behind
// "smem 428032 > 232448 B". Nothing here prints.
//
//   SharedBudget budget = gemm_budget(config, machine, diags);
//   fmt::print("{}", budget_text(budget));
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "isa/ptx/module.h"
#include "sim/config/machine.h"
#include "tools/launch/kernel_file.h"
#include "workloads/gemm/gemm.h"

namespace tcsim::tool {

struct SharedBudget {
  std::string kernel, arch;
  std::vector<gemm::SharedUse> uses;  // the dynamic part, then .shared variables by name, then what alignment leaves empty
  uint32_t bytes = 0;                 // of a CTA, static and dynamic
  uint32_t limit_bytes = 0;           // of a CTA on the machine
  uint32_t stages = 0;                // 0: not known
  uint32_t stage_bytes = 0;           // what one more stage takes
  uint32_t largest_stages = 0;        // that fit; 0: not even one
  std::string estimate{};             // what the stages rest on when nobody says what the buffers are; "": they are exact

  bool fits() const { return bytes <= limit_bytes; }
};

/// A generated GEMM. Errors: what the generator refuses.
SharedBudget gemm_budget(const gemm::Config& config, const cfg::Machine& machine, Diagnostics& diags);

/// Any kernel: its .shared variables and the dynamic part as a whole; with Triton's metadata an estimate of its stages.
SharedBudget kernel_budget(const isa::Module& module, const isa::Kernel& kernel, uint32_t dynamic_bytes, const launch::TritonMetadata* triton,
                           const cfg::Machine& machine);

/// A table, with the largest number of stages that fits.
std::string budget_text(const SharedBudget& budget);
/// "A 3 stages x 8192 B, B 3 stages x 8192 B, full_bar 24 B".
std::string budget_line(const SharedBudget& budget);
nlohmann::ordered_json budget_json(const SharedBudget& budget);

}  // namespace tcsim::tool
