#include "sim/lower/banks.h"

#include <algorithm>
#include <array>

namespace tcsim::sim::lowering {

namespace {

constexpr int8_t kUnknown = -1;

/// Operations whose three operands pass the banks at issue; memory and matrix operations read over several cycles.
bool reads_at_issue(TimingClass timing) {
  switch (timing) {
    case TimingClass::alu:
    case TimingClass::isetp:
    case TimingClass::imad:
    case TimingClass::imad_wide:
    case TimingClass::fma:
    case TimingClass::half: return true;
    default: return false;
  }
}

}  // namespace

Banks::Banks(const Function& fn) : fn_(fn), of_register_(fn.reg_count, kUnknown), of_temporary_(fn.values.size(), kUnknown) {
  const auto banks = static_cast<int32_t>(std::max(1u, fn.machine.regfile.banks));
  for (int32_t reg = 0; reg < fn.reg_count; ++reg)
    if (fn.vector_place[reg] >= 0) of_register_[reg] = static_cast<int8_t>(fn.vector_place[reg] % banks);
}

void Banks::start_block() { held_.clear(); }

int8_t& Banks::bank(ValueId id) {
  const Value& value = fn_.values[id];
  return value.reg >= 0 ? of_register_[value.reg] : of_temporary_[id];
}

uint32_t Banks::read_cycles(const MOp& op) {
  if (!reads_at_issue(op.timing)) return 0;
  const cfg::RegisterFile& file = fn_.machine.regfile;
  std::array<uint32_t, 8> reads{};
  const uint32_t banks = std::clamp(file.banks, 1u, 8u);
  std::vector<ValueId> operands;
  for (ValueId id : op.uses)
    if (fn_.values[id].words > 0 && operands.size() < 3 && std::find(operands.begin(), operands.end(), id) == operands.end()) operands.push_back(id);
  for (ValueId id : operands)
    if (bank(id) != kUnknown && std::find(held_.begin(), held_.end(), id) == held_.end()) ++reads[static_cast<size_t>(bank(id)) % banks];
  for (ValueId id : operands) {
    if (bank(id) != kUnknown) continue;
    const auto least = std::min_element(reads.begin(), reads.begin() + banks) - reads.begin();
    bank(id) = static_cast<int8_t>(least);
    ++reads[static_cast<size_t>(least)];
  }
  held_ = std::move(operands);
  if (held_.size() > file.reuse_slots) held_.resize(file.reuse_slots);
  const uint32_t most = *std::max_element(reads.begin(), reads.begin() + banks);
  const uint32_t ports = std::max(1u, file.read_ports_per_bank);
  const uint32_t cycles = (most + ports - 1) / ports, interval = std::max(1u, fn_.machine.of(op.timing).interval);
  return cycles > interval ? cycles - interval : 0;
}

}  // namespace tcsim::sim::lowering
