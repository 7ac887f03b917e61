// Lists and ranges of a sweep's options: "1,2,8:16:4" is 1 2 8 12 16. Each function returns what is wrong with the text, "" when nothing is.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tcsim::tool {

/// Values of one option at most: a range with a step forgotten is a mistake.
constexpr size_t kMostValues = 4096;

/// Commas split; those within brackets or quotes do not ("[16,18]" is one value). Empty parts are dropped.
std::vector<std::string> split_list(const std::string& text);

/// Numbers and ranges lo:hi[:step], both ends included.
std::string parse_numbers(const std::string& text, std::vector<uint32_t>& out);

/// "64x64x32,64:256:64x128x32": tuples of numbers or ranges, the last extent fastest. Tiles (N of 3) take no range without a step.
template <size_t N>
std::string parse_extents(const std::string& text, std::vector<std::array<uint32_t, N>>& out);
extern template std::string parse_extents<2>(const std::string&, std::vector<std::array<uint32_t, 2>>&);
extern template std::string parse_extents<3>(const std::string&, std::vector<std::array<uint32_t, 3>>&);

/// "smem.banks=32,64" -> {"smem.banks", {"32", "64"}}; ranges of whole numbers are expanded.
using MachineValues = std::pair<std::string, std::vector<std::string>>;
std::string parse_machine_values(const std::string& text, MachineValues& out);

}  // namespace tcsim::tool
