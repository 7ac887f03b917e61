// tcsim layout INSTRUCTION ...: which lane, register and bits hold which element, both ways.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "sim/config/machine.h"
#include "tools/layout/instructions.h"
#include "tools/layout/render.h"
#include "tools/tcsim/commands.h"
#include "tools/tcsim/layout_check.h"
#include "tools/tcsim/output.h"

namespace tcsim::tool {
namespace {

struct LayoutCommand {
  std::string instruction, operand, by = "matrix", format = "ascii", output = "-", arch, major = "k", swizzle;
  std::vector<int> element;
  int tile = -1, lane = -1, reg = -1, warp = -1, tmem_lane = -1, tmem_column = -1, shared = -1;
  bool list = false;
  layout::LayoutOptions options;
  LayoutCheck check;
};

/// Everything that is wrong is bad input: no kernel ran.
int finish(const Diagnostics& diags) {
  print_diagnostics(diags, false);
  return diags.has_errors() ? kBadInput : kSuccess;
}

int list(const LayoutCommand& c) {
  Diagnostics diags;
  int sm = 0;
  if (!c.arch.empty()) {
    const auto machine = cfg::load_machine(c.arch, {}, diags);
    if (!machine) return finish(diags);
    sm = static_cast<int>(machine->chip.sm);
  }
  std::string text;
  for (const layout::Listed& l : layout::list_instructions())
    if (sm == 0 || (sm >= l.since && sm < l.until)) text += fmt::format("{:<56} {}\n", l.name, l.operands);
  write_file(c.output, text, diags);
  return finish(diags);
}

/// Answers --element, or --lane and its like.
std::string answer(const LayoutCommand& c, const std::vector<layout::Table>& tables, Diagnostics& diags) {
  const layout::Home where{.warp = c.warp, .lane = c.lane, .reg = c.reg, .tmem_lane = c.tmem_lane, .tmem_column = c.tmem_column, .shared = c.shared};
  const bool json = c.format == "json";
  std::vector<std::string> answers;
  for (const layout::Table& t : tables) {
    std::vector<layout::Table::Found> found;
    if (c.element.empty()) found = t.find(where);
    else
      for (int tile = std::max(c.tile, 0); tile < (c.tile >= 0 ? c.tile + 1 : t.tiles()); ++tile)
        if (const layout::ElementAt e{tile, c.element[0], c.element[1]}; t.holds(e))
          for (const layout::Home& h : t.homes(e)) found.push_back({e, h});
    if (found.empty()) {
      if (!c.operand.empty())
        diags.error("layout", {},
                    c.element.empty() ? fmt::format("{} {}: nothing is held there; lanes 0 to {}, registers 0 to {}", t.instruction, t.operand,
                                                    t.largest(&layout::Home::lane), t.largest(&layout::Home::reg))
                                      : fmt::format("{} {}: there is no element {},{}, expected rows 0 to {} and columns 0 to {}", t.instruction,
                                                    t.operand, c.element[0], c.element[1], t.rows() - 1, t.cols() - 1));
      continue;
    }
    if (json) answers.push_back(layout::elements_json(t, found, c.element.empty()));
    else
      for (const auto& f : found) answers.push_back(fmt::format("{}: {}", layout::describe(t, f.element), layout::describe(f.home)));
  }
  if (answers.empty() && !diags.has_errors()) diags.error("layout", {}, fmt::format("{}: no operand holds that", c.instruction));
  if (json && answers.size() > 1) return fmt::format("[{}]\n", fmt::join(answers, ", "));
  return fmt::format("{}\n", fmt::join(answers, "\n"));
}

int run(const LayoutCommand& c) {
  if (c.list) return list(c);
  if (c.instruction.empty()) return usage_error("layout needs an INSTRUCTION or --list");
  if (!c.element.empty() && c.element.size() != 2) return usage_error("--element takes ROW,COL");
  const auto format = layout::format_named(c.format);
  Diagnostics diags;
  layout::LayoutOptions options = c.options;
  if (!c.swizzle.empty()) options.swizzle = c.swizzle;
  options.major = c.major == "mn" ? isa::Major::mn : isa::Major::k;
  std::string error;
  if (const std::string wrong = check_usage(c.check); !wrong.empty()) return usage_error(wrong);
  if (c.check.wanted()) options.swizzle = layout::LayoutOptions{}.swizzle;  // --swizzle is that of the moved operand
  const std::vector<layout::Table> tables = layout::make_tables(c.instruction, c.operand, options, error);
  if (!error.empty()) {
    diags.error("layout", {}, error);
    return finish(diags);
  }
  if (c.check.wanted()) {
    if (tables.size() != 1) return usage_error("--loaded-by, --stored-by and --assume need --operand");
    const std::string text = answer_check(c.check, tables[0], c.swizzle, c.warp, c.format == "json", diags);
    if (!text.empty()) write_file(c.output, text, diags);
    return finish(diags);
  }
  const bool question = !c.element.empty() || std::max({c.lane, c.reg, c.warp, c.tmem_lane, c.tmem_column, c.shared}) >= 0;
  const std::string text = question ? answer(c, tables, diags) : layout::render(tables, *format, c.by != "matrix");
  if (!diags.has_errors()) write_file(c.output, text, diags);
  return finish(diags);
}

}  // namespace

Action add_layout(CLI::App& app) {
  auto c = std::make_shared<LayoutCommand>();
  app.add_option("INSTRUCTION", c->instruction,
                 "mma.m16n8k16.f16, ldmatrix.x4.trans, wgmma.m64n128k16.f16, tcgen05.ld.32x32b.x8, core.k.128B.f16, ...");
  app.add_flag("--list", c->list, "every instruction and its operands");
  app.add_option("--arch", c->arch, "with --list: only what this machine has");
  app.add_option("--operand", c->operand, "default: all")->check(CLI::IsMember({"A", "B", "C", "D", "E", "SFA", "SFB"}));
  app.add_option("--by", c->by, "matrix: element to place; lane: place to elements")->check(CLI::IsMember({"matrix", "lane"}));
  app.add_option("--format", c->format, "of the table, or text or JSON of an answer")
      ->check(CLI::IsMember({"ascii", "csv", "markdown", "svg", "html", "json"}));
  app.add_option("-o,--output", c->output, "a file instead of the terminal");
  app.add_option("--element", c->element, "ROW,COL: where it is")->delimiter(',')->check(CLI::Range(0, 1 << 20));
  app.add_option("--tile", c->tile, "which of several matrices (quad pair of mma.m8n8k4.f16)")->check(CLI::Range(0, 1 << 20));
  for (auto& [name, value, text] : {std::tuple{"--lane", &c->lane, "what this lane holds"},
                                    {"--register", &c->reg, "what this register holds"},
                                    {"--warp", &c->warp, "of the warpgroup"},
                                    {"--tmem-lane", &c->tmem_lane, "what this lane of Tensor Memory holds"},
                                    {"--tmem-column", &c->tmem_column, "what this column holds"},
                                    {"--shared", &c->shared, "what begins at this byte offset"}})
    app.add_option(name, *value, text)->check(CLI::Range(0, 1 << 20));
  app.add_option("--acc", c->options.accumulator, "type of C and D where there is a choice (f16, f32)");
  app.add_option(
      "--swizzle", c->swizzle,
      "of operands in shared memory: none 32B 64B 128B 128B_atom_32B (default 128B); with --loaded-by or --stored-by also B,M,S (default none)");
  app.add_option("--major", c->major, "of operands in shared memory")->check(CLI::IsMember({"k", "mn"}));
  app.add_option("--space", c->options.space, "of A of wgmma (registers, shared) and tcgen05.mma (shared, tmem)")
      ->check(CLI::IsMember({"registers", "shared", "tmem"}));
  app.add_option("--cta-group", c->options.cta_group, "tcgen05.mma")->check(CLI::Range(1, 2));
  app.add_option("--scale-vec", c->options.scale_vec, "scale factors a row")->check(CLI::IsMember({1, 2, 4}));
  app.add_option("--half-split", c->options.half_split, "columns between the halves of tcgen05.ld.16x32bx2")->check(CLI::Range(1, 511));
  add_check_options(app, c->check);
  return [c](const Invocation&) { return run(*c); };
}

}  // namespace tcsim::tool
