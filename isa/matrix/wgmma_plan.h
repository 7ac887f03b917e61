// One warp's part of a wgmma.mma_async: 16 of the 64 rows of D = A * B + D, bit for bit as Hopper computes it.
//
//   WgmmaDesc desc{.shape = {64, 128, 16}, .a = Type::f16, .b = Type::f16, .d = Type::f32};
//   if (std::string why = WgmmaPlan::check(desc); !why.empty()) ...     // not an instruction
//   WgmmaPlan plan(desc);                                               // once per instruction
//   plan.run({.d = d, .desc_a = ..., .desc_b = ..., .warp = 2, .memory = shared.data()});
//
// B, and A unless it is in registers, are read from shared memory through matrix descriptors (isa/layout/matrix_descriptor.h).
// The caller has checked that the slices that run() reads lie in `memory`.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "isa/layout/fragment.h"
#include "isa/layout/matrix_descriptor.h"
#include "isa/matrix/matrix_slice.h"
#include "isa/matrix/sparse_indices.h"
#include "isa/numeric/tensor_core.h"

namespace tcsim::isa {

struct WgmmaDesc {
  MatrixShape shape;
  Type a = Type::f16, b = Type::f16, d = Type::f32;
  Major a_major = Major::k, b_major = Major::k;
  bool a_in_registers = false, sparse = false, satfinite = false;
  bool negate = false;  // imm-scale-a times imm-scale-b is -1: the products' signs flip
  int selector = 0;     // sparse: which lanes hold the metadata
};

/// What one warp gives: lanes of its registers (SoA, one pointer a register), descriptors, its number in the warpgroup.
struct WgmmaWarp {
  uint32_t* const* d = nullptr;
  const uint32_t* const* a = nullptr;  // four registers, or nullptr
  const uint32_t* metadata = nullptr;  // sparse: the 32 lanes of sp-meta
  uint64_t desc_a = 0, desc_b = 0;
  bool scale_d = true;              // false: D is +0 before
  int warp = 0;                     // 0 to 3
  const uint8_t* memory = nullptr;  // shared memory, from address 0
};

class WgmmaPlan {
 public:
  static constexpr int kWarps = 4, kWarpRows = 16;
  /// Empty if the instruction exists, else what is not allowed.
  static std::string check(const WgmmaDesc& desc);
  explicit WgmmaPlan(const WgmmaDesc& desc);

  const WgmmaDesc& desc() const { return desc_; }
  int d_registers() const { return d_registers_; }
  static constexpr int kARegisters = 4;
  /// Bytes of K in one row of A (stored elements) and of B; those of all A and all B.
  uint32_t a_row_bytes() const { return row_bytes_[0]; }
  uint32_t b_row_bytes() const { return row_bytes_[1]; }

  MatrixSlice a_slice(int warp) const;  // 16 rows of A
  MatrixSlice b_slice() const;          // all of B
  void run(const WgmmaWarp& w) const;

 private:
  void run_floats(const WgmmaWarp& w) const;
  void run_integers(const WgmmaWarp& w) const;
  void run_bits(const WgmmaWarp& w) const;
  void fetch_a(const WgmmaWarp& w, uint32_t* out) const;

  WgmmaDesc desc_;
  const TensorCoreArith* arith_ = nullptr;
  int a_bits_ = 0, b_bits_ = 0;  // of an element
  int k_ = 0;                    // products an output element: stored elements of a row of A
  int d_registers_ = 0;
  uint32_t row_bytes_[2] = {};
  std::vector<uint16_t> a_places_;  // A in registers: for every register, lane and element of it: index into [16][k]
  SparseIndices sparse_;
};

}  // namespace tcsim::isa
