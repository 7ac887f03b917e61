// hopper-cooperative and hopper-pingpong: CTAs stay and take tiles first, first + stride, ...; producer and consumers each walk the
// same list.
#include "workloads/gemm/hopper.h"

namespace tcsim::gemm {

/// Counts of tiles, in clusters: a cluster takes cluster-size tiles at once.
void Hopper::scheduler_setup() {
  for (std::string* r : {&tiles_m_, &tiles_n_, &tile_count_, &tile_stride_, &first_tile_}) *r = w_.reg("b32");
  w_.comment("tile scheduler");
  w_("div.u32 {}, {}, {};", tiles_m_, m_, c_.tile[0] * c_.cluster[0]);
  w_("div.u32 {}, {}, {};", tiles_n_, n_, c_.tile[1] * c_.cluster[1]);
  w_("mul.lo.u32 {}, {}, {};", tile_count_, tiles_m_, tiles_n_);
  w_("mov.u32 {}, {};", first_tile_, clustered() ? "%clusterid.x" : "%ctaid.x");
  w_("mov.u32 {}, {};", tile_stride_, clustered() ? "%nclusterid.x" : "%nctaid.x");
}

/// Number of a tile -> its place. Groups of `group` tiles along one dimension are walked along it first, then along the other, so
/// that CTAs at work at one time share rows of A and of B in L2.
Hopper::Tile Hopper::schedule(const std::string& tile) {
  const bool along_m = c_.raster == "m";
  const std::string &along = along_m ? tiles_m_ : tiles_n_, &across = along_m ? tiles_n_ : tiles_m_;
  const std::string per_group = w_.reg("b32"), group = w_.reg("b32"), first = w_.reg("b32"), size = w_.reg("b32"), within = w_.reg("b32");
  const Tile place{w_.reg("b32"), w_.reg("b32")};
  const std::string &inner = along_m ? place.m : place.n, &outer = along_m ? place.n : place.m;
  w_("mul.lo.u32 {}, {}, {};", per_group, across, c_.group);
  w_("div.u32 {}, {}, {};", group, tile, per_group);
  w_("mul.lo.u32 {}, {}, {};", first, group, c_.group);
  w_("sub.s32 {}, {}, {};", size, along, first);
  w_("min.u32 {0}, {0}, {1};  // the last group may be smaller", size, c_.group);
  w_("mul.lo.u32 {}, {}, {};", within, group, per_group);
  w_("sub.s32 {}, {}, {};", within, tile, within);
  w_("div.u32 {}, {}, {};", outer, within, size);
  w_("mul.lo.u32 {}, {}, {};", inner, outer, size);
  w_("sub.s32 {0}, {1}, {0};", inner, within);
  w_("add.s32 {0}, {0}, {1};", inner, first);
  if (clustered()) {
    w_("mad.lo.u32 {0}, {0}, {1}, {2};", place.m, c_.cluster[0], cluster_x_);
    w_("mad.lo.u32 {0}, {0}, {1}, {2};", place.n, c_.cluster[1], cluster_y_);
  }
  return place;
}

/// The next tile of a role, `steps` strides on.
void Hopper::persistent_step(const std::string& tile, uint32_t steps, const std::string& loop) {
  const std::string more = w_.reg("pred");
  w_("mad.lo.u32 {0}, {1}, {2}, {0};", tile, tile_stride_, steps);
  w_("setp.lt.u32 {}, {}, {};", more, tile, tile_count_);
  w_("@{} bra {};", more, loop);
}

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
  const std::string index = consumer_index(), tile = w_.reg("b32"), none = w_.reg("pred"), turn = w_.reg("b32"), other = w_.reg("b32"), first_lane = w_.reg("pred");
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
