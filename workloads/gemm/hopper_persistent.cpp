// hopper-cooperative and hopper-pingpong: CTAs stay and take tiles first, first + stride, ...; producer and consumers each walk the
// same list.
#include "workloads/gemm/hopper.h"

namespace tcsim::gemm {

void Hopper::persistent_producer() {
  producer_registers();
  const Walk walk = start_walk(1);
  const std::string tile = w_.reg("b32"), none = w_.reg("pred");
  w_("mov.b32 {}, {};", tile, first_tile_);
  w_("setp.ge.u32 {}, {}, {};", none, tile, tile_count_);
  w_("@{} bra $done;", none);
  w_.label("$producer_tile");
  producer_tile(schedule(tile), walk);
  persistent_step(tile, 1, "$producer_tile");
  w_("bra $done;");
}

void Hopper::persistent_consumer() {
  consumer_registers();
  const std::string index = consumer_index(), tile = w_.reg("b32"), none = w_.reg("pred"), turn = w_.reg("b32"), other = w_.reg("b32"),
                    first_lane = w_.reg("pred");
  const Walk walk = start_walk(0);
  std::string row;
  w_("mov.b32 {}, {};", tile, first_tile_);
  if (pingpong()) {
    w_.comment("consumer 1 begins with the second tile; consumer 0 has the first turn");
    const std::string skipped = w_.reg("b32");
    w_("mad.lo.u32 {0}, {1}, {2}, {0};", tile, index, tile_stride_);
    w_("mul.lo.u32 {}, {}, {};", skipped, index, k_tiles_);
    skip_stages(walk, skipped);
    w_("xor.b32 {}, {}, 1;", other, index);
    w_("mov.b32 {}, {};", turn, other);
    w_("setp.eq.u32 {}, {}, 0;", first_lane, lane_);
  } else {
    row = w_.reg("b32");
    w_("mul.lo.u32 {}, {}, {};", row, index, rows_);
  }
  w_("setp.ge.u32 {}, {}, {};", none, tile, tile_count_);
  w_("@{} bra $done;", none);
  init_descriptors(row);
  new_accumulators();
  w_.label("$consumer_tile");
  const Tile place = schedule(tile);
  if (pingpong()) {
    w_.comment("consumer: until the other has issued its main loop");
    wait("$consumer_wait_order", order_, index, turn);
    w_("xor.b32 {0}, {0}, 1;", turn);
  }
  consumer_loop(walk);
  if (pingpong()) {
    const std::string bar = w_.reg("b32");
    w_.comment("consumer: the other's turn");
    w_("mad.lo.u32 {}, {}, 8, {};", bar, other, order_);
    w_("@{} mbarrier.arrive.shared::cta.b64 _, [{}];  // order_bar[other]", first_lane, bar);
  }
  consumer_tail();
  epilogue(place, index, row);
  if (pingpong()) skip_stages(walk, k_tiles_);
  persistent_step(tile, pingpong() ? 2 : 1, "$consumer_tile");
  finish_stores();
}

void Hopper::emit_persistent() {
  scheduler_setup();
  const std::string consumes = w_.reg("pred");
  w_("setp.ne.u32 {}, {}, 0;", consumes, group_);
  w_("@{} bra $consumer;", consumes);
  persistent_producer();
  persistent_consumer();
}

}  // namespace tcsim::gemm
