// tcsim run KERNEL: one kernel with a launch file; without one, prints the parameters and a launch file to
// fill in.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "isa/ptx/load.h"
#include "tools/tcsim/output.h"
#include "tools/tcsim/run_kernel.h"
#include "tools/tcsim/text_file.h"

namespace tcsim::tool {
namespace {

struct RunCommand {
  RunOptions options;
  std::string kernel, launch;
};

/// Parameters and a launch file to fill in, on stdout: the text is itself a valid launch file.
int print_template(const RunCommand& command, const launch::KernelFile& kernel, Diagnostics& diags) {
  std::vector<std::string> chosen;
  if (!command.options.entry.empty()) chosen.push_back(command.options.entry);
  const auto module = isa::load_kernels(kernel.path, kernel.text, diags, chosen);
  if (module && !diags.has_errors()) {
    if (command.options.entry.empty()) {
      if (module->kernels.empty()) launch::choose_kernel(*module, "", {kernel.path, 0, 0}, diags);
      for (const isa::Kernel& each : module->kernels)
        fmt::print("{}\n", launch::launch_template(*module, each, kernel.triton ? &*kernel.triton : nullptr));
    } else if (const isa::Kernel* only = launch::choose_kernel(*module, command.options.entry, {kernel.path, 0, 0}, diags)) {
      fmt::print("{}", launch::launch_template(*module, *only, kernel.triton ? &*kernel.triton : nullptr));
    }
  }
  print_diagnostics(diags, command.options.quiet);
  return exit_code(diags, command.options.strict);
}

int run(const RunCommand& command, const Invocation& invocation) {
  if (const int code = check_usage(command.options); code != kSuccess) return code;
  Diagnostics diags;
  auto kernel = launch::read_kernel_file(command.kernel, diags);
  if (command.launch.empty() && kernel) return print_template(command, *kernel, diags);
  RunInput input;
  input.launch_path = command.launch;
  if (!command.launch.empty())
    if (auto text = read_text_file(command.launch, diags)) input.launch_text = std::move(*text);
  if (diags.has_errors()) {
    print_diagnostics(diags, command.options.quiet);
    return exit_code(diags, command.options.strict);
  }
  input.kernel = std::move(*kernel);
  return run_and_report(command.options, input, invocation);
}

}  // namespace

Action add_run(CLI::App& app) {
  auto command = std::make_shared<RunCommand>();
  app.add_option("KERNEL", command->kernel, "a .ptx file or a Triton cache folder")->required();
  app.add_option("--launch", command->launch, "launch file (TOML); without it a launch file to fill in is printed");
  app.add_option("--entry", command->options.entry, "kernel to run; default: the launch file's, or the module's only one");
  add_budget_option(app, command->options);
  add_run_options(app, command->options);
  return [command](const Invocation& invocation) { return run(*command, invocation); };
}

}  // namespace tcsim::tool
