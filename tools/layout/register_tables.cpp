// Operands in registers: mma, wmma, wgmma, ldmatrix, stmatrix, movmatrix.
#include <fmt/format.h>

#include "isa/layout/block_scale.h"
#include "isa/layout/fragment.h"
#include "isa/layout/move_layout.h"
#include "tools/layout/instructions.h"

namespace tcsim::layout {
namespace {

using isa::MatrixRole;

bool wanted(const std::string& operand, std::string_view name) { return operand.empty() || operand == name; }

Home register_home(const isa::Home& h, int bits, bool warps) {
  return {.warp = warps ? h.warp : -1, .lane = h.lane, .reg = h.reg, .bit_lo = h.bit, .bit_hi = h.bit + bits - 1};
}

Table from_map(std::string_view name, const std::string& operand, const isa::FragmentMap& map) {
  Table t(std::string(name), operand, map.rows(), map.cols(), map.tiles());
  t.element_bits = map.element_bits();
  t.tile_name = "quad_pair";
  for (int tile = 0; tile < map.tiles(); ++tile)
    for (int row = 0; row < map.rows(); ++row)
      for (int col = 0; col < map.cols(); ++col)
        for (const isa::Home& h : map.homes(row, col, tile)) t.add({tile, row, col}, register_home(h, map.element_bits(), map.warps() > 1));
  if (map.warps() > 1) t.notes.push_back("warp: of the warpgroup (%warpid % 4)");
  if (map.tiles() > 1) t.notes.push_back("quad pair q: lanes 4q to 4q+3 and 4q+16 to 4q+19; each computes a matrix of its own");
  if (map.homes(0, 0).size() > 1) t.notes.push_back(fmt::format("every element is in {} registers", map.homes(0, 0).size()));
  if (map.register_bits() == 64) t.notes.push_back("registers of 64 bits");
  return t;
}

/// What the type of A says of sparsity metadata and block scales.
struct Extras {
  bool sparse = false, wide = false, tf32 = false;
  int k = 0, scales = 0;
};

Extras extras_of(std::string_view name) {
  const auto words = split_words(name, '.');
  Extras x;
  if (words[0] != "mma" || words.size() < 3) return x;
  x.sparse = words[1] == "sp";
  const std::string_view type = words[x.sparse ? 2 + 1 : 2];
  int m = 0, n = 0;
  if (!parse_shape(words[x.sparse ? 2 : 1], m, n, x.k)) return {};
  x.wide = type == "f16" || type == "bf16" || type == "tf32";
  x.tf32 = type == "tf32";
  const bool narrow = type == "e4m3" || type == "e5m2" || type == "e3m2" || type == "e2m3" || type == "e2m1";
  const int dense_k = x.sparse ? x.k / 2 : x.k;
  if (narrow && dense_k == 64) x.scales = 2;
  if (narrow && dense_k == 32) x.scales = 1;
  return x;
}

/// Indices of sparse A: column c of the table is chunk c (4 bits: two indices of two bits).
Table metadata_table(std::string_view name, const Extras& x, std::string_view type) {
  const int chunks = x.tf32 ? x.k / 2 : type == "s4" || type == "u4" || x.k == 128 ? x.k / 8 : x.k / 4;
  Table t(std::string(name), "E", 16, chunks);
  t.element_bits = 4;
  for (int row = 0; row < 16; ++row)
    for (int chunk = 0; chunk < chunks; ++chunk) t.add({0, row, chunk}, register_home(isa::metadata_home(x.wide, chunks, 0, row, chunk), 4, false));
  t.notes.push_back("sparsity metadata with selector 0: column c holds the two 2-bit indices of chunk c of the row of A");
  return t;
}

Table scale_table(std::string_view name, bool a, int scales) {
  const int lines = a ? 16 : 8;
  Table t(std::string(name), a ? "SFA" : "SFB", a ? lines : scales, a ? scales : lines);
  t.element_bits = 8;
  for (int line = 0; line < lines; ++line)
    for (int i = 0; i < scales; ++i) t.add({0, a ? line : i, a ? i : line}, register_home(isa::block_scale_home(a, line, i, 0, 0), 8, false));
  t.notes.push_back(fmt::format("scale_vec::{}X, byte-id 0, thread-id 0", scales));
  return t;
}

}  // namespace

bool has_block_scale(std::string_view name) { return extras_of(name).scales > 0; }

std::vector<Table> fragment_tables(std::string_view name, const std::string& operand, const LayoutOptions& options, std::string& error) {
  std::vector<Table> out;
  constexpr std::string_view kScaled = ".block_scale";
  const bool scaled = name.ends_with(kScaled);
  const std::string_view plain = name.substr(0, name.size() - (scaled ? kScaled.size() : 0));
  const auto acc = isa::type_from_name(options.accumulator);
  if (!isa::find_fragment(plain, MatrixRole::a) || (scaled && !has_block_scale(plain))) return out;
  if (!acc) {
    error = fmt::format("accumulator type '{}', expected f16, f32, f64 or s32", options.accumulator);
    return out;
  }
  const auto words = split_words(name, '.');
  const bool wgmma = words[0] == "wgmma", sparse = words[1] == "sp";
  int m = 0, n = 0, k = 0;
  parse_shape(words[sparse ? 2 : 1], m, n, k);
  const auto layout = isa::canonical_layout(options.major, options.swizzle);
  for (const auto& [letter, role] : {std::pair{"A", MatrixRole::a}, {"B", MatrixRole::b}, {"C", MatrixRole::c}, {"D", MatrixRole::d}}) {
    if (!wanted(operand, letter)) continue;
    if (wgmma && role == MatrixRole::c && operand.empty()) continue;  // D is accumulated in place
    const bool shared = wgmma && (role == MatrixRole::b || (role == MatrixRole::a && options.space == "shared"));
    const auto map = isa::find_fragment(plain, role, *acc);
    if (!shared && map) out.push_back(from_map(name, letter, *map));
    if (!shared) continue;
    if (!layout) {
      error = fmt::format("swizzle '{}', expected none, 32B, 64B or 128B", options.swizzle);
      return {};
    }
    const int bits = isa::find_fragment(plain, MatrixRole::a)->element_bits();
    const int stored = role == MatrixRole::a && sparse ? k / 2 : k;
    out.push_back(shared_operand(std::string(name), letter, *layout, role == MatrixRole::a ? m : n, stored, bits));
  }
  const Extras x = extras_of(name);
  if (x.sparse && wanted(operand, "E")) out.push_back(metadata_table(name, x, words[3]));
  const int scales = options.scale_vec ? options.scale_vec : x.scales;
  if (x.scales)
    for (const bool a : {true, false})
      if (scaled ? wanted(operand, a ? "SFA" : "SFB") : operand == (a ? "SFA" : "SFB")) {
        if (scales != 1 && scales != 2 && scales != 4) error = fmt::format("--scale-vec {}, expected 1, 2 or 4", scales);
        else out.push_back(scale_table(name, a, scales));
      }
  return out;
}

std::vector<Table> move_tables(std::string_view name, const std::string& operand) {
  std::vector<Table> out;
  const auto add = [&](const isa::MoveSpec& spec, const char* letter) {
    if (!wanted(operand, letter)) return;
    Table t(std::string(name), letter, spec.rows(), spec.cols());
    t.element_bits = spec.registers.element_bits;
    for (int reg = 0; reg < spec.registers.registers; ++reg)
      for (int lane = 0; lane < 32; ++lane)
        for (int sub = 0; sub < spec.registers.per_register(); ++sub) {
          const isa::Element e = isa::move_element(spec, lane, reg, sub);
          const int bits = spec.registers.element_bits;
          t.add({0, e.row, e.col}, {.lane = lane, .reg = reg, .bit_lo = sub * bits, .bit_hi = sub * bits + bits - 1});
        }
    if (spec.memory_bits < spec.registers.element_bits)
      t.notes.push_back(fmt::format("elements of {} bits in memory, each in the low bits of its byte here", spec.memory_bits));
    out.push_back(std::move(t));
  };
  const auto spec = isa::find_move(name);
  if (!spec) return out;
  if (!name.starts_with("movmatrix")) {
    add(*spec, spec->store ? "A" : "D");
    if (out.empty() && (operand == "A" || operand == "D")) add(*spec, operand == "A" ? "A" : "D");
    if (!out.empty()) out[0].notes.push_back("row i: the 16 bytes at the address that lane i gives");
    return out;
  }
  add(*isa::find_move("movmatrix.source"), "A");
  add(*spec, "D");
  for (Table& t : out) t.notes.push_back("rows and columns of the source A; D is its transpose, so A[r][c] is D[c][r]");
  return out;
}

}  // namespace tcsim::layout
