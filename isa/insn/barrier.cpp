// bar/barrier, bar.warp.sync, mbarrier, griddepcontrol (PTX ISA, "Parallel Synchronization and Communication Instructions").
#include <fmt/format.h>

#include <algorithm>

#include "isa/exec/mbarrier.h"
#include "isa/insn/access.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

void run_nothing(ExecContext&, const Inst&, uint32_t) {}

// ---- bar, barrier ----

// flags: groups of the operands, 4 bits each (15: not given): id, thread count, predicate; aux: BarrierRequest::Kind.
constexpr uint32_t kNone = 15;
int group_at(const Inst& inst, int which) {
  const uint32_t g = inst.flags >> 4 * which & 15;
  return g == kNone ? -1 : static_cast<int>(g);
}

/// Barrier ids and counts are the same in all lanes of the split ("bar.sync" with aligned threads); the first lane's count.
void run_bar(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  BarrierRequest& request = ctx.fx.barrier;
  const int lane = std::countr_zero(mask);
  const int id = group_at(inst, 0), threads = group_at(inst, 1), predicate = group_at(inst, 2);
  request.kind = static_cast<BarrierRequest::Kind>(inst.aux);
  request.id = id < 0 ? 0 : ctx.src<uint32_t>(inst.operand(id))[lane];
  request.threads = threads < 0 ? 0 : ctx.src<uint32_t>(inst.operand(threads))[lane];
  request.aligned = inst.uniform_branch;
  request.predicate = 0;
  if (predicate >= 0) {
    const Operand& p = inst.operand(predicate);
    request.predicate = p.kind == Operand::Kind::pred ? ctx.pred(p) : p.value ? kFullMask : 0;
  }
  ctx.fx.control = Control::barrier;
  ctx.fx.lanes = mask;
}

std::string bind_bar(Inst& inst, const Decoded& d) {
  using Kind = BarrierRequest::Kind;
  const bool red = d.has("red"), arrive = d.has("arrive");
  inst.op = red ? Op::bar_red : arrive ? Op::bar_arrive : Op::bar_sync;
  inst.timing = TimingClass::bar;
  inst.exec = &run_bar;
  inst.uniform_branch = d.has("aligned") || (inst.def && inst.def->base == "bar");
  const bool popc = d.has("popc");
  inst.type = red ? (popc ? Type::u32 : Type::pred) : Type::none;
  inst.aux = static_cast<uint64_t>(!red ? (arrive ? Kind::arrive : Kind::sync) : popc ? Kind::red_popc : d.has("and") ? Kind::red_and : Kind::red_or);
  const int first = red ? 1 : 0, last = red ? inst.group_count - 1 : inst.group_count;
  uint32_t id = kNone, threads = kNone;
  if (last > first) id = static_cast<uint32_t>(first);
  if (last > first + 1) threads = static_cast<uint32_t>(first + 1);
  inst.flags = id | threads << 4 | (red ? static_cast<uint32_t>(last) : kNone) << 8;
  if (arrive && threads == kNone) return "barrier.arrive needs a thread count";
  for (int g = first; g < last; ++g)
    if (auto e = expect_group(inst, g, d, 32, false, false); !e.empty()) return e;
  if (id != kNone && inst.operand(static_cast<int>(id)).kind == Operand::Kind::constant) {
    const int64_t value = inst.operand(static_cast<int>(id)).value;
    if (value < 0 || value > 15) return fmt::format("barrier {} does not exist, expected 0 to 15", value);
  }
  if (!red) return {};
  if (auto e = popc ? expect_group(inst, 0, d, 32, false, true) : expect_pred(inst, 0); !e.empty()) return e;
  const Operand::Kind kind = inst.operand(last).kind;
  if (kind != Operand::Kind::pred && kind != Operand::Kind::constant) return "the last operand is not a predicate, expected a predicate";
  return {};
}

void run_bar_warp(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const uint32_t* m = ctx.src<uint32_t>(inst.operand(0));
  uint32_t members = 0;
  each_lane(mask, [&](int l) { members |= m[l]; });
  ctx.converged(members, mask);
}

std::string bind_bar_warp(Inst& inst, const Decoded& d) {
  inst.op = Op::bar_warp;
  inst.timing = TimingClass::bar_warp;
  inst.exec = &run_bar_warp;
  return expect_group(inst, 0, d, 32, false, false);
}

// ---- mbarrier ----

/// Calls f(lane, mbarrier) in lane order and stores what it leaves; the address is operand `group`.
template <class F>
void for_mbarriers(ExecContext& ctx, const Inst& inst, int group, uint32_t mask, AccessKind kind, F&& f) {
  for_spaces(ctx, inst.operand(group), inst.space, mask, [&](Space space, uint32_t lanes, const uint64_t* address) {
    if (space != Space::shared) {
      ctx.fault("illegal-instruction", std::countr_zero(lanes), address[std::countr_zero(lanes)], "an mbarrier lies in shared memory, but the address does not");
      return;
    }
    Located at;
    if (!locate(ctx, inst, space, address, 8, 8, lanes, kind, at)) return;
    for (uint32_t m = lanes; m && ctx.fx.control == Control::next; m &= m - 1) {
      const int l = std::countr_zero(m);
      const auto offset = static_cast<uint32_t>(address[l]);
      Mbarrier b = load_mbarrier(*ctx.shared, offset);
      f(l, offset, b);
      if (ctx.fx.control == Control::next && kind != AccessKind::load) store_mbarrier(*ctx.shared, offset, b);
    }
  });
}

uint32_t optional_value(ExecContext& ctx, const Inst& inst, int group, int lane, uint32_t otherwise) {
  return group < inst.group_count ? ctx.src<uint32_t>(inst.operand(group))[lane] : otherwise;
}

void run_init(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  for_mbarriers(ctx, inst, 0, mask, AccessKind::atomic, [&](int l, uint32_t offset, Mbarrier& b) {
    const uint32_t count = ctx.src<uint32_t>(inst.operand(1))[l];
    if (count == 0 || count > Mbarrier::kMaxCount) {
      ctx.fault("barrier-misuse", l, offset, fmt::format("mbarrier.init with a count of {}, expected 1 to {}", count, Mbarrier::kMaxCount));
      return;
    }
    b = {count, count, 0, false};
    ctx.shared->mark_written(offset, 8);
  });
}

void run_inval(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  for_mbarriers(ctx, inst, 0, mask, AccessKind::atomic, [&](int, uint32_t offset, Mbarrier& b) {
    b = {};
    ctx.shared->mark_undefined(offset, 8);
  });
}

/// flags: 1 complete_tx.
void run_tx(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  for_mbarriers(ctx, inst, 0, mask, AccessKind::atomic, [&](int l, uint32_t, Mbarrier& b) {
    const auto bytes = static_cast<int32_t>(ctx.src<uint32_t>(inst.operand(1))[l]);
    b.tx += inst.flags ? -bytes : bytes;
    if (inst.flags) b.settle();
  });
}

// flags of arrive: drop, expect_tx (the third operand is bytes, not a count), no_complete; aux: group of the address.
constexpr uint32_t kDrop = 1, kExpectTx = 2, kNoComplete = 4;

void run_arrive(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const int address = static_cast<int>(inst.aux);
  uint64_t state[kLanes] = {};
  for_mbarriers(ctx, inst, address, mask, AccessKind::atomic, [&](int l, uint32_t offset, Mbarrier& b) {
    state[l] = b.encode();
    const uint32_t third = optional_value(ctx, inst, address + 1, l, 1);
    const uint32_t count = (inst.flags & kExpectTx) ? 1 : third;
    if (inst.flags & kExpectTx) b.tx += static_cast<int32_t>(third);
    const bool too_many = count > b.pending || ((inst.flags & kNoComplete) && count == b.pending);
    if (count == 0 || too_many) {
      ctx.fault("barrier-misuse", l, offset,
                fmt::format("mbarrier at offset {}: {} arrivals, but the phase expects {} more{}", offset, count, b.pending,
                            (inst.flags & kNoComplete) ? " and .noComplete may not end it" : ""));
      return;
    }
    b.pending -= count;
    if (inst.flags & kDrop) b.expected -= std::min(b.expected, count);
    b.settle();
  });
  if (ctx.fx.control != Control::next || address == 0 || inst.operand(0).kind != Operand::Kind::reg) return;
  uint64_t* d = ctx.reg<uint64_t>(inst.operand(0).slot);
  each_lane(mask, [&](int l) { d[l] = state[l]; });
}

/// flags: 1 parity.
void run_wait(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t done = 0;
  for_mbarriers(ctx, inst, 1, mask, AccessKind::load, [&](int l, uint32_t, Mbarrier& b) {
    const bool waited = inst.flags ? (ctx.src<uint32_t>(inst.operand(2))[l] & 1) != 0
                                   : Mbarrier::decode(ctx.src<uint64_t>(inst.operand(2))[l]).phase;
    // The phase asked about is over when the current one is another.
    if (b.phase != waited) done |= 1u << l;
  });
  if (ctx.fx.control == Control::next) ctx.set_pred(inst.operand(0).slot, done, mask);
}

void run_pending_count(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t* d = ctx.reg<uint32_t>(inst.operand(0).slot);
  const uint64_t* state = ctx.src<uint64_t>(inst.operand(1));
  each_lane(mask, [&](int l) { d[l] = Mbarrier::decode(state[l]).pending; });
}

std::string bind_mbarrier(Inst& inst, const Decoded& d) {
  inst.op = inst.def ? inst.def->op : Op::invalid;
  inst.type = Type::b64;
  inst.timing = TimingClass::atoms;
  const auto address_and_u32 = [&](int address) {
    if (auto e = expect_address(inst, address); !e.empty()) return e;
    inst.space = space_of(inst, d, address);
    return address + 1 < inst.group_count ? expect_group(inst, address + 1, d, 32, false, false) : std::string{};
  };
  switch (inst.op) {
    case Op::mbarrier_init: inst.exec = &run_init; return address_and_u32(0);
    case Op::mbarrier_inval: inst.exec = &run_inval; return address_and_u32(0);
    case Op::mbarrier_expect_tx: inst.exec = &run_tx; return address_and_u32(0);
    case Op::mbarrier_complete_tx: inst.exec = &run_tx; inst.flags = 1; return address_and_u32(0);
    case Op::mbarrier_arrive:
    case Op::mbarrier_arrive_drop:
      inst.exec = &run_arrive;
      inst.flags = (inst.op == Op::mbarrier_arrive_drop ? kDrop : 0) | (d.has("expect_tx") ? kExpectTx : 0) | (d.has("noComplete") ? kNoComplete : 0);
      inst.aux = inst.operand(0).kind == Operand::Kind::address ? 0 : 1;
      if (inst.operand(0).kind == Operand::Kind::reg)
        if (auto e = expect_group(inst, 0, d, 64, false, true); !e.empty()) return e;
      return address_and_u32(static_cast<int>(inst.aux));
    case Op::mbarrier_test_wait:
    case Op::mbarrier_try_wait: {
      inst.exec = &run_wait;
      inst.timing = TimingClass::lds;
      inst.flags = d.has("parity") ? 1 : 0;
      if (auto e = expect_pred(inst, 0); !e.empty()) return e;
      if (auto e = expect_address(inst, 1); !e.empty()) return e;
      inst.space = space_of(inst, d, 1);
      return expect_group(inst, 2, d, inst.flags ? 32 : 64, false, false);
    }
    case Op::mbarrier_pending_count:
      inst.exec = &run_pending_count;
      inst.timing = TimingClass::alu;
      if (auto e = expect_group(inst, 0, d, 32, false, true); !e.empty()) return e;
      return expect_group(inst, 1, d, 64, false, false);
    default: return "not an mbarrier instruction";
  }
}

/// Nothing runs before or after the one launch that is simulated.
std::string bind_griddepcontrol(Inst& inst, const Decoded&) {
  inst.op = Op::griddepcontrol;
  inst.timing = TimingClass::nop;
  inst.exec = &run_nothing;
  return {};
}

constexpr std::string_view kSets =
    "  .sem = { .acquire, .release, .relaxed };  .scope = { .cta, .cluster };  .ss = { .shared, .shared::cta, .shared::cluster };";

std::string with_sets(std::string_view forms) { return std::string(forms) + std::string(kSets); }

}  // namespace

std::span<const InstDef> barrier_instructions() {
  static const std::string expect_tx = with_sets("mbarrier.expect_tx{.sem.scope}{.ss}.b64 [addr], txCount;");
  static const std::string complete_tx = with_sets("mbarrier.complete_tx{.sem.scope}{.ss}.b64 [addr], txCount;");
  static const std::string init = with_sets("mbarrier.init{.ss}.b64 [addr], count;");
  static const std::string inval = with_sets("mbarrier.inval{.ss}.b64 [addr];");
  static const std::string arrive = with_sets(
      "mbarrier.arrive{.sem.scope}{.ss}.b64 state, [addr]{, count};\n\nmbarrier.arrive{.sem.scope}{.ss}.b64 [addr]{, count};\n\n"
      "mbarrier.arrive.expect_tx{.sem.scope}{.ss}.b64 state, [addr], tx_count;\n\n"
      "mbarrier.arrive.noComplete{.sem.scope}{.ss}.b64 state, [addr], count;");
  static const std::string drop = with_sets(
      "mbarrier.arrive_drop{.sem.scope}{.ss}.b64 state, [addr]{, count};\n\n"
      "mbarrier.arrive_drop.expect_tx{.sem.scope}{.ss}.b64 state, [addr], tx_count;\n\n"
      "mbarrier.arrive_drop.noComplete{.sem.scope}{.ss}.b64 state, [addr], count;");
  static const std::string test_wait = with_sets(
      "mbarrier.test_wait{.sem.scope}{.ss}.b64 waitComplete, [addr], state;\n\nmbarrier.test_wait.parity{.sem.scope}{.ss}.b64 waitComplete, [addr], phaseParity;");
  static const std::string try_wait = with_sets(
      "mbarrier.try_wait{.sem.scope}{.ss}.b64 waitComplete, [addr], state{, suspendTimeHint};\n\n"
      "mbarrier.try_wait.parity{.sem.scope}{.ss}.b64 waitComplete, [addr], phaseParity{, suspendTimeHint};");
  static const std::vector<InstDef> table = {
      {.base = "barrier",
       .syntax = "barrier{.cta}.sync{.aligned} a{, b};\n\nbarrier{.cta}.arrive{.aligned} a, b;\n\n"
                 "barrier{.cta}.red.popc{.aligned}.u32 d, a{, b}, {!}c;\n\nbarrier{.cta}.red.op{.aligned}.pred p, a{, b}, {!}c;  .op = { .and, .or };",
       .op = Op::bar_sync, .bind = &bind_bar, .since = {6, 0, 30}, .manual = "Synchronization: barrier", .doc = "barrier of the CTA's threads"},
      {.base = "bar",
       .syntax = "bar{.cta}.sync a{, b};\n\nbar{.cta}.arrive a, b;\n\nbar{.cta}.red.popc.u32 d, a{, b}, {!}c;\n\nbar{.cta}.red.op.pred p, a{, b}, {!}c;  .op = { .and, .or };",
       .op = Op::bar_sync, .bind = &bind_bar, .since = {1, 0, 0}, .manual = "Synchronization: bar", .doc = "barrier of the CTA's threads"},
      {.base = "bar", .syntax = "bar.warp.sync membermask;", .op = Op::bar_warp, .bind = &bind_bar_warp, .since = {6, 0, 30},
       .manual = "Synchronization: bar.warp.sync", .doc = "barrier of lanes of a warp"},
      {.base = "mbarrier", .syntax = init, .op = Op::mbarrier_init, .bind = &bind_mbarrier, .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.init", .doc = "start an mbarrier object"},
      {.base = "mbarrier", .syntax = inval, .op = Op::mbarrier_inval, .bind = &bind_mbarrier, .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.inval", .doc = "end an mbarrier object"},
      {.base = "mbarrier", .syntax = expect_tx, .op = Op::mbarrier_expect_tx, .bind = &bind_mbarrier, .since = {8, 0, 90},
       .manual = "Synchronization: mbarrier.expect_tx", .doc = "expect bytes in the current phase"},
      {.base = "mbarrier", .syntax = complete_tx, .op = Op::mbarrier_complete_tx, .bind = &bind_mbarrier, .since = {8, 0, 90},
       .manual = "Synchronization: mbarrier.complete_tx", .doc = "report bytes as done"},
      {.base = "mbarrier", .syntax = arrive, .op = Op::mbarrier_arrive, .bind = &bind_mbarrier, .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.arrive", .doc = "arrive; the state tells the phase"},
      {.base = "mbarrier", .syntax = drop, .op = Op::mbarrier_arrive_drop, .bind = &bind_mbarrier, .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.arrive_drop", .doc = "arrive and take no part in later phases"},
      {.base = "mbarrier", .syntax = test_wait, .op = Op::mbarrier_test_wait, .bind = &bind_mbarrier, .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.test_wait", .doc = "is the phase over"},
      {.base = "mbarrier", .syntax = try_wait, .op = Op::mbarrier_try_wait, .bind = &bind_mbarrier, .since = {7, 8, 90},
       .manual = "Synchronization: mbarrier.try_wait", .doc = "is the phase over; the hardware may suspend the thread"},
      {.base = "mbarrier", .syntax = "mbarrier.pending_count.b64 count, state;", .op = Op::mbarrier_pending_count, .bind = &bind_mbarrier,
       .since = {7, 0, 80}, .manual = "Synchronization: mbarrier.pending_count", .doc = "arrivals missing in a state"},
      {.base = "griddepcontrol", .syntax = "griddepcontrol.action;  .action = { .launch_dependents, .wait };", .op = Op::griddepcontrol,
       .bind = &bind_griddepcontrol, .since = {7, 8, 90}, .manual = "Synchronization: griddepcontrol", .doc = "programmatic dependent launch"},
  };
  return table;
}

}  // namespace tcsim::isa
