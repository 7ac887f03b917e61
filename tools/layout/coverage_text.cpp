// What coverage.h finds, as text and JSON; and the check of what a program believes of a fragment.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/layout/coverage.h"

namespace tcsim::layout {
namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kShown = 8;

/// "1, 2, 5-9" of ascending numbers.
std::string ranges(const std::vector<int>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", end == i ? std::to_string(numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[end]));
    i = end + 1;
  }
  return out;
}

std::string plural(const std::string& word, size_t count) { return count == 1 ? word : word + "s"; }

void list(std::string& out, std::string_view heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  out += fmt::format("  {}\n", heading);
  for (size_t i = 0; i < std::min(lines.size(), kShown); ++i) out += fmt::format("    {}\n", lines[i]);
  if (lines.size() > kShown) out += fmt::format("    and {} more\n", lines.size() - kShown);
}

/// Element i of each lane, in the table's own order.
struct Held {
  std::map<std::array<int, 3>, std::vector<ElementAt>> at;  // warp, lane, element; more than one: quad pairs are told apart by the lane
  int per_register = 1;
};
Held held_by(const Table& t) {
  Held out;
  out.per_register = std::max(1, (t.largest(&Home::bit_hi) + 1) / std::max(1, t.element_bits));
  for (const auto& f : t.find({}))
    out.at[{std::max(f.home.warp, 0), f.home.lane, f.home.reg * out.per_register + f.home.bit_lo / std::max(1, t.element_bits)}].push_back(f.element);
  return out;
}

}  // namespace

std::string describe_region(std::vector<std::pair<int, int>> elements, int rows, int cols) {
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  if (elements.empty()) return "nothing of the operand";
  std::map<int, std::vector<int>> by_row;
  for (const auto& [row, col] : elements) by_row[row].push_back(col);
  std::vector<std::pair<std::vector<int>, std::vector<int>>> blocks;  // rows with the same columns
  for (const auto& [row, columns] : by_row) {
    const auto same = std::find_if(blocks.begin(), blocks.end(), [&, &c = columns](const auto& b) { return b.second == c; });
    if (same != blocks.end()) same->first.push_back(row);
    else blocks.push_back({{row}, columns});
  }
  if (blocks.size() > 3)
    return fmt::format("{} elements of rows {}, columns from {}", elements.size(), ranges([&] {
                         std::vector<int> r;
                         for (const auto& [row, c] : by_row) r.push_back(row);
                         return r;
                       }()),
                       elements.front().second);
  std::string out;
  for (const auto& [r, c] : blocks) {
    const bool all_rows = static_cast<int>(r.size()) == rows, all_columns = static_cast<int>(c.size()) == cols;
    if (!out.empty()) out += " and ";
    if (all_rows && all_columns) out += "everything";
    else if (all_columns) out += fmt::format("{} {}", plural("row", r.size()), ranges(r));
    else if (all_rows) out += fmt::format("{} {}", plural("column", c.size()), ranges(c));
    else out += fmt::format("{} {} of {} {}", plural("column", c.size()), ranges(c), plural("row", r.size()), ranges(r));
  }
  return out;
}

std::string coverage_text(const Coverage& c) {
  std::string out = c.title + "\n";
  for (const std::string& n : c.notes) out += fmt::format("  {}\n", n);
  const char* moved = c.store ? "stored" : "loaded";
  if (c.complete())
    out += fmt::format("  covered: each of the {} elements {} exactly once, {}\n", c.elements, moved,
                       c.store ? "at its place" : "into the register that the instruction expects");
  else if (c.assumed_starts && c.homeless.empty() && c.unfilled.empty() && c.overwritten.empty()) {
    out += fmt::format("  NOT covered, whatever the lanes address: a row of 16 bytes is spread over lanes and registers in another way than {}\n",
                       c.store ? "the fragment holds it" : "the instruction expects");
    if (!c.wrong.empty()) out += fmt::format("  for instance fragment register {}, {}\n", c.wrong[0].number, c.wrong[0].example);
  } else {
    out += fmt::format("  NOT covered: {} of {} elements are {}\n", c.in_place, c.elements,
                       c.store ? "stored at their place" : "where the instruction expects them");
    if (!c.never.empty()) out += fmt::format("  never {}: {}\n", c.store ? "written" : "addressed", c.never);
    if (!c.repeated.empty()) out += fmt::format("  {} more than once: {}\n", c.store ? "written" : "loaded", c.repeated);
    if (!c.unfilled.empty())
      out +=
          fmt::format("  fragment {} {}: no move {} it\n", plural("register", c.unfilled.size()), ranges(c.unfilled), c.store ? "stores" : "fills");
    if (!c.overwritten.empty())
      out += fmt::format("  fragment {} {}: moved more than once\n", plural("register", c.overwritten.size()), ranges(c.overwritten));
    if (!c.homeless.empty())
      out += fmt::format("  moved {} {}: the fragment has no such register\n", plural("register", c.homeless.size()), ranges(c.homeless));
    for (const auto& r : c.wrong) {
      if (r.moved == r.expected)
        out += fmt::format("  fragment register {}: the right elements ({}) in {}; {}\n", r.number, r.expected,
                           c.store ? "other places" : "other lanes", r.example);
      else
        out += fmt::format("  fragment register {}: {} {}, {} {} ({} of {} elements differ; {})\n", r.number, c.store ? "goes to" : "gets", r.moved,
                           c.store ? "holds" : "the instruction expects", r.expected, r.wrong, r.of, r.example);
    }
    if (!c.assumed_starts) list(out, "outside of the operand (16 bytes from each address):", c.outside);
    list(out, "misaligned:", c.misaligned);
  }
  if (c.wavefronts.total)
    out += fmt::format("  shared memory: {} wavefronts, ideal {}, conflicts {}\n", c.wavefronts.total, c.wavefronts.ideal, c.wavefronts.conflicts());
  if (!c.needed.empty() && (c.assumed_starts || !c.complete())) {
    out += c.complete() ? "  with these addresses:\n" : "  addresses that cover it:\n";
    for (size_t i = 0; i < std::min(c.needed.size(), kShown); ++i) out += fmt::format("    {}\n", c.needed[i]);
    if (c.needed.size() > kShown) out += fmt::format("    and {} more groups of lanes\n", c.needed.size() - kShown);
    if (!c.formula.empty()) out += fmt::format("    as a formula: {}\n", c.formula);
  }
  for (const std::string& h : c.hints) out += fmt::format("  hint: {}\n", h);
  return out;
}

std::string coverage_json(const Coverage& c) {
  Json registers = Json::array();
  for (const auto& r : c.wrong)
    registers.push_back({{"register", r.number},
                         {c.store ? "holds" : "expected", r.expected},
                         {c.store ? "goes_to" : "gets", r.moved},
                         {"wrong", r.wrong},
                         {"elements", r.of},
                         {"example", r.example}});
  Json j = {{"question", c.title},
            {"covered", c.complete()},
            {"elements", c.elements},
            {"in_place", c.in_place},
            {"never", c.never},
            {"more_than_once", c.repeated},
            {"wrong_registers", registers},
            {"unfilled_registers", c.unfilled},
            {"overwritten_registers", c.overwritten},
            {"homeless_registers", c.homeless},
            {"outside", c.outside},
            {"misaligned", c.misaligned},
            {"needed", c.needed},
            {"needed_formula", c.formula},
            {"hints", c.hints},
            {"notes", c.notes}};
  if (c.wavefronts.total) j["wavefronts"] = c.wavefronts.total, j["wavefronts_ideal"] = c.wavefronts.ideal, j["conflicts"] = c.wavefronts.conflicts();
  return j.dump(2) + "\n";
}

int elements_of_lane(const Table& t) {
  return (t.largest(&Home::reg) + 1) * std::max(1, (t.largest(&Home::bit_hi) + 1) / std::max(1, t.element_bits));
}

BeliefCheck check_belief(const Table& t, const std::vector<Belief>& beliefs, std::string& error) {
  BeliefCheck c;
  if (t.place != Place::registers || !t.has(&Home::lane)) return error = fmt::format("{} of {} is not in registers", t.operand, t.instruction), c;
  const Held held = held_by(t);
  const int elements = elements_of_lane(t);
  c.title = fmt::format("{} of {} ({} x {}), {} elements a lane", t.operand, t.instruction, t.rows(), t.cols(), elements);
  std::vector<std::pair<int, int>> missing;
  std::set<std::pair<int, int>> said;
  bool turned = true;
  std::map<int, std::set<int>> candidates;  // element of the belief -> elements of the instruction that fit in all lanes so far
  for (const Belief& b : beliefs) {
    const auto at = held.at.find({b.warp, b.lane, b.element});
    if (at == held.at.end())
      return error = fmt::format("lane {}, element {}: the instruction has {} elements in each of 32 lanes", b.lane, b.element, elements), c;
    const auto is = [&](const ElementAt& e) { return e.row == b.row && e.col == b.col; };
    said.emplace(b.row, b.col);
    ++c.checked;
    turned = turned && std::any_of(at->second.begin(), at->second.end(), [&](const ElementAt& e) { return e.row == b.col && e.col == b.row; });
    const auto [fits, first] = candidates.try_emplace(b.element);
    for (int i = 0; first && i < elements; ++i) fits->second.insert(i);
    std::erase_if(fits->second, [&](int i) {
      const auto other = held.at.find({b.warp, b.lane, i});
      return other == held.at.end() || std::none_of(other->second.begin(), other->second.end(), is);
    });
    if (std::any_of(at->second.begin(), at->second.end(), is)) continue;
    if (c.wrong++ < static_cast<int>(kShown))
      c.examples.push_back(fmt::format("{}lane {}, element {} (register {}): believed {}[{}][{}], it is {}[{}][{}]",
                                       t.has(&Home::warp) ? fmt::format("warp {}, ", b.warp) : "", b.lane, b.element, b.element / held.per_register,
                                       t.operand, b.row, b.col, t.operand, at->second[0].row, at->second[0].col));
  }
  for (int row = 0; row < t.rows(); ++row)
    for (int col = 0; col < t.cols(); ++col)
      if (!said.contains({row, col})) missing.emplace_back(row, col);
  if (!missing.empty()) c.missing = describe_region(missing, t.rows(), t.cols());
  if (c.wrong == 0) return c;
  std::vector<int> order;
  for (const auto& [element, fits] : candidates)
    if (!fits.empty()) order.push_back(*fits.begin());
  if (turned) c.hint = "rows and columns are exchanged";
  else if (order.size() == candidates.size())
    c.hint = fmt::format("lanes are right, the order of a lane's elements is not: what is believed of elements 0, 1, 2, ... is true of {}",
                         fmt::join(order, ", "));
  return c;
}

std::string belief_text(const BeliefCheck& c) {
  std::string out = c.title + "\n";
  if (c.right()) out += fmt::format("  right: all {} places hold the elements that they are believed to hold\n", c.checked);
  else {
    out += fmt::format("  WRONG: {} of {} places hold other elements\n", c.wrong, c.checked);
    for (const std::string& e : c.examples) out += fmt::format("    {}\n", e);
    if (c.wrong > static_cast<int>(c.examples.size())) out += fmt::format("    and {} more\n", c.wrong - static_cast<int>(c.examples.size()));
    if (!c.missing.empty()) out += fmt::format("  held by nobody, as it is believed: {}\n", c.missing);
  }
  if (!c.hint.empty()) out += fmt::format("  hint: {}\n", c.hint);
  return out;
}

std::string belief_json(const BeliefCheck& c) {
  return Json{{"question", c.title},    {"right", c.right()}, {"checked", c.checked}, {"wrong", c.wrong},
              {"examples", c.examples}, {"never", c.missing}, {"hint", c.hint}}
             .dump(2) +
         "\n";
}

}  // namespace tcsim::layout
