// f16 and bf16 arithmetic with one rounding (PTX ISA "Half Precision Floating Point Instructions"), by widening to f32.
//
// add, sub, mul: f32 has more than 2p + 2 bits, so rounding twice equals rounding once (Figueroa 1995). fma: the product
// is exact in f32 (f16) or double (bf16), and the sum is rounded to odd before the last rounding.
#pragma once
#include "isa/insn/convert.h"
#include "isa/insn/fp.h"

namespace tcsim::isa::half {

struct F16 {
  using Grid = conversion::HalfFormat;
  static constexpr uint16_t kInfinity = 0x7c00u;
  static float widen(uint16_t x) { return fp::half_to_float(x); }
  static uint16_t narrow(float x) { return fp::half_from_float(x); }
  static uint16_t flush(uint16_t x) { return fp::flush_half(x); }
  static float fma(uint16_t a, uint16_t b, uint16_t c) { return fp::add_odd(widen(a) * widen(b), widen(c)); }
};
struct Bf16 {
  using Grid = conversion::Bf16Format;
  static constexpr uint16_t kInfinity = 0x7f80u;
  static float widen(uint16_t x) { return fp::bf16_to_float(x); }
  static uint16_t narrow(float x) { return fp::bf16_from_float(x); }
  static uint16_t flush(uint16_t x) { return static_cast<uint16_t>((x & 0x7f80u) == 0 ? x & 0x8000u : x); }
  static float fma(uint16_t a, uint16_t b, uint16_t c) {
    const double product = static_cast<double>(widen(a)) * static_cast<double>(widen(b));
    return fp::float_odd(fp::add_odd(product, static_cast<double>(widen(c))));
  }
};

enum class After { none, sat, relu };

template <class Fmt, bool Ftz, After Post>
inline uint16_t finish(float x) {
  if constexpr (Post == After::sat) x = fp::saturate(x);
  if constexpr (Post == After::relu) x = fp::relu(x);
  const uint16_t r = Fmt::narrow(x);
  return Ftz ? Fmt::flush(r) : r;
}
template <class Fmt, bool Ftz>
inline float source(uint16_t x) {
  return Fmt::widen(Ftz ? Fmt::flush(x) : x);
}

template <class Fmt, bool Ftz, After Post>
struct Arith {
  static uint16_t add(uint16_t a, uint16_t b) { return finish<Fmt, Ftz, Post>(source<Fmt, Ftz>(a) + source<Fmt, Ftz>(b)); }
  static uint16_t sub(uint16_t a, uint16_t b) { return finish<Fmt, Ftz, Post>(source<Fmt, Ftz>(a) - source<Fmt, Ftz>(b)); }
  static uint16_t mul(uint16_t a, uint16_t b) { return finish<Fmt, Ftz, Post>(source<Fmt, Ftz>(a) * source<Fmt, Ftz>(b)); }
  static uint16_t fma(uint16_t a, uint16_t b, uint16_t c) {
    if constexpr (Ftz) return finish<Fmt, true, Post>(Fmt::fma(Fmt::flush(a), Fmt::flush(b), Fmt::flush(c)));
    else return finish<Fmt, false, Post>(Fmt::fma(a, b, c));
  }
  /// .oob: the result is 0 when a or b is the NaN that marks an element outside a tensor.
  static uint16_t fma_oob(uint16_t a, uint16_t b, uint16_t c) {
    return (a & 0x7fffu) == kOutOfBounds || (b & 0x7fffu) == kOutOfBounds ? uint16_t{0} : fma(a, b, c);
  }
  static constexpr uint16_t kOutOfBounds = 0x7ff7u;  // of f16 and bf16, with either sign: all 2^16 sources tried on an H200
};

/// F on both halves of packed operands.
template <auto F>
inline uint32_t pair(uint32_t a) {
  return F(static_cast<uint16_t>(a)) | static_cast<uint32_t>(F(static_cast<uint16_t>(a >> 16))) << 16;
}
template <auto F>
inline uint32_t pair(uint32_t a, uint32_t b) {
  return F(static_cast<uint16_t>(a), static_cast<uint16_t>(b)) |
         static_cast<uint32_t>(F(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16))) << 16;
}
template <auto F>
inline uint32_t pair(uint32_t a, uint32_t b, uint32_t c) {
  return F(static_cast<uint16_t>(a), static_cast<uint16_t>(b), static_cast<uint16_t>(c)) |
         static_cast<uint32_t>(F(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16), static_cast<uint16_t>(c >> 16))) << 16;
}

}  // namespace tcsim::isa::half
