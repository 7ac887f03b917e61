// Vector operands need consecutive registers. Loads and matrix instructions fix where their results lie beside each other;
// a vector that wants its elements in another arrangement is gathered with one MOV an element, as ptxas does.
#include <algorithm>
#include <map>

#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

/// Where registers lie relative to each other: cluster and offset in 32-bit registers.
class Tuples {
 public:
  explicit Tuples(int32_t reg_count) : at_(reg_count, Place{-1, 0}) {}

  /// Claims consecutive places for the registers; false when some already lie elsewhere.
  bool claim(const std::vector<int32_t>& regs, const std::vector<uint8_t>& words) {
    int32_t total = 0, cluster = -1, base = 0;
    for (size_t k = 0; k < regs.size(); total += words[regs[k]], ++k) {
      const Place& place = at_[regs[k]];
      if (place.cluster < 0) continue;
      if (cluster < 0) {
        cluster = place.cluster;
        base = place.offset - total;
      }
      if (place.cluster != cluster || place.offset - total != base) return false;
    }
    if (cluster >= 0 && base % (total > 2 ? 4 : 2) != 0) return false;
    if (cluster < 0) {
      cluster = static_cast<int32_t>(used_.size());
      used_.emplace_back();
    }
    auto& used = used_[cluster];
    int32_t offset = base;
    for (int32_t reg : regs) {
      if (at_[reg].cluster < 0)
        for (int32_t w = 0; w < words[reg]; ++w)
          if (used.contains(offset + w)) return false;
      offset += words[reg];
    }
    offset = base;
    for (int32_t reg : regs) {
      if (at_[reg].cluster < 0) {
        at_[reg] = {cluster, offset};
        for (int32_t w = 0; w < words[reg]; ++w) used[offset + w] = reg;
      }
      offset += words[reg];
    }
    return true;
  }
  int32_t offset(int32_t reg) const { return at_[reg].cluster < 0 ? -1 : at_[reg].offset + kFirst; }

 private:
  static constexpr int32_t kFirst = 64;  // offsets may be negative; a multiple of any vector's size

  struct Place {
    int32_t cluster, offset;
  };
  std::vector<Place> at_;
  std::vector<std::map<int32_t, int32_t>> used_;
};

namespace {

bool has_vector_sources(Op op) {
  return op == Op::st || op == Op::stmatrix || op == Op::mma || op == Op::mma_sp || op == Op::wmma_mma || op == Op::wmma_store || is_wgmma(op);
}

}  // namespace

void Selector::find_tuples() {
  Tuples tuples(fn_.reg_count);
  scattered_.assign(fn_.insts.size(), 0);
  std::vector<int32_t> regs;
  for (size_t i = 0; i < fn_.insts.size(); ++i) {
    const Inst& inst = fn_.kernel.insts[i];
    if (!fn_.insts[i].live || first_source(inst) == 0 || inst.group(0).size() < 2 || inst.op == Op::mov) continue;
    regs.clear();
    for (const Operand& operand : inst.group(0))
      if (operand.kind == Operand::Kind::reg) regs.push_back(operand.slot);
    if (regs.size() == inst.group(0).size()) tuples.claim(regs, fn_.reg_words);
  }
  for (size_t i = 0; i < fn_.insts.size(); ++i) {
    const Inst& inst = fn_.kernel.insts[i];
    if (!fn_.insts[i].live || !has_vector_sources(inst.op)) continue;
    for (int g = first_source(inst); g < inst.group_count; ++g) {
      if (inst.group(g).size() < 2) continue;
      regs.clear();
      bool registers = true;
      for (const Operand& operand : inst.group(g)) {
        const Source s = source(operand, static_cast<int32_t>(i));
        const int32_t reg = s.constant ? -1 : fn_.values[s.id].reg;
        registers &= reg >= 0 && std::find(regs.begin(), regs.end(), reg) == regs.end();
        regs.push_back(reg);
      }
      if (registers && !tuples.claim(regs, fn_.reg_words)) scattered_[i] |= 1u << g;
    }
  }
  for (int32_t reg = 0; reg < fn_.reg_count; ++reg) fn_.vector_place[reg] = tuples.offset(reg);
}

void Selector::add_tuple(Values& to, int group, int32_t user) {
  const bool scattered = scattered_[user] >> group & 1;
  for (const Operand& operand : fn_.inst(user).group(group)) {
    if (!scattered) {
      add_register(to, operand, user);
      continue;
    }
    Values parts;
    add_register(parts, operand, user);
    const int32_t reg = fn_.reg_of(operand);
    const int words = reg >= 0 ? fn_.reg_words[reg] : 1;
    for (int w = 0; w < words; ++w) to.push_back(step(user, TimingClass::alu, parts, true));
  }
}

}  // namespace tcsim::sim::lowering
