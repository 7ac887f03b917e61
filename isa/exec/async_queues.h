// Asynchronous operations of one warp that groups wait for: bulk copies of a thread's bulk groups, and wgmma.
#pragma once
#include <bit>
#include <cstdint>
#include <deque>
#include <vector>

#include "isa/exec/context.h"

namespace tcsim::isa {

/// cp.async.bulk groups (PTX ISA, "Async Copy: bulk groups"): per thread. Ids are given by issue().
class BulkGroups {
 public:
  uint64_t issue(uint32_t lane) {
    entries_.push_back({next_, static_cast<uint8_t>(lane), true, false, 0});
    return next_++;
  }
  void commit(uint32_t lanes) {
    ++group_;
    for (Entry& e : entries_)
      if (e.open && (lanes >> e.lane & 1)) {
        e.open = false;
        e.group = group_;
      }
    for (uint32_t m = lanes; m; m &= m - 1) commits_.push_back({group_, static_cast<uint8_t>(std::countr_zero(m))});
    trim();
  }
  void read_done(uint64_t id) {
    if (Entry* e = find(id)) e->read = true;
  }
  void done(uint64_t id) {
    std::erase_if(entries_, [id](const Entry& e) { return e.id == id; });
    trim();
  }
  /// All but the newest `keep` committed groups of each lane are complete (read: have read their sources).
  bool satisfied(uint32_t lanes, uint64_t keep, bool read) const { return blocking(lanes, keep, read).empty(); }
  std::vector<uint64_t> blocking(uint32_t lanes, uint64_t keep, bool read) const {
    std::vector<uint64_t> ids;
    for (const Entry& e : entries_) {
      if (e.open || !(lanes >> e.lane & 1) || (read && e.read)) continue;
      uint64_t newer = 0;
      for (const Commit& c : commits_) newer += c.lane == e.lane && c.group > e.group;
      if (newer >= keep) ids.push_back(e.id);
    }
    return ids;
  }
  bool empty() const { return entries_.empty(); }
  void clear() {
    entries_.clear();
    commits_.clear();
  }

 private:
  struct Entry {
    uint64_t id;
    uint8_t lane;
    bool open, read;
    uint64_t group;
  };
  struct Commit {
    uint64_t group;
    uint8_t lane;
  };
  Entry* find(uint64_t id) {
    for (Entry& e : entries_)
      if (e.id == id) return &e;
    return nullptr;
  }
  void trim() {
    if (entries_.empty()) commits_.clear();
  }
  std::vector<Entry> entries_;
  std::vector<Commit> commits_;  // of lanes with entries, and newer ones
  uint64_t next_ = 1, group_ = 0;
};

/// wgmma groups of a warp: instructions complete in order. The four warps of a warpgroup count the same instructions.
class WgmmaQueue {
 public:
  void issue(const WgmmaIssue& w) {
    pending_.push_back({w, kOpen});
    ++issued_;
  }
  void commit() {
    ++group_;
    for (Entry& e : pending_)
      if (e.group == kOpen) e.group = group_;
  }
  /// Instructions that must be complete so that at most `keep` committed groups stay pending.
  size_t blocking(uint64_t keep) const {
    size_t n = 0;
    while (n < pending_.size() && pending_[n].group != kOpen && group_ - pending_[n].group >= keep) ++n;
    return n;
  }
  bool empty() const { return pending_.empty(); }
  size_t size() const { return pending_.size(); }
  const WgmmaIssue& at(size_t i) const { return pending_[i].issue; }
  const WgmmaIssue& front() const { return pending_.front().issue; }
  /// Instructions issued since the warp's start, and how many of them left the queue.
  uint64_t issued() const { return issued_; }
  uint64_t popped() const { return issued_ - pending_.size(); }
  uint64_t computed() const { return popped() + computed_; }
  void pop() {
    pending_.pop_front();
    computed_ -= computed_ > 0;
  }
  /// Its D may be computed before it is waited for: the oldest one that is not; nullptr: all are.
  const WgmmaIssue* next_to_compute() const { return computed_ < pending_.size() ? &pending_[computed_].issue : nullptr; }
  void set_computed() { ++computed_; }
  void clear() {
    pending_.clear();
    computed_ = 0;
    issued_ = 0;
  }

 private:
  static constexpr uint64_t kOpen = ~0ull;
  struct Entry {
    WgmmaIssue issue;
    uint64_t group;
  };
  std::deque<Entry> pending_;
  size_t computed_ = 0;  // of the oldest
  uint64_t group_ = 0, issued_ = 0;
};

}  // namespace tcsim::isa
