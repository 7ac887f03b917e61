#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/writers.h"

namespace tcsim::sim {
namespace {

using Json = nlohmann::ordered_json;

/// Counts are doubles in Metrics; they print as integers where they are integers.
Json number(double v) {
  if (std::isfinite(v) && v == std::floor(v) && std::abs(v) < 9007199254740992.0) return static_cast<int64_t>(v);
  return std::isfinite(v) ? Json(v) : Json(nullptr);
}

Json stall_cycles(const StallCycles& stalls) {
  Json out = Json::object();
  for (const StallInfo& s : kStallTable) {
    const uint64_t cycles = stalls[static_cast<size_t>(s.reason)];
    if (cycles != 0) out[std::string(s.name)] = cycles;
  }
  return out;
}

Json stall_share_object(const StallCycles& stalls) {
  const auto shares = stall_shares(stalls);
  Json out = Json::object();
  for (const StallInfo& s : kStallTable) out[std::string(s.name)] = shares[static_cast<size_t>(s.reason)];
  return out;
}

Json launch_object(const ReportLaunch& l) {
  Json out = {{"grid", l.grid}, {"block", l.block}, {"cluster", l.cluster}};
  out["dynamic_smem_bytes"] = l.dynamic_smem_bytes;
  out["static_smem_bytes"] = l.static_smem_bytes;
  out["registers_per_thread"] = l.registers_per_thread;
  out["registers_estimated"] = l.registers_estimated;
  out["ctas_per_sm"] = l.ctas_per_sm;
  out["warps_per_cta"] = l.warps_per_cta;
  out["occupancy_limiter"] = l.limiter;
  return out;
}

Json arch_object(const ReportArch& a) {
  Json out = {{"name", a.name}, {"assumed_values", a.assumed_values}, {"set", a.set}};
  out["description"] = a.description;
  out["sm"] = a.sm;
  out["sms"] = a.sms;
  out["clock_mhz"] = number(a.clock_mhz);
  return out;
}

Json roofline_object(const Roofline& f) {
  return {{"flops", number(f.flops)},
          {"peak_flops_per_cycle", number(f.peak_flops_per_cycle)},
          {"peak_name", f.peak_name},
          {"dram_bytes_per_cycle", number(f.dram_bytes_per_cycle)},
          {"l2_bytes_per_cycle", number(f.l2_bytes_per_cycle)},
          {"dram_bytes", number(f.dram_bytes)},
          {"l2_bytes", number(f.l2_bytes)}};
}

Json instruction_object(const ReportInstruction& i) {
  Json out = {{"index", i.index}, {"text", i.text}, {"source", i.source}, {"ptx", i.place}, {"executed", i.executed}};
  out["wavefronts"] = i.wavefronts;
  out["wavefronts_ideal"] = i.wavefronts_ideal;
  out["conflicts"] = i.conflicts();
  if (!i.note.empty()) out["note"] = i.note;
  if (!i.bank_conflicts.empty()) out["bank_conflicts"] = i.bank_conflicts;
  out["stalls"] = stall_cycles(i.stalls);
  return out;
}

std::string_view severity_name(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

Json check_object(const ReportCheck& c) {
  Json out = {{"passed", c.passed}, {"max_abs", number(c.max_abs)}, {"max_ulp", number(c.max_ulp)}, {"rel_l2", number(c.rel_l2)}};
  out["elements"] = c.elements;
  out["failures"] = c.failures;
  if (!c.first_failure.empty()) out["first_failure"] = c.first_failure;
  return out;
}

Json barrier_object(const ReportBarrier& b) {
  Json out = {{"name", b.name}, {"waits", b.waits}, {"wait_cycles", b.wait_cycles}};
  if (b.kind == ReportBarrier::Kind::cta) return out;
  out["kind"] = b.kind == ReportBarrier::Kind::data ? "data" : "arrivals";
  out["phases"] = b.phases;
  Json& waiters = out["waiters"] = Json::array();
  for (const ReportBarrier::Waiter& w : b.waiters) waiters.push_back({{"where", w.where}, {"waits", w.waits}, {"wait_cycles", w.wait_cycles}});
  return out;
}

void add_timing(Json& out, const Report& r) {
  out["cycles"] = r.cycles;
  out["time_us"] = r.time_us();
  if (r.roofline.flops > 0) out["tflops"] = r.tflops();
}

void add_roofline(Json& out, const Report& r) {
  out["roofline"] = roofline_object(r.roofline);
  Json& resources = out["resources"] = Json::array();
  for (const ResourceUse& use : resource_uses(r)) resources.push_back({{"name", use.name}, {"used", use.used}});
  out["verdict"] = verdict(r);
}

void add_lists(Json& out, const Report& r) {
  if (r.timed()) {
    Json& metrics = out["metrics"] = Json::object();
    for (const auto& [name, value] : r.metrics) metrics[name] = number(value);
    out["stalls"] = stall_share_object(r.stalls);
  }
  Json& instructions = out["instructions"] = Json::array();
  for (const ReportInstruction& i : r.instructions) instructions.push_back(instruction_object(i));
  Json& barriers = out["barriers"] = Json::array();
  for (const ReportBarrier& b : r.barriers) barriers.push_back(barrier_object(b));
  Json& diagnostics = out["diagnostics"] = Json::array();
  for (const Diagnostic& d : r.diagnostics) {
    diagnostics.push_back({{"severity", severity_name(d.severity)}, {"kind", d.kind}, {"where", d.place.str()}, {"text", d.text}});
  }
}

}  // namespace

std::string write_json(const Report& r) {
  Json out;
  out["tcsim"] = {{"version", r.version}, {"command", r.command}};
  out["arch"] = arch_object(r.arch);
  out["kernel"] = r.kernel;
  out["mode"] = r.mode;
  out["launch"] = launch_object(r.launch);
  if (r.timed()) add_timing(out, r);
  out["simulated_warp_instructions"] = r.simulated_warp_instructions;
  out["wall_s"] = r.wall_s;
  if (r.timed()) add_roofline(out, r);
  add_lists(out, r);
  if (r.check) out["check"] = check_object(*r.check);
  out["not_modelled"] = r.not_modelled;
  // Texts come from the user's files: bytes that are no UTF-8 are replaced, never an error.
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tcsim::sim
