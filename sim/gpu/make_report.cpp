#include "sim/gpu/make_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "isa/insn/wgmma.h"
#include "sim/sm/pipes.h"
#include "sim/trace/shared_names.h"

namespace tcsim::sim {
namespace {

/// Operations of a whole-warp FMA-pipe instruction: an fma counts two, add and mul one.
double scalar_flops(const isa::Inst& inst, uint64_t threads) {
  if (!isa::is_float(inst.type)) return 0;
  const double lanes = inst.type == isa::Type::f16x2 || inst.type == isa::Type::bf16x2 || inst.type == isa::Type::f32x2 ? 2 : 1;
  switch (inst.op) {
    case isa::Op::fma:
    case isa::Op::mad_lo: return 2 * lanes * static_cast<double>(threads);
    case isa::Op::add:
    case isa::Op::sub:
    case isa::Op::mul_lo: return lanes * static_cast<double>(threads);
    default: return 0;
  }
}

constexpr double kWarpsOfGroup = 4;

bool is_wgmma(const isa::Inst& inst) { return inst.op == isa::Op::wgmma_mma || inst.op == isa::Op::wgmma_mma_sp; }
bool is_matrix(const isa::Inst& inst) {
  return inst.op == isa::Op::mma || inst.op == isa::Op::mma_sp || inst.op == isa::Op::wmma_mma || is_wgmma(inst);
}

/// Operations of one warp's execution: the four warps of a wgmma share its.
double warp_operations(const isa::Inst& inst) { return operations_of(inst.timing_key) / (is_wgmma(inst) ? kWarpsOfGroup : 1); }

/// Operations a cycle of one SM. wgmma keeps its four tensor cores busy for a time that N alone sets.
double peak_of(const isa::Inst& main, const LoweredProgram& program, const isa::Kernel& kernel, const cfg::Machine& m) {
  if (is_wgmma(main)) {
    const double n = static_cast<const isa::WgmmaInst*>(static_cast<const isa::WgmmaOps*>(main.plan))->plan.desc().shape.n;
    return operations_of(main.timing_key) / (n * m.wgmma.cycles_per_column);
  }
  double cycles = 0;  // of a sub-core's tensor pipe for one execution
  for (const MachineOp& op : program.ops)
    if (op.timing == isa::TimingClass::mma && op.inst == static_cast<uint32_t>(&main - kernel.insts.data()))
      cycles += static_cast<double>(program.mma_rows[op.mma_row]->interval) / op.mma_steps;
  return cycles > 0 ? operations_of(main.timing_key) / cycles * m.limits.subcores : 0;
}

double ffma_peak(const cfg::Machine& m) {
  const uint32_t interval = m.of(isa::TimingClass::fma).interval;
  return interval > 0 ? 2.0 * isa::kLanes / interval * m.limits.subcores : 0;
}

/// Peak of the matrix row that did most of the work, else of the FMA pipe.
void find_roofs(const SimResult& r, const isa::Kernel& kernel, const cfg::Machine& m, const std::vector<uint64_t>& executed,
                const std::vector<uint64_t>& threads, Roofline& roof) {
  double most = 0, scalar = 0;
  const isa::Inst* main = nullptr;
  for (size_t i = 0; i < kernel.insts.size(); ++i) {
    const isa::Inst& inst = kernel.insts[i];
    if (is_matrix(inst)) {
      const double work = warp_operations(inst) * static_cast<double>(executed[i]);
      roof.flops += work;
      if (work > most) most = work, main = &inst;
    } else {
      scalar += scalar_flops(inst, threads[i]);
    }
  }
  const OpStats* tcgen05 = nullptr;  // the instruction that did most
  for (const OpStats& op : r.ops) {
    roof.flops += static_cast<double>(op.operations);
    if (op.operations > 0 && (tcgen05 == nullptr || op.operations > tcgen05->operations)) tcgen05 = &op;
  }
  if (tcgen05 != nullptr && static_cast<double>(tcgen05->operations) > most) {
    roof.peak_flops_per_cycle = static_cast<double>(tcgen05->operations) / tcgen05->tensor_cycles * m.chip.sms;
    roof.peak_name = fmt::format("tcgen05.mma kind::{}", tcgen05->kind);
  } else if (main != nullptr) {
    roof.peak_flops_per_cycle = peak_of(*main, r.program, kernel, m) * m.chip.sms;
    roof.peak_name = fmt::format("{} {}", is_wgmma(*main) ? "wgmma" : main->op == isa::Op::wmma_mma ? "wmma.mma" : "mma.sync", main->timing_key);
  } else {
    roof.flops = scalar;
    roof.peak_flops_per_cycle = ffma_peak(m) * m.chip.sms;
    roof.peak_name = "FFMA";
  }
  roof.dram_bytes_per_cycle = m.dram.bytes_per_cycle;
  roof.l2_bytes_per_cycle = m.l2.slices * m.l2.slice_bytes_per_cycle;
  const CounterBlock& memory = r.counters.memory;
  roof.dram_bytes = static_cast<double>(memory[Counter::dram_bytes_read] + memory[Counter::dram_bytes_write]);
  roof.l2_bytes = static_cast<double>(memory[Counter::l2_sectors]) * m.l2.sector_bytes;
}

/// Empty without debug information, and for what the compiler says is of no line (.loc F 0 0).
std::string source_only(const isa::Module& module, const isa::Inst& inst) {
  return inst.loc.file == 0 || inst.loc.line == 0 ? std::string() : module.source_of(inst);
}

void add_mbarriers(const SimResult& r, const isa::Module& module, const isa::Kernel& kernel, Report& report) {
  for (const auto& [offset, stats] : r.mbarriers) {
    const SharedPlace place = shared_place(module, kernel, offset);
    ReportBarrier b;
    b.name = place.str();
    b.phases = stats.phases;
    b.kind = stats.data ? ReportBarrier::Kind::data : ReportBarrier::Kind::arrivals;
    if (place.is_array) b.array = place.symbol, b.index = place.index;
    for (const auto& [index, waits] : stats.waiters) {
      const isa::Inst& inst = kernel.insts[index];
      const std::string source = source_only(module, inst);
      b.waiters.push_back({source.empty() ? fmt::format("{}:{}", module.path, inst.line) : source, waits.count, waits.cycles});
      b.waits += waits.count;
      b.wait_cycles += waits.cycles;
    }
    report.barriers.push_back(std::move(b));
  }
}

}  // namespace

MatrixWork matrix_work(const isa::Inst& inst, const LoweredProgram& program, const isa::Kernel& kernel, const cfg::Machine& machine) {
  if (is_matrix(inst)) return {warp_operations(inst), peak_of(inst, program, kernel, machine)};
  return {scalar_flops(inst, isa::kLanes), ffma_peak(machine)};
}

double operations_of(const char* timing_key) {
  unsigned m = 0, n = 0, k = 0;
  if (std::sscanf(timing_key, "m%un%uk%u", &m, &n, &k) != 3) return 0;
  // Volta's mma: each of the warp's four quad pairs computes a product of its own (PTX ISA, "mma.m8n8k4").
  const double products =
      std::string_view(timing_key).starts_with("m8n8k4.") && std::string_view(timing_key).find("f64") == std::string_view::npos ? 4 : 1;
  return 2.0 * m * n * k * products;
}

ReportArch make_report_arch(const cfg::Machine& machine) {
  ReportArch arch;
  arch.name = machine.name;
  arch.description = machine.description;
  arch.sm = machine.chip.sm;
  arch.sms = machine.chip.sms;
  arch.max_warps_per_sm = machine.limits.max_warps;
  arch.clock_mhz = machine.chip.clock_mhz;
  arch.values = static_cast<uint32_t>(machine.provenance.size());
  arch.assumed_values = machine.assumed_values;
  arch.set = machine.overrides;
  return arch;
}

Report make_report(const SimResult& r, const isa::Module& module, const isa::Kernel& kernel, const isa::LaunchInfo& launch,
                   const cfg::Machine& machine, const SimOptions& options) {
  Report report;
  report.mode = options.mode == Mode::full ? "full" : "timing";
  report.arch = make_report_arch(machine);
  report.kernel = kernel.name;
  report.kernel_path = module.path;
  report.launch.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
  report.launch.block = {launch.block.x, launch.block.y, launch.block.z};
  report.launch.cluster = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
  report.launch.dynamic_smem_bytes = launch.dynamic_smem_bytes;
  report.launch.static_smem_bytes = kernel.shared_static_bytes;
  report.launch.registers_per_thread = r.occupancy.registers_per_thread;
  report.launch.registers_estimated = options.registers == 0 && kernel.maxnreg == 0;
  report.launch.ctas_per_sm = r.occupancy.ctas_per_sm;
  report.launch.warps_per_cta = r.occupancy.warps_per_cta;
  report.launch.limiter = r.occupancy.limiter;
  report.cycles = r.cycles;
  report.kernel_cycles = r.kernel_cycles;
  report.wall_s = r.wall_s;
  report.metrics = make_metrics(r.counters, machine);
  report.stalls = r.counters.stalls;

  const size_t count = kernel.insts.size();
  std::vector<uint64_t> executed(count), threads(count);
  std::vector<ReportInstruction> rows(count);
  uint64_t waits = 0, wait_cycles = 0;
  for (size_t s = 0; s < r.program.ops.size(); ++s) {
    const OpStats& op = r.ops[s];
    report.simulated_warp_instructions += op.executed;
    for (uint32_t i = r.program.first[s]; i < r.program.first[s + 1]; ++i) {
      executed[r.program.order[i]] += op.executed;
      threads[r.program.order[i]] += op.threads;
    }
    ReportInstruction& row = rows[r.program.ops[s].inst];
    row.wavefronts += op.wavefronts;
    row.wavefronts_ideal += op.wavefronts_ideal;
    for (size_t i = 0; i < kStallReasons; ++i) row.stalls[i] += op.stalls[i];
    if (r.program.ops[s].timing == isa::TimingClass::bar) waits += op.executed;
    wait_cycles += op.stalls[static_cast<size_t>(Stall::barrier)];
  }
  for (size_t i = 0; i < count; ++i) {
    if (executed[i] == 0 && rows[i].cycles() == 0) continue;
    const isa::Inst& inst = kernel.insts[i];
    rows[i].index = static_cast<uint32_t>(i);
    rows[i].text = std::string(inst.text);
    rows[i].source = source_only(module, inst);
    rows[i].place = fmt::format("{}:{}", module.path, inst.line);
    rows[i].executed = executed[i];
    if (const auto conflicts = r.conflicts.find(static_cast<uint32_t>(i)); conflicts != r.conflicts.end()) {
      rows[i].note = conflicts->second.lanes;
      rows[i].bank_conflicts = conflicts->second.extra;
    }
    report.instructions.push_back(std::move(rows[i]));
  }
  if (waits != 0) report.barriers.push_back({.name = "CTA barriers", .waits = waits, .wait_cycles = wait_cycles});
  add_mbarriers(r, module, kernel, report);
  find_roofs(r, kernel, machine, executed, threads, report.roofline);
  report.not_modelled = {"virtual address translation beyond a first-touch cost", "power and clock throttling", "other kernels on the chip"};
  return report;
}

}  // namespace tcsim::sim
