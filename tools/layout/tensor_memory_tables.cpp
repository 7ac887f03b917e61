// Tensor Memory: tcgen05.ld, st and cp, and the operands of tcgen05.mma.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "isa/layout/tcgen05_layout.h"
#include "isa/layout/tensor_memory_layout.h"
#include "tools/layout/instructions.h"

namespace tcsim::layout {
namespace {

bool wanted(const std::string& operand, std::string_view name) { return operand.empty() || operand == name; }

bool parse_number(std::string_view text, int& out) {
  const auto [end, e] = std::from_chars(text.data(), text.data() + text.size(), out);
  return e == std::errc() && end == text.data() + text.size();
}

Table access_table(std::string_view name, const char* letter, const isa::TensorFragment& f) {
  const int columns = static_cast<int>(f.accesses() == 2 ? f.half_split + f.columns() : f.columns());
  Table t(std::string(name), letter, static_cast<int>(f.lanes()), columns);
  const int bits = f.packed ? 16 : 32;
  t.element_bits = bits;
  for (uint32_t reg = 0; reg < f.registers(); ++reg)
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t half = 0; half < f.per_register(); ++half) {
        const isa::TensorCell c = f.cell(lane, reg, half);
        const int bit = static_cast<int>(16 * half);
        t.add({0, c.lane, c.column}, {.lane = static_cast<int>(lane),
                                      .reg = static_cast<int>(reg),
                                      .bit_lo = bit,
                                      .bit_hi = bit + bits - 1,
                                      .tmem_lane = c.lane,
                                      .tmem_column = c.column});
      }
  t.notes.push_back("row, column: lane and column of Tensor Memory relative to taddr; warp w reaches lanes 32 (w % 4) to 32 (w % 4) + 31");
  if (f.packed) t.notes.push_back("the low 16 bits of two neighbouring columns share a register");
  return t;
}

std::vector<Table> copy_tables(std::string_view name, const std::string& operand) {
  constexpr std::pair<std::string_view, isa::TensorCopyShape> kShapes[] = {{"128x256b", isa::TensorCopyShape::s128x256b},
                                                                           {"4x256b", isa::TensorCopyShape::s4x256b},
                                                                           {"128x128b", isa::TensorCopyShape::s128x128b},
                                                                           {"64x128b.warpx2::02_13", isa::TensorCopyShape::s64x128b_02_13},
                                                                           {"64x128b.warpx2::01_23", isa::TensorCopyShape::s64x128b_01_23},
                                                                           {"32x128b.warpx4", isa::TensorCopyShape::s32x128b}};
  for (const auto& [shape, copy] : kShapes) {
    if (name != fmt::format("tcgen05.cp.{}", shape) || !wanted(operand, "D")) continue;
    const isa::TensorCopyLayout layout{copy};
    Table t(std::string(name), "D", static_cast<int>(layout.rows()), static_cast<int>(layout.words()));
    t.place = Place::tensor_memory;
    t.element_bits = 32;
    for (uint32_t row = 0; row < layout.rows(); ++row)
      for (uint32_t word = 0; word < layout.words(); ++word)
        for (uint32_t c = 0; c < layout.copies(); ++c)
          t.add({0, static_cast<int>(row), static_cast<int>(word)},
                {.bit_lo = 0, .bit_hi = 31, .tmem_lane = static_cast<int>(layout.lane(row, c)), .tmem_column = static_cast<int>(word)});
    t.notes.push_back("rows of the matrix in shared memory, in 32-bit words; lanes and columns of Tensor Memory relative to taddr");
    return {std::move(t)};
  }
  return {};
}

/// What a name like "tcgen05.mma.sp.m128n256k32.f16.cta_group::2" says.
struct Mma {
  isa::MmaForm form;
  isa::Type a = isa::Type::f16;
  int m = 0, n = 0, k = 0;
};

/// .kind and type of A by the name's last word; scaled kinds stand for themselves.
bool parse_type(std::string_view word, Mma& mma) {
  using T = isa::Type;
  if (const auto kind = isa::mma_kind_named(word); kind && isa::is_scaled(*kind)) {
    mma.form.kind = *kind;
    mma.a = *kind == isa::MmaKind::mxf8f6f4 ? T::e4m3 : T::e2m1;
    mma.form.scale_vec = *kind == isa::MmaKind::mxf8f6f4 ? 1 : *kind == isa::MmaKind::mxf4 ? 2 : 4;
    return true;
  }
  const auto type = isa::type_from_name(word);
  if (!type) return false;
  mma.a = *type;
  switch (*type) {
    case T::f16:
    case T::bf16: mma.form.kind = isa::MmaKind::f16; return true;
    case T::tf32: mma.form.kind = isa::MmaKind::tf32; return true;
    case T::s8:
    case T::u8: mma.form.kind = isa::MmaKind::i8; return true;
    case T::e4m3:
    case T::e5m2:
    case T::e3m2:
    case T::e2m3:
    case T::e2m1: mma.form.kind = isa::MmaKind::f8f6f4; return true;
    default: return false;
  }
}

std::string check_mma(const Mma& mma, const LayoutOptions& options) {
  // The descriptor's fields count in units of 16 and 8 and would hide a remainder.
  if (mma.m <= 0 || mma.m > 256 || mma.m % 16 != 0) return fmt::format("M is {}, expected 32, 64, 128 or 256", mma.m);
  if (mma.n <= 0 || mma.n > 256 || mma.n % 8 != 0) return fmt::format("N is {}, expected a multiple of 8 up to 256", mma.n);
  isa::InstructionDescriptor d;
  d.sparse = mma.form.sparse;
  d.a = d.b = mma.a;
  d.m = mma.m, d.n = mma.n;
  const bool i8 = mma.form.kind == isa::MmaKind::i8;
  d.d = i8                                                                                                ? isa::Type::s32
        : options.accumulator == "f16" && mma.form.kind != isa::MmaKind::tf32 && mma.a != isa::Type::bf16 ? isa::Type::f16
                                                                                                          : isa::Type::f32;
  if (isa::is_scaled(mma.form.kind))
    d.scale = mma.form.kind == isa::MmaKind::mxf4nvf4 && mma.form.scale_vec == 4 ? isa::Type::ue4m3 : isa::Type::ue8m0;
  if (mma.k != isa::tcgen05_k(mma.form.kind, mma.form.sparse))
    return fmt::format("K is {}, expected {} for kind::{}{}", mma.k, isa::tcgen05_k(mma.form.kind, mma.form.sparse), name(mma.form.kind),
                       mma.form.sparse ? " sparse" : "");
  return isa::check_instruction_descriptor(mma.form, isa::encode_instruction_descriptor(mma.form.kind, d));
}

/// false: not a tcgen05.mma; an error: one, but a wrong one.
bool parse_mma(std::string_view name, const LayoutOptions& options, Mma& mma, std::string& error) {
  auto words = split_words(name, '.');
  if (words.size() < 4 || words[0] != "tcgen05" || words[1] != "mma") return false;
  size_t i = 2;
  for (; i < words.size() && (words[i] == "sp" || words[i] == "ws"); ++i) (words[i] == "sp" ? mma.form.sparse : mma.form.weight_stationary) = true;
  if (i + 2 > words.size() || !parse_shape(words[i], mma.m, mma.n, mma.k)) return false;
  if (!parse_type(words[i + 1], mma)) {
    error = fmt::format("type '{}', expected f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3, e2m1, s8, u8, mxf8f6f4, mxf4 or mxf4nvf4", words[i + 1]);
    return true;
  }
  mma.form.cta_group = static_cast<uint8_t>(options.cta_group ? options.cta_group : mma.m == 256 ? 2 : 1);
  for (size_t w = i + 2; w < words.size(); ++w)
    if (words[w] == "cta_group::1" || words[w] == "cta_group::2") mma.form.cta_group = static_cast<uint8_t>(words[w].back() - '0');
    else error = fmt::format("'.{}' in '{}', expected .cta_group::1 or .cta_group::2 after the type", words[w], name);
  if (options.scale_vec && isa::is_scaled(mma.form.kind)) mma.form.scale_vec = static_cast<uint8_t>(options.scale_vec);
  if (error.empty()) error = check_mma(mma, options);
  return true;
}

Home tensor_home(int cta, bool pair, int lane, int column, int bit, int bits) {
  return {.bit_lo = bit, .bit_hi = bit + bits - 1, .cta = pair ? cta : -1, .tmem_lane = lane, .tmem_column = column};
}

Table tensor_table(std::string_view name, const char* operand, int rows, int cols, int bits) {
  Table t(std::string(name), operand, rows, cols);
  t.place = Place::tensor_memory;
  t.element_bits = bits;
  return t;
}

class MmaTables {
 public:
  MmaTables(std::string_view name, const Mma& mma, const LayoutOptions& options)
      : name_(name),
        mma_(mma),
        options_(options),
        kind_(mma.form.kind),
        pair_(mma.form.cta_group == 2),
        path_(*isa::datapath_layout(mma.m, mma.form.cta_group, mma.form.sparse, mma.form.weight_stationary), mma.n, 0) {}

  Table d() const {
    const int bits = options_.accumulator == "f16" && kind_ == isa::MmaKind::f16 && mma_.a == isa::Type::f16 ? 16 : 32;
    Table t = tensor_table(name_, "D", mma_.m, mma_.n, bits);
    for (int row = 0; row < mma_.m; ++row)
      for (int n = 0; n < mma_.n; ++n) {
        const isa::DatapathHome h = path_.home(row, n);
        t.add({0, row, n}, tensor_home(h.cta, pair_, h.lane, h.column, 0, bits));
      }
    t.notes.push_back(fmt::format("data path layout {}: {} columns of Tensor Memory from D's address on{}",
                                  static_cast<char>('A' + static_cast<int>(path_.layout())), path_.columns(),
                                  isa::is_half_datapath(path_.layout()) ? "; the address may also start at lane 16" : ""));
    t.notes.push_back("warp w reads lanes 32 (w % 4) to 32 (w % 4) + 31 with tcgen05.ld");
    return t;
  }

  Table a_in_tensor_memory() const {
    const int cols = mma_.form.sparse ? mma_.k / 2 : mma_.k;
    Table t = tensor_table(name_, "A", mma_.m, cols, isa::tensor_a_bits(kind_));
    for (const isa::DatapathPart& p : path_.parts())
      for (int r = 0; r < p.lanes; ++r)
        for (int k = 0; k < cols; ++k) {
          const isa::TensorBits at = isa::tensor_a_home(kind_, k);
          t.add({0, p.row + r, k}, tensor_home(p.cta, pair_, p.lane + r, at.column, at.bit, at.width));
        }
    return t;
  }

  Table shared(const char* operand, const isa::CanonicalLayout& layout) const {
    const bool a = operand[0] == 'A';
    const int lines = a ? mma_.m : mma_.n, stored = a && mma_.form.sparse ? mma_.k / 2 : mma_.k, each = pair_ ? lines / 2 : lines;
    const Table one = shared_operand(std::string(name_), operand, layout, each, stored, isa::tensor_a_bits(kind_));
    if (!pair_) return narrow(one);
    Table t(one.instruction, operand, a ? lines : stored, a ? stored : lines);
    t.place = one.place, t.element_bits = one.element_bits, t.notes = one.notes;
    for (int row = 0; row < t.rows(); ++row)
      for (int col = 0; col < t.cols(); ++col) {
        const int line = a ? row : col, cta = line / each;
        for (Home h : one.homes(a ? ElementAt{0, row % each, col} : ElementAt{0, row, col % each})) {
          h.cta = cta;
          t.add({0, row, col}, h);
        }
      }
    return narrow(t);
  }

  Table scales(bool a) const {
    const int per = mma_.form.scale_vec, lines = a ? mma_.m : mma_.n, each = path_.rows_per_cta();
    Table t = tensor_table(name_, a ? "SFA" : "SFB", a ? lines : per, a ? per : lines, 8);
    for (const isa::DatapathPart& p : path_.parts())
      for (int line = 0; line < lines; ++line) {
        if (a ? line / each != p.cta : line < p.column || line >= p.column + p.columns) continue;
        for (int i = 0; i < per; ++i) {
          const isa::TensorBits at = isa::scale_home(a ? line % each : line - p.column, i, 0);
          t.add(a ? ElementAt{0, line, i} : ElementAt{0, i, line}, tensor_home(p.cta, pair_, p.lane / 32 * 32 + at.lane, at.column, at.bit, 8));
        }
      }
    t.notes.push_back(fmt::format("scale_vec::{}X, scale factor ID 0; the lanes of each warp hold a copy (tcgen05.cp.32x128b.warpx4)", per));
    return t;
  }

  Table metadata() const {
    const int chunks = isa::metadata_chunks(kind_);
    Table t = tensor_table(name_, "E", mma_.m, chunks, 4);
    for (const isa::DatapathPart& p : path_.parts())
      for (int r = 0; r < p.lanes; ++r)
        for (int c = 0; c < chunks; ++c) {
          const isa::TensorBits at = isa::metadata_home(kind_, r % 16, c);
          t.add({0, p.row + r, c}, tensor_home(p.cta, pair_, p.lane + r / 16 * 16 + at.lane, at.column, at.bit, 4));
        }
    t.notes.push_back("sparsity metadata with selector 0: column c holds the two 2-bit indices of chunk c of the row of A");
    return t;
  }

 private:
  /// Elements of 6 and 4 bits fill pieces of 16 elements in 16 bytes from their start; the rest of a piece is padding.
  Table narrow(const Table& t) const {
    const int bits = isa::bits(mma_.a);
    if (bits >= 8 || isa::is_packed_e2m1(kind_)) return t;
    Table out(t.instruction, t.operand, t.rows(), t.cols());
    out.place = t.place, out.element_bits = bits, out.notes = t.notes;
    out.notes.push_back(
        fmt::format("16 elements of {} bits at the start of each 16 bytes, then padding (as TMA writes b6x16_p32 and b4x16_p64)", bits));
    for (int row = 0; row < t.rows(); ++row)
      for (int col = 0; col < t.cols(); ++col)
        for (const Home& h : t.homes({0, row, col})) {
          const int bit = h.shared % 16 * bits;
          Home moved = shared_home(static_cast<uint32_t>(h.shared / 16 * 16 + bit / 8), bit % 8, bits);
          moved.cta = h.cta;
          out.add({0, row, col}, moved);
        }
    return out;
  }

  std::string_view name_;
  const Mma& mma_;
  const LayoutOptions& options_;
  isa::MmaKind kind_;
  bool pair_;
  isa::Datapath path_;
};

}  // namespace

std::vector<Table> tensor_access_tables(std::string_view name, const std::string& operand, const LayoutOptions& options, std::string& error) {
  if (name.starts_with("tcgen05.cp.")) return copy_tables(name, operand);
  const bool load = name.starts_with("tcgen05.ld."), store = name.starts_with("tcgen05.st.");
  if (!load && !store) return {};
  const auto words = split_words(name, '.');
  isa::TensorFragment f;
  int repeats = 0;
  if (words.size() < 4) return {};
  const auto shape = isa::tensor_shape_named(words[2]);
  if (!shape || words[3].size() < 2 || words[3][0] != 'x' || !parse_number(words[3].substr(1), repeats)) return {};
  f.shape = *shape, f.repeats = static_cast<uint16_t>(std::clamp(repeats, 0, 1024));
  f.packed = words.size() > 4 && words[4] == (load ? "pack::16b" : "unpack::16b");
  if (words.size() > (f.packed ? 5u : 4u)) return {};
  if (!f.exists()) {
    error = fmt::format("'.{}' of shape .{}, expected a power of 2 with at most 128 registers a lane", words[3], words[2]);
    return {};
  }
  f.half_split = static_cast<uint16_t>(options.half_split ? options.half_split : static_cast<int>(f.columns()));
  const char* letter = load ? "D" : "A";
  if (!operand.empty() && operand != "A" && operand != "D") return {};
  return {access_table(name, operand.empty() ? letter : operand.c_str(), f)};
}

bool tcgen05_mma_exists(std::string_view name, const LayoutOptions& options) {
  Mma mma;
  std::string error;
  return parse_mma(name, options, mma, error) && error.empty();
}

std::vector<Table> tcgen05_mma_tables(std::string_view name, const std::string& operand, const LayoutOptions& options, std::string& error) {
  Mma mma;
  if (!parse_mma(name, options, mma, error) || !error.empty()) return {};
  const auto layout = isa::canonical_layout(options.major, options.swizzle);
  if (!layout) {
    error = fmt::format("swizzle '{}', expected none, 32B, 64B, 128B or (MN-major) 128B_atom_32B", options.swizzle);
    return {};
  }
  const MmaTables tables(name, mma, options);
  std::vector<Table> out;
  if (wanted(operand, "D")) out.push_back(tables.d());
  if (wanted(operand, "A")) out.push_back(options.space == "tmem" ? tables.a_in_tensor_memory() : tables.shared("A", *layout));
  if (wanted(operand, "B")) out.push_back(tables.shared("B", *layout));
  if (isa::is_scaled(mma.form.kind) && wanted(operand, "SFA")) out.push_back(tables.scales(true));
  if (isa::is_scaled(mma.form.kind) && wanted(operand, "SFB")) out.push_back(tables.scales(false));
  if (mma.form.sparse && wanted(operand, "E")) out.push_back(tables.metadata());
  return out;
}

}  // namespace tcsim::layout
