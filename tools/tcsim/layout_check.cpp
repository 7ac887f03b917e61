#include "tools/tcsim/layout_check.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <fstream>

#include "tools/layout/bank_study.h"
#include "tools/layout/coverage.h"
#include "tools/layout/formula.h"
#include "tools/layout/instructions.h"
#include "tools/tcsim/lane_addresses.h"

namespace tcsim::tool {
namespace {

constexpr int kLanes = 32;
constexpr const char* kKind = "layout";

std::optional<layout::Formula> formula(const std::string& option, const std::string& text, std::vector<std::string> names, Diagnostics& diags) {
  std::string error;
  auto f = layout::Formula::parse(text, std::move(names), error);
  if (!f) diags.error(kKind, {}, fmt::format("{} {}", option, error));
  return f;
}

int64_t value(const layout::Formula& f, const std::string& option, const std::vector<int64_t>& values, Diagnostics& diags) {
  const auto v = f(values);
  if (!v && !diags.has_errors())
    diags.error(kKind, {}, fmt::format("{}: no value for lane {} (a division by zero or a shift beyond 63)", option, values[0]));
  return v.value_or(0);
}

/// One start for each lane of each move, from formulas of `lane` and `load`.
std::vector<layout::RowStart> starts_from_formulas(const LayoutCheck& c, int loads, Diagnostics& diags) {
  std::vector<layout::RowStart> out;
  const bool bytes = !c.lane_byte.empty();
  const auto row = formula(bytes ? "--lane-byte" : "--lane-row", bytes ? c.lane_byte : c.lane_row, {"lane", "load"}, diags);
  const auto col = formula("--lane-col", bytes || c.lane_col.empty() ? "0" : c.lane_col, {"lane", "load"}, diags);
  if (!row || !col) return out;
  for (int load = 0; load < loads; ++load)
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::vector<int64_t> values{lane, load};
      const int64_t r = value(*row, bytes ? "--lane-byte" : "--lane-row", values, diags);
      if (bytes && r < 0 && !diags.has_errors())
        diags.error(kKind, {}, fmt::format("--lane-byte: {} for lane {}, expected an offset of 0 or more", r, lane));
      if (bytes) out.push_back({.is_bytes = true, .byte = r});
      else out.push_back({.row = r, .col = value(*col, "--lane-col", values, diags)});
    }
  return out;
}

std::string coverage_answer(const LayoutCheck& c, const layout::Table& t, const std::string& swizzle, int warp, bool json, Diagnostics& diags) {
  layout::MovePlan plan;
  plan.name = c.move.empty() ? c.stored_by : c.move;
  if (plan.name.starts_with(c.move.empty() ? "ldmatrix" : "stmatrix"))
    return diags.error(kKind, {},
                       fmt::format("{} {}, expected {}", c.move.empty() ? "--stored-by" : "--loaded-by", plan.name,
                                   c.move.empty() ? "a stmatrix" : "an ldmatrix")),
           "";
  plan.order = (c.order.empty() ? t.operand == "B" : c.order == "col") ? layout::Order::col : layout::Order::row;
  plan.pitch = c.row_bytes, plan.offset = static_cast<uint32_t>(c.offset), plan.loads = c.loads, plan.warp = std::max(warp, 0), plan.into = c.into;
  std::string error;
  if (const auto s = layout::parse_swizzle(swizzle.empty() ? "none" : swizzle, std::max(1, t.element_bits / 8), error)) plan.swizzle = *s;
  if (!c.tiles.empty()) {
    const auto words = layout::split_words(c.tiles, 'x');
    const auto count = [](std::string_view w, int& out) {
      const auto [end, e] = std::from_chars(w.data(), w.data() + w.size(), out);
      return e == std::errc() && end == w.data() + w.size() && out >= 1 && out <= 32;
    };
    if (words.size() != 2 || !count(words[0], plan.tiles_down) || !count(words[1], plan.tiles_across))
      error = fmt::format("--tiles '{}', expected DOWNxACROSS like 2x1, each 1 to 32", c.tiles);
  }
  if (error.empty() && !c.addresses.empty()) plan.starts = read_lane_addresses(c.addresses, kKind, diags);
  if (error.empty() && (!c.lane_row.empty() || !c.lane_byte.empty())) {
    layout::MovePlan free = plan;  // how many moves there are
    const layout::Coverage count = layout::cover(t, free, error);
    if (error.empty()) plan.starts = starts_from_formulas(c, count.moves, diags);
  }
  if (diags.has_errors()) return "";
  const layout::Coverage answer = error.empty() ? layout::cover(t, plan, error) : layout::Coverage{};
  if (!error.empty()) return diags.error(kKind, {}, error), "";
  if (!answer.complete())
    diags.error(kKind, {},
                fmt::format("{} does not {} {} of {}{}", plan.name, answer.store ? "store" : "cover", t.operand, t.instruction,
                            answer.assumed_starts  ? ", whatever the lanes address"
                            : answer.never.empty() ? ""
                                                   : fmt::format(": never {}: {}", answer.store ? "written" : "addressed", answer.never)));
  return json ? layout::coverage_json(answer) : layout::coverage_text(answer);
}

/// A table as --format csv writes it: columns row, col, lane, register, and bit_lo and warp where there are several.
std::vector<layout::Belief> read_beliefs(const std::string& path, const layout::Table& t, Diagnostics& diags) {
  std::vector<layout::Belief> out;
  std::ifstream in(path);
  if (!in) return diags.error(kKind, {path, 0, 0}, "cannot read the file"), out;
  const int per = std::max(1, (t.largest(&layout::Home::bit_hi) + 1) / t.element_bits);
  std::vector<std::string> names;
  std::string line;
  for (uint32_t count = 1; std::getline(in, line); ++count) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty()) continue;
    const auto words = layout::split_words(line, ',');
    if (names.empty()) {
      for (const auto w : words) names.emplace_back(w);
      for (const char* need : {"row", "col", "lane", "register"})
        if (std::find(names.begin(), names.end(), need) == names.end())
          return diags.error(kKind, {path, count, 1},
                             fmt::format("no column '{}', expected a table like that of --format csv: row,col,lane,register[,bit_lo][,warp]", need)),
                 out;
      continue;
    }
    layout::Belief b;
    int reg = 0, bit = 0;
    uint32_t column = 1;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string_view w = i < words.size() ? words[i] : std::string_view{};
      int* const where = names[i] == "row"        ? &b.row
                         : names[i] == "col"      ? &b.col
                         : names[i] == "lane"     ? &b.lane
                         : names[i] == "register" ? &reg
                         : names[i] == "bit_lo"   ? &bit
                         : names[i] == "warp"     ? &b.warp
                                                  : nullptr;
      if (where) {
        const auto [end, e] = std::from_chars(w.data(), w.data() + w.size(), *where);
        if (e != std::errc() || end != w.data() + w.size() || *where < 0)
          return diags.error(kKind, {path, count, column}, fmt::format("found '{}', expected a number for {}", w, names[i])), out;
      }
      column += static_cast<uint32_t>(w.size()) + 1;
    }
    b.element = reg * per + bit / t.element_bits;
    out.push_back(b);
  }
  if (out.empty()) diags.error(kKind, {path, 0, 0}, "no rows in the table");
  return out;
}

std::vector<layout::Belief> beliefs_from_formulas(const LayoutCheck& c, const layout::Table& t, Diagnostics& diags) {
  std::vector<layout::Belief> out;
  const std::vector<std::string> names{"lane", "i", "register", "warp"};
  const auto row = formula("--assume-row", c.assume_row, names, diags), col = formula("--assume-col", c.assume_col, names, diags);
  if (!row || !col) return out;
  const int per = std::max(1, (t.largest(&layout::Home::bit_hi) + 1) / t.element_bits), elements = layout::elements_of_lane(t);
  for (int warp = 0; warp <= std::max(t.largest(&layout::Home::warp), 0); ++warp)
    for (int lane = 0; lane < kLanes; ++lane)
      for (int i = 0; i < elements; ++i) {
        const std::vector<int64_t> values{lane, i, i / per, warp};
        const auto clamp = [](int64_t v) { return static_cast<int>(std::clamp<int64_t>(v, -1'000'000, 1'000'000)); };
        out.push_back({warp, lane, i, clamp(value(*row, "--assume-row", values, diags)), clamp(value(*col, "--assume-col", values, diags))});
      }
  return out;
}

std::string belief_answer(const LayoutCheck& c, const layout::Table& t, bool json, Diagnostics& diags) {
  if (!t.has(&layout::Home::lane)) return diags.error(kKind, {}, fmt::format("{} of {} is not in registers", t.operand, t.instruction)), "";
  const auto beliefs = c.assume.empty() ? beliefs_from_formulas(c, t, diags) : read_beliefs(c.assume, t, diags);
  if (diags.has_errors()) return "";
  std::string error;
  const layout::BeliefCheck answer = layout::check_belief(t, beliefs, error);
  if (!error.empty()) return diags.error(kKind, {}, error), "";
  if (!answer.right())
    diags.error(kKind, {},
                fmt::format("what is assumed of {} of {} is wrong in {} of {} places", t.operand, t.instruction, answer.wrong, answer.checked));
  return json ? layout::belief_json(answer) : layout::belief_text(answer);
}

}  // namespace

void add_check_options(CLI::App& app, LayoutCheck& c) {
  const char* const group = "Does a program's idea of the fragment agree?";
  const auto add = [&](const char* name, auto& value, const char* text) { return app.add_option(name, value, text)->group(group); };
  add("--loaded-by", c.move, "ldmatrix.x4[.trans], ...: does it bring each element into its register? Without addresses: which ones do");
  add("--stored-by", c.stored_by, "stmatrix.x4[.trans], ...: does it write each element to its place?");
  add("--addresses", c.addresses,
      "a file: what each lane addresses, one a line, row,column of the operand or a byte offset (32 lines for each move)");
  add("--lane-row", c.lane_row, "the same as formulas of lane (and load): 'lane % 16'");
  add("--lane-col", c.lane_col, "'lane / 16 * 8' (default 0)");
  add("--lane-byte", c.lane_byte, "or a byte offset: 'lane % 16 * 144 + lane / 16 * 16'");
  add("--order", c.order, "which index is contiguous in shared memory: row: along a row (default; of B: col)")->check(CLI::IsMember({"row", "col"}));
  add("--row-bytes", c.row_bytes, "between rows (--order col: columns) in shared memory (default: no gaps)")->check(CLI::Range(1, 1 << 20));
  add("--offset-bytes", c.offset, "where the operand begins")->check(CLI::Range(0, 1 << 20));
  add("--tiles", c.tiles, "DOWNxACROSS fragments of as many instructions beside each other (default 1x1)");
  add("--loads", c.loads, "how many moves (default: as many as fill the fragments)")->check(CLI::Range(1, 256));
  add("--into", c.into, "fragment register of each moved register (register r of fragment f: f * registers + r; default 0,1,2,...)")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  add("--assume-row", c.assume_row, "check a formula of lane, i (element of the lane), register, warp: 'lane / 4 + 8 * (i / 2)'");
  add("--assume-col", c.assume_col, "'lane % 4 * 2 + i % 2'");
  add("--assume", c.assume, "check a table: a CSV with row,col,lane,register[,bit_lo][,warp]");
}

std::string check_usage(const LayoutCheck& c) {
  const bool moves = !c.move.empty() || !c.stored_by.empty(), assumes = !c.assume.empty() || !c.assume_row.empty() || !c.assume_col.empty();
  if (!c.move.empty() && !c.stored_by.empty()) return "--loaded-by and --stored-by exclude each other";
  if (moves && assumes) return "--loaded-by, --stored-by and --assume exclude each other";
  if (assumes && !c.assume.empty() == (!c.assume_row.empty() || !c.assume_col.empty()))
    return "--assume and the formulas --assume-row and --assume-col exclude each other";
  if (c.assume_row.empty() != c.assume_col.empty()) return "--assume-row and --assume-col go together";
  const int sources = !c.addresses.empty() + !c.lane_byte.empty() + !c.lane_row.empty();
  if (sources > 1) return "--addresses, --lane-byte and --lane-row exclude each other";
  if (!c.lane_col.empty() && c.lane_row.empty()) return "--lane-col needs --lane-row";
  if (!moves && (sources || !c.order.empty() || !c.tiles.empty() || !c.into.empty() || c.row_bytes || c.offset || c.loads))
    return "addresses and shared memory go with --loaded-by or --stored-by";
  return "";
}

std::string answer_check(const LayoutCheck& c, const layout::Table& fragment, const std::string& swizzle, int warp, bool json, Diagnostics& diags) {
  return c.move.empty() && c.stored_by.empty() ? belief_answer(c, fragment, json, diags) : coverage_answer(c, fragment, swizzle, warp, json, diags);
}

}  // namespace tcsim::tool
