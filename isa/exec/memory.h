// Memories as bytes with a shadow: which bytes were never written (uninitialised shared memory, poisoned buffers), which
// are the target of a cp.async in flight and, in timing mode, which hold values that were not computed.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tcsim::isa {

class SharedWatch;  // isa/exec/shared_watch.h

// Generic address windows (PTX ISA, "Generic Addressing"). Any address outside the windows is global.
constexpr uint64_t kSharedWindow = 0x0000'7000'0000'0000ull, kSharedWindowBytes = 1ull << 24;
constexpr uint64_t kLocalWindow = 0x0000'7100'0000'0000ull, kLocalWindowBytes = 1ull << 24;
constexpr uint64_t kParamWindow = 0x0000'7200'0000'0000ull, kConstantWindow = 0x0000'7300'0000'0000ull;
constexpr uint64_t kGlobalBase = 0x0000'7f00'0000'0000ull;

/// One buffer in global memory. `undefined` has one bit per byte: set while the byte was never written.
struct Allocation {
  std::string name;
  uint64_t base = 0, bytes = 0;
  std::vector<uint8_t> data;
  std::vector<uint64_t> undefined;         // empty: all defined
  std::atomic<uint64_t*> shadow{nullptr};  // undefined.data() once it exists
  std::mutex shadow_mutex;
};

/// Global memory: separate allocations with unmapped gaps, so that an access out of bounds is found. A copy of the object
/// is another view of the same bytes. map() keeps no state: several threads may use one object, or a view each.
class GlobalMemory {
 public:
  /// Address of a new allocation; align is a power of two. Contents are zeros, or undefined when poison is set.
  uint64_t allocate(std::string name, uint64_t bytes, uint64_t align = 256, bool poison = false);
  Allocation* find(uint64_t address) const {
    const uint64_t page = (address - kGlobalBase) >> kPageShift;
    return page < pages_.size() ? pages_[page] : nullptr;
  }
  /// Bytes [address, address + bytes) if they lie in one allocation, else nullptr.
  uint8_t* map(uint64_t address, uint64_t bytes) const {
    Allocation* a = find(address);
    if (!a) return nullptr;
    const uint64_t offset = address - a->base;
    return offset < a->bytes && bytes <= a->bytes - offset ? a->data.data() + offset : nullptr;
  }
  /// Allocation whose bytes are nearest to the address, for messages ("12 bytes past the end of buffer A").
  const Allocation* nearest(uint64_t address) const;
  /// "12 bytes past the end of buffer 'A' (4096 bytes)", "in no buffer" ... for an access that map() refuses.
  std::string describe(uint64_t address, uint64_t bytes) const;
  bool any_undefined() const { return any_undefined_->load(std::memory_order_relaxed); }
  void mark_written(uint64_t address, uint64_t bytes);  // clears undefined bits
  void mark_undefined(uint64_t address, uint64_t bytes);
  bool is_undefined(uint64_t address, uint64_t bytes) const;  // any byte undefined
  std::vector<std::shared_ptr<Allocation>>& allocations() { return allocations_; }
  const std::vector<std::shared_ptr<Allocation>>& allocations() const { return allocations_; }

 private:
  static constexpr int kPageShift = 16;
  std::vector<std::shared_ptr<Allocation>> allocations_;  // by base
  std::vector<Allocation*> pages_;                        // no two allocations share a 64 KiB page
  uint64_t next_ = kGlobalBase;
  std::shared_ptr<std::atomic<bool>> any_undefined_ = std::make_shared<std::atomic<bool>>(false);
};

/// Shared memory of a CTA or local memory of a warp. Every byte starts undefined. The shadow operations take ranges that
/// do not cross a 64-byte boundary in one word operation (all naturally aligned accesses), longer ranges in several.
class WindowMemory {
 public:
  explicit WindowMemory(uint32_t bytes = 0) { reset(bytes); }
  void reset(uint32_t bytes);
  uint32_t size() const { return bytes_; }
  uint8_t* data() { return data_.data(); }
  const uint8_t* data() const { return data_.data(); }
  /// Who wants to know of writes; nullptr: nobody.
  SharedWatch* watch() const { return watch_; }
  void set_watch(SharedWatch* watch) { watch_ = watch; }
  bool contains(uint64_t offset, uint64_t bytes) const { return offset <= bytes_ && bytes <= bytes_ - offset; }
  void mark_written(uint32_t offset, uint32_t bytes) {
    for_words(offset, bytes, [this](size_t word, uint64_t bits) {
      undefined_[word] &= ~bits;
      return false;
    });
  }
  void mark_undefined(uint32_t offset, uint32_t bytes) {
    for_words(offset, bytes, [this](size_t word, uint64_t bits) {
      undefined_[word] |= bits;
      return false;
    });
  }
  bool is_undefined(uint32_t offset, uint32_t bytes) const {
    return for_words(offset, bytes, [this](size_t word, uint64_t bits) { return (undefined_[word] & bits) != 0; });
  }
  /// The same for a naturally aligned access of 1, 2, 4, ... 32 bytes, which lies in one word of the shadow.
  bool is_undefined_aligned(uint32_t offset, uint32_t bytes) const { return (undefined_[offset >> 6] >> (offset & 63) & ((1ull << bytes) - 1)) != 0; }
  void mark_written_aligned(uint32_t offset, uint32_t bytes) { undefined_[offset >> 6] &= ~(((1ull << bytes) - 1) << (offset & 63)); }
  bool any_in_flight() const { return flying_ != 0; }
  /// A cp.async was issued to these bytes: undefined and in flight until land(). False: some were in flight already.
  bool fly(uint32_t offset, uint32_t bytes) {
    bool clean = true;
    for_words(offset, bytes, [&](size_t word, uint64_t bits) {
      clean &= (in_flight_[word] & bits) == 0;
      in_flight_[word] |= bits;
      undefined_[word] |= bits;
      return false;
    });
    flying_ += bytes;
    return clean;
  }
  void land(uint32_t offset, uint32_t bytes) {
    for_words(offset, bytes, [this](size_t word, uint64_t bits) {
      in_flight_[word] &= ~bits;
      undefined_[word] &= ~bits;
      return false;
    });
    flying_ -= std::min(flying_, uint64_t{bytes});
  }
  bool is_in_flight(uint32_t offset, uint32_t bytes) const {
    return flying_ != 0 && for_words(offset, bytes, [this](size_t word, uint64_t bits) { return (in_flight_[word] & bits) != 0; });
  }

 private:
  template <class F>
  static bool for_words(uint32_t offset, uint32_t bytes, F&& f) {
    const uint32_t shift = offset & 63;
    if (shift + bytes <= 64) [[likely]]
      return f(offset >> 6, (bytes == 64 ? ~0ull : (1ull << bytes) - 1) << shift);
    for (uint32_t at = offset, end = offset + bytes; at < end;) {
      const uint32_t s = at & 63, n = std::min(64 - s, end - at);
      if (f(at >> 6, (n == 64 ? ~0ull : (1ull << n) - 1) << s)) return true;
      at += n;
    }
    return false;
  }
  SharedWatch* watch_ = nullptr;
  uint32_t bytes_ = 0;
  uint64_t flying_ = 0;  // bytes of copies in flight
  std::vector<uint8_t> data_;
  std::vector<uint64_t> undefined_;  // one bit per byte
  std::vector<uint64_t> in_flight_;
};

}  // namespace tcsim::isa
