// hopper-tma: one warpgroup. Thread 0 keeps stages - 1 loads ahead; all threads wait for a stage and issue its wgmma.
//
//   load the first stages - 1 stages
//   for each tile of K: wait until its stage is full; wgmma; wait for the wgmma before; CTA barrier (in a cluster: arrive at the
//                       empty barriers of the peers); thread 0 loads the tile of K stages - 1 ahead into the stage just read
//
// With one stage: load, wait, wgmma, wait for it, barrier: nothing overlaps within the CTA.
#include "workloads/gemm/hopper.h"

namespace tcsim::gemm {

void Hopper::emit_tma() {
  const Tile tile{w_.reg("b32"), w_.reg("b32")};
  w_("mov.u32 {}, %ctaid.x;", tile.m);
  w_("mov.u32 {}, %ctaid.y;", tile.n);
  locate_operands(tile);
  init_descriptors("");
  new_accumulators();
  if (c_.promote)
    for (const auto& block : acc_)
      for (const auto& r : block) w_("mov.f32 {}, 0f00000000;", r);
  const std::string others = w_.reg("pred"), next = w_.reg("b32"), k0 = w_.reg("b32"), none = w_.reg("pred"), iteration = w_.reg("b32");
  const std::string more = w_.reg("pred"), later = w_.reg("pred");
  const Walk write = start_walk(1), read = start_walk(0);
  w_("setp.ne.u32 {}, {}, 0;  // all but thread 0", others, tid_);
  w_("mov.b32 {}, 0;  // k tile that is loaded next", next);
  w_("mov.b32 {}, 0;", k0);
  const auto load_next = [&](const std::string& name, bool first_round) {
    w_("setp.ge.u32 {}, {}, {};", none, next, k_tiles_);
    w_("@{} bra ${};", none, name);
    if (!first_round && clustered() && !faulty(Fault::no_empty_wait)) wait("$producer_wait_empty", empty_, write.stage, write.phase, true);
    load_stage(write, k0, next);
    advance(write);
    w_("add.s32 {0}, {0}, {1};", k0, c_.tile[2]);
    w_("add.s32 {0}, {0}, 1;", next);
  };
  const auto load_by_one = [&] {
    w_.comment("producer: thread 0 loads ahead");
    w_("@{} bra $loaded;", others);
    load_next("loaded", false);
    w_.label("$loaded");
    w_("bar.warp.sync -1;");
  };
  if (c_.stages > 1) {
    w_.comment("producer: thread 0 loads the first stages - 1 stages");
    w_("@{} bra $ahead_done;", others);
    w_.label("$ahead");
    load_next("ahead_done", true);
    w_("setp.lt.u32 {}, {}, {};", more, next, c_.stages - 1);
    w_("@{} bra $ahead;", more);
    w_.label("$ahead_done");
    w_("bar.warp.sync -1;");
  }
  w_("mov.b32 {}, 0;", iteration);
  previous_ = w_.reg("b32");
  w_("mov.b32 {}, 0;", previous_);
  const auto free_stage = [&](const std::string& stage, const std::string& predicate) {
    if (clustered()) release(stage, predicate);
    else if (!faulty(Fault::no_empty_wait) && !faulty(Fault::no_empty_arrive)) w_("bar.sync 0;  // every warp's wgmma have read the stage");
  };
  w_.label("$consumer_k");
  if (c_.stages == 1) load_by_one();
  w_.comment("consumer: until the stage is full");
  if (!faulty(Fault::no_full_wait)) wait("$consumer_wait_full", full_, read.stage, read.phase);
  w_.comment("consumer: wgmma of the stage");
  issue_wgmma(read.stage, iteration);
  const bool one = c_.stages == 1, early = faulty(Fault::early_release);
  if (early) free_stage(read.stage, "");
  if (early && !one) load_by_one();  // a wait of thread 0 would do for the whole warpgroup
  if (!one || !early) w_("wgmma.wait_group.sync.aligned {};", one ? 0 : 1);
  w_("setp.ne.u32 {}, {}, 0;", later, iteration);
  if (!early) free_stage(one ? read.stage : previous_, one ? "" : later);
  if (!one && !early) load_by_one();
  w_("mov.b32 {}, {};", previous_, read.stage);
  advance(read);
  w_("add.s32 {0}, {0}, 1;", iteration);
  w_("setp.lt.u32 {}, {}, {};", more, iteration, k_tiles_);
  w_("@{} bra $consumer_k;", more);
  if (!faulty(Fault::no_wgmma_wait)) w_("wgmma.wait_group.sync.aligned 0;");
  epilogue(tile, group_, "");
  finish_stores();
}

}  // namespace tcsim::gemm
