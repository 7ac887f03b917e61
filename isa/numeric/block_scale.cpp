#include "isa/numeric/block_scale.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "isa/check.h"
#include "isa/numeric/f32_cut.h"
#include "isa/numeric/formats.h"
#include "isa/numeric/vec.h"

namespace tcsim::isa {
namespace {

using namespace vec;

constexpr int kNoExponent = -4000;   // of a term that is zero
constexpr int kScaleFraction = 3;    // of GroupScale::sig
constexpr int kElementFraction = 1;  // of GroupOperand::value
constexpr int kTermFraction = 2 * (kScaleFraction + kElementFraction);
constexpr uint32_t kNan = 0x7fffffff;  // canonical

/// Twice the value of each e2m1 encoding.
constexpr std::array<int8_t, 16> kTwiceE2m1 = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

struct Sum {
  int exponent = kNoExponent;  // the largest
  int64_t terms[8] = {};
  int exponents[8] = {}, fractions[8] = {}, count = 0;

  void add(int64_t term, int e, int fraction) {
    if (term == 0) return;
    terms[count] = term, exponents[count] = e, fractions[count++] = fraction;
    exponent = std::max(exponent, e);
  }
  /// Aligned, cut toward zero to f fraction bits below the largest exponent, added, cut to f32.
  uint32_t result(const TensorCoreArith& arith) const {
    const int e = std::max(exponent, arith.min_exponent), f = arith.fraction_bits;
    int64_t sum = 0;
    for (int i = 0; i < count; ++i) {
      const int left = f - fractions[i] + exponents[i] - e;
      const int64_t magnitude = std::abs(terms[i]), cut = left >= 0 ? magnitude << left : left > -63 ? magnitude >> -left : 0;
      sum += terms[i] < 0 ? -cut : cut;
    }
    const D4 v = D4{} + std::ldexp(static_cast<double>(sum), e - f);
    return static_cast<uint32_t>(to_f32_cut(v, v, 0)[0]);
  }
};

uint32_t grouped_dot(const BlockScaleArith& arith, Type scale, const uint32_t* a, const uint32_t* b, int k, const uint32_t* scale_a,
                     const uint32_t* scale_b, int scales, uint32_t c_bits) {
  const Number c = decode_number(Type::f32, c_bits);
  bool nan = c.kind == NumberKind::nan;
  Sum sum;
  for (int k0 = 0; k0 < k; k0 += arith.group) {
    int64_t p = 0;
    for (int i = k0; i < k0 + arith.group; ++i) p += kTwiceE2m1[a[i] & 15] * kTwiceE2m1[b[i] & 15];
    const int s = k0 / (k / scales);
    const GroupScale x = GroupScale::of(scale, scale_a[s]), y = GroupScale::of(scale, scale_b[s]);
    nan |= x.exponent == TileScales::kNan || y.exponent == TileScales::kNan;
    sum.add(p * x.sig * y.sig, x.exponent + y.exponent, kTermFraction);
  }
  if (nan) return kNan;
  if (c.kind == NumberKind::infinity) return c_bits;
  const auto significand = static_cast<int64_t>(c.significand);
  sum.add(c.negative ? -significand : significand, c.exponent + 23, 23);
  return sum.result(arith.sum);
}

/// C of eight columns: signed 24-bit significand and its exponent.
inline void decode_c(I8 bits, I8& sig, I8& exponent) {
  const I8 man = bits & 0x7fffff, e = (bits >> 23) & 0xff, negative = bits >> 31;
  sig = man | ((e != 0) & 0x800000);
  exponent = select(sig == 0, splat(kNoExponent), max(e, splat(1)) - 127);
  sig = (sig ^ negative) - negative;
}

/// Adds sig * 2^(f - fraction + exponent - e), cut toward zero, to the sums; |sig| < 2^31.
inline void add_term(I8 sig, I8 exponent, I8 e, int f_minus_fraction, D4& low_sum, D4& high_sum) {
  const I8 left = f_minus_fraction + exponent - e, cut = max(-left, splat(0));
  const I8 kept = cut_right(sig, cut), up = left + cut;
  low_sum += __builtin_convertvector(low(kept), D4) * power_of_two(low(up));
  high_sum += __builtin_convertvector(high(kept), D4) * power_of_two(high(up));
}

}  // namespace

GroupScale GroupScale::of(Type scale, uint32_t bits) {
  if (scale == Type::ue8m0) return {1 << kScaleFraction, ue8m0_exponent(bits)};
  TC_DCHECK(scale == Type::ue4m3, "not a scale type");
  const int e = static_cast<int>(bits >> 3 & 15), m = static_cast<int>(bits & 7);
  if (e == 15 && m == 7) return {0, TileScales::kNan};
  return {e ? m | 8 : m, std::max(e, 1) - 7};
}

void GroupOperand::decode(const uint32_t* e2m1, int count) {
  TC_DCHECK(count <= kGroupTileElements, "{} elements", count);
  for (int i = 0; i < count; ++i) value[i] = kTwiceE2m1[e2m1[i] & 15];
}

uint32_t block_scaled_dot(const BlockScaleArith& arith, Type a_type, Type b_type, Type scale, const uint32_t* a, const uint32_t* b, int k,
                          const uint32_t* scale_a, const uint32_t* scale_b, int scales, uint32_t c) {
  const int step = arith.sum.block, per = k / scales;
  for (int i = 0; i < k; i += step) {
    const uint32_t *sa = scale_a + i / per, *sb = scale_b + i / per;
    if (arith.group) c = grouped_dot(arith, scale, a + i, b + i, step, sa, sb, std::max(1, scales * step / k), c);
    else c = float_dot(arith.sum, a_type, b_type, Type::f32, a + i, b + i, step, c, ue8m0_exponent(*sa) + ue8m0_exponent(*sb));
  }
  return c;
}

void group_scaled_tile(const BlockScaleArith& arith, MatrixShape shape, const GroupOperand& a, const GroupOperand& b, const GroupScale* a_scales,
                       const GroupScale* b_scales, int scales, const uint32_t* c, uint32_t* d, const uint16_t* b_index, int b_rows) {
  constexpr int kMaxScales = 8;
  const auto [m, n, k] = shape;
  TC_DCHECK(k == arith.sum.block && scales <= kMaxScales, "K of {}, {} scales", k, scales);
  if (b_rows == 0) b_rows = k;
  const int groups = k / arith.group, groups_per_scale = groups / scales, f = arith.sum.fraction_bits;
  for (int p = 0; p < n / 8; ++p) {
    const int32_t* const panel = b.value + p * b_rows * 8;
    I8 b_sig[kMaxScales], b_exponent[kMaxScales];
    for (int s = 0; s < scales; ++s)
      for (int j = 0; j < 8; ++j) {
        const GroupScale& scale = b_scales[(8 * p + j) * scales + s];
        b_sig[s][j] = scale.sig, b_exponent[s][j] = scale.exponent;
      }
    for (int i = 0; i < m; ++i) {
      const int32_t* const row = a.value + i * k;
      I8 sigs[kMaxScales], exponents[kMaxScales], c_sig, c_exponent, nan = splat(0);
      const I8 c_bits = load(c + i * n + 8 * p);
      decode_c(c_bits, c_sig, c_exponent);
      I8 e = max(c_exponent, splat(arith.sum.min_exponent));
      for (int g = 0; g < groups; ++g) {
        I8 sum = splat(0);
        for (int kk = g * arith.group; kk < (g + 1) * arith.group; ++kk) sum += load(panel + 8 * (b_index ? b_index[i * k + kk] : kk)) * row[kk];
        const int s = g / groups_per_scale;
        const GroupScale& x = a_scales[i * scales + s];
        sigs[g] = sum * (b_sig[s] * x.sig);
        const I8 exponent = b_exponent[s] + x.exponent;
        nan |= exponent >= TileScales::kNan / 2;
        exponents[g] = select(sigs[g] == 0, splat(kNoExponent), exponent);
        e = max(e, exponents[g]);
      }
      D4 low_sum{}, high_sum{};
      add_term(c_sig, c_exponent, e, f - 23, low_sum, high_sum);
      for (int g = 0; g < groups; ++g) add_term(sigs[g], exponents[g], e, f - kTermFraction, low_sum, high_sum);
      I8 r = to_f32_cut(low_sum * power_of_two(low(e - f)), high_sum * power_of_two(high(e - f)), 0);
      const I8 special = (c_bits & 0x7f800000) == 0x7f800000;
      if (any(special | nan)) {  // infinity stays itself
        nan |= special & ((c_bits & 0x7fffff) != 0);
        r = select(nan, splat(static_cast<int32_t>(kNan)), select(special, c_bits, r));
      }
      store(d + i * n + 8 * p, r);
    }
  }
}

}  // namespace tcsim::isa
