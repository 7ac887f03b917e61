#include "isa/syntax/matcher.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "isa/check.h"

namespace tcsim::isa {
namespace {

using syntax::Choice;
using syntax::Form;
using syntax::Node;
using Words = std::vector<std::string_view>;
using Mods = std::vector<MatchedMod>;

bool starts_with(const Words& words, size_t at, const Choice& choice) {
  if (at + choice.words.size() > words.size()) return false;
  for (size_t i = 0; i < choice.words.size(); ++i)
    if (words[at + i] != choice.words[i]) return false;
  return true;
}

/// Matches in the order of the notation, with backtracking over optional parts. Remembers how far it came, and what would
/// have been accepted there.
class OrderedMatch {
 public:
  OrderedMatch(const Form& form, const Words& words) : form_(form), words_(words) {}
  bool run() { return step(0, 1); }

  Mods mods;
  size_t furthest = 1;
  std::set<std::string> expected;

 private:
  bool step(size_t node, size_t word) {
    if (node == form_.nodes.size()) {
      if (word > furthest) furthest = word, expected.clear();
      return word == words_.size();
    }
    const Node& n = form_.nodes[node];
    if (n.kind == Node::Kind::open) return step(node + 1, word) || step(n.end, word);
    for (const Choice& choice : n.choices) {
      if (!starts_with(words_, word, choice)) continue;
      mods.push_back({n.set, choice.value});
      if (step(node + 1, word + choice.words.size())) return true;
      mods.pop_back();
    }
    if (word > furthest) furthest = word, expected.clear();
    if (word == furthest)
      for (const Choice& choice : n.choices) expected.insert(fmt::format(".{}", choice.words[0]));
    return false;
  }

  const Form& form_;
  const Words& words_;
};

/// Matches in any order: each word takes the first free node that accepts it.
bool match_unordered(const Form& form, const Words& words, Mods& mods) {
  const auto& nodes = form.nodes;
  std::vector<const Choice*> taken(nodes.size(), nullptr);
  for (size_t w = 1; w < words.size();) {
    const Choice* found = nullptr;
    for (size_t n = 0; n < nodes.size() && !found; ++n) {
      if (taken[n] || nodes[n].kind == Node::Kind::open) continue;
      for (const Choice& choice : nodes[n].choices)
        if (starts_with(words, w, choice)) {
          found = taken[n] = &choice;
          break;
        }
    }
    if (!found) return false;
    w += found->words.size();
  }
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].kind != Node::Kind::open) {
      if (!taken[n]) return false;
      mods.push_back({nodes[n].set, taken[n]->value});
      continue;
    }
    const bool used = std::any_of(taken.begin() + static_cast<ptrdiff_t>(n), taken.begin() + nodes[n].end, [](auto* c) { return c; });
    if (!used) n = nodes[n].end - 1;
  }
  return true;
}

/// Levenshtein distance: what was meant comes first in the list of what is expected.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = up;
    }
  }
  return row[b.size()];
}

std::string list(const std::set<std::string>& words, std::string_view found) {
  std::vector<std::string> sorted(words.begin(), words.end());
  if (found.size() < 64)
    std::stable_sort(sorted.begin(), sorted.end(), [found](const auto& a, const auto& b) { return distance(a, found) < distance(b, found); });
  constexpr size_t kShown = 8;
  std::string out;
  for (size_t i = 0; i < sorted.size() && i < kShown; ++i) {
    if (i > 0) out += i + 1 == sorted.size() ? " or " : ", ";
    out += sorted[i];
  }
  return sorted.size() > kShown ? out + ", ..." : out;
}

}  // namespace

namespace syntax {

std::vector<std::string_view> split_mnemonic(std::string_view mnemonic) {
  Words words;
  for (size_t start = 0; start <= mnemonic.size();) {
    const size_t dot = std::min(mnemonic.find('.', start), mnemonic.size());
    words.push_back(mnemonic.substr(start, dot - start));
    start = dot + 1;
  }
  return words;
}

}  // namespace syntax

Matcher::Matcher(std::vector<const InstDef*> table) {
  for (const InstDef* def : table)
    for (Form& form : syntax::parse_notation(def->syntax)) {
      TC_CHECK(def->base == form.base || def->base.substr(0, form.base.size() + 1) == form.base + ".", "row of '{}' has the form '{}'", def->base,
               form.text);
      auto& forms = forms_[form.base];
      forms.push_back({std::move(form), def});
    }
}

std::vector<Match> Matcher::match(std::string_view mnemonic) const {
  const Words words = syntax::split_mnemonic(mnemonic);
  std::vector<Match> out;
  const auto it = forms_.find(std::string(words[0]));
  if (it == forms_.end()) return out;
  for (const TableForm& entry : it->second) {
    OrderedMatch m(entry.form, words);
    if (m.run()) out.push_back({&entry, std::move(m.mods)});
  }
  if (!out.empty()) return out;
  for (const TableForm& entry : it->second) {
    Mods mods;
    if (match_unordered(entry.form, words, mods)) out.push_back({&entry, std::move(mods)});
  }
  return out;
}

bool Matcher::knows_modifier(std::string_view word) const {
  if (syntax::is_ptx_modifier(word)) return true;
  for (const auto& [base, forms] : forms_)
    for (const TableForm& entry : forms)
      for (const Node& node : entry.form.nodes)
        for (const Choice& choice : node.choices)
          if (std::find(choice.words.begin(), choice.words.end(), word) != choice.words.end()) return true;
  return false;
}

Matcher::Misfit Matcher::explain(std::string_view mnemonic) const {
  const Words words = syntax::split_mnemonic(mnemonic);
  Misfit misfit;
  const auto it = forms_.find(std::string(words[0]));
  if (it == forms_.end() && !syntax::is_ptx_base(words[0])) {
    misfit.kind = Misfit::Kind::not_an_instruction;
    return misfit;
  }
  for (size_t i = 1; i < words.size(); ++i) {
    if (knows_modifier(words[i])) continue;
    misfit.kind = Misfit::Kind::bad_modifier;
    misfit.word = fmt::format(".{}", words[i]);
    misfit.offset = static_cast<size_t>(words[i].data() - mnemonic.data()) - 1;
    break;
  }
  if (it == forms_.end()) return misfit;
  size_t furthest = 1;
  std::set<std::string> expected;
  for (const TableForm& entry : it->second) {
    OrderedMatch m(entry.form, words);
    m.run();
    if (m.furthest > furthest) furthest = m.furthest, expected.clear();
    if (m.furthest == furthest) expected.insert(m.expected.begin(), m.expected.end());
  }
  misfit.expected = list(expected, misfit.word);
  // Nothing after the base word fits although more is needed: the mnemonic is cut short ("add", "ld.global").
  if (misfit.kind == Misfit::Kind::unsupported && furthest >= words.size() && !expected.empty()) {
    misfit.kind = Misfit::Kind::bad_modifier;
    misfit.offset = mnemonic.size();
  }
  return misfit;
}

}  // namespace tcsim::isa
