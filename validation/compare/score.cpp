#include "validation/compare/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tcsim::compare {
namespace {

std::string label(const Row& row) { return row.measured.kernel + " " + row.measured.size(); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Ranks from 1; ties get the mean rank.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t j = i; j < end; ++j) out[order[j]] = (static_cast<double>(i + 1) + static_cast<double>(end)) / 2;
    i = end;
  }
  return out;
}

double column(const Measurement& row, const std::string& name, bool& there) {
  const auto at = row.columns.find(name);
  there = there && at != row.columns.end();
  return at == row.columns.end() ? 0 : at->second;
}

}  // namespace

CycleScore score_cycles(std::span<const Row> rows) {
  CycleScore out;
  for (const Row& row : rows) {
    if (!row.simulated.ok) continue;
    ++out.rows;
    out.mean_abs_error += std::abs(row.error());
    out.mean_error += row.error();
    if (std::abs(row.error()) >= std::abs(out.worst_error)) {
      out.worst_error = row.error();
      out.worst_row = label(row);
    }
  }
  if (out.rows) {
    out.mean_abs_error /= static_cast<double>(out.rows);
    out.mean_error /= static_cast<double>(out.rows);
  }
  return out;
}

PairScore score_pairs(std::span<const Row> rows, double margin) {
  PairScore out;
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = i + 1; j < rows.size(); ++j) {
      const Row &a = rows[i], &b = rows[j];
      if (!a.simulated.ok || !b.simulated.ok || a.data_set != b.data_set || a.measured.size() != b.measured.size()) continue;
      const double low = std::min(a.measured.cycles, b.measured.cycles), high = std::max(a.measured.cycles, b.measured.cycles);
      if (high <= low * (1 + margin)) continue;
      ++out.pairs;
      out.right += (a.measured.cycles < b.measured.cycles) ? a.simulated.cycles < b.simulated.cycles : a.simulated.cycles > b.simulated.cycles;
    }
  return out;
}

double spearman(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 2) return 0;
  const std::vector<double> rx = ranks(x), ry = ranks(y);
  const double mean = (static_cast<double>(x.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < rx.size(); ++i) {
    xy += (rx[i] - mean) * (ry[i] - mean);
    xx += (rx[i] - mean) * (rx[i] - mean);
    yy += (ry[i] - mean) * (ry[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

Shares normalise(const Shares& shares) {
  Shares out;
  double sum = 0;
  for (const auto& [reason, share] : shares)
    if (reason != "selected" && reason != "not_selected") sum += share;
  if (sum <= 0) return out;
  for (const auto& [reason, share] : shares)
    if (reason != "selected" && reason != "not_selected") out[reason] = share / sum;
  return out;
}

Shares measured_stalls(const Measurement& row) {
  Shares out;
  for (const auto& [name, value] : row.columns)
    if (name.starts_with("stall_")) out[name.substr(6)] = value;
  return normalise(out);
}

double half_l1(const Shares& a, const Shares& b) {
  double sum = 0;
  for (const auto& [reason, share] : a) {
    const auto at = b.find(reason);
    sum += std::abs(share - (at == b.end() ? 0 : at->second));
  }
  for (const auto& [reason, share] : b)
    if (!a.count(reason)) sum += std::abs(share);
  return sum / 2;
}

std::string largest(const Shares& shares) {
  const auto most = std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == shares.end() ? "" : most->first;
}

StallScore score_stalls(std::span<const Row> rows) {
  StallScore out;
  std::vector<double> distances;
  std::vector<Shares> measured;
  std::map<std::string, uint64_t> commonest;
  Shares mean;
  for (const Row& row : rows) {
    const Shares want = measured_stalls(row.measured);
    if (!row.simulated.ok || want.empty()) continue;
    const Shares got = normalise(row.simulated.stalls);
    ++out.rows;
    out.largest_right += largest(got) == largest(want);
    distances.push_back(half_l1(got, want));
    ++commonest[largest(want)];
    for (const auto& [reason, share] : want) mean[reason] += share;
    measured.push_back(want);
  }
  if (out.rows == 0) return out;
  for (auto& [reason, share] : mean) share /= static_cast<double>(out.rows);
  for (const auto& [reason, count] : commonest)
    if (count > out.constant_right) {
      out.constant_right = count;
      out.constant_reason = reason;
    }
  std::vector<double> constant;
  for (const Shares& want : measured) constant.push_back(half_l1(mean, want));
  out.median_half_l1 = median(distances);
  out.constant_median_half_l1 = median(constant);
  return out;
}

WavefrontScore score_wavefronts(std::span<const Row> rows) {
  WavefrontScore out;
  for (const Row& row : rows) {
    if (!row.simulated.ok) continue;
    for (const auto& [suffix, got] : {std::pair{"ld", row.simulated.wavefronts_ld}, {"st", row.simulated.wavefronts_st}}) {
      bool there = true;
      double want = column(row.measured, fmt::format("sass_wavefronts_{}", suffix), there);
      if (!there) {
        there = true;
        want = column(row.measured, fmt::format("smem_wavefronts_{}", suffix), there) -
               column(row.measured, fmt::format("smem_conflicts_{}", suffix), there);
      }
      if (!there) continue;
      const double error = want > 0 ? got / want - 1 : got > 0 ? 1 : 0;
      ++out.compared;
      out.exact += got == want;
      out.within_2_percent += std::abs(error) <= 0.02;
      if (std::abs(error) > std::abs(out.worst_error)) {
        out.worst_error = error;
        out.worst_row = label(row) + " " + suffix;
      }
    }
  }
  return out;
}

}  // namespace tcsim::compare
