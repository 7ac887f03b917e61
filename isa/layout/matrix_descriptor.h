// Shared-memory matrix descriptors, and where the elements of such a matrix lie.
//
//   const MatrixDescriptor d = decode_wgmma_descriptor(0x4000004000010040);
//   // start 0x400, leading 16 B, stride 1024 B (8 rows x 128 B), 128-byte swizzle
//   const MatrixAddress at(d, Major::k);
//   at.byte(9, 20)   -> 0x884: row 9 is row 1 of the second 8 x 128-byte atom (0x880); byte 20 is in piece 1, which lies in
//                       place 1 ^ 1 = 0
//
// Sources: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout" (strides, base offset) and "Matrix
// Descriptor Format"; the canonical layouts are those of CUTLASS (cute/atom/mma_traits_sm90_gmma.hpp). All offsets are bytes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tcsim::isa {

/// A descriptor's contents; each instruction family has its own 64-bit encoding of it.
struct MatrixDescriptor {
  uint32_t start = 0;         // shared-memory address, a multiple of 16
  uint32_t leading = 0;       // "leading dimension byte offset"
  uint32_t stride = 0;        // "stride dimension byte offset"
  uint8_t base_offset = 0;    // 0 to 7: bits 7 to 9 of the address where the swizzle pattern starts
  uint8_t swizzle_bytes = 0;  // 0 (none), 32, 64, 128: row length of the pattern
  uint8_t atom_bytes = 16;    // unit that the swizzle moves; 32 exists with 128-byte rows only (tcgen05)
  bool operator==(const MatrixDescriptor&) const = default;
};

/// wgmma: bits 0-13 start, 16-29 leading, 32-45 stride (all in units of 16 bytes), 49-51 base offset, 62-63 swizzle
/// (0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes). Other bits are ignored.
MatrixDescriptor decode_wgmma_descriptor(uint64_t bits);
uint64_t encode_wgmma_descriptor(const MatrixDescriptor& d);
/// Bits of a wgmma descriptor that have no meaning; not zero: a field was probably not shifted or masked.
uint64_t unused_wgmma_bits(uint64_t bits);

/// Which index is contiguous in memory. k: rows (of A; columns of B) lie along K ("K-major", not transposed).
enum class Major : uint8_t { k, mn };

/// Addresses of one matrix. A piece is 16 bytes: the unit that swizzles move.
class MatrixAddress {
 public:
  MatrixAddress(const MatrixDescriptor& d, Major major)
      : d_(d), major_(major), width_(d.swizzle_bytes / 16u), atom_bits_(d.atom_bytes == 32 ? 5 : 4), group_(d.atom_bytes == 32 ? 4 : 8) {}

  /// Piece `piece` of line `line`. K-major: a line is a row (index along M or N) and pieces run along K. MN-major: a line
  /// is one k, and pieces run along M or N.
  uint32_t piece(uint32_t line, uint32_t piece) const {
    const uint32_t linear = d_.start + line_offset(line) + piece_offset(piece);
    return linear ^ (pattern_row(linear) << atom_bits_);
  }
  /// No piece of lines [0, lines) and pieces [0, pieces) ends beyond this address; lines is a multiple of 8. Seldom reached
  /// exactly: the swizzle may move a piece up to the end of its 128 bytes.
  uint32_t end_bound(uint32_t lines, uint32_t pieces) const {
    const uint32_t across = width_ ? (pieces - 1) / width_ * d_.leading + (width_ - 1) * 16 : piece_offset(pieces - 1);
    return ((d_.start + line_offset(lines - 1) + across) | (width_ ? 0x70u : 0u)) + 16;
  }
  /// Byte `byte` of a line.
  uint32_t byte(uint32_t line, uint32_t byte) const { return piece(line, byte / 16) + byte % 16; }
  /// Element (index along M or N, index along K) of elements of `element_bytes` bytes.
  uint32_t element(uint32_t mn, uint32_t k, uint32_t element_bytes) const {
    return major_ == Major::k ? byte(mn, k * element_bytes) : byte(k, mn * element_bytes);
  }

 private:
  /// Lines come in groups of 8 (of 4 with 32-byte atoms). In MN-major without swizzle the two offsets change places (CUTLASS, make_gmma_desc).
  uint32_t line_offset(uint32_t line) const {
    const uint32_t group = major_ == Major::mn && width_ == 0 ? d_.leading : d_.stride;
    return line / group_ * group + line % group_ * (width_ ? width_ * 16 : 16);
  }
  uint32_t piece_offset(uint32_t piece) const {
    if (width_ == 0) return piece * (major_ == Major::k ? d_.leading : d_.stride);
    return piece / width_ * d_.leading + piece % width_ * 16;
  }
  /// The XOR is taken from bits 7 to 9 of the address itself, counted from where the pattern starts.
  uint32_t pattern_row(uint32_t address) const { return width_ ? ((address >> 7) - d_.base_offset) & ((width_ * 16 >> atom_bits_) - 1) : 0; }

  MatrixDescriptor d_;
  Major major_;
  uint32_t width_;              // pieces in a row of the swizzle pattern, 0: none
  uint32_t atom_bits_, group_;  // log2 of the swizzle's unit; lines in a repetition of the pattern
};

/// What is wrong with a descriptor, if anything. kind: the diagnostic's ("misaligned", "bad-descriptor"), nullptr: nothing.
struct DescriptorProblem {
  const char* kind = nullptr;
  std::string text;
};

/// Checks what the manual demands of a matrix whose line slices are `slice_bytes` long (K-major: bytes of K that one
/// instruction reads): the start of the swizzle pattern, and slices that stay inside its rows.
DescriptorProblem check_descriptor(const MatrixDescriptor& d, Major major, uint32_t slice_bytes);

/// Suspicions that are no faults: fields that were not divided by 16 (larger than the matrix's own `bytes`), unused bits.
std::vector<std::string> wgmma_descriptor_notes(uint64_t bits, Major major, uint32_t matrix_bytes);

/// "start 0x400, leading 16 B (ignored), stride 1024 B (8 rows x 128 B), swizzle 128 B, base offset 0"
std::string describe(const MatrixDescriptor& d, Major major);

/// The descriptor `bytes` further on, as kernels step along K inside a swizzled row: adds bytes / 16 to the start field.
uint64_t advance_wgmma_descriptor(uint64_t bits, uint32_t bytes);

}  // namespace tcsim::isa
