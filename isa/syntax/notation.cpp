#include "isa/syntax/notation.h"

#include <algorithm>
#include <map>

#include "isa/check.h"

namespace tcsim::isa::syntax {
namespace {

using Sets = std::map<std::string, std::vector<std::string>, std::less<>>;  // name -> members as written
using OperandLists = std::vector<std::vector<OperandSpec>>;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' || c == '$'; }

std::string squeeze(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!is_space(c)) out += c;
    else if (!out.empty() && out.back() != ' ') out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::vector<std::string_view> blocks_of(std::string_view row) {
  std::vector<std::string_view> blocks;
  size_t start = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] != '\n') continue;
    size_t next = i + 1;
    while (next < row.size() && (row[next] == ' ' || row[next] == '\t' || row[next] == '\r')) ++next;
    if (next >= row.size() || row[next] != '\n') continue;
    blocks.push_back(row.substr(start, i - start));
    start = next;
    i = next;
  }
  blocks.push_back(row.substr(start));
  return blocks;
}

std::vector<std::string> statements_of(std::string_view block) {
  std::vector<std::string> out;
  size_t start = 0;
  for (size_t i = 0; i <= block.size(); ++i) {
    if (i < block.size() && block[i] != ';') continue;
    std::string statement = squeeze(block.substr(start, i - start));
    if (!statement.empty()) out.push_back(std::move(statement));
    start = i + 1;
  }
  return out;
}

/// The members of "{ .a, .b }" or ".a".
std::vector<std::string> members_of(std::string_view text) {
  std::vector<std::string> members;
  std::string member;
  int depth = 0;
  const auto flush = [&] {
    if (!member.empty()) members.push_back(member);
    member.clear();
  };
  for (const char c : text) {
    if (c == '{' && depth++ == 0) continue;
    if (c == '}' && --depth == 0) continue;
    if (is_space(c)) continue;
    if (c == ',' && depth <= 1) flush();
    else member += c;
  }
  flush();
  return members;
}

/// ".shared{::cta}" -> {shared} and {shared::cta}, both with the value "shared"; ".row.col" -> {row, col}.
std::vector<Choice> choices_of(std::string_view member, std::string_view row) {
  TC_CHECK(!member.empty() && member[0] == '.', "set member '{}' in '{}'", member, row);
  std::string plain, full;
  bool inside = false;
  for (const char c : member.substr(1)) {
    if (c == '{' || c == '}') inside = c == '{';
    else (full += c, inside ? void() : void(plain += c));
  }
  const auto split = [](const std::string& text) {
    std::vector<std::string> words;
    for (size_t start = 0; start <= text.size();) {
      const size_t dot = std::min(text.find('.', start), text.size());
      words.push_back(text.substr(start, dot - start));
      start = dot + 1;
    }
    return words;
  };
  std::vector<Choice> choices{{split(plain), plain}};
  if (full != plain) choices.push_back({split(full), plain});
  return choices;
}

class FormParser {
 public:
  FormParser(std::string_view text, const Sets& own, const Sets& all) : text_(text), own_(own), all_(all) {}

  Form parse() {
    Form form;
    form.text = std::string(text_);
    while (at_ < text_.size() && is_word(text_[at_])) form.base += text_[at_++];
    TC_CHECK(!form.base.empty(), "no mnemonic in '{}'", text_);
    mnemonic(form.nodes);
    form.operand_lists = operands('\0');
    return form;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void spaces() {
    while (is_space(peek())) ++at_;
  }
  size_t after_spaces(size_t at) const {
    while (at < text_.size() && is_space(text_[at])) ++at;
    return at;
  }

  void mnemonic(std::vector<Node>& nodes) {
    for (;;) {
      // The manual breaks long mnemonics over lines: what begins with '.' or '{.' still belongs to it.
      const size_t next = after_spaces(at_);
      const bool more = next < text_.size() && (text_[next] == '.' || (text_[next] == '{' && text_[after_spaces(next + 1)] == '.'));
      if (!more) return;
      at_ = next;
      if (text_[at_] == '.') word(nodes);
      else optional(nodes);
    }
  }

  void optional(std::vector<Node>& nodes) {
    const size_t open = nodes.size();
    nodes.push_back({Node::Kind::open, {}, {}, 0});
    ++at_;
    for (spaces(); peek() != '}'; spaces()) {
      TC_CHECK(peek() == '.' || peek() == '{', "optional part in '{}'", text_);
      if (peek() == '.') word(nodes);
      else optional(nodes);
    }
    ++at_;
    nodes[open].end = static_cast<uint32_t>(nodes.size());
  }

  void word(std::vector<Node>& nodes) {
    const size_t start = at_++;
    while (is_word(peek())) ++at_;
    if (peek() == '{' && peek(1) == ':') at_ = text_.find('}', at_) + 1;
    const std::string_view member = text_.substr(start, at_ - start);
    const std::string_view name = member.substr(1);
    const auto* members = find_set(name);
    Node node;
    if (!members) {
      node.choices = choices_of(member, text_);
    } else {
      node.kind = Node::Kind::set;
      node.set = std::string(name);
      for (const std::string& m : *members)
        for (Choice& c : choices_of(m, text_)) node.choices.push_back(std::move(c));
    }
    nodes.push_back(std::move(node));
  }

  const std::vector<std::string>* find_set(std::string_view name) const {
    if (const auto it = own_.find(name); it != own_.end()) return &it->second;
    if (const auto it = all_.find(name); it != all_.end()) return &it->second;
    return nullptr;
  }

  /// At '{' that starts an optional part of the operand list (not a vector).
  bool at_optional() const {
    const size_t next = after_spaces(at_ + 1);
    return peek() == '{' && next < text_.size() && std::string_view(",|!.").find(text_[next]) != std::string_view::npos;
  }

  OperandLists operands(char end) {
    OperandLists lists(1);
    for (;;) {
      spaces();
      if (at_ >= text_.size() || peek() == end) return lists;
      if (peek() == ',') {
        ++at_;
        continue;
      }
      if (peek() == '{' && text_[after_spaces(at_ + 1)] == ',') {
        ++at_;
        OperandLists inner = operands('}');
        ++at_;
        OperandLists longer;
        for (const auto& a : lists)
          for (const auto& b : inner) {
            longer.push_back(a);
            longer.back().insert(longer.back().end(), b.begin(), b.end());
          }
        lists.insert(lists.end(), longer.begin(), longer.end());
        continue;
      }
      const OperandSpec spec = operand();
      for (auto& list : lists) list.push_back(spec);
    }
  }

  OperandSpec operand() {
    OperandSpec spec;
    if (at_optional()) {
      at_ = text_.find('}', at_) + 1;  // {!}
      spec.predicate = true;
      spaces();
    }
    const size_t start = at_;
    if (peek() == '[') bracketed('[', ']'), spec.address = true;
    else if (peek() == '(') bracketed('(', ')'), spec.parenthesised = true;
    else if (peek() == '{') bracketed('{', '}');
    else
      while (is_word(peek()) || peek() == '-' || peek() == '!' || peek() == '*') ++at_;
    TC_CHECK(at_ > start, "operand at '{}' in '{}'", text_.substr(start), text_);
    spec.name = std::string(text_.substr(start, at_ - start));
    for (spaces(); peek() == '|' || at_optional() || (peek() == '[' && peek(1) == '|'); spaces()) {
      if (text_[after_spaces(at_ + 1)] == ',') break;
      spec.may_pair |= text_[at_] == '|' || text_[after_spaces(at_ + 1)] == '|';
      if (peek() == '|') {
        spec.min_atoms = 2;
        ++at_;
        spaces();
        while (is_word(peek()) || peek() == '-') ++at_;
      } else {
        at_ = text_.find(peek() == '{' ? '}' : ']', at_) + 1;
      }
    }
    return spec;
  }

  void bracketed(char open, char close) {
    int depth = 0;
    do {
      TC_CHECK(at_ < text_.size(), "unclosed '{}' in '{}'", open, text_);
      depth += (peek() == open) - (peek() == close);
      ++at_;
    } while (depth > 0);
  }

  std::string_view text_;
  const Sets& own_;
  const Sets& all_;
  size_t at_ = 0;
};

bool is_set(std::string_view statement) { return statement[0] == '.' && statement.find('=') != std::string_view::npos; }

}  // namespace

std::vector<Form> parse_notation(std::string_view row) {
  Sets all;
  std::vector<std::pair<Sets, std::vector<std::string>>> blocks;
  for (const std::string_view block : blocks_of(row)) {
    auto& [sets, forms] = blocks.emplace_back();
    for (std::string& statement : statements_of(block)) {
      if (!is_set(statement)) {
        forms.push_back(std::move(statement));
        continue;
      }
      const size_t equals = statement.find('=');
      const std::string name = squeeze(std::string_view(statement).substr(1, equals - 1));
      auto members = members_of(std::string_view(statement).substr(equals + 1));
      TC_CHECK(!name.empty() && !members.empty(), "set '{}'", statement);
      TC_CHECK(sets.emplace(name, members).second, "set '.{}' twice in one block of '{}'", name, row);
      all.emplace(name, std::move(members));
    }
  }
  std::vector<Form> out;
  for (const auto& [sets, forms] : blocks)
    for (const std::string& form : forms) out.push_back(FormParser(form, sets, all).parse());
  TC_CHECK(!out.empty(), "no form in '{}'", row);
  return out;
}

}  // namespace tcsim::isa::syntax
