// tcsim tmem: lanes and columns of Tensor Memory that a tcgen05.mma uses, who reaches them, and the budget of columns.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <bit>
#include <memory>
#include <nlohmann/json.hpp>

#include "isa/exec/tensor_memory.h"
#include "isa/layout/tcgen05_layout.h"
#include "tools/tcsim/commands.h"
#include "tools/tcsim/output.h"

namespace tcsim::tool {
namespace {

using Json = nlohmann::ordered_json;

/// What is said, in both forms.
struct Answer {
  std::string text;
  Json json = Json::object();
};

struct TmemCommand {
  int m = 128, n = 256, cta_group = 1, buffers = 1, scale_vec = 0, warp = -1, k_steps = 4;
  std::string kind = "f16", taddr, format = "text";
  bool ws = false, sparse = false, a_in_tmem = false;
};

constexpr uint32_t kLanesPerWarp = isa::TensorMemory::kLanes / 4;

/// Everything that is wrong is bad input: no kernel ran.
int finish(const Diagnostics& diags) {
  print_diagnostics(diags, false);
  return diags.has_errors() ? kBadInput : kSuccess;
}

/// taddr: lane in bits 16-31, column in bits 0-15; a warp reaches the 32 lanes of its number modulo 4.
void address(const TmemCommand& c, Answer& out, Diagnostics& diags) {
  uint32_t bits = 0;
  try {
    size_t end = 0;
    bits = static_cast<uint32_t>(std::stoul(c.taddr, &end, 0));
    if (end != c.taddr.size()) throw std::invalid_argument(c.taddr);
  } catch (const std::exception&) {
    return diags.error("tmem-misuse", {}, fmt::format("--taddr '{}', expected a 32-bit number like 0x00200040", c.taddr));
  }
  const uint32_t lane = bits >> 16, column = bits & 0xffff;
  out.json.update({{"taddr", fmt::format("{:#010x}", bits)}, {"tmem_lane", lane}, {"tmem_column", column}});
  out.text += fmt::format("taddr {:#010x}: lane {} (bits 16-31), column {} (bits 0-15)\n", bits, lane, column);
  if (lane >= isa::TensorMemory::kLanes || column >= isa::TensorMemory::kColumns)
    diags.error("tmem-misuse", {},
                fmt::format("lane {}, column {}: expected lanes below {} and columns below {}", lane, column, isa::TensorMemory::kLanes,
                            isa::TensorMemory::kColumns));
  if (c.warp < 0) return;
  const uint32_t first = static_cast<uint32_t>(c.warp) % 4 * kLanesPerWarp;
  if (lane < first || lane >= first + kLanesPerWarp)
    diags.error(
        "tmem-misuse", {},
        fmt::format("warp {} may touch lanes {} to {} only (32 * (warp % 4)), taddr names lane {}", c.warp, first, first + kLanesPerWarp - 1, lane));
  else out.text += fmt::format("warp {} reaches lanes {} to {}: allowed\n", c.warp, first, first + kLanesPerWarp - 1);
}

isa::MmaForm form_of(const TmemCommand& c) {
  isa::MmaForm form{*isa::mma_kind_named(c.kind), static_cast<uint8_t>(c.cta_group), c.sparse, c.ws, c.a_in_tmem, false, 0};
  if (isa::is_scaled(form.kind))
    form.scale_vec = static_cast<uint8_t>(c.scale_vec                           ? c.scale_vec
                                          : form.kind == isa::MmaKind::mxf8f6f4 ? 1
                                          : form.kind == isa::MmaKind::mxf4     ? 2
                                                                                : 4);
  return form;
}

/// A valid descriptor of the shape: the instruction's own rules judge M and N.
std::string check_shape(const TmemCommand& c, const isa::MmaForm& form) {
  using K = isa::MmaKind;
  using T = isa::Type;
  // The descriptor's fields count in units of 16 and 8 and would hide a remainder.
  if (c.m <= 0 || c.m > 256 || c.m % 16 != 0) return fmt::format("M is {}, expected 32, 64, 128 or 256", c.m);
  if (c.n <= 0 || c.n > 256 || c.n % 8 != 0) return fmt::format("N is {}, expected a multiple of 8 up to 256", c.n);
  isa::InstructionDescriptor d;
  d.sparse = c.sparse, d.m = c.m, d.n = c.n;
  d.a = d.b = form.kind == K::f16              ? T::f16
              : form.kind == K::tf32           ? T::tf32
              : form.kind == K::i8             ? T::s8
              : isa::is_packed_e2m1(form.kind) ? T::e2m1
                                               : T::e4m3;
  d.d = form.kind == K::i8 ? T::s32 : T::f32;
  if (isa::is_scaled(form.kind)) d.scale = form.kind == K::mxf4nvf4 && form.scale_vec == 4 ? T::ue4m3 : T::ue8m0;
  return isa::check_instruction_descriptor(form, isa::encode_instruction_descriptor(form.kind, d));
}

void accumulator(const TmemCommand& c, const isa::Datapath& path, Answer& out) {
  out.text += fmt::format("tcgen05.mma m{}n{} .kind::{}, cta_group::{}{}{}: data path layout {}, {} columns for D\n\n", c.m, c.n, c.kind, c.cta_group,
                          c.ws ? ", .ws" : "", c.sparse ? ", sparse" : "", static_cast<char>('A' + static_cast<int>(path.layout())), path.columns());
  out.text += fmt::format("{:<5} {:<12} {:<14} {:<14} {:<12} {}\n", "CTA", "warps (% 4)", "TMEM lanes", "TMEM columns", "rows of D", "columns of D");
  out.json["layout"] = std::string(1, static_cast<char>('A' + static_cast<int>(path.layout())));
  out.json["columns_of_d"] = path.columns();
  for (const isa::DatapathPart& p : path.parts()) {
    out.json["parts"].push_back({{"cta", p.cta},
                                 {"warp", p.lane / kLanesPerWarp},
                                 {"tmem_lanes", {p.lane, p.lane + p.lanes - 1}},
                                 {"tmem_columns", {0, p.columns - 1}},
                                 {"rows", {p.row, p.row + p.lanes - 1}},
                                 {"columns", {p.column, p.column + p.columns - 1}}});
    out.text += fmt::format("{:<5} {:<12} {:<14} {:<14} {:<12} {}\n", p.cta, p.lane / kLanesPerWarp,
                            fmt::format("{}-{}", p.lane, p.lane + p.lanes - 1), fmt::format("0-{}", p.columns - 1),
                            fmt::format("{}-{}", p.row, p.row + p.lanes - 1), fmt::format("{}-{}", p.column, p.column + p.columns - 1));
  }
  if (isa::is_half_datapath(path.layout())) out.text += fmt::format("Half of each warp's lanes are used; D may start at lane 16 instead.\n");
  out.text += fmt::format("Warp w reaches lanes 32 (w % 4) to 32 (w % 4) + 31 with tcgen05.ld and tcgen05.st, whichever warp issues the product.\n");
}

void budget(const TmemCommand& c, const isa::Datapath& path, const isa::MmaForm& form, Answer& out, Diagnostics& diags) {
  struct Line {
    std::string what;
    int columns;
  };
  std::vector<Line> lines{{fmt::format("D, {} buffer{} of {}", c.buffers, c.buffers == 1 ? "" : "s", path.columns()), c.buffers * path.columns()}};
  if (c.a_in_tmem) lines.push_back({fmt::format("A, {} steps of K of {}", c.k_steps, isa::kTensorAColumns), c.k_steps * isa::kTensorAColumns});
  if (isa::is_scaled(form.kind)) {
    // A word of a column has up to 4 scale factors of a line: steps of K that need fewer share it through the scale factor ID.
    const int per_word = 4 / form.scale_vec, words = (c.k_steps + per_word - 1) / per_word;
    const auto of = [](int count) { return (count + 31) / 32; };
    lines.push_back({fmt::format("scale factors of A, {} steps of K", c.k_steps), words * of(path.rows_per_cta())});
    lines.push_back({fmt::format("scale factors of B, {} steps of K", c.k_steps), words * of(path.parts()[0].columns)});
  }
  if (c.sparse)
    lines.push_back(
        {fmt::format("sparsity metadata, {} steps of K", c.k_steps), isa::is_metadata_split(form.kind) ? (c.k_steps + 1) / 2 : 2 * c.k_steps});
  int total = 0;
  out.text += fmt::format("\nColumns of Tensor Memory ({} x {} cells of 32 bits):\n", isa::TensorMemory::kLanes, isa::TensorMemory::kColumns);
  for (const Line& l : lines) {
    out.text += fmt::format("  {:<40} {:>4}\n", l.what, l.columns);
    out.json["budget"].push_back({{"what", l.what}, {"columns", l.columns}});
    total += l.columns;
  }
  const uint32_t allocated = std::max(isa::TensorMemory::kUnit, std::bit_ceil(static_cast<uint32_t>(total)));
  out.text += fmt::format(
      "  {:<40} {:>4}  -> tcgen05.alloc of {} (a power of 2, at least {}), {}\n", "together", total, allocated, isa::TensorMemory::kUnit,
      allocated <= isa::TensorMemory::kColumns ? fmt::format("{} CTAs of these fit an SM", isa::TensorMemory::kColumns / allocated) : "too many");
  out.json["columns"] = total, out.json["allocated"] = allocated;
  if (allocated > isa::TensorMemory::kColumns)
    diags.error("too-many-resources", {},
                fmt::format("TMEM columns {} > {}: {} buffers of D fit", total, isa::TensorMemory::kColumns,
                            std::max(0, (static_cast<int>(isa::TensorMemory::kColumns) - (total - lines[0].columns)) / path.columns())));
}

void answer(const TmemCommand& c, Answer& out, Diagnostics& diags) {
  if (!c.taddr.empty()) return address(c, out, diags);
  const isa::MmaForm form = form_of(c);
  if (const std::string wrong = check_shape(c, form); !wrong.empty()) return diags.error("bad-descriptor", {}, wrong);
  const isa::Datapath path(*isa::datapath_layout(c.m, c.cta_group, c.sparse, c.ws), c.n, 0);
  accumulator(c, path, out);
  budget(c, path, form, out, diags);
}

int run(const TmemCommand& c) {
  Diagnostics diags;
  Answer out;
  answer(c, out, diags);
  out.json["valid"] = !diags.has_errors();
  out.json["problems"] = Json::array();
  for (const Diagnostic& d : diags.all()) out.json["problems"].push_back({{"kind", d.kind}, {"text", d.text}});
  write_file("-", c.format == "json" ? out.json.dump(2) + "\n" : out.text, diags);
  return finish(diags);
}

}  // namespace

Action add_tmem(CLI::App& app) {
  auto c = std::make_shared<TmemCommand>();
  app.add_option("-m", c->m, "M of the instruction (default 128)");
  app.add_option("-n", c->n, "N (default 256)");
  app.add_option("--kind", c->kind)->check(CLI::IsMember({"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"}));
  app.add_option("--cta-group", c->cta_group)->check(CLI::Range(1, 2));
  app.add_flag("--ws", c->ws, "tcgen05.mma.ws");
  app.add_flag("--sp", c->sparse, "tcgen05.mma.sp");
  app.add_flag("--a-in-tmem", c->a_in_tmem, "A in Tensor Memory");
  app.add_option("--buffers", c->buffers, "accumulators in flight (default 1)")->check(CLI::Range(1, 64));
  app.add_option("--k-steps", c->k_steps, "instructions along K whose scales, metadata and A are kept (default 4)")->check(CLI::Range(1, 64));
  app.add_option("--scale-vec", c->scale_vec)->check(CLI::IsMember({1, 2, 4}));
  app.add_option("--taddr", c->taddr, "explain this address instead");
  app.add_option("--warp", c->warp, "with --taddr: may this warp touch it")->check(CLI::Range(0, 63));
  app.add_option("--format", c->format)->check(CLI::IsMember({"text", "json"}));
  return [c](const Invocation&) { return run(*c); };
}

}  // namespace tcsim::tool
