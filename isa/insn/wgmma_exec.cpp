// wgmma.mma_async when it is issued (checks of descriptors and bounds) and when it completes (isa/matrix/wgmma_plan.h).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "isa/exec/shared_watch.h"
#include "isa/insn/shared_operand.h"
#include "isa/insn/wgmma.h"

namespace tcsim::isa {
namespace {

using Ops = WgmmaOperands;

const WgmmaInst& plan_of(const Inst& inst) { return *static_cast<const WgmmaInst*>(static_cast<const WgmmaOps*>(inst.plan)); }

SharedOperand operand_a(const WgmmaPlan& plan, const WgmmaIssue& issue) {
  return {issue.desc_a, decode_wgmma_descriptor(issue.desc_a), plan.a_slice(issue.warp_in_group), plan.a_row_bytes(), 64 * plan.a_row_bytes(), 'A'};
}
SharedOperand operand_b(const WgmmaPlan& plan, const WgmmaIssue& issue) {
  return {issue.desc_b,
          decode_wgmma_descriptor(issue.desc_b),
          plan.b_slice(),
          plan.b_row_bytes(),
          static_cast<uint32_t>(plan.desc().shape.n) * plan.b_row_bytes(),
          'B'};
}

std::string hint(const SharedOperand& o) {
  const auto notes = wgmma_descriptor_notes(o.bits, o.slice.major, o.matrix_bytes);
  return notes.empty() ? "" : "; " + notes.front();
}

bool check_bounds(ExecContext& ctx, const SharedOperand& o) {
  uint32_t lowest = 0;
  const std::string outside = outside_shared(o, "wgmma", ctx.shared->size(), lowest);
  if (outside.empty()) return true;
  ctx.fault("out-of-bounds", 0, lowest, outside + hint(o));
  return false;
}

/// A start between the pattern's beginnings with base offset 0: the chip XORs bits of the address all the same, as TMA does when it
/// writes the tile (validation/data/swizzle_start: an H200, bit for bit), so that published kernels whose dynamic shared memory is aligned to
/// 128 bytes only are right. Reported, not refused.
bool by_address_bits(const MatrixDescriptor& d, const DescriptorProblem& p) { return d.base_offset == 0 && std::string_view(p.kind) == "misaligned"; }

bool check_operand(ExecContext& ctx, const Inst& inst, const SharedOperand& o) {
  const MatrixDescriptor d = o.descriptor;
  if (const DescriptorProblem p = check_descriptor(d, o.slice.major, o.slice_bytes); p.kind) {
    const std::string text = fmt::format("matrix descriptor {:#018x} of operand {}: {}{}", o.bits, o.name, p.text, hint(o));
    if (!by_address_bits(d, p)) {
      ctx.fault(p.kind, 0, d.start, text);
      return false;
    }
    ctx.find({kSwizzleMismatch, ctx.index_of(inst), ctx.warp_index, HazardFinding::kNone, 0, d.start,
              text + "; the swizzle then follows the bits of the address, as TMA's does"});
  }
  return check_bounds(ctx, o);
}

/// A descriptor, which must be the same in all lanes ("all threads in the warpgroup must have the same value").
bool uniform(ExecContext& ctx, const Operand& op, char name, uint64_t& value) {
  const uint64_t* lanes = ctx.src<uint64_t>(op);
  value = lanes[0];
  for (int l = 1; l < kLanes; ++l)
    if (lanes[l] != value) {
      ctx.fault("illegal-instruction", l, 0,
                fmt::format("matrix descriptor of operand {} is {:#x} in lane {} and {:#x} in lane 0, expected the same in "
                            "all lanes",
                            name, lanes[l], l, value));
      return false;
    }
  return true;
}

void reads_of(const WgmmaIssue& issue, std::vector<WgmmaRead>& reads) {
  const WgmmaPlan& plan = plan_of(*issue.inst).plan;
  if (!plan.desc().a_in_registers) add_reads(operand_a(plan, issue), 0, reads);
  add_reads(operand_b(plan, issue), 1, reads);
}

uint32_t shared_bytes_of(const WgmmaIssue& issue) {
  const WgmmaPlan& plan = plan_of(*issue.inst).plan;
  return (plan.desc().a_in_registers ? 0 : operand_a(plan, issue).matrix_bytes) + operand_b(plan, issue).matrix_bytes;
}

WgmmaExtent extent_of(const SharedOperand& o) {
  const MatrixDescriptor d = o.descriptor;
  const MatrixAddress at(d, o.slice.major);
  const uint32_t first = at.piece(o.slice.first_line, o.slice.first_piece);
  return {d.swizzle_bytes ? first & ~127u : first, at.end_bound(o.slice.first_line + o.slice.lines, o.slice.first_piece + o.slice.pieces),
          d.swizzle_bytes, d.base_offset};
}

WgmmaExtents extents_of(const WgmmaIssue& issue) {
  const WgmmaPlan& plan = plan_of(*issue.inst).plan;
  return {plan.desc().a_in_registers ? WgmmaExtent{} : extent_of(operand_a(plan, issue)), extent_of(operand_b(plan, issue))};
}

/// Bits 4 to 6 of a byte address are XORed with bits 7 to 9, as many as the pattern's rows have (PTX ISA, "Swizzling modes").
uint32_t swizzle_key(uint32_t address, uint32_t row_bytes, uint32_t base_offset) {
  return row_bytes ? (((address >> 7) - base_offset) & (row_bytes / 16 - 1)) << 4 : 0;
}

std::string swizzle_difference_of(const WgmmaIssue& issue, int operand, uint32_t written_bytes) {
  const WgmmaPlan& plan = plan_of(*issue.inst).plan;
  const SharedOperand o = operand == 0 ? operand_a(plan, issue) : operand_b(plan, issue);
  const MatrixDescriptor d = o.descriptor;
  const MatrixAddress at(d, o.slice.major);
  uint32_t differ = 0, first_line = 0, first_piece = 0;
  for (uint32_t line = 0; line < o.slice.lines; ++line)
    for (uint32_t p = 0; p < o.slice.pieces; ++p) {
      const uint32_t place = at.piece(o.slice.first_line + line, o.slice.first_piece + p);
      const uint32_t linear = place ^ swizzle_key(place, d.swizzle_bytes, d.base_offset);
      if (place == (linear ^ swizzle_key(linear, written_bytes, 0))) continue;
      if (differ++ == 0) first_line = o.slice.first_line + line, first_piece = o.slice.first_piece + p;
    }
  const uint32_t all = o.slice.lines * o.slice.pieces;
  return fmt::format("first differing element {} {}, byte {}; {} of {} pieces of 16 bytes ({:.1f} %)", o.slice.major == Major::k ? "row" : "k",
                     first_line, first_piece * kPieceBytes, differ, all, 100.0 * differ / all);
}

void complete(ExecContext& ctx, const WgmmaIssue& issue, const WindowMemory& shared) {
  const StaleView stale(issue.stale.get(), shared);
  const Inst& inst = *issue.inst;
  const WgmmaPlan& plan = plan_of(inst).plan;
  std::array<uint32_t*, 128> d;
  std::array<const uint32_t*, WgmmaPlan::kARegisters> a{};
  size_t i = 0;
  for (const Operand& op : inst.group(Ops::kD)) d[i++] = ctx.reg<uint32_t>(op.slot);
  i = 0;
  if (plan.desc().a_in_registers)
    for (const Operand& op : inst.group(Ops::kA)) a[i++] = ctx.src<uint32_t>(op);
  plan.run({.d = d.data(),
            .a = a.data(),
            .metadata = plan.desc().sparse ? ctx.src<uint32_t>(inst.operand(Ops::kMetadata)) : nullptr,
            .desc_a = issue.desc_a,
            .desc_b = issue.desc_b,
            .scale_d = issue.scale_d,
            .warp = issue.warp_in_group,
            .memory = shared.data()});
}

std::string key_of(const WgmmaDesc& d) {
  return fmt::format("m{}n{}k{}.{}.{}.{}{}", d.shape.m, d.shape.n, d.shape.k, name(d.d), name(d.a), name(d.b), d.sparse ? ".sp" : "");
}

}  // namespace

WgmmaInst::WgmmaInst(const WgmmaDesc& desc)
    : WgmmaOps{&isa::complete, &reads_of, &shared_bytes_of, &extents_of, &swizzle_difference_of}, plan(desc), key(key_of(desc)) {}

std::shared_ptr<const WgmmaInst> WgmmaInst::of(const WgmmaDesc& d) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const WgmmaInst>> made;
  const std::lock_guard lock(mutex);
  auto& inst = made[fmt::format("{} {} {} {} {} {} {}", key_of(d), d.a_major == Major::mn, d.b_major == Major::mn, d.a_in_registers, d.satfinite,
                                d.negate, d.selector)];
  if (!inst) inst = std::make_shared<const WgmmaInst>(d);
  return inst;
}

void run_wgmma(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!ctx.converged(kFullMask, mask)) return;
  if (mask != kFullMask)
    return ctx.fault("illegal-instruction", std::countr_zero(~mask), 0, "wgmma.mma_async in a warp of which not all 32 lanes are running");
  const WgmmaPlan& plan = plan_of(inst).plan;
  WgmmaIssue& issue = ctx.fx.wgmma;
  issue.inst = &inst;
  issue.index = ctx.index_of(inst);
  issue.warp_in_group = static_cast<uint8_t>(ctx.warp_index % WgmmaPlan::kWarps);
  issue.desc_a = 0;
  if (!plan.desc().a_in_registers && !uniform(ctx, inst.operand(Ops::kA), 'A', issue.desc_a)) return;
  if (!uniform(ctx, inst.operand(Ops::kB), 'B', issue.desc_b)) return;
  const uint32_t scale = ctx.pred(inst.operand(Ops::scale_d(plan.desc().sparse)));
  if (scale != 0 && scale != kFullMask)
    return ctx.fault("illegal-instruction", std::countr_zero(~scale), 0, "scale-d of wgmma.mma_async differs between the lanes of a warp");
  issue.scale_d = scale != 0;
  if (!plan.desc().a_in_registers && !check_operand(ctx, inst, operand_a(plan, issue))) return;
  if (!check_operand(ctx, inst, operand_b(plan, issue))) return;
  if (SharedWatch* watch = ctx.shared->watch()) watch->wgmma(ctx, issue);
  ctx.fx.issued |= Effects::kWgmma;
}

}  // namespace tcsim::isa
