// Descriptors of tcgen05.mma: of matrices in shared memory (64 bits), of the instruction (32 bits), and of the zero-column mask.
//
//   decode_tcgen05_descriptor(0x4000404000010040)          -> start 0x400, leading 16 B, stride 1024 B, 128-byte swizzle
//   decode_instruction_descriptor(MmaKind::f16, 0x8200010) -> m128, n128: f32 = f16 * f16
//   check_instruction_descriptor(...)                      -> "N (bits 17-22) is 12, expected a multiple of 8 ..."
//
// Sources: PTX ISA, "Shared memory descriptor", "Instruction descriptor", "Zero-Column Mask Descriptor", "Matrix Shape",
// "Transpose and Negate operations"; CUTLASS cute/arch/mma_sm100_desc.hpp.
#pragma once
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/layout/matrix_descriptor.h"
#include "isa/type.h"

namespace tcsim::isa {

// ---- shared memory ----

/// Bits 0-13 start, 16-29 leading, 32-45 stride (units of 16 bytes), 46-48 the constant 1, 49-51 base offset, 52 leading is an
/// address, 61-63 layout (0 none, 1 128 bytes in units of 32, 2 128 bytes, 4 64 bytes, 6 32 bytes).
MatrixDescriptor decode_tcgen05_descriptor(uint64_t bits);
uint64_t encode_tcgen05_descriptor(const MatrixDescriptor& d);
/// Fields that no matrix may have; then as check_descriptor(). sm_103 alone knows leading addresses (bit 52).
DescriptorProblem check_tcgen05_descriptor(uint64_t bits, Major major, uint32_t slice_bytes);

// ---- instructions ----

enum class MmaKind : uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };
constexpr bool is_scaled(MmaKind k) { return k >= MmaKind::mxf8f6f4; }
/// Two e2m1 a byte; all other kinds have e2m1, e3m2 and e2m3 in pieces of 16 elements.
constexpr bool is_packed_e2m1(MmaKind k) { return k >= MmaKind::mxf4; }
std::string_view name(MmaKind kind);
std::optional<MmaKind> mma_kind_named(std::string_view name);
/// K of one instruction (stored elements of A are half of it with sparsity).
constexpr int tcgen05_k(MmaKind kind, bool sparse) {
  const int dense = kind == MmaKind::f16 ? 16 : kind == MmaKind::tf32 ? 8 : is_packed_e2m1(kind) ? 64 : 32;
  return sparse ? 2 * dense : dense;
}

/// What the mnemonic says of an instruction; the descriptor must agree.
struct MmaForm {
  MmaKind kind = MmaKind::f16;
  uint8_t cta_group = 1;
  bool sparse = false, weight_stationary = false;
  bool a_in_tensor_memory = false, shift = false;  // .ashift
  uint8_t scale_vec = 0;                           // scale factors a row: 1, 2, 4; 0: none
};

struct InstructionDescriptor {
  bool sparse = false, saturate = false, negate_a = false, negate_b = false;
  uint8_t selector = 0;                                // of the sparsity metadata
  Type d = Type::f32, a = Type::none, b = Type::none;  // none: not a type
  Major a_major = Major::k, b_major = Major::k;
  int m = 0, n = 0;
  uint8_t max_shift = 0;                   // .ws: 0, 8, 16, 32
  Type scale = Type::none;                 // ue8m0, ue4m3; none: not scaled
  uint8_t scale_a_id = 0, scale_b_id = 0;  // first byte of the scale factors in a word of Tensor Memory
  bool k96 = false;                        // sm_103
  bool operator==(const InstructionDescriptor&) const = default;
};

InstructionDescriptor decode_instruction_descriptor(MmaKind kind, uint32_t bits);
uint32_t encode_instruction_descriptor(MmaKind kind, const InstructionDescriptor& d);
/// Empty, or which field is wrong, what it is and what was expected.
std::string check_instruction_descriptor(const MmaForm& form, uint32_t bits);
/// "m128n256k16, f32 = f16 * f16, B transposed"
std::string describe(MmaKind kind, const InstructionDescriptor& d);

// ---- zero-column masks ----

/// Columns of B that count as zero: bit n, n < `n`. The column shift is not part of it.
std::bitset<256> zero_columns(uint64_t descriptor, int m, int n);
/// Columns that B is shifted by: column n of the instruction is column n + shift of the matrix.
constexpr int column_shift(uint64_t descriptor) { return static_cast<int>(descriptor >> 56 & 0x3f); }

}  // namespace tcsim::isa
