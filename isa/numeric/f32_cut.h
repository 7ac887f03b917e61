// Exact sums to f32 as the tensor core does it: cut toward zero, subnormals kept. Internal to isa/numeric.
#pragma once
#include "isa/numeric/vec.h"

namespace tcsim::isa::vec {

inline D4 power_of_two(I4 e) { return bits<D4>((__builtin_convertvector(e, L4) + 1023) << 52); }

inline D4 magnitude_of(D4 v) { return bits<D4>(bits<L4>(v) & (L4{} + INT64_MAX)); }

/// Results below the smallest normal: the conversion would round, so they are cut on the fixed grid 2^-149.
[[gnu::noinline]] inline I8 cut_subnormals(I8 r, D4 low_value, D4 high_value) {
  for (int i = 0; i < 8; ++i) {
    const double v = i < 4 ? low_value[i] : high_value[i - 4], magnitude = v < 0 ? -v : v;
    if (magnitude >= 0x1p-126) continue;
    const auto m = static_cast<int32_t>(magnitude * 0x1p149);
    r[i] = m | (v < 0 && m != 0 ? INT32_MIN : 0);
  }
  return r;
}

/// Exact values to f32, cut toward zero to 23 - drop mantissa bits.
inline I8 to_f32_cut(D4 low_value, D4 high_value, int drop) {
  const L4 mask = ~(((L4{} + 1) << 29) - 1);
  const auto convert = [&](D4 v) { return bits<I4>(__builtin_convertvector(bits<D4>(bits<L4>(v) & mask), F4)); };
  I8 r = join(convert(low_value), convert(high_value));
  const auto tiny = [](D4 v) { return (magnitude_of(v) < D4{} + 0x1p-126) & (v != D4{}); };
  if (any(tiny(low_value) | tiny(high_value))) r = cut_subnormals(r, low_value, high_value);
  return drop ? r & ~((1 << drop) - 1) : r;
}

}  // namespace tcsim::isa::vec
