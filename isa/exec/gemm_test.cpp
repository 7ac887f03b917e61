// Compiled kernels from end to end: Triton 3.6's gemm_ptr for sm_80 (tile 64x64x32, 3 stages, 4 warps; cp.async, ldmatrix, mma.sync)
// and for sm_100a (2 stages; cp.async, tcgen05.mma with D in Tensor Memory, tcgen05.ld .16x32bx2) compute C right, with the same bytes
// under every order of their asynchronous operations.
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

struct CompiledKernel {
  const char* file;
  uint32_t shared_bytes;
  Generation generation;
};
constexpr CompiledKernel kAmpere{"triton_mma_64x64x32_s3_w4", 16384, Generation::hopper};
constexpr CompiledKernel kBlackwell{"triton_ptr_64x64x32_s2_w4_sm100", 16400, Generation::blackwell};

struct Gemm {
  std::vector<uint16_t> a = std::vector<uint16_t>(kSize * kSize), b = a, c = a;
  Diagnostics diags;
  InterpreterResult result;

  void run(const CompiledKernel& compiled, AsyncOrder order) {
    std::ifstream file(std::string(TCSIM_SOURCE_DIR "/isa/exec/testdata/") + compiled.file + ".ptx");
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
    launch.dynamic_smem_bytes = compiled.shared_bytes;
    launch.generation = static_cast<uint8_t>(compiled.generation);
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

/// warning: the only kind that may be reported; nullptr: none.
void expect_gemm(const CompiledKernel& kernel, const char* warning) {
  Gemm eager, late, random;
  eager.run(kernel, AsyncOrder::eager);
  late.run(kernel, AsyncOrder::late);
  random.run(kernel, AsyncOrder::random);
  for (const Gemm* g : {&eager, &late, &random}) {
    EXPECT_TRUE(g->result.ok);
    for (const Diagnostic& d : g->diags.all()) EXPECT_TRUE(warning != nullptr && d.kind == warning) << d.str();
  }
  EXPECT_EQ(eager.c, late.c);
  EXPECT_EQ(eager.c, random.c);
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) {
      double sum = 0, size = 0;
      for (int k = 0; k < kSize; ++k) {
        const double p =
            double{fp::half_to_float(eager.a[static_cast<size_t>(i * kSize + k)])} * fp::half_to_float(eager.b[static_cast<size_t>(k * kSize + j)]);
        sum += p;
        size += std::fabs(p);
      }
      // One unit in the last place of f16 (2^-10 of the value, 2^-24 at least), and K * 2^-23 * sum |a b| of the f32 sums.
      const double tolerance = std::max(std::ldexp(std::fabs(sum), -10), std::ldexp(1.0, -24)) + kSize * std::ldexp(size, -23);
      EXPECT_NEAR(fp::half_to_float(eager.c[static_cast<size_t>(i * kSize + j)]), sum, tolerance) << i << " " << j;
    }
}

TEST(CompiledGemm, Ampere) { expect_gemm(kAmpere, nullptr); }
// Triton leaves the tcgen05 fences out.
TEST(CompiledGemm, Blackwell) { expect_gemm(kBlackwell, "missing-tcgen05-fence"); }

}  // namespace
}  // namespace tcsim::isa
