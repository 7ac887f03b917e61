#include "isa/insn/common.h"

#include <fmt/format.h>

namespace tcsim::isa {
namespace {

/// 32 equal lanes of an immediate in a given width, owned by the kernel.
const void* spread(Kernel& kernel, uint64_t value, int width) {
  auto& lanes = kernel.constant_store.emplace_back();
  if (width <= 32) {
    auto* words = reinterpret_cast<uint32_t*>(lanes.data());
    for (int l = 0; l < kLanes; ++l) words[l] = static_cast<uint32_t>(value);
  } else {
    for (int l = 0; l < kLanes; ++l) lanes[l] = value;
  }
  return lanes.data();
}

}  // namespace

std::string expect_operands(Inst& inst, const Decoded& decoded, std::initializer_list<Type> types) {
  int position = 0;
  for (const Type type : types) {
    const int i = position++;
    if (type == Type::none || i >= inst.group_count) continue;
    const Operand& op = inst.operand(i);
    if (op.kind == Operand::Kind::sink) continue;
    const int wanted = register_bits(type);
    if (wanted == 1) {
      if (op.kind != Operand::Kind::pred) return fmt::format("operand {} is not a predicate, expected .pred", i + 1);
      continue;
    }
    if (op.kind == Operand::Kind::constant) {
      if (i == 0) return "the destination is an immediate, expected a register";
      const int width = op.bit_width <= 32 ? 32 : op.bit_width;
      if (width == wanted && op.lanes) continue;
      if (!decoded.kernel) return fmt::format("operand {} has {} bits, expected {}", i + 1, width, wanted);
      Operand& own = const_cast<Operand&>(op);  // operands live in the kernel's operand_store, which bind may prepare
      own.bit_width = static_cast<uint8_t>(wanted);
      own.lanes = spread(*decoded.kernel, static_cast<uint64_t>(op.value), wanted);
      continue;
    }
    if (op.kind != Operand::Kind::reg)
      return fmt::format("operand {} is not a register, expected a {}-bit register for .{}", i + 1, wanted, name(type));
    const int width = op.bit_width <= 32 ? 32 : op.bit_width;
    if (width != wanted) return fmt::format("operand {} is a {}-bit register, expected {} bits for .{}", i + 1, width, wanted, name(type));
  }
  return {};
}

}  // namespace tcsim::isa
