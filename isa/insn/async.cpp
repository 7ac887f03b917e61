// cp.async (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy"). Executing one checks and records the
// copy; whoever runs the warp decides when its bytes land (AsyncGroups::complete).
#include <fmt/format.h>

#include <algorithm>

#include "isa/exec/mbarrier_unit.h"
#include "isa/insn/access.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

// flags: how many bytes of the source are read.
constexpr uint32_t kSourceSize = 1, kIgnoreSource = 2, kModes = 3, kBypassL1 = 4;

/// Bytes to read per lane; the rest of the destination becomes zeros.
bool source_bytes(ExecContext& ctx, const Inst& inst, uint32_t mask, uint32_t size, std::array<uint8_t, kLanes>& bytes) {
  switch (inst.flags & kModes) {
    case kSourceSize: {
      const uint32_t* n = ctx.src<uint32_t>(inst.operand(3));
      each_lane(mask, [&](int l) {
        // "src-size larger than cp-size is undefined": a fault says more than stray bytes would.
        if (n[l] > size && ctx.fx.control == Control::next)
          ctx.fault("illegal-instruction", l, n[l], fmt::format("cp.async of {} bytes with a source size of {}", size, n[l]));
        bytes[static_cast<size_t>(l)] = static_cast<uint8_t>(std::min(n[l], size));
      });
      return ctx.fx.control == Control::next;
    }
    case kIgnoreSource: {
      const Operand& op = inst.operand(3);
      const uint32_t ignore = op.kind == Operand::Kind::pred ? ctx.pred(op) : op.value ? kFullMask : 0;
      each_lane(mask, [&](int l) { bytes[static_cast<size_t>(l)] = static_cast<uint8_t>((ignore >> l & 1) ? 0 : size); });
      return true;
    }
    default: bytes.fill(static_cast<uint8_t>(size)); return true;
  }
}

void run_cp_async(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  AsyncCopy& copy = ctx.fx.copy;
  const auto size = static_cast<uint32_t>(inst.aux);
  std::array<uint64_t, kLanes> address;
  Located at;
  lane_addresses(ctx, inst.operand(0), mask, address.data());
  if (inst.operand(0).bit_width == 64) each_lane(mask, [&](int l) { address[l] &= (1ull << 40) - 1; });
  if (!locate(ctx, inst, Space::shared, address.data(), size, size, mask, AccessKind::cp_async, at)) return;
  each_lane(mask, [&](int l) { copy.dst[static_cast<size_t>(l)] = static_cast<uint32_t>(ctx.fx.access.address[l]); });
  if (!source_bytes(ctx, inst, mask, size, copy.src_bytes)) return;
  lane_addresses(ctx, inst.operand(1), mask, copy.src.data());
  uint32_t reading = 0;
  each_lane(mask, [&](int l) { reading |= copy.src_bytes[static_cast<size_t>(l)] ? 1u << l : 0u; });
  ctx.fx.access.mask = 0;
  if (reading) {
    if (!locate(ctx, inst, Space::global, copy.src.data(), 1, size, reading, AccessKind::cp_async, at)) return;
    each_lane(reading, [&](int l) {
      const uint32_t n = copy.src_bytes[static_cast<size_t>(l)];
      if (!ctx.global->map(copy.src[static_cast<size_t>(l)], n) && ctx.fx.control == Control::next)
        ctx.fault("out-of-bounds", l, copy.src[static_cast<size_t>(l)],
                  fmt::format("{} bytes at address {:#x}: {}", n, copy.src[static_cast<size_t>(l)],
                              ctx.global->describe(copy.src[static_cast<size_t>(l)], n)));
    });
    if (ctx.fx.control != Control::next) return;
  }
  ctx.fx.access.space = Space::global;
  ctx.fx.access.bytes = static_cast<uint8_t>(size);
  ctx.fx.access.cache_global = (inst.flags & kBypassL1) != 0;
  copy.mask = mask;
  copy.bytes = static_cast<uint8_t>(size);
  ctx.fx.has_copy = true;
  if (ctx.addresses_only) return;
  bool clean = true;
  each_lane(mask, [&](int l) { clean &= ctx.shared->fly(copy.dst[static_cast<size_t>(l)], size); });
  if (!clean) ctx.hazard(kOverwriteInFlight, std::countr_zero(mask), copy.dst[static_cast<size_t>(std::countr_zero(mask))]);
}

std::string bind_cp_async(Inst& inst, const Decoded& d) {
  inst.op = Op::cp_async;
  inst.type = Type::b8;
  inst.space = Space::shared;
  inst.timing = TimingClass::ldgsts;
  inst.exec = &run_cp_async;
  for (int g = 0; g < 2; ++g)
    if (auto e = expect_address(inst, g); !e.empty()) return e;
  const bool cg = d.has("cg");
  const Operand& size = inst.operand(2);
  const bool ok = size.kind == Operand::Kind::constant && (size.value == 16 || (!cg && (size.value == 4 || size.value == 8)));
  if (!ok) return fmt::format("cp-size is {}, expected {}", size.value, cg ? "16 (.cg)" : "4, 8 or 16");
  inst.aux = static_cast<uint64_t>(size.value);
  inst.flags = cg ? kBypassL1 : 0;
  const int policy = d.has("L2::cache_hint") ? 1 : 0;
  if (inst.group_count - policy < 4) return {};
  const Operand& extra = inst.operand(3);
  if (extra.kind == Operand::Kind::pred) {
    inst.flags |= kIgnoreSource;
    return {};
  }
  inst.flags |= kSourceSize;
  return expect_group(inst, 3, d, 32, false, false);
}

void run_commit(ExecContext& ctx, const Inst&, uint32_t mask) {
  ctx.fx.control = Control::async_commit;
  ctx.fx.lanes = mask;
}

std::string bind_commit(Inst& inst, const Decoded&) {
  inst.op = Op::cp_async_commit;
  inst.timing = TimingClass::nop;
  inst.exec = &run_commit;
  return {};
}

/// aux: groups that may stay pending; flags: wait_all.
void run_wait(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  ctx.fx.control = Control::async_wait;
  ctx.fx.lanes = mask;
  ctx.fx.count = inst.aux;
  ctx.fx.flag = inst.flags != 0;
}

std::string bind_wait(Inst& inst, const Decoded& d) {
  inst.op = Op::cp_async_wait;
  inst.timing = TimingClass::depbar;
  inst.exec = &run_wait;
  inst.flags = d.has("wait_all") ? 1 : 0;
  if (inst.flags) return {};
  const Operand& n = inst.operand(0);
  if (n.kind != Operand::Kind::constant || n.value < 0) return "operand 1 is not a constant, expected the number of groups that may stay pending";
  inst.aux = static_cast<uint64_t>(n.value);
  return {};
}

void run_mbarrier_arrive(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  std::array<uint64_t, kLanes> address;
  lane_addresses(ctx, inst.operand(0), mask, address.data());
  each_lane(mask, [&](int l) { address[l] &= (1ull << 40) - 1; });
  Located at;
  if (!locate(ctx, inst, Space::shared, address.data(), 8, 8, mask, AccessKind::atomic, at)) return;
  address = ctx.fx.access.address;
  const int first = std::countr_zero(mask);
  each_lane(mask, [&](int l) {
    if (address[l] != address[first] && ctx.fx.control == Control::next)
      ctx.fault("illegal-instruction", l, address[l], "cp.async.mbarrier.arrive with different barriers in the lanes of a warp is not supported");
  });
  if (ctx.fx.control != Control::next) return;
  const bool noinc = inst.flags != 0;
  const auto offset = static_cast<uint32_t>(address[first]);
  if (!noinc) {  // "the pending count is incremented by one prior to the arrive-on": once for each thread
    if (auto e = ctx.mbarriers->add_pending(offset, static_cast<uint32_t>(std::popcount(mask))))
      return ctx.fault(e.kind, first, offset, std::move(e.text));
  }
  ctx.fx.control = Control::async_arrive;
  ctx.fx.lanes = mask;
  ctx.fx.count = offset;
  ctx.fx.flag = noinc;
}

std::string bind_mbarrier_arrive(Inst& inst, const Decoded& d) {
  inst.op = Op::cp_async_mbarrier_arrive;
  inst.type = Type::b64;
  inst.space = Space::shared;
  inst.timing = TimingClass::atoms;
  inst.exec = &run_mbarrier_arrive;
  inst.flags = d.has("noinc") ? 1 : 0;
  return expect_address(inst, 0);
}

}  // namespace

std::span<const InstDef> async_instructions() {
  static const std::vector<InstDef> table = {
      {.base = "cp",
       .syntax = "cp.async.ca.shared{::cta}.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], cp-size{, src-size}{, cache-policy};\n\n"
                 "cp.async.cg.shared{::cta}.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], cp-size{, src-size}{, cache-policy};"
                 "  .level::cache_hint = { .L2::cache_hint };  .level::prefetch_size = { .L2::64B, .L2::128B, .L2::256B };",
       .op = Op::cp_async,
       .bind = &bind_cp_async,
       .since = {7, 0, 80},
       .manual = "Asynchronous copy: cp.async",
       .doc = "copy 4, 8 or 16 bytes a lane from global to shared memory; src-size (or an ignore-src predicate) leaves zeros"},
      {.base = "cp",
       .syntax = "cp.async.commit_group;",
       .op = Op::cp_async_commit,
       .bind = &bind_commit,
       .since = {7, 0, 80},
       .manual = "Asynchronous copy: cp.async.commit_group",
       .doc = "close the group of copies issued so far"},
      {.base = "cp",
       .syntax = "cp.async.wait_group N;\n\ncp.async.wait_all;",
       .op = Op::cp_async_wait,
       .bind = &bind_wait,
       .since = {7, 0, 80},
       .manual = "Asynchronous copy: cp.async.wait_group",
       .doc = "wait until at most N of the newest groups are pending"},
      {.base = "cp",
       .syntax = "cp.async.mbarrier.arrive{.noinc}{.shared{::cta}}.b64 [addr];",
       .op = Op::cp_async_mbarrier_arrive,
       .bind = &bind_mbarrier_arrive,
       .since = {7, 0, 80},
       .manual = "Synchronization: cp.async.mbarrier.arrive",
       .doc = "arrive on an mbarrier when the copies issued so far are complete"},
  };
  return table;
}

}  // namespace tcsim::isa
