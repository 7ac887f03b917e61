// The launch file that `tcsim run` prints for a kernel when none is given.
#include <fmt/format.h>

#include "tools/launch/prepare.h"

namespace tcsim::launch {
namespace {

bool is_tensormap(const isa::Param& param) {
  return (param.type == isa::Type::b8 || param.type == isa::Type::u8) && param.bytes == sizeof(isa::TensorMapBytes);
}

std::string argument_for(const isa::Param& param, char buffer) {
  using isa::Type;
  if (is_tensormap(param)) return fmt::format("{{ tensormap = \"map{}\" }}", buffer);
  if (param.is_pointer) return fmt::format("{{ buffer = \"{}\" }}", buffer);
  switch (param.type) {
    case Type::u8:
    case Type::b8: return param.bytes == 1 ? "{ u8 = 0 }" : fmt::format("{{ bytes = \"{:0>{}}\" }}", "", 2 * param.bytes);
    case Type::s8: return "{ i8 = 0 }";
    case Type::s16: return "{ i16 = 0 }";
    case Type::u16:
    case Type::b16: return "{ u16 = 0 }";
    case Type::f16: return "{ f16 = 0.0 }";
    case Type::bf16: return "{ bf16 = 0.0 }";
    case Type::s32:
    case Type::u32:
    case Type::b32: return "{ i32 = 0 }";
    case Type::f32: return "{ f32 = 0.0 }";
    case Type::f64: return "{ f64 = 0.0 }";
    case Type::s64: return "{ i64 = 0 }";
    default: break;
  }
  return param.bytes == 8 ? "{ u64 = 0 }" : fmt::format("{{ bytes = \"{:0>{}}\" }}", "", 2 * param.bytes);
}

std::string block_for(const isa::Kernel& kernel, const TritonMetadata* triton) {
  const auto dims = [](const std::array<uint32_t, 3>& d) { return fmt::format("[{}, {}, {}]", d[0], std::max(1u, d[1]), std::max(1u, d[2])); };
  if (kernel.reqntid[0]) return dims(kernel.reqntid) + "               # .reqntid";
  if (triton && triton->threads) return fmt::format("[{}, 1, 1]               # num_warps of {}", triton->threads, triton->path);
  if (kernel.maxntid[0]) return dims(kernel.maxntid) + "               # .maxntid";
  return "[128, 1, 1]";
}

bool uses_dynamic_shared(const isa::Module& module) {
  for (const isa::Symbol& symbol : module.symbols)
    if (symbol.is_extern && symbol.space == isa::Space::shared) return true;
  return false;
}

}  // namespace

std::string launch_template(const isa::Module& module, const isa::Kernel& kernel, const TritonMetadata* triton) {
  std::string out = fmt::format("# {}: kernel '{}', {} parameters, {} B of static shared memory{}\n", module.path, kernel.name, kernel.params.size(),
                                kernel.shared_static_bytes, uses_dynamic_shared(module) ? ", and dynamic shared memory" : "");
  out += fmt::format("entry = \"{}\"\ngrid = [1, 1, 1]\nblock = {}\n", kernel.name, block_for(kernel, triton));
  if (triton || uses_dynamic_shared(module)) out += fmt::format("dynamic_smem_bytes = {}\n", triton ? triton->dynamic_smem_bytes : 0);
  out += "\nargs = [\n";
  std::string buffers, maps;
  for (const isa::Param& param : kernel.params) {
    const char letter = static_cast<char>('A' + buffers.size() % 26);
    out += fmt::format("  {},  # {} (.{}, {} B)\n", argument_for(param, letter), param.name, isa::name(param.type), param.bytes);
    if (param.is_pointer || is_tensormap(param)) buffers += letter;
    if (is_tensormap(param)) maps += letter;
  }
  out += "]\n";
  for (const char letter : buffers) out += fmt::format("\n[buffer.{}]\ndtype = \"f16\"\nshape = [1024, 1024]\ninit = \"normal\"\n", letter);
  for (const char letter : maps)
    out += fmt::format("\n[tensormap.map{}]\nbuffer = \"{}\"\nbox = [64, 64]               # innermost first\nswizzle = \"128B\"\n", letter, letter);
  return out;
}

}  // namespace tcsim::launch
