#include "isa/syntax/matcher.h"

namespace tcsim::isa {

std::unique_ptr<Module> load_module(std::string path, std::string text, Diagnostics& diags) {
  return load_module(std::move(path), std::move(text), diags, default_matcher());
}

}  // namespace tcsim::isa
