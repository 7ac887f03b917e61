// cp.async groups of one warp (PTX ISA, "Data Movement and Conversion: Asynchronous copy"), counted per lane, so that
// divergent commits and waits are right.
//
//   id = groups.issue(fx.copy);  groups.commit(mask);  ... groups.complete(id, global, shared);
//   if (!groups.satisfied(mask, keep, all)) block();
#pragma once
#include <cstdint>
#include <vector>

#include "isa/exec/context.h"

namespace tcsim::isa {

class AsyncGroups {
 public:
  /// False: bytes are not moved when a copy completes (timing mode, nobody needs them).
  bool move_bytes = true;

  /// Registers an issued copy in the open (uncommitted) group; the id is used to complete it.
  uint32_t issue(const AsyncCopy& copy);
  /// cp.async.commit_group for the lanes in mask.
  void commit(uint32_t mask);
  /// The copy's bytes land in shared memory now (source bytes are read now).
  void complete(uint32_t id, GlobalMemory& global, WindowMemory& shared);
  /// True when, for every lane in mask, all committed groups but the newest `keep` are complete
  /// (all: uncommitted copies too).
  bool satisfied(uint32_t mask, uint64_t keep, bool all) const;
  /// Ids of copies not complete that `satisfied` is waiting for / of all copies not complete, oldest first.
  std::vector<uint32_t> blocking(uint32_t mask, uint64_t keep, bool all) const;
  std::vector<uint32_t> outstanding() const;
  bool empty() const { return outstanding_ == 0; }
  void clear();

  /// cp.async.mbarrier.arrive: when all copies issued so far by these lanes are complete, one arrival a lane on the
  /// mbarrier at `offset`. Arrivals that became due are returned by take_arrivals().
  struct Arrival {
    uint32_t offset, lanes;
    bool noinc;
  };
  void arrive_on(uint32_t mask, uint32_t offset, bool noinc);
  bool has_arrivals() const { return !arrivals_.empty(); }
  std::vector<Arrival> take_arrivals();

 private:
  static constexpr uint32_t kOpen = 0xffffffffu;
  struct Copy {
    AsyncCopy data;
    uint32_t group = kOpen;  // number of its group
    uint32_t other = 0;      // id of the part that a divergent commit split off, 0: none
    bool done = true;
  };
  struct Group {
    uint32_t lanes, pending;
  };
  struct Pending {
    Arrival arrival;
    uint32_t before;
  };  // waits for copies with smaller ids

  Copy& copy(uint32_t id) { return copies_[id & (copies_.size() - 1)]; }
  const Copy& copy(uint32_t id) const { return copies_[id & (copies_.size() - 1)]; }
  bool is_done(uint32_t id) const { return id < head_ || copy(id).done; }  // the ring may have reused an old id's place
  uint32_t add(const AsyncCopy& data);
  void grow();
  /// Calls f(group number) for the committed groups with copies in flight that the wait needs.
  template <class F>
  void needed_groups(uint32_t mask, uint64_t keep, F&& f) const;

  std::vector<Copy> copies_;  // ring, a power of two; ids [head_, next_)
  uint32_t head_ = 1, next_ = 1, outstanding_ = 0;
  std::vector<uint32_t> open_;  // ids not committed
  std::vector<Group> groups_;   // numbers [first_group_, first_group_ + size)
  uint32_t first_group_ = 0;
  size_t complete_groups_ = 0;  // at the front of groups_, erased in batches
  std::vector<Pending> arrivals_;
};

}  // namespace tcsim::isa
