#include "isa/exec/tensor_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tcsim::isa {

std::string TensorAllocation::not_freed() const {
  return fmt::format("the CTA ends without tcgen05.dealloc of columns {} to {} of Tensor Memory", column, column + columns - 1);
}
namespace {

/// Bits of lanes [lane, lane + lanes) in word `half` (lanes 0 to 63, or 64 to 127) of a column.
uint64_t lane_bits(uint32_t lane, uint32_t lanes, uint32_t half) {
  const uint32_t first = std::max(lane, 64 * half), end = std::min(lane + lanes, 64 * half + 64);
  if (first >= end) return 0;
  const uint32_t n = end - first;
  return (n == 64 ? ~0ull : (1ull << n) - 1) << (first - 64 * half);
}

bool overlap(const TensorAllocation& a, uint32_t column, uint32_t columns) { return a.column < column + columns && column < a.column + a.columns; }

}  // namespace

void TensorMemory::mark_written(uint32_t lane, uint32_t lanes, uint32_t column, uint32_t columns) {
  const uint64_t low = lane_bits(lane, lanes, 0), high = lane_bits(lane, lanes, 1);
  for (uint32_t c = column; c < column + columns && c < kColumns; ++c) {
    defined_[2 * c] |= low;
    defined_[2 * c + 1] |= high;
  }
}

void TensorMemory::mark_undefined(uint32_t column, uint32_t columns) {
  for (uint32_t c = column; c < column + columns && c < kColumns; ++c) defined_[2 * c] = defined_[2 * c + 1] = 0;
}

std::optional<TensorAddress> TensorMemory::undefined(uint32_t lane, uint32_t lanes, uint32_t column, uint32_t columns) const {
  const uint64_t low = lane_bits(lane, lanes, 0), high = lane_bits(lane, lanes, 1);
  for (uint32_t c = column; c < column + columns && c < kColumns; ++c) {
    if (const uint64_t missing = low & ~defined_[2 * c]) return TensorAddress{static_cast<uint32_t>(std::countr_zero(missing)), c};
    if (const uint64_t missing = high & ~defined_[2 * c + 1]) return TensorAddress{64 + static_cast<uint32_t>(std::countr_zero(missing)), c};
  }
  return std::nullopt;
}

// ---- allocation ----

TensorMemory::Client& TensorMemory::client(uint32_t key) {
  for (Client& c : clients_)
    if (c.key == key) return c;
  return clients_.emplace_back(Client{key, false, 0});
}

const TensorMemory::Client* TensorMemory::find_client(uint32_t key) const {
  const auto it = std::find_if(clients_.begin(), clients_.end(), [key](const Client& c) { return c.key == key; });
  return it == clients_.end() ? nullptr : &*it;
}

bool TensorMemory::relinquished(uint32_t key) const {
  const Client* c = find_client(key);
  return c != nullptr && c->relinquished;
}

uint32_t TensorMemory::last_columns(uint32_t key) const {
  const Client* c = find_client(key);
  return c == nullptr ? 0 : c->last_columns;
}

bool TensorMemory::is_free(uint32_t column, uint32_t columns) const {
  return std::none_of(allocations_.begin(), allocations_.end(), [&](const TensorAllocation& a) { return overlap(a, column, columns); });
}

void TensorMemory::take(const TensorAllocation& a) {
  allocations_.push_back(a);
  client(a.key).last_columns = a.columns;
  permit_ = a.key;
  mark_undefined(a.column, a.columns);
}

std::optional<uint32_t> TensorMemory::allocate(const TensorAllocation& wanted) {
  if (!may_allocate(wanted.key)) return std::nullopt;
  for (uint32_t column = 0; column + wanted.columns <= kColumns; column += wanted.columns) {
    if (!is_free(column, wanted.columns)) continue;
    TensorAllocation a = wanted;
    a.column = column;
    take(a);
    return column;
  }
  return std::nullopt;
}

std::vector<TensorMemory::PairRequest>::iterator TensorMemory::request_of(uint64_t pair, uint32_t key) {
  return std::find_if(requests_.begin(), requests_.end(), [&](const PairRequest& r) { return r.wanted.pair == pair && r.wanted.key == key; });
}

std::optional<uint32_t> TensorMemory::allocate_pair(const TensorAllocation& wanted, TensorMemory& other, std::string& error) {
  auto own = request_of(wanted.pair, wanted.key);
  if (own != requests_.end() && own->granted) {
    const uint32_t column = own->wanted.column;
    requests_.erase(own);
    return column;
  }
  if (own == requests_.end()) requests_.push_back({wanted, false});
  const auto peer = std::find_if(other.requests_.begin(), other.requests_.end(), [&](const PairRequest& r) {
    return r.wanted.pair == wanted.pair && (&other != this || r.wanted.key != wanted.key) && !r.granted;
  });
  if (peer == other.requests_.end()) return std::nullopt;
  if (peer->wanted.columns != wanted.columns) {
    error = fmt::format("tcgen05.alloc.cta_group::2 of {} columns, but the other CTA of the pair allocates {}", wanted.columns, peer->wanted.columns);
    return std::nullopt;
  }
  if (!may_allocate(wanted.key) || !other.may_allocate(peer->wanted.key)) return std::nullopt;
  for (uint32_t column = 0; column + wanted.columns <= kColumns; column += wanted.columns) {
    if (!is_free(column, wanted.columns) || !other.is_free(column, wanted.columns)) continue;
    peer->wanted.column = column;
    peer->granted = true;
    ++other.changes_;
    other.take(peer->wanted);
    own = request_of(wanted.pair, wanted.key);
    own->wanted.column = column;
    take(own->wanted);
    requests_.erase(own);
    return column;
  }
  return std::nullopt;
}

std::string TensorMemory::free(uint32_t key, uint32_t column, uint32_t columns) {
  const auto it =
      std::find_if(allocations_.begin(), allocations_.end(), [&](const TensorAllocation& a) { return a.key == key && a.column == column; });
  if (it == allocations_.end()) return fmt::format("no allocation of this CTA starts at column {} of Tensor Memory", column);
  if (it->columns != columns)
    return fmt::format("the allocation at column {} of Tensor Memory has {} columns, tcgen05.dealloc names {}", column, it->columns, columns);
  mark_undefined(column, columns);
  allocations_.erase(it);
  ++changes_;
  return {};
}

void TensorMemory::relinquish(uint32_t key) {
  client(key).relinquished = true;
  if (permit_ != key) return;
  permit_.reset();
  ++changes_;
}

std::string TensorMemory::check_owned(uint32_t key, uint64_t pair, uint32_t column, uint32_t columns) const {
  if (column + columns > kColumns || columns > kColumns)
    return fmt::format("columns {} to {} of Tensor Memory, which has {}", column, column + columns - 1, kColumns);
  const auto mine = [&](const TensorAllocation& a) { return pair != 0 ? a.pair == pair : a.key == key; };
  uint32_t c = column;
  for (bool found = true; found && c < column + columns;) {
    found = false;
    for (const TensorAllocation& a : allocations_)
      if (mine(a) && a.column <= c && c < a.column + a.columns) c = a.column + a.columns, found = true;
  }
  if (c >= column + columns) return {};
  std::string owned;
  for (const TensorAllocation& a : allocations_)
    if (mine(a)) owned += fmt::format("{}{} to {}", owned.empty() ? "" : ", ", a.column, a.column + a.columns - 1);
  return fmt::format("columns {} to {} of Tensor Memory: column {} is not allocated by {} (allocated: {})", column, column + columns - 1, c,
                     pair != 0 ? "tcgen05.alloc.cta_group::2 of this pair" : "this CTA", owned.empty() ? "none" : owned);
}

const TensorAllocation* TensorMemory::held_by(uint32_t key) const {
  const auto it = std::find_if(allocations_.begin(), allocations_.end(), [key](const TensorAllocation& a) { return a.key == key; });
  return it == allocations_.end() ? nullptr : &*it;
}

void TensorMemory::reset(uint32_t key) {
  std::erase_if(allocations_, [key](const TensorAllocation& a) { return a.key == key; });
  std::erase_if(clients_, [key](const Client& c) { return c.key == key; });
  std::erase_if(requests_, [key](const PairRequest& r) { return r.wanted.key == key; });
  if (permit_ == key) permit_.reset();
  ++changes_;
}

}  // namespace tcsim::isa
