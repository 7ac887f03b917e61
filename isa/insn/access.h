// From a memory instruction's address operand to host bytes: address arithmetic, state-space windows, alignment and bounds
// faults, and the shadow (undefined bytes, copies in flight).
#pragma once
#include <array>
#include <bit>
#include <cstdint>

#include "isa/exec/context.h"
#include "isa/exec/shared_address.h"

namespace tcsim::isa {

/// Calls f(lane) for each lane of the mask, lowest first.
template <class F>
inline void each_lane(uint32_t mask, F&& f) {
  if (mask == kFullMask) {
    for (int l = 0; l < kLanes; ++l) f(l);
  } else {
    for (; mask; mask &= mask - 1) f(std::countr_zero(mask));
  }
}

/// Host bytes of each lane of an access.
struct Located {
  Space space = Space::none;  // resolved: global, shared, local, param or constant
  uint32_t mask = 0, bytes = 0;
  WindowMemory* window = nullptr;  // shared, local: what `at` points into
  std::array<uint8_t*, kLanes> at;
};

/// Addresses of the lanes: base register (32 or 64 bits) plus offset, or the absolute address.
void lane_addresses(ExecContext& ctx, const Operand& op, uint32_t mask, uint64_t* address);

/// Lanes of `mask` whose generic address lies in the same space as that of the first one, and the space; the addresses of
/// those lanes become offsets in that space (PTX ISA, "Generic Addressing").
uint32_t same_space(uint64_t* address, uint32_t mask, Space& space);

/// Fills `out` and ctx.fx.access for `bytes` at address[lane] (offsets for shared, local, param, constant). `align` must
/// divide each address. On a fault sets it and returns false.
bool locate(ExecContext& ctx, const Inst& inst, Space space, const uint64_t* address, uint32_t bytes, uint32_t align, uint32_t mask, AccessKind kind,
            Located& out);

/// Notes a read of undefined bytes as a hazard (and as an unknown value in timing mode).
void check_read(ExecContext& ctx, const Located& at);
/// Before a write: clears undefined bits of what is written (or sets them when the data are unknown); notes overwritten copies in
/// flight. With ctx.addresses_only it only tells the watch of a kernel with asynchronous readers.
void note_write(ExecContext& ctx, const Inst& inst, const Located& at);

/// Lanes of `mask` whose shared address lies in the same CTA as that of the first one; their addresses become offsets and
/// ctx.target that CTA's memory. `space`: shared (the address must lie in the own CTA), shared_cluster or generic. 0: a fault.
uint32_t same_cta(ExecContext& ctx, const Operand& op, Space space, uint64_t* address, uint32_t mask);

/// f(Space::shared, lanes, addresses) for each CTA that the lanes address, with ctx.target set to its memory.
template <class F>
inline void for_ctas(ExecContext& ctx, const Operand& op, Space space, uint32_t mask, uint64_t* address, F&& f) {
  if (ctx.cluster_size == 1) [[likely]]
    return f(Space::shared, mask, address);
  for (uint32_t rest = mask; rest && ctx.fx.control == Control::next;) {
    const uint32_t lanes = same_cta(ctx, op, space, address, rest);
    if (lanes == 0) break;
    f(Space::shared, lanes, address);
    rest &= ~lanes;
  }
  ctx.target = ctx.shared;
}

/// Runs f(space, lanes, addresses) for each state space (and CTA of the cluster) that the lanes address; `space` is the instruction's.
template <class F>
inline void for_spaces(ExecContext& ctx, const Operand& op, Space space, uint32_t mask, F&& f) {
  uint64_t* address = ctx.fx.access.address.data();  // where locate() wants them
  lane_addresses(ctx, op, mask, address);
  if (space != Space::generic) {
    if (space == Space::shared || space == Space::shared_cluster) return for_ctas(ctx, op, space, mask, address, f);
    f(space, mask, address);
    return;
  }
  for (uint32_t rest = mask; rest && ctx.fx.control == Control::next;) {
    Space found;
    const uint32_t lanes = same_space(address, rest, found);
    if (found == Space::shared) for_ctas(ctx, op, space, lanes, address, f);
    else f(found, lanes, address);
    rest &= ~lanes;
  }
}

}  // namespace tcsim::isa
