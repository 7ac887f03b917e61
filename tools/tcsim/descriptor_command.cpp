// tcsim descriptor 0x...: what a matrix descriptor or an instruction descriptor says, and what is wrong with it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "isa/layout/canonical_layout.h"
#include "isa/layout/tcgen05_descriptor.h"
#include "isa/layout/tensor_map.h"
#include "sim/config/machine.h"
#include "tools/layout/descriptor_study.h"
#include "tools/tcsim/commands.h"
#include "tools/tcsim/output.h"

namespace tcsim::tool {
namespace {

using Json = nlohmann::ordered_json;

struct DescriptorCommand {
  std::string bits, idesc, arch, major = "k", type = "f16", kind = "f16", tma_swizzle, format = "text";
  bool wgmma = false, tcgen05 = false, sparse = false, ws = false, a_in_tmem = false;
  int mn = 64, box_rows = 0, advance = -1, cta_group = 1, scale_vec = 0;
};

using layout::DescribedOperand;
constexpr uint32_t kSliceBytes = DescribedOperand::kSliceBytes;

/// Everything that is wrong is bad input: no kernel ran.
int finish(const Diagnostics& diags) {
  print_diagnostics(diags, false);
  return diags.has_errors() ? kBadInput : kSuccess;
}

/// What is said, in both forms.
struct Answer {
  std::string text;
  Json json = Json::object();
};

/// Two elements at one address: whatever writes the operand, the instruction reads one of them twice.
void say_overlap(const DescribedOperand& o, int width, Answer& answer, Diagnostics& diags) {
  const layout::Overlap found = layout::find_overlap(o);
  answer.json["overlap"] = {{"pieces", found.total}, {"shared", found.shared}};
  if (found.shared == 0) return;
  const isa::MatrixDescriptor dense =
      isa::canonical_descriptor({o.major, o.d.swizzle_bytes, o.d.atom_bytes}, o.mn, 8 * static_cast<int>(kSliceBytes) / width, width);
  const bool k = o.major == isa::Major::k;
  const auto place = [&](int i) { return fmt::format("{} {}, byte {}", k ? "row" : "k", found.line[i], found.byte[i]); };
  diags.error("bad-descriptor", {},
              fmt::format("elements overlap: {} and {} both lie at {:#x} ({} of {} pieces of 16 B lie where another does); found leading {} B, "
                          "stride {} B, without overlap or gaps: {}stride {} B",
                          place(0), place(1), found.address, found.shared, found.total, o.d.leading, o.d.stride,
                          k && o.d.swizzle_bytes ? "" : fmt::format("leading {} B, ", dense.leading), dense.stride));
}

/// Would the instruction read its whole operand where TMA wrote it?
void say_mismatch(const DescriptorCommand& c, const DescribedOperand& o, Answer& answer, Diagnostics& diags) {
  auto written = isa::TensorMap::Swizzling::none;
  for (int s = 0; s < 7; ++s)
    if (name(static_cast<isa::TensorMap::Swizzling>(s)) == c.tma_swizzle) written = static_cast<isa::TensorMap::Swizzling>(s);
  const layout::TmaComparison m = layout::compare_with_tma(o, written, static_cast<uint32_t>(c.box_rows));
  const bool k = o.major == isa::Major::k;
  answer.json["tma"] = {{"written", c.tma_swizzle}, {"elements", m.total}, {"different", m.wrong}, {"boxes", m.boxes}, {"box_rows", m.box_rows}};
  const std::string boxes =
      m.boxes == 1 ? "" : fmt::format("{} boxes side by side, each {} rows ({}) of {} B", m.boxes, m.box_rows, k ? "M or N" : "K", m.row_bytes);
  if (m.wrong == 0) {
    answer.text += fmt::format("  TMA with swizzle {} writes what this descriptor reads ({} elements agree{}{})\n", c.tma_swizzle, m.total,
                               boxes.empty() ? "" : "; ", boxes);
    if (m.assumed)
      answer.text += fmt::format("  right for boxes of {} rows only, {} B apart: another height needs another offset (--box-rows checks one)\n",
                                 m.box_rows, m.box_rows * m.row_bytes);
  } else
    diags.error(
        "swizzle-mismatch", {},
        fmt::format("TMA wrote swizzle {}{}, the descriptor reads {}: {} of {} elements are others ({:.1f} %), the first in line {} at byte {}",
                    c.tma_swizzle, boxes.empty() ? "" : fmt::format(" in {}", boxes),
                    o.d.swizzle_bytes ? fmt::format("{}B", o.d.swizzle_bytes) : "none", m.wrong, m.total, 100.0 * m.wrong / m.total, m.line, m.byte));
}

/// How far the next instruction's matrix is along K, and why.
struct Step {
  uint32_t elements = 0, bytes = 0, count = 0;  // count: of steps until the row ends; 0: no end is known
  std::string why;
};
Step step_along_k(const isa::MatrixDescriptor& d, isa::Major major, int width) {
  Step s{8 * kSliceBytes / static_cast<uint32_t>(width), 0, 0, ""};
  const uint32_t lines = d.atom_bytes == 32 ? 4 : 8, groups = s.elements / lines;
  if (major == isa::Major::mn) {
    // Without swizzle the two offsets change places (CUTLASS, make_gmma_desc).
    s.bytes = groups * (d.swizzle_bytes ? d.stride : d.leading);
    s.why = fmt::format("{} groups of {} k, each {} further", groups, lines, d.swizzle_bytes ? "SBO" : "LBO");
  } else if (d.swizzle_bytes == 0) s.bytes = 2 * d.leading, s.why = "two core matrices, each LBO further";
  else
    s.bytes = kSliceBytes, s.count = (d.swizzle_bytes - d.start % d.swizzle_bytes) / kSliceBytes,
    s.why = fmt::format("inside rows of {} B", d.swizzle_bytes);
  return s;
}
void say_steps(const isa::MatrixDescriptor& d, isa::Major major, int width, uint64_t bits, Answer& answer) {
  const Step s = step_along_k(d, major, width);
  answer.text += fmt::format("  a step of K of {} elements is {} B ({}): adds {} to the start field (bytes / 16{})\n", s.elements, s.bytes, s.why,
                             s.bytes / 16, major == isa::Major::k && d.swizzle_bytes ? fmt::format(" = elements / {}", 128 / width) : "");
  std::vector<std::string> steps;
  for (uint32_t i = 0; i < std::clamp(s.count, 1u, 4u) + (s.count ? 0 : 1); ++i)
    steps.push_back(fmt::format("{:#018x}", isa::advance_wgmma_descriptor(bits, i * s.bytes)));
  answer.text += fmt::format("  K steps: {}{}\n", fmt::join(steps, ", "),
                             s.count ? ", then the row of the pattern ends: the next tile of K has its own start" : ", ...");
  answer.json["k_step"] = {{"elements", s.elements}, {"bytes", s.bytes}, {"start_field", s.bytes / 16}, {"descriptors", steps}};
}

void matrix(const DescriptorCommand& c, uint64_t bits, bool tcgen05, Answer& answer, Diagnostics& diags) {
  const isa::Major major = c.major == "mn" ? isa::Major::mn : isa::Major::k;
  const auto type = isa::type_from_name(c.type);
  const int width = type ? isa::bits(*type) : 0;
  if (width < 4 || width > 32) return diags.error("bad-descriptor", {}, fmt::format("type '{}', expected f16, bf16, tf32, e4m3, s8, ...", c.type));
  const isa::MatrixDescriptor d = tcgen05 ? isa::decode_tcgen05_descriptor(bits) : isa::decode_wgmma_descriptor(bits);
  answer.text += fmt::format("{:#018x} as a {} descriptor, {}-major, elements of {}\n  {}\n", bits, tcgen05 ? "tcgen05" : "wgmma",
                             c.major == "mn" ? "MN" : "K", c.type, isa::describe(d, major));
  answer.text += fmt::format("  fields: start {:#x}, leading {:#x}, stride {:#x} (units of 16 B)\n", d.start >> 4, d.leading >> 4, d.stride >> 4);
  const std::string swizzle = isa::swizzle_name({major, d.swizzle_bytes, d.atom_bytes});
  answer.json.update({{"descriptor", fmt::format("{:#018x}", bits)},
                      {"format", tcgen05 ? "tcgen05" : "wgmma"},
                      {"major", c.major},
                      {"type", c.type},
                      {"start", d.start},
                      {"leading_bytes", d.leading},
                      {"stride_bytes", d.stride},
                      {"swizzle", swizzle},
                      {"base_offset", d.base_offset}});
  const isa::DescriptorProblem problem =
      tcgen05 ? isa::check_tcgen05_descriptor(bits, major, kSliceBytes) : isa::check_descriptor(d, major, kSliceBytes);
  const bool mode_known = !problem.kind || std::string_view(problem.kind) == "misaligned";
  if (mode_known) {
    answer.json["layout"] = isa::cute_layout({major, d.swizzle_bytes, d.atom_bytes}, width);
    answer.text += fmt::format("  layout: {}\n", isa::cute_layout({major, d.swizzle_bytes, d.atom_bytes}, width));
    say_steps(d, major, width, bits, answer);
  }
  if (c.advance >= 0) {
    if (c.advance % 16) return diags.error("bad-descriptor", {}, fmt::format("--advance {} B, expected a multiple of 16", c.advance));
    const uint64_t next = isa::advance_wgmma_descriptor(bits, static_cast<uint32_t>(c.advance));  // the start field is the same in both formats
    answer.text += fmt::format("  {} B further on: {:#018x} (start field + {})\n", c.advance, next, c.advance / 16);
    answer.json["advanced"] = {{"bytes", c.advance}, {"descriptor", fmt::format("{:#018x}", next)}, {"start_field", c.advance / 16}};
    const auto after = tcgen05 ? isa::check_tcgen05_descriptor(next, major, kSliceBytes)
                               : isa::check_descriptor(isa::decode_wgmma_descriptor(next), major, kSliceBytes);
    if (after.kind) diags.error(after.kind, {}, fmt::format("{} B further on: {}", c.advance, after.text));
  }
  if (problem.kind) diags.error(problem.kind, {}, problem.text);
  const auto matrix_bytes = static_cast<uint32_t>(c.mn) * std::max<uint32_t>(kSliceBytes, d.swizzle_bytes);
  const DescribedOperand operand{d, major, c.mn, std::max(1, width / 8)};
  if (mode_known) say_overlap(operand, width, answer, diags);
  // PTX ISA, "wgmma.mma_async": imm-trans-a and imm-trans-b exist for .f16 and .bf16 only.
  if (!tcgen05 && major == isa::Major::mn && width != 16)
    diags.error("bad-descriptor", {}, fmt::format("wgmma reads MN-major matrices of 16-bit elements only, {} must be K-major", c.type));
  // The fields that can be too large are the same in both formats.
  if (!tcgen05 || mode_known)
    for (const std::string& note : isa::wgmma_descriptor_notes(tcgen05 ? isa::encode_wgmma_descriptor(d) : bits, major, matrix_bytes))
      diags.warning("bad-descriptor", {}, note);
  if (mode_known && !c.tma_swizzle.empty()) say_mismatch(c, operand, answer, diags);
  if (!diags.has_errors()) answer.text += diags.all().empty() ? "  valid\n" : "  no rule is broken, but see the warnings\n";
}

void instruction(const DescriptorCommand& c, Answer& answer, Diagnostics& diags) {
  std::string error;
  const auto bits = layout::parse_descriptor(c.idesc, 32, error);
  const auto kind = isa::mma_kind_named(c.kind);
  if (!bits) return diags.error("bad-descriptor", {}, "--idesc " + error);
  isa::MmaForm form{*kind, static_cast<uint8_t>(c.cta_group), c.sparse, c.ws, c.a_in_tmem, false, 0};
  if (isa::is_scaled(*kind))
    form.scale_vec = static_cast<uint8_t>(c.scale_vec ? c.scale_vec : *kind == isa::MmaKind::mxf8f6f4 ? 1 : *kind == isa::MmaKind::mxf4 ? 2 : 4);
  const auto word = static_cast<uint32_t>(*bits);
  const isa::InstructionDescriptor d = isa::decode_instruction_descriptor(*kind, word);
  answer.text += fmt::format("{:#010x} as an instruction descriptor of tcgen05.mma .kind::{}\n  {}\n", word, c.kind, isa::describe(*kind, d));
  answer.json["instruction"] = {
      {"descriptor", fmt::format("{:#010x}", word)}, {"kind", c.kind}, {"m", d.m}, {"n", d.n}, {"text", isa::describe(*kind, d)}};
  const std::string wrong = isa::check_instruction_descriptor(form, word);
  if (wrong.empty()) answer.text += fmt::format("  valid with cta_group::{}{}{}\n", c.cta_group, c.sparse ? ", sparse" : "", c.ws ? ", .ws" : "");
  else diags.error("bad-descriptor", {}, wrong);
}

int run(const DescriptorCommand& c) {
  Diagnostics diags;
  Answer answer;
  if (c.bits.empty() && c.idesc.empty()) return usage_error("descriptor needs a 64-bit matrix descriptor or --idesc");
  if (c.wgmma && c.tcgen05) return usage_error("--wgmma and --tcgen05 exclude each other");
  if (c.box_rows && (c.tma_swizzle.empty() || c.bits.empty())) return usage_error("--box-rows needs a matrix descriptor and --tma-swizzle");
  bool tcgen05 = c.tcgen05;
  if (!c.arch.empty()) {
    const auto machine = cfg::load_machine(c.arch, {}, diags);
    if (!machine) return finish(diags);
    if (machine->chip.sm < 90 || machine->chip.sm >= 120)
      return diags.error("target-version", {}, fmt::format("{} (sm_{}) has no matrix descriptors, expected h200 or b200", c.arch, machine->chip.sm)),
             finish(diags);
    tcgen05 = machine->chip.sm >= 100;
  }
  if (!c.bits.empty()) {
    std::string error;
    const auto bits = layout::parse_descriptor(c.bits, 64, error);
    if (!bits) return diags.error("bad-descriptor", {}, error), finish(diags);
    // Bits 46-48 are the constant 1 in tcgen05's format and unused in wgmma's.
    if (c.arch.empty() && !c.wgmma && !c.tcgen05) tcgen05 = (*bits >> 46 & 7) == 1;
    matrix(c, *bits, tcgen05, answer, diags);
  }
  if (!c.idesc.empty()) instruction(c, answer, diags);
  answer.json["valid"] = !diags.has_errors();
  answer.json["problems"] = Json::array();
  for (const Diagnostic& d : diags.all())
    answer.json["problems"].push_back({{"severity", d.severity == Severity::error ? "error" : "warning"}, {"kind", d.kind}, {"text", d.text}});
  write_file("-", c.format == "json" ? answer.json.dump(2) + "\n" : answer.text, diags);
  return finish(diags);
}

}  // namespace

Action add_descriptor(CLI::App& app) {
  auto c = std::make_shared<DescriptorCommand>();
  app.add_option("DESCRIPTOR", c->bits, "64 bits of a matrix descriptor: 0x...");
  app.add_option("--arch", c->arch, "h200: wgmma's format, b200: tcgen05's (default: bits 46-48 tell)");
  app.add_flag("--wgmma", c->wgmma, "wgmma's format");
  app.add_flag("--tcgen05", c->tcgen05, "tcgen05's format");
  app.add_option("--major", c->major, "k: rows along K; mn: transposed")->check(CLI::IsMember({"k", "mn"}));
  app.add_option("--type", c->type, "of the elements (default f16)");
  app.add_option("--mn", c->mn, "rows of the matrix: M or N (default 64)")->check(CLI::Range(8, 256));
  app.add_option("--advance", c->advance, "also the descriptor this many bytes further on")->check(CLI::Range(0, 1 << 18));
  app.add_option("--box-rows", c->box_rows, "with --tma-swizzle: rows of TMA's box, K of the tile in MN-major (default: as the descriptor says)")
      ->check(CLI::Range(1, 256));
  app.add_option("--tma-swizzle", c->tma_swizzle, "compare with the boxes that TMA wrote with this swizzle")
      ->check(CLI::IsMember({"none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"}));
  app.add_option("--idesc", c->idesc, "32 bits of an instruction descriptor of tcgen05.mma");
  app.add_option("--kind", c->kind, "of --idesc (default f16)")
      ->check(CLI::IsMember({"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"}));
  app.add_option("--cta-group", c->cta_group, "of --idesc")->check(CLI::Range(1, 2));
  app.add_option("--scale-vec", c->scale_vec, "of --idesc")->check(CLI::IsMember({1, 2, 4}));
  app.add_option("--format", c->format)->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--sp", c->sparse, "--idesc of tcgen05.mma.sp");
  app.add_flag("--ws", c->ws, "--idesc of tcgen05.mma.ws");
  app.add_flag("--a-in-tmem", c->a_in_tmem, "--idesc with A in Tensor Memory");
  return [c](const Invocation&) { return run(*c); };
}

}  // namespace tcsim::tool
