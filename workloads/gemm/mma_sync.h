// GEMM with mma.sync: tiles in `stages` buffers of shared memory, fragments from there, mma.
//
//   ampere   cp.async, ldmatrix, m16n8k16 and its like; f32 as several products of narrower types (--emulate)
//   turing   loads through registers (no cp.async), ldmatrix, m16n8k8, m8n8k16 for integers
//   volta    loads through registers, 16-byte shared loads, m8n8k4 by quad-pairs
#pragma once
#include <map>

#include "workloads/gemm/common.h"

namespace tcsim::gemm {

class MmaSync {
 public:
  MmaSync(const Config& config, const OperandType& type) : c_(config), t_(type) {}

  bool plan(Diagnostics& diags);
  Program emit();

 private:
  /// One operand: its tile in shared memory and how it is fetched and read.
  struct Side {
    const char* name;
    uint32_t extent, tile;  // M or N of the problem and of the CTA tile
    bool k_major;           // rows of the shared tile run along M or N; else along K
    SmemTile smem;
    uint32_t base = 0;                                    // byte offset of its buffers in shared memory
    std::string pointer, ld;                              // global address, leading dimension register (elements)
    std::vector<std::string> sources, targets, in_range;  // addresses of 16-byte pieces, shared offsets, bytes to copy (0 outside)
    std::vector<std::vector<std::string>> staged;         // pieces on their way through registers
    uint32_t copies = 0;                                  // pieces per thread and tile
    std::string step;                                     // bytes from one K tile to the next
    std::vector<std::string> chunk_k;                     // K-major tails: K index of the chunk
  };

  void prologue();
  void copy_addresses(Side& side, const std::string& first);
  std::string piece_size(const Side& side, uint32_t i);
  void emit_copy(Side& side, const std::string& stage_offset);
  void fetch_tile();
  void deposit_tile(const std::string& stage);
  void advance(Side& side);
  void copy_tile(const std::string& stage);
  void next_stage(const std::string& stage);
  std::string fragment_address(const Side& side, const std::string& stage_base, uint32_t row0, uint32_t k_step);
  using Fragments = std::vector<std::vector<std::string>>;
  std::vector<std::string> load(const Side& side, const std::string& stage_base, uint32_t block, uint32_t step);
  Fragments load_a(const std::string& stage_base, uint32_t step);
  Fragments load_b(const std::string& stage_base, uint32_t step);
  void lane_places();
  void fragment_offsets();
  void clear_accumulators();
  void compute(const std::string& stage);
  void multiply(const std::vector<std::string>& d, const std::vector<std::string>& a, const std::vector<std::string>& b);
  Fragments parts(const std::vector<std::string>& fragment, bool is_a);
  void emulated(const Fragments& fa, const Fragments& fb);
  void epilogue();
  void store(const std::string& predicate, const std::string& address, const std::vector<std::string>& d, uint32_t pair);
  void loop_async();
  void loop_staged();
  uint32_t piece_chunks() const { return t_.step_bytes / 16; }  // 16-byte chunks of a row in a step of K
  bool staged() const { return c_.style != "ampere"; }          // through registers: no cp.async before sm_80
  bool quads() const { return t_.shape == "m8n8k4"; }           // Volta: four quad-pairs of lanes, 8 x 8 each
  uint32_t block_n() const { return quads() ? 16 : 8; }         // of C, in one block of accumulators with 16 rows

  Config c_;
  OperandType t_;
  Writer w_;
  Side a_{}, b_{};
  uint32_t threads_ = 0, warps_m_ = 0, warps_n_ = 0, wm_ = 0, wn_ = 0;
  bool k_tail_ = false;
  std::string tid_, lane_, warp_m_, warp_n_, row0_, col0_, m_, n_, k_, k_left_, c_pointer_, smem_;
  std::string tiles_, tile_, read_, write_;  // of K: count, number; buffers
  // Per-lane parts of fragment addresses that do not change in the loop, by side: row and chunk registers.
  std::string a_row_, a_chunk_, b_row_, b_chunk_;
  std::map<std::string, std::string> fragment_bases_;  // hoisted swizzled offsets
  std::vector<std::vector<std::string>> acc_;
};

Program generate_mma_sync(const Config& config, Diagnostics& diags);

}  // namespace tcsim::gemm
