#include "isa/insn/operands.h"

#include <fmt/format.h>

namespace tcsim::isa {

std::string expect_value(const Operand& op, const Decoded& decoded, int width, bool wider, std::string_view what) {
  const int wanted = width <= 32 ? 32 : width;
  if (op.kind == Operand::Kind::constant) {
    if (op.lanes && (op.bit_width <= 32 ? 32 : op.bit_width) == wanted) return {};
    if (!decoded.kernel || wanted > 64) return fmt::format("{} is an immediate of {} bits, expected {}", what, op.bit_width, wanted);
    auto& lanes = decoded.kernel->constant_store.emplace_back();
    if (wanted == 32) {
      auto* words = reinterpret_cast<uint32_t*>(lanes.data());
      for (int l = 0; l < kLanes; ++l) words[l] = static_cast<uint32_t>(op.value);
    } else {
      for (int l = 0; l < kLanes; ++l) lanes[static_cast<size_t>(l)] = static_cast<uint64_t>(op.value);
    }
    Operand& own = const_cast<Operand&>(op);  // operands live in the kernel's operand_store, which bind may prepare
    own.bit_width = static_cast<uint8_t>(wanted);
    own.lanes = lanes.data();
    return {};
  }
  if (op.kind != Operand::Kind::reg) return fmt::format("{} is not a register or an immediate", what);
  const int has = op.bit_width <= 32 ? 32 : op.bit_width;
  if (has == wanted || (wider && has > wanted)) return {};
  return fmt::format("{} is a {}-bit register, expected {} bits", what, op.bit_width, width);
}

std::string expect_group(const Inst& inst, int group, const Decoded& decoded, int width, bool wider, bool destination) {
  if (group >= inst.group_count) return fmt::format("operand {} is missing", group + 1);
  int element = 0;
  for (const Operand& op : inst.group(group)) {
    ++element;
    if (destination && op.kind == Operand::Kind::sink) continue;
    const std::string what =
        inst.group(group).size() == 1 ? fmt::format("operand {}", group + 1) : fmt::format("element {} of operand {}", element, group + 1);
    if (destination && op.kind != Operand::Kind::reg) return what + " is not a register";
    if (auto error = expect_value(op, decoded, width, wider, what); !error.empty()) return error;
  }
  return {};
}

std::string expect_address(const Inst& inst, int group) {
  if (group < inst.group_count && inst.operand(group).kind == Operand::Kind::address) return {};
  return fmt::format("operand {} is not an address, expected [address]", group + 1);
}

std::string expect_pred(const Inst& inst, int group) {
  if (group < inst.group_count && inst.operand(group).kind == Operand::Kind::pred) return {};
  return fmt::format("operand {} is not a predicate, expected a predicate", group + 1);
}

Space space_of(const Inst& inst, const Decoded& decoded, int address_group) {
  const std::string_view ss = decoded.value("ss");
  const Space symbol = address_group < inst.group_count ? inst.operand(address_group).space : Space::none;
  const auto starts = [ss](std::string_view prefix) { return ss.substr(0, prefix.size()) == prefix; };
  if (ss == "global") return Space::global;
  if (ss == "shared::cluster") return Space::shared_cluster;
  if (starts("shared")) return Space::shared;
  if (ss == "local") return Space::local;
  // A .param variable of an inlined function lives where the front end put it.
  if (starts("param")) return symbol == Space::local || symbol == Space::shared ? symbol : Space::param;
  if (starts("const")) return Space::constant;
  return symbol == Space::none ? Space::generic : symbol;
}

}  // namespace tcsim::isa
