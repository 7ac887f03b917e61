// tcsim gemm: emits a GEMM kernel as PTX with its launch file, and simulates it.
#include "tools/tcsim/gemm_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <sstream>

#include "sim/config/machine.h"
#include "tools/tcsim/gemm_best.h"
#include "tools/tcsim/gemm_kernel.h"
#include "tools/tcsim/gemm_table.h"
#include "tools/tcsim/output.h"

namespace tcsim::tool {
namespace {

/// "128x64x32" -> three numbers.
bool parse_tile(const std::string& text, std::array<uint32_t, 3>& tile) {
  char end = 0;
  return std::sscanf(text.c_str(), "%ux%ux%u%c", &tile[0], &tile[1], &tile[2], &end) == 3;
}

bool parse_cluster(const std::string& text, std::array<uint32_t, 2>& cluster) {
  char end = 0;
  return std::sscanf(text.c_str(), "%ux%u%c", &cluster[0], &cluster[1], &end) == 2;
}

/// What is wrong with the options alone.
int usage(const GemmCommand& c) {
  if (const int code = check_style(c); code != kSuccess) return code;
  if (c.no_run && c.emit_ptx.empty()) return usage_error("--no-run needs --emit-ptx");
  if (c.machines().empty()) return usage_error("--arch names no machine");
  if (!c.table() && !c.csv.empty()) return usage_error("--csv is for --best and for several machines");
  if (c.table() && c.options.budget) return usage_error("--budget is for one kernel: one machine, without --best");
  if (c.table() && !c.emit_ptx.empty()) return usage_error("--emit-ptx is for one kernel: one machine, without --best");
  return check_usage(c.options);
}

/// Prints the textbook estimate; what keeps the kernel from running is already told.
void print_estimate(const gemm::Config& config, const cfg::Machine& machine, double cycles) {
  Diagnostics diags;
  if (const auto kernel = build_gemm(config, machine, diags))
    fmt::print("{}", estimate_text(analytic::estimate(describe_gemm(*kernel, machine), machine), cycles));
}

/// What nobody asked for, and is not what the machine is best at.
void note_style(const cfg::Machine& machine, const std::string& style, bool quiet) {
  Diagnostics notes;
  if (const std::string best = own_styles(machine).front(); gemm::is_blackwell_style(best))
    notes.note("launch-mismatch", {"gemm", 0, 0},
               fmt::format("no --style given: {} uses mma.sync; --style {} uses the tcgen05 tensor cores of {}", style, best, machine.name));
  print_diagnostics(notes, quiet);
}

int run_one(GemmCommand& command, const Invocation& invocation) {
  Diagnostics diags;
  const auto machine = load_machine(command.options, diags);
  if (!machine) {
    print_diagnostics(diags, command.options.quiet);
    return exit_code(diags, command.options.strict);
  }
  const bool chosen = command.config.style.empty();
  const std::string style = chosen ? default_style(*machine) : command.config.style;
  gemm::Config config;
  if (const int code = resolve(command, style, config, machine->chip.sm); code != kSuccess) return code;
  if (chosen) note_style(*machine, style, command.options.quiet);
  config = for_machine(config, *machine);
  const gemm::Program program = gemm::generate(config, diags);
  const std::string path = command.emit_ptx.empty() ? program.entry + ".ptx" : command.emit_ptx;
  if (!diags.has_errors() && !command.emit_ptx.empty()) {
    write_file(path, program.ptx, diags);
    write_file(path + ".toml", program.launch_toml, diags);
  }
  if (diags.has_errors()) {
    print_diagnostics(diags, command.options.quiet);
    return exit_code(diags, command.options.strict);
  }
  if (command.no_run) return kSuccess;
  RunInput input;
  input.kernel = {path, program.ptx, std::nullopt};
  input.launch_path = path + ".toml";
  input.launch_text = program.launch_toml;
  input.gemm = config;
  double cycles = 0;
  const int code = run_and_report(command.options, input, invocation, &cycles);
  if (command.analytic && code == kSuccess && !command.options.quiet) print_estimate(config, *machine, cycles);
  return code;
}

int run(GemmCommand& command, const Invocation& invocation) {
  if (const int code = usage(command); code != kSuccess) return code;
  return command.table() ? compare_gemms(command, invocation) : run_one(command, invocation);
}

}  // namespace

std::vector<std::string> GemmCommand::machines() const {
  std::vector<std::string> out;
  std::istringstream list(options.arch);
  for (std::string name; std::getline(list, name, ',');)
    if (!name.empty()) out.push_back(name);
  return out;
}

int check_style(const GemmCommand& c) {
  const std::vector<std::string>& styles = gemm::styles();
  if (c.config.style.empty() || std::find(styles.begin(), styles.end(), c.config.style) != styles.end()) return kSuccess;
  return usage_error(fmt::format("--style '{}', expected one of {}", c.config.style, fmt::join(styles, " ")));
}

int resolve(const GemmCommand& command, const std::string& style, gemm::Config& c, uint32_t sm) {
  c = command.config;
  c.style = style;
  c.swizzle = !command.swizzle.empty() ? command.swizzle : gemm::default_swizzle(style);
  if (c.dtype.empty()) c.dtype = style == "simt" || !c.emulate.empty() ? "f32" : "f16";
  if (c.acc.empty()) c.acc = c.dtype == "s8" || c.dtype == "u8" ? "s32" : "f32";
  c.stages = command.stages != 0 ? command.stages : gemm::default_stages(style, sm);
  const bool tma = gemm::is_hopper_style(style) || gemm::is_blackwell_style(style);
  if (!command.cluster.empty() && !parse_cluster(command.cluster, c.cluster))
    return usage_error(fmt::format("--cluster '{}', expected XxY", command.cluster));
  // A row of the tile of a style with TMA: 128 bytes, the widest swizzle.
  const std::string tile = !command.tile.empty() ? command.tile : tma ? fmt::format("128x128x{}", gemm::swizzled_row(c.dtype)) : "128x128x32";
  if (!parse_tile(tile, c.tile)) return usage_error(fmt::format("--tile '{}', expected MxNxK", tile));
  return kSuccess;
}

void add_gemm_shape_options(CLI::App& app, GemmCommand& command) {
  gemm::Config& c = command.config;
  app.add_option("-m", c.m, "rows of C")->capture_default_str();
  app.add_option("-n", c.n, "columns of C")->capture_default_str();
  app.add_option("-k", c.k, "inner extent")->capture_default_str();
  c.dtype.clear();
  c.acc.clear();
  c.style.clear();
  app.add_option("--dtype", c.dtype,
                 "of A and B: f16 bf16 tf32 s8 u8 e4m3 e5m2 f32, mxfp8 mxfp4 nvfp4 (Blackwell styles, with block scale factors); default: f32 for "
                 "simt and --emulate, else f16");
  app.add_option("--emulate", c.emulate, "ampere style: f32 as products of narrower types, 3xtf32 or bf16x9");
  app.add_option("--acc", c.acc, "accumulator: f32 f16 s32; default: s32 for integers, else f32");
  app.add_option("--layout", c.layout, "of A and B, as BLAS says it: tn nn nt tt")->capture_default_str();
  app.add_option(
      "--style", c.style,
      fmt::format("{}; default: {}; each machine's own styles with --best and on several", fmt::join(gemm::styles(), " "), kDefaultStyles));
  app.add_option("--tile", command.tile, "MxNxK of a CTA; default: 128x128 by 32 of K, by 128 bytes of K for the Hopper and Blackwell styles");
  app.add_option("--stages", command.stages, "buffers in shared memory; default: 3; volta, turing and simt 2; wmma without cp.async 1")
      ->check(CLI::Range(1, 32));
  app.add_option("--swizzle", command.swizzle, "layout in shared memory: none padded xor; default: xor for volta, turing and ampere, else none");
  app.add_option("--cluster", command.cluster,
                 "Hopper styles: CTAs of a cluster along M and N, with multicast; blackwell-ws: 2x1, pairs of CTAs; default: 1x1");
  app.add_option("--consumers", c.consumers, "hopper-ws: consumer warpgroups, 1 or 2; default: 2 when the tile has 128 rows or more");
  app.add_option("--out", c.out,
                 "Hopper and Blackwell styles: type of C: f16 bf16 f32 s32; default: that of A, f32 for tf32 and 8-bit floats, s32 for s8");
  app.add_option("--epilogue", c.epilogue, "Hopper and Blackwell styles: tma (through shared memory) or direct (st.global)")->capture_default_str();
  app.add_option("--setmaxnreg", c.setmaxnreg, "Hopper styles: true or false, move registers to the consumers")->capture_default_str();
  app.add_flag("--promote", c.promote, "Hopper styles, e4m3 and e5m2: add into f32 registers every 128 of K");
  app.add_option("--raster", c.raster, "persistent styles: order of tiles in a group, along m or n")->capture_default_str();
  app.add_option("--raster-group", c.group, "persistent styles: tiles of a group along that dimension")->capture_default_str();
}

Action add_gemm(CLI::App& app) {
  auto command = std::make_shared<GemmCommand>();
  add_gemm_shape_options(app, *command);
  app.add_flag("--best", command->best,
               "search style, tile, stages and cluster, as far as they are not given, and print one row a machine: pruned by the estimate, simulated "
               "by sampling, whose error is measured; "
               "--threads simulations run side by side");
  app.add_flag("--analytic", command->analytic, "print the textbook estimate beside the simulation");
  app.add_option("--csv", command->csv, "--best and several machines: write the table as CSV (- for stdout)");
  app.add_option("--emit-ptx", command->emit_ptx, "write the PTX to FILE and its launch file to FILE.toml");
  app.add_flag("--no-run", command->no_run, "with --emit-ptx: only write the files");
  add_budget_option(app, command->options);
  add_run_options(app, command->options);
  return [command](const Invocation& invocation) { return run(*command, invocation); };
}

}  // namespace tcsim::tool
