// Semantics of the tcgen05 instructions but mma: what tcgen05.cpp binds.
#pragma once
#include <string>

#include "isa/insn/tcgen05.h"

namespace tcsim::isa {

/// What tcgen05.alloc and dealloc take: a power of two from 32 to 512.
constexpr bool tensor_columns_valid(uint32_t n) { return n >= TensorMemory::kUnit && n <= TensorMemory::kColumns && (n & (n - 1)) == 0; }

// tcgen05_memory.cpp; flags: cta_group (wait: ::st; fence: ::after_thread_sync). ld, st: aux is the group of the registers.
void run_tcgen05_alloc(ExecContext& ctx, const Inst& inst, uint32_t mask);
void run_tcgen05_dealloc(ExecContext& ctx, const Inst& inst, uint32_t mask);
void run_tcgen05_relinquish(ExecContext& ctx, const Inst& inst, uint32_t mask);
void run_tcgen05_ld(ExecContext& ctx, const Inst& inst, uint32_t mask);
void run_tcgen05_st(ExecContext& ctx, const Inst& inst, uint32_t mask);
void run_tcgen05_wait(ExecContext& ctx, const Inst& inst, uint32_t mask);
void run_tcgen05_fence(ExecContext& ctx, const Inst& inst, uint32_t mask);

// tcgen05_async.cpp; flags: cta_group; commit: aux 1: with a CTA mask.
void run_tcgen05_cp(ExecContext& ctx, const Inst& inst, uint32_t mask);
void run_tcgen05_shift(ExecContext& ctx, const Inst& inst, uint32_t mask);
void run_tcgen05_commit(ExecContext& ctx, const Inst& inst, uint32_t mask);

/// Inst::plan of tcgen05.cp.
struct TensorCopy : Tcgen05Ops {
  TensorCopyLayout layout;
  TensorDecompress format = TensorDecompress::none;
  std::string key;  // "128x256b", "32x128b.warpx4.b6x16_p32"
  /// One object for equal arguments, for the program's life.
  static const TensorCopy& of(TensorCopyShape shape, TensorDecompress format);
};
/// Inst::plan of tcgen05.shift.
const Tcgen05Ops& tensor_shift_ops();

}  // namespace tcsim::isa
