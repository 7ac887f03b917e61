// Eight-lane vectors as g++ and clang both spell them (GCC vector extension), with AVX2 for the two operations that it saves
// most in. Internal to isa.
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tcsim::isa::vec {

using I8 = int32_t __attribute__((vector_size(32)));
using U8 = uint32_t __attribute__((vector_size(32)));
using I4 = int32_t __attribute__((vector_size(16)));
using L4 = int64_t __attribute__((vector_size(32)));
using D4 = double __attribute__((vector_size(32)));
using F4 = float __attribute__((vector_size(16)));
using F8 = float __attribute__((vector_size(32)));

inline I8 load(const int32_t* p) {
  I8 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline I8 load(const uint32_t* p) {
  I8 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(uint32_t* p, I8 v) { std::memcpy(p, &v, sizeof v); }
inline void store(int32_t* p, I8 v) { std::memcpy(p, &v, sizeof v); }
inline I8 splat(int32_t x) { return I8{x, x, x, x, x, x, x, x}; }
inline I8 max(I8 a, I8 b) { return a > b ? a : b; }
inline I8 select(I8 mask, I8 yes, I8 no) { return (mask & yes) | (~mask & no); }

/// |p| >> count (count >= 0; everything is gone from 32 on) with the sign of p: cut toward zero.
inline I8 cut_right(I8 p, I8 count) {
#if defined(__AVX2__)
  const __m256i x = reinterpret_cast<__m256i>(p);
  return reinterpret_cast<I8>(_mm256_sign_epi32(_mm256_srlv_epi32(_mm256_abs_epi32(x), reinterpret_cast<__m256i>(count)), x));
#else
  const I8 sign = p >> 31, far = count > 31, t = ((p ^ sign) - sign) >> (count & 31);
  return ((t & ~far) ^ sign) - sign;
#endif
}

template <class V>
inline bool any(V mask) {
#if defined(__AVX2__)
  const __m256i m = reinterpret_cast<__m256i>(mask);
  return !_mm256_testz_si256(m, m);
#else
  int64_t w[4];
  std::memcpy(w, &mask, sizeof w);
  return (w[0] | w[1] | w[2] | w[3]) != 0;
#endif
}

inline I4 low(I8 v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3); }
inline I4 high(I8 v) { return __builtin_shufflevector(v, v, 4, 5, 6, 7); }
inline I8 join(I4 a, I4 b) { return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7); }
template <class To, class From>
inline To bits(From v) {
  To t;
  static_assert(sizeof t == sizeof v);
  std::memcpy(&t, &v, sizeof t);
  return t;
}

}  // namespace tcsim::isa::vec
