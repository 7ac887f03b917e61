// What happened in one traced CTA, cycle by cycle: the SM that runs the CTA writes it, write_perfetto (perfetto.h) draws it.
//
//   Trace trace({.ctas = {0, 5}}, launch.cluster.count());
//   options.trace = &trace;                       // SimOptions; nullptr: nothing is recorded, and nothing costs time
//
// A CTA's record has one writer at a time, so that host threads change nothing. It is bounded: after `max_events` in all the
// rest of the run is left out, and Trace::full_at() says from when on.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "isa/exec/bulk_copy.h"
#include "isa/exec/mbarrier_unit.h"
#include "isa/exec/tcgen05_issue.h"
#include "sim/sm/warp_slot.h"

namespace tcsim::sim {

class CtaTrace {
 public:
  static constexpr uint32_t kNone = ~0u;

  /// Who let a suspended warp go on.
  struct Cause {
    enum class By : uint8_t { none, copy, wgmma, tensor, warp, remote_warp } by = By::none;
    uint32_t index = 0;  // of the copy, the wgmma, the tcgen05 operation (a commit) or the warp
    uint64_t cta = 0;    // copies, tcgen05: the CTA that issued it; remote warps: rank in the cluster
    Cycle at = kNever;
  };
  /// A warp that the hardware suspended; or, on Blocked::no, one that waits for its accesses to Tensor Memory.
  struct Wait {
    Blocked on = Blocked::no;
    uint64_t id = 0;     // mbarrier: offset; barrier: number; groups: how many may stay pending; registers wanted
    uint64_t phase = 0;  // mbarrier: the awaited one
    uint32_t inst = 0;   // the waiting instruction
    Cycle resumed = kNever;
    bool timed_out = false;
    Cause cause;
  };
  /// A part of a warp's time. `selected`: issued an operation in each of these cycles, `op` the first; else: what held `op` back.
  struct Slice {
    uint32_t op = 0;
    Stall reason = Stall::selected;
    Cycle from = 0, to = 0;
    uint32_t wait = kNone;  // index in waits()
  };
  struct Copy {
    isa::BulkCopy copy;
    uint32_t warp = 0;
    Cycle issued = 0;
  };
  /// Bytes of a copy are where they should be: in this CTA's shared memory, in another CTA's, or in global memory. Also: the arrival
  /// of a commit at an mbarrier of this CTA. cta: the issuer.
  struct Landing {
    uint64_t cta;
    uint32_t index;
    Cycle at;
  };
  struct Wgmma {
    uint32_t inst = 0, group = 0;
    Cycle issued = 0, from = kNever, to = kNever, done = kNever;  // on the tensor cores [from, to); registers written at done
  };
  /// A tcgen05 operation. It holds the tensor core in [from, to); its result is in Tensor Memory, or a commit's arrivals leave, at done.
  struct TensorOp {
    isa::Tcgen05Op op;
    uint32_t warp = 0;
    Cycle issued = 0, from = 0, to = 0, done = 0;
  };
  /// tcgen05.ld or st of a warp: passes through its sub-core's way to Tensor Memory in [from, to), is over at done.
  struct TensorAccess {
    uint32_t inst = 0, warp = 0;
    Cycle from = 0, to = 0, done = 0;
  };
  /// Which columns of Tensor Memory the CTA owns from now on: a bit for each unit of allocation.
  struct TensorColumns {
    Cycle at = 0;
    uint32_t units = 0;
  };
  struct BarrierChange {
    uint32_t offset = 0;
    Cycle at = 0;
    uint64_t phase = 0;
    uint32_t pending = 0, expected = 0;
    int32_t bytes = 0;  // missing
    auto operator<=>(const BarrierChange&) const = default;
  };

  CtaTrace(uint64_t linear, size_t max_events) : linear_(linear), room_(max_events) {}

  // ---- the SM's side ----
  void start(uint32_t sm, isa::Dim3 id, uint32_t warps, Cycle at);
  void issued(uint32_t warp, uint32_t op, Cycle now);
  void waited(uint32_t warp, uint32_t op, Stall reason, Cycle from, Cycle to);
  void suspended(uint32_t warp, const Wait& wait);
  void resumed(uint32_t warp, Cycle now, bool timed_out = false);
  /// Index for copy_landed; kNone when there is no room.
  uint32_t copy_issued(uint32_t warp, const isa::BulkCopy& copy, Cycle now);
  /// The source of a store has been read.
  void copy_read(uint32_t copy, Cycle now);
  /// Of a copy that CTA `cta` issued.
  void copy_landed(uint64_t cta, uint32_t copy, Cycle now);
  void wgmma_issued(uint32_t group, uint32_t inst, Cycle now);
  void wgmma_ran(uint32_t group, Cycle from, Cycle to);
  void wgmma_done(uint32_t group, Cycle now);
  /// The index of the operation, for `committed`; kNone when there is no room.
  uint32_t tensor_issued(const TensorOp& op);
  /// The arrival of a commit that CTA `cta` issued.
  void committed(uint64_t cta, uint32_t index, Cycle now);
  void tensor_accessed(const TensorAccess& access);
  void tensor_columns(uint32_t units, Cycle now);
  void remote_arrival(uint32_t rank, uint32_t warp, Cycle now) { cause_ = {Cause::By::remote_warp, warp, rank, now}; }
  /// Notes what changed since the last look.
  void look_at(const isa::MbarrierUnit& barriers, Cycle now);

  // ---- the reader's side ----
  uint64_t linear() const { return linear_; }
  bool started() const { return !warps_.empty(); }
  uint32_t sm() const { return sm_; }
  isa::Dim3 id() const { return id_; }
  Cycle begin() const { return begin_; }
  const std::vector<std::vector<Slice>>& warps() const { return warps_; }
  const std::vector<Wait>& waits() const { return waits_; }
  /// In waits(): what the warp still waits for at the end of the record; kNone: nothing.
  uint32_t open_wait(uint32_t warp) const { return open_[warp] != kNone && waits_[open_[warp]].resumed == kNever ? open_[warp] : kNone; }
  const std::vector<Copy>& copies() const { return copies_; }
  const std::vector<Landing>& landings() const { return landings_; }
  const std::vector<Wgmma>& wgmmas() const { return wgmmas_; }
  const std::vector<TensorOp>& tensor_ops() const { return tensor_ops_; }
  const std::vector<Landing>& commits() const { return commits_; }
  const std::vector<TensorAccess>& tensor_accesses() const { return accesses_; }
  const std::vector<TensorColumns>& tensor_columns() const { return columns_; }
  const std::vector<BarrierChange>& barrier_changes() const { return changes_; }
  Cycle full_at() const { return full_at_; }  // kNever: all is here

 private:
  bool take(Cycle now);

  uint64_t linear_;
  size_t room_;
  Cycle full_at_ = kNever;
  uint32_t sm_ = 0;
  isa::Dim3 id_;
  Cycle begin_ = 0;
  std::vector<std::vector<Slice>> warps_;
  std::vector<uint32_t> open_;  // by warp: its wait that no slice shows yet
  std::vector<Wait> waits_;
  std::vector<Copy> copies_;
  std::vector<Landing> landings_;
  std::vector<Wgmma> wgmmas_;
  struct Queue {
    std::vector<uint32_t> issued;
    size_t ran = 0, done = 0;
  };
  std::map<uint32_t, Queue> groups_;  // warpgroups: indices in wgmmas_, in order
  std::vector<TensorOp> tensor_ops_;
  std::vector<Landing> commits_;
  std::vector<TensorAccess> accesses_;
  std::vector<TensorColumns> columns_;
  std::vector<BarrierChange> changes_;
  std::map<uint32_t, BarrierChange> seen_;
  Cause cause_;
};

struct TraceOptions {
  std::vector<uint64_t> ctas;   // in launch order; empty: the first CTA, and its peers when it has a cluster
  size_t max_events = 400'000;  // slices, copies, matrix instructions and barrier changes of all CTAs
};

/// The traced CTAs of one launch.
class Trace {
 public:
  Trace(const TraceOptions& options, uint64_t cluster_ctas);
  /// nullptr: the CTA was not chosen.
  CtaTrace* of(uint64_t linear) const;
  const std::vector<std::unique_ptr<CtaTrace>>& ctas() const { return ctas_; }
  /// kNever when everything fitted.
  Cycle full_at() const;

 private:
  std::vector<std::unique_ptr<CtaTrace>> ctas_;  // by linear index
};

}  // namespace tcsim::sim
