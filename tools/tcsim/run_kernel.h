// Runs a kernel with a launch file in one of the modes, checks the result and writes what was asked for.
// Shared by `tcsim run`, `tcsim gemm` and `tcsim validate`.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isa/diag.h"
#include "sim/config/machine.h"
#include "sim/report/report.h"
#include "tools/launch/kernel_file.h"
#include "tools/launch/prepare.h"
#include "tools/tcsim/commands.h"
#include "workloads/gemm/gemm.h"

namespace tcsim::tool {

struct RunOptions {
  std::string arch = "h200";
  std::vector<std::string> set;  // SECTION.KEY=VALUE
  std::string mode = "full";
  std::string async;  // empty: not given
  uint32_t threads = 1, registers = 0;
  uint64_t seed = 1;
  std::string entry, json, ncu_csv, html, timeline, record;
  std::vector<std::string> dump;  // BUFFER=FILE
  std::vector<uint64_t> timeline_ctas;
  bool quiet = false, strict = false, warm = false;
  bool budget = false;  // print what shared memory consists of instead of running
};

/// --arch, --set, --mode, --threads, --regs, --seed, --async, and the report and timeline options.
void add_run_options(CLI::App& app, RunOptions& options);

/// --budget, of verbs that run one kernel.
void add_budget_option(CLI::App& app, RunOptions& options);

/// Problems of the options alone: kUsage after a message, else kSuccess.
int check_usage(const RunOptions& options);

/// The machine that --arch and --set name; errors go to diags.
std::optional<cfg::Machine> load_machine(const RunOptions& options, Diagnostics& diags);

/// Inputs as read: a kernel and the text of its launch file.
struct RunInput {
  launch::KernelFile kernel;
  std::string launch_path, launch_text;
  std::optional<gemm::Config> gemm{};  // that the kernel was generated from
};

/// The whole run. Returns the exit code; everything is printed and written. cycles (may be nullptr): of the launches, 0 without time.
int run_and_report(const RunOptions& options, const RunInput& input, const Invocation& invocation, double* cycles = nullptr);

}  // namespace tcsim::tool
