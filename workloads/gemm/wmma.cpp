// WMMA GEMM: tiles in shared memory (cp.async on sm_80 and up, ordinary loads and stores before), wmma.load from there,
// wmma.mma, wmma.store to global memory. A row-major M x K, B row-major N x K (col-major K x N): "tn".
#include <algorithm>
#include <bit>

#include "workloads/gemm/common.h"

namespace tcsim::gemm {
namespace {

class Wmma {
 public:
  explicit Wmma(const Config& config) : c_(config) {}
  bool plan(Diagnostics& diags);
  Program emit();

 private:
  struct Side {
    const char* name;
    uint32_t tile, base;
    SmemTile smem;
    std::string pointer;
    std::vector<std::string> sources, targets;
  };
  void addresses(Side& side, const std::string& first);
  void copy(const std::string& stage);
  void compute(const std::string& stage);
  void next_stage(const std::string& stage);

  Config c_;
  Writer w_;
  Side a_{}, b_{};
  uint32_t bytes_ = 2, warps_m_ = 2, warps_n_ = 2, threads_ = 128, wm_ = 0, wn_ = 0;
  bool async_ = true;
  std::string tid_, warp_m_, warp_n_, row0_, col0_, m_, n_, k_, smem_;
  std::vector<std::vector<std::string>> acc_;
};

bool Wmma::plan(Diagnostics& diags) {
  const uint32_t before = diags.error_count();
  const auto [bm, bn, bk] = c_.tile;
  const bool f16 = c_.dtype == "f16" && (c_.acc == "f32" || c_.acc == "f16");
  const bool bf16 = c_.dtype == "bf16" && c_.acc == "f32", integer = (c_.dtype == "s8" || c_.dtype == "u8") && c_.acc == "s32";
  if (!f16 && !bf16 && !integer)
    config_error(diags, fmt::format("wmma with dtype {} and accumulator {}: expected f16 with f32 or f16, bf16 with f32, s8 or u8 with s32", c_.dtype,
                                    c_.acc));
  bytes_ = integer ? 1 : 2;
  async_ = c_.sm >= 80;
  if (bf16 && c_.sm < 80) config_error(diags, "bf16 needs sm_80");
  if (!async_ && c_.stages != 1) config_error(diags, fmt::format("{} stages need cp.async, which sm_{} does not have; expected 1", c_.stages, c_.sm));
  if (c_.swizzle == "xor") config_error(diags, "wmma.load takes one leading dimension, so an xor swizzle cannot be read; expected none or padded");
  if (c_.layout != "tn") config_error(diags, fmt::format("layout {}: the wmma style takes tn", c_.layout));
  if (c_.m % bm != 0 || c_.n % bn != 0 || c_.k % bk != 0)
    config_error(diags, fmt::format("{}x{}x{} is not a multiple of the tile {}x{}x{}, which the wmma style needs", c_.m, c_.n, c_.k, bm, bn, bk));
  if (c_.warps[0] != 0) warps_m_ = c_.warps[0], warps_n_ = c_.warps[1];
  else warps_m_ = bm >= 32 ? 2 : 1, warps_n_ = bn >= 32 ? 2 : 1;
  threads_ = warps_m_ * warps_n_ * 32;
  wm_ = bm / warps_m_;
  wn_ = bn / warps_n_;
  if (wm_ % 16 != 0 || wn_ % 16 != 0 || bk % 16 != 0)
    config_error(diags, fmt::format("tile {}x{}x{} over {}x{} warps: expected multiples of 16 each", bm, bn, bk, warps_m_, warps_n_));
  a_ = {"A", bm, 0, {bm, bk * bytes_, c_.swizzle}, {}, {}, {}};
  b_ = {"B", bn, 0, {bn, bk * bytes_, c_.swizzle}, {}, {}, {}};
  b_.base = a_.smem.bytes() * c_.stages;
  for (const Side* side : {&a_, &b_})
    if (side->smem.row_bytes < 16 || side->smem.rows * side->smem.chunks() % threads_ != 0)
      config_error(diags, fmt::format("{} tile does not divide into 16-byte chunks over {} threads", side->name, threads_));
  return diags.error_count() == before;
}

void Wmma::addresses(Side& side, const std::string& first) {
  const uint32_t chunks = side.smem.chunks();
  const std::string chunk = w_.reg("b32"), row = w_.reg("b32"), element = w_.reg("b32");
  w_("and.b32 {}, {}, {};", chunk, tid_, chunks - 1);
  w_("shr.u32 {}, {}, {};", row, tid_, std::countr_zero(chunks));
  w_("shl.b32 {}, {}, {};", element, chunk, 4 - std::countr_zero(bytes_));
  for (uint32_t i = 0; i < side.smem.rows * chunks / threads_; ++i) {
    const std::string r = w_.reg("b32"), major = w_.reg("b32"), wide = w_.reg("b64"), column = w_.reg("b64"), address = w_.reg("b64");
    w_("add.s32 {}, {}, {};", r, row, i * (threads_ / chunks));
    side.targets.push_back(emit_offset(w_, side.smem, r, chunk));
    w_("add.s32 {}, {}, {};", major, first, r);
    w_("mul.wide.u32 {}, {}, {};", wide, major, k_);
    w_("cvt.u64.u32 {}, {};", column, element);
    w_("add.s64 {0}, {0}, {1};", wide, column);
    w_("mad.lo.s64 {}, {}, {}, {};", address, wide, bytes_, side.pointer);
    side.sources.push_back(address);
  }
}

void Wmma::copy(const std::string& stage) {
  for (Side* side : {&a_, &b_}) {
    const std::string offset = w_.reg("b32");
    w_("mad.lo.s32 {}, {}, {}, {};", offset, stage, side->smem.bytes(), smem_);
    std::vector<std::vector<std::string>> values;
    for (size_t i = 0; i < side->sources.size(); ++i) {
      const std::string target = w_.reg("b32");
      w_("add.s32 {}, {}, {};", target, offset, side->targets[i]);
      if (async_) {
        w_("cp.async.cg.shared.global [{}+{}], [{}], 16;", target, side->base, side->sources[i]);
      } else {
        const auto v = w_.regs("b32", 4);
        w_("ld.global.v4.u32 {}, [{}];", Writer::braces(v), side->sources[i]);
        w_("st.shared.v4.u32 [{}+{}], {};", target, side->base, Writer::braces(v));
      }
      w_("add.s64 {0}, {0}, {1};", side->sources[i], c_.tile[2] * bytes_);
    }
  }
}

void Wmma::next_stage(const std::string& stage) {
  const std::string p = w_.reg("pred");
  w_("add.s32 {0}, {0}, 1;", stage);
  w_("setp.eq.s32 {}, {}, {};", p, stage, c_.stages);
  w_("selp.b32 {0}, 0, {0}, {1};", stage, p);
}

void Wmma::compute(const std::string& stage) {
  // m16n16k16 fragments: 8 registers of f16 pairs (each element twice on sm_70, so the type keeps 8), 4 of bf16, 2 of 8-bit.
  const uint32_t registers = c_.dtype == "f16" ? 8 : c_.dtype == "bf16" ? 4 : 2;
  const std::string types = c_.dtype == "f16"    ? fmt::format("{}.{}", c_.acc, c_.acc)
                            : c_.dtype == "bf16" ? "f32.bf16.bf16.f32"
                                                 : fmt::format("s32.{0}.{0}.s32", c_.dtype);
  const std::string a_stage = w_.reg("b32"), b_stage = w_.reg("b32"), a_base = w_.reg("b32"), b_base = w_.reg("b32");
  w_("mad.lo.s32 {}, {}, {}, {};", a_stage, stage, a_.smem.bytes(), smem_);
  w_("mad.lo.s32 {}, {}, {}, {};", b_stage, stage, b_.smem.bytes(), smem_);
  w_("mad.lo.s32 {}, {}, {}, {};", a_base, warp_m_, wm_ * a_.smem.pitch(), a_stage);
  w_("mad.lo.s32 {}, {}, {}, {};", b_base, warp_n_, wn_ * b_.smem.pitch(), b_stage);
  for (uint32_t step = 0; step < c_.tile[2] / 16; ++step) {
    std::vector<std::vector<std::string>> fa, fb;
    for (uint32_t i = 0; i < wm_ / 16; ++i) {
      fa.push_back(w_.regs("b32", registers));
      w_("wmma.load.a.sync.aligned.row.m16n16k16.shared.{} {}, [{}+{}], {};", c_.dtype, Writer::braces(fa.back()), a_base,
         a_.base + i * 16 * a_.smem.pitch() + step * 16 * bytes_, a_.smem.pitch() / bytes_);
    }
    for (uint32_t j = 0; j < wn_ / 16; ++j) {
      fb.push_back(w_.regs("b32", registers));
      w_("wmma.load.b.sync.aligned.col.m16n16k16.shared.{} {}, [{}+{}], {};", c_.dtype, Writer::braces(fb.back()), b_base,
         b_.base + j * 16 * b_.smem.pitch() + step * 16 * bytes_, b_.smem.pitch() / bytes_);
    }
    for (uint32_t i = 0; i < fa.size(); ++i)
      for (uint32_t j = 0; j < fb.size(); ++j) {
        const std::string d = Writer::braces(acc_[i * fb.size() + j]);
        w_("wmma.mma.sync.aligned.row.col.m16n16k16.{} {}, {}, {}, {};", types, d, Writer::braces(fa[i]), Writer::braces(fb[j]), d);
      }
  }
}

Program Wmma::emit() {
  tid_ = w_.reg("b32");
  const std::string warp = w_.reg("b32"), x = w_.reg("b32"), y = w_.reg("b32");
  w_("mov.u32 {}, %tid.x;", tid_);
  w_("shr.u32 {}, {}, 5;", warp, tid_);
  w_("mov.u32 {}, %ctaid.x;", x);
  w_("mov.u32 {}, %ctaid.y;", y);
  for (auto* r : {&warp_m_, &warp_n_, &row0_, &col0_, &m_, &n_, &k_, &smem_}) *r = w_.reg("b32");
  w_("and.b32 {}, {}, {};", warp_m_, warp, warps_m_ - 1);
  w_("shr.u32 {}, {}, {};", warp_n_, warp, std::countr_zero(warps_m_));
  w_("shl.b32 {}, {}, {};", row0_, x, std::countr_zero(c_.tile[0]));
  w_("shl.b32 {}, {}, {};", col0_, y, std::countr_zero(c_.tile[1]));
  w_("ld.param.u32 {}, [gemm_param_3];", m_);
  w_("ld.param.u32 {}, [gemm_param_4];", n_);
  w_("ld.param.u32 {}, [gemm_param_5];", k_);
  w_("mov.u32 {}, smem;", smem_);
  a_.pointer = load_pointer(w_, "gemm", 0);
  b_.pointer = load_pointer(w_, "gemm", 1);
  const std::string c_pointer = load_pointer(w_, "gemm", 2);
  addresses(a_, row0_);
  addresses(b_, col0_);
  const uint32_t registers = c_.acc == "f16" ? 4 : 8;
  const std::string type = c_.acc == "f32" ? "f32" : "b32";
  for (uint32_t i = 0; i < wm_ / 16 * (wn_ / 16); ++i) {
    acc_.push_back(w_.regs(type, registers));
    for (const auto& r : acc_.back()) w_("mov.{} {}, {};", type, r, type == "f32" ? "0f00000000" : "0");
  }
  const std::string tiles = w_.reg("b32"), tile = w_.reg("b32"), next = w_.reg("b32"), read = w_.reg("b32"), write = w_.reg("b32"),
                    p = w_.reg("pred");
  w_("shr.u32 {}, {}, {};", tiles, k_, std::countr_zero(c_.tile[2]));
  for (const auto* r : {&tile, &next, &read, &write}) w_("mov.b32 {}, 0;", *r);
  int labels = 0;
  const auto fetch = [&] {
    const std::string skip = fmt::format("$skip_{}", labels++);
    w_("setp.ge.s32 {}, {}, {};", p, next, tiles);
    w_("@{} bra {};", p, skip);
    copy(write);
    w_.label(skip);
    if (async_) w_("cp.async.commit_group;");
    next_stage(write);
    w_("add.s32 {0}, {0}, 1;", next);
  };
  for (uint32_t s = 0; s + 1 < c_.stages; ++s) fetch();
  w_.label("$loop");
  if (c_.stages == 1) {
    fetch();
    if (async_) w_("cp.async.wait_group 0;");
    w_("bar.sync 0;");
    compute(read);
    w_("bar.sync 0;");
  } else {
    w_("cp.async.wait_group {};", c_.stages - 2);
    w_("bar.sync 0;");
    fetch();
    compute(read);
    next_stage(read);
  }
  w_("add.s32 {0}, {0}, 1;", tile);
  w_("setp.lt.s32 {}, {}, {};", p, tile, tiles);
  w_("@{} bra $loop;", p);
  const uint32_t out = c_.acc == "f16" ? 2 : 4;
  const std::string row = w_.reg("b32"), col = w_.reg("b32"), wide = w_.reg("b64"), column = w_.reg("b64"), base = w_.reg("b64"),
                    pitch = w_.reg("b64");
  w_("mad.lo.s32 {}, {}, {}, {};", row, warp_m_, wm_, row0_);
  w_("mad.lo.s32 {}, {}, {}, {};", col, warp_n_, wn_, col0_);
  w_("mul.wide.u32 {}, {}, {};", wide, row, n_);
  w_("cvt.u64.u32 {}, {};", column, col);
  w_("add.s64 {0}, {0}, {1};", wide, column);
  w_("mad.lo.s64 {}, {}, {}, {};", base, wide, out, c_pointer);
  w_("mul.wide.u32 {}, {}, {};", pitch, n_, 16 * out);
  for (uint32_t i = 0; i < wm_ / 16; ++i) {
    for (uint32_t j = 0; j < wn_ / 16; ++j)
      w_("wmma.store.d.sync.aligned.row.m16n16k16.global.{} [{}+{}], {}, {};", c_.acc, base, j * 16 * out, Writer::braces(acc_[i * (wn_ / 16) + j]),
         n_);
    w_("add.s64 {0}, {0}, {1};", base, pitch);
  }
  w_("ret;");
  Program program;
  program.entry = "gemm";
  program.grid = {c_.m / c_.tile[0], c_.n / c_.tile[1], 1};
  program.block = {threads_, 1, 1};
  program.dynamic_smem_bytes = (a_.smem.bytes() + b_.smem.bytes()) * c_.stages;
  program.shared = {{"A", c_.stages, a_.smem.bytes(), true}, {"B", c_.stages, b_.smem.bytes(), true}};
  program.ptx = module_text(c_, "gemm", w_, threads_, 0);
  program.launch_toml = launch_text(c_, program, c_.dtype, c_.acc);
  return program;
}

}  // namespace

Program generate_wmma(const Config& config, Diagnostics& diags) {
  Wmma generator(config);
  if (!generator.plan(diags)) return {};
  return generator.emit();
}

}  // namespace tcsim::gemm
