// The interactive page: the template page.html.in with the tables as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/layout/page.h"
#include "tools/layout/render.h"

namespace tcsim::layout {
namespace {

using Json = nlohmann::ordered_json;

void replace(std::string& text, std::string_view mark, std::string_view by) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) text.replace(at, mark.size(), by);
}

/// Rows of numbers under `fields`; only fields that the table has.
Json compact(const Table& t) {
  constexpr const char* kPlaces[] = {"registers", "tmem", "shared"};
  std::vector<const Coordinate*> used;
  Json fields = {"row", "col"};
  if (t.tiles() > 1) fields.push_back("tile");
  for (const Coordinate& c : kCoordinates)
    if (t.has(c.value)) used.push_back(&c), fields.push_back(c.name);
  Json rows = Json::array();
  for (const Table::Found& f : t.find({})) {
    Json row = {f.element.row, f.element.col};
    if (t.tiles() > 1) row.push_back(f.element.tile);
    for (const Coordinate* c : used) row.push_back(f.home.*c->value);
    rows.push_back(std::move(row));
  }
  return {{"operand", t.operand},
          {"rows", t.rows()},
          {"cols", t.cols()},
          {"tiles", t.tiles()},
          {"tile_name", t.tile_name},
          {"place", kPlaces[static_cast<size_t>(t.place)]},
          {"notes", t.notes},
          {"fields", std::move(fields)},
          {"rows_data", std::move(rows)}};
}

}  // namespace

std::string render_html(const std::vector<Table>& tables) {
  Json data = Json::array();
  for (const Table& t : tables) data.push_back(compact(t));
  std::string json = data.dump();
  replace(json, "<", "\\u003c");
  std::string page(kPage);
  replace(page, "%TITLE%", tables[0].instruction);
  replace(page, "%DATA%", json);
  return page;
}

}  // namespace tcsim::layout
