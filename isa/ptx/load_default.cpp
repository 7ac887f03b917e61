#include "isa/ptx/load.h"
#include "isa/syntax/matcher.h"

namespace tcsim::isa {

std::unique_ptr<Module> load_module(std::string path, std::string text, Diagnostics& diags) {
  return load_module(std::move(path), std::move(text), diags, default_matcher());
}

std::unique_ptr<Module> load_kernels(std::string path, std::string text, Diagnostics& diags, std::span<const std::string> names) {
  return load_kernels(std::move(path), std::move(text), diags, names, default_matcher());
}

}  // namespace tcsim::isa
