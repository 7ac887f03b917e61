// .global variables get memory; everything that holds their addresses is filled in.
#include <algorithm>
#include <cstring>

#include "isa/exec/memory.h"
#include "isa/ptx/module.h"

namespace tcsim::isa {
namespace {

uint64_t window_of(Space space) {
  switch (space) {
    case Space::shared: return kSharedWindow;
    case Space::local: return kLocalWindow;
    case Space::constant: return kConstantWindow;
    default: return 0;
  }
}

void write_addresses(Module& module, const Symbol& symbol, uint8_t* to, uint64_t bytes) {
  for (const AddressInit& init : symbol.init_addresses) {
    const Symbol* target = module.find_symbol(init.symbol);
    if (!target) continue;  // a function: calls through tables are refused when the kernel is linked
    uint64_t value = target->address + static_cast<uint64_t>(init.addend);
    if (init.generic) value += window_of(target->space);
    value >>= init.shift;
    if (init.offset <= bytes && init.bytes <= bytes - init.offset) std::memcpy(to + init.offset, &value, std::min(init.bytes, 8u));
  }
}

void patch(const Module& module, const GlobalFixup& fixup) {
  const uint64_t value = module.symbols[fixup.symbol].address + static_cast<uint64_t>(fixup.addend);
  fixup.operand->value = static_cast<int64_t>(value);
  if (!fixup.lanes || fixup.operand->kind != Operand::Kind::constant) return;
  // bind may have given the operand lanes of another width than the decoder did: those that it points to count.
  auto* lanes = const_cast<void*>(fixup.operand->lanes);
  for (int l = 0; l < 32; ++l) {
    if (fixup.operand->bit_width <= 32) static_cast<uint32_t*>(lanes)[l] = static_cast<uint32_t>(value);
    else static_cast<uint64_t*>(lanes)[fixup.operand->bit_width == 128 ? 2 * l : l] = value;
  }
}

}  // namespace

void bind_globals(Module& module, GlobalMemory& memory) {
  for (Symbol& symbol : module.symbols) {
    if (symbol.space != Space::global) continue;
    const uint64_t bytes = std::max<uint64_t>(symbol.bytes, 1);
    symbol.address = memory.allocate(symbol.name, bytes, std::max(symbol.align, 256u));
    if (uint8_t* to = memory.map(symbol.address, bytes)) std::copy(symbol.init.begin(), symbol.init.end(), to);
  }
  for (const Symbol& symbol : module.symbols) {
    if (symbol.init_addresses.empty()) continue;
    if (symbol.space == Space::global) {
      if (uint8_t* to = memory.map(symbol.address, symbol.bytes)) write_addresses(module, symbol, to, symbol.bytes);
    } else if (symbol.space == Space::constant) {
      write_addresses(module, symbol, module.constant_bytes.data() + symbol.address, symbol.bytes);
    }
  }
  for (const GlobalFixup& fixup : module.fixups) patch(module, fixup);
}

}  // namespace tcsim::isa
