// hopper-ws: warpgroup 0 loads (one elected thread of its first warp), the others multiply; each takes its rows of the tile.
#include "workloads/gemm/hopper.h"

namespace tcsim::gemm {

/// Entry of the producer warpgroup: gives registers away, then leaves one thread.
void Hopper::producer_registers() {
  const std::string other = w_.reg("pred"), elected = w_.reg("pred");
  w_.comment("producer warpgroup");
  if (c_.setmaxnreg) w_("setmaxnreg.dec.sync.aligned.u32 {};", producer_regs_);
  w_("setp.ne.u32 {}, {}, 0;", other, warp_);
  w_("@{} bra $done;", other);
  w_("elect.sync _|{}, -1;", elected);
  w_("@!{} bra $done;", elected);
}

void Hopper::consumer_registers() {
  w_.label("$consumer");
  w_.comment("consumer warpgroups");
  if (c_.setmaxnreg) w_("setmaxnreg.inc.sync.aligned.u32 {};", consumer_regs_);
}

/// Index of the consumer warpgroup.
std::string Hopper::consumer_index() {
  const std::string index = w_.reg("b32");
  w_("sub.s32 {}, {}, 1;", index, group_);
  return index;
}

void Hopper::emit_ws() {
  const Tile tile{w_.reg("b32"), w_.reg("b32")};
  w_("mov.u32 {}, %ctaid.x;", tile.m);
  w_("mov.u32 {}, %ctaid.y;", tile.n);
  const std::string consumes = w_.reg("pred");
  w_("setp.ne.u32 {}, {}, 0;", consumes, group_);
  w_("@{} bra $consumer;", consumes);
  producer_registers();
  producer_tile(tile, start_walk(1));
  w_("bra $done;");
  consumer_registers();
  const std::string index = consumer_index(), row = w_.reg("b32");
  w_("mul.lo.u32 {}, {}, {};", row, index, rows_);
  init_descriptors(row);
  new_accumulators();
  consumer_loop(start_walk(0));
  consumer_tail();
  epilogue(tile, index, row);
  finish_stores();
}

}  // namespace tcsim::gemm
