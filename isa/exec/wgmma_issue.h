// One warp's part of a wgmma.mma_async: 16 of the 64 rows of D (warp w of the warpgroup: rows 16w to 16w + 15), all N
// columns. Executing the instruction records it (Effects::wgmma); it reads shared memory and the registers of A and D, and
// writes D, when whoever runs the warp completes it.
#pragma once
#include <cstdint>
#include <vector>

namespace tcsim::isa {

struct Inst;
struct ExecContext;
class WindowMemory;

struct WgmmaIssue {
  const Inst* inst = nullptr;
  uint32_t index = 0;        // of the instruction in the kernel
  uint64_t desc_a = 0, desc_b = 0;  // shared-memory matrix descriptors (desc_a unused when A is in registers)
  bool scale_d = true;       // false: D = A * B
  uint8_t warp_in_group = 0; // which 16 rows
};

/// Computes D of this warp, now: registers through ctx, operands from `shared`.
void complete_wgmma(ExecContext& ctx, const WgmmaIssue& issue, const WindowMemory& shared);

/// Runs of shared-memory bytes that the instruction reads (this warp's rows of A when they are there, all of B), and the
/// swizzle (bytes of the pattern: 0, 32, 64, 128) that each operand's descriptor says. Runs may repeat bytes.
struct WgmmaRead { uint32_t offset, bytes; uint8_t operand; uint8_t swizzle_bytes; };
void wgmma_reads(const WgmmaIssue& issue, std::vector<WgmmaRead>& reads);

/// Bytes of both operands that the four tensor cores together stream from shared memory (the whole 64 x K of A when it is
/// there, and N x K of B).
uint32_t wgmma_shared_bytes(const WgmmaIssue& issue);

}  // namespace tcsim::isa
