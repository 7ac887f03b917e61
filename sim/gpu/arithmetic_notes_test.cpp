// Which kernels are told that nothing confirms their last bits.
#include "sim/gpu/arithmetic_notes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/config/load.h"

namespace tcsim::sim {
namespace {

/// The notes for one instruction, on a machine.
std::string notes(const std::string& target, const std::string& machine, const std::string& instruction) {
  Diagnostics diags;
  const auto module = isa::load_module(
      "k.ptx",
      fmt::format(".version 8.7\n.target {}\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>;\n{}\nret;\n}}\n", target, instruction),
      diags);
  const auto chip = cfg::load_machine(machine, {}, diags);
  EXPECT_TRUE(module && chip && !diags.has_errors()) << (diags.all().empty() ? "" : diags.all()[0].str());
  if (!module || !chip) return {};
  note_arithmetic(*module, module->kernels.front(), *chip, diags);
  std::string text;
  for (const Diagnostic& d : diags.all()) text += d.str() + "\n";
  return text;
}

const std::string kK8 = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6}, {%r0,%r1,%r2,%r3};";
const std::string kK16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r4,%r5}, {%r0,%r1,%r2,%r3};";
const std::string kInteger = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0,%r1}, {%r4}, {%r6}, {%r0,%r1};";

TEST(ArithmeticNotes, NothingWhereStoredBitsAgree) {
  EXPECT_EQ(notes("sm_80", "h200", kK16), "");  // validation/data/mma_bits_h200
  EXPECT_EQ(notes("sm_80", "a100", kK8), "");   // validation/data/tensor_core_vectors: 8 products a line
  EXPECT_EQ(notes("sm_75", "t4", kInteger), "");
}

TEST(ArithmeticNotes, WhatRestsOnAModelOnly) {
  EXPECT_EQ(notes("sm_75", "t4", kK8 + "\n" + kK8),
            "k.ptx:7:1: note: last bits of 'mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32' and 1 more on t4: as MMA-Sim (arXiv 2511.10909) has "
            "it; no hardware vectors\n");
  EXPECT_NE(notes("sm_80", "a100", kK16).find("vectors confirm each of its two sums"), std::string::npos);
  const std::string sparse =
      "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r4,%r5,%r6,%r7}, {%r0,%r1,%r2,%r3}, %r8, 0;";
  EXPECT_EQ(notes("sm_80", "h200", sparse), "");
  EXPECT_NE(notes("sm_80", "a100", sparse).find("sparse sums"), std::string::npos);
}

}  // namespace
}  // namespace tcsim::sim
