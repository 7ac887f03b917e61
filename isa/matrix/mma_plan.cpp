#include "isa/matrix/mma_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "isa/check.h"
#include "isa/matrix/mma_tables.h"

namespace tcsim::isa {
namespace {

bool is_f8(Type t) { return t == Type::e4m3 || t == Type::e5m2; }
bool is_f8f6f4(Type t) { return is_f8(t) || t == Type::e3m2 || t == Type::e2m3 || t == Type::e2m1; }
bool is_int8(Type t) { return t == Type::s8 || t == Type::u8; }
bool is_int4(Type t) { return t == Type::s4 || t == Type::u4; }

/// A and B may differ within a family: floats of 8 bits and less, signedness.
bool same_kind(Type a, Type b) { return a == b || (is_f8f6f4(a) && is_f8f6f4(b)) || (is_int8(a) && is_int8(b)) || (is_int4(a) && is_int4(b)); }

MatrixOrder order_of(const MmaDesc& d, MatrixRole role) { return role == MatrixRole::b ? d.b_order : d.a_order; }

Type type_of(const MmaDesc& d, MatrixRole role) {
  switch (role) {
    case MatrixRole::a: return d.a;
    case MatrixRole::b: return d.b;
    case MatrixRole::c: return d.c;
    default: return d.d;
  }
}

std::optional<FragmentSpec> spec_of(const MmaDesc& d, MatrixRole role) {
  return fragment_spec(d.family, d.shape, role, type_of(d, role), order_of(d, role));
}

int selectors(const MmaDesc& d) {
  const int chunks = chunks_per_row(d.a, d.shape.k);
  return chunks == 4 ? 4 : chunks == 8 ? 2 : 1;
}

/// PTX ISA, "Block Scaling for mma.sync", table of kinds, types and scale_vec sizes.
std::string check_scales(const MmaDesc& d) {
  const bool packed = is_packed_e2m1(d.family, d.shape, d.a);
  if (d.scale == Type::none) return packed ? "e2m1 with this K needs .block_scale" : "";
  if (!is_f8f6f4(d.a) || d.shape.k < (d.family == MatrixFamily::mma_sparse ? 64 : 32)) return "no .block_scale for this shape and type";
  if (d.c != Type::f32 || d.d != Type::f32) return ".block_scale accumulates in .f32 only";
  const int wanted = !packed ? 1 : d.scale == Type::ue4m3 ? 4 : 2;
  if (d.scale != Type::ue8m0 && (d.scale != Type::ue4m3 || !packed)) return fmt::format("no scales of .{} for .{}", name(d.scale), name(d.a));
  if (d.scales != wanted) return fmt::format("found scale_vec::{}X, expected scale_vec::{}X with .{}", d.scales, wanted, name(d.scale));
  return {};
}

}  // namespace

std::string MmaPlan::check(const MmaDesc& d) {
  if (!same_kind(d.a, d.b)) return fmt::format("A is .{} but B is .{}", name(d.a), name(d.b));
  for (MatrixRole role : {MatrixRole::a, MatrixRole::b, MatrixRole::c, MatrixRole::d})
    if (!spec_of(d, role))
      return fmt::format("no m{}n{}k{} with .{} for operand {}", d.shape.m, d.shape.n, d.shape.k, name(type_of(d, role)),
                         "ABCD"[static_cast<int>(role)]);
  const bool orders = d.family == MatrixFamily::wmma || (d.shape.k == 4 && d.a == Type::f16);
  if (!orders && (d.a_order != MatrixOrder::row || d.b_order != MatrixOrder::col)) return "only .row.col exists for this shape and type";
  if ((d.a == Type::b1) != (d.bit_op != BitOp::none)) return ".b1 needs .xor.popc or .and.popc, and other types take neither";
  if (d.satfinite && !is_int8(d.a) && !is_int4(d.a)) return ".satfinite exists for 8-bit and 4-bit integers only";
  if (d.family == MatrixFamily::mma_sparse && (d.selector < 0 || d.selector >= selectors(d)))
    return fmt::format("sparsity selector is {}, expected 0 to {}", d.selector, selectors(d) - 1);
  for (Type acc : {d.c, d.d})
    if (!accumulates_in(d.a, acc)) return fmt::format(".{} operands do not accumulate in .{}", name(d.a), name(acc));
  const bool c_float = d.c == Type::f16 || d.c == Type::f32;
  if (d.c != d.d && !(c_float && d.a == Type::f16)) return fmt::format("C is .{} but D is .{}", name(d.c), name(d.d));
  return check_scales(d);
}

MmaPlan::MmaPlan(const MmaDesc& desc) : desc_(desc), tables_(std::make_unique<const Tables>(desc)) {}
MmaPlan::~MmaPlan() = default;
MmaPlan::MmaPlan(MmaPlan&&) noexcept = default;
MmaPlan& MmaPlan::operator=(MmaPlan&&) noexcept = default;

int MmaPlan::registers(MatrixRole role) const { return tables_->fragment(role).registers; }
int MmaPlan::register_bits() const { return desc_.a == Type::f64 ? 64 : 32; }

void MmaPlan::run(uint32_t* const* d, const uint32_t* const* a, const uint32_t* const* b, const uint32_t* const* c, const uint32_t* metadata,
                  const MmaScales& scales) const {
  const Registers r{d, a, b, c, metadata, scales};
  switch (tables_->unit) {
    case MmaUnit::floats: return run_floats(*tables_, r);
    case MmaUnit::scaled_groups: return run_scaled_groups(*tables_, r);
    case MmaUnit::fma_chain: return run_fma_chain(*tables_, r);
    case MmaUnit::doubles: return run_doubles(*tables_, r);
    case MmaUnit::integers: return run_integers(*tables_, r);
    case MmaUnit::bits: return run_bits(*tables_, r);
  }
}

}  // namespace tcsim::isa
