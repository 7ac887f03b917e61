// Turing GEMM by hand: ldmatrix + mma.sync of Turing's own shapes, tiles double-buffered through registers (sm_75 has no cp.async).
// TYPE 16: f16 inputs and output, f32 accumulation, m16n8k8. TYPE 8: s8 inputs, s32 output, m8n8k16.
// 64 x 64 tile, 64 bytes of K, four warps of 32 x 32. A row-major M x K, B row-major N x K ("tn"), C row-major.
// 16-byte chunk c of row r lies at c ^ (r / 2 % 4), which makes every ldmatrix and every store free of bank conflicts.
#include <cuda_fp16.h>
#include <cstdint>

#ifndef TYPE
#define TYPE 16
#endif
#ifndef NAME
#define NAME turing_mma
#endif

#if TYPE == 16
using Input = half;
using Output = half;
using Sum = float;
constexpr int ROWS = 16;  // of D in one instruction
#else
using Input = int8_t;
using Output = int32_t;
using Sum = int32_t;
constexpr int ROWS = 8;
#endif
constexpr int BM = 64, BN = 64, THREADS = 128, ROW_BYTES = 64, BK = ROW_BYTES / sizeof(Input), TILE_BYTES = BM * ROW_BYTES;
constexpr int PER_ROW = ROWS / 4;  // values of D a lane has of one instruction
constexpr int TILES_M = 32 / ROWS, TILES_N = 32 / 8;

__device__ __forceinline__ int offset_of(int row, int chunk) { return row * ROW_BYTES + (chunk ^ (row / 2 % 4)) * 16; }

__device__ __forceinline__ void ldmatrix4(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
}

__device__ __forceinline__ void mma(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(b));
}
__device__ __forceinline__ void mma(int32_t (&d)[2], uint32_t a, uint32_t b) {
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a), "r"(b));
}

/// fa: rows 0-7 and 8-15 of one chunk, then of the next; fb: the chunks of columns 0-7, then of columns 8-15.
__device__ __forceinline__ void product(Sum (&acc)[TILES_M][TILES_N][PER_ROW], int i, int j, const uint32_t (&fa)[4], const uint32_t (&fb)[4]) {
#pragma unroll
  for (int chunk = 0; chunk < 2; ++chunk)
#pragma unroll
    for (int side = 0; side < 2; ++side) {
#if TYPE == 16
      mma(acc[i][2 * j + side], fa[2 * chunk], fa[2 * chunk + 1], fb[2 * side + chunk]);
#else
      mma(acc[2 * i][2 * j + side], fa[2 * chunk], fb[2 * side + chunk]);
      mma(acc[2 * i + 1][2 * j + side], fa[2 * chunk + 1], fb[2 * side + chunk]);
#endif
    }
}

__device__ __forceinline__ void store(half* c, float x, float y) { *reinterpret_cast<half2*>(c) = __floats2half2_rn(x, y); }
__device__ __forceinline__ void store(int32_t* c, int32_t x, int32_t y) { *reinterpret_cast<int2*>(c) = make_int2(x, y); }

extern "C" __global__ void __launch_bounds__(THREADS)
NAME(const Input* __restrict__ a, const Input* __restrict__ b, Output* __restrict__ c, int m, int n, int k) {
  __shared__ __align__(128) char smem[4 * TILE_BYTES];
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(smem));
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32;
  a += static_cast<int64_t>(blockIdx.y) * BM * k;
  b += static_cast<int64_t>(blockIdx.x) * BN * k;
  constexpr int COPIES = TILE_BYTES / 16 / THREADS;
  uint4 next_a[COPIES], next_b[COPIES];
  const auto fetch = [&](int tile) {
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      const int row = (i * THREADS + tid) / 4, chunk = tid % 4;
      const int64_t at = static_cast<int64_t>(row) * k + tile * BK + chunk * (16 / static_cast<int>(sizeof(Input)));
      next_a[i] = *reinterpret_cast<const uint4*>(a + at);
      next_b[i] = *reinterpret_cast<const uint4*>(b + at);
    }
  };
  const auto put = [&](int stage) {
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      const int at = stage * 2 * TILE_BYTES + offset_of((i * THREADS + tid) / 4, tid % 4);
      *reinterpret_cast<uint4*>(smem + at) = next_a[i];
      *reinterpret_cast<uint4*>(smem + at + TILE_BYTES) = next_b[i];
    }
  };
  Sum acc[TILES_M][TILES_N][PER_ROW] = {};
  const int tiles = k / BK;
  fetch(0);
  put(0);
  __syncthreads();
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) fetch(t + 1);
    const uint32_t stage_a = base + t % 2 * 2 * TILE_BYTES, stage_b = stage_a + TILE_BYTES;
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      uint32_t fa[2][4], fb[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) ldmatrix4(fa[i], stage_a + offset_of(wm + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < 2; ++j) ldmatrix4(fb[j], stage_b + offset_of(wn + j * 16 + lane / 16 * 8 + lane % 8, kk * 2 + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) product(acc, i, j, fa[i], fb[j]);
    }
    if (t + 1 < tiles) put((t + 1) % 2);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TILES_M; ++i)
#pragma unroll
    for (int j = 0; j < TILES_N; ++j)
#pragma unroll
      for (int v = 0; v < PER_ROW; v += 2) {
        const int row = blockIdx.y * BM + wm + i * ROWS + v / 2 * 8 + lane / 4, col = blockIdx.x * BN + wn + j * 8 + lane % 4 * 2;
        store(c + static_cast<int64_t>(row) * n + col, acc[i][j][v], acc[i][j][v + 1]);
      }
}
