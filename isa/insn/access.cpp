#include "isa/insn/access.h"

#include <fmt/format.h>

#include "isa/exec/shared_watch.h"

namespace tcsim::isa {
namespace {

[[gnu::cold]] void misaligned(ExecContext& ctx, int lane, uint64_t address, uint32_t align) {
  ctx.fault("misaligned", lane, address, fmt::format("address {:#x} is not a multiple of {}", address, align));
}

[[gnu::cold]] void out_of_window(ExecContext& ctx, Space space, int lane, uint64_t offset, uint32_t bytes, uint64_t size) {
  ctx.fault("out-of-bounds", lane, offset,
            fmt::format("{} bytes at offset {} of {} memory, which has {} bytes", bytes, static_cast<int64_t>(offset), name(space), size));
}

bool locate_global(ExecContext& ctx, const uint64_t* address, uint32_t bytes, uint32_t mask, Located& out) {
  const Allocation* a = ctx.global->find(address[std::countr_zero(mask)]);
  bool all = a != nullptr && a->bytes >= bytes;
  if (all) {
    uint8_t* data = const_cast<uint8_t*>(a->data.data());
    const uint64_t base = a->base, last = a->bytes - bytes;
    each_lane(mask, [&](int l) {
      const uint64_t offset = address[l] - base;
      all &= offset <= last;
      out.at[l] = data + offset;
    });
  }
  if (all) [[likely]]
    return true;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    out.at[l] = ctx.global->map(address[l], bytes);
    if (out.at[l]) continue;
    ctx.fault("out-of-bounds", l, address[l],
              fmt::format("{} bytes at address {:#x}: {}", bytes, address[l], ctx.global->describe(address[l], bytes)));
    return false;
  }
  return true;
}

bool locate_window(ExecContext& ctx, Space space, uint8_t* data, uint64_t size, const uint64_t* address, uint32_t bytes, uint32_t mask,
                   Located& out) {
  bool all = size >= bytes;
  const uint64_t last = size - bytes;
  each_lane(mask, [&](int l) {
    all &= address[l] <= last;
    out.at[l] = data + address[l];
  });
  if (all) [[likely]]
    return true;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int l = std::countr_zero(m);
    if (address[l] <= size && bytes <= size - address[l]) continue;
    out_of_window(ctx, space, l, address[l], bytes, size);
    return false;
  }
  return true;
}

bool is_undefined(ExecContext& ctx, const Located& at, int l) {
  switch (at.space) {
    case Space::shared:
    case Space::local: return at.window->is_undefined(static_cast<uint32_t>(at.at[l] - at.window->data()), at.bytes);
    case Space::global: return ctx.global->is_undefined(ctx.fx.access.address[l], at.bytes);
    default: return false;
  }
}

}  // namespace

void lane_addresses(ExecContext& ctx, const Operand& op, uint32_t mask, uint64_t* address) {
  if (op.slot < 0) {
    each_lane(mask, [&](int l) { address[l] = static_cast<uint64_t>(op.value); });
  } else if (op.bit_width == 64) {
    const uint64_t* base = ctx.reg<uint64_t>(op.slot);
    for (int l = 0; l < kLanes; ++l) address[l] = base[l] + static_cast<uint64_t>(op.value);
  } else {
    const uint32_t* base = ctx.reg<uint32_t>(op.slot);
    for (int l = 0; l < kLanes; ++l) address[l] = static_cast<uint32_t>(base[l] + static_cast<uint32_t>(op.value));
  }
}

uint32_t same_space(uint64_t* address, uint32_t mask, Space& space) {
  const auto window = [&](int l) { return address[l] >> 40; };
  const uint64_t first = window(std::countr_zero(mask));
  const auto space_of = [](uint64_t top) {
    switch (top) {
      case kSharedWindow >> 40: return Space::shared;
      case kLocalWindow >> 40: return Space::local;
      case kParamWindow >> 40: return Space::param;
      case kConstantWindow >> 40: return Space::constant;
      default: return Space::global;
    }
  };
  space = space_of(first);
  uint32_t lanes = 0;
  each_lane(mask, [&](int l) { lanes |= (space_of(window(l)) == space ? 1u : 0u) << l; });
  if (space != Space::global) each_lane(lanes, [&](int l) { address[l] &= (1ull << 40) - 1; });
  return lanes;
}

uint32_t same_cta(ExecContext& ctx, const Operand& op, Space space, uint64_t* address, uint32_t mask) {
  const uint32_t own = ctx.cluster_rank;
  const bool absolute = op.slot < 0;  // a variable's own address: of this CTA
  const auto rank_of = [&](int l) {
    const uint32_t rank = SharedAddress::of(static_cast<uint32_t>(address[l])).rank;
    return absolute || (space == Space::shared && rank == 0) ? own : rank;
  };
  const int first = std::countr_zero(mask);
  const uint32_t rank = rank_of(first);
  if (rank >= ctx.cluster_size || (space == Space::shared && rank != own)) {
    ctx.fault("out-of-bounds", first, address[first],
              space == Space::shared
                  ? fmt::format(
                        "shared::cta address {:#x} lies in the memory of CTA {} of the cluster, expected the own one ({}): shared::cluster is needed",
                        address[first], rank, own)
                  : fmt::format("shared::cluster address {:#x} names CTA {} of a cluster of {}", address[first], rank, ctx.cluster_size));
    return 0;
  }
  uint32_t lanes = 0;
  each_lane(mask, [&](int l) { lanes |= (rank_of(l) == rank ? 1u : 0u) << l; });
  each_lane(lanes, [&](int l) { address[l] &= SharedAddress::kOffsetMask; });
  ctx.target = ctx.cluster_shared[rank];
  ctx.fx.access.remote = rank != own;
  ctx.fx.access.rank = static_cast<uint8_t>(rank);
  return lanes;
}

bool locate(ExecContext& ctx, const Inst&, Space space, const uint64_t* address, uint32_t bytes, uint32_t align, uint32_t mask, AccessKind kind,
            Located& out) {
  uint64_t low = 0;
  each_lane(mask, [&](int l) { low |= address[l]; });
  if (low & (align - 1)) [[unlikely]] {
    for (uint32_t m = mask; m; m &= m - 1) {
      const int l = std::countr_zero(m);
      if ((address[l] & (align - 1)) == 0) continue;
      misaligned(ctx, l, address[l], align);
      return false;
    }
  }
  out.space = space;
  out.mask = mask;
  out.bytes = bytes;
  Access& access = ctx.fx.access;
  access.kind = kind;
  access.space = space;
  access.bytes = static_cast<uint8_t>(bytes);
  access.cache_global = false;
  if (ctx.target == ctx.shared) access.remote = false;
  access.mask = mask;
  if (address != access.address.data()) std::memcpy(access.address.data(), address, sizeof(access.address));
  switch (space) {
    case Space::global: return locate_global(ctx, address, bytes, mask, out);
    case Space::shared:
      out.window = ctx.target;
      if (ctx.cluster_size > 1 && ctx.target == ctx.shared)  // shared::cta addresses carry the own rank
        each_lane(mask, [&](int l) {
          const auto a = SharedAddress::of(static_cast<uint32_t>(access.address[l]));
          if (a.rank == ctx.cluster_rank) access.address[l] = a.offset;
        });
      return locate_window(ctx, space, out.window->data(), out.window->size(), access.address.data(), bytes, mask, out);
    case Space::local:
      out.window = ctx.local;
      if (!locate_window(ctx, space, ctx.local->data(), ctx.local_bytes, address, bytes, mask, out)) return false;
      each_lane(mask, [&](int l) {
        out.at[l] += static_cast<size_t>(l) * ctx.local_stride;
        access.address[l] = address[l] / 4 * 128 + static_cast<uint64_t>(l) * 4 + address[l] % 4;
      });
      return true;
    case Space::param: return locate_window(ctx, space, const_cast<uint8_t*>(ctx.params), ctx.param_bytes, address, bytes, mask, out);
    case Space::constant: return locate_window(ctx, space, const_cast<uint8_t*>(ctx.constants), ctx.constant_bytes, address, bytes, mask, out);
    default: break;
  }
  TC_CHECK(false, "space {} is not resolved", name(space));
  return false;
}

namespace {

/// True when a lane reads undefined bytes; ranges are naturally aligned (locate has checked).
bool any_undefined(ExecContext& ctx, const Located& at) {
  bool any = false;
  switch (at.space) {
    case Space::shared:
    case Space::local: {
      const WindowMemory& window = *at.window;
      const uint8_t* base = window.data();
      each_lane(at.mask, [&](int l) { any |= window.is_undefined_aligned(static_cast<uint32_t>(at.at[l] - base), at.bytes); });
      return any;
    }
    case Space::global:
      if (!ctx.global->any_undefined()) return false;
      each_lane(at.mask, [&](int l) { any |= ctx.global->is_undefined(ctx.fx.access.address[l], at.bytes); });
      return any;
    default: return false;
  }
}

[[gnu::cold]] void note_overwritten(ExecContext& ctx, const Located& at) {
  each_lane(at.mask, [&](int l) {
    const auto offset = static_cast<uint32_t>(at.at[l] - at.window->data());
    if (at.window->is_in_flight(offset, at.bytes)) ctx.hazard(kOverwriteInFlight, l, offset);
  });
}

void note_window_write(const Located& at, WindowMemory& window, bool unknown) {
  const uint8_t* base = window.data();
  if (unknown) {
    each_lane(at.mask, [&](int l) { window.mark_undefined(static_cast<uint32_t>(at.at[l] - base), at.bytes); });
    return;
  }
  // Mostly everything was written before: look first, for that loop has no chain through memory.
  bool any = false;
  each_lane(at.mask, [&](int l) { any |= window.is_undefined_aligned(static_cast<uint32_t>(at.at[l] - base), at.bytes); });
  if (any) each_lane(at.mask, [&](int l) { window.mark_written_aligned(static_cast<uint32_t>(at.at[l] - base), at.bytes); });
}

[[gnu::cold]] void tell_watch(ExecContext& ctx, const Inst& inst, const Located& at) {
  std::array<uint32_t, kLanes> offset;
  each_lane(at.mask, [&](int l) { offset[static_cast<size_t>(l)] = static_cast<uint32_t>(at.at[l] - at.window->data()); });
  at.window->watch()->writes(ctx, ctx.index_of(inst), at.mask, offset.data(), at.bytes, at.window != ctx.shared);
}

}  // namespace

void check_read(ExecContext& ctx, const Located& at) {
  if (!any_undefined(ctx, at)) [[likely]]
    return;
  each_lane(at.mask, [&](int l) {
    if (!is_undefined(ctx, at, l)) return;
    const bool flying = at.space == Space::shared && at.window->is_in_flight(static_cast<uint32_t>(at.at[l] - at.window->data()), at.bytes);
    if (!ctx.fx.hazard) ctx.hazard(flying ? kMissingWait : kUninitialisedRead, l, ctx.fx.access.address[l]);
    ctx.fx.hazard |= flying ? kMissingWait : kUninitialisedRead;
  });
}

void note_write(ExecContext& ctx, const Inst& inst, const Located& at) {
  if (at.space == Space::shared && at.window->watch() != nullptr) [[unlikely]]
    tell_watch(ctx, inst, at);
  if (ctx.addresses_only) return;
  switch (at.space) {
    case Space::shared:
      if (at.window->any_in_flight()) [[unlikely]]
        note_overwritten(ctx, at);
      return note_window_write(at, *at.window, ctx.data_unknown);
    case Space::local: return note_window_write(at, *at.window, ctx.data_unknown);
    case Space::global:
      if (ctx.data_unknown) {
        each_lane(at.mask, [&](int l) { ctx.global->mark_undefined(ctx.fx.access.address[l], at.bytes); });
      } else if (ctx.global->any_undefined()) {
        each_lane(at.mask, [&](int l) { ctx.global->mark_written(ctx.fx.access.address[l], at.bytes); });
      }
      return;
    default: return;
  }
}

}  // namespace tcsim::isa
