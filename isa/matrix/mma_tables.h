// Tables an MmaPlan builds once, and the units that use them. Internal to isa/matrix.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "isa/matrix/mma_plan.h"
#include "isa/matrix/sparse_indices.h"
#include "isa/numeric/tensor_core.h"

namespace tcsim::isa {

enum class MmaUnit : uint8_t { floats, scaled_groups, fma_chain, doubles, integers, bits };

struct MmaPlan::Tables {
  explicit Tables(const MmaDesc& desc);

  MmaDesc desc;
  MmaUnit unit = MmaUnit::floats;
  const TensorCoreArith* arith = nullptr;
  int tiles = 1;                          // independent matrices (quad pairs)
  int k = 0;                              // products an output element (stored elements for sparse A)
  std::array<FragmentSpec, 4> fragments;  // a, b, c, d

  // For every register, lane and element of it, in this order: index into the matrix.
  // A: [tile][m][k], B: [tile][n / 8][k][8], C and D: [tile][m][n]. Repeated registers (wmma .f16) are left out of a and b.
  std::vector<uint16_t> a, b, c, d;
  // Shapes of the tables that have a fast path: four lanes hold 8 halves of a row of A; two registers of four lanes hold 8 columns of C or D.
  bool a_rows = false, c_pairs = false, d_pairs = false;
  SparseIndices meta;

  const FragmentSpec& fragment(MatrixRole role) const { return fragments[static_cast<size_t>(role)]; }
};

struct Registers {
  uint32_t* const* d;
  const uint32_t* const* a;
  const uint32_t* const* b;
  const uint32_t* const* c;
  const uint32_t* metadata;
  MmaScales scales;
};

void run_floats(const MmaPlan::Tables& t, const Registers& r);
void run_scaled_groups(const MmaPlan::Tables& t, const Registers& r);
void run_fma_chain(const MmaPlan::Tables& t, const Registers& r);
void run_doubles(const MmaPlan::Tables& t, const Registers& r);
void run_integers(const MmaPlan::Tables& t, const Registers& r);
void run_bits(const MmaPlan::Tables& t, const Registers& r);

}  // namespace tcsim::isa
