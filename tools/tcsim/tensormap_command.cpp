// tcsim tensormap: the rules of a tensor map, and where the elements of its box lie in shared memory.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include "isa/layout/matrix_descriptor.h"
#include "isa/layout/tcgen05_descriptor.h"
#include "isa/layout/tensor_box.h"
#include "tools/layout/descriptor_study.h"
#include "tools/layout/instructions.h"
#include "tools/layout/render.h"
#include "tools/tcsim/commands.h"
#include "tools/tcsim/output.h"

namespace tcsim::tool {
namespace {

using isa::TensorMap;

struct TensorMapCommand {
  std::string type = "f16", swizzle = "none", interleave = "none", oob = "zeros", hex, format, output = "-", by = "matrix";
  std::vector<uint64_t> dims, strides;
  std::vector<uint32_t> box, element_strides;
  std::vector<int> element;
  std::string base = "0", descriptor;
  int stages = 1;
  uint32_t stage_bytes = 0;
};

/// Everything that is wrong is bad input: no kernel ran.
int finish(const Diagnostics& diags) {
  print_diagnostics(diags, false);
  return diags.has_errors() ? kBadInput : kSuccess;
}

void bad(Diagnostics& diags, std::string text) { diags.error("bad-tensormap", {}, std::move(text)); }

template <class E>
void choose(E& out, const std::string& word, int count, Diagnostics& diags, const char* what) {
  for (int i = 0; i < count; ++i)
    if (name(static_cast<E>(i)) == word) {
      out = static_cast<E>(i);
      return;
    }
  bad(diags, fmt::format("{} '{}'", what, word));
}

/// 256 hexadecimal digits, in order of the bytes; white space, commas and 0x are skipped. A file or the text itself.
std::optional<TensorMap> from_hex(const std::string& text, Diagnostics& diags) {
  std::string source = text;
  if (std::ifstream in(text); in) source = (std::ostringstream() << in.rdbuf()).str();
  std::string digits;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '0' && i + 1 < source.size() && (source[i + 1] | 0x20) == 'x') ++i;
    else if (std::isxdigit(static_cast<unsigned char>(source[i]))) digits += source[i];
    else if (!std::isspace(static_cast<unsigned char>(source[i])) && source[i] != ',')
      return bad(diags, fmt::format("--hex: found '{}', expected hexadecimal digits or a file of them", source[i])), std::nullopt;
  }
  isa::TensorMapBytes bytes{};
  if (digits.size() != 2 * bytes.size()) return bad(diags, fmt::format("--hex: {} digits, expected 256 (128 bytes)", digits.size())), std::nullopt;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return TensorMap::decode(bytes);
}

std::optional<TensorMap> from_options(const TensorMapCommand& c, Diagnostics& diags) {
  TensorMap map;
  std::string type_word = c.type;
  bool own = false;
  for (int i = 0; i < 16; ++i)
    if (name(static_cast<TensorMap::Type>(i)) == type_word) map.type = static_cast<TensorMap::Type>(i), own = true;
  if (!own) {
    const auto type = isa::type_from_name(type_word);
    const auto found = type ? isa::tensor_map_type(*type) : std::nullopt;
    if (found) map.type = *found;
    else
      bad(diags,
          fmt::format("type '{}', expected u8, u16, u32, s32, u64, s64, f16, bf16, tf32, f32, f64, e4m3, b4x16, b4x16_p64 or b6x16_p32", c.type));
  }
  choose(map.swizzle, c.swizzle, 7, diags, "swizzle");
  choose(map.interleave, c.interleave, 3, diags, "interleave");
  map.fill = c.oob == "nan" ? TensorMap::Fill::nan : TensorMap::Fill::zeros;
  const size_t rank = c.dims.empty() ? c.box.size() : c.dims.size();
  if (rank == 0 || rank > TensorMap::kMaxRank || c.box.size() != rank) {
    bad(diags, fmt::format("{} dimensions and a box of {}, expected the same number, 1 to 5, innermost first", c.dims.size(), c.box.size()));
    return std::nullopt;
  }
  map.rank = static_cast<uint8_t>(rank);
  for (size_t d = 0; d < rank; ++d) map.dims[d] = c.dims.empty() ? c.box[d] : c.dims[d], map.box[d] = c.box[d];
  if (!c.strides.empty() && c.strides.size() != rank - 1)
    bad(diags, fmt::format("{} strides, expected {}: one for each dimension above the innermost", c.strides.size(), rank - 1));
  if (!c.element_strides.empty() && c.element_strides.size() != rank)
    bad(diags, fmt::format("{} element strides, expected {}", c.element_strides.size(), rank));
  if (diags.has_errors()) return std::nullopt;
  const isa::TensorMapUnit unit = isa::unit_of(map.type);
  uint64_t dense = map.dims[0] / unit.elements * unit.global_bytes;
  for (size_t d = 1; d < rank; ++d) {
    map.strides[d - 1] = c.strides.empty() ? dense : c.strides[d - 1];
    dense *= map.dims[d];
  }
  for (size_t d = 0; d < c.element_strides.size(); ++d) map.element_strides[d] = c.element_strides[d];
  return map;
}

/// Rows: positions of the dimensions above the innermost, in order; columns: the innermost.
layout::Table table_of(const TensorMap& map, uint32_t base) {
  uint32_t rows = 1;
  for (int d = 1; d < map.rank; ++d) rows *= map.count(d);
  const uint32_t cols = map.count(0);
  layout::Table t("TMA box", "A", static_cast<int>(rows), static_cast<int>(cols));
  t.place = layout::Place::shared_memory;
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t col = 0; col < cols; ++col) {
      std::array<uint32_t, TensorMap::kMaxRank> index{col};
      uint32_t rest = row;
      for (int d = 1; d < map.rank; ++d) index[static_cast<size_t>(d)] = rest % map.count(d), rest /= map.count(d);
      const isa::BoxPlace at = isa::box_place(map, index, base);
      t.element_bits = at.bits;
      t.add({0, static_cast<int>(row), static_cast<int>(col)}, layout::shared_home(at.byte, at.bit, at.bits));
    }
  t.notes.push_back(fmt::format("{} elements of {}, swizzle {}, {} B in shared memory from {:#x} on",
                                fmt::join(map.box.begin(), map.box.begin() + map.rank, " x "), name(map.type), name(map.swizzle), map.box_bytes(),
                                base));
  if (map.rank > 2) t.notes.push_back("row: positions of the dimensions above the innermost, dimension 1 fastest");
  return t;
}

/// Bases at which a consumer that counts the pattern from the start of the tile would read wrong pieces.
void check_bases(const TensorMapCommand& c, const TensorMap& map, uint32_t base, Diagnostics& diags) {
  const uint32_t stage = c.stage_bytes ? c.stage_bytes : map.box_bytes(), repeat = isa::swizzle_repeat(map.swizzle),
                 need = isa::shared_alignment(map);
  for (int s = 0; s < c.stages; ++s) {
    const uint32_t at = base + static_cast<uint32_t>(s) * stage;
    const std::string where = c.stages > 1 ? fmt::format("stage {} at {:#x}", s, at) : fmt::format("base {:#x}", at);
    if (at % need != 0) {
      diags.error("misaligned", {},
                  fmt::format("{}: expected a multiple of {} for swizzle {} ({} B past one)", where, need, name(map.swizzle), at % need));
      continue;
    }
    if (at % repeat == 0) continue;
    uint32_t wrong = 0, pieces = 0;
    for (uint32_t byte = 0; byte < map.box_bytes(); byte += 16, ++pieces)
      wrong += isa::swizzled(map.swizzle, at + byte) - at != isa::swizzled(map.swizzle, byte);
    diags.error("misaligned", {},
                fmt::format("{}: the {} pattern repeats every {} B and this is {} B past one: {} of {} pieces of 16 B lie elsewhere than in a tile "
                            "that starts the pattern; "
                            "expected an address % {} == 0",
                            where, name(map.swizzle), repeat, at % repeat, wrong, pieces, repeat));
  }
}

/// Does a matrix descriptor of wgmma or tcgen05 read the box where the copy writes it? Rows of the box are its lines.
void check_descriptor(const TensorMapCommand& c, const TensorMap& map, uint32_t base, std::string& text, Diagnostics& diags) {
  std::string error;
  const auto given = layout::parse_descriptor(c.descriptor, 64, error);
  if (!given) return diags.error("bad-descriptor", {}, "--descriptor " + error);
  const uint64_t bits = *given;
  const bool tcgen05 = (bits >> 46 & 7) == 1;  // the constant of tcgen05's format
  isa::MatrixDescriptor d = tcgen05 ? isa::decode_tcgen05_descriptor(bits) : isa::decode_wgmma_descriptor(bits);
  if (tcgen05)
    if (const auto problem = isa::check_tcgen05_descriptor(bits, isa::Major::k, 0);
        problem.kind && std::string_view(problem.kind) == "bad-descriptor")
      return diags.error(problem.kind, {}, problem.text);
  d.start = base;  // the address field has 18 bits of what the kernel gives; here the box is at --base
  const isa::MatrixAddress at(d, isa::Major::k);
  const layout::Table box = table_of(map, base);
  const isa::TensorMapUnit unit = isa::unit_of(map.type);
  int wrong = 0, first_row = 0, first_col = 0;
  for (int row = 0; row < box.rows(); ++row)
    for (int col = 0; col < box.cols(); ++col) {
      const layout::Home h = box.homes({0, row, col})[0];
      const auto c32 = static_cast<uint32_t>(col),
                 byte = c32 / unit.elements * unit.shared_bytes + c32 % unit.elements * static_cast<uint32_t>(box.element_bits) / 8;
      if (at.byte(static_cast<uint32_t>(row), byte) != static_cast<uint32_t>(h.shared) && wrong++ == 0) first_row = row, first_col = col;
    }
  const std::string reads = d.swizzle_bytes ? fmt::format("SWIZZLE_{}B", d.swizzle_bytes) : "no swizzle";
  if (wrong == 0)
    text += fmt::format("  the descriptor ({}) reads all {} elements where the copy writes them\n", isa::describe(d, isa::Major::k),
                        box.rows() * box.cols());
  else
    diags.error("swizzle-mismatch", {},
                fmt::format("TMA wrote {}, the descriptor reads {} ({}): {} of {} elements lie elsewhere ({:.1f} %), the first is row {}, column {}",
                            map.swizzle == TensorMap::Swizzling::none ? "SWIZZLE_NONE" : fmt::format("SWIZZLE_{}", name(map.swizzle)), reads,
                            isa::describe(d, isa::Major::k), wrong, box.rows() * box.cols(), 100.0 * wrong / (box.rows() * box.cols()), first_row,
                            first_col));
}

int run(const TensorMapCommand& c) {
  Diagnostics diags;
  const auto map = c.hex.empty() ? from_options(c, diags) : from_hex(c.hex, diags);
  if (!map) return finish(diags);
  uint32_t base = 0;
  try {
    base = static_cast<uint32_t>(std::stoul(c.base, nullptr, 0));
  } catch (const std::exception&) { return usage_error(fmt::format("--base '{}', expected a byte address", c.base)); }
  for (const std::string& problem : map->check()) bad(diags, problem);
  const bool drawable = !diags.has_errors() && map->mode == TensorMap::Mode::tiled && map->interleave == TensorMap::Interleave::none;
  if (!diags.has_errors()) check_bases(c, *map, base, diags);
  std::string compared;
  if (!c.descriptor.empty() && drawable) check_descriptor(c, *map, base, compared, diags);
  const bool summary = c.format.empty() && c.element.empty();
  if (summary) {
    const auto end = [&](auto& a, int n) { return fmt::join(a.begin(), a.begin() + n, ", "); };
    fmt::print(
        "{}-dimensional map of {}\n  dimensions [{}], strides [{}] B, box [{}], element strides [{}]\n  swizzle {}, interleave {}, out of bounds {}, "
        "global address {:#x}\n",
        map->rank, name(map->type), end(map->dims, map->rank), end(map->strides, map->rank - 1), end(map->box, map->rank),
        end(map->element_strides, map->rank), name(map->swizzle), name(map->interleave), map->fill == TensorMap::Fill::nan ? "NaN" : "zeros",
        map->address);
    if (!diags.has_errors())
      fmt::print("  box: rows of {} B, {} B in all (the bytes that mbarrier.expect_tx needs); base address % {} == 0\n{}  valid\n", map->row_bytes(),
                 map->box_bytes(), isa::swizzle_repeat(map->swizzle), compared);
  }
  if (!drawable || summary) {
    if (!diags.has_errors() && !summary) bad(diags, "only tiled boxes without interleave are drawn");
    return finish(diags);
  }
  const layout::Table t = table_of(*map, base);
  std::string text;
  if (c.element.empty()) text = layout::render({t}, *layout::format_named(c.format), c.by != "matrix");
  else if (const layout::ElementAt e{0, c.element[0], c.element.back()}; !t.holds(e))
    bad(diags, fmt::format("there is no element {},{}, expected rows 0 to {} and columns 0 to {}", e.row, e.col, t.rows() - 1, t.cols() - 1));
  else if (c.format == "json") text = layout::elements_json(t, {{e, t.homes(e)[0]}}, false) + "\n";
  else text = fmt::format("{}: {}\n", layout::describe(t, e), layout::describe(t.homes(e)[0]));
  if (!diags.has_errors()) write_file(c.output, text, diags);
  return finish(diags);
}

}  // namespace

Action add_tensormap(CLI::App& app) {
  auto c = std::make_shared<TensorMapCommand>();
  app.add_option("--type", c->type, "of the elements (default f16)");
  app.add_option("--dims", c->dims, "elements, innermost first: 1024,1024 (default: the box)")->delimiter(',');
  app.add_option("--strides-bytes", c->strides, "of dimension 1 and up (default: dense)")->delimiter(',');
  app.add_option("--box", c->box, "elements, innermost first: 64,128")->delimiter(',');
  app.add_option("--element-strides", c->element_strides, "default 1")->delimiter(',');
  app.add_option("--swizzle", c->swizzle)
      ->check(CLI::IsMember({"none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"}));
  app.add_option("--interleave", c->interleave)->check(CLI::IsMember({"none", "16B", "32B"}));
  app.add_option("--oob", c->oob, "what fills elements outside")->check(CLI::IsMember({"zeros", "nan"}));
  app.add_option("--hex", c->hex, "the 128 bytes of a map, or a file of them, in hexadecimal");
  app.add_option("--base", c->base, "shared-memory address of the box (of stage 0)");
  app.add_option("--stages", c->stages, "check the base of every stage")->check(CLI::Range(1, 64));
  app.add_option("--stage-bytes", c->stage_bytes, "between stages (default: the box)");
  app.add_option("--descriptor", c->descriptor,
                 "a matrix descriptor of wgmma or tcgen05 that reads the box (K-major, begins at --base): does it agree?");
  app.add_option("--element", c->element, "ROW,COL: where it lands")->delimiter(',')->expected(2);
  app.add_option("--by", c->by)->check(CLI::IsMember({"matrix", "lane"}));
  app.add_option("--format", c->format, "draw the box")->check(CLI::IsMember({"ascii", "csv", "markdown", "svg", "html", "json"}));
  app.add_option("-o,--output", c->output, "a file instead of the terminal");
  return [c](const Invocation&) { return run(*c); };
}

}  // namespace tcsim::tool
