// wgmma: part of the matrix chapter's table, and what its instructions keep in Inst::plan.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "isa/exec/context.h"
#include "isa/insn/def.h"
#include "isa/matrix/wgmma_plan.h"

namespace tcsim::isa {

std::span<const InstDef> wgmma_instructions();

/// Operand positions of wgmma.mma_async (dense and sparse).
struct WgmmaOperands {
  static constexpr int kD = 0, kA = 1, kB = 2, kMetadata = 3, kSelector = 4;
  static constexpr int scale_d(bool sparse) { return sparse ? 5 : 3; }
};

/// Inst::plan of wgmma.mma_async.
struct WgmmaInst : WgmmaOps {
  WgmmaPlan plan;
  std::string key;  // row of the machine file: "m64n128k16.f32.f16.f16[.sp]"

  explicit WgmmaInst(const WgmmaDesc& desc);
  /// Made once in the program's life for equal descriptions.
  static std::shared_ptr<const WgmmaInst> of(const WgmmaDesc& desc);
};

/// ExecFn of wgmma.mma_async: checks, and records the issue.
void run_wgmma(ExecContext& ctx, const Inst& inst, uint32_t mask);

}  // namespace tcsim::isa
