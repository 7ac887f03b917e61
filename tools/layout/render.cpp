#include "tools/layout/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tcsim::layout {
namespace {

using Json = nlohmann::ordered_json;

/// As the figures of the PTX manual: T5:a3 is element 3 of lane 5's registers of A, counted over all registers.
std::string cell_text(const Table& t, const Home& h) {
  const std::string cta = h.cta >= 0 ? fmt::format("C{}.", h.cta) : "";
  if (h.shared >= 0) return t.element_bits < 8 ? fmt::format("{}{:x}.{}", cta, h.shared, h.bit_lo) : fmt::format("{}{:x}", cta, h.shared);
  if (h.lane < 0)
    return h.bit_lo > 0 || h.bit_hi < 31 ? fmt::format("{}{},{}.{}", cta, h.tmem_lane, h.tmem_column, h.bit_lo)
                                         : fmt::format("{}{},{}", cta, h.tmem_lane, h.tmem_column);
  const int per = std::max(1, (t.largest(&Home::bit_hi) + 1) / t.element_bits);
  const std::string warp = h.warp >= 0 ? fmt::format("W{}.", h.warp) : "";
  return fmt::format("{}T{}:{}{}", warp, h.lane, static_cast<char>(t.operand[0] | 0x20), h.reg * per + h.bit_lo / t.element_bits);
}

int colour_of(const Home& h) {
  if (h.lane >= 0) return h.lane;
  if (h.bank >= 0) return h.bank;
  return h.tmem_lane / 4;
}

std::string legend(const Table& t) {
  if (t.place == Place::shared_memory) return "a cell is the byte offset (hexadecimal)";
  if (t.place == Place::tensor_memory) return "a cell is lane,column of Tensor Memory (.first bit)";
  const std::string letter(1, static_cast<char>(t.operand[0] | 0x20));
  const int per = std::max(1, (t.largest(&Home::bit_hi) + 1) / t.element_bits);
  return per == 1 ? fmt::format("T5:{0}3 is register 3 of lane 5", letter)
                  : fmt::format("T5:{0}3 is element 3 of lane 5: register {1}, bits from {2} on", letter, 3 / per, 3 % per * t.element_bits);
}

std::string title_of(const Table& t) {
  return fmt::format("{} {}: {} x {}, elements of {} bits", t.instruction, t.operand, t.rows(), t.cols(), t.element_bits);
}

Grid matrix_grid(const Table& t, int tile) {
  Grid g;
  g.title = t.tiles() > 1 ? fmt::format("{}, {} {}", title_of(t), t.tile_name, tile) : title_of(t);
  g.corner = "row\\col";
  for (int col = 0; col < t.cols(); ++col) g.column_labels.push_back(std::to_string(col));
  for (int row = 0; row < t.rows(); ++row) {
    g.row_labels.push_back(std::to_string(row));
    auto& line = g.cells.emplace_back();
    for (int col = 0; col < t.cols(); ++col) {
      const auto homes = t.homes({tile, row, col});
      if (homes.empty()) line.emplace_back();
      else
        line.push_back(
            {homes.size() == 1 ? cell_text(t, homes[0]) : fmt::format("{}+{}", cell_text(t, homes[0]), homes.size() - 1), colour_of(homes[0])});
    }
  }
  return g;
}

/// Elements in one place, in the order of their bits.
std::string element_text(const Table& t, ElementAt e) {
  return t.tiles() > 1 ? fmt::format("({},{},{})", e.tile, e.row, e.col) : fmt::format("({},{})", e.row, e.col);
}

struct Axis {
  std::string row, column;  // labels
  int line = 0, place = 0;  // indices
};

Axis axis_of(const Table& t, const Home& h) {
  if (t.place == Place::shared_memory) {
    const int line = h.shared / 128, at = h.shared % 128 / 16, cta = std::max(h.cta, 0), lines = t.largest(&Home::shared) / 128 + 1;
    return {h.cta >= 0 ? fmt::format("CTA {} {:#x}", cta, line * 128) : fmt::format("{:#x}", line * 128), fmt::format("+{}", 16 * at),
            cta * lines + line, at};
  }
  if (t.place == Place::tensor_memory) {
    const int cta = std::max(h.cta, 0);
    return {h.cta >= 0 ? fmt::format("CTA {} lane {}", cta, h.tmem_lane) : fmt::format("lane {}", h.tmem_lane), fmt::format("col {}", h.tmem_column),
            cta * 128 + h.tmem_lane, h.tmem_column};
  }
  const int warp = std::max(h.warp, 0);
  return {h.warp >= 0 ? fmt::format("warp {} lane {}", warp, h.lane) : fmt::format("lane {}", h.lane), fmt::format("reg {}", h.reg),
          warp * 32 + h.lane, h.reg};
}

Grid place_grid(const Table& t) {
  Grid g;
  g.title = title_of(t) + ", by place";
  g.corner = "holds (row,col)";
  std::vector<Table::Found> all = t.find({});
  if (t.place == Place::shared_memory)
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return std::pair(a.home.cta, a.home.shared) < std::pair(b.home.cta, b.home.shared); });
  int lines = 0, places = 0;
  for (const auto& f : all) {
    const Axis a = axis_of(t, f.home);
    lines = std::max(lines, a.line + 1), places = std::max(places, a.place + 1);
  }
  g.cells.assign(static_cast<size_t>(lines), std::vector<Grid::Cell>(static_cast<size_t>(places)));
  g.row_labels.resize(static_cast<size_t>(lines)), g.column_labels.resize(static_cast<size_t>(places));
  for (const auto& f : all) {
    const Axis a = axis_of(t, f.home);
    g.row_labels[static_cast<size_t>(a.line)] = a.row, g.column_labels[static_cast<size_t>(a.place)] = a.column;
    Grid::Cell& cell = g.cells[static_cast<size_t>(a.line)][static_cast<size_t>(a.place)];
    // Sixteen bytes of shared memory hold neighbours: the first and the last say it.
    if (t.place == Place::shared_memory && !cell.text.empty())
      cell.text = cell.text.substr(0, cell.text.find("..")) + ".." + element_text(t, f.element);
    else cell.text += element_text(t, f.element);
    cell.colour = colour_of(f.home);
  }
  // Lanes that hold nothing are not drawn.
  for (size_t i = g.cells.size(); i-- > 0;)
    if (g.row_labels[i].empty())
      g.cells.erase(g.cells.begin() + static_cast<long>(i)), g.row_labels.erase(g.row_labels.begin() + static_cast<long>(i));
  return g;
}

std::string ascii(const Grid& g) {
  constexpr size_t kWidth = 160;
  size_t label = g.corner.size(), width = 0;
  for (const auto& l : g.row_labels) label = std::max(label, l.size());
  for (const auto& l : g.column_labels) width = std::max(width, l.size());
  for (const auto& row : g.cells)
    for (const auto& c : row) width = std::max(width, c.text.size());
  const size_t per_panel = std::max<size_t>(1, (kWidth - label) / (width + 1)), panels = (g.column_labels.size() + per_panel - 1) / per_panel;
  const size_t even = (g.column_labels.size() + panels - 1) / panels,
               step = panels == 1 ? even
                      : even >= 8 ? std::min(per_panel, (even + 7) / 8 * 8) > per_panel ? even : std::min(per_panel / 8 * 8, (even + 7) / 8 * 8)
                                  : even;
  std::string out;
  for (size_t first = 0; first < g.column_labels.size(); first += step) {
    const size_t end = std::min(first + step, g.column_labels.size());
    out += fmt::format("{:>{}}", g.corner, label);
    for (size_t c = first; c < end; ++c) out += fmt::format(" {:>{}}", g.column_labels[c], width);
    out += "\n";
    for (size_t r = 0; r < g.cells.size(); ++r) {
      out += fmt::format("{:>{}}", g.row_labels[r], label);
      for (size_t c = first; c < end; ++c) out += fmt::format(" {:>{}}", g.cells[r][c].text.empty() ? "." : g.cells[r][c].text, width);
      out += "\n";
    }
    if (end < g.column_labels.size()) out += "\n";
  }
  return out;
}

std::string markdown(const Grid& g) {
  std::string out = fmt::format("| {} |", g.corner == "row\\col" ? "row / col" : g.corner), rule = "| ---: |";
  for (const auto& l : g.column_labels) out += fmt::format(" {} |", l), rule += " --- |";
  out += "\n" + rule + "\n";
  for (size_t r = 0; r < g.cells.size(); ++r) {
    out += fmt::format("| **{}** |", g.row_labels[r]);
    for (const auto& c : g.cells[r]) out += fmt::format(" {} |", c.text);
    out += "\n";
  }
  return out;
}

std::string drawing(const std::vector<Table>& tables, bool by_place, bool is_markdown) {
  std::string out;
  for (const Table& t : tables)
    for (const Grid& g : grids(t, by_place)) {
      out += fmt::format("{}{}{}\n", out.empty() ? "" : "\n", is_markdown ? "### " : "", g.title);
      if (is_markdown) out += "\n";
      for (const std::string& note : t.notes) out += fmt::format("{}{}\n", is_markdown ? "- " : "  ", note);
      if (!by_place) out += fmt::format("{}{}\n", is_markdown ? "- " : "  ", legend(t));
      out += fmt::format("\n{}", is_markdown ? markdown(g) : ascii(g));
    }
  return out;
}

Json element_json(const Table& t, ElementAt e, const Home& h) {
  Json j = {{"operand", t.operand}, {"row", e.row}, {"col", e.col}};
  if (t.tiles() > 1) j[t.tile_name] = e.tile;
  for (const Coordinate& c : kCoordinates)
    if (h.*c.value >= 0) j[c.name] = h.*c.value;
  return j;
}

std::vector<Table::Found> in_order(const Table& t, bool by_place) {
  if (by_place) return t.find({});
  std::vector<Table::Found> all;
  for (int tile = 0; tile < t.tiles(); ++tile)
    for (int row = 0; row < t.rows(); ++row)
      for (int col = 0; col < t.cols(); ++col)
        for (const Home& h : t.homes({tile, row, col})) all.push_back({{tile, row, col}, h});
  return all;
}

std::string json(const std::vector<Table>& tables, bool by_place) {
  Json list = Json::array();
  for (const Table& t : tables) {
    Json j = {{"instruction", t.instruction},   {"operand", t.operand}, {"rows", t.rows()}, {"cols", t.cols()},
              {"element_bits", t.element_bits}, {"notes", t.notes}};
    Json elements = Json::array();
    for (const auto& f : in_order(t, by_place)) elements.push_back(element_json(t, f.element, f.home));
    j["elements"] = std::move(elements);
    list.push_back(std::move(j));
  }
  return (list.size() == 1 ? list[0] : list).dump() + "\n";
}

std::string csv(const std::vector<Table>& tables, bool by_place) {
  const auto used = [&](const Coordinate& c) { return std::any_of(tables.begin(), tables.end(), [&](const Table& t) { return t.has(c.value); }); };
  const bool tiles = std::any_of(tables.begin(), tables.end(), [](const Table& t) { return t.tiles() > 1; });
  std::string out = tiles ? fmt::format("operand,{},row,col", tables[0].tile_name) : "operand,row,col";
  for (const Coordinate& c : kCoordinates)
    if (used(c)) out += fmt::format(",{}", c.name);
  out += "\n";
  for (const Table& t : tables)
    for (const auto& f : in_order(t, by_place)) {
      out += t.operand;
      if (tiles) out += fmt::format(",{}", f.element.tile);
      out += fmt::format(",{},{}", f.element.row, f.element.col);
      for (const Coordinate& c : kCoordinates)
        if (used(c)) out += f.home.*c.value >= 0 ? fmt::format(",{}", f.home.*c.value) : ",";
      out += "\n";
    }
  return out;
}

}  // namespace

std::optional<Format> format_named(std::string_view name) {
  constexpr std::string_view kNames[] = {"ascii", "csv", "markdown", "svg", "html", "json"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<Format>(i);
  return std::nullopt;
}

std::vector<Grid> grids(const Table& t, bool by_place) {
  if (by_place) return {place_grid(t)};
  std::vector<Grid> out;
  for (int tile = 0; tile < t.tiles(); ++tile) out.push_back(matrix_grid(t, tile));
  return out;
}

std::string describe(const Home& h) {
  std::string text;
  const auto add = [&](std::string_view what, int value) {
    if (value >= 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, value);
  };
  add("CTA", h.cta);
  add("warp", h.warp);
  add("lane", h.lane);
  add("register", h.reg);
  add("TMEM lane", h.tmem_lane);
  add("TMEM column", h.tmem_column);
  if (h.shared >= 0) text += fmt::format("{}byte {:#x} of shared memory, bank {}", text.empty() ? "" : ", ", h.shared, h.bank);
  if (h.bit_lo >= 0) text += h.bit_lo == h.bit_hi ? fmt::format(", bit {}", h.bit_lo) : fmt::format(", bits {}-{}", h.bit_lo, h.bit_hi);
  return text;
}

std::string describe(const Table& t, ElementAt e) {
  return t.tiles() > 1 ? fmt::format("{}[{}][{}] of {} {}", t.operand, e.row, e.col, t.tile_name, e.tile)
                       : fmt::format("{}[{}][{}]", t.operand, e.row, e.col);
}

std::string elements_json(const Table& t, const std::vector<Table::Found>& found, bool list) {
  Json out = Json::array();
  for (const auto& f : found) out.push_back(element_json(t, f.element, f.home));
  return !list && out.size() == 1 ? out[0].dump() : out.dump();
}

std::string render(const std::vector<Table>& tables, Format format, bool by_place) {
  switch (format) {
    case Format::ascii: return drawing(tables, by_place, false);
    case Format::markdown: return drawing(tables, by_place, true);
    case Format::csv: return csv(tables, by_place);
    case Format::json: return json(tables, by_place);
    case Format::svg: return render_svg(tables, by_place);
    default: return render_html(tables);
  }
}

}  // namespace tcsim::layout
