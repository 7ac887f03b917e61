// tcsim gemm over several machines, and --best: one table.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "tools/tcsim/gemm_best.h"
#include "tools/tcsim/gemm_command.h"
#include "tools/tcsim/gemm_table.h"
#include "tools/tcsim/output.h"

namespace tcsim::tool {
namespace {

struct Entrant {
  std::string arch;
  cfg::Machine machine;
  std::vector<std::string> styles;
};

int load_entrants(const GemmCommand& command, std::vector<Entrant>& out, Diagnostics& diags) {
  for (const std::string& arch : command.machines()) {
    RunOptions options = command.options;
    options.arch = arch;
    if (const auto machine = load_machine(options, diags))
      out.push_back({arch, *machine, command.config.style.empty() ? own_styles(*machine) : std::vector<std::string>{command.config.style}});
  }
  return diags.has_errors() ? exit_code(diags, false) : kSuccess;
}

/// What the user gave is fixed, the rest is searched.
int contest_of(const GemmCommand& command, const Entrant& entrant, Contest& out) {
  if (const int code = resolve(command, entrant.styles.front(), out.base, entrant.machine.chip.sm); code != kSuccess) return code;
  out.arch = entrant.arch;
  out.machine = entrant.machine;
  out.space = whole_space(entrant.machine);
  out.space.styles = entrant.styles;
  if (!command.tile.empty()) out.space.tiles = {out.base.tile};
  if (command.stages != 0) out.space.stages = {command.stages};
  if (!command.cluster.empty()) out.space.clusters = {out.base.cluster};
  if (!command.swizzle.empty()) out.space.swizzles = {command.swizzle};
  return kSuccess;
}

int run_contests(const GemmCommand& command, const std::vector<Entrant>& entrants, std::vector<GemmRow>& rows) {
  std::vector<Contest> contests(entrants.size());
  for (size_t i = 0; i < entrants.size(); ++i)
    if (const int code = contest_of(command, entrants[i], contests[i]); code != kSuccess) return code;
  ProgressLine progress(!command.options.quiet);
  rows = run_best(contests, command.options.threads, [&](uint64_t done, uint64_t total) { progress.update_items(done, total, "simulations"); });
  return kSuccess;
}

int run_as_given(const GemmCommand& command, const std::vector<Entrant>& entrants, std::vector<GemmRow>& rows) {
  struct Job {
    const Entrant* entrant;
    gemm::Config config;
  };
  std::vector<Job> list;
  for (const Entrant& entrant : entrants)
    for (const std::string& style : entrant.styles) {
      Job job{&entrant, {}};
      if (const int code = resolve(command, style, job.config, entrant.machine.chip.sm); code != kSuccess) return code;
      list.push_back(std::move(job));
    }
  rows.resize(list.size());
  ProgressLine progress(!command.options.quiet);
  std::mutex mutex;
  uint64_t done = 0;
  std::vector<std::function<void()>> jobs;
  for (size_t i = 0; i < list.size(); ++i)
    jobs.push_back([&, i] {
      rows[i] = run_plain(list[i].entrant->arch, list[i].entrant->machine, list[i].config);
      const std::lock_guard lock(mutex);
      progress.update_items(++done, list.size(), "simulations");
    });
  run_jobs(jobs, command.options.threads);
  return kSuccess;
}

int write_table(const GemmCommand& command, const std::vector<GemmRow>& rows, const Invocation& invocation) {
  Diagnostics diags;
  const std::string &json = command.options.json, &csv = command.csv;
  if (!json.empty()) write_file(json, table_json(rows, invocation.command), diags);
  if (!csv.empty()) write_file(csv, table_csv(rows), diags);
  if (json != "-" && csv != "-") {
    const gemm::Config& c = command.config;
    fmt::print("GEMM {} x {} x {}, timing mode\n{}", c.m, c.n, c.k, table_text(rows));
  }
  print_diagnostics(diags, command.options.quiet);
  if (diags.has_errors()) return exit_code(diags, false);
  const bool any = std::any_of(rows.begin(), rows.end(), [](const GemmRow& row) { return row.failure.empty(); });
  return any ? kSuccess : kBadInput;
}

}  // namespace

int compare_gemms(const GemmCommand& command, const Invocation& invocation) {
  Diagnostics diags;
  for (const std::string* path : {&command.options.json, &command.csv}) check_writable(*path, diags);
  std::vector<Entrant> entrants;
  const int loaded = load_entrants(command, entrants, diags);
  print_diagnostics(diags, command.options.quiet);
  if (loaded != kSuccess) return loaded;
  std::vector<GemmRow> rows;
  const int code = command.best ? run_contests(command, entrants, rows) : run_as_given(command, entrants, rows);
  return code != kSuccess ? code : write_table(command, rows, invocation);
}

}  // namespace tcsim::tool
