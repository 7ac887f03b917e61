#include "sim/config/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "isa/check.h"

namespace tcsim::cfg {
namespace {

using isa::TimingClass;
constexpr double kBig = 1e6;  // cycles, queue lengths, counts
constexpr double kBytes = 1ull << 40;

constexpr Section kSections[] = {
    {"chip", "the whole chip"},
    {"limits", "limits that decide how many CTAs an SM holds"},
    {"scheduler", "warp scheduler of a sub-core"},
    {"fetch", "instruction fetch and instruction caches"},
    {"regfile", "register file of a sub-core"},
    {"smem", "shared memory and the memory-input (MIO) pipe in front of it"},
    {"l1", "L1 cache, global loads and stores"},
    {"l2", "L2 cache"},
    {"dram", "device memory"},
    {"launch", "launch and drain"},
    {"wgmma", "warpgroup matrix instructions"},
    {"tma", "TMA engine: bulk and tensor copies"},
    {"mbarrier", "mbarriers in shared memory"},
    {"cluster", "clusters and distributed shared memory"},
    {"tcgen05", "Blackwell's tensor core and Tensor Memory"},
    {"timing", "warp instructions by class"},
    {"mma", "matrix instructions by shape and types"},
};

/// Classes with a [timing] row, with what they stand for.
struct ClassRow {
  TimingClass timing;
  std::string_view name, doc;
  uint32_t since_sm = 0, before_sm = ~0u;
};
constexpr uint32_t kHopper = 90, kBlackwell = 100, kAfterTcgen05 = 120;  // sm_120 has no Tensor Memory
constexpr ClassRow kClasses[] = {
    {TimingClass::nop, "nop", "NOP"},
    {TimingClass::alu, "alu", "integer add, logic, shift, select, byte permute, move (ALU pipe)"},
    {TimingClass::isetp, "isetp", "compare to predicate"},
    {TimingClass::imad, "imad", "32-bit integer multiply-add"},
    {TimingClass::imad_wide, "imad_wide", "32 x 32 + 64 bit multiply-add"},
    {TimingClass::fma, "fma", "f32 add, multiply, fused multiply-add"},
    {TimingClass::half, "half", "packed f16/bf16 add, multiply, fused multiply-add"},
    {TimingClass::fp64, "fp64", "f64 add, multiply, fused multiply-add"},
    {TimingClass::mufu, "mufu", "ex2 lg2 rcp rsq sin cos tanh"},
    {TimingClass::cvt, "cvt", "conversions on the XU pipe"},
    {TimingClass::cvt_pack, "cvt_pack", "two floats to a packed pair (F2FP)"},
    {TimingClass::popc, "popc", "population count, find leading one, bit reverse"},
    {TimingClass::shfl, "shfl", "warp shuffle"},
    {TimingClass::vote, "vote", "warp vote and match"},
    {TimingClass::redux, "redux", "warp-wide integer reduction"},
    {TimingClass::s2r, "s2r", "read of a special register"},
    {TimingClass::uniform, "uniform", "uniform datapath"},
    {TimingClass::branch, "branch", "branch"},
    {TimingClass::bar, "bar", "CTA barrier instruction, without the waiting"},
    {TimingClass::bar_warp, "bar_warp", "bar.warp.sync"},
    {TimingClass::membar_cta, "membar_cta", "fence of CTA scope"},
    {TimingClass::membar_gl, "membar_gl", "fence of GPU or system scope"},
    {TimingClass::depbar, "depbar", "cp.async.wait_group, without the waiting"},
    {TimingClass::ldc, "ldc", "load from the constant bank"},
    {TimingClass::lds, "lds", "load from shared memory"},
    {TimingClass::sts, "sts", "store to shared memory"},
    {TimingClass::ldsm, "ldsm", "ldmatrix"},
    {TimingClass::stsm, "stsm", "stmatrix"},
    {TimingClass::movm, "movm", "movmatrix"},
    {TimingClass::atoms, "atoms", "atomic on shared memory"},
    {TimingClass::ldg, "ldg", "load from global memory"},
    {TimingClass::stg, "stg", "store to global memory"},
    {TimingClass::ldl, "ldl", "load from local memory"},
    {TimingClass::stl, "stl", "store to local memory"},
    {TimingClass::atomg, "atomg", "atomic on global memory with a result"},
    {TimingClass::red, "red", "reduction on global memory"},
    {TimingClass::ldgsts, "ldgsts", "cp.async (global to shared memory)"},
    {TimingClass::mbarrier_arrive, "mbarrier_arrive", "mbarrier operations but waits", kHopper},
    {TimingClass::mbarrier_wait, "mbarrier_wait", "mbarrier test_wait and try_wait, without the waiting", kHopper},
    {TimingClass::fence_proxy, "fence_proxy", "fence.proxy.async of shared or global memory", kHopper},
    {TimingClass::bar_cluster, "bar_cluster", "cluster barrier instruction, without the waiting", kHopper},
    {TimingClass::setmaxnreg, "setmaxnreg", "change of the warp's register count", kHopper},
    {TimingClass::tma, "tma", "hands a bulk copy to the TMA engine", kHopper},
    {TimingClass::tma_wait, "tma_wait", "commit and wait of bulk groups, without the waiting", kHopper},
    {TimingClass::lds_remote, "lds_remote", "load from another CTA's shared memory, beyond the way there and back", kHopper},
    {TimingClass::sts_remote, "sts_remote", "store to another CTA's shared memory", kHopper},
    {TimingClass::wgmma, "wgmma", "issue of wgmma.mma_async", kHopper, kBlackwell},
    {TimingClass::wgmma_wait, "wgmma_wait", "wgmma.wait_group, without the waiting", kHopper, kBlackwell},
    {TimingClass::wgmma_fence, "wgmma_fence", "wgmma.fence", kHopper, kBlackwell},
    {TimingClass::tcgen05_ld, "tcgen05_ld", "load from Tensor Memory: latency of one column; interval of a column", kBlackwell, kAfterTcgen05},
    {TimingClass::tcgen05_st, "tcgen05_st", "store to Tensor Memory: latency of one column; interval of a column", kBlackwell, kAfterTcgen05},
    {TimingClass::tcgen05_mma, "tcgen05_mma", "issue of tcgen05.mma", kBlackwell, kAfterTcgen05},
    {TimingClass::tcgen05_cp, "tcgen05_cp", "issue of tcgen05.cp and tcgen05.shift", kBlackwell, kAfterTcgen05},
    {TimingClass::tcgen05_commit, "tcgen05_commit", "issue of tcgen05.commit", kBlackwell, kAfterTcgen05},
    {TimingClass::tcgen05_alloc, "tcgen05_alloc", "tcgen05.alloc, dealloc, relinquish_alloc_permit, without the waiting", kBlackwell, kAfterTcgen05},
    {TimingClass::tcgen05_wait, "tcgen05_wait", "tcgen05.wait, without the waiting", kBlackwell, kAfterTcgen05},
    {TimingClass::tcgen05_fence, "tcgen05_fence", "tcgen05.fence", kBlackwell, kAfterTcgen05},
    {TimingClass::launch_cancel, "launch_cancel", "clusterlaunchcontrol.try_cancel, issue to answer", kBlackwell},
    {TimingClass::nanosleep, "nanosleep", "nanosleep"},
};
// none costs nothing and mma has its own rows.
static_assert(std::size(kClasses) + 2 == static_cast<size_t>(TimingClass::count), "a timing class has no row");

/// One member of a section struct, for the table below.
struct Builder {
  std::vector<Field> out;

  template <class Part, class T>
  void add(std::string_view section, Part Machine::*part, std::string_view key, T Part::*member, std::string_view unit, double min, double max,
           std::string_view doc) {
    out.push_back({fmt::format("{}.{}", section, key), std::string(unit), std::string(doc), min, max,
                   [part, member](Machine& m) { return Slot(&(m.*part.*member)); }, since_sm, before_sm});
  }
  uint32_t since_sm = 0, before_sm = ~0u;  // of the fields that follow
};

void add_chip(Builder& b) {
  const auto add = [&](auto... args) { b.add("chip", &Machine::chip, args...); };
  add("generation", &Chip::generation, "", 0, 0, "volta, turing, ampere, ada, hopper, blackwell or rtx_blackwell: selects tensor-core arithmetic");
  add("sm", &Chip::sm, "", 50, 200, "compute capability times 10");
  add("sms", &Chip::sms, "", 1, 4096, "SMs on the chip");
  add("sms_per_tpc", &Chip::sms_per_tpc, "", 1, 64, "SMs of a texture processing cluster");
  add("tpcs_per_gpc", &Chip::tpcs_per_gpc, "", 1, 64, "TPCs of a graphics processing cluster");
  add("partitions", &Chip::partitions, "", 1, 16, "chip partitions, each with its part of L2");
  b.since_sm = kHopper;
  add("gpc_sms", &Chip::gpc_sms, "SMs", 1, 1024, "SMs of each GPC: a cluster lies in one");
  b.since_sm = 0;
  add("clock_mhz", &Chip::clock_mhz, "MHz", 1, 10000, "SM clock; used for times only, never for cycles");
}

void add_limits(Builder& b) {
  const auto add = [&](auto... args) { b.add("limits", &Machine::limits, args...); };
  add("subcores", &SmLimits::subcores, "", 1, 16, "sub-cores of an SM; warp w runs on sub-core w modulo this");
  add("max_warps", &SmLimits::max_warps, "warps", 1, 256, "resident warps of an SM");
  add("max_ctas", &SmLimits::max_ctas, "CTAs", 1, 256, "resident CTAs of an SM");
  add("max_threads_per_cta", &SmLimits::max_threads_per_cta, "threads", 32, 4096, "threads of a CTA");
  add("registers", &SmLimits::registers, "registers", 1024, 1 << 24, "32-bit registers of an SM");
  add("register_unit", &SmLimits::register_unit, "registers", 1, 65536, "a warp's registers are rounded up to a multiple of this");
  add("max_registers_per_thread", &SmLimits::max_registers_per_thread, "registers", 1, 1024, "registers that an instruction can name");
  add("smem_bytes", &SmLimits::smem_bytes, "B", 0, 1 << 28, "most shared memory that an SM gives to CTAs");
  add("smem_per_cta_bytes", &SmLimits::smem_per_cta_bytes, "B", 0, 1 << 28, "most shared memory of one CTA");
  add("smem_reserved_bytes", &SmLimits::smem_reserved_bytes, "B", 0, 1 << 20, "shared memory that the system takes from each CTA");
  add("smem_unit_bytes", &SmLimits::smem_unit_bytes, "B", 1, 1 << 20, "a CTA's shared memory is rounded up to a multiple of this");
  add("l1_smem_bytes", &SmLimits::l1_smem_bytes, "B", 0, 1 << 28, "pool that L1 and shared memory share");
  add("named_barriers", &SmLimits::named_barriers, "", 1, 1024, "barriers of a CTA");
  add("smem_carveouts_bytes", &SmLimits::smem_carveouts_bytes, "B", 0, 1 << 28, "shares of the pool that can be shared memory");
}

void add_front_end(Builder& b) {
  const auto sched = [&](auto... args) { b.add("scheduler", &Machine::scheduler, args...); };
  sched("issue_per_cycle", &Scheduler::issue_per_cycle, "1/cycle", 1, 8, "warp instructions that a sub-core issues in a cycle");
  sched("greedy", &Scheduler::greedy, "", 0, 0, "keep issuing the same warp while it can, else the youngest ready one");
  sched("branch_taken_cycles", &Scheduler::branch_taken_cycles, "cycles", 0, kBig, "from a taken branch to the warp's next issue");
  sched("barrier_cycles", &Scheduler::barrier_cycles, "cycles", 0, kBig, "from the last arrival at a CTA barrier to the first issue of a waiter");
  sched("barrier_warp_cycles", &Scheduler::barrier_warp_cycles, "cycles", 0, kBig, "added to barrier_cycles for each warp of the barrier");
  sched("exit_cycles", &Scheduler::exit_cycles, "cycles", 0, kBig, "from a CTA's last exit to its resources being free");

  const auto fetch = [&](auto... args) { b.add("fetch", &Machine::fetch, args...); };
  fetch("bytes_per_instruction", &InstructionFetch::bytes_per_instruction, "B", 4, 64, "size of a native instruction");
  fetch("line_bytes", &InstructionFetch::line_bytes, "B", 16, 4096, "line of the instruction caches");
  fetch("l0_bytes", &InstructionFetch::l0_bytes, "B", 16, 1 << 24, "instruction cache of a sub-core");
  fetch("l1_bytes", &InstructionFetch::l1_bytes, "B", 16, 1 << 26, "instruction cache of an SM");
  fetch("l1_hit_cycles", &InstructionFetch::l1_hit_cycles, "cycles", 0, kBig, "a line that misses L0 and hits L1");
  fetch("miss_cycles", &InstructionFetch::miss_cycles, "cycles", 0, kBig, "a line that misses L1");
  fetch("prefetch_lines", &InstructionFetch::prefetch_lines, "lines", 0, 1024, "lines fetched ahead on straight code");

  const auto reg = [&](auto... args) { b.add("regfile", &Machine::regfile, args...); };
  reg("banks", &RegisterFile::banks, "", 1, 64, "register banks of a sub-core; register r is in bank r modulo this");
  reg("read_ports_per_bank", &RegisterFile::read_ports_per_bank, "", 1, 8, "operands that a bank delivers in a cycle");
  reg("reuse_slots", &RegisterFile::reuse_slots, "", 0, 8, "operand positions that have a reuse cache entry in each bank");
}

void add_shared(Builder& b) {
  const auto add = [&](auto... args) { b.add("smem", &Machine::smem, args...); };
  add("banks", &SharedMemory::banks, "", 1, 1024, "shared-memory banks");
  add("bank_bytes", &SharedMemory::bank_bytes, "B", 1, 64, "width of a bank");
  add("mio_queue", &SharedMemory::mio_queue, "instructions", 1, 1024, "MIO instructions that a sub-core may have waiting before issue stalls");
  add("issue_interval", &SharedMemory::issue_interval, "cycles", 0, 1024, "between two MIO instructions that enter the shared pipe");
  add("wavefront_cycles", &SharedMemory::wavefront_cycles, "cycles", 0.125, 64, "of the pipe for a wavefront of a load");
  add("store_wavefront_cycles", &SharedMemory::store_wavefront_cycles, "cycles", 0.125, 64, "of the pipe for a wavefront of a store");
  add("subcore_wavefront_cycles", &SharedMemory::subcore_wavefront_cycles, "cycles", 0.125, 64,
      "of a sub-core's own data path for a wavefront; a load's latency grows by it for each wavefront after "
      "the first");
  add("async_copy_cycles", &SharedMemory::async_copy_cycles, "cycles", 0, 64, "of the pipe for a cp.async instruction, beyond its wavefronts");
}

void add_l1(Builder& b) {
  const auto add = [&](auto... args) { b.add("l1", &Machine::l1, args...); };
  add("line_bytes", &L1Cache::line_bytes, "B", 16, 4096, "cache line");
  add("sector_bytes", &L1Cache::sector_bytes, "B", 4, 4096, "part of a line that is filled by itself");
  add("ways", &L1Cache::ways, "", 1, 4096, "associativity");
  add("lsu_queue", &L1Cache::lsu_queue, "instructions", 1, 1024, "global instructions that a sub-core may have waiting before issue stalls");
  add("tag_cycles", &L1Cache::tag_cycles, "cycles", 0, 1024, "of the tag stage for each line that an instruction touches");
  add("subcore_line_cycles", &L1Cache::subcore_line_cycles, "cycles", 0, 64, "latency that each line after the first adds to a load");
  add("data_bytes_per_cycle", &L1Cache::data_bytes_per_cycle, "B/cycle", 1, 65536, "read from the data array");
  add("hit_cycles", &L1Cache::hit_cycles, "cycles", 1, kBig, "load to use on a hit, unloaded");
  add("miss_queue_sectors", &L1Cache::miss_queue_sectors, "sectors", 1, kBig, "sectors in flight to L2 from an SM");
  add("fill_bytes_per_cycle", &L1Cache::fill_bytes_per_cycle, "B/cycle", 1, 65536, "from the crossbar into an SM");
  add("store_bytes_per_cycle", &L1Cache::store_bytes_per_cycle, "B/cycle", 1, 65536, "from an SM into the crossbar");
  add("store_buffer_bytes", &L1Cache::store_buffer_bytes, "B", 0, kBytes, "stores that wait for it while their warps go on");
}

void add_memory(Builder& b) {
  const auto l2 = [&](auto... args) { b.add("l2", &Machine::l2, args...); };
  l2("bytes", &L2Cache::bytes, "B", 1, kBytes, "capacity of all slices");
  l2("slices", &L2Cache::slices, "", 1, 4096, "slices of the chip");
  l2("ways", &L2Cache::ways, "", 1, 4096, "associativity");
  l2("line_bytes", &L2Cache::line_bytes, "B", 16, 4096, "cache line");
  l2("sector_bytes", &L2Cache::sector_bytes, "B", 4, 4096, "part of a line that is filled by itself");
  l2("near_cycles", &L2Cache::near_cycles, "cycles", 1, kBig, "load to use of a hit in the SM's own partition, unloaded");
  l2("far_cycles", &L2Cache::far_cycles, "cycles", 1, kBig, "load to use of a hit in another partition, unloaded");
  l2("slice_bytes_per_cycle", &L2Cache::slice_bytes_per_cycle, "B/cycle", 1, 65536, "read from a slice, in SM cycles");
  l2("partition_bytes_per_cycle", &L2Cache::partition_bytes_per_cycle, "B/cycle", 1, 1e7, "link between the partitions, in SM cycles");
  l2("cross_cycles", &L2Cache::cross_cycles, "cycles", 0, kBig, "more for a partition's first read of a line whose memory is the other partition's");
  l2("write_cycles_per_sector", &L2Cache::write_cycles_per_sector, "cycles", 0, 1024, "of a slice for a written sector");
  l2("atomic_cycles", &L2Cache::atomic_cycles, "cycles", 0, 1024, "of a slice for an atomic sector");
  l2("coalescing_sms", &L2Cache::coalescing_sms, "SMs", 0, 1024, "neighbouring SMs whose reads of one line in flight are served once");

  const auto dram = [&](auto... args) { b.add("dram", &Machine::dram, args...); };
  dram("channels", &Dram::channels, "", 1, 4096, "channels of the chip");
  dram("bytes_per_cycle", &Dram::bytes_per_cycle, "B/cycle", 1, 1e7, "all channels together, in SM cycles");
  dram("extra_cycles", &Dram::extra_cycles, "cycles", 0, kBig, "latency beyond that of an L2 hit, unloaded");
  dram("refresh_interval_cycles", &Dram::refresh_interval_cycles, "cycles", 0, kBig, "from one refresh of a bank to the next");
  dram("refresh_cycles", &Dram::refresh_cycles, "cycles", 0, kBig, "for which a bank that is refreshed answers nothing (0: not modelled)");
  dram("refresh_bytes", &Dram::refresh_bytes, "B", 128, kBytes, "addresses of one partition whose banks are refreshed together");
  dram("access_bytes", &Dram::access_bytes, "B", 4, 65536, "least that a channel transfers");
  dram("tlb_miss_cycles", &Dram::tlb_miss_cycles, "cycles", 0, kBig, "first touch of a page after the caches were flushed");
  dram("tlb_page_bytes", &Dram::tlb_page_bytes, "B", 4096, kBytes, "reach of a TLB entry");

  const auto launch = [&](auto... args) { b.add("launch", &Machine::launch, args...); };
  launch("overhead_cycles", &LaunchCost::overhead_cycles, "cycles", 0, 1e9,
         "sm__cycles_elapsed.max less the active cycles of the SM, one CTA, ncu --cache-control all");
  launch("start_cycles", &LaunchCost::start_cycles, "cycles", 0, 1e9, "part of the overhead before the first instruction");
  launch("cta_cycles", &LaunchCost::cta_cycles, "cycles", 0, kBig, "from a free place on an SM to a CTA's first instruction");
  launch("ctas_per_cycle", &LaunchCost::ctas_per_cycle, "CTAs/cycle", 1e-4, 1024, "rate at which CTAs are placed on the chip");
  launch("first_cycles", &LaunchCost::first_cycles, "cycles", 0, kBig,
         "extra for a warp's first instruction on a cold SM (constant bank, descriptors)");
}

void add_hopper(Builder& b) {
  b.since_sm = kHopper;
  b.before_sm = kBlackwell;
  const auto wgmma = [&](auto... args) { b.add("wgmma", &Machine::wgmma, args...); };
  wgmma("cycles_per_column", &Wgmma::cycles_per_column, "cycles", 0.01, 64,
        "of the four tensor cores for each column of D; K of an instruction is 32 bytes of dense A for every type");
  wgmma("rs_min_cycles", &Wgmma::rs_min_cycles, "cycles", 0, 1024, "least interval when A comes from registers");
  wgmma("ss_overhead_cycles", &Wgmma::ss_overhead_cycles, "cycles", 0, 1024, "added to the time in which operands stream from shared memory");
  wgmma("port_left", &Wgmma::port_left, "", 0.001, 1, "share of the shared-memory port that other accesses get at least");
  wgmma("latency", &Wgmma::latency, "cycles", 0, kBig, "from the end of an instruction's interval to its result");

  b.before_sm = ~0u;
  const auto tma = [&](auto... args) { b.add("tma", &Machine::tma, args...); };
  tma("issue_cycles", &Tma::issue_cycles, "cycles", 0, kBig, "between two bulk instructions that the engine takes");
  tma("start_cycles", &Tma::start_cycles, "cycles", 0, kBig, "from issue to the first request, descriptor at hand");
  tma("descriptors", &Tma::descriptors, "", 1, 4096, "tensor maps at hand in the engine");
  tma("descriptor_cycles", &Tma::descriptor_cycles, "cycles", 0, kBig, "for a tensor map that is in the cache behind");
  tma("cached_descriptors", &Tma::cached_descriptors, "", 1, 1 << 20, "tensor maps in that cache, kernel parameters among them; others come from L2");
  tma("row_cycles", &Tma::row_cycles, "cycles", 0, 1024, "of request generation for each row of a box, at least");
  tma("request_bytes_per_cycle", &Tma::request_bytes_per_cycle, "B/cycle", 1, 65536, "rate of request generation");
  tma("max_bytes_in_flight", &Tma::max_bytes_in_flight, "B", 32, 1 << 28, "bytes asked for and not arrived");
  tma("load_cycles", &Tma::load_cycles, "cycles", 0, kBig, "from the last byte's arrival to its mbarrier");
  tma("store_cycles", &Tma::store_cycles, "cycles", 0, kBig, "from issue to the first read of shared memory");
  tma("store_done_cycles", &Tma::store_done_cycles, "cycles", 0, kBig, "from the last read to the bulk group's completion");
  tma("reduce_bytes_per_cycle", &Tma::reduce_bytes_per_cycle, "B/cycle", 1, 65536, "read from shared memory for reductions");
  tma("store_bytes_per_cycle", &Tma::store_bytes_per_cycle, "B/cycle", 1, 65536, "read from shared memory for stores");
  tma("multicast_cycles", &Tma::multicast_cycles, "cycles", 0, kBig, "added to the latency of a multicast load");

  const auto mbarrier = [&](auto... args) { b.add("mbarrier", &Machine::mbarrier, args...); };
  mbarrier("arrive_cycles", &MbarrierUnitTiming::arrive_cycles, "cycles", 0, kBig, "from an arrive's issue to the end of its phase");
  mbarrier("wake_cycles", &MbarrierUnitTiming::wake_cycles, "cycles", 0, kBig,
           "from the end of a phase to the next issue of a warp suspended in try_wait");
  mbarrier("suspend_cycles", &MbarrierUnitTiming::suspend_cycles, "cycles", 1, 1e9, "time limit of try_wait without a hint");

  const auto cluster = [&](auto... args) { b.add("cluster", &Machine::cluster, args...); };
  cluster("barrier_cycles", &ClusterTiming::barrier_cycles, "cycles", 0, kBig,
          "from the last arrival at the cluster barrier to the first issue of a waiter");
  cluster("remote_cycles", &ClusterTiming::remote_cycles, "cycles", 1, kBig, "one way to another CTA's shared memory");
  cluster("bytes_per_cycle", &ClusterTiming::bytes_per_cycle, "B/cycle", 0.1, 65536, "between an SM and other CTAs' shared memory");
  cluster("max_size", &ClusterTiming::max_size, "CTAs", 1, 64, "largest portable cluster");
  cluster("launch_cycles", &ClusterTiming::launch_cycles, "cycles", 0, kBig, "added to the start of CTAs of a cluster");
  b.since_sm = 0;
}

void add_blackwell(Builder& b) {
  b.since_sm = kBlackwell;
  b.before_sm = kAfterTcgen05;
  const auto add = [&](auto... args) { b.add("tcgen05", &Machine::tcgen05, args...); };
  add("cycles_per_column", &Tcgen05::cycles_per_column, "cycles", 0.01, 64,
      "of an SM's tensor core for each column of D and 32 bytes of a dense row of A; cta_group::2 with M of 256 alike");
  add("pair_half_cycles_per_column", &Tcgen05::pair_half_cycles_per_column, "cycles", 0.01, 64, "the same, cta_group::2 with M of 128");
  add("operand_bytes_per_cycle", &Tcgen05::operand_bytes_per_cycle, "B/cycle", 1, 65536, "of A and B read from an SM's shared memory");
  add("port_left", &Tcgen05::port_left, "", 0.001, 1, "share of the shared-memory port that other accesses get at least");
  add("latency", &Tcgen05::latency, "cycles", 0, kBig,
      "beyond the time of A, if it is in shared memory, and of the columns: from the start of an operation to its completion");
  add("pair_latency", &Tcgen05::pair_latency, "cycles", 0, kBig, "added with cta_group::2, M of 256");
  add("pair_half_latency", &Tcgen05::pair_half_latency, "cycles", 0, kBig, "added with cta_group::2, M of 128");
  add("commit_cycles", &Tcgen05::commit_cycles, "cycles", 0, kBig, "from the completion of what it tracks to the arrival on the mbarrier");
  add("copy_bytes_per_cycle", &Tcgen05::copy_bytes_per_cycle, "B/cycle", 1, 65536, "tcgen05.cp: written to Tensor Memory");
  add("copy_latency", &Tcgen05::copy_latency, "cycles", 0, kBig, "tcgen05.cp: beyond that");
  add("shift_cycles", &Tcgen05::shift_cycles, "cycles", 0, kBig, "tcgen05.shift");
  b.since_sm = 0;
  b.before_sm = ~0u;
}

struct OpMember {
  std::string_view name, unit, doc;
  uint32_t OpTiming::*member;
};
constexpr OpMember kOpMembers[] = {
    {"latency", "cycles", "issue to the first issue of a dependent instruction", &OpTiming::latency},
    {"interval", "cycles", "until the sub-core's pipe takes the next instruction of the class", &OpTiming::interval},
    {"stall", "cycles", "until the same warp may issue its next instruction", &OpTiming::stall},
};

void add_timing(Builder& b) {
  for (const ClassRow& row : kClasses) {
    for (const OpMember& m : kOpMembers) {
      b.out.push_back({fmt::format("timing.{}.{}", row.name, m.name), std::string(m.unit), fmt::format("{}: {}", row.doc, m.doc), 0, kBig,
                       [c = row.timing, p = m.member](Machine& machine) { return Slot(&(machine.timing[static_cast<size_t>(c)].*p)); }, row.since_sm,
                       row.before_sm});
    }
  }
}

struct MmaMember {
  std::string_view name, unit, doc;
  uint32_t MmaTiming::*member;
  double min, max;
};
constexpr MmaMember kMmaMembers[] = {
    {"latency", "cycles", "issue to the issue of an mma that depends through the accumulator, or of another consumer", &MmaTiming::latency, 1, kBig},
    {"interval", "cycles", "until the sub-core's tensor core takes the next one", &MmaTiming::interval, 1, kBig},
    {"stall", "cycles", "until the same warp may issue its next instruction", &MmaTiming::stall, 0, kBig},
    {"instructions", "", "native matrix instructions that it stands for", &MmaTiming::instructions, 0, 1024},
    {"helpers", "", "further ALU instructions that an emulated form needs", &MmaTiming::helpers, 0, 4096},
    {"latency_b", "cycles", "extra latency when the dependence is through operand A or B", &MmaTiming::latency_b, 0, kBig},
};

template <class Members>
auto names_of(const Members& members) {
  std::array<std::string_view, std::size(kMmaMembers)> names;
  std::transform(std::begin(members), std::end(members), names.begin(), [](const auto& m) { return m.name; });
  return names;
}

}  // namespace

const std::vector<Field>& fields() {
  static const std::vector<Field> table = [] {
    Builder b;
    add_chip(b);
    add_limits(b);
    add_front_end(b);
    add_shared(b);
    add_l1(b);
    add_memory(b);
    add_hopper(b);
    add_blackwell(b);
    add_timing(b);
    return std::move(b.out);
  }();
  return table;
}

std::vector<Field> mma_fields(const std::string& row) {
  std::vector<Field> out;
  for (const MmaMember& m : kMmaMembers) {
    out.push_back({fmt::format("mma.{}.{}", row, m.name), std::string(m.unit), std::string(m.doc), m.min, m.max,
                   [row, p = m.member](Machine& machine) { return Slot(&(machine.mma[row].*p)); }, 0});
  }
  return out;
}

std::span<const std::string_view> mma_field_names() {
  static const auto names = names_of(kMmaMembers);
  return names;
}

std::span<const Section> sections() { return kSections; }

std::string_view timing_name(isa::TimingClass timing) {
  for (const ClassRow& row : kClasses) {
    if (row.timing == timing) return row.name;
  }
  return {};
}

std::optional<MmaKey> split_mma_key(std::string_view key) {
  if (!key.starts_with("mma.")) return std::nullopt;
  key.remove_prefix(4);
  const size_t dot = key.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == key.size()) return std::nullopt;
  std::string_view row = key.substr(0, dot);
  if (row.size() >= 2 && (row.front() == '"' || row.front() == '\'') && row.back() == row.front()) { row = row.substr(1, row.size() - 2); }
  return MmaKey{std::string(row), std::string(key.substr(dot + 1))};
}

// Schedulers issue one instruction a cycle, and a dependence costs the same latency through every operand.
bool timing_reads(std::string_view key) {
  const auto mma = split_mma_key(key);
  return key != "scheduler.issue_per_cycle" && !(mma && mma->field == "latency_b");
}

std::string slot_text(const Slot& slot) {
  struct Text {
    std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
    std::string operator()(const std::string* v) const { return *v; }
    std::string operator()(const std::vector<uint32_t>* v) const { return fmt::format("{}", fmt::join(*v, ", ")); }
    std::string operator()(const uint32_t* v) const { return fmt::format("{}", *v); }
    std::string operator()(const uint64_t* v) const { return fmt::format("{}", *v); }
    std::string operator()(const double* v) const { return fmt::format("{}", *v); }
  };
  return std::visit(Text{}, slot);
}

}  // namespace tcsim::cfg
