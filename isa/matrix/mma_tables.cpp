#include "isa/matrix/mma_tables.h"

#include "isa/check.h"
#include "isa/numeric/block_scale.h"

namespace tcsim::isa {
namespace {

/// Calls f(flat position in the matrix) for register, lane, element in order.
std::vector<uint16_t> flat_indices(const FragmentSpec& f, int rows, int cols, Emulation emulation, MatrixRole role) {
  std::vector<uint16_t> out;
  const int registers = f.distinct ? f.distinct : f.registers;
  for (int reg = 0; reg < registers; ++reg)
    for (int lane = 0; lane < 32; ++lane)
      for (int sub = 0; sub < f.per_register(); ++sub) {
        const Element e = element_at(f, lane, reg, sub);
        const int row = role == MatrixRole::b ? summation_place(emulation, e.row, rows) : e.row;
        const int col = role == MatrixRole::a ? summation_place(emulation, e.col, cols) : e.col;
        // B lies in panels of 8 columns (isa/numeric/float_tile.h), the other operands row by row.
        out.push_back(static_cast<uint16_t>(role == MatrixRole::b ? ((e.tile * cols + col) / 8 * rows + row) * 8 + col % 8
                                                                  : (e.tile * rows + row) * cols + col));
      }
  return out;
}

/// Elements of four neighbouring lanes (8 halves) are consecutive.
bool rows_of_eight(const FragmentSpec& f, const std::vector<uint16_t>& places) {
  if (f.element_bits != 16 || places.size() % 64 != 0) return false;
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != places[i / 8 * 8] + i % 8) return false;
  return true;
}

/// Lanes 4g..4g+3 of an even register hold columns 0, 2, 4, 6 of eight consecutive elements, the next register the others.
bool pairs_of_registers(const FragmentSpec& f, const std::vector<uint16_t>& places) {
  if (f.element_bits != 32 || places.size() % 64 != 0) return false;
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != places[i / 64 * 64 + i % 32 / 4 * 4] + 2 * (i % 4) + i / 32 % 2) return false;
  return true;
}

MmaUnit unit_of(const MmaDesc& d, const TensorCoreArith* arith) {
  switch (d.a) {
    case Type::b1: return MmaUnit::bits;
    case Type::s8:
    case Type::u8:
    case Type::s4:
    case Type::u4: return MmaUnit::integers;
    case Type::f64: return MmaUnit::doubles;
    case Type::e2m1:
      if (is_packed_e2m1(d.family, d.shape, d.a)) return MmaUnit::scaled_groups;
      [[fallthrough]];
    default: return arith->emulation == Emulation::fma_chain ? MmaUnit::fma_chain : MmaUnit::floats;
  }
}

Type operand_type(const MmaDesc& d, MatrixRole role) {
  return role == MatrixRole::a ? d.a : role == MatrixRole::b ? d.b : role == MatrixRole::c ? d.c : d.d;
}

}  // namespace

MmaPlan::Tables::Tables(const MmaDesc& description) : desc(description) {
  const std::string why = MmaPlan::check(desc);
  TC_CHECK(why.empty(), "{}", why);
  for (int i = 0; i < 4; ++i) {
    const auto role = static_cast<MatrixRole>(i);
    fragments[static_cast<size_t>(i)] =
        *fragment_spec(desc.family, desc.shape, role, operand_type(desc, role), role == MatrixRole::b ? desc.b_order : desc.a_order);
  }
  const bool sparse = desc.family == MatrixFamily::mma_sparse;
  k = sparse ? desc.shape.k / 2 : desc.shape.k;
  tiles = fragments[0].tiles();
  if (desc.scale != Type::none) {
    arith = is_packed_e2m1(desc.family, desc.shape, desc.a) ? &kMxf4Arith.sum : &kMxf8f6f4Arith.sum;
  } else if (accumulates_in(desc.a, Type::f32)) {
    // wmma m16n16k8 .tf32 is issued as m16n8k4 steps (seen in the result bits of an H200).
    const int step = desc.family == MatrixFamily::wmma && desc.a == Type::tf32 ? 4 : k;
    arith = find_arith(desc.generation, MmaPath::mma_sync, desc.a, desc.d, step);
    // The chip has no such unit: later chips' programs on earlier machines are refused before this.
    for (Generation other : {Generation::hopper, Generation::rtx_blackwell})
      if (!arith) arith = find_arith(other, MmaPath::mma_sync, desc.a, desc.d, step);
    TC_CHECK(arith != nullptr, "no arithmetic for this type");
  }
  unit = unit_of(desc, arith);
  const Emulation emulation = arith ? arith->emulation : Emulation::none;
  const auto [m, n, full_k] = desc.shape;
  a = flat_indices(fragments[0], m, k, emulation, MatrixRole::a);
  b = flat_indices(fragments[1], full_k, n, sparse ? Emulation::none : emulation, MatrixRole::b);
  c = flat_indices(fragments[2], m, n, Emulation::none, MatrixRole::c);
  d = flat_indices(fragments[3], m, n, Emulation::none, MatrixRole::d);
  a_rows = rows_of_eight(fragments[0], a);
  c_pairs = pairs_of_registers(fragments[2], c);
  d_pairs = pairs_of_registers(fragments[3], d);
  if (!sparse) return;
  meta = SparseIndices(desc.a, m, full_k, desc.selector, emulation);
}

}  // namespace tcsim::isa
