// Any bytes as a machine file: diagnostics or a machine, never a crash. The first line, if it begins with
// "set ", is --set.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/config/load.h"
#include "sim/config/show.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::pair<std::string, std::string>> set;
  if (text.starts_with("set ")) {
    const std::string_view line = text.substr(4, text.find('\n') == std::string_view::npos ? text.size() : text.find('\n') - 4);
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos) set.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    text.remove_prefix(std::min(text.size(), text.find('\n') == std::string_view::npos ? text.size() : text.find('\n') + 1));
  }
  tcsim::Diagnostics diags;
  // A base would be read from disk by name: only the built-in ones are reached here, which is fine.
  if (auto machine = tcsim::cfg::load_machine_text(text, "fuzz.toml", set, diags)) tcsim::cfg::show_machine(*machine);
  return 0;
}
