// Microbenchmarks of launches, CTA scheduling and instruction fetch of branches.
using u64 = unsigned long long;

__device__ __forceinline__ u64 global_ns() {
  u64 t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

extern "C" __global__ void empty() {}

// Spins `cycles` SM cycles and stores nothing.
extern "C" __global__ void spin(long long cycles) {
  long long t0 = clock64();
  while (clock64() - t0 < cycles) {
  }
}

// One global load and store a CTA, to see what first touches cost in a cold kernel.
extern "C" __global__ void touch(const float* a, float* b, u64 stride, int loads, u64* out) {
  long long t0 = clock64();
  float s = 0;
  for (int i = 0; i < loads; ++i) {
    float v;
    asm volatile("ld.global.f32 %0,[%1];" : "=f"(v) : "l"((const char*)a + (blockIdx.x * 1024ull + i) * stride + threadIdx.x * 4) : "memory");
    s += v;
    if (s == 12345.f) out[1] = 1;
    if (threadIdx.x == 0) out[blockIdx.x * 16 + i] = clock64() - t0;
    t0 = clock64();
  }
  if (s == 1234567.f) b[threadIdx.x] = s;
}

// Records where and when every CTA runs: smid, start/end clock, start/end globaltimer.
extern "C" __global__ void place(long long cycles, u64* out) {
  u64 n0 = global_ns();
  long long t0 = clock64();
  unsigned s;
  asm volatile("mov.u32 %0, %smid;" : "=r"(s));
  while (clock64() - t0 < cycles) {
  }
  __syncthreads();
  long long t1 = clock64();
  u64 n1 = global_ns();
  if (threadIdx.x == 0) {
    u64* o = out + blockIdx.x * 5;
    o[0] = s, o[1] = t0, o[2] = t1, o[3] = n0, o[4] = n1;
  }
}

// A chain of `K` FFMA a loop iteration: with small K the loop's branch shows.
template <int K>
__device__ void loop_body(int iters, float x, u64* out) {
  float a[8];
  for (int i = 0; i < 8; ++i) a[i] = x + i;
  for (int rep = 0; rep < 3; ++rep) {
    __syncthreads();
    long long t0 = clock64();
#pragma unroll 1
    for (int i = 0; i < iters; ++i) {
#pragma unroll
      for (int k = 0; k < K; ++k) asm volatile("fma.rn.f32 %0,%0,%1,%1;" : "+f"(a[k % 8]) : "f"(x));
    }
    long long t1 = clock64();
    if (threadIdx.x % 32 == 0) out[2 * (32 * rep + threadIdx.x / 32)] = t0, out[2 * (32 * rep + threadIdx.x / 32) + 1] = t1;
  }
  float s = 0;
  for (int i = 0; i < 8; ++i) s += a[i];
  if (s == 1234567.f) out[0] = 1;
}
extern "C" __global__ void loop1(int n, float x, u64* o) { loop_body<1>(n, x, o); }
extern "C" __global__ void loop2(int n, float x, u64* o) { loop_body<2>(n, x, o); }
extern "C" __global__ void loop4(int n, float x, u64* o) { loop_body<4>(n, x, o); }
extern "C" __global__ void loop8(int n, float x, u64* o) { loop_body<8>(n, x, o); }
extern "C" __global__ void loop16(int n, float x, u64* o) { loop_body<16>(n, x, o); }
extern "C" __global__ void loop32(int n, float x, u64* o) { loop_body<32>(n, x, o); }
extern "C" __global__ void loop64(int n, float x, u64* o) { loop_body<64>(n, x, o); }
