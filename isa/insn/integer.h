// Integer arithmetic (PTX ISA "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic
// Instructions"): scalar functions, as the manual's pseudo code, on which the lane loops are built.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tcsim::isa::integer {

/// Inst::flags of add.cc, addc, sub.cc, subc, mad.cc, madc.
constexpr uint32_t kReadsCarry = 1, kWritesCarry = 2;

template <class T>
using Unsigned = std::make_unsigned_t<T>;
/// Twice as wide: the type of a full product.
template <class T>
using Wide = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                                std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                                                   std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

/// Arithmetic modulo 2^n without signed overflow or promotion to int.
template <class T>
constexpr T wrap_add(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T>
constexpr T wrap_sub(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <class T>
constexpr T wrap_mul(T a, T b) {
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}
constexpr int32_t saturate_s32(int64_t x) { return static_cast<int32_t>(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x); }

struct Add {
  template <class T>
  static T f(T a, T b) {
    return wrap_add(a, b);
  }
};
struct Sub {
  template <class T>
  static T f(T a, T b) {
    return wrap_sub(a, b);
  }
};
struct MulLo {
  template <class T>
  static T f(T a, T b) {
    return wrap_mul(a, b);
  }
};
struct MulHi {
  template <class T>
  static T f(T a, T b) {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
  }
};
struct MulWide {
  template <class T>
  static Wide<T> f(T a, T b) {
    return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b);
  }
};
struct MadLo {
  template <class T>
  static T f(T a, T b, T c) {
    return wrap_add(wrap_mul(a, b), c);
  }
};
struct MadHi {
  template <class T>
  static T f(T a, T b, T c) {
    return wrap_add(MulHi::f<T>(a, b), c);
  }
};
struct MadWide {
  template <class T>
  static Wide<T> f(T a, T b, Wide<T> c) {
    return wrap_add(MulWide::f<T>(a, b), c);
  }
};
struct Sad {
  template <class T>
  static T f(T a, T b, T c) {
    return wrap_add(c, a < b ? wrap_sub(b, a) : wrap_sub(a, b));
  }
};
struct Abs {
  template <class T>
  static T f(T a) {
    return a < 0 ? wrap_sub<T>(0, a) : a;
  }
};
struct Neg {
  template <class T>
  static T f(T a) {
    return wrap_sub<T>(0, a);
  }
};
struct Min {
  template <class T>
  static T f(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T f(T a, T b) {
    return a > b ? a : b;
  }
};
struct MinRelu {
  template <class T>
  static T f(T a, T b) {
    return Max::f<T>(Min::f<T>(a, b), 0);
  }
};
struct MaxRelu {
  template <class T>
  static T f(T a, T b) {
    return Max::f<T>(Max::f<T>(a, b), 0);
  }
};

/// The manual leaves division by zero unspecified; the chip gives all ones for both div and rem (see the README).
struct Div {
  template <class T>
  static T f(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrap_sub<T>(0, a);  // MININT / -1 wraps
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  static T f(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};

inline int32_t add_sat(int32_t a, int32_t b) { return saturate_s32(int64_t{a} + b); }
inline int32_t sub_sat(int32_t a, int32_t b) { return saturate_s32(int64_t{a} - b); }
inline int32_t mad_hi_sat(int32_t a, int32_t b, int32_t c) { return saturate_s32(((int64_t{a} * b) >> 32) + c); }

// mul24: the 24 low bits of each source; .lo gives bits 31..0 and .hi bits 47..16 of the 48-bit product.
inline int64_t product24(int32_t a, int32_t b) {
  return int64_t{static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8} * (static_cast<int32_t>(static_cast<uint32_t>(b) << 8) >> 8);
}
inline uint64_t product24(uint32_t a, uint32_t b) { return uint64_t{a & 0xffffffu} * (b & 0xffffffu); }
struct Mul24Lo {
  template <class T>
  static T f(T a, T b) {
    return static_cast<T>(product24(a, b));
  }
};
struct Mul24Hi {
  template <class T>
  static T f(T a, T b) {
    return static_cast<T>(product24(a, b) >> 16);
  }
};
struct Mad24Lo {
  template <class T>
  static T f(T a, T b, T c) {
    return wrap_add(Mul24Lo::f<T>(a, b), c);
  }
};
struct Mad24Hi {
  template <class T>
  static T f(T a, T b, T c) {
    return wrap_add(Mul24Hi::f<T>(a, b), c);
  }
};
inline int32_t mad24_hi_sat(int32_t a, int32_t b, int32_t c) { return saturate_s32((product24(a, b) >> 16) + c); }

struct Popc {
  template <class T>
  static uint32_t f(T a) {
    return static_cast<uint32_t>(std::popcount(a));
  }
};
struct Clz {
  template <class T>
  static uint32_t f(T a) {
    return static_cast<uint32_t>(std::countl_zero(a));
  }
};
/// Position of the most significant non-sign bit, or 0xffffffff.
struct Bfind {
  template <class T>
  static uint32_t f(T a) {
    using U = Unsigned<T>;
    const U u = static_cast<U>(std::is_signed_v<T> && a < 0 ? ~a : a);
    return static_cast<uint32_t>(static_cast<int>(8 * sizeof(T)) - 1 - std::countl_zero(u));  // none: -1
  }
};
struct BfindShift {
  template <class T>
  static uint32_t f(T a) {
    const uint32_t position = Bfind::f<T>(a);
    return position == ~0u ? position : static_cast<uint32_t>(8 * sizeof(T)) - 1 - position;
  }
};
inline uint32_t brev32(uint32_t x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
  return x >> 16 | x << 16;
}
inline uint64_t brev64(uint64_t x) { return uint64_t{brev32(static_cast<uint32_t>(x))} << 32 | brev32(static_cast<uint32_t>(x >> 32)); }
/// Find the n-th set bit (offset) from base; the manual's loop.
inline uint32_t fns(uint32_t bits, uint32_t base, int32_t offset) {
  if (base > 31) return ~0u;  // the manual: undefined
  if (offset == 0) return bits >> base & 1 ? base : ~0u;
  int64_t left = (offset < 0 ? -int64_t{offset} : int64_t{offset}) - 1;
  for (int pos = static_cast<int>(base); pos >= 0 && pos<32; pos += offset> 0 ? 1 : -1)
    if (bits >> pos & 1) {
      if (left == 0) return static_cast<uint32_t>(pos);
      --left;
    }
  return ~0u;
}

/// low `n` bits set, n may be anything from 0 up.
template <class U>
constexpr U low_bits(uint32_t n) {
  return n >= 8 * sizeof(U) ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << n) - 1);
}

/// Position and length of a bit field. The manual wants 0..255; the 32-bit instruction takes the low 8 bits, the sequence for
/// 64 bits counts anything larger as 255 (H200).
template <class T>
constexpr uint32_t field_operand(uint32_t x) {
  return sizeof(T) == 8 ? (x > 255 ? 255u : x) : x & 0xff;
}

struct Bfe {
  template <class T>
  static T f(T a, uint32_t b, uint32_t c) {
    using U = Unsigned<T>;
    constexpr uint32_t width = 8 * sizeof(T);
    const uint32_t pos = field_operand<T>(b), len = field_operand<T>(c);
    const U field = (pos >= width ? U{0} : static_cast<U>(static_cast<U>(a) >> pos)) & low_bits<U>(len);
    if (!std::is_signed_v<T> || len == 0) return static_cast<T>(field);
    const uint32_t sign_pos = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
    if (!(static_cast<U>(a) >> sign_pos & 1)) return static_cast<T>(field);
    const uint32_t valid = pos >= width ? 0 : (len < width - pos ? len : width - pos);  // bits that came from a
    return static_cast<T>(field | static_cast<U>(~low_bits<U>(valid)));
  }
};
struct Bfi {
  template <class T>
  static T f(T a, T b, uint32_t c, uint32_t d) {
    constexpr uint32_t width = 8 * sizeof(T);
    const uint32_t pos = field_operand<T>(c), len = field_operand<T>(d);
    const T mask = pos >= width ? T{0} : static_cast<T>(low_bits<T>(len) << pos);
    const T field = pos >= width ? T{0} : static_cast<T>(a << pos);
    return static_cast<T>((b & ~mask) | (field & mask));
  }
};

template <bool Clamp, bool Signed>
inline uint32_t szext(uint32_t a, uint32_t b) {
  const uint32_t n = b & 31;
  const bool too_large = Clamp && b >= 32;
  const uint32_t mask = too_large ? 0 : ~0u << n;
  const bool sign = Signed && n != 0 && !too_large && (a >> ((n - 1) & 31) & 1);
  return (a & ~mask) | (sign ? mask : 0);
}
template <bool Clamp>
inline uint32_t bmsk(uint32_t a, uint32_t b) {
  const uint32_t start = a & 31, width = b & 31, sum = start + width;
  const uint32_t mask0 = Clamp && a >= 32 ? 0 : ~0u << start;
  uint32_t mask1 = ~0u << (sum & 31);
  if (sum >= 32 || (Clamp && (a >= 32 || b >= 32))) mask1 = 0;
  else if (width == 0) mask1 = ~0u;
  return mask0 & ~mask1;
}

/// A = int8_t/int16_t or unsigned, one of `count` elements of `word`.
template <class E>
constexpr int32_t element(uint32_t word, int i) {
  return static_cast<E>(word >> (8 * sizeof(E) * i));
}
template <class A, class B>
inline uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 4; ++i) c += static_cast<uint32_t>(element<A>(a, i) * element<B>(b, i));
  return c;
}
template <class A, class B, bool Hi>
inline uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 2; ++i) c += static_cast<uint32_t>(element<A>(a, i)) * static_cast<uint32_t>(element<B>(b, i + (Hi ? 2 : 0)));
  return c;
}

/// Both 16-bit halves.
template <class Op, class T>
inline uint32_t halves(uint32_t a, uint32_t b) {
  const auto lo = static_cast<uint16_t>(Op::template f<T>(static_cast<T>(a), static_cast<T>(b)));
  const auto hi = static_cast<uint16_t>(Op::template f<T>(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return lo | static_cast<uint32_t>(hi) << 16;
}

}  // namespace tcsim::isa::integer
