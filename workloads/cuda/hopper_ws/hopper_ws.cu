// C[M,N] = A[M,K] B[N,K]^T in f16 with f32 accumulators, for sm_90a: one producer warpgroup, two consumer warpgroups.
//
// A CTA computes 128 x 128. The producer keeps STAGES tiles of 64 columns of A and B in flight (TMA, 128-byte swizzle); each consumer
// multiplies 64 rows with wgmma m64n128k16 and writes its fragment to global memory. Barriers: full_bar (one arrival with the bytes),
// empty_bar (one arrival of each consumer warp).
//
// The tensor maps have boxes of 64 x 128 elements. M and N multiples of 128, K of 64.
#include <cuda_fp16.h>

#include <cstdint>

struct alignas(64) TensorMap {
  char bytes[128];
};

constexpr int kTileM = 128, kTileN = 128, kTileK = 64;
constexpr uint32_t kTileBytes = kTileM * kTileK * 2;  // of A, and of B
constexpr uint32_t kStageBytes = 2 * kTileBytes;
constexpr int kStages = STAGES;
constexpr int kConsumerWarps = 8;

__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ void barrier_init(uint64_t* bar, uint32_t arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(arrivals) : "memory"); }

__device__ void barrier_arrive(uint64_t* bar) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory"); }

__device__ void barrier_expect(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes) : "memory");
}

__device__ void barrier_wait(uint64_t* bar, uint32_t parity) {
  uint32_t done = 0;
  while (!done)
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(done)
                 : "r"(shared_address(bar)), "r"(parity)
                 : "memory");
}

__device__ void load_tile(uint32_t target, const TensorMap* map, int k, int row, uint64_t* bar) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(target), "l"(map), "r"(k), "r"(row),
               "r"(shared_address(bar))
               : "memory");
}

// Shared-memory descriptor of a K-major tile with 128-byte swizzle: 8 rows are 1024 bytes.
__device__ uint64_t descriptor(uint32_t address) { return uint64_t{1} << 62 | uint64_t{1024 / 16} << 32 | uint64_t{1} << 16 | (address & 0x3ffff) >> 4; }

__device__ void wgmma_m64n128k16(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %66, 0;\n\t"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, 1, 1, 0, 0;\n\t}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b), "r"(accumulate));
}

__device__ void produce(const TensorMap* map_a, const TensorMap* map_b, uint32_t tiles, uint64_t* full_bar, uint64_t* empty_bar, int k_tiles) {
  for (int kt = 0; kt < k_tiles; ++kt) {
    const int stage = kt % kStages;
    barrier_wait(&empty_bar[stage], (kt / kStages & 1) ^ 1);
    barrier_expect(&full_bar[stage], kStageBytes);
    load_tile(tiles + stage * kStageBytes, map_a, kt * kTileK, blockIdx.x * kTileM, &full_bar[stage]);
    load_tile(tiles + stage * kStageBytes + kTileBytes, map_b, kt * kTileK, blockIdx.y * kTileN, &full_bar[stage]);
  }
}

__device__ void consume(float (&d)[64], uint32_t tiles, int consumer, uint64_t* full_bar, uint64_t* empty_bar, int k_tiles) {
  const bool first_lane = threadIdx.x % 32 == 0;
  for (int kt = 0; kt < k_tiles; ++kt) {
    const int stage = kt % kStages;
    barrier_wait(&full_bar[stage], kt / kStages & 1);
    const uint64_t a = descriptor(tiles + stage * kStageBytes + consumer * 64 * kTileK * 2), b = descriptor(tiles + stage * kStageBytes + kTileBytes);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < kTileK / 16; ++step) wgmma_m64n128k16(d, a + step * 2, b + step * 2, kt != 0 || step != 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    if (kt > 0 && first_lane) barrier_arrive(&empty_bar[(kt - 1) % kStages]);
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(384, 1)
    NAME(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, __half* c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem[];
  __shared__ uint64_t full_bar[kStages], empty_bar[kStages];
  const uint32_t tiles = (shared_address(smem) + 1023) & ~1023u;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&full_bar[s], 1);
      barrier_init(&empty_bar[s], kConsumerWarps);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) produce(&map_a, &map_b, tiles, full_bar, empty_bar, k / kTileK);
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[64];
  consume(d, tiles, group - 1, full_bar, empty_bar, k / kTileK);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const int row = blockIdx.x * kTileM + (group - 1) * 64 + warp * 16 + lane / 4, column = blockIdx.y * kTileN + lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    __half* p = c + static_cast<size_t>(row) * n + column + j * 8;
    *reinterpret_cast<__half2*>(p) = __floats2half2_rn(d[4 * j], d[4 * j + 1]);
    *reinterpret_cast<__half2*>(p + static_cast<size_t>(8) * n) = __floats2half2_rn(d[4 * j + 2], d[4 * j + 3]);
  }
}
