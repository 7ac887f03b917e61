// tcgen05.cp, shift and commit, and what they share with mma when they are issued.
#include <fmt/format.h>

#include <bit>
#include <map>
#include <mutex>

#include "isa/exec/mbarrier_unit.h"
#include "isa/exec/shared_watch.h"
#include "isa/exec/tensor_watch.h"
#include "isa/insn/access.h"
#include "isa/insn/tcgen05_exec.h"
#include "isa/layout/tcgen05_descriptor.h"

namespace tcsim::isa {
namespace {

constexpr const char* kMisuse = "tmem-misuse";
constexpr uint32_t kShiftWords = 8;  // tcgen05.shift: elements of 32 bytes
constexpr uint32_t kPiece = 16;

/// The memories of CTA `cta` (0 or 1) of the pair, or of the issuing CTA.
uint32_t rank_of(const Tcgen05Op& op, uint8_t cta) { return op.cta_group == 2 ? (op.rank & ~1u) + cta : op.rank; }

bool check_range(ExecContext& ctx, const Tcgen05Op& op, const TensorRange& r, int lane) {
  const uint32_t rank = rank_of(op, r.cta);
  const TensorMemory& memory = rank == ctx.cluster_rank ? *ctx.tensor : *ctx.cluster_tensor[rank];
  const uint32_t address = TensorAddress{r.lane, r.column}.bits();
  std::string error;
  if (uint32_t{r.lane} + r.lanes > TensorMemory::kLanes)
    error = fmt::format("lanes {} to {} of Tensor Memory, which has {}", r.lane, r.lane + r.lanes - 1, TensorMemory::kLanes);
  else if (rank == ctx.cluster_rank) error = memory.check_owned(ctx.cta_key, 0, r.column, r.columns);
  else error = memory.check_owned(0, tensor_pair_number(ctx), r.column, r.columns);
  if (error.empty()) return true;
  ctx.fault(kMisuse, lane, address,
            fmt::format("{} at {:#x}{}: {}", name(op.inst->op), address, rank == ctx.cluster_rank ? "" : " in the peer CTA", error));
  return false;
}

/// Where lanes give one operation each, in lane order.
template <class F>
void each_operation(ExecContext& ctx, const Inst& inst, uint32_t mask, Tcgen05Op::Kind kind, F&& f) {
  each_lane(mask, [&](int l) {
    if (ctx.fx.control != Control::next) return;
    Tcgen05Op op;
    op.kind = kind;
    op.cta_group = static_cast<uint8_t>(inst.flags);
    if (f(op, l)) issue_tcgen05(ctx, inst, std::move(op), l);
  });
}

}  // namespace

void issue_tcgen05(ExecContext& ctx, const Inst& inst, Tcgen05Op op, int lane) {
  op.inst = &inst;
  op.index = ctx.index_of(inst);
  op.rank = static_cast<uint8_t>(ctx.cluster_rank);
  op.warp = ctx.warp_index;
  if (!has_tensor_memory(ctx) || !has_pair(ctx, op.cta_group, lane)) return;
  thread_local Tcgen05Touches touches;
  touches.reads.clear();
  touches.writes.clear();
  for (auto& runs : touches.shared) runs.clear();
  if (op.kind != Tcgen05Op::Kind::commit) Tcgen05Ops::of(op).touches(op, touches);
  for (const TensorRange& w : touches.writes)
    if (!check_range(ctx, op, w, lane)) return;
  for (const auto& r : touches.reads)
    if (!check_range(ctx, op, r.range, lane)) return;
  if (ctx.tensor_watch != nullptr && !ctx.tensor_watch->issue(ctx, op, touches)) return;
  for (const TensorRange& w : touches.writes) {
    const uint32_t rank = rank_of(op, w.cta);
    (rank == ctx.cluster_rank ? *ctx.tensor : *ctx.cluster_tensor[rank]).mark_written(w.lane, w.lanes, w.column, w.columns);
  }
  for (uint8_t cta = 0; cta < op.cta_group; ++cta) {
    const uint32_t rank = rank_of(op, cta);
    const WindowMemory& memory = rank == ctx.cluster_rank ? *ctx.shared : *ctx.cluster_shared[rank];
    if (SharedWatch* watch = memory.watch())
      watch->tensor(ctx, op, TensorWatch::issuer(op), memory, touches.shared[cta], rank == ctx.cluster_rank ? &op.stale : nullptr);
  }
  ctx.fx.tcgen05.push_back(std::move(op));
  ctx.fx.issued |= Effects::kTcgen05;
}

// ---- cp ----

namespace {

const TensorCopy& copy_of(const Tcgen05Op& op) { return static_cast<const TensorCopy&>(Tcgen05Ops::of(op)); }

/// f(row, piece, address in shared memory) for each 16 bytes of the source.
template <class F>
void each_source_piece(const TensorCopyLayout& layout, uint64_t descriptor, F&& f) {
  const MatrixAddress at(decode_tcgen05_descriptor(descriptor), Major::k);
  for (uint32_t row = 0; row < layout.rows(); ++row)
    for (uint32_t piece = 0; piece < layout.words() * 4 / kPiece; ++piece) f(row, piece, at.piece(row, piece));
}

void complete_copy(const Tcgen05Op& op, const Tcgen05Memories& memories) {
  const TensorCopy& copy = copy_of(op);
  const TensorAddress to = TensorAddress::of(op.d);
  for (size_t cta = 0; cta < op.cta_group; ++cta)
    each_source_piece(copy.layout, op.desc_a, [&](uint32_t row, uint32_t piece, uint32_t address) {
      const auto bytes = decompress(copy.format, memories.shared[cta]->data() + address);
      for (uint32_t word = 0; word < kPiece / 4; ++word) {
        uint32_t value;
        std::memcpy(&value, bytes.data() + 4 * word, 4);
        uint32_t* column = memories.tensor[cta]->column(to.column + piece * (kPiece / 4) + word);
        for (uint32_t c = 0; c < copy.layout.copies(); ++c) column[to.lane + copy.layout.lane(row, c)] = value;
      }
    });
}

void copy_touches(const Tcgen05Op& op, Tcgen05Touches& out) {
  const TensorCopy& copy = copy_of(op);
  const TensorAddress to = TensorAddress::of(op.d);
  const auto column = static_cast<uint16_t>(to.column), words = static_cast<uint16_t>(copy.layout.words());
  const uint8_t swizzle = decode_tcgen05_descriptor(op.desc_a).swizzle_bytes;
  for (uint8_t cta = 0; cta < op.cta_group; ++cta) {
    if (copy.layout.shape == TensorCopyShape::s4x256b) {
      for (uint32_t row = 0; row < 4; ++row) out.writes.push_back({cta, static_cast<uint16_t>(to.lane + copy.layout.lane(row, 0)), 1, column, words});
    } else {
      out.writes.push_back({cta, static_cast<uint16_t>(to.lane), TensorMemory::kLanes, column, words});
    }
    each_source_piece(copy.layout, op.desc_a, [&](uint32_t, uint32_t, uint32_t address) {
      auto& runs = out.shared[cta];
      if (!runs.empty() && runs.back().offset + runs.back().bytes == address) runs.back().bytes += kPiece;
      else runs.push_back({address, kPiece, 0, swizzle});
    });
  }
}

Tcgen05Work copy_work(const Tcgen05Op& op) {
  const TensorCopyLayout& layout = copy_of(op).layout;
  Tcgen05Work work;
  const uint32_t bytes = layout.rows() * layout.words() * 4;
  for (size_t cta = 0; cta < op.cta_group; ++cta) work.a_bytes[op.cta_group == 2 ? cta : 0] = bytes;
  work.copy_bytes = bytes * layout.copies();
  return work;
}

constexpr std::array<std::string_view, 6> kCopyKeys = {"128x256b",      "4x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23",
                                                       "32x128b.warpx4"};
constexpr std::array<std::string_view, 3> kFormatKeys = {"", ".b6x16_p32", ".b4x16_p64"};

}  // namespace

const TensorCopy& TensorCopy::of(TensorCopyShape shape, TensorDecompress format) {
  static const auto table = [] {
    std::array<std::array<TensorCopy, 3>, 6> all;
    for (size_t s = 0; s < all.size(); ++s)
      for (size_t f = 0; f < all[s].size(); ++f) {
        TensorCopy& c = all[s][f];
        static_cast<Tcgen05Ops&>(c) = {&complete_copy, &copy_touches, &copy_work};
        c.layout.shape = static_cast<TensorCopyShape>(s);
        c.format = static_cast<TensorDecompress>(f);
        c.key = fmt::format("{}{}", kCopyKeys[s], kFormatKeys[f]);
      }
    return all;
  }();
  return table[static_cast<size_t>(shape)][static_cast<size_t>(format)];
}

void run_tcgen05_cp(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const TensorCopyLayout& layout = static_cast<const TensorCopy*>(static_cast<const Tcgen05Ops*>(inst.plan))->layout;
  each_operation(ctx, inst, mask, Tcgen05Op::Kind::cp, [&](Tcgen05Op& op, int l) {
    op.d = tensor_address(ctx, inst.operand(0), l);
    op.desc_a = ctx.src<uint64_t>(inst.operand(1))[l];
    if (const DescriptorProblem p = check_tcgen05_descriptor(op.desc_a, Major::k, layout.words() * 4); p.kind) {
      ctx.fault(p.kind, l, decode_tcgen05_descriptor(op.desc_a).start,
                fmt::format("matrix descriptor {:#018x} of tcgen05.cp: {}", op.desc_a, p.text));
      return false;
    }
    uint32_t end = 0;
    each_source_piece(layout, op.desc_a, [&](uint32_t, uint32_t, uint32_t address) { end = std::max(end, address + kPiece); });
    if (end <= ctx.shared->size()) return true;
    ctx.fault("out-of-bounds", l, end,
              fmt::format("tcgen05.cp reads up to byte {:#x} of shared memory, which has {} bytes ({})", end, ctx.shared->size(),
                          describe(decode_tcgen05_descriptor(op.desc_a), Major::k)));
    return false;
  });
}

// ---- shift ----

namespace {

/// Row i of the warp's 32 lanes gets what row i + 1 held; the last row keeps its own, for tcgen05.cp.4x256b to fill.
void complete_shift(const Tcgen05Op& op, const Tcgen05Memories& memories) {
  const TensorAddress at = TensorAddress::of(op.d);
  for (size_t cta = 0; cta < op.cta_group; ++cta)
    for (uint32_t c = 0; c < kShiftWords; ++c) {
      uint32_t* rows = memories.tensor[cta]->column(at.column + c) + at.lane;
      std::memmove(rows, rows + 1, (TensorMemory::kWarpLanes - 1) * sizeof(uint32_t));
    }
}

void shift_touches(const Tcgen05Op& op, Tcgen05Touches& out) {
  const TensorAddress at = TensorAddress::of(op.d);
  for (uint8_t cta = 0; cta < op.cta_group; ++cta)
    out.writes.push_back({cta, static_cast<uint16_t>(at.lane), TensorMemory::kWarpLanes, static_cast<uint16_t>(at.column), kShiftWords});
}

Tcgen05Work shift_work(const Tcgen05Op&) {
  Tcgen05Work work;
  work.copy_bytes = (TensorMemory::kWarpLanes - 1) * kShiftWords * 4;
  return work;
}

}  // namespace

const Tcgen05Ops& tensor_shift_ops() {
  static constexpr Tcgen05Ops ops{&complete_shift, &shift_touches, &shift_work};
  return ops;
}

void run_tcgen05_shift(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  each_operation(ctx, inst, mask, Tcgen05Op::Kind::shift, [&](Tcgen05Op& op, int l) {
    op.d = tensor_address(ctx, inst.operand(0), l);
    const uint32_t lane = TensorAddress::of(op.d).lane;
    if (lane % TensorMemory::kWarpLanes == 0) return true;
    ctx.fault(kMisuse, l, op.d, fmt::format("tcgen05.shift at {:#x}: lane {} is not a multiple of {}", op.d, lane, TensorMemory::kWarpLanes));
    return false;
  });
}

// ---- commit ----

void run_tcgen05_commit(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint64_t address[kLanes];
  lane_addresses(ctx, inst.operand(0), mask, address);
  each_operation(ctx, inst, mask, Tcgen05Op::Kind::commit, [&](Tcgen05Op& op, int l) {
    op.mbarrier = SharedAddress::of(static_cast<uint32_t>(address[l]));  // generic or not: the low half says it all
    if (inst.operand(0).slot < 0) op.mbarrier.rank = static_cast<uint8_t>(ctx.cluster_rank);
    op.cta_mask = inst.aux ? static_cast<uint16_t>(ctx.src<uint32_t>(inst.operand(1))[l]) : static_cast<uint16_t>(1u << op.mbarrier.rank);
    const uint32_t offset = op.mbarrier.offset;
    if (op.cta_mask >> ctx.cluster_size != 0) {
      ctx.fault("out-of-bounds", l, op.cta_mask,
                fmt::format("CTA mask {:#x} of tcgen05.commit names CTAs beyond a cluster of {}", op.cta_mask, ctx.cluster_size));
    } else if (offset % 8 != 0) {
      ctx.fault("misaligned", l, offset, fmt::format("mbarrier at offset {} is not a multiple of 8 B", offset));
    } else if (!ctx.shared->contains(offset, 8)) {
      ctx.fault("out-of-bounds", l, offset, fmt::format("mbarrier at offset {} of shared memory, which has {} bytes", offset, ctx.shared->size()));
    }
    return ctx.fx.control == Control::next;
  });
}

}  // namespace tcsim::isa
