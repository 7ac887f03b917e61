#include "tools/tcsim/sweep_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/tcsim/gemm_table.h"

namespace tcsim::tool {
namespace {

void mark(SweepRow& row, const char* disposition, const char* status, std::string reason) {
  row["Disposition"] = disposition;
  row["Status"] = status;
  // Of a kernel that does not fit: the numbers; what they consist of is in the budget.
  if (reason.starts_with("smem ")) reason.resize(std::min(reason.find(" ("), reason.size()));
  row["reason"] = reason;
}

}  // namespace

void machine_cells(const SweepMachine& on, SweepRow& row) {
  row["Provider"] = "tcsim";
  row["OperationKind"] = "gemm";
  row["arch"] = on.arch;
  row["set"] = on.set;
}

void occupancy_cells(const sim::Occupancy& o, const cfg::Machine& machine, SweepRow& row) {
  row["ctas_per_sm"] = fmt::format("{}", o.ctas_per_sm);
  row["occupancy"] = fmt::format("{:.4g}", static_cast<double>(o.ctas_per_sm) * o.warps_per_cta / machine.limits.max_warps);
  row["occupancy_limiter"] = o.limiter;
  row["registers"] = fmt::format("{}", o.registers_per_thread);
}

void budget_cells(const SharedBudget& budget, SweepRow& row) {
  row["shared_bytes"] = fmt::format("{}", budget.bytes);
  row["shared_budget"] = budget_line(budget);
  if (budget.stages != 0) row["largest_stages"] = fmt::format("{}", budget.largest_stages);
}

void timing_cells(const GemmTiming& t, const cfg::Machine& machine, SweepRow& row) {
  if (!t.failure.empty()) return mark(row, "failed", "failed", t.failure);
  mark(row, "not_verified", "success", "");  // as CUTLASS says it: values are not computed
  const double us = t.cycles / machine.chip.clock_mhz, bytes = row.number("Bytes");
  if (row.at("Flops").empty() && t.flops > 0) row["Flops"] = fmt::format("{:.0f}", t.flops);
  const double flops = row.number("Flops");
  row["Runtime"] = fmt::format("{:.6g}", us / 1e3);
  if (bytes > 0) row["GB/s"] = fmt::format("{:.6g}", bytes / (1 << 30) / (us * 1e-6));
  row["GFLOPs"] = fmt::format("{:.6g}", flops / us * 1e-3);
  row["cycles"] = fmt::format("{:.0f}", t.cycles);
  row["time_us"] = fmt::format("{:.6g}", us);
  row["tflops"] = fmt::format("{:.6g}", flops / us * 1e-6);
  // Readers round to a tenth of a percent: fewer digits here would round twice.
  row["share_of_peak"] = fmt::format("{:.6f}", t.share_of_peak());
  row["peak"] = t.peak_name;
  const auto [resource, share] = binding(t);
  row["bound_by"] = binding_text(t);
  row["binding_resource"] = resource;
  row["binding_share"] = fmt::format("{:.6f}", share);
  std::vector<std::string> stalls;
  for (const Stall& stall : waits(t)) stalls.push_back(fmt::format("{} {:.1f} %", stall.name, stall.share * 100));
  row["stalls"] = fmt::format("{}", fmt::join(stalls, ", "));
  row["warp_instructions"] = fmt::format("{:.0f}", t.warp_instructions);
  row["wall_s"] = fmt::format("{:.3f}", t.wall_s);
}

void refusal_cells(const Diagnostics& diags, SweepRow& row) { mark(row, "not_run", "not_supported", first_error(diags)); }

std::string option_text(const gemm::Config& c) {
  const gemm::Config defaults;
  std::vector<std::string> parts;
  if (!c.emulate.empty()) parts.push_back("emulate=" + c.emulate);
  if (!c.out.empty()) parts.push_back("out=" + c.out);
  if (c.epilogue != defaults.epilogue) parts.push_back("epilogue=" + c.epilogue);
  if (c.setmaxnreg != defaults.setmaxnreg) parts.push_back(fmt::format("setmaxnreg={}", c.setmaxnreg));
  if (c.promote != defaults.promote) parts.push_back(fmt::format("promote={}", c.promote));
  if (c.raster != defaults.raster) parts.push_back("raster=" + c.raster);
  if (c.group != defaults.group) parts.push_back(fmt::format("raster-group={}", c.group));
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace tcsim::tool
