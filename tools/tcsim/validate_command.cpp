// tcsim validate: simulates the launches of measurement tables and prints measured against simulated.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "sim/gpu/make_report.h"
#include "tools/launch/kernel_file.h"
#include "tools/launch/prepare.h"
#include "tools/tcsim/output.h"
#include "tools/tcsim/run_kernel.h"
#include "validation/compare/tables.h"
#include "validation/published/table.h"

namespace tcsim::tool {
namespace {

struct ValidateCommand {
  RunOptions options;
  std::string data = TCSIM_DATA_DIR;
  std::vector<std::string> sizes;
  std::string kernel;
  uint32_t jobs = std::max(1u, std::thread::hardware_concurrency());
  bool summary = false, machine_given = false;
};

struct Work {
  const compare::DataSet* set;
  compare::Row row;
};

/// "512" stands for 512x512x512.
bool size_wanted(const ValidateCommand& command, const compare::Measurement& row) {
  if (command.sizes.empty()) return true;
  for (const std::string& size : command.sizes)
    if (size == row.size() || fmt::format("{0}x{0}x{0}", size) == row.size()) return true;
  return false;
}

std::string first_error(const Diagnostics& diags) {
  for (const Diagnostic& diagnostic : diags.all())
    if (diagnostic.severity == Severity::error) return diagnostic.str();
  return "";
}

/// The sum of a metric's roll-up as the report has it.
double metric(const sim::Report& report, const char* name) { return report.metric(name); }

compare::Simulated simulate_row(const compare::DataSet& set, const compare::Measurement& row, const cfg::Machine& machine, bool full) {
  compare::Simulated out;
  Diagnostics diags;
  const auto kernel = launch::read_kernel_file(set.ptx_path(row), diags);
  const auto text = set.launch_text(row, diags);
  std::unique_ptr<isa::Module> module;
  std::optional<launch::LaunchFile> file;
  if (kernel && text) {
    module = isa::load_module(kernel->path, kernel->text, diags);
    file = launch::parse_launch_file(set.folder + "/launch.toml.in", *text, diags);
  }
  launch::Workspace work;
  if (module && file && !diags.has_errors() && launch::prepare(*file, *module, {}, work, diags)) {
    const launch::BoundLaunch& bound = work.launches.front();
    sim::SimOptions options;
    options.mode = full ? sim::Mode::full : sim::Mode::timing;
    options.registers = row.registers;
    const sim::SimResult result = sim::simulate(*module, *bound.kernel, bound.info, work.memory, machine, options, diags);
    if (result.ok) {
      const sim::Report report = sim::make_report(result, *module, *bound.kernel, bound.info, machine, options);
      out.ok = true;
      out.cycles = static_cast<double>(report.cycles);
      out.warp_instructions = static_cast<double>(report.simulated_warp_instructions);
      out.wall_s = report.wall_s;
      out.wavefronts_ld = metric(report, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum");
      out.wavefronts_st = metric(report, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum");
      const auto shares = sim::stall_shares(report.stalls);
      for (const sim::StallInfo& stall : sim::kStallTable) out.stalls[std::string(stall.name)] = shares[static_cast<size_t>(stall.reason)];
    }
  }
  out.error = first_error(diags);
  return out;
}

/// Rows are independent; each thread takes the next one. Results stay in table order.
void simulate_all(std::vector<Work>& all, const ValidateCommand& command, const cfg::Machine& machine) {
  std::atomic<size_t> next = 0, done = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  ProgressLine progress(!command.options.quiet);
  const auto take = [&] {
    for (size_t i; (i = next.fetch_add(1)) < all.size();) try {
        all[i].row.simulated = simulate_row(*all[i].set, all[i].row.measured, machine, command.options.mode == "full");
        const std::lock_guard lock(mutex);
        progress.update_items(++done, all.size(), "launches");
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i < command.jobs; ++i) threads.emplace_back(take);
  take();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

/// Published readings: each names its machine, and a micro-kernel repeats it.
int run_published(const ValidateCommand& command) {
  Diagnostics diags;
  std::vector<published::Reading> readings = published::load_readings(command.data, diags);
  std::erase_if(readings, [&](const published::Reading& r) {
    return (command.machine_given && r.machine != command.options.arch) || (r.quantity + " " + r.what).find(command.kernel) == std::string::npos;
  });
  check_writable(command.options.json, diags);
  if (readings.empty() && !diags.has_errors()) diags.error("syntax", {command.data, 0, 0}, "no reading is of the machine and kind asked for");
  if (!diags.has_errors()) {
    ProgressLine progress(!command.options.quiet);
    const auto rows =
        published::compare_readings(readings, command.jobs, [&](size_t done, size_t of) { progress.update_items(done, of, "readings"); });
    if (!command.options.json.empty()) write_file(command.options.json, published::readings_json(rows), diags);
    if (command.options.json != "-") fmt::print("{}", published::write_readings(rows, command.summary));
  }
  print_diagnostics(diags, command.options.quiet);
  return exit_code(diags, false);
}

int run(const ValidateCommand& command) {
  if (const int code = check_usage(command.options); code != kSuccess) return code;
  if (published::has_readings(command.data)) return run_published(command);
  Diagnostics diags;
  const auto machine = load_machine(command.options, diags);
  const std::vector<compare::DataSet> sets = compare::load_data(command.data, diags);
  check_writable(command.options.json, diags);
  std::vector<Work> all;
  for (const compare::DataSet& set : sets)
    for (const compare::Measurement& row : set.rows)
      if (size_wanted(command, row) && row.kernel.find(command.kernel) != std::string::npos) all.push_back({&set, {set.name, row, {}}});
  if (all.empty() && !diags.has_errors()) diags.error("syntax", {command.data, 0, 0}, "no row has the sizes and kernels asked for");
  if (!diags.has_errors()) {
    simulate_all(all, command, *machine);
    std::vector<compare::Row> rows;
    for (Work& work : all) rows.push_back(std::move(work.row));
    if (!command.options.json.empty()) write_file(command.options.json, compare::write_json(rows), diags);
    if (command.options.json != "-") fmt::print("{}", compare::write_table(rows, {.rows = !command.summary}));
  }
  print_diagnostics(diags, command.options.quiet);
  return exit_code(diags, false);
}

}  // namespace

Action add_validate(CLI::App& app) {
  auto command = std::make_shared<ValidateCommand>();
  command->options.mode = "timing";
  RunOptions& o = command->options;
  app.add_option("--data", command->data, "folder of measurement tables (see validation/data)")->capture_default_str();
  const CLI::Option* arch = app.add_option("--arch", o.arch, "machine (published readings: only those of it)")->capture_default_str();
  app.add_option("--set", o.set, "SECTION.KEY=VALUE: change a value of the machine (may be repeated)")->allow_extra_args(false);
  app.add_option("--mode", o.mode, "timing (default) or full")->check(CLI::IsMember({"timing", "full"}));
  app.add_option("--size", command->sizes, "only these sizes: 512,1024 or 512x512x1024")->delimiter(',');
  app.add_option("--kernel", command->kernel, "only kernels (published: quantities and cases) whose name contains this");
  app.add_option("--jobs", command->jobs, "launches to simulate at the same time")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--json", o.json, "write rows and scores as JSON (- for stdout)");
  app.add_flag("--summary", command->summary, "print the scores only");
  app.add_flag("--quiet", o.quiet, "no progress line");
  return [command, arch](const Invocation&) {
    command->machine_given = arch->count() > 0;
    return run(*command);
  };
}

}  // namespace tcsim::tool
