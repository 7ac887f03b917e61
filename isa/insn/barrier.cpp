// bar/barrier, bar.warp.sync (PTX ISA, "Parallel Synchronization and Communication Instructions").
#include <fmt/format.h>

#include <algorithm>

#include "isa/insn/access.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

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

}  // namespace

std::span<const InstDef> barrier_instructions() {
  static const std::vector<InstDef> table = {
      {.base = "barrier",
       .syntax =
           "barrier{.cta}.sync{.aligned} a{, b};\n\nbarrier{.cta}.arrive{.aligned} a, b;\n\n"
           "barrier{.cta}.red.popc{.aligned}.u32 d, a{, b}, {!}c;\n\nbarrier{.cta}.red.op{.aligned}.pred p, a{, b}, {!}c;  .op = { .and, .or };",
       .op = Op::bar_sync,
       .bind = &bind_bar,
       .since = {6, 0, 30},
       .manual = "Synchronization: barrier",
       .doc = "barrier of the CTA's threads"},
      {.base = "bar",
       .syntax = "bar{.cta}.sync a{, b};\n\nbar{.cta}.arrive a, b;\n\nbar{.cta}.red.popc.u32 d, a{, b}, {!}c;\n\nbar{.cta}.red.op.pred p, a{, b}, "
                 "{!}c;  .op = { .and, .or };",
       .op = Op::bar_sync,
       .bind = &bind_bar,
       .since = {1, 0, 0},
       .manual = "Synchronization: bar",
       .doc = "barrier of the CTA's threads"},
      {.base = "bar",
       .syntax = "bar.warp.sync membermask;",
       .op = Op::bar_warp,
       .bind = &bind_bar_warp,
       .since = {6, 0, 30},
       .manual = "Synchronization: bar.warp.sync",
       .doc = "barrier of lanes of a warp"},
  };
  return table;
}

}  // namespace tcsim::isa
