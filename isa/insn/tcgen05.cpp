// tcgen05 but for mma: which forms exist (PTX ISA, "TensorCore 5th Generation Family Instructions"). What they do is in
// tcgen05_memory.cpp (alloc, ld, st, wait, fence) and tcgen05_async.cpp (cp, shift, commit).
#include "isa/insn/tcgen05.h"

#include <fmt/format.h>

#include <bit>

#include "isa/insn/operands.h"
#include "isa/insn/tcgen05_exec.h"

namespace tcsim::isa {

std::string needs_tcgen05(const Decoded& d) {
  if (!d.module) return {};
  const int sm = d.module->sm;
  if (d.module->arch_specific && (sm == 100 || sm == 101 || sm == 103 || sm == 110)) return {};
  return fmt::format("target {} has no tcgen05 instructions, expected sm_100a, sm_100f, sm_103a or sm_110a", d.module->target);
}

uint8_t cta_group_of(const Decoded& d) { return d.has("cta_group::2") ? 2 : 1; }

namespace {

/// The number of columns, if it is a constant: a power of two from 32 to 512.
std::string check_columns(const Operand& op) {
  if (op.kind != Operand::Kind::constant) return {};
  const auto n = static_cast<uint32_t>(op.value);
  if (tensor_columns_valid(n)) return {};
  return fmt::format("{} columns, expected a power of 2 from {} to {}", n, TensorMemory::kUnit, TensorMemory::kColumns);
}

void describe_tcgen05(Inst& inst, const Decoded& d, Op op, TimingClass timing, ExecFn exec) {
  inst.op = op;
  inst.timing = timing;
  inst.exec = exec;
  inst.flags = cta_group_of(d);
}

std::string bind_alloc(Inst& inst, const Decoded& d) {
  if (auto e = needs_tcgen05(d); !e.empty()) return e;
  describe_tcgen05(inst, d, Op::tcgen05_alloc, TimingClass::tcgen05_alloc, &run_tcgen05_alloc);
  inst.type = Type::b32;
  inst.space = Space::shared;
  if (auto e = expect_address(inst, 0); !e.empty()) return e;
  if (auto e = expect_group(inst, 1, d, 32, false, false); !e.empty()) return e;
  return check_columns(inst.operand(1));
}

std::string bind_dealloc(Inst& inst, const Decoded& d) {
  if (auto e = needs_tcgen05(d); !e.empty()) return e;
  describe_tcgen05(inst, d, Op::tcgen05_dealloc, TimingClass::tcgen05_alloc, &run_tcgen05_dealloc);
  for (const int g : {0, 1})
    if (auto e = expect_group(inst, g, d, 32, false, false); !e.empty()) return e;
  const Operand& n = inst.operand(1);
  if (n.kind != Operand::Kind::constant || static_cast<uint32_t>(n.value) % TensorMemory::kUnit == 0) return {};
  return fmt::format("{} columns, expected a multiple of {}", n.value, TensorMemory::kUnit);
}

std::string bind_relinquish(Inst& inst, const Decoded& d) {
  describe_tcgen05(inst, d, Op::tcgen05_relinquish, TimingClass::tcgen05_alloc, &run_tcgen05_relinquish);
  return needs_tcgen05(d);
}

/// A register with an offset: Tensor Memory has no variables.
std::string expect_tensor_address(const Inst& inst, int group) {
  if (auto e = expect_address(inst, group); !e.empty()) return e;
  const Operand& op = inst.operand(group);
  if (op.slot >= 0 && op.bit_width <= 32) return {};
  return fmt::format("operand {} is not a Tensor Memory address, expected a 32-bit register in brackets", group + 1);
}

// ---- ld, st ----

std::string bind_move(Inst& inst, const Decoded& d, bool store) {
  if (auto e = needs_tcgen05(d); !e.empty()) return e;
  const TensorShape shape = *tensor_shape_named(d.value("shape"));
  const auto split = shape == TensorShape::s16x32bx2;
  const int registers = store ? 1 + split : 0, address = store ? 0 : 1, offset = store ? 1 : 2;
  TensorFragment f{shape, static_cast<uint16_t>(std::stoi(std::string(d.value("num").substr(1)))), d.has("pack::16b") || d.has("unpack::16b")};
  if (!f.exists())
    return fmt::format(".{} does not exist with .{}: {} registers, expected at most 128", d.value("num"), d.value("shape"), f.registers());
  if (split) {
    const Operand& op = inst.operand(offset);
    if (op.kind != Operand::Kind::constant) return fmt::format("operand {} (immHalfSplitoff) is not a constant", offset + 1);
    f.half_split = static_cast<uint16_t>(op.value);
  }
  const auto plan = TensorAccess::of(f);
  inst.op = store ? Op::tcgen05_st : Op::tcgen05_ld;
  inst.type = Type::b32;
  inst.timing = store ? TimingClass::tcgen05_st : TimingClass::tcgen05_ld;
  inst.exec = store ? &run_tcgen05_st : &run_tcgen05_ld;
  inst.plan = plan.get();
  inst.timing_key = plan->key.c_str();
  inst.aux = static_cast<uint64_t>(registers);
  if (d.module) d.module->plans.push_back(plan);
  if (auto e = expect_tensor_address(inst, address); !e.empty()) return e;
  const size_t got = inst.group(registers).size();
  if (got != f.registers())
    return fmt::format("operand {} has {} registers, expected {} for .{}.{}", registers + 1, got, f.registers(), d.value("shape"), d.value("num"));
  if (inst.text.find('{') == std::string_view::npos) return fmt::format("operand {} is not a vector, expected registers in braces", registers + 1);
  for (const Operand& op : inst.group(registers))
    if (op.kind == Operand::Kind::sink) return fmt::format("operand {} has a '_', expected registers", registers + 1);
  return expect_group(inst, registers, d, 32, false, !store);
}

std::string bind_ld(Inst& inst, const Decoded& d) { return bind_move(inst, d, false); }
std::string bind_st(Inst& inst, const Decoded& d) { return bind_move(inst, d, true); }

std::string bind_ld_red(Inst&, const Decoded& d) {
  if (auto e = needs_tcgen05(d); !e.empty()) return e;
  return "tcgen05.ld.red is not simulated: sm_100 does not have it, sm_103 and sm_110 do";
}

std::string bind_wait(Inst& inst, const Decoded& d) {
  describe_tcgen05(inst, d, Op::tcgen05_wait, TimingClass::tcgen05_wait, &run_tcgen05_wait);
  inst.flags = d.has("wait::st");
  return needs_tcgen05(d);
}

std::string bind_fence(Inst& inst, const Decoded& d) {
  describe_tcgen05(inst, d, Op::tcgen05_fence, TimingClass::tcgen05_fence, &run_tcgen05_fence);
  inst.flags = d.has("fence::after_thread_sync");
  return needs_tcgen05(d);
}

// ---- cp, shift, commit ----

std::string bind_cp(Inst& inst, const Decoded& d) {
  if (auto e = needs_tcgen05(d); !e.empty()) return e;
  describe_tcgen05(inst, d, Op::tcgen05_cp, TimingClass::tcgen05_cp, &run_tcgen05_cp);
  inst.space = Space::shared;
  using S = TensorCopyShape;
  const std::string_view shape = d.value("shape");
  const S copy = shape == "128x256b"      ? S::s128x256b
                 : shape == "4x256b"      ? S::s4x256b
                 : shape == "128x128b"    ? S::s128x128b
                 : shape == "32x128b"     ? S::s32x128b
                 : d.has("warpx2::02_13") ? S::s64x128b_02_13
                                          : S::s64x128b_01_23;
  const TensorDecompress format = d.has("b6x16_p32")   ? TensorDecompress::b6x16_p32
                                  : d.has("b4x16_p64") ? TensorDecompress::b4x16_p64
                                                       : TensorDecompress::none;
  const TensorCopy& plan = TensorCopy::of(copy, format);
  inst.plan = static_cast<const Tcgen05Ops*>(&plan);
  inst.timing_key = plan.key.c_str();
  if (auto e = expect_tensor_address(inst, 0); !e.empty()) return e;
  return expect_group(inst, 1, d, 64, false, false);
}

std::string bind_shift(Inst& inst, const Decoded& d) {
  if (auto e = needs_tcgen05(d); !e.empty()) return e;
  if (d.module && d.module->target.back() != 'a')
    return fmt::format("target {} does not have tcgen05.shift, expected sm_100a, sm_103a or sm_110a", d.module->target);
  describe_tcgen05(inst, d, Op::tcgen05_shift, TimingClass::tcgen05_cp, &run_tcgen05_shift);
  inst.plan = &tensor_shift_ops();
  return expect_tensor_address(inst, 0);
}

std::string bind_commit(Inst& inst, const Decoded& d) {
  if (auto e = needs_tcgen05(d); !e.empty()) return e;
  describe_tcgen05(inst, d, Op::tcgen05_commit, TimingClass::tcgen05_commit, &run_tcgen05_commit);
  inst.space = Space::shared_cluster;
  inst.aux = d.has("multicast::cluster");
  if (auto e = expect_address(inst, 0); !e.empty()) return e;
  const int expected = inst.aux ? 2 : 1;
  if (inst.group_count != expected)
    return fmt::format("found {} operands, expected {}: .multicast::cluster brings a CTA mask", inst.group_count, expected);
  if (!inst.aux) return {};
  if (inst.operand(1).kind != Operand::Kind::reg) return "operand 2 (CTA mask) is not a register";
  return expect_group(inst, 1, d, 16, false, false);
}

// ---- forms ----

InstDef row(std::string_view syntax, Op op, BindFn bind, std::string_view manual, std::string_view doc) {
  return {.base = "tcgen05", .syntax = syntax, .op = op, .bind = bind, .since = {8, 6, 100}, .manual = manual, .doc = doc};
}

std::vector<InstDef> forms() {
  return {
      row("tcgen05.alloc.cta_group.sync.aligned{.shared::cta}.b32 [dst], nCols;  .cta_group = { .cta_group::1, .cta_group::2 };", Op::tcgen05_alloc,
          &bind_alloc, "tcgen05.alloc", "take columns of Tensor Memory"),
      row("tcgen05.dealloc.cta_group.sync.aligned.b32 taddr, nCols;  .cta_group = { .cta_group::1, .cta_group::2 };", Op::tcgen05_dealloc,
          &bind_dealloc, "tcgen05.dealloc", "give columns of Tensor Memory back"),
      row("tcgen05.relinquish_alloc_permit.cta_group.sync.aligned;  .cta_group = { .cta_group::1, .cta_group::2 };", Op::tcgen05_relinquish,
          &bind_relinquish, "tcgen05.relinquish_alloc_permit", "this CTA allocates no more"),
      row("tcgen05.ld.sync.aligned.shape.num{.pack}.b32 r, [taddr];  .shape = { .16x64b, .16x128b, .16x256b, .32x32b };"
          "  .num = { .x1, .x2, .x4, .x8, .x16, .x32, .x64, .x128 };  .pack = { .pack::16b };\n\n"
          "tcgen05.ld.sync.aligned.shape.num{.pack}.b32 r, [taddr], immHalfSplitoff;  .shape = { .16x32bx2 };"
          "  .num = { .x1, .x2, .x4, .x8, .x16, .x32, .x64, .x128 };  .pack = { .pack::16b };",
          Op::tcgen05_ld, &bind_ld, "tcgen05.ld", "Tensor Memory to registers"),
      row("tcgen05.ld.red.sync.aligned.shape.num.redOp{.abs}{.NaN}.type r, redval, [taddr];  .shape = { .32x32b };"
          "  .num = { .x2, .x4, .x8, .x16, .x32, .x64, .x128 };  .redOp = { .min, .max };  .type = { .u32, .s32, .f32 };\n\n"
          "tcgen05.ld.red.sync.aligned.shape.num.redOp{.abs}{.NaN}.type r, redval, [taddr], immHalfSplitoff;  .shape = { .16x32bx2 };"
          "  .num = { .x2, .x4, .x8, .x16, .x32, .x64, .x128 };  .redOp = { .min, .max };  .type = { .u32, .s32, .f32 };",
          Op::tcgen05_ld, &bind_ld_red, "tcgen05.ld", "the same with a reduction over columns (not sm_100)"),
      row("tcgen05.st.sync.aligned.shape.num{.unpack}.b32 [taddr], r;  .shape = { .16x64b, .16x128b, .16x256b, .32x32b };"
          "  .num = { .x1, .x2, .x4, .x8, .x16, .x32, .x64, .x128 };  .unpack = { .unpack::16b };\n\n"
          "tcgen05.st.sync.aligned.shape.num{.unpack}.b32 [taddr], immHalfSplitoff, r;  .shape = { .16x32bx2 };"
          "  .num = { .x1, .x2, .x4, .x8, .x16, .x32, .x64, .x128 };  .unpack = { .unpack::16b };",
          Op::tcgen05_st, &bind_st, "tcgen05.st", "registers to Tensor Memory"),
      row("tcgen05.wait_operation.sync.aligned;  .wait_operation = { .wait::ld, .wait::st };", Op::tcgen05_wait, &bind_wait, "tcgen05.wait",
          "wait for the warp's tcgen05.ld or tcgen05.st"),
      row("tcgen05.cp.cta_group.shape{.dst_fmt.src_fmt} [taddr], s-desc;  .cta_group = { .cta_group::1, .cta_group::2 };"
          "  .shape = { .128x256b, .4x256b, .128x128b };  .dst_fmt = { .b8x16 };  .src_fmt = { .b6x16_p32, .b4x16_p64 };\n\n"
          "tcgen05.cp.cta_group.shape.multicast{.dst_fmt.src_fmt} [taddr], s-desc;  .cta_group = { .cta_group::1, .cta_group::2 };"
          "  .shape = { .64x128b };  .multicast = { .warpx2::02_13, .warpx2::01_23 };  .dst_fmt = { .b8x16 };  .src_fmt = { .b6x16_p32, .b4x16_p64 "
          "};\n\n"
          "tcgen05.cp.cta_group.shape.multicast{.dst_fmt.src_fmt} [taddr], s-desc;  .cta_group = { .cta_group::1, .cta_group::2 };"
          "  .shape = { .32x128b };  .multicast = { .warpx4 };  .dst_fmt = { .b8x16 };  .src_fmt = { .b6x16_p32, .b4x16_p64 };",
          Op::tcgen05_cp, &bind_cp, "tcgen05.cp", "shared memory to Tensor Memory"),
      row("tcgen05.shift.cta_group.down [taddr];  .cta_group = { .cta_group::1, .cta_group::2 };\n\n"
          "tcgen05.shift.down.cta_group [taddr];  .cta_group = { .cta_group::1, .cta_group::2 };",
          Op::tcgen05_shift, &bind_shift, "tcgen05.shift", "move rows of 32 bytes one lane down"),
      row("tcgen05.commit.cta_group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [mbar]{, ctaMask};  .cta_group = { "
          ".cta_group::1, .cta_group::2 };",
          Op::tcgen05_commit, &bind_commit, "tcgen05.commit", "arrive on an mbarrier when what the thread issued is complete"),
      row("tcgen05.fence_operation;  .fence_operation = { .fence::before_thread_sync, .fence::after_thread_sync };", Op::tcgen05_fence, &bind_fence,
          "tcgen05.fence", "order tcgen05 operations of threads that synchronise"),
  };
}

}  // namespace

std::span<const InstDef> tcgen05_instructions() {
  static const std::vector<InstDef> table = [] {
    std::vector<InstDef> all = forms();
    for (const auto& chapter : {tcgen05_mma_instructions(), launch_control_instructions()}) all.insert(all.end(), chapter.begin(), chapter.end());
    return all;
  }();
  return table;
}

}  // namespace tcsim::isa
