// A TOML file as a plain tree with the place of every key and value, and a reader of tables that collects all
// errors.
//
//   auto root = parse_document("l.toml", text, diags);
//   TableReader reader(*root, "launch file", diags);
//   reader.get("entry", entry);   // wrong type: error with its place
//   reader.finish();              // keys that nobody asked for: error with a suggestion
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isa/diag.h"

namespace tcsim::launch {

struct Entry;

/// One TOML value. Only the member of its kind is meaningful.
struct Node {
  enum class Kind : uint8_t { table, array, string, integer, real, boolean, date };
  Kind kind = Kind::table;
  Place place;
  std::string text;
  int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<Entry> entries;  // of a table, in file order
  std::vector<Node> items;     // of an array

  const Node* find(std::string_view key) const;
  bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  double number() const { return kind == Kind::integer ? static_cast<double>(integer) : real; }
};

struct Entry {
  std::string key;
  Place place;
  Node value;
};

std::string_view name(Node::Kind kind);

/// Parses text; a syntax error (kind "syntax") goes to diags and gives nothing. path is for messages.
std::optional<Node> parse_document(const std::string& path, std::string_view text, Diagnostics& diags);

/// The candidate nearest to a misspelt word, or empty when none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);
/// " (did you mean 'x'?)" or empty.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

/// Reads the keys of one table. A key that is absent leaves the output as it is; get() returns whether it was
/// there.
class TableReader {
 public:
  TableReader(const Node& table, std::string what, Diagnostics& diags) : table_(table), what_(std::move(what)), diags_(diags) {}

  const Node* find(const std::string& key);
  bool get(const std::string& key, std::string& out);
  bool get(const std::string& key, bool& out);
  bool get(const std::string& key, double& out);
  bool get(const std::string& key, int64_t& out, int64_t low, int64_t high);
  bool get(const std::string& key, uint32_t& out, int64_t low, int64_t high);
  bool get(const std::string& key, std::vector<int64_t>& out, int64_t low, int64_t high);
  /// One of the words; others are an error that lists them.
  bool get_word(const std::string& key, std::string& out, const std::vector<std::string>& words);
  /// Array of tables (or one table). Empty when absent or wrong.
  std::vector<const Node*> tables(const std::string& key);
  /// A table or nullptr.
  const Node* table(const std::string& key);
  void finish();

  void error(const Place& place, std::string text) { diags_.error("launch-mismatch", place, std::move(text)); }
  const Place& place() const { return table_.place; }
  Diagnostics& diags() { return diags_; }

 private:
  bool wrong(const Node& node, const std::string& key, std::string_view expected);
  const Node& table_;
  std::string what_;
  Diagnostics& diags_;
  std::set<std::string> asked_;
};

}  // namespace tcsim::launch
