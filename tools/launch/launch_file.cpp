#include "tools/launch/launch_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "tools/launch/parse_common.h"
#include "workloads/common/dtype.h"

namespace tcsim::launch {
namespace {

constexpr int64_t kMaxUint32 = 0xffffffffll;

std::optional<isa::Dim3> parse_dim3(TableReader& reader, const std::string& key) {
  const Node* node = reader.find(key);
  if (!node) return std::nullopt;
  std::vector<int64_t> values;
  if (!reader.get(key, values, 1, kMaxUint32)) return isa::Dim3{};
  if (values.empty() || values.size() > 3) {
    reader.error(node->place, fmt::format("'{}' has {} numbers, expected 1 to 3", key, values.size()));
    return isa::Dim3{};
  }
  values.resize(3, 1);
  return isa::Dim3{static_cast<uint32_t>(values[0]), static_cast<uint32_t>(values[1]), static_cast<uint32_t>(values[2])};
}

Place place_or(TableReader& reader, const std::string& key) {
  const Node* node = reader.find(key);
  return node ? node->place : reader.place();
}

LaunchSpec parse_launch(const LaunchFile& file, TableReader& reader) {
  LaunchSpec out;
  out.place = reader.place();
  if (out.place.line == 0) out.place = {file.path, 0, 0};
  reader.get("entry", out.entry);
  if (auto grid = parse_dim3(reader, "grid")) out.grid = *grid;
  else reader.error(out.place, "'grid' is missing: the number of CTAs, for example grid = [64, 1, 1]");
  out.block = parse_dim3(reader, "block");
  out.cluster = parse_dim3(reader, "cluster");
  uint32_t smem = 0;
  if (reader.get("dynamic_smem_bytes", smem, 0, kMaxUint32)) out.dynamic_smem_bytes = smem;
  out.args = parse_arguments(file, reader);
  out.entry_place = place_or(reader, "entry");
  out.grid_place = place_or(reader, "grid");
  out.block_place = place_or(reader, "block");
  out.smem_place = place_or(reader, "dynamic_smem_bytes");
  out.args_place = place_or(reader, "args");
  return out;
}

void parse_launches(LaunchFile& file, TableReader& root) {
  if (!root.find("launch")) {
    file.launches.push_back(parse_launch(file, root));
    return;
  }
  for (const Node* table : root.tables("launch")) {
    TableReader reader(*table, "[[launch]]", root.diags());
    file.launches.push_back(parse_launch(file, reader));
    reader.finish();
  }
  for (const char* key : {"entry", "grid", "block", "cluster", "dynamic_smem_bytes", "args"})
    if (const Node* node = root.find(key)) root.error(node->place, fmt::format("'{}' beside [[launch]]: move it into the [[launch]] table", key));
}

void parse_symbols(LaunchFile& file, TableReader& root) {
  const Node* section = root.table("symbol");
  if (!section) return;
  for (const Entry& entry : section->entries) {
    SymbolSpec out;
    out.place = entry.place;
    out.name = entry.key;
    if (entry.value.kind != Node::Kind::table) {
      root.error(entry.value.place, fmt::format("'symbol.{}' is {}, expected a table", entry.key, name(entry.value.kind)));
      continue;
    }
    TableReader reader(entry.value, fmt::format("[symbol.{}]", entry.key), root.diags());
    reader.get("buffer", out.buffer);
    reader.get("offset_bytes", out.offset_bytes, INT64_MIN, INT64_MAX);
    std::string text;
    const bool has_bytes = reader.get("bytes", text);
    if (has_bytes)
      if (auto bytes = read_bytes_value(file, text, reader.find("bytes")->place, root.diags())) out.bytes = std::move(*bytes);
    if (has_bytes == !out.buffer.empty()) reader.error(entry.place, fmt::format("[symbol.{}] gives either 'buffer' or 'bytes'", entry.key));
    reader.finish();
    file.symbols.push_back(std::move(out));
  }
}

template <class T>
const T* find_named(const std::vector<T>& items, std::string_view name) {
  for (const T& item : items)
    if (item.name == name) return &item;
  return nullptr;
}

}  // namespace

uint64_t BufferSpec::elements() const {
  uint64_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
  return count;
}

uint64_t BufferSpec::bytes() const {
  uint64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) last += static_cast<uint64_t>(shape[i] - 1) * static_cast<uint64_t>(strides[i]);
  return ((last + 1) * static_cast<uint64_t>(wl::storage_bits(dtype)) + 7) / 8;
}

const BufferSpec* LaunchFile::find_buffer(std::string_view name) const { return find_named(buffers, name); }
const TensorMapSpec* LaunchFile::find_tensormap(std::string_view name) const { return find_named(tensormaps, name); }

std::string LaunchFile::resolve(std::string_view file) const {
  const std::filesystem::path target(file);
  return target.is_absolute() ? target.string() : (std::filesystem::path(path).parent_path() / target).string();
}

std::optional<LaunchFile> parse_launch_file(const std::string& path, std::string_view text, Diagnostics& diags) {
  auto document = parse_document(path, text, diags);
  if (!document) return std::nullopt;
  document->place = {path, 0, 0};
  TableReader root(*document, "launch file", diags);
  LaunchFile file;
  file.path = path;
  parse_launches(file, root);
  parse_buffers(file, root);
  parse_tensormaps(file, root);
  parse_symbols(file, root);
  parse_check(file, root);
  root.finish();
  if (!diags.has_errors()) check_references(file, diags);
  return file;
}

}  // namespace tcsim::launch
