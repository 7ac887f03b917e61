#include "tools/layout/layout_table.h"

#include <algorithm>
#include <tuple>

#include "isa/check.h"

namespace tcsim::layout {
namespace {

auto key(const Home& h) { return std::tie(h.cta, h.warp, h.lane, h.reg, h.tmem_lane, h.tmem_column, h.shared, h.bit_lo); }

}  // namespace

Table::Table(std::string instruction_name, std::string operand_name, int rows, int cols, int tiles)
    : instruction(std::move(instruction_name)),
      operand(std::move(operand_name)),
      rows_(rows),
      cols_(cols),
      tiles_(tiles),
      homes_(static_cast<size_t>(rows) * cols * tiles) {}

void Table::add(ElementAt e, const Home& home) {
  TC_CHECK(holds(e), "{}: no element ({}, {})", instruction, e.row, e.col);
  homes_[index(e)].push_back(home);
  for (const Coordinate& c : kCoordinates) present_.*c.value = std::max(present_.*c.value, home.*c.value);
}

std::vector<Table::Found> Table::find(const Home& where) const {
  std::vector<Found> out;
  for (int tile = 0; tile < tiles_; ++tile)
    for (int row = 0; row < rows_; ++row)
      for (int col = 0; col < cols_; ++col)
        for (const Home& home : homes({tile, row, col})) {
          const bool agrees = std::all_of(std::begin(kCoordinates), std::end(kCoordinates),
                                          [&](const Coordinate& c) { return where.*c.value < 0 || where.*c.value == home.*c.value; });
          if (agrees) out.push_back({{tile, row, col}, home});
        }
  std::stable_sort(out.begin(), out.end(), [](const Found& a, const Found& b) { return key(a.home) < key(b.home); });
  return out;
}

}  // namespace tcsim::layout
