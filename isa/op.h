// What an instruction is (Op), and which timing class it belongs to (a key into the machine file, never a number).
#pragma once
#include <cstdint>
#include <string_view>

namespace tcsim::isa {

/// One value per base operation. Variants that the lowering must tell apart (lo/hi/wide) have their own.
enum class Op : uint16_t {
  invalid,
  // integer
  add,
  sub,
  mul_lo,
  mul_hi,
  mul_wide,
  mad_lo,
  mad_hi,
  mad_wide,
  mul24,
  mad24,
  sad,
  div,
  rem,
  abs,
  neg,
  min,
  max,
  popc,
  clz,
  bfind,
  fns,
  brev,
  bfe,
  bfi,
  szext,
  bmsk,
  dp4a,
  dp2a,
  addc,
  subc,
  madc,
  // floating point (add..max above serve both; type tells)
  fma,
  rcp,
  sqrt,
  rsqrt,
  sin,
  cos,
  lg2,
  ex2,
  tanh,
  copysign,
  testp,
  // compare and select
  setp,
  set,
  selp,
  slct,
  // logic and shift
  and_,
  or_,
  xor_,
  not_,
  cnot,
  lop3,
  shl,
  shr,
  shf,
  // moves
  mov,
  prmt,
  cvt,
  cvta,
  isspacep,
  mapa,
  shfl,
  vote,
  match,
  redux,
  activemask,
  elect,
  // memory
  ld,
  ldu,
  st,
  atom,
  red,
  prefetch,
  prefetchu,
  createpolicy,
  applypriority,
  discard,
  fence,
  membar,
  cp_async,
  cp_async_commit,
  cp_async_wait,
  cp_async_mbarrier_arrive,
  cp_async_bulk,
  cp_async_bulk_tensor,
  cp_reduce_async_bulk,
  cp_reduce_async_bulk_tensor,
  cp_async_bulk_prefetch,
  cp_async_bulk_prefetch_tensor,
  cp_async_bulk_commit,
  cp_async_bulk_wait,
  tensormap_replace,
  tensormap_cp_fenceproxy,
  st_async,
  red_async,
  fence_proxy,
  // synchronisation
  bar_sync,
  bar_arrive,
  bar_red,
  bar_warp,
  mbarrier_init,
  mbarrier_inval,
  mbarrier_arrive,
  mbarrier_arrive_drop,
  mbarrier_expect_tx,
  mbarrier_complete_tx,
  mbarrier_test_wait,
  mbarrier_try_wait,
  mbarrier_pending_count,
  griddepcontrol,
  nanosleep,
  barrier_cluster_arrive,
  barrier_cluster_wait,
  getctarank,
  // control
  bra,
  brx,
  call,
  ret,
  exit,
  trap,
  brkpt,
  pmevent,
  label_nop,
  // stack and misc
  alloca,
  stacksave,
  stackrestore,
  setmaxnreg,
  // matrix
  mma,
  mma_sp,
  wmma_load,
  wmma_store,
  wmma_mma,
  ldmatrix,
  stmatrix,
  movmatrix,
  wgmma_mma,
  wgmma_mma_sp,
  wgmma_fence,
  wgmma_commit,
  wgmma_wait,
  tcgen05_alloc,
  tcgen05_dealloc,
  tcgen05_relinquish,
  tcgen05_ld,
  tcgen05_st,
  tcgen05_wait,
  tcgen05_cp,
  tcgen05_shift,
  tcgen05_mma,
  tcgen05_commit,
  tcgen05_fence,
  clusterlaunchcontrol_try_cancel,
  clusterlaunchcontrol_query_cancel,
  count
};

std::string_view name(Op op);

/// Key of a latency/interval entry in the machine file: [timing.<name>]. One machine operation has exactly one.
enum class TimingClass : uint8_t {
  none,  // costs nothing: folded away by the lowering
  nop,
  alu,    // IADD3, LOP3, SEL, PRMT, SHF, MOV, VOTE-free integer work on the ALU pipe
  isetp,  // compare to predicate
  imad,   // 32-bit multiply-add on the FMA-heavy pipe
  imad_wide,
  fma,   // FFMA, FADD, FMUL
  half,  // HFMA2, HADD2, HMUL2
  fp64,
  mufu,      // ex2, lg2, rcp, rsq, sin, cos, tanh
  cvt,       // conversions on the XU pipe (I2F, F2I, F2F)
  cvt_pack,  // F2FP: two floats to a packed pair
  popc,      // POPC, FLO, BREV
  shfl,
  vote,
  redux,
  s2r,      // special registers
  uniform,  // uniform datapath
  branch,
  bar,       // bar.sync and friends
  bar_warp,  // WARPSYNC
  membar_cta,
  membar_gl,
  depbar,  // cp.async.wait_group
  ldc,     // constant bank and parameters
  lds,
  sts,
  ldsm,
  stsm,
  movm,
  atoms,
  ldg,
  stg,
  ldl,
  stl,
  atomg,
  red,
  ldgsts,
  mbarrier_arrive,
  mbarrier_wait,  // SYNCS: arrivals and transaction counts; test_wait and try_wait
  fence_proxy,    // fence.proxy.async
  bar_cluster,    // UCGABAR
  setmaxnreg,     // USETMAXREG
  tma,            // UTMALDG, UTMASTG, UBLKCP: hands a bulk copy to the TMA engine
  tma_wait,       // UTMACMDFLUSH, DEPBAR of bulk groups
  lds_remote,
  sts_remote,  // shared memory of another CTA in the cluster
  wgmma,       // HGMMA and friends; shape and types select the rate in the machine file
  wgmma_wait,
  wgmma_fence,  // WARPGROUP.DEPBAR, WARPGROUP.ARRIVE
  tcgen05_ld,
  tcgen05_st,  // LDTM, STTM: latency of one column, interval a column of the sub-core's 32 lanes
  tcgen05_mma,
  tcgen05_cp,      // UTCHMMA, UTCCP and UTCSHIFT: hand an operation to the tensor core; [tcgen05] says how long it takes
  tcgen05_commit,  // UTCBAR
  tcgen05_alloc,   // UTCATOMSWS: alloc, dealloc, relinquish
  tcgen05_wait,
  tcgen05_fence,
  launch_cancel,  // UGETNEXTWORKID
  mma,            // tensor core; the shape and types select the row in the machine file
  nanosleep,
  count
};

std::string_view name(TimingClass timing);

}  // namespace tcsim::isa
