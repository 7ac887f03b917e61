#include "tools/launch/bind_symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tools/launch/document.h"

namespace tcsim::launch {
namespace {

bool is_pointer(const isa::Symbol& symbol) {
  return symbol.bytes == sizeof(uint64_t) && (symbol.type == isa::Type::u64 || symbol.type == isa::Type::b64);
}

/// What the table gives: its bytes, a buffer's address or a buffer's contents.
std::vector<uint8_t> value_of(const SymbolSpec& spec, const isa::Symbol& symbol, const LaunchFile& file, Workspace& work) {
  if (spec.buffer.empty()) return spec.bytes;
  const uint64_t address = work.address.at(spec.buffer) + static_cast<uint64_t>(spec.offset_bytes);
  if (is_pointer(symbol)) {
    std::vector<uint8_t> out(sizeof address);
    std::memcpy(out.data(), &address, sizeof address);
    return out;
  }
  const uint64_t size = file.find_buffer(spec.buffer)->bytes();
  const uint8_t* bytes = work.memory.map(work.address.at(spec.buffer), size);
  return {bytes, bytes + size};
}

void set_symbol(const SymbolSpec& spec, const LaunchFile& file, isa::Module& module, Workspace& work, Diagnostics& diags) {
  std::vector<std::string> names;
  for (const isa::Symbol& symbol : module.symbols)
    if (symbol.space == isa::Space::global || symbol.space == isa::Space::constant) names.push_back(symbol.name);
  const isa::Symbol* symbol = module.find_symbol(spec.name);
  if (!symbol || std::find(names.begin(), names.end(), spec.name) == names.end())
    return diags.error("launch-mismatch", spec.place,
                       fmt::format("'{}' has no .global or .const variable '{}'{}", module.path, spec.name, launch::suggestion(spec.name, names)));
  const std::vector<uint8_t> value = value_of(spec, *symbol, file, work);
  if (value.size() > symbol->bytes)
    return diags.error("launch-mismatch", spec.place,
                       fmt::format("{} bytes for variable '{}', which has {}", value.size(), spec.name, symbol->bytes));
  uint8_t* to =
      symbol->space == isa::Space::global ? work.memory.map(symbol->address, symbol->bytes) : module.constant_bytes.data() + symbol->address;
  std::copy(value.begin(), value.end(), to);
}

}  // namespace

void bind_symbols(const LaunchFile& file, isa::Module& module, Workspace& work, Diagnostics& diags) {
  isa::bind_globals(module, work.memory);
  for (const SymbolSpec& spec : file.symbols) set_symbol(spec, file, module, work, diags);
}

}  // namespace tcsim::launch
