// One SVG of all drawings, below each other; readable on light and dark pages.
#include <fmt/format.h>

#include <algorithm>

#include "tools/layout/render.h"

namespace tcsim::layout {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

constexpr int kLine = 20, kCharacter = 7, kMargin = 12;

}  // namespace

std::string render_svg(const std::vector<Table>& tables, bool by_place) {
  std::string body;
  int y = kMargin, widest = 0;
  const auto text = [&](int x, int at, std::string_view style, std::string_view what) {
    body += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", x, at, style, escaped(what));
  };
  for (const Table& t : tables)
    for (const Grid& g : grids(t, by_place)) {
      size_t label = g.corner.size(), cell = 4;
      for (const auto& l : g.row_labels) label = std::max(label, l.size());
      for (const auto& l : g.column_labels) cell = std::max(cell, l.size());
      for (const auto& row : g.cells)
        for (const auto& c : row) cell = std::max(cell, c.text.size());
      const int left = kMargin + static_cast<int>(label) * kCharacter + 8, width = static_cast<int>(cell) * kCharacter + 8;
      text(kMargin, y += kLine, "h", g.title);
      for (const std::string& note : t.notes) text(kMargin, y += kLine, "n", note);
      y += kLine;
      text(kMargin, y, "l", g.corner);
      for (size_t c = 0; c < g.column_labels.size(); ++c) text(left + static_cast<int>(c) * width + 4, y, "l", g.column_labels[c]);
      y += 6;
      for (size_t r = 0; r < g.cells.size(); ++r, y += kLine) {
        text(kMargin, y + 14, "l", g.row_labels[r]);
        for (size_t c = 0; c < g.cells[r].size(); ++c) {
          const Grid::Cell& one = g.cells[r][c];
          const int x = left + static_cast<int>(c) * width;
          const std::string fill = one.colour < 0 ? "none" : fmt::format("hsl({} 70% {}%)", one.colour % 32 * 360 / 32, one.colour % 2 ? 78 : 86);
          body += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>", x, y, width, kLine, fill);
          text(x + 4, y + 14, "c", one.text);
        }
      }
      widest = std::max(widest, left + static_cast<int>(g.column_labels.size()) * width);
      for (const std::string& note : t.notes) widest = std::max(widest, kMargin + static_cast<int>(note.size()) * kCharacter);
      y += kLine;
    }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" font-family=\"monospace\" font-size=\"11\">\n"
      "<style>.h{{font-weight:bold;font-size:13px}}.h,.n,.l{{fill:#222}}.c{{fill:#111}}rect{{stroke:#888;stroke-width:.5}}"
      "@media(prefers-color-scheme:dark){{.h,.n,.l{{fill:#ddd}}}}</style>\n{2}</svg>\n",
      widest + kMargin, y + kMargin, body);
}

}  // namespace tcsim::layout
