#include "tools/tcsim/gemm_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/insn/wgmma.h"
#include "sim/gpu/make_report.h"
#include "sim/gpu/target_check.h"
#include "tools/launch/prepare.h"
#include "workloads/common/dtype.h"

namespace tcsim::tool {
namespace {

/// The oldest target that has what the kernel uses, so that one kernel compares machines; older machines get their own.
uint32_t target_of(const cfg::Machine& machine, const gemm::Config& config) {
  const uint32_t wanted = config.dtype == "e4m3" || config.dtype == "e5m2" ? 89 : 80;
  return std::min(machine.chip.sm, wanted);
}

double bytes_of(const launch::LaunchFile& file, const char* buffer) {
  const launch::BufferSpec* spec = file.find_buffer(buffer);
  return spec == nullptr ? 0 : wl::storage_bits(spec->dtype) / 8.0;
}

/// Bytes that one warp reads from shared memory.
double shared_read_bytes(const isa::Inst& inst) {
  const double registers = isa::kLanes * static_cast<double>(inst.groups[0].count);
  switch (inst.op) {
    case isa::Op::ldmatrix: return 4 * registers;
    case isa::Op::wmma_load: return inst.space == isa::Space::shared ? 4 * registers : 0;
    case isa::Op::ld: return inst.space == isa::Space::shared ? registers * isa::bits(inst.type) / 8 : 0;
    default: return 0;
  }
}

/// [first, last] of the shortest loop around an instruction; the whole kernel when there is none.
std::pair<size_t, size_t> loop_around(const isa::Kernel& kernel, size_t at) {
  std::pair<size_t, size_t> best{0, kernel.insts.size() - 1};
  for (size_t i = at; i < kernel.insts.size(); ++i) {
    const int32_t target = kernel.insts[i].target;
    if (target < 0 || static_cast<size_t>(target) > at) continue;
    if (i - static_cast<size_t>(target) < best.second - best.first) best = {static_cast<size_t>(target), i};
  }
  return best;
}

/// Operands of asynchronous matrix instructions come from shared memory for each instruction of 64 rows (wgmma): A once, B once for
/// each. Bytes of an operation.
double streamed_bytes_per_flop(const analytic::Gemm& g, double rows_of_instruction) {
  const double flops = 2.0 * g.tile[0] * g.tile[1] * g.tile[2];
  return g.element_bytes * g.tile[2] * (g.tile[0] + g.tile[1] * std::max(1.0, g.tile[0] / rows_of_instruction)) / flops;
}

constexpr double kWgmmaRows = 64, kTcgen05Rows = 128, kTcgen05KBytes = 32;  // PTX ISA, shapes of wgmma.mma_async and tcgen05.mma

/// tcgen05.mma: a column of D takes its time whatever the type, K is 32 bytes; one thread issues.
void rates_of_tcgen05(const cfg::Machine& machine, analytic::Gemm& g) {
  g.flops_per_cycle = 2 * kTcgen05Rows * (kTcgen05KBytes / g.element_bytes) / machine.tcgen05.cycles_per_column;
  g.shared_bytes_per_flop = streamed_bytes_per_flop(g, kTcgen05Rows);
}

/// Rates of the main loop: its matrix instructions (or FFMA), what they read from shared memory, what is issued for them.
void count_main_loop(const GemmKernel& k, const cfg::Machine& machine, analytic::Gemm& g) {
  const std::vector<isa::Inst>& insts = k.kernel->insts;
  size_t main = 0;
  sim::MatrixWork most;
  for (size_t i = 0; i < insts.size(); ++i) {
    const sim::MatrixWork work = sim::matrix_work(insts[i], k.lowered, *k.kernel, machine);
    if (work.operations > most.operations) most = work, main = i;
  }
  g.flops_per_cycle = most.peak_per_cycle;
  const auto [first, last] = loop_around(*k.kernel, main);
  double flops = 0, shared = 0, issued = 0;
  for (size_t i = first; i <= last; ++i) {
    flops += sim::matrix_work(insts[i], k.lowered, *k.kernel, machine).operations;
    shared += shared_read_bytes(insts[i]);
  }
  for (const sim::MachineOp& op : k.lowered.ops) issued += op.inst >= first && op.inst <= last;
  if (flops == 0) return;
  g.issues_per_flop = issued / flops;
  g.shared_bytes_per_flop = gemm::is_hopper_style(k.config.style) ? streamed_bytes_per_flop(g, kWgmmaRows) : shared / flops;
}

isa::LaunchInfo shape_of(const gemm::Program& program) {
  isa::LaunchInfo info;
  info.grid = {program.grid[0], program.grid[1], program.grid[2]};
  info.block = {program.block[0], program.block[1], program.block[2]};
  info.cluster = {program.cluster[0], program.cluster[1], program.cluster[2]};
  info.dynamic_smem_bytes = program.dynamic_smem_bytes;
  return info;
}

/// Values do not matter, and random ones take long to make.
void clear_values(launch::LaunchFile& file) {
  for (launch::BufferSpec& buffer : file.buffers) buffer.init = launch::Init::zeros;
}

}  // namespace

bool GemmKernel::persistent() const {
  const uint64_t tiles = uint64_t{(config.m + config.tile[0] - 1) / config.tile[0]} * ((config.n + config.tile[1] - 1) / config.tile[1]);
  return ctas() < tiles;
}

gemm::Config for_machine(gemm::Config config, const cfg::Machine& machine) {
  config.sm = target_of(machine, config);
  config.sms = machine.chip.sms;
  return config;
}

std::optional<GemmKernel> build_gemm(const gemm::Config& config, const cfg::Machine& machine, Diagnostics& diags) {
  GemmKernel k;
  k.config = for_machine(config, machine);
  k.program = gemm::generate(k.config, diags);
  if (diags.has_errors()) return std::nullopt;
  const std::string path = k.program.entry + ".ptx";
  k.module = isa::load_module(path, k.program.ptx, diags);
  auto file = launch::parse_launch_file(path + ".toml", k.program.launch_toml, diags);
  if (!k.module || !file || diags.has_errors()) return std::nullopt;
  k.file = std::move(*file);
  k.kernel = k.module->find_kernel(k.program.entry);
  TC_CHECK(k.kernel != nullptr, "the generator's kernel {} is in its module", k.program.entry);
  if (!sim::check_target(*k.module, machine, diags)) return std::nullopt;  // lowering has no timing for what the machine lacks
  k.lowered = sim::lower(*k.module, *k.kernel, machine, {}, diags);
  if (diags.has_errors()) return std::nullopt;
  k.occupancy = sim::compute_occupancy(*k.kernel, shape_of(k.program), k.lowered.registers, machine, {path, k.kernel->line, 1}, diags);
  if (diags.has_errors()) return std::nullopt;
  return k;
}

analytic::Gemm describe_gemm(const GemmKernel& k, const cfg::Machine& machine) {
  analytic::Gemm g;
  g.m = k.config.m, g.n = k.config.n, g.k = k.config.k;
  g.tile = k.config.tile;
  g.stages = k.config.stages;
  g.cluster = k.config.cluster;
  g.element_bytes = bytes_of(k.file, "A");
  g.out_bytes = bytes_of(k.file, "C");
  g.ctas_per_sm = k.occupancy.ctas_per_sm;
  if (gemm::is_blackwell_style(k.config.style)) rates_of_tcgen05(machine, g);
  else count_main_loop(k, machine, g);
  return g;
}

GemmTiming timing_of(const sim::Report& report) {
  GemmTiming t;
  t.cycles = static_cast<double>(report.cycles);
  t.flops = report.roofline.flops;
  t.warp_instructions = static_cast<double>(report.simulated_warp_instructions);
  t.wall_s = report.wall_s;
  t.l2_to_sm_bytes = report.roofline.l2_bytes;
  t.peak_flops_per_cycle = report.roofline.peak_flops_per_cycle;
  t.peak_name = report.roofline.peak_name;
  t.busy = sim::resource_uses(report);
  for (sim::ResourceUse& use : t.busy) use.used *= t.cycles;
  std::copy(report.stalls.begin(), report.stalls.end(), t.stalls.begin());
  return t;
}

void GemmTiming::add(const GemmTiming& other, double weight) {
  cycles += weight * other.cycles;
  flops += weight * other.flops;
  warp_instructions += weight * other.warp_instructions;
  l2_to_sm_bytes += weight * other.l2_to_sm_bytes;
  if (failure.empty()) failure = other.failure;
  wall_s += other.wall_s;  // what it took, not what it stands for
  peak_flops_per_cycle = other.peak_flops_per_cycle;
  peak_name = other.peak_name;
  busy.resize(other.busy.size());
  for (size_t i = 0; i < busy.size(); ++i) busy[i].name = other.busy[i].name, busy[i].used += weight * other.busy[i].used;
  for (size_t i = 0; i < stalls.size(); ++i) stalls[i] += weight * other.stalls[i];
}

namespace {

GemmTiming run_timing(const gemm::Config& config, const cfg::Machine& machine, const TimingOptions& options, Diagnostics& diags) {
  auto kernel = build_gemm(config, machine, diags);
  if (!kernel) return {};
  clear_values(kernel->file);
  launch::Workspace work;
  if (!launch::prepare(kernel->file, *kernel->module, {}, work, diags)) return {};
  const launch::BoundLaunch& bound = work.launches.front();
  sim::SimOptions sim_options;
  sim_options.mode = sim::Mode::timing;
  sim_options.threads = options.threads;
  sim_options.ctas = options.ctas;
  const sim::SimResult result = sim::simulate(*kernel->module, *bound.kernel, bound.info, work.memory, machine, sim_options, diags);
  if (!result.ok) return {};
  return timing_of(sim::make_report(result, *kernel->module, *bound.kernel, bound.info, machine, sim_options));
}

}  // namespace

GemmTiming time_gemm(const gemm::Config& config, const cfg::Machine& machine, const TimingOptions& options) {
  Diagnostics diags;
  GemmTiming timing = run_timing(config, machine, options, diags);
  timing.failure = first_error(diags);
  return timing;
}

std::string first_error(const Diagnostics& diags) {
  for (const Diagnostic& diagnostic : diags.all())
    if (diagnostic.severity == Severity::error) return diagnostic.text;
  return "";
}

}  // namespace tcsim::tool
