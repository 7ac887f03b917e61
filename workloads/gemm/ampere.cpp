// Ampere multistage GEMM: cp.async into `stages` shared-memory buffers, ldmatrix, mma.sync.
//
//   for the first stages - 1 tiles of K: copy A and B tiles, commit
//   for each tile of K: wait until the oldest tile has landed; barrier; start the copy of the tile stages - 1 ahead; commit;
//                       for each 32 bytes of K: ldmatrix A and B fragments, mma
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "workloads/gemm/common.h"

namespace tcsim::gemm {
namespace {

constexpr uint32_t kWarp = 32;

class Ampere {
 public:
  Ampere(const Config& config, const OperandType& type) : c_(config), t_(type) {}

  bool plan(Diagnostics& diags);
  Program emit();

 private:
  /// One operand: its tile in shared memory and how it is fetched and read.
  struct Side {
    const char* name;
    uint32_t extent, tile;        // M or N of the problem and of the CTA tile
    bool k_major;                 // rows of the shared tile run along M or N; else along K
    SmemTile smem;
    uint32_t base = 0;            // byte offset of its buffers in shared memory
    std::string pointer, ld;      // global address, leading dimension register (elements)
    std::vector<std::string> sources, targets, in_range;  // cp.async addresses, shared offsets, row predicates (sizes)
    uint32_t copies = 0;          // cp.async per thread and tile
    std::string step;             // bytes from one K tile to the next
    std::vector<std::string> chunk_k;  // K-major tails: K index of the chunk
  };

  void prologue();
  void copy_addresses(Side& side, const std::string& first);
  void emit_copy(Side& side, const std::string& stage_offset);
  void advance(Side& side);
  void copy_tile(const std::string& stage);
  void next_stage(const std::string& stage);
  std::vector<std::vector<std::string>> load_a(const std::string& stage_base, uint32_t step);
  std::vector<std::vector<std::string>> load_b(const std::string& stage_base, uint32_t step);
  std::string fragment_address(const Side& side, const std::string& stage_base, uint32_t row0, uint32_t k_step);
  void compute(const std::string& stage);
  void epilogue();
  void store(const std::string& predicate, const std::string& address, uint32_t i, uint32_t j, uint32_t half);

  Config c_;
  OperandType t_;
  Writer w_;
  Side a_{}, b_{};
  uint32_t threads_ = 0, warps_m_ = 0, warps_n_ = 0, wm_ = 0, wn_ = 0;
  bool k_tail_ = false;
  std::string tid_, lane_, warp_m_, warp_n_, row0_, col0_, m_, n_, k_, k_left_, c_pointer_, smem_;
  // Per-lane parts of ldmatrix addresses that do not change in the loop, by side: row and chunk registers.
  std::string a_row_, a_chunk_, b_row_, b_chunk_;
  std::map<std::string, std::string> fragment_bases_;  // hoisted swizzled offsets
  std::vector<std::vector<std::string>> acc_;
};

bool Ampere::plan(Diagnostics& diags) {
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
  threads_ = warps_m_ * warps_n_ * kWarp;
  wm_ = bm / warps_m_;
  wn_ = bn / warps_n_;
  const auto fail = [&](const std::string& text) { config_error(diags, fmt::format("tile {}x{}x{}: {}", bm, bn, bk, text)); };
  if (wm_ % 16 != 0 || wn_ % 16 != 0) fail(fmt::format("{}x{} warps leave {}x{} each; expected multiples of 16", warps_m_, warps_n_, wm_, wn_));
  if (bk % t_.mma_k != 0) fail(fmt::format("K of a tile must be a multiple of {} for {}", t_.mma_k, t_.name));
  if (threads_ > 1024) fail(fmt::format("{} threads; expected at most 1024", threads_));
  const bool any_mn_major = c_.layout != "tn";
  if (any_mn_major && t_.bytes != 2) fail(fmt::format("layout {} needs ldmatrix.trans, which exists for 16-bit types; {} takes tn", c_.layout, t_.name));
  a_ = {"A", c_.m, bm, c_.layout[0] == 't', {}, 0, {}, {}, {}, {}, {}, 0, {}, {}};
  b_ = {"B", c_.n, bn, c_.layout[1] == 'n', {}, 0, {}, {}, {}, {}, {}, 0, {}, {}};
  uint32_t base = 0;
  for (Side* side : {&a_, &b_}) {
    side->smem = side->k_major ? SmemTile{side->tile, bk * t_.bytes, c_.swizzle} : SmemTile{bk, side->tile * t_.bytes, c_.swizzle};
    side->base = base;
    base += side->smem.bytes() * c_.stages;
    const uint32_t chunks = side->smem.rows * side->smem.chunks();
    if (side->smem.row_bytes < 16 || chunks % threads_ != 0) fail(fmt::format("{} tile of {} 16-byte chunks does not divide over {} threads", side->name, chunks, threads_));
    else side->copies = chunks / threads_;
    const uint32_t line = side->k_major ? c_.k : side->extent;  // contiguous elements in global memory
    if (line * t_.bytes % 16 != 0) fail(fmt::format("{} rows of {} elements are not multiples of 16 bytes, which cp.async of 16 bytes needs", side->name, line));
  }
  if (c_.n * t_.bytes % 4 != 0) fail("N must be even");
  if (c_.sm < t_.sm) config_error(diags, fmt::format("{} needs sm_{}, the target is sm_{}", t_.name, t_.sm, c_.sm));
  k_tail_ = c_.k % bk != 0;
  return diags.error_count() == before;
}

/// Threads walk the tile's 16-byte chunks; neighbouring threads take neighbouring chunks of a row (coalesced).
void Ampere::copy_addresses(Side& side, const std::string& first) {
  const uint32_t chunks = side.smem.chunks();
  const std::string chunk = w_.reg("b32"), row = w_.reg("b32");
  const uint32_t shift = static_cast<uint32_t>(std::countr_zero(chunks));
  w_("and.b32 {}, {}, {};", chunk, tid_, chunks - 1);
  w_("shr.u32 {}, {}, {};", row, tid_, shift);
  const uint32_t rows_per_pass = threads_ / chunks;
  const std::string element = w_.reg("b32");  // first element of the chunk along the contiguous dimension
  w_("shl.b32 {}, {}, {};", element, chunk, 4 - std::countr_zero(t_.bytes));
  for (uint32_t i = 0; i < side.copies; ++i) {
    std::string r = row;
    if (i != 0) {
      r = w_.reg("b32");
      w_("add.s32 {}, {}, {};", r, row, i * rows_per_pass);
    }
    side.targets.push_back(emit_offset(w_, side.smem, r, chunk));
    // Global element: K-major: (first + r) * ld + element; else r * ld + first + element.
    const std::string major = w_.reg("b32"), minor = w_.reg("b32"), index = w_.reg("b64"), address = w_.reg("b64");
    if (side.k_major) {
      w_("add.s32 {}, {}, {};", major, first, r);
      w_("mov.b32 {}, {};", minor, element);
    } else {
      w_("mov.b32 {}, {};", major, r);
      w_("add.s32 {}, {}, {};", minor, first, element);
    }
    const std::string wide = w_.reg("b64"), minor_wide = w_.reg("b64");
    w_("mul.wide.u32 {}, {}, {};", wide, major, side.ld);
    w_("cvt.u64.u32 {}, {};", minor_wide, minor);
    w_("add.s64 {}, {}, {};", index, wide, minor_wide);
    w_("mad.lo.s64 {}, {}, {}, {};", address, index, t_.bytes, side.pointer);
    side.sources.push_back(address);
    // Rows (or chunks) outside the matrix are filled with zeros: source size 0.
    if (side.extent % side.tile != 0) {
      const std::string p = w_.reg("pred"), size = w_.reg("b32");
      w_("setp.lt.u32 {}, {}, {};", p, side.k_major ? major : minor, &side == &a_ ? m_ : n_);
      w_("selp.b32 {}, 16, 0, {};", size, p);
      side.in_range.push_back(size);
    }
    if (k_tail_) side.chunk_k.push_back(side.k_major ? element : r);
  }
  side.step = w_.reg("b64");
  if (side.k_major) {
    w_("mov.u64 {}, {};", side.step, c_.tile[2] * t_.bytes);
  } else {
    w_("mul.wide.u32 {}, {}, {};", side.step, side.ld, c_.tile[2] * t_.bytes);
  }
}

void Ampere::emit_copy(Side& side, const std::string& stage_offset) {
  for (uint32_t i = 0; i < side.copies; ++i) {
    const std::string target = w_.reg("b32");
    w_("add.s32 {}, {}, {};", target, stage_offset, side.targets[i]);
    std::string size;
    if (!side.in_range.empty()) size = side.in_range[i];
    if (k_tail_) {
      const std::string p = w_.reg("pred"), tail = w_.reg("b32");
      w_("setp.lt.s32 {}, {}, {};", p, side.chunk_k[i], k_left_);
      w_("selp.b32 {}, {}, 0, {};", tail, size.empty() ? "16" : size, p);
      size = tail;
    }
    if (size.empty()) {
      w_("cp.async.cg.shared.global [{}+{}], [{}], 16;", target, side.base, side.sources[i]);
    } else {
      w_("cp.async.cg.shared.global [{}+{}], [{}], 16, {};", target, side.base, side.sources[i], size);
    }
  }
}

void Ampere::advance(Side& side) {
  for (auto& address : side.sources) w_("add.s64 {0}, {0}, {1};", address, side.step);
}

/// Copies the next K tile of both operands into the buffer number `stage` and moves on.
void Ampere::copy_tile(const std::string& stage) {
  for (Side* side : {&a_, &b_}) {
    const std::string offset = w_.reg("b32");
    w_("mad.lo.s32 {}, {}, {}, {};", offset, stage, side->smem.bytes(), smem_);
    emit_copy(*side, offset);
    advance(*side);
  }
  if (k_tail_) w_("add.s32 {0}, {0}, -{1};", k_left_, c_.tile[2]);
}

void Ampere::next_stage(const std::string& stage) {
  const std::string p = w_.reg("pred");
  w_("add.s32 {0}, {0}, 1;", stage);
  w_("setp.eq.s32 {}, {}, {};", p, stage, c_.stages);
  w_("selp.b32 {0}, 0, {0}, {1};", stage, p);
}

void Ampere::prologue() {
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
  // ldmatrix.x4: lane l gives the address of row l % 8 of matrix l / 8.
  a_row_ = w_.reg("b32");
  a_chunk_ = w_.reg("b32");
  b_row_ = w_.reg("b32");
  b_chunk_ = w_.reg("b32");
  const std::string low3 = w_.reg("b32"), bit3 = w_.reg("b32"), bit4 = w_.reg("b32");
  w_("and.b32 {}, {}, 7;", low3, lane_);
  w_("bfe.u32 {}, {}, 3, 1;", bit3, lane_);
  w_("bfe.u32 {}, {}, 4, 1;", bit4, lane_);
  // A: matrices (rows 0-7, k low), (rows 8-15, k low), (rows 0-7, k high), (rows 8-15, k high) = registers a0..a3.
  // B: matrices (n 0-7, k low), (n 0-7, k high), (n 8-15, k low), (n 8-15, k high) = b0, b1 of two mma.
  w_("mad.lo.s32 {}, {}, 8, {};", a_row_, a_.k_major ? bit3 : bit4, low3);
  w_("mov.b32 {}, {};", a_chunk_, a_.k_major ? bit4 : bit3);
  w_("mad.lo.s32 {}, {}, 8, {};", b_row_, b_.k_major ? bit4 : bit3, low3);
  w_("mov.b32 {}, {};", b_chunk_, b_.k_major ? bit3 : bit4);
}

/// Address of an ldmatrix whose first row (or column, when not K-major) in the CTA tile is row0 and whose K step is k_step.
std::string Ampere::fragment_address(const Side& side, const std::string& stage_base, uint32_t row0, uint32_t k_step) {
  const std::string key = fmt::format("{}{}_{}", side.name, row0, k_step);
  auto it = fragment_bases_.find(key);
  if (it == fragment_bases_.end()) throw std::logic_error("fragment offsets are emitted before the loop: " + key);
  const std::string address = w_.reg("b32");
  w_("add.s32 {}, {}, {};", address, stage_base, it->second);
  return address;
}

std::vector<std::vector<std::string>> Ampere::load_a(const std::string& stage_base, uint32_t step) {
  std::vector<std::vector<std::string>> fragments;
  for (uint32_t i = 0; i < wm_ / 16; ++i) {
    const auto r = w_.regs("b32", 4);
    const std::string address = fragment_address(a_, stage_base, i * 16, step);
    w_("ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {}, [{}+{}];", a_.k_major ? "" : ".trans", Writer::braces(r), address, a_.base);
    fragments.push_back(r);
  }
  return fragments;
}

std::vector<std::vector<std::string>> Ampere::load_b(const std::string& stage_base, uint32_t step) {
  std::vector<std::vector<std::string>> fragments;
  for (uint32_t j = 0; j < wn_ / 16; ++j) {
    const auto r = w_.regs("b32", 4);
    const std::string address = fragment_address(b_, stage_base, j * 16, step);
    w_("ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {}, [{}+{}];", b_.k_major ? "" : ".trans", Writer::braces(r), address, b_.base);
    fragments.push_back({r[0], r[1]});
    fragments.push_back({r[2], r[3]});
  }
  return fragments;
}

void Ampere::compute(const std::string& stage) {
  const std::string a_stage = w_.reg("b32"), b_stage = w_.reg("b32");
  w_("mad.lo.s32 {}, {}, {}, {};", a_stage, stage, a_.smem.bytes(), smem_);
  w_("mad.lo.s32 {}, {}, {}, {};", b_stage, stage, b_.smem.bytes(), smem_);
  for (uint32_t step = 0; step < c_.tile[2] / t_.mma_k; ++step) {
    const auto fa = load_a(a_stage, step), fb = load_b(b_stage, step);
    for (uint32_t i = 0; i < fa.size(); ++i)
      for (uint32_t j = 0; j < fb.size(); ++j) {
        const std::string d = Writer::braces(acc_[i * fb.size() + j]);
        w_("mma.sync.aligned.{}.row.col{}.{}.{}.{}.{} {}, {}, {}, {};", t_.mma_shape, t_.accumulate == "s32" ? ".satfinite" : "", t_.accumulate, t_.name, t_.name,
           t_.accumulate, d, Writer::braces(fa[i]), Writer::braces(fb[j]), d);
      }
  }
}

/// Writes registers 2*half and 2*half+1 of a fragment: two neighbouring columns of one row.
void Ampere::store(const std::string& predicate, const std::string& address, uint32_t i, uint32_t j, uint32_t half) {
  const auto& d = acc_[i * (wn_ / 8) + j];
  const std::string guard = predicate.empty() ? "" : "@" + predicate + " ";
  if (t_.accumulate == "f16") {
    w_("{}st.global.b32 [{}], {};", guard, address, d[half]);
  } else if (t_.output == "f16" || t_.output == "bf16") {
    const std::string packed = w_.reg("b32");
    w_("cvt.rn.{}x2.f32 {}, {}, {};", t_.output, packed, d[2 * half + 1], d[2 * half]);
    w_("{}st.global.b32 [{}], {};", guard, address, packed);
  } else {
    w_("{}st.global.v2.{} [{}], {{{}, {}}};", guard, t_.accumulate == "s32" ? "b32" : "f32", address, d[2 * half], d[2 * half + 1]);
  }
}

void Ampere::epilogue() {
  w_.comment("C fragment: row lane / 4 (+ 8), columns 2 * (lane % 4) and the next");
  const uint32_t out_bytes = t_.output == "f16" || t_.output == "bf16" ? 2 : 4;
  const std::string g = w_.reg("b32"), t = w_.reg("b32"), row = w_.reg("b32"), col = w_.reg("b32"), pair = w_.reg("b32");
  w_("shr.u32 {}, {}, 2;", g, lane_);
  w_("and.b32 {}, {}, 3;", t, lane_);
  w_("shl.b32 {}, {}, 1;", pair, t);
  w_("mad.lo.s32 {}, {}, {}, {};", row, warp_m_, wm_, g);
  w_("add.s32 {0}, {0}, {1};", row, row0_);
  w_("mad.lo.s32 {}, {}, {}, {};", col, warp_n_, wn_, pair);
  w_("add.s32 {0}, {0}, {1};", col, col0_);
  const bool edges = c_.m % c_.tile[0] != 0 || c_.n % c_.tile[1] != 0;
  for (uint32_t i = 0; i < wm_ / 16; ++i)
    for (uint32_t half = 0; half < 2; ++half) {
      const std::string r = w_.reg("b32"), wide = w_.reg("b64"), base = w_.reg("b64"), column = w_.reg("b64");
      w_("add.s32 {}, {}, {};", r, row, i * 16 + half * 8);
      w_("mul.wide.u32 {}, {}, {};", wide, r, n_);
      w_("cvt.u64.u32 {}, {};", column, col);
      w_("add.s64 {0}, {0}, {1};", wide, column);
      w_("mad.lo.s64 {}, {}, {}, {};", base, wide, out_bytes, c_pointer_);
      std::string row_ok;
      if (edges) {
        row_ok = w_.reg("pred");
        w_("setp.lt.u32 {}, {}, {};", row_ok, r, m_);
      }
      for (uint32_t j = 0; j < wn_ / 8; ++j) {
        const std::string address = w_.reg("b64");
        w_("add.s64 {}, {}, {};", address, base, j * 8 * out_bytes);
        std::string ok;
        if (edges) {
          ok = w_.reg("pred");
          const std::string cj = w_.reg("b32");
          w_("add.s32 {}, {}, {};", cj, col, j * 8);
          w_("setp.lt.and.u32 {}, {}, {}, {};", ok, cj, n_, row_ok);
        }
        store(ok, address, i, j, half);
      }
    }
}

Program Ampere::emit() {
  prologue();
  w_.comment("swizzled offsets of every ldmatrix, relative to its stage");
  for (Side* side : {&a_, &b_}) {
    const bool is_a = side == &a_;
    const std::string warp_row = w_.reg("b32");
    w_("mul.lo.s32 {}, {}, {};", warp_row, is_a ? warp_m_ : warp_n_, is_a ? wm_ : wn_);
    for (uint32_t i = 0; i < (is_a ? wm_ : wn_) / 16; ++i)
      for (uint32_t step = 0; step < c_.tile[2] / t_.mma_k; ++step) {
        const std::string row = w_.reg("b32"), chunk = w_.reg("b32");
        if (side->k_major) {  // rows along M or N, chunks along K (2 chunks of 16 bytes a step)
          w_("add.s32 {}, {}, {};", row, is_a ? a_row_ : b_row_, warp_row);
          w_("add.s32 {0}, {0}, {1};", row, i * 16);
          w_("add.s32 {}, {}, {};", chunk, is_a ? a_chunk_ : b_chunk_, step * 2);
        } else {  // rows along K, chunks of 8 elements along M or N
          w_("add.s32 {}, {}, {};", row, is_a ? a_row_ : b_row_, step * t_.mma_k);
          w_("shr.u32 {}, {}, 3;", chunk, warp_row);
          w_("add.s32 {0}, {0}, {1};", chunk, is_a ? a_chunk_ : b_chunk_);
          w_("add.s32 {0}, {0}, {1};", chunk, i * 2);
        }
        fragment_bases_[fmt::format("{}{}_{}", side->name, i * 16, step)] = emit_offset(w_, side->smem, row, chunk);
      }
  }
  const uint32_t per_fragment = t_.accumulate == "f16" ? 2 : 4;
  const std::string reg_type = t_.accumulate == "f32" ? "f32" : "b32";
  for (uint32_t i = 0; i < wm_ / 16 * (wn_ / 8); ++i) {
    acc_.push_back(w_.regs(reg_type, per_fragment));
    for (const auto& r : acc_.back()) w_("mov.{} {}, {};", reg_type, r, reg_type == "f32" ? "0f00000000" : "0");
  }
  const std::string tiles = w_.reg("b32"), tile = w_.reg("b32"), read = w_.reg("b32"), write = w_.reg("b32"), more = w_.reg("pred"), done = w_.reg("pred");
  w_("add.s32 {}, {}, {};", tiles, k_, c_.tile[2] - 1);
  w_("shr.u32 {0}, {0}, {1};", tiles, std::countr_zero(c_.tile[2]));
  w_("mov.b32 {}, 0;", tile);
  w_("mov.b32 {}, 0;", read);
  w_("mov.b32 {}, 0;", write);
  w_.comment("the first stages - 1 tiles");
  const std::string next = w_.reg("b32");
  w_("mov.b32 {}, 0;", next);
  const uint32_t ahead = c_.stages - 1;
  for (uint32_t s = 0; s < ahead; ++s) {
    w_("setp.lt.s32 {}, {}, {};", more, next, tiles);
    w_("@!{} bra $prologue_{};", more, s);
    copy_tile(write);
    w_.label(fmt::format("$prologue_{}", s));
    w_("cp.async.commit_group;");
    next_stage(write);
    w_("add.s32 {0}, {0}, 1;", next);
  }
  w_.label("$loop");
  const auto fetch_next = [&] {
    w_("setp.lt.s32 {}, {}, {};", more, next, tiles);
    w_("@!{} bra $no_copy;", more);
    copy_tile(write);
    w_.label("$no_copy");
    w_("cp.async.commit_group;");
    next_stage(write);
    w_("add.s32 {0}, {0}, 1;", next);
  };
  if (c_.stages == 1) {  // one buffer: nothing overlaps
    fetch_next();
    w_("cp.async.wait_group 0;");
    w_("bar.sync 0;");
    compute(read);
    w_("bar.sync 0;");
  } else {
    w_("cp.async.wait_group {};", c_.stages - 2);
    w_("bar.sync 0;");
    fetch_next();
    compute(read);
    next_stage(read);
  }
  w_("add.s32 {0}, {0}, 1;", tile);
  w_("setp.lt.s32 {}, {}, {};", done, tile, tiles);
  w_("@{} bra $loop;", done);
  epilogue();
  w_("ret;");

  Program p;
  p.entry = "gemm";
  p.grid = {(c_.m + c_.tile[0] - 1) / c_.tile[0], (c_.n + c_.tile[1] - 1) / c_.tile[1], 1};
  p.block = {threads_, 1, 1};
  p.dynamic_smem_bytes = (a_.smem.bytes() + b_.smem.bytes()) * c_.stages;
  p.shared = {{"A", c_.stages, a_.smem.bytes()}, {"B", c_.stages, b_.smem.bytes()}};
  p.ptx = module_text(c_, "gemm", w_, threads_, t_.sm >= 89 ? 4 : 0);
  p.launch_toml = launch_text(c_, p, t_.name, t_.output);
  return p;
}

}  // namespace

Program generate_ampere(const Config& config, Diagnostics& diags) {
  const auto type = operand_type(config.dtype, config.acc);
  if (!type) {
    config_error(diags, fmt::format("dtype {} with accumulator {}: expected f16 with f32 or f16, bf16, tf32, e4m3 or e5m2 with f32, s8 or u8 with s32", config.dtype, config.acc));
    return {};
  }
  Ampere generator(config, *type);
  if (!generator.plan(diags)) return {};
  return generator.emit();
}

}  // namespace tcsim::gemm
