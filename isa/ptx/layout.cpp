// Places of variables: the parameter bank, a CTA's shared memory, the .const window.
#include <algorithm>

#include <fmt/format.h>

#include "isa/exec/memory.h"
#include "isa/ptx/linker.h"

namespace tcsim::isa::ptx {
namespace {

uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

}  // namespace

// PTX ISA, "Kernel Function Parameters": parameters lie in order, each at its alignment (natural unless .align is given).
void KernelLinker::layout_params() {
  uint64_t offset = 0;
  for (const Formal& formal : entry_.params) {
    if (formal.variable < 0) continue;
    const Variable& v = ctx_.ast.variables[static_cast<size_t>(formal.variable)];
    offset = align_up(offset, v.symbol.align);
    Param param;
    param.name = v.symbol.name;
    param.type = v.symbol.type;
    param.bytes = static_cast<uint32_t>(v.symbol.bytes);
    param.align = v.symbol.align;
    param.offset = static_cast<uint32_t>(offset);
    param.is_pointer = v.is_pointer;
    param_offset_.emplace(formal.variable, param.offset);
    kernel_->params.push_back(std::move(param));
    offset += v.symbol.bytes;
    if (offset > kMaxKernelParamBytes) {
      error("syntax", v.line, v.col, fmt::format("found more than {} bytes of parameters, expected at most that", kMaxKernelParamBytes));
      return;
    }
  }
  kernel_->param_bytes = static_cast<uint32_t>(offset);
}

// Fixed variables first, then the extern arrays, which all start at the same place: where dynamic shared memory begins.
void KernelLinker::layout_shared() {
  uint64_t offset = 0;
  uint32_t dynamic_align = 1;
  for (auto& [variable, place] : shared_offset_) {
    const Symbol& symbol = ctx_.ast.variables[static_cast<size_t>(variable)].symbol;
    if (symbol.is_extern && symbol.bytes == 0) {
      dynamic_align = std::max(dynamic_align, symbol.align);
      continue;
    }
    offset = align_up(offset, symbol.align);
    place = static_cast<uint32_t>(offset);
    offset += symbol.bytes;
    if (offset > kSharedWindowBytes) {
      const Variable& v = ctx_.ast.variables[static_cast<size_t>(variable)];
      error("syntax", v.line, v.col, fmt::format("found more than {} bytes of .shared variables, expected fewer", kSharedWindowBytes));
      break;
    }
  }
  kernel_->shared_static_bytes = static_cast<uint32_t>(offset);
  kernel_->dynamic_shared_offset = static_cast<uint32_t>(align_up(offset, std::max(dynamic_align, 16u)));
  if (offset == 0) kernel_->dynamic_shared_offset = 0;
  for (auto& [variable, place] : shared_offset_) {
    const Symbol& symbol = ctx_.ast.variables[static_cast<size_t>(variable)].symbol;
    if (symbol.is_extern && symbol.bytes == 0) place = kernel_->dynamic_shared_offset;
    kernel_->shared_symbols.emplace_back(static_cast<uint32_t>(ctx_.symbol_of[static_cast<size_t>(variable)]), place);
  }
}

}  // namespace tcsim::isa::ptx
