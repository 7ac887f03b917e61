// GEMM kernels for Blackwell (sm_100a): TMA loads, tcgen05.mma from shared memory into Tensor Memory, issued by one thread.
//
//   blackwell       one CTA: warp 0 loads, warp 1 multiplies, then all four warps store C
//   blackwell-2cta  the same by a pair of CTAs: cta_group::2, M = 256; each CTA brings its 128 rows of A and half of B
//   blackwell-ws    persistent: warps 0 to 3 are the epilogue, warp 4 loads, warp 5 multiplies; two sets of accumulators in Tensor
//                   Memory, so that storing a tile overlaps the main loop of the next; with --cluster 2x1 by pairs of CTAs
//
// The tile is one CTA's part of C: 128 rows. Of a pair, the CTA with rank 0 leads: its thread issues the instructions for both.
// Barriers: full_bar[stage] (of the leader: bytes of both CTAs), empty_bar[stage] and done_bar[buffer] (tcgen05.commit, to both
// CTAs), free_bar[buffer] (of the leader: an arrival of each epilogue warp).
// Tensor Memory: columns of accumulators x buffers, then scale factors of A and of B.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "isa/layout/tcgen05_descriptor.h"
#include "workloads/gemm/tma_kernel.h"

namespace tcsim::gemm {

/// What tcgen05.mma takes and gives for an operand type; K of one instruction is 32 bytes.
struct BlackwellType {
  std::string name;  // of the GEMM
  isa::Type stored;  // elements of A and B in memory
  uint32_t bits;
  isa::MmaKind kind;
  std::string accumulate;             // "f32", "s32"
  std::vector<std::string> outputs;   // the first is the default
  isa::Type scale = isa::Type::none;  // type of the scale factors
  uint32_t scale_block = 0;           // elements of K that share a factor; 0: there are none
  bool scaled() const { return scale_block != 0; }
};
std::optional<BlackwellType> blackwell_type(const std::string& dtype);

class Blackwell : public TmaKernel {
 public:
  Blackwell(const Config& config, BlackwellType type) : TmaKernel(config, type.bits), t_(std::move(type)) {}

  bool plan(Diagnostics& diags);
  Program emit();

 private:
  /// Scale factors of A or B: atoms of 128 rows x 4 factors (512 bytes, as tcgen05.cp.32x128b takes them).
  struct Scales {
    std::string name;
    uint32_t blocks = 1;               // of 128 rows
    uint32_t base = 0;                 // offset in a stage
    uint32_t column = 0;               // first in Tensor Memory
    std::string map = "", first = "";  // registers: tensor map, first block of 128 rows
  };

  // blackwell_plan.cpp
  bool plan_shape(Diagnostics& diags);
  void plan_tensor_memory(Diagnostics& diags);
  uint32_t instruction_descriptor(uint32_t scale_id) const;
  std::string mnemonic_kind() const;
  std::vector<TensorMap> scale_maps() const;
  std::string module() const;
  Program program();

  // blackwell_roles.cpp
  void setup();
  void init_barriers();
  void allocate();
  void finish();
  void role(uint32_t warp, bool leader_only, const std::string& otherwise);
  void locate_operands(const Tile& tile);
  void load_stage(const Walk& walk, const std::string& k0, const std::string& k_block);
  void load_box(const std::string& target, const std::string& map, const std::string& inner, const std::string& outer, const std::string& bar);
  void producer_tile(const Tile& tile, const Walk& walk);
  void multiply_stage(const std::string& stage, const std::string& accumulator, const std::string& iteration);
  void copy_scales(const Scales& s, const std::string& stage);
  void commit(const std::string& bar);
  void multiply_setup();
  void multiply_tile(const Walk& walk, const Walk& buffer);
  void emit_once();
  void emit_persistent();
  std::string begin_tiles(const std::string& label);

  // blackwell_epilogue.cpp
  void epilogue_setup();
  void epilogue_tile(const Tile& tile, const Walk& buffer);
  std::vector<std::string> load_columns(const std::string& accumulator, uint32_t column, uint32_t columns);
  std::vector<std::string> pack(const std::vector<std::string>& values);
  void store_direct(const std::string& accumulator, const Tile& tile);
  void store_tma(const std::string& accumulator, const Tile& tile);
  void release_accumulator(const Walk& buffer);
  void finish_stores();

  bool persistent() const override { return c_.style == "blackwell-ws"; }
  uint32_t ctas() const { return c_.cluster[0]; }  // 1, or 2: a pair
  bool pair() const { return ctas() == 2; }
  std::string group() const { return fmt::format("cta_group::{}", ctas()); }
  uint32_t n() const { return c_.tile[1]; }
  uint32_t buffers() const { return persistent() ? 2 : 1; }
  uint32_t threads() const { return persistent() ? 192 : 128; }
  uint32_t atoms() const { return t_.scaled() ? c_.tile[2] / (4 * t_.scale_block) : 0; }  // of a stage, along K
  uint32_t stage_bytes() const { return a_.region() + b_.region() + scale_region(); }
  uint32_t scale_bytes() const { return kAtomBytes * atoms() * (sfa_.blocks + sfb_.blocks); }
  uint32_t scale_region() const { return (scale_bytes() + 1023) / 1024 * 1024; }
  uint32_t slots_base() const { return stage_bytes() * c_.stages; }

  static constexpr uint32_t kRows = 128;  // of the accumulators in a CTA: lanes of Tensor Memory
  static constexpr uint32_t kAtomBytes = 512;
  static constexpr uint32_t kAtomColumns = 4;                   // of Tensor Memory
  static constexpr uint32_t kEpilogueWarps = 4;                 // a warp reaches the 32 lanes of its rank modulo 4
  static constexpr uint32_t kSlots = 2, kSlotBytes = 32 * 128;  // of a warp: one is written while the other is being stored

  BlackwellType t_;
  Scales sfa_{.name = "SFA"}, sfb_{.name = "SFB"};
  uint32_t columns_ = 0;  // of Tensor Memory, allocated
  std::string tensor_, full_, empty_, done_, free_, leader_full_, leader_free_;
  std::string desc_a_, desc_b_, desc_scale_, both_;
  std::string slot_, store_leader_, quarter_;
};

Program generate_blackwell(const Config& config, Diagnostics& diags);

}  // namespace tcsim::gemm
