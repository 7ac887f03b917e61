#include "tools/tcsim/sweep_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>

#include "tools/tcsim/gemm_kernel.h"
#include "tools/tcsim/sweep_cells.h"
#include "workloads/common/dtype.h"

namespace tcsim::tool {
namespace {

double bits_of(const launch::LaunchFile& file, const char* buffer) {
  const launch::BufferSpec* spec = file.find_buffer(buffer);
  return spec == nullptr ? 0 : wl::storage_bits(spec->dtype);
}

std::string type_of(const launch::LaunchFile& file, const char* buffer) {
  const launch::BufferSpec* spec = file.find_buffer(buffer);
  return spec == nullptr ? "" : std::string(isa::name(spec->dtype));
}

uint64_t loaded_bytes(const gemm::Program& program) {
  uint64_t bytes = 0;
  for (const gemm::SharedUse& use : program.shared)
    if (use.per_stage) bytes += uint64_t{use.stages} * use.bytes;
  return bytes;
}

/// The problem as the CUTLASS profiler counts it: A and B read once, D written once.
void problem_cells(const GemmKernel& kernel, SweepRow& row) {
  const gemm::Config& c = kernel.config;
  const double m = c.m, n = c.n, k = c.k;
  const double bytes = (m * k * bits_of(kernel.file, "A") + n * k * bits_of(kernel.file, "B") + m * n * bits_of(kernel.file, "C")) / 8;
  row["Operation"] = kernel.program.entry;
  row["D"] = type_of(kernel.file, "C") + ":row";
  row["Bytes"] = fmt::format("{:.0f}", bytes);
  row["Flops"] = fmt::format("{:.0f}", 2 * m * n * k);
  row["Flops/Byte"] = fmt::format("{:.4g}", 2 * m * n * k / bytes);
}

SweepRow run_gemm_point(const SweepPoint& point) {
  SweepRow row = point.row;
  const cfg::Machine& machine = *point.on.machine;
  Diagnostics diags, ignored;
  const auto kernel = build_gemm(point.config, machine, diags);
  // What does not fit is described as well.
  if (const SharedBudget budget = gemm_budget(point.config, machine, ignored); !ignored.has_errors()) budget_cells(budget, row);
  if (!kernel) {
    refusal_cells(diags, row);
    return row;
  }
  problem_cells(*kernel, row);
  occupancy_cells(kernel->occupancy, machine, row);
  row["bytes_in_flight"] = fmt::format("{}", loaded_bytes(kernel->program) * kernel->occupancy.ctas_per_sm);
  const GemmTiming timing = time_gemm(point.config, machine, {});
  timing_cells(timing, machine, row);
  return row;
}

}  // namespace

SweepPoint gemm_point(const SweepMachine& on, const gemm::Config& c) {
  SweepPoint point{on, c, std::nullopt, {}};
  SweepRow& row = point.row;
  machine_cells(on, row);
  row["gemm_kind"] = "universal";
  row["m"] = fmt::format("{}", c.m), row["n"] = fmt::format("{}", c.n), row["k"] = fmt::format("{}", c.k);
  // BLAS letters: t for A is rows of K, n for B columns of K.
  row["A"] = c.dtype + (c.layout[0] == 't' ? ":row" : ":column");
  row["B"] = c.dtype + (c.layout[1] == 't' ? ":row" : ":column");
  row["alpha"] = "1", row["beta"] = "0", row["split_k_slices"] = "1", row["batch_count"] = "1";
  row["op_class"] = c.style == "simt" ? "simt" : "tensorop";
  row["accum"] = row["acc"] = c.acc;
  const char* tile[] = {"cta_m", "cta_n", "cta_k"};
  for (size_t i = 0; i < 3; ++i) row[tile[i]] = fmt::format("{}", c.tile[i]);
  row["cluster_m"] = fmt::format("{}", c.cluster[0]), row["cluster_n"] = fmt::format("{}", c.cluster[1]), row["cluster_k"] = "1";
  row["stages"] = fmt::format("{}", c.stages);
  row["style"] = c.style;
  row["tile"] = fmt::format("{}", fmt::join(c.tile, "x"));
  row["cluster"] = fmt::format("{}", fmt::join(c.cluster, "x"));
  if (c.warps[0] != 0) {
    row["warps_m"] = fmt::format("{}", c.warps[0]), row["warps_n"] = fmt::format("{}", c.warps[1]);
    row["warps"] = fmt::format("{}", fmt::join(c.warps, "x"));
  }
  if (c.consumers != 0) row["consumers"] = fmt::format("{}", c.consumers);
  row["swizzle"] = c.swizzle;
  row["dtype"] = c.dtype;
  row["layout"] = c.layout;
  row["options"] = option_text(c);
  return point;
}

SweepRow run_point(const SweepPoint& point) {
  try {
    return point.compiled ? run_compiled_point(point) : run_gemm_point(point);
  } catch (const std::exception& error) {
    SweepRow row = point.row;
    row["Disposition"] = "failed";
    row["Status"] = "internal";
    row["reason"] = error.what();
    return row;
  }
}

}  // namespace tcsim::tool
