#include "tools/tcsim/lane_addresses.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>

namespace tcsim::tool {
namespace {

constexpr int64_t kLargest = 1 << 24;

/// A number at `at`, decimal or 0x; moves `at` behind it.
bool number(const std::string& line, size_t& at, int64_t& out) {
  const bool hex = line.compare(at, 2, "0x") == 0 || line.compare(at, 2, "0X") == 0;
  const char *first = line.data() + at + (hex ? 2 : 0), *last = line.data() + line.size();
  const auto [end, e] = std::from_chars(first, last, out, hex ? 16 : 10);
  if (e != std::errc() || out < 0 || out >= kLargest) return false;
  at = static_cast<size_t>(end - line.data());
  return true;
}

}  // namespace

std::vector<layout::RowStart> read_lane_addresses(const std::string& path, const std::string& kind, Diagnostics& diags) {
  std::vector<layout::RowStart> out;
  std::ifstream in(path);
  if (!in) return diags.error(kind, {path, 0, 0}, "cannot read the file"), out;
  std::string line;
  for (uint32_t count = 1; std::getline(in, line); ++count) {
    line = line.substr(0, line.find('#'));
    std::vector<int64_t> numbers;
    for (size_t at = line.find_first_not_of(" \t\r"); at < line.size(); at = line.find_first_not_of(" \t\r,", at)) {
      const size_t start = at;
      int64_t value = 0;
      if (numbers.size() == 2 || !number(line, at, value) ||
          (at < line.size() && std::string_view(" \t\r,").find(line[at]) == std::string_view::npos))
        return diags.error(kind, {path, count, static_cast<uint32_t>(start + 1)},
                           fmt::format("found '{}', expected one byte offset or row,column, below {:#x}", line.substr(start), kLargest)),
               out;
      numbers.push_back(value);
    }
    if (numbers.empty()) continue;
    const layout::RowStart one =
        numbers.size() == 1 ? layout::RowStart{.is_bytes = true, .byte = numbers[0]} : layout::RowStart{.row = numbers[0], .col = numbers[1]};
    if (!out.empty() && out[0].is_bytes != one.is_bytes)
      return diags.error(kind, {path, count, 1},
                         fmt::format("found {}, expected {} as in the lines above", one.is_bytes ? "a byte offset" : "row,column",
                                     one.is_bytes ? "row,column" : "a byte offset")),
             out;
    out.push_back(one);
  }
  if (out.empty()) diags.error(kind, {path, 0, 0}, "no addresses in the file, expected 32, one a line");
  return out;
}

}  // namespace tcsim::tool
