#include "sim/config/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/config/fields.h"

namespace tcsim::cfg {
namespace {

struct Style {
  bool on;
  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string warn(std::string_view text) const { return wrap("33", text); }
  std::string wrap(const char* code, std::string_view text) const { return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text); }
};

std::string section_of(const std::string& key) { return key.substr(0, key.find('.')); }

std::string_view section_doc(const std::string& name) {
  for (const Section& section : sections()) {
    if (section.name == name) return section.doc;
  }
  return {};
}

/// "limits.smem_bytes" -> "smem_bytes"; rows of timing and mma -> their row name.
std::string row_of(const std::string& key) {
  const size_t first = key.find('.') + 1;
  return key.substr(first, key.rfind('.') - first);
}
std::string last_of(const std::string& key) { return key.substr(key.rfind('.') + 1); }
bool has_rows(const std::string& section) { return section == "timing" || section == "mma"; }
bool is_assumed(const std::string& source) { return source.starts_with("assumed:"); }

using Values = std::vector<const Machine::Provenance*>;

/// One line for one value: mark, key, value and unit, meaning; the source below it.
std::string plain_section(const Values& values, const Style& style) {
  size_t width = 0;
  for (const auto* v : values) width = std::max(width, last_of(v->key).size());
  std::string out;
  for (const auto* v : values) {
    const std::string amount = v->unit.empty() ? v->value : v->value + " " + v->unit;
    const std::string mark = is_assumed(v->source) ? style.warn("?") : " ";
    out += fmt::format("{} {:<{}}  {}  {}\n", mark, last_of(v->key), width, style.bold(fmt::format("{:<16}", amount)), v->doc);
    out += fmt::format("  {:<{}}  {}\n", "", width, style.dim(v->source));
  }
  return out;
}

/// Rows of timing and mma: one line with all values, then each source with the values that it covers.
std::string row_section(const std::string& section, const Values& values, const Style& style) {
  std::vector<std::string> order;
  std::map<std::string, Values> rows;
  for (const auto* v : values) {
    const std::string row = row_of(v->key);
    if (rows[row].empty()) order.push_back(row);
    rows[row].push_back(v);
  }
  std::string out;
  for (const std::string& row : order) {
    const Values& in_row = rows[row];
    const bool assumed = std::any_of(in_row.begin(), in_row.end(), [](const auto* v) { return is_assumed(v->source); });
    std::string numbers;
    std::vector<std::pair<std::string, std::string>> by_source;  // source, names
    for (const auto* v : in_row) {
      numbers += fmt::format("{}{} {}", numbers.empty() ? "" : ", ", last_of(v->key), v->value);
      const auto it = std::find_if(by_source.begin(), by_source.end(), [&](const auto& s) { return s.first == v->source; });
      if (it == by_source.end()) by_source.emplace_back(v->source, last_of(v->key));
      else it->second += ", " + last_of(v->key);
    }
    std::string what;
    if (section == "timing") what = in_row.front()->doc.substr(0, in_row.front()->doc.find(':'));
    out += fmt::format("{} {} {}  {}\n", assumed ? style.warn("?") : " ", style.bold(fmt::format("{:<22}", row)), numbers, style.dim(what));
    for (const auto& [source, names] : by_source) {
      out += by_source.size() == 1 ? fmt::format("    {}\n", style.dim(source)) : fmt::format("    {}\n", style.dim(names + ": " + source));
    }
  }
  return out;
}

std::string cell(const Machine::Provenance* v) { return v == nullptr ? "-" : fmt::format("{}{}", v->value, is_assumed(v->source) ? " ?" : ""); }

}  // namespace

std::string list_machines() {
  std::string out;
  for (const std::string& name : builtin_machines()) {
    Diagnostics diags;
    const auto m = load_machine(name, {}, diags);
    if (!m) {
      out += fmt::format("{:<10} cannot be loaded: {}\n", name, diags.all().front().str());
      continue;
    }
    out += fmt::format("{:<10} sm_{:<4} {:>3} SMs  {:>6} MHz  {:>3} of {} values assumed  {}\n", m->name, m->chip.sm, m->chip.sms, m->chip.clock_mhz,
                       m->assumed_values, m->provenance.size(), m->description);
  }
  return out;
}

std::string show_machine(const Machine& machine, const ShowOptions& options) {
  const Style style{options.colour};
  std::string out = fmt::format("{}: {}\n", style.bold(machine.name), machine.description);
  out += fmt::format("{} values, {} assumed (marked ?), from {}\n", machine.provenance.size(), machine.assumed_values, machine.path);
  for (const auto& [key, value] : machine.overrides) out += fmt::format("set on the command line: {} = {}\n", key, value);
  for (const Section& section : sections()) {
    Values values;
    for (const auto& v : machine.provenance) {
      if (section_of(v.key) == section.name && v.key.starts_with(options.only)) values.push_back(&v);
    }
    if (values.empty()) continue;
    out += fmt::format("\n{} {}\n", style.bold(fmt::format("[{}]", section.name)), section_doc(std::string(section.name)));
    const std::string name(section.name);
    out += has_rows(name) ? row_section(name, values, style) : plain_section(values, style);
  }
  return out;
}

std::string diff_machines(const Machine& a, const Machine& b, const ShowOptions& options) {
  const Style style{options.colour};
  std::map<std::string, const Machine::Provenance*> in_a, in_b;
  std::vector<std::string> order;
  for (const auto& v : a.provenance) {
    in_a[v.key] = &v;
    order.push_back(v.key);
  }
  for (const auto& v : b.provenance) {
    in_b[v.key] = &v;
    if (!in_a.contains(v.key)) order.push_back(v.key);
  }
  struct Line {
    std::string key, a, b, unit;
  };
  std::vector<Line> lines;
  size_t key_width = 3, a_width = a.name.size(), b_width = b.name.size();
  for (const std::string& key : order) {
    const auto* va = in_a.contains(key) ? in_a[key] : nullptr;
    const auto* vb = in_b.contains(key) ? in_b[key] : nullptr;
    if (!key.starts_with(options.only) || (va != nullptr && vb != nullptr && va->value == vb->value)) continue;
    lines.push_back({key, cell(va), cell(vb), va != nullptr ? va->unit : vb->unit});
    key_width = std::max(key_width, key.size());
    a_width = std::max(a_width, lines.back().a.size());
    b_width = std::max(b_width, lines.back().b.size());
  }
  std::string out = style.bold(fmt::format("{:<{}}  {:<{}}  {:<{}}", "key", key_width, a.name, a_width, b.name, b_width)) + "  unit\n";
  for (const Line& line : lines) {
    out += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", line.key, key_width, line.a, a_width, line.b, b_width, line.unit);
  }
  out += fmt::format("{} of {} values differ ('?': assumed)\n", lines.size(), order.size());
  return out;
}

std::string describe_fields() {
  std::string out =
      "# Machine file reference\n\nEvery value is `{ value = ..., source = \"doc: | paper: | "
      "measured: | fitted: | assumed: ...\" }`.\n";
  const auto table = [&](const std::vector<Field>& rows) {
    out += "\n| key | unit | range | meaning |\n| --- | --- | --- | --- |\n";
    for (const Field& f : rows) {
      out += fmt::format("| `{}` | {} | {} | {} |\n", f.key, f.unit, f.max > f.min ? fmt::format("{} to {}", f.min, f.max) : "", f.doc);
    }
  };
  for (const Section& section : sections()) {
    out += fmt::format("\n## {}: {}\n", section.name, section.doc);
    std::vector<Field> rows;
    for (const Field& f : fields()) {
      if (section_of(f.key) == section.name) rows.push_back(f);
    }
    table(section.name == "mma" ? mma_fields("SHAPE.D.A") : rows);
  }
  return out;
}

}  // namespace tcsim::cfg
