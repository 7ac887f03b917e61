#include "isa/insn/exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/insn/access.h"
#include "isa/insn/minmax.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

/// True when every lane's member mask is served by the lanes that are here: then the instruction may run. Lanes of one
/// warp may name different masks (tiles of a warp).
bool all_here(ExecContext& ctx, const Operand& members, uint32_t mask) {
  const uint32_t* m = ctx.src<uint32_t>(members);
  uint32_t needed = 0;
  each_lane(mask, [&](int l) { needed |= m[l]; });
  return ctx.converged(needed, mask);
}

/// Lanes among `mask` that name the same member mask as lane l and are members.
uint32_t group_of(const uint32_t* members, uint32_t mask, int l) {
  uint32_t group = 0;
  each_lane(mask, [&](int k) { group |= members[k] == members[l] ? 1u << k : 0u; });
  return group & members[l];
}

/// Calls f(lanes) for each group of lanes that name the same member mask.
template <class F>
void for_groups(ExecContext& ctx, const Operand& members, uint32_t mask, F&& f) {
  const uint32_t* m = ctx.src<uint32_t>(members);
  for (uint32_t rest = mask; rest;) {
    const uint32_t group = group_of(m, mask, std::countr_zero(rest));
    const uint32_t lanes = group ? group : rest & -rest;
    f(lanes);
    rest &= ~lanes;
  }
}

// ---- shfl ----

enum class Shuffle : uint64_t { up, down, bfly, idx };

/// PTX ISA, "shfl": j = source lane, kept inside the segment that c gives (bits 0..4 clamp, 8..12 segment mask).
void run_shfl(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const int last = inst.group_count - 1;
  if (inst.flags && !all_here(ctx, inst.operand(last), mask)) return;
  const uint32_t* a = ctx.src<uint32_t>(inst.operand(1));
  const uint32_t* b = ctx.src<uint32_t>(inst.operand(2));
  const uint32_t* c = ctx.src<uint32_t>(inst.operand(3));
  uint32_t value[kLanes] = {}, inside = 0;
  each_lane(mask, [&](int l) {
    const auto lane = static_cast<uint32_t>(l);
    const uint32_t bval = b[l] & 31, cval = c[l] & 31, segment = c[l] >> 8 & 31;
    const uint32_t max = (lane & segment) | (cval & ~segment), min = lane & segment;
    int64_t j = 0;
    bool p = false;
    switch (static_cast<Shuffle>(inst.aux)) {
      case Shuffle::up:
        j = int64_t{lane} - bval;
        p = j >= max;
        break;
      case Shuffle::down:
        j = int64_t{lane} + bval;
        p = j <= max;
        break;
      case Shuffle::bfly:
        j = lane ^ bval;
        p = j <= max;
        break;
      case Shuffle::idx:
        j = min | (bval & ~segment);
        p = j <= max;
        break;
    }
    if (!p) j = l;
    value[l] = a[j];
    inside |= p ? 1u << l : 0u;
  });
  const auto dst = inst.group(0);
  if (dst[0].kind == Operand::Kind::reg) {
    uint32_t* d = ctx.reg<uint32_t>(dst[0].slot);
    each_lane(mask, [&](int l) { d[l] = value[l]; });
  }
  if (dst.size() > 1 && dst[1].kind == Operand::Kind::pred) ctx.set_pred(dst[1].slot, inside, mask);
}

std::string bind_shfl(Inst& inst, const Decoded& d) {
  inst.op = Op::shfl;
  inst.type = Type::b32;
  inst.timing = TimingClass::shfl;
  inst.exec = &run_shfl;
  const std::string_view mode = d.value("mode");
  inst.aux = static_cast<uint64_t>(mode == "up" ? Shuffle::up : mode == "down" ? Shuffle::down : mode == "bfly" ? Shuffle::bfly : Shuffle::idx);
  inst.flags = d.has("sync") ? 1 : 0;
  const Operand& first = inst.operand(0);
  if (first.kind != Operand::Kind::sink)
    if (auto e = expect_value(first, d, 32, false, "operand 1"); !e.empty()) return e;
  for (int g = 1; g < inst.group_count; ++g)
    if (auto e = expect_group(inst, g, d, 32, false, false); !e.empty()) return e;
  return {};
}

// ---- vote ----

enum class Vote : uint64_t { all, any, uni, ballot };

void run_vote(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const bool sync = inst.flags != 0;
  const Operand& members = inst.operand(2);
  if (sync && !all_here(ctx, members, mask)) return;
  const Operand& a = inst.operand(1);
  const uint32_t p = a.kind == Operand::Kind::pred ? ctx.pred(a) : a.value ? kFullMask : 0;
  const auto vote = [&](uint32_t lanes) {
    const uint32_t yes = p & lanes;
    switch (static_cast<Vote>(inst.aux)) {
      case Vote::all: ctx.set_pred(inst.operand(0).slot, yes == lanes ? kFullMask : 0, lanes); break;
      case Vote::any: ctx.set_pred(inst.operand(0).slot, yes ? kFullMask : 0, lanes); break;
      case Vote::uni: ctx.set_pred(inst.operand(0).slot, yes == lanes || !yes ? kFullMask : 0, lanes); break;
      case Vote::ballot: {
        uint32_t* d = ctx.reg<uint32_t>(inst.operand(0).slot);
        each_lane(lanes, [&](int l) { d[l] = yes; });
        break;
      }
    }
  };
  if (sync) for_groups(ctx, members, mask, vote);
  else vote(mask);
}

std::string bind_vote(Inst& inst, const Decoded& d) {
  inst.op = Op::vote;
  inst.timing = TimingClass::vote;
  inst.exec = &run_vote;
  inst.flags = d.has("sync") ? 1 : 0;
  const bool ballot = d.has("ballot");
  inst.aux = static_cast<uint64_t>(ballot ? Vote::ballot : d.has("all") ? Vote::all : d.has("any") ? Vote::any : Vote::uni);
  inst.type = ballot ? Type::b32 : Type::pred;
  if (auto e = ballot ? expect_group(inst, 0, d, 32, false, true) : expect_pred(inst, 0); !e.empty()) return e;
  const Operand::Kind kind = inst.operand(1).kind;
  if (kind != Operand::Kind::pred && kind != Operand::Kind::constant) return "operand 2 is not a predicate, expected a predicate";
  return inst.flags ? expect_group(inst, 2, d, 32, false, false) : std::string{};
}

// ---- match ----

template <class T>
void match(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const T* a = ctx.src<T>(inst.operand(1));
  const auto dst = inst.group(0);
  uint32_t result[kLanes] = {}, pred = 0;
  for_groups(ctx, inst.operand(2), mask, [&](uint32_t lanes) {
    each_lane(lanes, [&](int l) {
      uint32_t same = 0;
      each_lane(lanes, [&](int k) { same |= a[k] == a[l] ? 1u << k : 0u; });
      const bool all = same == lanes;
      result[l] = inst.aux == 0 ? same : all ? lanes : 0;
      pred |= all ? 1u << l : 0u;
    });
  });
  if (dst[0].kind == Operand::Kind::reg) {
    uint32_t* d = ctx.reg<uint32_t>(dst[0].slot);
    each_lane(mask, [&](int l) { d[l] = result[l]; });
  }
  if (dst.size() > 1 && dst[1].kind == Operand::Kind::pred) ctx.set_pred(dst[1].slot, pred, mask);
}

void run_match(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!all_here(ctx, inst.operand(2), mask)) return;
  if (bits(inst.type) == 64) match<uint64_t>(ctx, inst, mask);
  else match<uint32_t>(ctx, inst, mask);
}

std::string bind_match(Inst& inst, const Decoded& d) {
  inst.op = Op::match;
  inst.type = d.type();
  inst.timing = TimingClass::vote;
  inst.aux = d.has("all") ? 1 : 0;
  inst.exec = &run_match;
  if (auto e = expect_group(inst, 1, d, bits(inst.type), false, false); !e.empty()) return e;
  return expect_group(inst, 2, d, 32, false, false);
}

// ---- redux ----

enum class Redux : uint32_t { add, min_u, max_u, min_s, max_s, and_, or_, xor_, min_f, max_f, min_f_nan, max_f_nan };

uint32_t reduce(Redux op, bool absolute, uint32_t x, uint32_t y) {
  const auto sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y);
  const auto f = [absolute](uint32_t v) { return fp::float_of(absolute ? v & 0x7fffffffu : v); };
  switch (op) {
    case Redux::add: return x + y;
    case Redux::min_u: return std::min(x, y);
    case Redux::max_u: return std::max(x, y);
    case Redux::min_s: return static_cast<uint32_t>(std::min(sx, sy));
    case Redux::max_s: return static_cast<uint32_t>(std::max(sx, sy));
    case Redux::and_: return x & y;
    case Redux::or_: return x | y;
    case Redux::xor_: return x ^ y;
    case Redux::min_f: return fp::bits32(fp::min_max_f32<false, false, false, false>(f(x), f(y)));
    case Redux::max_f: return fp::bits32(fp::min_max_f32<true, false, false, false>(f(x), f(y)));
    case Redux::min_f_nan: return fp::bits32(fp::min_max_f32<false, false, true, false>(f(x), f(y)));
    case Redux::max_f_nan: return fp::bits32(fp::min_max_f32<true, false, true, false>(f(x), f(y)));
  }
  return 0;
}

void run_redux(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!all_here(ctx, inst.operand(2), mask)) return;
  const uint32_t* a = ctx.src<uint32_t>(inst.operand(1));
  uint32_t result[kLanes] = {};
  for_groups(ctx, inst.operand(2), mask, [&](uint32_t lanes) {
    const bool absolute = inst.flags != 0;
    uint32_t r = a[std::countr_zero(lanes)];
    // Combining the first value with itself makes a single lane canonical too (abs, NaN); min and max do not mind.
    const auto op = static_cast<Redux>(inst.aux);
    if (op >= Redux::min_f) r = reduce(op, absolute, r, r);
    for (uint32_t m = lanes & (lanes - 1); m; m &= m - 1) r = reduce(op, absolute, r, a[std::countr_zero(m)]);
    each_lane(lanes, [&](int l) { result[l] = r; });
  });
  uint32_t* d = ctx.reg<uint32_t>(inst.operand(0).slot);
  each_lane(mask, [&](int l) { d[l] = result[l]; });
}

std::string bind_redux(Inst& inst, const Decoded& d) {
  inst.op = Op::redux;
  inst.type = d.type();
  inst.timing = TimingClass::redux;
  inst.exec = &run_redux;
  inst.flags = d.has("abs") ? 1 : 0;
  const std::string_view op = d.value("op");
  const bool is_f = inst.type == Type::f32, is_s = inst.type == Type::s32, is_b = inst.type == Type::b32;
  Redux r = Redux::add;
  if (op == "min") r = is_f ? (d.has("NaN") ? Redux::min_f_nan : Redux::min_f) : is_s ? Redux::min_s : Redux::min_u;
  else if (op == "max") r = is_f ? (d.has("NaN") ? Redux::max_f_nan : Redux::max_f) : is_s ? Redux::max_s : Redux::max_u;
  else if (op == "and") r = Redux::and_;
  else if (op == "or") r = Redux::or_;
  else if (op == "xor") r = Redux::xor_;
  const bool bitwise = op == "and" || op == "or" || op == "xor";
  if (bitwise != is_b)
    return fmt::format("redux.sync.{}.{} does not exist, expected .and .or .xor with .b32, or .add .min .max with .u32 or .s32", op, name(inst.type));
  inst.aux = static_cast<uint64_t>(r);
  for (int g = 0; g < 3; ++g)
    if (auto e = expect_group(inst, g, d, 32, false, g == 0); !e.empty()) return e;
  return {};
}

// ---- activemask, elect ----

void run_activemask(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t* d = ctx.reg<uint32_t>(inst.operand(0).slot);
  each_lane(mask, [&](int l) { d[l] = mask; });
}

std::string bind_activemask(Inst& inst, const Decoded& d) {
  inst.op = Op::activemask;
  inst.type = Type::b32;
  inst.timing = TimingClass::vote;
  inst.exec = &run_activemask;
  return expect_group(inst, 0, d, 32, false, true);
}

/// The leader is the lowest member (the choice is deterministic and the implementation's: PTX ISA, "elect.sync").
void run_elect(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!all_here(ctx, inst.operand(1), mask)) return;
  const auto dst = inst.group(0);
  for_groups(ctx, inst.operand(1), mask, [&](uint32_t lanes) {
    const auto leader = static_cast<uint32_t>(std::countr_zero(lanes));
    if (dst[0].kind == Operand::Kind::reg) {
      uint32_t* d = ctx.reg<uint32_t>(dst[0].slot);
      each_lane(lanes, [&](int l) { d[l] = leader; });
    }
    if (dst.size() > 1 && dst[1].kind == Operand::Kind::pred) ctx.set_pred(dst[1].slot, 1u << leader, lanes);
  });
}

std::string bind_elect(Inst& inst, const Decoded& d) {
  inst.op = Op::elect;
  inst.type = Type::b32;
  inst.timing = TimingClass::vote;
  inst.exec = &run_elect;
  return expect_group(inst, 1, d, 32, false, false);
}

}  // namespace

std::span<const InstDef> exchange_instructions() {
  static const std::vector<InstDef> table = {
      {.base = "shfl",
       .syntax = "shfl.sync.mode.b32 d{|p}, a, b, c, membermask;\n\nshfl.mode.b32 d{|p}, a, b, c;  .mode = { .up, .down, .bfly, .idx };",
       .op = Op::shfl,
       .bind = &bind_shfl,
       .since = {3, 0, 30},
       .manual = "Data Movement: shfl.sync",
       .doc = "value of another lane"},
      {.base = "vote",
       .syntax = "vote.sync.mode.pred d, {!}a, membermask;\n\nvote.sync.ballot.b32 d, {!}a, membermask;\n\nvote.mode.pred d, "
                 "{!}a;\n\nvote.ballot.b32 d, {!}a;"
                 "  .mode = { .all, .any, .uni };",
       .op = Op::vote,
       .bind = &bind_vote,
       .since = {1, 2, 0},
       .manual = "Synchronization: vote.sync",
       .doc = "combine a predicate over lanes"},
      {.base = "match",
       .syntax = "match.any.sync.type d, a, membermask;\n\nmatch.all.sync.type d{|p}, a, membermask;  .type = { .b32, .b64 };",
       .op = Op::match,
       .bind = &bind_match,
       .since = {6, 0, 70},
       .manual = "Synchronization: match.sync",
       .doc = "lanes with the same value"},
      {.base = "redux",
       .syntax = "redux.sync.op.type dst, src, membermask;\n\nredux.sync.op{.abs}{.NaN}.f32 dst, src, membermask;"
                 "  .op = { .add, .min, .max, .and, .or, .xor };  .type = { .u32, .s32, .b32, .f32 };",
       .op = Op::redux,
       .bind = &bind_redux,
       .since = {7, 0, 80},
       .manual = "Synchronization: redux.sync",
       .doc = "reduce a value over lanes"},
      {.base = "activemask",
       .syntax = "activemask.b32 d;",
       .op = Op::activemask,
       .bind = &bind_activemask,
       .since = {6, 2, 30},
       .manual = "Synchronization: activemask",
       .doc = "lanes that execute together"},
      {.base = "elect",
       .syntax = "elect.sync d|p, membermask;",
       .op = Op::elect,
       .bind = &bind_elect,
       .since = {8, 0, 90},
       .manual = "Synchronization: elect.sync",
       .doc = "choose one leader among lanes"},
  };
  return table;
}

}  // namespace tcsim::isa
