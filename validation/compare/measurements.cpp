#include "validation/compare/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tcsim::compare {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_text(const fs::path& path, Diagnostics& diags) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (in) content << in.rdbuf();
  if (in) return std::move(content).str();
  diags.error("syntax", {path.string(), 0, 0}, "cannot read the file");
  return std::nullopt;
}

std::vector<std::string> split_line(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) fields.emplace_back();
    else if (c != '\r') fields.back() += c;
  }
  return fields;
}

std::string text_of(const nlohmann::json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void read_kernels(const fs::path& path, DataSet& out, Diagnostics& diags) {
  const auto text = read_text(path, diags);
  if (!text) return;
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return diags.error("syntax", {path.string(), 0, 0}, "expected a JSON object: case -> facts");
  for (const auto& [name, facts] : json.items()) {
    if (!facts.is_object()) continue;
    auto& kernel = out.kernels[name];
    for (const auto& [key, value] : facts.items()) kernel[key] = text_of(value);
    if (const auto tile = facts.find("tile"); tile != facts.end() && tile->is_array() && tile->size() == 3)
      for (size_t i = 0; i < 3; ++i) kernel[fmt::format("tile_{}", "mnk"[i])] = text_of((*tile)[i]);
  }
}

void read_rows(const fs::path& path, DataSet& out, Diagnostics& diags) {
  const auto text = read_text(path, diags);
  if (!text) return;
  const CsvTable table = parse_csv(path.string(), *text, diags);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    Measurement row;
    row.place = {path.string(), table.lines[r], 0};
    for (size_t c = 0; c < table.header.size(); ++c) {
      const std::string& field = table.rows[r][c];
      char* end = nullptr;
      const double value = std::strtod(field.c_str(), &end);
      if (!field.empty() && *end == 0) row.columns[table.header[c]] = value;
      else if (table.header[c] == "case") row.kernel = field;
    }
    const auto need = [&](const char* name) {
      const auto at = row.columns.find(name);
      if (at != row.columns.end() && at->second > 0) return at->second;
      diags.error("syntax", row.place, fmt::format("column '{}' has no positive number", name));
      return 1.0;
    };
    row.m = static_cast<int64_t>(need("M"));
    row.n = static_cast<int64_t>(need("N"));
    row.k = static_cast<int64_t>(need("K"));
    row.cycles = need("cycles");
    if (row.columns.count("regs")) row.registers = static_cast<uint32_t>(row.columns["regs"]);
    if (!out.kernels.count(row.kernel)) diags.error("syntax", row.place, fmt::format("case '{}' is not in kernels.json", row.kernel));
    out.rows.push_back(std::move(row));
  }
}

DataSet load_set(const fs::path& folder, Diagnostics& diags) {
  DataSet out;
  out.folder = folder.string();
  out.name = folder.filename().string();
  read_kernels(folder / "kernels.json", out, diags);
  if (auto text = read_text(folder / "launch.toml.in", diags)) out.launch_template = std::move(*text);
  std::vector<fs::path> tables;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".csv") tables.push_back(entry.path());
  std::sort(tables.begin(), tables.end());
  if (tables.empty()) diags.error("syntax", {folder.string(), 0, 0}, "the folder has no .csv table");
  for (const fs::path& table : tables) read_rows(table, out, diags);
  return out;
}

}  // namespace

std::string Measurement::size() const { return fmt::format("{}x{}x{}", m, n, k); }

std::string DataSet::ptx_path(const Measurement& row) const { return (fs::path(folder) / "ptx" / (row.kernel + ".ptx")).string(); }

std::optional<std::string> DataSet::launch_text(const Measurement& row, Diagnostics& diags) const {
  std::map<std::string, std::string> values = kernels.at(row.kernel);
  // Where the launch has more than the tile's grid (persistent kernels), the table's columns say it.
  for (const auto& [name, value] : row.columns)
    if (value == std::floor(value)) values.emplace(name, fmt::format("{:.0f}", value));
  values["M"] = fmt::format("{}", row.m);
  values["N"] = fmt::format("{}", row.n);
  values["K"] = fmt::format("{}", row.k);
  const auto extent = [&](const char* key) { return values.count(key) ? std::max<int64_t>(1, std::atoll(values[key].c_str())) : 1; };
  const int64_t down = (row.m + extent("tile_m") - 1) / extent("tile_m"), across = (row.n + extent("tile_n") - 1) / extent("tile_n");
  values["ctas_m"] = fmt::format("{}", down);
  values["ctas_n"] = fmt::format("{}", across);
  values["ctas"] = fmt::format("{}", down * across);
  std::string out;
  std::string_view rest = launch_template;
  while (true) {
    const size_t at = rest.find('@');
    out += rest.substr(0, at);
    if (at == std::string_view::npos) return out;
    const size_t end = rest.find('@', at + 1);
    const std::string name(rest.substr(at + 1, end == std::string_view::npos ? end : end - at - 1));
    if (end != std::string_view::npos && values.count(name)) {
      out += values[name];
      rest.remove_prefix(end + 1);
    } else {
      diags.error("syntax", {folder + "/launch.toml.in", 0, 0}, fmt::format("'@{}@' is not known for case '{}'", name.substr(0, 40), row.kernel));
      return std::nullopt;
    }
  }
}

std::vector<DataSet> load_data(const std::string& folder, Diagnostics& diags) {
  std::vector<DataSet> out;
  std::error_code error;
  if (fs::exists(fs::path(folder) / "kernels.json", error)) {
    out.push_back(load_set(folder, diags));
    return out;
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (fs::exists(entry.path() / "kernels.json")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& each : folders) out.push_back(load_set(each, diags));
  if (out.empty())
    diags.error("syntax", {folder, 0, 0},
                error ? fmt::format("cannot read the folder: {}", error.message())
                      : "no data set here: a folder with kernels.json, launch.toml.in, ptx/ and a .csv");
  return out;
}

CsvTable parse_csv(const std::string& path, std::string_view text, Diagnostics& diags) {
  CsvTable out;
  uint32_t line_number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    if (line.find_first_not_of(" \r\t") == std::string_view::npos || line.starts_with('#')) continue;
    auto fields = split_line(line);
    if (out.header.empty()) {
      out.header = std::move(fields);
    } else if (fields.size() != out.header.size()) {
      diags.error("syntax", {path, line_number, 0}, fmt::format("{} fields, the header has {}", fields.size(), out.header.size()));
    } else {
      out.rows.push_back(std::move(fields));
      out.lines.push_back(line_number);
    }
  }
  return out;
}

}  // namespace tcsim::compare
