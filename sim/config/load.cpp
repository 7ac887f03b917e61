#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/config/builtin.h"
#include "sim/config/check.h"
#include "sim/config/fields.h"
#include "sim/config/load.h"
#include "sim/config/raw.h"

namespace tcsim::cfg {
namespace {

constexpr const char* kKind = "machine-file";
constexpr const char* kSetSource = "set: command line";

/// Writes raw into the slot; the returned text (empty: fine) says what was expected instead.
struct Store {
  const RawScalar& value;
  double min, max;

  std::string range() const { return fmt::format("from {} to {}", min, max); }
  bool in_range(double v) const { return v >= min && v <= max; }

  template <class Int>
  std::string integer(Int* to) const {
    const auto* v = std::get_if<int64_t>(&value);
    if (v == nullptr || !in_range(static_cast<double>(*v))) return "an integer " + range();
    *to = static_cast<Int>(*v);
    return {};
  }
  std::string operator()(uint32_t* to) const { return integer(to); }
  std::string operator()(uint64_t* to) const { return integer(to); }
  std::string operator()(double* to) const {
    double v = std::nan("");
    if (const auto* i = std::get_if<int64_t>(&value)) v = static_cast<double>(*i);
    if (const auto* d = std::get_if<double>(&value)) v = *d;
    if (!std::isfinite(v) || !in_range(v)) return "a number " + range();
    *to = v;
    return {};
  }
  std::string operator()(bool* to) const {
    const auto* v = std::get_if<bool>(&value);
    if (v == nullptr) return "true or false";
    *to = *v;
    return {};
  }
  std::string operator()(std::string* to) const {
    const auto* v = std::get_if<std::string>(&value);
    if (v == nullptr || v->empty()) return "a text";
    *to = *v;
    return {};
  }
  std::string operator()(std::vector<uint32_t>* to) const {
    const auto* v = std::get_if<std::vector<int64_t>>(&value);
    const bool good = v != nullptr && !v->empty() && std::all_of(v->begin(), v->end(), [&](int64_t i) { return in_range(static_cast<double>(i)); });
    if (!good) return "a list of integers " + range();
    to->clear();
    for (int64_t i : *v) to->push_back(static_cast<uint32_t>(i));
    return {};
  }
};

template <class T>
std::optional<T> parse_all(std::string_view text) {
  T value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Text of --set in the type that it looks like: true, 12, 1.5, 1,2,3 or [1, 2, 3], else a string.
RawScalar scalar_of(std::string text) {
  if (text == "true") return true;
  if (text == "false") return false;
  if (const auto i = parse_all<int64_t>(text)) return *i;
  if (const auto d = parse_all<double>(text)) return *d;
  std::string_view body = text;
  if (body.size() >= 2 && body.front() == '[' && body.back() == ']') body = body.substr(1, body.size() - 2);
  std::vector<int64_t> list;
  for (size_t at = 0; at <= body.size();) {
    const size_t comma = std::min(body.find(',', at), body.size());
    std::string_view item = body.substr(at, comma - at);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    const auto i = parse_all<int64_t>(item);
    if (!i) return text;
    list.push_back(*i);
    at = comma + 1;
  }
  return list;
}

/// "mma.\"m16n8k16.f32.f16\".interval" -> "mma.m16n8k16.f32.f16.interval"
std::string plain_key(const std::string& key) {
  const auto mma = split_mma_key(key);
  return mma ? fmt::format("mma.{}.{}", mma->row, mma->field) : key;
}

class Loader {
 public:
  explicit Loader(Diagnostics& diags) : diags_(diags) {}

  std::optional<Machine> load(RawMachine raw, const std::vector<std::pair<std::string, std::string>>& set) {
    const uint32_t before = diags_.error_count();
    machine_.name = raw.name;
    machine_.path = raw.path;
    machine_.description = raw.description;
    raw = with_bases(std::move(raw));
    if (diags_.error_count() != before) return std::nullopt;  // missing values would only repeat it
    collect_known(raw);
    apply_set(raw, set);
    for (const Field& field : fields()) fill(field, raw, field.key);
    for (const std::string& row : rows_) fill_row(row, raw);
    reject_unknown(raw);
    if (diags_.error_count() != before) return std::nullopt;
    check_machine(machine_, place_finder(raw), diags_);
    if (diags_.error_count() != before) return std::nullopt;
    return std::move(machine_);
  }

 private:
  /// Values of the base under those of the file. A row that the file defines replaces the base's same_as and
  /// the reverse. What another chip's value is worth here is an assumption, and its matrix rows count only if it is not newer:
  /// a chip has the shapes of those before it.
  RawMachine with_bases(RawMachine top) {
    std::set<std::string> seen{top.name};
    std::optional<int64_t> sm = sm_of(top);
    const std::optional<int64_t> top_sm = sm;
    bool rows = true;
    std::string base = top.base;
    Place place = top.base_place;
    while (!base.empty()) {
      if (!seen.insert(base).second) {
        diags_.error(kKind, place, fmt::format("found base \"{}\", which is derived from this machine, expected another", base));
        break;
      }
      auto text = machine_text(base, directory(top.path));
      if (!text) {
        diags_.error(kKind, place,
                     fmt::format("found unknown base \"{}\", expected a file or one of: {}", base, fmt::join(builtin_machines(), ", ")));
        break;
      }
      RawMachine lower = read_machine_toml(text->text, text->path, diags_);
      const std::optional<int64_t> lower_sm = sm_of(lower);
      rows = rows && (!sm || !lower_sm || *lower_sm <= *sm);
      const bool other_chip = top_sm && lower_sm && *top_sm != *lower_sm;
      add_base(top, lower, rows, other_chip);
      if (lower_sm) sm = lower_sm;
      base = lower.base;
      place = lower.base_place;
    }
    return top;
  }

  static void add_base(RawMachine& top, const RawMachine& lower, bool rows, bool other_chip) {
    if (rows) top.same_as.insert(lower.same_as.begin(), lower.same_as.end());
    for (const auto& [key, value] : lower.values) {
      const auto mma = split_mma_key(key);
      if (mma && (!rows || (top.same_as.contains(mma->row) && !lower.same_as.contains(mma->row)))) continue;
      const auto [added, is_new] = top.values.insert({key, value});
      if (!is_new) continue;
      added->second.inherited = true;
      if (other_chip) added->second.source = fmt::format("assumed:as on {}, there {}", lower.name, value.source);
    }
  }

  static std::optional<int64_t> sm_of(const RawMachine& raw) {
    const auto it = raw.values.find("chip.sm");
    const auto* sm = it == raw.values.end() ? nullptr : std::get_if<int64_t>(&it->second.value);
    return sm == nullptr ? std::nullopt : std::optional(*sm);
  }

  static std::string directory(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

  void collect_known(const RawMachine& raw) {
    for (const Field& field : fields()) known_.insert(field.key);
    for (const auto& [row, alias] : raw.same_as) rows_.insert(row);
    for (const auto& [key, value] : raw.values) {
      if (const auto mma = split_mma_key(key)) rows_.insert(mma->row);
    }
    for (const std::string& row : rows_) {
      for (std::string_view name : mma_field_names()) known_.insert(fmt::format("mma.{}.{}", row, name));
    }
  }

  void apply_set(RawMachine& raw, const std::vector<std::pair<std::string, std::string>>& set) {
    for (const auto& [written, text] : set) {
      const std::string key = plain_key(written);
      const Place place{fmt::format("--set {}={}", written, text), 0, 0};
      if (!known_.contains(key)) {
        diags_.error(kKind, place, unknown(key));
        continue;
      }
      raw.values[key] = {scalar_of(text), fmt::format("\"{}\"", text), kSetSource, place};
      if (!timing_reads(key)) diags_.warning(kKind, place, "the timing model does not read this value: times stay the same");
      machine_.overrides[key] = text;
    }
  }

  std::string unknown(const std::string& key) const {
    const std::string near = nearest_word(key, known_);
    return near.empty() ? fmt::format("found unknown key '{}', expected one that 'tcsim arch show' lists", key)
                        : fmt::format("found unknown key '{}', expected '{}' or another that 'tcsim arch show' lists", key, near);
  }

  void fill_row(const std::string& row, const RawMachine& raw) {
    for (const Field& field : mma_fields(row)) {
      const std::string name = field.key.substr(field.key.rfind('.'));
      std::string from = row;
      std::set<std::string> seen;
      while (!raw.values.contains("mma." + from + name)) {
        const auto alias = raw.same_as.find(from);
        if (alias == raw.same_as.end()) break;
        if (!seen.insert(from).second || !rows_.contains(alias->second.first)) {
          if (bad_aliases_.insert(from).second) {
            diags_.error(kKind, alias->second.second,
                         fmt::format("found same_as = \"{}\", expected another mma row that has values", alias->second.first));
          }
          return;
        }
        from = alias->second.first;
      }
      fill(field, raw, "mma." + from + name);
    }
  }

  void fill(const Field& field, const RawMachine& raw, const std::string& key) {
    const auto it = raw.values.find(key);
    const bool has_unit = machine_.chip.sm >= field.since_sm && machine_.chip.sm < field.before_sm;
    if (!has_unit) {
      if (it != raw.values.end() && !it->second.inherited)
        diags_.error(kKind, it->second.place, fmt::format("found {}, which sm_{} has not, expected no such key", key, machine_.chip.sm));
      return;
    }
    if (it == raw.values.end()) {
      diags_.error(kKind, {raw.path, 1, 1}, fmt::format("found no value for {}, expected {{ value = ..., source = \"...\" }} ({})", key, field.doc));
      return;
    }
    const RawValue& value = it->second;
    const Slot slot = field.slot(machine_);
    const std::string expected = std::visit(Store{value.value, field.min, field.max}, slot);
    if (!expected.empty()) {
      if (key == field.key) diags_.error(kKind, value.place, fmt::format("found {} for {}, expected {}", value.shown, key, expected));
      return;
    }
    const bool shared = key != field.key;  // counted once, at the row that has the value
    machine_.provenance.push_back(
        {field.key, slot_text(slot), field.unit, shared ? "as " + key.substr(4, key.rfind('.') - 4) : value.source, field.doc});
    if (!shared && value.source.starts_with("assumed:")) ++machine_.assumed_values;
  }

  void reject_unknown(const RawMachine& raw) {
    for (const auto& [key, value] : raw.values) {
      if (!known_.contains(key)) diags_.error(kKind, value.place, unknown(key));
    }
  }

  static std::function<Place(const std::string&)> place_finder(const RawMachine& raw) {
    return [&raw](const std::string& key) {
      const auto it = raw.values.find(key);
      return it == raw.values.end() ? Place{raw.path, 1, 1} : it->second.place;
    };
  }

  Diagnostics& diags_;
  Machine machine_;
  std::set<std::string> known_, rows_, bad_aliases_;
};

std::optional<std::string> read_file(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

std::optional<MachineText> machine_text(const std::string& name_or_path, const std::string& beside) {
  for (const BuiltinMachine& machine : builtin_machine_texts()) {
    if (machine.name == name_or_path) return MachineText{fmt::format("machines/{}.toml", machine.name), std::string(machine.text)};
  }
  if (auto text = read_file(name_or_path)) return MachineText{name_or_path, std::move(*text)};
  if (beside.empty()) return std::nullopt;
  const std::string path = (std::filesystem::path(beside) / name_or_path).string();
  if (auto text = read_file(path)) return MachineText{path, std::move(*text)};
  return std::nullopt;
}

std::string nearest_word(std::string_view key, const std::set<std::string>& known) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, key.size() / 4) + 1;
  std::vector<size_t> row;
  for (const std::string& candidate : known) {
    row.resize(candidate.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= key.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j < row.size(); ++j) {
        const size_t replace = diagonal + (key[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::optional<Machine> load_machine_text(std::string_view text, const std::string& path, const std::vector<std::pair<std::string, std::string>>& set,
                                         Diagnostics& diags) {
  const uint32_t before = diags.error_count();
  RawMachine raw = read_machine_toml(text, path, diags);
  if (diags.error_count() != before && raw.values.empty()) return std::nullopt;
  auto machine = Loader(diags).load(std::move(raw), set);
  return diags.error_count() == before ? std::move(machine) : std::nullopt;
}

std::optional<Machine> load_machine(const std::string& name_or_path, const std::vector<std::pair<std::string, std::string>>& set,
                                    Diagnostics& diags) {
  const auto text = machine_text(name_or_path, "");
  if (!text) {
    diags.error(kKind, {name_or_path, 0, 0},
                fmt::format("found no such machine, expected a machine file or one of: {}", fmt::join(builtin_machines(), ", ")));
    return std::nullopt;
  }
  return load_machine_text(text->text, text->path, set, diags);
}

std::vector<std::string> builtin_machines() {
  std::vector<std::string> names;
  for (const BuiltinMachine& machine : builtin_machine_texts()) names.emplace_back(machine.name);
  return names;
}

}  // namespace tcsim::cfg
