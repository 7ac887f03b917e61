// Epilogue: accumulators to C, with st.global, or through shared memory and TMA stores.
//
// The fragment of m64nNkK (PTX ISA, "Register Fragments for wgmma", D): warp w of the warpgroup holds rows 16 w .. 16 w + 15; register
// 4 j + 2 h + e of lane l: row l / 4 + 8 h, column 8 j + 2 (l % 4) + e.
#include "workloads/gemm/hopper.h"

namespace tcsim::gemm {

/// Registers of two neighbouring columns (columns 8 j ..., row half h) as what is stored: one packed register, or two in braces.
std::string Hopper::pack(uint32_t block, uint32_t j, uint32_t half) {
  const auto& d = acc_[block];
  const std::string &low = d[4 * j + 2 * half], &high = d[4 * j + 2 * half + 1];
  if (out_bytes() == 4) return Writer::braces({low, high});
  const std::string packed = w_.reg("b32");
  w_("cvt.rn.{}x2.f32 {}, {}, {};", c_.out, packed, high, low);
  return packed;
}

/// group: register, index of the consumer warpgroup; row_offset: register, first row of the tile that it holds ("": 0).
void Hopper::epilogue(const Tile& tile, const std::string& group, const std::string& row_offset) {
  const std::string row0 = w_.reg("b32"), col0 = w_.reg("b32");
  w_.comment("epilogue");
  w_("mul.lo.u32 {}, {}, {};", row0, tile.m, c_.tile[0]);
  if (!row_offset.empty()) w_("add.s32 {0}, {0}, {1};", row0, row_offset);
  w_("mul.lo.u32 {}, {}, {};", col0, tile.n, c_.tile[1]);
  if (c_.epilogue == "direct") epilogue_direct(row0, col0);
  else epilogue_tma(group, row0, col0);
}

void Hopper::epilogue_direct(const std::string& row0, const std::string& col0) {
  const std::string warp = w_.reg("b32"), g = w_.reg("b32"), t = w_.reg("b32"), row = w_.reg("b32"), col = w_.reg("b32");
  w_("and.b32 {}, {}, 3;", warp, warp_);
  w_("shr.u32 {}, {}, 2;", g, lane_);
  w_("and.b32 {}, {}, 3;", t, lane_);
  w_("mad.lo.u32 {}, {}, 16, {};", row, warp, g);
  w_("add.s32 {0}, {0}, {1};", row, row0);
  w_("mad.lo.u32 {}, {}, 2, {};", col, t, col0);
  for (uint32_t i = 0; i < blocks(); ++i)
    for (uint32_t half = 0; half < 2; ++half) {
      const std::string r = w_.reg("b32"), index = w_.reg("b64"), column = w_.reg("b64"), address = w_.reg("b64");
      w_("add.s32 {}, {}, {};", r, row, i * 64 + half * 8);
      w_("mul.wide.u32 {}, {}, {};", index, r, n_);
      w_("cvt.u64.u32 {}, {};", column, col);
      w_("add.s64 {0}, {0}, {1};", index, column);
      w_("mad.lo.s64 {}, {}, {}, {};", address, index, out_bytes(), c_where_);
      for (uint32_t j = 0; j < c_.tile[1] / 8; ++j)
        w_("st.global.{} [{}+{}], {};", out_bytes() == 4 ? "v2.b32" : "b32", address, j * 8 * out_bytes(), pack(i, j, half));
    }
}

/// Writes 128-byte rows of columns [column, ...) of a 64-row block into a slot, swizzled as the tensor map of C says: 16-byte
/// piece p of row r lies at p ^ (r % 8).
void Hopper::write_slot(const std::string& slot, uint32_t block, uint32_t column) {
  const uint32_t columns = 128 / out_bytes();
  const std::string warp = w_.reg("b32"), row = w_.reg("b32"), line = w_.reg("b32"), key = w_.reg("b32"), first = w_.reg("b32"), low3 = w_.reg("b32");
  w_("and.b32 {}, {}, 3;", warp, warp_);
  if (out_bytes() == 2) {
    // stmatrix: lane l gives row l % 8 of matrix l / 8; matrices: rows 0-7 and 8-15 of 8 columns, then of the next 8.
    const std::string half = w_.reg("b32");
    w_("and.b32 {}, {}, 15;", row, lane_);
    w_("mad.lo.u32 {}, {}, 16, {};", line, warp, row);
    w_("mad.lo.u32 {}, {}, 128, {};", line, line, slot);
    w_("and.b32 {}, {}, 7;", key, lane_);
    w_("shr.u32 {}, {}, 4;", half, lane_);
    for (uint32_t piece = 0; piece < 8; piece += 2) {
      const uint32_t j = column / 8 + piece;
      const std::string at = w_.reg("b32"), address = w_.reg("b32");
      w_("add.s32 {}, {}, {};", at, half, piece);
      w_("xor.b32 {0}, {0}, {1};", at, key);
      w_("mad.lo.u32 {}, {}, 16, {};", address, at, line);
      const std::vector<std::string> r = {pack(block, j, 0), pack(block, j, 1), pack(block, j + 1, 0), pack(block, j + 1, 1)};
      w_("stmatrix.sync.aligned.m8n8.x4.shared.b16 [{}], {};", address, Writer::braces(r));
    }
    return;
  }
  // 4-byte results: lane l holds two columns (8 bytes) of row l / 4: piece 2 j + l % 4 / 2.
  const std::string eight = w_.reg("b32");
  w_("shr.u32 {}, {}, 2;", key, lane_);
  w_("mad.lo.u32 {}, {}, 16, {};", line, warp, key);
  w_("mad.lo.u32 {}, {}, 128, {};", line, line, slot);
  w_("and.b32 {}, {}, 1;", low3, lane_);
  w_("shl.b32 {}, {}, 3;", eight, low3);
  w_("add.s32 {0}, {0}, {1};", line, eight);
  w_("bfe.u32 {}, {}, 1, 1;", first, lane_);
  for (uint32_t j = 0; j < columns / 8; ++j) {
    const std::string at = w_.reg("b32"), address = w_.reg("b32");
    w_("add.s32 {}, {}, {};", at, first, 2 * j);
    w_("xor.b32 {0}, {0}, {1};", at, key);
    w_("mad.lo.u32 {}, {}, 16, {};", address, at, line);
    for (uint32_t half = 0; half < 2; ++half) w_("st.shared.v2.b32 [{}+{}], {};", address, half * 8 * 128, pack(block, column / 8 + j, half));
  }
}

void Hopper::epilogue_tma(const std::string& group, const std::string& row0, const std::string& col0) {
  const std::string barrier = w_.reg("b32"), in_group = w_.reg("b32"), leader = w_.reg("pred"), base = w_.reg("b32");
  w_("add.s32 {}, {}, 1;  // named barrier of this warpgroup", barrier, group);
  w_("and.b32 {}, {}, 127;", in_group, tid_);
  w_("setp.eq.u32 {}, {}, 0;", leader, in_group);
  w_("mad.lo.u32 {}, {}, {}, {};", base, group, kSlots * kSlotBytes, base_);
  uint32_t store = 0;
  for (uint32_t i = 0; i < blocks(); ++i)
    for (uint32_t column = 0; column < c_.tile[1]; column += 128 / out_bytes(), ++store) {
      const std::string slot = w_.reg("b32"), row = w_.reg("b32"), col = w_.reg("b32");
      w_("add.s32 {}, {}, {};", slot, base, slots_base() + store % kSlots * kSlotBytes);
      w_.comment("epilogue: the slot's last store has been read from shared memory");
      w_("@{} cp.async.bulk.wait_group.read {};", leader, kSlots - 1);
      w_("bar.sync {}, 128;", barrier);
      write_slot(slot, i, column);
      if (!faulty(Fault::no_store_fence)) w_("fence.proxy.async.shared::cta;  // the writes, for the asynchronous reader");
      w_("bar.sync {}, 128;", barrier);
      w_("add.s32 {}, {}, {};", row, row0, i * 64);
      w_("add.s32 {}, {}, {};", col, col0, column);
      w_("@{} cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [{}, {{{}, {}}}], [{}];", leader, c_where_, col, row, slot);
      w_("@{} cp.async.bulk.commit_group;", leader);
    }
  // An odd number of stores a tile: the next tile starts with the older slot only if the count is a multiple of kSlots.
  if (store % kSlots != 0) w_("@{} cp.async.bulk.wait_group.read 0;", leader);
}

/// Before a consumer ends: its stores have left shared memory and are written.
void Hopper::finish_stores() {
  if (c_.epilogue != "tma") return;
  w_.comment("epilogue: all stores are done");
  w_("cp.async.bulk.wait_group 0;");
}

}  // namespace tcsim::gemm
