// What clusterlaunchcontrol.try_cancel answers: 16 bytes that PTX calls opaque, so that only query_cancel reads them.
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>

#include "isa/exec/warp.h"

namespace tcsim::isa {

struct LaunchResponse {
  static constexpr uint32_t kBytes = 16;
  uint32_t words[4] = {};  // ctaid.x, .y, .z of the cluster's first CTA; 1: a cluster was taken
  bool canceled() const { return words[3] != 0; }
  static LaunchResponse of(const std::optional<Dim3>& first_cta) {
    LaunchResponse r;
    if (first_cta) r.words[0] = first_cta->x, r.words[1] = first_cta->y, r.words[2] = first_cta->z, r.words[3] = 1;
    return r;
  }
};

/// Writes the answer into a CTA's shared memory.
inline void land_response(const LaunchResponse& response, uint32_t offset, WindowMemory& shared) {
  shared.land(offset, LaunchResponse::kBytes);
  std::memcpy(shared.data() + offset, response.words, LaunchResponse::kBytes);
}

}  // namespace tcsim::isa
