// Instructions of thread-block clusters and of Hopper's launches: mapa, getctarank, barrier.cluster, st.async, red.async,
// setmaxnreg, griddepcontrol (PTX ISA, "Cluster of Cooperative Thread Arrays" and the sections of each instruction).
#include <fmt/format.h>

#include "isa/exec/mbarrier_unit.h"
#include "isa/insn/access.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

// ---- mapa, getctarank ----

template <class T>
void run_mapa(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  T* d = ctx.reg<T>(inst.operand(0).slot);
  const T* a = ctx.src<T>(inst.operand(1));
  const uint32_t* rank = ctx.src<uint32_t>(inst.operand(2));
  each_lane(mask, [&](int l) {
    if (rank[l] >= ctx.cluster_size && ctx.fx.control == Control::next)
      ctx.fault("illegal-instruction", l, rank[l], fmt::format("mapa names CTA {} of a cluster of {}", rank[l], ctx.cluster_size));
  });
  if (ctx.fx.control != Control::next) return;
  constexpr T kRankBits = T{0xff} << SharedAddress::kRankShift;
  each_lane(mask, [&](int l) { d[l] = static_cast<T>((a[l] & ~kRankBits) | T{rank[l]} << SharedAddress::kRankShift); });
}

std::string bind_mapa(Inst& inst, const Decoded& d) {
  inst.op = Op::mapa;
  inst.type = d.type();
  inst.timing = TimingClass::alu;
  inst.exec = bits(inst.type) == 64 ? &run_mapa<uint64_t> : &run_mapa<uint32_t>;
  for (int g = 0; g < 2; ++g)
    if (auto e = expect_group(inst, g, d, bits(inst.type), false, g == 0); !e.empty()) return e;
  return expect_group(inst, 2, d, 32, false, false);
}

template <class T>
void run_getctarank(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t* d = ctx.reg<uint32_t>(inst.operand(0).slot);
  const Operand& op = inst.operand(1);
  const T* a = ctx.src<T>(op);
  const bool own = op.kind == Operand::Kind::constant && op.symbol >= 0;
  each_lane(mask, [&](int l) { d[l] = own ? ctx.cluster_rank : SharedAddress::of(static_cast<uint32_t>(a[l])).rank; });
}

std::string bind_getctarank(Inst& inst, const Decoded& d) {
  inst.op = Op::getctarank;
  inst.type = d.type();
  inst.timing = TimingClass::alu;
  inst.exec = bits(inst.type) == 64 ? &run_getctarank<uint64_t> : &run_getctarank<uint32_t>;
  if (auto e = expect_group(inst, 0, d, 32, false, true); !e.empty()) return e;
  return expect_group(inst, 1, d, bits(inst.type), false, false);
}

// ---- barrier.cluster ----

void run_cluster(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  ctx.fx.control = inst.op == Op::barrier_cluster_arrive ? Control::cluster_arrive : Control::cluster_wait;
  ctx.fx.lanes = mask;
}

std::string bind_cluster(Inst& inst, const Decoded& d) {
  inst.op = d.has("arrive") ? Op::barrier_cluster_arrive : Op::barrier_cluster_wait;
  // An arrival that releases waits for the thread's earlier writes like a fence (H200: 356 cycles against 81 when relaxed).
  inst.timing = inst.op == Op::barrier_cluster_arrive && !d.has("relaxed") ? TimingClass::membar_gl : TimingClass::bar_cluster;
  inst.exec = &run_cluster;
  return {};
}

// ---- st.async, red.async ----

// flags: ReduceOp of red.async; aux: bytes of an element.
void run_async_store(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const bool reduces = inst.op == Op::red_async;
  const auto values = inst.group(1);
  const auto each = static_cast<uint32_t>(inst.aux), total = each * static_cast<uint32_t>(values.size());
  std::array<SharedAddress, kLanes> mbarrier{};
  std::array<uint64_t, kLanes> mbarrier_address;
  lane_addresses(ctx, inst.operand(2), mask, mbarrier_address.data());
  each_lane(mask, [&](int l) {
    mbarrier[l] = SharedAddress::of(static_cast<uint32_t>(mbarrier_address[l]));
    if (mbarrier[l].rank >= ctx.cluster_size && ctx.fx.control == Control::next)
      ctx.fault("out-of-bounds", l, mbarrier_address[l],
                fmt::format("the mbarrier lies in CTA {} of a cluster of {}", mbarrier[l].rank, ctx.cluster_size));
  });
  if (ctx.fx.control != Control::next) return;
  for_spaces(ctx, inst.operand(0), Space::shared_cluster, mask, [&](Space space, uint32_t lanes, const uint64_t* address) {
    Located at;
    if (!locate(ctx, inst, space, address, total, total, lanes, AccessKind::store, at)) return;
    each_lane(lanes, [&](int l) {
      RemoteOp op{.kind = reduces ? RemoteOp::Kind::reduce : RemoteOp::Kind::store,
                  .reduce = static_cast<BulkCopy::ReduceOp>(inst.flags),
                  .type = inst.type,
                  .asynchronous = true,
                  .bytes_each = static_cast<uint8_t>(total)};
      op.target = {static_cast<uint32_t>(address[l]), ctx.fx.access.rank};
      op.mbarrier = mbarrier[l];
      op.bytes = total;
      auto* to = reinterpret_cast<uint8_t*>(op.value.data());
      for (const Operand& v : values) {
        if (each == 8) std::memcpy(to, ctx.src<uint64_t>(v) + l, 8);
        else std::memcpy(to, ctx.src<uint32_t>(v) + l, 4);
        to += each;
      }
      ctx.fx.remote.push_back(op);
    });
  });
  ctx.fx.issued |= Effects::kRemote;
}

std::string bind_async_store(Inst& inst, const Decoded& d) {
  inst.op = inst.def ? inst.def->op : Op::st_async;
  inst.type = d.type();
  inst.space = Space::shared_cluster;
  inst.timing = TimingClass::sts_remote;
  inst.exec = &run_async_store;
  inst.aux = static_cast<uint64_t>(bits(inst.type) / 8);
  inst.flags = static_cast<uint32_t>(reduce_op_named(d.value("op")));
  for (const int g : {0, 2})
    if (auto e = expect_address(inst, g); !e.empty()) return e;
  const std::string_view vec = d.value("vec");
  const size_t count = vec.empty() ? 1 : static_cast<size_t>(vec[1] - '0');
  if (inst.group(1).size() != count) return fmt::format("operand 2 has {} elements, expected {}", inst.group(1).size(), count);
  if (inst.aux * count > 16) return fmt::format(".{} of {} bytes is more than 16 bytes", vec, inst.aux);
  return expect_group(inst, 1, d, bits(inst.type), false, false);
}

// ---- setmaxnreg, griddepcontrol ----

void run_setmaxnreg(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  ctx.fx.control = Control::register_count;
  ctx.fx.lanes = mask;
  ctx.fx.count = inst.aux;
  ctx.fx.flag = inst.flags != 0;
}

std::string bind_setmaxnreg(Inst& inst, const Decoded& d) {
  inst.op = Op::setmaxnreg;
  inst.timing = TimingClass::setmaxnreg;
  inst.exec = &run_setmaxnreg;
  inst.flags = d.has("inc") ? 1 : 0;
  const Operand& n = inst.operand(0);
  // PTX ISA, "setmaxnreg": "imm-reg-count must be in the range 24 to 256 (both inclusive) and a multiple of 8".
  if (n.kind != Operand::Kind::constant || n.value < 24 || n.value > 256 || n.value % 8 != 0)
    return fmt::format("setmaxnreg with {} registers, expected a multiple of 8 from 24 to 256", n.value);
  inst.aux = static_cast<uint64_t>(n.value);
  return {};
}

void run_griddepcontrol(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  ctx.fx.control = Control::dependents;
  ctx.fx.lanes = mask;
  ctx.fx.flag = inst.flags != 0;
}

std::string bind_griddepcontrol(Inst& inst, const Decoded& d) {
  inst.op = Op::griddepcontrol;
  inst.timing = TimingClass::nop;
  inst.exec = &run_griddepcontrol;
  inst.flags = d.has("wait") ? 1 : 0;
  return {};
}

}  // namespace

std::span<const InstDef> cluster_instructions() {
  static const std::vector<InstDef> table = {
      {.base = "mapa",
       .syntax = "mapa{.space}.type d, a, b;  .space = { .shared::cluster };  .type = { .u32, .u64 };",
       .op = Op::mapa,
       .bind = &bind_mapa,
       .since = {7, 8, 90},
       .manual = "Data Movement: mapa",
       .doc = "address in another CTA of the cluster"},
      {.base = "getctarank",
       .syntax = "getctarank{.space}.type d, a;  .space = { .shared::cluster };  .type = { .u32, .u64 };",
       .op = Op::getctarank,
       .bind = &bind_getctarank,
       .since = {7, 8, 90},
       .manual = "Data Movement: getctarank",
       .doc = "rank of the CTA that holds a shared-memory address"},
      {.base = "barrier",
       .syntax = "barrier.cluster.arrive{.sem}{.aligned};\n\nbarrier.cluster.wait{.acquire}{.aligned};  .sem = { .release, .relaxed };",
       .op = Op::barrier_cluster_arrive,
       .bind = &bind_cluster,
       .since = {7, 8, 90},
       .manual = "Synchronization: barrier.cluster",
       .doc = "barrier of the cluster's threads, split in arrival and wait"},
      {.base = "st",
       .syntax = "st.async{.weak}{.ss}{.completion_mechanism}{.vec}.type [a], b, [mbar];  .ss = { .shared::cluster };"
                 "  .completion_mechanism = { .mbarrier::complete_tx::bytes };  .vec = { .v2, .v4 };"
                 "  .type = { .b32, .b64, .u32, .u64, .s32, .s64, .f32, .f64 };",
       .op = Op::st_async,
       .bind = &bind_async_store,
       .since = {8, 1, 90},
       .manual = "Data Movement: st.async",
       .doc = "asynchronous store to shared memory of the cluster; completes bytes on an mbarrier"},
      {.base = "red",
       .syntax = "red.async{.sem.scope}{.ss}.completion_mechanism.op.type [a], b, [mbar];  .sem = { .relaxed };  .scope = { .cluster };"
                 "  .ss = { .shared::cluster };  .completion_mechanism = { .mbarrier::complete_tx::bytes };"
                 "  .op = { .inc, .dec, .min, .max, .add, .and, .or, .xor };  .type = { .u32, .s32, .u64, .b32 };",
       .op = Op::red_async,
       .bind = &bind_async_store,
       .since = {8, 1, 90},
       .manual = "Data Movement: red.async",
       .doc = "asynchronous reduction in shared memory of the cluster"},
      {.base = "setmaxnreg",
       .syntax = "setmaxnreg.action.sync.aligned.u32 imm-reg-count;  .action = { .inc, .dec };",
       .op = Op::setmaxnreg,
       .bind = &bind_setmaxnreg,
       .since = {8, 0, 90},
       .manual = "Miscellaneous: setmaxnreg",
       .doc = "give registers back to the CTA's pool, or take some"},
      {.base = "griddepcontrol",
       .syntax = "griddepcontrol.action;  .action = { .launch_dependents, .wait };",
       .op = Op::griddepcontrol,
       .bind = &bind_griddepcontrol,
       .since = {7, 8, 90},
       .manual = "Synchronization: griddepcontrol",
       .doc = "programmatic dependent launch"},
  };
  return table;
}

}  // namespace tcsim::isa
