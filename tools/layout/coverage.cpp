#include "tools/layout/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "isa/layout/move_layout.h"
#include "tools/layout/formula.h"
#include "tools/layout/render.h"

namespace tcsim::layout {
namespace {

constexpr int kRowBytes = 16;  // that a lane addresses

/// The element of row `lane_row` at `index` from its start goes to these bits of a moved register.
struct Slot {
  int reg, lane, bit;   // of the move
  int lane_row, index;  // index in elements of the fragment
};

/// The fragment as the move sees it: 32-bit registers of one warp, in tiles.
struct Target {
  int rows = 0, cols = 0;                      // of all tiles
  int registers = 0;                           // of one fragment
  int bits = 0;                                // of an element
  int homes = 1;                               // of an element
  std::map<std::array<int, 3>, ElementAt> at;  // register, lane, bit -> element
};

std::string range(int first, int last) { return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last); }

/// f32 results go through ldmatrix and stmatrix after packing pairs into f16 or bf16.
Target target_of(const Table& t, const MovePlan& plan, bool store, std::vector<std::string>& notes, std::string& error) {
  Target out;
  if (t.place != Place::registers || t.has(&Home::tmem_lane)) error = fmt::format("{} of {} is not in registers", t.operand, t.instruction);
  else if (t.tiles() > 1)
    error = fmt::format("{} has quad pairs; ldmatrix and stmatrix exist from sm_75 on, where nothing is laid out like it", t.instruction);
  else if (t.largest(&Home::bit_hi) > 31)
    error = fmt::format("{} of {} is in registers of 64 bits, ldmatrix and stmatrix move registers of 32", t.operand, t.instruction);
  if (!error.empty()) return out;
  const bool packed = store && t.element_bits == 32;
  if (packed) notes.push_back("elements after packing: register r has elements 2r (low half) and 2r + 1 of the lane in 16 bits");
  const int warps = std::max(t.largest(&Home::warp) + 1, 1), warp_rows = t.rows() / warps, first = warps > 1 ? plan.warp * warp_rows : 0;
  if (plan.warp >= warps && plan.warp > 0) return error = fmt::format("--warp {}, expected 0 to {}", plan.warp, warps - 1), out;
  if (warps > 1)
    notes.push_back(fmt::format("warp {}: rows {} of the {} of {}, counted from their first", plan.warp, range(first, first + warp_rows - 1),
                                t.rows(), t.operand));
  out.rows = warp_rows, out.cols = t.cols(), out.bits = packed ? 16 : t.element_bits;
  out.homes = static_cast<int>(t.homes({0, 0, 0}).size());
  for (const auto& f : t.find({})) {
    if (warps > 1 && f.home.warp != plan.warp) continue;
    const int reg = packed ? f.home.reg / 2 : f.home.reg, bit = packed ? 16 * (f.home.reg % 2) : f.home.bit_lo;
    out.at[{reg, f.home.lane, bit}] = {0, f.element.row - first, f.element.col};
    out.registers = std::max(out.registers, reg + 1);
  }
  return out;
}

/// Where each element of a row lands; an error if elements would be torn apart.
std::vector<Slot> slots_of(const isa::MoveSpec& m, int bits, std::string& error) {
  std::vector<Slot> out;
  const int unit = m.registers.element_bits;
  if (m.transposed && bits > unit) {
    error = fmt::format(".trans exchanges units of {} bits: elements of {} bits would be torn apart", unit, bits);
    return out;
  }
  if (m.memory_bits < unit && bits != unit) {
    error = fmt::format("the move widens elements of {} bits to {}, the fragment has elements of {} bits", m.memory_bits, unit, bits);
    return out;
  }
  for (int reg = 0; reg < m.registers.registers; ++reg)
    for (int lane = 0; lane < 32; ++lane)
      for (int bit = 0; bit < 32; bit += bits) {
        const isa::Element e = isa::move_element(m, lane, reg, bit / unit);
        out.push_back({reg, lane, bit, e.row, (e.col * unit + bit % unit) / bits});
      }
  return out;
}

class Study {
 public:
  Study(const Table& fragment, const MovePlan& plan, std::string& error) : table_(fragment), plan_(plan) {
    const auto move = isa::find_move(plan.name);
    if (!move || plan.name.starts_with("movmatrix")) {
      error = fmt::format(
          "'{}' is no ldmatrix or stmatrix, expected ldmatrix.x1|x2|x4[.trans] or stmatrix.x1|x2|x4[.trans] (tcsim layout --list names the forms for "
          "bytes)",
          plan.name);
      return;
    }
    move_ = *move;
    one_ = target_of(fragment, plan, move_.store, notes_, error);
    if (!error.empty()) return;
    slots_of(move_, one_.bits, error);
    if (!error.empty()) return;
    rows_ = one_.rows * plan.tiles_down, cols_ = one_.cols * plan.tiles_across;
    total_ = one_.registers * plan.tiles_down * plan.tiles_across;
    moved_ = move_.registers.registers;
    lanes_ = move_.rows();
    loads_ = plan.loads ? plan.loads
                        : std::max(1, plan.starts.empty()
                                          ? total_ / moved_
                                          : static_cast<int>(plan.starts.size() / (plan.starts.size() % 32 ? static_cast<size_t>(lanes_) : 32)));
    spread_starts();
    lines_ = plan.order == Order::row ? rows_ : cols_;
    line_bytes_ = (plan.order == Order::row ? cols_ : rows_) * one_.bits / 8;
    pitch_ = plan.pitch ? plan.pitch : std::max(line_bytes_, 1);
    if (plan.pitch && plan.pitch < line_bytes_)
      error = fmt::format("--row-bytes {}, but a {} of {} has {} B", plan.pitch, plan.order == Order::row ? "row" : "column", fragment.operand,
                          line_bytes_);
    else if (!plan.starts.empty() && starts_.size() != static_cast<size_t>(loads_) * 32)
      error = fmt::format("{} addresses, expected {}: 32 for each {} (or {}, of the lanes whose address counts)", plan.starts.size(), loads_ * 32,
                          plan.name, loads_ * lanes_);
    else if (!plan.into.empty() && plan.into.size() != static_cast<size_t>(loads_ * moved_))
      error =
          fmt::format("--into names {} registers, expected {}: {} of each of {} {}", plan.into.size(), loads_ * moved_, moved_, loads_, plan.name);
    else if (1 << plan.swizzle.base < kRowBytes && plan.swizzle.bits > 0)
      error = fmt::format("the swizzle moves units of {} B, but a row of {} has 16: they would be torn apart", 1 << plan.swizzle.base, plan.name);
    for (const int r : plan.into)
      if (r < 0 || r >= total_) error = fmt::format("--into names register {}, expected 0 to {}", r, total_ - 1);
  }

  Coverage answer() {
    Coverage c = judge(move_, plan_.into, starts());
    c.title = title();
    c.notes = notes_;
    c.store = move_.store;
    c.moves = loads_;
    c.assumed_starts = plan_.starts.empty();
    say_needed(c);
    if (!c.complete()) find_hints(c);
    if (plan_.pitch || (!plan_.starts.empty() && plan_.starts[0].is_bytes)) c.wavefronts = wavefronts(starts());
    return c;
  }

 private:
  using Lines = std::vector<int64_t>;  // for each load and lane the byte offset without swizzle from the operand's start; kNowhere
  static constexpr int64_t kNowhere = INT64_MIN;

  /// Addresses of the lanes that count become addresses of 32 lanes.
  void spread_starts() {
    starts_ = plan_.starts;
    if (starts_.size() != static_cast<size_t>(loads_ * lanes_) || lanes_ == 32) return;
    starts_.assign(static_cast<size_t>(loads_) * 32, {});
    for (int i = 0; i < loads_ * lanes_; ++i) starts_[static_cast<size_t>(i / lanes_ * 32 + i % lanes_)] = plan_.starts[static_cast<size_t>(i)];
  }
  int destination(const std::vector<int>& into, int load, int reg) const {
    const int moved = load * moved_ + reg;
    return into.empty() ? moved : into[static_cast<size_t>(moved)];
  }
  /// What a fragment register expects in a lane.
  std::optional<ElementAt> expected(int destination, int lane, int bit) const {
    const int tile = destination / one_.registers;
    const auto found = one_.at.find({destination % one_.registers, lane, bit});
    if (destination < 0 || destination >= total_ || found == one_.at.end()) return std::nullopt;
    return ElementAt{0, found->second.row + tile / plan_.tiles_across * one_.rows, found->second.col + tile % plan_.tiles_across * one_.cols};
  }
  int64_t line_of(int64_t row, int64_t col) const { return plan_.order == Order::row ? row : col; }
  int64_t bit_offset(int64_t row, int64_t col) const {
    const int64_t along = plan_.order == Order::row ? col : row;
    return line_of(row, col) * pitch_ * 8 + along * one_.bits;
  }
  /// The element in these bits of memory; nullopt: padding or outside.
  std::optional<ElementAt> element_at(int64_t bit) const {
    if (bit < 0) return std::nullopt;
    const int64_t line = bit / 8 / pitch_, along = (bit - line * pitch_ * 8) / one_.bits;
    if (line >= lines_ || along >= (plan_.order == Order::row ? cols_ : rows_)) return std::nullopt;
    const auto l = static_cast<int>(line), a = static_cast<int>(along);
    return plan_.order == Order::row ? ElementAt{0, l, a} : ElementAt{0, a, l};
  }

  Lines starts() const {
    if (starts_.empty()) return needed(move_, plan_.into);
    Lines out;
    for (const RowStart& s : starts_)
      out.push_back(
          !s.is_bytes
              ? (s.row < 0 || s.col < 0 || (plan_.order == Order::row ? s.col >= cols_ : s.row >= rows_) ? kNowhere : bit_offset(s.row, s.col) / 8)
              : static_cast<int64_t>(plan_.swizzle(static_cast<uint64_t>(s.byte))) - plan_.offset);
    return out;
  }
  /// The starts that the first element of each lane's row asks for.
  Lines needed(const isa::MoveSpec& move, const std::vector<int>& into) const {
    Lines out(static_cast<size_t>(loads_) * 32, kNowhere);
    std::string torn;
    for (const Slot& s : slots_of(move, one_.bits, torn))
      for (int load = 0; load < loads_ && s.index == 0; ++load)
        if (const auto e = expected(destination(into, load, s.reg), s.lane, s.bit))
          out[static_cast<size_t>(load * 32 + s.lane_row)] = bit_offset(e->row, e->col) / 8;
    return out;
  }

  Coverage judge(const isa::MoveSpec& move, const std::vector<int>& into, const Lines& lines) const {
    Coverage c;
    c.elements = rows_ * cols_;
    std::vector<int> times(static_cast<size_t>(c.elements), 0), writes(static_cast<size_t>(total_), 0);
    std::map<int, Coverage::Register> registers;
    std::map<int, std::pair<std::vector<std::pair<int, int>>, std::vector<std::pair<int, int>>>> sets;  // expected, moved
    std::set<std::pair<int, int>> in_place;
    std::string torn;
    const std::vector<Slot> slots = slots_of(move, one_.bits, torn);
    for (int load = 0; load < loads_; ++load) {
      for (int reg = 0; reg < moved_; ++reg) {
        const int d = destination(into, load, reg);
        if (d >= total_) c.homeless.push_back(load * moved_ + reg);
        else if (++writes[static_cast<size_t>(d)] == 2) c.overwritten.push_back(d);
      }
      check_lanes(c, move, load, lines);
      for (const Slot& s : slots) {
        const int d = destination(into, load, s.reg);
        const int64_t start = lines[static_cast<size_t>(load * 32 + s.lane_row)];
        const auto got = start == kNowhere ? std::nullopt : element_at(start * 8 + static_cast<int64_t>(s.index) * one_.bits);
        if (got) ++times[static_cast<size_t>(got->row * cols_ + got->col)];
        if (d >= total_) continue;
        const auto want = expected(d, s.lane, s.bit);
        Coverage::Register& r = registers[d];
        r.number = d;
        ++r.of;
        if (want) sets[d].first.emplace_back(want->row, want->col);
        if (got) sets[d].second.emplace_back(got->row, got->col);
        if (want == got && got) in_place.emplace(got->row, got->col);
        else if (r.wrong++ == 0) r.example = example(s, want, got);
      }
    }
    for (auto& [d, r] : registers) {
      if (r.wrong == 0) continue;
      r.expected = describe_region(sets[d].first, rows_, cols_), r.moved = describe_region(sets[d].second, rows_, cols_);
      c.wrong.push_back(r);
    }
    c.in_place = static_cast<int>(in_place.size());
    for (int d = 0; d < total_; ++d)
      if (writes[static_cast<size_t>(d)] == 0) c.unfilled.push_back(d);
    std::vector<std::pair<int, int>> never, often;
    for (int e = 0; e < c.elements; ++e) {
      if (times[static_cast<size_t>(e)] == 0) never.emplace_back(e / cols_, e % cols_);
      if (times[static_cast<size_t>(e)] > one_.homes) often.emplace_back(e / cols_, e % cols_);
    }
    if (!never.empty()) c.never = describe_region(never, rows_, cols_);
    if (!often.empty()) c.repeated = describe_region(often, rows_, cols_);
    return c;
  }
  std::string example(const Slot& s, const std::optional<ElementAt>& want, const std::optional<ElementAt>& got) const {
    const auto say = [&](const std::optional<ElementAt>& e) {
      return e ? fmt::format("{}[{}][{}]", table_.operand, e->row, e->col) : std::string("nothing of the operand");
    };
    return fmt::format("lane {}, bits {}-{}: {} instead of {}", s.lane, s.bit, s.bit + one_.bits - 1, say(got), say(want));
  }
  /// Rows that leave the operand, and addresses that are not aligned.
  void check_lanes(Coverage& c, const isa::MoveSpec& move, int load, const Lines& lines) const {
    for (int lane = 0; lane < move.rows(); ++lane) {
      const auto i = static_cast<size_t>(load * 32 + lane);
      const std::string who = loads_ > 1 ? fmt::format("{} {}, lane {}", move.store ? "store" : "load", load, lane) : fmt::format("lane {}", lane);
      const int last = kRowBytes * 8 / one_.bits - 1;
      if (lines[i] == kNowhere || !element_at(lines[i] * 8) || !element_at(lines[i] * 8 + static_cast<int64_t>(last) * one_.bits))
        c.outside.push_back(starts_.empty() ? who : fmt::format("{}: {}", who, said(starts_[i])));
      else if ((lines[i] + plan_.offset) % kRowBytes != 0)
        c.misaligned.push_back(fmt::format("{}: byte {:#x}{}, expected a multiple of 16", who, lines[i] + plan_.offset,
                                           starts_.empty() || starts_[i].is_bytes ? "" : fmt::format(" ({})", said(starts_[i]))));
    }
  }
  static std::string said(const RowStart& s) {
    return s.is_bytes ? fmt::format("byte {:#x}", s.byte) : fmt::format("row {}, column {}", s.row, s.col);
  }

  std::string title() const {
    std::string tiles = plan_.tiles_down * plan_.tiles_across == 1 ? "" : fmt::format(", {} x {} fragments", plan_.tiles_down, plan_.tiles_across);
    return fmt::format("{} of {} ({} x {}{}) {} {}{}, {}s contiguous in shared memory", table_.operand, table_.instruction, rows_, cols_, tiles,
                       move_.store ? "stored by" : "loaded by", loads_ > 1 ? fmt::format("{} ", loads_) : "", plan_.name,
                       plan_.order == Order::row ? "row" : "column");
  }

  /// The addresses that make it complete, if there are any.
  void say_needed(Coverage& c) const {
    const Lines lines = needed(move_, plan_.into);
    if (!judge(move_, plan_.into, lines).complete()) return;
    const auto at = [&](int i) { return *element_at(lines[static_cast<size_t>(i)] * 8); };
    for (int load = 0; load < loads_; ++load)
      for (int lane = 0; lane < lanes_; lane += 8) {
        const ElementAt first = at(load * 32 + lane), last = at(load * 32 + lane + 7);
        c.needed.push_back(fmt::format(
            "{}lanes {}-{}: row{} {}, column{} {}", loads_ > 1 ? fmt::format("{} {}, ", move_.store ? "store" : "load", load) : "", lane, lane + 7,
            first.row == last.row ? "" : "s", range(first.row, last.row), first.col == last.col ? "" : "s", range(first.col, last.col)));
      }
    c.formula = formula_of(lines);
  }
  /// A usual formula that gives these starts.
  std::string formula_of(const Lines& lines) const {
    const int wide = kRowBytes * 8 / one_.bits, per_load = std::max(1, moved_ * 8 / std::max(1, rows_));
    const std::vector<std::string> parts = {"0",
                                            "lane",
                                            "lane % 8",
                                            "lane % 16",
                                            "lane % 8 + lane / 16 * 8",
                                            fmt::format("lane / 8 * {}", wide),
                                            fmt::format("lane / 16 * {}", wide),
                                            fmt::format("lane / 8 % 2 * {}", wide),
                                            "lane / 8 * 8",
                                            "lane / 16 * 8",
                                            "lane / 8 % 2 * 8"};
    std::set<std::string> steps = {""};
    if (loads_ > 1)
      for (const int n : {wide, 2 * wide, 8, 16, 32, per_load}) steps.insert(fmt::format(" + load * {}", n));
    const auto fits = [&](const std::string& text, bool row) {
      std::string error;
      const auto f = Formula::parse(text, {"lane", "load"}, error);
      for (int load = 0; load < loads_; ++load)
        for (int lane = 0; lane < lanes_; ++lane) {
          const ElementAt e = *element_at(lines[static_cast<size_t>(load * 32 + lane)] * 8);
          const int64_t values[] = {lane, load};
          if ((*f)(values) != (row ? e.row : e.col)) return false;
        }
      return true;
    };
    std::string found[2];
    for (const bool row : {true, false})
      for (const std::string& step : steps)
        for (const std::string& part : parts)
          if (found[row].empty() && fits(part + step, row)) found[row] = part == "0" && !step.empty() ? step.substr(3) : part + step;
    return found[0].empty() || found[1].empty() ? "" : fmt::format("row = {}, column = {}", found[1], found[0]);
  }

  /// The register order that puts everything where it belongs.
  std::optional<std::vector<int>> order_that_fits(const isa::MoveSpec& move, const Lines& lines) const {
    if (loads_ * moved_ != total_) return std::nullopt;
    std::vector<int> into(static_cast<size_t>(total_), -1);
    std::string torn;
    const std::vector<Slot> slots = slots_of(move, one_.bits, torn);
    for (int load = 0; load < loads_; ++load)
      for (int reg = 0; reg < moved_; ++reg)
        for (int d = 0; d < total_ && into[static_cast<size_t>(load * moved_ + reg)] < 0; ++d) {
          const bool fits = std::all_of(slots.begin(), slots.end(), [&](const Slot& s) {
            const int64_t start = lines[static_cast<size_t>(load * 32 + s.lane_row)];
            return s.reg != reg ||
                   (start != kNowhere && element_at(start * 8 + static_cast<int64_t>(s.index) * one_.bits) == expected(d, s.lane, s.bit));
          });
          if (fits && std::find(into.begin(), into.end(), d) == into.end()) into[static_cast<size_t>(load * moved_ + reg)] = d;
        }
    if (std::find(into.begin(), into.end(), -1) != into.end()) return std::nullopt;
    return into;
  }
  /// Another order of a few registers with which there are addresses.
  void try_orders(Coverage& c) const {
    constexpr int kFew = 4;
    if (loads_ * moved_ != total_ || total_ > kFew) return;
    std::vector<int> order(static_cast<size_t>(total_));
    std::iota(order.begin(), order.end(), 0);
    while (std::next_permutation(order.begin(), order.end()))
      if (judge(move_, order, needed(move_, order)).complete())
        return c.hints.push_back(fmt::format("no addresses make it complete; with --into {} there are some", fmt::join(order, ",")));
  }
  void find_hints(Coverage& c) const {
    std::string torn;
    isa::MoveSpec turned = move_;
    const bool can_turn = move_.registers.tile_rows == 8 && move_.registers.cols == 8 && move_.registers.element_bits >= one_.bits;
    turned.transposed = !turned.transposed;
    const char* what = move_.transposed ? "without .trans" : "with .trans";
    if (!plan_.starts.empty()) {
      const Lines lines = starts();
      if (can_turn && judge(turned, plan_.into, lines).complete()) c.hints.push_back(fmt::format("{} it is complete", what));
      const auto say = [&](const isa::MoveSpec& move, const std::string& more) {
        const auto order = order_that_fits(move, lines);
        if (order && judge(move, *order, lines).complete())
          c.hints.push_back(
              fmt::format("{}with the moved registers going to {} in this order (--into) it is complete", more, fmt::join(*order, ", ")));
      };
      if (c.hints.empty()) say(move_, "");
      if (c.hints.empty() && can_turn) say(turned, fmt::format("{} and ", what));
    } else if (c.needed.empty() && can_turn && judge(turned, plan_.into, needed(turned, plan_.into)).complete())
      c.hints.push_back(fmt::format("no addresses make it complete; {} there are some", what));
    if (c.needed.empty() && c.hints.empty()) try_orders(c);
    if (c.needed.empty() && c.hints.empty() && loads_ * moved_ != total_)
      c.hints.push_back(
          fmt::format("the fragment{} {} register{} a lane, the move {}: --loads says how many instructions, --tiles how many fragments they are for",
                      plan_.tiles_down * plan_.tiles_across > 1 ? "s have" : " has", total_, total_ == 1 ? "" : "s", loads_ * moved_));
    if (c.needed.empty() && c.hints.empty()) {
      MovePlan other = plan_;
      other.order = plan_.order == Order::row ? Order::col : Order::row;
      other.starts.clear(), other.pitch = 0;
      std::string error;
      const Study study(table_, other, error);
      if (error.empty() && study.judge(study.move_, other.into, study.starts()).complete())
        c.hints.push_back(fmt::format("only if {}s were contiguous in shared memory (--order {})", other.order == Order::row ? "row" : "column",
                                      other.order == Order::row ? "row" : "col"));
    }
  }

  sim::Wavefronts wavefronts(const Lines& lines) const {
    sim::Wavefronts sum;
    for (int load = 0; load < loads_; ++load) {
      isa::Access a;
      a.kind = move_.store ? isa::AccessKind::stmatrix : isa::AccessKind::ldmatrix;
      a.space = isa::Space::shared;
      a.bytes = kRowBytes;
      a.mask = lanes_ >= 32 ? ~0u : (1u << lanes_) - 1;
      a.address.fill(0);
      for (int lane = 0; lane < lanes_; ++lane) {
        const int64_t at = lines[static_cast<size_t>(load * 32 + lane)];
        if (at == kNowhere || at + plan_.offset < 0) return {};
        a.address[static_cast<size_t>(lane)] = plan_.swizzle(static_cast<uint64_t>(at + plan_.offset));
      }
      const sim::Wavefronts w = sim::count_wavefronts(a, {});
      sum.total += w.total, sum.ideal += w.ideal;
    }
    return sum;
  }

  const Table& table_;
  const MovePlan& plan_;
  isa::MoveSpec move_;
  Target one_;
  std::vector<RowStart> starts_;
  std::vector<std::string> notes_;
  int rows_ = 0, cols_ = 0, total_ = 0, moved_ = 0, loads_ = 0, lines_ = 0, line_bytes_ = 0, pitch_ = 0, lanes_ = 0;
};

}  // namespace

Coverage cover(const Table& fragment, const MovePlan& plan, std::string& error) {
  Study study(fragment, plan, error);
  return error.empty() ? study.answer() : Coverage{};
}

}  // namespace tcsim::layout
