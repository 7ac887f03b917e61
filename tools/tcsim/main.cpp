// tcsim: simulates GEMM kernels of NVIDIA tensor-core GPUs from their PTX.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <optional>
#include <set>

#include "isa/check.h"
#include "sim/config/load.h"
#include "tools/tcsim/commands.h"

namespace tcsim::tool {

int not_in_this_release(const std::string& what) {
  fmt::print(stderr, "tcsim: {}: not in this release\n", what);
  return kUsage;
}

int usage_error(const std::string& text) {
  fmt::print(stderr, "tcsim: error: {}\n", text);
  return kUsage;
}

namespace {

struct Verb {
  CLI::App* app;
  Action action;
};

constexpr const char* kExitCodes =
    "Exit codes: 0 success; 1 bad input; 2 usage; 3 the simulated kernel "
    "failed; 4 the result check failed; 70 a bug of ours.";

/// Verbs of the interface that this release does not have.
const std::vector<std::pair<const char*, const char*>> kAbsent = {{"replay", "run a recorded trace"}, {"trace", "import and export traces"}};

/// "; did you mean 'gemm'?", or "" when nothing is near.
std::string suggestion(const std::string& written, const std::set<std::string>& known) {
  const std::string near = cfg::nearest_word(written, known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

std::set<std::string> verb_names(const CLI::App& app) {
  std::set<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) names.insert(verb->get_name());
  return names;
}

int unknown_verb(const CLI::App& app, const std::string& written) {
  const std::set<std::string> names = verb_names(app);
  return usage_error(fmt::format("there is no verb '{}'{}\nRun with --help for more information.", written, suggestion(written, names)));
}

/// Names the first option that the verb does not have; nullopt when it is not an option that was too much.
std::optional<int> unknown_option(const CLI::App& verb) {
  std::set<std::string> names;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& name : option->get_lnames()) names.insert("--" + name);
  for (const std::string& written : verb.remaining())
    if (written.starts_with("--") && written.size() > 2) {
      const std::string name = written.substr(0, written.find('='));
      return usage_error(fmt::format("{} has no option {}{}\nRun with --help for more information.", verb.get_name(), name, suggestion(name, names)));
    }
  return std::nullopt;
}

int run_program(int argc, char** argv) {
  CLI::App app{"Cycle-approximate simulator of NVIDIA tensor-core GPUs", "tcsim"};
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.set_version_flag("--version", TCSIM_VERSION);
  std::vector<Verb> verbs;
  const auto add = [&](const char* name, const char* doc, Action (*make)(CLI::App&)) {
    CLI::App* verb = app.add_subcommand(name, doc);
    verb->footer(kExitCodes);
    verbs.push_back({verb, make(*verb)});
  };
  add("run", "Simulate one kernel", add_run);
  add("gemm", "Generate a GEMM kernel and simulate it", add_gemm);
  add("sweep", "Simulate many configurations, a CSV row each", add_sweep);
  add("compare", "A report beside a CSV of Nsight Compute, metric by metric", add_compare);
  add("explain", "Which limit binds a kernel: runs with one limit lifted at a time", add_explain);
  add("arch", "List, show and compare machines", add_arch);
  add("disasm", "Print a kernel's decoded instructions", add_disasm);
  add("validate", "Compare simulated with measured kernels", add_validate);
  add("layout", "Which lane, register and bits hold which element", add_layout);
  add("swizzle", "Draw a swizzle of shared memory", add_swizzle);
  add("banks", "Bank conflicts of one access and what removes them", add_banks);
  add("descriptor", "Decode and check wgmma and tcgen05 descriptors", add_descriptor);
  add("tensormap", "Check a tensor map and draw its box in shared memory", add_tensormap);
  add("tmem", "Lanes and columns of Tensor Memory, and their budget", add_tmem);
  for (const auto& [name, doc] : kAbsent) {
    CLI::App* verb = app.add_subcommand(name, fmt::format("({}; not in this release)", doc));
    verb->allow_extras();
    verb->set_help_flag();
    verbs.push_back({verb, [name = std::string(name)](const Invocation&) { return not_in_this_release(name); }});
  }
  CLI::App* help = app.add_subcommand("help", "Explain a verb");
  std::string topic;
  help->add_option("VERB", topic, "run, gemm, layout, ...");

  if (argc > 1 && argv[1][0] != '-' && !verb_names(app).contains(argv[1])) return unknown_verb(app, argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
      for (const Verb& verb : verbs)
        if (verb.app->parsed())
          if (const auto code = unknown_option(*verb.app)) return *code;
    const int code = app.exit(error);
    return code == 0 ? kSuccess : kUsage;
  }
  if (help->parsed()) {
    for (const Verb& verb : verbs)
      if (verb.app->get_name() == topic) {
        fmt::print("{}", verb.app->help("tcsim"));
        return kSuccess;
      }
    if (!topic.empty()) return unknown_verb(app, topic);
    fmt::print("{}", app.help());
    return kSuccess;
  }
  const Invocation invocation{{argv, argv + argc}};
  for (const Verb& verb : verbs)
    if (verb.app->parsed()) return verb.action(invocation);
  return kUsage;
}

}  // namespace
}  // namespace tcsim::tool

int main(int argc, char** argv) {
  try {
    return tcsim::tool::run_program(argc, argv);
  } catch (const tcsim::InternalError& error) {
    fmt::print(stderr,
               "tcsim: internal error: {}\nThis is a bug of tcsim, not of your kernel. Please report it with "
               "the command and its inputs.\n",
               error.what());
  } catch (const std::bad_alloc&) { fmt::print(stderr, "tcsim: out of memory\n"); } catch (const std::exception& error) {
    fmt::print(stderr, "tcsim: internal error: {}\n", error.what());
  }
  return tcsim::tool::kInternal;
}
