#include "isa/matrix/tcgen05_plan.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "isa/check.h"
#include "isa/matrix/integer_tile.h"
#include "isa/numeric/block_scale.h"
#include "isa/numeric/float_tile.h"
#include "isa/numeric/formats.h"

namespace tcsim::isa {
namespace {

constexpr int kPartLanes = 32;     // lanes of a part of the data path, at most
constexpr int kChunkColumns = 64;  // of B, decoded together
constexpr int kMaxColumns = 256, kMaxK = 128, kMaxScales = 4;
constexpr uint32_t kColumnMask = 0x1ff, kLaneMask = 0x7f;

PieceFormat format_of(MmaKind kind, Type t) {
  if (is_packed_e2m1(kind)) return PieceFormat::b4_packed;
  switch (t) {
    case Type::f16:
    case Type::bf16: return PieceFormat::b16;
    case Type::tf32: return PieceFormat::b32;
    case Type::e3m2:
    case Type::e2m3: return PieceFormat::b6_padded;
    case Type::e2m1: return PieceFormat::b4_padded;
    default: return PieceFormat::b8;
  }
}

/// Lowest bit of an element in its place in Tensor Memory: e2m1 of the kinds with 8-bit containers lies in bits 2 to 5.
int container_shift(MmaKind kind, Type t) { return t == Type::e2m1 && !is_packed_e2m1(kind) ? 2 : 0; }

uint32_t sign_bit(Type t) { return 1u << (traits(t).sign_bit() + traits(t).pad); }

/// Words of Tensor Memory: lane and column of an address plus an offset.
const uint32_t* column_of(const uint32_t* tensor, uint32_t address, uint32_t column) {
  return tensor + static_cast<size_t>(((address & 0xffff) + column) & kColumnMask) * Tcgen05Plan::kLanes;
}

/// x * 2^-scale, exact but for f32 results below the smallest normal, which are cut toward zero. Both are f32.
uint32_t scale_down(uint32_t x, int scale) {
  const uint32_t sign = x & 0x80000000u, e = x >> 23 & 0xff, m = x & 0x7fffff;
  if (e == 255) return x;
  const auto s = static_cast<uint32_t>(scale);
  if (e > s) return x - (s << 23);
  const uint32_t significand = e ? m | 0x800000u : m, right = e ? s + 1 - e : s;
  return sign | (right > 31 ? 0 : significand >> right);
}

}  // namespace

/// Buffers of one thread: an instruction's operands, decoded.
struct Tcgen05Plan::Scratch {
  std::vector<uint32_t> b_words;       // panels of all N columns
  std::vector<uint32_t> lines;         // B with a column shift, before it becomes panels
  std::vector<FloatOperand> b_floats;  // chunks of columns
  std::vector<GroupOperand> b_groups;
  FloatOperand a_float;
  GroupOperand a_group;
  alignas(32) uint32_t a_words[kPartLanes * kMaxK / 2];
  uint16_t indices[kPartLanes * kMaxK / 2];
  alignas(32) uint32_t acc[kPartLanes * kChunkColumns];
  int32_t a_exponents[kPartLanes], b_exponents[kMaxColumns];
  GroupScale a_scales[kPartLanes * kMaxScales], b_scales[kMaxColumns * kMaxScales];
  Type c_type = Type::f32;
};

Tcgen05Plan::Scratch& Tcgen05Plan::scratch() {
  static thread_local const auto s = std::make_unique<Scratch>();
  return *s;
}

Tcgen05Plan::Tcgen05Plan(const MmaForm& form, uint32_t idesc)
    : form_(form),
      idesc_(decode_instruction_descriptor(form.kind, idesc)),
      k_(tcgen05_k(form.kind, form.sparse)),
      stored_k_(form.sparse ? k_ / 2 : k_),
      a_format_(format_of(form.kind, idesc_.a)),
      b_format_(format_of(form.kind, idesc_.b)) {
  const auto layout = datapath_layout(idesc_.m, form.cta_group, form.sparse, form.weight_stationary);
  TC_CHECK(layout.has_value(), "M of {}", idesc_.m);
  layout_ = *layout;
  if (form.kind == MmaKind::i8) return;
  arith_ = form.kind == MmaKind::mxf8f6f4 ? &kMxf8f6f4Arith.sum
           : is_packed_e2m1(form.kind)    ? &kMxf4Arith.sum
                                          : find_arith(Generation::blackwell, MmaPath::tcgen05, idesc_.a, idesc_.d, k_);
  TC_CHECK(arith_ != nullptr, "no arithmetic for .{}", name(idesc_.a));
}

std::string_view Tcgen05Plan::arithmetic_note() const {
  if (form_.kind == MmaKind::i8) return "integer sums are taken to wrap (without saturation) as on Hopper; no hardware vectors";
  if (form_.sparse) return "sparse sums are taken to be those of the dense instruction over the stored elements; no model, no hardware vectors";
  if (form_.weight_stationary) return ".ws is taken to add up as the form without .ws; no model, no hardware vectors";
  if (form_.cta_group == 2) return "cta_group::2 is taken to add up as cta_group::1; no model, no hardware vectors";
  return isa::arithmetic_note({.generation = Generation::blackwell,
                               .path = MmaPath::tcgen05,
                               .a = idesc_.a,
                               .b = idesc_.b,
                               .accumulator = idesc_.d,
                               .k = k_,
                               .sparse = false,
                               .scaled = is_scaled(form_.kind)});
}

MatrixSlice Tcgen05Plan::a_slice() const {
  const auto rows = static_cast<uint32_t>(rows_of(layout_) / ctas());
  if (idesc_.a_major == Major::k) return {Major::k, 0, rows, 0, a_line_bytes() / 16};
  return {Major::mn, 0, static_cast<uint32_t>(stored_k_), 0, rows / static_cast<uint32_t>(elements_of(a_format_))};
}

MatrixSlice Tcgen05Plan::b_slice(int shift) const {
  const auto n = static_cast<uint32_t>(idesc_.n / ctas()), first = static_cast<uint32_t>(shift);
  if (idesc_.b_major == Major::k) return {Major::k, first, n, 0, b_line_bytes() / 16};
  const auto per = static_cast<uint32_t>(elements_of(b_format_));
  return {Major::mn, 0, static_cast<uint32_t>(k_), first / per, (first + n + per - 1) / per - first / per};
}

int Tcgen05Plan::columns_per_chunk() const { return std::min(kChunkColumns, (is_packed_e2m1(form_.kind) ? kGroupTileElements : kTileElements) / k_); }

/// All columns of B as panels [n / 8][k][8] of encodings, negated where asked, masked columns zero.
void Tcgen05Plan::fetch_b(const Tcgen05Operands& o, Scratch& s) const {
  const int n = idesc_.n, per_cta = n / ctas(), shift = form_.weight_stationary ? column_shift(o.zero_column_mask) : 0;
  s.b_words.resize(static_cast<size_t>(n * k_));
  const MatrixAddress address(decode_tcgen05_descriptor(o.desc_b), idesc_.b_major);
  for (int cta = 0; cta < ctas(); ++cta) {
    const Gather gather{address, idesc_.b_major, o.shared[static_cast<size_t>(cta)], b_format_, is_signed(idesc_.b)};
    uint32_t* const out = s.b_words.data() + cta * per_cta * k_;
    if (shift == 0) {
      gather.panels(static_cast<uint32_t>(per_cta), k_, out);
      continue;
    }
    const int lines = (n + shift + 15) / 16 * 16;
    s.lines.resize(static_cast<size_t>(lines * k_));
    if (idesc_.b_major == Major::k) gather.rows(static_cast<uint32_t>(shift), static_cast<uint32_t>(n), k_, s.lines.data() + shift * k_, k_, 1);
    else gather.rows(0, static_cast<uint32_t>(lines), k_, s.lines.data(), k_, 1);
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < k_; ++k) out[(j / 8 * k_ + k) * 8 + j % 8] = s.lines[static_cast<size_t>((j + shift) * k_ + k)];
  }
  if (idesc_.negate_b)
    for (uint32_t& x : s.b_words) x ^= sign_bit(idesc_.b);
  if (!form_.weight_stationary) return;
  const std::bitset<256> zero = zero_columns(o.zero_column_mask, idesc_.m, n);
  if (zero.none()) return;
  for (int j = 0; j < n; ++j)
    if (zero[static_cast<size_t>(j)])
      for (int k = 0; k < k_; ++k) s.b_words[static_cast<size_t>((j / 8 * k_ + k) * 8 + j % 8)] = 0;
}

/// B in chunks of columns that do not cross from one group of parts to the next.
void Tcgen05Plan::decode_b(const Tcgen05Operands& o, const Datapath& path, Scratch& s) const {
  fetch_b(o, s);
  if (form_.kind == MmaKind::i8) return;
  const int step = columns_per_chunk(), each = path.columns(), per_group = (each + step - 1) / step, chunks = idesc_.n / each * per_group;
  const bool grouped = is_packed_e2m1(form_.kind);
  if (grouped && s.b_groups.size() < static_cast<size_t>(chunks)) s.b_groups.resize(static_cast<size_t>(chunks));
  if (!grouped && s.b_floats.size() < static_cast<size_t>(chunks)) s.b_floats.resize(static_cast<size_t>(chunks));
  for (int i = 0; i < chunks; ++i) {
    const int first = i / per_group * each + i % per_group * step, count = std::min(step, (i / per_group + 1) * each - first);
    const uint32_t* const words = s.b_words.data() + first * k_;
    if (grouped) s.b_groups[static_cast<size_t>(i)].decode(words, count * k_);
    else s.b_floats[static_cast<size_t>(i)].decode(idesc_.b, 0, words, count * k_);
  }
}

/// Rows of A that a part computes with, [lanes][stored_k], decoded.
void Tcgen05Plan::fetch_a(const Tcgen05Operands& o, const DatapathPart& part, Scratch& s) const {
  const int lanes = part.lanes;
  const bool sign = is_signed(idesc_.a);
  if (!form_.a_in_tensor_memory) {
    const int first = part.row - part.cta * (rows_of(layout_) / ctas());
    const Gather gather{MatrixAddress(decode_tcgen05_descriptor(o.desc_a), idesc_.a_major), idesc_.a_major, o.shared[part.cta], a_format_, sign};
    gather.rows(static_cast<uint32_t>(first), static_cast<uint32_t>(lanes), stored_k_, s.a_words, stored_k_, 1);
  } else {
    const int shift = container_shift(form_.kind, idesc_.a), bits = traits(idesc_.a).bits;
    const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    for (int k = 0; k < stored_k_; ++k) {
      const TensorBits at = tensor_a_home(form_.kind, k);
      const uint32_t* const column = column_of(o.tensor[part.cta], o.a, at.column);
      for (int i = 0; i < lanes; ++i) {
        // .ashift: "shifts the rows of the A matrix down by one row, except for the last row in the Tensor Memory".
        const uint32_t lane = static_cast<uint32_t>(part.lane + i), from = form_.shift && lane + 1 < kLanes ? lane + 1 : lane;
        const uint32_t x = column[from] >> (at.bit + shift) & mask;
        s.a_words[i * stored_k_ + k] = sign ? static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(x))) : x;
      }
    }
  }
  const int count = lanes * stored_k_;
  if (idesc_.negate_a)
    for (int i = 0; i < count; ++i) s.a_words[i] ^= sign_bit(idesc_.a);
  if (form_.kind == MmaKind::i8) return;
  if (is_packed_e2m1(form_.kind)) s.a_group.decode(s.a_words, count);
  else s.a_float.decode(idesc_.a, operand_shift(*arith_, idesc_.a, idesc_.b), s.a_words, count);
}

/// Rows of B that the stored elements meet, [lanes][stored_k].
void Tcgen05Plan::fetch_indices(const Tcgen05Operands& o, const DatapathPart& part, Scratch& s) const {
  const MmaKind kind = form_.kind;
  const int chunks = metadata_chunks(kind), per = stored_k_ / chunks, width = k_ / chunks;
  const uint32_t selected = is_metadata_split(kind) ? idesc_.selector : 0;
  for (int i = 0; i < part.lanes; ++i)
    for (int c = 0; c < chunks; ++c) {
      const TensorBits at = metadata_home(kind, i % 16, c);
      const uint32_t nibble = column_of(o.tensor[part.cta], o.metadata, at.column + selected)[part.lane + i / 16 * 16 + at.lane] >> at.bit & 15;
      for (int e = 0; e < per; ++e) {
        // Two-bit indices: of elements of four (2:4), of halves of two (tf32, 1:2), of pairs of four (packed e2m1, 4:8 in pairs).
        const uint32_t index = kind == MmaKind::tf32  ? (nibble & 3) >> 1
                               : is_packed_e2m1(kind) ? (nibble >> e / 2 * 2 & 3) * 2 + e % 2
                                                      : nibble >> 2 * e & 3;
        s.indices[i * stored_k_ + c * per + e] = static_cast<uint16_t>(static_cast<uint32_t>(c * width) + index);
      }
    }
}

/// Scale factors of a part's rows and columns, from its own lanes.
void Tcgen05Plan::fetch_scales(const Tcgen05Operands& o, const DatapathPart& part, int rows_per_cta, Scratch& s) const {
  const uint32_t* const tensor = o.tensor[part.cta];
  const int scales = form_.scale_vec, first_row = part.row - part.cta * rows_per_cta, quarter = part.lane / 32 * 32;
  const auto read = [&](uint32_t address, int line, int index, int id) {
    const TensorBits at = scale_home(line, index, id);
    return column_of(tensor, address, at.column)[quarter + at.lane] >> at.bit & 0xff;
  };
  const auto lines = [&](int count, int first, uint32_t address, int id, int32_t* exponents, GroupScale* groups) {
    for (int i = 0; i < count; ++i)
      for (int x = 0; x < scales; ++x) {
        const uint32_t bits = read(address, first + i, x, id);
        if (is_packed_e2m1(form_.kind)) groups[i * scales + x] = GroupScale::of(idesc_.scale, bits);
        else exponents[i] = ue8m0_exponent(bits);
      }
  };
  lines(part.lanes, first_row, o.scale_a, idesc_.scale_a_id, s.a_exponents, s.a_scales);
  lines(part.columns, 0, o.scale_b, idesc_.scale_b_id, s.b_exponents, s.b_scales);
}

void Tcgen05Plan::load_d(const Tcgen05Operands& o, const DatapathPart& part, int column, int columns, uint32_t* out) const {
  if (!o.accumulate) {
    std::memset(out, 0, sizeof(uint32_t) * static_cast<size_t>(part.lanes * columns));
    return;
  }
  const bool f16 = idesc_.d == Type::f16 && !is_scaled(form_.kind);
  const uint32_t mask = f16 ? 0xffff : ~0u;
  for (int j = 0; j < columns; ++j) {
    const uint32_t* const from = column_of(o.tensor[part.cta], o.d, static_cast<uint32_t>(column + j)) + part.lane;
    for (int i = 0; i < part.lanes; ++i) out[i * columns + j] = from[i] & mask;
  }
  if (o.scale_input_d == 0) return;
  for (int i = 0; i < part.lanes * columns; ++i)
    out[i] = scale_down(f16 ? static_cast<uint32_t>(convert<Type::f16, Type::f32>(out[i])) : out[i], o.scale_input_d);
}

void Tcgen05Plan::store_d(const Tcgen05Operands& o, const DatapathPart& part, int column, int columns, const uint32_t* in) const {
  const uint32_t off = o.disable_output_lane[static_cast<size_t>(part.cta * 4 + part.lane / 32)] >> (part.lane % 32);
  for (int j = 0; j < columns; ++j) {
    auto* const to = const_cast<uint32_t*>(column_of(o.tensor[part.cta], o.d, static_cast<uint32_t>(column + j))) + part.lane;
    if (off == 0) {
      for (int i = 0; i < part.lanes; ++i) to[i] = in[i * columns + j];
    } else {
      for (int i = 0; i < part.lanes; ++i)
        if (!(off >> i & 1)) to[i] = in[i * columns + j];
    }
  }
}

/// Columns [column, column + columns) of a part, in s.acc.
void Tcgen05Plan::run_tile(const DatapathPart& part, int column, int columns, size_t chunk, Scratch& s) const {
  const MatrixShape shape{part.lanes, columns, stored_k_};
  const uint16_t* const index = form_.sparse ? s.indices : nullptr;
  if (form_.kind == MmaKind::i8)
    return integer_tile(shape, s.a_words, s.b_words.data() + (part.column + column) * k_, s.acc, idesc_.saturate, index, k_);
  if (is_packed_e2m1(form_.kind))
    return group_scaled_tile(kMxf4Arith, shape, s.a_group, s.b_groups[chunk], s.a_scales, s.b_scales + column * form_.scale_vec, form_.scale_vec,
                             s.acc, s.acc, index, k_);
  const TileScales scales = is_scaled(form_.kind) ? TileScales{s.a_exponents, s.b_exponents + column} : TileScales{};
  float_tile(*arith_, shape, s.a_float, s.b_floats[chunk], s.c_type, s.acc, s.acc, index, k_, scales);
}

void Tcgen05Plan::run_part(const Tcgen05Operands& o, const DatapathPart& part, Scratch& s) const {
  fetch_a(o, part, s);
  if (form_.sparse) fetch_indices(o, part, s);
  if (is_scaled(form_.kind)) fetch_scales(o, part, rows_of(layout_) / ctas(), s);
  const int step = columns_per_chunk(), per_group = (part.columns + step - 1) / step;
  auto chunk = static_cast<size_t>(part.column / part.columns * per_group);
  for (int column = 0; column < part.columns; column += step, ++chunk) {
    const int columns = std::min(step, part.columns - column);
    load_d(o, part, column, columns, s.acc);
    run_tile(part, column, columns, chunk, s);
    store_d(o, part, column, columns, s.acc);
  }
}

void Tcgen05Plan::run(const Tcgen05Operands& o) const {
  Scratch& s = scratch();
  const Datapath path = datapath(o.d);
  s.c_type = idesc_.d == Type::f16 && !is_scaled(form_.kind) && o.scale_input_d == 0 ? Type::f16 : Type::f32;
  decode_b(o, path, s);
  for (const DatapathPart& part : path.parts()) run_part(o, part, s);
}

}  // namespace tcsim::isa
