// tcsim sweep: many points, one CSV row each.
#include "tools/tcsim/sweep_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>

#include "sim/report/html/page.h"
#include "tools/tcsim/gemm_best.h"
#include "tools/tcsim/output.h"
#include "tools/tcsim/sweep_file.h"
#include "tools/tcsim/sweep_text.h"

namespace tcsim::tool {
namespace {

int usage(const SweepCommand& c) {
  if (c.append && (c.csv.empty() || c.csv == "-")) return usage_error("--append needs --csv FILE");
  return kSuccess;
}

/// Runs what the file does not have yet; rows in the order of the points.
std::vector<SweepRow> run_points(const SweepCommand& command, const std::vector<SweepPoint>& points, SweepFile* file, Diagnostics& diags) {
  std::vector<SweepRow> rows(points.size());
  std::vector<size_t> left;
  for (size_t i = 0; i < points.size(); ++i) {
    if (file != nullptr)
      if (const auto done = file->finished().find(points[i].row.key()); done != file->finished().end()) {
        rows[i] = done->second;
        continue;
      }
    left.push_back(i);
  }
  if (left.size() < points.size() && !command.quiet)
    fmt::print(stderr, "{}: {} of {} points are done\n", command.csv, points.size() - left.size(), points.size());
  ProgressLine progress(!command.quiet);
  std::mutex mutex;
  uint64_t done = 0;
  bool written = true;
  std::vector<std::function<void()>> jobs;
  for (const size_t i : left)
    jobs.push_back([&, i] {
      if (!written) return;  // the disk is full: what is computed from now on would be lost
      SweepRow row = run_point(points[i]);
      const std::lock_guard lock(mutex);
      if (file != nullptr && !file->add(row) && written) {
        written = false;
        diags.error("output", {command.csv, 0, 0}, "cannot write the row of a finished point");
      }
      rows[i] = std::move(row);
      progress.update_items(++done, left.size(), "points");
    });
  run_jobs(jobs, command.jobs);
  return rows;
}

/// What the winners are compared with; those that are no points of the sweep are simulated, and are not in its file.
std::vector<SweepRow> run_defaults(const SweepCommand& command, const std::vector<SweepPoint>& points, const std::vector<SweepRow>& rows) {
  const std::vector<SweepPoint> wanted = default_points(command, points, rows);
  std::vector<SweepRow> out(wanted.size());
  std::vector<std::function<void()>> jobs;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto known = std::find_if(rows.begin(), rows.end(), [&](const SweepRow& row) { return row.key() == wanted[i].row.key(); });
    if (known != rows.end()) out[i] = *known;
    else jobs.push_back([&wanted, &out, i] { out[i] = run_point(wanted[i]); });
  }
  run_jobs(jobs, command.jobs);
  return out;
}

std::string html_of(const std::vector<SweepRow>& rows, const Invocation& invocation) {
  sim::SweepPage page;
  const SweepRow& first = rows.front();
  const auto same_size = [&](const SweepRow& row) {
    return row.at("m") == first.at("m") && row.at("n") == first.at("n") && row.at("k") == first.at("k");
  };
  page.title = "Sweep";
  if (!first.at("m").empty())
    page.title += std::all_of(rows.begin(), rows.end(), same_size) ? fmt::format(", GEMM {} x {} x {}", first.at("m"), first.at("n"), first.at("k"))
                                                                   : ", GEMM of several sizes";
  page.version = TCSIM_VERSION;
  page.command = invocation.command;
  page.columns = sweep_columns();
  for (const SweepRow& row : rows) page.rows.push_back(row.texts());
  page.roles.time = "time_us";
  page.roles.parameters = varied_columns(rows);
  page.roles.shown = page.roles.parameters;
  for (const char* column : {"cycles", "time_us", "tflops", "share_of_peak", "bound_by", "stalls", "occupancy", "occupancy_limiter", "registers",
                             "shared_bytes", "bytes_in_flight", "measured_cycles"})
    page.roles.shown.push_back(column);
  return sim::write_sweep_page(page);
}

std::string csv_text(const std::vector<SweepRow>& rows) {
  std::string out = sweep_csv_head();
  for (const SweepRow& row : rows) out += sweep_csv_line(row);
  return out;
}

/// Points that cannot run are results; a kernel that failed and a bug of ours are not.
int code_of(const std::vector<SweepRow>& rows) {
  bool any = false, failed = false;
  for (const SweepRow& row : rows) {
    if (row.at("Status") == "internal") {
      fmt::print(stderr, "tcsim: internal error: {}\nThis is a bug of tcsim, not of your kernel. Please report it with the command and its inputs.\n",
                 row.at("reason"));
      return kInternal;
    }
    any = any || row.ran();
    failed = failed || row.at("Status") == "failed";
  }
  return failed ? kKernelFailed : any ? kSuccess : kBadInput;
}

int run(const SweepCommand& command, const Invocation& invocation) {
  if (const int code = usage(command); code != kSuccess) return code;
  Diagnostics diags;
  for (const std::string* path : {&command.csv, &command.html}) check_writable(*path, diags);
  std::vector<SweepPoint> points;
  SweepTextOptions text;
  text.top = command.top;
  const int code = diags.has_errors() ? kBadInput : sweep_points(command, points, diags);
  if (code != kSuccess) {
    print_diagnostics(diags, command.quiet);
    return code;
  }
  SweepFile file;
  const bool to_file = !command.csv.empty() && command.csv != "-";
  std::vector<SweepRow> rows;
  if (!to_file || file.open(command.csv, command.append, diags)) rows = run_points(command, points, to_file ? &file : nullptr, diags);
  if (!diags.has_errors() && command.csv == "-") fmt::print("{}", csv_text(rows));
  if (!diags.has_errors() && !command.html.empty()) write_file(command.html, html_of(rows, invocation), diags);
  if (!diags.has_errors() && command.csv != "-" && command.html != "-" && !command.quiet) {
    text.defaults = run_defaults(command, points, rows);
    fmt::print("{}", sweep_text(rows, text));
  }
  print_diagnostics(diags, command.quiet);
  return diags.has_errors() ? exit_code(diags, false) : code_of(rows);
}

}  // namespace

Action add_sweep(CLI::App& app) {
  auto command = std::make_shared<SweepCommand>();
  SweepCommand& c = *command;
  gemm::Config& config = c.gemm.config;
  config.style.clear();
  config.dtype.clear();
  config.acc.clear();
  app.add_option("DIR", c.folder,
                 "compiled kernels instead of generated ones: each KERNEL.ptx with its KERNEL.toml, or tables of measurements (validation/data), of "
                 "which -m -n -k choose rows");
  app.add_option("--arch", c.arch, "machines: names or files, as a list. Lists are a,b,c; ranges lo:hi[:step]; all lists multiply")
      ->capture_default_str();
  app.add_option("-m", c.m, "rows of C; list or range; default: 1024");
  app.add_option("-n", c.n, "columns of C; list or range; default: 1024");
  app.add_option("-k", c.k, "inner extent; list or range; default: 1024");
  app.add_option("--dtype", c.dtype, "of A and B; list");
  app.add_option("--style", c.style, fmt::format("list of {}; default: {}", fmt::join(gemm::styles(), " "), kDefaultStyles));
  app.add_option("--tile", c.tile, "MxNxK of a CTA; list, each extent a number or a range with a step: 64x64x32,128x64:256:64x32");
  app.add_option("--stages", c.stages, "buffers in shared memory; list or range: 1:6");
  app.add_option("--cluster", c.cluster, "XxY, Hopper and Blackwell styles; list");
  app.add_option("--swizzle", c.swizzle, "none padded xor; list");
  app.add_option("--warps", c.warps, "MxN warps of a CTA, styles without TMA; list; default: chosen from the tile");
  app.add_option("--consumers", c.consumers, "hopper-ws: consumer warpgroups; list");
  app.add_option("--set", c.set, "SECTION.KEY=VALUE[,VALUE...]: values of the machine, as a list or a range (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--acc", config.acc, "accumulator: f32 f16 s32; default: s32 for integers, else f32");
  app.add_option("--layout", config.layout, "of A and B: tn nn nt tt")->capture_default_str();
  app.add_option("--emulate", config.emulate, "ampere style: f32 as products of narrower types, 3xtf32 or bf16x9");
  app.add_option("--out", config.out, "Hopper and Blackwell styles: type of C");
  app.add_option("--epilogue", config.epilogue, "Hopper and Blackwell styles: tma or direct")->capture_default_str();
  app.add_option("--setmaxnreg", config.setmaxnreg, "Hopper styles: true or false")->capture_default_str();
  app.add_flag("--promote", config.promote, "Hopper styles, 8-bit floats: add into f32 registers every 128 of K");
  app.add_option("--raster", config.raster, "persistent styles: m or n")->capture_default_str();
  app.add_option("--raster-group", config.group, "persistent styles: tiles of a group")->capture_default_str();
  c.jobs = std::max(1u, std::thread::hardware_concurrency());
  app.add_option("--jobs", c.jobs, "points to simulate at the same time")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--csv", c.csv, "write a row for each point as it finishes (- for stdout, at the end)");
  app.add_flag("--append", c.append, "go on from the CSV: points that it has are not repeated");
  app.add_option("--html", c.html, "write a page with heat maps, curves and the table (- for stdout)");
  app.add_option("--top", c.top, "rows of a ranking; 0: all")->capture_default_str();
  app.add_flag("--quiet", c.quiet, "print errors only");
  return [command](const Invocation& invocation) { return run(*command, invocation); };
}

}  // namespace tcsim::tool
