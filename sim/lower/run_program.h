// Test aid: runs a launch with any program of a kernel (identity or lowered), without time, and counts the steps.
#pragma once
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "isa/exec/cta.h"

namespace tcsim::sim::testing {

struct RunCounts {
  std::vector<uint64_t> executed;  // per step, all warps
  std::string problem;             // empty: all warps exited
  uint64_t total() const {
    uint64_t sum = 0;
    for (uint64_t n : executed) sum += n;
    return sum;
  }
};

/// The first `ctas` CTAs one after the other. Asynchronous copies land when waited for.
inline RunCounts run_program(const isa::Program& program, const isa::LaunchInfo& launch, isa::GlobalMemory& global, uint64_t ctas) {
  RunCounts counts;
  counts.executed.assign(program.step_count(), 0);
  isa::Cta cta;
  std::vector<isa::CtaBarriers::Release> released;
  const auto release = [&] {
    for (const auto& r : released) cta.warps[r.warp].unblock(r.lanes, r.red_result);
  };
  for (uint64_t n = 0; n < ctas; ++n) {
    const isa::Dim3& grid = launch.grid;
    cta.start(program, launch, global,
              {static_cast<uint32_t>(n % grid.x), static_cast<uint32_t>(n / grid.x % grid.y), static_cast<uint32_t>(n / grid.x / grid.y)}, 0, true);
    for (bool ran = true; ran;) {
      ran = false;
      for (isa::Warp& warp : cta.warps) {
        for (uint32_t turn = 0; turn < 256 && warp.runnable() && !warp.exited(); ++turn) {
          ran = true;
          const uint32_t live = warp.live();
          ++counts.executed[warp.pc()];
          const isa::Control control = warp.step();
          const isa::Effects& fx = warp.ctx.fx;
          if (fx.fault.kind != nullptr) {
            counts.problem = std::string(fx.fault.kind) + ": " + fx.fault.text;
            return counts;
          }
          if (fx.has_copy) warp.async.issue(fx.copy);
          if (control == isa::Control::async_commit) warp.async.commit(fx.lanes);
          if (control == isa::Control::async_wait)
            for (uint32_t id : warp.async.blocking(fx.lanes, fx.count, fx.flag)) warp.async.complete(id, global, cta.shared);
          if (control == isa::Control::barrier) {
            released.clear();
            std::string error;
            const bool waits = fx.barrier.kind != isa::BarrierRequest::Kind::arrive;
            if (cta.barriers.arrive(fx.barrier, warp.index(), fx.lanes, released, error)) release();
            else if (waits) warp.block();
            if (!error.empty()) {
              counts.problem = error;
              return counts;
            }
          }
          if (warp.live() != live) {
            released.clear();
            if (cta.barriers.exit(static_cast<uint32_t>(std::popcount(live & ~warp.live())), released)) release();
          }
        }
      }
    }
    for (isa::Warp& warp : cta.warps) {
      for (uint32_t id : warp.async.outstanding()) warp.async.complete(id, global, cta.shared);
      if (!warp.exited()) counts.problem = "a warp did not finish";
    }
  }
  return counts;
}

}  // namespace tcsim::sim::testing
