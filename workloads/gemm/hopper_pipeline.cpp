// What producers and consumers do to a stage: waits with parities, TMA loads, wgmma, release.
#include "workloads/gemm/hopper.h"

namespace tcsim::gemm {

/// Passes over `count` (a register) stages that another consumer reads.
void Hopper::skip_stages(const Walk& walk, const std::string& count) {
  const std::string rounds = w_.reg("b32"), odd = w_.reg("b32");
  w_("add.s32 {0}, {0}, {1};", walk.stage, count);
  w_("div.u32 {}, {}, {};", rounds, walk.stage, c_.stages);
  w_("and.b32 {}, {}, 1;", odd, rounds);
  w_("xor.b32 {0}, {0}, {1};", walk.phase, odd);
  w_("rem.u32 {0}, {0}, {1};", walk.stage, c_.stages);
}

/// Tile coordinates of C -> first rows of A and B that this CTA loads.
void Hopper::locate_operands(const Tile& tile) {
  for (Operand* o : {&a_, &b_}) {
    o->first = w_.reg("b32");
    w_("mul.lo.u32 {}, {}, {};", o->first, o == &a_ ? tile.m : tile.n, o->tile);
    if (o->peers > 1) w_("mad.lo.u32 {0}, {1}, {2}, {0};  // this CTA's share", o->first, o->rank, o->tile / o->peers);
  }
}

/// One thread: announces the bytes of a stage and starts its copies.
void Hopper::load_stage(const Walk& walk, const std::string& k0, const std::string& iteration) {
  const std::string bar = w_.reg("b32"), stage = w_.reg("b32");
  uint32_t bytes = a_.bytes + b_.bytes;
  if (faulty(Fault::short_expect_tx)) bytes = a_.bytes;
  if (faulty(Fault::long_expect_tx)) bytes += 128;
  w_("mad.lo.u32 {}, {}, 8, {};", bar, walk.stage, full_);
  w_("mad.lo.u32 {}, {}, {}, {};", stage, walk.stage, stage_bytes(), base_);
  w_("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};  // full_bar[stage]: all of A and B, whoever loads it", bar, bytes);
  if (faulty(Fault::reinit_in_use)) {
    const std::string second = w_.reg("pred");
    w_("setp.eq.u32 {}, {}, 1;", second, iteration);
    w_("@{} mbarrier.init.shared::cta.b64 [{}], 1;", second, bar);
  }
  for (const Operand* o : {&a_, &b_}) {
    std::string target = stage;
    if (o->peers > 1) {
      target = w_.reg("b32");
      const uint32_t share = o->k_major ? o->tile / o->peers * o->row_bytes : o->bytes / o->peers;
      w_("mad.lo.u32 {}, {}, {}, {};", target, o->rank, share, stage);
    }
    for (const Box& box : boxes(*o)) {
      const std::string k = w_.reg("b32"), row = w_.reg("b32");
      w_("add.s32 {}, {}, {};", k, k0, box.k);
      w_("add.s32 {}, {}, {};", row, o->first, box.row);
      w_("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes{} [{}+{}], [{}, {{{}, {}}}], [{}]{};",
         o->peers > 1 ? ".multicast::cluster" : "", target, o->base + box.offset, o->map, o->k_major ? k : row, o->k_major ? row : k, bar,
         o->peers > 1 ? ", " + o->mask : "");
    }
  }
}

/// The producer's part of one tile: all of K.
void Hopper::producer_tile(const Tile& tile, const Walk& walk) {
  const std::string k0 = w_.reg("b32"), iteration = w_.reg("b32"), more = w_.reg("pred");
  locate_operands(tile);
  w_("mov.b32 {}, 0;", k0);
  w_("mov.b32 {}, 0;", iteration);
  w_.label("$producer_k");
  w_.comment("producer: until the consumers have released the stage");
  if (!faulty(Fault::no_empty_wait)) wait("$producer_wait_empty", empty_, walk.stage, walk.phase, clustered());
  w_.comment("producer: load the stage");
  load_stage(walk, k0, iteration);
  advance(walk);
  w_("add.s32 {0}, {0}, {1};", k0, c_.tile[2]);
  w_("add.s32 {0}, {0}, 1;", iteration);
  w_("setp.lt.u32 {}, {}, {};", more, iteration, k_tiles_);
  w_("@{} bra $producer_k;", more);
}

/// Shared-memory matrix descriptors of stage 0.
void Hopper::init_descriptors(const std::string& row_offset) {
  for (Operand* o : {&a_, &b_}) {
    const uint64_t fields = isa::encode_wgmma_descriptor(descriptor(*o));
    const std::string address = w_.reg("b32"), wide = w_.reg("b64");
    std::string& desc = o == &a_ ? desc_a_ : desc_b_;
    desc = w_.reg("b64");
    w_("add.s32 {}, {}, {};", address, base_, o->base);
    if (o == &a_ && !row_offset.empty()) {
      // Byte offset of this consumer's first row of A.
      w_("mad.lo.u32 {0}, {1}, {2}, {0};", address, row_offset, o->k_major ? o->row_bytes : c_.tile[2] * 128 / 64);
    }
    w_("shr.u32 {0}, {0}, 4;", address);
    w_("and.b32 {0}, {0}, 0x3fff;", address);
    w_("cvt.u64.u32 {}, {};", wide, address);
    w_("or.b64 {}, {}, {:#x};  // {}: 16-byte units", desc, wide, fields, o->name);
  }
}

/// wgmma over instruction steps [first, last) of a stage. The first step writes (not adds) when `accumulate` is false; "": always adds.
void Hopper::issue_steps(const std::string& stage_a, const std::string& stage_b, uint32_t first, uint32_t last, const std::string& accumulate) {
  const auto& target = c_.promote ? partial_ : acc_;
  const std::string on = w_.reg("pred");
  w_("setp.eq.u32 {}, 0, 0;", on);
  const auto offset = [&](const Operand& o, uint32_t step, uint32_t row) {  // in 16-byte units
    return (step_offset(o, step) + (o.k_major ? row * o.row_bytes : row / 64 * c_.tile[2] * 128)) / 16;
  };
  const std::string transposed = t_.bytes == 2 ? fmt::format(", {}, {}", a_.k_major ? 0 : 1, b_.k_major ? 0 : 1) : "";
  const std::string signs = t_.accumulate == "s32" ? "" : ", 1, 1" + transposed;
  for (uint32_t step = first; step < last; ++step) {
    const std::string db = w_.reg("b64");
    w_("add.s64 {}, {}, {};", db, stage_b, offset(b_, step, 0));
    for (uint32_t i = 0; i < blocks(); ++i) {
      const std::string da = w_.reg("b64");
      w_("add.s64 {}, {}, {};", da, stage_a, offset(a_, step, i * 64));
      w_("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{} {}, {}, {}, {}{};", c_.tile[1], instruction_k(), t_.accumulate, t_.name, t_.name,
         Writer::braces(target[i]), da, db, step == first && !accumulate.empty() ? accumulate : on, signs);
    }
  }
}

void Hopper::issue_wgmma(const std::string& stage, const std::string& iteration) {
  const std::string da = w_.reg("b64"), db = w_.reg("b64"), accumulate = w_.reg("pred"), bytes = w_.reg("b32"), wide = w_.reg("b64");
  w_("mul.lo.u32 {}, {}, {};", bytes, stage, stage_bytes() / 16);
  w_("cvt.u64.u32 {}, {};", wide, bytes);
  w_("add.s64 {}, {}, {};", da, desc_a_, wide);
  w_("add.s64 {}, {}, {};", db, desc_b_, wide);
  if (!c_.promote) {
    w_("setp.ne.u32 {}, {}, 0;  // the first k tile overwrites the accumulators", accumulate, iteration);
    w_("wgmma.fence.sync.aligned;");
    issue_steps(da, db, 0, steps(), accumulate);
    w_("wgmma.commit_group.sync.aligned;");
    return;
  }
  // Sums of 128 products come out of the tensor core with few bits; adding them with FADD keeps f32's (DeepSeek-V3 report, 3.3).
  const uint32_t chunk = 128 / instruction_k();
  w_("setp.ne.u32 {}, 0, 0;", accumulate);
  for (uint32_t first = 0; first < steps(); first += chunk) {
    w_("wgmma.fence.sync.aligned;");
    issue_steps(da, db, first, first + chunk, accumulate);
    w_("wgmma.commit_group.sync.aligned;");
    w_("wgmma.wait_group.sync.aligned 0;");
    for (uint32_t i = 0; i < blocks(); ++i)
      for (uint32_t j = 0; j < acc_[i].size(); ++j) w_("add.rn.f32 {0}, {0}, {1};", acc_[i][j], partial_[i][j]);
  }
}

/// Each consumer warp arrives once, in every CTA that writes into this one.
void Hopper::release(const std::string& stage, const std::string& predicate) {
  if (!uses_empty() || faulty(Fault::no_empty_arrive)) return;
  const std::string address = w_.reg("b32");
  std::string who = releases_;
  if (!predicate.empty()) {
    who = w_.reg("pred");
    w_("and.pred {}, {}, {};", who, releases_, predicate);
  }
  w_("mad.lo.u32 {}, {}, 8, {};", address, stage, remote_empty_);
  if (clustered()) w_("@{} mbarrier.arrive.shared::cluster.b64 _, [{}];  // empty_bar[stage]", who, address);
  else w_("@{} mbarrier.arrive.shared::cta.b64 _, [{}];  // empty_bar[stage]", who, address);
}

void Hopper::new_accumulators() {
  const std::string type = t_.accumulate == "f32" ? "f32" : "b32";
  for (uint32_t i = 0; i < blocks(); ++i) {
    acc_.push_back(w_.regs(type, c_.tile[1] / 2));
    if (c_.promote) partial_.push_back(w_.regs(type, c_.tile[1] / 2));
  }
}

/// The consumer's part of one tile: all of K. A stage is released once the wgmma after it is under way and its own are done; with
/// one stage there is no wgmma after it before its release.
void Hopper::consumer_loop(const Walk& walk) {
  const std::string iteration = w_.reg("b32"), more = w_.reg("pred"), later = w_.reg("pred");
  if (previous_.empty()) previous_ = w_.reg("b32");
  if (c_.promote)
    for (const auto& block : acc_)
      for (const auto& r : block) w_("mov.f32 {}, 0f00000000;", r);
  w_("mov.b32 {}, 0;", iteration);
  w_("mov.b32 {}, 0;", previous_);
  w_.label("$consumer_k");
  w_.comment("consumer: until the stage is full");
  if (!faulty(Fault::no_full_wait)) wait("$consumer_wait_full", full_, walk.stage, walk.phase);
  w_.comment("consumer: wgmma of the stage");
  issue_wgmma(walk.stage, iteration);
  if (faulty(Fault::early_release)) {
    release(walk.stage, "");
    w_("wgmma.wait_group.sync.aligned 1;");
  } else if (releases_own_stage()) {
    w_("wgmma.wait_group.sync.aligned 0;");
    release(walk.stage, "");
  } else {
    w_.comment("consumer: the stage before has been read; release it");
    w_("wgmma.wait_group.sync.aligned 1;");
    w_("setp.ne.u32 {}, {}, 0;", later, iteration);
    release(previous_, later);
  }
  w_("mov.b32 {}, {};", previous_, walk.stage);
  advance(walk);
  w_("add.s32 {0}, {0}, 1;", iteration);
  w_("setp.lt.u32 {}, {}, {};", more, iteration, k_tiles_);
  w_("@{} bra $consumer_k;", more);
}

/// After the last k tile: waits for its wgmma and releases its stage.
void Hopper::consumer_tail() {
  if (!faulty(Fault::no_wgmma_wait)) w_("wgmma.wait_group.sync.aligned 0;");
  if (!releases_own_stage() && !faulty(Fault::early_release)) release(previous_, "");
}

}  // namespace tcsim::gemm
