// Operands of wgmma and tcgen05.mma in shared memory: bounds and the bytes that are read.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "isa/exec/context.h"
#include "isa/layout/matrix_descriptor.h"
#include "isa/matrix/matrix_slice.h"

namespace tcsim::isa {

constexpr uint32_t kPieceBytes = 16;

/// The part of an operand that is read.
struct SharedOperand {
  uint64_t bits = 0;  // descriptor, as the program has it
  MatrixDescriptor descriptor;
  MatrixSlice slice;
  uint32_t slice_bytes = 0;   // along a line
  uint32_t matrix_bytes = 0;  // of the whole operand
  char name = 'A';
};

/// Calls f(address) for every piece, in the order in which neighbours in memory follow each other.
template <class F>
void each_piece(const SharedOperand& o, F&& f) {
  const MatrixAddress at(o.descriptor, o.slice.major);
  const MatrixSlice& s = o.slice;
  const auto piece = [&](uint32_t line, uint32_t p) { return f(at.piece(s.first_line + line, s.first_piece + p)); };
  if (o.descriptor.swizzle_bytes == 0) {
    for (uint32_t p = 0; p < s.pieces; ++p)
      for (uint32_t line = 0; line < s.lines; ++line) piece(line, p);
  } else {
    for (uint32_t line = 0; line < s.lines; ++line)
      for (uint32_t p = 0; p < s.pieces; ++p) piece(line, p);
  }
}

/// Empty if `memory_bytes` of shared memory hold all pieces, else what lies outside; `lowest`: the first such address.
std::string outside_shared(const SharedOperand& o, std::string_view instruction, uint32_t memory_bytes, uint32_t& lowest);

/// Appends the bytes read; neighbouring runs are joined. operand: 0 A, 1 B.
void add_reads(const SharedOperand& o, uint8_t operand, std::vector<WgmmaRead>& reads);

}  // namespace tcsim::isa
