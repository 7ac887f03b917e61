// Naive SGEMM: one output a thread, operands straight from global memory (L1 does what it can).
// C[M,N] = A[M,K] * B[K,N], all row-major.
extern "C" __global__ void __launch_bounds__(256)
sgemm_naive(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  const int col = blockIdx.x * 16 + threadIdx.x % 16;
  const int row = blockIdx.y * 16 + threadIdx.x / 16;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}
