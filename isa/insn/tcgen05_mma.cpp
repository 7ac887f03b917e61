// tcgen05.mma (PTX ISA, "TensorCore 5th Generation Matrix Multiply and accumulate Operations"): which forms exist, and the checks
// when one is issued. What it computes is in isa/matrix/tcgen05_plan.h.
#include <fmt/format.h>

#include <deque>
#include <map>
#include <mutex>

#include "isa/insn/access.h"
#include "isa/insn/operands.h"
#include "isa/insn/shared_operand.h"
#include "isa/insn/tcgen05.h"
#include "isa/matrix/tcgen05_plan.h"

namespace tcsim::isa {
namespace {

/// Operand positions; -1: absent.
struct Positions {
  static constexpr int kD = 0, kA = 1, kB = 2;
  int metadata = -1, idesc = 3, mask = -1, scale_a = -1, scale_b = -1, enable = 4, last = -1;  // last: scale-input-d or zero-column mask
};

/// Inst::plan: the form, and where the operands are.
struct Tcgen05MmaInst : Tcgen05Ops {
  MmaForm form;
  Positions at;
  std::string key;  // "f16", "mxf4.sp", "tf32.ws"
};

const Tcgen05MmaInst& plan_of(const Inst& inst) { return *static_cast<const Tcgen05MmaInst*>(static_cast<const Tcgen05Ops*>(inst.plan)); }

// ---- the functions of an operation ----

Tcgen05Operands operands_of(const Tcgen05Op& op, const Tcgen05Memories& m) {
  Tcgen05Operands o{.desc_a = op.desc_a,
                    .desc_b = op.desc_b,
                    .d = op.d,
                    .a = op.a,
                    .scale_a = op.scale_a,
                    .scale_b = op.scale_b,
                    .metadata = op.metadata,
                    .accumulate = op.accumulate,
                    .scale_input_d = op.scale_input_d,
                    .disable_output_lane = op.disable_output_lane,
                    .zero_column_mask = op.zero_column_mask};
  for (size_t cta = 0; cta < op.cta_group; ++cta) {
    o.tensor[cta] = m.tensor[cta]->column(0);
    o.shared[cta] = m.shared[cta]->data();
  }
  return o;
}

Tcgen05Plan plan_of(const Tcgen05Op& op) { return {plan_of(*op.inst).form, op.idesc}; }

void complete(const Tcgen05Op& op, const Tcgen05Memories& memories) { plan_of(op).run(operands_of(op, memories)); }

SharedOperand shared_a(const Tcgen05Plan& plan, uint64_t desc) {
  const auto rows = static_cast<uint32_t>(plan.datapath(0).rows_per_cta());
  return {desc, decode_tcgen05_descriptor(desc), plan.a_slice(), plan.a_line_bytes(), rows * plan.a_line_bytes(), 'A'};
}
SharedOperand shared_b(const Tcgen05Plan& plan, uint64_t desc, uint64_t zero_columns) {
  const auto columns = static_cast<uint32_t>(plan.idesc().n / plan.ctas());
  const int shift = plan.form().weight_stationary ? column_shift(zero_columns) : 0;
  return {desc, decode_tcgen05_descriptor(desc), plan.b_slice(shift), plan.b_line_bytes(), columns * plan.b_line_bytes(), 'B'};
}

TensorRange range(uint8_t cta, uint32_t lane, uint32_t lanes, uint32_t address, uint32_t columns) {
  return {cta, static_cast<uint16_t>(lane), static_cast<uint16_t>(lanes), static_cast<uint16_t>(TensorAddress::of(address).column),
          static_cast<uint16_t>(columns)};
}

/// One rectangle of `columns` columns for the lanes of all parts of a CTA, or one a part where lanes are left out between them.
template <class F>
void each_rectangle(const Datapath& path, bool half, F&& f) {
  for (uint8_t cta = 0; cta < path.ctas(); ++cta) {
    if (!half) {
      f(cta, 0u, Tcgen05Plan::kLanes);
      continue;
    }
    for (const DatapathPart& p : path.parts())
      if (p.cta == cta) f(cta, uint32_t{p.lane}, uint32_t{p.lanes});
  }
}

void touches(const Tcgen05Op& op, Tcgen05Touches& out) {
  const Tcgen05Plan plan = plan_of(op);
  const Datapath path = plan.datapath(op.d);
  const MmaForm& form = plan.form();
  using T = Tcgen05Touches;
  each_rectangle(path, plan.half_datapath(), [&](uint8_t cta, uint32_t lane, uint32_t lanes) {
    out.writes.push_back(range(cta, lane, lanes, op.d, static_cast<uint32_t>(path.columns())));
    if (form.a_in_tensor_memory) out.reads.push_back({range(cta, lane, lanes, op.a, kTensorAColumns), T::a});
    if (form.sparse) {
      const uint32_t selected = is_metadata_split(form.kind) ? plan.idesc().selector : 0;
      out.reads.push_back({range(cta, lane, lanes, op.metadata + selected, static_cast<uint32_t>(metadata_columns(form.kind))), T::metadata});
    }
  });
  if (is_scaled(form.kind))
    for (uint8_t cta = 0; cta < path.ctas(); ++cta) {
      const auto scales = [&](uint32_t address, int lines, T::Role role) {
        if (lines >= 32) return out.reads.push_back({range(cta, 0, Tcgen05Plan::kLanes, address, static_cast<uint32_t>(lines + 31) / 32), role});
        for (uint32_t quarter = 0; quarter < Datapath::kParts; ++quarter)
          out.reads.push_back({range(cta, 32 * quarter, static_cast<uint32_t>(lines), address, 1), role});
      };
      scales(op.scale_a, path.rows_per_cta(), T::scale_a);
      scales(op.scale_b, path.columns(), T::scale_b);
    }
  for (int cta = 0; cta < plan.ctas(); ++cta) {
    auto& runs = out.shared[static_cast<size_t>(cta)];
    if (!form.a_in_tensor_memory) add_reads(shared_a(plan, op.desc_a), 0, runs);
    add_reads(shared_b(plan, op.desc_b, op.zero_column_mask), 1, runs);
  }
}

Tcgen05Work work(const Tcgen05Op& op) {
  const Tcgen05Plan plan = plan_of(op);
  const MmaForm& form = plan.form();
  Tcgen05Work w;
  w.m = static_cast<uint32_t>(plan.idesc().m);
  w.n = static_cast<uint32_t>(plan.idesc().n);
  w.k = static_cast<uint32_t>(plan.k());
  w.k = static_cast<uint32_t>(plan.k());
  w.k_bytes = static_cast<uint32_t>(plan.stored_k() * tensor_a_bits(form.kind) / 8);
  w.a_in_tensor_memory = form.a_in_tensor_memory;
  w.weight_stationary = form.weight_stationary;
  w.sparse = form.sparse;
  w.scaled = is_scaled(form.kind);
  for (size_t cta = 0; cta < static_cast<size_t>(plan.ctas()); ++cta) {
    if (!form.a_in_tensor_memory) w.a_bytes[cta] = shared_a(plan, op.desc_a).matrix_bytes;
    w.b_bytes[cta] = shared_b(plan, op.desc_b, op.zero_column_mask).matrix_bytes;
  }
  w.kind = name(form.kind);
  w.arithmetic_note = plan.arithmetic_note();
  return w;
}

// ---- issue ----

/// What the operands of one lane are, and whether an instruction may have them. Faults name what is wrong.
class Issue {
 public:
  Issue(ExecContext& ctx, const Inst& inst, int lane) : ctx_(ctx), inst_(inst), plan_(plan_of(inst)), lane_(lane) {}

  bool fill(Tcgen05Op& op) {
    const Positions& at = plan_.at;
    const MmaForm& form = plan_.form;
    op.kind = Tcgen05Op::Kind::mma;
    op.cta_group = form.cta_group;
    op.d = address(Positions::kD);
    if (form.a_in_tensor_memory) op.a = address(Positions::kA);
    else op.desc_a = value<uint64_t>(Positions::kA);
    op.desc_b = value<uint64_t>(Positions::kB);
    op.idesc = value<uint32_t>(at.idesc);
    if (at.metadata >= 0) op.metadata = address(at.metadata);
    if (at.scale_a >= 0) {
      // CUTLASS leaves the byte of the scale factors, which the instruction descriptor also has, in the two highest bits.
      op.scale_a = address(at.scale_a) & kScaleAddressMask;
      op.scale_b = address(at.scale_b) & kScaleAddressMask;
    }
    op.accumulate = ctx_.pred(inst_.operand(at.enable)) >> lane_ & 1;
    size_t word = 0;
    if (at.mask >= 0)
      for (const Operand& o : inst_.group(at.mask)) op.disable_output_lane[word++] = ctx_.src<uint32_t>(o)[lane_];
    if (at.last >= 0 && form.weight_stationary) op.zero_column_mask = value<uint64_t>(at.last);
    else if (at.last >= 0) op.scale_input_d = static_cast<uint8_t>(inst_.operand(at.last).value);
    return check(op);
  }

 private:
  static constexpr uint32_t kScaleAddressMask = 0x3fffffff;
  template <class T>
  T value(int group) {
    return ctx_.src<T>(inst_.operand(group))[lane_];
  }
  uint32_t address(int group) { return tensor_address(ctx_, inst_.operand(group), lane_); }
  bool fault(const char* kind, uint64_t address, std::string text) {
    ctx_.fault(kind, lane_, address, std::move(text));
    return false;
  }

  bool check(const Tcgen05Op& op) {
    if (std::string why = check_instruction_descriptor(plan_.form, op.idesc); !why.empty())
      return fault("bad-descriptor", op.idesc,
                   fmt::format("instruction descriptor {:#010x} of tcgen05.mma kind::{}: {}", op.idesc, name(plan_.form.kind), why));
    const Tcgen05Plan plan(plan_.form, op.idesc);
    return check_lanes(plan, op) && (plan_.form.a_in_tensor_memory || check_shared(shared_a(plan, op.desc_a), plan)) && check_shift(plan, op) &&
           check_shared(shared_b(plan, op.desc_b, op.zero_column_mask), plan);
  }

  /// PTX ISA, "Data Path Layout Organization": lane alignment; "Alignment restriction": the same for D, A and the metadata.
  bool check_lanes(const Tcgen05Plan& plan, const Tcgen05Op& op) {
    const uint32_t lane = TensorAddress::of(op.d).lane;
    if (lane != 0 && !(plan.half_datapath() && lane == 16))
      return fault("tmem-misuse", op.d,
                   fmt::format("D of tcgen05.mma with M = {} begins at lane {} of Tensor Memory (address {:#x}), expected lane 0{}", plan.idesc().m,
                               lane, op.d, plan.half_datapath() ? " or 16" : ""));
    const auto same = [&](uint32_t address, const char* what) {
      if (TensorAddress::of(address).lane == lane) return true;
      return fault("tmem-misuse", address,
                   fmt::format("{} of tcgen05.mma begins at lane {} of Tensor Memory (address {:#x}), expected lane {} as D", what,
                               TensorAddress::of(address).lane, address, lane));
    };
    const MmaForm& form = plan.form();
    return (!form.a_in_tensor_memory || same(op.a, "A")) && (!form.sparse || same(op.metadata, "sparsity metadata"));
  }

  bool check_shift(const Tcgen05Plan& plan, const Tcgen05Op& op) {
    if (!plan.form().weight_stationary) return true;
    const int shift = column_shift(op.zero_column_mask), limit = plan.idesc().m == 32 ? 16 : 32;
    if (shift <= limit) return true;
    return fault("bad-descriptor", op.zero_column_mask,
                 fmt::format("zero-column mask descriptor {:#x} of tcgen05.mma.ws: column shift (bits 56-61) is {}, expected at most {} for M = {}",
                             op.zero_column_mask, shift, limit, plan.idesc().m));
  }

  bool check_shared(const SharedOperand& o, const Tcgen05Plan& plan) {
    DescriptorProblem p = check_tcgen05_descriptor(o.bits, o.slice.major, o.slice_bytes);
    const bool tf32 = plan.form().kind == MmaKind::tf32, wide = o.descriptor.atom_bytes == 32;
    if (p.kind == nullptr && o.slice.major == Major::mn && tf32 != wide)
      p = {"bad-descriptor", tf32 ? "a transposed matrix of tf32 has swizzle mode 1 (128 bytes in units of 32) only"
                                  : fmt::format("swizzle mode 1 (128 bytes in units of 32) is for transposed matrices of tf32, not of kind::{}",
                                                name(plan.form().kind))};
    if (p.kind)
      return fault(p.kind, o.descriptor.start, fmt::format("matrix descriptor {:#018x} of operand {} of tcgen05.mma: {}", o.bits, o.name, p.text));
    uint32_t lowest = 0;
    std::string outside = outside_shared(o, "tcgen05.mma", ctx_.shared->size(), lowest);
    return outside.empty() || fault("out-of-bounds", lowest, std::move(outside));
  }

  ExecContext& ctx_;
  const Inst& inst_;
  const Tcgen05MmaInst& plan_;
  int lane_;
};

void run_mma(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  each_lane(mask, [&](int l) {
    if (ctx.fx.control != Control::next) return;
    Tcgen05Op op;
    if (Issue(ctx, inst, l).fill(op)) issue_tcgen05(ctx, inst, std::move(op), l);
  });
}

// ---- bind ----

/// Scale factors a row that the modifiers ask for, or why they do not go with the kind (PTX ISA, "Valid combinations of
/// scale_vectorsize with types and MMA-Kind").
std::string scale_vector(const Decoded& d, MmaKind kind, uint8_t& size) {
  const std::string_view word = d.value("scale_vectorsize");
  const bool mx8 = kind == MmaKind::mxf8f6f4, nv = kind == MmaKind::mxf4nvf4;
  if (word.empty()) {
    if (nv) return "kind::mxf4nvf4 needs .scale_vec::2X, .scale_vec::4X, .block32 or .block16";
    size = mx8 ? 1 : 2;
    return {};
  }
  size = word == "scale_vec::1X" ? 1 : word == "scale_vec::2X" ? 2 : word == "block32" ? (mx8 ? 1 : 2) : 4;
  if (mx8 ? size == 1 : size == 2 || (nv && size == 4)) return {};
  return fmt::format(".{} does not go with kind::{}, expected {}", word, name(kind),
                     mx8  ? ".scale_vec::1X or .block32"
                     : nv ? ".scale_vec::2X, .scale_vec::4X, .block32 or .block16"
                          : ".scale_vec::2X or .block32");
}

/// What the family targets (sm_100f) do not have (PTX ISA, "tcgen05.mma": Target ISA Notes).
std::string needs_arch_specific(const Decoded& d, const MmaForm& form) {
  if (!d.module || d.module->target.back() == 'a') return {};
  const auto lacks = [&](std::string_view what) { return fmt::format("target {} does not have {}, expected sm_100a", d.module->target, what); };
  if (form.kind == MmaKind::i8) return lacks("kind::i8");
  if (form.sparse && is_packed_e2m1(form.kind)) return lacks(fmt::format("sparse kind::{}", name(form.kind)));
  const std::string_view vector = d.value("scale_vectorsize");
  return vector.substr(0, 9) == "scale_vec" ? lacks(fmt::format(".{}", vector)) : std::string{};
}

std::string bind_form(const Inst& inst, const Decoded& d, MmaForm& form) {
  if (auto e = needs_tcgen05(d); !e.empty()) return e;
  form.kind = *mma_kind_named(d.value("kind").substr(6));  // after "kind::"
  form.cta_group = cta_group_of(d);
  form.sparse = d.has("sp");
  form.weight_stationary = d.has("ws");
  form.shift = d.has("ashift");
  form.a_in_tensor_memory = inst.operand(Positions::kA).kind == Operand::Kind::address;
  const std::string_view use = d.value("collector_usage");
  if (form.shift && (use == "collector::a::fill" || use == "collector::a::use"))
    return fmt::format(".{} does not go with .ashift, expected .collector::a::lastuse or .collector::a::discard", use);
  if (auto e = needs_arch_specific(d, form); !e.empty()) return e;
  return is_scaled(form.kind) ? scale_vector(d, form.kind, form.scale_vec) : std::string{};
}

std::string expect_tensor(const Inst& inst, int group) {
  if (auto e = expect_address(inst, group); !e.empty()) return e;
  const Operand& op = inst.operand(group);
  if (op.slot >= 0 && op.bit_width <= 32) return {};
  return fmt::format("operand {} is not a Tensor Memory address, expected a 32-bit register in brackets", group + 1);
}

/// disable-output-lane and scale-input-d, which plain kinds may have.
std::string bind_plain_tail(const Inst& inst, const Decoded& d, const MmaForm& form, Positions& at) {
  int next = at.idesc + 1;
  if (next < inst.group_count && inst.group(next).size() > 1) {
    at.mask = next++;
    const size_t words = form.cta_group == 2 ? 8 : 4;
    if (inst.group(at.mask).size() != words)
      return fmt::format("operand {} (disable-output-lane) has {} registers, expected {} with cta_group::{}", at.mask + 1, inst.group(at.mask).size(),
                         words, form.cta_group);
    if (auto e = expect_group(inst, at.mask, d, 32, false, false); !e.empty()) return e;
  }
  at.enable = next++;
  if (next == inst.group_count) return {};
  at.last = next;
  // ptxas 13.0 takes it with kind::i8 too, where the manual gives it no meaning.
  if (form.kind != MmaKind::f16 && form.kind != MmaKind::tf32)
    return fmt::format("operand {} (scale-input-d) does not go with kind::{}, expected kind::f16 or kind::tf32", next + 1, name(form.kind));
  const Operand& scale = inst.operand(next);
  if (scale.kind == Operand::Kind::constant && scale.value >= 0 && scale.value <= 15) return {};
  return fmt::format("operand {} (scale-input-d) is {}, expected a constant from 0 to 15", next + 1,
                     scale.kind == Operand::Kind::constant ? std::to_string(scale.value) : "not a constant");
}

std::string bind_operands(const Inst& inst, const Decoded& d, const MmaForm& form, Positions& at) {
  at.metadata = form.sparse ? 3 : -1;
  at.idesc = form.sparse ? 4 : 3;
  for (const int group : {Positions::kD, form.a_in_tensor_memory ? Positions::kA : -1, at.metadata})
    if (group >= 0)
      if (auto e = expect_tensor(inst, group); !e.empty()) return e;
  if (!form.a_in_tensor_memory)
    if (auto e = expect_group(inst, Positions::kA, d, 64, false, false); !e.empty()) return e;
  if (auto e = expect_group(inst, Positions::kB, d, 64, false, false); !e.empty()) return e;
  if (auto e = expect_group(inst, at.idesc, d, 32, false, false); !e.empty()) return e;
  if (is_scaled(form.kind)) {
    at.scale_a = at.idesc + 1, at.scale_b = at.idesc + 2, at.enable = at.idesc + 3;
    for (const int group : {at.scale_a, at.scale_b})
      if (auto e = expect_tensor(inst, group); !e.empty()) return e;
  } else if (form.weight_stationary) {
    at.enable = at.idesc + 1;
    if (at.enable + 1 < inst.group_count) {
      at.last = at.enable + 1;
      if (auto e = expect_group(inst, at.last, d, 64, false, false); !e.empty()) return e;
    }
  } else if (auto e = bind_plain_tail(inst, d, form, at); !e.empty()) {
    return e;
  }
  return expect_pred(inst, at.enable);
}

std::string bind_mma(Inst& inst, const Decoded& d) {
  auto plan = std::make_shared<Tcgen05MmaInst>();
  static_cast<Tcgen05Ops&>(*plan) = {&complete, &touches, &work};
  if (auto e = bind_form(inst, d, plan->form); !e.empty()) return e;
  if (auto e = bind_operands(inst, d, plan->form, plan->at); !e.empty()) return e;
  plan->key = fmt::format("{}{}{}", name(plan->form.kind), plan->form.sparse ? ".sp" : "", plan->form.weight_stationary ? ".ws" : "");
  inst.op = Op::tcgen05_mma;
  inst.space = Space::shared;
  inst.timing = TimingClass::tcgen05_mma;
  inst.exec = &run_mma;
  inst.plan = static_cast<const Tcgen05Ops*>(plan.get());
  inst.timing_key = plan->key.c_str();
  if (d.module) {
    d.module->plans.push_back(std::move(plan));
    return {};
  }
  // Without a module (the table's own tests) the plan lives as long as the program.
  static std::mutex mutex;
  static std::deque<std::shared_ptr<const Tcgen05MmaInst>> kept;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(plan));
  return {};
}

// ---- forms ----

constexpr std::string_view kGroups = "  .cta_group = { .cta_group::1, .cta_group::2 };";
constexpr std::string_view kCollectorA =
    "  .collector_usage = { .collector::a::fill, .collector::a::use, .collector::a::lastuse, .collector::a::discard };";

std::string collectors_b() {
  std::string list;
  for (int buffer = 0; buffer < 4; ++buffer)
    for (const std::string_view op : {"fill", "use", "lastuse", "discard"})
      list += fmt::format("{} .collector::b{}::{}", list.empty() ? "" : ",", buffer, op);
  return fmt::format("  .cta_group = {{ .cta_group::1 }};  .collector_usage = {{{} }};", list);
}

std::string_view meta(bool sparse) { return sparse ? ", [sp-meta-tmem]" : ""; }

/// Kinds without block scaling. scale: the operand that f16 and tf32 may have.
std::string plain_syntax(std::string_view kinds, bool sparse, std::string_view scale) {
  std::string text;
  for (const std::string_view mask : {"", ", disable-output-lane"})
    for (const bool tensor : {false, true})
      text += fmt::format("tcgen05.mma{}.cta_group.kind{}{{.collector_usage}} [d-tmem], {}, b-desc{}, idesc{}, {{!}}enable-input-d{};\n",
                          sparse ? ".sp" : "", tensor ? "{.ashift}" : "", tensor ? "[a-tmem]" : "a-desc", meta(sparse), mask, scale);
  return fmt::format("{}  .kind = {{ {} }};{}{}", text, kinds, kGroups, kCollectorA);
}

std::string scaled_syntax(bool sparse) {
  std::string text;
  for (const std::string_view a : {"a-desc", "[a-tmem]"})
    text += fmt::format(
        "tcgen05.mma{}.cta_group.kind.block_scale{{.scale_vectorsize}}{{.collector_usage}} [d-tmem], {}, b-desc{}, idesc, [scale-A-tmem], "
        "[scale-B-tmem], {{!}}enable-input-d;\n",
        sparse ? ".sp" : "", a, meta(sparse));
  return fmt::format(
      "{}  .kind = {{ .kind::mxf8f6f4, .kind::mxf4, .kind::mxf4nvf4 }};{}"
      "  .scale_vectorsize = {{ .scale_vec::1X, .scale_vec::2X, .scale_vec::4X, .block16, .block32 }};{}",
      text, kGroups, kCollectorA);
}

std::string stationary_syntax(bool sparse) {
  std::string text;
  for (const std::string_view a : {"a-desc", "[a-tmem]"})
    text += fmt::format(
        "tcgen05.mma.ws{}.cta_group.kind{{.collector_usage}} [d-tmem], {}, b-desc{}, idesc, {{!}}enable-input-d{{, zero-column-mask-desc}};\n",
        sparse ? ".sp" : "", a, meta(sparse));
  return fmt::format("{}  .kind = {{ .kind::f16, .kind::tf32, .kind::f8f6f4, .kind::i8 }};{}", text, collectors_b());
}

std::vector<InstDef> forms() {
  static std::deque<std::string> texts;  // InstDef keeps views
  std::vector<InstDef> table;
  const auto add = [&](std::string syntax, std::string_view manual, std::string_view doc, Since since = {8, 6, 100}) {
    table.push_back({.base = "tcgen05",
                     .syntax = texts.emplace_back(std::move(syntax)),
                     .op = Op::tcgen05_mma,
                     .bind = &bind_mma,
                     .since = since,
                     .manual = manual,
                     .doc = doc});
  };
  for (const bool sparse : {false, true}) {
    const std::string_view manual = sparse ? "tcgen05.mma.sp" : "tcgen05.mma";
    add(plain_syntax(".kind::f16, .kind::tf32", sparse, "{, scale-input-d}"), manual, "product of f16, bf16 or tf32 into Tensor Memory");
    add(plain_syntax(".kind::f8f6f4", sparse, ""), manual, "product of 8-, 6- and 4-bit floats into Tensor Memory");
    add(plain_syntax(".kind::i8", sparse, ""), manual, "product of 8-bit integers into Tensor Memory");
    add(scaled_syntax(sparse), manual, "block-scaled product into Tensor Memory");
    add(stationary_syntax(sparse), sparse ? "tcgen05.mma.ws.sp" : "tcgen05.mma.ws", "weight-stationary product into Tensor Memory");
  }
  return table;
}

}  // namespace

std::span<const InstDef> tcgen05_mma_instructions() {
  static const std::vector<InstDef> table = forms();
  return table;
}

}  // namespace tcsim::isa
