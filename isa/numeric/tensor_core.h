// The tensor-core sum as data: how one output element is computed on each generation.
//
//   const TensorCoreArith* arith = find_arith(Generation::hopper, MmaPath::mma_sync, Type::f16, Type::f32, 16);
//   // arith->block == 16, arith->fraction_bits == 25
//
// One block of L products and the running value c (Khattak & Mikaitis, arXiv 2512.07004; MMA-Sim, arXiv 2511.10909; checked
// against stored hardware bits in validation/data):
//   E = the largest exponent of any term (exponents are not renormalised: subnormals keep emin, products may lie in [0, 4))
//   every term is cut toward zero (sign and magnitude) to F fraction bits below 2^E; the cut terms are added exactly
//   the sum is normalised and cut to the output format; the next block takes it as its c
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "isa/numeric/generation.h"
#include "isa/type.h"

namespace tcsim::isa {

/// Which unit computes: warp-level mma.sync and wmma, Hopper's wgmma, Blackwell's tcgen05.mma.
enum class MmaPath : uint8_t { mma_sync, wgmma, tcgen05 };

enum class SumOutput : uint8_t {
  f32,      // cut toward zero to 24 significant bits
  f32_m13,  // cut toward zero to 14 significant bits ("E8M13"), stored as f32
  f16       // rounded to nearest even, once
};

/// How the compiler builds an instruction that the chip does not have.
enum class Emulation : uint8_t {
  none,
  fp8_pairs,  // fp8 unpacked to f16; k mod 4 in {0,1}, then {2,3}, from c = 0; c is added last, rounded to nearest
  fma_chain   // m8n8k4 f16 on sm_80 and later: f32 fused multiply-adds in ascending k on the ordinary cores, c added last
};

struct TensorCoreArith {
  int block = 0;          // L: products per sum
  int fraction_bits = 0;  // F
  SumOutput output = SumOutput::f32;
  Emulation emulation = Emulation::none;
  int min_exponent = -1000;  // lower clamp of E
};

/// One row of the table. k is the K of the instruction (stored elements a row for mma.sp).
struct ArithRow {
  Generation generation;
  MmaPath path;
  Type input;                         // f16, bf16, tf32, e4m3 (and e5m2), e3m2 (and e2m3), e2m1
  int k;                              // 0: any
  TensorCoreArith f32, f16;           // by accumulator type; block == 0: does not exist
  std::string_view unconfirmed = {};  // what no hardware vector confirms; empty: see isa/numeric/README.md
};

/// The whole table, for documentation and tests.
std::span<const ArithRow> arith_table();

/// Row for an instruction's inputs, whatever it accumulates in; nullptr: none.
const ArithRow* find_arith_row(Generation generation, MmaPath path, Type input, int k);

/// Rule for an instruction; nullptr if that generation cannot run it. accumulator: f32 or f16.
const TensorCoreArith* find_arith(Generation generation, MmaPath path, Type input, Type accumulator, int k);

/// A matrix instruction as far as its arithmetic goes. k: of the instruction.
struct MmaArithmetic {
  Generation generation = Generation::ampere;
  MmaPath path = MmaPath::mma_sync;
  Type a = Type::f16, b = Type::f16, accumulator = Type::f32;
  int k = 0;
  bool sparse = false, scaled = false;  // mma.sp and the like; .block_scale
};

/// What no reading of that chip confirms about its result bits, for reports; empty: stored bits of the chip agree with ours, or
/// the result is exact (integers, bits).
std::string_view arithmetic_note(const MmaArithmetic& mma);

}  // namespace tcsim::isa
