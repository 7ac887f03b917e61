#include "isa/insn/shared_operand.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tcsim::isa {
namespace {

/// Joins runs of pieces; pieces of a line may come in any order inside their 128 bytes.
class Runs {
 public:
  Runs(std::vector<WgmmaRead>& out, uint8_t operand, uint8_t swizzle) : out_(out), first_(out.size()), operand_(operand), swizzle_(swizzle) {}
  void add(uint32_t address) {
    if (address / kBlock != block_) flush(), block_ = address / kBlock;
    pieces_ |= 1u << (address % kBlock / kPieceBytes);
  }
  void flush() {
    while (pieces_ != 0) {
      const int from = std::countr_zero(pieces_), count = std::countr_one(pieces_ >> from);
      emit(block_ * kBlock + static_cast<uint32_t>(from) * kPieceBytes, static_cast<uint32_t>(count) * kPieceBytes);
      pieces_ &= ~(((1u << count) - 1) << from);
    }
  }

 private:
  static constexpr uint32_t kBlock = 128;
  void emit(uint32_t offset, uint32_t bytes) {
    if (out_.size() > first_ && out_.back().offset + out_.back().bytes == offset) out_.back().bytes += bytes;
    else out_.push_back({offset, bytes, operand_, swizzle_});
  }
  std::vector<WgmmaRead>& out_;
  size_t first_;
  uint8_t operand_, swizzle_;
  uint32_t block_ = 0, pieces_ = 0;
};

}  // namespace

std::string outside_shared(const SharedOperand& o, std::string_view instruction, uint32_t memory_bytes, uint32_t& lowest) {
  const MatrixAddress at(o.descriptor, o.slice.major);
  // The bound holds for whole groups of 8 lines.
  const uint32_t lines = (o.slice.first_line + o.slice.lines + 7) / 8 * 8;
  if (at.end_bound(lines, o.slice.first_piece + o.slice.pieces) <= memory_bytes) return {};
  uint32_t outside = 0, highest = 0;
  lowest = UINT32_MAX;
  each_piece(o, [&](uint32_t address) {
    if (address + kPieceBytes <= memory_bytes) return;
    ++outside;
    lowest = std::min(lowest, address);
    highest = std::max(highest, address);
  });
  if (outside == 0) return {};
  return fmt::format(
      "{} reads operand {} up to byte {:#x} of shared memory, which has {} bytes: {} of {} pieces of 16 bytes lie beyond it, "
      "the first at {:#x} ({})",
      instruction, o.name, highest + kPieceBytes, memory_bytes, outside, o.slice.lines * o.slice.pieces, lowest,
      describe(o.descriptor, o.slice.major));
}

void add_reads(const SharedOperand& o, uint8_t operand, std::vector<WgmmaRead>& reads) {
  Runs runs(reads, operand, o.descriptor.swizzle_bytes);
  each_piece(o, [&](uint32_t address) { runs.add(address); });
  runs.flush();
}

}  // namespace tcsim::isa
