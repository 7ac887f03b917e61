// Epilogue of Blackwell kernels: accumulators from Tensor Memory to registers, then to C with st.global, or through shared memory and
// TMA stores. Lane of Tensor Memory = row of the tile; warp w reads lanes 32 (w % 4) and on, so a thread has one row.
#include "workloads/gemm/blackwell.h"

namespace tcsim::gemm {

void Blackwell::epilogue_setup() {
  quarter_ = w_.reg("b32");
  w_("and.b32 {}, {}, 3;  // the 32 rows of this warp", quarter_, warp_);
  if (c_.epilogue != "tma") return;
  slot_ = w_.reg("b32");
  store_leader_ = w_.reg("pred");
  w_("mad.lo.u32 {}, {}, {}, {};", slot_, quarter_, kSlots * kSlotBytes, base_);
  w_("setp.eq.u32 {}, {}, 0;", store_leader_, lane_);
}

void Blackwell::epilogue_tile(const Tile& tile, const Walk& buffer) {
  w_.comment("epilogue: until the accumulators are complete");
  wait("$epilogue_wait_done", done_, buffer.stage, buffer.phase, pair());
  w_("tcgen05.fence::after_thread_sync;");
  const std::string accumulator = w_.reg("b32"), lanes = w_.reg("b32");
  w_("mad.lo.u32 {}, {}, {}, {};", accumulator, buffer.stage, n(), tensor_);
  w_("shl.b32 {}, {}, 21;  // 32 lanes a warp, in bits 16 and up", lanes, quarter_);
  w_("add.s32 {0}, {0}, {1};", accumulator, lanes);
  if (c_.epilogue == "tma") store_tma(accumulator, tile);
  else store_direct(accumulator, tile);
  if (persistent()) release_accumulator(buffer);
}

/// The thread's row, columns [column, column + columns) as 32-bit values: columns is 16 or a multiple of 32.
std::vector<std::string> Blackwell::load_columns(const std::string& accumulator, uint32_t column, uint32_t columns) {
  std::vector<std::string> all;
  const uint32_t each = columns % 32 == 0 ? 32 : 16;
  for (uint32_t done = 0; done < columns; done += each) {
    const auto values = w_.regs("b32", each);
    const std::string address = w_.reg("b32");
    w_("add.s32 {}, {}, {};", address, accumulator, column + done);
    w_("tcgen05.ld.sync.aligned.32x32b.x{}.b32 {}, [{}];", each, Writer::braces(values), address);
    all.insert(all.end(), values.begin(), values.end());
  }
  w_("tcgen05.wait::ld.sync.aligned;");
  return all;
}

/// Values as they lie in C: one register each, or packed in pairs.
std::vector<std::string> Blackwell::pack(const std::vector<std::string>& values) {
  if (out_bytes() == 4) return values;
  std::vector<std::string> packed = w_.regs("b32", values.size() / 2);
  for (size_t i = 0; i < packed.size(); ++i) {
    const std::string low = w_.reg("f32"), high = w_.reg("f32");
    w_("mov.b32 {}, {};", low, values[2 * i]);
    w_("mov.b32 {}, {};", high, values[2 * i + 1]);
    w_("cvt.rn.{}x2.f32 {}, {}, {};", c_.out, packed[i], high, low);
  }
  return packed;
}

void Blackwell::store_direct(const std::string& accumulator, const Tile& tile) {
  const std::string row = w_.reg("b32"), in_tile = w_.reg("b32"), col = w_.reg("b32"), index = w_.reg("b64"), column = w_.reg("b64"),
                    address = w_.reg("b64");
  w_("mad.lo.u32 {}, {}, 32, {};", in_tile, quarter_, lane_);
  w_("mad.lo.u32 {}, {}, {}, {};", row, tile.m, kRows, in_tile);
  w_("mul.lo.u32 {}, {}, {};", col, tile.n, n());
  w_("mul.wide.u32 {}, {}, {};", index, row, n_);
  w_("cvt.u64.u32 {}, {};", column, col);
  w_("add.s64 {0}, {0}, {1};", index, column);
  w_("mad.lo.s64 {}, {}, {}, {};", address, index, out_bytes(), c_where_);
  const uint32_t step = n() % 32 == 0 ? 32 : 16;
  for (uint32_t first = 0; first < n(); first += step) {
    const auto values = pack(load_columns(accumulator, first, step));
    for (size_t i = 0; i < values.size(); i += 4)
      w_("st.global.v4.b32 [{}+{}], {};", address, first * out_bytes() + i * 4, Writer::braces({values.begin() + i, values.begin() + i + 4}));
  }
}

/// A slot holds 32 rows of 128 bytes, swizzled as the tensor map of C says: 16-byte piece p of row r lies at p ^ (r % 8).
void Blackwell::store_tma(const std::string& accumulator, const Tile& tile) {
  const std::string row0 = w_.reg("b32"), col0 = w_.reg("b32"), line = w_.reg("b32"), key = w_.reg("b32");
  w_("mul.lo.u32 {}, {}, {};", row0, tile.m, kRows);
  w_("mad.lo.u32 {0}, {1}, 32, {0};", row0, quarter_);
  w_("mul.lo.u32 {}, {}, {};", col0, tile.n, n());
  w_("mad.lo.u32 {}, {}, 128, {};", line, lane_, slot_);
  w_("and.b32 {}, {}, 7;", key, lane_);
  w_("shl.b32 {0}, {0}, 4;", key);
  const uint32_t columns = 128 / out_bytes();
  uint32_t store = 0;
  for (uint32_t first = 0; first < n(); first += columns, ++store) {
    const uint32_t place = slots_base() + store % kSlots * kSlotBytes;
    const auto values = pack(load_columns(accumulator, first, columns));
    w_.comment("epilogue: the slot's last store has been read from shared memory");
    w_("@{} cp.async.bulk.wait_group.read {};", store_leader_, kSlots - 1);
    w_("bar.warp.sync 0xffffffff;");
    for (uint32_t piece = 0; piece < 8; ++piece) {
      const std::string at = w_.reg("b32");
      w_("xor.b32 {}, {}, {};", at, key, piece * 16);
      w_("add.s32 {0}, {0}, {1};", at, line);
      w_("st.shared.v4.b32 [{}+{}], {};", at, place, Writer::braces({values.begin() + piece * 4, values.begin() + piece * 4 + 4}));
    }
    w_("fence.proxy.async.shared::cta;  // the writes, for the asynchronous reader");
    w_("bar.warp.sync 0xffffffff;");
    const std::string col = w_.reg("b32");
    w_("add.s32 {}, {}, {};", col, col0, first);
    w_("@{} cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [{}, {{{}, {}}}], [{}+{}];", store_leader_, c_where_, col, row0, slot_, place);
    w_("@{} cp.async.bulk.commit_group;", store_leader_);
  }
  // An odd number of stores a tile: the next tile starts with the older slot only if the count is a multiple of kSlots.
  if (store % kSlots != 0) w_("@{} cp.async.bulk.wait_group.read 0;", store_leader_);
}

/// Every warp says to the multiplying thread (of a pair: of the leader) that it has read the accumulators.
void Blackwell::release_accumulator(const Walk& buffer) {
  const std::string first = w_.reg("pred");
  w_.comment("epilogue: the accumulators have been read");
  w_("tcgen05.fence::before_thread_sync;");
  w_("bar.warp.sync 0xffffffff;");
  w_("setp.eq.u32 {}, {}, 0;", first, lane_);
  const std::string bar = bar_address(leader_free_, buffer.stage);
  w_("@{} mbarrier.arrive{}.b64 _, [{}];  // free_bar[buffer]", first, pair() ? ".release.cluster.shared::cluster" : ".shared::cta", bar);
}

/// Before a warp ends: its stores have left shared memory and are written.
void Blackwell::finish_stores() {
  if (c_.epilogue != "tma") return;
  w_.comment("epilogue: all stores are done");
  w_("cp.async.bulk.wait_group 0;");
}

}  // namespace tcsim::gemm
