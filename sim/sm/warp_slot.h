// Timing state of one resident warp.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "isa/exec/warp.h"
#include "sim/sm/run.h"

namespace tcsim::sim {

/// When a value can be used: (cycle << 8 | stall reason of who waits for it), or kPendingBit | load slot << 8 | reason.
using ReadyAt = uint64_t;
constexpr ReadyAt kPendingBit = 1ull << 63;
constexpr ReadyAt ready_at(Cycle cycle, Stall reason) { return cycle << 8 | static_cast<uint64_t>(reason); }
constexpr Cycle ready_cycle(ReadyAt r) { return r >> 8; }
constexpr Stall ready_reason(ReadyAt r) { return static_cast<Stall>(r & 0xff); }
constexpr ReadyAt pending_on(uint32_t slot, Stall reason) { return kPendingBit | uint64_t{slot} << 8 | static_cast<uint64_t>(reason); }
constexpr uint32_t pending_slot(ReadyAt r) { return static_cast<uint32_t>((r & ~kPendingBit) >> 8); }

/// Queues and pipes that an operation needs when it issues.
enum class Pipe : uint8_t { none, alu, fma, fp64, xu, tensor, uniform, mio, lsu, tma, tensor_memory, count };
constexpr size_t kPipes = static_cast<size_t>(Pipe::count);

/// What a warp is waiting for when its ready cycle is not known.
enum class Blocked : uint8_t {
  no,
  load,
  barrier,
  async_group,
  sleep,
  stores,
  warp_split,
  mbarrier,
  bulk_group,
  wgmma,
  cluster,
  registers,
  tensor_alloc
};

class CtaTrace;

struct LoadSlot {
  uint32_t responses = 0;  // still to come
  uint32_t op = 0;         // whose results become ready
  Cycle last = 0;          // of the responses that came
  Stall reason = Stall::long_scoreboard;
  bool copies_seen = false;  // a TokenCopy moved one of its tokens
};

struct WarpSlot {
  isa::Warp* warp = nullptr;
  CtaTrace* trace = nullptr;                                        // nullptr: its CTA is not recorded
  uint32_t cta_slot = 0, index_in_cta = 0, subcore = 0, place = 0;  // place: index in the sub-core's arrays
  uint64_t age = 0;                                                 // start order: the youngest has the largest
  bool resident = false;

  // The next operation and what it waited or waits for.
  uint32_t op = 0;  // step in the program
  Blocked blocked = Blocked::no;
  Cycle issued = 0;       // cycle of the last issue (or of becoming resident)
  Cycle stall_until = 0;  // fixed distance after the last issue ("wait")
  Stall stall_reason = Stall::wait;
  ReadyAt depends = 0;  // latest source, with its reason

  std::vector<ReadyAt> tokens;
  std::vector<LoadSlot> loads;
  std::vector<uint32_t> free_loads;
  uint32_t outstanding = 0;   // cp.async not landed, bulk stores not read, and the like: the warp cannot end before them ...
  Cycle stores_leave = 0;     // ... nor before its last store has left the SM
  uint32_t fetch_line = ~0u;  // instruction line it has
  Cycle arrived = 0;          // at the barrier or wait it is blocked in
  bool waits_all = false;     // async wait: uncommitted copies too; bulk wait: .read
  uint64_t wait_keep = 0;     // groups that may stay pending; registers wanted
  uint32_t waits = 0;         // counts them, so that an old time-out is known as such
  uint32_t vain_waits = 0;    // mbarrier waits without success since something happened on the SM
  uint32_t wait_lanes = 0;
  uint32_t cluster_lanes = 0;                 // that wait at the cluster barrier, while others of the warp may go on
  Cycle tensor_read = 0, tensor_written = 0;  // when its last tcgen05.ld and st will be over
};

}  // namespace tcsim::sim
