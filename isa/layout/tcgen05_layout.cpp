#include "isa/layout/tcgen05_layout.h"

#include "isa/check.h"

namespace tcsim::isa {

using L = DatapathLayout;

std::optional<DatapathLayout> datapath_layout(int m, int cta_group, bool sparse, bool weight_stationary) {
  if (cta_group == 2) return m == 256 ? std::optional(L::a) : m == 128 ? std::optional(sparse ? L::c : L::b) : std::nullopt;
  if (m == 128) return L::d;
  if (m == 64) return weight_stationary ? L::e : L::f;
  return m == 32 && weight_stationary ? std::optional(L::g) : std::nullopt;
}

Datapath::Datapath(DatapathLayout layout, int n, int first_lane) : layout_(layout), count_(layout <= L::c ? 2 * kParts : kParts) {
  TC_DCHECK(first_lane == 0 || is_half_datapath(layout), "first lane {}", first_lane);
  const int lanes = is_half_datapath(layout) ? 16 : 32;
  const int column_parts = layout == L::g ? 4 : layout == L::b || layout == L::e ? 2 : 1, row_parts = kParts / column_parts;
  for (int i = 0; i < count_; ++i) {
    const int cta = i / kParts, p = i % kParts, columns = n / column_parts;
    parts_[static_cast<size_t>(i)] = {static_cast<uint8_t>(cta),
                                      static_cast<uint8_t>(32 * p + first_lane),
                                      static_cast<uint8_t>(lanes),
                                      static_cast<uint16_t>(cta * row_parts * lanes + p % row_parts * lanes),
                                      static_cast<uint16_t>(p / row_parts * columns),
                                      static_cast<uint16_t>(columns)};
  }
}

DatapathHome Datapath::home(int row, int n) const {
  for (const DatapathPart& p : parts())
    if (row >= p.row && row < p.row + p.lanes && n >= p.column && n < p.column + p.columns)
      return {p.cta, static_cast<uint8_t>(p.lane + row - p.row), static_cast<uint16_t>(n - p.column)};
  TC_CHECK(false, "no element ({}, {})", row, n);
}

}  // namespace tcsim::isa
