// A resident cluster as the SMs share it: its CTAs' memories and barrier, and where each CTA is. Messages between its SMs
// leave through Sm::cluster_outbox and arrive after a quantum, so that the order in which SMs are simulated does not matter.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "isa/exec/cluster.h"
#include "isa/exec/launch_response.h"
#include "sim/engine/types.h"

namespace tcsim::sim {

struct ClusterState {
  struct Member {
    uint32_t sm = 0, slot = 0;
  };
  isa::Cluster cluster;
  std::vector<Member> members;  // by rank
  Cycle last_arrival = 0;       // at the cluster barrier, in the current phase
  Cycle released = 0;           // when the waiters of the last phase go on
  uint64_t phase = 0;           // of the barrier, as last announced
};

/// One bulk instruction on its way through a TMA engine. Shared by all SMs that receive its bytes.
struct BulkJob {
  struct Line {
    uint64_t line;
    uint8_t sectors;
    float cycles;
  };
  isa::BulkCopy copy;
  ClusterState* cluster = nullptr;
  uint32_t sm = 0, slot = 0, warp = 0;  // issuer: SM, CTA slot, warp slot
  uint32_t warp_index = 0, rank = 0;    // in its CTA; of the CTA
  std::vector<Line> lines;              // requests to L2, in order
  size_t next = 0;                      // first one not sent
  uint32_t responses = 0;               // sent and not answered
  Cycle issued = 0, earliest = 0;       // earliest: the engine may begin
  bool begun = false;
  uint64_t cta = 0;       // issuer, in launch order
  uint32_t traced = ~0u;  // its index in the issuer's CtaTrace
};

/// A tcgen05.commit in the timeline: its issuer, in launch order, and its index in that CTA's CtaTrace.
struct TracedCommit {
  uint64_t cta = 0;
  uint32_t index = ~0u;
};

struct ClusterMessage {
  enum class Kind : uint8_t { remote, barrier, bulk, tensor, launch_response } kind = Kind::remote;
  Cycle cycle = 0;
  uint32_t sm = 0, slot = 0;  // receiver
  isa::RemoteOp op;           // remote
  isa::MbarrierSource source;
  ClusterState* cluster = nullptr;
  std::shared_ptr<BulkJob> job;  // bulk: bytes that land at the receiver
  isa::Tcgen05Op tensor;         // tensor: a commit's arrival
  TracedCommit commit;
  isa::LaunchResponse response;  // launch_response
  isa::LaunchCancel cancel;
};

/// clusterlaunchcontrol.try_cancel on its way to the CTA scheduler; `cycle`: when the answer arrives.
struct CancelRequest {
  Cycle cycle = 0;
  isa::LaunchCancel cancel;
  isa::MbarrierSource source;
  ClusterState* cluster = nullptr;
};

}  // namespace tcsim::sim
