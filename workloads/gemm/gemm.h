// Parametric GEMM generators: C[M,N] = A[M,K] * B[K,N], emitted as PTX with the launch file that runs it.
//
//   gemm::Config config{.m = 1024, .n = 1024, .k = 1024, .style = "ampere", .tile = {128, 128, 32}, .stages = 3,
//                       .swizzle = "xor", .dtype = "f16", .acc = "f32"};
//   gemm::Program program = gemm::generate(config, diags);   // program.ptx, program.launch_toml
//
// Styles: simt (FFMA, shared-memory blocked), wmma (wmma.load from shared memory), volta, turing and ampere (mma.sync; mma_sync.h),
// hopper-tma, hopper-ws, hopper-cooperative and hopper-pingpong (TMA, mbarriers and wgmma; hopper.h says how they differ),
// blackwell, blackwell-2cta and blackwell-ws (TMA, tcgen05 and Tensor Memory; blackwell.h). A is row-major M x K and B is N x K
// ("tn": both K-major) unless layout says otherwise.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/diag.h"

namespace tcsim::gemm {

/// Ways to break a Hopper kernel, for tests of the simulator's diagnoses. Each removes or alters one thing.
enum class Fault : uint8_t {
  none,
  no_full_wait,      // consumers read a stage without waiting for its full barrier
  no_empty_wait,     // the producer refills a stage without waiting for its empty barrier (or the CTA barrier)
  no_store_fence,    // no fence.proxy.async between writing C to shared memory and its TMA store
  no_empty_arrive,   // consumers never release a stage
  short_expect_tx,   // expect_tx counts A only
  long_expect_tx,    // expect_tx counts 128 bytes too many
  map_swizzle_none,  // A's tensor map does not swizzle, its wgmma descriptor does
  misaligned_stage,  // tiles start 128 bytes past their alignment
  missing_init,      // the full barrier of the last stage is not initialised
  reinit_in_use,     // the producer initialises a full barrier whose phase is under way
  early_release,     // consumers release a stage before their wgmma have read it
  no_wgmma_wait,     // the epilogue reads accumulators of wgmma in flight
  no_init_sync,      // no barrier between mbarrier.init and the first use by other threads
};

struct Config {
  uint32_t m = 1024, n = 1024, k = 1024;
  std::string style = "ampere";
  std::array<uint32_t, 3> tile{128, 128, 32};
  std::array<uint32_t, 2> warps{0, 0};  // warps along M and N; 0: chosen from the tile
  uint32_t stages = 3;
  std::string swizzle = "";   // none, padded, xor; empty: the style's own. Styles with TMA take its 128-byte swizzle and none of these
  std::string dtype = "f16";  // f16 bf16 tf32 s8 u8 e4m3 e5m2, f32 (simt, emulated), mxfp8 mxfp4 nvfp4 (Blackwell styles)
  std::string acc = "f32";    // f32, f16 (f16 only), s32 (s8, u8)
  std::string layout = "tn";  // BLAS letters for A and B: t = K-major for A, n = K-major for B
  std::string emulate = "";   // ampere style, f32: 3xtf32 or bf16x9
  uint32_t sm = 80;           // target of the PTX (Hopper styles: always sm_90a; Blackwell: sm_100a)
  // The rest holds for the Hopper and Blackwell styles.
  std::array<uint32_t, 2> cluster{1, 1};  // CTAs along M and N; A is multicast along N, B along M
  uint32_t consumers = 0;                 // consumer warpgroups that share a tile of hopper-ws: 1 or 2 (0: 2 when M of the tile is 128 or more)
  std::string out = "";                   // type of C: f16 bf16 f32 s32; empty: that of the operands, f32 for tf32 and 8-bit floats, s32 for s8
  std::string epilogue = "tma";           // tma: through shared memory and a TMA store; direct: st.global
  bool setmaxnreg = true;                 // warp-specialised styles: move registers from the producer to the consumers
  bool promote = false;                   // 8-bit floats: add into a second set of f32 accumulators every 128 of K
  std::string raster = "m";               // persistent styles: tiles of a group follow each other along m or n
  uint32_t group = 8;                     // rows (raster m) or columns (raster n) of tiles in a group
  uint32_t sms = 132;                     // persistent styles: CTAs at most
  Fault fault = Fault::none;
};

/// Bytes of shared memory by use, for the budget table ("A: 3 stages x 8192 B").
struct SharedUse {
  std::string what;
  uint32_t stages = 1, bytes = 0;  // copies, and bytes of each
  bool per_stage = false;          // a copy for each stage of the main loop, filled by loads
};

/// A tensor map that the kernel takes as a 128-byte parameter: fields of cuTensorMapEncodeTiled, innermost dimension first.
struct TensorMap {
  std::string name, buffer;
  std::array<uint64_t, 2> dims{};
  uint64_t stride_bytes = 0;
  std::array<uint32_t, 2> box{};
  std::string swizzle;     // none 32B 64B 128B
  std::string dtype = "";  // of its elements; empty: that of the buffer
};

struct Program {
  std::string ptx, entry, launch_toml;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::vector<TensorMap> tensor_maps;
  uint32_t dynamic_smem_bytes = 0;
  std::vector<SharedUse> shared;
  std::string scale_type;    // of the block scale factors, buffers SFA and SFB; empty: none
  uint32_t scale_block = 0;  // elements of K that share a factor
};

/// Errors (kind launch-mismatch, no place) say which parameter cannot be and what could. A parameter that the style would leave out, and
/// that is not at its default, is an error too.
Program generate(const Config& config, Diagnostics& diags);

/// Names of the styles, oldest machine first.
const std::vector<std::string>& styles();
bool is_mma_sync_style(const std::string& style);
bool is_hopper_style(const std::string& style);
bool is_blackwell_style(const std::string& style);
/// Stages that a style takes when nobody asks for others; the target decides where copies need cp.async.
uint32_t default_stages(const std::string& style, uint32_t sm = 80);
/// Layout in shared memory when nobody asks for another.
std::string default_swizzle(const std::string& style);
/// Elements of K in 128 bytes, the widest swizzled row: K of a tile unless there is a reason for another.
uint32_t swizzled_row(const std::string& dtype);

}  // namespace tcsim::gemm
