// An asynchronous bulk copy or reduction (cp.async.bulk*, cp.reduce.async.bulk*, their prefetches) as issued by one thread.
// Executing the instruction checks it and records it (Effects::bulk); whoever runs the warp decides when it reads its
// source and when its bytes land.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "isa/exec/shared_address.h"
#include "isa/type.h"

namespace tcsim::isa {

struct TensorMap;   // isa/layout/tensor_map.h
struct StaleBytes;  // isa/exec/shared_watch.h
class GlobalMemory;
class WindowMemory;

struct BulkCopy {
  enum class Kind : uint8_t { load, store, reduce, shared_to_cluster, prefetch };
  enum class ReduceOp : uint8_t { none, add, min, max, inc, dec, and_, or_, xor_ };

  Kind kind = Kind::load;
  ReduceOp reduce = ReduceOp::none;
  Type type = Type::none;                                                 // of a reduction's elements
  uint64_t (*combine)(uint64_t old, uint64_t value, uint64_t) = nullptr;  // of a reduction: on raw bits of `type`
  bool multicast = false;
  bool pair_mbarrier = false;   // .cta_group::2: the mbarrier may lie in the other CTA of the destination's pair
  bool has_mbarrier = false;    // completion: bytes on an mbarrier; else the thread's bulk group
  uint16_t cta_mask = 0;        // multicast: ranks that get the bytes (same offsets in each)
  uint16_t byte_mask = 0xffff;  // .cp_mask: bytes of each 16 that a store writes
  uint8_t lane = 0;             // of the thread that issued it
  SharedAddress shared;         // destination of loads; source of stores, reductions and shared_to_cluster
  SharedAddress target;         // shared_to_cluster: destination
  SharedAddress mbarrier;
  uint64_t global = 0;                   // plain bulk copies: address
  uint32_t bytes = 0;                    // plain: size; tensor: bytes in shared memory of the whole box (what the mbarrier counts)
  std::shared_ptr<const TensorMap> map;  // tensor copies
  uint64_t map_address = 0;              // where the map was read: key of the descriptor cache
  std::array<int32_t, 5> coordinate{};   // innermost dimension first
  std::array<uint16_t, 3> im2col_offset{};
  std::shared_ptr<const StaleBytes> stale;  // source bytes that it sees although they were written since, for want of a fence
  uint32_t inst = 0;                        // index of the instruction in the kernel
  uint64_t id = 0;                          // given by whoever runs it

  /// Ranks whose shared memory it writes (a mask), and where.
  uint32_t targets() const {
    switch (kind) {
      case Kind::load: return multicast ? cta_mask : 1u << shared.rank;
      case Kind::shared_to_cluster: return 1u << target.rank;
      default: return 0;
    }
  }
  /// CTA whose mbarrier hears of the bytes that land in CTA `target`.
  uint32_t mbarrier_rank(uint32_t target) const { return pair_mbarrier ? (target & ~1u) | (mbarrier.rank & 1u) : target; }
  uint32_t target_offset() const { return kind == Kind::load ? shared.offset : target.offset; }
};

/// "add", "and", ... as PTX spells it; none for other words.
BulkCopy::ReduceOp reduce_op_named(std::string_view name);

/// One contiguous piece of a copy. Pieces are disjoint and together cover the shared-memory side once.
struct BulkPiece {
  uint64_t global = 0;  // address of its first byte
  uint32_t shared = 0;  // offset in the window (swizzled)
  uint32_t bytes = 0;   // at most 16 for swizzled boxes
  bool inside = true;   // false: outside the tensor: filled by loads, left out by stores
};

// isa/exec/bulk_walk.h: for_each_piece(copy, f(const BulkPiece&)) in the order in which the engine walks the box (innermost
// dimension first), and for_each_row(copy, f(const BulkRow&)).

/// A run of global bytes that the engine asks L2 for: one row of the box (or the whole plain copy).
struct BulkRow {
  uint64_t global = 0;
  uint32_t bytes = 0;         // inside the tensor: 0 for a row that is all fill
  uint32_t shared_bytes = 0;  // that it fills in shared memory
};

/// Writes a load's bytes to the window of one target CTA, or the bytes of shared_to_cluster (source window given). Undefined
/// bytes stay undefined at the destination. None of the three touches the shadow of copies in flight.
void land_load(const BulkCopy& copy, const GlobalMemory& global, WindowMemory& target);
void land_shared(const BulkCopy& copy, const WindowMemory& source, WindowMemory& target);
/// Writes or reduces to global memory from the window of the issuing CTA.
void land_store(const BulkCopy& copy, const WindowMemory& source, GlobalMemory& global);

}  // namespace tcsim::isa
