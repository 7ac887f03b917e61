// The counter table: one row for everything that the simulator counts. Names are Nsight Compute's; what ncu lacks has the
// prefix sim__. Counters are plain integers; roll-ups and ratios are made when a run is over (metrics.h).
//
//   CounterBlock stats;                       // one for each SM, one for the memory system
//   stats[Counter::smem_wavefronts_ld] += 4;  // an add to an array element
//
// To add a counter: a name in Counter and a row in kCounterTable, at the same position.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tcsim::sim {

enum class Counter : uint16_t {
  // SM
  cycles_elapsed,
  cycles_active,
  warps_active,
  ctas_launched,
  inst_executed,
  inst_issued,
  thread_inst_executed,
  issue_active,
  // by pipe
  pipe_alu,
  pipe_fma,
  pipe_fp16,
  pipe_fp64,
  pipe_xu,
  pipe_lsu,
  pipe_uniform,
  pipe_cbu,
  pipe_tensor,
  pipe_tensor_hmma,
  pipe_tensor_imma,
  pipe_tensor_dmma,
  pipe_tensor_gmma,
  tensor_cycles_active,
  // by operation
  op_shared_ld,
  op_shared_st,
  op_shared_atom,
  op_ldsm,
  op_stsm,
  op_ldgsts,
  op_global_ld,
  op_global_st,
  op_global_atom,
  op_global_red,
  op_local_ld,
  op_local_st,
  op_branch,
  op_shfl,
  op_barrier,
  // shared memory
  smem_wavefronts,
  smem_wavefronts_ld,
  smem_wavefronts_st,
  smem_conflicts,
  smem_conflicts_ld,
  smem_conflicts_st,
  smem_conflicts_ldsm,
  smem_conflicts_stsm,
  smem_conflicts_ldgsts,
  mio_arbitration_cycles,
  // L1
  l1_requests,
  l1_sectors,
  l1_sectors_hit,
  l1_fill_bytes,
  l1_store_bytes,
  ldgsts_bytes,
  tma_instructions,
  tma_bytes,
  tma_byte_cycles,
  tma_most_in_flight,
  // front end
  register_bank_conflict_cycles,
  icache_misses,
  barrier_waits,
  // memory system
  l2_sectors,
  l2_sectors_read,
  l2_sectors_write,
  l2_sectors_hit,
  l2_sectors_far,
  dram_bytes_read,
  dram_bytes_write,
  count
};
constexpr size_t kCounters = static_cast<size_t>(Counter::count);

/// What is counted once for each of ...
enum class Scope : uint8_t { sm, smsp, l1tex, lts, dram };

/// Largest value in a cycle of one SM (of the chip for lts and dram), for pct_of_peak_sustained_*. The amounts come from
/// the machine file.
enum class Peak : uint8_t { none, one, subcores, warps, issue, smem_wavefronts, l1_sectors, fill_bytes, store_bytes, l2_sectors, dram_bytes };

struct CounterInfo {
  Counter id;
  std::string_view name;
  Scope scope;
  std::string_view unit;
  Peak peak;
  std::string_view doc;
};

constexpr std::array<CounterInfo, kCounters> kCounterTable = {{
    {Counter::cycles_elapsed, "sm__cycles_elapsed", Scope::sm, "cycle", Peak::none, "cycles of the launch, launch and drain included"},
    {Counter::cycles_active, "sm__cycles_active", Scope::sm, "cycle", Peak::one, "cycles with a warp resident"},
    {Counter::warps_active, "sm__warps_active", Scope::sm, "warp", Peak::warps, "resident warps, added up over cycles"},
    {Counter::ctas_launched, "sm__ctas_launched", Scope::sm, "block", Peak::none, "CTAs"},
    {Counter::inst_executed, "smsp__inst_executed", Scope::smsp, "inst", Peak::issue, "warp instructions executed"},
    {Counter::inst_issued, "smsp__inst_issued", Scope::smsp, "inst", Peak::issue, "warp instructions issued"},
    {Counter::thread_inst_executed, "smsp__thread_inst_executed", Scope::smsp, "inst", Peak::none, "thread instructions executed"},
    {Counter::issue_active, "smsp__issue_active", Scope::smsp, "cycle", Peak::subcores, "sub-core cycles that issued an instruction"},
    {Counter::pipe_alu, "sm__inst_executed_pipe_alu", Scope::sm, "inst", Peak::issue, "warp instructions on the ALU pipe"},
    {Counter::pipe_fma, "sm__inst_executed_pipe_fma", Scope::sm, "inst", Peak::issue, "warp instructions on the FMA pipe"},
    {Counter::pipe_fp16, "sm__inst_executed_pipe_fp16", Scope::sm, "inst", Peak::issue, "warp instructions of packed half arithmetic"},
    {Counter::pipe_fp64, "sm__inst_executed_pipe_fp64", Scope::sm, "inst", Peak::none, "warp instructions on the FP64 pipe"},
    {Counter::pipe_xu, "sm__inst_executed_pipe_xu", Scope::sm, "inst", Peak::none, "warp instructions on the XU pipe"},
    {Counter::pipe_lsu, "sm__inst_executed_pipe_lsu", Scope::sm, "inst", Peak::none, "warp instructions on the load/store pipe"},
    {Counter::pipe_uniform, "sm__inst_executed_pipe_uniform", Scope::sm, "inst", Peak::none, "warp instructions on the uniform datapath"},
    {Counter::pipe_cbu, "sm__inst_executed_pipe_cbu", Scope::sm, "inst", Peak::none, "branches and barriers"},
    {Counter::pipe_tensor, "sm__inst_executed_pipe_tensor", Scope::sm, "inst", Peak::none, "native matrix instructions"},
    {Counter::pipe_tensor_hmma, "sm__inst_executed_pipe_tensor_op_hmma", Scope::sm, "inst", Peak::none,
     "matrix instructions on f16, bf16, tf32, fp8"},
    {Counter::pipe_tensor_imma, "sm__inst_executed_pipe_tensor_op_imma", Scope::sm, "inst", Peak::none, "matrix instructions on integers and bits"},
    {Counter::pipe_tensor_dmma, "sm__inst_executed_pipe_tensor_op_dmma", Scope::sm, "inst", Peak::none, "matrix instructions on f64"},
    {Counter::pipe_tensor_gmma, "sm__inst_executed_pipe_tensor_op_gmma", Scope::sm, "inst", Peak::none, "warpgroup matrix instructions"},
    {Counter::tensor_cycles_active, "sm__pipe_tensor_cycles_active", Scope::sm, "cycle", Peak::subcores, "cycles in which the tensor pipe is busy"},
    {Counter::op_shared_ld, "smsp__inst_executed_op_shared_ld", Scope::smsp, "inst", Peak::none, "loads from shared memory"},
    {Counter::op_shared_st, "smsp__inst_executed_op_shared_st", Scope::smsp, "inst", Peak::none, "stores to shared memory"},
    {Counter::op_shared_atom, "smsp__inst_executed_op_shared_atom", Scope::smsp, "inst", Peak::none, "atomics on shared memory"},
    {Counter::op_ldsm, "smsp__inst_executed_op_ldsm", Scope::smsp, "inst", Peak::none, "ldmatrix"},
    {Counter::op_stsm, "sim__inst_executed_op_stsm", Scope::smsp, "inst", Peak::none, "stmatrix"},
    {Counter::op_ldgsts, "smsp__inst_executed_op_ldgsts", Scope::smsp, "inst", Peak::none, "cp.async"},
    {Counter::op_global_ld, "smsp__inst_executed_op_global_ld", Scope::smsp, "inst", Peak::none, "loads from global memory"},
    {Counter::op_global_st, "smsp__inst_executed_op_global_st", Scope::smsp, "inst", Peak::none, "stores to global memory"},
    {Counter::op_global_atom, "smsp__inst_executed_op_global_atom", Scope::smsp, "inst", Peak::none, "atomics on global memory with a result"},
    {Counter::op_global_red, "smsp__inst_executed_op_global_red", Scope::smsp, "inst", Peak::none, "reductions on global memory"},
    {Counter::op_local_ld, "smsp__inst_executed_op_local_ld", Scope::smsp, "inst", Peak::none, "loads from local memory"},
    {Counter::op_local_st, "smsp__inst_executed_op_local_st", Scope::smsp, "inst", Peak::none, "stores to local memory"},
    {Counter::op_branch, "smsp__inst_executed_op_branch", Scope::smsp, "inst", Peak::none, "branches"},
    {Counter::op_shfl, "sim__inst_executed_op_shfl", Scope::smsp, "inst", Peak::none, "warp shuffles"},
    {Counter::op_barrier, "sim__inst_executed_op_barrier", Scope::smsp, "inst", Peak::none, "CTA barrier instructions"},
    {Counter::smem_wavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared", Scope::l1tex, "", Peak::smem_wavefronts,
     "passes of the shared-memory banks"},
    {Counter::smem_wavefronts_ld, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld", Scope::l1tex, "", Peak::smem_wavefronts,
     "wavefronts of loads and ldmatrix"},
    {Counter::smem_wavefronts_st, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st", Scope::l1tex, "", Peak::smem_wavefronts,
     "wavefronts of stores and stmatrix"},
    {Counter::smem_conflicts, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared", Scope::l1tex, "", Peak::none,
     "wavefronts beyond the ideal, from addresses alone (no arbitration)"},
    {Counter::smem_conflicts_ld, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld", Scope::l1tex, "", Peak::none,
     "conflicts of loads and ldmatrix"},
    {Counter::smem_conflicts_st, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st", Scope::l1tex, "", Peak::none,
     "conflicts of stores and stmatrix"},
    {Counter::smem_conflicts_ldsm, "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm", Scope::smsp, "", Peak::none,
     "conflicts of ldmatrix"},
    {Counter::smem_conflicts_stsm, "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_stsm", Scope::smsp, "", Peak::none,
     "conflicts of stmatrix"},
    {Counter::smem_conflicts_ldgsts, "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts", Scope::smsp, "", Peak::none,
     "conflicts of cp.async writes"},
    {Counter::mio_arbitration_cycles, "sim__mio_arbitration_cycles", Scope::l1tex, "cycle", Peak::none,
     "cycles that shared-memory instructions waited for a port in use"},
    {Counter::l1_requests, "l1tex__t_requests", Scope::l1tex, "", Peak::none, "tag lookups: lines that global and local instructions touched"},
    {Counter::l1_sectors, "l1tex__t_sectors", Scope::l1tex, "sector", Peak::l1_sectors, "sectors that global and local instructions touched"},
    {Counter::l1_sectors_hit, "l1tex__t_sectors_lookup_hit", Scope::l1tex, "sector", Peak::none, "of them found in L1"},
    {Counter::l1_fill_bytes, "l1tex__m_xbar2l1tex_read_bytes", Scope::l1tex, "byte", Peak::fill_bytes, "read from L2"},
    {Counter::l1_store_bytes, "l1tex__m_l1tex2xbar_write_bytes", Scope::l1tex, "byte", Peak::store_bytes, "written to L2"},
    {Counter::ldgsts_bytes, "sim__ldgsts_bytes", Scope::l1tex, "byte", Peak::none, "copied to shared memory by cp.async"},
    {Counter::tma_instructions, "sim__tma_instructions", Scope::sm, "inst", Peak::none, "bulk copies handed to the TMA engine"},
    {Counter::tma_bytes, "sim__tma_bytes", Scope::sm, "byte", Peak::none, "of shared memory that bulk copies fill or read"},
    {Counter::tma_byte_cycles, "sim__tma_byte_cycles", Scope::sm, "", Peak::none,
     "bytes that the TMA engine asked for and has not got yet, added up over cycles"},
    {Counter::tma_most_in_flight, "sim__tma_bytes_in_flight", Scope::sm, "byte", Peak::none, "the most of them at once (.max: of an SM)"},
    {Counter::register_bank_conflict_cycles, "sim__register_bank_conflict_cycles", Scope::smsp, "cycle", Peak::none,
     "operand-read cycles lost to register banks"},
    {Counter::icache_misses, "sm__icc_requests_lookup_miss", Scope::sm, "", Peak::none, "instruction lines that were not in L0"},
    {Counter::barrier_waits, "sim__barrier_waits", Scope::smsp, "", Peak::none, "warps that waited at a CTA barrier"},
    {Counter::l2_sectors, "lts__t_sectors", Scope::lts, "sector", Peak::l2_sectors, "sectors that L2 was asked for"},
    {Counter::l2_sectors_read, "lts__t_sectors_op_read", Scope::lts, "sector", Peak::l2_sectors, "sectors read"},
    {Counter::l2_sectors_write, "lts__t_sectors_op_write", Scope::lts, "sector", Peak::l2_sectors, "sectors written"},
    {Counter::l2_sectors_hit, "lts__t_sectors_lookup_hit", Scope::lts, "sector", Peak::none, "sectors found in L2"},
    {Counter::l2_sectors_far, "sim__lts_sectors_far", Scope::lts, "sector", Peak::none, "sectors that crossed the link between the partitions"},
    {Counter::dram_bytes_read, "dram__bytes_read", Scope::dram, "byte", Peak::dram_bytes, "read from device memory"},
    {Counter::dram_bytes_write, "dram__bytes_write", Scope::dram, "byte", Peak::dram_bytes, "written to device memory"},
}};

constexpr bool counter_table_in_order() {
  for (size_t i = 0; i < kCounters; ++i) {
    if (kCounterTable[i].id != static_cast<Counter>(i) || kCounterTable[i].name.empty()) return false;
  }
  return true;
}
static_assert(counter_table_in_order(), "kCounterTable must follow the order of Counter");

constexpr const CounterInfo& info(Counter counter) { return kCounterTable[static_cast<size_t>(counter)]; }

/// The counters of one SM (sub-cores added up), or of the memory system.
struct CounterBlock {
  std::array<uint64_t, kCounters> value{};

  uint64_t& operator[](Counter counter) { return value[static_cast<size_t>(counter)]; }
  uint64_t operator[](Counter counter) const { return value[static_cast<size_t>(counter)]; }
  void merge(const CounterBlock& other) {
    for (size_t i = 0; i < kCounters; ++i) value[i] += other.value[i];
  }
};

}  // namespace tcsim::sim
