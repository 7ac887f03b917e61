// Which pipe of the sub-core an operation uses, and under which stall reason others wait for its result.
#pragma once
#include "isa/op.h"
#include "sim/sm/warp_slot.h"

namespace tcsim::sim {

/// Structure of the SM, the same on every generation here; rates and latencies are in the machine file.
constexpr Pipe pipe_of(isa::TimingClass c) {
  using T = isa::TimingClass;
  switch (c) {
    case T::alu:
    case T::isetp:
    case T::cvt_pack:
    case T::vote: return Pipe::alu;
    case T::imad:
    case T::imad_wide:
    case T::fma:
    case T::half: return Pipe::fma;
    case T::fp64: return Pipe::fp64;
    case T::mufu:
    case T::cvt:
    case T::popc: return Pipe::xu;
    case T::mma: return Pipe::tensor;
    case T::tma:
    case T::tma_wait:
    case T::launch_cancel: return Pipe::tma;
    case T::tcgen05_ld:
    case T::tcgen05_st: return Pipe::tensor_memory;
    case T::tcgen05_mma: return Pipe::tensor;
    case T::mbarrier_arrive:
    case T::mbarrier_wait:
    case T::lds_remote:
    case T::sts_remote: return Pipe::mio;
    case T::uniform:
    case T::redux:
    case T::tcgen05_cp:
    case T::tcgen05_commit: return Pipe::uniform;
    case T::lds:
    case T::sts:
    case T::ldsm:
    case T::stsm:
    case T::movm:
    case T::atoms:
    case T::shfl:
    case T::s2r:
    case T::ldgsts: return Pipe::mio;
    case T::ldg:
    case T::stg:
    case T::ldl:
    case T::stl:
    case T::atomg:
    case T::red: return Pipe::lsu;
    default: return Pipe::none;
  }
}

/// Results of variable-latency units are waited for on a scoreboard; fixed-latency ones count as "wait".
constexpr Stall wait_reason(isa::TimingClass c) {
  using T = isa::TimingClass;
  switch (c) {
    case T::lds:
    case T::ldsm:
    case T::atoms:
    case T::shfl:
    case T::s2r:
    case T::mufu:
    case T::cvt:
    case T::popc:
    case T::movm:
    case T::redux:
    case T::mbarrier_arrive: return Stall::short_scoreboard;
    case T::ldg:
    case T::ldl:
    case T::atomg:
    case T::ldgsts:
    case T::depbar:
    case T::mbarrier_wait:
    case T::lds_remote:
    case T::wgmma_wait:
    case T::tma_wait:
    case T::tcgen05_ld:
    case T::tcgen05_wait: return Stall::long_scoreboard;
    case T::wgmma:
    case T::wgmma_fence: return Stall::gmma;
    case T::ldc: return Stall::imc_miss;
    case T::bar:
    case T::bar_cluster: return Stall::barrier;
    case T::fence_proxy:
    case T::membar_cta:
    case T::membar_gl: return Stall::membar;
    case T::branch: return Stall::branch_resolving;
    case T::nanosleep: return Stall::sleeping;
    default: return Stall::wait;
  }
}

/// Why a ready warp could not issue while the pipe was taken by another warp.
constexpr Stall throttle_reason(Pipe pipe) {
  switch (pipe) {
    case Pipe::mio: return Stall::mio_throttle;
    case Pipe::lsu: return Stall::lg_throttle;
    case Pipe::tma: return Stall::mio_throttle;
    default: return Stall::math_pipe_throttle;
  }
}

}  // namespace tcsim::sim
