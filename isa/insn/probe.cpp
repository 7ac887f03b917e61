#include "isa/insn/probe.h"

#include <algorithm>
#include <random>
#include <set>

#include "isa/exec/context.h"

namespace tcsim::isa {
namespace {

using Random = std::mt19937_64;

/// A floating-point encoding: special values, subnormals, extremes, values with few bits, values near 1.
uint64_t float_value(Random& g, int exponent_bits, int fraction_bits, int kind) {
  const uint64_t emax = (uint64_t{1} << exponent_bits) - 1, m = (uint64_t{1} << fraction_bits) - 1, bias = emax >> 1;
  // Drawn in this order on every compiler: the arguments of a call have none.
  const uint64_t sign = (g() & 1) << (exponent_bits + fraction_bits);
  const uint64_t e = g();
  const uint64_t f = g();
  const auto make = [&](uint64_t exponent, uint64_t fraction) { return sign | exponent << fraction_bits | (fraction & m); };
  switch (kind % 16) {
    case 0: {
      const uint64_t special[] = {make(0, 0),        make(0, 1),        make(0, m),        make(1, 0),    make(1, 1),
                                  make(emax - 1, m), make(emax, 0),     make(emax, 1),     make(emax, m), make(emax, (m >> 1) + 1),
                                  make(bias, 0),     make(bias + 1, 0), make(bias - 1, 0), make(bias, 1), make(bias, m)};
      return special[e % std::size(special)];
    }
    case 1: return make(e % (emax + 1), f);
    case 2: return make(0, f);
    case 3: return make(1 + e % 3, f);
    case 4: return make(emax - 1 - e % 3, f);
    case 5: return make(bias - 4 + e % 9, f & ~((uint64_t{1} << fraction_bits / 2) - 1));
    case 6: return make((bias - 3 + e % 40) % emax, f);
    case 7: return make(bias / 2 + e % bias, f);
    default: return make(bias - 4 + e % 9, f);
  }
}

uint64_t integer_value(Random& g, int width, int kind) {
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const uint64_t r = g();
  const uint64_t shift = g() % 64;
  switch (kind % 16) {
    case 0:
    case 9: {
      const uint64_t special[] = {0, 1, 2, mask, mask >> 1, (mask >> 1) + 1, mask - 1, 31, 32, 33, 63, 64, 255, 16, 15, 8};
      return special[r % 16] & mask;
    }
    case 1:
    case 10: return r % 80 & mask;
    case 2:
    case 11: return (0 - r % 40) & mask;
    case 3: return (uint64_t{1} << r % 64) & mask;
    case 4: return r >> shift & mask;
    case 5: return ~(r >> shift) & mask;
    default: return r & mask;
  }
}

uint64_t value_of(Random& g, Type type, int kind) {
  switch (type) {
    case Type::f32:
    case Type::tf32: return float_value(g, 8, 23, kind);
    case Type::f64: return float_value(g, 11, 52, kind);
    case Type::f16: return float_value(g, 5, 10, kind);
    case Type::bf16: return float_value(g, 8, 7, kind);
    case Type::f16x2: {
      const uint64_t low = float_value(g, 5, 10, kind);
      const int other = kind + static_cast<int>(g() % 3);
      return low | float_value(g, 5, 10, other) << 16;
    }
    case Type::bf16x2: {
      const uint64_t low = float_value(g, 8, 7, kind);
      const int other = kind + static_cast<int>(g() % 3);
      return low | float_value(g, 8, 7, other) << 16;
    }
    case Type::f32x2: {
      const uint64_t low = float_value(g, 8, 23, kind);
      return low | float_value(g, 8, 23, kind) << 32;
    }
    case Type::b32: {  // also carries packed halves
      if (kind % 16 < 12) break;
      const uint64_t low = float_value(g, 5, 10, kind - 12);
      return low | float_value(g, 5, 10, kind) << 16;
    }
    default: break;
  }
  return integer_value(g, bits(type), kind);
}

}  // namespace

std::vector<Variant> probe_variants(size_t limit) {
  std::vector<Variant> out;
  std::set<std::string> seen;
  for (const auto chapter : {integer_instructions(), float_instructions(), compare_instructions(), logic_instructions(), convert_instructions()})
    for (const InstDef& def : chapter) {
      if (def.since.sm > 90) continue;
      for (Variant& v : variants_of(def, {9, 0, 90, false}, limit))
        if (v.accepted && seen.insert(v.statement).second) out.push_back(std::move(v));
    }
  for (Variant& v : out) v.inst.operands = v.operands.data();
  return out;
}

std::vector<Type> probe_types(const std::vector<Variant>& variants) {
  std::vector<Type> types;
  for (const Variant& v : variants)
    for (const Type type : v.operand_types)
      if (type != Type::none && std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  return types;
}

std::vector<uint64_t> probe_values(const std::vector<Type>& types) {
  std::vector<uint64_t> values(types.size() * kProbePositions * kProbeLanes);
  for (size_t t = 0; t < types.size(); ++t) {
    Random g(static_cast<uint64_t>(types[t]) + 1);  // a type's values do not depend on the other types
    uint64_t* base = values.data() + t * kProbePositions * kProbeLanes;
    for (int i = 0; i < kProbePositions * kProbeLanes; ++i) {
      const int kind = static_cast<int>(g() % 64);
      base[i] = value_of(g, types[t], kind);
    }
    // Related operands: equal, or equal but for the sign.
    for (int i = 0; i < kProbeLanes; ++i) {
      const uint64_t first = base[kProbeLanes + i];
      if (g() % 12 == 0) base[2 * kProbeLanes + i] = first;
      if (g() % 16 == 0) base[3 * kProbeLanes + i] = first;
      if (is_float(types[t]) && g() % 16 == 0) base[2 * kProbeLanes + i] = first ^ uint64_t { 1 } << (bits(types[t]) - 1);
    }
  }
  return values;
}

bool reads_carry(const Variant& v) {
  return v.mnemonic.substr(0, 4) == "addc" || v.mnemonic.substr(0, 4) == "subc" || v.mnemonic.substr(0, 4) == "madc";
}
bool writes_carry(const Variant& v) { return v.mnemonic.find(".cc") != std::string::npos; }

std::vector<uint64_t> probe_results(Variant& v, const std::vector<Type>& types, const std::vector<uint64_t>& values) {
  std::vector<uint64_t> out(2 * kProbeLanes);
  alignas(64) std::array<uint32_t, kLanes * 32> regs{};
  std::array<uint32_t, 32> preds{};
  uint32_t carry = 0;
  ExecContext ctx;
  ctx.regs = regs.data();
  ctx.preds = preds.data();
  ctx.carry = &carry;
  const auto at = [&](size_t position, Type type, int lane) {
    const size_t t = static_cast<size_t>(std::find(types.begin(), types.end(), type) - types.begin());
    return values[(t * kProbePositions + position) * kProbeLanes + static_cast<size_t>(lane)];
  };
  for (int start = 0; start < kProbeLanes; start += kLanes) {
    regs.fill(0);
    preds.fill(0);
    carry = 0;
    for (int l = 0; l < kLanes; ++l) {
      if (reads_carry(v)) carry |= static_cast<uint32_t>(at(4, types[0], start + l) & 1) << l;
      for (size_t p = 1; p < v.operand_types.size(); ++p) {
        const Type type = v.operand_types[p];
        const auto slot = static_cast<int32_t>(4 * p);
        if (type == Type::none) continue;
        const uint64_t value = at(p, type, start + l);
        if (type == Type::pred) preds[slot] |= static_cast<uint32_t>(value & 1) << l;
        else if (bits(type) == 64) ctx.reg<uint64_t>(slot)[l] = value;
        else ctx.reg<uint32_t>(slot)[l] = static_cast<uint32_t>(value);
      }
    }
    v.inst.exec(ctx, v.inst, kFullMask);
    const Type to = v.operand_types[0];
    for (int l = 0; l < kLanes; ++l) {
      out[start + l] = to == Type::pred ? preds[0] >> l & 1 : bits(to) == 64 ? ctx.reg<uint64_t>(0)[l] : ctx.reg<uint32_t>(0)[l];
      if (v.inst.groups[0].count == 2) out[kProbeLanes + start + l] = preds[1] >> l & 1;
      else if (writes_carry(v)) out[kProbeLanes + start + l] = carry >> l & 1;
    }
  }
  return out;
}

uint64_t hash_of(const uint64_t* results, size_t count) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < count; ++i)
    for (int byte = 0; byte < 8; ++byte) h = (h ^ (results[i] >> (8 * byte) & 0xff)) * 0x100000001b3u;
  return h;
}

}  // namespace tcsim::isa
