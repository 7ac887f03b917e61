// A machine: every number of the timing model, as plain immutable structs, one a unit. Values come from
// sim/config/machines/<name>.toml, each with its source; there are no defaults in C++.
//
//   tcsim::Diagnostics diags;
//   auto machine = cfg::load_machine("h200", {{"smem.banks", "64"}}, diags);   // a name or a path, and --set overrides
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/diag.h"
#include "isa/op.h"

namespace tcsim::cfg {

/// [timing.<class>]. A warp instruction of the class issued at cycle t:
struct OpTiming {
  uint32_t latency = 0;   // its result can be used by an instruction issued at t + latency (memory classes: unloaded,
                          // from the start of its service in the pipe)
  uint32_t interval = 0;  // the class's pipe in the sub-core takes the next instruction at t + interval
  uint32_t stall = 1;     // the same warp issues its next instruction at t + stall at the earliest
};

/// [mma."m16n8k16.f32.f16"]: one warp-level matrix instruction on a sub-core's tensor core.
struct MmaTiming {
  uint32_t latency = 0;       // to a dependent mma's accumulator or to another consumer
  uint32_t interval = 0;      // until the tensor core takes the next one
  uint32_t stall = 0;         // until the same warp may issue its next instruction
  uint32_t instructions = 1;  // native matrix instructions it stands for (sm__inst_executed_pipe_tensor)
  uint32_t helpers = 0;       // further ALU instructions that an emulated form needs
  uint32_t latency_b = 0;     // extra cycles when the next instruction depends through another operand than C (0: none)
};

struct Chip {
  std::string generation;  // volta turing ampere ada hopper blackwell rtx_blackwell: selects tensor-core arithmetic
  uint32_t sm = 0;         // compute capability times 10
  uint32_t sms = 0, sms_per_tpc = 0, tpcs_per_gpc = 0, partitions = 0;
  std::vector<uint32_t> gpc_sms;  // SMs of each GPC that is on: a cluster lies in one (sm_90 and later)
  double clock_mhz = 0;           // for time_us only
};

/// Limits that decide occupancy.
struct SmLimits {
  uint32_t subcores = 0, max_warps = 0, max_ctas = 0, max_threads_per_cta = 0;
  uint32_t registers = 0, register_unit = 0, max_registers_per_thread = 0;  // unit: registers a warp is rounded up to
  uint32_t smem_bytes = 0, smem_per_cta_bytes = 0, smem_reserved_bytes = 0, smem_unit_bytes = 0;
  uint32_t l1_smem_bytes = 0;   // the pool that L1 and shared memory share
  uint32_t named_barriers = 0;  // per CTA
  std::vector<uint32_t> smem_carveouts_bytes;
};

struct Scheduler {
  uint32_t issue_per_cycle = 0;
  bool greedy = false;               // keep issuing the same warp, else the youngest ready one
  uint32_t branch_taken_cycles = 0;  // until the warp can issue after a taken branch
  uint32_t barrier_cycles = 0;       // last arrival to first issue of a waiter, and ...
  uint32_t barrier_warp_cycles = 0;  // ... this for each warp of the barrier: arrivals are taken one at a time on the SM
  uint32_t exit_cycles = 0;
};

struct InstructionFetch {
  uint32_t bytes_per_instruction = 0, line_bytes = 0;
  uint32_t l0_bytes = 0, l1_bytes = 0;          // per sub-core; per SM
  uint32_t l1_hit_cycles = 0, miss_cycles = 0;  // a line that misses L0 but hits L1; one that misses L1
  uint32_t prefetch_lines = 0;                  // lines fetched ahead on straight code
};

struct RegisterFile {
  uint32_t banks = 0, read_ports_per_bank = 0, reuse_slots = 0;
};

struct SharedMemory {
  uint32_t banks = 0, bank_bytes = 0;
  uint32_t mio_queue = 0;       // MIO instructions a sub-core may have waiting before issue stalls (mio_throttle)
  uint32_t issue_interval = 0;  // cycles between two MIO instructions entering the shared pipe
  double wavefront_cycles = 0;  // of the pipe per wavefront
  double store_wavefront_cycles = 0;
  double subcore_wavefront_cycles = 0;  // of the sub-core's own data path: one warp alone gets a wavefront in this time,
                                        // and a load's latency grows by it for each wavefront after the first
  double async_copy_cycles = 0;         // of the pipe per cp.async instruction, beyond its wavefronts
};

struct L1Cache {
  uint32_t line_bytes = 0, sector_bytes = 0, ways = 0;
  uint32_t lsu_queue = 0;          // global instructions a sub-core may have waiting (lg_throttle)
  double tag_cycles = 0;           // per 128-byte line that an instruction touches
  double subcore_line_cycles = 0;  // latency that each line after the first adds (the sub-core's own path)
  double data_bytes_per_cycle = 0;
  uint32_t hit_cycles = 0;           // load-to-use on a hit, unloaded
  uint32_t miss_queue_sectors = 0;   // sectors in flight to L2 per SM
  double fill_bytes_per_cycle = 0;   // from the crossbar into the SM
  double store_bytes_per_cycle = 0;  // from the SM into the crossbar
  uint32_t store_buffer_bytes = 0;   // of stores that wait for it while their warps go on
};

struct L2Cache {
  uint64_t bytes = 0;
  uint32_t slices = 0, ways = 0, line_bytes = 0, sector_bytes = 0;
  uint32_t near_cycles = 0, far_cycles = 0;  // load-to-use of a hit in the SM's own and in the other partition
  double slice_bytes_per_cycle = 0;          // SM clock
  double partition_bytes_per_cycle = 0;      // link between the partitions
  uint32_t cross_cycles = 0;                 // more for a partition's first read of a line whose memory is the other's; it then has a copy
  double write_cycles_per_sector = 0;
  uint32_t atomic_cycles = 0;   // of the slice per atomic sector
  uint32_t coalescing_sms = 0;  // neighbouring SMs whose reads of one line in flight are served once (1: none)
};

struct Dram {
  uint32_t channels = 0;
  double bytes_per_cycle = 0;                                // all channels, at the SM clock
  uint32_t extra_cycles = 0;                                 // beyond an L2 hit
  uint32_t refresh_interval_cycles = 0, refresh_cycles = 0;  // a bank answers nothing for so long, that often (0: not modelled)
  uint64_t refresh_bytes = 0;                                // addresses of one partition whose banks are refreshed together
  uint32_t access_bytes = 0;
  uint32_t tlb_miss_cycles = 0;  // first touch of a page after the caches were flushed
  uint64_t tlb_page_bytes = 0;
};

/// wgmma: one instruction of a warpgroup on the four tensor cores (sm_90).
struct Wgmma {
  double cycles_per_column = 0;     // of the tensor cores for each column of D, any type (K is 32 bytes of dense A)
  uint32_t rs_min_cycles = 0;       // least interval when A comes from registers
  uint32_t ss_overhead_cycles = 0;  // added to the time in which the operands stream from shared memory, before the two are compared
  double port_left = 0;             // share of the shared-memory port that other accesses get at least
  uint32_t latency = 0;             // from the end of the interval to the result
};

/// The TMA engine of an SM.
struct Tma {
  uint32_t issue_cycles = 0;           // between two bulk instructions that it takes
  uint32_t start_cycles = 0;           // from issue to the first request, descriptor at hand
  uint32_t descriptors = 0;            // descriptors at hand in the engine
  uint32_t descriptor_cycles = 0;      // for one that is not, but is in the cache behind
  uint32_t cached_descriptors = 0;     // entries of that cache; one that misses it comes from L2. Kernel parameters are in it
  double row_cycles = 0;               // of request generation for each row of a box ...
  double request_bytes_per_cycle = 0;  // ... or its bytes at this rate, whichever is longer
  uint32_t max_bytes_in_flight = 0;
  uint32_t load_cycles = 0;                                      // from the last byte's arrival at the SM to the mbarrier
  uint32_t store_cycles = 0;                                     // from issue to the first read of shared memory
  uint32_t store_done_cycles = 0;                                // from the last read (.read) to the completion of the bulk group
  double store_bytes_per_cycle = 0, reduce_bytes_per_cycle = 0;  // read from shared memory
  uint32_t multicast_cycles = 0;                                 // added per further CTA that a request is delivered to
};

struct MbarrierUnitTiming {
  uint32_t arrive_cycles = 0;   // from an arrive's issue to the end of the phase that it ends
  uint32_t wake_cycles = 0;     // from the end of a phase to the issue of a warp suspended in try_wait
  uint32_t suspend_cycles = 0;  // time limit of try_wait without a hint
};

struct ClusterTiming {
  uint32_t barrier_cycles = 0;  // last arrival to the issue of the waiters
  uint32_t remote_cycles = 0;   // one way to another CTA's shared memory
  double bytes_per_cycle = 0;   // per SM, to other CTAs' shared memory
  uint32_t max_size = 0;        // CTAs of a cluster (portable limit)
  uint32_t launch_cycles = 0;   // added when CTAs start as a cluster
};

/// tcgen05: one tensor core an SM, operations in order (sm_100). CTA pairs use those of both SMs in step.
struct Tcgen05 {
  double cycles_per_column = 0, pair_half_cycles_per_column = 0;  // of D, for 32 bytes of a dense row of A
  double operand_bytes_per_cycle = 0;                             // A and B from an SM's shared memory
  double port_left = 0;                                           // share of the shared-memory port that other accesses get at least
  uint32_t latency = 0;                                           // of an operation beyond the time of A in shared memory and of the columns
  uint32_t pair_latency = 0, pair_half_latency = 0;               // added with cta_group::2 (M of 256; of 128)
  uint32_t commit_cycles = 0;                                     // from completion to the arrival on the mbarrier
  double copy_bytes_per_cycle = 0;
  uint32_t copy_latency = 0, shift_cycles = 0;
};

struct LaunchCost {
  uint32_t overhead_cycles = 0;  // sm__cycles_elapsed.max less the cycles in which the SM is active, one CTA, ncu --cache-control all
  uint32_t start_cycles = 0;     // part of it before the first instruction
  uint32_t cta_cycles = 0;       // from a free place to the CTA's first instruction
  double ctas_per_cycle = 0;     // rate at which the CTA scheduler places CTAs on the chip
  uint32_t first_cycles = 0;     // extra for a warp's first instruction (constant bank, descriptors) on a cold SM
};

struct Machine {
  std::string name, path, description;
  Chip chip;
  SmLimits limits;
  Scheduler scheduler;
  InstructionFetch fetch;
  RegisterFile regfile;
  SharedMemory smem;
  L1Cache l1;
  L2Cache l2;
  Dram dram;
  LaunchCost launch;
  Wgmma wgmma;  // these four: sm_90 and later
  Tma tma;
  MbarrierUnitTiming mbarrier;
  ClusterTiming cluster;
  Tcgen05 tcgen05;  // sm_100 to sm_110
  std::array<OpTiming, static_cast<size_t>(isa::TimingClass::count)> timing{};
  std::map<std::string, MmaTiming> mma;  // key: shape.d.a[.b], for example "m16n8k16.f32.f16"

  const OpTiming& of(isa::TimingClass c) const { return timing[static_cast<size_t>(c)]; }

  /// Provenance, one per value: "section.key", value as text, unit, source.
  struct Provenance {
    std::string key, value, unit, source, doc;
  };
  std::vector<Provenance> provenance;
  uint32_t assumed_values = 0;                   // values whose source starts with "assumed:"
  std::map<std::string, std::string> overrides;  // --set
};

/// NAME is looked up in the built-in machines (compiled into the program from machines/*.toml), else opened as a file.
std::optional<Machine> load_machine(const std::string& name_or_path, const std::vector<std::pair<std::string, std::string>>& set, Diagnostics& diags);
std::vector<std::string> builtin_machines();

}  // namespace tcsim::cfg
