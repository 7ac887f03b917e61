#include "tools/explain/limits.h"

#include <algorithm>
#include <type_traits>

#include "isa/check.h"
#include "sim/config/fields.h"

namespace tcsim::explain {
namespace {

using Overrides = std::vector<Override>;

// Not values of a machine: beyond all of them.
constexpr double kInfiniteRate = 1e12;
constexpr uint32_t kInfiniteCount = 1u << 30, kMany = 64;

template <class Number>
void change(Number& value, To to) {
  switch (to) {
    case To::zero: value = 0; break;
    case To::one: value = 1; break;
    case To::half: value = std::is_floating_point_v<Number> ? value / 2 : (value + 1) / 2; break;
    case To::many: value *= kMany; break;
    case To::infinite: value = static_cast<Number>(std::is_floating_point_v<Number> ? kInfiniteRate : kInfiniteCount); break;
  }
}

void change(const cfg::Slot& slot, To to, const std::string& key) {
  std::visit(
      [&](auto* value) {
        using Value = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::vector<uint32_t>>) {
          for (uint32_t& each : *value) change(each, to);
        } else if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
          change(*value, to);
        } else {
          TC_CHECK(false, "{} is no number", key);
        }
      },
      slot);
}

constexpr std::string_view kEveryRow = "mma.*.";

/// The operations of a class cost their issue slot only.
Overrides instant(std::initializer_list<const char*> classes) {
  Overrides out;
  for (const char* name : classes)
    for (const char* field : {"latency", "interval", "stall"}) out.push_back({std::string("timing.") + name + "." + field, To::zero});
  return out;
}

Overrides operator+(Overrides a, const Overrides& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Overrides dram_latency() { return {{"dram.extra_cycles", To::zero}, {"dram.refresh_cycles", To::zero}, {"dram.tlb_miss_cycles", To::zero}}; }
/// One cycle is as near as an SM can be: SMs are simulated a cycle apart from what they ask.
Overrides l2_latency() { return {{"l2.near_cycles", To::one}, {"l2.far_cycles", To::one}, {"l2.cross_cycles", To::zero}}; }
Overrides dram_bandwidth() { return {{"dram.bytes_per_cycle", To::infinite}}; }
Overrides l2_read_bandwidth() {
  return {{"l2.slice_bytes_per_cycle", To::infinite}, {"l2.partition_bytes_per_cycle", To::infinite}, {"l1.fill_bytes_per_cycle", To::infinite}};
}
Overrides l2_bandwidth() {
  return l2_read_bandwidth() +
         Overrides{{"l2.write_cycles_per_sector", To::zero}, {"l2.atomic_cycles", To::zero}, {"l1.store_bytes_per_cycle", To::infinite}};
}
Overrides tma_loads() {
  return {
      {"tma.issue_cycles", To::zero}, {"tma.start_cycles", To::zero},     {"tma.descriptor_cycles", To::zero},          {"tma.row_cycles", To::zero},
      {"tma.load_cycles", To::zero},  {"tma.multicast_cycles", To::zero}, {"tma.request_bytes_per_cycle", To::infinite}};
}
Overrides tma_issue() {
  return tma_loads() +
         Overrides{{"tma.store_cycles", To::zero},
                   {"tma.store_done_cycles", To::zero},
                   {"tma.store_bytes_per_cycle", To::infinite},
                   {"tma.reduce_bytes_per_cycle", To::infinite}} +
         instant({"tma", "tma_wait"});
}
/// The data of a stage is there when it is asked for: what enough stages bring as long as the bandwidths suffice. Stores stay as they are.
Overrides data_in_time() {
  return dram_latency() + l2_latency() + dram_bandwidth() + l2_read_bandwidth() + tma_loads() +
         Overrides{{"tma.max_bytes_in_flight", To::infinite},
                   {"l1.miss_queue_sectors", To::infinite},
                   {"mbarrier.arrive_cycles", To::zero},
                   {"mbarrier.wake_cycles", To::zero}};
}
/// The banks' width also carries the operands of wgmma and tcgen05.
Overrides shared_bandwidth() {
  return {{"smem.wavefront_cycles", To::zero},         {"smem.store_wavefront_cycles", To::zero},
          {"smem.subcore_wavefront_cycles", To::zero}, {"smem.async_copy_cycles", To::zero},
          {"smem.issue_interval", To::zero},           {"smem.bank_bytes", To::many},
          {"timing.lds.interval", To::zero},           {"timing.ldsm.interval", To::zero},
          {"timing.sts.interval", To::zero},           {"timing.stsm.interval", To::zero},
          {"timing.ldgsts.interval", To::zero},        {"tcgen05.operand_bytes_per_cycle", To::infinite},
          {"wgmma.ss_overhead_cycles", To::zero},      {"tcgen05.copy_bytes_per_cycle", To::infinite}};
}
Overrides barriers() {
  return instant({"bar", "mbarrier_arrive", "mbarrier_wait", "bar_cluster"}) +
         Overrides{{"scheduler.barrier_cycles", To::zero}, {"scheduler.barrier_warp_cycles", To::zero}, {"mbarrier.arrive_cycles", To::zero},
                   {"mbarrier.wake_cycles", To::zero},     {"cluster.barrier_cycles", To::zero},        {"tcgen05.commit_cycles", To::zero}};
}
Overrides arithmetic() {
  Overrides out;
  for (const char* name : {"alu", "isetp", "imad", "imad_wide", "fma", "half", "fp64", "mufu", "cvt", "cvt_pack", "popc"})
    out.push_back({std::string("timing.") + name + ".interval", To::zero});
  return out;
}
/// Chains of dependent instructions wait for nothing.
Overrides instruction_latency() {
  Overrides out = {{"mma.*.latency", To::zero},
                   {"wgmma.latency", To::zero},
                   {"tcgen05.latency", To::one},
                   {"tcgen05.pair_latency", To::one},
                   {"tcgen05.pair_half_latency", To::one},
                   {"tcgen05.copy_latency", To::one}};  // 0: there is no Tensor Memory
  for (const char* name : {"alu",  "isetp", "imad",  "imad_wide", "fma",     "half", "fp64", "mufu", "cvt", "cvt_pack", "popc",
                           "shfl", "vote",  "redux", "s2r",       "uniform", "ldc",  "lds",  "ldsm", "sts", "stsm",     "tcgen05_ld"})
    out.push_back({std::string("timing.") + name + ".latency", To::zero});
  return out;
}
Overrides tensor_pipe() {
  return {{"mma.*.interval", To::half},
          {"wgmma.cycles_per_column", To::half},
          {"wgmma.rs_min_cycles", To::half},
          {"tcgen05.cycles_per_column", To::half},
          {"tcgen05.pair_half_cycles_per_column", To::half}};
}

std::vector<Limit> make_limits() {
  using L = LimitId;
  std::vector<Limit> all;
  all.push_back({.id = L::bank_conflicts,
                 .name = "bank conflicts",
                 .meaning = "each shared-memory access takes its ideal wavefronts",
                 .lifts = {{}, {.bank_conflicts = true}},
                 .needs = {sim::Counter::smem_conflicts}});
  all.push_back({.id = L::shared_bandwidth,
                 .name = "shared-memory bandwidth",
                 .meaning = "wavefronts and matrix operands take no time at the banks",
                 .lifts = {shared_bandwidth()},
                 .includes = {L::bank_conflicts}});
  all.push_back({.id = L::data_in_time,
                 .name = "data comes too late",
                 .meaning = "all loads but the first land at once, as with enough stages; bandwidths still hold",
                 .lifts = {data_in_time()},
                 .keeps_roofs = true,
                 .wider_than = {L::dram_latency, L::l2_latency}});
  all.push_back({.id = L::dram_latency, .name = "DRAM latency", .meaning = "DRAM answers as soon as L2", .lifts = {dram_latency()}});
  all.push_back({.id = L::l2_latency, .name = "L2 latency", .meaning = "L2 answers at once", .lifts = {l2_latency()}});
  all.push_back({.id = L::dram_bandwidth,
                 .name = "DRAM bandwidth",
                 .meaning = "any number of bytes a cycle from DRAM",
                 .lifts = {dram_bandwidth(), {}, {Roof::dram}}});
  all.push_back({.id = L::l2_bandwidth,
                 .name = "L2 bandwidth",
                 .meaning = "any number of bytes a cycle from L2 and into an SM",
                 .lifts = {l2_bandwidth(), {}, {Roof::l2}}});
  all.push_back({.id = L::l1_throughput,
                 .name = "L1 and LSU throughput",
                 .meaning = "global accesses take no time in LSU and L1",
                 .lifts = {{{"l1.tag_cycles", To::zero}, {"l1.data_bytes_per_cycle", To::infinite}, {"l1.subcore_line_cycles", To::zero}}}});
  all.push_back({.id = L::issue_slots, .name = "issue slots", .meaning = "instructions take no time to issue", .lifts = {{}, {.issue_slots = true}}});
  all.push_back({.id = L::arithmetic,
                 .name = "arithmetic pipes",
                 .meaning = "integer, FMA, FP64 and conversion pipes take any number of instructions",
                 .lifts = {arithmetic()}});
  all.push_back({.id = L::instruction_latency,
                 .name = "instruction latency",
                 .meaning = "results of arithmetic, matrix and shared-memory instructions are there at once",
                 .lifts = {instruction_latency()}});
  all.push_back({.id = L::barriers, .name = "barriers", .meaning = "barriers and mbarriers wake their waiters at once", .lifts = {barriers()}});
  all.push_back({.id = L::tma_issue,
                 .name = "TMA issue",
                 .meaning = "bulk copies take no time in the TMA engine",
                 .lifts = {tma_issue(), {}, {Roof::tma}},
                 .needs = {sim::Counter::tma_instructions}});
  all.push_back(
      {.id = L::registers, .name = "registers", .meaning = "occupancy without the limit of registers", .lifts = {{{"limits.registers", To::many}}}});
  all.push_back({.id = L::shared_capacity,
                 .name = "shared-memory size",
                 .meaning = "occupancy without the limit of shared memory",
                 .lifts = {{{"limits.smem_bytes", To::many}, {"limits.l1_smem_bytes", To::many}, {"limits.smem_carveouts_bytes", To::many}}}});
  all.push_back({.id = L::stores,
                 .name = "stores of the result",
                 .meaning = "writes to global memory cost nothing below the SM",
                 .lifts = {{{"tma.store_cycles", To::zero}, {"tma.store_bytes_per_cycle", To::infinite}}, {.stores = true}}});
  all.push_back({.id = L::tensor_pipe,
                 .name = "tensor pipe",
                 .meaning = "tensor cores twice as fast",
                 .lifts = {tensor_pipe()},
                 .needs = {sim::Counter::pipe_tensor, sim::Counter::pipe_tensor_hmma, sim::Counter::pipe_tensor_imma}});
  return all;
}

}  // namespace

Lifts& Lifts::operator+=(const Lifts& other) {
  for (const Override& each : other.overrides)
    if (std::none_of(overrides.begin(), overrides.end(), [&](const Override& o) { return o.key == each.key; })) overrides.push_back(each);
  switches.bank_conflicts |= other.switches.bank_conflicts;
  switches.issue_slots |= other.switches.issue_slots;
  switches.stores |= other.switches.stores;
  roofs.insert(roofs.end(), other.roofs.begin(), other.roofs.end());
  return *this;
}

const std::vector<Limit>& limits() {
  static const std::vector<Limit> all = make_limits();
  return all;
}

const Limit& limit_of(LimitId id) {
  const auto it = std::find_if(limits().begin(), limits().end(), [id](const Limit& limit) { return limit.id == id; });
  TC_CHECK(it != limits().end(), "limit {} is in the table", static_cast<int>(id));
  return *it;
}

cfg::Machine lift(const cfg::Machine& machine, const Lifts& lifts) {
  cfg::Machine out = machine;
  for (const Override& each : lifts.overrides) {
    if (each.key.starts_with(kEveryRow)) {
      for (const auto& [row, timing] : machine.mma)
        for (const cfg::Field& field : cfg::mma_fields(row))
          if (field.key.ends_with(each.key.substr(kEveryRow.size() - 1))) change(field.slot(out), each.to, field.key);
      continue;
    }
    const auto& fields = cfg::fields();
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const cfg::Field& f) { return f.key == each.key; });
    TC_CHECK(field != fields.end(), "the machine has no value {}", each.key);
    change(field->slot(out), each.to, each.key);
  }
  return out;
}

}  // namespace tcsim::explain
