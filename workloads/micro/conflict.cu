// Shared-memory conflict kernels with hand-computed wavefronts (see measure/conflict_cases.py for the
// arithmetic). One warp-wide access a kernel; one CTA of 32 threads; out keeps the loads alive.
#include <cstdint>

using u32 = unsigned;
__device__ __forceinline__ u32 base(char* sm) { return (u32)__cvta_generic_to_shared(sm); }

// ld.shared.u32, lanes `Stride` words apart.
template <int Stride>
__device__ void ld32(u32* out) {
  extern __shared__ __align__(1024) char sm[];
  u32 v;
  asm volatile("ld.volatile.shared.u32 %0,[%1];" : "=r"(v) : "r"(base(sm) + threadIdx.x * Stride * 4));
  out[threadIdx.x] = v;
}
extern "C" __global__ void micro_conflict_ld32_1way(u32* out) { ld32<1>(out); }
extern "C" __global__ void micro_conflict_ld32_2way(u32* out) { ld32<2>(out); }
extern "C" __global__ void micro_conflict_ld32_8way(u32* out) { ld32<8>(out); }
extern "C" __global__ void micro_conflict_ld32_32way(u32* out) { ld32<32>(out); }
extern "C" __global__ void micro_conflict_ld32_padded(u32* out) { ld32<33>(out); }

// 64-bit loads: half-warps of 16 lanes a wavefront.
template <int Stride>
__device__ void ld64(u32* out) {
  extern __shared__ __align__(1024) char sm[];
  u32 a, b;
  asm volatile("ld.volatile.shared.v2.u32 {%0,%1},[%2];" : "=r"(a), "=r"(b) : "r"(base(sm) + threadIdx.x * Stride * 8));
  out[threadIdx.x] = a ^ b;
}
extern "C" __global__ void micro_conflict_ld64_1way(u32* out) { ld64<1>(out); }
extern "C" __global__ void micro_conflict_ld64_4way(u32* out) { ld64<4>(out); }

// 128-bit loads: quarter-warps of 8 lanes.
__device__ void ld128(u32 offset, u32* out) {
  extern __shared__ __align__(1024) char sm[];
  u32 a, b, c, d;
  asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(base(sm) + offset));
  out[threadIdx.x] = a ^ b ^ c ^ d;
}
extern "C" __global__ void micro_conflict_ld128_1way(u32* out) { ld128(threadIdx.x * 16, out); }
extern "C" __global__ void micro_conflict_ld128_8way(u32* out) { ld128(threadIdx.x * 128, out); }
extern "C" __global__ void micro_conflict_ld128_padded(u32* out) { ld128(threadIdx.x * 144, out); }
extern "C" __global__ void micro_conflict_ld128_same(u32* out) { ld128((threadIdx.x / 16) * 16, out); }

// Loads that share words between lanes: lane L reads word group (L >> shift) & mask, `bytes` apart.
extern "C" __global__ void micro_conflict_share32(u32* out, int shift, int mask, int bytes) {
  extern __shared__ __align__(1024) char sm[];
  u32 v;
  asm volatile("ld.volatile.shared.u32 %0,[%1];" : "=r"(v) : "r"(base(sm) + ((threadIdx.x >> shift) & mask) * bytes));
  out[threadIdx.x] = v;
}
extern "C" __global__ void micro_conflict_share64(u32* out, int shift, int mask, int bytes) {
  extern __shared__ __align__(1024) char sm[];
  u32 a, b;
  asm volatile("ld.volatile.shared.v2.u32 {%0,%1},[%2];" : "=r"(a), "=r"(b) : "r"(base(sm) + ((threadIdx.x >> shift) & mask) * bytes));
  out[threadIdx.x] = a ^ b;
}
extern "C" __global__ void micro_conflict_share128(u32* out, int shift, int mask, int bytes) { ld128(((threadIdx.x >> shift) & mask) * bytes, out); }
extern "C" __global__ void micro_conflict_share_st128(u32*, int shift, int mask, int bytes) {
  extern __shared__ __align__(1024) char sm[];
  asm volatile("st.volatile.shared.v4.u32 [%0],{%1,%1,%1,%1};" ::"r"(base(sm) + ((threadIdx.x >> shift) & mask) * bytes), "r"(threadIdx.x));
}

// Stores.
extern "C" __global__ void micro_conflict_st32_16way(u32*) {
  extern __shared__ __align__(1024) char sm[];
  asm volatile("st.volatile.shared.u32 [%0],%1;" ::"r"(base(sm) + threadIdx.x * 64), "r"(threadIdx.x));
}
extern "C" __global__ void micro_conflict_st64_2way(u32*) {
  extern __shared__ __align__(1024) char sm[];
  asm volatile("st.volatile.shared.v2.u32 [%0],{%1,%1};" ::"r"(base(sm) + threadIdx.x * 16), "r"(threadIdx.x));
}
extern "C" __global__ void micro_conflict_st128_1way(u32*) {
  extern __shared__ __align__(1024) char sm[];
  asm volatile("st.volatile.shared.v4.u32 [%0],{%1,%1,%1,%1};" ::"r"(base(sm) + threadIdx.x * 16), "r"(threadIdx.x));
}
extern "C" __global__ void micro_conflict_st128_4way(u32*) {
  extern __shared__ __align__(1024) char sm[];
  asm volatile("st.volatile.shared.v4.u32 [%0],{%1,%1,%1,%1};" ::"r"(base(sm) + threadIdx.x * 64), "r"(threadIdx.x));
}

// ldmatrix.x4: four phases of eight 16-byte rows.
template <bool Trans>
__device__ void ldsm4(u32 offset, u32* out) {
  extern __shared__ __align__(1024) char sm[];
  u32 a, b, c, d;
  if (Trans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(base(sm) + offset));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(base(sm) + offset));
  out[threadIdx.x] = a ^ b ^ c ^ d;
}
extern "C" __global__ void micro_conflict_ldsm4_1way(u32* out) { ldsm4<false>(threadIdx.x * 16, out); }
extern "C" __global__ void micro_conflict_ldsm4_8way(u32* out) { ldsm4<false>(threadIdx.x * 128, out); }
extern "C" __global__ void micro_conflict_ldsm4_padded(u32* out) { ldsm4<false>(threadIdx.x * 144, out); }
// Rows of 64 bytes, 16-byte chunk XOR-swizzled with (row / 2) % 4: conflict-free; plain: 4-way.
extern "C" __global__ void micro_conflict_ldsm4_swizzled(u32* out) {
  u32 row = threadIdx.x;
  ldsm4<false>(row * 64 + ((row / 2) % 4) * 16, out);
}
extern "C" __global__ void micro_conflict_ldsm4_4way(u32* out) { ldsm4<false>(threadIdx.x * 64, out); }
extern "C" __global__ void micro_conflict_ldsm4_trans_2way(u32* out) { ldsm4<true>(threadIdx.x * 32, out); }
extern "C" __global__ void micro_conflict_ldsm4_trans_1way(u32* out) { ldsm4<true>(threadIdx.x * 16, out); }

// stmatrix.x4.
extern "C" __global__ void micro_conflict_stsm4_1way(u32*) {
  extern __shared__ __align__(1024) char sm[];
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0],{%1,%1,%1,%1};" ::"r"(base(sm) + threadIdx.x * 16), "r"(threadIdx.x));
}
extern "C" __global__ void micro_conflict_stsm4_8way(u32*) {
  extern __shared__ __align__(1024) char sm[];
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0],{%1,%1,%1,%1};" ::"r"(base(sm) + threadIdx.x * 128), "r"(threadIdx.x));
}
