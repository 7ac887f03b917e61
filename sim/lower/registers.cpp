#include "sim/lower/registers.h"

#include <algorithm>

namespace tcsim::sim::lowering {

namespace {

// Beside the values: the stack pointer and a register or two that alignment of pairs and quads leaves empty.
constexpr int32_t kReserved = 2;

// ptxas places the accumulators of wgmma from R24 on, whatever else the kernel needs (its output for all wgmma kernels in
// the Triton set: 24 + the accumulators + kReserved where nothing else exceeds it).
constexpr int32_t kFirstAccumulator = 24;

uint32_t round_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

uint32_t limit(const Function& fn) {
  const cfg::SmLimits& limits = fn.machine.limits;
  uint32_t threads = 1, most = 1;
  for (uint32_t n : fn.kernel.reqntid) threads *= std::max(1u, n);
  for (uint32_t n : fn.kernel.maxntid) most *= std::max(1u, n);
  threads = std::max(threads, most);
  uint32_t most_registers = limits.max_registers_per_thread;
  const uint32_t ctas = std::max(1u, fn.kernel.minnctapersm);
  if (threads > 1 || ctas > 1) {
    const uint32_t unit = std::max(1u, limits.register_unit / 32);
    const uint32_t share = limits.registers / (round_up(threads, 32) * ctas) / unit * unit;
    most_registers = std::min(most_registers, std::max(share, unit));
  }
  if (fn.kernel.maxnreg != 0) most_registers = std::min(most_registers, fn.kernel.maxnreg);
  return most_registers;
}

/// The most registers that setmaxnreg gives a warp; 0: the kernel has none.
uint32_t raised_to(const Function& fn) {
  uint32_t most = 0;
  for (const Inst& inst : fn.kernel.insts)
    if (inst.op == Op::setmaxnreg && inst.group_count > 0 && inst.operand(0).kind == Operand::Kind::constant)
      most = std::max(most, static_cast<uint32_t>(inst.operand(0).value));
  return most;
}

}  // namespace

int32_t register_budget(const Function& fn, const LowerOptions& options) {
  const uint32_t raised = raised_to(fn);
  const uint32_t most = raised != 0 ? raised : options.registers != 0 ? options.registers : limit(fn);
  return std::max<int32_t>(8, static_cast<int32_t>(most) - kReserved);
}

// ptxas saves registers while half of the SM's warps can be resident (three or four loads in flight in kernels of 24 to 40 registers); with
// more it lets all loads start. What is counted here lies up to an eighth above what it needs for the same order (recomputed addresses,
// shared halves of pairs).
int32_t load_limit(const Function& fn, int32_t budget) {
  const cfg::SmLimits& limits = fn.machine.limits;
  const auto half = static_cast<int32_t>(limits.registers / (limits.max_warps * 32 / 2));
  const int32_t limit = register_budget(fn, {});
  return budget > half ? limit + limit / 8 : 0;
}

void set_registers(const Function& fn, const LowerOptions& options, int32_t peak, LoweredProgram& program) {
  if (fn.accumulators > 0) peak = std::max(peak, kFirstAccumulator + fn.accumulators);
  const uint32_t estimate = std::min<uint32_t>(static_cast<uint32_t>(peak + kReserved), fn.machine.limits.max_registers_per_thread);
  program.registers_estimated = std::max(estimate, 8u);
  uint32_t used = options.registers != 0 ? options.registers : program.registers_estimated;
  if (options.registers == 0 && fn.kernel.maxnreg != 0) used = std::min(used, fn.kernel.maxnreg);
  // With setmaxnreg the launch takes all that it may: what warps give back others can take.
  if (options.registers == 0 && raised_to(fn) != 0) used = limit(fn);
  program.registers = round_up(used, std::max(1u, fn.machine.limits.register_unit / 32));
}

}  // namespace tcsim::sim::lowering
