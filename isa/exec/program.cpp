#include "isa/exec/program.h"

#include <algorithm>

#include "isa/check.h"
#include "isa/exec/context.h"
#include "isa/exec/value_slice.h"
#include "isa/exec/wgmma_registers.h"

namespace tcsim::isa {
namespace {

/// Falling off the end of a kernel ends the lanes.
void run_end(ExecContext& ctx, const Inst&, uint32_t) { ctx.fx.control = Control::exit; }

bool uses_async_proxy(const Kernel& kernel) {
  return std::any_of(kernel.insts.begin(), kernel.insts.end(), [](const Inst& inst) {
    switch (inst.op) {
      case Op::cp_async_bulk:
      case Op::cp_async_bulk_tensor:
      case Op::cp_reduce_async_bulk:
      case Op::cp_reduce_async_bulk_tensor:
      case Op::wgmma_mma:
      case Op::wgmma_mma_sp:
      case Op::tcgen05_mma:
      case Op::tcgen05_cp: return true;
      default: return false;
    }
  });
}

bool uses_tensor_memory(const Kernel& kernel) {
  return std::any_of(kernel.insts.begin(), kernel.insts.end(),
                     [](const Inst& inst) { return inst.op >= Op::tcgen05_alloc && inst.op <= Op::tcgen05_fence; });
}

}  // namespace

void finish_program(Program& program) {
  const Kernel& kernel = *program.kernel;
  program.slice = std::make_shared<const ValueSlice>(value_slice(kernel));
  program.wgmma_registers = WgmmaRegisters::of(kernel);
  program.async_proxy = uses_async_proxy(kernel);
  program.tensor_memory = uses_tensor_memory(kernel);
  program.entries.clear();
  program.timing_entries.clear();
  program.entry_first.assign(1, 0);
  program.timing_first.assign(1, 0);
  for (uint32_t s = 0; s < program.step_count(); ++s) {
    for (uint32_t k = program.first[s]; k < program.first[s + 1]; ++k) {
      const uint32_t i = program.order[k];
      const Inst& inst = kernel.insts[i];
      TC_CHECK(inst.exec, "no semantics for '{}'", inst.text);
      ProgramEntry entry{inst.exec, &inst, i, inst.guard, inst.guard_negated, TimingRun::run};
      if (program.wgmma_registers && program.wgmma_registers->watches(i)) entry.exec = &WgmmaRegisters::run_watched;
      program.entries.push_back(entry);
      entry.timing_run = program.slice->run[i];
      if (entry.timing_run != TimingRun::skip) program.timing_entries.push_back(entry);
    }
    program.entry_first.push_back(static_cast<uint32_t>(program.entries.size()));
    program.timing_first.push_back(static_cast<uint32_t>(program.timing_entries.size()));
  }
  TC_CHECK(!kernel.insts.empty(), "kernel {} has no instructions", kernel.name);
  const ProgramEntry end{&run_end, &kernel.insts.back(), static_cast<uint32_t>(kernel.insts.size()) - 1, -1, false, TimingRun::run};
  program.entries.push_back(end);
  program.timing_entries.push_back(end);
  program.entry_first.push_back(static_cast<uint32_t>(program.entries.size()));
  program.timing_first.push_back(static_cast<uint32_t>(program.timing_entries.size()));
}

Program identity_program(const Kernel& kernel) {
  Program program;
  program.kernel = &kernel;
  const auto count = static_cast<uint32_t>(kernel.insts.size());
  for (uint32_t i = 0; i < count; ++i) {
    program.order.push_back(i);
    program.first.push_back(i);
  }
  program.first.push_back(count);
  for (const BasicBlock& block : kernel.blocks) program.step_of_block.push_back(block.first);
  finish_program(program);
  return program;
}

}  // namespace tcsim::isa
