// mma.sync, mma.sp, wmma.mma (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions"): which forms exist, and the
// call into isa/matrix. The moves of matrix fragments are in matrix_moves.cpp.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <deque>

#include "isa/insn/matrix_moves.h"
#include "isa/insn/matrix_plan.h"
#include "isa/insn/operands.h"
#include "isa/insn/wgmma.h"

namespace tcsim::isa {
namespace {

using Registers = std::array<uint32_t*, 32>;

void pointers(ExecContext& ctx, const Inst& inst, int group, Registers& out) {
  size_t i = 0;
  for (const Operand& op : inst.group(group))
    out[i++] = op.kind == Operand::Kind::constant ? static_cast<uint32_t*>(const_cast<void*>(op.lanes)) : ctx.reg<uint32_t>(op.slot);
}

/// The scale operands of .block_scale: data, {byte, thread} for A, then for B. The selectors are the same in all lanes; what ptxas
/// would refuse as a constant (a thread or byte that does not exist) is cut to what the instruction has bits for.
MmaScales scales_of(ExecContext& ctx, const Inst& inst, int scales) {
  const int first = inst.op == Op::mma_sp ? 6 : 4;
  const auto selector = [&](int group, size_t i) { return static_cast<int>(ctx.src<uint32_t>(inst.group(group)[i])[0]); };
  const int bytes = scales == 1 ? 3 : scales == 2 ? 2 : 0;
  return {ctx.src<uint32_t>(inst.operand(first)), ctx.src<uint32_t>(inst.operand(first + 2)),
          selector(first + 1, 0) & bytes,         selector(first + 1, 1) & 1,
          selector(first + 3, 0) & bytes,         selector(first + 3, 1) & 3};
}

void run_mma(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!ctx.converged(kFullMask, mask)) return;
  const auto& family = *static_cast<const MmaPlanFamily*>(inst.plan);
  const MmaPlan& plan = family.plan(static_cast<Generation>(ctx.generation));
  Registers d, a, b, c;
  pointers(ctx, inst, 0, d);
  pointers(ctx, inst, 1, a);
  pointers(ctx, inst, 2, b);
  pointers(ctx, inst, 3, c);
  const uint32_t* metadata = inst.op == Op::mma_sp ? ctx.src<uint32_t>(inst.operand(4)) : nullptr;
  plan.run(d.data(), a.data(), b.data(), c.data(), metadata, family.desc().scales ? scales_of(ctx, inst, family.desc().scales) : MmaScales{});
}

MatrixOrder order_of(std::string_view word) { return word == "col" ? MatrixOrder::col : MatrixOrder::row; }

/// Checks the description and the operands, and attaches the plan.
std::string attach(Inst& inst, const Decoded& d, const MmaDesc& desc) {
  if (auto e = MmaPlan::check(desc); !e.empty()) return e;
  const auto family = MmaPlanFamily::of(desc);
  inst.type = desc.d;
  inst.type2 = desc.a;
  inst.timing = TimingClass::mma;
  inst.exec = &run_mma;
  inst.plan = family.get();
  inst.timing_key = family->key().c_str();
  if (d.module) d.module->plans.push_back(family);
  const MmaPlan& plan = family->plan(d.module ? generation_of_sm(d.module->sm) : desc.generation);
  constexpr MatrixRole kRoles[] = {MatrixRole::d, MatrixRole::a, MatrixRole::b, MatrixRole::c};
  constexpr char kNames[] = {'d', 'a', 'b', 'c'};
  for (int g = 0; g < 4; ++g) {
    const auto expected = static_cast<size_t>(plan.registers(kRoles[g]));
    if (inst.group(g).size() != expected) return fmt::format("operand {} has {} registers, expected {}", kNames[g], inst.group(g).size(), expected);
    for (const Operand& op : inst.group(g))
      if (op.kind == Operand::Kind::sink) return fmt::format("operand {} has a '_', expected registers", kNames[g]);
    if (auto e = expect_group(inst, g, d, plan.register_bits(), false, g == 0); !e.empty()) return e;
  }
  return {};
}

std::optional<MatrixShape> shape_of(std::string_view text) {
  MatrixShape s;
  const char* at = text.data();
  const char* end = at + text.size();
  for (auto [letter, value] : {std::pair{'m', &s.m}, {'n', &s.n}, {'k', &s.k}}) {
    if (at == end || *at != letter) return std::nullopt;
    const auto [next, error] = std::from_chars(at + 1, end, *value);
    if (error != std::errc{}) return std::nullopt;
    at = next;
  }
  return at == end ? std::optional(s) : std::nullopt;
}

Type type_or(const Decoded& d, std::string_view set, Type otherwise) {
  const Type t = d.type(set);
  return t == Type::none ? otherwise : t;
}

BitOp bit_op(const Decoded& d) { return d.has("xor") ? BitOp::xor_popc : d.has("and") ? BitOp::and_popc : BitOp::none; }

std::string check_scale_operands(const Inst& inst, const Decoded& d, int scales) {
  const int first = inst.op == Op::mma_sp ? 6 : 4;
  for (const int at : {first, first + 2}) {
    if (auto e = expect_group(inst, at, d, 32, false, false); !e.empty()) return e;
    const auto selectors = inst.group(at + 1);
    if (selectors.size() != 2) return fmt::format("operand {} has {} elements, expected {{byte-id, thread-id}}", at + 2, selectors.size());
    if (auto e = expect_group(inst, at + 1, d, 16, false, false); !e.empty()) return e;
    const auto outside = [](const Operand& op, uint64_t step, uint64_t most) {
      return op.kind == Operand::Kind::constant && (static_cast<uint64_t>(op.value) > most || static_cast<uint64_t>(op.value) % step != 0);
    };
    if (outside(selectors[0], static_cast<uint64_t>(scales), 4 - static_cast<uint64_t>(scales)))
      return fmt::format("byte-id is {}, expected {}", selectors[0].value, scales == 1 ? "0 to 3" : scales == 2 ? "0 or 2" : "0");
    const uint64_t threads = at == first ? 1 : 3;
    if (outside(selectors[1], 1, threads)) return fmt::format("thread-id is {}, expected 0 to {}", selectors[1].value, threads);
  }
  return {};
}

std::string bind_mma(Inst& inst, const Decoded& d) {
  const bool sparse = d.has("sp") || d.has("sp::ordered_metadata");
  inst.op = sparse ? Op::mma_sp : Op::mma;
  MmaDesc desc;
  if (d.module) desc.generation = generation_of_sm(d.module->sm);
  desc.family = sparse ? MatrixFamily::mma_sparse : MatrixFamily::mma;
  desc.shape = shape_of(d.value("shape")).value_or(MatrixShape{});
  desc.a_order = order_of(d.value("alayout"));
  desc.b_order = order_of(d.value("blayout"));
  desc.d = d.type("dtype");
  desc.a = d.type("atype");
  desc.b = d.type("btype");
  desc.c = d.type("ctype");
  desc.satfinite = d.has("satfinite");
  desc.bit_op = bit_op(d);
  if (d.has("block_scale")) {
    desc.scale = d.type("stype");
    const std::string_view vec = d.value("vec");
    desc.scales = vec.empty() ? (is_packed_e2m1(desc.family, desc.shape, desc.a) ? 2 : 1) : vec[vec.size() - 2] - '0';
  }
  if (sparse) {
    const Operand& f = inst.operand(5);
    if (f.kind != Operand::Kind::constant) return "the sparsity selector is not a constant, expected 0 to 3";
    desc.selector = static_cast<int>(f.value);
    if (auto e = expect_group(inst, 4, d, 32, false, false); !e.empty()) return e;
  }
  if (auto e = attach(inst, d, desc); !e.empty()) return e;
  return desc.scales ? check_scale_operands(inst, d, desc.scales) : std::string();
}

/// What only sm_120 with architecture-specific features has; .kind::f8f6f4 without 6- and 4-bit types is also sm_100a's (as ptxas says).
std::string bind_narrow_mma(Inst& inst, const Decoded& d) {
  const auto eight_bits = [](Type t) { return t == Type::e4m3 || t == Type::e5m2; };
  const bool sparse_f16 = d.has("sp::ordered_metadata") && d.type("dtype") == Type::f16;
  const int needed = eight_bits(d.type("atype")) && eight_bits(d.type("btype")) && !d.has("block_scale") && !sparse_f16 ? 100 : 120;
  if (d.module && (d.module->sm < needed || !d.module->arch_specific))
    return fmt::format("target {} does not have this form, expected sm_{}a or another of its family", d.module->target, needed);
  return bind_mma(inst, d);
}

std::string bind_wmma_mma(Inst& inst, const Decoded& d) {
  inst.op = Op::wmma_mma;
  MmaDesc desc;
  if (d.module) desc.generation = generation_of_sm(d.module->sm);
  desc.family = MatrixFamily::wmma;
  desc.shape = shape_of(d.value("shape")).value_or(MatrixShape{});
  desc.a_order = order_of(d.value("alayout"));
  desc.b_order = order_of(d.value("blayout"));
  desc.d = d.type("dtype");
  desc.a = type_or(d, "atype", Type::f16);
  desc.b = type_or(d, "btype", Type::f16);
  desc.c = d.type("ctype");
  desc.satfinite = d.has("satfinite");
  desc.bit_op = bit_op(d);
  return attach(inst, d, desc);
}

// ---- forms ----

InstDef mma(std::string_view syntax, Since since, std::string_view doc) {
  return {.base = "mma",
          .syntax = syntax,
          .op = Op::mma,
          .bind = &bind_mma,
          .since = since,
          .manual = "Warp Level Matrix Multiply-Accumulate: mma.sync",
          .doc = doc};
}
InstDef mma_sp(std::string_view syntax, Since since, std::string_view doc) {
  return {.base = "mma",
          .syntax = syntax,
          .op = Op::mma_sp,
          .bind = &bind_mma,
          .since = since,
          .manual = "Warp Level Matrix Multiply-Accumulate: mma.sp",
          .doc = doc};
}
InstDef wmma(std::string_view syntax, Since since, std::string_view doc) {
  return {.base = "wmma",
          .syntax = syntax,
          .op = Op::wmma_mma,
          .bind = &bind_wmma_mma,
          .since = since,
          .manual = "Warp Level Matrix Multiply-Accumulate: wmma.mma",
          .doc = doc};
}

// Sets of the .kind:: forms.
constexpr std::string_view kNarrowSets =
    "  .alayout = { .row };  .blayout = { .col };  .atype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };"
    "  .btype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };";
constexpr std::string_view kFp4Sets = "  .alayout = { .row };  .blayout = { .col };  .atype = { .e2m1 };  .btype = { .e2m1 };";
constexpr std::string_view kF32Sums = "  .dtype = { .f32 };  .ctype = { .f32 };";

InstDef narrow_mma(const std::string& syntax, uint16_t sm, std::string_view doc) {
  static std::deque<std::string> texts;  // InstDef keeps a view
  const bool sparse = syntax.starts_with("mma.sp");
  return {.base = "mma",
          .syntax = texts.emplace_back(syntax),
          .op = sparse ? Op::mma_sp : Op::mma,
          .bind = &bind_narrow_mma,
          .since = {8, 7, sm},
          .manual = "Warp Level Matrix Multiply-Accumulate: mma.sync",
          .doc = doc};
}

std::vector<InstDef> narrow_forms() {
  const std::string narrow(kNarrowSets), fp4(kFp4Sets), f32(kF32Sums), either = "  .dtype = { .f16, .f32 };  .ctype = { .f16, .f32 };";
  const std::string dense = "mma.sync.aligned.shape.alayout.blayout.", sparse = "mma.sp::ordered_metadata.sync.aligned.shape.alayout.blayout.";
  const std::string scaled = ".dtype.atype.btype.ctype.stype d, a, b, c, ", scales = "sa, ta, sb, tb;  .shape = ";
  std::vector<InstDef> forms;
  for (const bool sp : {false, true}) {
    const std::string head = sp ? sparse : dense, meta = sp ? "e, f, " : "", tail = scaled + meta + scales;
    const std::string_view doc = sp ? "product of narrow floats, A is sparse" : "product of narrow floats";
    const auto add = [&](const std::string& text, uint16_t sm = 120) { forms.push_back(narrow_mma(head + text, sm, doc)); };
    add("kind::f8f6f4.dtype.atype.btype.ctype d, a, b, c" +
            std::string(sp ? ", e, f;  .shape = { .m16n8k64 };" : ";  .shape = { .m16n8k16, .m16n8k32 };") + narrow + either,
        100);
    add("kind::mxf8f6f4.block_scale{.vec}" + tail + (sp ? "{ .m16n8k64 };" : "{ .m16n8k32 };") +
        "  .vec = { .scale_vec::1X };  .stype = { .ue8m0 };" + narrow + f32);
    const std::string shape = sp ? "{ .m16n8k128 };" : "{ .m16n8k64 };";
    add("kind::mxf4.block_scale{.vec}" + tail + shape + "  .vec = { .scale_vec::2X };  .stype = { .ue8m0 };" + fp4 + f32);
    add("kind::mxf4nvf4.block_scale.vec" + tail + shape + "  .vec = { .scale_vec::2X, .scale_vec::4X };  .stype = { .ue8m0, .ue4m3 };" + fp4 + f32);
  }
  return forms;
}

std::vector<InstDef> product_forms() {
  return {
      mma("mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c;  .shape = { .m8n8k4 };"
          "  .alayout = { .row, .col };  .blayout = { .row, .col };  .dtype = { .f16, .f32 };  .atype = { .f16 };  .btype = { .f16 };  .ctype = { "
          ".f16, .f32 };",
          {6, 4, 70}, "four 8x8x4 products, one a quad pair"),
      mma("mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c;  .shape = { .m16n8k8 };"
          "  .alayout = { .row };  .blayout = { .col };  .dtype = { .f16, .f32 };  .atype = { .f16 };  .btype = { .f16 };  .ctype = { .f16, .f32 };",
          {6, 5, 75}, "f16 product"),
      mma("mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c;  .shape = { .m16n8k16 };"
          "  .alayout = { .row };  .blayout = { .col };  .dtype = { .f16, .f32 };  .atype = { .f16 };  .btype = { .f16 };  .ctype = { .f16, .f32 };",
          {7, 0, 80}, "f16 product"),
      mma("mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c;  .shape = { .m16n8k4, .m16n8k8, .m16n8k16 };"
          "  .alayout = { .row };  .blayout = { .col };  .dtype = { .f32 };  .atype = { .bf16, .tf32 };  .btype = { .bf16, .tf32 };  .ctype = { .f32 "
          "};",
          {7, 0, 80}, "bf16 and tf32 product"),
      mma("mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c;  .shape = { .m16n8k16, .m16n8k32 };"
          "  .alayout = { .row };  .blayout = { .col };  .dtype = { .f16, .f32 };  .atype = { .e4m3, .e5m2 };  .btype = { .e4m3, .e5m2 };  .ctype = "
          "{ .f16, .f32 };",
          {8, 4, 89}, "8-bit floating-point product"),
      mma("mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c;  .shape = { .m8n8k4 };"
          "  .alayout = { .row };  .blayout = { .col };  .dtype = { .f64 };  .atype = { .f64 };  .btype = { .f64 };  .ctype = { .f64 };",
          {7, 0, 80}, "f64 product"),
      mma("mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c;  .shape = { .m16n8k4, .m16n8k8, .m16n8k16 };"
          "  .alayout = { .row };  .blayout = { .col };  .dtype = { .f64 };  .atype = { .f64 };  .btype = { .f64 };  .ctype = { .f64 };",
          {7, 8, 90}, "f64 product"),
      mma("mma.sync.aligned.shape.alayout.blayout{.satfinite}.dtype.atype.btype.ctype d, a, b, c;  .shape = { .m8n8k16, .m8n8k32 };"
          "  .alayout = { .row };  .blayout = { .col };  .dtype = { .s32 };  .atype = { .u8, .s8, .u4, .s4 };  .btype = { .u8, .s8, .u4, .s4 };  "
          ".ctype = { .s32 };",
          {6, 5, 75}, "integer product"),
      mma("mma.sync.aligned.shape.alayout.blayout{.satfinite}.dtype.atype.btype.ctype d, a, b, c;  .shape = { .m16n8k16, .m16n8k32, .m16n8k64 };"
          "  .alayout = { .row };  .blayout = { .col };  .dtype = { .s32 };  .atype = { .u8, .s8, .u4, .s4 };  .btype = { .u8, .s8, .u4, .s4 };  "
          ".ctype = { .s32 };",
          {7, 0, 80}, "integer product"),
      mma("mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype.bitop.popc d, a, b, c;  .shape = { .m8n8k128, .m16n8k128, .m16n8k256 };"
          "  .alayout = { .row };  .blayout = { .col };  .dtype = { .s32 };  .atype = { .b1 };  .btype = { .b1 };  .ctype = { .s32 };  .bitop = { "
          ".xor, .and };",
          {7, 0, 75}, "single-bit product"),
      mma_sp("mma.sp.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c, e, f;"
             "  .shape = { .m16n8k8, .m16n8k16, .m16n8k32 };  .alayout = { .row };  .blayout = { .col };  .dtype = { .f16, .f32 };"
             "  .atype = { .f16, .bf16, .tf32 };  .btype = { .f16, .bf16, .tf32 };  .ctype = { .f16, .f32 };",
             {7, 1, 80}, "A is 2:4 sparse"),
      mma_sp("mma.sp.sync.aligned.shape.alayout.blayout{.satfinite}.dtype.atype.btype.ctype d, a, b, c, e, f;"
             "  .shape = { .m16n8k32, .m16n8k64, .m16n8k128 };  .alayout = { .row };  .blayout = { .col };  .dtype = { .s32 };"
             "  .atype = { .u8, .s8, .u4, .s4 };  .btype = { .u8, .s8, .u4, .s4 };  .ctype = { .s32 };",
             {7, 1, 80}, "integer product, A is 2:4 sparse"),
      mma_sp("mma.sp.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c, e, f;"
             "  .shape = { .m16n8k64 };  .alayout = { .row };  .blayout = { .col };  .dtype = { .f16, .f32 };"
             "  .atype = { .e4m3, .e5m2 };  .btype = { .e4m3, .e5m2 };  .ctype = { .f16, .f32 };",
             {8, 4, 89}, "8-bit floating-point product, A is 2:4 sparse"),
      mma_sp("mma.sp::ordered_metadata.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c, e, f;"
             "  .shape = { .m16n8k8, .m16n8k16, .m16n8k32 };  .alayout = { .row };  .blayout = { .col };  .dtype = { .f16, .f32 };"
             "  .atype = { .f16, .bf16, .tf32 };  .btype = { .f16, .bf16, .tf32 };  .ctype = { .f16, .f32 };",
             {8, 5, 80}, "A is 2:4 sparse, metadata in increasing order"),
      mma_sp("mma.sp::ordered_metadata.sync.aligned.shape.alayout.blayout{.satfinite}.dtype.atype.btype.ctype d, a, b, c, e, f;"
             "  .shape = { .m16n8k32, .m16n8k64, .m16n8k128 };  .alayout = { .row };  .blayout = { .col };  .dtype = { .s32 };"
             "  .atype = { .u8, .s8, .u4, .s4 };  .btype = { .u8, .s8, .u4, .s4 };  .ctype = { .s32 };",
             {8, 5, 80}, "integer product, A is 2:4 sparse, metadata in increasing order"),
      mma_sp("mma.sp::ordered_metadata.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c, e, f;"
             "  .shape = { .m16n8k64 };  .alayout = { .row };  .blayout = { .col };  .dtype = { .f16, .f32 };"
             "  .atype = { .e4m3, .e5m2 };  .btype = { .e4m3, .e5m2 };  .ctype = { .f16, .f32 };",
             {8, 5, 89}, "8-bit floating-point product, A is 2:4 sparse, metadata in increasing order"),
      wmma("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype{.satfinite} d, a, b, c;  .alayout = { .row, .col };  .blayout = { .row, .col };"
           "  .shape = { .m16n16k16, .m8n32k16, .m32n8k16 };  .dtype = { .f16, .f32 };  .ctype = { .f16, .f32 };",
           {6, 0, 70}, "f16 product of wmma fragments"),
      wmma("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{.satfinite} d, a, b, c;  .alayout = { .row, .col };  .blayout = { "
           ".row, .col };"
           "  .shape = { .m16n16k16, .m8n32k16, .m32n8k16, .m8n8k32 };  .dtype = { .s32 };  .atype = { .s8, .u8, .s4, .u4 };  .btype = { .s8, .u8, "
           ".s4, .u4 };  .ctype = { .s32 };",
           {6, 3, 72}, "integer product of wmma fragments"),
      wmma("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype d, a, b, c;  .alayout = { .row, .col };  .blayout = { .row, .col };"
           "  .shape = { .m16n16k16, .m8n32k16, .m32n8k16, .m16n16k8 };  .dtype = { .f32 };  .atype = { .bf16, .tf32 };  .btype = { .bf16, .tf32 };  "
           ".ctype = { .f32 };",
           {7, 0, 80}, "bf16 and tf32 product of wmma fragments"),
      wmma("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{.rnd} d, a, b, c;  .alayout = { .row, .col };  .blayout = { .row, "
           ".col };"
           "  .shape = { .m8n8k4 };  .dtype = { .f64 };  .atype = { .f64 };  .btype = { .f64 };  .ctype = { .f64 };  .rnd = { .rn, .rz, .rm, .rp };",
           {7, 0, 80}, "f64 product of wmma fragments"),
      wmma("wmma.mma.bitop.popc.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype d, a, b, c;  .alayout = { .row };  .blayout = { .col };"
           "  .shape = { .m8n8k128 };  .dtype = { .s32 };  .atype = { .b1 };  .btype = { .b1 };  .ctype = { .s32 };  .bitop = { .xor, .and };",
           {6, 3, 75}, "single-bit product of wmma fragments"),
  };
}

}  // namespace

std::span<const InstDef> matrix_instructions() {
  static const std::vector<InstDef> table = [] {
    std::vector<InstDef> t = product_forms();
    const std::vector<InstDef> narrow = narrow_forms();
    for (const auto& more : {std::span<const InstDef>(narrow), matrix_move_instructions(), wgmma_instructions()})
      t.insert(t.end(), more.begin(), more.end());
    return t;
  }();
  return table;
}

}  // namespace tcsim::isa
