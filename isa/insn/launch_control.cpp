// clusterlaunchcontrol (PTX ISA, "Parallel Synchronization and Communication Instructions: clusterlaunchcontrol.try_cancel" and
// "query_cancel"): asks for the work of a cluster that has not started. Whoever runs the CTA gives the answer.
#include <fmt/format.h>

#include <bit>

#include "isa/exec/launch_response.h"
#include "isa/insn/access.h"
#include "isa/insn/operands.h"
#include "isa/insn/tcgen05.h"

namespace tcsim::isa {
namespace {

/// An address in the own CTA's shared memory, generic or not.
bool own_address(ExecContext& ctx, const Operand& op, int lane, uint32_t bytes, const char* what, SharedAddress& out) {
  uint64_t lanes[kLanes];
  lane_addresses(ctx, op, 1u << lane, lanes);
  out = SharedAddress::of(static_cast<uint32_t>(lanes[lane]));
  if (op.slot >= 0 && out.rank != 0 && out.rank != ctx.cluster_rank)
    ctx.fault("out-of-bounds", lane, lanes[lane],
              fmt::format("{} of clusterlaunchcontrol.try_cancel lies in CTA {} of the cluster, expected the own one ({})", what, out.rank,
                          ctx.cluster_rank));
  else if (out.offset % bytes != 0)
    ctx.fault("misaligned", lane, out.offset,
              fmt::format("{} of clusterlaunchcontrol.try_cancel at offset {} of shared memory is not a multiple of {} B", what, out.offset, bytes));
  else if (!ctx.shared->contains(out.offset, bytes))
    ctx.fault(
        "out-of-bounds", lane, out.offset,
        fmt::format("{} of clusterlaunchcontrol.try_cancel at offset {} of shared memory, which has {} bytes", what, out.offset, ctx.shared->size()));
  out.rank = static_cast<uint8_t>(ctx.cluster_rank);
  return ctx.fx.control == Control::next;
}

void run_try_cancel(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const int lane = std::countr_zero(mask);
  if (std::popcount(mask) != 1)
    return ctx.fault("illegal-instruction", lane, 0,
                     fmt::format("{} lanes of a warp execute clusterlaunchcontrol.try_cancel together, expected one: each would take a cluster",
                                 std::popcount(mask)));
  LaunchCancel cancel;
  if (!own_address(ctx, inst.operand(0), lane, LaunchResponse::kBytes, "the response", cancel.response) ||
      !own_address(ctx, inst.operand(1), lane, 8, "the mbarrier", cancel.mbarrier))
    return;
  cancel.multicast = inst.flags != 0;
  ctx.fx.cancel = cancel;
  ctx.fx.lanes = mask;
  ctx.fx.control = Control::launch_cancel;
}

LaunchResponse response_of(ExecContext& ctx, const Operand& op, int lane) {
  LaunchResponse response;
  std::memcpy(&response, ctx.src<uint8_t>(op) + LaunchResponse::kBytes * static_cast<size_t>(lane), LaunchResponse::kBytes);
  return response;
}

void run_is_canceled(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t canceled = 0;
  each_lane(mask, [&](int l) { canceled |= (response_of(ctx, inst.operand(1), l).canceled() ? 1u : 0u) << l; });
  ctx.set_pred(inst.operand(0).slot, canceled, mask);
}

/// aux: the first coordinate.
void run_first_ctaid(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t values[4][kLanes] = {};
  each_lane(mask, [&](int l) {
    const LaunchResponse response = response_of(ctx, inst.operand(1), l);
    for (size_t i = 0; i < 3; ++i) values[i][l] = response.words[i];
  });
  size_t i = inst.aux;
  for (const Operand& op : inst.group(0)) {
    if (op.kind == Operand::Kind::reg) each_lane(mask, [&, d = ctx.reg<uint32_t>(op.slot)](int l) { d[l] = values[i][l]; });
    ++i;
  }
}

std::string bind_try_cancel(Inst& inst, const Decoded& d) {
  inst.op = Op::clusterlaunchcontrol_try_cancel;
  inst.timing = TimingClass::launch_cancel;
  inst.space = Space::shared;
  inst.flags = d.has("multicast::cluster::all");
  inst.exec = &run_try_cancel;
  if (inst.flags && d.module && !d.module->arch_specific)
    return fmt::format("target {} does not have .multicast::cluster::all, expected one with architecture-specific features (sm_100a)",
                       d.module->target);
  for (const int g : {0, 1})
    if (auto e = expect_address(inst, g); !e.empty()) return e;
  return {};
}

std::string bind_query(Inst& inst, const Decoded& d) {
  inst.op = Op::clusterlaunchcontrol_query_cancel;
  inst.timing = TimingClass::alu;
  if (auto e = expect_group(inst, 1, d, 128, false, false); !e.empty()) return e;
  if (d.has("is_canceled")) {
    inst.exec = &run_is_canceled;
    return expect_pred(inst, 0);
  }
  inst.exec = &run_first_ctaid;
  const std::string_view which = d.value("get");
  inst.aux = which.empty() ? 0 : static_cast<uint64_t>(which.back() - 'x');
  const size_t expected = which.empty() ? 4 : 1;
  if (inst.group(0).size() != expected) return fmt::format("operand 1 has {} registers, expected {}", inst.group(0).size(), expected);
  return expect_group(inst, 0, d, 32, false, true);
}

}  // namespace

std::span<const InstDef> launch_control_instructions() {
  static const std::vector<InstDef> table = {
      {.base = "clusterlaunchcontrol",
       .syntax = "clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128 [addr], [mbar];",
       .op = Op::clusterlaunchcontrol_try_cancel,
       .bind = &bind_try_cancel,
       .since = {8, 6, 100},
       .manual = "Synchronization: clusterlaunchcontrol.try_cancel",
       .doc = "take the work of a cluster that has not started"},
      {.base = "clusterlaunchcontrol",
       .syntax = "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 pred, try_cancel_response;\n\n"
                 "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 xyzw, try_cancel_response;\n\n"
                 "clusterlaunchcontrol.query_cancel.get.b32.b128 reg, try_cancel_response;  .get = { .get_first_ctaid::x, .get_first_ctaid::y, "
                 ".get_first_ctaid::z };",
       .op = Op::clusterlaunchcontrol_query_cancel,
       .bind = &bind_query,
       .since = {8, 6, 100},
       .manual = "Synchronization: clusterlaunchcontrol.query_cancel",
       .doc = "was a cluster taken, and which"},
  };
  return table;
}

}  // namespace tcsim::isa
