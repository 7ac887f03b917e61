#include "isa/matrix/wgmma_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "isa/check.h"
#include "isa/matrix/gather.h"
#include "isa/matrix/integer_tile.h"
#include "isa/numeric/float_tile.h"
#include "isa/numeric/vec.h"

namespace tcsim::isa {
namespace {

constexpr int kRows = WgmmaPlan::kWarpRows;
constexpr int kPanel = 8;  // columns of B that are computed side by side

bool is_integer(Type t) { return t == Type::s8 || t == Type::u8; }
bool is_f8(Type t) { return t == Type::e4m3 || t == Type::e5m2; }
int element_bits(Type t) { return t == Type::tf32 ? 32 : bits(t); }

/// Accumulators of 8 columns as rows of 8 words, and back (PTX ISA, "Register Fragments for wgmma": D). regs: those of the
/// 8 columns; row i lies in half i / 8, lanes 4 (i % 8) to 4 (i % 8) + 3.
void load_columns(const uint32_t* const* regs, bool f16, uint32_t* out, int row_step) {
  for (int i = 0; i < kRows; ++i) {
    const int lane = 4 * (i % 8), half = i / 8;
    if (f16) {
      widen<PieceFormat::b16>(reinterpret_cast<const uint8_t*>(regs[half] + lane), false, out + i * row_step, 1);
      continue;
    }
    vec::I4 even, odd;
    std::memcpy(&even, regs[2 * half] + lane, sizeof even);
    std::memcpy(&odd, regs[2 * half + 1] + lane, sizeof odd);
    vec::store(out + i * row_step, __builtin_shufflevector(even, odd, 0, 4, 1, 5, 2, 6, 3, 7));
  }
}

void store_columns(uint32_t* const* regs, bool f16, const uint32_t* in, int row_step) {
  for (int i = 0; i < kRows; ++i) {
    const int lane = 4 * (i % 8), half = i / 8;
    const vec::I8 v = vec::load(in + i * row_step);
    const vec::I4 even = __builtin_shufflevector(v, v, 0, 2, 4, 6), odd = __builtin_shufflevector(v, v, 1, 3, 5, 7);
    if (f16) {
      const vec::I4 pair = even | odd << 16;
      std::memcpy(regs[half] + lane, &pair, sizeof pair);
      continue;
    }
    std::memcpy(regs[2 * half] + lane, &even, sizeof even);
    std::memcpy(regs[2 * half + 1] + lane, &odd, sizeof odd);
  }
}

std::string check_modifiers(const WgmmaDesc& d) {
  const bool half = d.a == Type::f16 || d.a == Type::bf16, number = is_integer(d.a) || d.a == Type::b1;
  if (d.a_in_registers && d.a_major != Major::k) return "A in registers cannot be transposed";
  if (!half && (d.a_major != Major::k || d.b_major != Major::k)) return "only .f16 and .bf16 operands can be transposed";
  if (d.satfinite && !is_integer(d.a)) return ".satfinite exists for 8-bit integers only";
  if (d.negate && number) return "integers and bits cannot be negated";
  const int selectors = element_bits(d.a) >= 16 ? 2 : 1;
  if (d.sparse && (d.selector < 0 || d.selector >= selectors))
    return fmt::format("sparsity selector is {}, expected {}", d.selector, selectors == 2 ? "0 or 1" : "0");
  return {};
}

}  // namespace

std::string WgmmaPlan::check(const WgmmaDesc& d) {
  const bool kin = d.a == d.b || (is_integer(d.a) && is_integer(d.b)) || (is_f8(d.a) && is_f8(d.b));
  if (!kin) return fmt::format("A is .{} but B is .{}", name(d.a), name(d.b));
  if (!wgmma_shape_exists(d.shape, d.a, d.sparse))
    return fmt::format("no {}m{}n{}k{} for .{}", d.sparse ? "sparse " : "", d.shape.m, d.shape.n, d.shape.k, name(d.a));
  if (!accumulates_in(d.a, d.d)) return fmt::format(".{} operands do not accumulate in .{}", name(d.a), name(d.d));
  return check_modifiers(d);
}

WgmmaPlan::WgmmaPlan(const WgmmaDesc& desc) : desc_(desc), a_bits_(element_bits(desc.a)), b_bits_(element_bits(desc.b)) {
  const std::string why = check(desc);
  TC_CHECK(why.empty(), "{}", why);
  const int full_k = desc.shape.k;
  k_ = desc.sparse ? full_k / 2 : full_k;
  row_bytes_[0] = static_cast<uint32_t>(k_ * a_bits_ / 8);
  row_bytes_[1] = static_cast<uint32_t>(full_k * b_bits_ / 8);
  const auto family = desc.sparse ? MatrixFamily::wgmma_sparse : MatrixFamily::wgmma;
  d_registers_ = fragment_spec(family, desc.shape, MatrixRole::d, desc.d, MatrixOrder::row)->registers;
  const FragmentSpec a = *fragment_spec(family, desc.shape, MatrixRole::a, desc.a, MatrixOrder::row);
  TC_CHECK(a.registers == kARegisters, "A of {} registers", a.registers);
  if (desc.a_in_registers)
    for (int reg = 0; reg < a.registers; ++reg)
      for (int lane = 0; lane < 32; ++lane)
        for (int sub = 0; sub < a.per_register(); ++sub) {
          const Element e = element_at(a, lane, reg, sub);
          a_places_.push_back(static_cast<uint16_t>(e.row * k_ + e.col));
        }
  if (!is_integer(desc.a) && desc.a != Type::b1) {
    arith_ = find_arith(Generation::hopper, MmaPath::wgmma, desc.a, desc.d, full_k);
    TC_CHECK(arith_ != nullptr, "no arithmetic for this type");
  }
  if (desc.sparse) sparse_ = SparseIndices(desc.a, kRows, full_k, desc.selector, Emulation::none);
}

MatrixSlice WgmmaPlan::a_slice(int warp) const {
  const auto first = static_cast<uint32_t>(warp * kRows);
  if (desc_.a_major == Major::k) return {Major::k, first, kRows, 0, row_bytes_[0] / 16};
  const auto per = static_cast<uint32_t>(128 / a_bits_);
  return {Major::mn, 0, static_cast<uint32_t>(k_), first / per, kRows / per};
}

MatrixSlice WgmmaPlan::b_slice() const {
  const auto n = static_cast<uint32_t>(desc_.shape.n);
  if (desc_.b_major == Major::k) return {Major::k, 0, n, 0, row_bytes_[1] / 16};
  return {Major::mn, 0, static_cast<uint32_t>(desc_.shape.k), 0, n / static_cast<uint32_t>(128 / b_bits_)};
}

/// A of this warp, [16][k], one element a word.
void WgmmaPlan::fetch_a(const WgmmaWarp& w, uint32_t* out) const {
  const bool sign = is_signed(desc_.a);
  if (!desc_.a_in_registers) {
    const Gather gather{MatrixAddress(decode_wgmma_descriptor(w.desc_a), desc_.a_major), desc_.a_major, w.memory, piece_format(a_bits_), sign};
    gather.rows(static_cast<uint32_t>(w.warp * kRows), kRows, k_, out, k_, 1);
  } else {
    const int per = 32 / a_bits_;
    const uint32_t mask = a_bits_ == 32 ? ~0u : (1u << a_bits_) - 1;
    for (size_t i = 0; i < a_places_.size(); ++i) {
      const auto at = static_cast<int>(i);
      const uint32_t x = w.a[at / (32 * per)][at / per % 32] >> (at % per * a_bits_) & mask;
      out[a_places_[i]] = sign ? static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(x))) : x;
    }
  }
  if (!desc_.negate) return;
  const uint32_t sign_bit = 1u << (a_bits_ - 1);
  for (int i = 0; i < kRows * k_; ++i) out[i] ^= sign_bit;
}

void WgmmaPlan::run(const WgmmaWarp& w) const {
  if (desc_.a == Type::b1) run_bits(w);
  else if (is_integer(desc_.a)) run_integers(w);
  else run_floats(w);
}

void WgmmaPlan::run_floats(const WgmmaWarp& w) const {
  const int n = desc_.shape.n, full_k = desc_.shape.k;
  const bool f16 = desc_.d == Type::f16;
  const int regs_per_panel = f16 ? 2 : 4;
  alignas(32) uint32_t a_raw[kTileElements], b_raw[kTileElements], acc[kRows * kTileElements / kPanel];
  uint16_t index[kTileElements];
  fetch_a(w, a_raw);
  FloatOperand a, b;
  a.decode(desc_.a, operand_shift(*arith_, desc_.a, desc_.b), a_raw, kRows * k_);
  if (desc_.sparse) sparse_.rows(w.metadata, index);
  const Gather gather{MatrixAddress(decode_wgmma_descriptor(w.desc_b), desc_.b_major), desc_.b_major, w.memory, piece_format(b_bits_), false};
  const int step = std::min(kTileElements / full_k, n);  // columns that fit a FloatOperand
  for (int first = 0; first < n; first += step) {
    const int columns = std::min(step, n - first);
    for (int p = 0; p < columns; p += kPanel) {
      gather.rows(static_cast<uint32_t>(first + p), kPanel, full_k, b_raw + p * full_k, 1, kPanel);
      uint32_t* const* const regs = w.d + (first + p) / kPanel * regs_per_panel;
      if (w.scale_d) load_columns(regs, f16, acc + p, columns);
    }
    if (!w.scale_d) std::memset(acc, 0, sizeof(uint32_t) * static_cast<size_t>(kRows * columns));
    b.decode(desc_.b, 0, b_raw, columns * full_k);
    float_tile(*arith_, {kRows, columns, k_}, a, b, desc_.d, acc, acc, desc_.sparse ? index : nullptr, full_k);
    for (int p = 0; p < columns; p += kPanel) store_columns(w.d + (first + p) / kPanel * regs_per_panel, f16, acc + p, columns);
  }
}

void WgmmaPlan::run_integers(const WgmmaWarp& w) const {
  const int n = desc_.shape.n, full_k = desc_.shape.k;
  alignas(32) uint32_t a[kTileElements], b[kTileElements], acc[kRows * kPanel];
  uint16_t index[kTileElements];
  fetch_a(w, a);
  if (desc_.sparse) sparse_.rows(w.metadata, index);
  const Gather gather{MatrixAddress(decode_wgmma_descriptor(w.desc_b), Major::k), Major::k, w.memory, piece_format(b_bits_), is_signed(desc_.b)};
  for (int p = 0; p < n / kPanel; ++p) {
    gather.rows(static_cast<uint32_t>(p * kPanel), kPanel, full_k, b, 1, kPanel);
    if (w.scale_d) load_columns(w.d + 4 * p, false, acc, kPanel);
    else std::memset(acc, 0, sizeof acc);
    integer_tile({kRows, kPanel, k_}, a, b, acc, desc_.satfinite, desc_.sparse ? index : nullptr, full_k);
    store_columns(w.d + 4 * p, false, acc, kPanel);
  }
}

/// .b1: K = 256 bits are eight words of a row; .and.popc.
void WgmmaPlan::run_bits(const WgmmaWarp& w) const {
  constexpr int kWords = 8;
  uint32_t a[kRows * kWords], b[kPanel * kWords];
  alignas(32) uint32_t acc[kRows * kPanel];
  const auto fetch = [&](uint64_t desc, uint32_t first, uint32_t count, uint32_t* out) {
    const Gather gather{MatrixAddress(decode_wgmma_descriptor(desc), Major::k), Major::k, w.memory, PieceFormat::b32, false};
    gather.rows(first, count, kWords, out, kWords, 1);
  };
  if (desc_.a_in_registers) {
    // A register holds 32 consecutive k of one row, lowest k in bit 0.
    for (size_t i = 0; i < a_places_.size(); i += 32) a[a_places_[i] / 32] = w.a[i / 1024][i / 32 % 32];
  } else {
    fetch(w.desc_a, static_cast<uint32_t>(w.warp * kRows), kRows, a);
  }
  for (int p = 0; p < desc_.shape.n / kPanel; ++p) {
    fetch(w.desc_b, static_cast<uint32_t>(p * kPanel), kPanel, b);
    if (w.scale_d) load_columns(w.d + 4 * p, false, acc, kPanel);
    else std::memset(acc, 0, sizeof acc);
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kPanel; ++j)
        for (int word = 0; word < kWords; ++word)
          acc[i * kPanel + j] += static_cast<uint32_t>(std::popcount(a[i * kWords + word] & b[j * kWords + word]));
    store_columns(w.d + 4 * p, false, acc, kPanel);
  }
}

}  // namespace tcsim::isa
