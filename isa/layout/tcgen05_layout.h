// Where tcgen05.mma has its operands in Tensor Memory: D, A, sparsity metadata and scale factors.
//
//   const Datapath d(DatapathLayout::f, 128 /* n */, 0);       // m64, cta_group::1
//   d.home(17, 5)             -> CTA 0, lane 33, column 5      // row 17 is in the second group of 16 rows: lanes 32 to 47
//
// A CTA's data path has four parts of 32 lanes (PTX ISA, "Data Path Layout Organization"). Each computes some rows of D for some
// columns, and reads its rows of A, their metadata and its scale factors from its own 32 lanes:
//
//   layout  M    cta_group        rows of part p of CTA c         columns       lanes
//   A       256  2                128 c + 32 p ... + 31           all           32 p
//   B       128  2 dense          64 c + 32 (p % 2) ... + 31      half p / 2    32 p
//   C       128  2 sparse         64 c + 16 p ... + 15            all           32 p (or 32 p + 16)
//   D       128  1                32 p ... + 31                   all           32 p
//   E       64   1 .ws            32 (p % 2) ... + 31             half p / 2    32 p
//   F       64   1                16 p ... + 15                   all           32 p (or 32 p + 16)
//   G       32   1 .ws            0 ... 31                        quarter p     32 p
//
// The figures of the manual are images; CUTLASS has the same layouts as text (cute/atom/mma_traits_sm100_frag.hpp: tmem_frg,
// tmem_frg_ws, tmem_e_frg, tmem_sf_frg).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "isa/layout/tcgen05_descriptor.h"

namespace tcsim::isa {

enum class DatapathLayout : uint8_t { a, b, c, d, e, f, g };

/// Layout of an instruction; nullopt: no such M.
std::optional<DatapathLayout> datapath_layout(int m, int cta_group, bool sparse, bool weight_stationary);
/// C and F use half of the lanes, from lane 0 or 16.
constexpr bool is_half_datapath(DatapathLayout l) { return l == DatapathLayout::c || l == DatapathLayout::f; }
constexpr int rows_of(DatapathLayout l) {
  constexpr int kRows[] = {256, 128, 128, 128, 64, 64, 32};
  return kRows[static_cast<size_t>(l)];
}

/// Rows row ... row + lanes - 1 of D lie in lanes `lane` ... of CTA cta; columns column ... column + columns - 1 in as many columns
/// from D's address on.
struct DatapathPart {
  uint8_t cta = 0, lane = 0, lanes = 0;
  uint16_t row = 0, column = 0, columns = 0;
};

struct DatapathHome {
  uint8_t cta = 0, lane = 0;
  uint16_t column = 0;
  bool operator==(const DatapathHome&) const = default;
};

class Datapath {
 public:
  static constexpr int kParts = 4;  // a CTA
  Datapath(DatapathLayout layout, int n, int first_lane);

  std::span<const DatapathPart> parts() const { return {parts_.data(), static_cast<size_t>(count_)}; }
  DatapathLayout layout() const { return layout_; }
  int ctas() const { return count_ / kParts; }
  int rows_per_cta() const { return rows_of(layout_) / ctas(); }
  /// Columns of Tensor Memory that D takes.
  int columns() const { return parts_[0].columns; }
  /// Place of element (row, column n) of D, relative to the column of D's address.
  DatapathHome home(int row, int n) const;

 private:
  DatapathLayout layout_;
  int count_;
  std::array<DatapathPart, 2 * kParts> parts_;
};

/// A in Tensor Memory: element k of a row is in the lane of the row's D; in column and bits relative to A's address. Rows of parts
/// that compute the same rows for other columns (B, E, G) have copies in those lanes.
struct TensorBits {
  uint8_t lane = 0;
  uint8_t column = 0, bit = 0, width = 0;
};
constexpr int kTensorAColumns = 8;  // 32 bytes of stored elements a row, for all kinds
constexpr int tensor_a_bits(MmaKind kind) { return kind == MmaKind::f16 ? 16 : kind == MmaKind::tf32 ? 32 : is_packed_e2m1(kind) ? 4 : 8; }
constexpr TensorBits tensor_a_home(MmaKind kind, int k) {
  const int width = tensor_a_bits(kind), at = k * width;
  return {0, static_cast<uint8_t>(at / 32), static_cast<uint8_t>(at % 32), static_cast<uint8_t>(width)};
}

/// Sparsity metadata: 4 bits (two indices) for each chunk of a row of A: chunk = 4 elements of K (tf32: 2, packed e2m1: 8).
/// row: of the 16 that lie in 16 lanes from a multiple of 16 on; `lane` is relative to those.
/// f16, tf32: one column, picked by the sparsity selector; a lane has half the chunks of two rows that are 8 apart.
constexpr bool is_metadata_split(MmaKind kind) { return kind == MmaKind::f16 || kind == MmaKind::tf32; }
constexpr int metadata_columns(MmaKind kind) { return is_metadata_split(kind) ? 1 : 2; }
constexpr int metadata_chunks(MmaKind kind) { return is_metadata_split(kind) ? 8 : 16; }
constexpr TensorBits metadata_home(MmaKind kind, int row, int chunk) {
  if (is_metadata_split(kind)) return {static_cast<uint8_t>(chunk / 4 * 8 + row % 8), 0, static_cast<uint8_t>(row / 8 * 16 + chunk % 4 * 4), 4};
  return {static_cast<uint8_t>(row), static_cast<uint8_t>(chunk / 8), static_cast<uint8_t>(chunk % 8 * 4), 4};
}

/// Scale factor `index` of line `line`: of A: a row of this CTA; of B: a column of D, counted from the part's first one. In each part's 32
/// lanes (lane: relative to them) lies a copy. id: scale factor ID of the instruction descriptor.
constexpr TensorBits scale_home(int line, int index, int id) {
  return {static_cast<uint8_t>(line % 32), static_cast<uint8_t>(line / 32), static_cast<uint8_t>(8 * (id + index)), 8};
}

}  // namespace tcsim::isa
