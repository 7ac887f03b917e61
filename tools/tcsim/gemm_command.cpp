// tcsim gemm: emits a GEMM kernel as PTX with its launch file, and simulates it.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include <algorithm>

#include "sim/config/machine.h"
#include "tools/tcsim/output.h"
#include "tools/tcsim/run_kernel.h"
#include "workloads/gemm/gemm.h"

namespace tcsim::tool {
namespace {

struct GemmCommand {
  RunOptions options;
  gemm::Config config;
  std::string tile, swizzle, cluster = "1x1", emit_ptx;
  bool best = false, analytic = false, no_run = false;
};

const std::vector<std::string> kStyles = {"simt", "wmma", "ampere", "hopper-tma", "hopper-ws", "hopper-cooperative", "hopper-pingpong"};
const std::vector<std::string> kLaterStyles = {"volta", "turing", "blackwell", "blackwell-2cta", "blackwell-ws"};

/// "128x64x32" -> three numbers.
bool parse_tile(const std::string& text, std::array<uint32_t, 3>& tile) {
  char end = 0;
  return std::sscanf(text.c_str(), "%ux%ux%u%c", &tile[0], &tile[1], &tile[2], &end) == 3;
}

bool parse_cluster(const std::string& text, std::array<uint32_t, 2>& cluster) {
  char end = 0;
  return std::sscanf(text.c_str(), "%ux%u%c", &cluster[0], &cluster[1], &end) == 2;
}

int usage(GemmCommand& c) {
  for (const std::string& style : kLaterStyles)
    if (c.config.style == style) return not_in_this_release("--style " + style);
  if (c.best) return not_in_this_release("--best");
  if (c.analytic) return not_in_this_release("--analytic");
  if (c.options.arch.find(',') != std::string::npos) return not_in_this_release("several machines in --arch");
  if (std::find(kStyles.begin(), kStyles.end(), c.config.style) == kStyles.end())
    return usage_error(fmt::format("--style '{}', expected one of {}", c.config.style, fmt::join(kStyles, " ")));
  // Only ldmatrix and cp.async address 16-byte pieces freely; wmma.load and the scalar kernel walk rows.
  c.config.swizzle = !c.swizzle.empty() ? c.swizzle : c.config.style == "ampere" ? "xor" : "none";
  if (c.config.dtype.empty()) c.config.dtype = c.config.style == "simt" ? "f32" : "f16";
  if (c.config.acc.empty()) c.config.acc = c.config.dtype == "s8" || c.config.dtype == "u8" ? "s32" : "f32";
  const bool hopper = gemm::is_hopper_style(c.config.style);
  if (!parse_cluster(c.cluster, c.config.cluster)) return usage_error(fmt::format("--cluster '{}', expected XxY", c.cluster));
  if (!hopper && c.cluster != "1x1") return usage_error("--cluster is for the Hopper styles");
  if (c.no_run && c.emit_ptx.empty()) return usage_error("--no-run needs --emit-ptx");
  // A row of the tile of a Hopper style: 128 bytes, the widest swizzle.
  if (c.tile.empty()) c.tile = hopper ? fmt::format("128x128x{}", gemm::swizzled_row(c.config.dtype)) : "128x128x32";
  if (!parse_tile(c.tile, c.config.tile)) return usage_error(fmt::format("--tile '{}', expected MxNxK", c.tile));
  return check_usage(c.options);
}

/// The oldest target that has what the kernel uses, so that one kernel compares machines; older machines get their own.
uint32_t target_of(const cfg::Machine& machine, const gemm::Config& config) {
  const uint32_t wanted = config.dtype == "e4m3" || config.dtype == "e5m2" ? 89 : 80;
  return std::min(machine.chip.sm, wanted);
}

int run(GemmCommand& command, const Invocation& invocation) {
  if (const int code = usage(command); code != kSuccess) return code;
  Diagnostics diags;
  if (const auto machine = cfg::load_machine(command.options.arch, {}, diags)) {
    command.config.sm = target_of(*machine, command.config);
    command.config.sms = machine->chip.sms;
  }
  const gemm::Program program = gemm::generate(command.config, diags);
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
  return run_and_report(command.options, input, invocation);
}

}  // namespace

Action add_gemm(CLI::App& app) {
  auto command = std::make_shared<GemmCommand>();
  gemm::Config& c = command->config;
  app.add_option("-m", c.m, "rows of C")->capture_default_str();
  app.add_option("-n", c.n, "columns of C")->capture_default_str();
  app.add_option("-k", c.k, "inner extent")->capture_default_str();
  c.dtype.clear();
  c.acc.clear();
  app.add_option("--dtype", c.dtype, "of A and B: f16 bf16 tf32 s8 u8 e4m3 e5m2 f32; default: f32 for simt, else f16");
  app.add_option("--acc", c.acc, "accumulator: f32 f16 s32; default: s32 for integers, else f32");
  app.add_option("--layout", c.layout, "of A and B, as BLAS says it: tn nn nt tt")->capture_default_str();
  app.add_option("--style", c.style, fmt::format("{}", fmt::join(kStyles, " ")))->capture_default_str();
  app.add_option("--tile", command->tile, "MxNxK of a CTA; default: 128x128 by 32 of K, by 128 bytes of K for the Hopper styles");
  app.add_option("--stages", c.stages, "buffers in shared memory")->capture_default_str();
  app.add_option("--swizzle", command->swizzle, "layout in shared memory: none padded xor; default: xor for ampere, else none");
  app.add_option("--cluster", command->cluster, "Hopper styles: CTAs of a cluster along M and N, with multicast")->capture_default_str();
  app.add_option("--consumers", c.consumers, "hopper-ws: consumer warpgroups, 1 or 2; default: 2 when the tile has 128 rows or more");
  app.add_option("--out", c.out, "Hopper styles: type of C: f16 bf16 f32 s32; default: that of A, f32 for tf32 and 8-bit floats, s32 for s8");
  app.add_option("--epilogue", c.epilogue, "Hopper styles: tma (through shared memory) or direct (st.global)")->capture_default_str();
  app.add_option("--setmaxnreg", c.setmaxnreg, "Hopper styles: true or false, move registers to the consumers")->capture_default_str();
  app.add_flag("--promote", c.promote, "Hopper styles, e4m3 and e5m2: add into f32 registers every 128 of K");
  app.add_option("--raster", c.raster, "persistent styles: order of tiles in a group, along m or n")->capture_default_str();
  app.add_option("--raster-group", c.group, "persistent styles: tiles of a group along that dimension")->capture_default_str();
  app.add_flag("--best", command->best, "(not in this release)");
  app.add_flag("--analytic", command->analytic, "(not in this release)");
  app.add_option("--emit-ptx", command->emit_ptx, "write the PTX to FILE and its launch file to FILE.toml");
  app.add_flag("--no-run", command->no_run, "with --emit-ptx: only write the files");
  add_run_options(app, command->options);
  return [command](const Invocation& invocation) { return run(*command, invocation); };
}

}  // namespace tcsim::tool
