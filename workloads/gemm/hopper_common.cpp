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

bool Hopper::plan_shape(Diagnostics& diags) {
  const uint32_t before = diags.error_count();
  const auto [bm, bn, bk] = c_.tile;
  const auto [cx, cy] = c_.cluster;
  if (cx == 0 || cy == 0 || cx * cy > 16) return fail(diags, fmt::format("cluster {}x{}: expected 1 to 16 CTAs", cx, cy)), false;
  if (!plan_common(diags)) return false;
  if (c_.consumers > 2) fail(diags, fmt::format("{} consumers: expected 1 or 2", c_.consumers));
  if (faulty(Fault::no_empty_arrive) && !uses_empty()) fail(diags, "no empty barriers to leave out arrivals of; expected another style or a cluster");
  groups_ = persistent() ? 2 : c_.style == "hopper-tma" ? 1 : c_.consumers != 0 ? c_.consumers : bm >= 128 ? 2 : 1;
  rows_ = pingpong() ? bm : bm / groups_;
  if (rows_ * (pingpong() ? 1 : groups_) != bm || (rows_ != 64 && rows_ != 128))
    fail(diags, fmt::format("M leaves {} rows to each of {} consumer warpgroups; expected 64 or 128 (wgmma has M = 64)", rows_, groups_));
  if (bn % 16 != 0 || bn == 0 || bn > 256) fail(diags, "N must be a multiple of 16 up to 256 (it is N of wgmma)");
  if (c_.promote && t_.bytes != 1) fail(diags, fmt::format("promotion is for 8-bit operands, not {}", t_.name));
  if (c_.promote && t_.accumulate != "f32") fail(diags, "promotion is for f32 accumulators");
  if (c_.promote && bk % 128 != 0) fail(diags, "promotion every 128 of K needs K of the tile to be a multiple of 128");
  if (std::find(t_.outputs.begin(), t_.outputs.end(), c_.out) == t_.outputs.end())
    fail(diags, fmt::format("C of type {}; expected {}", c_.out, fmt::join(t_.outputs, " or ")));
  else if (c_.epilogue == "tma" && bn % (128 / out_bytes()) != 0)
    fail(diags, fmt::format("the TMA epilogue stores 128-byte rows: N must be a multiple of {} for {}; the direct epilogue takes any",
                            128 / out_bytes(), c_.out));
  return diags.error_count() == before;
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
    config_error(
        diags,
        fmt::format("{}, tile {}x{}x{}: {} accumulator registers a thread ({} rows by {} columns a warpgroup{}); at most {} leave room for the rest",
                    c_.style, c_.tile[0], c_.tile[1], c_.tile[2], accumulators, rows_, c_.tile[1], c_.promote ? ", twice for promotion" : "", most));
}

bool Hopper::plan(Diagnostics& diags) {
  if (c_.out.empty()) c_.out = t_.outputs.front();
  if (!plan_shape(diags)) return false;
  const uint32_t before = diags.error_count();
  a_ = {.name = "A", .extent = c_.m, .tile = c_.tile[0], .k_major = c_.layout[0] == 't', .peers = c_.cluster[1]};
  b_ = {.name = "B", .extent = c_.n, .tile = c_.tile[1], .k_major = c_.layout[1] == 'n', .peers = c_.cluster[0]};
  for (Operand* o : {&a_, &b_}) plan_operand(*o, t_.bytes == 2, diags);
  b_.base = a_.region();
  plan_registers(diags);
  return diags.error_count() == before;
}

void Hopper::cluster_setup() {
  const auto [cx, cy] = c_.cluster;
  cluster_ids();
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
  const std::string in_column = w_.reg("pred"), past = w_.reg("pred"), x = w_.reg("b32"), step = w_.reg("b32"), target = w_.reg("b32"),
                    other = w_.reg("b32");
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
  thread_setup();
  group_ = w_.reg("b32");
  full_ = w_.reg("b32");
  w_("shr.u32 {}, {}, 2;  // warpgroup", group_, warp_);
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
  for (uint32_t g = 0; pingpong() && g < 2; ++g)
    w_("mbarrier.init.shared::cta.b64 [{}+{}], 4;  // order_bar[{}]: warps of the other consumer", order_, 8 * g, g);
  w_("fence.mbarrier_init.release.cluster;");
  w_.label("$initialised");
  if (!faulty(Fault::no_init_sync)) sync_cluster_or_cta();
}

std::string Hopper::module() const {
  std::string text = module_head("sm_90a", "8.3") + fmt::format(".shared .align 8 .b64 full_bar[{}];\n", c_.stages);
  if (uses_empty()) text += fmt::format(".shared .align 8 .b64 empty_bar[{}];\n", c_.stages);
  if (pingpong()) text += ".shared .align 8 .b64 order_bar[2];\n";
  return text + module_tail(threads_, "");
}

Program Hopper::program() {
  Program p;
  p.entry = "gemm";
  p.cluster = {c_.cluster[0], c_.cluster[1], 1};
  p.grid = grid();
  p.block = {threads_, 1, 1};
  p.shared = {{"A", c_.stages, a_.region(), true}, {"B", c_.stages, b_.region(), true}};
  if (c_.epilogue == "tma") p.shared.push_back({"C slots", kSlots * groups_, kSlotBytes});
  p.shared.push_back({"alignment", 1, 1024u + (faulty(Fault::misaligned_stage) ? kMisalignment : 0)});
  for (const SharedUse& use : p.shared) p.dynamic_smem_bytes += use.stages * use.bytes;
  p.tensor_maps = operand_maps();
  if (c_.epilogue == "tma") p.tensor_maps.push_back(result_map(64));
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
    config_error(diags, fmt::format("dtype {} with accumulator {}: {} takes f16, bf16, tf32, e4m3 or e5m2 with f32, s8 with s32", config.dtype,
                                    config.acc, config.style));
    return {};
  }
  Hopper generator(config, *type);
  if (!generator.plan(diags)) return {};
  return generator.emit();
}

}  // namespace tcsim::gemm
