// The host's GEMM, D = alpha A B + beta C, by Eigen: in f32 (f64 where the result is f64, exact integers
// where it is an integer), and the comparison of a simulated result with it.
//
//   wl::GemmProblem p{.a = {...}, .b = {...}, .alpha = 1, .beta = 0};
//   wl::Comparison result = wl::compare_gemm(p, d, {.rtol = 1e-2, .atol = 1e-2});
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/type.h"

namespace tcsim::wl {

/// A matrix that lies in bytes; strides in elements.
struct MatrixRef {
  std::span<const uint8_t> bytes;
  isa::Type dtype = isa::Type::none;
  int64_t rows = 0, cols = 0, row_stride = 0, col_stride = 1;

  MatrixRef transposed() const { return {bytes, dtype, cols, rows, col_stride, row_stride}; }
};

struct GemmProblem {
  MatrixRef a, b;  // m x k, k x n
  MatrixRef c;     // m x n; not looked at when beta == 0
  double alpha = 1, beta = 0;
  // Block scaling: each scale_block elements along k of a row of A and of a column of B share a factor. 0: none.
  int64_t scale_block = 0;
  std::vector<double> a_scales = {}, b_scales = {};  // [m][k / scale_block], [n][k / scale_block]
};

/// Scale factors of `outer` rows of A or columns of B, `count` each, from a plain matrix (outer x count).
std::vector<double> read_scales(const MatrixRef& plain);
/// The same from tiles of 128 x 4 factors, 512 bytes each, as tcgen05 and cuBLAS have them: [outer / 128][count / 4][32][4][4],
/// where (row, col) of a tile is at [row % 32][row / 32][col].
std::vector<double> read_tiled_scales(std::span<const uint8_t> bytes, isa::Type dtype, int64_t outer, int64_t count);

/// What an element may differ by: atol + rtol |want| + ulps * ulp(dtype of D, want) + accumulation * K *
/// sum_k |a b|.
struct Tolerance {
  double rtol = 0, atol = 0;
  double ulps = 0, accumulation = 0;
};

/// One unit in the last place of the output type for its rounding, and K * 2^-23 * sum|a b| for the
/// accumulation: each of K additions in f32 loses at most one unit in the last place (2^-23, tensor cores
/// truncate) of a partial sum, which is at most sum|a b|.
constexpr Tolerance kAcceptance{.ulps = 1, .accumulation = 0x1p-23};

/// The same for Hopper's wgmma of 8-bit floats, which keeps 13 bits behind the point of a step's largest term (DeepSeek-V3, arXiv
/// 2412.19437, 3.3.2): each of K / 32 steps loses at most 2^-13 of a partial sum, so 2^-13 / 32 for each of K.
constexpr Tolerance kAcceptanceFloat8{.ulps = 1, .accumulation = 0x1p-18};

struct Comparison {
  bool passed = false;
  uint64_t elements = 0, failures = 0;
  double max_abs = 0;          // largest |got - want|
  double rel_l2 = 0;           // |got - want|_2 / |want|_2
  double max_ulp = 0;          // largest |got - want| in units of the last place of D's type
  int64_t row = -1, col = -1;  // first element that fails, in row-major order
  double got = 0, want = 0, allowed = 0;

  /// "D[3, 17] is 1.5, expected 2.25 (allowed 0.0325); 12 of 4096 elements differ"
  std::string str(std::string_view name) const;
};

/// Empty when the extents agree, else what does not.
std::string shape_error(const GemmProblem& problem, const MatrixRef& d);

Comparison compare_gemm(const GemmProblem& problem, const MatrixRef& d, const Tolerance& tolerance);

}  // namespace tcsim::wl
