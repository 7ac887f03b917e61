// load_module: parse, link every entry, report.
#include <algorithm>

#include <fmt/format.h>

#include "isa/ptx/linker.h"

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

void Problems::add(std::string kind, uint32_t line, uint32_t col, std::string text) {
  std::string key = fmt::format("{}\n{}:{}\n{}", kind, line, col, text);
  Problem& problem = problems_[std::move(key)];
  problem.kind = std::move(kind);
  problem.text = std::move(text);
  problem.places.emplace(line, col);
}

void Problems::add_grouped(std::string kind, std::string_view found, uint32_t line, uint32_t col, std::string text) {
  Problem& problem = problems_[fmt::format("{}\n{}", kind, found)];
  problem.kind = std::move(kind);
  if (problem.text.empty()) problem.text = std::move(text);
  problem.places.emplace(line, col);
}

void Problems::report(const std::string& path, Diagnostics& diags) const {
  std::vector<const Problem*> sorted;
  for (const auto& [key, problem] : problems_) sorted.push_back(&problem);
  std::sort(sorted.begin(), sorted.end(), [](const Problem* a, const Problem* b) {
    return std::pair(*a->places.begin(), a->text) < std::pair(*b->places.begin(), b->text);
  });
  uint32_t errors = 0;
  for (const Problem* problem : sorted) {
    const auto& [line, col] = *problem->places.begin();
    std::string text = problem->text;
    if (const size_t more = problem->places.size() - 1) text += fmt::format(" (and at {} more place{})", more, more == 1 ? "" : "s");
    if (problem->kind.empty()) {
      diags.note("external-function", {path, line, col}, std::move(text));
      continue;
    }
    if (++errors > kMaxProblems) continue;
    diags.error(problem->kind, {path, line, col}, std::move(text));
  }
  if (errors > kMaxProblems)
    diags.note("syntax", {path, 0, 0}, fmt::format("{} more problems are not shown", errors - kMaxProblems));
}

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
      ctx.problems.add("syntax", fn.line, fn.col, fmt::format("found '{}' a second time, expected one definition (the first is in line {})", fn.name, it->second->line));
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
      ctx.problems.add("syntax", variable.line, variable.col, fmt::format("found more than {} bytes of .const variables, expected fewer", kMaxConstantBytes));
      continue;
    }
    symbol.address = offset;
    module.constant_bytes.resize(offset + symbol.bytes);
    std::copy(symbol.init.begin(), symbol.init.end(), module.constant_bytes.begin() + static_cast<ptrdiff_t>(offset));
  }
}

}  // namespace

}  // namespace ptx

std::unique_ptr<Module> load_module(std::string path, std::string text, Diagnostics& diags, const Matcher& matcher) {
  auto module = std::make_unique<Module>();
  module->path = std::move(path);
  module->text = std::move(text);
  const uint32_t errors_before = diags.error_count();
  const ptx::ModuleAst ast = ptx::parse(*module, diags);
  const bool gave_up = diags.error_count() - errors_before >= ptx::kMaxProblems;
  ptx::Problems problems;
  ptx::LinkContext context{*module, ast, matcher, problems, diags, {}, {}, {}};
  ptx::collect_functions(context);
  ptx::collect_symbols(context);
  bool any_entry = false;
  for (const ptx::Function& fn : ast.functions) {
    if (!fn.is_entry || !fn.has_body) continue;
    any_entry = true;
    if (!gave_up) ptx::KernelLinker(context, fn).run();
  }
  problems.report(module->path, diags);
  if (!any_entry && diags.error_count() == errors_before)
    diags.error("syntax", {module->path, 1, 1}, "found no .entry, expected at least one kernel");
  return module;
}

}  // namespace tcsim::isa
