// wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions"): which forms exist. Issue and
// completion are in wgmma_exec.cpp.
#include "isa/insn/wgmma.h"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <optional>

#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

using Ops = WgmmaOperands;

// ---- mma_async ----

/// N of "m64n128k16"; the K follows from the type.
int columns(std::string_view shape) {
  int n = 0;
  for (size_t i = shape.find('n') + 1; i < shape.size() && shape[i] != 'k'; ++i) n = 10 * n + (shape[i] - '0');
  return n;
}

/// An immediate that must be one of two values.
std::string choose(const Inst& inst, int group, int first, int second, std::string_view what, bool& is_second) {
  const Operand& op = inst.operand(group);
  const auto value = static_cast<int32_t>(op.value);
  if (op.kind != Operand::Kind::constant || (value != first && value != second))
    return fmt::format("{} (operand {}) is {}, expected the constant {} or {}", what, group + 1,
                       op.kind == Operand::Kind::constant ? std::to_string(value) : "not a constant", first, second);
  is_second = value == second;
  return {};
}

/// imm-scale-a, imm-scale-b and imm-trans-a, imm-trans-b, from operand `at` on.
std::string immediates(const Inst& inst, int at, WgmmaDesc& desc) {
  if (at >= inst.group_count) return {};
  bool minus_a = false, minus_b = false, trans = false;
  if (auto e = choose(inst, at, 1, -1, "imm-scale-a", minus_a); !e.empty()) return e;
  if (auto e = choose(inst, at + 1, 1, -1, "imm-scale-b", minus_b); !e.empty()) return e;
  desc.negate = minus_a != minus_b;
  at += 2;
  if (at == inst.group_count) return {};
  // The forms with A in shared and in registers differ in number only here.
  if (inst.group_count != at + (desc.a_in_registers ? 1 : 2))
    return desc.a_in_registers ? "found imm-trans-a, but A in registers cannot be transposed" : "imm-trans-b is missing after imm-trans-a";
  if (!desc.a_in_registers) {
    if (auto e = choose(inst, at++, 0, 1, "imm-trans-a", trans); !e.empty()) return e;
    desc.a_major = trans ? Major::mn : Major::k;
  }
  if (auto e = choose(inst, at, 0, 1, "imm-trans-b", trans); !e.empty()) return e;
  desc.b_major = trans ? Major::mn : Major::k;
  return {};
}

std::string registers(const Inst& inst, const Decoded& d, int group, int expected, char letter, bool destination) {
  const auto got = static_cast<int>(inst.group(group).size());
  if (got != expected) return fmt::format("operand {} has {} registers, expected {}", letter, got, expected);
  for (const Operand& op : inst.group(group))
    if (op.kind == Operand::Kind::sink) return fmt::format("operand {} has a '_', expected registers", letter);
  return expect_group(inst, group, d, 32, false, destination);
}

std::string operands(const Inst& inst, const Decoded& d, const WgmmaPlan& plan) {
  if (auto e = registers(inst, d, Ops::kD, plan.d_registers(), 'd', true); !e.empty()) return e;
  if (plan.desc().a_in_registers) {
    if (auto e = registers(inst, d, Ops::kA, WgmmaPlan::kARegisters, 'a', false); !e.empty()) return e;
  } else if (auto e = expect_group(inst, Ops::kA, d, 64, false, false); !e.empty()) {
    return e;
  }
  if (auto e = expect_group(inst, Ops::kB, d, 64, false, false); !e.empty()) return e;
  if (plan.desc().sparse)
    if (auto e = expect_group(inst, Ops::kMetadata, d, 32, false, false); !e.empty()) return e;
  return expect_pred(inst, Ops::scale_d(plan.desc().sparse));
}

std::string needs_sm90a(const Decoded& d) {
  if (!d.module || (d.module->sm == 90 && d.module->arch_specific)) return {};
  return fmt::format("target {} does not have this instruction, expected sm_90a", d.module->target);
}

std::string bind_mma(Inst& inst, const Decoded& d) {
  if (auto e = needs_sm90a(d); !e.empty()) return e;
  WgmmaDesc desc;
  desc.sparse = d.has("sp");
  desc.a = d.type("atype");
  desc.b = d.type("btype");
  desc.d = d.type("dtype");
  desc.shape = {64, columns(d.value("shape")), wgmma_k(desc.a, desc.sparse)};
  desc.satfinite = d.has("satfinite");
  const Operand& a = inst.operand(Ops::kA);
  desc.a_in_registers = inst.groups[Ops::kA].count > 1 || (a.kind == Operand::Kind::reg && a.bit_width <= 32);
  if (auto e = immediates(inst, Ops::scale_d(desc.sparse) + 1, desc); !e.empty()) return e;
  if (desc.sparse) {
    const Operand& selector = inst.operand(Ops::kSelector);
    if (selector.kind != Operand::Kind::constant) return "the sparsity selector is not a constant, expected 0 or 1";
    desc.selector = static_cast<int>(selector.value);
  }
  if (auto e = WgmmaPlan::check(desc); !e.empty()) return e;
  const auto plan = WgmmaInst::of(desc);
  inst.op = desc.sparse ? Op::wgmma_mma_sp : Op::wgmma_mma;
  inst.type = desc.d;
  inst.type2 = desc.a;
  inst.space = Space::shared;
  inst.timing = TimingClass::wgmma;
  inst.exec = &run_wgmma;
  inst.plan = static_cast<const WgmmaOps*>(plan.get());
  inst.timing_key = plan->key.c_str();
  if (d.module) d.module->plans.push_back(plan);
  return operands(inst, d, plan->plan);
}

// ---- fence, commit_group, wait_group: the runner keeps the groups ----

template <Control kControl>
void run_control(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!ctx.converged(kFullMask, mask)) return;
  ctx.fx.control = kControl;
  ctx.fx.lanes = mask;
  ctx.fx.count = inst.aux;
}

std::string bind_fence(Inst& inst, const Decoded& d) {
  inst.op = Op::wgmma_fence;
  inst.timing = TimingClass::wgmma_fence;
  inst.exec = &run_control<Control::wgmma_fence>;
  return needs_sm90a(d);
}

std::string bind_commit(Inst& inst, const Decoded& d) {
  inst.op = Op::wgmma_commit;
  inst.timing = TimingClass::wgmma_fence;
  inst.exec = &run_control<Control::wgmma_commit>;
  return needs_sm90a(d);
}

/// aux: groups that may stay pending.
std::string bind_wait(Inst& inst, const Decoded& d) {
  inst.op = Op::wgmma_wait;
  inst.timing = TimingClass::wgmma_wait;
  inst.exec = &run_control<Control::wgmma_wait>;
  const Operand& n = inst.operand(0);
  if (n.kind != Operand::Kind::constant || n.value < 0) return "operand 1 is not a constant, expected the number of groups that may stay pending";
  inst.aux = static_cast<uint64_t>(n.value);
  return needs_sm90a(d);
}

// ---- forms ----

/// A row of the table: types of one kind, all their shapes, with A in shared memory and in registers.
struct Kind {
  std::string_view dtypes, atypes, btypes;  // members of the sets
  Type a;                                   // one of atypes: decides the shapes
  bool satfinite, popc;
  std::string_view scales, transposes_ss, transposes_rs;  // operands after scale-d
  std::string_view doc;
};

constexpr std::string_view kScales = ", imm-scale-a, imm-scale-b";
constexpr Kind kKinds[] = {
    {".f16, .f32", ".f16", ".f16", Type::f16, false, false, kScales, ", imm-trans-a, imm-trans-b", ", imm-trans-b", "f16 product"},
    {".f32", ".bf16", ".bf16", Type::bf16, false, false, kScales, ", imm-trans-a, imm-trans-b", ", imm-trans-b", "bf16 product"},
    {".f32", ".tf32", ".tf32", Type::tf32, false, false, kScales, "", "", "tf32 product"},
    {".f16, .f32", ".e4m3, .e5m2", ".e4m3, .e5m2", Type::e4m3, false, false, kScales, "", "", "8-bit floating-point product"},
    {".s32", ".s8, .u8", ".s8, .u8", Type::s8, true, false, "", "", "", "8-bit integer product"},
    {".s32", ".b1", ".b1", Type::b1, false, true, "", "", "", "single-bit product"},
};

std::string shapes(Type a, bool sparse) {
  std::string list;
  for (int n = 8; n <= 256; n += 8)
    if (const MatrixShape s{64, n, wgmma_k(a, sparse)}; wgmma_shape_exists(s, a, sparse))
      list += fmt::format("{} .m64n{}k{}", list.empty() ? "" : ",", n, s.k);
  return list;
}

std::string syntax_of(const Kind& k, bool sparse) {
  const std::string_view meta = sparse ? ", sp-meta, sp-sel" : "";
  const auto form = [&](std::string_view a, std::string_view transposes) {
    return fmt::format("wgmma.mma_async{}.sync.aligned.shape{}.dtype.atype.btype{} d, {}, b-desc{}, {{!}}scale-d{}{};\n", sparse ? ".sp" : "",
                       k.satfinite ? "{.satfinite}" : "", k.popc ? ".and.popc" : "", a, meta, k.scales, transposes);
  };
  return form("a-desc", k.transposes_ss) + (k.transposes_ss == k.transposes_rs ? "" : form("a", k.transposes_rs)) +
         fmt::format("  .shape = {{{} }};  .dtype = {{ {} }};  .atype = {{ {} }};  .btype = {{ {} }};", shapes(k.a, sparse), k.dtypes, k.atypes,
                     k.btypes);
}

std::vector<InstDef> forms() {
  static std::deque<std::string> texts;  // InstDef keeps views
  std::vector<InstDef> table;
  for (const bool sparse : {false, true})
    for (const Kind& k : kKinds) {
      if (wgmma_k(k.a, sparse) == 0) continue;
      const auto since = sparse ? Since{8, 2, 90} : Since{8, 0, 90};
      table.push_back(
          {.base = "wgmma",
           .syntax = texts.emplace_back(syntax_of(k, sparse)),
           .op = sparse ? Op::wgmma_mma_sp : Op::wgmma_mma,
           .bind = &bind_mma,
           .since = since,
           .manual = sparse ? "Asynchronous Warpgroup Level Matrix: wgmma.mma_async.sp" : "Asynchronous Warpgroup Level Matrix: wgmma.mma_async",
           .doc = k.doc});
    }
  table.push_back({.base = "wgmma",
                   .syntax = "wgmma.fence.sync.aligned;",
                   .op = Op::wgmma_fence,
                   .bind = &bind_fence,
                   .since = {8, 0, 90},
                   .manual = "Asynchronous Warpgroup Level Matrix: wgmma.fence",
                   .doc = "order register accesses before the next wgmma.mma_async"});
  table.push_back({.base = "wgmma",
                   .syntax = "wgmma.commit_group.sync.aligned;",
                   .op = Op::wgmma_commit,
                   .bind = &bind_commit,
                   .since = {8, 0, 90},
                   .manual = "Asynchronous Warpgroup Level Matrix: wgmma.commit_group",
                   .doc = "close the group of wgmma issued so far"});
  table.push_back({.base = "wgmma",
                   .syntax = "wgmma.wait_group.sync.aligned N;",
                   .op = Op::wgmma_wait,
                   .bind = &bind_wait,
                   .since = {8, 0, 90},
                   .manual = "Asynchronous Warpgroup Level Matrix: wgmma.wait_group",
                   .doc = "wait until at most N of the newest groups are pending"});
  return table;
}

}  // namespace

std::span<const InstDef> wgmma_instructions() {
  static const std::vector<InstDef> table = forms();
  return table;
}

}  // namespace tcsim::isa
