#include "sim/trace/shared_names.h"

#include <fmt/format.h>

namespace tcsim::sim {

std::string SharedPlace::str() const {
  if (is_array) return fmt::format("{}[{}]", symbol, index);
  return offset == 0 ? symbol : fmt::format("{}+{}", symbol, offset);
}

SharedPlace shared_place(const isa::Module& module, const isa::Kernel& kernel, uint32_t offset) {
  constexpr uint64_t kWord = 8;  // bytes of an mbarrier
  SharedPlace best{.symbol = "shared", .offset = offset};
  for (const auto& [index, start] : kernel.shared_symbols) {
    const isa::Symbol& symbol = module.symbols[index];
    const bool dynamic = symbol.bytes == 0;
    if (offset < start || (!dynamic && offset >= start + symbol.bytes)) continue;
    const uint64_t in = offset - start;
    const bool words = isa::bits(symbol.type) == 8 * kWord && symbol.bytes > kWord && in % kWord == 0;
    best = {symbol.name, in, words, in / kWord};
    if (!dynamic) break;
  }
  return best;
}

}  // namespace tcsim::sim
