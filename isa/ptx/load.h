// A module of which only some kernels run.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "isa/ptx/module.h"

namespace tcsim::isa {

/// load_module (isa/ptx/module.h) that links only the kernels named, so that nothing in the others can be in the way: a library's PTX
/// has many. All are linked when the list is empty or names one that the module lacks. (Library tcsim_module.)
std::unique_ptr<Module> load_kernels(std::string path, std::string text, Diagnostics& diags, std::span<const std::string> names);
std::unique_ptr<Module> load_kernels(std::string path, std::string text, Diagnostics& diags, std::span<const std::string> names,
                                     const Matcher& matcher);

}  // namespace tcsim::isa
