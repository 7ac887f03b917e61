// Memories as bytes with a shadow: which bytes were never written (uninitialised shared memory, poisoned buffers) and,
// in timing mode, which hold values that were not computed.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tcsim::isa {

// Generic address windows (PTX ISA, "Generic Addressing"). Any address outside both windows is global.
constexpr uint64_t kSharedWindow = 0x0000'7000'0000'0000ull, kSharedWindowBytes = 1ull << 24;
constexpr uint64_t kLocalWindow = 0x0000'7100'0000'0000ull, kLocalWindowBytes = 1ull << 24;
constexpr uint64_t kParamWindow = 0x0000'7200'0000'0000ull, kConstantWindow = 0x0000'7300'0000'0000ull;
constexpr uint64_t kGlobalBase = 0x0000'7f00'0000'0000ull;

/// One buffer in global memory. `undefined` has one bit per byte: set while the byte was never written.
struct Allocation {
  std::string name;
  uint64_t base = 0, bytes = 0;
  std::vector<uint8_t> data;
  std::vector<uint64_t> undefined;  // empty: all defined
};

/// Global memory: separate allocations with unmapped gaps, so that an access out of bounds is found.
class GlobalMemory {
 public:
  /// Address of a new allocation; align is a power of two. Contents are zeros, or undefined when poison is set.
  uint64_t allocate(std::string name, uint64_t bytes, uint64_t align = 256, bool poison = false);
  Allocation* find(uint64_t address);
  /// Bytes [address, address + bytes) if they lie in one allocation, else nullptr. Valid until the next allocate.
  uint8_t* map(uint64_t address, uint64_t bytes) {
    const uint64_t offset = address - last_base_;
    if (offset < last_bytes_ && bytes <= last_bytes_ - offset) [[likely]] return last_data_ + offset;
    return map_slow(address, bytes);
  }
  /// Allocation whose bytes are nearest to the address, for messages ("12 bytes past the end of buffer A").
  const Allocation* nearest(uint64_t address) const;
  bool any_undefined() const { return any_undefined_; }
  void mark_written(uint64_t address, uint64_t bytes);          // clears undefined bits
  bool is_undefined(uint64_t address, uint64_t bytes);          // any byte undefined
  std::vector<std::unique_ptr<Allocation>>& allocations() { return allocations_; }

 private:
  uint8_t* map_slow(uint64_t address, uint64_t bytes);
  std::vector<std::unique_ptr<Allocation>> allocations_;  // by base
  uint64_t next_ = kGlobalBase;
  uint64_t last_base_ = 0, last_bytes_ = 0;
  uint8_t* last_data_ = nullptr;
  bool any_undefined_ = false;
};

/// Shared memory of a CTA or local memory of a warp. Every byte starts undefined.
class WindowMemory {
 public:
  explicit WindowMemory(uint32_t bytes = 0) { reset(bytes); }
  void reset(uint32_t bytes);
  uint32_t size() const { return static_cast<uint32_t>(data_.size()); }
  uint8_t* data() { return data_.data(); }
  bool contains(uint64_t offset, uint64_t bytes) const { return offset <= data_.size() && bytes <= data_.size() - offset; }
  void mark_written(uint32_t offset, uint32_t bytes);
  void mark_undefined(uint32_t offset, uint32_t bytes);
  bool is_undefined(uint32_t offset, uint32_t bytes) const;

 private:
  std::vector<uint8_t> data_;
  std::vector<uint64_t> undefined_;  // one bit per byte
};

}  // namespace tcsim::isa
