#include "isa/numeric/float_tile.h"

#include <algorithm>
#include <array>

#include "isa/check.h"
#include "isa/numeric/f32_cut.h"
#include "isa/numeric/half.h"
#include "isa/numeric/vec.h"

namespace tcsim::isa {
namespace {

using namespace vec;

/// ieee: an exponent of all ones is NaN or infinity; e4m3: only 0x7f is NaN; none: every encoding is a number.
enum class Specials : uint8_t { ieee, e4m3, none };

struct Layout {
  int mantissa, exponent_bits, drop;  // drop: low register bits that are ignored (tf32)
  Specials specials;
};

constexpr Layout layout_of(Type t) {
  switch (t) {
    case Type::f16: return {10, 5, 0, Specials::ieee};
    case Type::bf16: return {7, 8, 0, Specials::ieee};
    case Type::tf32: return {10, 8, 13, Specials::ieee};
    case Type::e4m3: return {3, 4, 0, Specials::e4m3};
    case Type::e5m2: return {2, 5, 0, Specials::ieee};
    case Type::e3m2: return {2, 3, 0, Specials::none};
    case Type::e2m3: return {3, 2, 0, Specials::none};
    case Type::e2m1: return {1, 2, 0, Specials::none};
    default: return {23, 8, 0, Specials::ieee};  // f32: C only
  }
}

template <Type kType>
bool decode_as(int shift, const uint32_t* bits, int count, int32_t* sig, int32_t* exp) {
  constexpr Layout f = layout_of(kType);
  constexpr int emask = (1 << f.exponent_bits) - 1, bias = (1 << (f.exponent_bits - 1)) - 1, mmask = (1 << f.mantissa) - 1;
  I8 special = splat(0);
  for (int i = 0; i < count; i += 8) {
    const I8 x = load(bits + i) >> f.drop;
    const I8 man = x & mmask, e = (x >> f.mantissa) & emask;
    const I8 normal = e != 0;
    I8 s = man | (normal & (1 << f.mantissa));
    if constexpr (f.specials == Specials::ieee) special |= e == emask;
    if constexpr (f.specials == Specials::e4m3) special |= (x & 0x7f) == 0x7f;
    const I8 unbiased = max(e, splat(1)) - bias;
    store(exp + i, select(s == 0, splat(FloatOperand::kZeroExponent), unbiased));
    const I8 negative = -((x >> (f.mantissa + f.exponent_bits)) & 1);
    s = s << shift;
    store(sig + i, (s ^ negative) - negative);
  }
  return any(special);
}

/// C as a term: signed significand with F fraction bits below its own exponent.
struct CTerm {
  I8 sig, exponent;
};

template <bool kF16>
inline CTerm decode_c(I8 bits, int fraction_bits) {
  constexpr int mantissa = kF16 ? 10 : 23, emask = kF16 ? 31 : 255, bias = kF16 ? 15 : 127, width = kF16 ? 16 : 32;
  const I8 man = bits & ((1 << mantissa) - 1), e = (bits >> mantissa) & emask;
  I8 s = man | ((e != 0) & (1 << mantissa));
  const I8 exponent = select(s == 0, splat(2 * FloatOperand::kZeroExponent), max(e, splat(1)) - bias);
  const int shift = fraction_bits - mantissa;
  s = shift >= 0 ? s << shift : s >> -shift;
  const I8 negative = -((bits >> (width - 1)) & 1);
  return {(s ^ negative) - negative, exponent};
}

/// v (exact) to f32 by rounding to odd, so that a later rounding to f16 is the only one.
inline F4 to_f32_odd(D4 v) {
  const L4 low_mask = ((L4{} + 1) << 29) - 1, b = bits<L4>(v);
  const L4 sticky = ((b & low_mask) != 0) & ((L4{} + 1) << 29);
  return __builtin_convertvector(bits<D4>((b & ~low_mask) | sticky), F4);
}

template <SumOutput kOut>
inline I8 finish(D4 low_sum, D4 high_sum, I8 e) {
  const D4 low_value = low_sum * power_of_two(low(e)), high_value = high_sum * power_of_two(high(e));
  if constexpr (kOut == SumOutput::f16) {
    const F4 a = to_f32_odd(low_value), b = to_f32_odd(high_value);
    const I8 h = f32_to_f16_lanes(__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7));
    return h & (h != 0x8000);  // a negative sum that rounds to zero gives +0 (seen on H200)
  } else {
    return to_f32_cut(low_value, high_value, kOut == SumOutput::f32_m13 ? 10 : 0);
  }
}

/// A row of A and a panel of B (8 columns). index: rows of B that the stored elements meet, or nullptr.
struct Row {
  const int32_t *sig, *exp, *b_sig, *b_exp;
  const uint16_t* index;
};

/// One block of kL terms from k0 on, and c. All products are scaled by 2^scale: as if c and the result were scaled by 2^-scale.
template <SumOutput kOut, int kL, bool kIndexed>
inline I8 block_sum(const TensorCoreArith& arith, const Row& row, int k0, const CTerm& c, I8 scale) {
  const int32_t *const sig = row.sig + k0, *const exp = row.exp + k0;
  const int32_t *const b_sig = row.b_sig + (kIndexed ? 0 : 8 * k0), *const b_exp = row.b_exp + (kIndexed ? 0 : 8 * k0);
  const auto at = [&](int k) { return 8 * (kIndexed ? row.index[k0 + k] : k); };
  const I8 c_exponent = c.exponent - scale;
  I8 e = max(c_exponent, splat(std::max(arith.min_exponent, 2 * FloatOperand::kZeroExponent)) - scale);
#pragma GCC unroll 32
  for (int k = 0; k < kL; ++k) e = max(e, load(b_exp + at(k)) + exp[k]);
  D4 low_sum{}, high_sum{};
  I8 s = cut_right(c.sig, e - c_exponent);
  // A term is below 2^(F+2) and F <= 25: eight of them and c fit 32 bits.
  constexpr int group = kL < 8 ? kL : 8;
#pragma GCC unroll 4
  for (int g = 0; g < kL; g += group) {
#pragma GCC unroll 8
    for (int k = g; k < g + group; ++k) s += cut_right(load(b_sig + at(k)) * sig[k], e - (load(b_exp + at(k)) + exp[k]));
    low_sum += __builtin_convertvector(low(s), D4);
    high_sum += __builtin_convertvector(high(s), D4);
    s = splat(0);
  }
  return finish<kOut>(low_sum, high_sum, e + scale - arith.fraction_bits);
}

/// Lanes whose accumulator is NaN or infinity.
inline I8 special_lanes(I8 bits, bool f16) {
  const int mask = f16 ? 0x7c00 : 0x7f800000;
  return (bits & mask) == mask;
}

/// What an element makes of the sums that it is in: a NaN makes them NaN whatever the others are.
enum class Worst : uint8_t { number, infinity, nan };

Worst kind_of(Type t, uint32_t x) {
  const Layout f = layout_of(t);
  if (f.specials == Specials::none) return Worst::number;
  if (f.specials == Specials::e4m3) return (x & 0x7f) == 0x7f ? Worst::nan : Worst::number;
  const uint32_t y = x >> f.drop, emask = ((1u << f.exponent_bits) - 1) << f.mantissa;
  if ((y & emask) != emask) return Worst::number;
  return y & ((1u << f.mantissa) - 1) ? Worst::nan : Worst::infinity;
}

/// The worst element of each row of A and each column of B.
struct WorstElements {
  std::array<Worst, kTileElements / 4> row{}, column{};  // K is at least 4
};

/// Lanes whose accumulator is NaN.
inline I8 nan_lanes(I8 bits, bool f16) { return f16 ? (bits & 0x7fff) > 0x7c00 : (bits & 0x7fffffff) > 0x7f800000; }

struct Work {
  const TensorCoreArith& arith;
  MatrixShape shape;
  const FloatOperand &a, &b;
  Type c_type;
  const uint32_t* c;
  uint32_t* d;
  const uint16_t* b_index;
  int b_rows;
  TileScales scales;
  int scale(int i, int column) const { return scales.a ? scales.a[i] + scales.b[column] : 0; }
};

/// One output: NaN or infinity is about.
void slow_element(const Work& w, int i, int p, int lane) {
  const int k = w.shape.k;
  uint32_t x[kTileElements], y[kTileElements];
  for (int kk = 0; kk < k; ++kk) {
    x[kk] = w.a.raw[i * k + kk];
    y[kk] = w.b.raw[(p * w.b_rows + (w.b_index ? w.b_index[i * k + kk] : kk)) * 8 + lane];
  }
  const int at = i * w.shape.n + 8 * p + lane;
  w.d[at] = float_dot(w.arith, w.a.type, w.b.type, w.c_type, x, y, k, w.c[at], w.scale(i, 8 * p + lane));
}

/// Sparse A: a NaN of B counts only where a stored element meets it, so it is left to slow_element, as infinities are.
[[gnu::noinline]] WorstElements find_worst(const Work& w) {
  WorstElements out;
  const int k = w.shape.k;
  for (int i = 0; i < w.shape.m * k && w.a.special; ++i) out.row[i / k] = std::max(out.row[i / k], kind_of(w.a.type, w.a.raw[i]));
  for (int i = 0; i < w.shape.n * w.b_rows && w.b.special; ++i) {
    Worst& column = out.column[i / (8 * w.b_rows) * 8 + i % 8];
    column = std::max(column, std::min(kind_of(w.b.type, w.b.raw[i]), w.b_index ? Worst::infinity : Worst::nan));
  }
  return out;
}

/// Lanes of panel p that row i of A and their columns of B make at least so bad.
I8 lanes_of(const WorstElements& worst, int i, int p, Worst least) {
  I8 lanes = splat(0);
  for (int l = 0; l < 8; ++l) lanes[l] = std::max(worst.row[i], worst.column[8 * p + l]) >= least ? -1 : 0;
  return lanes;
}

template <SumOutput kOut, int kL, bool kIndexed>
void tile(const Work& w) {
  constexpr bool out16 = kOut == SumOutput::f16;
  const bool c16 = w.c_type == Type::f16;
  const auto [m, n, shape_k] = w.shape;
  const bool special = w.a.special || w.b.special;
  const WorstElements worst = special ? find_worst(w) : WorstElements{};
  const I8 canonical_nan = splat(out16 ? 0x7fff : 0x7fffffff);
  for (int i = 0; i < m; ++i)
    for (int p = 0; p < n / 8; ++p) {
      const int panel = p * w.b_rows * 8;
      const Row row{w.a.sig + i * shape_k, w.a.exp + i * shape_k, w.b.sig + panel, w.b.exp + panel, kIndexed ? w.b_index + i * shape_k : nullptr};
      I8 acc = load(w.c + i * n + 8 * p);
      I8 slow = special_lanes(acc, c16);
      I8 nan = nan_lanes(acc, c16);
      if (special) slow |= lanes_of(worst, i, p, Worst::infinity), nan |= lanes_of(worst, i, p, Worst::nan);
      if (!any(nan == 0)) {
        store(w.d + i * n + 8 * p, canonical_nan);
        continue;
      }
      const I8 scale = w.scales.a ? load(w.scales.b + 8 * p) + w.scales.a[i] : splat(0);
      slow |= scale >= TileScales::kNan / 2;  // TileScales::is_nan
      for (int k = 0; k < shape_k; k += kL) {
        const bool half = k == 0 ? c16 : out16;
        const CTerm c = half ? decode_c<true>(acc, w.arith.fraction_bits) : decode_c<false>(acc, w.arith.fraction_bits);
        acc = block_sum<kOut, kL, kIndexed>(w.arith, row, k, c, scale);
        if (k + kL < shape_k) slow |= special_lanes(acc, out16);  // overflow before the last block
      }
      if (!any(slow)) {
        store(w.d + i * n + 8 * p, acc);
        continue;
      }
      for (int lane = 0; lane < 8; ++lane) {
        const int at = i * n + 8 * p + lane;
        if (nan[lane]) w.d[at] = static_cast<uint32_t>(canonical_nan[lane]);
        else if (slow[lane]) slow_element(w, i, p, lane);
        else w.d[at] = static_cast<uint32_t>(acc[lane]);
      }
    }
}

template <SumOutput kOut, bool kIndexed>
void tile(const Work& w) {
  switch (w.arith.block) {
    case 4: return tile<kOut, 4, kIndexed>(w);
    case 8: return tile<kOut, 8, kIndexed>(w);
    case 16: return tile<kOut, 16, kIndexed>(w);
    case 32: return tile<kOut, 32, kIndexed>(w);
    default: TC_CHECK(false, "block of {} products", w.arith.block);
  }
}

}  // namespace

void FloatOperand::decode(Type t, int shift, const uint32_t* bits, int count) {
  TC_DCHECK(count <= kTileElements && count % 8 == 0, "{} elements", count);
  raw = bits;
  type = t;
  switch (t) {
    case Type::f16: special = decode_as<Type::f16>(shift, bits, count, sig, exp); break;
    case Type::bf16: special = decode_as<Type::bf16>(shift, bits, count, sig, exp); break;
    case Type::tf32: special = decode_as<Type::tf32>(shift, bits, count, sig, exp); break;
    case Type::e4m3: special = decode_as<Type::e4m3>(shift, bits, count, sig, exp); break;
    case Type::e5m2: special = decode_as<Type::e5m2>(shift, bits, count, sig, exp); break;
    case Type::e3m2: special = decode_as<Type::e3m2>(shift, bits, count, sig, exp); break;
    case Type::e2m3: special = decode_as<Type::e2m3>(shift, bits, count, sig, exp); break;
    case Type::e2m1: special = decode_as<Type::e2m1>(shift, bits, count, sig, exp); break;
    default: TC_CHECK(false, "not a tensor-core input type");
  }
}

int operand_shift(const TensorCoreArith& arith, Type a, Type b) { return arith.fraction_bits - layout_of(a).mantissa - layout_of(b).mantissa; }

void float_tile(const TensorCoreArith& arith, MatrixShape shape, const FloatOperand& a, const FloatOperand& b, Type c_type, const uint32_t* c,
                uint32_t* d, const uint16_t* b_index, int b_rows, TileScales scales) {
  const Work w{arith, shape, a, b, c_type, c, d, b_index, b_rows ? b_rows : shape.k, scales};
  switch (arith.output) {
    case SumOutput::f32: return b_index ? tile<SumOutput::f32, true>(w) : tile<SumOutput::f32, false>(w);
    case SumOutput::f32_m13: return b_index ? tile<SumOutput::f32_m13, true>(w) : tile<SumOutput::f32_m13, false>(w);
    case SumOutput::f16: return b_index ? tile<SumOutput::f16, true>(w) : tile<SumOutput::f16, false>(w);
  }
}

}  // namespace tcsim::isa
