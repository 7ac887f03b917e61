#include "workloads/gemm/tma_kernel.h"

#include <algorithm>
#include <bit>

namespace tcsim::gemm {

void TmaKernel::fail(Diagnostics& diags, const std::string& text) const {
  config_error(diags, fmt::format("{}, tile {}x{}x{}: {}", c_.style, c_.tile[0], c_.tile[1], c_.tile[2], text));
}

bool TmaKernel::plan_common(Diagnostics& diags) {
  const uint32_t before = diags.error_count();
  const auto [bm, bn, bk] = c_.tile;
  const auto [cx, cy] = c_.cluster;
  if (c_.layout.size() != 2 || c_.layout.find_first_not_of("tn") != std::string::npos)
    fail(diags, fmt::format("layout '{}': expected tn, nn, nt or tt", c_.layout));
  if (c_.stages < 1 || c_.stages > 32) fail(diags, fmt::format("stages {}: expected 1 to 32", c_.stages));
  if (c_.epilogue != "tma" && c_.epilogue != "direct") fail(diags, fmt::format("epilogue '{}': expected tma or direct", c_.epilogue));
  if (c_.raster != "m" && c_.raster != "n") fail(diags, fmt::format("raster '{}': expected m or n", c_.raster));
  if (c_.group == 0) fail(diags, "group 0: expected at least 1");
  const std::array<std::pair<char, std::pair<uint32_t, uint32_t>>, 3> extents{{{'M', {c_.m, bm * cx}}, {'N', {c_.n, bn * cy}}, {'K', {c_.k, bk}}}};
  for (const auto& [name, size] : extents)
    if (size.second == 0 || size.first == 0 || size.first % size.second != 0)
      fail(diags,
           fmt::format("{} = {} is not a multiple of {}{}", name, size.first, size.second, clustered() && name != 'K' ? " (tile x cluster)" : ""));
  return diags.error_count() == before;
}

void TmaKernel::plan_operand(Operand& o, bool mn_major, Diagnostics& diags) {
  const uint32_t bk = c_.tile[2], line = k_bytes();
  const auto wrong = [&](const std::string& text) {
    config_error(diags, fmt::format("{}, tile {}x{}x{}: {}", o.name, c_.tile[0], c_.tile[1], bk, text));
  };
  o.bytes = o.tile * line;
  if (line % kStepBytes != 0 || line == 0)
    return wrong(fmt::format("K of the tile takes {} bytes; expected a multiple of {}, K of one instruction", line, kStepBytes));
  if (o.k_major) {
    o.row_bytes = std::min(line, 128u);
    if (!std::has_single_bit(o.row_bytes) || line % o.row_bytes != 0)
      return wrong(fmt::format("K of the tile takes {} bytes; expected 32, 64 or a multiple of 128", line));
    if (o.tile % (8 * o.peers) != 0)
      return wrong(fmt::format("{} rows do not split into multiples of 8 over {} CTAs of a multicast", o.tile, o.peers));
    o.box_inner = o.row_bytes * 8 / bits_;
    o.box_outer = o.tile / o.peers;
  } else {
    o.row_bytes = 128;
    o.box_inner = 128 * 8 / bits_;
    o.box_outer = bk;
    if (!mn_major) return wrong(fmt::format("layout {} makes it M- or N-major, which {} does not take for {}", c_.layout, c_.style, c_.dtype));
    if (o.tile % (o.box_inner * o.peers) != 0)
      return wrong(fmt::format("{} columns do not split into multiples of {} over {} CTAs of a multicast", o.tile, o.box_inner, o.peers));
    if (bk > 256) wrong("K of the tile is above 256, the largest box of TMA");
  }
}

void TmaKernel::thread_setup() {
  w_.comment("who am I");
  for (std::string* r : {&tid_, &warp_, &lane_, &m_, &n_, &k_, &k_tiles_, &base_}) *r = w_.reg("b32");
  w_("mov.u32 {}, %tid.x;", tid_);
  w_("and.b32 {}, {}, 31;", lane_, tid_);
  w_("shr.u32 {}, {}, 5;", warp_, tid_);
  w_("shfl.sync.idx.b32 {0}, {0}, 0, 31, -1;  // the same in all lanes", warp_);
  w_("ld.param.u32 {}, [gemm_param_3];", m_);
  w_("ld.param.u32 {}, [gemm_param_4];", n_);
  w_("ld.param.u32 {}, [gemm_param_5];", k_);
  w_("div.u32 {}, {}, {};", k_tiles_, k_, c_.tile[2]);
  a_.map = map_parameter(0);
  b_.map = map_parameter(1);
  c_where_ = c_.epilogue == "tma" ? map_parameter(2) : load_pointer(w_, "gemm", 2);
  w_.comment("tiles of stage s: A at base + s * stage, B after it; 1024 bytes are the period of the 128-byte swizzle");
  w_("mov.u32 {}, smem;", base_);
  w_("add.s32 {0}, {0}, 1023;", base_);
  w_("and.b32 {0}, {0}, -1024;", base_);
  if (faulty(Fault::misaligned_stage)) w_("add.s32 {0}, {0}, {1};", base_, kMisalignment);
}

std::string TmaKernel::map_parameter(int index) {
  const std::string address = w_.reg("b64");
  w_("mov.b64 {}, gemm_param_{};", address, index);
  w_("cvta.param.u64 {0}, {0};", address);
  return address;
}

void TmaKernel::cluster_ids() {
  for (std::string* r : {&cluster_x_, &cluster_y_, &rank_}) *r = w_.reg("b32");
  w_("mov.u32 {}, %cluster_ctaid.x;", cluster_x_);
  w_("mov.u32 {}, %cluster_ctaid.y;", cluster_y_);
  w_("mad.lo.u32 {}, {}, {}, {};", rank_, cluster_y_, c_.cluster[0], cluster_x_);
}

void TmaKernel::sync_cluster_or_cta() {
  if (clustered()) {
    w_("barrier.cluster.arrive.release;");
    w_("barrier.cluster.wait.acquire;");
  } else {
    w_("bar.sync 0;");
  }
}

/// Where all roles meet. In a cluster no CTA may end while another can still write to its shared memory or signal its barriers.
void TmaKernel::finish_kernel() {
  w_.label("$done");
  if (clustered()) {
    w_.comment("no CTA leaves while another can still signal it");
    sync_cluster_or_cta();
  }
  w_("ret;");
}

std::string TmaKernel::module_head(const std::string& target, const std::string& version) const {
  return fmt::format(".version {}\n.target {}\n.address_size 64\n\n.extern .shared .align 1024 .b8 smem[];\n", version, target);
}

/// Entry and body. more_parameters: after the usual six, each ending with ",\n" but the last.
std::string TmaKernel::module_tail(uint32_t threads, const std::string& more_parameters) const {
  std::string text =
      "\n.visible .entry gemm(\n\t.param .align 64 .b8 gemm_param_0[128],  // tensor map of A\n\t.param .align 64 .b8 gemm_param_1[128],  // tensor "
      "map of B\n";
  text += c_.epilogue == "tma" ? "\t.param .align 64 .b8 gemm_param_2[128],  // tensor map of C\n"
                               : "\t.param .u64 .ptr .global .align 16 gemm_param_2,  // C\n";
  text += "\t.param .u32 gemm_param_3,\n\t.param .u32 gemm_param_4,\n\t.param .u32 gemm_param_5" + more_parameters + "\n)\n";
  text += fmt::format(".reqntid {}\n", threads);
  if (launch_regs_ != 0) text += fmt::format(".maxnreg {}\n", launch_regs_);
  if (clustered()) text += fmt::format(".explicitcluster\n.reqnctapercluster {}, {}, 1\n", c_.cluster[0], c_.cluster[1]);
  return text + "{\n" + w_.declarations() + "\n" + w_.body() + "}\n";
}

std::vector<TensorMap> TmaKernel::operand_maps() const {
  std::vector<TensorMap> list;
  for (const Operand* o : {&a_, &b_}) {
    const uint64_t inner = o->k_major ? c_.k : o->extent, outer = o->k_major ? o->extent : c_.k;
    const bool plain = faulty(Fault::map_swizzle_none) && o == &a_;
    list.push_back({std::string("map") + o->name,
                    o->name,
                    {inner, outer},
                    inner * bits_ / 8,
                    {o->box_inner, o->box_outer},
                    plain ? "none" : fmt::format("{}B", o->row_bytes)});
  }
  return list;
}

/// C: boxes of `rows` rows of 128 bytes.
TensorMap TmaKernel::result_map(uint32_t rows) const {
  return {"mapC", "C", {c_.n, c_.m}, uint64_t{c_.n} * out_bytes(), {128 / out_bytes(), rows}, "128B"};
}

/// Persistent: clusters in a row along x, as many as fit.
std::array<uint32_t, 3> TmaKernel::grid() const {
  const auto [cx, cy] = c_.cluster;
  const uint32_t tiles_m = c_.m / c_.tile[0], tiles_n = c_.n / c_.tile[1];
  if (!persistent()) return {tiles_m, tiles_n, 1};
  return {cx * std::max(1u, std::min(c_.sms / (cx * cy), tiles_m * tiles_n / (cx * cy))), cy, 1};
}

/// The copies by which this CTA brings its share of an operand's tile. Offsets are those of the first peer.
std::vector<TmaKernel::Box> TmaKernel::boxes(const Operand& o) const {
  std::vector<Box> list;
  if (o.k_major) {  // side by side along K, each with all rows
    for (uint32_t i = 0; i < k_bytes() / o.row_bytes; ++i) list.push_back({i * o.tile * o.row_bytes, 0, i * o.box_inner});
  } else {  // side by side along M or N, each with all of K
    for (uint32_t i = 0; i < o.tile / o.peers / o.box_inner; ++i) list.push_back({i * c_.tile[2] * 128, i * o.box_inner, 0});
  }
  return list;
}

/// Bytes from the tile's start to the K of instruction `step`.
uint32_t TmaKernel::step_offset(const Operand& o, uint32_t step) const {
  const uint32_t k_byte = step * kStepBytes;
  return o.k_major ? k_byte / o.row_bytes * o.tile * o.row_bytes + k_byte % o.row_bytes : step * instruction_k() * 128;
}

/// The tile as matrix descriptors say it, starting at 0. K-major: rows of one swizzle span, 8 of them per stride offset; the
/// leading offset is not used. M/N-major: spans of 128 bytes along M or N, `leading` apart, 8 rows of K per stride offset.
isa::MatrixDescriptor TmaKernel::descriptor(const Operand& o) const {
  return {.leading = o.k_major ? 16 : c_.tile[2] * 128, .stride = 8 * o.row_bytes, .swizzle_bytes = static_cast<uint8_t>(o.row_bytes)};
}

TmaKernel::Walk TmaKernel::start_walk(uint32_t phase) {
  const Walk walk{w_.reg("b32"), w_.reg("b32")};
  w_("mov.b32 {}, 0;", walk.stage);
  w_("mov.b32 {}, {};", walk.phase, phase);
  return walk;
}

/// Next stage; the parity flips when the walk comes round.
void TmaKernel::advance(const Walk& walk, uint32_t count) {
  const std::string wrap = w_.reg("pred"), flip = w_.reg("b32");
  w_("add.s32 {0}, {0}, 1;", walk.stage);
  w_("setp.eq.u32 {}, {}, {};", wrap, walk.stage, count);
  w_("selp.b32 {0}, 0, {0}, {1};", walk.stage, wrap);
  w_("selp.b32 {}, 1, 0, {};", flip, wrap);
  w_("xor.b32 {0}, {0}, {1};", walk.phase, flip);
}

std::string TmaKernel::bar_address(const std::string& bars, const std::string& index) {
  const std::string address = w_.reg("b32");
  w_("mad.lo.u32 {}, {}, 8, {};", address, index, bars);
  return address;
}

/// Spins until the phase of the given parity of bars[index] is complete. cluster: arrivals came from other CTAs too.
void TmaKernel::wait(const std::string& name, const std::string& bars, const std::string& index, const std::string& parity, bool cluster) {
  const std::string address = bar_address(bars, index), done = w_.reg("pred");
  w_.label(name);
  w_("mbarrier.try_wait.parity{}.shared::cta.b64 {}, [{}], {};", cluster ? ".acquire.cluster" : "", done, address, parity);
  w_("@!{} bra {};", done, name);
}

/// Counts of tiles, in clusters: a cluster takes cluster-size tiles at once.
void TmaKernel::scheduler_setup() {
  for (std::string* r : {&tiles_m_, &tiles_n_, &tile_count_, &tile_stride_, &first_tile_}) *r = w_.reg("b32");
  w_.comment("tile scheduler");
  w_("div.u32 {}, {}, {};", tiles_m_, m_, c_.tile[0] * c_.cluster[0]);
  w_("div.u32 {}, {}, {};", tiles_n_, n_, c_.tile[1] * c_.cluster[1]);
  w_("mul.lo.u32 {}, {}, {};", tile_count_, tiles_m_, tiles_n_);
  w_("mov.u32 {}, {};", first_tile_, clustered() ? "%clusterid.x" : "%ctaid.x");
  w_("mov.u32 {}, {};", tile_stride_, clustered() ? "%nclusterid.x" : "%nctaid.x");
}

/// Number of a tile -> its place. Groups of `group` tiles along one dimension are walked along it first, then along the other, so
/// that CTAs at work at one time share rows of A and of B in L2.
TmaKernel::Tile TmaKernel::schedule(const std::string& tile) {
  const bool along_m = c_.raster == "m";
  const std::string &along = along_m ? tiles_m_ : tiles_n_, &across = along_m ? tiles_n_ : tiles_m_;
  const std::string per_group = w_.reg("b32"), group = w_.reg("b32"), first = w_.reg("b32"), size = w_.reg("b32"), within = w_.reg("b32");
  const Tile place{w_.reg("b32"), w_.reg("b32")};
  const std::string &inner = along_m ? place.m : place.n, &outer = along_m ? place.n : place.m;
  w_("mul.lo.u32 {}, {}, {};", per_group, across, c_.group);
  w_("div.u32 {}, {}, {};", group, tile, per_group);
  w_("mul.lo.u32 {}, {}, {};", first, group, c_.group);
  w_("sub.s32 {}, {}, {};", size, along, first);
  w_("min.u32 {0}, {0}, {1};  // the last group may be smaller", size, c_.group);
  w_("mul.lo.u32 {}, {}, {};", within, group, per_group);
  w_("sub.s32 {}, {}, {};", within, tile, within);
  w_("div.u32 {}, {}, {};", outer, within, size);
  w_("mul.lo.u32 {}, {}, {};", inner, outer, size);
  w_("sub.s32 {0}, {1}, {0};", inner, within);
  w_("add.s32 {0}, {0}, {1};", inner, first);
  if (clustered()) {
    w_("mad.lo.u32 {0}, {0}, {1}, {2};", place.m, c_.cluster[0], cluster_x_);
    w_("mad.lo.u32 {0}, {0}, {1}, {2};", place.n, c_.cluster[1], cluster_y_);
  }
  return place;
}

/// The next tile of a role, `steps` strides on.
void TmaKernel::persistent_step(const std::string& tile, uint32_t steps, const std::string& loop) {
  const std::string more = w_.reg("pred");
  w_("mad.lo.u32 {0}, {1}, {2}, {0};", tile, tile_stride_, steps);
  w_("setp.lt.u32 {}, {}, {};", more, tile, tile_count_);
  w_("@{} bra {};", more, loop);
}

}  // namespace tcsim::gemm
