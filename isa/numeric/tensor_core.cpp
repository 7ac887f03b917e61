#include "isa/numeric/tensor_core.h"

namespace tcsim::isa {
namespace {

constexpr TensorCoreArith f32(int block, int bits, int clamp) { return {block, bits, SumOutput::f32, Emulation::none, clamp}; }
constexpr TensorCoreArith f16(int block, int bits, int clamp) { return {block, bits, SumOutput::f16, Emulation::none, clamp}; }
constexpr TensorCoreArith with(TensorCoreArith a, Emulation e) {
  a.emulation = e;
  return a;
}
constexpr TensorCoreArith m13(TensorCoreArith a) {
  a.output = SumOutput::f32_m13;
  return a;
}

constexpr TensorCoreArith kNo{};
constexpr TensorCoreArith kFma32{4, 0, SumOutput::f32, Emulation::fma_chain, 0}, kFma16{4, 0, SumOutput::f16, Emulation::fma_chain, 0};
constexpr auto kPairs = Emulation::fp8_pairs;
using G = Generation;
using T = Type;
constexpr auto kSync = MmaPath::mma_sync;
constexpr auto kWgmma = MmaPath::wgmma;
constexpr auto kTcgen05 = MmaPath::tcgen05;

constexpr std::string_view kModelOnly = "as MMA-Sim (arXiv 2511.10909) has it; no hardware vectors";
constexpr std::string_view kAsB200 = "taken to be as on the B200; no hardware vectors";
constexpr std::string_view kNarrowAssumed = "e3m2 and e2m3 are taken to add up as e2m1 and fp8 do in MMA-Sim (arXiv 2511.10909); no hardware vectors";

// Lower clamps of E: arXiv 2512.07004 (model sources).
constexpr ArithRow kTable[] = {
    {G::volta, kSync, T::f16, 0, f32(4, 23, -1000), f16(4, 23, -19)},
    {G::turing, kSync, T::f16, 4, f32(4, 24, -1000), f16(4, 24, -20), kModelOnly},
    {G::turing, kSync, T::f16, 0, f32(8, 24, -1000), f16(8, 24, -20), kModelOnly},

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
    {G::blackwell, kTcgen05, T::f16, 0, f32(16, 25, -133), f16(16, 25, -21), kModelOnly},
    {G::blackwell, kTcgen05, T::bf16, 0, f32(16, 25, -133), kNo, kModelOnly},
    {G::blackwell, kTcgen05, T::tf32, 0, f32(8, 25, -133), kNo, kModelOnly},
    {G::blackwell, kTcgen05, T::e4m3, 0, f32(32, 25, -133), f16(32, 25, -21), kModelOnly},
    {G::blackwell, kTcgen05, T::e2m1, 0, f32(32, 25, -133), f16(32, 25, -21), kModelOnly},
    {G::blackwell, kTcgen05, T::e3m2, 0, f32(32, 25, -133), f16(32, 25, -21), kNarrowAssumed},

    {G::rtx_blackwell, kSync, T::f16, 4, kFma32, kFma16},
    {G::rtx_blackwell, kSync, T::f16, 8, f32(8, 25, -133), f16(8, 25, -21), kAsB200},
    {G::rtx_blackwell, kSync, T::f16, 0, f32(16, 25, -133), f16(16, 25, -21), kAsB200},
    {G::rtx_blackwell, kSync, T::bf16, 8, f32(8, 25, -133), kNo, kAsB200},
    {G::rtx_blackwell, kSync, T::bf16, 0, f32(16, 25, -133), kNo, kAsB200},
    {G::rtx_blackwell, kSync, T::tf32, 4, f32(4, 25, -133), kNo, kAsB200},
    {G::rtx_blackwell, kSync, T::tf32, 0, f32(8, 25, -133), kNo, kAsB200},
    {G::rtx_blackwell, kSync, T::e4m3, 16, f32(16, 25, -133), f16(16, 25, -21), kModelOnly},
    {G::rtx_blackwell, kSync, T::e4m3, 0, f32(32, 25, -133), f16(32, 25, -21), kModelOnly},
    {G::rtx_blackwell, kSync, T::e2m1, 0, f32(32, 25, -133), f16(32, 25, -21), kModelOnly},
    {G::rtx_blackwell, kSync, T::e3m2, 0, f32(32, 25, -133), f16(32, 25, -21), kNarrowAssumed},
};

}  // namespace

std::span<const ArithRow> arith_table() { return kTable; }

const ArithRow* find_arith_row(Generation generation, MmaPath path, Type input, int k) {
  if (input == T::e5m2) input = T::e4m3;
  if (input == T::e2m3) input = T::e3m2;
  for (const ArithRow& row : kTable) {
    if (row.generation != generation || row.path != path || row.input != input) continue;
    if (row.k == 0 || row.k == k) return &row;
  }
  return nullptr;
}

const TensorCoreArith* find_arith(Generation generation, MmaPath path, Type input, Type accumulator, int k) {
  const ArithRow* row = find_arith_row(generation, path, input, k);
  if (row == nullptr) return nullptr;
  const TensorCoreArith& a = accumulator == T::f16 ? row->f16 : row->f32;
  return a.block > 0 ? &a : nullptr;
}

namespace {

/// Sparse sums: those of the dense instruction with as many products. Captured on an H200 for mma.sp only.
std::string_view sparse_note(const MmaArithmetic& m) {
  if (m.generation == G::hopper && m.path == kSync) return {};
  return "sparse sums are taken to be those of the dense instruction with as many products; no hardware vectors";
}

/// The published vectors have fewer products than the instruction, or are of another shape.
std::string_view short_vectors_note(const MmaArithmetic& m) {
  const bool two_blocks = m.generation == G::ampere || m.generation == G::ada;
  if (two_blocks && ((m.k == 16 && (m.a == T::f16 || m.a == T::bf16)) || (m.k == 8 && m.a == T::tf32)))
    return "vectors confirm each of its two sums; their order is MMA-Sim's (arXiv 2511.10909)";
  if (m.generation == G::ada && m.k == 16 && m.a != T::f16 && m.a != T::bf16 && m.a != T::tf32) return "taken to be as m16n8k32; no hardware vectors";
  if (m.generation == G::blackwell && m.path == kSync && m.k == 8) return "taken to be as on the H200; vectors have another number of products";
  if (m.path == kWgmma && m.accumulator == T::f16) return "f16 accumulators of wgmma as MMA-Sim (arXiv 2511.10909) has them; no hardware vectors";
  return {};
}

}  // namespace

std::string_view arithmetic_note(const MmaArithmetic& m) {
  if (m.scaled) return "block scaling as MMA-Sim (arXiv 2511.10909) has it; no hardware vectors";
  const ArithRow* row = find_arith_row(m.generation, m.path, m.a, m.k);
  if (row == nullptr) return {};
  const ArithRow* other = m.b == m.a ? row : find_arith_row(m.generation, m.path, m.b, m.k);
  for (const ArithRow* r : {row, other})
    if (r && !r->unconfirmed.empty()) return r->unconfirmed;
  return m.sparse ? sparse_note(m) : short_vectors_note(m);
}

}  // namespace tcsim::isa
