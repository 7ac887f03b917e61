// Global to shared memory: cp.async, or through registers where there is none.
#include <bit>

#include "workloads/gemm/mma_sync.h"

namespace tcsim::gemm {

/// Threads walk the tile's 16-byte chunks; neighbouring threads take neighbouring chunks of a row (coalesced).
void MmaSync::copy_addresses(Side& side, const std::string& first) {
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

/// Register with the bytes of a piece that lie inside the matrix, 16 or 0; "": all pieces do.
std::string MmaSync::piece_size(const Side& side, uint32_t i) {
  std::string size = side.in_range.empty() ? "" : side.in_range[i];
  if (!k_tail_) return size;
  const std::string p = w_.reg("pred"), tail = w_.reg("b32");
  w_("setp.lt.s32 {}, {}, {};", p, side.chunk_k[i], k_left_);
  w_("selp.b32 {}, {}, 0, {};", tail, size.empty() ? "16" : size, p);
  return tail;
}

void MmaSync::emit_copy(Side& side, const std::string& stage_offset) {
  for (uint32_t i = 0; i < side.copies; ++i) {
    const std::string target = w_.reg("b32");
    w_("add.s32 {}, {}, {};", target, stage_offset, side.targets[i]);
    const std::string size = piece_size(side, i);
    w_("cp.async.cg.shared.global [{}+{}], [{}], 16{};", target, side.base, side.sources[i], size.empty() ? "" : ", " + size);
  }
}

/// The next tile of K into registers; outside the matrix zeros.
void MmaSync::fetch_tile() {
  for (Side* side : {&a_, &b_}) {
    if (side->staged.empty())
      for (uint32_t i = 0; i < side->copies; ++i) side->staged.push_back(w_.regs("b32", 4));
    for (uint32_t i = 0; i < side->copies; ++i) {
      const std::string size = piece_size(*side, i), inside = size.empty() ? "" : w_.reg("pred");
      if (!size.empty()) {
        w_("setp.ne.u32 {}, {}, 0;", inside, size);
        for (const std::string& r : side->staged[i]) w_("mov.b32 {}, 0;", r);
      }
      w_("{}ld.global.v4.b32 {}, [{}];", size.empty() ? "" : "@" + inside + " ", Writer::braces(side->staged[i]), side->sources[i]);
    }
    advance(*side);
  }
  if (k_tail_) w_("add.s32 {0}, {0}, -{1};", k_left_, c_.tile[2]);
}

/// From registers into the buffer number `stage`.
void MmaSync::deposit_tile(const std::string& stage) {
  for (Side* side : {&a_, &b_}) {
    const std::string offset = w_.reg("b32");
    w_("mad.lo.s32 {}, {}, {}, {};", offset, stage, side->smem.bytes(), smem_);
    for (uint32_t i = 0; i < side->copies; ++i) {
      const std::string target = w_.reg("b32");
      w_("add.s32 {}, {}, {};", target, offset, side->targets[i]);
      w_("st.shared.v4.b32 [{}+{}], {};", target, side->base, Writer::braces(side->staged[i]));
    }
  }
}

void MmaSync::advance(Side& side) {
  for (auto& address : side.sources) w_("add.s64 {0}, {0}, {1};", address, side.step);
}

/// Copies the next K tile of both operands into the buffer number `stage` and moves on.
void MmaSync::copy_tile(const std::string& stage) {
  for (Side* side : {&a_, &b_}) {
    const std::string offset = w_.reg("b32");
    w_("mad.lo.s32 {}, {}, {}, {};", offset, stage, side->smem.bytes(), smem_);
    emit_copy(*side, offset);
    advance(*side);
  }
  if (k_tail_) w_("add.s32 {0}, {0}, -{1};", k_left_, c_.tile[2]);
}

}  // namespace tcsim::gemm
