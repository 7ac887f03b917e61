// The PTX manual's notation of instruction forms, parsed: what InstDef::syntax says, as data that can be matched.
//
//   shl.type d, a, b;  .type = { .b16, .b32, .b64 };
//
//   {.x}  {, b}       optional part; nests
//   .name = { .a, .b } a set; `.name` in a form then stands for one of its members. A member may be several words (.row.col)
//   .shared{::cta}     two spellings of one word; the value that a bind function sees is the one without the suffix
//   d|p   d{|p}        a pair of destinations;  [a]  an address;  {!}c  a predicate
// Forms and sets end with ';'. A blank line starts a new block: a set belongs to its block, and is used by the other blocks
// of the row that have no set of that name.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tcsim::isa::syntax {

/// One spelling of a modifier: its words in order, and the value that Decoded shows.
struct Choice {
  std::vector<std::string> words;
  std::string value;
};

/// Mnemonic after the base word. `open` starts an optional part that ends before node `end`.
struct Node {
  enum class Kind : uint8_t { word, set, open } kind = Kind::word;
  std::string set;  // name of the set, empty for a literal
  std::vector<Choice> choices;
  uint32_t end = 0;
};

struct OperandSpec {
  std::string name;
  bool address = false;    // written in [ ]
  bool predicate = false;  // may be negated
  bool parenthesised = false;
  uint8_t min_atoms = 1;  // 2: d|p
  bool may_pair = false;  // d|p or d{|p}
};

struct Form {
  std::string base;
  std::vector<Node> nodes;
  std::vector<std::vector<OperandSpec>> operand_lists;  // every accepted list: optional operands expanded
  std::string text;                                     // the form as written, white space squeezed
};

/// Parses one syntax row. A row that is not in the notation is a bug of ours: TC_CHECK.
std::vector<Form> parse_notation(std::string_view row);

}  // namespace tcsim::isa::syntax
