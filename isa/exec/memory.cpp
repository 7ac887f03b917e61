#include "isa/exec/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/check.h"

namespace tcsim::isa {
namespace {

template <class F>
bool for_words(uint64_t offset, uint64_t bytes, F&& f) {
  for (uint64_t at = offset, end = offset + bytes; at < end;) {
    const uint64_t shift = at & 63, n = std::min(64 - shift, end - at);
    if (f(at >> 6, (n == 64 ? ~0ull : (1ull << n) - 1) << shift)) return true;
    at += n;
  }
  return false;
}

/// Relaxed atomics: CTAs on different host threads may write different bytes that share a word of the shadow.
std::atomic_ref<uint64_t> word(uint64_t* shadow, uint64_t i) { return std::atomic_ref<uint64_t>(shadow[i]); }

}  // namespace

uint64_t GlobalMemory::allocate(std::string name, uint64_t bytes, uint64_t align, bool poison) {
  TC_CHECK(align != 0 && (align & (align - 1)) == 0, "alignment {} is not a power of two", align);
  constexpr uint64_t page = 1ull << kPageShift;
  // At least one unmapped page between allocations, so that running past the end is found.
  uint64_t base = (next_ + align - 1) & ~(align - 1);
  base = (base + page - 1) & ~(page - 1);
  if (align > page) base = (base + align - 1) & ~(align - 1);
  auto a = std::make_shared<Allocation>();
  a->name = std::move(name);
  a->base = base;
  a->bytes = bytes;
  a->data.resize(bytes);
  if (poison && bytes) {
    a->undefined.assign((bytes + 63) / 64, ~0ull);
    a->shadow = a->undefined.data();
    *any_undefined_ = true;
  }
  const uint64_t first = (base - kGlobalBase) >> kPageShift, count = std::max<uint64_t>(1, (bytes + page - 1) >> kPageShift);
  pages_.resize(first + count, nullptr);
  std::fill_n(pages_.begin() + static_cast<ptrdiff_t>(first), count, a.get());
  next_ = base + count * page + page;
  allocations_.push_back(std::move(a));
  return base;
}

const Allocation* GlobalMemory::nearest(uint64_t address) const {
  const Allocation* best = nullptr;
  uint64_t best_distance = ~0ull;
  for (const auto& a : allocations_) {
    const uint64_t end = a->base + a->bytes;
    const uint64_t distance = address < a->base ? a->base - address : address >= end ? address - end : 0;
    if (distance < best_distance) best = a.get(), best_distance = distance;
  }
  return best;
}

std::string GlobalMemory::describe(uint64_t address, uint64_t bytes) const {
  const Allocation* a = nearest(address);
  // Beyond this distance naming a buffer would mislead more than help.
  constexpr uint64_t kNear = 1ull << 30;
  if (!a) return "in no buffer";
  const uint64_t end = a->base + a->bytes;
  if (address >= a->base && address < end)
    return fmt::format("{} bytes past the end of buffer '{}' ({} bytes)", address + bytes - end, a->name, a->bytes);
  if (address >= end && address - end < kNear)
    return fmt::format("{} bytes past the end of buffer '{}' ({} bytes)", address + bytes - end, a->name, a->bytes);
  if (address < a->base && a->base - address < kNear)
    return fmt::format("{} bytes before the start of buffer '{}' ({} bytes)", a->base - address, a->name, a->bytes);
  return "in no buffer";
}

void GlobalMemory::mark_written(uint64_t address, uint64_t bytes) {
  Allocation* a = find(address);
  uint64_t* shadow = a ? a->shadow.load(std::memory_order_acquire) : nullptr;
  if (!shadow) return;
  for_words(address - a->base, bytes, [shadow](uint64_t i, uint64_t bits) {
    auto w = word(shadow, i);
    if (w.load(std::memory_order_relaxed) & bits) w.fetch_and(~bits, std::memory_order_relaxed);
    return false;
  });
}

void GlobalMemory::mark_undefined(uint64_t address, uint64_t bytes) {
  Allocation* a = find(address);
  if (!a) return;
  uint64_t* shadow = a->shadow.load(std::memory_order_acquire);
  if (!shadow) {
    const std::lock_guard lock(a->shadow_mutex);
    shadow = a->shadow.load(std::memory_order_relaxed);
    if (!shadow) {
      a->undefined.assign((a->bytes + 63) / 64, 0);
      shadow = a->undefined.data();
      a->shadow.store(shadow, std::memory_order_release);
      *any_undefined_ = true;
    }
  }
  for_words(address - a->base, bytes, [shadow](uint64_t i, uint64_t bits) {
    word(shadow, i).fetch_or(bits, std::memory_order_relaxed);
    return false;
  });
}

bool GlobalMemory::is_undefined(uint64_t address, uint64_t bytes) const {
  Allocation* a = find(address);
  uint64_t* shadow = a ? a->shadow.load(std::memory_order_acquire) : nullptr;
  if (!shadow) return false;
  const uint64_t offset = address - a->base, shift = offset & 63;
  if (shift + bytes <= 64 && bytes < 64) return (word(shadow, offset >> 6).load(std::memory_order_relaxed) >> shift & ((1ull << bytes) - 1)) != 0;
  return for_words(offset, bytes, [shadow](uint64_t i, uint64_t bits) { return (word(shadow, i).load(std::memory_order_relaxed) & bits) != 0; });
}

void WindowMemory::reset(uint32_t bytes) {
  bytes_ = bytes;
  flying_ = 0;
  data_.assign(bytes, 0);
  undefined_.assign((bytes + 63) / 64, ~0ull);
  in_flight_.assign((bytes + 63) / 64, 0);
}

}  // namespace tcsim::isa
