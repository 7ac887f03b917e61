// WMMA GEMM: f16 inputs, f32 accumulators and output, 64 x 64 tile per CTA of four warps, K in steps of 32 through shared
// memory with padded rows. C[M,N] = A[M,K] * B[K,N], all row-major; sizes are multiples of the tile.
#include <mma.h>

using namespace nvcuda;
constexpr int BM = 64, BN = 64, BK = 32, PAD = 8;

extern "C" __global__ void __launch_bounds__(128)
wmma_gemm(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  __shared__ __align__(16) half as[BM][BK + PAD];
  __shared__ __align__(16) half bs[BK][BN + PAD];
  const int tid = threadIdx.x, warp = tid / 32;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][2];
#pragma unroll
  for (auto& row : acc)
    for (auto& f : row) wmma::fill_fragment(f, 0.0f);
  for (int k0 = 0; k0 < k; k0 += BK) {
#pragma unroll
    for (int i = tid; i < BM * BK / 8; i += 128) {
      const int row = i / (BK / 8), col = i % (BK / 8) * 8;
      *reinterpret_cast<int4*>(&as[row][col]) = *reinterpret_cast<const int4*>(a + (blockIdx.y * BM + row) * k + k0 + col);
    }
#pragma unroll
    for (int i = tid; i < BK * BN / 8; i += 128) {
      const int row = i / (BN / 8), col = i % (BN / 8) * 8;
      *reinterpret_cast<int4*>(&bs[row][col]) = *reinterpret_cast<const int4*>(b + (k0 + row) * n + blockIdx.x * BN + col);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(fa[i], &as[wm + i * 16][kk], BK + PAD);
        wmma::load_matrix_sync(fb[i], &bs[kk][wn + i * 16], BN + PAD);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) wmma::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(c + (blockIdx.y * BM + wm + i * 16) * n + blockIdx.x * BN + wn + j * 16, acc[i][j], n, wmma::mem_row_major);
}
