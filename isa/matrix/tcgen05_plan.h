// One tcgen05.mma: D = A * B + D in Tensor Memory, bit for bit by the rules of isa/numeric.
//
//   const MmaForm form{.kind = MmaKind::f16};                                  // what the mnemonic says
//   if (std::string why = check_instruction_descriptor(form, idesc); !why.empty()) ...
//   Tcgen05Plan(form, idesc).run({.tensor = {words}, .shared = {bytes}, .desc_a = ..., .desc_b = ..., .d = taddr});
//
// Tensor Memory is an array of words, the 128 lanes of a column side by side (isa/exec/tensor_memory.h). The caller has checked
// that descriptors are well-formed and that slices and Tensor Memory ranges lie inside the memories.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "isa/layout/tcgen05_layout.h"
#include "isa/matrix/gather.h"
#include "isa/matrix/matrix_slice.h"
#include "isa/numeric/tensor_core.h"

namespace tcsim::isa {

/// Memories and operands. [0]: the CTA with the even rank, or the only one; [1]: its peer (cta_group::2).
struct Tcgen05Operands {
  std::array<uint32_t*, 2> tensor{};
  std::array<const uint8_t*, 2> shared{};
  uint64_t desc_a = 0, desc_b = 0;
  uint32_t d = 0, a = 0, scale_a = 0, scale_b = 0, metadata = 0;  // Tensor Memory addresses
  bool accumulate = true;
  int scale_input_d = 0;
  std::array<uint32_t, 8> disable_output_lane{};
  uint64_t zero_column_mask = 0;
};

class Tcgen05Plan {
 public:
  static constexpr uint32_t kLanes = 128;
  Tcgen05Plan(const MmaForm& form, uint32_t idesc);

  const MmaForm& form() const { return form_; }
  const InstructionDescriptor& idesc() const { return idesc_; }
  int k() const { return k_; }                // of B
  int stored_k() const { return stored_k_; }  // of A
  Datapath datapath(uint32_t d) const { return {layout_, idesc_.n, static_cast<int>(d >> 16 & 16)}; }
  bool half_datapath() const { return is_half_datapath(layout_); }
  int ctas() const { return form_.cta_group; }
  /// What each CTA reads from its shared memory. shift: of the zero-column mask.
  MatrixSlice a_slice() const;
  MatrixSlice b_slice(int shift = 0) const;
  /// Bytes of one K-major line: the descriptor check's slice.
  uint32_t a_line_bytes() const { return line_bytes(stored_k_, a_format_); }
  uint32_t b_line_bytes() const { return line_bytes(k_, b_format_); }
  /// What no hardware vector confirms about the result bits; empty: all is confirmed.
  std::string_view arithmetic_note() const;

  void run(const Tcgen05Operands& o) const;

 private:
  struct Scratch;
  static Scratch& scratch();
  static constexpr uint32_t line_bytes(int k, PieceFormat f) { return static_cast<uint32_t>(k / elements_of(f) * 16); }
  int columns_per_chunk() const;
  void fetch_b(const Tcgen05Operands& o, Scratch& s) const;
  void decode_b(const Tcgen05Operands& o, const Datapath& path, Scratch& s) const;
  void fetch_a(const Tcgen05Operands& o, const DatapathPart& part, Scratch& s) const;
  void fetch_indices(const Tcgen05Operands& o, const DatapathPart& part, Scratch& s) const;
  void fetch_scales(const Tcgen05Operands& o, const DatapathPart& part, int rows_per_cta, Scratch& s) const;
  void run_part(const Tcgen05Operands& o, const DatapathPart& part, Scratch& s) const;
  void run_tile(const DatapathPart& part, int column, int columns, size_t chunk, Scratch& s) const;
  void load_d(const Tcgen05Operands& o, const DatapathPart& part, int column, int columns, uint32_t* out) const;
  void store_d(const Tcgen05Operands& o, const DatapathPart& part, int column, int columns, const uint32_t* in) const;

  MmaForm form_;
  InstructionDescriptor idesc_;
  DatapathLayout layout_;
  int k_, stored_k_;
  PieceFormat a_format_, b_format_;
  const TensorCoreArith* arith_ = nullptr;  // nullptr: integers
};

}  // namespace tcsim::isa
