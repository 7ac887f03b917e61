// Real modules with the whole instruction table: they load, print, and load again as the same.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isa/ptx/load.h"
#include "isa/ptx/module.h"

namespace tcsim::isa {
namespace {

std::string read(const std::string& name) {
  std::ifstream file(std::string(TCSIM_SOURCE_DIR) + "/isa/ptx/testdata/" + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string messages(const Diagnostics& diags) {
  std::string out;
  for (const Diagnostic& d : diags.all()) out += d.str() + "\n";
  return out;
}

void expect_same(const Inst& a, const Inst& b) {
  EXPECT_EQ(a.exec, b.exec);
  EXPECT_EQ(a.op, b.op);
  EXPECT_EQ(a.guard, b.guard);
  EXPECT_EQ(a.flags, b.flags);
  EXPECT_EQ(a.aux, b.aux);
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.reconverge, b.reconverge);
  EXPECT_EQ(a.loc.line, b.loc.line);
  ASSERT_EQ(a.group_count, b.group_count);
  for (int g = 0; g < a.group_count; ++g) {
    ASSERT_EQ(a.groups[g].count, b.groups[g].count);
    for (size_t i = 0; i < a.groups[g].count; ++i) {
      const Operand &x = a.group(g)[i], &y = b.group(g)[i];
      EXPECT_EQ(x.kind, y.kind);
      EXPECT_EQ(x.slot, y.slot);
      EXPECT_EQ(x.value, y.value);
      EXPECT_EQ(x.space, y.space);
      EXPECT_EQ(x.bit_width, y.bit_width);
      EXPECT_EQ(x.negated, y.negated);
    }
  }
}

class RealModule : public testing::TestWithParam<const char*> {};

TEST_P(RealModule, PrintsAndLoadsAgainAsTheSame) {
  Diagnostics diags;
  const auto module = load_module(GetParam(), read(GetParam()), diags);
  ASSERT_FALSE(diags.has_errors()) << messages(diags);
  Diagnostics again;
  const auto copy = load_module("printed.ptx", print(*module), again);
  ASSERT_FALSE(again.has_errors()) << messages(again);
  ASSERT_EQ(module->kernels.size(), copy->kernels.size());
  for (size_t k = 0; k < module->kernels.size(); ++k) {
    const Kernel &a = module->kernels[k], &b = copy->kernels[k];
    EXPECT_EQ(a.slot_count, b.slot_count);
    EXPECT_EQ(a.pred_count, b.pred_count);
    EXPECT_EQ(a.param_bytes, b.param_bytes);
    EXPECT_EQ(a.local_bytes, b.local_bytes);
    EXPECT_EQ(a.shared_static_bytes, b.shared_static_bytes);
    ASSERT_EQ(a.insts.size(), b.insts.size());
    for (size_t i = 0; i < a.insts.size(); ++i) {
      SCOPED_TRACE(a.insts[i].text);
      expect_same(a.insts[i], b.insts[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, RealModule, testing::Values("mma_m16n8k8_tf32.ptx", "triton_mma_64x64x32.ptx", "nvcc_calls.ptx"));

TEST(RealModules, TritonGemm) {
  Diagnostics diags;
  const auto module = load_module("t.ptx", read("triton_mma_64x64x32.ptx"), diags);
  const Kernel* kernel = module->find_kernel("gemm_ptr");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->params.size(), 11u);
  EXPECT_EQ(kernel->param_bytes, 64u);  // 3 x 8 + 6 x 4 = 48, then 2 x 8
  EXPECT_EQ(kernel->reqntid[0], 128u);
  int mma = 0;
  for (const Inst& inst : kernel->insts) mma += inst.op == Op::mma;
  EXPECT_EQ(mma, 16);  // grep -c mma.sync
  EXPECT_EQ(module->source_of(kernel->insts[0]), "triton_matmul.py:12");
}

TEST(RealModules, HopperTmaGemmSaysWhatIsMissing) {
  Diagnostics diags;
  load_module("t.ptx", read("triton_tma_64x64x64.ptx"), diags);
  for (const Diagnostic& d : diags.all()) EXPECT_EQ(d.kind, "unsupported-instruction") << d.str();
}

// A library's PTX has kernels that this program cannot run; they are not in the way of the others.
TEST(LoadKernels, OnlyTheNamedOnesMatter) {
  const std::string text =
      ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry good() { ret; }\n.visible .entry bad() { nothing.like.this; ret; }\n";
  const struct {
    std::vector<std::string> names;
    size_t kernels;
    bool ok;
  } cases[] = {{{"good"}, 1, true}, {{"bad"}, 1, false}, {{"good", "bad"}, 2, false}, {{}, 2, false}, {{"good", "missing"}, 2, false}};
  for (const auto& c : cases) {
    Diagnostics diags;
    const auto module = load_kernels("k.ptx", text, diags, c.names);
    EXPECT_EQ(module->kernels.size(), c.kernels) << testing::PrintToString(c.names);
    EXPECT_EQ(!diags.has_errors(), c.ok) << messages(diags);
  }
}

}  // namespace
}  // namespace tcsim::isa
