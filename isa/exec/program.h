// What a warp walks: steps, each of one or more instructions of a kernel that issue together.
// The interpreter walks the identity program (one step an instruction, in PTX order); the timing model walks a lowered
// one (fused and scheduled inside each basic block). Both run the same semantics, so they must end in the same state.
//
//   program.order = ...; program.first = ...; program.step_of_block = ...;
//   isa::finish_program(program);      // prepares what Warp::step() reads; needed once, before any warp starts
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "isa/ptx/module.h"

namespace tcsim::isa {

/// How an instruction runs when matrix results are not computed (timing mode). See value_slice.h.
enum class TimingRun : uint8_t {
  run,        // as always
  skip,       // nobody needs its result: not run
  addresses,  // memory instruction whose data nobody needs: addresses and faults only
  checked     // some source may be unknown: look at the tags first
};

/// An instruction as the warp's loop reads it.
struct ProgramEntry {
  ExecFn exec = nullptr;
  const Inst* inst = nullptr;
  uint32_t index = 0;  // in kernel.insts
  int16_t guard = -1;
  bool guard_negated = false;
  TimingRun timing_run = TimingRun::run;
};

struct ValueSlice;
class WgmmaRegisters;

struct Program {
  const Kernel* kernel = nullptr;
  std::vector<uint32_t> order;          // instruction indices in execution order
  std::vector<uint32_t> first;          // step s runs order[first[s] .. first[s + 1])
  std::vector<uint32_t> step_of_block;  // first step of each basic block
  uint32_t step_count() const { return static_cast<uint32_t>(first.size()) - 1; }
  /// Step at which an instruction index that starts a basic block begins (branch targets, reconvergence points).
  uint32_t step_of_leader(uint32_t inst) const { return step_of_block[kernel->block_of[inst]]; }

  // Filled by finish_program. The timing entries leave out what timing mode skips.
  std::vector<ProgramEntry> entries, timing_entries;
  std::vector<uint32_t> entry_first, timing_first;
  std::shared_ptr<const ValueSlice> slice;
  std::shared_ptr<const WgmmaRegisters> wgmma_registers;  // nullptr: the kernel has no wgmma
  bool async_proxy = false;                               // the kernel has instructions of the asynchronous proxy: bulk copies, wgmma, tcgen05
  bool tensor_memory = false;                             // the kernel has tcgen05 instructions
};

/// Derives entries and the value slice from kernel, order and first.
void finish_program(Program& program);

/// One step an instruction, in PTX order. Finished.
Program identity_program(const Kernel& kernel);

}  // namespace tcsim::isa
