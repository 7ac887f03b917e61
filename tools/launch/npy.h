// NumPy's .npy files (format versions 1 and 2), dense and in C order: header plus raw little-endian elements.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isa/type.h"

namespace tcsim::launch {

struct NpyArray {
  std::string descr;  // "<f2", "|i1", ...
  std::vector<int64_t> shape;
  std::vector<uint8_t> data;
};

bool is_npy(std::span<const uint8_t> bytes);
/// nullopt with the reason in `error`.
std::optional<NpyArray> parse_npy(std::span<const uint8_t> bytes, std::string& error);
/// Types that NumPy lacks are stored as unsigned integers of their width (packed types as bytes, with the
/// last extent in bytes).
std::string npy_header(isa::Type dtype, std::vector<int64_t> shape);
/// NumPy's name of a dtype ("<f2"); types that NumPy lacks give "<u2" or "|u1".
std::string npy_descr(isa::Type dtype);

}  // namespace tcsim::launch
