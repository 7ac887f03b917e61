// Bursts of loads and stores as GEMM kernels make them: a tile for each step, or the tile of an epilogue.
// Run by validation/measure/run_burst.py; times are SM clock cycles.
#include <cstdint>

using u64 = unsigned long long;

__device__ __forceinline__ unsigned clock32() {
  unsigned t;
  asm volatile("mov.u32 %0, %clock;" : "=r"(t)::"memory");
  return t;
}

// Every CTA copies `steps` tiles of `rows` x (16 << shift) bytes to shared memory, one after the other: cp.async of the whole
// tile, wait, barrier. out[cta * 64 + step]: cycles of the step.
extern "C" __global__ void burst(const char* base, u64 pitch, u64 cta_stride, int rows, int shift, u64 step_stride, int steps, unsigned* out) {
  extern __shared__ char tile[];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  const char* from = base + blockIdx.x * cta_stride;
  for (int step = 0; step < steps; ++step) {
    __syncthreads();
    const unsigned t0 = clock32();
    for (int i = threadIdx.x; i < rows << shift; i += blockDim.x)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i * 16), "l"(from + (i >> shift) * pitch + (i & ((1 << shift) - 1)) * 16) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    const unsigned t1 = clock32();
    if (threadIdx.x == 0) out[blockIdx.x * 64 + step] = t1 - t0;
    from += step_stride;
  }
}

// The same through registers, rows of 128 bytes: kLoads loads of 16 bytes a thread, then stores to shared memory.
template <int kLoads>
__device__ __forceinline__ void burst_through_registers(const char* base, u64 pitch, u64 cta_stride, u64 step_stride, int steps, unsigned* out) {
  extern __shared__ uint4 words[];
  const char* from = base + blockIdx.x * cta_stride + (threadIdx.x >> 3) * pitch + (threadIdx.x & 7) * 16;
  const u64 next = (blockDim.x >> 3) * pitch;
  for (int step = 0; step < steps; ++step) {
    __syncthreads();
    const unsigned t0 = clock32();
    uint4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k)
      asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w) : "l"(from + k * next) : "memory");
#pragma unroll
    for (int k = 0; k < kLoads; ++k) words[threadIdx.x + k * blockDim.x] = v[k];
    __syncthreads();
    const unsigned t1 = clock32();
    if (threadIdx.x == 0) out[blockIdx.x * 64 + step] = t1 - t0;
    from += step_stride;
  }
}
extern "C" __global__ void __launch_bounds__(256) burst_ldg_4(const char* base, u64 pitch, u64 cta_stride, u64 step_stride, int steps, unsigned* out) { burst_through_registers<4>(base, pitch, cta_stride, step_stride, steps, out); }
extern "C" __global__ void __launch_bounds__(256) burst_ldg_8(const char* base, u64 pitch, u64 cta_stride, u64 step_stride, int steps, unsigned* out) { burst_through_registers<8>(base, pitch, cta_stride, step_stride, steps, out); }
extern "C" __global__ void __launch_bounds__(256) burst_ldg_12(const char* base, u64 pitch, u64 cta_stride, u64 step_stride, int steps, unsigned* out) { burst_through_registers<12>(base, pitch, cta_stride, step_stride, steps, out); }

// Every thread loads `kLoads` vectors, all in flight at once; out[warp * 16 + k]: cycles until the k-th has come.
template <int kWords, int kLoads, bool kL1>
__device__ __forceinline__ void loads_in_flight(const char* base, u64 stride, unsigned* out) {
  const char* from = base + threadIdx.x * (4 * kWords);
  unsigned v[kLoads][kWords], at[kLoads];
  for (int pass = 0; pass < 3; ++pass) {
    __syncthreads();
    const unsigned t0 = clock32();
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const char* p = from + k * stride;
      if constexpr (kWords == 4 && kL1) asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[k][0]), "=r"(v[k][1]), "=r"(v[k][2]), "=r"(v[k][3]) : "l"(p) : "memory");
      else if constexpr (kWords == 4) asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[k][0]), "=r"(v[k][1]), "=r"(v[k][2]), "=r"(v[k][3]) : "l"(p) : "memory");
      else if constexpr (kWords == 2) asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];" : "=r"(v[k][0]), "=r"(v[k][1]) : "l"(p) : "memory");
      else asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v[k][0]) : "l"(p) : "memory");
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      unsigned sum = 0;  // of every word: ptxas narrows loads whose words are not all used
#pragma unroll
      for (int w = 0; w < kWords; ++w) sum = sum * 3 + v[k][w];
      if (sum == 0x1234567) out[0] = sum;  // waits for the value
      at[k] = clock32() - t0;
    }
  }
  if (threadIdx.x % 32 == 0)
#pragma unroll
    for (int k = 0; k < kLoads; ++k) out[threadIdx.x / 32 * 16 + k] = at[k];
}
extern "C" __global__ void __launch_bounds__(256) loads_32(const char* base, u64 stride, unsigned* out) { loads_in_flight<1, 12, false>(base, stride, out); }
extern "C" __global__ void __launch_bounds__(256) loads_64(const char* base, u64 stride, unsigned* out) { loads_in_flight<2, 12, false>(base, stride, out); }
extern "C" __global__ void __launch_bounds__(256) loads_128(const char* base, u64 stride, unsigned* out) { loads_in_flight<4, 12, false>(base, stride, out); }
extern "C" __global__ void __launch_bounds__(256) loads_128_l1(const char* base, u64 stride, unsigned* out) { loads_in_flight<4, 12, true>(base, stride, out); }

// As cold_map, by the CTA that runs on one SM.
extern "C" __global__ void map_from(const char* base, u64 stride, int count, unsigned sm, unsigned* out) {
  extern __shared__ unsigned times[];
  unsigned here;
  asm volatile("mov.u32 %0, %smid;" : "=r"(here));
  if (here != sm) return;
  for (int i = 0; i < count; ++i) {
    unsigned value;
    const unsigned t0 = clock32();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(base + i * stride) : "memory");
    if (value == 0x1234567) times[0] = value;
    const unsigned t1 = clock32();
    times[i] = t1 - t0;
  }
  for (int i = 0; i < count; ++i) out[i] = times[i];
}

// One thread loads a word of each of `count` places, one after the other; out[i]: cycles of the load, clock reads included.
extern "C" __global__ void cold_map(const char* base, u64 stride, int count, int multiply, unsigned* out) {
  extern __shared__ unsigned times[];
  for (int i = 0; i < count; ++i) {
    const char* at = base + static_cast<u64>((static_cast<unsigned>(i) * multiply) % count) * stride;
    unsigned value;
    const unsigned t0 = clock32();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    if (value == 0x1234567) times[0] = value;  // waits for the value
    const unsigned t1 = clock32();
    times[i] = t1 - t0;
  }
  for (int i = 0; i < count; ++i) out[i] = times[i];
}

// Every CTA stores a tile of `rows` x (16 << shift) bytes and ends; out[cta * 4]: clock before, after, SM.
extern "C" __global__ void epilogue(char* base, u64 pitch, u64 cta_stride, int rows, int shift, int spin, u64* out) {
  long long t0 = clock64(), t1;
  unsigned sm;
  asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
  do t1 = clock64(); while (t1 - t0 < spin);
  __syncthreads();
  const long long t2 = clock64();
  char* to = base + blockIdx.x * cta_stride;
  for (int i = threadIdx.x; i < rows << shift; i += blockDim.x)
    asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to + (i >> shift) * pitch + (i & ((1 << shift) - 1)) * 16), "r"(i) : "memory");
  const long long t3 = clock64();
  if (threadIdx.x == 0) out[blockIdx.x * 4] = t0, out[blockIdx.x * 4 + 1] = t2, out[blockIdx.x * 4 + 2] = t3, out[blockIdx.x * 4 + 3] = sm;
}

// Reads everything once: what was in L2 before is not there afterwards.
extern "C" __global__ void sweep(const uint4* base, u64 count, unsigned* out) {
  unsigned sum = 0;
  for (u64 i = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x; i < count; i += static_cast<u64>(gridDim.x) * blockDim.x) {
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(base + i) : "memory");
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x1234567) out[0] = sum;
}
