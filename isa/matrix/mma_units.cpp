// The five ways to compute a matrix instruction. Each unpacks registers into row-major matrices by the plan's tables, computes, packs.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "isa/layout/block_scale.h"
#include "isa/matrix/integer_tile.h"
#include "isa/matrix/mma_tables.h"
#include "isa/numeric/block_scale.h"
#include "isa/numeric/float_tile.h"
#include "isa/numeric/formats.h"
#include "isa/numeric/half.h"
#include "isa/numeric/vec.h"

namespace tcsim::isa {
namespace {

constexpr int kMax = kTileElements;

/// Elements of kBits each, zero-extended, to their places.
template <int kBits>
void unpack(const uint32_t* const* regs, const std::vector<uint16_t>& places, uint32_t* out) {
  constexpr int per = 32 / kBits;
  constexpr uint32_t mask = kBits == 32 ? ~0u : (1u << (kBits & 31)) - 1;
  const uint16_t* at = places.data();
  const size_t count = places.size() / (32 * per);
  for (size_t reg = 0; reg < count; ++reg)
    for (int lane = 0; lane < 32; ++lane, at += per) {
      const uint32_t w = regs[reg][lane];
      for (int s = 0; s < per; ++s) out[at[s]] = (w >> (s * kBits)) & mask;
    }
}

void unpack(int bits, const uint32_t* const* regs, const std::vector<uint16_t>& places, uint32_t* out) {
  switch (bits) {
    case 4: return unpack<4>(regs, places, out);
    case 8: return unpack<8>(regs, places, out);
    case 16: return unpack<16>(regs, places, out);
    default: return unpack<32>(regs, places, out);
  }
}

void unpack_a(const MmaPlan::Tables& t, const Registers& r, uint32_t* out) {
  if (!t.a_rows) return unpack(t.fragments[0].element_bits, r.a, t.a, out);
  using H8 = uint16_t __attribute__((vector_size(16)));
  for (size_t i = 0; i < t.a.size() / 8; ++i) {
    H8 h;
    std::memcpy(&h, r.a[i / 8] + i % 8 * 4, sizeof h);
    vec::store(out + t.a[8 * i], __builtin_convertvector(h, vec::I8));
  }
}

void unpack_c(const MmaPlan::Tables& t, const Registers& r, uint32_t* out) {
  if (!t.c_pairs) return unpack(t.fragments[2].element_bits, r.c, t.c, out);
  for (size_t i = 0; i < t.c.size() / 8; ++i) {
    vec::I4 even, odd;
    std::memcpy(&even, r.c[i / 8 * 2] + i % 8 * 4, sizeof even);
    std::memcpy(&odd, r.c[i / 8 * 2 + 1] + i % 8 * 4, sizeof odd);
    vec::store(out + t.c[i / 8 * 64 + i % 8 * 4], __builtin_shufflevector(even, odd, 0, 4, 1, 5, 2, 6, 3, 7));
  }
}

void pack(int bits, uint32_t* const* regs, const std::vector<uint16_t>& places, const uint32_t* in) {
  const uint16_t* at = places.data();
  if (bits == 32) {
    for (size_t reg = 0; reg < places.size() / 32; ++reg, at += 32)
      for (int lane = 0; lane < 32; ++lane) regs[reg][lane] = in[at[lane]];
    return;
  }
  for (size_t reg = 0; reg < places.size() / 64; ++reg)
    for (int lane = 0; lane < 32; ++lane, at += 2) regs[reg][lane] = in[at[0]] | in[at[1]] << 16;
}

void pack_d(const MmaPlan::Tables& t, const Registers& r, const uint32_t* in) {
  if (!t.d_pairs) return pack(t.fragments[3].element_bits, r.d, t.d, in);
  for (size_t i = 0; i < t.d.size() / 8; ++i) {
    const vec::I8 v = vec::load(in + t.d[i / 8 * 64 + i % 8 * 4]);
    const vec::I4 even = __builtin_shufflevector(v, v, 0, 2, 4, 6), odd = __builtin_shufflevector(v, v, 1, 3, 5, 7);
    std::memcpy(r.d[i / 8 * 2] + i % 8 * 4, &even, sizeof even);
    std::memcpy(r.d[i / 8 * 2 + 1] + i % 8 * 4, &odd, sizeof odd);
  }
}

constexpr std::array<uint16_t, 256> kE4m3ToF16 = [] {
  std::array<uint16_t, 256> t{};
  for (uint64_t i = 0; i < 256; ++i) t[i] = static_cast<uint16_t>(convert<Type::e4m3, Type::f16>(i));
  return t;
}();

/// Encodings out of their 8-bit containers: e2m1 lies in bits 2 to 5, 6-bit types in the low bits (PTX ISA, "mma", .kind).
void unwrap(Type t, uint32_t* x, int count) {
  const int shift = t == Type::e2m1 ? 2 : 0;
  const uint32_t mask = t == Type::e2m1 ? 15 : t == Type::e3m2 || t == Type::e2m3 ? 63 : ~0u;
  if (mask == ~0u) return;
  for (int i = 0; i < count; ++i) x[i] = x[i] >> shift & mask;
}

/// Byte `at` of the scales of row i of A (a) or column i of B.
uint32_t scale_bits(const MmaScales& s, bool a, int i, int at) {
  const Home home = block_scale_home(a, i, at, a ? s.a_thread : s.b_thread, a ? s.a_byte : s.b_byte);
  return (a ? s.a : s.b)[home.lane] >> home.bit & 0xff;
}

void fp8_to_f16(Type t, uint32_t* x, int count) {
  if (t == Type::e5m2) {
    for (int i = 0; i < count; ++i) x[i] <<= 8;
  } else {
    for (int i = 0; i < count; ++i) x[i] = kE4m3ToF16[x[i]];
  }
}

/// One ordinary addition, rounded to nearest even, in the accumulator's type.
uint32_t add_rn(Type t, uint32_t x, uint32_t y) {
  if (t == Type::f16)  // the f32 sum of two f16 rounds innocently: 24 >= 2 * 11 + 2 bits
    return f32_to_f16_rn(f16_to_f32(static_cast<uint16_t>(x)) + f16_to_f32(static_cast<uint16_t>(y)));
  const float s = std::bit_cast<float>(x) + std::bit_cast<float>(y);
  return s != s ? 0x7fffffffu : std::bit_cast<uint32_t>(s);
}

/// DMMA keeps the payload of a NaN operand (C, then A, then B), made quiet; a NaN it makes itself is 0xfff8000000000000. Seen on H200.
double fma64(double a, double b, double c) {
  const double v = std::fma(a, b, c);
  if (v == v) return v;
  for (double x : {c, a, b})
    if (x != x) return std::bit_cast<double>(std::bit_cast<uint64_t>(x) | uint64_t{1} << 51);
  return std::bit_cast<double>(uint64_t{0xfff8000000000000});
}

void sign_extend(Type t, uint32_t* x, int count) {
  const int up = t == Type::s8 ? 24 : t == Type::s4 ? 28 : 0;
  if (up == 0) return;
  for (int i = 0; i < count; ++i) x[i] = static_cast<uint32_t>(static_cast<int32_t>(x[i] << up) >> up);
}

}  // namespace

void run_floats(const MmaPlan::Tables& t, const Registers& r) {
  const auto [m, n, full_k] = t.desc.shape;
  alignas(32) uint32_t a_bits[kMax], b_bits[kMax], c_bits[kMax], d_bits[kMax];
  uint16_t rows[kMax];
  unpack_a(t, r, a_bits);
  unpack(t.fragments[1].element_bits, r.b, t.b, b_bits);
  unpack_c(t, r, c_bits);
  const bool sparse = !t.meta.empty(), pairs = t.arith->emulation == Emulation::fp8_pairs;
  if (sparse) t.meta.rows(r.metadata, rows);
  const int a_count = m * t.k, b_count = full_k * n, c_count = m * n;
  Type a_type = t.desc.a, b_type = t.desc.b, c_type = t.desc.c;
  if (pairs) {
    fp8_to_f16(a_type, a_bits, a_count);
    fp8_to_f16(b_type, b_bits, b_count);
    a_type = b_type = Type::f16;
    std::memset(d_bits, 0, sizeof(uint32_t) * static_cast<size_t>(c_count));
  } else {
    unwrap(a_type, a_bits, a_count);
    unwrap(b_type, b_bits, b_count);
  }
  int32_t a_scales[16], b_scales[8];
  TileScales scales;
  if (t.desc.scale != Type::none) {
    for (int i = 0; i < m; ++i) a_scales[i] = ue8m0_exponent(scale_bits(r.scales, true, i, 0));
    for (int j = 0; j < n; ++j) b_scales[j] = ue8m0_exponent(scale_bits(r.scales, false, j, 0));
    scales = {a_scales, b_scales};
  }
  FloatOperand a, b;
  for (int tile = 0; tile < t.tiles; ++tile) {
    a.decode(a_type, operand_shift(*t.arith, a_type, b_type), a_bits + tile * a_count, a_count);
    b.decode(b_type, 0, b_bits + tile * b_count, b_count);
    float_tile(*t.arith, {m, n, t.k}, a, b, c_type, (pairs ? d_bits : c_bits) + tile * c_count, d_bits + tile * c_count, sparse ? rows : nullptr,
               full_k, scales);
  }
  if (pairs)
    for (int i = 0; i < c_count; ++i) d_bits[i] = add_rn(c_type, d_bits[i], c_bits[i]);
  pack_d(t, r, d_bits);
}

void run_scaled_groups(const MmaPlan::Tables& t, const Registers& r) {
  const auto [m, n, full_k] = t.desc.shape;
  alignas(32) uint32_t a_bits[kMax], b_bits[kMax], c_bits[kMax], d_bits[kMax];
  uint16_t rows[kMax];
  unpack<4>(r.a, t.a, a_bits);
  unpack<4>(r.b, t.b, b_bits);
  unpack_c(t, r, c_bits);
  const bool sparse = !t.meta.empty();
  if (sparse) t.meta.rows(r.metadata, rows);
  GroupOperand a, b;
  a.decode(a_bits, m * t.k);
  b.decode(b_bits, full_k * n);
  GroupScale a_scales[16 * 4], b_scales[8 * 4];
  const int count = t.desc.scales;
  for (int i = 0; i < m * count; ++i) a_scales[i] = GroupScale::of(t.desc.scale, scale_bits(r.scales, true, i / count, i % count));
  for (int j = 0; j < n * count; ++j) b_scales[j] = GroupScale::of(t.desc.scale, scale_bits(r.scales, false, j / count, j % count));
  group_scaled_tile(kMxf4Arith, {m, n, t.k}, a, b, a_scales, b_scales, count, c_bits, d_bits, sparse ? rows : nullptr, full_k);
  pack_d(t, r, d_bits);
}

void run_fma_chain(const MmaPlan::Tables& t, const Registers& r) {
  const int m = t.desc.shape.m, n = t.desc.shape.n, k = t.desc.shape.k;
  uint32_t a[kMax], b[kMax], c[kMax], d[kMax];
  unpack<16>(r.a, t.a, a);
  unpack<16>(r.b, t.b, b);
  unpack(t.fragments[2].element_bits, r.c, t.c, c);
  const bool c16 = t.desc.c == Type::f16, d16 = t.desc.d == Type::f16;
  for (int tile = 0; tile < t.tiles; ++tile)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        const int at = (tile * m + i) * n + j;
        const float cc = c16 ? f16_to_f32(static_cast<uint16_t>(c[at])) : std::bit_cast<float>(c[at]);
        const auto x = [&](int kk) { return f16_to_f32(static_cast<uint16_t>(a[(tile * m + i) * k + kk])); };
        const auto y = [&](int kk) { return f16_to_f32(static_cast<uint16_t>(b[(tile * k + kk) * 8 + j])); };
        float v = 0;
        if (d16) {  // c + (products 0, 1), then + (products 2, 3); one rounding to f16 at the end
          v = (cc + std::fma(x(1), y(1), x(0) * y(0))) + std::fma(x(3), y(3), x(2) * y(2));
        } else {
          for (int kk = 0; kk < k; ++kk) v = std::fma(x(kk), y(kk), v);
          v = cc + v;
        }
        d[at] = d16 ? f32_to_f16_rn(v) : v != v ? 0x7fffffffu : std::bit_cast<uint32_t>(v);
      }
  pack(t.fragments[3].element_bits, r.d, t.d, d);
}

void run_doubles(const MmaPlan::Tables& t, const Registers& r) {
  const auto [m, n, k] = t.desc.shape;
  double a[kMax], b[kMax], c[kMax];
  auto fetch = [](const uint32_t* const* regs, const std::vector<uint16_t>& places, double* out) {
    for (size_t i = 0; i < places.size(); ++i) std::memcpy(out + places[i], regs[i / 32] + 2 * (i % 32), 8);
  };
  fetch(r.a, t.a, a);
  fetch(r.b, t.b, b);
  fetch(r.c, t.c, c);
  for (int i = 0; i < m; ++i)
    for (int kk = 0; kk < k; ++kk)
      for (int j = 0; j < n; ++j) c[i * n + j] = fma64(a[i * k + kk], b[kk * 8 + j], c[i * n + j]);
  for (size_t i = 0; i < t.d.size(); ++i) { std::memcpy(r.d[i / 32] + 2 * (i % 32), c + t.d[i], 8); }
}

void run_integers(const MmaPlan::Tables& t, const Registers& r) {
  const auto [m, n, full_k] = t.desc.shape;
  alignas(32) uint32_t a[kMax], b[kMax], c[kMax];
  uint16_t rows[kMax];
  unpack(t.fragments[0].element_bits, r.a, t.a, a);
  unpack(t.fragments[1].element_bits, r.b, t.b, b);
  unpack_c(t, r, c);
  sign_extend(t.desc.a, a, m * t.k);
  sign_extend(t.desc.b, b, full_k * n);
  const bool sparse = !t.meta.empty();
  if (sparse) t.meta.rows(r.metadata, rows);
  integer_tile({m, n, t.k}, a, b, c, t.desc.satfinite, sparse ? rows : nullptr, full_k);
  pack_d(t, r, c);
}

void run_bits(const MmaPlan::Tables& t, const Registers& r) {
  const auto [m, n, k] = t.desc.shape;
  const int words = k / 32;
  uint32_t a[kMax], b[kMax], c[kMax], d[kMax];
  // A register holds 32 consecutive k of one row of A or column of B, lowest k in bit 0.
  for (size_t i = 0; i < t.a.size(); i += 32) a[t.a[i] / 32] = r.a[i / 1024][i / 32 % 32];
  for (size_t i = 0; i < t.b.size(); i += 32) {
    const int row = t.b[i] / 8, col = t.b[i] % 8;  // n is 8: one panel
    b[col * words + row / 32] = r.b[i / 1024][i / 32 % 32];
  }
  unpack_c(t, r, c);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      uint32_t sum = c[i * n + j];
      for (int w = 0; w < words; ++w) {
        const uint32_t x = a[i * words + w], y = b[j * words + w];
        sum += static_cast<uint32_t>(std::popcount(t.desc.bit_op == BitOp::xor_popc ? x ^ y : x & y));
      }
      d[i * n + j] = sum;
    }
  pack_d(t, r, d);
}

}  // namespace tcsim::isa
