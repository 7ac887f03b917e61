// A compiled kernel from end to end: Triton 3.6's gemm_ptr for sm_80 (tile 64x64x32, 3 stages, 4 warps; cp.async, ldmatrix,
// mma.sync) computes C right, with the same bytes under every order of its asynchronous copies.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "isa/exec/interpreter.h"
#include "isa/insn/fp.h"

namespace tcsim::isa {
namespace {

constexpr int kSize = 128;

struct Gemm {
  std::vector<uint16_t> a = std::vector<uint16_t>(kSize * kSize), b = a, c = a;
  Diagnostics diags;
  InterpreterResult result;

  void run(AsyncOrder order) {
    std::ifstream file(TCSIM_SOURCE_DIR "/isa/exec/testdata/triton_mma_64x64x32_s3_w4.ptx");
    std::stringstream text;
    text << file.rdbuf();
    const auto module = load_module("triton.ptx", text.str(), diags);
    ASSERT_TRUE(module && !diags.has_errors()) << (diags.all().empty() ? "" : diags.all()[0].str());
    const Kernel& kernel = *module->find_kernel("gemm_ptr");
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (auto* m : {&a, &b})
      for (uint16_t& x : *m) x = fp::half_from_float(normal(random));
    GlobalMemory memory;
    bind_globals(*module, memory);
    const uint64_t bytes = 2 * kSize * kSize;
    const uint64_t address[3] = {memory.allocate("A", bytes), memory.allocate("B", bytes), memory.allocate("C", bytes, 256, true)};
    std::memcpy(memory.map(address[0], bytes), a.data(), bytes);
    std::memcpy(memory.map(address[1], bytes), b.data(), bytes);
    LaunchInfo launch;
    launch.grid = {4, 1, 1};
    launch.block = {128, 1, 1};
    launch.dynamic_smem_bytes = 16384;
    launch.generation = static_cast<uint8_t>(Generation::hopper);
    launch.constants = module->constant_bytes;
    launch.params.resize(kernel.param_bytes);
    for (size_t i = 0; i < 3; ++i) std::memcpy(launch.params.data() + kernel.params[i].offset, &address[i], 8);
    const int32_t size = kSize;  // M, N, K and the three row strides
    for (size_t i = 3; i < 9; ++i) std::memcpy(launch.params.data() + kernel.params[i].offset, &size, 4);
    InterpreterOptions options;
    options.order = order;
    options.seed = 7;
    result = interpret(*module, kernel, launch, memory, options, diags);
    EXPECT_FALSE(memory.is_undefined(address[2], bytes)) << "some of C was not written";
    std::memcpy(c.data(), memory.map(address[2], bytes), bytes);
  }
};

TEST(CompiledGemm, ResultIsRightAndTheSameUnderAllOrders) {
  Gemm eager, late, random;
  eager.run(AsyncOrder::eager);
  late.run(AsyncOrder::late);
  random.run(AsyncOrder::random);
  for (const Gemm* g : {&eager, &late, &random}) EXPECT_TRUE(g->result.ok && g->diags.all().empty()) << (g->diags.all().empty() ? "" : g->diags.all()[0].str());
  EXPECT_EQ(eager.c, late.c);
  EXPECT_EQ(eager.c, random.c);
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) {
      double sum = 0, size = 0;
      for (int k = 0; k < kSize; ++k) {
        const double p = double{fp::half_to_float(eager.a[static_cast<size_t>(i * kSize + k)])} * fp::half_to_float(eager.b[static_cast<size_t>(k * kSize + j)]);
        sum += p;
        size += std::fabs(p);
      }
      // One unit in the last place of f16 (2^-10 of the value, 2^-24 at least), and K * 2^-23 * sum |a b| of the f32 sums.
      const double tolerance = std::max(std::ldexp(std::fabs(sum), -10), std::ldexp(1.0, -24)) + kSize * std::ldexp(size, -23);
      EXPECT_NEAR(fp::half_to_float(eager.c[static_cast<size_t>(i * kSize + j)]), sum, tolerance) << i << " " << j;
    }
}

}  // namespace
}  // namespace tcsim::isa
