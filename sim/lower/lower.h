// Lowering for timing: PTX is not what the hardware issues. A lowered program has one MachineOp a step; each step runs
// zero or more PTX instructions (their semantics unchanged), inside a basic block in the order that a compiler's list
// scheduler would choose for the machine.
//
//   LoweredProgram program = lower(module, kernel, machine, {.registers = 229});
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/exec/program.h"
#include "sim/config/machine.h"

namespace tcsim::sim {

/// Timing registers: dense numbers of the values that operations wait for. Copies that cost nothing are resolved to their
/// source; a loop-carried copy that remains is done on the scoreboard entry (Copy) when the step issues.
using Token = uint16_t;

struct TokenCopy {
  Token to, from;
};

struct MachineOp {
  isa::TimingClass timing = isa::TimingClass::nop;
  uint8_t mma_steps = 1;  // Volta: so many operations, this one among them, share the row's interval
  uint16_t mma_row = 0;   // index into LoweredProgram::mma_rows when timing == mma
  uint8_t sources = 0, results = 0;
  uint8_t read_cycles = 0;  // extra operand-read cycles from register-bank conflicts
  bool ends_block = false;  // branch, exit
  uint32_t tokens = 0;      // sources, then results, from LoweredProgram::tokens[tokens]
  uint32_t copies = 0, copy_count = 0;
  uint32_t inst = 0;  // PTX instruction that the operation is charged to
};

/// program.order/first: the PTX instructions of each step (may be empty: the 2nd..nth operation of an expansion).
struct LoweredProgram : isa::Program {
  std::vector<MachineOp> ops;  // one a step
  std::vector<Token> tokens;
  std::vector<TokenCopy> copies;
  std::vector<const cfg::MmaTiming*> mma_rows;
  bool wgmma_serialised = false;  // each wgmma waits for its own result (sim/lower/wgmma_pipeline.cpp)
  uint32_t token_count = 0;
  uint32_t registers = 0;            // per thread, as allocated (rounded as the machine does)
  uint32_t registers_estimated = 0;  // liveness estimate, whatever --regs says
  uint32_t registers_over = 0;       // registers that the best order found needs beyond the limit (a compiler would spill these)

  std::span<const Token> sources(const MachineOp& op) const { return {tokens.data() + op.tokens, op.sources}; }
  std::span<const Token> results(const MachineOp& op) const { return {tokens.data() + op.tokens + op.sources, op.results}; }
};

struct LowerOptions {
  uint32_t registers = 0;  // --regs; 0: .maxnreg, else the estimate
  bool schedule = true;    // false: PTX order (for tests and comparison)
};

/// Errors (a matrix instruction that the machine file has no row for) go to diags as unsupported-instruction.
LoweredProgram lower(const isa::Module& module, const isa::Kernel& kernel, const cfg::Machine& machine, const LowerOptions& options,
                     Diagnostics& diags);

/// The lowered program, one operation a line: step, class, tokens, and the PTX that runs in the step.
std::string print_listing(const isa::Module& module, const LoweredProgram& program);

}  // namespace tcsim::sim
