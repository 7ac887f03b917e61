#include "isa/numeric/float_tile.h"

#include <cmath>

#include "isa/check.h"
#include "isa/numeric/half.h"
#include "isa/numeric/vec.h"

namespace tcsim::isa {
namespace {

using namespace vec;

struct Layout {
  int mantissa, exponent_bits, drop;  // drop: low register bits that are ignored (tf32)
  bool has_inf;                       // exponent all ones: NaN and infinity; otherwise only 0x7f is NaN (e4m3)
};

constexpr Layout layout_of(Type t) {
  switch (t) {
    case Type::f16: return {10, 5, 0, true};
    case Type::bf16: return {7, 8, 0, true};
    case Type::tf32: return {10, 8, 13, true};
    case Type::e4m3: return {3, 4, 0, false};
    case Type::e5m2: return {2, 5, 0, true};
    default: return {23, 8, 0, true};  // f32: C only
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
    if constexpr (f.has_inf) special |= e == emask;
    else special |= (x & 0x7f) == 0x7f;
    const I8 unbiased = max(e, splat(1)) - bias;
    store(exp + i, select(s == 0, splat(FloatOperand::kZeroExponent), unbiased));
    const I8 negative = -((x >> (f.mantissa + f.exponent_bits)) & 1);
    s = s << shift;
    store(sig + i, (s ^ negative) - negative);
  }
  return any(special);
}

/// C as aligned terms: magnitude with F fraction bits below its own exponent, exponent, sign.
struct CTerm {
  I8 magnitude, exponent, sign;
};

template <bool kF16>
inline CTerm decode_c(I8 bits, int fraction_bits) {
  constexpr int mantissa = kF16 ? 10 : 23, emask = kF16 ? 31 : 255, bias = kF16 ? 15 : 127, width = kF16 ? 16 : 32;
  const I8 man = bits & ((1 << mantissa) - 1), e = (bits >> mantissa) & emask;
  I8 s = man | ((e != 0) & (1 << mantissa));
  const I8 exponent = select(s == 0, splat(2 * FloatOperand::kZeroExponent), max(e, splat(1)) - bias);
  const int shift = fraction_bits - mantissa;
  s = shift >= 0 ? s << shift : s >> -shift;
  return {s, exponent, -((bits >> (width - 1)) & 1)};
}

/// v (exact) cut toward zero to f32 with 23 - drop mantissa bits.
inline I4 to_f32_rz(D4 v, int drop) {
  const L4 mask = ~(((L4{} + 1) << 29) - 1);
  const D4 cut = bits<D4>(bits<L4>(v) & mask);
  I4 r = bits<I4>(__builtin_convertvector(cut, F4));
  // Results below the smallest normal: the conversion would round; cut on the fixed grid 2^-149 instead.
  const D4 magnitude = bits<D4>(bits<L4>(v) & (L4{} + INT64_MAX));
  const L4 tiny = magnitude < D4{} + 0x1p-126;
  if (tiny[0] | tiny[1] | tiny[2] | tiny[3]) {
    for (int i = 0; i < 4; ++i) {
      if (!tiny[i]) continue;
      const auto m = static_cast<int32_t>(magnitude[i] * 0x1p149);
      r[i] = m | (v[i] < 0 && m != 0 ? INT32_MIN : 0);
    }
  }
  return drop ? r & ~((1 << drop) - 1) : r;
}

/// v (exact) to f32 by rounding to odd, so that a later rounding to f16 is the only one.
inline F4 to_f32_odd(D4 v) {
  const L4 low_mask = ((L4{} + 1) << 29) - 1, b = bits<L4>(v);
  const L4 sticky = ((b & low_mask) != 0) & ((L4{} + 1) << 29);
  return __builtin_convertvector(bits<D4>((b & ~low_mask) | sticky), F4);
}

struct Sums {
  D4 low{}, high{};
  void add(I8 s) {
    low += __builtin_convertvector(vec::low(s), D4);
    high += __builtin_convertvector(vec::high(s), D4);
  }
};

inline D4 power_of_two(I4 e) { return bits<D4>((__builtin_convertvector(e, L4) + 1023) << 52); }

template <SumOutput kOut>
inline I8 finish(const Sums& sums, I8 e) {
  const D4 low_value = sums.low * power_of_two(low(e)), high_value = sums.high * power_of_two(high(e));
  if constexpr (kOut == SumOutput::f16) {
    const F4 a = to_f32_odd(low_value), b = to_f32_odd(high_value);
    const I8 h = f32_to_f16_lanes(__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7));
    return h & (h != 0x8000);  // a negative sum that rounds to zero gives +0 (seen on H200)
  } else {
    constexpr int drop = kOut == SumOutput::f32_m13 ? 10 : 0;
    return join(to_f32_rz(low_value, drop), to_f32_rz(high_value, drop));
  }
}

struct Row {
  const int32_t *sig, *exp;    // of A
  const int32_t *b_sig, *b_exp;  // column block of B
  int stride;                    // of B
  const uint16_t* index;         // of B's rows, or nullptr
  int b_row(int k) const { return (index ? index[k] : k) * stride; }
};

/// One block: terms [k0, k0 + L) and c.
template <SumOutput kOut, bool kCF16>
inline I8 block_sum(const TensorCoreArith& arith, const Row& row, int k0, I8 c_bits) {
  const CTerm c = decode_c<kCF16>(c_bits, arith.fraction_bits);
  I8 e = max(c.exponent, splat(arith.min_exponent));
  for (int k = k0; k < k0 + arith.block; ++k) e = max(e, load(row.b_exp + row.b_row(k)) + row.exp[k]);
  e = max(e, splat(2 * FloatOperand::kZeroExponent));
  Sums sums;
  I8 s = shift_signed(c.magnitude, e - c.exponent, c.sign);
  for (int k = k0; k < k0 + arith.block; ++k) {
    // A term is below 2^(F+2) and F <= 25: eight of them and c fit 32 bits.
    if (k != k0 && ((k - k0) & 7) == 0) sums.add(s), s = splat(0);
    const int at = row.b_row(k);
    const I8 p = load(row.b_sig + at) * row.sig[k], sign = p >> 31;
    s += shift_signed((p ^ sign) - sign, e - (load(row.b_exp + at) + row.exp[k]), sign);
  }
  sums.add(s);
  return finish<kOut>(sums, e - arith.fraction_bits);
}

inline bool any_special(I8 bits, bool f16) {
  const int mask = f16 ? 0x7c00 : 0x7f800000;
  return any((bits & mask) == mask);
}

template <SumOutput kOut, bool kCF16>
void tile(const TensorCoreArith& arith, MatrixShape shape, const FloatOperand& a, const FloatOperand& b, Type c_type,
          const uint32_t* c, uint32_t* d, const uint16_t* b_index) {
  constexpr bool out16 = kOut == SumOutput::f16;
  for (int i = 0; i < shape.m; ++i) {
    for (int j = 0; j < shape.n; j += 8) {
      const uint16_t* index = b_index ? b_index + i * shape.k : nullptr;
      const Row row{a.sig + i * shape.k, a.exp + i * shape.k, b.sig + j, b.exp + j, shape.n, index};
      I8 acc = load(c + i * shape.n + j);
      bool special = a.special || b.special || any_special(acc, kCF16);
      for (int k = 0; k < shape.k && !special; k += arith.block) {
        acc = k == 0 ? block_sum<kOut, kCF16>(arith, row, k, acc) : block_sum<kOut, out16>(arith, row, k, acc);
        special = k + arith.block < shape.k && any_special(acc, out16);  // overflow before the last block
      }
      if (!special) {
        store(d + i * shape.n + j, acc);
        continue;
      }
      uint32_t x[kTileElements], y[kTileElements];
      for (int lane = 0; lane < 8; ++lane) {
        for (int k = 0; k < shape.k; ++k) {
          x[k] = a.raw[i * shape.k + k];
          y[k] = b.raw[(index ? index[k] : k) * shape.n + j + lane];
        }
        d[i * shape.n + j + lane] = float_dot(arith, a.type, b.type, c_type, x, y, shape.k, c[i * shape.n + j + lane]);
      }
    }
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
    default: TC_CHECK(false, "not a tensor-core input type");
  }
}

int operand_shift(const TensorCoreArith& arith, Type a, Type b) {
  return arith.fraction_bits - layout_of(a).mantissa - layout_of(b).mantissa;
}

void float_tile(const TensorCoreArith& arith, MatrixShape shape, const FloatOperand& a, const FloatOperand& b, Type c_type,
                const uint32_t* c, uint32_t* d, const uint16_t* b_index) {
  const bool c16 = c_type == Type::f16;
  switch (arith.output) {
    case SumOutput::f32:
      return c16 ? tile<SumOutput::f32, true>(arith, shape, a, b, c_type, c, d, b_index)
                 : tile<SumOutput::f32, false>(arith, shape, a, b, c_type, c, d, b_index);
    case SumOutput::f32_m13: return tile<SumOutput::f32_m13, false>(arith, shape, a, b, c_type, c, d, b_index);
    case SumOutput::f16:
      return c16 ? tile<SumOutput::f16, true>(arith, shape, a, b, c_type, c, d, b_index)
                 : tile<SumOutput::f16, false>(arith, shape, a, b, c_type, c, d, b_index);
  }
}

}  // namespace tcsim::isa
