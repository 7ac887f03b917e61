#include "tools/layout/instructions.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "isa/layout/fragment.h"
#include "isa/layout/move_layout.h"
#include "isa/layout/tcgen05_descriptor.h"
#include "isa/layout/tensor_memory_layout.h"

namespace tcsim::layout {

std::vector<std::string_view> split_words(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool parse_shape(std::string_view text, int& m, int& n, int& k) {
  int* const out[3] = {&m, &n, &k};
  const char *p = text.data(), *const end = p + text.size();
  for (int i = 0; i < 3; ++i) {
    if (p == end || *p != "mnk"[i]) return false;
    const auto [next, error] = std::from_chars(p + 1, end, *out[i]);
    if (error != std::errc()) return false;
    p = next;
  }
  return p == end;
}

namespace {

/// The listed name that shares the longest start with what was asked.
std::string closest(std::string_view name) {
  std::string best = "mma.m16n8k16.f16";
  size_t most = 0;
  for (const Listed& l : list_instructions()) {
    size_t same = 0;
    while (same < std::min(l.name.size(), name.size()) && l.name[same] == name[same]) ++same;
    if (same > most) most = same, best = l.name;
  }
  return best;
}

std::vector<Table> try_families(std::string_view name, const std::string& operand, const LayoutOptions& options, std::string& error) {
  std::vector<Table> tables = fragment_tables(name, operand, options, error);
  if (tables.empty() && error.empty()) tables = move_tables(name, operand);
  if (tables.empty() && error.empty()) tables = tensor_access_tables(name, operand, options, error);
  if (tables.empty() && error.empty()) tables = tcgen05_mma_tables(name, operand, options, error);
  if (tables.empty() && error.empty()) tables = core_matrix_tables(name, options);
  return tables;
}

std::string operands_of(std::string_view name, const LayoutOptions& options) {
  std::string list, ignored;
  for (const char* operand : {"A", "B", "C", "D", "SFA", "SFB", "E"})
    if (!try_families(name, operand, options, ignored).empty()) list += fmt::format("{}{}", list.empty() ? "" : ", ", operand);
  return list;
}

/// sm numbers that have a fragment of this name (PTX ISA, "Target ISA Notes" of mma, mma.sp, wmma, wgmma).
std::pair<int, int> fragment_targets(std::string_view name) {
  const auto words = split_words(name, '.');
  if (words[0] == "wgmma") return {90, 100};
  const bool sparse = words[1] == "sp";
  const std::string_view shape = words[sparse ? 2 : 1], type = words[sparse ? 3 : 2];
  if (type == "e3m2" || type == "e2m3" || type == "e2m1") return {120, 999};
  if (type == "e4m3" || type == "e5m2") return {89, 999};
  if (words[0] == "wmma")
    return {type == "f16" ? 70 : type == "s8" || type == "u8" ? 72 : type == "s4" || type == "u4" || type == "b1" ? 75 : 80, 999};
  if (sparse) return {80, 999};
  if (shape == "m8n8k4") return {type == "f16" ? 70 : 80, 999};
  if (type == "f64") return {90, 999};
  if (shape.starts_with("m8n8") || (shape == "m16n8k8" && type == "f16")) return {75, 999};
  return {80, 999};
}

void list_tcgen05(std::vector<Listed>& out) {
  for (const char* direction : {"ld", "st"})
    for (size_t shape = 0; shape < isa::kTensorShapeNames.size(); ++shape)
      for (const bool packed : {false, true})
        for (int repeats = 1; repeats <= 128; repeats *= 2) {
          const isa::TensorFragment f{static_cast<isa::TensorShape>(shape), static_cast<uint16_t>(repeats), packed};
          if (f.exists())
            out.push_back({fmt::format("tcgen05.{}.{}.x{}{}", direction, isa::kTensorShapeNames[shape], repeats,
                                       !packed               ? ""
                                       : direction[0] == 'l' ? ".pack::16b"
                                                             : ".unpack::16b"),
                           direction[0] == 'l' ? "D" : "A", 100, 120});
        }
  for (const char* shape : {"128x256b", "4x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23", "32x128b.warpx4"})
    out.push_back({fmt::format("tcgen05.cp.{}", shape), "D", 100, 120});
}

/// tcgen05.mma for every form, M and N that the instruction descriptor allows.
void list_tcgen05_mma(std::vector<Listed>& out) {
  constexpr std::array<const char*, 7> kTypes = {"f16", "tf32", "e4m3", "s8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  constexpr std::array<isa::MmaKind, 7> kKinds = {isa::MmaKind::f16,      isa::MmaKind::tf32, isa::MmaKind::f8f6f4,  isa::MmaKind::i8,
                                                  isa::MmaKind::mxf8f6f4, isa::MmaKind::mxf4, isa::MmaKind::mxf4nvf4};
  LayoutOptions options;
  for (size_t t = 0; t < kTypes.size(); ++t)
    for (const bool sparse : {false, true})
      for (const bool ws : {false, true})
        for (const int group : {1, 2})
          for (const int m : {32, 64, 128, 256})
            for (const int n : {32, 64, 128, 256}) {  // N goes in steps of 8 or 16 in between
              if (ws && (group == 2 || isa::is_scaled(kKinds[t]))) continue;
              std::string name = fmt::format("tcgen05.mma{}{}.m{}n{}k{}.{}{}", sparse ? ".sp" : "", ws ? ".ws" : "", m, n,
                                             isa::tcgen05_k(kKinds[t], sparse), kTypes[t], group == 2 ? ".cta_group::2" : "");
              if (tcgen05_mma_exists(name, options))
                out.push_back({name,
                               isa::is_scaled(kKinds[t]) ? sparse ? "D A B SFA SFB E" : "D A B SFA SFB"
                               : sparse                  ? "D A B E"
                                                         : "D A B",
                               100, 120});
            }
}

}  // namespace

std::vector<Table> make_tables(std::string_view asked, const std::string& operand, const LayoutOptions& given, std::string& error) {
  error.clear();
  std::string name(asked);
  LayoutOptions options = given;
  std::vector<Table> tables = try_families(name, operand, options, error);
  if (tables.empty() && error.empty())
    if (const auto ptx = from_ptx_name(asked); ptx && ptx->name != name) {
      name = ptx->name;
      if (!ptx->accumulator.empty()) options.accumulator = ptx->accumulator;
      if (ptx->scale_vec) options.scale_vec = ptx->scale_vec;
      tables = try_families(name, operand, options, error);
    }
  if (!tables.empty() || !error.empty()) {
    if (!error.empty()) error = fmt::format("{}: {}", name, error);
    return tables;
  }
  const std::string operands = operand.empty() ? "" : operands_of(name, options);
  if (!operands.empty()) error = fmt::format("{} has no operand {}, expected {}", name, operand, operands);
  else {
    const bool in_descriptor = asked.starts_with("tcgen05.mma") && asked.find("kind::") != std::string_view::npos;
    error = fmt::format("there is no instruction '{}', expected a name like '{}' (tcsim layout --list names all{})", asked, closest(name),
                        in_descriptor ? "; M and N are in its instruction descriptor" : "");
  }
  return {};
}

std::vector<Listed> list_instructions() {
  std::vector<Listed> out;
  for (const std::string& name : isa::fragment_names()) {
    const auto [since, until] = fragment_targets(name);
    const bool wgmma = name.starts_with("wgmma"), sparse = name.find(".sp.") != std::string::npos;
    const std::string operands = std::string(wgmma ? "A B D" : "A B C D") + (sparse && !wgmma ? " E" : "");
    out.push_back({name, operands, since, until});
    if (has_block_scale(name)) out.push_back({name + ".block_scale", operands + " SFA SFB", 120, 999});
  }
  for (const std::string& name : isa::move_names()) {
    const bool bytes = name.find(".b8") != std::string::npos, store = name.starts_with("stmatrix"), mov = name == "movmatrix";
    out.push_back({name, mov ? "A D" : store ? "A" : "D", bytes ? 100 : store ? 90 : 75, 999});
  }
  list_tcgen05(out);
  list_tcgen05_mma(out);
  for (const char* major : {"k", "mn"})
    for (const char* swizzle : {"none", "32B", "64B", "128B", "128B_atom_32B"})
      for (const char* type : {"f16", "tf32", "e4m3"})
        if (isa::canonical_layout(major[0] == 'k' ? isa::Major::k : isa::Major::mn, swizzle))
          out.push_back({fmt::format("core.{}.{}.{}", major, swizzle, type), "A",
                         std::string_view(swizzle).find('_') != std::string_view::npos ? 100 : 90, 999});
  return out;
}

}  // namespace tcsim::layout
