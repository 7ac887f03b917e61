// The plan of an mma.sync GEMM and its loop over K.
#include "workloads/gemm/mma_sync.h"

#include <algorithm>
#include <bit>

namespace tcsim::gemm {

bool MmaSync::plan(Diagnostics& diags) {
  const uint32_t before = diags.error_count();
  const auto [bm, bn, bk] = c_.tile;
  if (c_.warps[0] == 0) {
    warps_m_ = bm >= 128 ? 2 : bm >= 32 ? 2 : 1;
    warps_n_ = bn >= 256 ? 4 : bn >= 32 ? 2 : 1;
    if (bm >= 256) warps_m_ = 4, warps_n_ = std::min(warps_n_, 2u);
  } else {
    warps_m_ = c_.warps[0];
    warps_n_ = c_.warps[1];
  }
  threads_ = warps_m_ * warps_n_ * 32;
  wm_ = bm / warps_m_;
  wn_ = bn / warps_n_;
  const auto fail = [&](const std::string& text) { config_error(diags, fmt::format("tile {}x{}x{}: {}", bm, bn, bk, text)); };
  if (wm_ % 16 != 0 || wn_ % 16 != 0) fail(fmt::format("{}x{} warps leave {}x{} each; expected multiples of 16", warps_m_, warps_n_, wm_, wn_));
  if (bk % t_.step_k() != 0) fail(fmt::format("K of a tile must be a multiple of {} for {}", t_.step_k(), t_.name));
  if (threads_ > 1024) fail(fmt::format("{} threads; expected at most 1024", threads_));
  const bool any_mn_major = c_.layout != "tn";
  if (any_mn_major && (t_.bytes != 2 || quads()))
    fail(fmt::format("layout {} needs ldmatrix.trans, which exists for 16-bit types on sm_75 and up; {} {} takes tn", c_.layout, c_.style, t_.name));
  if (staged() && c_.stages > 2) fail(fmt::format("stages {}: {} holds the next tile in registers; expected 1 or 2", c_.stages, c_.style));
  a_ = {"A", c_.m, bm, c_.layout[0] == 't', {}, 0, {}, {}, {}, {}, {}, {}, 0, {}, {}};
  b_ = {"B", c_.n, bn, c_.layout[1] == 'n', {}, 0, {}, {}, {}, {}, {}, {}, 0, {}, {}};
  uint32_t base = 0;
  for (Side* side : {&a_, &b_}) {
    side->smem = side->k_major ? SmemTile{side->tile, bk * t_.bytes, c_.swizzle} : SmemTile{bk, side->tile * t_.bytes, c_.swizzle};
    side->base = base;
    base += side->smem.bytes() * c_.stages;
    const uint32_t chunks = side->smem.rows * side->smem.chunks();
    if (side->smem.row_bytes < 16 || chunks % threads_ != 0)
      fail(fmt::format("{} tile of {} 16-byte chunks does not divide over {} threads", side->name, chunks, threads_));
    else side->copies = chunks / threads_;
    const uint32_t line = side->k_major ? c_.k : side->extent;  // contiguous elements in global memory
    if (line * t_.bytes % 16 != 0)
      fail(fmt::format("{} rows of {} elements are not multiples of 16 bytes, in which they are copied", side->name, line));
  }
  if (c_.n * t_.bytes % 4 != 0) fail("N must be even");
  if (c_.sm < t_.sm) config_error(diags, fmt::format("{} needs sm_{}, the target is sm_{}", t_.name, t_.sm, c_.sm));
  k_tail_ = c_.k % bk != 0;
  return diags.error_count() == before;
}

void MmaSync::next_stage(const std::string& stage) {
  const std::string p = w_.reg("pred");
  w_("add.s32 {0}, {0}, 1;", stage);
  w_("setp.eq.s32 {}, {}, {};", p, stage, c_.stages);
  w_("selp.b32 {0}, 0, {0}, {1};", stage, p);
}

void MmaSync::prologue() {
  w_.comment("who am I, and which tile is mine");
  tid_ = w_.reg("b32");
  lane_ = w_.reg("b32");
  const std::string warp = w_.reg("b32"), cta_x = w_.reg("b32"), cta_y = w_.reg("b32");
  w_("mov.u32 {}, %tid.x;", tid_);
  w_("and.b32 {}, {}, 31;", lane_, tid_);
  w_("shr.u32 {}, {}, 5;", warp, tid_);
  w_("mov.u32 {}, %ctaid.x;", cta_x);
  w_("mov.u32 {}, %ctaid.y;", cta_y);
  warp_m_ = w_.reg("b32");
  warp_n_ = w_.reg("b32");
  w_("and.b32 {}, {}, {};", warp_m_, warp, warps_m_ - 1);
  w_("shr.u32 {}, {}, {};", warp_n_, warp, std::countr_zero(warps_m_));
  row0_ = w_.reg("b32");
  col0_ = w_.reg("b32");
  w_("shl.b32 {}, {}, {};", row0_, cta_x, std::countr_zero(c_.tile[0]));
  w_("shl.b32 {}, {}, {};", col0_, cta_y, std::countr_zero(c_.tile[1]));
  m_ = w_.reg("b32");
  n_ = w_.reg("b32");
  k_ = w_.reg("b32");
  w_("ld.param.u32 {}, [gemm_param_3];", m_);
  w_("ld.param.u32 {}, [gemm_param_4];", n_);
  w_("ld.param.u32 {}, [gemm_param_5];", k_);
  a_.pointer = load_pointer(w_, "gemm", 0);
  b_.pointer = load_pointer(w_, "gemm", 1);
  c_pointer_ = load_pointer(w_, "gemm", 2);
  a_.ld = a_.k_major ? k_ : m_;
  b_.ld = b_.k_major ? k_ : n_;
  smem_ = w_.reg("b32");
  w_("mov.u32 {}, smem;", smem_);
  if (k_tail_) {
    k_left_ = w_.reg("b32");
    w_("mov.b32 {}, {};", k_left_, k_);
  }
  copy_addresses(a_, row0_);
  copy_addresses(b_, col0_);
  lane_places();
}

Program MmaSync::emit() {
  prologue();
  w_.comment("swizzled offsets of every fragment, relative to its stage");
  fragment_offsets();
  clear_accumulators();
  for (std::string* r : {&tiles_, &tile_, &read_, &write_}) *r = w_.reg("b32");
  w_("add.s32 {}, {}, {};", tiles_, k_, c_.tile[2] - 1);
  w_("shr.u32 {0}, {0}, {1};", tiles_, std::countr_zero(c_.tile[2]));
  for (const std::string& r : {tile_, read_, write_}) w_("mov.b32 {}, 0;", r);
  if (staged()) loop_staged();
  else loop_async();
  epilogue();
  w_("ret;");

  Program p;
  p.entry = "gemm";
  p.grid = {(c_.m + c_.tile[0] - 1) / c_.tile[0], (c_.n + c_.tile[1] - 1) / c_.tile[1], 1};
  p.block = {threads_, 1, 1};
  p.dynamic_smem_bytes = (a_.smem.bytes() + b_.smem.bytes()) * c_.stages;
  p.shared = {{"A", c_.stages, a_.smem.bytes(), true}, {"B", c_.stages, b_.smem.bytes(), true}};
  p.ptx = module_text(c_, "gemm", w_, threads_, t_.sm >= 89 ? 4 : 0);
  p.launch_toml = launch_text(c_, p, t_.name, t_.output);
  return p;
}

/// for the first stages - 1 tiles of K: copy A and B tiles, commit
/// for each tile of K: wait until the oldest tile has landed; barrier; start the copy of the tile stages - 1 ahead; commit; multiply
void MmaSync::loop_async() {
  const std::string more = w_.reg("pred"), done = w_.reg("pred");
  w_.comment("the first stages - 1 tiles");
  const std::string next = w_.reg("b32");
  w_("mov.b32 {}, 0;", next);
  const uint32_t ahead = c_.stages - 1;
  for (uint32_t s = 0; s < ahead; ++s) {
    w_("setp.lt.s32 {}, {}, {};", more, next, tiles_);
    w_("@!{} bra $prologue_{};", more, s);
    copy_tile(write_);
    w_.label(fmt::format("$prologue_{}", s));
    w_("cp.async.commit_group;");
    next_stage(write_);
    w_("add.s32 {0}, {0}, 1;", next);
  }
  w_.label("$loop");
  const auto fetch_next = [&] {
    w_("setp.lt.s32 {}, {}, {};", more, next, tiles_);
    w_("@!{} bra $no_copy;", more);
    copy_tile(write_);
    w_.label("$no_copy");
    w_("cp.async.commit_group;");
    next_stage(write_);
    w_("add.s32 {0}, {0}, 1;", next);
  };
  if (c_.stages == 1) {  // one buffer: nothing overlaps
    fetch_next();
    w_("cp.async.wait_group 0;");
    w_("bar.sync 0;");
    compute(read_);
    w_("bar.sync 0;");
  } else {
    w_("cp.async.wait_group {};", c_.stages - 2);
    w_("bar.sync 0;");
    fetch_next();
    compute(read_);
    next_stage(read_);
  }
  w_("add.s32 {0}, {0}, 1;", tile_);
  w_("setp.lt.s32 {}, {}, {};", done, tile_, tiles_);
  w_("@{} bra $loop;", done);
}

/// The first tile of K into shared memory.
/// for each tile of K: load the next into registers; multiply; write the registers to the other buffer; barrier.
/// With one buffer the barrier stands before the write, too: nothing overlaps but the load.
void MmaSync::loop_staged() {
  const std::string more = w_.reg("pred");
  fetch_tile();
  deposit_tile(write_);
  w_("bar.sync 0;");
  next_stage(write_);
  w_.label("$loop");
  w_("add.s32 {0}, {0}, 1;", tile_);
  w_("setp.lt.s32 {}, {}, {};", more, tile_, tiles_);
  w_("@!{} bra $no_fetch;", more);
  fetch_tile();
  w_.label("$no_fetch");
  compute(read_);
  if (c_.stages == 1) w_("bar.sync 0;");
  w_("@!{} bra $no_deposit;", more);
  deposit_tile(write_);
  w_.label("$no_deposit");
  w_("bar.sync 0;");
  next_stage(read_);
  next_stage(write_);
  w_("@{} bra $loop;", more);
}

Program generate_mma_sync(const Config& config, Diagnostics& diags) {
  const auto type = operand_type(config.style, config.dtype, config.acc, config.emulate);
  if (!type) {
    const char* expected = config.style == "volta" ? "f16 with f32"
                           : config.style == "turing"
                               ? "f16 with f32 or f16, s8 or u8 with s32"
                               : "f16 with f32 or f16, bf16, tf32, e4m3 or e5m2 with f32, s8 or u8 with s32, f32 with emulation by 3xtf32 or bf16x9";
    const std::string how = config.emulate.empty() ? "" : ", emulation " + config.emulate;
    config_error(diags, fmt::format("dtype {} with accumulator {}{}: {} takes {}", config.dtype, config.acc, how, config.style, expected));
    return {};
  }
  MmaSync generator(config, *type);
  if (!generator.plan(diags)) return {};
  return generator.emit();
}

}  // namespace tcsim::gemm
