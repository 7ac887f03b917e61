#include "isa/exec/async_groups.h"

#include <algorithm>
#include <bit>

namespace tcsim::isa {

void AsyncGroups::clear() {
  for (uint32_t id = head_; id != next_; ++id) copy(id).done = true;
  head_ = next_ = 1;
  outstanding_ = 0;
  open_.clear();
  groups_.clear();
  first_group_ = 0;
  complete_groups_ = 0;
  arrivals_.clear();
}

void AsyncGroups::grow() {
  std::vector<Copy> larger(std::max<size_t>(64, copies_.size() * 2));
  for (uint32_t id = head_; id != next_; ++id) larger[id & (larger.size() - 1)] = copy(id);
  copies_ = std::move(larger);
}

uint32_t AsyncGroups::add(const AsyncCopy& data) {
  if (next_ - head_ >= copies_.size()) grow();
  const uint32_t id = next_++;
  Copy& c = copy(id);
  c.data = data;
  c.group = kOpen;
  c.other = 0;
  c.done = false;
  ++outstanding_;
  return id;
}

uint32_t AsyncGroups::issue(const AsyncCopy& data) {
  const uint32_t id = add(data);
  open_.push_back(id);
  return id;
}

void AsyncGroups::commit(uint32_t mask) {
  const uint32_t number = first_group_ + static_cast<uint32_t>(groups_.size());
  Group group{mask, 0};
  size_t kept = 0;
  for (size_t i = 0; i < open_.size(); ++i) {
    const uint32_t id = open_[i];
    if (is_done(id)) continue;
    const uint32_t lanes = copy(id).data.mask;
    if ((lanes & mask) == 0) {
      open_[kept++] = id;
      continue;
    }
    if ((lanes & ~mask) != 0) {  // the other lanes' part stays open as a copy of its own
      AsyncCopy rest = copy(id).data;
      rest.mask = lanes & ~mask;
      const uint32_t other = add(rest);
      copy(other).other = copy(id).other;
      copy(id).other = other;
      copy(id).data.mask = lanes & mask;
      open_[kept++] = other;
    }
    copy(id).group = number;
    ++group.pending;
  }
  open_.resize(kept);
  groups_.push_back(group);
  if (complete_groups_ >= 64) {
    groups_.erase(groups_.begin(), groups_.begin() + static_cast<ptrdiff_t>(complete_groups_));
    first_group_ += static_cast<uint32_t>(complete_groups_);
    complete_groups_ = 0;
  }
  while (complete_groups_ < groups_.size() && groups_[complete_groups_].pending == 0) ++complete_groups_;
}

void AsyncGroups::complete(uint32_t id, GlobalMemory& global, WindowMemory& shared) {
  for (uint32_t next = 0; id != 0; id = next) {
    if (is_done(id)) break;
    Copy& c = copy(id);
    next = c.other;
    c.done = true;
    --outstanding_;
    if (c.group != kOpen) --groups_[c.group - first_group_].pending;
    if (!move_bytes) continue;
    const AsyncCopy& data = c.data;
    for (uint32_t m = data.mask; m; m &= m - 1) {
      const int l = std::countr_zero(m);
      uint8_t* dst = shared.data() + data.dst[l];
      const uint32_t n = data.src_bytes[l];
      const uint8_t* src = n ? global.map(data.src[l], n) : nullptr;
      if (n == 16 && src) {
        std::memcpy(dst, src, 16);
      } else {
        if (src) std::memcpy(dst, src, n);
        std::memset(dst + n, 0, data.bytes - n);
      }
      shared.land(data.dst[l], data.bytes);
      if (global.any_undefined() && src && global.is_undefined(data.src[l], n)) shared.mark_undefined(data.dst[l], data.bytes);
    }
  }
  while (head_ != next_ && copy(head_).done) ++head_;
  if (outstanding_ == 0) open_.clear();
  while (complete_groups_ < groups_.size() && groups_[complete_groups_].pending == 0) ++complete_groups_;
}

template <class F>
void AsyncGroups::needed_groups(uint32_t mask, uint64_t keep, F&& f) const {
  // Newest first; a lane's newest `keep` groups do not count. counted[l]: groups of lane l seen so far.
  uint32_t counted[kLanes] = {};
  bool same = true;  // all groups so far have all lanes of mask: one counter is enough
  uint64_t seen = 0;
  for (size_t i = groups_.size(); i-- > complete_groups_;) {
    const Group& g = groups_[i];
    uint32_t needing = 0;
    if (same && (mask & ~g.lanes) == 0) {
      if (seen >= keep) needing = mask;
      ++seen;
    } else {
      if (same) std::fill_n(counted, kLanes, static_cast<uint32_t>(seen));
      same = false;
      for (uint32_t m = mask & g.lanes; m; m &= m - 1) {
        const int l = std::countr_zero(m);
        if (counted[l] >= keep) needing |= 1u << l;
        ++counted[l];
      }
    }
    if (needing && g.pending && !f(first_group_ + static_cast<uint32_t>(i), needing)) return;
  }
}

bool AsyncGroups::satisfied(uint32_t mask, uint64_t keep, bool all) const {
  if (outstanding_ == 0) return true;
  if (all) {
    for (const uint32_t id : open_)
      if (!is_done(id) && (copy(id).data.mask & mask)) return false;
  }
  bool ok = true;
  needed_groups(mask, keep, [&](uint32_t group, uint32_t lanes) {
    for (uint32_t id = head_; id != next_ && ok; ++id)
      if (!copy(id).done && copy(id).group == group && (copy(id).data.mask & lanes)) ok = false;
    return ok;
  });
  return ok;
}

std::vector<uint32_t> AsyncGroups::blocking(uint32_t mask, uint64_t keep, bool all) const {
  std::vector<uint32_t> ids;
  std::vector<std::pair<uint32_t, uint32_t>> groups;
  needed_groups(mask, keep, [&](uint32_t group, uint32_t lanes) {
    groups.emplace_back(group, lanes);
    return true;
  });
  for (uint32_t id = head_; id != next_; ++id) {
    const Copy& c = copy(id);
    if (c.done) continue;
    bool needed = all && c.group == kOpen && (c.data.mask & mask);
    for (const auto& [group, lanes] : groups) needed |= c.group == group && (c.data.mask & lanes);
    if (needed) ids.push_back(id);
  }
  return ids;
}

std::vector<uint32_t> AsyncGroups::outstanding() const {
  std::vector<uint32_t> ids;
  for (uint32_t id = head_; id != next_; ++id)
    if (!copy(id).done) ids.push_back(id);
  return ids;
}

void AsyncGroups::arrive_on(uint32_t mask, uint32_t offset, bool noinc) { arrivals_.push_back({{offset, mask, noinc}, next_}); }

std::vector<AsyncGroups::Arrival> AsyncGroups::take_arrivals() {
  std::vector<Arrival> due;
  for (auto& pending : arrivals_) {
    uint32_t waiting = 0;
    for (uint32_t id = head_; id != next_; ++id)
      if (!copy(id).done && id < pending.before) waiting |= copy(id).data.mask;
    const uint32_t now = pending.arrival.lanes & ~waiting;
    if (!now) continue;
    due.push_back({pending.arrival.offset, now, pending.arrival.noinc});
    pending.arrival.lanes &= waiting;
  }
  std::erase_if(arrivals_, [](const Pending& p) { return p.arrival.lanes == 0; });
  return due;
}

}  // namespace tcsim::isa
