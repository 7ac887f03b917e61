// tcsim explain: which limit binds a kernel, or a generated GEMM, and what lifting it would bring.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <thread>

#include "tools/explain/writers.h"
#include "tools/tcsim/gemm_command.h"
#include "tools/tcsim/output.h"
#include "tools/tcsim/text_file.h"

namespace tcsim::tool {
namespace {

struct ExplainCommand {
  GemmCommand gemm;  // its options are also the kernel's
  std::string kernel, launch;
  uint32_t jobs = 0;  // 0: as many as the host has cores
  bool no_remedies = false;

  const RunOptions& options() const { return gemm.options; }
};

int usage(const ExplainCommand& c) {
  if (const int code = check_style(c.gemm); code != kSuccess) return code;
  if (c.kernel.empty() && c.gemm.config.style.empty()) return usage_error("explain needs a KERNEL with --launch, or --style for a generated GEMM");
  if (!c.kernel.empty() && !c.gemm.config.style.empty()) return usage_error("explain takes a KERNEL or --style, not both");
  if (!c.kernel.empty() && c.launch.empty()) {
    Diagnostics diags;  // a file that is not there is the first thing to know
    if (!launch::read_kernel_file(c.kernel, diags)) {
      print_diagnostics(diags, c.options().quiet);
      return exit_code(diags, c.options().strict);
    }
    return usage_error("explain KERNEL needs --launch (tcsim run KERNEL prints one to fill in)");
  }
  if (c.gemm.machines().size() != 1) return usage_error("explain takes one machine");
  if (c.options().mode != "timing") return usage_error("explain runs in timing mode only");
  for (const auto& [value, name] :
       {std::pair{&c.options().html, "--html"}, {&c.options().ncu_csv, "--ncu-csv"}, {&c.options().timeline, "--timeline"}})
    if (!value->empty()) return usage_error(fmt::format("{} is for one run: tcsim run or gemm", name));
  if (!c.options().dump.empty()) return usage_error("--dump is for one run: tcsim run or gemm");
  return check_usage(c.options());
}

/// KERNEL, or the GEMM of the configuration.
std::optional<explain::Subject> read_subject(const ExplainCommand& command, const cfg::Machine& machine, const gemm::Config& config,
                                             Diagnostics& diags) {
  explain::Subject subject;
  if (command.kernel.empty()) {
    subject = explain::subject_of(config, machine, diags);
  } else {
    auto kernel = launch::read_kernel_file(command.kernel, diags);
    auto text = read_text_file(command.launch, diags);
    if (!kernel || !text) return std::nullopt;
    subject.kernel = std::move(*kernel);
    subject.launch_path = command.launch;
    subject.launch_text = std::move(*text);
  }
  subject.registers = command.options().registers;
  subject.seed = command.options().seed;
  subject.entry = command.options().entry;
  if (diags.has_errors()) return std::nullopt;
  return subject;
}

void explain_subject(const ExplainCommand& command, const explain::Subject& subject, const gemm::Config* config, const cfg::Machine& machine,
                     const Invocation& invocation, Diagnostics& diags) {
  // A line for each kind of runs: the time left is that of the kind.
  std::optional<ProgressLine> progress;
  std::string_view shown;
  explain::StudyOptions options;
  options.jobs = command.jobs != 0 ? command.jobs : std::max(1u, std::thread::hardware_concurrency());
  options.threads = command.options().threads;
  options.progress = [&](uint64_t done, uint64_t total, std::string_view what) {
    if (!progress || what != shown) progress.emplace(!command.options().quiet);
    shown = what;
    progress->update_items(done, total, what);
  };
  explain::Explanation out;
  out.arch = machine.name;
  out.command = invocation.command;
  out.study = explain::run_study(subject, machine, options, diags);
  if (diags.has_errors()) return;
  out.advice = explain::advise(out.study, config, machine);
  if (!command.no_remedies) explain::try_advice(out.advice, machine, options);
  out.remarks = explain::remarks(out.study, machine);
  progress.reset();
  if (!command.options().json.empty()) write_file(command.options().json, explain::write_json(out), diags);
  if (!command.options().quiet && command.options().json != "-") fmt::print("{}", explain::write_text(out));
}

int run(const ExplainCommand& command, const Invocation& invocation) {
  if (const int code = usage(command); code != kSuccess) return code;
  gemm::Config config;
  const bool generated = command.kernel.empty();
  Diagnostics diags;
  const auto machine = load_machine(command.options(), diags);
  if (generated && machine)
    if (const int code = resolve(command.gemm, command.gemm.config.style, config, machine->chip.sm); code != kSuccess) return code;
  check_writable(command.options().json, diags);
  std::optional<explain::Subject> subject;
  if (!diags.has_errors()) subject = read_subject(command, *machine, config, diags);
  if (subject) explain_subject(command, *subject, generated ? &config : nullptr, *machine, invocation, diags);
  print_diagnostics(diags, command.options().quiet);
  return exit_code(diags, command.options().strict);
}

}  // namespace

Action add_explain(CLI::App& app) {
  auto command = std::make_shared<ExplainCommand>();
  RunOptions& options = command->gemm.options;
  options.mode = "timing";
  app.add_option("KERNEL", command->kernel, "a .ptx file or a Triton cache folder; without it a GEMM is generated (--style)");
  app.add_option("--launch", command->launch, "launch file (TOML) of KERNEL");
  app.add_option("--entry", options.entry, "kernel to run; default: the launch file's, or the module's only one");
  app.add_option("--jobs", command->jobs, "runs side by side; default: the host's cores")->check(CLI::Range(1, 1024));
  app.add_flag("--no-remedies", command->no_remedies, "do not simulate the GEMMs with the options of the advice");
  add_gemm_shape_options(app, command->gemm);
  add_run_options(app, options);
  return [command](const Invocation& invocation) { return run(*command, invocation); };
}

}  // namespace tcsim::tool
