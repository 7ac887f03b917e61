// Register-blocked SGEMM: a 128 x 128 tile per CTA of 256 threads, 8 x 8 outputs per thread, K in steps of 8 through
// shared memory. C[M,N] = A[M,K] * B[K,N], all row-major; sizes are multiples of the tile.
constexpr int BM = 128, BN = 128, BK = 8;

extern "C" __global__ void __launch_bounds__(256)
sgemm_blocked(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  __shared__ float as[BK][BM];  // transposed, so that a thread's eight rows are contiguous
  __shared__ float bs[BK][BN];
  const int tid = threadIdx.x;
  const int tx = tid % 16, ty = tid / 16;
  a += blockIdx.y * BM * k;
  b += blockIdx.x * BN;
  const int a_row = tid / 2, a_col = tid % 2 * 4, b_row = tid / 32, b_col = tid % 32 * 4;
  float acc[8][8] = {};
  for (int k0 = 0; k0 < k; k0 += BK) {
    const float4 va = *reinterpret_cast<const float4*>(a + a_row * k + k0 + a_col);
    const float4 vb = *reinterpret_cast<const float4*>(b + (k0 + b_row) * n + b_col);
    as[a_col + 0][a_row] = va.x;
    as[a_col + 1][a_row] = va.y;
    as[a_col + 2][a_row] = va.z;
    as[a_col + 3][a_row] = va.w;
    *reinterpret_cast<float4*>(&bs[b_row][b_col]) = vb;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < BK; ++i) {
      float ra[8], rb[8];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<float4*>(&ra[half * 4]) = *reinterpret_cast<const float4*>(&as[i][half * 64 + ty * 4]);
        *reinterpret_cast<float4*>(&rb[half * 4]) = *reinterpret_cast<const float4*>(&bs[i][half * 64 + tx * 4]);
      }
#pragma unroll
      for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int s = 0; s < 8; ++s) acc[r][s] += ra[r] * rb[s];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 8; ++r)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = blockIdx.y * BM + r / 4 * 64 + ty * 4 + r % 4, col = blockIdx.x * BN + half * 64 + tx * 4;
      *reinterpret_cast<float4*>(c + row * n + col) = make_float4(acc[r][half * 4], acc[r][half * 4 + 1], acc[r][half * 4 + 2], acc[r][half * 4 + 3]);
    }
}
