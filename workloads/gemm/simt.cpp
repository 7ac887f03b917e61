// SIMT SGEMM: fp32 on the FMA pipe. Tiles in shared memory as [k][row], each thread computes 8 x 8 outputs; with two
// stages the next tile is loaded into registers while the current one is computed on. A row-major M x K, B row-major N x K.
#include <algorithm>
#include <bit>

#include "workloads/gemm/common.h"

namespace tcsim::gemm {
namespace {

constexpr uint32_t kThreadTile = 8;

class Simt {
 public:
  explicit Simt(const Config& config) : c_(config) {}
  bool plan(Diagnostics& diags);
  Program emit();

 private:
  struct Side {
    const char* name;
    uint32_t tile, base, loads;
    std::string pointer;
    std::vector<std::string> sources, targets;
    std::vector<std::vector<std::string>> values;
  };
  uint32_t pitch(const Side& side) const { return side.tile + (c_.swizzle == "padded" ? 4 : 0); }
  uint32_t stage_bytes(const Side& side) const { return c_.tile[2] * pitch(side) * 4; }
  void addresses(Side& side, const std::string& first);
  void load(Side& side);
  void store(Side& side, const std::string& stage);
  void compute(const std::string& stage);

  Config c_;
  Writer w_;
  Side a_{}, b_{};
  uint32_t threads_ = 256;
  std::string tid_, tx_, ty_, row0_, col0_, m_, n_, k_, smem_;
  std::vector<std::string> acc_;
};

bool Simt::plan(Diagnostics& diags) {
  const uint32_t before = diags.error_count();
  const auto [bm, bn, bk] = c_.tile;
  if (c_.dtype != "f32" || c_.acc != "f32") config_error(diags, fmt::format("simt with dtype {}: expected f32", c_.dtype));
  if (c_.layout != "tn") config_error(diags, fmt::format("layout {}: the simt style takes tn", c_.layout));
  if (c_.swizzle == "xor") config_error(diags, "swizzle xor: the simt style takes none or padded");
  if (c_.stages > 2) config_error(diags, fmt::format("{} stages: the simt style takes 1 or 2", c_.stages));
  if (c_.m % bm != 0 || c_.n % bn != 0 || c_.k % bk != 0)
    config_error(diags, fmt::format("{}x{}x{} is not a multiple of the tile {}x{}x{}, which the simt style needs", c_.m, c_.n, c_.k, bm, bn, bk));
  threads_ = bm / kThreadTile * (bn / kThreadTile);
  if (bm < 16 || bn < 16 || bk < 4 || threads_ < 32 || threads_ > 1024)
    config_error(diags, fmt::format("tile {}x{}x{} gives {} threads of 8x8; expected 32 to 1024, and K of at least 4", bm, bn, bk, threads_));
  else if (bm * bk / 4 % threads_ != 0 || bn * bk / 4 % threads_ != 0)
    config_error(diags, fmt::format("tile {}x{}x{} does not divide into 16-byte loads over {} threads", bm, bn, bk, threads_));
  if (diags.error_count() != before) return false;
  a_ = {"A", bm, 0, bm * bk / 4 / threads_, {}, {}, {}, {}};
  b_ = {"B", bn, stage_bytes(a_) * c_.stages, bn * bk / 4 / threads_, {}, {}, {}, {}};
  return true;
}

/// Each load takes 4 consecutive k of one row; they go to four rows of the transposed tile.
void Simt::addresses(Side& side, const std::string& first) {
  const uint32_t quads = c_.tile[2] / 4;
  const std::string quad = w_.reg("b32"), row = w_.reg("b32"), k0 = w_.reg("b32");
  w_("and.b32 {}, {}, {};", quad, tid_, quads - 1);
  w_("shr.u32 {}, {}, {};", row, tid_, std::countr_zero(quads));
  w_("shl.b32 {}, {}, 2;", k0, quad);
  for (uint32_t i = 0; i < side.loads; ++i) {
    const std::string r = w_.reg("b32"), major = w_.reg("b32"), index = w_.reg("b64"), column = w_.reg("b64"), address = w_.reg("b64"),
                      target = w_.reg("b32"), word = w_.reg("b32");
    w_("add.s32 {}, {}, {};", r, row, i * (threads_ / quads));
    w_("mad.lo.s32 {}, {}, {}, {};", word, k0, pitch(side), r);
    w_("mad.lo.s32 {}, {}, 4, {};", target, word, smem_);
    side.targets.push_back(target);
    w_("add.s32 {}, {}, {};", major, first, r);
    w_("mul.wide.u32 {}, {}, {};", index, major, k_);
    w_("cvt.u64.u32 {}, {};", column, k0);
    w_("add.s64 {0}, {0}, {1};", index, column);
    w_("mad.lo.s64 {}, {}, 4, {};", address, index, side.pointer);
    side.sources.push_back(address);
    side.values.push_back(w_.regs("f32", 4));
  }
}

void Simt::load(Side& side) {
  for (uint32_t i = 0; i < side.loads; ++i) {
    w_("ld.global.v4.f32 {}, [{}];", Writer::braces(side.values[i]), side.sources[i]);
    w_("add.s64 {0}, {0}, {1};", side.sources[i], c_.tile[2] * 4);
  }
}

void Simt::store(Side& side, const std::string& stage) {
  const std::string offset = w_.reg("b32");
  w_("mul.lo.s32 {}, {}, {};", offset, stage, stage_bytes(side));
  for (uint32_t i = 0; i < side.loads; ++i) {
    const std::string target = w_.reg("b32");
    w_("add.s32 {}, {}, {};", target, side.targets[i], offset);
    for (uint32_t e = 0; e < 4; ++e) w_("st.shared.f32 [{}+{}], {};", target, side.base + e * pitch(side) * 4, side.values[i][e]);
  }
}

void Simt::compute(const std::string& stage) {
  // The thread's 8 rows are two groups of 4, half a tile apart, so that a warp's 128-bit loads fill whole bank rows.
  const std::string a = w_.reg("b32"), b = w_.reg("b32"), a0 = w_.reg("b32"), b0 = w_.reg("b32");
  w_("mad.lo.s32 {}, {}, {}, {};", a0, stage, stage_bytes(a_), smem_);
  w_("mad.lo.s32 {}, {}, {}, {};", b0, stage, stage_bytes(b_), smem_);
  w_("mad.lo.s32 {}, {}, 16, {};", a, ty_, a0);
  w_("mad.lo.s32 {}, {}, 16, {};", b, tx_, b0);
  for (uint32_t k = 0; k < c_.tile[2]; ++k) {
    const auto fa = w_.regs("f32", 8), fb = w_.regs("f32", 8);
    const auto quad = [&](const Side& side, const std::vector<std::string>& f, const std::string& base, uint32_t half) {
      w_("ld.shared.v4.f32 {}, [{}+{}];", Writer::braces({f[4 * half], f[4 * half + 1], f[4 * half + 2], f[4 * half + 3]}), base,
         side.base + k * pitch(side) * 4 + half * side.tile / 2 * 4);
    };
    for (uint32_t half = 0; half < 2; ++half) {
      quad(a_, fa, a, half);
      quad(b_, fb, b, half);
    }
    for (uint32_t i = 0; i < 8; ++i)
      for (uint32_t j = 0; j < 8; ++j) w_("fma.rn.f32 {0}, {1}, {2}, {0};", acc_[i * 8 + j], fa[i], fb[j]);
  }
}

Program Simt::emit() {
  const auto [bm, bn, bk] = c_.tile;
  for (auto* r : {&tid_, &tx_, &ty_, &row0_, &col0_, &m_, &n_, &k_, &smem_}) *r = w_.reg("b32");
  const std::string x = w_.reg("b32"), y = w_.reg("b32");
  w_("mov.u32 {}, %tid.x;", tid_);
  w_("and.b32 {}, {}, {};", tx_, tid_, bn / kThreadTile - 1);
  w_("shr.u32 {}, {}, {};", ty_, tid_, std::countr_zero(bn / kThreadTile));
  w_("mov.u32 {}, %ctaid.x;", x);
  w_("mov.u32 {}, %ctaid.y;", y);
  w_("shl.b32 {}, {}, {};", row0_, x, std::countr_zero(bm));
  w_("shl.b32 {}, {}, {};", col0_, y, std::countr_zero(bn));
  w_("ld.param.u32 {}, [gemm_param_3];", m_);
  w_("ld.param.u32 {}, [gemm_param_4];", n_);
  w_("ld.param.u32 {}, [gemm_param_5];", k_);
  w_("mov.u32 {}, smem;", smem_);
  a_.pointer = load_pointer(w_, "gemm", 0);
  b_.pointer = load_pointer(w_, "gemm", 1);
  const std::string c_pointer = load_pointer(w_, "gemm", 2);
  addresses(a_, row0_);
  addresses(b_, col0_);
  acc_ = w_.regs("f32", 64);
  for (const auto& r : acc_) w_("mov.f32 {}, 0f00000000;", r);
  const std::string tiles = w_.reg("b32"), tile = w_.reg("b32"), stage = w_.reg("b32"), p = w_.reg("pred");
  w_("shr.u32 {}, {}, {};", tiles, k_, std::countr_zero(bk));
  w_("mov.b32 {}, 0;", tile);
  w_("mov.b32 {}, 0;", stage);
  if (c_.stages == 1) {
    w_.label("$loop");
    load(a_);
    load(b_);
    store(a_, stage);
    store(b_, stage);
    w_("bar.sync 0;");
    compute(stage);
    w_("bar.sync 0;");
    w_("add.s32 {0}, {0}, 1;", tile);
  } else {
    load(a_);
    load(b_);
    store(a_, stage);
    store(b_, stage);
    w_("bar.sync 0;");
    w_.label("$loop");
    w_("add.s32 {0}, {0}, 1;", tile);
    w_("setp.ge.s32 {}, {}, {};", p, tile, tiles);
    w_("@{} bra $no_load;", p);
    load(a_);
    load(b_);
    w_.label("$no_load");
    compute(stage);
    w_("xor.b32 {0}, {0}, 1;", stage);
    w_("@{} bra $no_store;", p);
    store(a_, stage);
    store(b_, stage);
    w_.label("$no_store");
    w_("bar.sync 0;");
  }
  w_("setp.lt.s32 {}, {}, {};", p, tile, tiles);
  w_("@{} bra $loop;", p);
  for (uint32_t i = 0; i < 8; ++i) {
    const std::string row = w_.reg("b32"), wide = w_.reg("b64"), column = w_.reg("b64"), base = w_.reg("b64"), col = w_.reg("b32");
    w_("mad.lo.s32 {}, {}, 4, {};", row, ty_, row0_);
    w_("add.s32 {0}, {0}, {1};", row, i / 4 * (bm / 2) + i % 4);
    w_("mad.lo.s32 {}, {}, 4, {};", col, tx_, col0_);
    w_("mul.wide.u32 {}, {}, {};", wide, row, n_);
    w_("cvt.u64.u32 {}, {};", column, col);
    w_("add.s64 {0}, {0}, {1};", wide, column);
    w_("mad.lo.s64 {}, {}, 4, {};", base, wide, c_pointer);
    for (uint32_t half = 0; half < 2; ++half)
      w_("st.global.v4.f32 [{}+{}], {};", base, half * bn / 2 * 4,
         Writer::braces({acc_[i * 8 + half * 4], acc_[i * 8 + half * 4 + 1], acc_[i * 8 + half * 4 + 2], acc_[i * 8 + half * 4 + 3]}));
  }
  w_("ret;");
  Program program;
  program.entry = "gemm";
  program.grid = {c_.m / bm, c_.n / bn, 1};
  program.block = {threads_, 1, 1};
  program.dynamic_smem_bytes = (stage_bytes(a_) + stage_bytes(b_)) * c_.stages;
  program.shared = {{"A", c_.stages, stage_bytes(a_), true}, {"B", c_.stages, stage_bytes(b_), true}};
  program.ptx = module_text(c_, "gemm", w_, threads_, 0);
  program.launch_toml = launch_text(c_, program, "f32", "f32");
  return program;
}

}  // namespace

Program generate_simt(const Config& config, Diagnostics& diags) {
  Simt generator(config);
  if (!generator.plan(diags)) return {};
  return generator.emit();
}

}  // namespace tcsim::gemm
