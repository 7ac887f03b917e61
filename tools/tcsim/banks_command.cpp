// tcsim banks: wavefronts and conflicts of one shared-memory access, and what removes them. tcsim swizzle: one swizzle drawn.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sim/config/machine.h"
#include "tools/layout/bank_study.h"
#include "tools/layout/instructions.h"
#include "tools/layout/render.h"
#include "tools/tcsim/commands.h"
#include "tools/tcsim/lane_addresses.h"
#include "tools/tcsim/output.h"

namespace tcsim::tool {
namespace {

using Json = nlohmann::ordered_json;

struct BanksCommand {
  std::string access = "ld.shared.b32", addresses, swizzle = "none", arch, format = "ascii", output = "-";
  int stride = 0, row = 0, lanes_per_row = 0, offset = 0, element_bytes = 0;
};

/// Everything that is wrong is bad input: no kernel ran.
int finish(const Diagnostics& diags) {
  print_diagnostics(diags, false);
  return diags.has_errors() ? kBadInput : kSuccess;
}

/// 32 byte offsets.
void read_addresses(const std::string& path, std::vector<uint32_t>& out, Diagnostics& diags) {
  const auto lanes = read_lane_addresses(path, "banks", diags);
  if (diags.has_errors()) return;
  if (!lanes[0].is_bytes) return diags.error("banks", {path, 0, 0}, "found row,column, expected byte offsets in shared memory");
  if (lanes.size() != 32) diags.error("banks", {path, 0, 0}, fmt::format("{} byte offsets, expected 32, one a lane", lanes.size()));
  for (const auto& lane : lanes) out.push_back(static_cast<uint32_t>(lane.byte));
}

std::string text_of(const BanksCommand& c, const layout::AccessPattern& p, const layout::BankStudy& s) {
  std::string out = fmt::format("{}{}: {} wavefronts, ideal {}, conflicts {}\n", c.access,
                                p.swizzle.bits ? fmt::format(", {}", layout::describe(p.swizzle, p.element_bytes)) : "", s.now.total, s.now.ideal,
                                s.now.conflicts());
  for (const layout::BankMeeting& m : s.meetings)
    out += fmt::format("  bank {:>2}: {}-way, lanes {} in different words\n", m.bank, m.lanes.size(), fmt::join(m.lanes, ", "));
  if (s.now.conflicts() == 0)
    out +=
        "The addresses are clean. A hardware counter above zero then shows arbitration with other accesses; the counters that go by addresses are\n"
        "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{ldsm,stsm,ldgsts,st}.\n";
  else if (s.proposals.empty()) out += "No swizzle or padding of up to 128 bytes removes all conflicts.\n";
  for (const layout::Proposal& proposal : s.proposals)
    out += fmt::format("Without conflicts: {}\n  -> {} wavefronts, ideal {}, conflicts {}\n", proposal.text, proposal.after.total,
                       proposal.after.ideal, proposal.after.conflicts());
  uint32_t more = 0;
  for (const layout::BankMeeting& m : s.meetings) more = std::max(more, m.others);
  if (more > 0)
    out += fmt::format("Each line names the worst bank of the lanes that are served together; up to {} more bank{} of theirs ha{} conflicts too.\n",
                       more, more == 1 ? "" : "s", more == 1 ? "s" : "ve");
  return out;
}

std::string json_of(const BanksCommand& c, const layout::AccessPattern& p, const layout::BankStudy& s) {
  Json meetings = Json::array(), proposals = Json::array();
  for (const auto& m : s.meetings) meetings.push_back({{"bank", m.bank}, {"lanes", m.lanes}, {"more_banks", m.others}});
  for (const auto& x : s.proposals)
    proposals.push_back({{"change", x.text}, {"wavefronts", x.after.total}, {"wavefronts_ideal", x.after.ideal}, {"conflicts", x.after.conflicts()}});
  return Json{{"access", c.access},
              {"swizzle", layout::describe(p.swizzle, p.element_bytes)},
              {"wavefronts", s.now.total},
              {"wavefronts_ideal", s.now.ideal},
              {"conflicts", s.now.conflicts()},
              {"banks", meetings},
              {"proposals", proposals}}
             .dump(2) +
         "\n";
}

int run_banks(const BanksCommand& c) {
  Diagnostics diags;
  std::string error;
  auto p = layout::parse_access(c.access, error);
  if (!p) return diags.error("banks", {}, error), finish(diags);
  if (c.element_bytes) p->element_bytes = c.element_bytes;
  p->stride_bytes = c.stride ? c.stride : p->bytes;
  p->row_bytes = c.row, p->lanes_per_row = c.lanes_per_row ? c.lanes_per_row : 1;
  p->offset = static_cast<uint32_t>(c.offset);
  if (!c.addresses.empty()) read_addresses(c.addresses, p->addresses, diags);
  else if (p->matrices > 0 && c.row == 0) return usage_error(fmt::format("{} needs --row-bytes (or --addresses)", c.access));
  if (const auto s = layout::parse_swizzle(c.swizzle, p->element_bytes, error)) p->swizzle = *s;
  sim::Banks banks;
  if (!c.arch.empty())
    if (const auto machine = cfg::load_machine(c.arch, {}, diags)) banks = {machine->smem.banks, machine->smem.bank_bytes};
  layout::BankStudy s;
  if (error.empty() && !diags.has_errors()) s = layout::study(*p, banks, error);
  if (!error.empty()) diags.error("banks", {}, error);
  if (!diags.has_errors()) write_file(c.output, c.format == "json" ? json_of(c, *p, s) : text_of(c, *p, s), diags);
  return finish(diags);
}

struct SwizzleCommand {
  std::string pattern, format = "ascii", output = "-", by = "matrix", address;
  int element_bytes = 2, row = 0, rows = 0;
};

/// Row x piece in the order of addresses, with the place that the swizzle gives each piece.
layout::Table swizzle_table(const SwizzleCommand& c, const isa::Swizzle& s) {
  const int unit = 1 << s.base, row = c.row ? c.row : std::max(128, unit);
  // Without swizzle the rows repeat where one begins in bank 0 again: padding at work.
  const int repeat = s.bits ? 1 << (s.base + s.shift + s.bits) : std::lcm(row, 128);
  const int rows = c.rows ? c.rows : std::clamp(repeat / row, 1, 64);
  layout::Table t(fmt::format("swizzle {}", c.pattern), "A", rows, row / unit);
  t.place = layout::Place::shared_memory;
  t.element_bits = 8 * unit;
  for (int r = 0; r < rows; ++r)
    for (int piece = 0; piece < row / unit; ++piece) {
      layout::Home home = layout::shared_home(static_cast<uint32_t>(s(static_cast<uint64_t>(r * row + piece * unit))), 0, 8 * unit);
      t.add({0, r, piece}, home);
    }
  t.notes = {layout::describe(s, c.element_bytes),
             fmt::format("XORs address bits {} to {} into bits {} to {}: moves units of {} B, repeats after {} B (the alignment that a tile needs)",
                         s.base + s.shift, s.base + s.shift + s.bits - 1, s.base, s.base + s.bits - 1, unit, repeat)};
  if (s.bits == 0) t.notes = {"no swizzle"};
  return t;
}

/// As layout::describe says it of a place in shared memory.
uint64_t bank_of(uint64_t address) {
  const sim::Banks banks;
  return address / banks.bytes % banks.count;
}

/// Rows of 128 bytes: which piece of its row lies at each place.
std::string drawn(const layout::Table& t, const SwizzleCommand& c, const isa::Swizzle& s) {
  std::string out = fmt::format("{}\n", t.instruction);
  for (const std::string& n : t.notes) out += fmt::format("  {}\n", n);
  for (const int bytes : {1, 2, 4, 8})
    if (s.bits && s.base >= (bytes == 8 ? 3 : bytes / 2)) {
      const isa::Swizzle e = s.for_elements(bytes);
      out += fmt::format("  elements of {} B: Swizzle<{},{},{}>\n", bytes, e.bits, e.base, e.shift);
    }
  const int unit = t.element_bits / 8, row = t.cols() * unit;
  out += fmt::format("\nWhich piece of {} B lies where (rows of {} B, places in the order of addresses):\n row |", unit, row);
  for (int p = 0; p < t.cols(); ++p) out += fmt::format("{:>4}", p);
  out += s.bits ? "\n" : "  | first bank\n";
  for (int r = 0; r < t.rows(); ++r) {
    std::vector<std::string> at(static_cast<size_t>(t.cols()), "?");
    for (const auto& f : t.find({}))
      if (f.home.shared / row == r)
        at[static_cast<size_t>(f.home.shared % row / unit)] =
            f.element.row == r ? std::to_string(f.element.col) : fmt::format("{}:{}", f.element.row, f.element.col);
    out += fmt::format("{:>4} |", r);
    for (const std::string& a : at) out += fmt::format("{:>4}", a);
    out += s.bits ? "\n" : fmt::format("  | {:>2}\n", bank_of(static_cast<uint64_t>(r * row)));
  }
  if (!c.address.empty()) {
    const uint64_t address = std::stoull(c.address, nullptr, 0);
    out += fmt::format("\naddress {:#x} -> {:#x}, bank {}\n", address, s(address), bank_of(s(address)));
  }
  return out;
}

int run_swizzle(const SwizzleCommand& c) {
  Diagnostics diags;
  std::string error;
  const auto s = layout::parse_swizzle(c.pattern, c.element_bytes, error);
  if (!s) return diags.error("swizzle", {}, error), finish(diags);
  const int unit = 1 << s->base;
  if (c.row % unit != 0) return usage_error(fmt::format("--row-bytes {}, expected a multiple of the {} B that {} moves", c.row, unit, c.pattern));
  if (!c.address.empty() && c.address.find_first_not_of("0123456789abcdefABCDEFx") != std::string::npos)
    return usage_error("--address takes a byte address");
  const layout::Table t = swizzle_table(c, *s);
  write_file(c.output,
             c.format == "ascii" && c.by == "matrix" ? drawn(t, c, *s) : layout::render({t}, *layout::format_named(c.format), c.by != "matrix"),
             diags);
  return finish(diags);
}

}  // namespace

Action add_banks(CLI::App& app) {
  auto c = std::make_shared<BanksCommand>();
  app.add_option("--access", c->access, "ld.shared.b128, st.shared.v4.f32, ldmatrix.x4[.trans], stmatrix.x2, ... (default ld.shared.b32)");
  app.add_option("--stride-bytes", c->stride, "loads and stores: lane l accesses l * STRIDE (default: its own bytes)")->check(CLI::Range(0, 1 << 20));
  app.add_option("--row-bytes", c->row,
                 "ldmatrix and stmatrix: lane l gives row l % 16, piece l / 16 of 16 bytes; loads and stores: see --lanes-per-row")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--lanes-per-row", c->lanes_per_row, "loads and stores with --row-bytes: neighbours in one row (default 1)")
      ->check(CLI::Range(1, 32));
  app.add_option("--addresses", c->addresses, "a file with 32 byte offsets, one a line");
  app.add_option("--offset-bytes", c->offset, "of the first byte")->check(CLI::Range(0, 1 << 20));
  app.add_option("--swizzle", c->swizzle, "none, 32B, 64B, 128B, or CuTe's B,M,S on elements");
  app.add_option("--element-bytes", c->element_bytes, "unit of B,M,S (default: the access's type; ldmatrix 2)")
      ->check(CLI::IsMember({1, 2, 4, 8, 16}));
  app.add_option("--arch", c->arch, "banks of this machine (default 32 of 4 bytes)");
  app.add_option("--format", c->format)->check(CLI::IsMember({"ascii", "json"}));
  app.add_option("-o,--output", c->output, "a file instead of the terminal");
  return [c](const Invocation&) { return run_banks(*c); };
}

Action add_swizzle(CLI::App& app) {
  auto c = std::make_shared<SwizzleCommand>();
  app.add_option("PATTERN", c->pattern, "32B, 64B, 128B, 128B_atom_32B, 128B_atom_64B, or CuTe's B,M,S on elements")->required();
  app.add_option("--element-bytes", c->element_bytes, "unit of B,M,S (default 2)")->check(CLI::IsMember({1, 2, 4, 8, 16}));
  app.add_option("--row-bytes", c->row, "of the drawing (default 128)")->check(CLI::Range(1, 1 << 16));
  app.add_option("--rows", c->rows, "of the drawing (default: one repetition)")->check(CLI::Range(1, 256));
  app.add_option("--address", c->address, "where this byte address goes");
  app.add_option("--by", c->by)->check(CLI::IsMember({"matrix", "lane"}));
  app.add_option("--format", c->format)->check(CLI::IsMember({"ascii", "csv", "markdown", "svg", "html", "json"}));
  app.add_option("-o,--output", c->output, "a file instead of the terminal");
  return [c](const Invocation&) { return run_swizzle(*c); };
}

}  // namespace tcsim::tool
