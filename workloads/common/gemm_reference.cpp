#include "workloads/common/gemm_reference.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <cmath>
#include <type_traits>

#include "isa/check.h"
#include "workloads/common/dtype.h"

namespace tcsim::wl {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
Matrix<T> read(const MatrixRef& m) {
  Matrix<T> out(m.rows, m.cols);
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.cols; ++c) {
      const uint64_t bits = load_bits(m.bytes, m.dtype, static_cast<uint64_t>(r * m.row_stride + c * m.col_stride));
      if constexpr (std::is_integral_v<T>) out(r, c) = decode_integer(m.dtype, bits);
      else out(r, c) = static_cast<T>(decode(m.dtype, bits));
    }
  return out;
}

/// A with its factors, and B.
template <class T>
Matrix<T> read_a(const GemmProblem& p) {
  Matrix<T> out = read<T>(p.a);
  if constexpr (std::is_floating_point_v<T>)
    for (int64_t r = 0; r < out.rows() && p.scale_block > 0; ++r)
      for (int64_t k = 0; k < out.cols(); ++k)
        out(r, k) *= static_cast<T>(p.a_scales[static_cast<size_t>(r * (out.cols() / p.scale_block) + k / p.scale_block)]);
  return out;
}
template <class T>
Matrix<T> read_b(const GemmProblem& p) {
  Matrix<T> out = read<T>(p.b);
  if constexpr (std::is_floating_point_v<T>)
    for (int64_t k = 0; k < out.rows() && p.scale_block > 0; ++k)
      for (int64_t c = 0; c < out.cols(); ++c)
        out(k, c) *= static_cast<T>(p.b_scales[static_cast<size_t>(c * (out.rows() / p.scale_block) + k / p.scale_block)]);
  return out;
}

/// Integer results wrap as the output type does (PTX: mma without .satfinite).
int64_t wrap(isa::Type dtype, int64_t value) {
  const int bits = storage_bits(dtype);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return decode_integer(dtype, static_cast<uint64_t>(value) & mask);
}

template <class T>
Matrix<T> multiply(const GemmProblem& p, const MatrixRef& d) {
  Matrix<T> out = read_a<T>(p) * read_b<T>(p);
  if (p.alpha != 1) out *= static_cast<T>(p.alpha);
  if (p.beta != 0) out += static_cast<T>(p.beta) * read<T>(p.c);
  if constexpr (std::is_integral_v<T>) out = out.unaryExpr([&](T x) { return wrap(d.dtype, x); });
  return out;
}

/// sum over k of |a b|, for the accumulation bound.
Matrix<double> magnitude(const GemmProblem& p) { return read_a<double>(p).cwiseAbs() * read_b<double>(p).cwiseAbs() * std::abs(p.alpha); }

template <class T>
Comparison compare(const GemmProblem& p, const MatrixRef& d, const Tolerance& tolerance) {
  const Matrix<T> want = multiply<T>(p, d), got = read<T>(d);
  Matrix<double> bound;
  if (tolerance.accumulation != 0) bound = magnitude(p) * (tolerance.accumulation * static_cast<double>(p.a.cols));
  Comparison out;
  double error2 = 0, want2 = 0;
  for (int64_t r = 0; r < d.rows; ++r)
    for (int64_t c = 0; c < d.cols; ++c) {
      const double w = static_cast<double>(want(r, c)), g = static_cast<double>(got(r, c));
      const double unit = ulp(d.dtype, w);
      const double error = got(r, c) == want(r, c) ? 0 : std::abs(g - w);
      double allowed = tolerance.atol + tolerance.rtol * std::abs(w) + tolerance.ulps * unit;
      if (tolerance.accumulation != 0) allowed += bound(r, c);
      ++out.elements;
      if (!std::isnan(error)) {
        out.max_abs = std::max(out.max_abs, error);
        out.max_ulp = std::max(out.max_ulp, error / unit);
      }
      error2 += error * error;
      want2 += w * w;
      if (error <= allowed) continue;
      if (out.failures++ == 0) {
        out.row = r;
        out.col = c;
        out.got = g;
        out.want = w;
        out.allowed = allowed;
      }
    }
  out.rel_l2 = want2 > 0 ? std::sqrt(error2 / want2) : std::sqrt(error2);
  out.passed = out.failures == 0;
  return out;
}

}  // namespace

std::string Comparison::str(std::string_view name) const {
  if (passed) return fmt::format("{}: {} elements agree, largest error {:.3g} ({:.3g} ulp), rel_l2 {:.3g}", name, elements, max_abs, max_ulp, rel_l2);
  return fmt::format(
      "{}[{}, {}] is {:.9g}, expected {:.9g} (allowed error {:.3g}); {} of {} elements "
      "differ, largest error {:.3g} ({:.3g} ulp), rel_l2 {:.3g}",
      name, row, col, got, want, allowed, failures, elements, max_abs, max_ulp, rel_l2);
}

std::vector<double> read_scales(const MatrixRef& plain) {
  std::vector<double> out;
  for (int64_t r = 0; r < plain.rows; ++r)
    for (int64_t c = 0; c < plain.cols; ++c)
      out.push_back(load(plain.bytes, plain.dtype, static_cast<uint64_t>(r * plain.row_stride + c * plain.col_stride)));
  return out;
}

std::vector<double> read_tiled_scales(std::span<const uint8_t> bytes, isa::Type dtype, int64_t outer, int64_t count) {
  std::vector<double> out;
  for (int64_t r = 0; r < outer; ++r)
    for (int64_t c = 0; c < count; ++c) {
      const int64_t tile = r / 128 * (count / 4) + c / 4;
      out.push_back(load(bytes, dtype, static_cast<uint64_t>(tile * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4)));
    }
  return out;
}

std::string shape_error(const GemmProblem& p, const MatrixRef& d) {
  if (p.a.cols != p.b.rows) return fmt::format("A is {} x {} and B is {} x {}: their inner extents differ", p.a.rows, p.a.cols, p.b.rows, p.b.cols);
  if (d.rows != p.a.rows || d.cols != p.b.cols) return fmt::format("D is {} x {}, A B is {} x {}", d.rows, d.cols, p.a.rows, p.b.cols);
  if (p.beta != 0 && (p.c.rows != d.rows || p.c.cols != d.cols)) return fmt::format("C is {} x {}, D is {} x {}", p.c.rows, p.c.cols, d.rows, d.cols);
  return "";
}

Comparison compare_gemm(const GemmProblem& problem, const MatrixRef& d, const Tolerance& tolerance) {
  const std::string error = shape_error(problem, d);
  TC_CHECK(error.empty(), "{}", error);
  if (is_integer(problem.a.dtype) && is_integer(problem.b.dtype) && is_integer(d.dtype)) return compare<int64_t>(problem, d, tolerance);
  return d.dtype == isa::Type::f64 ? compare<double>(problem, d, tolerance) : compare<float>(problem, d, tolerance);
}

}  // namespace tcsim::wl
