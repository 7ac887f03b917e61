// The plan of a Hopper kernel (what fits, how operands are laid out) and its frame: parameters, barriers, launch file.
#include <algorithm>
#include <bit>

#include "workloads/gemm/hopper.h"

namespace tcsim::gemm {

std::optional<HopperType> hopper_type(const std::string& dtype) {
  if (dtype == "f16") return HopperType{dtype, 2, "f32", {"f16", "f32"}};
  if (dtype == "bf16") return HopperType{dtype, 2, "f32", {"bf16", "f32"}};
  if (dtype == "tf32") return HopperType{dtype, 4, "f32", {"f32"}};
  if (dtype == "e4m3" || dtype == "e5m2") return HopperType{dtype, 1, "f32", {"f32", "bf16", "f16"}};
  if (dtype == "s8") return HopperType{dtype, 1, "s32", {"s32"}};
  return std::nullopt;
}

bool is_hopper_style(const std::string& style) {
  static const std::vector<std::string> styles = {"hopper-tma", "hopper-ws", "hopper-cooperative", "hopper-pingpong"};
  return std::find(styles.begin(), styles.end(), style) != styles.end();
}

uint32_t swizzled_row(const std::string& dtype) {
  const auto type = hopper_type(dtype);
  return type ? 128 / type->bytes : 64;
}

bool Hopper::plan_shape(Diagnostics& diags) {
  const uint32_t before = diags.error_count();
  const auto [bm, bn, bk] = c_.tile;
  const auto [cx, cy] = c_.cluster;
  const auto fail = [&](const std::string& text) { config_error(diags, fmt::format("{}, tile {}x{}x{}: {}", c_.style, bm, bn, bk, text)); };
  if (cx == 0 || cy == 0 || cx * cy > 16) return fail(fmt::format("cluster {}x{}: expected 1 to 16 CTAs", cx, cy)), false;
  if (c_.stages < 1 || c_.stages > 32) fail(fmt::format("stages {}: expected 1 to 32", c_.stages));
  if (c_.consumers > 2) fail(fmt::format("{} consumers: expected 1 or 2", c_.consumers));
  if (c_.epilogue != "tma" && c_.epilogue != "direct") fail(fmt::format("epilogue '{}': expected tma or direct", c_.epilogue));
  if (c_.raster != "m" && c_.raster != "n") fail(fmt::format("raster '{}': expected m or n", c_.raster));
  if (faulty(Fault::no_empty_arrive) && !uses_empty()) fail("no empty barriers to leave out arrivals of; expected another style or a cluster");
  if (c_.group == 0) fail("group 0: expected at least 1");
  if (c_.layout.size() != 2 || c_.layout.find_first_not_of("tn") != std::string::npos) return fail(fmt::format("layout '{}': expected tn, nn, nt or tt", c_.layout)), false;
  groups_ = persistent() ? 2 : c_.style == "hopper-tma" ? 1 : c_.consumers != 0 ? c_.consumers : bm >= 128 ? 2 : 1;
  rows_ = pingpong() ? bm : bm / groups_;
  if (rows_ * (pingpong() ? 1 : groups_) != bm || (rows_ != 64 && rows_ != 128))
    fail(fmt::format("M leaves {} rows to each of {} consumer warpgroups; expected 64 or 128 (wgmma has M = 64)", rows_, groups_));
  if (bn % 16 != 0 || bn == 0 || bn > 256) fail("N must be a multiple of 16 up to 256 (it is N of wgmma)");
  const std::array<std::pair<char, std::pair<uint32_t, uint32_t>>, 3> extents{{{'M', {c_.m, bm * cx}}, {'N', {c_.n, bn * cy}}, {'K', {c_.k, bk}}}};
  for (const auto& [name, size] : extents)
    if (size.second == 0 || size.first == 0 || size.first % size.second != 0)
      fail(fmt::format("{} = {} is not a multiple of {}{}", name, size.first, size.second, clustered() && name != 'K' ? " (tile x cluster)" : ""));
  if (c_.promote && t_.bytes != 1) fail(fmt::format("promotion is for 8-bit operands, not {}", t_.name));
  if (c_.promote && t_.accumulate != "f32") fail("promotion is for f32 accumulators");
  if (c_.promote && bk % 128 != 0) fail("promotion every 128 of K needs K of the tile to be a multiple of 128");
  if (std::find(t_.outputs.begin(), t_.outputs.end(), c_.out) == t_.outputs.end()) fail(fmt::format("C of type {}; expected {}", c_.out, fmt::join(t_.outputs, " or ")));
  else if (c_.epilogue == "tma" && bn % (128 / out_bytes()) != 0)
    fail(fmt::format("the TMA epilogue stores 128-byte rows: N must be a multiple of {} for {}; the direct epilogue takes any", 128 / out_bytes(), c_.out));
  return diags.error_count() == before;
}

void Hopper::plan_operand(Operand& o, Diagnostics& diags) {
  const uint32_t bk = c_.tile[2], k_bytes = bk * t_.bytes;
  const auto fail = [&](const std::string& text) { config_error(diags, fmt::format("{}, tile {}x{}x{}: {}", o.name, c_.tile[0], c_.tile[1], bk, text)); };
  o.bytes = o.tile * k_bytes;
  if (k_bytes % 32 != 0) return fail(fmt::format("K of the tile takes {} bytes; expected a multiple of 32, K of one wgmma", k_bytes));
  if (o.k_major) {
    o.row_bytes = std::min(k_bytes, 128u);
    if (!std::has_single_bit(o.row_bytes) || k_bytes % o.row_bytes != 0) return fail(fmt::format("K of the tile takes {} bytes; expected 32, 64 or a multiple of 128", k_bytes));
    if (o.tile % (8 * o.peers) != 0) return fail(fmt::format("{} rows do not split into multiples of 8 over {} CTAs of a multicast", o.tile, o.peers));
    o.box_inner = o.row_bytes / t_.bytes;
    o.box_outer = o.tile / o.peers;
  } else {
    o.row_bytes = 128;
    if (t_.bytes != 2) return fail(fmt::format("layout {} makes it M- or N-major, which wgmma takes for 16-bit types only", c_.layout));
    if (o.tile % (64 * o.peers) != 0) return fail(fmt::format("{} columns do not split into multiples of 64 over {} CTAs of a multicast", o.tile, o.peers));
    o.box_inner = 64;
    o.box_outer = bk;
    if (bk > 256) fail("K of the tile is above 256, the largest box of TMA");
  }
}

/// 384 threads share the 65536 registers of an SM: 168 each. setmaxnreg takes multiples of 8 and must not ask for more than the
/// launch gave (PTX ISA, setmaxnreg). ptxas wants .maxnreg with it and, for wide accumulators, 154 registers or more at launch.
void Hopper::plan_registers(Diagnostics& diags) {
  threads_ = 128 * (groups_ + (specialised() ? 1 : 0));
  if (!specialised()) c_.setmaxnreg = false;
  const uint32_t accumulators = blocks() * c_.tile[1] / 2 * (c_.promote ? 2 : 1);
  launch_regs_ = threads_ == 384 ? 168 : !c_.setmaxnreg ? 0 : accumulators > 64 ? 168 : 128;
  producer_regs_ = threads_ == 384 ? 40 : 24;
  consumer_regs_ = 232;  // 40 + 2 * 232 = 3 * 168; 24 + 232 = 2 * 128
  const uint32_t most = threads_ == 384 && !c_.setmaxnreg ? 128 : 192;
  if (accumulators > most)
    config_error(diags, fmt::format("{}, tile {}x{}x{}: {} accumulator registers a thread ({} rows by {} columns a warpgroup{}); at most {} leave room for the rest", c_.style,
                                    c_.tile[0], c_.tile[1], c_.tile[2], accumulators, rows_, c_.tile[1], c_.promote ? ", twice for promotion" : "", most));
}

bool Hopper::plan(Diagnostics& diags) {
  if (c_.out.empty()) c_.out = t_.outputs.front();
  if (!plan_shape(diags)) return false;
  const uint32_t before = diags.error_count();
  a_ = {.name = "A", .extent = c_.m, .tile = c_.tile[0], .k_major = c_.layout[0] == 't', .peers = c_.cluster[1]};
  b_ = {.name = "B", .extent = c_.n, .tile = c_.tile[1], .k_major = c_.layout[1] == 'n', .peers = c_.cluster[0]};
  plan_operand(a_, diags);
  plan_operand(b_, diags);
  b_.base = a_.region();
  plan_registers(diags);
  return diags.error_count() == before;
}

void Hopper::cluster_setup() {
  const auto [cx, cy] = c_.cluster;
  for (std::string* r : {&cluster_x_, &cluster_y_, &rank_}) *r = w_.reg("b32");
  w_("mov.u32 {}, %cluster_ctaid.x;", cluster_x_);
  w_("mov.u32 {}, %cluster_ctaid.y;", cluster_y_);
  w_("mad.lo.u32 {}, {}, {}, {};", rank_, cluster_y_, cx, cluster_x_);
  a_.rank = cluster_y_;
  b_.rank = cluster_x_;
  uint32_t column = 0;  // CTAs of one cluster column: ranks x, x + cx, ...
  for (uint32_t y = 0; y < cy; ++y) column |= 1u << y * cx;
  const auto mask = [&](Operand& o, uint32_t peers, const std::string& shift) {
    const std::string wide = w_.reg("b32");
    o.mask = w_.reg("b16");
    w_("mov.b32 {}, {};", wide, peers);
    w_("shl.b32 {0}, {0}, {1};", wide, shift);
    w_("cvt.u16.u32 {}, {};", o.mask, wide);
  };
  w_.comment("multicast: A to the CTAs of the same tile row (same x), B to those of the same tile column (same y)");
  if (cy > 1) mask(a_, column, cluster_x_);
  if (cx > 1) {
    const std::string shift = w_.reg("b32");
    w_("mul.lo.u32 {}, {}, {};", shift, cluster_y_, cx);
    mask(b_, (1u << cx) - 1, shift);
  }
  w_.comment("lane i releases stages to CTA i of those that write into this CTA: its column of the cluster, then its row");
  const std::string in_column = w_.reg("pred"), past = w_.reg("pred"), x = w_.reg("b32"), step = w_.reg("b32"), target = w_.reg("b32"), other = w_.reg("b32");
  releases_ = w_.reg("pred");
  remote_empty_ = w_.reg("b32");
  w_("setp.lt.u32 {}, {}, {};", in_column, lane_, cy);
  w_("sub.s32 {}, {}, {};", x, lane_, cy);
  w_("setp.ge.s32 {}, {}, {};", past, x, cluster_x_);
  w_("selp.b32 {}, 1, 0, {};", step, past);
  w_("add.s32 {0}, {0}, {1};", x, step);
  w_("mad.lo.u32 {}, {}, {}, {};", other, cluster_y_, cx, x);
  w_("mad.lo.u32 {}, {}, {}, {};", target, lane_, cx, cluster_x_);
  w_("selp.b32 {0}, {0}, {1}, {2};", target, other, in_column);
  w_("setp.lt.u32 {}, {}, {};", releases_, lane_, cx + cy - 1);
  w_("selp.b32 {0}, {0}, {1}, {2};", target, rank_, releases_);
  w_("mapa.shared::cluster.u32 {}, {}, {};", remote_empty_, empty_, target);
}

void Hopper::setup() {
  w_.comment("who am I");
  for (std::string* r : {&tid_, &warp_, &lane_, &group_, &m_, &n_, &k_, &k_tiles_, &base_, &full_}) *r = w_.reg("b32");
  w_("mov.u32 {}, %tid.x;", tid_);
  w_("and.b32 {}, {}, 31;", lane_, tid_);
  w_("shr.u32 {}, {}, 5;", warp_, tid_);
  w_("shfl.sync.idx.b32 {0}, {0}, 0, 31, -1;  // the same in all lanes", warp_);
  w_("shr.u32 {}, {}, 2;  // warpgroup", group_, warp_);
  w_("ld.param.u32 {}, [gemm_param_3];", m_);
  w_("ld.param.u32 {}, [gemm_param_4];", n_);
  w_("ld.param.u32 {}, [gemm_param_5];", k_);
  w_("div.u32 {}, {}, {};", k_tiles_, k_, c_.tile[2]);
  const auto map = [&](int index) {
    const std::string address = w_.reg("b64");
    w_("mov.b64 {}, gemm_param_{};", address, index);
    w_("cvta.param.u64 {0}, {0};", address);
    return address;
  };
  a_.map = map(0);
  b_.map = map(1);
  c_where_ = c_.epilogue == "tma" ? map(2) : load_pointer(w_, "gemm", 2);
  w_.comment("tiles of stage s: A at base + s * stage, B after it; 1024 bytes are the period of the 128-byte swizzle");
  w_("mov.u32 {}, smem;", base_);
  w_("add.s32 {0}, {0}, 1023;", base_);
  w_("and.b32 {0}, {0}, -1024;", base_);
  if (faulty(Fault::misaligned_stage)) w_("add.s32 {0}, {0}, {1};", base_, kMisalignment);
  w_("mov.u32 {}, full_bar;", full_);
  if (uses_empty()) {
    empty_ = w_.reg("b32");
    w_("mov.u32 {}, empty_bar;", empty_);
  }
  if (pingpong()) {
    order_ = w_.reg("b32");
    w_("mov.u32 {}, order_bar;", order_);
  }
  if (clustered()) {
    cluster_setup();
  } else if (uses_empty()) {
    releases_ = w_.reg("pred");
    remote_empty_ = empty_;
    w_("setp.eq.u32 {}, {}, 0;", releases_, lane_);
  }
  init_barriers();
}

void Hopper::init_barriers() {
  const std::string first = w_.reg("pred");
  w_.comment("barriers: a full barrier has one arrival (expect_tx); an empty barrier one of each consumer warp that reads the stage,");
  w_.comment("in every CTA that this CTA's copies write to");
  w_("setp.ne.u32 {}, {}, 0;", first, tid_);
  w_("@{} bra $initialised;", first);
  const uint32_t writers = c_.cluster[0] + c_.cluster[1] - 1, warps = 4 * (pingpong() ? 1 : groups_);
  for (uint32_t s = 0; s < c_.stages; ++s) {
    if (!(faulty(Fault::missing_init) && s + 1 == c_.stages)) w_("mbarrier.init.shared::cta.b64 [{}+{}], 1;  // full_bar[{}]", full_, 8 * s, s);
    if (uses_empty()) w_("mbarrier.init.shared::cta.b64 [{}+{}], {};  // empty_bar[{}]", empty_, 8 * s, warps * writers, s);
  }
  for (uint32_t g = 0; pingpong() && g < 2; ++g) w_("mbarrier.init.shared::cta.b64 [{}+{}], 4;  // order_bar[{}]: warps of the other consumer", order_, 8 * g, g);
  w_("fence.mbarrier_init.release.cluster;");
  w_.label("$initialised");
  if (!faulty(Fault::no_init_sync)) sync_cluster_or_cta();
}

void Hopper::sync_cluster_or_cta() {
  if (clustered()) {
    w_("barrier.cluster.arrive.release;");
    w_("barrier.cluster.wait.acquire;");
  } else {
    w_("bar.sync 0;");
  }
}

/// Where all roles meet. In a cluster no CTA may end while another can still write to its shared memory or signal its barriers.
void Hopper::finish_kernel() {
  w_.label("$done");
  if (clustered()) {
    w_.comment("no CTA leaves while another can still signal it");
    sync_cluster_or_cta();
  }
  w_("ret;");
}

std::string Hopper::module() const {
  std::string text = ".version 8.3\n.target sm_90a\n.address_size 64\n\n.extern .shared .align 1024 .b8 smem[];\n";
  text += fmt::format(".shared .align 8 .b64 full_bar[{}];\n", c_.stages);
  if (uses_empty()) text += fmt::format(".shared .align 8 .b64 empty_bar[{}];\n", c_.stages);
  if (pingpong()) text += ".shared .align 8 .b64 order_bar[2];\n";
  text += "\n.visible .entry gemm(\n\t.param .align 64 .b8 gemm_param_0[128],  // tensor map of A\n\t.param .align 64 .b8 gemm_param_1[128],  // tensor map of B\n";
  text += c_.epilogue == "tma" ? "\t.param .align 64 .b8 gemm_param_2[128],  // tensor map of C\n" : "\t.param .u64 .ptr .global .align 16 gemm_param_2,  // C\n";
  text += "\t.param .u32 gemm_param_3,\n\t.param .u32 gemm_param_4,\n\t.param .u32 gemm_param_5\n)\n";
  text += fmt::format(".reqntid {}\n", threads_);
  if (launch_regs_ != 0) text += fmt::format(".maxnreg {}\n", launch_regs_);
  if (clustered()) text += fmt::format(".explicitcluster\n.reqnctapercluster {}, {}, 1\n", c_.cluster[0], c_.cluster[1]);
  return text + "{\n" + w_.declarations() + "\n" + w_.body() + "}\n";
}

std::vector<TensorMap> Hopper::maps() const {
  std::vector<TensorMap> list;
  for (const Operand* o : {&a_, &b_}) {
    const uint64_t inner = o->k_major ? c_.k : o->extent, outer = o->k_major ? o->extent : c_.k;
    const bool plain = faulty(Fault::map_swizzle_none) && o == &a_;
    list.push_back({std::string("map") + o->name, o->name, {inner, outer}, inner * t_.bytes, {o->box_inner, o->box_outer}, plain ? "none" : fmt::format("{}B", o->row_bytes)});
  }
  if (c_.epilogue == "tma") list.push_back({"mapC", "C", {c_.n, c_.m}, uint64_t{c_.n} * out_bytes(), {128 / out_bytes(), 64}, "128B"});
  return list;
}

Program Hopper::program() {
  Program p;
  const auto [cx, cy] = c_.cluster;
  const uint32_t tiles_m = c_.m / c_.tile[0], tiles_n = c_.n / c_.tile[1];
  p.entry = "gemm";
  p.cluster = {cx, cy, 1};
  // Persistent: clusters in a row along x, as many as fit.
  p.grid = persistent() ? std::array<uint32_t, 3>{cx * std::max(1u, std::min(c_.sms / (cx * cy), tiles_m * tiles_n / (cx * cy))), cy, 1} : std::array<uint32_t, 3>{tiles_m, tiles_n, 1};
  p.block = {threads_, 1, 1};
  p.shared = {{"A", c_.stages, a_.region()}, {"B", c_.stages, b_.region()}};
  if (c_.epilogue == "tma") p.shared.push_back({"C slots", kSlots * groups_, kSlotBytes});
  p.shared.push_back({"alignment", 1, 1024u + (faulty(Fault::misaligned_stage) ? kMisalignment : 0)});
  for (const SharedUse& use : p.shared) p.dynamic_smem_bytes += use.stages * use.bytes;
  p.tensor_maps = maps();
  p.ptx = module();
  p.launch_toml = launch_text(c_, p, t_.name, c_.out);
  return p;
}

Program Hopper::emit() {
  setup();
  if (persistent()) emit_persistent();
  else if (c_.style == "hopper-ws") emit_ws();
  else emit_tma();
  finish_kernel();
  return program();
}

Program generate_hopper(const Config& config, Diagnostics& diags) {
  const auto type = hopper_type(config.dtype);
  if (!type || config.acc != type->accumulate) {
    config_error(diags, fmt::format("dtype {} with accumulator {}: {} takes f16, bf16, tf32, e4m3 or e5m2 with f32, s8 with s32", config.dtype, config.acc, config.style));
    return {};
  }
  Hopper generator(config, *type);
  if (!generator.plan(diags)) return {};
  return generator.emit();
}

}  // namespace tcsim::gemm
