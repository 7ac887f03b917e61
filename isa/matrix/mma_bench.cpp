// Host time of one warp-level matrix instruction, registers in and out.
#include <benchmark/benchmark.h>

#include <random>

#include "isa/matrix/mma_plan.h"
#include "isa/matrix/wgmma_plan.h"

namespace tcsim::isa {
namespace {

struct File {
  std::vector<std::vector<uint64_t>> registers;
  std::vector<uint32_t*> pointers;
  File(int count, std::mt19937& rng, uint32_t (*word)(std::mt19937&)) : registers(static_cast<size_t>(count), std::vector<uint64_t>(32)) {
    for (auto& r : registers) {
      auto* words = reinterpret_cast<uint32_t*>(r.data());
      for (int i = 0; i < 64; ++i) words[i] = word(rng);
      pointers.push_back(words);
    }
  }
};

uint32_t halves(std::mt19937& rng) {  // f16 or bf16 pairs near 1
  const auto one = [&] { return (rng() & 0x83ff) | (0x3800 + (rng() & 3) * 0x400); };
  return static_cast<uint32_t>(one() << 16 | one());
}
uint32_t any(std::mt19937& rng) { return static_cast<uint32_t>(rng()); }
uint32_t bytes(std::mt19937& rng) { return static_cast<uint32_t>(rng()) & 0xbfbfbfbfu; }  // fp8 without NaN
uint32_t floats(std::mt19937& rng) { return static_cast<uint32_t>((rng() & 0x807fffff) | 0x3f800000); }

void run(benchmark::State& state, MmaDesc desc, uint32_t (*inputs)(std::mt19937&), uint32_t (*acc)(std::mt19937&)) {
  const MmaPlan plan(desc);
  std::mt19937 rng(5);
  File a(plan.registers(MatrixRole::a), rng, inputs), b(plan.registers(MatrixRole::b), rng, inputs);
  File c(plan.registers(MatrixRole::c), rng, acc), d(plan.registers(MatrixRole::d), rng, acc), e(1, rng, any);
  for (auto& w : e.registers[0]) w = 0x4e4e9d9d9d9d4e4eu;
  for (auto _ : state) {
    plan.run(d.pointers.data(), a.pointers.data(), b.pointers.data(), c.pointers.data(), e.pointers[0]);
    benchmark::DoNotOptimize(d.registers.data());
    benchmark::ClobberMemory();
  }
}

/// One warp of a wgmma: B in 128-byte swizzled rows, A in shared memory too.
void run_wgmma(benchmark::State& state, WgmmaDesc desc, uint32_t (*inputs)(std::mt19937&), uint32_t (*acc)(std::mt19937&)) {
  const WgmmaPlan plan(desc);
  std::mt19937 rng(5);
  File d(plan.d_registers(), rng, acc), e(1, rng, any);
  for (auto& w : e.registers[0]) w = 0x4e4e9d9d9d9d4e4eu;
  std::vector<uint32_t> memory((64 + 256) * 32 + 256);
  for (auto& w : memory) w = inputs(rng);
  const uint64_t a = encode_wgmma_descriptor({0, 8192, 1024, 0, 128}), b = encode_wgmma_descriptor({64 * 128, 8192, 1024, 0, 128});
  for (auto _ : state) {
    plan.run({.d = d.pointers.data(),
              .metadata = e.pointers[0],
              .desc_a = a,
              .desc_b = b,
              .scale_d = false,
              .warp = 1,
              .memory = reinterpret_cast<const uint8_t*>(memory.data())});
    benchmark::DoNotOptimize(d.registers.data());
    benchmark::ClobberMemory();
  }
  const double products = 16.0 * desc.shape.n * (desc.sparse ? desc.shape.k / 2 : desc.shape.k);
  state.counters["products/s"] = benchmark::Counter(products * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

constexpr auto kHopper = Generation::hopper;
constexpr auto kAmpere = Generation::ampere;
using T = Type;
MmaDesc dense(Generation g, MatrixShape s, T ab, T acc) { return {.generation = g, .shape = s, .a = ab, .b = ab, .c = acc, .d = acc}; }

BENCHMARK_CAPTURE(run, m16n8k16_f32_f16_hopper, dense(kHopper, {16, 8, 16}, T::f16, T::f32), halves, floats);
BENCHMARK_CAPTURE(run, m16n8k16_f32_f16_ampere, dense(kAmpere, {16, 8, 16}, T::f16, T::f32), halves, floats);
BENCHMARK_CAPTURE(run, m16n8k16_f16_f16_hopper, dense(kHopper, {16, 8, 16}, T::f16, T::f16), halves, halves);
BENCHMARK_CAPTURE(run, m16n8k16_f32_bf16_hopper, dense(kHopper, {16, 8, 16}, T::bf16, T::f32), halves, floats);
BENCHMARK_CAPTURE(run, m16n8k8_f32_tf32_hopper, dense(kHopper, {16, 8, 8}, T::tf32, T::f32), floats, floats);
BENCHMARK_CAPTURE(run, m16n8k32_f32_e4m3_hopper, dense(kHopper, {16, 8, 32}, T::e4m3, T::f32), bytes, floats);
BENCHMARK_CAPTURE(run, m16n8k32_s32_s8, dense(kHopper, {16, 8, 32}, T::s8, T::s32), any, any);
BENCHMARK_CAPTURE(run, m16n8k64_s32_s4, dense(kHopper, {16, 8, 64}, T::s4, T::s32), any, any);
BENCHMARK_CAPTURE(run, m8n8k4_f64, dense(kHopper, {8, 8, 4}, T::f64, T::f64), floats, floats);

WgmmaDesc wide(int n, int k, T ab, T acc) { return {.shape = {64, n, k}, .a = ab, .b = ab, .d = acc}; }
WgmmaDesc transposed(WgmmaDesc d) { return d.a_major = d.b_major = Major::mn, d; }
WgmmaDesc sparse(WgmmaDesc d) { return d.sparse = true, d; }

BENCHMARK_CAPTURE(run_wgmma, m64n256k16_f32_f16, wide(256, 16, T::f16, T::f32), halves, floats);
BENCHMARK_CAPTURE(run_wgmma, m64n256k16_f32_f16_transposed, transposed(wide(256, 16, T::f16, T::f32)), halves, floats);
BENCHMARK_CAPTURE(run_wgmma, m64n128k16_f32_f16, wide(128, 16, T::f16, T::f32), halves, floats);
BENCHMARK_CAPTURE(run_wgmma, m64n128k16_f16_f16, wide(128, 16, T::f16, T::f16), halves, halves);
BENCHMARK_CAPTURE(run_wgmma, m64n8k16_f32_bf16, wide(8, 16, T::bf16, T::f32), halves, floats);
BENCHMARK_CAPTURE(run_wgmma, m64n128k8_f32_tf32, wide(128, 8, T::tf32, T::f32), floats, floats);
BENCHMARK_CAPTURE(run_wgmma, m64n128k32_f32_e4m3, wide(128, 32, T::e4m3, T::f32), bytes, floats);
BENCHMARK_CAPTURE(run_wgmma, m64n128k32_s32_s8, wide(128, 32, T::s8, T::s32), any, any);
BENCHMARK_CAPTURE(run_wgmma, m64n128k256_s32_b1, wide(128, 256, T::b1, T::s32), any, any);
BENCHMARK_CAPTURE(run_wgmma, m64n128k32_f32_f16_sparse, sparse(wide(128, 32, T::f16, T::f32)), halves, floats);

}  // namespace
}  // namespace tcsim::isa

BENCHMARK_MAIN();
