// Who does what in a Blackwell kernel: set-up and Tensor Memory, the thread that loads, the thread that multiplies.
#include "workloads/gemm/blackwell.h"

namespace tcsim::gemm {

void Blackwell::setup() {
  thread_setup();
  const auto address = [&](const char* name) {
    const std::string r = w_.reg("b32");
    w_("mov.u32 {}, {};", r, name);
    return r;
  };
  full_ = leader_full_ = address("full_bar");
  empty_ = address("empty_bar");
  done_ = address("done_bar");
  free_ = leader_free_ = address("free_bar");
  if (t_.scaled()) {
    sfa_.map = map_parameter(6);
    sfb_.map = map_parameter(7);
  }
  if (pair()) {
    cluster_ids();
    leader_full_ = w_.reg("b32");
    leader_free_ = w_.reg("b32");
    w_("mapa.shared::cluster.u32 {}, {}, 0;  // of the leader", leader_full_, full_);
    w_("mapa.shared::cluster.u32 {}, {}, 0;", leader_free_, free_);
  }
  init_barriers();
  allocate();
  if (persistent()) scheduler_setup();
}

void Blackwell::init_barriers() {
  const std::string others = w_.reg("pred");
  w_.comment("barriers: one arrival each (expect_tx of the leader, or a commit); free_bar: one of each epilogue warp");
  w_("setp.ne.u32 {}, {}, 0;", others, tid_);
  w_("@{} bra $initialised;", others);
  for (uint32_t s = 0; s < c_.stages; ++s) {
    w_("mbarrier.init.shared::cta.b64 [{}+{}], 1;  // full_bar[{}]", full_, 8 * s, s);
    w_("mbarrier.init.shared::cta.b64 [{}+{}], 1;  // empty_bar[{}]", empty_, 8 * s, s);
  }
  for (uint32_t b = 0; b < buffers(); ++b) {
    w_("mbarrier.init.shared::cta.b64 [{}+{}], 1;  // done_bar[{}]", done_, 8 * b, b);
    w_("mbarrier.init.shared::cta.b64 [{}+{}], {};  // free_bar[{}]", free_, 8 * b, kEpilogueWarps * ctas(), b);
  }
  w_("fence.mbarrier_init.release.cluster;");
  w_.label("$initialised");
}

/// Warp 0 allocates (of a pair: warp 0 of both CTAs) and hands the address over in shared memory.
void Blackwell::allocate() {
  const std::string others = w_.reg("pred"), slot = w_.reg("b32");
  tensor_ = w_.reg("b32");
  w_.comment("Tensor Memory");
  w_("mov.u32 {}, tensor_base;", slot);
  w_("setp.ne.u32 {}, {}, 0;", others, warp_);
  w_("@{} bra $allocated;", others);
  w_("bar.warp.sync 0xffffffff;");
  w_("tcgen05.alloc.{}.sync.aligned.shared::cta.b32 [{}], {};", group(), slot, columns_);
  w_("tcgen05.relinquish_alloc_permit.{}.sync.aligned;", group());
  w_.label("$allocated");
  w_("tcgen05.fence::before_thread_sync;");
  sync_cluster_or_cta();
  w_("tcgen05.fence::after_thread_sync;");
  w_("ld.shared.b32 {}, [{}];", tensor_, slot);
}

/// Where all roles meet: Tensor Memory goes back once every warp has read it.
void Blackwell::finish() {
  const std::string others = w_.reg("pred");
  w_.label("$finish");
  w_("bar.warp.sync 0xffffffff;");
  w_("tcgen05.fence::before_thread_sync;");
  sync_cluster_or_cta();
  w_("tcgen05.fence::after_thread_sync;");
  w_("setp.ne.u32 {}, {}, 0;", others, warp_);
  w_("@{} bra $done;", others);
  w_("tcgen05.dealloc.{}.sync.aligned.b32 {}, {};", group(), tensor_, columns_);
  finish_kernel();
}

/// One elected thread of a warp goes on; all others jump to `otherwise`.
void Blackwell::role(uint32_t warp, bool leader_only, const std::string& otherwise) {
  const std::string other = w_.reg("pred"), elected = w_.reg("pred");
  w_("setp.ne.u32 {}, {}, {};", other, warp_, warp);
  w_("@{} bra {};", other, otherwise);
  if (leader_only && pair()) {
    const std::string follows = w_.reg("pred");
    w_("setp.ne.u32 {}, {}, 0;", follows, rank_);
    w_("@{} bra {};", follows, otherwise);
  }
  w_("elect.sync _|{}, -1;", elected);
  w_("@!{} bra {};", elected, otherwise);
}

/// Tile coordinates of C -> first rows of A and B that this CTA loads.
void Blackwell::locate_operands(const Tile& tile) {
  for (Operand* o : {&a_, &b_}) {
    if (o->first.empty()) o->first = w_.reg("b32");
    w_("mul.lo.u32 {}, {}, {};", o->first, o == &a_ ? tile.m : tile.n, o == &a_ ? kRows : n());
    if (o == &b_ && pair()) w_("mad.lo.u32 {0}, {1}, {2}, {0};  // this CTA's half of B", o->first, rank_, o->tile);
  }
  if (!t_.scaled()) return;
  sfa_.first = tile.m;  // a block of 128 rows a tile
  if (sfb_.first.empty()) sfb_.first = w_.reg("b32");
  w_("mul.lo.u32 {}, {}, {};", sfb_.first, tile.n, sfb_.blocks);
}

void Blackwell::load_box(const std::string& target, const std::string& map, const std::string& inner, const std::string& outer,
                         const std::string& bar) {
  w_("cp.async.bulk.tensor.2d{}.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}}}], [{}];", pair() ? ".cta_group::2" : "",
     target, map, inner, outer, bar);
}

/// Announces the bytes of a stage (the leader: of both CTAs, as all copies signal its barrier) and starts its copies.
void Blackwell::load_stage(const Walk& walk, const std::string& k0, const std::string& k_block) {
  const std::string stage = w_.reg("b32"), bytes = fmt::format("{}", ctas() * (a_.bytes + b_.bytes + scale_bytes()));
  w_("mad.lo.u32 {}, {}, {}, {};", stage, walk.stage, stage_bytes(), base_);
  const std::string bar = bar_address(leader_full_, walk.stage), own = pair() ? bar_address(full_, walk.stage) : bar;
  if (pair()) {
    const std::string leads = w_.reg("pred");
    w_("setp.eq.u32 {}, {}, 0;", leads, rank_);
    w_("@{} mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};  // full_bar[stage]: bytes of both CTAs", leads, own, bytes);
  } else {
    w_("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};  // full_bar[stage]", own, bytes);
  }
  for (const Operand* o : {&a_, &b_})
    for (const Box& box : boxes(*o)) {
      const std::string k = w_.reg("b32"), row = w_.reg("b32");
      w_("add.s32 {}, {}, {};", k, k0, box.k);
      w_("add.s32 {}, {}, {};", row, o->first, box.row);
      load_box(fmt::format("{}+{}", stage, o->base + box.offset), o->map, o->k_major ? k : row, o->k_major ? row : k, bar);
    }
  if (!t_.scaled()) return;
  w_.comment("scale factors: of this CTA's rows of A and of all columns");
  for (const Scales* s : {&sfa_, &sfb_}) load_box(fmt::format("{}+{}", stage, s->base), s->map, k_block, s->first, bar);
}

/// The loading thread's part of one tile: all of K.
void Blackwell::producer_tile(const Tile& tile, const Walk& walk) {
  const std::string k0 = w_.reg("b32"), k_block = w_.reg("b32"), iteration = w_.reg("b32"), more = w_.reg("pred");
  locate_operands(tile);
  for (const std::string& r : {k0, k_block, iteration}) w_("mov.b32 {}, 0;", r);
  w_.label("$producer_k");
  w_.comment("load: until the stage has been read");
  wait("$producer_wait_empty", empty_, walk.stage, walk.phase, pair());
  load_stage(walk, k0, k_block);
  advance(walk);
  w_("add.s32 {0}, {0}, {1};", k0, c_.tile[2]);
  if (t_.scaled()) w_("add.s32 {0}, {0}, {1};", k_block, atoms() * (kAtomBytes / 8));
  w_("add.s32 {0}, {0}, 1;", iteration);
  w_("setp.lt.u32 {}, {}, {};", more, iteration, k_tiles_);
  w_("@{} bra $producer_k;", more);
}

/// bar: address in this CTA. Arrives there, and at the same place of the peer, when all that this thread issued has completed.
void Blackwell::commit(const std::string& bar) {
  if (pair()) w_("tcgen05.commit.{}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [{}], {};", group(), bar, both_);
  else w_("tcgen05.commit.{}.mbarrier::arrive::one.shared::cluster.b64 [{}];", group(), bar);
}

/// Shared to Tensor Memory: an atom's 32 rows of 16 bytes go to the 32 lanes of every warp, four columns an atom.
void Blackwell::copy_scales(const Scales& s, const std::string& stage) {
  for (uint32_t atom = 0; atom < atoms(); ++atom)
    for (uint32_t block = 0; block < s.blocks; ++block) {
      const std::string column = w_.reg("b32"), desc = w_.reg("b64");
      w_("add.s32 {}, {}, {};", column, tensor_, s.column + (atom * s.blocks + block) * kAtomColumns);
      w_("add.s64 {}, {}, {};", desc, stage, (s.base + (block * atoms() + atom) * kAtomBytes) / 16);
      w_("tcgen05.cp.{}.32x128b.warpx4 [{}], {};", group(), column, desc);
    }
}

void Blackwell::multiply_stage(const std::string& stage, const std::string& accumulator, const std::string& iteration) {
  const std::string units = w_.reg("b32"), wide = w_.reg("b64"), later = w_.reg("pred"), always = w_.reg("pred");
  const auto at_stage = [&](const std::string& desc) {
    const std::string r = w_.reg("b64");
    w_("add.s64 {}, {}, {};", r, desc, wide);
    return r;
  };
  w_("mul.lo.u32 {}, {}, {};", units, stage, stage_bytes() / 16);
  w_("cvt.u64.u32 {}, {};", wide, units);
  const std::string da = at_stage(desc_a_), db = at_stage(desc_b_);
  if (t_.scaled()) {
    const std::string scales = at_stage(desc_scale_);
    copy_scales(sfa_, scales);
    copy_scales(sfb_, scales);
  }
  w_("setp.ne.u32 {}, {}, 0;  // the first k tile overwrites the accumulators", later, iteration);
  w_("setp.eq.u32 {}, 0, 0;", always);
  // Steps that share an atom of scale factors: four factors of scale_block elements.
  const uint32_t per_atom = t_.scaled() ? 4 * t_.scale_block / instruction_k() : 1;
  for (uint32_t step = 0; step < steps(); ++step) {
    const std::string a = w_.reg("b64"), b = w_.reg("b64"), idesc = w_.reg("b32");
    w_("add.s64 {}, {}, {};", a, da, step_offset(a_, step) / 16);
    w_("add.s64 {}, {}, {};", b, db, step_offset(b_, step) / 16);
    w_("mov.b32 {}, {:#x};", idesc, instruction_descriptor(t_.scaled() ? step % per_atom * (4 / per_atom) : 0));
    std::string scales;
    if (t_.scaled()) {
      const std::string fa = w_.reg("b32"), fb = w_.reg("b32");
      w_("add.s32 {}, {}, {};", fa, tensor_, sfa_.column + step / per_atom * sfa_.blocks * kAtomColumns);
      w_("add.s32 {}, {}, {};", fb, tensor_, sfb_.column + step / per_atom * sfb_.blocks * kAtomColumns);
      scales = fmt::format(" [{}], [{}],", fa, fb);
    }
    w_("tcgen05.mma.{}.{} [{}], {}, {}, {},{} {};", group(), mnemonic_kind(), accumulator, a, b, idesc, scales, step == 0 ? later : always);
  }
}

/// The multiplying thread's part of one tile. buffer: of the accumulators.
void Blackwell::multiply_tile(const Walk& walk, const Walk& buffer) {
  const std::string accumulator = w_.reg("b32"), iteration = w_.reg("b32"), more = w_.reg("pred");
  if (persistent()) {
    w_.comment("multiply: until the epilogue has read the accumulators");
    wait("$multiply_wait_free", free_, buffer.stage, buffer.phase, pair());
    w_("tcgen05.fence::after_thread_sync;");
  }
  w_("mad.lo.u32 {}, {}, {}, {};", accumulator, buffer.stage, n(), tensor_);
  w_("mov.b32 {}, 0;", iteration);
  w_.label("$multiply_k");
  w_.comment("multiply: until the stage is full");
  wait("$multiply_wait_full", full_, walk.stage, walk.phase, pair());
  w_("tcgen05.fence::after_thread_sync;");
  multiply_stage(walk.stage, accumulator, iteration);
  commit(bar_address(empty_, walk.stage));
  advance(walk);
  w_("add.s32 {0}, {0}, 1;", iteration);
  w_("setp.lt.u32 {}, {}, {};", more, iteration, k_tiles_);
  w_("@{} bra $multiply_k;", more);
  commit(bar_address(done_, buffer.stage));
}

/// Registers of the multiplying thread: descriptors of stage 0.
void Blackwell::multiply_setup() {
  const auto with_address = [&](uint64_t fields, uint32_t offset, const char* name) {
    const std::string address = w_.reg("b32"), desc = w_.reg("b64");
    w_("add.s32 {}, {}, {};", address, base_, offset);
    w_("bfe.u32 {0}, {0}, 4, 14;", address);
    w_("cvt.u64.u32 {}, {};", desc, address);
    w_("or.b64 {0}, {0}, {1:#x};  // {2}", desc, fields, name);
    return desc;
  };
  desc_a_ = with_address(isa::encode_tcgen05_descriptor(descriptor(a_)), a_.base, "A");
  desc_b_ = with_address(isa::encode_tcgen05_descriptor(descriptor(b_)), b_.base, "B");
  // Rows of 16 bytes, eight of them 128 bytes on; no swizzle.
  if (t_.scaled()) desc_scale_ = with_address(isa::encode_tcgen05_descriptor({.stride = 128}), 0, "scale factors");
  if (pair()) {
    both_ = w_.reg("b16");
    w_("mov.b16 {}, 3;", both_);
  }
}

void Blackwell::emit_once() {
  const Tile tile{w_.reg("b32"), w_.reg("b32")};
  w_("mov.u32 {}, %ctaid.x;", tile.m);
  w_("mov.u32 {}, %ctaid.y;", tile.n);
  role(0, false, "$multiply");
  producer_tile(tile, start_walk(1));
  w_("bra $epilogue;");
  w_.label("$multiply");
  role(1, true, "$epilogue");
  multiply_setup();
  const Walk walk = start_walk(0), buffer = start_walk(1);
  multiply_tile(walk, buffer);
  w_.label("$epilogue");
  w_("bar.warp.sync 0xffffffff;");
  epilogue_setup();
  epilogue_tile(tile, start_walk(0));
  finish_stores();
}

/// A role's walk over its tiles: the register of the tile's number, after a check that there is one.
std::string Blackwell::begin_tiles(const std::string& label) {
  const std::string tile = w_.reg("b32"), none = w_.reg("pred");
  w_("mov.b32 {}, {};", tile, first_tile_);
  w_("setp.ge.u32 {}, {}, {};", none, tile, tile_count_);
  w_("@{} bra $finish;", none);
  w_.label(label);
  return tile;
}

void Blackwell::emit_persistent() {
  role(kEpilogueWarps, false, "$multiply");
  {
    const Walk walk = start_walk(1);
    const std::string tile = begin_tiles("$producer_tile");
    producer_tile(schedule(tile), walk);
    persistent_step(tile, 1, "$producer_tile");
    w_("bra $finish;");
  }
  w_.label("$multiply");
  w_.comment("warps that neither load nor store multiply");
  const std::string stores = w_.reg("pred");
  w_("setp.lt.u32 {}, {}, {};", stores, warp_, kEpilogueWarps);
  w_("@{} bra $epilogue;", stores);
  role(kEpilogueWarps + 1, true, "$finish");
  {
    multiply_setup();
    const Walk walk = start_walk(0), buffer = start_walk(1);
    const std::string tile = begin_tiles("$multiply_tile");
    multiply_tile(walk, buffer);
    advance(buffer, buffers());
    persistent_step(tile, 1, "$multiply_tile");
    w_("bra $finish;");
  }
  w_.label("$epilogue");
  epilogue_setup();
  const Walk buffer = start_walk(0);
  const std::string tile = begin_tiles("$epilogue_tile");
  epilogue_tile(schedule(tile), buffer);
  advance(buffer, buffers());
  persistent_step(tile, 1, "$epilogue_tile");
  finish_stores();
}

}  // namespace tcsim::gemm
