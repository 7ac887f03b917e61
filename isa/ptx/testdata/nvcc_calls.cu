struct S { int a; char c[9]; double d; };
__constant__ float coef[4] = {1.f, 2.f, 3.f, 4.f};
__device__ int counter = 7;
__device__ int* pcounter = &counter;
__noinline__ __device__ float helper(float x, int n) { float s = 0; for (int i = 0; i < n; ++i) s += x * i; return s; }
__noinline__ __device__ S mk(S s, short k) { s.a += k; s.c[s.a & 7] = 3; s.d *= 2; return s; }
__noinline__ __device__ void early(int* p, int v) { if (v < 0) return; atomicAdd(p, v); if (v == 3) return; *p = v; }
extern "C" __global__ void __launch_bounds__(256, 2) calls(float* out, S s, char c, int n) {
  __shared__ float tile[32];
  extern __shared__ float dyn[];
  tile[threadIdx.x % 32] = dyn[threadIdx.x];
  __syncthreads();
  float v = helper(tile[n & 31], n);
  S t = mk(s, n);
  early(&counter, n);
  out[0] = v + coef[n & 3] + t.a + (float)t.d + c + *pcounter;
}
