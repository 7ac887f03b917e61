#include "tools/launch/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "tools/launch/npy.h"
#include "tools/launch/parse_common.h"
#include "workloads/common/dtype.h"

namespace tcsim::launch {
namespace {

wl::MatrixRef matrix(const BufferSpec& buffer, std::span<const uint8_t> bytes, bool transposed) {
  const size_t rank = buffer.shape.size();
  const wl::MatrixRef out = rank == 1 ? wl::MatrixRef{bytes, buffer.dtype, 1, buffer.shape[0], 0, buffer.strides[0]}
                                      : wl::MatrixRef{bytes, buffer.dtype, buffer.shape[0], buffer.shape[1], buffer.strides[0], buffer.strides[1]};
  return transposed ? out.transposed() : out;
}

std::span<const uint8_t> bytes_of(const BufferSpec& buffer, Workspace& work) {
  return {work.memory.map(work.address.at(buffer.name), buffer.bytes()), buffer.bytes()};
}

/// The problem with its matrices' extents; bytes are filled in when work is given.
struct Gemm {
  wl::GemmProblem problem;
  wl::MatrixRef d;
  std::vector<uint8_t> initial_c;
};

/// Factors of the rows of A, or of the columns of B, for blocks of K: a matrix like the operand's (transposed where that is) or
/// tiles of 128 x 4. Without bytes only the shape is checked.
struct ScaleSpec {
  const BufferSpec& buffer;
  bool transposed, of_b;
  int64_t outer, count;
};

std::string scale_shape_error(const ScaleSpec& s) {
  const std::vector<int64_t>& shape = s.buffer.shape;
  const std::vector<int64_t> tiled = {s.outer / 128, s.count / 4, 32, 4, 4};
  if (s.outer % 128 == 0 && s.count % 4 == 0 && shape == tiled) return "";
  const bool k_first = s.of_b != s.transposed;
  const std::vector<int64_t> plain = k_first ? std::vector<int64_t>{s.count, s.outer} : std::vector<int64_t>{s.outer, s.count};
  if (shape == plain) return "";
  return fmt::format("buffer '{}' is [{}], expected [{}], or tiles of 128 x 4: [{}, {}, 32, 4, 4]", s.buffer.name, fmt::join(shape, ", "),
                     fmt::join(plain, ", "), (s.outer + 127) / 128, (s.count + 3) / 4);
}

std::vector<double> scales_of(const ScaleSpec& s, std::span<const uint8_t> bytes) {
  if (s.buffer.shape.size() == 5) return wl::read_tiled_scales(bytes, s.buffer.dtype, s.outer, s.count);
  const wl::MatrixRef m = matrix(s.buffer, bytes, s.transposed);
  return wl::read_scales(s.of_b ? m.transposed() : m);
}

/// Both operands' scale buffers, from the problem's extents.
std::array<ScaleSpec, 2> scale_specs(const LaunchFile& file, const GemmCheck& spec, const wl::GemmProblem& p) {
  const int64_t count = p.a.cols / spec.scale_block;
  return {ScaleSpec{*file.find_buffer(spec.sfa), spec.trans_a, false, p.a.rows, count},
          ScaleSpec{*file.find_buffer(spec.sfb), spec.trans_b, true, p.b.cols, count}};
}

std::string scale_error(const LaunchFile& file, const GemmCheck& spec, const wl::GemmProblem& p) {
  if (spec.sfa.empty() || spec.sfb.empty() || spec.scale_block == 0) return "'sfa', 'sfb' and 'scale_block' belong together";
  if (p.a.cols % spec.scale_block != 0) return fmt::format("K is {}, expected a multiple of scale_block = {}", p.a.cols, spec.scale_block);
  if (wl::is_integer(p.a.dtype) || wl::is_integer(p.b.dtype)) return "block scaling is for floating-point operands";
  for (const ScaleSpec& s : scale_specs(file, spec, p))
    if (std::string error = scale_shape_error(s); !error.empty()) return error;
  return "";
}

bool is_scaled(const GemmCheck& spec) { return !spec.sfa.empty() || !spec.sfb.empty() || spec.scale_block != 0; }

std::optional<Gemm> make_gemm(const LaunchFile& file, const GemmCheck& spec, Workspace* work, uint64_t seed, Diagnostics& diags) {
  Gemm out;
  const auto at = [&](const std::string& name, bool transposed) {
    const BufferSpec& buffer = *file.find_buffer(name);
    return matrix(buffer, work ? bytes_of(buffer, *work) : std::span<const uint8_t>(), transposed);
  };
  out.problem = {at(spec.a, spec.trans_a), at(spec.b, spec.trans_b), at(spec.c, spec.trans_c), spec.alpha, spec.beta};
  out.d = at(spec.d, spec.trans_c);
  if (work && spec.beta != 0 && spec.c == spec.d) {  // C was overwritten: its contents before the launch
    auto bytes = initial_bytes(file, *file.find_buffer(spec.c), seed, diags);
    if (!bytes) return std::nullopt;
    out.initial_c = std::move(*bytes);
    out.problem.c.bytes = out.initial_c;
  }
  if (work && is_scaled(spec)) {
    out.problem.scale_block = spec.scale_block;
    const auto specs = scale_specs(file, spec, out.problem);
    out.problem.a_scales = scales_of(specs[0], bytes_of(specs[0].buffer, *work));
    out.problem.b_scales = scales_of(specs[1], bytes_of(specs[1].buffer, *work));
  }
  return out;
}

void check_gemm(const LaunchFile& file, uint64_t seed, Workspace& work, CheckOutcome& out, Diagnostics& diags) {
  const auto result = compare(file, seed, work, {.rtol = file.check->rtol, .atol = file.check->atol}, diags);
  if (!result) return;
  out.elements += result->elements;
  out.failures += result->failures;
  out.max_abs = result->max_abs;
  out.rel_l2 = result->rel_l2;
  out.max_ulp = result->max_ulp;
  out.text = result->str(file.check->gemm->d);
  if (result->passed) return;
  out.passed = false;
  diags.error("check-failed", file.check->gemm->place, out.text);
}

void check_equals(const LaunchFile& file, const CheckSpec::Equals& spec, Workspace& work, CheckOutcome& out, Diagnostics& diags) {
  const BufferSpec& buffer = *file.find_buffer(spec.buffer);
  const auto content = read_bytes(file.resolve(spec.file), spec.place, diags);
  if (!content) return;
  std::vector<uint8_t> want = *content;
  if (is_npy(want)) {
    std::string error;
    auto array = parse_npy(want, error);
    if (!array) return diags.error("launch-mismatch", spec.place, fmt::format("'{}': {}", spec.file, error));
    want = std::move(array->data);
  }
  const auto got = bytes_of(buffer, work);
  if (want.size() != got.size())
    return diags.error("launch-mismatch", spec.place,
                       fmt::format("'{}' has {} bytes, buffer '{}' {}", spec.file, want.size(), buffer.name, got.size()));
  uint64_t differ = 0, first = 0;
  for (uint64_t i = got.size(); i-- > 0;)
    if (got[i] != want[i]) {
      ++differ;
      first = i;
    }
  out.elements += buffer.elements();
  if (differ == 0) return;
  const uint64_t element = first * 8 / static_cast<uint64_t>(wl::storage_bits(buffer.dtype));
  out.passed = false;
  ++out.failures;
  out.text = fmt::format("buffer '{}' differs from '{}' in {} bytes; element {} is {:.9g}, expected {:.9g}", buffer.name, spec.file, differ, element,
                         wl::load(got, buffer.dtype, element), wl::load(want, buffer.dtype, element));
  diags.error("check-failed", spec.place, out.text);
}

}  // namespace

void validate_check(const LaunchFile& file, Diagnostics& diags) {
  if (!file.check || !file.check->gemm) return;
  const GemmCheck& spec = *file.check->gemm;
  for (const std::string* name : {&spec.a, &spec.b, &spec.c, &spec.d})
    if (file.find_buffer(*name)->shape.size() > 2)
      return diags.error("launch-mismatch", spec.place,
                         fmt::format("buffer '{}' has {} dimensions, 'gemm' compares matrices", *name, file.find_buffer(*name)->shape.size()));
  const auto gemm = make_gemm(file, spec, nullptr, 0, diags);
  if (const std::string error = wl::shape_error(gemm->problem, gemm->d); !error.empty()) return diags.error("launch-mismatch", spec.place, error);
  if (!is_scaled(spec)) return;
  if (const std::string error = scale_error(file, spec, gemm->problem); !error.empty()) diags.error("launch-mismatch", spec.place, error);
}

std::optional<wl::Comparison> compare(const LaunchFile& file, uint64_t seed, Workspace& work, const wl::Tolerance& tolerance, Diagnostics& diags) {
  const auto gemm = make_gemm(file, *file.check->gemm, &work, seed, diags);
  if (!gemm) return std::nullopt;
  return wl::compare_gemm(gemm->problem, gemm->d, tolerance);
}

std::optional<CheckOutcome> run_check(const LaunchFile& file, uint64_t seed, Workspace& work, Diagnostics& diags) {
  if (!file.check) return std::nullopt;
  CheckOutcome out;
  if (file.check->gemm) check_gemm(file, seed, work, out, diags);
  for (const CheckSpec::Equals& equals : file.check->equals) check_equals(file, equals, work, out, diags);
  if (out.text.empty()) out.text = fmt::format("{} elements are equal", out.elements);
  return out;
}

}  // namespace tcsim::launch
