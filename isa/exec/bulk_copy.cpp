#include "isa/exec/bulk_copy.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "isa/check.h"
#include "isa/exec/bulk_walk.h"
#include "isa/exec/memory.h"
#include "isa/exec/shared_watch.h"

namespace tcsim::isa {
namespace {

/// GlobalMemory::map for neighbouring addresses: looks the allocation up only when it changes.
class Mapped {
 public:
  explicit Mapped(const GlobalMemory& memory) : memory_(memory) {}
  uint8_t* at(uint64_t address, uint64_t bytes) {
    if (!allocation_ || address - allocation_->base >= allocation_->bytes) allocation_ = memory_.find(address);
    const bool inside =
        allocation_ && address - allocation_->base < allocation_->bytes && bytes <= allocation_->bytes - (address - allocation_->base);
    TC_CHECK(inside, "a bulk copy reaches {} bytes at {:#x} outside global memory", bytes, address);
    return allocation_->data.data() + (address - allocation_->base);
  }

 private:
  const GlobalMemory& memory_;
  Allocation* allocation_ = nullptr;
};

/// Out-of-bounds elements. The NaN is the one that fma.oob knows, 0x7ff7 for f16 and bf16; wider types are taken to hold it
/// repeated, which is a NaN of theirs too.
void fill(TensorMap::Fill fill, uint8_t* to, uint32_t bytes) {
  if (fill == TensorMap::Fill::zeros) {
    std::memset(to, 0, bytes);
    return;
  }
  for (uint32_t i = 0; i + 1 < bytes; i += 2) to[i] = 0xf7, to[i + 1] = 0x7f;
}

uint32_t flush(uint32_t x) { return (x & 0x7f800000u) == 0 ? x & 0x80000000u : x; }
/// f32 to tf32, to nearest even: "TMA converts f32 input to tf32 when copying from GMEM to SMEM" (CUTLASS, sm90 builders).
uint32_t to_tf32(uint32_t x) {
  if ((x & 0x7f800000u) == 0x7f800000u) return x;
  return (x + 0xfffu + (x >> 13 & 1)) & ~0x1fffu;
}

/// What the map's element type does to the bytes on the way to shared memory.
void convert(TensorMap::Type type, uint8_t* bytes, uint32_t count) {
  using T = TensorMap::Type;
  if (type != T::f32_ftz && type != T::tf32 && type != T::tf32_ftz) return;
  for (uint32_t i = 0; i + 4 <= count; i += 4) {
    uint32_t x;
    std::memcpy(&x, bytes + i, 4);
    if (type != T::tf32) x = flush(x);
    if (type != T::f32_ftz) x = to_tf32(x);
    std::memcpy(bytes + i, &x, 4);
  }
}

template <class T>
void combine_one(uint8_t* to, const uint8_t* from, const BulkCopy& copy) {
  T value;
  std::memcpy(&value, from, sizeof value);
  // Atomic on the host too: CTAs may run on several host threads. Elements are aligned: pieces are.
  std::atomic_ref<T> cell(*reinterpret_cast<T*>(to));
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, static_cast<T>(copy.combine(old, value, 0)), std::memory_order_relaxed)) {}
}

void combine(uint8_t* to, const uint8_t* from, uint32_t bytes, const BulkCopy& copy) {
  TC_CHECK(copy.combine != nullptr, "a reduction without its operation");
  const auto size = static_cast<uint32_t>(bits(copy.type)) / 8;
  for (uint32_t i = 0; i + size <= bytes; i += size) switch (size) {
      case 2: combine_one<uint16_t>(to + i, from + i, copy); break;
      case 4: combine_one<uint32_t>(to + i, from + i, copy); break;
      default: combine_one<uint64_t>(to + i, from + i, copy); break;
    }
}

/// .cp_mask: bit i of the mask says whether byte i of each 16 is written.
void copy_masked(uint8_t* to, const uint8_t* from, uint32_t bytes, uint16_t mask) {
  for (uint32_t i = 0; i < bytes; ++i)
    if (mask >> (i % 16) & 1) to[i] = from[i];
}

/// Marks what was written to global memory: undefined where the source is, byte for byte.
void mark_stored(const BulkCopy& copy, const WindowMemory& source, GlobalMemory& global, const BulkPiece& piece) {
  if (!source.is_undefined(piece.shared, piece.bytes) && copy.byte_mask == 0xffff) {
    if (global.any_undefined()) global.mark_written(piece.global, piece.bytes);
    return;
  }
  for (uint32_t i = 0; i < piece.bytes; ++i) {
    if (!(copy.byte_mask >> (i % 16) & 1)) continue;
    if (source.is_undefined(piece.shared + i, 1)) global.mark_undefined(piece.global + i, 1);
    else if (copy.reduce == BulkCopy::ReduceOp::none) global.mark_written(piece.global + i, 1);
  }
}

void mark_loaded(const GlobalMemory& global, WindowMemory& target, const BulkPiece& piece) {
  target.mark_written(piece.shared, piece.bytes);
  if (!piece.inside || !global.any_undefined() || !global.is_undefined(piece.global, piece.bytes)) return;
  for (uint32_t i = 0; i < piece.bytes; ++i)
    if (global.is_undefined(piece.global + i, 1)) target.mark_undefined(piece.shared + i, 1);
}

}  // namespace

BulkCopy::ReduceOp reduce_op_named(std::string_view name) {
  using R = BulkCopy::ReduceOp;
  constexpr std::pair<std::string_view, R> kOps[] = {{"add", R::add}, {"min", R::min},  {"max", R::max}, {"inc", R::inc},
                                                     {"dec", R::dec}, {"and", R::and_}, {"or", R::or_},  {"xor", R::xor_}};
  for (const auto& [text, op] : kOps)
    if (text == name) return op;
  return R::none;
}

void land_load(const BulkCopy& copy, const GlobalMemory& global, WindowMemory& target) {
  Mapped mapped(global);
  for_each_piece(copy, [&](const BulkPiece& piece) {
    uint8_t* to = target.data() + piece.shared;
    TC_DCHECK(target.contains(piece.shared, piece.bytes), "a bulk load writes past the window");
    if (piece.inside) std::memcpy(to, mapped.at(piece.global, piece.bytes), piece.bytes);
    else fill(copy.map->fill, to, piece.bytes);
    if (copy.map) convert(copy.map->type, to, piece.bytes);
    mark_loaded(global, target, piece);
  });
}

void land_shared(const BulkCopy& copy, const WindowMemory& source, WindowMemory& target) {
  const StaleView stale(copy.stale.get(), source);
  const uint8_t* from = source.data() + copy.shared.offset;
  uint8_t* to = target.data() + copy.target.offset;
  const bool reduces = copy.reduce != BulkCopy::ReduceOp::none;
  if (reduces) combine(to, from, copy.bytes, copy);
  else std::memmove(to, from, copy.bytes);
  if (!source.is_undefined(copy.shared.offset, copy.bytes)) {
    if (!reduces) target.mark_written(copy.target.offset, copy.bytes);
    return;
  }
  for (uint32_t i = 0; i < copy.bytes; ++i) {
    if (source.is_undefined(copy.shared.offset + i, 1)) target.mark_undefined(copy.target.offset + i, 1);
    else if (!reduces) target.mark_written(copy.target.offset + i, 1);
  }
}

void land_store(const BulkCopy& copy, const WindowMemory& source, GlobalMemory& global) {
  const StaleView stale(copy.stale.get(), source);
  Mapped mapped(global);
  for_each_piece(copy, [&](const BulkPiece& piece) {
    if (!piece.inside) return;
    TC_DCHECK(source.contains(piece.shared, piece.bytes), "a bulk store reads past the window");
    const uint8_t* from = source.data() + piece.shared;
    uint8_t* to = mapped.at(piece.global, piece.bytes);
    if (copy.kind == BulkCopy::Kind::reduce) combine(to, from, piece.bytes, copy);
    else if (copy.byte_mask != 0xffff) copy_masked(to, from, piece.bytes, copy.byte_mask);
    else std::memcpy(to, from, piece.bytes);
    mark_stored(copy, source, global, piece);
  });
}

}  // namespace tcsim::isa
