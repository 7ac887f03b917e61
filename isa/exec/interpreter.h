// The functional interpreter: runs a launch without time. CTAs run in waves, warps in turn; asynchronous copies take
// effect under one of three orders. A correct kernel gives the same bytes under all three.
#pragma once
#include <cstdint>
#include <functional>

#include "isa/diag.h"
#include "isa/exec/cta.h"

namespace tcsim::isa {

enum class AsyncOrder : uint8_t { eager, late, random };

struct InterpreterOptions {
  AsyncOrder order = AsyncOrder::eager;
  uint64_t seed = 1;
  uint32_t resident_ctas = 1;                                   // CTAs that run at the same time (for kernels whose CTAs wait for each other)
  const Program* program = nullptr;                             // of the kernel, run instead of PTX order (a lowered one must end in the same state)
  std::function<void(uint64_t done, uint64_t total)> progress;  // CTAs
};

struct InterpreterResult {
  uint64_t warp_instructions = 0, thread_instructions = 0;
  bool ok = false;
};

/// Faults, deadlocks and warnings (uninitialised-read, missing-wait) go to diags with file:line:col of the PTX.
InterpreterResult interpret(const Module& module, const Kernel& kernel, const LaunchInfo& launch, GlobalMemory& global,
                            const InterpreterOptions& options, Diagnostics& diags);

}  // namespace tcsim::isa
