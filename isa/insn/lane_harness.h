// For tests: runs one instruction of the arithmetic chapters on up to 32 lanes of values.
//
//   Harness add("add.s32", 3);                       // mnemonic, number of operand positions
//   EXPECT_EQ(add.run({5, 7}), 12u);                 // sources in order; result bits
//   EXPECT_EQ(Harness("selp.b32", 4).run({1, 2, 0}), 2u);
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "isa/exec/context.h"
#include "isa/insn/variants.h"

namespace tcsim::isa {

class Harness {
 public:
  using Row = std::array<uint64_t, kLanes>;

  Harness(std::string_view mnemonic, size_t operands, uint32_t lut = 0x96) : variant_(variant_of(mnemonic, operands, {9, 0, 100, true}, lut)) {
    if (!variant_.def || !variant_.accepted) throw std::runtime_error("no instruction " + std::string(mnemonic) + ": " + variant_.reason);
    variant_.inst.operands = variant_.operands.data();
    ctx_.regs = regs_.data();
    ctx_.preds = preds_.data();
    ctx_.carry = &carry;
  }
  Harness(const Harness&) = delete;

  /// Sources lane by lane; mask as in a divergent warp. The destination starts as `before` in every lane.
  Row run_lanes(const std::vector<Row>& sources, uint32_t mask = kFullMask, uint64_t before = 0) {
    regs_.fill(0xa5a5a5a5u);
    preds_.fill(0);
    fill(0, Row{}, before);
    for (size_t s = 0; s < sources.size(); ++s) {
      const size_t position = s + 1;
      if (variant_.operands.size() && variant_.inst.group(static_cast<int>(position))[0].kind == Operand::Kind::constant) continue;
      for (int l = 0; l < kLanes; ++l) set(position, l, sources[s][l]);
    }
    variant_.inst.exec(ctx_, variant_.inst, mask);
    Row out{};
    for (int l = 0; l < kLanes; ++l) out[l] = get(l);
    second = preds_[1];
    return out;
  }
  /// The same values in all lanes; checks that all lanes agree.
  uint64_t run(std::initializer_list<uint64_t> sources) {
    std::vector<Row> rows;
    for (const uint64_t value : sources) rows.emplace_back().fill(value);
    const Row out = run_lanes(rows);
    for (const uint64_t value : out) EXPECT_EQ(value, out[0]);
    return out[0];
  }
  const Inst& inst() const { return variant_.inst; }

  uint32_t carry = 0;   // CC.CF
  uint32_t second = 0;  // q of p|q, p of d|p, after a run

 private:
  void fill(size_t position, const Row&, uint64_t value) {
    for (int l = 0; l < kLanes; ++l) set(position, l, value);
  }
  void set(size_t position, int lane, uint64_t value) {
    const Type type = variant_.operand_types[position];
    const auto slot = static_cast<int32_t>(4 * position);
    if (type == Type::pred) preds_[slot] = (preds_[slot] & ~(1u << lane)) | static_cast<uint32_t>(value & 1) << lane;
    else if (bits(type) == 64) ctx_.reg<uint64_t>(slot)[lane] = value;
    else ctx_.reg<uint32_t>(slot)[lane] = static_cast<uint32_t>(value);
  }
  uint64_t get(int lane) {
    const Type type = variant_.operand_types[0];
    if (type == Type::pred) return preds_[0] >> lane & 1;
    return bits(type) == 64 ? ctx_.reg<uint64_t>(0)[lane] : ctx_.reg<uint32_t>(0)[lane];
  }

  Variant variant_;
  ExecContext ctx_;
  alignas(64) std::array<uint32_t, kLanes * 32> regs_{};
  std::array<uint32_t, 32> preds_{};
};

/// Runs values through 32 lanes at a time: out[i] = instruction(a[i], b[i], ...).
inline std::vector<uint64_t> run_all(Harness& h, const std::vector<std::vector<uint64_t>>& sources) {
  const size_t n = sources[0].size();
  std::vector<uint64_t> out(n);
  for (size_t start = 0; start < n; start += kLanes) {
    std::vector<Harness::Row> rows(sources.size());
    for (size_t s = 0; s < sources.size(); ++s)
      for (size_t l = 0; l < kLanes; ++l) rows[s][l] = sources[s][std::min(start + l, n - 1)];
    const auto part = h.run_lanes(rows);
    for (size_t l = 0; l < kLanes && start + l < n; ++l) out[start + l] = part[l];
  }
  return out;
}

}  // namespace tcsim::isa
