// The options that run and gemm share.
#include <CLI/CLI.hpp>

#include "tools/tcsim/run_kernel.h"

namespace tcsim::tool {

void add_budget_option(CLI::App& app, RunOptions& o) {
  app.add_flag("--budget", o.budget,
               "do not run: print what the shared memory of a CTA consists of, and how many stages fit (--json FILE for scripts)");
}

void add_run_options(CLI::App& app, RunOptions& o) {
  const std::vector<std::string> modes = {"full", "timing", "functional"}, orders = {"eager", "late", "random"};
  app.add_option("--arch", o.arch, "machine: a name of `tcsim arch list` or a TOML file")->capture_default_str();
  app.add_option("--set", o.set, "SECTION.KEY=VALUE: change a value of the machine (may be repeated)")->allow_extra_args(false);
  app.add_option("--mode", o.mode, "full (time and values), timing (no matrix values) or functional (no time)")
      ->check(CLI::IsMember(modes))
      ->capture_default_str();
  app.add_option("--threads", o.threads, "host threads; the result is the same with any number")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--regs", o.registers, "registers a thread, as ptxas reports them")->check(CLI::Range(1, 255));
  app.add_option("--seed", o.seed, "of buffers without a seed and of --async random")->capture_default_str();
  app.add_option("--async", o.async, "functional mode: when asynchronous copies take effect")->check(CLI::IsMember(orders));
  app.add_flag("--warm", o.warm, "(not in this release)");
  app.add_flag("--strict", o.strict, "warnings make the exit code 3");
  app.add_flag("--quiet", o.quiet, "print errors only");
  app.add_option("--json", o.json, "write the report as JSON (- for stdout)");
  app.add_option("--ncu-csv", o.ncu_csv, "write the metrics as the raw page of ncu --csv (- for stdout)");
  app.add_option("--dump", o.dump, "BUFFER=FILE: write a buffer after the run, raw or .npy (may be repeated)")->allow_extra_args(false);
  app.add_option("--html", o.html, "write the report as one page for a browser, which opens offline (- for stdout)");
  app.add_option("--timeline", o.timeline, "write what chosen CTAs do, cycle by cycle, for https://ui.perfetto.dev (- for stdout)");
  app.add_option("--timeline-ctas", o.timeline_ctas,
                 "CTAs of --timeline and of the page, in launch order: 0,5; default: the first one, or the first cluster's")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--record", o.record, "(not in this release)");
}

}  // namespace tcsim::tool
