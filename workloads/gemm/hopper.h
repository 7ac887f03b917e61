// GEMM kernels for Hopper: TMA loads into swizzled shared-memory tiles, full/empty mbarriers per stage, wgmma from shared memory.
//
//   hopper-tma          one consumer warpgroup; one of its threads issues the loads
//   hopper-ws           a producer warpgroup and 1 or 2 consumer warpgroups that share the CTA's tile by rows
//   hopper-cooperative  persistent: a tile scheduler, a producer warpgroup, 2 consumer warpgroups that share each tile by rows
//   hopper-pingpong     persistent: 2 consumer warpgroups on different tiles, their main loops in turn (order barriers), so that the
//                       epilogue of one overlaps the main loop of the other
//
// Kernel parameters: tensor maps of A and B, then C (a tensor map, or a pointer with the direct epilogue), then M, N, K (u32).
// Shared memory: `smem` (dynamic): [A tile, B tile] x stages, then the slots of the epilogue; named barriers full_bar[stage],
// empty_bar[stage], order_bar[consumer].
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "workloads/gemm/common.h"

namespace tcsim::gemm {

/// What wgmma takes and gives for an operand type; K of one instruction is 32 bytes.
struct HopperType {
  std::string name;
  uint32_t bytes;
  std::string accumulate;            // "f32", "s32"
  std::vector<std::string> outputs;  // the first is the default
};
std::optional<HopperType> hopper_type(const std::string& dtype);

class Hopper {
 public:
  Hopper(const Config& config, HopperType type) : c_(config), t_(std::move(type)) {}

  bool plan(Diagnostics& diags);
  Program emit();

 private:
  /// A or B: the tile of a stage in shared memory, as boxes that TMA writes, and its wgmma descriptor.
  struct Operand {
    const char* name;
    uint32_t extent, tile;     // M or N of the problem and of the CTA tile
    bool k_major;
    uint32_t peers;            // CTAs that share the tile by multicast; each loads 1 / peers of it
    uint32_t row_bytes = 0;    // of the swizzled rows: 32, 64 or 128
    uint32_t box_inner = 0, box_outer = 0;  // elements
    uint32_t bytes = 0;        // of the tile
    uint32_t region() const { return (bytes + 1023) / 1024 * 1024; }  // in shared memory: the next tile starts a swizzle period
    uint32_t base = 0;         // offset of the tile in a stage
    std::string map = "", rank = "";  // registers: address of the tensor map, this CTA's place among the peers
    std::string mask = "";     // register: CTAs of the multicast
    std::string first = "";    // register: first row (or column) of C that the tile belongs to
  };
  /// One TMA copy: offset in the tile, and where in the matrix relative to (first row, k).
  struct Box {
    uint32_t offset, row, k;
  };
  /// Registers of a walk over stages.
  struct Walk {
    std::string stage, phase;
  };
  struct Tile {
    std::string m, n;  // registers: indices
  };

  // hopper_common.cpp: the plan and the frame of the kernel
  bool plan_shape(Diagnostics& diags);
  void plan_operand(Operand& o, Diagnostics& diags);
  void plan_registers(Diagnostics& diags);
  void setup();
  void cluster_setup();
  void init_barriers();
  void sync_cluster_or_cta();
  void finish_kernel();
  std::string module() const;
  std::vector<TensorMap> maps() const;
  Program program();

  // hopper_pipeline.cpp: what producers and consumers do to a stage
  std::vector<Box> boxes(const Operand& o) const;
  Walk start_walk(uint32_t phase);
  void advance(const Walk& walk);
  void skip_stages(const Walk& walk, const std::string& count);
  void wait(const std::string& label, const std::string& bars, const std::string& index, const std::string& parity, bool cluster = false);
  void load_stage(const Walk& walk, const std::string& k0, const std::string& iteration);
  void locate_operands(const Tile& tile);
  void producer_tile(const Tile& tile, const Walk& walk);
  void init_descriptors(const std::string& row_offset);
  void issue_wgmma(const std::string& stage, const std::string& iteration);
  void issue_steps(const std::string& stage_a, const std::string& stage_b, uint32_t first, uint32_t last, const std::string& accumulate);
  void release(const std::string& stage, const std::string& predicate);
  void consumer_loop(const Walk& walk);
  void consumer_tail();
  void new_accumulators();

  // one file each
  void emit_tma();
  void emit_ws();
  void producer_registers();
  void consumer_registers();
  void emit_persistent();
  void scheduler_setup();
  Tile schedule(const std::string& tile);
  void persistent_producer();
  void persistent_consumer();
  void persistent_step(const std::string& tile, uint32_t steps, const std::string& loop);
  std::string consumer_index();

  // hopper_epilogue.cpp
  void epilogue(const Tile& tile, const std::string& group, const std::string& row_offset);
  void epilogue_direct(const std::string& row0, const std::string& col0);
  void epilogue_tma(const std::string& group, const std::string& row0, const std::string& col0);
  void write_slot(const std::string& slot, uint32_t block, uint32_t column);
  std::string pack(uint32_t block, uint32_t j, uint32_t half);
  void finish_stores();

  bool clustered() const { return c_.cluster[0] * c_.cluster[1] > 1; }
  bool persistent() const { return c_.style == "hopper-cooperative" || c_.style == "hopper-pingpong"; }
  bool pingpong() const { return c_.style == "hopper-pingpong"; }
  bool specialised() const { return c_.style != "hopper-tma"; }
  bool uses_empty() const { return specialised() || clustered(); }
  bool faulty(Fault f) const { return c_.fault == f; }
  bool releases_own_stage() const { return c_.promote || c_.stages == 1; }  // its wgmma are done in the iteration that issued them
  uint32_t out_bytes() const { return c_.out == "f16" || c_.out == "bf16" ? 2 : 4; }
  uint32_t instruction_k() const { return 32 / t_.bytes; }
  uint32_t steps() const { return c_.tile[2] / instruction_k(); }
  uint32_t stage_bytes() const { return a_.region() + b_.region(); }
  uint32_t blocks() const { return rows_ / 64; }  // m64 instructions side by side in a consumer
  uint32_t slots_base() const { return stage_bytes() * c_.stages; }

  // The TMA epilogue: a slot holds 64 rows of 128 bytes; two a consumer, so that one is written while the other is being stored.
  static constexpr uint32_t kSlots = 2, kSlotBytes = 64 * 128;

  static constexpr uint32_t kMisalignment = 128;  // of the fault

  Config c_;
  HopperType t_;
  Writer w_;
  Operand a_{}, b_{};
  uint32_t groups_ = 1;      // consumer warpgroups of the CTA
  uint32_t rows_ = 64;       // of the tile, per consumer warpgroup
  uint32_t threads_ = 128;
  uint32_t launch_regs_ = 0, producer_regs_ = 0, consumer_regs_ = 0;
  std::string tid_, warp_, lane_, group_, m_, n_, k_, k_tiles_, base_, c_where_;
  std::string full_, empty_, order_, cluster_x_, cluster_y_, rank_;
  std::string remote_empty_, releases_;  // consumers: address of empty_bar[0] where this lane arrives, and whether it does
  std::string slots_;                    // epilogue slots of this consumer warpgroup
  std::string tiles_m_, tiles_n_, tile_count_, tile_stride_, first_tile_;
  std::string desc_a_, desc_b_;
  std::string previous_;                 // stage of the iteration before
  std::vector<std::vector<std::string>> acc_, partial_;  // by 64-row block
};

Program generate_hopper(const Config& config, Diagnostics& diags);

}  // namespace tcsim::gemm
