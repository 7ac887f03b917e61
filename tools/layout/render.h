// Tables as text: drawings (ASCII, Markdown, SVG, HTML) and lists (CSV, JSON). HTML is one file that needs nothing else.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/layout/layout_table.h"

namespace tcsim::layout {

enum class Format : uint8_t { ascii, csv, markdown, svg, html, json };
std::optional<Format> format_named(std::string_view name);

/// by_place: the other way round: what each lane and register (each lane and column of Tensor Memory, each 128 bytes of shared memory) holds.
std::string render(const std::vector<Table>& tables, Format format, bool by_place);

/// "lane 5, register 1, bits 16-31".
std::string describe(const Home& home);
/// "A[9][3]", with its tile where there are several.
std::string describe(const Table& table, ElementAt e);

/// JSON of one element or of several: {"operand": "A", "row": 9, "col": 3, "lane": 5, ...}; an object when there is exactly one.
std::string elements_json(const Table& table, const std::vector<Table::Found>& found, bool list);

/// A drawing: rows of cells with labels.
struct Grid {
  struct Cell {
    std::string text;
    int colour = -1;  // of 32; -1: none
  };
  std::string title, corner;
  std::vector<std::string> column_labels, row_labels;
  std::vector<std::vector<Cell>> cells;
};
std::vector<Grid> grids(const Table& table, bool by_place);

std::string render_html(const std::vector<Table>& tables);
std::string render_svg(const std::vector<Table>& tables, bool by_place);

}  // namespace tcsim::layout
