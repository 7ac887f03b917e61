// Parametric GEMM generators: C[M,N] = A[M,K] * B[K,N], emitted as PTX with the launch file that runs it.
//
//   gemm::Config config{.m = 1024, .n = 1024, .k = 1024, .style = "ampere", .tile = {128, 128, 32}, .stages = 3,
//                       .swizzle = "xor", .dtype = "f16", .acc = "f32"};
//   gemm::Program program = gemm::generate(config, diags);   // program.ptx, program.launch_toml
//
// Styles: simt (FFMA, shared-memory blocked), wmma (wmma.load from shared memory), ampere (cp.async in `stages` buffers,
// ldmatrix, mma.sync). A is row-major M x K and B is N x K ("tn": both K-major) unless layout says otherwise.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/diag.h"

namespace tcsim::gemm {

struct Config {
  uint32_t m = 1024, n = 1024, k = 1024;
  std::string style = "ampere";
  std::array<uint32_t, 3> tile{128, 128, 32};
  std::array<uint32_t, 2> warps{0, 0};  // warps along M and N; 0: chosen from the tile
  uint32_t stages = 3;
  std::string swizzle = "xor";  // none, padded, xor
  std::string dtype = "f16";    // f16 bf16 tf32 s8 u8 e4m3 e5m2 f32 (simt)
  std::string acc = "f32";      // f32, f16 (f16 only), s32 (s8, u8)
  std::string layout = "tn";    // BLAS letters for A and B: t = K-major for A, n = K-major for B
  uint32_t sm = 80;             // target of the PTX
};

/// Bytes of shared memory by use, for the budget table ("A: 3 stages x 8192 B").
struct SharedUse {
  std::string what;
  uint32_t stages = 1, bytes = 0;
};

struct Program {
  std::string ptx, entry, launch_toml;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t dynamic_smem_bytes = 0;
  std::vector<SharedUse> shared;
};

/// Errors (kind launch-mismatch, no place) say which parameter cannot be and what could.
Program generate(const Config& config, Diagnostics& diags);

/// Tile and stage choices that --best and sweeps try for a style.
std::vector<Config> candidates(const Config& base);

}  // namespace tcsim::gemm
