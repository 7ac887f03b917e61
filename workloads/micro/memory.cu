// Microbenchmarks of global memory, cp.async, the memory-pipe queue and launches.
// Run by validation/measure/run_micro.py; all times are SM clock cycles unless named _ns.
#include <cstdint>

using u64 = unsigned long long;

__device__ __forceinline__ u64 global_ns() {
  u64 t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
__device__ __forceinline__ unsigned sm_id() {
  unsigned s;
  asm volatile("mov.u32 %0, %smid;" : "=r"(s));
  return s;
}
__device__ __forceinline__ unsigned clock32() {
  unsigned t;
  asm volatile("mov.u32 %0, %clock;" : "=r"(t)::"memory");
  return t;
}

// Makes a pointer ring over `count` (a power of two) slots of `stride` bytes in the order of a
// full-period LCG, so that no two neighbours in the chase are neighbours in memory.
extern "C" __global__ void ring_init(char* base, u64 count, u64 stride, u64 mul, u64 add) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
    *(u64*)(base + i * stride) = (u64)(base + ((i * mul + add) & (count - 1)) * stride);
}

// One thread chases `steps` pointers; per-step latency goes to lat[] (shared, then global).
extern "C" __global__ void chase(u64 start, int warm, int steps, int level, u64* out, unsigned* lat) {
  extern __shared__ unsigned sh[];
  u64 p = start;
  auto load = [&](u64 a) {
    u64 r;
    if (level == 1) asm volatile("ld.global.u64 %0,[%1];" : "=l"(r) : "l"(a) : "memory");
    else asm volatile("ld.global.cg.u64 %0,[%1];" : "=l"(r) : "l"(a) : "memory");
    return r;
  };
  for (int i = 0; i < warm; ++i) p = load(p);
  p = warm ? start : p;
  for (int i = 0; i < steps; ++i) {
    unsigned t0 = clock32();
    p = load(p);
    asm volatile("{.reg .u32 t; mov.b64 {t,_},%0;}" ::"l"(p));
    if (p == 1) out[2] = p;  // waits for the value
    unsigned t1 = clock32();
    sh[i & 8191] = t1 - t0;
  }
  long long c0 = clock64();
  for (int i = 0; i < steps; ++i) p = load(p);
  if (p == 1) out[2] = p;
  long long c1 = clock64();
  out[0] = c1 - c0;
  out[1] = p;
  out[3] = sm_id();
  for (int i = 0; i < steps && i < 8192; ++i) lat[i] = sh[i];
}

// Pointer chase without shared memory: the L1 is as large as the carve-out leaves it.
extern "C" __global__ void chase_plain(u64 start, int warm, int steps, u64* out) {
  u64 p = start;
  for (int i = 0; i < warm; ++i) asm volatile("ld.global.u64 %0,[%0];" : "+l"(p)::"memory");
  long long c0 = clock64();
#pragma unroll 8
  for (int i = 0; i < steps; ++i) asm volatile("ld.global.u64 %0,[%0];" : "+l"(p)::"memory");
  if (p == 1) out[2] = p;
  long long c1 = clock64();
  out[0] = c1 - c0;
  out[1] = p;
}

// Latency of one L2-hit load per address for lines addr = base + i * 128, seen from this SM.
extern "C" __global__ void l2_map(const char* base, int lines, unsigned* lat, u64* out) {
  if (threadIdx.x) return;
  out[blockIdx.x] = sm_id();
  for (int rep = 0; rep < 3; ++rep)
    for (int i = 0; i < lines; ++i) {
      u64 r;
      unsigned t0 = clock32();
      asm volatile("ld.global.cg.u64 %0,[%1];" : "=l"(r) : "l"(base + i * 128) : "memory");
      if (r == 1) out[blockIdx.x + 1] = r;
      unsigned t1 = clock32();
      lat[blockIdx.x * lines + i] = t1 - t0;
    }
}

// Streams: every CTA reads (mode 0: .cg, mode 1: default) or writes (mode 2) 16 B per thread.
// CTA b covers bytes [b * cta_stride, + bytes), `passes` times; unroll 8 keeps loads in flight.
extern "C" __global__ void __launch_bounds__(1024) stream(char* base, u64 cta_stride, u64 bytes, int passes, int mode, u64* out) {
  char* p = base + blockIdx.x * cta_stride + threadIdx.x * 16;
  uint4 s = make_uint4(0, 0, 0, 0);
  const u64 step = blockDim.x * 16ull;
  __syncthreads();
  u64 n0 = global_ns();
  long long t0 = clock64();
  for (int r = 0; r < passes; ++r)
    for (u64 o = 0; o < bytes; o += step * 8) {
      uint4 v[8];
      if (mode == 2) {
#pragma unroll
        for (int k = 0; k < 8; ++k) asm volatile("st.global.v4.u32 [%0],{%1,%2,%3,%4};" ::"l"(p + o + k * step), "r"(s.x), "r"(s.y), "r"(s.z), "r"(s.w) : "memory");
      } else {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          if (mode == 0) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w) : "l"(p + o + k * step) : "memory");
          else asm volatile("ld.global.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w) : "l"(p + o + k * step) : "memory");
        }
#pragma unroll
        for (int k = 0; k < 8; ++k) s.x ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
      }
    }
  __syncthreads();
  long long t1 = clock64();
  u64 n1 = global_ns();
  if (threadIdx.x == 0) {
    out[blockIdx.x * 6 + 0] = t0, out[blockIdx.x * 6 + 1] = t1, out[blockIdx.x * 6 + 2] = n0, out[blockIdx.x * 6 + 3] = n1, out[blockIdx.x * 6 + 4] = sm_id();
  }
  if (s.x == 0x1234567) out[5] = s.x;
}

// cp.async streams into shared memory: `size` B per thread and copy, `depth` groups of 8 in flight.
template <int Size, bool Ca>
__device__ void copy_stream(char* base, u64 cta_stride, u64 bytes, int passes, int zfill, u64* out) {
  extern __shared__ __align__(128) char sm[];
  const unsigned dst0 = (unsigned)__cvta_generic_to_shared(sm) + threadIdx.x * Size;
  char* p = base + blockIdx.x * cta_stride + threadIdx.x * Size;
  const u64 step = blockDim.x * (u64)Size;
  const int src = zfill ? 0 : Size;
  unsigned stage = 0;  // two targets in turn: copies in flight to the same address may be dropped
  __syncthreads();
  long long t0 = clock64();
  for (int r = 0; r < passes; ++r)
    for (u64 o = 0; o < bytes; o += step * 8) {
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const unsigned dst = dst0 + (stage + k) * (unsigned)step;
        if (Ca) asm volatile("cp.async.ca.shared.global [%0],[%1],%2,%3;" ::"r"(dst), "l"(p + o + k * step), "n"(Size), "r"(src) : "memory");
        else asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(dst), "l"(p + o + k * step), "r"(src) : "memory");
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      stage ^= 8;
    }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  long long t1 = clock64();
  // The source holds its own addresses (ring_init, 8 B apart): every copied word can be checked.
  u64 wrong = 0;
  if (Size >= 8)
    for (int k = 0; k < 8; ++k) {
      u64 at = (u64)(p + bytes - step * (8 - k));
      u64 want = *(volatile u64*)at;
      wrong += *(volatile u64*)(sm + threadIdx.x * Size + ((stage ^ 8) + k) * step) != (zfill ? 0 : want);
    }
  wrong = __syncthreads_count(wrong != 0);
  if (threadIdx.x == 0) out[blockIdx.x * 6 + 0] = t0, out[blockIdx.x * 6 + 1] = t1, out[blockIdx.x * 6 + 4] = sm_id(), out[blockIdx.x * 6 + 5] = wrong;
}
extern "C" __global__ void __launch_bounds__(1024) copy_ca4(char* b, u64 s, u64 n, int p, int z, u64* o) { copy_stream<4, true>(b, s, n, p, z, o); }
extern "C" __global__ void __launch_bounds__(1024) copy_ca8(char* b, u64 s, u64 n, int p, int z, u64* o) { copy_stream<8, true>(b, s, n, p, z, o); }
extern "C" __global__ void __launch_bounds__(1024) copy_ca16(char* b, u64 s, u64 n, int p, int z, u64* o) { copy_stream<16, true>(b, s, n, p, z, o); }
extern "C" __global__ void __launch_bounds__(1024) copy_cg16(char* b, u64 s, u64 n, int p, int z, u64* o) { copy_stream<16, false>(b, s, n, p, z, o); }

// One warp: copy of 16 B a lane, commit, wait_group 0; the time of each of `steps` rounds.
// kind 0 cp.async.cg, 1 cp.async.ca, 2 ld.global.cg + st.shared, 3 zero-filled cp.async.cg,
// 4 commit + wait of an empty group.
extern "C" __global__ void copy_latency(char* base, u64 step_bytes, int steps, int kind, unsigned* lat) {
  extern __shared__ __align__(128) char sm[];
  unsigned dst = (unsigned)__cvta_generic_to_shared(sm) + threadIdx.x * 16;
  for (int i = 0; i < steps; ++i) {
    char* p = base + i * step_bytes + threadIdx.x * 16;
    __syncwarp();
    unsigned t0 = clock32();
    if (kind == 0) asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(dst), "l"(p) : "memory");
    else if (kind == 1) asm volatile("cp.async.ca.shared.global [%0],[%1],16;" ::"r"(dst), "l"(p) : "memory");
    else if (kind == 3) asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(dst), "l"(p), "r"(0) : "memory");
    else if (kind == 2) {
      unsigned a, b, c, d;
      asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(p) : "memory");
      asm volatile("st.shared.v4.u32 [%0],{%1,%2,%3,%4};" ::"r"(dst), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
    }
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    unsigned t1 = clock32();
    if (threadIdx.x == 0) lat[i] = t1 - t0;
  }
}

// Issue clocks of N back-to-back memory instructions of one warp per SM sub-core.
// kind 0 ld.shared (stride words per lane), 1 ldmatrix.x4, 2 st.shared, 3 ld.global 16 B (own lines),
// 4 cp.async 16 B, 5 ld.global 4 B, 6 st.global 4 B, 7 ld.shared 16 B
template <int Kind>
__device__ void issue_trace(char* g, int stride, unsigned* out) {
  extern __shared__ __align__(128) char sm[];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned a = (unsigned)__cvta_generic_to_shared(sm) + lane * stride;
  char* p = g + (warp * 64) * 4096 + lane * stride;
  constexpr int N = 40;
  unsigned t[N + 1], v[N], sum = 0;
  for (int rep = 0; rep < 2; ++rep) {
    __syncthreads();
    t[0] = clock32();
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if constexpr (Kind == 0) asm volatile("ld.volatile.shared.u32 %0,[%1+%2];" : "=r"(v[i]) : "r"(a), "n"(0) : "memory");
      if constexpr (Kind == 1) asm volatile("{.reg .b32 x,y,z; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,x,y,z},[%1];}" : "=r"(v[i]) : "r"(a) : "memory");
      if constexpr (Kind == 2) asm volatile("st.volatile.shared.u32 [%1],%2; mov.u32 %0,0;" : "=r"(v[i]) : "r"(a), "r"(stride) : "memory");
      if constexpr (Kind == 3) asm volatile("{.reg .b32 x,y,z; ld.volatile.global.v4.u32 {%0,x,y,z},[%1];}" : "=r"(v[i]) : "l"(p + i * 4096) : "memory");
      if constexpr (Kind == 4) asm volatile("cp.async.cg.shared.global [%1],[%2],16; mov.u32 %0,0;" : "=r"(v[i]) : "r"(a), "l"(p + i * 4096) : "memory");
      if constexpr (Kind == 5) asm volatile("ld.global.u32 %0,[%1];" : "=r"(v[i]) : "l"(p + i * 4096) : "memory");
      if constexpr (Kind == 6) asm volatile("st.global.u32 [%1],%2; mov.u32 %0,0;" : "=r"(v[i]) : "l"(p + i * 4096), "r"(stride) : "memory");
      if constexpr (Kind == 7) asm volatile("{.reg .b32 x,y,z; ld.volatile.shared.v4.u32 {%0,x,y,z},[%1];}" : "=r"(v[i]) : "r"(a) : "memory");
      t[i + 1] = clock32();
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 0; i < N; ++i) sum += v[i];
    __syncthreads();
  }
  for (int i = 0; i <= N; ++i)
    if (lane == 0) out[warp * 64 + i] = t[i] - t[0];
  if (sum == 0x1234567) out[0] = sum;
}
extern "C" __global__ void __launch_bounds__(512) issue_lds32(char* g, int s, unsigned* o) { issue_trace<0>(g, s, o); }
extern "C" __global__ void __launch_bounds__(512) issue_ldsm4(char* g, int s, unsigned* o) { issue_trace<1>(g, s, o); }
extern "C" __global__ void __launch_bounds__(512) issue_sts32(char* g, int s, unsigned* o) { issue_trace<2>(g, s, o); }
extern "C" __global__ void __launch_bounds__(512) issue_ldg128(char* g, int s, unsigned* o) { issue_trace<3>(g, s, o); }
extern "C" __global__ void __launch_bounds__(512) issue_ldgsts16(char* g, int s, unsigned* o) { issue_trace<4>(g, s, o); }
extern "C" __global__ void __launch_bounds__(512) issue_ldg32(char* g, int s, unsigned* o) { issue_trace<5>(g, s, o); }
extern "C" __global__ void __launch_bounds__(512) issue_stg32(char* g, int s, unsigned* o) { issue_trace<6>(g, s, o); }
extern "C" __global__ void __launch_bounds__(512) issue_lds128(char* g, int s, unsigned* o) { issue_trace<7>(g, s, o); }
