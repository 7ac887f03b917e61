// What an instruction's semantics work on: registers of one warp (SoA), memory spaces, and the Effects that tell the
// caller (interpreter or timing model) what else has to happen.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "isa/check.h"
#include "isa/exec/bulk_copy.h"
#include "isa/exec/memory.h"
#include "isa/exec/tcgen05_issue.h"
#include "isa/exec/wgmma_issue.h"
#include "isa/ptx/module.h"

namespace tcsim::isa {

class MbarrierUnit;    // isa/exec/mbarrier_unit.h
class WgmmaQueue;      // isa/exec/async_queues.h
class WgmmaRegisters;  // isa/exec/wgmma_registers.h
class TensorWatch;     // isa/exec/tensor_watch.h

constexpr int kLanes = 32;  // warp size: architectural, the same on every machine
constexpr uint32_t kFullMask = 0xffffffffu;

enum class AccessKind : uint8_t { none, load, store, atomic, ldmatrix, stmatrix, cp_async, prefetch };

/// Addresses of the last memory instruction, for the timing model. Shared addresses are byte offsets in the window; local
/// ones too, but interleaved as the hardware stores them (4-byte words of the 32 lanes side by side, (offset / 4) * 128 +
/// lane * 4), so that equal offsets in all lanes coalesce.
struct Access {
  AccessKind kind = AccessKind::none;
  Space space = Space::none;  // resolved: never generic
  uint8_t bytes = 0;          // per lane (ldmatrix: 16 per row address)
  bool cache_global = false;  // .cg and friends: not kept in L1
  bool remote = false;        // shared memory of another CTA of the cluster
  uint8_t rank = 0;           // of that CTA
  uint32_t mask = 0;          // lanes (ldmatrix: lanes whose row addresses are used)
  std::array<uint64_t, kLanes> address;
};

/// A cp.async that was issued: src (global) -> dst (shared offset), n source bytes of `bytes`, the rest zeros.
struct AsyncCopy {
  uint32_t mask = 0;
  uint8_t bytes = 0;  // 4, 8 or 16 per lane
  std::array<uint8_t, kLanes> src_bytes;
  std::array<uint32_t, kLanes> dst;
  std::array<uint64_t, kLanes> src;
};

enum class Control : uint8_t {
  next,
  branch,         // lanes in fx.lanes go to inst.target
  exit,           // lanes in fx.lanes end
  barrier,        // CTA barrier: fx.barrier
  warp_barrier,   // bar.warp.sync / *.sync with a partial member mask: fx.lanes = members that must arrive
  async_commit,   // cp.async.commit_group
  async_wait,     // cp.async.wait_group: fx.count groups may stay pending (wait_all: 0 and also uncommitted ones)
  async_arrive,   // cp.async.mbarrier.arrive: fx.count = shared offset of the mbarrier, fx.flag = noinc
  mbarrier_wait,  // try_wait found the phase of the mbarrier at fx.wait running in all lanes: they may be suspended; the
                  // predicate is false, and Warp::unblock(lanes, 1) makes it true
  bulk_commit,    // cp.async.bulk.commit_group
  bulk_wait,      // cp.async.bulk.wait_group: fx.count groups may stay pending; fx.flag: .read
  wgmma_fence,    // wgmma.fence
  wgmma_commit,
  wgmma_wait,      // fx.count groups may stay pending
  cluster_arrive,  // barrier.cluster.arrive
  cluster_wait,    // barrier.cluster.wait
  register_count,  // setmaxnreg: fx.count registers a thread; fx.flag: inc (may have to wait for registers)
  dependents,      // griddepcontrol: fx.flag: wait, else launch_dependents
  tensor_alloc,    // tcgen05.alloc found no room: the lanes wait, and the instruction runs again when columns were freed
  tensor_wait,     // tcgen05.wait: fx.flag: ::st, else ::ld
  launch_cancel,   // clusterlaunchcontrol.try_cancel: fx.cancel
  sleep,           // nanosleep: fx.count nanoseconds
  trap             // fx.fault.kind tells whether it was a fault; without one it is the trap instruction
};

struct BarrierRequest {
  uint32_t id = 0, threads = 0;  // threads 0: all of the CTA
  enum class Kind : uint8_t { sync, arrive, red_popc, red_and, red_or } kind = Kind::sync;
  uint32_t predicate = 0;  // lanes that contribute true (red)
  bool aligned = true;
};

/// An operation on another CTA's shared memory, or an asynchronous one on shared memory (st.async, red.async, remote
/// mbarrier.arrive and plain remote stores): its effect happens when whoever runs the warp delivers it.
struct RemoteOp {
  enum class Kind : uint8_t { store, reduce, mbarrier_arrive, mbarrier_tx } kind = Kind::store;
  BulkCopy::ReduceOp reduce = BulkCopy::ReduceOp::none;
  Type type = Type::none;
  bool asynchronous = false;  // completes `bytes` on `mbarrier` when it lands
  bool expect_tx = false;     // mbarrier_arrive: expect `bytes` first; mbarrier_tx: expect (else complete)
  bool drop = false;          // mbarrier_arrive_drop
  uint8_t bytes_each = 0;     // store, reduce: 1 to 16
  SharedAddress target, mbarrier;
  uint32_t count = 1, bytes = 0;  // arrivals; transaction bytes
  std::array<uint64_t, 2> value{};
};

/// Where try_wait waits, and the parity of the phase that it waits to see end.
struct MbarrierWait {
  SharedAddress address;
  bool parity = false;
  uint32_t time_hint_ns = 0;  // 0: the system's own limit
};

/// clusterlaunchcontrol.try_cancel: asks for a cluster that has not started; the answer (16 bytes) goes to `response`, and its
/// bytes complete on `mbarrier`, in the issuing CTA or in every CTA of the cluster.
struct LaunchCancel {
  SharedAddress response, mbarrier;
  bool multicast = false;
};

/// Suspicious things that do not stop the kernel; bits of Effects::hazard.
enum Hazard : uint8_t {
  kUninitialisedRead = 1,  // bytes that nobody wrote
  kMissingWait = 2,        // bytes that a cp.async in flight will write
  kOverwriteInFlight = 4,  // a write to bytes that a copy in flight will write, or that a wgmma or bulk store in flight reads
  kMissingProxyFence = 8,  // the asynchronous proxy reads bytes that generic writes left without fence.proxy.async
  kSwizzleMismatch = 16,   // a wgmma descriptor reads with another swizzle than TMA wrote
  kWgmmaRegister = 32,     // registers of a wgmma in flight are read or written
  kStalePhase = 64,        // a wait for a phase that has long ended: the parity is wrong
  // a byte is full: other kinds name themselves in HazardFinding
  kFindings = 128  // not a kind: Effects::findings has something
};

/// A suspicious thing with its own words, found where asynchronous operations are involved.
struct HazardFinding {
  static constexpr uint32_t kNone = ~0u;
  Hazard kind = kUninitialisedRead;
  uint32_t inst = 0, warp = 0;             // where it is reported
  uint32_t other = kNone, other_warp = 0;  // instruction that it collides with
  uint32_t offset = 0;                     // of shared memory; kNone: no place in memory
  std::string text;                        // follows the instruction's text; {} stands for the other instruction
  const char* named = nullptr;             // kind of the Diagnostic when no Hazard bit stands for it: "missing-tcgen05-fence"
};

/// The user's fault found while executing: becomes a Diagnostic with the instruction's place and exit code 3.
struct Fault {
  const char* kind = nullptr;  // "out-of-bounds", "misaligned", "illegal-instruction", "barrier-misuse", "tmem-misuse", "unknown-value"
  int lane = -1;
  uint64_t address = 0;
  std::string text;
};

struct Effects {
  Control control = Control::next;
  bool flag = false;
  bool has_copy = false;
  uint8_t hazard = 0;  // Hazard bits of the last step
  int8_t hazard_lane = 0;
  uint32_t lanes = 0;  // lanes that the control concerns: those that executed (guard applied)
  uint64_t count = 0;
  uint64_t hazard_address = 0;
  BarrierRequest barrier;
  Access access;
  AsyncCopy copy;
  Fault fault;
  // Asynchronous operations that the step issued; cleared with `issued`.
  enum Issued : uint8_t {
    kBulk = 1,
    kWgmma = 2,
    kRemote = 4,
    kProxyFence = 8,
    kMbarrier = 16,
    kPoll = 32,
    kTcgen05 = 64
  };  // kMbarrier: one was changed; kPoll: a test_wait said no
  uint8_t issued = 0;
  std::vector<BulkCopy> bulk;
  WgmmaIssue wgmma;
  std::vector<RemoteOp> remote;
  std::vector<Tcgen05Op> tcgen05;
  LaunchCancel cancel;
  std::vector<HazardFinding> findings;  // emptied by whoever reports them
  MbarrierWait wait;
  // wmma.load and wmma.store make several accesses: those after the first, more[0 .. more_count).
  uint8_t more_count = 0;
  std::vector<Access> more;

  void reset() {
    control = Control::next;
    has_copy = false;
    hazard = 0;
    more_count = 0;
    access.kind = AccessKind::none;
    if (issued != 0) [[unlikely]]
      clear_issued();
  }
  [[gnu::cold]] void clear_issued() {
    issued = 0;
    bulk.clear();
    remote.clear();
    tcgen05.clear();
  }
};

/// Fixed facts of the running warp, and its CTA's memories.
struct ExecContext {
  uint32_t* regs = nullptr;         // slot s, lane l: regs[s * 32 + l]; 64-bit registers: u64 lanes from slot s on
  uint32_t* preds = nullptr;        // predicate p: lane mask preds[p]
  uint32_t warp_lanes = kFullMask;  // lanes that exist (last warp of a CTA may be partial)
  uint32_t live = kFullMask;        // lanes that have not exited
  uint32_t active = kFullMask;      // lanes of the current split, before the guard
  GlobalMemory* global = nullptr;
  WindowMemory* shared = nullptr;  // of the CTA
  WindowMemory* target = nullptr;  // shared memory that the current access goes to: of another CTA of the cluster, or `shared`
  MbarrierUnit* mbarriers = nullptr;
  const WgmmaQueue* wgmma = nullptr;                // of the warp
  const WgmmaRegisters* wgmma_registers = nullptr;  // of the program
  WindowMemory* local = nullptr;                    // of the warp: lane-major, local_stride each
  uint32_t local_bytes = 0;                         // per thread
  uint32_t local_stride = 0;                        // local_bytes rounded up, so that lanes keep the alignment of any access
  const uint8_t* params = nullptr;
  uint32_t param_bytes = 0;
  const uint8_t* constants = nullptr;
  uint32_t constant_bytes = 0;
  uint32_t* carry = nullptr;    // condition code CC.CF: lane mask
  const Inst* insts = nullptr;  // of the kernel
  uint16_t warp_index = 0;      // in the CTA
  uint32_t index_of(const Inst& inst) const { return static_cast<uint32_t>(&inst - insts); }
  uint64_t clock = 0;  // %clock, %clock64: cycle (timing) or instruction count (functional)
  uint64_t globaltimer_ns = 0;
  uint32_t cluster_rank = 0;                      // %cluster_ctarank
  uint32_t cluster_size = 1;                      // CTAs in the cluster
  TensorMemory* tensor = nullptr;                 // of the SM; nullptr: the machine has none
  TensorMemory* const* cluster_tensor = nullptr;  // of each rank; nullptr when the cluster is this CTA alone
  uint32_t cta_key = 0;                           // names this CTA among those that share its Tensor Memory
  TensorWatch* tensor_watch = nullptr;            // of the cluster; nullptr: nobody watches
  WindowMemory* const* cluster_shared = nullptr;  // shared memory of each rank; nullptr when the cluster is this CTA alone
  uint8_t generation = 0;                         // Generation of the tensor cores (LaunchInfo::generation)
  bool values_known = true;                       // false: timing mode
  bool addresses_only = false;                    // timing mode, this instruction: nobody needs the data, move none
  bool data_unknown = false;                      // timing mode, this instruction: the data to store or combine were not computed
  Effects fx;

  // Register access. T is uint32_t or uint64_t (or float, double, ...of that size).
  template <class T>
  T* reg(int32_t slot) {
    return reinterpret_cast<T*>(regs + static_cast<ptrdiff_t>(slot) * kLanes);
  }
  /// Lanes of a source operand: a register or an immediate's 32 equal lanes.
  template <class T>
  const T* src(const Operand& op) {
    return op.kind == Operand::Kind::constant ? static_cast<const T*>(op.lanes) : reg<T>(op.slot);
  }
  uint32_t pred(const Operand& op) const { return op.negated ? ~preds[op.slot] : preds[op.slot]; }
  /// Ends the kernel with the user's fault.
  void fault(const char* kind, int lane, uint64_t address, std::string text) {
    fx.control = Control::trap;
    fx.fault = {kind, lane, address, std::move(text)};
  }
  void hazard(Hazard kind, int lane, uint64_t address) {
    fx.hazard |= kind;
    fx.hazard_lane = static_cast<int8_t>(lane);
    fx.hazard_address = address;
  }
  void find(HazardFinding finding) {
    fx.hazard |= kFindings;
    fx.findings.push_back(std::move(finding));
  }
  /// True when all live lanes that a *.sync instruction names are here (mask). Otherwise asks the warp to wait for them;
  /// the instruction must then do nothing: it is run again with more lanes.
  bool converged(uint32_t members, uint32_t mask) {
    if ((members & live & ~mask) == 0) [[likely]]
      return true;
    fx.control = Control::warp_barrier;
    fx.lanes = members;
    return false;
  }
  void set_pred(int32_t slot, uint32_t value, uint32_t mask) { preds[slot] = (preds[slot] & ~mask) | (value & mask); }
};

/// d = f(a[l], ...) for the lanes in mask: the loop vectorises when all lanes are on.
template <class D, class F>
inline void for_lanes(D* d, uint32_t mask, F&& f) {
  if (mask == kFullMask) {
    for (int l = 0; l < kLanes; ++l) d[l] = f(l);
  } else {
    for (int l = 0; l < kLanes; ++l)
      if (mask >> l & 1) d[l] = f(l);
  }
}

}  // namespace tcsim::isa
