#include "isa/op.h"

#include <array>

namespace tcsim::isa {
namespace {

constexpr std::string_view kOps[] = {
    "invalid", "add", "sub", "mul_lo", "mul_hi", "mul_wide", "mad_lo", "mad_hi", "mad_wide", "mul24", "mad24", "sad",
    "div", "rem", "abs", "neg", "min", "max", "popc", "clz", "bfind", "fns", "brev", "bfe", "bfi", "szext", "bmsk",
    "dp4a", "dp2a", "addc", "subc", "madc",
    "fma", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "copysign", "testp",
    "setp", "set", "selp", "slct",
    "and", "or", "xor", "not", "cnot", "lop3", "shl", "shr", "shf",
    "mov", "prmt", "cvt", "cvta", "isspacep", "mapa", "shfl", "vote", "match", "redux", "activemask", "elect",
    "ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu", "createpolicy", "applypriority", "discard", "fence",
    "membar", "cp_async", "cp_async_commit", "cp_async_wait", "cp_async_mbarrier_arrive",
    "cp_async_bulk", "cp_async_bulk_tensor", "cp_reduce_async_bulk", "cp_reduce_async_bulk_tensor", "cp_async_bulk_prefetch",
    "cp_async_bulk_prefetch_tensor", "cp_async_bulk_commit", "cp_async_bulk_wait", "tensormap_replace",
    "tensormap_cp_fenceproxy", "st_async", "red_async", "fence_proxy",
    "bar_sync", "bar_arrive", "bar_red", "bar_warp", "mbarrier_init", "mbarrier_inval", "mbarrier_arrive",
    "mbarrier_arrive_drop", "mbarrier_expect_tx", "mbarrier_complete_tx", "mbarrier_test_wait", "mbarrier_try_wait",
    "mbarrier_pending_count", "griddepcontrol", "nanosleep", "barrier_cluster_arrive",
    "barrier_cluster_wait", "getctarank",
    "bra", "brx", "call", "ret", "exit", "trap", "brkpt", "pmevent", "label_nop",
    "alloca", "stacksave", "stackrestore", "setmaxnreg",
    "mma", "mma_sp", "wmma_load", "wmma_store", "wmma_mma", "ldmatrix", "stmatrix", "movmatrix",
    "wgmma_mma", "wgmma_mma_sp", "wgmma_fence", "wgmma_commit", "wgmma_wait",
    "tcgen05_alloc", "tcgen05_dealloc", "tcgen05_relinquish", "tcgen05_ld", "tcgen05_st", "tcgen05_wait", "tcgen05_cp",
    "tcgen05_shift", "tcgen05_mma", "tcgen05_commit", "tcgen05_fence", "clusterlaunchcontrol_try_cancel",
    "clusterlaunchcontrol_query_cancel",
};
static_assert(std::size(kOps) == static_cast<size_t>(Op::count));

constexpr std::string_view kTimings[] = {
    "none", "nop", "alu", "isetp", "imad", "imad_wide", "fma", "half", "fp64", "mufu", "cvt", "cvt_pack", "popc",
    "shfl", "vote", "redux", "s2r", "uniform", "branch", "bar", "bar_warp", "membar_cta", "membar_gl", "depbar", "ldc",
    "lds", "sts", "ldsm", "stsm", "movm", "atoms", "ldg", "stg", "ldl", "stl", "atomg", "red", "ldgsts",
    "mbarrier_arrive", "mbarrier_wait", "fence_proxy", "bar_cluster", "setmaxnreg", "tma", "tma_wait", "lds_remote",
    "sts_remote", "wgmma", "wgmma_wait", "wgmma_fence",
    "tcgen05_ld", "tcgen05_st", "tcgen05_mma", "tcgen05_cp", "tcgen05_commit", "tcgen05_alloc", "tcgen05_wait", "tcgen05_fence",
    "launch_cancel", "mma", "nanosleep",
};
static_assert(std::size(kTimings) == static_cast<size_t>(TimingClass::count));

}  // namespace

std::string_view name(Op op) { return op < Op::count ? kOps[static_cast<size_t>(op)] : "invalid"; }

std::string_view name(TimingClass timing) {
  return timing < TimingClass::count ? kTimings[static_cast<size_t>(timing)] : "none";
}

}  // namespace tcsim::isa
