// tcgen05.alloc, dealloc, relinquish_alloc_permit, ld, st, wait, fence when they execute. Loads and stores move their data at once;
// the manual lets them be late, which TensorWatch judges from the waits and fences.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "isa/exec/tensor_watch.h"
#include "isa/insn/access.h"
#include "isa/insn/tcgen05_exec.h"

namespace tcsim::isa {
namespace {

constexpr const char* kMisuse = "tmem-misuse";

/// .sync.aligned: all 32 lanes execute it together. False: not yet, or a fault.
bool whole_warp(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!ctx.converged(kFullMask, mask)) return false;
  if (mask == kFullMask) return true;
  ctx.fault(kMisuse, std::countr_zero(~mask), 0,
            fmt::format("{} needs all 32 lanes of the warp, but {} of them execute it", inst.text.substr(0, inst.text.find_first_of(" \t")),
                        std::popcount(mask)));
  return false;
}

/// The value that all lanes must give.
bool uniform(ExecContext& ctx, const Operand& op, const char* what, uint32_t& value) {
  const uint32_t* lanes = ctx.src<uint32_t>(op);
  value = lanes[0];
  const auto differs = std::find_if(lanes, lanes + kLanes, [value](uint32_t v) { return v != value; });
  if (differs == lanes + kLanes) return true;
  ctx.fault(kMisuse, static_cast<int>(differs - lanes), 0,
            fmt::format("{} is {:#x} in lane {} and {:#x} in lane 0, expected the same in all lanes", what, *differs, differs - lanes, value));
  return false;
}

// ---- alloc, dealloc, relinquish ----

bool allocation_rules(ExecContext& ctx, uint32_t columns) {
  if (!tensor_columns_valid(columns)) {
    ctx.fault(kMisuse, 0, columns,
              fmt::format("tcgen05.alloc of {} columns, expected a power of 2 from {} to {}", columns, TensorMemory::kUnit, TensorMemory::kColumns));
    return false;
  }
  if (!ctx.tensor->relinquished(ctx.cta_key)) return true;
  ctx.fault(kMisuse, 0, columns, "tcgen05.alloc after this CTA executed tcgen05.relinquish_alloc_permit");
  return false;
}

/// Where alloc writes the address: the operand's low 32 bits, generic or not.
bool destination(ExecContext& ctx, const Operand& op, uint32_t& offset) {
  uint64_t lanes[kLanes];
  lane_addresses(ctx, op, 1, lanes);
  const SharedAddress at = SharedAddress::of(static_cast<uint32_t>(lanes[0]));
  offset = at.offset;
  if (op.slot >= 0 && at.rank != 0 && at.rank != ctx.cluster_rank) {
    ctx.fault("out-of-bounds", 0, lanes[0],
              fmt::format("tcgen05.alloc writes to CTA {} of the cluster, expected the own one ({})", at.rank, ctx.cluster_rank));
  } else if (offset % 4 != 0) {
    ctx.fault("misaligned", 0, offset, fmt::format("tcgen05.alloc writes to offset {} of shared memory, which is not a multiple of 4 B", offset));
  } else if (!ctx.shared->contains(offset, 4)) {
    ctx.fault("out-of-bounds", 0, offset,
              fmt::format("tcgen05.alloc writes to offset {} of shared memory, which has {} bytes", offset, ctx.shared->size()));
  }
  return ctx.fx.control == Control::next;
}

void write_address(ExecContext& ctx, uint32_t offset, uint32_t column) {
  const uint32_t bits = TensorAddress{0, column}.bits();
  std::memcpy(ctx.shared->data() + offset, &bits, 4);
  ctx.shared->mark_written(offset, 4);
}

}  // namespace

uint64_t tensor_pair_number(const ExecContext& ctx) { return reinterpret_cast<uintptr_t>(ctx.cluster_tensor) << 4 | ctx.cluster_rank / 2; }

bool has_tensor_memory(ExecContext& ctx) {
  if (ctx.tensor != nullptr) return true;
  ctx.fault("illegal-instruction", -1, 0, "tcgen05 on a machine without Tensor Memory");
  return false;
}

bool has_pair(ExecContext& ctx, uint8_t cta_group, int lane) {
  if (cta_group == 1 || ((ctx.cluster_rank ^ 1) < ctx.cluster_size && ctx.cluster_tensor != nullptr)) return true;
  ctx.fault(
      kMisuse, lane, 0,
      fmt::format("cta_group::2 in CTA {} of a cluster of {}: it has no peer CTA {}", ctx.cluster_rank, ctx.cluster_size, ctx.cluster_rank ^ 1));
  return false;
}

void run_tcgen05_alloc(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t columns = 0, offset = 0;
  if (!whole_warp(ctx, inst, mask) || !has_tensor_memory(ctx) || !has_pair(ctx, static_cast<uint8_t>(inst.flags), 0)) return;
  if (!uniform(ctx, inst.operand(1), "nCols", columns) || !allocation_rules(ctx, columns) || !destination(ctx, inst.operand(0), offset)) return;
  TensorAllocation wanted{.key = ctx.cta_key, .columns = columns, .inst = ctx.index_of(inst), .warp = ctx.warp_index};
  const uint32_t before = ctx.tensor->last_columns(ctx.cta_key);
  std::optional<uint32_t> column;
  if (inst.flags == 2) {
    std::string error;
    wanted.pair = tensor_pair_number(ctx);
    column = ctx.tensor->allocate_pair(wanted, *ctx.cluster_tensor[ctx.cluster_rank ^ 1], error);
    if (!error.empty()) return ctx.fault(kMisuse, 0, columns, std::move(error));
  } else {
    column = ctx.tensor->allocate(wanted);
  }
  if (!column) {
    ctx.fx.control = Control::tensor_alloc;
    ctx.fx.count = ctx.tensor->changes();
    return;
  }
  if (before != 0 && columns > before)
    ctx.find({.inst = wanted.inst,
              .warp = ctx.warp_index,
              .offset = HazardFinding::kNone,
              .text = fmt::format("allocates {} columns after an allocation of {}: the number must not increase", columns, before),
              .named = kMisuse});
  write_address(ctx, offset, *column);
}

void run_tcgen05_dealloc(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t address = 0, columns = 0;
  if (!whole_warp(ctx, inst, mask) || !has_tensor_memory(ctx) || !has_pair(ctx, static_cast<uint8_t>(inst.flags), 0)) return;
  if (!uniform(ctx, inst.operand(0), "taddr", address) || !uniform(ctx, inst.operand(1), "nCols", columns)) return;
  const TensorAddress at = TensorAddress::of(address);
  std::string error = at.lane != 0 ? fmt::format("lane {} of the address is not 0", at.lane) : ctx.tensor->free(ctx.cta_key, at.column, columns);
  if (!error.empty()) return ctx.fault(kMisuse, 0, address, fmt::format("tcgen05.dealloc of {:#x}: {}", address, error));
  if (ctx.tensor_watch) ctx.tensor_watch->forget(ctx.cluster_rank, at.column, columns);
}

void run_tcgen05_relinquish(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!whole_warp(ctx, inst, mask) || !has_tensor_memory(ctx)) return;
  ctx.tensor->relinquish(ctx.cta_key);
}

// ---- ld, st ----

TensorAccess::TensorAccess(const TensorFragment& f)
    : fragment(f),
      key(fmt::format("{}.x{}{}", kTensorShapeNames[static_cast<size_t>(f.shape)], f.repeats, f.packed ? ".pack" : "")),
      contiguous(f.shape == TensorShape::s32x32b && !f.packed) {
  TensorFragment relative = f;
  relative.half_split = 0;
  for (uint32_t reg = 0; reg < f.registers(); ++reg)
    for (uint32_t half = 0; half < f.per_register(); ++half)
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const TensorCell c = relative.cell(lane, reg, half);
        offsets.push_back(uint32_t{c.column} * TensorMemory::kLanes + c.lane);
      }
}

std::shared_ptr<const TensorAccess> TensorAccess::of(const TensorFragment& f) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const TensorAccess>> made;
  const std::lock_guard lock(mutex);
  auto& access = made[fmt::format("{} {} {} {}", static_cast<int>(f.shape), f.repeats, f.packed, f.half_split)];
  if (!access) access = std::make_shared<const TensorAccess>(f);
  return access;
}

uint32_t tensor_address(ExecContext& ctx, const Operand& op, int lane) {
  uint64_t lanes[kLanes];
  lane_addresses(ctx, op, 1u << lane, lanes);
  return static_cast<uint32_t>(lanes[lane]);
}

bool uniform_tensor_address(ExecContext& ctx, const Inst& inst, const Operand& op, TensorAddress& out) {
  uint64_t lanes[kLanes];
  lane_addresses(ctx, op, kFullMask, lanes);
  out = TensorAddress::of(static_cast<uint32_t>(lanes[0]));
  for (int l = 1; l < kLanes; ++l)
    if (lanes[l] != lanes[0]) {
      ctx.fault(kMisuse, l, lanes[l],
                fmt::format("the Tensor Memory address of {} is {:#x} in lane {} and {:#x} in lane 0, expected the same in all lanes", name(inst.op),
                            lanes[l], l, lanes[0]));
      return false;
    }
  return true;
}

namespace {

/// Warp w of a warpgroup reaches lanes 32 (w % 4) to 32 (w % 4) + 31; an access of 16 lanes is one half of them.
/// Kernels of CTA pairs that count the rows of both CTAs, 128 and up in the second one, are right on a B200: it looks at seven bits of
/// the lane. Reported, since the manual does not promise it.
bool check_lanes(ExecContext& ctx, const Inst& inst, const TensorFragment& f, TensorAddress& at) {
  const uint32_t first = ctx.warp_index % 4 * TensorMemory::kWarpLanes, lane = at.lane % TensorMemory::kLanes;
  if (lane == first || (f.lanes() == 16 && lane == first + 16)) {
    if (lane != at.lane)
      ctx.find({.inst = ctx.index_of(inst),
                .warp = ctx.warp_index,
                .offset = HazardFinding::kNone,
                .text = fmt::format("names lane {} of Tensor Memory, which has {}: taken as lane {}", at.lane, TensorMemory::kLanes, lane),
                .named = kMisuse});
    at.lane = lane;
    return true;
  }
  ctx.fault(
      kMisuse, 0, at.bits(),
      fmt::format(
          "address {:#x} names lane {} of Tensor Memory; warp {} (warp {} of its warpgroup) reaches lanes {} to {} only, and .{} starts at lane {}{}",
          at.bits(), at.lane, ctx.warp_index, ctx.warp_index % 4, first, first + 31, kTensorShapeNames[static_cast<size_t>(f.shape)], first,
          f.lanes() == 16 ? fmt::format(" or {}", first + 16) : ""));
  return false;
}

/// The columns of the warp's access, after all checks; false: a fault.
bool prepare_move(ExecContext& ctx, const Inst& inst, uint32_t mask, int address_group, TensorWatch::Move& move) {
  if (!whole_warp(ctx, inst, mask) || !has_tensor_memory(ctx)) return false;
  const TensorFragment& f = TensorAccess::of(inst).fragment;
  TensorAddress at;
  if (!uniform_tensor_address(ctx, inst, inst.operand(address_group), at) || !check_lanes(ctx, inst, f, at)) return false;
  move = {.lane = at.lane,
          .lanes = f.lanes(),
          .columns = f.columns(),
          .accesses = f.accesses(),
          .column = {at.column, (at.column + f.half_split) & 0xffffu}};
  for (uint32_t a = 0; a < move.accesses; ++a)
    if (std::string e = ctx.tensor->check_owned(ctx.cta_key, 0, move.column[a], move.columns); !e.empty()) {
      ctx.fault(kMisuse, 0, at.bits(), fmt::format("address {:#x}: {}", at.bits(), e));
      return false;
    }
  return true;
}

/// Words of the first and second 16 lanes of the warp.
struct Bases {
  uint32_t* low;
  uint32_t* high;
  Bases(ExecContext& ctx, const TensorWatch::Move& move)
      : low(ctx.tensor->column(move.column[0]) + move.lane), high(ctx.tensor->column(move.column[move.accesses - 1]) + move.lane) {}
  uint32_t& at(const uint32_t* offsets, int lane) const { return (lane < 16 ? low : high)[offsets[lane]]; }
};

}  // namespace

void run_tcgen05_ld(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  TensorWatch::Move move;
  if (!prepare_move(ctx, inst, mask, 1, move)) return;
  if (ctx.tensor_watch) ctx.tensor_watch->load(ctx, ctx.index_of(inst), move);
  if (ctx.addresses_only) return;
  const TensorAccess& access = TensorAccess::of(inst);
  const Bases bases(ctx, move);
  const uint32_t* offsets = access.offsets.data();
  for (const Operand& op : inst.group(static_cast<int>(inst.aux))) {
    uint32_t* r = ctx.reg<uint32_t>(op.slot);
    if (access.contiguous) {
      std::memcpy(r, bases.low + *offsets, sizeof(uint32_t) * kLanes);
    } else if (access.fragment.packed) {
      for (int l = 0; l < kLanes; ++l) r[l] = (bases.at(offsets, l) & 0xffffu) | bases.at(offsets + kLanes, l) << 16;
    } else {
      for (int l = 0; l < kLanes; ++l) r[l] = bases.at(offsets, l);
    }
    offsets += access.fragment.per_register() * kLanes;
  }
}

void run_tcgen05_st(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  TensorWatch::Move move;
  if (!prepare_move(ctx, inst, mask, 0, move)) return;
  if (ctx.tensor_watch) ctx.tensor_watch->store(ctx, ctx.index_of(inst), move);
  for (uint32_t a = 0; a < move.accesses; ++a) ctx.tensor->mark_written(move.lane, move.lanes, move.column[a], move.columns);
  if (ctx.addresses_only) return;
  const TensorAccess& access = TensorAccess::of(inst);
  const Bases bases(ctx, move);
  const uint32_t* offsets = access.offsets.data();
  for (const Operand& op : inst.group(static_cast<int>(inst.aux))) {
    const uint32_t* r = ctx.src<uint32_t>(op);
    if (access.contiguous) {
      std::memcpy(bases.low + *offsets, r, sizeof(uint32_t) * kLanes);
    } else if (access.fragment.packed) {  // the manual does not say what the upper halves of the columns become
      for (int l = 0; l < kLanes; ++l) bases.at(offsets, l) = r[l] & 0xffffu, bases.at(offsets + kLanes, l) = r[l] >> 16;
    } else {
      for (int l = 0; l < kLanes; ++l) bases.at(offsets, l) = r[l];
    }
    offsets += access.fragment.per_register() * kLanes;
  }
}

// ---- wait, fence ----

void run_tcgen05_wait(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!whole_warp(ctx, inst, mask)) return;
  if (ctx.tensor_watch) ctx.tensor_watch->waited(ctx, inst.flags != 0);
  ctx.fx.control = Control::tensor_wait;
  ctx.fx.lanes = mask;
  ctx.fx.flag = inst.flags != 0;
}

void run_tcgen05_fence(ExecContext& ctx, const Inst& inst, uint32_t) {
  if (ctx.tensor_watch) ctx.tensor_watch->fence(ctx, inst.flags != 0);
}

}  // namespace tcsim::isa
