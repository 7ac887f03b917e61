// What matrix instructions keep in Inst::plan: prepared data, shared by all instructions of the same kind.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "isa/matrix/mma_plan.h"

namespace tcsim::isa {

/// One mma, mma.sp or wmma.mma. The tensor-core generation is a property of the run, so plans are made when a generation
/// first asks. May be used by several threads.
class MmaPlanFamily {
 public:
  explicit MmaPlanFamily(const MmaDesc& desc);

  const MmaPlan& plan(Generation generation) const {
    const MmaPlan* p = plans_[static_cast<size_t>(generation)].load(std::memory_order_acquire);
    return p ? *p : make(generation);
  }
  const MmaDesc& desc() const { return desc_; }
  /// Row of the machine file: "<shape>.<d>.<a>[.<b> when different][.sp]", for example "m16n8k16.f32.f16". In place of the types of
  /// A and B: "f8f6f4" when one has 6 or 4 bits, "mxf8f6f4", "mxf4", "mxf4nvf4" with block scaling.
  const std::string& key() const { return key_; }

  /// The family for a description; made once in the program's life (immutable tables, like the instruction table).
  static std::shared_ptr<const MmaPlanFamily> of(const MmaDesc& desc);

 private:
  const MmaPlan& make(Generation generation) const;
  static constexpr size_t kGenerations = static_cast<size_t>(Generation::rtx_blackwell) + 1;
  MmaDesc desc_;
  std::string key_;
  mutable std::mutex mutex_;
  mutable std::array<std::unique_ptr<const MmaPlan>, kGenerations> owned_;
  mutable std::array<std::atomic<const MmaPlan*>, kGenerations> plans_{};
};

}  // namespace tcsim::isa
