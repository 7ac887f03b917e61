// GEMM kernels for Hopper: TMA loads into swizzled shared-memory tiles, full/empty mbarriers per stage, wgmma from shared memory.
//
//   hopper-tma          one consumer warpgroup; one of its threads issues the loads
//   hopper-ws           a producer warpgroup and 1 or 2 consumer warpgroups that share the CTA's tile by rows
//   hopper-cooperative  persistent: a tile scheduler, a producer warpgroup, 2 consumer warpgroups that share each tile by rows
//   hopper-pingpong     persistent: 2 consumer warpgroups on different tiles, their main loops in turn (order barriers), so that the
//                       epilogue of one overlaps the main loop of the other
//
// The frame that they share with other kernels fed by TMA: tma_kernel.h. Shared memory after the stages: the slots of the epilogue;
// named barriers full_bar[stage], empty_bar[stage], order_bar[consumer].
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "workloads/gemm/tma_kernel.h"

namespace tcsim::gemm {

/// What wgmma takes and gives for an operand type; K of one instruction is 32 bytes.
struct HopperType {
  std::string name;
  uint32_t bytes;
  std::string accumulate;            // "f32", "s32"
  std::vector<std::string> outputs;  // the first is the default
};
std::optional<HopperType> hopper_type(const std::string& dtype);

class Hopper : public TmaKernel {
 public:
  Hopper(const Config& config, HopperType type) : TmaKernel(config, type.bytes * 8), t_(std::move(type)) {}

  bool plan(Diagnostics& diags);
  Program emit();

 private:
  // hopper_common.cpp: the plan and the frame of the kernel
  bool plan_shape(Diagnostics& diags);
  void plan_registers(Diagnostics& diags);
  void setup();
  void cluster_setup();
  void init_barriers();
  std::string module() const;
  Program program();

  // hopper_pipeline.cpp: what producers and consumers do to a stage
  void skip_stages(const Walk& walk, const std::string& count);
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
  void persistent_producer();
  void persistent_consumer();
  std::string consumer_index();

  // hopper_epilogue.cpp
  void epilogue(const Tile& tile, const std::string& group, const std::string& row_offset);
  void epilogue_direct(const std::string& row0, const std::string& col0);
  void epilogue_tma(const std::string& group, const std::string& row0, const std::string& col0);
  void write_slot(const std::string& slot, uint32_t block, uint32_t column);
  std::string pack(uint32_t block, uint32_t j, uint32_t half);
  void finish_stores();

  bool persistent() const override { return c_.style == "hopper-cooperative" || c_.style == "hopper-pingpong"; }
  bool pingpong() const { return c_.style == "hopper-pingpong"; }
  bool specialised() const { return c_.style != "hopper-tma"; }
  bool uses_empty() const { return specialised() || clustered(); }
  bool releases_own_stage() const { return c_.promote || c_.stages == 1; }  // its wgmma are done in the iteration that issued them
  uint32_t stage_bytes() const { return a_.region() + b_.region(); }
  uint32_t blocks() const { return rows_ / 64; }  // m64 instructions side by side in a consumer
  uint32_t slots_base() const { return stage_bytes() * c_.stages; }

  // The TMA epilogue: a slot holds 64 rows of 128 bytes; two a consumer, so that one is written while the other is being stored.
  static constexpr uint32_t kSlots = 2, kSlotBytes = 64 * 128;

  HopperType t_;
  uint32_t groups_ = 1;  // consumer warpgroups of the CTA
  uint32_t rows_ = 64;   // of the tile, per consumer warpgroup
  uint32_t threads_ = 128;
  uint32_t producer_regs_ = 0, consumer_regs_ = 0;
  std::string group_, full_, empty_, order_;
  std::string remote_empty_, releases_;  // consumers: address of empty_bar[0] where this lane arrives, and whether it does
  std::string slots_;                    // epilogue slots of this consumer warpgroup
  std::string desc_a_, desc_b_;
  std::string previous_;                                 // stage of the iteration before
  std::vector<std::vector<std::string>> acc_, partial_;  // by 64-row block
};

Program generate_hopper(const Config& config, Diagnostics& diags);

}  // namespace tcsim::gemm
