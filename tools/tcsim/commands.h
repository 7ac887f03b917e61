// The program's sub-commands, one file each. A function adds its options to the command line and returns what
// runs it.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tcsim::tool {

/// Exit codes of the contract.
enum ExitCode : int { kSuccess = 0, kBadInput = 1, kUsage = 2, kKernelFailed = 3, kCheckFailed = 4, kInternal = 70 };

/// What a sub-command gets beside its own options.
struct Invocation {
  std::vector<std::string> command;  // argv, for reports
};

using Action = std::function<int(const Invocation&)>;

Action add_run(CLI::App& app);
Action add_gemm(CLI::App& app);
Action add_arch(CLI::App& app);
Action add_disasm(CLI::App& app);
Action add_explain(CLI::App& app);
Action add_validate(CLI::App& app);
Action add_sweep(CLI::App& app);
Action add_compare(CLI::App& app);
Action add_layout(CLI::App& app);
Action add_swizzle(CLI::App& app);
Action add_banks(CLI::App& app);
Action add_descriptor(CLI::App& app);
Action add_tensormap(CLI::App& app);
Action add_tmem(CLI::App& app);

/// Prints "tcsim: WHAT is not in this release" and returns kUsage.
int not_in_this_release(const std::string& what);
/// Prints "tcsim: error: TEXT" and returns kUsage.
int usage_error(const std::string& text);

}  // namespace tcsim::tool
