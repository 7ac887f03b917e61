// How near simulated launches come to measured ones. Plain arithmetic on rows; nothing here knows how they
// were simulated.
//
//   CycleScore s = score_cycles(rows);    // s.mean_abs_error == 0.12: 12 % in the mean
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "validation/compare/measurements.h"

namespace tcsim::compare {

using Shares = std::map<std::string, double>;  // stall reason -> share

struct Simulated {
  bool ok = false;
  std::string error;  // why not
  double cycles = 0, warp_instructions = 0, wall_s = 0;
  double wavefronts_ld = 0, wavefronts_st = 0;  // shared memory, conflicts included
  Shares stalls;                                // of active warp-cycles
};

struct Row {
  std::string data_set;
  Measurement measured;
  Simulated simulated;

  /// (simulated - measured) / measured.
  double error() const { return simulated.cycles / measured.cycles - 1; }
};

struct CycleScore {
  uint64_t rows = 0;
  double mean_abs_error = 0, mean_error = 0;
  double worst_error = 0;  // signed, of the largest magnitude
  std::string worst_row;   // "mma_64x64x32_s1_w4 512x512x512"
};
CycleScore score_cycles(std::span<const Row> rows);

/// Pairs of rows of the same size whose measured cycles differ by more than `margin` of the smaller; right:
/// the simulated cycles are in the same order (equal is wrong).
struct PairScore {
  uint64_t pairs = 0, right = 0;
  double share() const { return pairs ? static_cast<double>(right) / static_cast<double>(pairs) : 0; }
};
PairScore score_pairs(std::span<const Row> rows, double margin = 0.10);

/// Spearman's rank correlation; equal values share the mean of their ranks. 0 for fewer than two values.
double spearman(std::span<const double> x, std::span<const double> y);

/// Without selected and not_selected, scaled to sum 1. Empty when all are zero.
Shares normalise(const Shares& shares);
/// ncu's stall_X columns of a row, normalised.
Shares measured_stalls(const Measurement& row);
/// Half the L1 distance of two distributions: 0 equal, 1 disjoint.
double half_l1(const Shares& a, const Shares& b);
/// The reason with the largest share; empty for none.
std::string largest(const Shares& shares);

/// constant_*: the best that one answer for all rows could reach on these measurements (the commonest largest
/// reason; the mean distribution), for comparison.
struct StallScore {
  uint64_t rows = 0, largest_right = 0, constant_right = 0;
  double median_half_l1 = 0, constant_median_half_l1 = 0;
  std::string constant_reason;
  double largest_share() const { return rows ? static_cast<double>(largest_right) / static_cast<double>(rows) : 0; }
  double constant_share() const { return rows ? static_cast<double>(constant_right) / static_cast<double>(rows) : 0; }
};
StallScore score_stalls(std::span<const Row> rows);

/// Shared-memory wavefronts of loads and stores against sass_wavefronts_x (sums of ncu's source page, from
/// addresses alone) where the table has it, else against smem_wavefronts_x - smem_conflicts_x (right where no
/// address conflicts: the rest is arbitration).
struct WavefrontScore {
  uint64_t compared = 0, exact = 0, within_2_percent = 0;
  double worst_error = 0;  // signed
  std::string worst_row;
};
WavefrontScore score_wavefronts(std::span<const Row> rows);

}  // namespace tcsim::compare
