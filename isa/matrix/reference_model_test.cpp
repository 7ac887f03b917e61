// A second implementation of the tensor core's sums, written from the published description alone (MMA-Sim, arXiv 2511.10909;
// Khattak & Mikaitis, arXiv 2512.07004), against MmaPlan: every generation and type, with subnormals, zeros of both signs,
// infinities, NaN and overflow. It decodes, sums and rounds by itself and shares only the fragment maps with what it checks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <random>

#include "isa/matrix/mma_plan.h"

namespace tcsim::isa {
namespace {

using Int = boost::multiprecision::cpp_int;
using G = Generation;
using T = Type;

// ---- formats ----

struct Format {
  int exponent_bits, mantissa_bits, low_bits;  // low_bits: below the mantissa, ignored (tf32 in a 32-bit register)
  enum { ieee, only_nan, finite } specials;    // what an exponent of all ones means
  int bits() const { return 1 + exponent_bits + mantissa_bits + low_bits; }
};

Format format_of(T t) {
  switch (t) {
    case T::f16: return {5, 10, 0, Format::ieee};
    case T::bf16: return {8, 7, 0, Format::ieee};
    case T::tf32: return {8, 10, 13, Format::ieee};
    case T::f32: return {8, 23, 0, Format::ieee};
    case T::e5m2: return {5, 2, 0, Format::ieee};
    case T::e4m3: return {4, 3, 0, Format::only_nan};
    case T::e3m2: return {3, 2, 0, Format::finite};
    case T::e2m3: return {2, 3, 0, Format::finite};
    default: return {2, 1, 0, Format::finite};  // e2m1
  }
}

/// (-1)^negative * significand * 2^(exponent - fraction)
struct Value {
  bool nan = false, infinite = false, negative = false;
  Int significand = 0;
  int exponent = 0, fraction = 0;
  bool zero() const { return !nan && !infinite && significand == 0; }
};

Value decode(T t, uint32_t bits) {
  const Format f = format_of(t);
  const uint32_t x = bits >> f.low_bits, ones = (1u << f.exponent_bits) - 1;
  const uint32_t e = x >> f.mantissa_bits & ones, m = x & ((1u << f.mantissa_bits) - 1);
  Value v;
  v.negative = (x >> (f.exponent_bits + f.mantissa_bits) & 1) != 0;
  if (e == ones && f.specials == Format::ieee) {
    (m ? v.nan : v.infinite) = true;
    return v;
  }
  v.nan = f.specials == Format::only_nan && e == ones && m == (1u << f.mantissa_bits) - 1;
  v.significand = e ? m + (1u << f.mantissa_bits) : m;
  v.exponent = static_cast<int>(e ? e : 1) - (static_cast<int>(ones) >> 1);
  v.fraction = f.mantissa_bits;
  return v;
}

Value product(const Value& a, const Value& b) {
  Value p;
  p.negative = a.negative != b.negative;
  p.nan = a.nan || b.nan || (a.infinite && b.zero()) || (b.infinite && a.zero());
  p.infinite = !p.nan && (a.infinite || b.infinite);
  if (p.nan || p.infinite) return p;
  p.significand = a.significand * b.significand;
  p.exponent = a.exponent + b.exponent;
  p.fraction = a.fraction + b.fraction;
  return p;
}

// ---- results ----

enum class Out { f32, f32_13_bits, f16 };

Int shifted(const Int& magnitude, int left) { return left >= 0 ? Int(magnitude << left) : Int(magnitude >> -left); }

/// sum * 2^exponent as f32 toward zero.
uint32_t to_f32(const Int& sum, int exponent, bool thirteen) {
  const Int magnitude = abs(sum);
  const int lead = static_cast<int>(msb(magnitude)) + exponent;
  if (lead > 127) return sum < 0 ? 0xff800000u : 0x7f800000u;
  const int last = std::max(lead - 23, -149);
  auto m = shifted(magnitude, exponent - last).convert_to<uint32_t>();
  if (thirteen) m &= ~0x3ffu;
  if (m == 0) return 0;  // +0, whatever was cut
  const uint32_t field = m >> 23 ? static_cast<uint32_t>(last + 150) : 0;
  return (sum < 0 ? 0x80000000u : 0u) | field << 23 | (m & 0x7fffff);
}

/// sum * 2^exponent to nearest even: f16 (11 bits, down to 2^-24) or f32 (24 bits, down to 2^-149).
uint32_t to_nearest(const Int& sum, int exponent, bool half) {
  const int digits = half ? 11 : 24, lowest = half ? -24 : -149, top = half ? 31 : 255;
  const Int magnitude = abs(sum);
  const int lead = static_cast<int>(msb(magnitude)) + exponent, last = std::max(lead - digits + 1, lowest);
  Int q = shifted(magnitude, exponent - last);
  const Int rest = magnitude - shifted(q, last - exponent);
  if (last > exponent && rest != 0) {
    const Int twice = rest * 2, unit = Int(1) << (last - exponent);
    if (twice > unit || (twice == unit && q % 2 != 0)) ++q;
  }
  auto m = q.convert_to<uint64_t>();
  int field = last - lowest + 1;
  if (m >> digits) m >>= 1, ++field;
  if (m >> (digits - 1) == 0) field = 0;
  const uint32_t sign = sum < 0 ? 1u << (half ? 15 : 31) : 0u;
  if (field >= top) return sign | static_cast<uint32_t>(top) << (digits - 1);
  const uint32_t bits = static_cast<uint32_t>(field) << (digits - 1) | static_cast<uint32_t>(m & ((uint64_t{1} << (digits - 1)) - 1));
  return bits == 0 ? 0 : sign | bits;
}

struct Rule {
  int length = 0, fraction = 0;  // products of a sum, bits kept below the largest exponent
  Out out = Out::f32;
  int lowest = -100000;  // the largest exponent is at least this
};

/// One sum: c and the products, cut to a common grid, added, rounded once.
uint32_t sum_of(const Rule& rule, const std::vector<Value>& terms) {
  const bool half = rule.out == Out::f16;
  const uint32_t nan = half ? 0x7fff : 0x7fffffff, infinity = half ? 0x7c00 : 0x7f800000, sign = half ? 0x8000 : 0x80000000;
  bool any_nan = false, plus = false, minus = false;
  int largest = rule.lowest;
  for (const Value& t : terms) {
    any_nan |= t.nan;
    if (t.infinite) (t.negative ? minus : plus) = true;
    if (!t.nan && !t.infinite && t.significand != 0) largest = std::max(largest, t.exponent);
  }
  if (any_nan || (plus && minus)) return nan;
  if (plus || minus) return infinity | (minus ? sign : 0);
  Int total = 0;
  for (const Value& t : terms) {
    const Int cut = t.significand == 0 ? Int(0) : shifted(t.significand, rule.fraction + t.exponent - largest - t.fraction);
    total += t.negative ? Int(-cut) : cut;
  }
  if (total == 0) return 0;
  const int exponent = largest - rule.fraction;
  return half ? to_nearest(total, exponent, true) : to_f32(total, exponent, rule.out == Out::f32_13_bits);
}

/// x + y in the accumulator's type, an ordinary addition.
uint32_t plain_add(T t, uint32_t x, uint32_t y) {
  const Value a = decode(t, x), b = decode(t, y);
  const bool half = t == T::f16;
  if (a.nan || b.nan || (a.infinite && b.infinite && a.negative != b.negative)) return half ? 0x7fff : 0x7fffffff;
  if (a.infinite || b.infinite) return a.infinite ? x : y;
  if (a.zero() && b.zero()) return a.negative && b.negative ? x : 0;
  const int unit = half ? -24 : -149;
  const Int l = shifted(a.significand, a.exponent - a.fraction - unit), r = shifted(b.significand, b.exponent - b.fraction - unit);
  const Int total = (a.negative ? Int(-l) : l) + (b.negative ? Int(-r) : r);
  return total == 0 ? 0 : to_nearest(total, unit, half);
}

// ---- rules (arXiv 2511.10909, table of models; clamps: arXiv 2512.07004) ----

bool eight_bits(T t) { return t != T::f16 && t != T::bf16 && t != T::tf32; }

Rule rule_of(G g, T a, int k, T acc) {
  Rule r;
  const bool half = acc == T::f16;
  r.out = half ? Out::f16 : Out::f32;
  switch (g) {
    case G::volta: r.length = 4, r.fraction = 23, r.lowest = half ? -19 : -100000; break;
    case G::turing: r.length = 8, r.fraction = 24, r.lowest = half ? -20 : -100000; break;
    case G::ampere:
    case G::ada:
      r.length = a == T::tf32 ? 4 : 8, r.fraction = 24, r.lowest = half ? -20 : -132;
      if (eight_bits(a)) r.length = 16, r.fraction = 13, r.out = half ? Out::f16 : Out::f32_13_bits;
      break;
    default: r.length = a == T::tf32 ? 8 : eight_bits(a) && g == G::rtx_blackwell ? 32 : 16, r.fraction = 25, r.lowest = half ? -21 : -133;
  }
  r.length = std::min(r.length, k);
  return r;
}

/// The same value as f16 has it: normal from 2^-14 on.
Value as_f16(Value v) {
  while (!v.nan && !v.infinite && v.significand != 0 && v.exponent > -14 && v.significand < (Int(1) << v.fraction)) v.significand *= 2, --v.exponent;
  return v;
}

/// D of one element: k products, c, by the generation's rule.
uint32_t model(G g, T at, T bt, T ct, T dt, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t c) {
  const int k = static_cast<int>(a.size());
  const bool emulated = eight_bits(at) && (g == G::hopper || g == G::blackwell);
  const Rule rule = rule_of(g, at, emulated ? k / 2 : k, dt);
  std::vector<int> order;
  if (emulated) {  // two f16 products: k mod 4 of 0 and 1, then of 2 and 3
    for (int part = 0; part < 2; ++part)
      for (int i = 0; i < k; ++i)
        if (i % 4 / 2 == part) order.push_back(i);
  } else {
    for (int i = 0; i < k; ++i) order.push_back(i);
  }
  uint32_t running = emulated ? 0 : c;
  T type = emulated ? dt : ct;
  for (int first = 0; first < k; first += rule.length) {
    std::vector<Value> terms{decode(type, running)};
    for (int i = first; i < first + rule.length; ++i) {
      const auto place = static_cast<size_t>(order[static_cast<size_t>(i)]);
      const Value x = decode(at, a[place]), y = decode(bt, b[place]);
      terms.push_back(emulated ? product(as_f16(x), as_f16(y)) : product(x, y));
    }
    running = sum_of(rule, terms);
    type = dt;
  }
  return emulated ? plain_add(dt, running, c) : running;
}

// ---- operands ----

/// kind 0: any bits; 1: near 1; 2: zeros of both signs, subnormals and ones; 3: largest and smallest; 4: any exponent, no specials.
uint32_t operand(T t, int kind, std::mt19937& rng) {
  const Format f = format_of(t);
  const uint32_t ones = (1u << f.exponent_bits) - 1, bias = ones >> 1, mantissa = (1u << f.mantissa_bits) - 1;
  const uint32_t top = f.specials == Format::ieee ? ones - 1 : ones;
  auto e = static_cast<uint32_t>(rng() % (ones + 1)), m = static_cast<uint32_t>(rng() & mantissa);
  switch (kind) {
    case 0: break;
    case 1: e = bias - std::min(bias, static_cast<uint32_t>(rng() % 3)); break;
    case 2: e = rng() % 3 ? 0 : bias, m = rng() % 2 ? m : 0; break;
    case 3: e = rng() % 2 ? top : static_cast<uint32_t>(rng() % 2); break;
    default: e %= top + 1; break;
  }
  if (kind != 0 && f.specials == Format::only_nan && e == ones && m == mantissa) --m;
  return static_cast<uint32_t>(rng() & 1) << (f.bits() - 1) | e << (f.mantissa_bits + f.low_bits) | m << f.low_bits;
}

struct Registers {
  explicit Registers(const FragmentMap& fragment) : map(fragment), words(static_cast<size_t>(map.registers()), std::vector<uint32_t>(32, 0)) {
    for (auto& r : words) pointers.push_back(r.data());
  }
  void put(int row, int col, int tile, uint32_t bits) {
    for (const Home& h : map.homes(row, col, tile)) words[h.reg][h.lane] |= bits << h.bit;
  }
  uint32_t get(int row, int col, int tile) const {
    const Home h = map.home(row, col, tile);
    const uint32_t w = words[h.reg][h.lane] >> h.bit;
    return map.element_bits() == 32 ? w : w & 0xffff;
  }
  FragmentMap map;
  std::vector<std::vector<uint32_t>> words;
  std::vector<uint32_t*> pointers;
};

/// Where an encoding lies in its container (PTX ISA, "mma", .kind::f8f6f4): e2m1 in the middle four bits of a byte.
uint32_t in_container(T t, uint32_t bits) { return t == T::e2m1 ? bits << 2 : bits; }

struct Case {
  G generation;
  MatrixShape shape;
  T a, b, acc;
  MatrixFamily family = MatrixFamily::mma;
};

// A sparse A stores the first two of each four elements (the first of each two for tf32): metadata 0100.
void check(const Case& test, uint32_t seed) {
  const bool sparse = test.family == MatrixFamily::mma_sparse;
  const auto [m, n, k] = test.shape;
  const int stored = sparse ? k / 2 : k;
  MmaDesc desc{.generation = test.generation, .family = test.family, .shape = test.shape, .a = test.a, .b = test.b, .c = test.acc, .d = test.acc};
  ASSERT_EQ(MmaPlan::check(desc), "");
  const MmaPlan plan(desc);
  const auto map = [&](MatrixRole role, T t) {
    return FragmentMap(*fragment_spec(test.family, test.shape, role, t, role == MatrixRole::b ? MatrixOrder::col : MatrixOrder::row));
  };
  std::mt19937 rng(seed);
  for (int kind = 0; kind < 5; ++kind) {
    Registers ra(map(MatrixRole::a, test.a)), rb(map(MatrixRole::b, test.b)), rc(map(MatrixRole::c, test.acc)), rd(map(MatrixRole::d, test.acc));
    const int tiles = ra.map.tiles();
    const auto at = [](int tile, int rows, int row, int cols, int col) { return static_cast<size_t>((tile * rows + row) * cols + col); };
    std::vector<uint32_t> a(static_cast<size_t>(tiles * m * stored)), b(static_cast<size_t>(tiles * k * n)), c(static_cast<size_t>(tiles * m * n));
    for (int tile = 0; tile < tiles; ++tile) {
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < stored; ++j)
          ra.put(i, j, tile, in_container(test.a, a[at(tile, m, i, stored, j)] = operand(test.a, rng() % 16 ? std::max(kind, 1) : kind, rng)));
      for (int i = 0; i < k; ++i)
        for (int j = 0; j < n; ++j)
          rb.put(i, j, tile, in_container(test.b, b[at(tile, k, i, n, j)] = operand(test.b, rng() % 16 ? std::max(kind, 1) : kind, rng)));
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) rc.put(i, j, tile, c[at(tile, m, i, n, j)] = operand(test.acc, rng() % 4 ? kind : 2, rng));
    }
    const std::vector<uint32_t> metadata(32, 0x44444444);
    plan.run(rd.pointers.data(), ra.pointers.data(), rb.pointers.data(), rc.pointers.data(), metadata.data());
    for (int tile = 0; tile < tiles; ++tile)
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          std::vector<uint32_t> x, y;
          for (int s = 0; s < stored; ++s) {
            const int row = !sparse ? s : test.a == T::tf32 ? 2 * s : s / 2 * 4 + s % 2;
            x.push_back(a[at(tile, m, i, stored, s)]);
            y.push_back(b[at(tile, k, row, n, j)]);
          }
          const uint32_t old = c[at(tile, m, i, n, j)];
          ASSERT_EQ(rd.get(i, j, tile), model(test.generation, test.a, test.b, test.acc, test.acc, x, y, old))
              << "kind " << kind << " element " << i << "," << j << " c " << std::hex << old;
        }
  }
}

std::string described(const Case& c) {
  return fmt::format("generation {} {}m{}n{}k{} {} {} -> {}", static_cast<int>(c.generation), c.family == MatrixFamily::mma_sparse ? "sp " : "",
                     c.shape.m, c.shape.n, c.shape.k, name(c.a), name(c.b), name(c.acc));
}

void check_all(const std::vector<Case>& cases) {
  uint32_t seed = 1;
  for (const Case& c : cases) {
    SCOPED_TRACE(described(c));
    check(c, seed++);
  }
}

constexpr MatrixShape k4{16, 8, 4}, k8{16, 8, 8}, k16{16, 8, 16}, k32{16, 8, 32}, k64{16, 8, 64}, quad{8, 8, 4};

TEST(ReferenceModel, VoltaAndTuring) {
  std::vector<Case> cases;
  for (T acc : {T::f32, T::f16}) {
    cases.push_back({G::volta, quad, T::f16, T::f16, acc});
    cases.push_back({G::turing, k8, T::f16, T::f16, acc});
    cases.push_back({G::turing, quad, T::f16, T::f16, acc});
    for (G g : {G::volta, G::turing})
      for (MatrixShape s : {MatrixShape{16, 16, 16}, MatrixShape{32, 8, 16}, MatrixShape{8, 32, 16}})
        cases.push_back({g, s, T::f16, T::f16, acc, MatrixFamily::wmma});
  }
  check_all(cases);
}

TEST(ReferenceModel, SixteenBitsAndTf32) {
  std::vector<Case> cases;
  for (G g : {G::ampere, G::ada, G::hopper, G::blackwell, G::rtx_blackwell}) {
    for (MatrixShape s : {k8, k16})
      for (T acc : {T::f32, T::f16}) cases.push_back({g, s, T::f16, T::f16, acc});
    for (MatrixShape s : {k8, k16}) cases.push_back({g, s, T::bf16, T::bf16, T::f32});
    for (MatrixShape s : {k4, k8}) cases.push_back({g, s, T::tf32, T::tf32, T::f32});
    for (MatrixShape s : {k16, k32}) {
      cases.push_back({g, s, T::f16, T::f16, T::f32, MatrixFamily::mma_sparse});
      cases.push_back({g, s, T::bf16, T::bf16, T::f32, MatrixFamily::mma_sparse});
    }
    for (MatrixShape s : {k8, k16}) cases.push_back({g, s, T::tf32, T::tf32, T::f32, MatrixFamily::mma_sparse});
  }
  check_all(cases);
}

TEST(ReferenceModel, EightBitsAndLess) {
  std::vector<Case> cases;
  for (G g : {G::ada, G::hopper, G::blackwell, G::rtx_blackwell})
    for (T acc : {T::f32, T::f16})
      for (auto [a, b] : {std::pair{T::e4m3, T::e4m3}, {T::e5m2, T::e4m3}}) {
        for (MatrixShape s : {k16, k32}) cases.push_back({g, s, a, b, acc});
        cases.push_back({g, k64, a, b, acc, MatrixFamily::mma_sparse});
      }
  for (T acc : {T::f32, T::f16})
    for (auto [a, b] : {std::pair{T::e3m2, T::e3m2}, {T::e2m3, T::e2m1}, {T::e2m1, T::e2m1}, {T::e5m2, T::e2m3}, {T::e2m1, T::e4m3}}) {
      cases.push_back({G::rtx_blackwell, k32, a, b, acc});
      cases.push_back({G::rtx_blackwell, k64, a, b, acc, MatrixFamily::mma_sparse});
    }
  check_all(cases);
}

// ---- block scaling ----

/// ue8m0: 2^(x - 127), NaN for 0xff; ue4m3: the lower 7 bits of e4m3.
Value scale_value(T t, uint32_t bits) {
  if (t == T::ue4m3) return decode(T::e4m3, bits & 0x7f);
  Value v;
  v.nan = bits == 0xff;
  v.significand = 1;
  v.exponent = static_cast<int>(bits) - 127;
  return v;
}

struct Scaled {
  MatrixShape shape;
  T a, b, scale;
  int scales;
};

/// mxf8f6f4: scale exponents are added to every product's. mxf4, mxf4nvf4: groups of 16 products are summed exactly and
/// multiplied by the scales; the group counts with the exponent of its scales; F = 35.
uint32_t scaled_model(const Scaled& s, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, const std::vector<Value>& sa,
                      const std::vector<Value>& sb, uint32_t c) {
  const bool grouped = s.shape.k == 64;
  std::vector<Value> terms{decode(T::f32, c)};
  if (grouped && !terms[0].nan && terms[0].infinite) {
    for (const Value& v : sa) terms[0].nan |= v.nan;
    for (const Value& v : sb) terms[0].nan |= v.nan;
  }
  const int per_scale = s.shape.k / s.scales;
  for (int k = 0; k < s.shape.k; k += grouped ? 16 : 1) {
    const Value &x = sa[static_cast<size_t>(k / per_scale)], &y = sb[static_cast<size_t>(k / per_scale)];
    Value t;
    if (grouped) {
      Int sum = 0;  // in quarters: an e2m1 is a multiple of 1/2
      for (int i = k; i < k + 16; ++i) {
        const Value p = product(decode(s.a, a[static_cast<size_t>(i)]), decode(s.b, b[static_cast<size_t>(i)]));
        const Int quarters = shifted(p.significand, p.exponent - p.fraction + 2);
        sum += p.negative ? Int(-quarters) : quarters;
      }
      t.negative = sum < 0;
      t.significand = abs(sum) * x.significand * y.significand;
      t.exponent = x.exponent + y.exponent;
      t.fraction = 2 + x.fraction + y.fraction;
    } else {
      t = product(decode(s.a, a[static_cast<size_t>(k)]), decode(s.b, b[static_cast<size_t>(k)]));
      t.exponent += x.exponent + y.exponent;
    }
    t.nan |= x.nan || y.nan;
    terms.push_back(t);
  }
  return sum_of({s.shape.k, grouped ? 35 : 25, Out::f32, -133}, terms);
}

void check_scaled(const Scaled& s, uint32_t seed) {
  MmaDesc desc{.generation = G::rtx_blackwell, .shape = s.shape, .a = s.a, .b = s.b, .scale = s.scale, .scales = s.scales};
  ASSERT_EQ(MmaPlan::check(desc), "");
  const MmaPlan plan(desc);
  const auto map = [&](MatrixRole role, T t) { return FragmentMap(*fragment_spec(MatrixFamily::mma, s.shape, role, t, MatrixOrder::row)); };
  const auto [m, n, k] = s.shape;
  const bool packed = k == 64;
  std::mt19937 rng(seed);
  for (int round = 0; round < 8; ++round) {
    Registers ra(map(MatrixRole::a, s.a)), rb(map(MatrixRole::b, s.b)), rc(map(MatrixRole::c, T::f32)), rd(map(MatrixRole::d, T::f32));
    std::vector<std::vector<uint32_t>> a(16), b(8);
    std::vector<uint32_t> c(128), scale_a(32), scale_b(32);
    for (auto& w : scale_a) w = static_cast<uint32_t>(rng());
    for (auto& w : scale_b) w = static_cast<uint32_t>(rng());
    if (round % 2)  // scales near 1: results stay in range
      for (auto* words : {&scale_a, &scale_b})
        for (auto& w : *words) w = s.scale == T::ue8m0 ? 0x7c7d7e7f + (w & 0x03030303) : 0x30343838 + (w & 0x07070707);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < k; ++j) {
        a[static_cast<size_t>(i)].push_back(operand(s.a, round % 5, rng));
        ra.put(i, j, 0, packed ? a[static_cast<size_t>(i)].back() : in_container(s.a, a[static_cast<size_t>(i)].back()));
      }
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < k; ++i) {
        b[static_cast<size_t>(j)].push_back(operand(s.b, round % 5, rng));
        rb.put(i, j, 0, packed ? b[static_cast<size_t>(j)].back() : in_container(s.b, b[static_cast<size_t>(j)].back()));
      }
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) rc.put(i, j, 0, c[static_cast<size_t>(i * 8 + j)] = operand(T::f32, rng() % 8 ? 1 : round % 5, rng));
    const int byte = s.scales == 1 ? round % 4 : s.scales == 2 ? round % 2 * 2 : 0;
    const MmaScales scales{scale_a.data(), scale_b.data(), byte, round % 2, byte, round % 4};
    plan.run(rd.pointers.data(), ra.pointers.data(), rb.pointers.data(), rc.pointers.data(), nullptr, scales);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        // PTX ISA, "Block Scaling for mma.sync": thread-id-a picks one pair of lanes of a quad, thread-id-b one lane.
        const uint32_t wa = scale_a[static_cast<size_t>(4 * (i % 8) + 2 * scales.a_thread + i / 8)],
                       wb = scale_b[static_cast<size_t>(4 * j + scales.b_thread)];
        std::vector<Value> sa, sb;
        for (int v = 0; v < s.scales; ++v) {
          sa.push_back(scale_value(s.scale, wa >> (8 * (byte + v)) & 0xff));
          sb.push_back(scale_value(s.scale, wb >> (8 * (byte + v)) & 0xff));
        }
        ASSERT_EQ(rd.get(i, j, 0), scaled_model(s, a[static_cast<size_t>(i)], b[static_cast<size_t>(j)], sa, sb, c[static_cast<size_t>(i * 8 + j)]))
            << "round " << round << " element " << i << "," << j;
      }
  }
}

TEST(ReferenceModel, BlockScaling) {
  uint32_t seed = 1;
  for (const Scaled& s :
       {Scaled{k32, T::e4m3, T::e4m3, T::ue8m0, 1}, Scaled{k32, T::e5m2, T::e2m1, T::ue8m0, 1}, Scaled{k32, T::e2m3, T::e3m2, T::ue8m0, 1},
        Scaled{k64, T::e2m1, T::e2m1, T::ue8m0, 2}, Scaled{k64, T::e2m1, T::e2m1, T::ue4m3, 4}}) {
    SCOPED_TRACE(fmt::format("{} {} scale {}", name(s.a), name(s.b), name(s.scale)));
    check_scaled(s, seed++);
  }
}

}  // namespace
}  // namespace tcsim::isa
