#include "isa/numeric/tensor_core.h"

namespace tcsim::isa {
namespace {

constexpr TensorCoreArith f32(int block, int bits, int clamp) { return {block, bits, SumOutput::f32, Emulation::none, clamp}; }
constexpr TensorCoreArith f16(int block, int bits, int clamp) { return {block, bits, SumOutput::f16, Emulation::none, clamp}; }
constexpr TensorCoreArith with(TensorCoreArith a, Emulation e) { a.emulation = e; return a; }
constexpr TensorCoreArith m13(TensorCoreArith a) { a.output = SumOutput::f32_m13; return a; }

constexpr TensorCoreArith kNo{};
constexpr TensorCoreArith kFma32{4, 0, SumOutput::f32, Emulation::fma_chain, 0}, kFma16{4, 0, SumOutput::f16, Emulation::fma_chain, 0};
constexpr auto kPairs = Emulation::fp8_pairs;
using G = Generation;
using T = Type;
constexpr auto kSync = MmaPath::mma_sync;
constexpr auto kWgmma = MmaPath::wgmma;
constexpr auto kTcgen05 = MmaPath::tcgen05;

// Lower clamps of E: arXiv 2512.07004 (model sources).
constexpr ArithRow kTable[] = {
    {G::volta, kSync, T::f16, 0, f32(4, 23, -1000), f16(4, 23, -19)},
    {G::turing, kSync, T::f16, 4, f32(4, 24, -1000), f16(4, 24, -20)},
    {G::turing, kSync, T::f16, 0, f32(8, 24, -1000), f16(8, 24, -20)},

    {G::ampere, kSync, T::f16, 4, kFma32, kFma16},
    {G::ampere, kSync, T::f16, 0, f32(8, 24, -132), f16(8, 24, -20)},
    {G::ampere, kSync, T::bf16, 0, f32(8, 24, -132), kNo},
    {G::ampere, kSync, T::tf32, 0, f32(4, 24, -132), kNo},

    {G::ada, kSync, T::f16, 4, kFma32, kFma16},
    {G::ada, kSync, T::f16, 0, f32(8, 24, -132), f16(8, 24, -20)},
    {G::ada, kSync, T::bf16, 0, f32(8, 24, -132), kNo},
    {G::ada, kSync, T::tf32, 0, f32(4, 24, -132), kNo},
    {G::ada, kSync, T::e4m3, 0, m13(f32(16, 13, -132)), f16(16, 13, -20)},

    {G::hopper, kSync, T::f16, 4, kFma32, kFma16},
    {G::hopper, kSync, T::f16, 8, f32(8, 25, -133), f16(8, 25, -21)},
    {G::hopper, kSync, T::f16, 0, f32(16, 25, -133), f16(16, 25, -21)},
    {G::hopper, kSync, T::bf16, 8, f32(8, 25, -133), kNo},
    {G::hopper, kSync, T::bf16, 0, f32(16, 25, -133), kNo},
    {G::hopper, kSync, T::tf32, 4, f32(4, 25, -133), kNo},
    {G::hopper, kSync, T::tf32, 0, f32(8, 25, -133), kNo},
    {G::hopper, kSync, T::e4m3, 16, with(f32(8, 25, -133), kPairs), with(f16(8, 25, -21), kPairs)},
    {G::hopper, kSync, T::e4m3, 0, with(f32(16, 25, -133), kPairs), with(f16(16, 25, -21), kPairs)},
    {G::hopper, kWgmma, T::f16, 0, f32(16, 25, -133), f16(16, 25, -21)},
    {G::hopper, kWgmma, T::bf16, 0, f32(16, 25, -133), kNo},
    {G::hopper, kWgmma, T::tf32, 0, f32(8, 25, -133), kNo},
    {G::hopper, kWgmma, T::e4m3, 0, m13(f32(32, 13, -133)), f16(32, 13, -21)},

    {G::blackwell, kSync, T::f16, 4, kFma32, kFma16},
    {G::blackwell, kSync, T::f16, 8, f32(8, 25, -133), f16(8, 25, -21)},
    {G::blackwell, kSync, T::f16, 0, f32(16, 25, -133), f16(16, 25, -21)},
    {G::blackwell, kSync, T::bf16, 8, f32(8, 25, -133), kNo},
    {G::blackwell, kSync, T::bf16, 0, f32(16, 25, -133), kNo},
    {G::blackwell, kSync, T::tf32, 4, f32(4, 25, -133), kNo},
    {G::blackwell, kSync, T::tf32, 0, f32(8, 25, -133), kNo},
    {G::blackwell, kSync, T::e4m3, 16, with(f32(8, 25, -133), kPairs), with(f16(8, 25, -21), kPairs)},
    {G::blackwell, kSync, T::e4m3, 0, with(f32(16, 25, -133), kPairs), with(f16(16, 25, -21), kPairs)},
    {G::blackwell, kTcgen05, T::f16, 0, f32(16, 25, -133), f16(16, 25, -21)},
    {G::blackwell, kTcgen05, T::bf16, 0, f32(16, 25, -133), kNo},
    {G::blackwell, kTcgen05, T::tf32, 0, f32(8, 25, -133), kNo},
    {G::blackwell, kTcgen05, T::e4m3, 0, f32(32, 25, -133), f16(32, 25, -21)},
};

}  // namespace

std::span<const ArithRow> arith_table() { return kTable; }

const TensorCoreArith* find_arith(Generation generation, MmaPath path, Type input, Type accumulator, int k) {
  if (input == T::e5m2) input = T::e4m3;
  for (const ArithRow& row : kTable) {
    if (row.generation != generation || row.path != path || row.input != input) continue;
    if (row.k != 0 && row.k != k) continue;
    const TensorCoreArith& a = accumulator == T::f16 ? row.f16 : row.f32;
    return a.block > 0 ? &a : nullptr;
  }
  return nullptr;
}

}  // namespace tcsim::isa
