// wgmma against obvious sums of small integers, which every format holds exactly: all shapes, layouts, operand sources and
// modifiers. Operands are placed by the canonical layouts of CUTLASS (cute/atom/mma_traits_sm90_gmma.hpp), written out here.
#include "isa/matrix/wgmma_plan.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "isa/layout/swizzle.h"
#include "isa/numeric/formats.h"

namespace tcsim::isa {
namespace {

constexpr uint32_t kAStart = 0x2000, kBStart = 0xa000;

struct Layout {
  Major major = Major::k;
  int swizzle_bytes = 0;
  uint32_t leading = 0, stride = 0;
  uint32_t k_step = 0;  // K-major: bytes along K where the instruction's slice starts
};

Swizzle pattern_of(int bytes) { return bytes == 128 ? kSwizzle128B : bytes == 64 ? kSwizzle64B : bytes == 32 ? kSwizzle32B : kSwizzleNone; }

/// Byte address of an element, from the layouts in 16-byte units T:
///   K   none ((8,m),(T,2)):((1T,SBO),(1,LBO))       swizzled, W units a row: ((8,m),(T,2)):((WT,SBO),(1,T))
///   MN  none ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))   swizzled: ((T,W,m),(8,k)):((1,T,LBO),(WT,SBO))
uint32_t place(const Layout& l, uint32_t start, uint32_t mn, uint32_t k, uint32_t bytes) {
  const uint32_t t = 16 / bytes, w = static_cast<uint32_t>(l.swizzle_bytes) / 16;
  uint32_t at = 0;
  if (l.major == Major::k) {
    if (w == 0) at = mn % 8 * 16 + mn / 8 * l.stride + k / t * l.leading + k % t * bytes;
    else at = mn % 8 * w * 16 + mn / 8 * l.stride + l.k_step + k * bytes;
  } else if (w == 0) {
    at = mn % t * bytes + mn / t * l.stride + k % 8 * 16 + k / 8 * l.leading;
  } else {
    at = mn % t * bytes + mn / t % w * 16 + mn / (t * w) * l.leading + k % 8 * w * 16 + k / 8 * l.stride;
  }
  return static_cast<uint32_t>(pattern_of(l.swizzle_bytes)(start + at));
}

uint64_t descriptor(const Layout& l, uint32_t start) {
  return encode_wgmma_descriptor({start + (l.major == Major::k ? l.k_step : 0), l.leading, l.stride, 0, static_cast<uint8_t>(l.swizzle_bytes)});
}

int element_bytes(Type t) { return t == Type::tf32 ? 4 : bits(t) / 8; }

uint32_t encode_small(Type t, int v) {
  const uint64_t f32 = std::bit_cast<uint32_t>(static_cast<float>(v));
  switch (t) {
    case Type::f16: return static_cast<uint32_t>(convert<Type::f32, Type::f16>(f32));
    case Type::bf16: return static_cast<uint32_t>(convert<Type::f32, Type::bf16>(f32));
    case Type::e4m3: return static_cast<uint32_t>(convert<Type::f32, Type::e4m3>(f32));
    case Type::e5m2: return static_cast<uint32_t>(convert<Type::f32, Type::e5m2>(f32));
    case Type::tf32:
    case Type::f32: return static_cast<uint32_t>(f32);
    case Type::s8:
    case Type::u8: return static_cast<uint32_t>(v) & 0xff;
    default: return static_cast<uint32_t>(v);
  }
}

/// One wgmma of all four warps, on small integers.
struct Product {
  WgmmaDesc desc;
  Layout a_layout, b_layout;
  bool scale_d = true;
  std::vector<int> a, b, c;  // [64][k], [k][n], [64][n]; a of a sparse product: with its zeros
  std::vector<uint8_t> memory = std::vector<uint8_t>(0x20000);
  std::vector<uint32_t> a_stored;  // [64][stored]
  std::vector<uint32_t> metadata = std::vector<uint32_t>(128);
  std::vector<std::vector<uint32_t>> d;  // [register][thread]

  explicit Product(const WgmmaDesc& description, unsigned seed = 1) : desc(description) {
    std::mt19937 rng(seed);
    const bool u = desc.a == Type::u8 || desc.b == Type::u8;
    const auto small = [&] { return static_cast<int>(rng() % (u ? 3 : 5)) - (u ? 0 : 2); };
    const int n = desc.shape.n, k = desc.shape.k;
    for (int i = 0; i < 64 * k; ++i) a.push_back(small());
    for (int i = 0; i < k * n; ++i) b.push_back(small());
    for (int i = 0; i < 64 * n; ++i) c.push_back(small() * 3);
  }
  int stored() const { return desc.sparse ? desc.shape.k / 2 : desc.shape.k; }

  void store(uint32_t address, uint32_t value, int bytes) { std::memcpy(&memory.at(address), &value, static_cast<size_t>(bytes)); }

  int differences() {
    const int n = desc.shape.n, k = desc.shape.k, ab = element_bytes(desc.a), bb = element_bytes(desc.b);
    if (!desc.sparse) {
      a_stored.clear();
      for (int v : a) a_stored.push_back(encode_small(desc.a, v));
    }
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < stored(); ++j)
        if (!desc.a_in_registers)
          store(place(a_layout, kAStart, static_cast<uint32_t>(i), static_cast<uint32_t>(j), static_cast<uint32_t>(ab)),
                a_stored[static_cast<size_t>(i * stored() + j)], ab);
    for (int j = 0; j < k; ++j)
      for (int col = 0; col < n; ++col)
        store(place(b_layout, kBStart, static_cast<uint32_t>(col), static_cast<uint32_t>(j), static_cast<uint32_t>(bb)),
              encode_small(desc.b, b[static_cast<size_t>(j * n + col)]), bb);
    const auto family = desc.sparse ? MatrixFamily::wgmma_sparse : MatrixFamily::wgmma;
    const FragmentMap d_map(*fragment_spec(family, desc.shape, MatrixRole::d, desc.d, MatrixOrder::row));
    const FragmentMap a_map(*fragment_spec(family, desc.shape, MatrixRole::a, desc.a, MatrixOrder::row));
    d.assign(static_cast<size_t>(d_map.registers()), std::vector<uint32_t>(128));
    std::vector<std::vector<uint32_t>> a_regs(4, std::vector<uint32_t>(128));
    const auto put = [](std::vector<std::vector<uint32_t>>& regs, Home h, uint32_t v) { regs[h.reg][h.warp * 32u + h.lane] |= v << h.bit; };
    for (int i = 0; i < 64; ++i) {
      for (int col = 0; col < n; ++col) put(d, d_map.home(i, col), encode_small(desc.d, c[static_cast<size_t>(i * n + col)]));
      for (int j = 0; j < stored(); ++j) put(a_regs, a_map.home(i, j), a_stored[static_cast<size_t>(i * stored() + j)]);
    }
    run(a_regs);
    int bad = 0;
    for (int i = 0; i < 64; ++i)
      for (int col = 0; col < n; ++col) {
        int sum = scale_d ? c[static_cast<size_t>(i * n + col)] : 0;
        for (int j = 0; j < k; ++j) sum += (desc.negate ? -1 : 1) * a[static_cast<size_t>(i * k + j)] * b[static_cast<size_t>(j * n + col)];
        const Home h = d_map.home(i, col);
        const uint32_t got = d[h.reg][h.warp * 32u + h.lane] >> h.bit & (d_map.element_bits() == 16 ? 0xffffu : ~0u);
        bad += got != encode_small(desc.d, sum);
      }
    return bad;
  }

  void run(const std::vector<std::vector<uint32_t>>& a_regs) {
    const WgmmaPlan plan(desc);
    for (int warp = 0; warp < 4; ++warp) {
      std::vector<uint32_t*> d_lanes;
      std::vector<const uint32_t*> a_lanes;
      for (auto& r : d) d_lanes.push_back(r.data() + 32 * warp);
      for (const auto& r : a_regs) a_lanes.push_back(r.data() + 32 * warp);
      plan.run({.d = d_lanes.data(),
                .a = a_lanes.data(),
                .metadata = metadata.data() + 32 * warp,
                .desc_a = descriptor(a_layout, kAStart),
                .desc_b = descriptor(b_layout, kBStart),
                .scale_d = scale_d,
                .warp = warp,
                .memory = memory.data()});
    }
  }
};

WgmmaDesc dense(int n, Type a, Type b, Type d) { return {.shape = {64, n, wgmma_k(a, false)}, .a = a, .b = b, .d = d}; }
Layout plain() { return {Major::k, 0, 128, 256, 0}; }
Layout k_major(int swizzle, uint32_t step = 0) { return {Major::k, swizzle, 16, static_cast<uint32_t>(8 * swizzle), step}; }

using T = Type;
constexpr struct {
  Type a, b, d;
} kTypes[] = {{T::f16, T::f16, T::f32},   {T::f16, T::f16, T::f16},   {T::bf16, T::bf16, T::f32}, {T::tf32, T::tf32, T::f32},
              {T::e4m3, T::e4m3, T::f32}, {T::e4m3, T::e5m2, T::f16}, {T::e5m2, T::e4m3, T::f32}, {T::e5m2, T::e5m2, T::f16},
              {T::s8, T::s8, T::s32},     {T::s8, T::u8, T::s32},     {T::u8, T::s8, T::s32},     {T::u8, T::u8, T::s32}};

TEST(Wgmma, EveryTypeAndWidth) {
  int products = 0;
  for (const auto& t : kTypes)
    for (int n = 8; n <= 256; n += 8) {
      const WgmmaDesc desc = dense(n, t.a, t.b, t.d);
      if (!WgmmaPlan::check(desc).empty()) continue;
      Product p(desc);
      p.a_layout = p.b_layout = plain();
      ASSERT_EQ(p.differences(), 0) << name(t.a) << " " << name(t.b) << " n " << n;
      ++products;
    }
  EXPECT_EQ(products, 8 * 32 + 4 * 18);  // integers: 8, 16, 24, 32, then multiples of 16
}

TEST(Wgmma, AInRegisters) {
  for (const auto& t : kTypes) {
    Product p(dense(48, t.a, t.b, t.d));
    p.desc.a_in_registers = true;
    p.b_layout = plain();
    EXPECT_EQ(p.differences(), 0) << name(t.a) << " " << name(t.b);
  }
}

// Every swizzle, each step of 32 bytes along K inside its rows.
TEST(Wgmma, KMajorSwizzles) {
  for (const auto& t : kTypes)
    for (int swizzle : {32, 64, 128})
      for (int step = 0; step < swizzle; step += 32) {
        Product p(dense(64, t.a, t.b, t.d));
        p.a_layout = k_major(swizzle, static_cast<uint32_t>(step));
        p.b_layout = k_major(swizzle, static_cast<uint32_t>(swizzle - 32 - step));
        EXPECT_EQ(p.differences(), 0) << name(t.a) << " swizzle " << swizzle << " step " << step;
      }
}

TEST(Wgmma, Transposed) {
  for (Type t : {Type::f16, Type::bf16})
    for (int swizzle : {0, 32, 64, 128})
      for (int which = 1; which < 4; ++which) {
        Product p(dense(128, t, t, Type::f32));
        // Atoms of 8 k x 16, 32, 64 or 128 bytes: along M or N first, then along K.
        const uint32_t row = swizzle ? static_cast<uint32_t>(swizzle) : 16, atom = 8 * row, a_atoms = 128 / row, b_atoms = 256 / row;
        const auto mn = [&](uint32_t atoms) {
          return swizzle ? Layout{Major::mn, swizzle, atom, atom * atoms, 0} : Layout{Major::mn, 0, atom * atoms, atom, 0};
        };
        p.desc.a_major = which & 1 ? Major::mn : Major::k;
        p.desc.b_major = which & 2 ? Major::mn : Major::k;
        p.a_layout = which & 1 ? mn(a_atoms) : k_major(128);
        p.b_layout = which & 2 ? mn(b_atoms) : k_major(128);
        EXPECT_EQ(p.differences(), 0) << name(t) << " swizzle " << swizzle << " which " << which;
      }
}

TEST(Wgmma, ScaleAndNegate) {
  for (const auto& t : kTypes) {
    Product p(dense(24, t.a, t.b, t.d));
    p.a_layout = p.b_layout = plain();
    p.scale_d = false;
    EXPECT_EQ(p.differences(), 0) << name(t.a);
    if (t.d == Type::s32) continue;
    p.desc.negate = true;
    EXPECT_EQ(p.differences(), 0) << name(t.a);
    p.scale_d = true;
    EXPECT_EQ(p.differences(), 0) << name(t.a);
  }
}

// 0x7fffffff + 32 * 2 * 2: wraps to a negative number, or stays.
TEST(Wgmma, Satfinite) {
  for (const bool satfinite : {false, true}) {
    Product p(dense(8, Type::s8, Type::s8, Type::s32));
    p.desc.satfinite = satfinite;
    p.a_layout = p.b_layout = plain();
    for (int& x : p.a) x = 2;
    for (int& x : p.b) x = 2;
    for (int& x : p.c) x = INT32_MAX;
    p.differences();
    for (const auto& reg : p.d)
      for (uint32_t v : reg) ASSERT_EQ(v, satfinite ? 0x7fffffffu : 0x7fffffffu + 128u);
  }
}

// A row i has the first i bits set, column j of B the last j of 256 bits: they share max(0, i + j - 256).
TEST(Wgmma, Bits) {
  for (const bool in_registers : {false, true}) {
    WgmmaDesc desc{.shape = {64, 32, 256}, .a = Type::b1, .b = Type::b1, .d = Type::s32, .a_in_registers = in_registers};
    ASSERT_EQ(WgmmaPlan::check(desc), "");
    const WgmmaPlan plan(desc);
    const auto bit_a = [](int row, int k) { return k < 4 * row; };
    const auto bit_b = [](int col, int k) { return k >= 256 - 8 * col; };
    std::vector<uint8_t> memory(0x4000);
    const FragmentMap a_map(*find_fragment("wgmma.m64n32k256.b1", MatrixRole::a)), d_map(*find_fragment("wgmma.m64n32k256.b1", MatrixRole::d));
    std::vector<std::vector<uint32_t>> a(4, std::vector<uint32_t>(128)), d(16, std::vector<uint32_t>(128, 7));
    for (int k = 0; k < 256; ++k) {
      const auto byte = [&](int row) { return static_cast<size_t>(row / 8 * 256 + row % 8 * 16 + k / 128 * 128 + k % 128 / 8); };
      for (int row = 0; row < 64; ++row) {
        if (!bit_a(row, k)) continue;
        memory[byte(row)] |= static_cast<uint8_t>(1 << k % 8);
        const Home h = a_map.home(row, k);
        a[h.reg][h.warp * 32u + h.lane] |= 1u << h.bit;
      }
      for (int col = 0; col < 32; ++col)
        if (bit_b(col, k)) memory[0x2000 + byte(col)] |= static_cast<uint8_t>(1 << k % 8);
    }
    for (int warp = 0; warp < 4; ++warp) {
      std::vector<uint32_t*> d_lanes;
      std::vector<const uint32_t*> a_lanes;
      for (auto& r : d) d_lanes.push_back(r.data() + 32 * warp);
      for (const auto& r : a) a_lanes.push_back(r.data() + 32 * warp);
      plan.run({.d = d_lanes.data(),
                .a = a_lanes.data(),
                .desc_a = encode_wgmma_descriptor({0, 128, 256, 0, 0}),
                .desc_b = encode_wgmma_descriptor({0x2000, 128, 256, 0, 0}),
                .warp = warp,
                .memory = memory.data()});
    }
    for (int row = 0; row < 64; ++row)
      for (int col = 0; col < 32; ++col) {
        const Home h = d_map.home(row, col);
        ASSERT_EQ(d[h.reg][h.warp * 32u + h.lane], static_cast<uint32_t>(7 + std::max(0, 4 * row + 8 * col - 256))) << row << " " << col;
      }
  }
}

/// Keeps two of four (tf32: one of two) elements of A and writes their indices where CUTLASS has them
/// (cute/atom/mma_traits_sm90_gmma_sparse.hpp, ELayout_64x16, _64x32, _64x64).
void make_sparse(Product& p, unsigned seed) {
  std::mt19937 rng(seed);
  const int k = p.desc.shape.k, width = p.desc.a == Type::tf32 ? 2 : 4, chunks = k / width;
  const bool eight = bits(p.desc.a) == 8;
  p.a_stored.clear();
  for (int i = 0; i < 64; ++i)
    for (int chunk = 0; chunk < chunks; ++chunk) {
      int* const four = &p.a[static_cast<size_t>(i * k + chunk * width)];
      uint32_t nibble = 0;
      if (width == 2) {
        const int keep = static_cast<int>(rng() % 2);
        nibble = keep ? 0b1110 : 0b0100;
        four[1 - keep] = 0;
        p.a_stored.push_back(encode_small(p.desc.a, four[keep]));
      } else {
        const int first = static_cast<int>(rng() % 3), second = first + 1 + static_cast<int>(rng() % static_cast<unsigned>(3 - first));
        nibble = static_cast<uint32_t>(first | second << 2);
        for (int j = 0; j < 4; ++j)
          if (j != first && j != second) four[j] = 0;
        p.a_stored.push_back(encode_small(p.desc.a, four[first]));
        p.a_stored.push_back(encode_small(p.desc.a, four[second]));
      }
      const int warp = i / 16, high = i / 8 % 2, group = i % 8, half = chunk / (chunks / 2), in_half = chunk % (chunks / 2);
      // 8 bits: lane bit 0 the upper 8 rows, bit 1 the half of K, 8 chunks a word. Else: bit 0 the half of K, bit 1 the selector,
      // the upper 8 rows in the upper half of the word.
      const int lane = 4 * group + (eight ? high + 2 * half : half + 2 * p.desc.selector);
      const int bit = eight ? 4 * in_half : 16 * high + 4 * in_half;
      p.metadata[static_cast<size_t>(32 * warp + lane)] |= nibble << bit;
    }
}

TEST(Wgmma, Sparse) {
  for (const auto& t : kTypes)
    for (int selector = 0; selector < (bits(t.a) == 8 ? 1 : 2); ++selector)
      for (int form = 0; form < 3; ++form) {
        WgmmaDesc desc{
            .shape = {64, 96, wgmma_k(t.a, true)}, .a = t.a, .b = t.b, .d = t.d, .a_in_registers = form == 1, .sparse = true, .selector = selector};
        if (form == 2 && bits(t.a) != 16) continue;
        ASSERT_EQ(WgmmaPlan::check(desc), "");
        Product p(desc);
        p.a_layout = plain();
        p.b_layout = {Major::k, 0, 128, 512, 0};
        if (form == 1) p.b_layout = k_major(128, 64);
        if (form == 2) {  // 32 lines of k, 192 bytes of N: atoms of 8 x 64 bytes
          p.desc.b_major = Major::mn;
          p.b_layout = {Major::mn, 64, 512, 3 * 512, 0};
        }
        make_sparse(p, 7);
        EXPECT_EQ(p.differences(), 0) << name(t.a) << " " << name(t.b) << " selector " << selector << " form " << form;
      }
}

TEST(Wgmma, WhatDoesNotExist) {
  const WgmmaDesc good = dense(64, Type::f16, Type::f16, Type::f32);
  ASSERT_EQ(WgmmaPlan::check(good), "");
  const auto refused = [](WgmmaDesc d) { return WgmmaPlan::check(d); };
  EXPECT_EQ(refused(dense(40, Type::s8, Type::s8, Type::s32)), "no m64n40k32 for .s8");
  EXPECT_EQ(refused(dense(264, Type::f16, Type::f16, Type::f32)), "no m64n264k16 for .f16");
  EXPECT_EQ(refused(dense(64, Type::bf16, Type::bf16, Type::f16)), ".bf16 operands do not accumulate in .f16");
  EXPECT_EQ(refused(dense(64, Type::f16, Type::bf16, Type::f32)), "A is .f16 but B is .bf16");
  WgmmaDesc d = dense(64, Type::e4m3, Type::e4m3, Type::f32);
  d.b_major = Major::mn;
  EXPECT_EQ(refused(d), "only .f16 and .bf16 operands can be transposed");
  d = good;
  d.a_in_registers = true, d.a_major = Major::mn;
  EXPECT_EQ(refused(d), "A in registers cannot be transposed");
  d = good;
  d.satfinite = true;
  EXPECT_EQ(refused(d), ".satfinite exists for 8-bit integers only");
  d = {.shape = {64, 64, 64}, .a = Type::s8, .b = Type::s8, .d = Type::s32, .sparse = true, .selector = 1};
  EXPECT_EQ(refused(d), "sparsity selector is 1, expected 0");
}

}  // namespace
}  // namespace tcsim::isa
