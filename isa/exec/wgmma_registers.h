// Which instructions touch registers that an asynchronous operation owns: a wgmma in flight, or a tcgen05.ld that no
// tcgen05.wait::ld has waited for (its destinations). wgmma: Until a wgmma.wait_group has waited for it, its accumulators may
// be neither read nor written, and its A fragments not written (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions:
// Register Fragments and Shared Memory Matrix Layouts" and "wgmma.mma_async"; reading A, which the manual forbids too, can do no harm).
// Further wgmmas of the same shape may add into the same accumulators.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "isa/ptx/module.h"

namespace tcsim::isa {

class WgmmaRegisters {
 public:
  /// nullptr: no instruction of the kernel needs watching.
  static std::shared_ptr<const WgmmaRegisters> of(const Kernel& kernel);

  bool watches(uint32_t inst) const { return conflicts_.contains(inst); }
  /// Runs the instruction after a look at the wgmmas of ctx.wgmma: the ExecFn of watched instructions.
  static void run_watched(ExecContext& ctx, const Inst& inst, uint32_t mask);

 private:
  struct Conflict {
    uint32_t owner;
    int32_t slot;
    bool writes, accumulator, load;
  };
  void check(ExecContext& ctx, const Inst& inst) const;
  void check_load(ExecContext& ctx, uint32_t index, const Conflict& conflict) const;
  std::unordered_map<uint32_t, std::vector<Conflict>> conflicts_;  // instruction -> wgmmas and loads with a register of its own
  const Kernel* kernel_ = nullptr;
};

}  // namespace tcsim::isa
