// Second opinion: the host functions of the CUDA headers over every 16-bit encoding and many f32.
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <random>

#include "isa/numeric/formats.h"

namespace tcsim::isa {
namespace {

std::vector<float> samples() {
  std::vector<float> out;
  std::mt19937 rng(3);
  for (uint32_t h = 0; h < 0x10000; ++h) out.push_back(std::bit_cast<float>(static_cast<uint32_t>(convert(Type::f16, Type::f32, h))));
  for (uint32_t h = 0; h < 0x10000; ++h) out.push_back(std::bit_cast<float>(h << 16));
  for (int i = 0; i < 300000; ++i) {
    const auto u = static_cast<uint32_t>(rng());
    out.push_back(std::bit_cast<float>(u));
    out.push_back(std::bit_cast<float>(static_cast<uint32_t>((u & 0x80ffffff) | (0x38000000 + (rng() % 18 << 23)))));
  }
  return out;
}

uint32_t f32(float x) { return std::bit_cast<uint32_t>(x); }

TEST(FormatsCuda, Fp8) {
  for (float x : samples()) {
    for (bool sat : {false, true}) {
      const auto mode = sat ? __NV_SATFINITE : __NV_NOSAT;
      ASSERT_EQ(convert(Type::f32, Type::e4m3, f32(x), {Rounding::rn, sat}), __nv_cvt_float_to_fp8(x, mode, __NV_E4M3)) << x << sat;
      ASSERT_EQ(convert(Type::f32, Type::e5m2, f32(x), {Rounding::rn, sat}), __nv_cvt_float_to_fp8(x, mode, __NV_E5M2)) << x << sat;
    }
  }
}

TEST(FormatsCuda, Fp6AndFp4) {
  for (float x : samples()) {
    ASSERT_EQ(convert(Type::f32, Type::e3m2, f32(x), {Rounding::rn, true}), __nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest)) << x;
    ASSERT_EQ(convert(Type::f32, Type::e2m3, f32(x), {Rounding::rn, true}), __nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest)) << x;
    ASSERT_EQ(convert(Type::f32, Type::e2m1, f32(x), {Rounding::rn, true}), __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest)) << x;
  }
}

TEST(FormatsCuda, Ue8m0) {
  for (float x : samples())
    for (bool sat : {false, true}) {
      const auto mode = sat ? __NV_SATFINITE : __NV_NOSAT;
      ASSERT_EQ(convert(Type::f32, Type::ue8m0, f32(x), {Rounding::rz, sat}), __nv_cvt_float_to_e8m0(x, mode, cudaRoundZero)) << x << sat;
      ASSERT_EQ(convert(Type::f32, Type::ue8m0, f32(x), {Rounding::rp, sat}), __nv_cvt_float_to_e8m0(x, mode, cudaRoundPosInf)) << x << sat;
    }
}

TEST(FormatsCuda, SmallToHalf) {
  for (uint32_t b = 0; b < 256; ++b) {
    const auto half = [](__half_raw h) { return h.x; };
    const auto same = [](uint64_t ours, uint16_t theirs) {
      return ours == theirs || ((ours & 0x7fff) > 0x7c00 && (theirs & 0x7fff) > 0x7c00);  // payloads differ
    };
    ASSERT_TRUE(same(convert(Type::e4m3, Type::f16, b), half(__nv_cvt_fp8_to_halfraw(static_cast<uint8_t>(b), __NV_E4M3)))) << b;
    ASSERT_TRUE(same(convert(Type::e5m2, Type::f16, b), half(__nv_cvt_fp8_to_halfraw(static_cast<uint8_t>(b), __NV_E5M2)))) << b;
    if (b < 64) {
      ASSERT_EQ(convert(Type::e3m2, Type::f16, b), half(__nv_cvt_fp6_to_halfraw(static_cast<uint8_t>(b), __NV_E3M2))) << b;
      ASSERT_EQ(convert(Type::e2m3, Type::f16, b), half(__nv_cvt_fp6_to_halfraw(static_cast<uint8_t>(b), __NV_E2M3))) << b;
    }
    if (b < 16) { ASSERT_EQ(convert(Type::e2m1, Type::f16, b), half(__nv_cvt_fp4_to_halfraw(static_cast<uint8_t>(b), __NV_E2M1))) << b; }
  }
}

TEST(FormatsCuda, Half) {
  for (float x : samples()) {
    if (x != x) continue;
    const auto bits = [](__half h) { return static_cast<__half_raw>(h).x; };
    ASSERT_EQ(f32_to_f16(x, Rounding::rn), bits(__float2half_rn(x))) << x;
    ASSERT_EQ(f32_to_f16(x, Rounding::rz), bits(__float2half_rz(x))) << x;
    ASSERT_EQ(f32_to_f16(x, Rounding::rm), bits(__float2half_rd(x))) << x;
    ASSERT_EQ(f32_to_f16(x, Rounding::rp), bits(__float2half_ru(x))) << x;
  }
}

}  // namespace
}  // namespace tcsim::isa
