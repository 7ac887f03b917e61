// [tensormap.NAME] of the launch file: the fields of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
#include <fmt/format.h>

#include <algorithm>

#include "tools/launch/parse_common.h"
#include "workloads/common/dtype.h"

namespace tcsim::launch {
namespace {

using isa::TensorMap;
constexpr int64_t kMax64 = INT64_MAX;

/// Types that only tensor maps have, beside those of buffers.
constexpr std::pair<const char*, TensorMap::Type> kOwnTypes[] = {{"u16", TensorMap::Type::u16},
                                                                 {"f32_ftz", TensorMap::Type::f32_ftz},
                                                                 {"tf32_ftz", TensorMap::Type::tf32_ftz},
                                                                 {"16u4_align8b", TensorMap::Type::b4x16},
                                                                 {"16u4_align16b", TensorMap::Type::b4x16_p64},
                                                                 {"16u6_align16b", TensorMap::Type::b6x16_p32}};

void parse_type(TableReader& reader, const BufferSpec* buffer, const Entry& entry, TensorMap& map) {
  std::vector<std::string> words = wl::dtype_names();
  for (const auto& [word, type] : kOwnTypes) words.emplace_back(word);
  std::string word;
  const bool given = reader.get_word("dtype", word, words);
  for (const auto& [own, type] : kOwnTypes)
    if (given && word == own) {
      map.type = type;
      return;
    }
  const isa::Type type = given ? *wl::dtype_from_name(word) : buffer ? buffer->dtype : isa::Type::u8;
  if (const auto found = isa::tensor_map_type(type)) map.type = *found;
  else
    reader.diags().error("bad-tensormap", entry.place,
                         fmt::format("tensormap '{}': tensor maps have no elements of type {}; describe it as u8", entry.key, isa::name(type)));
}

/// Numbers into the first places of an array; false (and an error) when there are not `count`.
template <class T, size_t N>
void take(TableReader& reader, const std::string& key, const std::vector<int64_t>& numbers, size_t count, std::array<T, N>& out) {
  if (numbers.size() != count || count > N)
    reader.diags().error("bad-tensormap", reader.find(key) ? reader.find(key)->place : reader.place(),
                         fmt::format("'{}' has {} numbers, expected {}", key, numbers.size(), count));
  for (size_t i = 0; i < std::min(numbers.size(), N); ++i) out[i] = static_cast<T>(numbers[i]);
}

uint64_t bytes_of(const TensorMap& map, uint64_t elements) {
  const isa::TensorMapUnit unit = isa::unit_of(map.type);
  return elements / unit.elements * unit.global_bytes;
}

/// Dimensions and strides: as given, else those of the buffer; strides without padding for given dimensions.
void parse_extents(TableReader& reader, const BufferSpec* buffer, TensorMap& map) {
  std::vector<int64_t> dims, strides;
  const bool own_dims = reader.get("dims", dims, 1, int64_t{1} << 32);
  if (!own_dims && buffer) dims.assign(buffer->shape.rbegin(), buffer->shape.rend());
  map.rank = static_cast<uint8_t>(std::min<size_t>(dims.size(), 255));
  take(reader, "dims", dims, std::min<size_t>(dims.size(), TensorMap::kMaxRank), map.dims);
  if (reader.get("strides_bytes", strides, 0, kMax64)) return take(reader, "strides_bytes", strides, dims.empty() ? 0 : dims.size() - 1, map.strides);
  uint64_t dense = bytes_of(map, map.dims[0]);
  for (size_t d = 1; d < std::min<size_t>(dims.size(), TensorMap::kMaxRank); ++d) {
    map.strides[d - 1] = dense;
    if (!own_dims && buffer) map.strides[d - 1] = bytes_of(map, static_cast<uint64_t>(buffer->strides[buffer->strides.size() - 1 - d]));
    dense *= map.dims[d];
  }
}

template <class E>
void parse_choice(TableReader& reader, const char* key, const std::vector<std::string>& words, E& out) {
  std::string word;
  if (reader.get_word(key, word, words)) out = static_cast<E>(std::find(words.begin(), words.end(), word) - words.begin());
}

void parse_tiled(TableReader& reader, TensorMap& map) {
  std::vector<int64_t> box;
  if (!reader.get("box", box, 0, INT32_MAX) && !reader.find("box")) reader.error(reader.place(), "a tiled tensor map needs 'box'");
  else take(reader, "box", box, map.rank, map.box);
}

void parse_im2col(TableReader& reader, TensorMap& map) {
  const size_t spatial = map.rank >= 2 ? map.rank - 2u : 0;
  std::vector<int64_t> lower(spatial, 0), upper(spatial, 0);
  reader.get("pixel_box_lower", lower, INT32_MIN, INT32_MAX);
  reader.get("pixel_box_upper", upper, INT32_MIN, INT32_MAX);
  take(reader, "pixel_box_lower", lower, spatial, map.lower);
  take(reader, "pixel_box_upper", upper, spatial, map.upper);
  for (const auto& [key, out] : {std::pair{"channels_per_pixel", &map.channels}, {"pixels_per_column", &map.pixels}})
    if (!reader.get(key, *out, 0, INT32_MAX) && !reader.find(key)) reader.error(reader.place(), fmt::format("an im2col tensor map needs '{}'", key));
}

/// The tensor lies in its buffer.
void check_extent(const TensorMapSpec& spec, const BufferSpec& buffer, Diagnostics& diags) {
  const TensorMap& map = spec.map;
  double last = static_cast<double>(map.address) + static_cast<double>(bytes_of(map, map.dims[0]));
  for (size_t d = 1; d < map.rank; ++d) last += static_cast<double>(map.dims[d] - 1) * static_cast<double>(map.strides[d - 1]);
  if (last > static_cast<double>(buffer.bytes()))
    diags.error(
        "bad-tensormap", spec.place,
        fmt::format("tensormap '{}': the tensor ends at byte {:.0f} of buffer '{}', which has {}", spec.name, last, buffer.name, buffer.bytes()));
}

TensorMapSpec parse_tensormap(const LaunchFile& file, const Entry& entry, Diagnostics& diags) {
  TensorMapSpec out;
  out.place = entry.place;
  out.name = entry.key;
  TableReader reader(entry.value, fmt::format("[tensormap.{}]", entry.key), diags);
  const uint32_t before = diags.error_count();
  TensorMap& map = out.map;
  if (!reader.get("buffer", out.buffer) && !reader.find("buffer")) reader.error(entry.place, fmt::format("tensormap '{}' needs 'buffer'", out.name));
  const BufferSpec* buffer = file.find_buffer(out.buffer);
  int64_t offset = 0;
  reader.get("offset_bytes", offset, 0, kMax64);
  map.address = static_cast<uint64_t>(offset);
  parse_type(reader, buffer, entry, map);
  parse_extents(reader, buffer, map);
  parse_choice(reader, "mode", {"tiled", "im2col"}, map.mode);
  parse_choice(reader, "swizzle", {"none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"}, map.swizzle);
  parse_choice(reader, "interleave", {"none", "16B", "32B"}, map.interleave);
  parse_choice(reader, "oob", {"zeros", "nan"}, map.fill);
  parse_choice(reader, "l2_promotion", {"none", "64B", "128B", "256B"}, map.promotion);
  std::vector<int64_t> steps(map.rank, 1);
  reader.get("element_strides", steps, 0, INT32_MAX);
  take(reader, "element_strides", steps, map.rank, map.element_strides);
  if (map.mode == TensorMap::Mode::tiled) parse_tiled(reader, map);
  else parse_im2col(reader, map);
  reader.finish();
  if (!buffer && diags.error_count() == before) return out;  // check_references names the buffer that is missing
  // Buffers begin at multiples of their alignment, which suits any map: the offset alone decides.
  for (const std::string& problem : map.check()) diags.error("bad-tensormap", entry.place, fmt::format("tensormap '{}': {}", out.name, problem));
  if (buffer && diags.error_count() == before) check_extent(out, *buffer, diags);
  return out;
}

}  // namespace

void parse_tensormaps(LaunchFile& file, TableReader& root) {
  const Node* section = root.table("tensormap");
  if (!section) return;
  for (const Entry& entry : section->entries) {
    if (entry.value.kind == Node::Kind::table) file.tensormaps.push_back(parse_tensormap(file, entry, root.diags()));
    else root.error(entry.value.place, fmt::format("'tensormap.{}' is {}, expected a table", entry.key, name(entry.value.kind)));
  }
}

}  // namespace tcsim::launch
