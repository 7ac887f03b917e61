// Fragments from shared memory, mma, and C.
#include <stdexcept>

#include "workloads/gemm/mma_sync.h"

namespace tcsim::gemm {

/// Which row and 16-byte chunk of a fragment this lane addresses.
void MmaSync::lane_places() {
  for (std::string* r : {&a_row_, &a_chunk_, &b_row_, &b_chunk_}) *r = w_.reg("b32");
  const std::string low3 = w_.reg("b32"), bit3 = w_.reg("b32"), bit4 = w_.reg("b32");
  w_("bfe.u32 {}, {}, 3, 1;", bit3, lane_);
  w_("bfe.u32 {}, {}, 4, 1;", bit4, lane_);
  if (quads()) {
    // m8n8k4 (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16"): quad-pair q is lanes 4 q .. 4 q + 3 and 16 more; its rows of A
    // and columns of B are lane % 4, + 4 in the upper half. Quad-pairs 1 and 3 take the second 8 rows, 2 and 3 the second 8 columns.
    const std::string low2 = w_.reg("b32"), bit2 = w_.reg("b32");
    w_("and.b32 {}, {}, 3;", low2, lane_);
    w_("bfe.u32 {}, {}, 2, 1;", bit2, lane_);
    w_("mad.lo.s32 {}, {}, 4, {};", low3, bit4, low2);
    w_("mad.lo.s32 {}, {}, 8, {};", a_row_, bit2, low3);
    w_("mad.lo.s32 {}, {}, 8, {};", b_row_, bit3, low3);
    w_("mov.b32 {}, 0;", a_chunk_);
    w_("mov.b32 {}, 0;", b_chunk_);
    return;
  }
  // ldmatrix.x4: lane l gives the address of row l % 8 of matrix l / 8.
  w_("and.b32 {}, {}, 7;", low3, lane_);
  // A: matrices (rows 0-7, k low), (rows 8-15, k low), (rows 0-7, k high), (rows 8-15, k high) = registers a0..a3.
  // B: matrices (n 0-7, k low), (n 0-7, k high), (n 8-15, k low), (n 8-15, k high) = b0, b1 of two mma.
  w_("mad.lo.s32 {}, {}, 8, {};", a_row_, a_.k_major ? bit3 : bit4, low3);
  w_("mov.b32 {}, {};", a_chunk_, a_.k_major ? bit4 : bit3);
  w_("mad.lo.s32 {}, {}, 8, {};", b_row_, b_.k_major ? bit4 : bit3, low3);
  w_("mov.b32 {}, {};", b_chunk_, b_.k_major ? bit3 : bit4);
}

/// Swizzled offsets of every fragment, relative to its stage.
void MmaSync::fragment_offsets() {
  for (Side* side : {&a_, &b_}) {
    const bool is_a = side == &a_;
    const std::string warp_row = w_.reg("b32");
    w_("mul.lo.s32 {}, {}, {};", warp_row, is_a ? warp_m_ : warp_n_, is_a ? wm_ : wn_);
    for (uint32_t i = 0; i < (is_a ? wm_ : wn_) / 16; ++i)
      for (uint32_t step = 0; step < c_.tile[2] / t_.step_k(); ++step) {
        const std::string row = w_.reg("b32"), chunk = w_.reg("b32");
        if (side->k_major) {  // rows along M or N, chunks along K (piece_chunks() of 16 bytes a step)
          w_("add.s32 {}, {}, {};", row, is_a ? a_row_ : b_row_, warp_row);
          w_("add.s32 {0}, {0}, {1};", row, i * 16);
          w_("add.s32 {}, {}, {};", chunk, is_a ? a_chunk_ : b_chunk_, step * piece_chunks());
        } else {  // rows along K, chunks of 8 elements along M or N
          w_("add.s32 {}, {}, {};", row, is_a ? a_row_ : b_row_, step * t_.step_k());
          w_("shr.u32 {}, {}, 3;", chunk, warp_row);
          w_("add.s32 {0}, {0}, {1};", chunk, is_a ? a_chunk_ : b_chunk_);
          w_("add.s32 {0}, {0}, {1};", chunk, i * 2);
        }
        fragment_bases_[fmt::format("{}{}_{}", side->name, i * 16, step)] = emit_offset(w_, side->smem, row, chunk);
      }
  }
}

/// Address of an ldmatrix whose first row (or column, when not K-major) in the CTA tile is row0 and whose K step is k_step.
std::string MmaSync::fragment_address(const Side& side, const std::string& stage_base, uint32_t row0, uint32_t k_step) {
  const std::string key = fmt::format("{}{}_{}", side.name, row0, k_step);
  auto it = fragment_bases_.find(key);
  if (it == fragment_bases_.end()) throw std::logic_error("fragment offsets are emitted before the loop: " + key);
  const std::string address = w_.reg("b32");
  w_("add.s32 {}, {}, {};", address, stage_base, it->second);
  return address;
}

MmaSync::Fragments MmaSync::load_a(const std::string& stage_base, uint32_t step) {
  Fragments fragments;
  for (uint32_t i = 0; i < wm_ / 16; ++i) fragments.push_back(load(a_, stage_base, i, step));
  return fragments;
}

/// By 8 columns; on Volta by 16.
MmaSync::Fragments MmaSync::load_b(const std::string& stage_base, uint32_t step) {
  Fragments fragments;
  for (uint32_t j = 0; j < wn_ / 16; ++j) {
    const auto r = load(b_, stage_base, j, step);
    if (quads()) {
      fragments.push_back(r);
      continue;
    }
    fragments.push_back({r[0], r[1]});
    fragments.push_back({r[2], r[3]});
  }
  return fragments;
}

/// Four registers: 16 rows (or columns) by a step of K.
std::vector<std::string> MmaSync::load(const Side& side, const std::string& stage_base, uint32_t block, uint32_t step) {
  const auto r = w_.regs("b32", 4);
  const std::string address = fragment_address(side, stage_base, block * 16, step);
  if (quads()) w_("ld.shared.v4.b32 {}, [{}+{}];", Writer::braces(r), address, side.base);
  else w_("ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {}, [{}+{}];", side.k_major ? "" : ".trans", Writer::braces(r), address, side.base);
  return r;
}

void MmaSync::clear_accumulators() {
  const uint32_t registers = t_.accumulate == "f16" ? 2 : quads() ? 8 : 4;
  const std::string type = t_.accumulate == "f32" ? "f32" : "b32";
  for (uint32_t i = 0; i < wm_ / 16 * (wn_ / block_n()); ++i) {
    acc_.push_back(w_.regs(type, registers));
    for (const auto& r : acc_.back()) w_("mov.{} {}, {};", type, r, type == "f32" ? "0f00000000" : "0");
  }
}

void MmaSync::compute(const std::string& stage) {
  const std::string a_stage = w_.reg("b32"), b_stage = w_.reg("b32");
  w_("mad.lo.s32 {}, {}, {}, {};", a_stage, stage, a_.smem.bytes(), smem_);
  w_("mad.lo.s32 {}, {}, {}, {};", b_stage, stage, b_.smem.bytes(), smem_);
  for (uint32_t step = 0; step < c_.tile[2] / t_.step_k(); ++step) {
    const auto fa = load_a(a_stage, step), fb = load_b(b_stage, step);
    if (!c_.emulate.empty()) {
      emulated(fa, fb);
      continue;
    }
    for (uint32_t i = 0; i < fa.size(); ++i)
      for (uint32_t j = 0; j < fb.size(); ++j) multiply(acc_[i * fb.size() + j], fa[i], fb[j]);
  }
}

/// A step of K of one block: one instruction, or the several smaller ones of older machines.
void MmaSync::multiply(const std::vector<std::string>& d, const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto mma = [&](const std::vector<std::string>& sum, const std::vector<std::string>& x, const std::vector<std::string>& y) {
    const std::string acc = Writer::braces(sum);
    w_("mma.sync.aligned.{}.row.col{}.{}.{}.{}.{} {}, {}, {}, {};", t_.shape, t_.accumulate == "s32" ? ".satfinite" : "", t_.accumulate,
       t_.multiplied, t_.multiplied, t_.accumulate, acc, Writer::braces(x), Writer::braces(y), acc);
  };
  if (quads()) {  // 4 of K each
    mma(d, {a[0], a[1]}, {b[0], b[1]});
    mma(d, {a[2], a[3]}, {b[2], b[3]});
  } else if (t_.shape == "m8n8k16") {  // registers 0 and 2 of A: rows 0 to 7; 1 and 3: rows 8 to 15
    for (uint32_t half = 0; half < 2; ++half)
      for (uint32_t k = 0; k < 2; ++k) mma({d[2 * half], d[2 * half + 1]}, {a[2 * k + half]}, {b[k]});
  } else if (t_.shape == "m16n8k8" && t_.bytes == 2) {
    mma(d, {a[0], a[1]}, {b[0]});
    mma(d, {a[2], a[3]}, {b[1]});
  } else {
    mma(d, a, b);
  }
}

/// A fragment of f32 as a sum of narrower ones, largest first. tf32: two parts of 11 bits. bf16: three of 8; a register holds the two
/// values of K that a thread has of a row, in the place of neighbours: the order of K is free, as A and B agree on it.
MmaSync::Fragments MmaSync::parts(const std::vector<std::string>& fragment, bool is_a) {
  Fragments out;
  std::vector<std::string> rest;
  for (const std::string& r : fragment) {
    rest.push_back(w_.reg("f32"));
    w_("mov.b32 {}, {};", rest.back(), r);
  }
  if (c_.emulate == "3xtf32") {
    for (uint32_t part = 0; part < 2; ++part) {
      out.push_back(w_.regs("b32", rest.size()));
      for (size_t i = 0; i < rest.size(); ++i) {
        w_("cvt.rna.tf32.f32 {}, {};", out[part][i], rest[i]);
        if (part == 1) continue;
        const std::string high = w_.reg("f32"), low = w_.reg("f32");
        w_("mov.b32 {}, {};", high, out[part][i]);
        w_("sub.rn.f32 {}, {}, {};", low, rest[i], high);
        rest[i] = low;
      }
    }
    return out;
  }
  const size_t pairs = rest.size() / 2, apart = is_a ? 2 : 1;  // A: registers (0, 2) and (1, 3) are of one row
  for (uint32_t part = 0; part < 3; ++part) {
    out.push_back(w_.regs("b32", pairs));
    for (size_t i = 0; i < pairs; ++i) {
      std::string &first = rest[i], &second = rest[i + apart];
      w_("cvt.rn.bf16x2.f32 {}, {}, {};", out[part][i], second, first);
      if (part == 2) continue;
      const std::string low = w_.reg("b32"), high = w_.reg("b32"), low_f = w_.reg("f32"), high_f = w_.reg("f32"), r0 = w_.reg("f32"),
                        r1 = w_.reg("f32");
      w_("shl.b32 {}, {}, 16;", low, out[part][i]);
      w_("and.b32 {}, {}, 0xffff0000;", high, out[part][i]);
      w_("mov.b32 {}, {};", low_f, low);
      w_("mov.b32 {}, {};", high_f, high);
      w_("sub.rn.f32 {}, {}, {};", r0, first, low_f);
      w_("sub.rn.f32 {}, {}, {};", r1, second, high_f);
      first = r0;
      second = r1;
    }
  }
  return out;
}

/// Products of parts, the smallest first. 3xTF32 leaves out low x low (CUTLASS, example 27); BF16x9 takes all nine.
void MmaSync::emulated(const Fragments& fa, const Fragments& fb) {
  std::vector<Fragments> a, b;
  for (const auto& f : fa) a.push_back(parts(f, true));
  for (const auto& f : fb) b.push_back(parts(f, false));
  const uint32_t most = c_.emulate == "3xtf32" ? 1 : 4, count = static_cast<uint32_t>(a[0].size());
  for (uint32_t i = 0; i < a.size(); ++i)
    for (uint32_t j = 0; j < b.size(); ++j)
      for (uint32_t order = most + 1; order-- > 0;)
        for (uint32_t p = count; p-- > 0;)
          if (order >= p && order - p < count) multiply(acc_[i * b.size() + j], a[i][p], b[j][order - p]);
}

/// Writes registers `pair` and the next of a fragment: two neighbouring columns of one row.
void MmaSync::store(const std::string& predicate, const std::string& address, const std::vector<std::string>& d, uint32_t pair) {
  const std::string guard = predicate.empty() ? "" : "@" + predicate + " ";
  if (t_.accumulate == "f16") {
    w_("{}st.global.b32 [{}], {};", guard, address, d[pair / 2]);
  } else if (t_.output == "f16" || t_.output == "bf16") {
    const std::string packed = w_.reg("b32");
    if (c_.sm >= 80) {
      w_("cvt.rn.{}x2.f32 {}, {}, {};", t_.output, packed, d[pair + 1], d[pair]);
    } else {
      const std::string low = w_.reg("b16"), high = w_.reg("b16");
      w_("cvt.rn.{}.f32 {}, {};", t_.output, low, d[pair]);
      w_("cvt.rn.{}.f32 {}, {};", t_.output, high, d[pair + 1]);
      w_("mov.b32 {}, {{{}, {}}};", packed, low, high);
    }
    w_("{}st.global.b32 [{}], {};", guard, address, packed);
  } else {
    w_("{}st.global.v2.{} [{}], {{{}, {}}};", guard, t_.accumulate == "s32" ? "b32" : "f32", address, d[pair], d[pair + 1]);
  }
}

void MmaSync::epilogue() {
  const uint32_t out_bytes = t_.output == "f16" || t_.output == "bf16" ? 2 : 4;
  const std::string g = w_.reg("b32"), row = w_.reg("b32"), col = w_.reg("b32"), pair = w_.reg("b32");
  if (quads()) {
    w_.comment("C fragment: row lane % 2 (+ 2) + 4 in the upper lanes, columns lane & 2 and the next (+ 4); rows and columns of the quad-pair");
    const std::string part = w_.reg("b32");
    w_("and.b32 {}, {}, 1;", part, lane_);
    w_("bfe.u32 {}, {}, 4, 1;", g, lane_);
    w_("mad.lo.s32 {0}, {0}, 4, {1};", g, part);
    w_("bfe.u32 {}, {}, 2, 1;", part, lane_);
    w_("mad.lo.s32 {0}, {1}, 8, {0};", g, part);
    w_("and.b32 {}, {}, 2;", pair, lane_);
    w_("bfe.u32 {}, {}, 3, 1;", part, lane_);
    w_("mad.lo.s32 {0}, {1}, 8, {0};", pair, part);
  } else {
    w_.comment("C fragment: row lane / 4 (+ 8), columns 2 * (lane % 4) and the next");
    w_("shr.u32 {}, {}, 2;", g, lane_);
    w_("and.b32 {}, {}, 3;", pair, lane_);
    w_("shl.b32 {0}, {0}, 1;", pair);
  }
  const uint32_t half_rows = quads() ? 2 : 8, column_groups = quads() ? 2 : 1;  // rows between register pairs; groups 4 columns apart
  w_("mad.lo.s32 {}, {}, {}, {};", row, warp_m_, wm_, g);
  w_("add.s32 {0}, {0}, {1};", row, row0_);
  w_("mad.lo.s32 {}, {}, {}, {};", col, warp_n_, wn_, pair);
  w_("add.s32 {0}, {0}, {1};", col, col0_);
  const bool edges = c_.m % c_.tile[0] != 0 || c_.n % c_.tile[1] != 0;
  for (uint32_t i = 0; i < wm_ / 16; ++i)
    for (uint32_t half = 0; half < 2; ++half) {
      const std::string r = w_.reg("b32"), wide = w_.reg("b64"), base = w_.reg("b64"), column = w_.reg("b64");
      w_("add.s32 {}, {}, {};", r, row, i * 16 + half * half_rows);
      w_("mul.wide.u32 {}, {}, {};", wide, r, n_);
      w_("cvt.u64.u32 {}, {};", column, col);
      w_("add.s64 {0}, {0}, {1};", wide, column);
      w_("mad.lo.s64 {}, {}, {}, {};", base, wide, out_bytes, c_pointer_);
      std::string row_ok;
      if (edges) {
        row_ok = w_.reg("pred");
        w_("setp.lt.u32 {}, {}, {};", row_ok, r, m_);
      }
      for (uint32_t j = 0; j < wn_ / block_n() * column_groups; ++j) {
        const uint32_t block = j / column_groups, group = j % column_groups, column0 = block * block_n() + group * 4;
        const std::string address = w_.reg("b64");
        w_("add.s64 {}, {}, {};", address, base, column0 * out_bytes);
        std::string ok;
        if (edges) {
          ok = w_.reg("pred");
          const std::string cj = w_.reg("b32");
          w_("add.s32 {}, {}, {};", cj, col, column0);
          w_("setp.lt.and.u32 {}, {}, {}, {};", ok, cj, n_, row_ok);
        }
        store(ok, address, acc_[i * (wn_ / block_n()) + block], 4 * group + 2 * half);
      }
    }
}

}  // namespace tcsim::gemm
