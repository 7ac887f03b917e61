// Tensor Memory of one SM: 128 lanes x 512 columns of 32 bits (PTX ISA, "Tensor Memory"). Addresses are lane << 16 | column.
// The CTAs of the SM share it and its allocator; `key` names a CTA (ExecContext::cta_key).
//
//   if (const auto column = memory.allocate({.key = 3, .columns = 64})) ...   // nullopt: wait until changes() has changed
//   memory.word(lane, *column) = 1;
//   std::string error = memory.free(3, *column, 64);
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tcsim::isa {

struct TensorAddress {
  uint32_t lane = 0, column = 0;
  static TensorAddress of(uint32_t address) { return {address >> 16, address & 0xffffu}; }
  uint32_t bits() const { return lane << 16 | column; }
};

/// Columns that a CTA owns. pair: not 0: allocated together with the other CTA of the pair, which has the same number.
struct TensorAllocation {
  uint32_t key = 0;
  uint32_t column = 0, columns = 0;
  uint64_t pair = 0;
  uint32_t inst = 0, warp = 0;  // tcgen05.alloc

  /// What is wrong when the CTA ends with it.
  std::string not_freed() const;
};

class TensorMemory {
 public:
  static constexpr uint32_t kLanes = 128, kColumns = 512;  // architectural
  static constexpr uint32_t kUnit = 32;                    // columns: of allocation
  static constexpr uint32_t kWarpLanes = 32;               // lanes that one warp of a warpgroup reaches
  TensorMemory() : words_(kLanes * kColumns), defined_(2 * kColumns) {}

  /// The 128 lanes of a column lie side by side.
  uint32_t* column(uint32_t c) { return words_.data() + static_cast<size_t>(c) * kLanes; }
  const uint32_t* column(uint32_t c) const { return words_.data() + static_cast<size_t>(c) * kLanes; }
  uint32_t& word(uint32_t lane, uint32_t c) { return column(c)[lane]; }
  uint32_t word(uint32_t lane, uint32_t c) const { return column(c)[lane]; }

  // ---- which words somebody wrote ----
  void mark_written(uint32_t lane, uint32_t lanes, uint32_t column, uint32_t columns);
  void mark_undefined(uint32_t column, uint32_t columns);
  /// The first word of the rectangle (column by column) that nobody wrote.
  std::optional<TensorAddress> undefined(uint32_t lane, uint32_t lanes, uint32_t column, uint32_t columns) const;

  // ---- allocation (PTX ISA, "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit") ----
  /// Takes the lowest free columns, aligned to their number. The CTA that allocates keeps the permit, so that no other CTA of the SM
  /// allocates, until it relinquishes it or ends. nullopt: no room, or another CTA has the permit.
  std::optional<uint32_t> allocate(const TensorAllocation& wanted);
  /// cta_group::2: each CTA of the pair asks; the second one to ask gives both the same columns. `other`: memory of the other CTA (may
  /// be this one). nullopt: wait. A peer that asks for another number of columns: a text in `error`.
  std::optional<uint32_t> allocate_pair(const TensorAllocation& wanted, TensorMemory& other, std::string& error);
  /// Empty, or what is wrong.
  std::string free(uint32_t key, uint32_t column, uint32_t columns);
  void relinquish(uint32_t key);
  bool relinquished(uint32_t key) const;
  /// Columns of the CTA's last allocation; 0: none so far.
  uint32_t last_columns(uint32_t key) const;
  /// Empty when the CTA owns all these columns (pair not 0: the CTA of that pair does), else what is wrong.
  std::string check_owned(uint32_t key, uint64_t pair, uint32_t column, uint32_t columns) const;
  /// Columns that the CTA has not freed; nullptr: none. At the end of a CTA: a fault.
  const TensorAllocation* held_by(uint32_t key) const;
  /// A CTA starts or has ended: it owns nothing, and has no permit.
  void reset(uint32_t key);
  /// Counts what may let a waiting allocation succeed.
  uint64_t changes() const { return changes_; }

 private:
  struct Client {
    uint32_t key;
    bool relinquished;
    uint32_t last_columns;
  };
  struct PairRequest {
    TensorAllocation wanted;
    bool granted;
  };
  Client& client(uint32_t key);
  const Client* find_client(uint32_t key) const;
  bool may_allocate(uint32_t key) const { return !permit_ || *permit_ == key; }
  bool is_free(uint32_t column, uint32_t columns) const;
  void take(const TensorAllocation& a);
  std::vector<PairRequest>::iterator request_of(uint64_t pair, uint32_t key);

  std::vector<uint32_t> words_;
  std::vector<uint64_t> defined_;  // two words a column: a bit a lane
  std::vector<TensorAllocation> allocations_;
  std::vector<Client> clients_;
  std::vector<PairRequest> requests_;
  std::optional<uint32_t> permit_;
  uint64_t changes_ = 0;
};

}  // namespace tcsim::isa
