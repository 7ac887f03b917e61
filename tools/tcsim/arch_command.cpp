// tcsim arch list | show NAME | diff A B
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "sim/config/machine.h"
#include "sim/config/show.h"
#include "tools/tcsim/commands.h"
#include "tools/tcsim/output.h"

namespace tcsim::tool {
namespace {

struct ArchCommand {
  CLI::App* list = nullptr;
  CLI::App* show = nullptr;
  CLI::App* diff = nullptr;
  std::string name, first, second, only;
};

int finish(const Diagnostics& diags) {
  print_diagnostics(diags, false);
  return exit_code(diags, false);
}

int run(const ArchCommand& command) {
  Diagnostics diags;
  const cfg::ShowOptions options{.colour = isatty(STDOUT_FILENO) != 0, .only = command.only};
  if (command.list->parsed()) {
    fmt::print("{}", cfg::list_machines());
    return kSuccess;
  }
  if (command.show->parsed()) {
    if (const auto machine = cfg::load_machine(command.name, {}, diags)) fmt::print("{}", cfg::show_machine(*machine, options));
    return finish(diags);
  }
  const auto first = cfg::load_machine(command.first, {}, diags), second = cfg::load_machine(command.second, {}, diags);
  if (first && second) fmt::print("{}", cfg::diff_machines(*first, *second, options));
  return finish(diags);
}

}  // namespace

Action add_arch(CLI::App& app) {
  auto command = std::make_shared<ArchCommand>();
  app.require_subcommand(1);
  command->list = app.add_subcommand("list", "the built-in machines");
  command->show = app.add_subcommand("show", "every value of a machine with its source");
  command->show->add_option("NAME", command->name, "a built-in machine or a TOML file")->required();
  command->show->add_option("--only", command->only, "only keys that begin with this: smem, timing.lds");
  command->diff = app.add_subcommand("diff", "the values that differ");
  command->diff->add_option("A", command->first)->required();
  command->diff->add_option("B", command->second)->required();
  command->diff->add_option("--only", command->only, "only keys that begin with this");
  return [command](const Invocation&) { return run(*command); };
}

}  // namespace tcsim::tool
