// A sweep over compiled kernels: what a folder holds, and one of them simulated.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "sim/gpu/make_report.h"
#include "sim/gpu/target_check.h"
#include "tools/launch/kernel_file.h"
#include "tools/launch/prepare.h"
#include "tools/tcsim/sweep_cells.h"
#include "tools/tcsim/text_file.h"

namespace tcsim::tool {
namespace {

namespace fs = std::filesystem;

/// The launch file of a kernel: KERNEL.toml, or as `tcsim gemm --emit-ptx` names it, KERNEL.ptx.toml.
std::optional<fs::path> launch_beside(const fs::path& kernel) {
  fs::path replaced = kernel;
  replaced.replace_extension(".toml");
  for (const fs::path& path : {replaced, fs::path(kernel.string() + ".toml")})
    if (fs::exists(path)) return path;
  return std::nullopt;
}

std::string fact(const compare::DataSet& set, const compare::Measurement& row, std::initializer_list<const char*> names) {
  const auto& facts = set.kernels.at(row.kernel);
  for (const char* name : names)
    if (const auto at = facts.find(name); at != facts.end()) return at->second;
  return "";
}

/// What a table of measurements says of a launch.
void measured_cells(const compare::DataSet& set, const compare::Measurement& measured, SweepRow& row) {
  row["m"] = fmt::format("{}", measured.m), row["n"] = fmt::format("{}", measured.n), row["k"] = fmt::format("{}", measured.k);
  row["measured_cycles"] = fmt::format("{:.0f}", measured.cycles);
  row["Flops"] = fmt::format("{:.0f}", 2.0 * static_cast<double>(measured.m) * static_cast<double>(measured.n) * static_cast<double>(measured.k));
  row["Operation"] = fact(set, measured, {"entry"});
  const char* tile[] = {"tile_m", "tile_n", "tile_k"};
  const char* cta[] = {"cta_m", "cta_n", "cta_k"};
  for (size_t i = 0; i < 3; ++i) row[cta[i]] = fact(set, measured, {tile[i]});
  if (!row.at("cta_m").empty()) row["tile"] = row.at("cta_m") + "x" + row.at("cta_n") + "x" + row.at("cta_k");
  row["stages"] = fact(set, measured, {"num_stages", "stages"});
  row["swizzle"] = fact(set, measured, {"swizzle"});
  row["dtype"] = fact(set, measured, {"dtype"});
  row["acc"] = row["accum"] = fact(set, measured, {"acc"});
}

struct Inputs {
  std::optional<launch::KernelFile> kernel;
  std::optional<std::string> launch_text;
  std::string launch_path;
  uint32_t registers = 0;  // 0: not known
};

Inputs read_inputs(const CompiledKernel& compiled, Diagnostics& diags) {
  Inputs in;
  if (compiled.set != nullptr) {
    const compare::Measurement& row = compiled.set->rows[compiled.measurement];
    in.kernel = launch::read_kernel_file(compiled.set->ptx_path(row), diags);
    in.launch_text = compiled.set->launch_text(row, diags);
    in.launch_path = compiled.set->folder + "/launch.toml.in";
    in.registers = row.registers;
    return in;
  }
  in.kernel = launch::read_kernel_file(compiled.kernel_path, diags);
  in.launch_path = compiled.launch_path;
  in.launch_text = read_text_file(compiled.launch_path, diags);
  return in;
}

/// Sum over the launches of the file, in their order.
GemmTiming time_launches(const isa::Module& module, launch::Workspace& work, const Inputs& in, const cfg::Machine& machine, SweepRow& row,
                         Diagnostics& diags) {
  const launch::TritonMetadata* triton = in.kernel->triton ? &*in.kernel->triton : nullptr;
  GemmTiming sum;
  for (const launch::BoundLaunch& bound : work.launches) {
    sim::SimOptions options;
    options.mode = sim::Mode::timing;
    options.registers = launch::given_registers(in.registers, *bound.kernel, triton);
    budget_cells(kernel_budget(module, *bound.kernel, bound.info.dynamic_smem_bytes, triton, machine), row);
    const sim::SimResult result = sim::simulate(module, *bound.kernel, bound.info, work.memory, machine, options, diags);
    occupancy_cells(result.occupancy, machine, row);
    if (!result.ok) return sum;
    const sim::Report report = sim::make_report(result, module, *bound.kernel, bound.info, machine, options);
    row["Operation"] = bound.kernel->name;
    sum.add(timing_of(report), 1);
  }
  return sum;
}

}  // namespace

SweepPoint compiled_point(const SweepMachine& on, const CompiledKernel& compiled) {
  SweepPoint point{on, {}, compiled, {}};
  machine_cells(on, point.row);
  if (compiled.set == nullptr) {
    point.row["kernel"] = compiled.kernel_path;
    point.row["launch"] = compiled.launch_path;
    return point;
  }
  const compare::Measurement& measured = compiled.set->rows[compiled.measurement];
  point.row["style"] = compiled.set->name;
  point.row["kernel"] = measured.kernel;
  measured_cells(*compiled.set, measured, point.row);
  return point;
}

SweepRow run_compiled_point(const SweepPoint& point) {
  SweepRow row = point.row;
  const cfg::Machine& machine = *point.on.machine;
  Diagnostics diags;
  const Inputs in = read_inputs(*point.compiled, diags);
  std::unique_ptr<isa::Module> module;
  std::optional<launch::LaunchFile> file;
  if (in.kernel && in.launch_text) {
    module = isa::load_module(in.kernel->path, in.kernel->text, diags);
    file = launch::parse_launch_file(in.launch_path, *in.launch_text, diags);
  }
  launch::Workspace work;
  const bool ready = module && file && !diags.has_errors() && sim::check_target(*module, machine, diags) &&
                     launch::prepare(*file, *module, {1, "", in.kernel->triton ? &*in.kernel->triton : nullptr}, work, diags);
  if (!ready) {
    refusal_cells(diags, row);
    return row;
  }
  GemmTiming timing = time_launches(*module, work, in, machine, row, diags);
  timing.failure = first_error(diags);
  // No CTA fits: it did not even start.
  if (diags.has_errors() && row.number("ctas_per_sm") == 0) refusal_cells(diags, row);
  else timing_cells(timing, machine, row);
  return row;
}

std::vector<CompiledKernel> folder_kernels(const std::string& folder, Diagnostics& diags) {
  std::vector<CompiledKernel> out;
  std::error_code error;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".ptx" || entry.is_directory()) paths.push_back(entry.path());
  if (error) {
    diags.error("syntax", {folder, 0, 0}, fmt::format("cannot read the folder: {}", error.message()));
    return out;
  }
  std::sort(paths.begin(), paths.end());
  std::string without;
  for (const fs::path& path : paths) {
    const auto launch = launch_beside(path);
    if (launch) out.push_back({path.string(), launch->string(), nullptr, 0});
    else if (path.extension() == ".ptx") without += (without.empty() ? "" : ", ") + path.filename().string();
  }
  if (!without.empty()) diags.warning("launch-mismatch", {folder, 0, 0}, fmt::format("without a launch file, left out: {}", without));
  if (!out.empty()) return out;
  const bool tables = std::any_of(paths.begin(), paths.end(), [](const fs::path& path) { return fs::exists(path / "kernels.json"); }) ||
                      fs::exists(fs::path(folder) / "kernels.json");
  if (!tables)
    diags.error(
        "syntax", {folder, 0, 0},
        "nothing to sweep: expected KERNEL.ptx with KERNEL.toml, or tables of measurements with kernels.json, launch.toml.in, ptx/ and a .csv");
  else
    for (compare::DataSet& each : compare::load_data(folder, diags)) {
      const auto set = std::make_shared<const compare::DataSet>(std::move(each));
      for (size_t i = 0; i < set->rows.size(); ++i) out.push_back({"", "", set, i});
    }
  return out;
}

}  // namespace tcsim::tool
