// tcsim disasm KERNEL: the decoded instructions, with basic blocks, branch targets and source lines.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "tools/launch/kernel_file.h"
#include "tools/launch/prepare.h"
#include "tools/tcsim/commands.h"
#include "tools/tcsim/output.h"

namespace tcsim::tool {
namespace {

struct DisasmCommand {
  std::string kernel, entry;
};

void print_kernel(const isa::Module& module, const isa::Kernel& kernel) {
  fmt::print(
      "{}: {} instructions, {} blocks, {} register slots, {} predicates, {} B shared, {} B local per "
      "thread\n",
      kernel.name, kernel.insts.size(), kernel.blocks.size(), kernel.slot_count, kernel.pred_count, kernel.shared_static_bytes, kernel.local_bytes);
  for (const isa::Param& param : kernel.params)
    fmt::print("  param {:>3} B at {:<4} .{:<5} {}\n", param.bytes, param.offset, isa::name(param.type), param.name);
  for (size_t block = 0; block < kernel.blocks.size(); ++block) {
    const isa::BasicBlock& b = kernel.blocks[block];
    fmt::print("\nblock {}", block);
    if (b.post_dominator >= 0) fmt::print("  (reconverges at block {})", b.post_dominator);
    fmt::print("\n");
    for (uint32_t i = b.first; i < b.end; ++i) {
      const isa::Inst& inst = kernel.insts[i];
      const std::string guard = inst.guard < 0 ? "" : fmt::format("@{}p{} ", inst.guard_negated ? "!" : "", inst.guard);
      const std::string target = inst.target < 0 ? "" : fmt::format("  -> block {}", kernel.block_of[static_cast<size_t>(inst.target)]);
      fmt::print("{:6}  {:<72} // {:<9} {}{}\n", i, guard + std::string(inst.text), isa::name(inst.timing), module.source_of(inst), target);
    }
  }
}

int run(const DisasmCommand& command) {
  Diagnostics diags;
  if (const auto file = launch::read_kernel_file(command.kernel, diags)) {
    const auto module = isa::load_module(file->path, file->text, diags);
    const isa::Kernel* chosen = nullptr;
    if (module && !command.entry.empty()) chosen = launch::choose_kernel(*module, command.entry, {command.kernel, 0, 0}, diags);
    if (module && !diags.has_errors())
      for (const isa::Kernel& kernel : module->kernels)
        if (!chosen || chosen == &kernel) print_kernel(*module, kernel);
  }
  print_diagnostics(diags, false);
  return exit_code(diags, false);
}

}  // namespace

Action add_disasm(CLI::App& app) {
  auto command = std::make_shared<DisasmCommand>();
  app.add_option("KERNEL", command->kernel, "a .ptx file or a Triton cache folder")->required();
  app.add_option("--entry", command->entry, "only this kernel");
  return [command](const Invocation&) { return run(*command); };
}

}  // namespace tcsim::tool
