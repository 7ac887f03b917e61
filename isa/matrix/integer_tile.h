// D = A * B + D of integers, eight columns at a time. Internal to isa/matrix.
#pragma once
#include <algorithm>
#include <cstdint>

#include "isa/numeric/generation.h"
#include "isa/numeric/vec.h"

namespace tcsim::isa {

/// A [m][k] and B in panels [n / 8][b_rows][8] of sign- or zero-extended words, d [m][n]; sums wrap, or (saturate) are clamped at the
/// end. b_index: nullptr, or [m][k]: the row of B that a stored element of A meets.
inline void integer_tile(MatrixShape shape, const uint32_t* a, const uint32_t* b, uint32_t* d, bool saturate, const uint16_t* b_index, int b_rows) {
  const auto [m, n, k] = shape;
  for (int p = 0; p < n / 8; ++p) {
    const uint32_t* const panel = b + p * b_rows * 8;
    for (int i = 0; i < m; ++i) {
      vec::U8 sum{};
      for (int kk = 0; kk < k; ++kk) sum += a[i * k + kk] * vec::bits<vec::U8>(vec::load(panel + 8 * (b_index ? b_index[i * k + kk] : kk)));
      uint32_t* const row = d + i * n + 8 * p;
      if (!saturate) {
        vec::store(row, vec::bits<vec::I8>(sum + vec::bits<vec::U8>(vec::load(row))));  // wraps
        continue;
      }
      for (int j = 0; j < 8; ++j) {
        const int64_t exact = int64_t{static_cast<int32_t>(sum[j])} + static_cast<int32_t>(row[j]);
        row[j] = static_cast<uint32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
      }
    }
  }
}

}  // namespace tcsim::isa
