// tcgen05.mma against an independent model: operands are laid out by formulas written here from the manual, and every element of D is
// summed in exact integers by the rules of isa/numeric/README.md (block length, fraction bits), not by the production code.
#include "isa/matrix/tcgen05_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "isa/numeric/exact_sum.h"

namespace tcsim::isa {
namespace {

using exact::Int;
constexpr uint32_t kSharedBytes = 128 * 1024, kColumns = 512, kLanes = 128;
constexpr uint32_t kA = 0x1000, kB = 0x8000;                                           // start of A and B in shared memory, in each CTA
constexpr uint32_t kD = 0, kTensorA = 256, kMeta = 300, kScaleA = 320, kScaleB = 340;  // columns of Tensor Memory

/// Which swizzle the test lays a matrix out in: rows of 0 (none), 32, 64, 128 bytes; units of 32 bytes for transposed tf32.
struct Placement {
  uint32_t row = 128, atom = 16;
};

struct Case {
  MmaForm form{};
  InstructionDescriptor idesc{};
  Placement a{}, b{};
  int kind = 0;  // of operands: 0 normals near 1, 1 anything finite, 2 with NaN and infinity
  int scale_input_d = 0;
  bool accumulate = true;
  uint64_t zero_columns = 0;
  int first_lane = 0;
  bool disable = false;
};

int width_of(MmaKind kind) { return kind == MmaKind::f16 ? 16 : kind == MmaKind::tf32 ? 32 : is_packed_e2m1(kind) ? 4 : 8; }

/// Shared memory of one matrix as the manual's canonical layouts have it.
struct Writer {
  std::vector<uint8_t>& memory;
  uint32_t start, leading, stride;
  Placement p;
  bool transposed;

  uint32_t address(uint32_t line, uint32_t byte) const {
    const uint32_t group = p.atom == 32 ? 4 : 8;
    if (p.row == 0) {
      const uint32_t across = byte / 16 * (transposed ? stride : leading), down = line / 8 * (transposed ? leading : stride);
      return start + across + down + line % 8 * 16 + byte % 16;
    }
    const uint32_t linear = start + line / group * stride + line % group * p.row + byte / p.row * leading + byte % p.row;
    if (p.atom == 32) return linear ^ ((linear >> 7 & 3) << 5);
    return linear ^ ((linear >> 7 & (p.row / 16 - 1)) << 4);
  }
  void put_bits(uint32_t line, uint32_t bit, uint32_t width, uint32_t value) {
    for (uint32_t i = 0; i < width; ++i, ++bit) {
      uint8_t& b = memory[address(line, bit / 8)];
      b = static_cast<uint8_t>((b & ~(1u << bit % 8)) | (value >> i & 1) << bit % 8);
    }
  }
  /// Element (mn, k): 16 elements of 6 or 4 bits stand at the start of 16 bytes.
  void element(MmaKind kind, Type t, uint32_t mn, uint32_t k, uint32_t value) {
    const uint32_t line = transposed ? k : mn, along = transposed ? mn : k, bits = static_cast<uint32_t>(traits(t).bits);
    const auto width = static_cast<uint32_t>(width_of(kind));
    const bool padded = width == 8 && bits < 8;
    put_bits(line, padded ? along / 16 * 128 + along % 16 * bits : along * width, padded ? bits : width, value);
  }
};

struct Rules {
  int block, fraction;
};
Rules rules_of(MmaKind kind) {  // numbers of MMA-Sim (arXiv 2511.10909)
  switch (kind) {
    case MmaKind::f16: return {16, 25};
    case MmaKind::tf32: return {8, 25};
    default: return {32, 25};
  }
}

struct Trial {
  Case c;
  std::mt19937 rng;
  int m, n, k, stored, ctas;
  std::vector<uint32_t> a, b, d;  // [m][stored], [n][k], [m][n] encodings
  std::vector<int> meets;         // [m][stored]: k of a stored element
  std::vector<uint32_t> sa, sb;   // [m][scales], [n][scales]
  std::vector<uint32_t> tensor[2];
  std::vector<uint8_t> shared[2];
  Tcgen05Operands o;

  explicit Trial(const Case& cs, uint32_t seed) : c(cs), rng(seed) {
    m = c.idesc.m, n = c.idesc.n, k = tcgen05_k(c.form.kind, c.form.sparse), stored = c.form.sparse ? k / 2 : k, ctas = c.form.cta_group;
    a.resize(static_cast<size_t>(m * stored)), b.resize(static_cast<size_t>((n + 32) * k)), d.resize(static_cast<size_t>(m * n)),
        meets.resize(a.size());
    for (auto& x : a) x = operand(c.idesc.a);
    for (auto& x : b) x = operand(c.idesc.b);
    for (auto& x : d) x = accumulator();
    for (auto& t : tensor) {
      t.resize(kColumns * kLanes);
      for (auto& x : t) x = static_cast<uint32_t>(rng());
    }
    for (auto& s : shared) s.assign(kSharedBytes, 0xff);
    sparsify();
    lay_out();
  }

  bool integer() const { return c.form.kind == MmaKind::i8; }
  bool half_d() const { return c.idesc.d == Type::f16 && !is_scaled(c.form.kind); }

  uint32_t operand(Type t) {
    const FormatTraits f = traits(t);
    if (integer()) return static_cast<uint32_t>(rng() & 0xff);
    for (;;) {
      uint32_t bits = static_cast<uint32_t>(rng()) & static_cast<uint32_t>((uint64_t{1} << (f.sign_bit() + 1)) - 1);
      if (c.kind == 0 && f.exponent_bits >= 4) {
        const auto e = static_cast<uint32_t>(f.bias) - 3 + static_cast<uint32_t>(rng() % 5);
        bits = (bits & ~(static_cast<uint32_t>(f.exponent_mask()) << f.mantissa)) | e << f.mantissa;
      }
      if (rng() % 8 == 0) bits &= 1u << f.sign_bit();  // zeros of both signs
      bits <<= f.pad;
      const NumberKind what = decode_number(t, bits).kind;
      if (what == NumberKind::zero || what == NumberKind::finite || (c.kind == 2 && rng() % 4 == 0)) return bits;
    }
  }
  uint32_t accumulator() {
    if (integer()) return static_cast<uint32_t>(rng());
    const uint32_t sign = (static_cast<uint32_t>(rng()) & 1) << (half_d() ? 15 : 31);
    if (rng() % 8 == 0) return sign;
    if (c.kind == 2 && rng() % 32 == 0) return sign | (half_d() ? 0x7c00u : 0x7f800000u);
    if (half_d()) return sign | (c.kind == 0 ? 0x3000u + static_cast<uint32_t>(rng() & 0x0fff) : static_cast<uint32_t>(rng()) % 0x7c00u);
    const auto e = c.kind == 0 ? 120 + static_cast<uint32_t>(rng() % 10) : static_cast<uint32_t>(rng() % 255);
    return sign | e << 23 | (static_cast<uint32_t>(rng()) & 0x7fffff);
  }

  /// Indices of the stored elements: the meaningful values of the manual.
  std::vector<uint32_t> nibbles;
  void sparsify() {
    constexpr uint32_t kPairs[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110};
    for (int i = 0; i < m; ++i)
      for (int s = 0; s < stored; ++s) meets[static_cast<size_t>(i * stored + s)] = s;
    if (!c.form.sparse) return;
    const int per = c.form.kind == MmaKind::tf32 ? 1 : is_packed_e2m1(c.form.kind) ? 4 : 2, chunks = stored / per;
    nibbles.resize(static_cast<size_t>(m * chunks));
    for (int i = 0; i < m; ++i)
      for (int ch = 0; ch < chunks; ++ch) {
        uint32_t nibble = kPairs[rng() % 7];
        if (per == 1) nibble = rng() % 2 ? 0b1110 : 0b0100;
        nibbles[static_cast<size_t>(i * chunks + ch)] = nibble;
        const int low = static_cast<int>(nibble & 3), high = static_cast<int>(nibble >> 2);
        int* const to = &meets[static_cast<size_t>(i * stored + ch * per)];
        if (per == 1) to[0] = 2 * ch + (nibble == 0b1110);
        if (per == 2) to[0] = 4 * ch + low, to[1] = 4 * ch + high;
        if (per == 4) to[0] = 8 * ch + 2 * low, to[1] = to[0] + 1, to[2] = 8 * ch + 2 * high, to[3] = to[2] + 1;
      }
  }

  struct Place {
    int cta, lane, column;
  };
  /// Layouts A to G, from the manual's text and CUTLASS's tmem_frg.
  Place place(int row, int col) const {
    if (ctas == 2 && m == 256) return {row / 128, row % 128, col};
    if (ctas == 2 && c.form.sparse) return {row / 64, row % 64 / 16 * 32 + row % 16 + c.first_lane, col};
    if (ctas == 2) return {row / 64, row % 64 + (col >= n / 2 ? 64 : 0), col % (n / 2)};
    if (m == 128) return {0, row, col};
    if (m == 64 && c.form.weight_stationary) return {0, row + (col >= n / 2 ? 64 : 0), col % (n / 2)};
    if (m == 64) return {0, row / 16 * 32 + row % 16 + c.first_lane, col};
    return {0, row + col / (n / 4) * 32, col % (n / 4)};
  }
  uint32_t& word(int cta, int lane, uint32_t column) { return tensor[cta][column * kLanes + static_cast<uint32_t>(lane)]; }

  void put_tensor(int cta, int lane, uint32_t column, int bit, int width, uint32_t value) {
    uint32_t& w = word(cta, lane, column + static_cast<uint32_t>(bit / 32));
    const uint32_t mask = width == 32 ? ~0u : ((1u << width) - 1) << bit % 32;
    w = (w & ~mask) | (value << bit % 32 & mask);
  }

  /// Strides that put the atoms of rows x elements one after the other.
  static MatrixDescriptor shape_of(const Placement& p, bool transposed, uint32_t start, int rows, int elements) {
    MatrixDescriptor d{start, 0, 0, 0, static_cast<uint8_t>(p.row), static_cast<uint8_t>(p.atom)};
    const auto lines = static_cast<uint32_t>(transposed ? elements : rows);
    const uint32_t group = p.atom == 32 ? 4 : 8;
    if (p.row != 0) d.stride = group * p.row, d.leading = (lines + group - 1) / group * group * p.row;
    else if (transposed) d.leading = 128, d.stride = (lines + 7) / 8 * 128;
    else d.stride = 128, d.leading = (lines + 7) / 8 * 128;
    return d;
  }

  void lay_out() {
    const MmaKind kind = c.form.kind;
    const bool ta = c.idesc.a_major == Major::mn, tb = c.idesc.b_major == Major::mn;
    const MatrixDescriptor da = shape_of(c.a, ta, kA, m / ctas, stored);
    const MatrixDescriptor db = shape_of(c.b, tb, kB, n / ctas + 32, k);
    o.desc_a = encode_tcgen05_descriptor(da), o.desc_b = encode_tcgen05_descriptor(db);
    for (int i = 0; i < m; ++i)
      for (int s = 0; s < stored; ++s) {
        const int cta = i / (m / ctas);
        const uint32_t x = a[static_cast<size_t>(i * stored + s)];
        Writer{shared[cta], kA, da.leading, da.stride, c.a, ta}.element(kind, c.idesc.a, static_cast<uint32_t>(i % (m / ctas)),
                                                                        static_cast<uint32_t>(s), x);
      }
    const int extra = c.form.weight_stationary ? 32 : 0;
    for (int j = 0; j < n + extra; ++j)
      for (int kk = 0; kk < k; ++kk) {
        const int cta = ctas == 2 ? j / (n / 2) : 0;
        Writer{shared[cta], kB, db.leading, db.stride, c.b, tb}.element(kind, c.idesc.b, static_cast<uint32_t>(j - cta * (n / 2)),
                                                                        static_cast<uint32_t>(kk), b[static_cast<size_t>(j * k + kk)]);
      }
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        const Place p = place(i, j);
        word(p.cta, p.lane, kD + static_cast<uint32_t>(p.column)) = d[static_cast<size_t>(i * n + j)];
        // A, metadata: in the lanes of D, for every group of columns.
        if (j % (n / 4) != 0) continue;
        const int width = width_of(kind), up = width == 8 && c.idesc.a == Type::e2m1 ? 2 : 0;
        for (int s = 0; s < stored; ++s)
          put_tensor(p.cta, p.lane, kTensorA, s * width, width,
                     a[static_cast<size_t>(i * stored + s)] << up & (width == 32 ? ~0u : (1u << width) - 1));
        if (c.form.sparse) put_metadata(i, p);
      }
    if (is_scaled(kind)) lay_out_scales();
    const auto lane = static_cast<uint32_t>(c.first_lane) << 16;
    o.d = lane | kD, o.a = lane | kTensorA, o.metadata = lane | kMeta, o.scale_a = kScaleA, o.scale_b = kScaleB;
    o.accumulate = c.accumulate, o.scale_input_d = c.scale_input_d, o.zero_column_mask = c.zero_columns;
    for (int cta = 0; cta < ctas; ++cta)
      o.tensor[static_cast<size_t>(cta)] = tensor[cta].data(), o.shared[static_cast<size_t>(cta)] = shared[cta].data();
    if (c.disable)
      for (auto& w : o.disable_output_lane) w = static_cast<uint32_t>(rng());
  }

  void put_metadata(int row, const Place& p) {
    const bool split = c.form.kind == MmaKind::f16 || c.form.kind == MmaKind::tf32;
    const int chunks = split ? 8 : 16;
    for (int ch = 0; ch < chunks; ++ch) {
      const uint32_t nibble = nibbles[static_cast<size_t>(row * chunks + ch)];
      if (split) put_tensor(p.cta, p.lane / 16 * 16 + row % 8 + ch / 4 * 8, kMeta + c.idesc.selector, row % 16 / 8 * 16 + ch % 4 * 4, 4, nibble);
      else put_tensor(p.cta, p.lane, kMeta, ch * 4, 4, nibble);
    }
  }

  void lay_out_scales() {
    const int per = c.form.scale_vec;
    const auto random = [&]() -> uint32_t {
      if (c.idesc.scale == Type::ue4m3)
        return c.kind == 0 ? 0x30u + static_cast<uint32_t>(rng() % 16)
                           : static_cast<uint32_t>(rng() % (c.kind == 2 ? 0x80 : 0x7f)) | (static_cast<uint32_t>(rng()) & 0x80);
      if (c.kind == 2 && rng() % 32 == 0) return 255;
      return c.kind == 0 ? 122 + static_cast<uint32_t>(rng() % 10) : static_cast<uint32_t>(rng() % 255);
    };
    for (int i = 0; i < m * per; ++i) sa.push_back(random());
    for (int i = 0; i < n * per; ++i) sb.push_back(random());
    const bool halves = ctas == 2 && m == 128;  // layout B: lanes 64 to 127 have the columns of the second half
    for (int cta = 0; cta < ctas; ++cta)
      for (int quarter = 0; quarter < 4; ++quarter)
        for (int x = 0; x < per; ++x) {
          for (int i = 0; i < m / ctas; ++i)
            put_tensor(cta, quarter * 32 + i % 32, kScaleA + static_cast<uint32_t>(i / 32), 8 * (c.idesc.scale_a_id + x), 8,
                       sa[static_cast<size_t>((cta * (m / ctas) + i) * per + x)]);
          const int columns = halves ? n / 2 : n, first = halves && quarter >= 2 ? n / 2 : 0;
          for (int j = 0; j < columns; ++j)
            put_tensor(cta, quarter * 32 + j % 32, kScaleB + static_cast<uint32_t>(j / 32), 8 * (c.idesc.scale_b_id + x), 8,
                       sb[static_cast<size_t>((first + j) * per + x)]);
        }
  }

  // ---- the model ----

  static Int value(const Number& x) { return x.negative ? Int(-Int(x.significand)) : Int(x.significand); }
  static int align(Type t, const Number& x) { return x.exponent + traits(t).mantissa; }

  uint32_t want_integer(int i, int j, const std::vector<int>& bs) const {
    int64_t sum = 0;
    for (int s = 0; s < stored; ++s) {
      const uint32_t x = a[static_cast<size_t>(i * stored + s)], y = bs.empty() ? 0 : b[static_cast<size_t>(bs[static_cast<size_t>(s)])];
      const int64_t p = c.idesc.a == Type::s8 ? static_cast<int8_t>(x) : static_cast<int64_t>(x),
                    q = c.idesc.b == Type::s8 ? static_cast<int8_t>(y) : static_cast<int64_t>(y);
      sum += p * q;
    }
    sum += c.accumulate ? static_cast<int32_t>(d[static_cast<size_t>(i * n + j)]) : 0;
    if (c.idesc.saturate) sum = std::min<int64_t>(INT32_MAX, std::max<int64_t>(INT32_MIN, sum));
    return static_cast<uint32_t>(sum);
  }

  uint32_t want(int i, int j) const {
    const int shift = static_cast<int>(c.zero_columns >> 56 & 63);
    const bool masked = c.form.weight_stationary && zero_columns(c.zero_columns, m, n)[static_cast<size_t>(j)];
    std::vector<int> bs;
    if (!masked)
      for (int s = 0; s < stored; ++s) bs.push_back((j + shift) * k + meets[static_cast<size_t>(i * stored + s)]);
    if (integer()) return want_integer(i, j, bs);
    const Type dt = half_d() ? Type::f16 : Type::f32;
    const uint32_t nan = half_d() ? 0x7fff : 0x7fffffff, infinity = half_d() ? 0x7c00 : 0x7f800000, sign = half_d() ? 0x8000 : 0x80000000;
    Number cn = decode_number(dt, c.accumulate ? d[static_cast<size_t>(i * n + j)] : 0);
    exact::SignedTerm ct{value(cn), cn.exponent - c.scale_input_d, align(dt, cn) - c.scale_input_d};
    bool is_nan = cn.kind == NumberKind::nan, plus = cn.kind == NumberKind::infinity && !cn.negative,
         minus = cn.kind == NumberKind::infinity && cn.negative;
    const MmaKind kind = c.form.kind;
    const int per = c.form.scale_vec;
    std::vector<exact::SignedTerm> terms{ct};
    std::map<int, Int> groups;
    for (int s = 0; s < stored; ++s) {
      Number x = decode_number(c.idesc.a, a[static_cast<size_t>(i * stored + s)]),
             y = masked ? Number{} : decode_number(c.idesc.b, b[static_cast<size_t>(bs[static_cast<size_t>(s)])]);
      x.negative ^= c.idesc.negate_a, y.negative ^= c.idesc.negate_b;
      const bool xi = x.kind == NumberKind::infinity, yi = y.kind == NumberKind::infinity, negative = x.negative != y.negative;
      is_nan |= x.kind == NumberKind::nan || y.kind == NumberKind::nan || (xi && y.kind == NumberKind::zero) || (yi && x.kind == NumberKind::zero);
      if (xi || yi) {
        (negative ? minus : plus) = true;
        continue;
      }
      if (is_packed_e2m1(kind)) {
        groups[s / 16] += (value(x) << (x.exponent + 1)) * (value(y) << (y.exponent + 1));
        continue;
      }
      int up = 0;
      if (is_scaled(kind)) {
        const uint32_t p = sa[static_cast<size_t>(i)], q = sb[static_cast<size_t>(j)];
        is_nan |= p == 255 || q == 255;
        up = static_cast<int>(p) + static_cast<int>(q) - 254;
      }
      terms.push_back({value(x) * value(y), x.exponent + y.exponent + up, align(c.idesc.a, x) + align(c.idesc.b, y) + up});
    }
    for (const auto& [g, p] : groups) {
      const uint32_t mask = c.idesc.scale == Type::ue4m3 ? 0x7f : 0xff;
      const Number x = decode_number(c.idesc.scale, sa[static_cast<size_t>(i * per + g * per / 4)] & mask),
                   y = decode_number(c.idesc.scale, sb[static_cast<size_t>(j * per + g * per / 4)] & mask);
      is_nan |= x.kind == NumberKind::nan || y.kind == NumberKind::nan;
      terms.push_back({p * Int(x.significand) * Int(y.significand), x.exponent + y.exponent - 2, align(c.idesc.scale, x) + align(c.idesc.scale, y)});
    }
    if (is_nan || (plus && minus)) return nan;
    if (plus || minus) return infinity | (minus ? sign : 0);
    const auto [sum, exponent] = exact::aligned_sum(terms, is_packed_e2m1(kind) ? 35 : rules_of(kind).fraction, half_d() ? -21 : -133);
    if (sum == 0) return 0;
    return half_d() ? exact::round_to_f16(sum, exponent) : exact::cut_to_f32(sum, exponent, 24);
  }

  bool disabled(const Place& p) const { return o.disable_output_lane[static_cast<size_t>(p.cta * 4 + p.lane / 32)] >> p.lane % 32 & 1; }

  void check() {
    const uint32_t bits = encode_instruction_descriptor(c.form.kind, c.idesc);
    ASSERT_EQ(check_instruction_descriptor(c.form, bits), "");
    const Tcgen05Plan plan(c.form, bits);
    ASSERT_EQ(plan.idesc(), c.idesc);
    const std::vector<uint32_t> before[2] = {tensor[0], tensor[1]};
    plan.run(o);
    std::vector<uint8_t> written[2];
    for (auto& w : written) w.assign(kColumns * kLanes, 0);
    int wrong = 0;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        const Place p = place(i, j);
        if (disabled(p)) continue;
        const size_t at = (kD + static_cast<size_t>(p.column)) * kLanes + static_cast<size_t>(p.lane);
        written[p.cta][at] = 1;
        const uint32_t got = tensor[p.cta][at], expected = want(i, j);
        if (got != expected && ++wrong <= 3)
          ADD_FAILURE() << describe(c.form.kind, c.idesc) << ": (" << i << ", " << j << ") is " << std::hex << got << ", expected " << expected;
      }
    EXPECT_EQ(wrong, 0);
    for (int cta = 0; cta < 2; ++cta)
      for (size_t at = 0; at < written[cta].size(); ++at) {
        const uint32_t kept = written[cta][at] ? tensor[cta][at] : before[cta][at];
        ASSERT_EQ(tensor[cta][at], kept) << "lane " << at % kLanes << ", column " << at / kLanes << " was not to be written";
      }
  }
};

InstructionDescriptor idesc(Type a, Type b, Type d, int m, int n) { return {.d = d, .a = a, .b = b, .m = m, .n = n}; }
InstructionDescriptor scaled(Type a, Type b, Type scale, int m, int n) { return {.d = Type::f32, .a = a, .b = b, .m = m, .n = n, .scale = scale}; }

void check(Case c, std::initializer_list<int> kinds = {0, 1, 2}) {
  static uint32_t seed = 1;
  for (const int kind : kinds) {
    c.kind = kind;
    Trial(c, seed++).check();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Tcgen05Plan, F16) {
  for (const Type t : {Type::f16, Type::bf16})
    for (const int m : {64, 128}) check({.idesc = idesc(t, t, Type::f32, m, 24)});
  check({.idesc = idesc(Type::f16, Type::f16, Type::f16, 128, 16)});
  check({.idesc = idesc(Type::f16, Type::f16, Type::f16, 64, 8), .first_lane = 16});
  check({.idesc = idesc(Type::f16, Type::f16, Type::f32, 128, 136)}, {0});
}

TEST(Tcgen05Plan, SwizzlesAndTransposes) {
  for (const uint32_t row : {0u, 32u, 64u, 128u})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        Case c{.idesc = idesc(Type::f16, Type::f16, Type::f32, 128, 32), .a = {row}, .b = {row}};
        c.idesc.a_major = ta ? Major::mn : Major::k, c.idesc.b_major = tb ? Major::mn : Major::k;
        check(c, {0});
        c.form.kind = MmaKind::f8f6f4, c.idesc.a = Type::e4m3, c.idesc.b = Type::e5m2;
        check(c, {0});
      }
  Case c{.form = {.kind = MmaKind::tf32}, .idesc = idesc(Type::tf32, Type::tf32, Type::f32, 128, 32), .a = {128, 32}, .b = {128, 32}};
  c.idesc.a_major = c.idesc.b_major = Major::mn;
  check(c, {0, 1});
}

TEST(Tcgen05Plan, Modifiers) {
  Case c{.idesc = idesc(Type::f16, Type::f16, Type::f32, 128, 16), .accumulate = false};
  check(c);
  c.idesc.negate_a = true;
  check(c);
  c.idesc.negate_b = true;
  check(c);
  c.accumulate = true, c.scale_input_d = 3;
  check(c, {0});
  c.idesc.d = Type::f16, c.scale_input_d = 15;
  check(c);
  c.disable = true;
  check(c, {0});
}

TEST(Tcgen05Plan, Pairs) {
  for (const int m : {128, 256}) {
    check({.form = {.cta_group = 2}, .idesc = idesc(Type::f16, Type::f16, Type::f32, m, 48)});
    check({.form = {.cta_group = 2, .a_in_tensor_memory = true}, .idesc = idesc(Type::bf16, Type::bf16, Type::f32, m, 32), .disable = true}, {0});
  }
}

TEST(Tcgen05Plan, OtherKinds) {
  check({.form = {.kind = MmaKind::tf32}, .idesc = idesc(Type::tf32, Type::tf32, Type::f32, 128, 16)});
  constexpr Type kNarrow[] = {Type::e4m3, Type::e5m2, Type::e3m2, Type::e2m3, Type::e2m1};
  for (const Type a : kNarrow)
    for (const Type b : kNarrow)
      check({.form = {.kind = MmaKind::f8f6f4, .a_in_tensor_memory = a == b}, .idesc = idesc(a, b, b == Type::e5m2 ? Type::f16 : Type::f32, 64, 8)});
  for (const Type a : {Type::s8, Type::u8})
    for (const Type b : {Type::s8, Type::u8}) {
      Case c{.form = {.kind = MmaKind::i8, .a_in_tensor_memory = a == Type::s8}, .idesc = idesc(a, b, Type::s32, 128, 16)};
      check(c, {0});
      c.idesc.saturate = true;
      check(c, {0});
    }
}

TEST(Tcgen05Plan, TensorMemoryA) {
  for (const int m : {64, 128})
    check({.form = {.a_in_tensor_memory = true}, .idesc = idesc(Type::f16, Type::f16, Type::f32, m, 16), .first_lane = m == 64 ? 16 : 0}, {0, 2});
  check({.form = {.kind = MmaKind::tf32, .a_in_tensor_memory = true}, .idesc = idesc(Type::tf32, Type::tf32, Type::f32, 128, 8)}, {0});
}

TEST(Tcgen05Plan, BlockScaled) {
  for (const Type a : {Type::e4m3, Type::e3m2, Type::e2m1})
    for (int id = 0; id < 4; ++id) {
      Case c{.form = {.kind = MmaKind::mxf8f6f4, .a_in_tensor_memory = id % 2 == 1, .scale_vec = 1},
             .idesc = scaled(a, Type::e5m2, Type::ue8m0, 128, 40)};
      c.idesc.scale_a_id = static_cast<uint8_t>(id), c.idesc.scale_b_id = static_cast<uint8_t>(3 - id);
      check(c);
    }
  for (const MmaKind kind : {MmaKind::mxf4, MmaKind::mxf4nvf4})
    for (const int id : {0, 2}) {
      Case c{.form = {.kind = kind, .a_in_tensor_memory = id == 2, .scale_vec = 2}, .idesc = scaled(Type::e2m1, Type::e2m1, Type::ue8m0, 128, 24)};
      c.idesc.scale_a_id = static_cast<uint8_t>(id), c.idesc.scale_b_id = static_cast<uint8_t>(2 - id);
      c.idesc.negate_a = id == 2;
      check(c);
    }
  for (const Type scale : {Type::ue4m3, Type::ue8m0})
    check({.form = {.kind = MmaKind::mxf4nvf4, .scale_vec = 4}, .idesc = scaled(Type::e2m1, Type::e2m1, scale, 128, 72)});
  for (const int m : {128, 256}) {
    check({.form = {.kind = MmaKind::mxf8f6f4, .cta_group = 2, .scale_vec = 1}, .idesc = scaled(Type::e4m3, Type::e4m3, Type::ue8m0, m, 96)}, {0, 1});
    check({.form = {.kind = MmaKind::mxf4nvf4, .cta_group = 2, .scale_vec = 4}, .idesc = scaled(Type::e2m1, Type::e2m1, Type::ue4m3, m, 80)}, {0, 1});
  }
}

TEST(Tcgen05Plan, Sparse) {
  for (const int selector : {0, 1, 3}) {
    Case c{.form = {.sparse = true, .a_in_tensor_memory = selector == 1},
           .idesc = idesc(Type::f16, Type::f16, Type::f32, selector == 3 ? 64 : 128, 16)};
    c.idesc.sparse = true, c.idesc.selector = static_cast<uint8_t>(selector);
    check(c);
    c.form.kind = MmaKind::tf32, c.idesc.a = c.idesc.b = Type::tf32;
    check(c, {0, 1});
  }
  for (const int m : {128, 256}) {
    Case c{.form = {.kind = MmaKind::f8f6f4, .cta_group = 2, .sparse = true},
           .idesc = idesc(Type::e4m3, Type::e2m3, Type::f32, m, 32),
           .first_lane = m == 128 ? 16 : 0};
    c.idesc.sparse = true;
    check(c, {0, 1});
  }
  Case i8{.form = {.kind = MmaKind::i8, .sparse = true}, .idesc = idesc(Type::s8, Type::u8, Type::s32, 64, 16)};
  i8.idesc.sparse = true;
  check(i8, {0});
  Case mx{.form = {.kind = MmaKind::mxf8f6f4, .sparse = true, .scale_vec = 1}, .idesc = scaled(Type::e4m3, Type::e2m1, Type::ue8m0, 128, 16)};
  mx.idesc.sparse = true;
  check(mx);
  for (const uint8_t vec : {2, 4}) {
    Case f4{.form = {.kind = MmaKind::mxf4nvf4, .sparse = true, .scale_vec = vec},
            .idesc = scaled(Type::e2m1, Type::e2m1, vec == 4 ? Type::ue4m3 : Type::ue8m0, 128, 40)};
    f4.idesc.sparse = true;
    check(f4);
  }
}

TEST(Tcgen05Plan, WeightStationary) {
  for (const int m : {32, 64, 128})
    for (const bool tensor : {false, true}) {
      Case c{.form = {.weight_stationary = true, .a_in_tensor_memory = tensor}, .idesc = idesc(Type::f16, Type::f16, Type::f32, m, 64)};
      check(c);
      // Runs of 3 zero columns and 4 used ones, shifted by 2 columns.
      c.zero_columns = uint64_t{1} << 39 | uint64_t{2} << 40 | uint64_t{3} << 48 | uint64_t{2} << 56 | 0x01020100 | uint64_t{3} << 32;
      check(c, {0});
      c.idesc.b_major = Major::mn;
      check(c, {0});
      c.idesc.b_major = Major::k, c.form.sparse = c.idesc.sparse = true;
      check(c, {0});
    }
}

// .ashift: row r of D is computed with row r + 1 of A, the last with its own.
TEST(Tcgen05Plan, Shift) {
  Case c{.form = {.a_in_tensor_memory = true, .shift = true}, .idesc = idesc(Type::f16, Type::f16, Type::f32, 128, 8)};
  Trial run(c, 99);
  std::vector<uint32_t> shifted = run.a;
  for (int i = 0; i < 127; ++i)
    for (int s = 0; s < 16; ++s) shifted[static_cast<size_t>(i * 16 + s)] = run.a[static_cast<size_t>((i + 1) * 16 + s)];
  run.a = shifted;
  run.check();
}

// 1 * 1 + 2^-26 is 1: the small term is cut below 2^(0-25); with D = -1 it is what remains of 2^-25, and 2^-26 vanishes.
TEST(Tcgen05Plan, FractionBitsByHand) {
  for (const auto& [c_bits, expected] : {std::pair{0x33000000u, 0x33000000u}, {0x32800000u, 0u}}) {  // 2^-25, 2^-26
    Trial run({.idesc = idesc(Type::f16, Type::f16, Type::f32, 128, 8)}, 5);
    std::fill(run.a.begin(), run.a.end(), 0u);
    std::fill(run.b.begin(), run.b.end(), 0u);
    run.a[0] = 0x3c00, run.a[1] = 0xbc00, run.b[0] = 0x3c00, run.b[1] = 0x3c00;  // 1 * 1 - 1 * 1
    run.d[0] = c_bits;
    run.lay_out();
    run.check();
    EXPECT_EQ(run.word(0, 0, 0), expected);
  }
}

}  // namespace
}  // namespace tcsim::isa
