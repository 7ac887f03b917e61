#include "isa/layout/fragment.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "isa/check.h"

namespace tcsim::isa {

bool accumulates_in(Type a, Type acc) {
  switch (a) {
    case Type::f16:
    case Type::e4m3:
    case Type::e5m2:
    case Type::e3m2:
    case Type::e2m3:
    case Type::e2m1: return acc == Type::f16 || acc == Type::f32;
    case Type::bf16:
    case Type::tf32: return acc == Type::f32;
    case Type::f64: return acc == Type::f64;
    default: return acc == Type::s32;
  }
}

bool is_packed_e2m1(MatrixFamily family, MatrixShape shape, Type type) {
  return type == Type::e2m1 && shape.k == (family == MatrixFamily::mma_sparse ? 128 : 64);
}

int wgmma_k(Type a, bool sparse) {
  int k = 0;
  switch (a) {
    case Type::f16:
    case Type::bf16: k = 16; break;
    case Type::tf32: k = 8; break;
    case Type::b1: return sparse ? 0 : 256;
    default: k = 32; break;
  }
  return sparse ? 2 * k : k;
}

bool wgmma_shape_exists(MatrixShape shape, Type a, bool sparse) {
  // "Asynchronous Warpgroup Level Matrix Instructions", table of shapes: multiples of 8, for integers and bits of 16 from 32 on.
  const bool integer = a == Type::s8 || a == Type::u8 || a == Type::b1;
  return shape.m == 64 && shape.n >= 8 && shape.n <= 256 && shape.n % (integer && shape.n > 32 ? 16 : 8) == 0 && shape.k != 0 &&
         shape.k == wgmma_k(a, sparse);
}

namespace {

struct Entry {
  MatrixFamily family;
  MatrixShape shape;
  std::array<Type, 3> types;  // of A; unused ones are none
};

using F = MatrixFamily;
using T = Type;
// PTX ISA, "Matrix multiply-accumulate operation using mma instruction", "... mma.sp ...", "... wmma instructions": shapes and types.
constexpr Entry kEntries[] = {
    {F::mma, {8, 8, 4}, {T::f16, T::f64}},
    {F::mma, {16, 8, 8}, {T::f16, T::bf16, T::tf32}},
    {F::mma, {16, 8, 16}, {T::f16, T::bf16}},
    {F::mma, {16, 8, 4}, {T::tf32, T::f64}},
    {F::mma, {16, 8, 8}, {T::f64}},
    {F::mma, {16, 8, 16}, {T::f64}},
    {F::mma, {8, 8, 16}, {T::s8, T::u8}},
    {F::mma, {16, 8, 16}, {T::s8, T::u8}},
    {F::mma, {16, 8, 32}, {T::s8, T::u8}},
    {F::mma, {8, 8, 32}, {T::s4, T::u4}},
    {F::mma, {16, 8, 32}, {T::s4, T::u4}},
    {F::mma, {16, 8, 64}, {T::s4, T::u4}},
    {F::mma, {8, 8, 128}, {T::b1}},
    {F::mma, {16, 8, 128}, {T::b1}},
    {F::mma, {16, 8, 256}, {T::b1}},
    {F::mma, {16, 8, 16}, {T::e4m3, T::e5m2}},
    {F::mma, {16, 8, 32}, {T::e4m3, T::e5m2}},
    {F::mma, {16, 8, 32}, {T::e3m2, T::e2m3, T::e2m1}},
    {F::mma, {16, 8, 64}, {T::e2m1}},
    {F::mma_sparse, {16, 8, 16}, {T::f16, T::bf16, T::tf32}},
    {F::mma_sparse, {16, 8, 32}, {T::f16, T::bf16}},
    {F::mma_sparse, {16, 8, 8}, {T::tf32}},
    {F::mma_sparse, {16, 8, 32}, {T::s8, T::u8}},
    {F::mma_sparse, {16, 8, 64}, {T::s8, T::u8}},
    {F::mma_sparse, {16, 8, 64}, {T::s4, T::u4}},
    {F::mma_sparse, {16, 8, 128}, {T::s4, T::u4}},
    {F::mma_sparse, {16, 8, 64}, {T::e4m3, T::e5m2}},
    {F::mma_sparse, {16, 8, 64}, {T::e3m2, T::e2m3, T::e2m1}},
    {F::mma_sparse, {16, 8, 128}, {T::e2m1}},
    {F::wmma, {16, 16, 16}, {T::f16, T::bf16}},
    {F::wmma, {32, 8, 16}, {T::f16, T::bf16}},
    {F::wmma, {8, 32, 16}, {T::f16, T::bf16}},
    {F::wmma, {16, 16, 16}, {T::s8, T::u8}},
    {F::wmma, {32, 8, 16}, {T::s8, T::u8}},
    {F::wmma, {8, 32, 16}, {T::s8, T::u8}},
    {F::wmma, {16, 16, 8}, {T::tf32}},
    {F::wmma, {8, 8, 4}, {T::f64}},
    {F::wmma, {8, 8, 32}, {T::s4, T::u4}},
    {F::wmma, {8, 8, 128}, {T::b1}},
};

constexpr Type kWgmmaTypes[] = {T::f16, T::bf16, T::tf32, T::e4m3, T::e5m2, T::s8, T::u8, T::b1};

bool is_wgmma(MatrixFamily f) { return f == F::wgmma || f == F::wgmma_sparse; }

bool in_registers(MatrixFamily family, MatrixRole role) { return !is_wgmma(family) || role != MatrixRole::b; }

bool exists(MatrixFamily family, MatrixShape shape, MatrixRole role, Type type) {
  if (!in_registers(family, role)) return false;
  if (is_wgmma(family)) {
    const bool sparse = family == F::wgmma_sparse;
    for (Type a : kWgmmaTypes)
      if (wgmma_shape_exists(shape, a, sparse) && (role == MatrixRole::a ? a == type : accumulates_in(a, type))) return true;
    return false;
  }
  for (const Entry& e : kEntries) {
    if (e.family != family || !(e.shape == shape)) continue;
    for (Type a : e.types) {
      if (a == T::none) continue;
      if (role == MatrixRole::a || role == MatrixRole::b ? a == type : accumulates_in(a, type)) return true;
    }
  }
  return false;
}

/// Bits of an element in a register. Elements of .kind::f8f6f4 and mxf8f6f4 are in 8-bit containers, whatever their type.
int width_of(Type t, bool packed_e2m1 = false) {
  switch (t) {
    case T::b1: return 1;
    case T::s4:
    case T::u4: return 4;
    case T::e2m1: return packed_e2m1 ? 4 : 8;
    case T::s8:
    case T::u8:
    case T::e4m3:
    case T::e5m2:
    case T::e3m2:
    case T::e2m3: return 8;
    case T::f16:
    case T::bf16: return 16;
    case T::f64: return 64;
    default: return 32;
  }
}

std::optional<MatrixShape> parse_shape(std::string_view text) {
  MatrixShape s;
  int* const out[3] = {&s.m, &s.n, &s.k};
  const char* p = text.data();
  const char* const end = p + text.size();
  for (int i = 0; i < 3; ++i) {
    if (p == end || *p != "mnk"[i]) return std::nullopt;
    const auto [next, error] = std::from_chars(p + 1, end, *out[i]);
    if (error != std::errc()) return std::nullopt;
    p = next;
  }
  if (p != end) return std::nullopt;
  return s;
}

std::string_view type_text(Type t) {
  switch (t) {
    case T::f16: return "f16";
    case T::bf16: return "bf16";
    case T::tf32: return "tf32";
    case T::f64: return "f64";
    case T::s8: return "s8";
    case T::u8: return "u8";
    case T::s4: return "s4";
    case T::u4: return "u4";
    case T::b1: return "b1";
    case T::e4m3: return "e4m3";
    case T::e3m2: return "e3m2";
    case T::e2m3: return "e2m3";
    case T::e2m1: return "e2m1";
    default: return "e5m2";
  }
}

std::string_view family_text(MatrixFamily f) {
  switch (f) {
    case F::mma: return "mma";
    case F::mma_sparse: return "mma.sp";
    case F::wmma: return "wmma";
    case F::wgmma: return "wgmma";
    default: return "wgmma.sp";
  }
}

FragmentSpec volta_spec(MatrixRole role, Type type, MatrixOrder order) {
  using K = FragmentSpec::Kind;
  FragmentSpec f;
  const bool row = order == MatrixOrder::row, acc = role == MatrixRole::c || role == MatrixRole::d;
  f.kind = role == MatrixRole::a   ? (row ? K::volta_a_row : K::volta_a_col)
           : role == MatrixRole::b ? (row ? K::volta_b_row : K::volta_b_col)
           : type == T::f16        ? K::volta_acc16
                                   : K::volta_acc32;
  f.rows = role == MatrixRole::b ? 4 : 8;
  f.cols = role == MatrixRole::a ? 4 : 8;
  f.element_bits = static_cast<int8_t>(width_of(type));
  f.registers = static_cast<int8_t>(acc ? (type == T::f16 ? 4 : 8) : 2);
  return f;
}

std::string fragment_name(MatrixFamily family, MatrixShape shape, Type type) {
  return fmt::format("{}.m{}n{}k{}.{}", family_text(family), shape.m, shape.n, shape.k, type_text(type));
}

}  // namespace

std::optional<FragmentSpec> fragment_spec(MatrixFamily family, MatrixShape shape, MatrixRole role, Type type, MatrixOrder order) {
  if (!exists(family, shape, role, type)) return std::nullopt;
  if (family == F::mma && shape == MatrixShape{8, 8, 4} && type != T::f64) return volta_spec(role, type, order);
  const bool wmma = family == F::wmma;
  FragmentSpec f;
  f.element_bits = static_cast<int8_t>(width_of(type, is_packed_e2m1(family, shape, type)));
  f.register_bits = type == T::f64 ? 64 : 32;
  const bool sparse = family == F::mma_sparse || family == F::wgmma_sparse;
  const int k = sparse && role == MatrixRole::a ? shape.k / 2 : shape.k;
  if (role == MatrixRole::a) {
    f.rows = static_cast<int16_t>(shape.m), f.cols = static_cast<int16_t>(k);
    f.tile_rows = shape.m == 8 ? 8 : 16;
  } else if (role == MatrixRole::b) {
    f.transposed = true;
    f.rows = static_cast<int16_t>(shape.n), f.cols = static_cast<int16_t>(k);
    f.tile_rows = shape.n == 32 ? 16 : 8;  // wmma m8n32 computes the transpose of m32n8
  } else {
    f.kind = FragmentSpec::Kind::accumulator;
    f.transposed = wmma && shape.n == 32;
    f.rows = static_cast<int16_t>(f.transposed ? shape.n : shape.m);
    f.cols = static_cast<int16_t>(f.transposed ? shape.m : shape.n);
    f.tile_rows = f.rows == 8 ? 8 : 16;
    f.tiles_along_cols = f.cols > 8;
  }
  if (is_wgmma(family)) f.warps = 4, f.tile_rows = 16;
  f.registers = static_cast<int16_t>(f.rows * f.cols * f.element_bits / (32 * f.warps * f.register_bits));
  if (wmma && type == T::f16 && (role == MatrixRole::a || role == MatrixRole::b) && f.registers < 8) {
    f.distinct = f.registers;  // PTX fixes 8 registers, as Volta needed; later chips leave copies in the rest
    f.registers = 8;
  }
  return f;
}

FragmentMap::FragmentMap(const FragmentSpec& spec) : spec_(spec) {
  const int slots = 32 * spec.warps * spec.registers * spec.per_register(), elements = spec.rows * spec.cols * spec.tiles();
  copies_ = slots / elements;
  TC_CHECK(copies_ * elements == slots, "fragment of {} slots cannot hold {} elements", slots, elements);
  homes_.resize(static_cast<size_t>(slots));
  std::vector<uint8_t> filled(static_cast<size_t>(elements), 0);
  for (int warp = 0; warp < spec.warps; ++warp)
    for (int reg = 0; reg < spec.registers; ++reg)
      for (int lane = 0; lane < 32; ++lane)
        for (int sub = 0; sub < spec.per_register(); ++sub) {
          const Element e = element_at(spec, lane, reg, sub, warp);
          const size_t i = static_cast<size_t>((e.tile * rows() + e.row) * cols() + e.col);
          TC_CHECK(i < filled.size() && filled[i] < copies_, "element ({}, {}) has too many homes", e.row, e.col);
          homes_[i * static_cast<size_t>(copies_) + filled[i]++] = {static_cast<uint8_t>(lane), static_cast<uint8_t>(reg),
                                                                    static_cast<uint8_t>(sub * spec.element_bits), static_cast<uint8_t>(warp)};
        }
}

std::span<const Home> FragmentMap::homes(int row, int col, int tile) const {
  const size_t i = static_cast<size_t>((tile * rows() + row) * cols() + col) * static_cast<size_t>(copies_);
  return {homes_.data() + i, static_cast<size_t>(copies_)};
}

std::optional<FragmentMap> find_fragment(std::string_view instruction, MatrixRole role, Type accumulator) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at <= instruction.size();) {
    const size_t dot = std::min(instruction.find('.', at), instruction.size());
    words.push_back(instruction.substr(at, dot - at));
    at = dot + 1;
  }
  size_t i = 0;
  MatrixFamily family = F::mma;
  if (words[i] == "wmma") family = F::wmma;
  else if (words[i] == "wgmma") family = F::wgmma;
  else if (words[i] != "mma") return std::nullopt;
  if (++i < words.size() && family != F::wmma && words[i] == "sp") family = family == F::mma ? F::mma_sparse : F::wgmma_sparse, ++i;
  if (i + 1 >= words.size()) return std::nullopt;
  const std::optional<MatrixShape> shape = parse_shape(words[i]);
  Type type = T::none;
  for (T t : {T::f16, T::bf16, T::tf32, T::f64, T::s8, T::u8, T::s4, T::u4, T::b1, T::e4m3, T::e5m2, T::e3m2, T::e2m3, T::e2m1})
    if (type_text(t) == words[i + 1]) type = t;
  if (!shape || type == T::none || !exists(family, *shape, MatrixRole::a, type)) return std::nullopt;
  MatrixOrder orders[2] = {MatrixOrder::row, MatrixOrder::col};
  for (size_t j = i + 2; j < words.size(); ++j) {
    if (j > i + 3 || is_wgmma(family) || (words[j] != "row" && words[j] != "col")) return std::nullopt;
    orders[j - i - 2] = words[j] == "row" ? MatrixOrder::row : MatrixOrder::col;
  }
  const bool acc = role == MatrixRole::c || role == MatrixRole::d;
  if (acc && !accumulates_in(type, accumulator)) accumulator = accumulates_in(type, T::f32) ? T::f32 : accumulates_in(type, T::s32) ? T::s32 : T::f64;
  const auto spec = fragment_spec(family, *shape, role, acc ? accumulator : type, orders[role == MatrixRole::b]);
  if (!spec) return std::nullopt;
  return FragmentMap(*spec);
}

std::vector<std::string> fragment_names() {
  std::vector<std::string> names;
  for (const Entry& e : kEntries)
    for (Type t : e.types) {
      if (t == T::none) continue;
      names.push_back(fragment_name(e.family, e.shape, t));
    }
  for (const bool sparse : {false, true})
    for (Type t : kWgmmaTypes)
      for (int n = 8; n <= 256; n += 8)
        if (const MatrixShape shape{64, n, wgmma_k(t, sparse)}; wgmma_shape_exists(shape, t, sparse))
          names.push_back(fragment_name(sparse ? F::wgmma_sparse : F::wgmma, shape, t));
  return names;
}

}  // namespace tcsim::isa
