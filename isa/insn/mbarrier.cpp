// mbarrier (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"). Operations on the own CTA's
// barriers act at once; those on another CTA's become RemoteOps, which whoever runs the warp delivers.
#include <fmt/format.h>

#include <algorithm>

#include "isa/exec/mbarrier_unit.h"
#include "isa/insn/access.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

/// Calls f(lane, offset, remote) in lane order; remote: the barrier of the CTA ctx.fx.access.rank.
template <class F>
void for_mbarriers(ExecContext& ctx, const Inst& inst, int group, uint32_t mask, AccessKind kind, F&& f) {
  for_spaces(ctx, inst.operand(group), inst.space, mask, [&](Space space, uint32_t lanes, const uint64_t* address) {
    if (space != Space::shared) {
      ctx.fault("illegal-instruction", std::countr_zero(lanes), address[std::countr_zero(lanes)],
                "an mbarrier lies in shared memory, but the address does not");
      return;
    }
    Located at;
    if (!locate(ctx, inst, space, address, 8, 8, lanes, kind, at)) return;
    for (uint32_t m = lanes; m && ctx.fx.control == Control::next; m &= m - 1) {
      const int l = std::countr_zero(m);
      f(l, static_cast<uint32_t>(address[l]), ctx.fx.access.remote);
    }
  });
}

void report(ExecContext& ctx, int lane, uint32_t offset, MbarrierError error) {
  if (error) ctx.fault(error.kind, lane, offset, std::move(error.text));
}

MbarrierSource source(const ExecContext& ctx, const Inst& inst) {
  return {MbarrierSource::Kind::thread, static_cast<uint8_t>(ctx.cluster_rank), ctx.warp_index, ctx.index_of(inst)};
}

uint32_t optional_value(ExecContext& ctx, const Inst& inst, int group, int lane, uint32_t otherwise) {
  return group < inst.group_count ? ctx.src<uint32_t>(inst.operand(group))[lane] : otherwise;
}

/// True when the barrier is another CTA's; then that is a fault unless the instruction allows it.
bool refuse_remote(ExecContext& ctx, int lane, uint32_t offset, bool remote, const char* what) {
  if (remote) ctx.fault("barrier-misuse", lane, offset, fmt::format("{} of an mbarrier of another CTA of the cluster is not allowed", what));
  return remote;
}

void send(ExecContext& ctx, RemoteOp op, uint32_t offset) {
  op.target = {offset, ctx.fx.access.rank};
  ctx.fx.remote.push_back(op);
  ctx.fx.issued |= Effects::kRemote;
}

void run_init(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  for_mbarriers(ctx, inst, 0, mask, AccessKind::atomic, [&](int l, uint32_t offset, bool remote) {
    if (refuse_remote(ctx, l, offset, remote, "mbarrier.init")) return;
    report(ctx, l, offset, ctx.mbarriers->init(offset, ctx.src<uint32_t>(inst.operand(1))[l], source(ctx, inst)));
  });
}

void run_inval(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  for_mbarriers(ctx, inst, 0, mask, AccessKind::atomic, [&](int l, uint32_t offset, bool remote) {
    if (refuse_remote(ctx, l, offset, remote, "mbarrier.inval")) return;
    report(ctx, l, offset, ctx.mbarriers->inval(offset));
  });
}

/// flags: 1 complete_tx.
void run_tx(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const bool completes = inst.flags != 0;
  for_mbarriers(ctx, inst, 0, mask, AccessKind::atomic, [&](int l, uint32_t offset, bool remote) {
    const uint32_t bytes = ctx.src<uint32_t>(inst.operand(1))[l];
    if (remote) return send(ctx, {.kind = RemoteOp::Kind::mbarrier_tx, .expect_tx = !completes, .bytes = bytes}, offset);
    report(ctx, l, offset,
           completes ? ctx.mbarriers->complete(offset, bytes, source(ctx, inst)) : ctx.mbarriers->expect(offset, bytes, source(ctx, inst)));
  });
  ctx.fx.issued |= Effects::kMbarrier;
}

// flags of arrive: drop, expect_tx (the third operand is bytes, not a count), no_complete; aux: group of the address.
constexpr uint32_t kDrop = 1, kExpectTx = 2, kNoComplete = 4;

void run_arrive(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const int address = static_cast<int>(inst.aux);
  const bool wants_state = address == 1 && inst.operand(0).kind == Operand::Kind::reg;
  uint64_t state[kLanes] = {};
  for_mbarriers(ctx, inst, address, mask, AccessKind::atomic, [&](int l, uint32_t offset, bool remote) {
    const uint32_t third = optional_value(ctx, inst, address + 1, l, 1);
    const bool expects = (inst.flags & kExpectTx) != 0, drop = (inst.flags & kDrop) != 0;
    if (remote && wants_state)
      return ctx.fault("barrier-misuse", l, offset, "mbarrier.arrive on another CTA's barrier gives no state, expected '_' as destination");
    if (remote)
      return send(
          ctx,
          {.kind = RemoteOp::Kind::mbarrier_arrive, .expect_tx = expects, .drop = drop, .count = expects ? 1 : third, .bytes = expects ? third : 0},
          offset);
    const MbarrierArrival arrival{
        .count = expects ? 1 : third, .expect_bytes = expects ? third : 0, .drop = drop, .no_complete = (inst.flags & kNoComplete) != 0};
    report(ctx, l, offset, ctx.mbarriers->arrive(offset, arrival, source(ctx, inst), &state[l]));
  });
  ctx.fx.issued |= Effects::kMbarrier;
  if (ctx.fx.control != Control::next || !wants_state) return;
  uint64_t* d = ctx.reg<uint64_t>(inst.operand(0).slot);
  each_lane(mask, [&](int l) { d[l] = state[l]; });
}

// flags of the waits: the third operand is a parity; the hardware may suspend the thread (try_wait).
constexpr uint32_t kParity = 1, kSuspends = 2;

/// The same warp was told before that this phase is over, and the next one is under way with bytes in flight.
void note_stale(ExecContext& ctx, const Inst& inst, uint32_t offset, bool parity) {
  const uint32_t index = ctx.index_of(inst);
  const MbarrierUnit::Record& record = *ctx.mbarriers->find(offset);
  ctx.find({kStalePhase, index, ctx.warp_index, HazardFinding::kNone, 0, offset,
            fmt::format("passes at once on parity {}: phase {} of the mbarrier ended long ago and this warp has waited for it already; phase {} is "
                        "under way with {} bytes in flight",
                        parity ? 1 : 0, record.phase - 1, record.phase, record.in_flight)});
}

void run_wait(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t done = 0;
  bool same = true;
  uint32_t first_offset = ~0u;
  bool first_parity = false;
  for_mbarriers(ctx, inst, 1, mask, AccessKind::load, [&](int l, uint32_t offset, bool remote) {
    if (refuse_remote(ctx, l, offset, remote, inst.flags & kSuspends ? "mbarrier.try_wait" : "mbarrier.test_wait")) return;
    if (auto e = ctx.mbarriers->check(offset, source(ctx, inst))) return report(ctx, l, offset, std::move(e));
    const bool parity =
        inst.flags & kParity ? (ctx.src<uint32_t>(inst.operand(2))[l] & 1) != 0 : Mbarrier::decode(ctx.src<uint64_t>(inst.operand(2))[l]).phase;
    if (first_offset == ~0u) first_offset = offset, first_parity = parity;
    same = same && offset == first_offset && parity == first_parity;
    // The phase asked about is over when the current one has another parity.
    if (ctx.mbarriers->ended(offset, parity)) done |= 1u << l;
  });
  if (ctx.fx.control != Control::next) return;
  ctx.set_pred(inst.operand(0).slot, done, mask);
  if (done == 0) ctx.fx.issued |= Effects::kPoll;
  else if (same && ctx.mbarriers->passed(first_offset, ctx.warp_index, done)) note_stale(ctx, inst, first_offset, first_parity);
  if (!(inst.flags & kSuspends) || done != 0 || !same) return;
  ctx.fx.control = Control::mbarrier_wait;
  ctx.fx.wait = {{first_offset, static_cast<uint8_t>(ctx.cluster_rank)}, first_parity, optional_value(ctx, inst, 3, std::countr_zero(mask), 0)};
}

void run_pending_count(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t* d = ctx.reg<uint32_t>(inst.operand(0).slot);
  const uint64_t* state = ctx.src<uint64_t>(inst.operand(1));
  each_lane(mask, [&](int l) { d[l] = Mbarrier::decode(state[l]).pending; });
}

std::string bind_wait(Inst& inst, const Decoded& d) {
  inst.exec = &run_wait;
  inst.timing = TimingClass::mbarrier_wait;
  inst.flags = (d.has("parity") ? kParity : 0) | (inst.op == Op::mbarrier_try_wait ? kSuspends : 0);
  if (auto e = expect_pred(inst, 0); !e.empty()) return e;
  if (auto e = expect_address(inst, 1); !e.empty()) return e;
  inst.space = space_of(inst, d, 1);
  if (inst.space == Space::shared_cluster) return "mbarrier waits are on the own CTA's barriers, expected .shared::cta";
  if (inst.group_count > 3)
    if (auto e = expect_group(inst, 3, d, 32, false, false); !e.empty()) return e;
  return expect_group(inst, 2, d, inst.flags & kParity ? 32 : 64, false, false);
}

std::string bind_mbarrier(Inst& inst, const Decoded& d) {
  inst.op = inst.def ? inst.def->op : Op::invalid;
  inst.type = Type::b64;
  inst.timing = TimingClass::mbarrier_arrive;
  const auto address_and_u32 = [&](int address) {
    if (auto e = expect_address(inst, address); !e.empty()) return e;
    inst.space = space_of(inst, d, address);
    return address + 1 < inst.group_count ? expect_group(inst, address + 1, d, 32, false, false) : std::string{};
  };
  switch (inst.op) {
    case Op::mbarrier_init: inst.exec = &run_init; return address_and_u32(0);
    case Op::mbarrier_inval: inst.exec = &run_inval; return address_and_u32(0);
    case Op::mbarrier_expect_tx: inst.exec = &run_tx; return address_and_u32(0);
    case Op::mbarrier_complete_tx:
      inst.exec = &run_tx;
      inst.flags = 1;
      return address_and_u32(0);
    case Op::mbarrier_arrive:
    case Op::mbarrier_arrive_drop:
      inst.exec = &run_arrive;
      inst.flags = (inst.op == Op::mbarrier_arrive_drop ? kDrop : 0) | (d.has("expect_tx") ? kExpectTx : 0) | (d.has("noComplete") ? kNoComplete : 0);
      inst.aux = inst.operand(0).kind == Operand::Kind::address ? 0 : 1;
      if (inst.operand(0).kind == Operand::Kind::reg)
        if (auto e = expect_group(inst, 0, d, 64, false, true); !e.empty()) return e;
      return address_and_u32(static_cast<int>(inst.aux));
    case Op::mbarrier_test_wait:
    case Op::mbarrier_try_wait: return bind_wait(inst, d);
    case Op::mbarrier_pending_count:
      inst.exec = &run_pending_count;
      inst.timing = TimingClass::alu;
      if (auto e = expect_group(inst, 0, d, 32, false, true); !e.empty()) return e;
      return expect_group(inst, 1, d, 64, false, false);
    default: return "not an mbarrier instruction";
  }
}

constexpr std::string_view kSets =
    "  .sem = { .acquire, .release, .relaxed };  .scope = { .cta, .cluster };  .ss = { .shared, .shared::cta, .shared::cluster };";

std::string with_sets(std::string_view forms) { return std::string(forms) + std::string(kSets); }

}  // namespace

std::span<const InstDef> mbarrier_instructions() {
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
      "mbarrier.test_wait{.sem.scope}{.ss}.b64 waitComplete, [addr], state;\n\nmbarrier.test_wait.parity{.sem.scope}{.ss}.b64 waitComplete, [addr], "
      "phaseParity;");
  static const std::string try_wait = with_sets(
      "mbarrier.try_wait{.sem.scope}{.ss}.b64 waitComplete, [addr], state{, suspendTimeHint};\n\n"
      "mbarrier.try_wait.parity{.sem.scope}{.ss}.b64 waitComplete, [addr], phaseParity{, suspendTimeHint};");
  static const std::vector<InstDef> table = {
      {.base = "mbarrier",
       .syntax = init,
       .op = Op::mbarrier_init,
       .bind = &bind_mbarrier,
       .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.init",
       .doc = "start an mbarrier object"},
      {.base = "mbarrier",
       .syntax = inval,
       .op = Op::mbarrier_inval,
       .bind = &bind_mbarrier,
       .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.inval",
       .doc = "end an mbarrier object"},
      {.base = "mbarrier",
       .syntax = expect_tx,
       .op = Op::mbarrier_expect_tx,
       .bind = &bind_mbarrier,
       .since = {8, 0, 90},
       .manual = "Synchronization: mbarrier.expect_tx",
       .doc = "expect bytes in the current phase"},
      {.base = "mbarrier",
       .syntax = complete_tx,
       .op = Op::mbarrier_complete_tx,
       .bind = &bind_mbarrier,
       .since = {8, 0, 90},
       .manual = "Synchronization: mbarrier.complete_tx",
       .doc = "report bytes as done"},
      {.base = "mbarrier",
       .syntax = arrive,
       .op = Op::mbarrier_arrive,
       .bind = &bind_mbarrier,
       .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.arrive",
       .doc = "arrive; the state tells the phase"},
      {.base = "mbarrier",
       .syntax = drop,
       .op = Op::mbarrier_arrive_drop,
       .bind = &bind_mbarrier,
       .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.arrive_drop",
       .doc = "arrive and take no part in later phases"},
      {.base = "mbarrier",
       .syntax = test_wait,
       .op = Op::mbarrier_test_wait,
       .bind = &bind_mbarrier,
       .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.test_wait",
       .doc = "is the phase over"},
      {.base = "mbarrier",
       .syntax = try_wait,
       .op = Op::mbarrier_try_wait,
       .bind = &bind_mbarrier,
       .since = {7, 8, 90},
       .manual = "Synchronization: mbarrier.try_wait",
       .doc = "is the phase over; the hardware may suspend the thread"},
      {.base = "mbarrier",
       .syntax = "mbarrier.pending_count.b64 count, state;",
       .op = Op::mbarrier_pending_count,
       .bind = &bind_mbarrier,
       .since = {7, 0, 80},
       .manual = "Synchronization: mbarrier.pending_count",
       .doc = "arrivals missing in a state"},
  };
  return table;
}

}  // namespace tcsim::isa
