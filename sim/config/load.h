// Parts of the loader that tools and tests use directly; everybody else calls load_machine() in machine.h.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/machine.h"

namespace tcsim::cfg {

struct MachineText {
  std::string path, text;
};

/// Text of a built-in machine, else of a file (tried as given, then in the folder `beside`).
std::optional<MachineText> machine_text(const std::string& name_or_path, const std::string& beside);

/// Loads from text; `path` is what messages call it.
std::optional<Machine> load_machine_text(std::string_view text, const std::string& path, const std::vector<std::pair<std::string, std::string>>& set,
                                         Diagnostics& diags);

/// The known word nearest to what was written, for "did you mean"; "" when nothing is near.
std::string nearest_word(std::string_view written, const std::set<std::string>& known);

}  // namespace tcsim::cfg
