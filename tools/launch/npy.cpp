#include "tools/launch/npy.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "workloads/common/dtype.h"

namespace tcsim::launch {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

/// Text after `key':` in the header's Python dictionary.
std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

bool parse_shape(std::string_view text, std::vector<int64_t>& shape) {
  if (text.empty() || text.front() != '(') return false;
  text.remove_prefix(1);
  while (true) {
    while (!text.empty() && (text.front() == ' ' || text.front() == ',')) text.remove_prefix(1);
    if (text.empty()) return false;
    if (text.front() == ')') return true;
    int64_t extent = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (code != std::errc{} || extent < 0) return false;
    shape.push_back(extent);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
}

}  // namespace

bool is_npy(std::span<const uint8_t> bytes) { return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0; }

std::optional<NpyArray> parse_npy(std::span<const uint8_t> bytes, std::string& error) {
  if (!is_npy(bytes) || bytes.size() < 12) {
    error = "not a .npy file";
    return std::nullopt;
  }
  const bool wide = bytes[6] >= 2;
  const size_t start = wide ? 12 : 10;
  const size_t length = bytes[8] | size_t{bytes[9]} << 8 | (wide ? size_t{bytes[10]} << 16 | size_t{bytes[11]} << 24 : 0);
  if (length > bytes.size() - start) {
    error = "its header is cut off";
    return std::nullopt;
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + start, length);
  NpyArray out;
  const std::string_view descr = value_of(header, "descr");
  if (descr.size() >= 5 && descr.front() == '\'') out.descr = descr.substr(1, descr.find('\'', 1) - 1);
  if (out.descr.empty() || !parse_shape(value_of(header, "shape"), out.shape)) {
    error = "its header has no plain 'descr' and 'shape'";
    return std::nullopt;
  }
  if (!value_of(header, "fortran_order").starts_with("False")) {
    error = "it is in Fortran order, expected C order";
    return std::nullopt;
  }
  if (out.descr.front() == '>') {
    error = "it is big-endian, expected little-endian";
    return std::nullopt;
  }
  out.data.assign(bytes.begin() + static_cast<ptrdiff_t>(start + length), bytes.end());
  return out;
}

std::string npy_descr(isa::Type dtype) {
  using isa::Type;
  switch (dtype) {
    case Type::f16: return "<f2";
    case Type::f32:
    case Type::tf32: return "<f4";
    case Type::f64: return "<f8";
    case Type::s8: return "|i1";
    case Type::s32: return "<i4";
    case Type::s64: return "<i8";
    case Type::u32: return "<u4";
    case Type::u64: return "<u8";
    case Type::bf16: return "<u2";
    default: return "|u1";
  }
}

std::string npy_header(isa::Type dtype, std::vector<int64_t> shape) {
  if (const int bits = wl::storage_bits(dtype); bits < 8 && !shape.empty()) shape.back() = (shape.back() * bits + 7) / 8;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", npy_descr(dtype), fmt::join(shape, ", "),
                                   shape.size() == 1 ? "," : "");
  // The data starts at a multiple of 64 bytes (NumPy's format.py), the header ends with a newline.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header;
}

}  // namespace tcsim::launch
