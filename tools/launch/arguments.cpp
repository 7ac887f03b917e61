// Arguments and patches of the launch file.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "tools/launch/parse_common.h"
#include "workloads/common/dtype.h"

namespace tcsim::launch {
namespace {

struct ScalarType {
  const char* name;
  isa::Type type;
  int64_t low, high;  // integers only
};
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min(), kMax64 = std::numeric_limits<int64_t>::max();
const std::array<ScalarType, 12> kScalars{{{"i8", isa::Type::s8, -128, 127},
                                           {"u8", isa::Type::u8, 0, 255},
                                           {"i16", isa::Type::s16, -32768, 32767},
                                           {"u16", isa::Type::u16, 0, 65535},
                                           {"i32", isa::Type::s32, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()},
                                           {"u32", isa::Type::u32, 0, std::numeric_limits<uint32_t>::max()},
                                           {"i64", isa::Type::s64, kMin64, kMax64},
                                           {"u64", isa::Type::u64, 0, kMax64},
                                           {"f16", isa::Type::f16, 0, 0},
                                           {"bf16", isa::Type::bf16, 0, 0},
                                           {"f32", isa::Type::f32, 0, 0},
                                           {"f64", isa::Type::f64, 0, 0}}};

std::vector<uint8_t> little_endian(uint64_t bits, int count) {
  std::vector<uint8_t> out(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) out[static_cast<size_t>(i)] = static_cast<uint8_t>(bits >> (8 * i));
  return out;
}

/// The scalar that the argument gives; false when the key is absent.
bool parse_scalar(TableReader& reader, const ScalarType& scalar, Argument& out) {
  out.type = scalar.type;
  const int bytes = wl::storage_bits(scalar.type) / 8;
  if (wl::is_integer(scalar.type)) {
    int64_t value = 0;
    const bool there = reader.find(scalar.name) != nullptr;
    reader.get(scalar.name, value, scalar.low, scalar.high);
    out.bytes = little_endian(static_cast<uint64_t>(value), bytes);
    return there;
  }
  double value = 0;
  const bool there = reader.find(scalar.name) != nullptr;
  reader.get(scalar.name, value);
  out.bytes = little_endian(wl::encode(scalar.type, value), bytes);
  return there;
}

Argument parse_argument(const LaunchFile& file, const Node& table, Diagnostics& diags) {
  TableReader reader(table, "argument", diags);
  Argument out;
  out.place = table.place;
  int kinds = 0;
  bool null = false;
  std::string text;
  if (reader.get("buffer", out.name)) {
    out.kind = Argument::Kind::buffer;
    ++kinds;
  }
  if (reader.get("tensormap", out.name)) {
    out.kind = Argument::Kind::tensormap;
    ++kinds;
  }
  if (reader.get("null", null)) {
    out.kind = Argument::Kind::null;
    out.bytes.assign(8, 0);
    if (!null) reader.error(table.place, "'null' is false, expected true");
    ++kinds;
  }
  if (reader.get("bytes", text)) {
    out.kind = Argument::Kind::bytes;
    if (auto bytes = read_bytes_value(file, text, reader.find("bytes")->place, diags)) out.bytes = std::move(*bytes);
    ++kinds;
  }
  for (const ScalarType& scalar : kScalars) {
    Argument value;
    if (!parse_scalar(reader, scalar, value)) continue;
    out.kind = Argument::Kind::scalar;
    out.type = value.type;
    out.bytes = value.bytes;
    ++kinds;
  }
  reader.get("offset_bytes", out.offset_bytes, kMin64, kMax64);
  out.patches = parse_patches(reader);
  if (kinds != 1)
    reader.error(table.place, fmt::format("an argument gives {} values, expected exactly one of buffer, tensormap, bytes, null, i8 u8 "
                                          "i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64",
                                          kinds));
  else if (reader.find("offset_bytes") && out.kind != Argument::Kind::buffer)
    reader.error(reader.find("offset_bytes")->place, "'offset_bytes' belongs to a buffer argument");
  else if (!out.patches.empty() && out.kind != Argument::Kind::bytes)
    reader.error(reader.find("patch")->place, "'patch' belongs to a bytes argument");
  reader.finish();
  return out;
}

}  // namespace

std::optional<std::vector<uint8_t>> bytes_from_hex(std::string_view text) {
  std::vector<uint8_t> out;
  int high = -1;
  for (const char c : text) {
    if (c == ' ' || c == '_' || c == '\n' || c == '\t') continue;
    int digit = 0;
    if (c >= '0' && c <= '9') digit = c - '0';
    else if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    else return std::nullopt;
    if (high < 0) {
      high = digit;
    } else {
      out.push_back(static_cast<uint8_t>(high << 4 | digit));
      high = -1;
    }
  }
  if (high >= 0) return std::nullopt;
  return out;
}

std::optional<std::vector<uint8_t>> read_bytes(const std::string& path, const Place& place, Diagnostics& diags) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (in) content << in.rdbuf();
  if (!in) {
    diags.error("launch-mismatch", place, fmt::format("cannot read '{}': {}", path, std::strerror(errno ? errno : EIO)));
    return std::nullopt;
  }
  const std::string text = std::move(content).str();
  return std::vector<uint8_t>(text.begin(), text.end());
}

std::optional<std::vector<uint8_t>> read_bytes_value(const LaunchFile& file, const std::string& text, const Place& place, Diagnostics& diags) {
  if (text.starts_with("file:")) return read_bytes(file.resolve(text.substr(5)), place, diags);
  auto bytes = bytes_from_hex(text);
  if (!bytes) diags.error("launch-mismatch", place, fmt::format("'bytes' is '{}', expected pairs of hex digits or 'file:PATH'", text.substr(0, 40)));
  return bytes;
}

std::vector<Patch> parse_patches(TableReader& parent) {
  std::vector<Patch> out;
  for (const Node* table : parent.tables("patch")) {
    TableReader reader(*table, "patch", parent.diags());
    Patch patch;
    patch.place = table->place;
    int64_t offset = 0;
    if (!reader.get("offset", offset, 0, kMax64) && !reader.find("offset")) reader.error(table->place, "a patch needs 'offset'");
    patch.offset = static_cast<uint64_t>(offset);
    reader.get("buffer", patch.buffer);
    reader.get("tensormap", patch.tensormap);
    reader.get("offset_bytes", patch.offset_bytes, kMin64, kMax64);
    if (patch.buffer.empty() == patch.tensormap.empty()) reader.error(table->place, "a patch gives either 'buffer' or 'tensormap'");
    reader.finish();
    out.push_back(std::move(patch));
  }
  return out;
}

std::vector<Argument> parse_arguments(const LaunchFile& file, TableReader& reader) {
  std::vector<Argument> out;
  for (const Node* table : reader.tables("args")) out.push_back(parse_argument(file, *table, reader.diags()));
  return out;
}

}  // namespace tcsim::launch
