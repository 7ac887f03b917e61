// Watches what threads and the asynchronous proxy (TMA, wgmma, tcgen05) do to each other's bytes in the shared memory of one CTA (PTX
// ISA, "Proxies", "Async proxy"), and says what a later run or another chip may do differently:
//
//   missing-proxy-fence   an asynchronous reader meets bytes that generic writes left without fence.proxy.async
//   missing-wait          it meets bytes that a bulk copy in flight will write
//   overwrite-in-flight   bytes are written that a wgmma or bulk store in flight reads or a bulk copy writes, or that nobody waited for
//   swizzle-mismatch      a wgmma descriptor reads with another pattern than TMA wrote with, or a tile starts inside the pattern
//   uninitialised-read    wgmma reads bytes that nobody wrote
//
// Findings go to ctx.fx.findings. Addresses are enough: it works without data too.
//
// Writes are tagged in granules of 16 bytes with the warp that wrote. Its own fence clears them; once the warp has arrived at a
// barrier (bar, barrier.cluster, mbarrier), anybody's fence does, for the fence then lies on the causality path. That is
// lenient: it does not ask whether the fencing warp was at that barrier. cp.async is not tagged: Triton's sm_90a kernels feed
// wgmma with it without a fence, and give right results on an H200.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "isa/exec/context.h"

namespace tcsim::isa {

class Warp;
class TensorWatch;  // isa/exec/tensor_watch.h

/// Old bytes of granules that an asynchronous reader sees instead of the new ones, for want of a fence.
struct StaleBytes {
  struct Granule {
    uint32_t offset;
    std::array<uint8_t, 16> bytes;
  };
  std::vector<Granule> granules;
};

/// While it lives, the memory holds the old bytes.
class StaleView {
 public:
  StaleView(const StaleBytes* stale, const WindowMemory& memory);
  ~StaleView();
  StaleView(const StaleView&) = delete;
  StaleView& operator=(const StaleView&) = delete;

 private:
  WindowMemory* memory_ = nullptr;
  StaleBytes now_;
};

class SharedWatch {
 public:
  /// Prepares for a CTA. on: the kernel has asynchronous operations on shared memory (Program::async_proxy). `warps` must live.
  void start(bool on, uint32_t bytes, const std::vector<Warp>& warps, uint32_t rank = 0);
  bool on() const { return on_; }
  /// Asynchronous readers get the old bytes of what was not fenced (functional runs with late or random order). Set before start().
  void keep_old(bool keep) { keep_old_ = keep; }

  // ---- threads ----
  /// Before lanes write `bytes` each at offset[lane]. remote: they belong to another CTA.
  void writes(ExecContext& ctx, uint32_t inst, uint32_t mask, const uint32_t* offset, uint32_t bytes, bool remote);
  /// The watch of Tensor Memory hears of the same barriers; nullptr: none.
  void set_tensor_watch(TensorWatch* watch) { tensor_watch_ = watch; }
  TensorWatch* tensor_watch() const { return tensor_watch_; }
  /// fence.proxy.async of a warp.
  void fence(uint32_t warp);
  /// A warp arrives at a barrier: others may rely on what it did before.
  void publish(uint32_t warp);
  /// Counts a warp's arrivals at barriers.
  uint32_t published(uint32_t warp) const { return warp < publishes_.size() ? publishes_[warp] : 0; }

  // ---- the asynchronous proxy, when the instruction executes ----
  /// Sets issue.stale when old bytes are kept.
  void wgmma(ExecContext& ctx, WgmmaIssue& issue);
  /// The reading side: source of a store, reduction or shared_to_cluster in this CTA. Sets copy.stale.
  void bulk_reads(ExecContext& ctx, uint32_t inst, BulkCopy& copy);
  /// The writing side in this CTA, at `offset`.
  void bulk_writes(ExecContext& ctx, uint32_t inst, const BulkCopy& copy, uint32_t offset);

  /// An operation of the tensor core that reads `runs` of this CTA's memory: tcgen05.mma and cp. issuer: any number that names the warp.
  /// stale (may be nullptr): as issue.stale of wgmma.
  void tensor(ExecContext& ctx, const Tcgen05Op& op, uint32_t issuer, const WindowMemory& memory, const std::vector<WgmmaRead>& runs,
              std::shared_ptr<const StaleBytes>* stale);

  // ---- and later ----
  /// Somebody waited for a commit: the operations of the issuer up to `id` have read what they read.
  void tensor_waited(uint32_t issuer, uint64_t id);
  void landed(const BulkCopy& copy, uint32_t offset) { forget(loads_, copy, offset); }
  void has_read(const BulkCopy& copy) { forget(stores_, copy, copy.shared.offset); }

 private:
  static constexpr uint32_t kGranule = 16, kBlock = 1024;  // of tags; of swizzle modes: the longest pattern
  static constexpr uint8_t kAnybody = 0xff;                // tag: any warp's fence counts
  struct Run {
    uint32_t first, count;
  };  // granules
  struct Writer {
    uint32_t inst;
    uint32_t warp;
  };
  struct Flight {
    uint32_t offset, bytes, inst, warp;
  };
  struct Loaded {
    uint32_t mbarrier, inst, warp;
    uint64_t phase;
  };
  struct TensorReads {
    uint32_t issuer;
    uint64_t id;
    uint32_t inst, warp, begin, end;
    std::vector<WgmmaRead> runs;
  };
  struct Block {
    uint8_t mode = 0;
    uint32_t base = 0, inst = 0, warp = 0;
  };  // mode: 1 + TensorMap::Swizzling, 0: not known

  static void forget(std::vector<Flight>& flights, const BulkCopy& copy, uint32_t offset);
  void tag(uint32_t warp, uint32_t inst, uint32_t offset, uint32_t bytes, bool remote);
  void clear(std::vector<Run>& runs, uint8_t tag);
  void clear_range(uint32_t offset, uint32_t bytes);
  void note_publication(Run run);
  void check_overwrite(ExecContext& ctx, uint32_t inst, uint32_t offset, uint32_t bytes);
  bool check_tensor_readers(ExecContext& ctx, uint32_t inst, uint32_t offset, uint32_t bytes);
  bool check_wgmma_readers(ExecContext& ctx, uint32_t inst, uint32_t offset, uint32_t bytes);
  void check_unread(ExecContext& ctx, uint32_t inst, const BulkCopy& copy, uint32_t offset);
  void check_flights(ExecContext& ctx, uint32_t inst, const std::vector<WgmmaRead>& runs);
  std::shared_ptr<const StaleBytes> check_fences(ExecContext& ctx, uint32_t inst, const std::vector<WgmmaRead>& runs);
  void check_undefined(ExecContext& ctx, uint32_t inst, const std::vector<WgmmaRead>& runs, const WindowMemory& shared);
  void check_swizzle(ExecContext& ctx, const WgmmaIssue& issue);
  void check_swizzle(ExecContext& ctx, uint32_t inst, const std::vector<WgmmaRead>& runs);
  void check_alignment(ExecContext& ctx, uint32_t inst, const BulkCopy& copy, const char* what);

  bool on_ = false, keep_old_ = false;
  uint32_t rank_ = 0;  // of the CTA in its cluster
  TensorWatch* tensor_watch_ = nullptr;
  const std::vector<Warp>* warps_ = nullptr;
  std::vector<uint32_t> publishes_;  // per warp
  uint32_t dirty_count_ = 0;
  std::vector<uint8_t> tags_;                 // per granule: 0 clean, 1 + warp, kAnybody
  std::vector<Writer> writers_;               // of the granules that are not clean
  std::vector<std::array<uint8_t, 16>> old_;  // likewise; only when old bytes are kept
  std::vector<std::vector<Run>> dirty_;       // per warp
  std::vector<Run> published_;
  std::vector<Block> blocks_;
  std::vector<Flight> loads_, stores_;               // in flight: bytes to be written; bytes to be read
  std::unordered_map<uint32_t, Loaded> last_loads_;  // by offset
  std::deque<TensorReads> tensor_reads_;
  std::vector<WgmmaRead> runs_;
};

}  // namespace tcsim::isa
