#include "sim/config/raw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "isa/toml.h"

namespace tcsim::cfg {
namespace {

constexpr std::array<std::string_view, 5> kSourcePrefixes = {"doc:", "paper:", "measured:", "fitted:", "assumed:"};

class Reader {
 public:
  Reader(const std::string& path, Diagnostics& diags) : path_(path), diags_(diags) { out_.path = path; }

  RawMachine read(const toml::table& root) {
    for (auto&& [key, node] : root) {
      if (const toml::table* section = node.as_table()) {
        read_section(std::string(key.str()), *section);
      } else {
        read_top(key, node);
      }
    }
    if (out_.name.empty()) error({path_, 1, 1}, "found no name, expected name = \"...\" at the top");
    return std::move(out_);
  }

 private:
  Place place(const toml::source_region& region) const {
    return {path_, static_cast<uint32_t>(region.begin.line), static_cast<uint32_t>(region.begin.column)};
  }
  void error(Place place, std::string text) { diags_.error("machine-file", std::move(place), std::move(text)); }

  void read_top(const toml::key& key, const toml::node& node) {
    std::string* to = key == "name" ? &out_.name : key == "description" ? &out_.description : key == "base" ? &out_.base : nullptr;
    if (to == nullptr) {
      return error(place(key.source()), fmt::format("found unknown key '{}', expected name, description, base or a section", key.str()));
    }
    const auto* text = node.as_string();
    if (text == nullptr) return error(place(node.source()), fmt::format("found {}, expected a string", describe(node)));
    *to = text->get();
    if (to == &out_.base) out_.base_place = place(node.source());
  }

  void read_section(const std::string& section, const toml::table& table) {
    const bool rows = section == "timing" || section == "mma";
    for (auto&& [key, node] : table) {
      const std::string path = section + "." + std::string(key.str());
      if (!rows) {
        read_value(path, node);
      } else if (const toml::table* row = node.as_table()) {
        read_row(section, std::string(key.str()), *row);
      } else {
        error(place(node.source()), fmt::format("found {}, expected a table of values for {}", describe(node), path));
      }
    }
  }

  void read_row(const std::string& section, const std::string& row, const toml::table& table) {
    for (auto&& [key, node] : table) {
      if (section == "mma" && key == "same_as") {
        if (const auto* text = node.as_string()) {
          out_.same_as[row] = {text->get(), place(node.source())};
        } else {
          error(place(node.source()), fmt::format("found {}, expected the name of an mma row", describe(node)));
        }
        continue;
      }
      read_value(fmt::format("{}.{}.{}", section, row, key.str()), node);
    }
  }

  void read_value(const std::string& path, const toml::node& node) {
    const Place where = place(node.source());
    const toml::table* table = node.as_table();
    if (table == nullptr || !table->contains("value")) {
      return error(where, fmt::format("found {} for {}, expected {{ value = ..., source = \"...\" }}", describe(node), path));
    }
    for (auto&& [key, unused] : *table) {
      if (key != "value" && key != "source") {
        error(place(key.source()), fmt::format("found unknown key '{}' in {}, expected value and source", key.str(), path));
      }
    }
    const toml::node& value = *table->get("value");
    RawValue raw{scalar(value), describe(value), "", place(value.source())};
    if (const toml::node* source = table->get("source")) {
      read_source(path, *source, raw);
    } else {
      error(where, fmt::format("found no source for {}, expected source = \"doc: | paper: | measured: | "
                               "fitted: | assumed: ...\"",
                               path));
    }
    out_.values[path] = std::move(raw);
  }

  void read_source(const std::string& path, const toml::node& node, RawValue& raw) {
    const auto* text = node.as_string();
    if (text != nullptr) {
      for (std::string_view prefix : kSourcePrefixes) {
        if (text->get().starts_with(prefix) && text->get().size() > prefix.size()) {
          raw.source = text->get();
          return;
        }
      }
    }
    error(place(node.source()), fmt::format("found source {} for {}, expected a text that begins with doc: "
                                            "paper: measured: fitted: or assumed:",
                                            describe(node), path));
  }

  static RawScalar scalar(const toml::node& node) {
    if (const auto* v = node.as_boolean()) return v->get();
    if (const auto* v = node.as_integer()) return v->get();
    if (const auto* v = node.as_floating_point()) return v->get();
    if (const auto* v = node.as_string()) return v->get();
    if (const toml::array* list = node.as_array()) {
      std::vector<int64_t> out;
      for (const toml::node& item : *list) {
        const auto* v = item.as_integer();
        if (v == nullptr) return std::monostate{};
        out.push_back(v->get());
      }
      return out;
    }
    return std::monostate{};
  }

  static std::string describe(const toml::node& node) {
    if (const auto* v = node.as_boolean()) return v->get() ? "true" : "false";
    if (const auto* v = node.as_integer()) return fmt::format("{}", v->get());
    if (const auto* v = node.as_floating_point()) return fmt::format("{}", v->get());
    if (const auto* v = node.as_string()) return fmt::format("\"{}\"", v->get().substr(0, 60));
    if (node.is_array()) return "a list";
    return node.is_table() ? "a table" : "a date or time";
  }

  const std::string& path_;
  Diagnostics& diags_;
  RawMachine out_;
};

}  // namespace

RawMachine read_machine_toml(std::string_view text, const std::string& path, Diagnostics& diags) {
  if (const auto stray = find_stray_byte(text, path)) {
    diags.error("syntax", *stray, "found a character outside ASCII, expected ASCII outside strings and comments");
    RawMachine failed;
    failed.path = path;
    return failed;
  }
  try {
    const toml::table root = toml::parse(text, std::string_view(path));
    return Reader(path, diags).read(root);
  } catch (const toml::parse_error& e) {
    const auto& at = e.source().begin;
    diags.error("syntax", {path, static_cast<uint32_t>(at.line), static_cast<uint32_t>(at.column)}, std::string(e.description()));
  }
  RawMachine failed;
  failed.path = path;
  return failed;
}

}  // namespace tcsim::cfg
