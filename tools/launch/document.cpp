#include "tools/launch/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "isa/toml.h"

namespace tcsim::launch {
namespace {

Place place_of(const toml::source_region& region, const std::string& path) { return {path, region.begin.line, region.begin.column}; }

Node convert(const toml::node& node, const std::string& path) {
  Node out;
  out.place = place_of(node.source(), path);
  if (const auto* table = node.as_table()) {
    out.kind = Node::Kind::table;
    for (const auto& [key, value] : *table) out.entries.push_back({std::string(key.str()), place_of(key.source(), path), convert(value, path)});
    // toml++ keeps keys sorted by name; users expect messages and buffers in the order of their file.
    std::stable_sort(out.entries.begin(), out.entries.end(),
                     [](const Entry& a, const Entry& b) { return std::pair(a.place.line, a.place.col) < std::pair(b.place.line, b.place.col); });
  } else if (const auto* array = node.as_array()) {
    out.kind = Node::Kind::array;
    for (const toml::node& item : *array) out.items.push_back(convert(item, path));
  } else if (const auto* text = node.as_string()) {
    out.kind = Node::Kind::string;
    out.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = Node::Kind::integer;
    out.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    out.kind = Node::Kind::real;
    out.real = real->get();
  } else if (const auto* boolean = node.as_boolean()) {
    out.kind = Node::Kind::boolean;
    out.boolean = boolean->get();
  } else {
    out.kind = Node::Kind::date;
  }
  return out;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view name(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::table: return "a table";
    case Node::Kind::array: return "an array";
    case Node::Kind::string: return "a string";
    case Node::Kind::integer: return "an integer";
    case Node::Kind::real: return "a float";
    case Node::Kind::boolean: return "a boolean";
    case Node::Kind::date: return "a date or time";
  }
  return "";
}

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

std::optional<Node> parse_document(const std::string& path, std::string_view text, Diagnostics& diags) {
  if (const auto stray = find_stray_byte(text, path)) {
    diags.error("syntax", *stray, "found a character outside printable ASCII, which TOML has in strings and comments only");
    return std::nullopt;
  }
  try {
    return convert(toml::parse(text, path), path);
  } catch (const toml::parse_error& error) {
    diags.error("syntax", place_of(error.source(), path), std::string(error.description()));
    return std::nullopt;
  }
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest_word(word, candidates);
  return near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near);
}

const Node* TableReader::find(const std::string& key) {
  asked_.insert(key);
  return table_.find(key);
}

bool TableReader::wrong(const Node& node, const std::string& key, std::string_view expected) {
  error(node.place, fmt::format("'{}' is {}, expected {}", key, name(node.kind), expected));
  return false;
}

bool TableReader::get(const std::string& key, std::string& out) {
  const Node* node = find(key);
  if (!node) return false;
  if (node->kind != Node::Kind::string) return wrong(*node, key, "a string");
  out = node->text;
  return true;
}

bool TableReader::get(const std::string& key, bool& out) {
  const Node* node = find(key);
  if (!node) return false;
  if (node->kind != Node::Kind::boolean) return wrong(*node, key, "true or false");
  out = node->boolean;
  return true;
}

bool TableReader::get(const std::string& key, double& out) {
  const Node* node = find(key);
  if (!node) return false;
  if (!node->is_number()) return wrong(*node, key, "a number");
  out = node->number();
  return true;
}

bool TableReader::get(const std::string& key, int64_t& out, int64_t low, int64_t high) {
  const Node* node = find(key);
  if (!node) return false;
  if (node->kind != Node::Kind::integer) return wrong(*node, key, "an integer");
  if (node->integer < low || node->integer > high) {
    error(node->place, fmt::format("'{}' is {}, expected {} to {}", key, node->integer, low, high));
    return false;
  }
  out = node->integer;
  return true;
}

bool TableReader::get(const std::string& key, uint32_t& out, int64_t low, int64_t high) {
  int64_t value = 0;
  if (!get(key, value, low, high)) return false;
  out = static_cast<uint32_t>(value);
  return true;
}

bool TableReader::get(const std::string& key, std::vector<int64_t>& out, int64_t low, int64_t high) {
  const Node* node = find(key);
  if (!node) return false;
  if (node->kind != Node::Kind::array) return wrong(*node, key, "an array of integers");
  out.clear();
  for (const Node& item : node->items) {
    if (item.kind != Node::Kind::integer) return wrong(item, key, "an array of integers");
    if (item.integer < low || item.integer > high) {
      error(item.place, fmt::format("'{}' holds {}, expected {} to {}", key, item.integer, low, high));
      return false;
    }
    out.push_back(item.integer);
  }
  return true;
}

bool TableReader::get_word(const std::string& key, std::string& out, const std::vector<std::string>& words) {
  std::string word;
  if (!get(key, word)) return false;
  if (std::find(words.begin(), words.end(), word) == words.end()) {
    error(find(key)->place, fmt::format("'{}' is '{}', expected one of {}{}", key, word, fmt::join(words, " "), suggestion(word, words)));
    return false;
  }
  out = word;
  return true;
}

std::vector<const Node*> TableReader::tables(const std::string& key) {
  const Node* node = find(key);
  std::vector<const Node*> out;
  if (!node) return out;
  if (node->kind != Node::Kind::array) {
    wrong(*node, key, "an array of tables");
    return out;
  }
  for (const Node& item : node->items) {
    if (item.kind == Node::Kind::table) out.push_back(&item);
    else error(item.place, fmt::format("'{}' holds {}, expected tables", key, name(item.kind)));
  }
  return out;
}

const Node* TableReader::table(const std::string& key) {
  const Node* node = find(key);
  if (!node) return nullptr;
  if (node->kind == Node::Kind::table) return node;
  wrong(*node, key, "a table");
  return nullptr;
}

void TableReader::finish() {
  const std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const Entry& entry : table_.entries)
    if (!asked_.count(entry.key))
      error(entry.place, fmt::format("unknown key '{}' in {}{}; known: {}", entry.key, what_, suggestion(entry.key, known), fmt::join(known, " ")));
}

}  // namespace tcsim::launch
