// Executes mma.sync, mma.sp and wmma.mma on a warp's registers, bit for bit as the chosen tensor-core generation does.
//
//   MmaDesc desc{.generation = Generation::hopper, .shape = {16, 8, 16}, .a = Type::f16, .b = Type::f16, .c = Type::f32, .d = Type::f32};
//   if (std::string why = MmaPlan::check(desc); !why.empty()) ...   // not an instruction: why says what is wrong
//   MmaPlan plan(desc);                                             // tables are built here, once per instruction
//   const uint32_t* a[4] = {lanes of register 0, ...};              // one pointer a register: 32 lanes (SoA register file)
//   plan.run(d, a, b, c);                                           // d may be the same registers as c
//
// 64-bit registers (f64) are 32 uint64_t, passed as a pointer to their first 32-bit word.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "isa/layout/fragment.h"
#include "isa/numeric/generation.h"
#include "isa/type.h"

namespace tcsim::isa {

struct MmaDesc {
  Generation generation = Generation::ampere;
  MatrixFamily family = MatrixFamily::mma;
  MatrixShape shape;
  MatrixOrder a_order = MatrixOrder::row, b_order = MatrixOrder::col;
  Type a = Type::f16, b = Type::f16, c = Type::f32, d = Type::f32;
  bool satfinite = false;      // 8-bit and 4-bit integers: clamp to s32
  BitOp bit_op = BitOp::none;  // b1 only
  int selector = 0;            // mma.sp only: sparsity selector
  Type scale = Type::none;     // .block_scale: type of the scales, ue8m0 or ue4m3
  int scales = 0;              // .block_scale: how many a row of A and a column of B have (scale_vec::1X, 2X, 4X)
};

/// Operands of .block_scale (PTX ISA, "Block Scaling for mma.sync"): 32 lanes each, and what selects in them. Row i of A has its
/// scales in lane 4 (i % 8) + 2 a_thread + i / 8, column j of B in lane 4 j + b_thread, in bytes `byte` and up.
struct MmaScales {
  const uint32_t *a = nullptr, *b = nullptr;
  int a_byte = 0, a_thread = 0, b_byte = 0, b_thread = 0;
};

class MmaPlan {
 public:
  /// Empty if the instruction exists (on any generation), else what is not allowed.
  static std::string check(const MmaDesc& desc);
  /// desc must pass check().
  explicit MmaPlan(const MmaDesc& desc);
  ~MmaPlan();
  MmaPlan(MmaPlan&&) noexcept;
  MmaPlan& operator=(MmaPlan&&) noexcept;

  const MmaDesc& desc() const { return desc_; }
  /// Registers a lane for each operand; register_bits is 64 for f64, else 32.
  int registers(MatrixRole role) const;
  int register_bits() const;

  /// All 32 lanes take part. metadata (mma.sp): the 32 lanes of operand e. d may alias c, and any register may repeat.
  void run(uint32_t* const* d, const uint32_t* const* a, const uint32_t* const* b, const uint32_t* const* c, const uint32_t* metadata = nullptr,
           const MmaScales& scales = {}) const;

  struct Tables;

 private:
  MmaDesc desc_;
  std::unique_ptr<const Tables> tables_;
};

}  // namespace tcsim::isa
