// Full PTX names, as they stand in a kernel, to the short names of the tables.
#include <algorithm>
#include <initializer_list>

#include "isa/type.h"
#include "tools/layout/instructions.h"

namespace tcsim::layout {
namespace {

bool any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// PTX ISA, "mma", "wmma.mma", "wgmma.mma_async": after the shape the types of D, A, B and C; wmma on f16 names D and C only, loads one.
std::optional<PtxName> product_name(const std::vector<std::string_view>& words) {
  PtxName out{std::string(words[0]), "", 0};
  std::string shape;
  std::vector<std::string_view> types;
  bool scaled = false;
  for (const std::string_view w : words) {
    int m = 0, n = 0, k = 0;
    if (w == "sp" || w.starts_with("sp::")) out.name += ".sp";
    else if (parse_shape(w, m, n, k)) shape = w;
    else if (w == "block_scale") scaled = true;
    else if (w.starts_with("scale_vec::") && w.size() == 13) out.scale_vec = w[11] - '0';
    else if (!shape.empty() && isa::type_from_name(std::string(w))) types.push_back(w);
  }
  if (shape.empty() || types.empty()) return std::nullopt;
  out.name += "." + shape + ".";
  out.name += types.size() == 1 ? types[0] : types.size() == 2 ? "f16" : types[1];
  if (scaled) out.name += ".block_scale";
  if (types.size() > 1 && any_of(types[0], {"f16", "f32"})) out.accumulator = types[0];
  return out;
}

}  // namespace

std::optional<PtxName> from_ptx_name(std::string_view name) {
  const auto words = split_words(name, '.');
  if (any_of(words[0], {"mma", "wmma", "wgmma"})) return product_name(words);
  const bool tensor = words[0] == "tcgen05";
  if (!tensor && !any_of(words[0], {"ldmatrix", "stmatrix", "movmatrix"})) return std::nullopt;
  if (words[0] == "movmatrix") return PtxName{"movmatrix", "", 0};
  PtxName out;
  for (const std::string_view w : words) {
    const bool cp_group = tensor && words.size() > 1 && words[1] == "cp" && w.starts_with("cta_group::");
    if (any_of(w, {"sync", "aligned"}) || w.starts_with("shared") || cp_group || any_of(w, {tensor ? "b32" : "b16", tensor ? "b32" : "m8n8"}))
      continue;
    out.name += (out.name.empty() ? "" : ".") + std::string(w);
  }
  return out;
}

}  // namespace tcsim::layout
