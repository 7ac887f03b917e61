// load_module: parse, link every entry, report.
#include <algorithm>

#include <fmt/format.h>

#include "isa/ptx/linker.h"
#include "isa/ptx/load.h"

namespace tcsim::isa {

const Kernel* Module::find_kernel(std::string_view name) const {
  for (const Kernel& kernel : kernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

Symbol* Module::find_symbol(std::string_view name) {
  for (Symbol& symbol : symbols)
    if (symbol.name == name) return &symbol;
  return nullptr;
}

std::string Module::source_of(const Inst& inst) const {
  const auto base_name = [](std::string_view path) { return path.substr(path.find_last_of('/') + 1); };
  if (inst.loc.file > 0 && inst.loc.file < files.size() && !files[inst.loc.file].empty() && inst.loc.line > 0)
    return fmt::format("{}:{}", base_name(files[inst.loc.file]), inst.loc.line);
  return fmt::format("{}:{}", base_name(path), inst.line);
}

namespace ptx {

const std::vector<Match>& LinkContext::matches(std::string_view mnemonic) {
  const auto it = mnemonics.find(mnemonic);
  if (it != mnemonics.end()) return it->second;
  return mnemonics.emplace(mnemonic, matcher.match(mnemonic)).first->second;
}

namespace {

void collect_functions(LinkContext& ctx) {
  for (const Function& fn : ctx.ast.functions) {
    const auto [it, fresh] = ctx.functions.emplace(fn.name, &fn);
    if (fresh) continue;
    if (it->second->has_body && fn.has_body)
      ctx.problems.add("syntax", fn.line, fn.col,
                       fmt::format("found '{}' a second time, expected one definition (the first is in line {})", fn.name, it->second->line));
    else if (fn.has_body) it->second = &fn;
  }
}

/// Module::symbols: everything but parameters and .local variables, which belong to one kernel. Places .const variables.
void collect_symbols(LinkContext& ctx) {
  Module& module = ctx.module;
  ctx.symbol_of.assign(ctx.ast.variables.size(), -1);
  std::unordered_map<std::string, uint32_t> used;
  for (size_t v = 0; v < ctx.ast.variables.size(); ++v) {
    const Variable& variable = ctx.ast.variables[v];
    if (variable.symbol.space == Space::param || variable.symbol.space == Space::local) continue;
    ctx.symbol_of[v] = static_cast<int32_t>(module.symbols.size());
    Symbol& symbol = module.symbols.emplace_back(variable.symbol);
    const uint32_t earlier = used[symbol.name]++;
    if (earlier > 0) symbol.name += fmt::format("${}", earlier);  // the same name in two functions
    if (symbol.space != Space::constant) continue;
    const uint64_t offset = (module.constant_bytes.size() + symbol.align - 1) / symbol.align * symbol.align;
    if (offset + symbol.bytes > kMaxConstantBytes) {
      ctx.problems.add("syntax", variable.line, variable.col,
                       fmt::format("found more than {} bytes of .const variables, expected fewer", kMaxConstantBytes));
      continue;
    }
    symbol.address = offset;
    module.constant_bytes.resize(offset + symbol.bytes);
    std::copy_n(symbol.init.begin(), std::min<size_t>(symbol.init.size(), symbol.bytes),
                module.constant_bytes.begin() + static_cast<ptrdiff_t>(offset));
  }
}

bool is_kernel(const Function& fn) { return fn.is_entry && fn.has_body; }

/// Whether every name is a kernel of the module.
bool has_kernels(const ModuleAst& ast, std::span<const std::string> names) {
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::any_of(ast.functions.begin(), ast.functions.end(), [&](const Function& fn) { return is_kernel(fn) && fn.name == name; });
  });
}

}  // namespace

}  // namespace ptx

std::unique_ptr<Module> load_module(std::string path, std::string text, Diagnostics& diags, const Matcher& matcher) {
  return load_kernels(std::move(path), std::move(text), diags, {}, matcher);
}

std::unique_ptr<Module> load_kernels(std::string path, std::string text, Diagnostics& diags, std::span<const std::string> names,
                                     const Matcher& matcher) {
  auto module = std::make_unique<Module>();
  module->path = std::move(path);
  module->text = std::move(text);
  ptx::Problems problems;
  const ptx::ModuleAst ast = ptx::parse(*module, problems);
  ptx::LinkContext context{*module, ast, matcher, problems, {}, {}, {}};
  ptx::collect_functions(context);
  ptx::collect_symbols(context);
  bool any_entry = false;
  const bool all = names.empty() || !ptx::has_kernels(ast, names);
  for (const ptx::Function& fn : ast.functions) {
    if (!ptx::is_kernel(fn)) continue;
    any_entry = true;
    if (!ast.gave_up && (all || std::find(names.begin(), names.end(), fn.name) != names.end())) ptx::KernelLinker(context, fn).run();
  }
  if (!any_entry && !problems.has_errors()) problems.add("syntax", 1, 1, "found no .entry, expected at least one kernel");
  problems.report(module->path, diags);
  if (ast.gave_up) diags.note("syntax", {module->path, 0, 0}, "too many problems: the rest of the file was not read");
  return module;
}

}  // namespace tcsim::isa
