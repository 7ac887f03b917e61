// [buffer.NAME] and [check] of the launch file.
#include <fmt/format.h>

#include <cmath>

#include "tools/launch/parse_common.h"
#include "workloads/common/dtype.h"

namespace tcsim::launch {
namespace {

constexpr int64_t kMax64 = INT64_MAX;
// Larger sizes could not be held by any host; the bound keeps the arithmetic of sizes free of overflow.
constexpr int64_t kMaxExtent = int64_t{1} << 40;
constexpr double kMaxBytes = 1e15;

bool parse_dtype(TableReader& reader, isa::Type& out) {
  std::string word;
  if (!reader.get_word("dtype", word, wl::dtype_names())) return false;
  out = *wl::dtype_from_name(word);
  return true;
}

void parse_init(TableReader& reader, BufferSpec& out) {
  std::string word;
  if (!reader.get("init", word)) return;
  const Place place = reader.find("init")->place;
  if (word.starts_with("file:")) {
    out.init = Init::file;
    out.file = word.substr(5);
    if (out.file.empty()) reader.error(place, "'init' is 'file:' without a path");
    return;
  }
  const std::vector<std::string> words{"normal", "uniform", "integers", "zeros", "iota", "poison"};
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) {
      out.init = static_cast<Init>(i);
      if (out.init == Init::normal && wl::is_integer(out.dtype))
        reader.error(place,
                     fmt::format("'init' is normal, which needs a floating-point dtype, not {}; use uniform or integers", isa::name(out.dtype)));
      return;
    }
  reader.error(place, fmt::format("'init' is '{}', expected one of {} or 'file:PATH'{}", word, fmt::join(words, " "), suggestion(word, words)));
}

/// Fills strides; false when sizes are beyond what the arithmetic holds.
void fill_strides(TableReader& reader, BufferSpec& out, const Place& place) {
  const bool given = !out.strides.empty();
  if (given && out.strides.size() != out.shape.size()) {
    reader.error(place, fmt::format("'strides' has {} numbers, 'shape' has {}", out.strides.size(), out.shape.size()));
    out.strides.clear();
  }
  double elements = 1;
  if (out.strides.empty()) {
    out.strides.assign(out.shape.size(), 1);
    for (size_t i = out.shape.size(); i-- > 0; elements *= static_cast<double>(out.shape[i]))
      out.strides[i] = static_cast<int64_t>(std::min(elements, kMaxBytes));
  } else {
    for (size_t i = 0; i < out.shape.size(); ++i) elements += static_cast<double>(out.shape[i] - 1) * static_cast<double>(out.strides[i]);
  }
  if (elements * wl::storage_bits(out.dtype) / 8 > kMaxBytes) {
    reader.error(place, fmt::format("buffer '{}' would have {:.3g} elements, more than can be held", out.name, elements));
    out.shape.assign(1, 1);
    out.strides.assign(1, 1);
  }
}

BufferSpec parse_buffer(const Entry& entry, Diagnostics& diags) {
  BufferSpec out;
  out.place = entry.place;
  out.name = entry.key;
  out.dtype = isa::Type::b8;
  TableReader reader(entry.value, fmt::format("[buffer.{}]", entry.key), diags);
  if (!parse_dtype(reader, out.dtype) && !reader.find("dtype")) reader.error(entry.place, fmt::format("buffer '{}' needs 'dtype'", out.name));
  if (!reader.get("shape", out.shape, 1, kMaxExtent) && !reader.find("shape"))
    reader.error(entry.place, fmt::format("buffer '{}' needs 'shape'", out.name));
  if (out.shape.empty()) out.shape.assign(1, 1);
  reader.get("strides", out.strides, 0, kMaxExtent);
  fill_strides(reader, out, reader.find("shape") ? reader.find("shape")->place : entry.place);
  parse_init(reader, out);
  int64_t seed = 0, align = 256;
  if (reader.get("seed", seed, 0, kMax64)) out.seed = static_cast<uint64_t>(seed);
  if (reader.get("align_bytes", align, 1, int64_t{1} << 30) && (align & (align - 1)) != 0)
    reader.error(reader.find("align_bytes")->place, fmt::format("'align_bytes' is {}, expected a power of two", align));
  else out.align_bytes = static_cast<uint64_t>(align);
  out.patches = parse_patches(reader);
  reader.finish();
  return out;
}

void parse_gemm(const Node& table, CheckSpec& check, Diagnostics& diags) {
  GemmCheck gemm;
  gemm.place = table.place;
  TableReader reader(table, "[check] gemm", diags);
  for (auto [key, out] : {std::pair{"a", &gemm.a}, {"b", &gemm.b}, {"c", &gemm.c}})
    if (!reader.get(key, *out) && !reader.find(key)) reader.error(table.place, fmt::format("'gemm' needs '{}': the name of a buffer", key));
  gemm.d = gemm.c;
  reader.get("d", gemm.d);
  reader.get("trans_a", gemm.trans_a);
  reader.get("trans_b", gemm.trans_b);
  reader.get("trans_c", gemm.trans_c);
  reader.get("alpha", gemm.alpha);
  reader.get("beta", gemm.beta);
  reader.get("sfa", gemm.sfa);
  reader.get("sfb", gemm.sfb);
  reader.get("scale_block", gemm.scale_block, 1, kMaxExtent);
  reader.finish();
  check.gemm = gemm;
}

void parse_tolerance(TableReader& reader, const char* key, double& out) {
  if (!reader.get(key, out)) return;
  if (!(out >= 0) || std::isinf(out))
    reader.error(reader.find(key)->place, fmt::format("'{}' is {}, expected a finite number that is not negative", key, out));
}

}  // namespace

void parse_buffers(LaunchFile& file, TableReader& root) {
  const Node* section = root.table("buffer");
  if (!section) return;
  for (const Entry& entry : section->entries) {
    if (entry.value.kind == Node::Kind::table) file.buffers.push_back(parse_buffer(entry, root.diags()));
    else root.error(entry.value.place, fmt::format("'buffer.{}' is {}, expected a table", entry.key, name(entry.value.kind)));
  }
}

void parse_check(LaunchFile& file, TableReader& root) {
  const Node* section = root.table("check");
  if (!section) return;
  TableReader reader(*section, "[check]", root.diags());
  CheckSpec check;
  check.place = section->place;
  if (const Node* gemm = reader.table("gemm")) parse_gemm(*gemm, check, root.diags());
  if (const Node* equals = reader.table("equals"))
    for (const Entry& entry : equals->entries) {
      if (entry.value.kind == Node::Kind::string && entry.value.text.starts_with("file:"))
        check.equals.push_back({entry.place, entry.key, entry.value.text.substr(5)});
      else reader.error(entry.value.place, fmt::format("'equals.{}' is not 'file:PATH'", entry.key));
    }
  parse_tolerance(reader, "rtol", check.rtol);
  parse_tolerance(reader, "atol", check.atol);
  if (!check.gemm && check.equals.empty() && !reader.find("gemm") && !reader.find("equals"))
    reader.error(section->place, "[check] needs 'gemm' or 'equals'");
  reader.finish();
  file.check = std::move(check);
}

void check_references(const LaunchFile& file, Diagnostics& diags) {
  std::vector<std::string> buffers, maps;
  for (const BufferSpec& buffer : file.buffers) buffers.push_back(buffer.name);
  for (const TensorMapSpec& map : file.tensormaps) maps.push_back(map.name);
  const auto need = [&](const std::vector<std::string>& names, const char* section, const std::string& wanted, const Place& place) {
    if (wanted.empty() || std::find(names.begin(), names.end(), wanted) != names.end()) return;
    diags.error("launch-mismatch", place, fmt::format("there is no [{}.{}]{}", section, wanted, suggestion(wanted, names)));
  };
  const auto need_patches = [&](const std::vector<Patch>& patches) {
    for (const Patch& patch : patches) {
      need(buffers, "buffer", patch.buffer, patch.place);
      need(maps, "tensormap", patch.tensormap, patch.place);
    }
  };
  for (const LaunchSpec& launch : file.launches)
    for (const Argument& argument : launch.args) {
      const bool map = argument.kind == Argument::Kind::tensormap;
      need(map ? maps : buffers, map ? "tensormap" : "buffer", argument.name, argument.place);
      need_patches(argument.patches);
    }
  for (const BufferSpec& buffer : file.buffers) need_patches(buffer.patches);
  for (const TensorMapSpec& map : file.tensormaps) need(buffers, "buffer", map.buffer, map.place);
  for (const SymbolSpec& symbol : file.symbols) need(buffers, "buffer", symbol.buffer, symbol.place);
  if (!file.check) return;
  if (const auto& gemm = file.check->gemm)
    for (const std::string* wanted : {&gemm->a, &gemm->b, &gemm->c, &gemm->d, &gemm->sfa, &gemm->sfb}) need(buffers, "buffer", *wanted, gemm->place);
  for (const auto& equals : file.check->equals) need(buffers, "buffer", equals.buffer, equals.place);
}

}  // namespace tcsim::launch
