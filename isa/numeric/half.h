// Fast conversions between f32 and f16, bf16: one number, and eight lanes at a time. Hardware instructions where the host has them.
#pragma once
#include <bit>
#include <cstdint>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "isa/numeric/vec.h"

namespace tcsim::isa {

/// f16 to f32, exact. NaNs keep their payload and become quiet.
inline float f16_to_f32(uint16_t h) {
#if defined(__F16C__)
  return _cvtsh_ss(h);
#else
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff;
  if (e == 31) return std::bit_cast<float>(sign | 0x7f800000 | (m << 13) | (m ? 0x400000 : 0));
  if (e == 0) return (sign ? -1.0f : 1.0f) * static_cast<float>(m) * 0x1p-24f;
  return std::bit_cast<float>(sign | ((e + 112) << 23) | (m << 13));
#endif
}

inline float bf16_to_f32(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

/// f32 to f16, round to nearest even, overflow to infinity, any NaN to 0x7fff (what the GPU's cvt gives).
inline uint16_t f32_to_f16_rn(float x) {
  if (x != x) return 0x7fff;
#if defined(__F16C__)
  return static_cast<uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
#else
  const uint32_t u = std::bit_cast<uint32_t>(x), sign = (u >> 16) & 0x8000;
  const float magnitude = std::bit_cast<float>(u & 0x7fffffff);
  if (magnitude >= 65520.0f) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x1p-14f)  // adding 0.5 puts the grid of subnormals at the last mantissa bit
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(magnitude + 0.5f) - 0x3f000000));
  const uint32_t r = (u & 0x7fffffff) + 0xfff + ((u >> 13) & 1);
  return static_cast<uint16_t>(sign | ((r >> 13) - (112 << 10)));
#endif
}

/// f32 to bf16, round to nearest even, NaN to 0x7fff.
inline uint16_t f32_to_bf16_rn(float x) {
  if (x != x) return 0x7fff;
  const uint32_t u = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

/// Eight f32 to f16 encodings (no NaN among them), one a word.
inline vec::I8 f32_to_f16_lanes(vec::F8 x) {
#if defined(__F16C__)
  const __m128i h = _mm256_cvtps_ph(reinterpret_cast<__m256&>(x), _MM_FROUND_TO_NEAREST_INT);
  const __m256i w = _mm256_cvtepu16_epi32(h);
  return vec::bits<vec::I8>(w);
#else
  vec::I8 r;
  for (int i = 0; i < 8; ++i) r[i] = f32_to_f16_rn(x[i]);
  return r;
#endif
}

}  // namespace tcsim::isa
