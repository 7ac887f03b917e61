// Ampere GEMM by hand: mma.sync + ldmatrix + cp.async in STAGES buffers; f16 inputs and output, f32 accumulation.
// 128 x 128 x 32 tile, four warps of 64 x 64. A row-major M x K, B row-major N x K ("tn"), C row-major.
// SWIZZLE 1: 16-byte chunk c of row r lies at c ^ (r / 2 % 4), which makes every ldmatrix free of bank conflicts;
// SWIZZLE 0: plain rows of 64 bytes: eight rows of an 8 x 8 matrix meet in pairs of bank groups, 4-way conflicts.
#include <cuda_fp16.h>
#include <cstdint>

#ifndef STAGES
#define STAGES 3
#endif
#ifndef SWIZZLE
#define SWIZZLE 1
#endif
#ifndef NAME
#define NAME mma_multistage
#endif

constexpr int BM = 128, BN = 128, BK = 32, THREADS = 128;
constexpr int TILE_BYTES = BM * BK * 2;

__device__ __forceinline__ int offset_of(int row, int chunk) { return row * 64 + (SWIZZLE ? chunk ^ (row / 2 % 4) : chunk) * 16; }

__device__ __forceinline__ void copy16(uint32_t shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global));
}

__device__ __forceinline__ void load_tile(uint32_t shared, const half* global, int k, int tid) {
#pragma unroll
  for (int i = 0; i < BM * BK / 8 / THREADS; ++i) {
    const int row = (i * THREADS + tid) / 4, chunk = tid % 4;
    copy16(shared + offset_of(row, chunk), global + row * k + chunk * 8);
  }
}

__device__ __forceinline__ void ldmatrix4(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
}

__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(THREADS)
NAME(const half* __restrict__ a, const half* __restrict__ b, half* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(128) char smem[];
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(smem));
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int wm = warp / 2 * 64, wn = warp % 2 * 64;
  a += static_cast<int64_t>(blockIdx.y) * BM * k;
  b += static_cast<int64_t>(blockIdx.x) * BN * k;
  float acc[4][8][4] = {};
  const int tiles = k / BK;
  const auto load = [&](int tile) {
    const uint32_t stage = base + tile % STAGES * 2 * TILE_BYTES;
    load_tile(stage, a + tile * BK, k, tid);
    load_tile(stage + TILE_BYTES, b + tile * BK, k, tid);
  };
  for (int t = 0; t < STAGES - 1; ++t) {
    if (t < tiles) load(t);
    asm volatile("cp.async.commit_group;");
  }
  for (int t = 0; t < tiles; ++t) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads();
    if (t + STAGES - 1 < tiles) load(t + STAGES - 1);
    asm volatile("cp.async.commit_group;");
    const uint32_t stage_a = base + t % STAGES * 2 * TILE_BYTES, stage_b = stage_a + TILE_BYTES;
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      uint32_t fa[4][4], fb[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) ldmatrix4(fa[i], stage_a + offset_of(wm + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < 4; ++j) ldmatrix4(fb[j], stage_b + offset_of(wn + j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          mma(acc[i][2 * j], fa[i], fb[j][0], fb[j][1]);
          mma(acc[i][2 * j + 1], fa[i], fb[j][2], fb[j][3]);
        }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
      for (int half_row = 0; half_row < 2; ++half_row) {
        const int row = blockIdx.y * BM + wm + i * 16 + half_row * 8 + lane / 4, col = blockIdx.x * BN + wn + j * 8 + lane % 4 * 2;
        *reinterpret_cast<half2*>(c + static_cast<int64_t>(row) * n + col) = __floats2half2_rn(acc[i][j][2 * half_row], acc[i][j][2 * half_row + 1]);
      }
}
