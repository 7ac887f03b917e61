// One warp's part of a wgmma.mma_async: 16 of the 64 rows of D (warp w of the warpgroup: rows 16w to 16w + 15), all N
// columns. Executing the instruction records it (Effects::wgmma); it reads shared memory and the registers of A and D, and
// writes D, when whoever runs the warp completes it.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/ptx/module.h"

namespace tcsim::isa {

class WindowMemory;
struct StaleBytes;  // isa/exec/shared_watch.h

constexpr size_t kWarpsPerGroup = 4;  // a warpgroup: "four contiguous warps"; the first one's number is a multiple of 4

struct WgmmaIssue {
  const Inst* inst = nullptr;
  uint32_t index = 0;                       // of the instruction in the kernel
  uint64_t desc_a = 0, desc_b = 0;          // shared-memory matrix descriptors (desc_a unused when A is in registers)
  bool scale_d = true;                      // false: D = A * B
  uint8_t warp_in_group = 0;                // which 16 rows
  std::shared_ptr<const StaleBytes> stale;  // bytes that it sees although they were written since, for want of a fence
};

/// A run of shared-memory bytes that a wgmma reads. operand: 0 A, 1 B; swizzle_bytes: pattern that the operand's descriptor
/// says (0, 32, 64, 128).
struct WgmmaRead {
  uint32_t offset, bytes;
  uint8_t operand;
  uint8_t swizzle_bytes;
};

/// Where an operand lies: no byte that the warp reads is outside [begin, end); empty when A is in registers.
struct WgmmaExtent {
  uint32_t begin = 0, end = 0;
  uint8_t swizzle_bytes = 0, base_offset = 0;
};
using WgmmaExtents = std::array<WgmmaExtent, 2>;  // A, B

/// What Inst::plan of wgmma.mma_async points to (isa/insn/wgmma_exec.cpp): the functions below, for one instruction.
struct WgmmaOps {
  void (*complete)(ExecContext& ctx, const WgmmaIssue& issue, const WindowMemory& shared) = nullptr;
  void (*reads)(const WgmmaIssue& issue, std::vector<WgmmaRead>& reads) = nullptr;
  uint32_t (*shared_bytes)(const WgmmaIssue& issue) = nullptr;
  WgmmaExtents (*extents)(const WgmmaIssue& issue) = nullptr;
  /// Words for an operand (0 A, 1 B) that was written with rows of `written_bytes` swizzled: the first element that its
  /// descriptor looks for elsewhere, and how many pieces of 16 bytes.
  std::string (*swizzle_difference)(const WgmmaIssue& issue, int operand, uint32_t written_bytes) = nullptr;

  static const WgmmaOps& of(const WgmmaIssue& issue) { return *static_cast<const WgmmaOps*>(issue.inst->plan); }
};

/// Computes D of this warp, now: registers through ctx, operands from `shared`.
inline void complete_wgmma(ExecContext& ctx, const WgmmaIssue& issue, const WindowMemory& shared) {
  WgmmaOps::of(issue).complete(ctx, issue, shared);
}

inline WgmmaExtents wgmma_extents(const WgmmaIssue& issue) { return WgmmaOps::of(issue).extents(issue); }

/// Appends the bytes that the instruction reads: this warp's rows of A when they are in shared memory, and all of B.
/// Neighbouring runs are joined; runs may repeat bytes.
inline void wgmma_reads(const WgmmaIssue& issue, std::vector<WgmmaRead>& reads) { WgmmaOps::of(issue).reads(issue, reads); }

/// Bytes of both operands that the four tensor cores together stream from shared memory (the whole 64 x K of A when it is
/// there, and N x K of B).
inline uint32_t wgmma_shared_bytes(const WgmmaIssue& issue) { return WgmmaOps::of(issue).shared_bytes(issue); }

}  // namespace tcsim::isa
