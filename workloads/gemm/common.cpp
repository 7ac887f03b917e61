#include "workloads/gemm/common.h"
#include "workloads/gemm/blackwell.h"
#include "workloads/gemm/hopper.h"
#include "workloads/gemm/mma_sync.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tcsim::gemm {

void config_error(Diagnostics& diags, const std::string& text) { diags.error("launch-mismatch", {"gemm", 0, 0}, text); }

bool check_config(const Config& c, Diagnostics& diags) {
  const uint32_t before = diags.error_count();
  const auto require = [&](bool ok, const std::string& text) {
    if (!ok) config_error(diags, text);
  };
  const auto power_of_two = [](uint32_t x) { return std::has_single_bit(x); };
  require(c.m > 0 && c.n > 0 && c.k > 0, fmt::format("m, n, k = {}, {}, {}: expected positive sizes", c.m, c.n, c.k));
  require(std::all_of(c.tile.begin(), c.tile.end(), [&](uint32_t extent) { return power_of_two(extent) && extent <= 512; }),
          fmt::format("tile {}x{}x{}: expected powers of two up to 512", c.tile[0], c.tile[1], c.tile[2]));
  require(c.stages >= 1 && c.stages <= 16, fmt::format("stages {}: expected 1 to 16", c.stages));
  require(c.swizzle == "none" || c.swizzle == "padded" || c.swizzle == "xor", fmt::format("swizzle '{}': expected none, padded or xor", c.swizzle));
  require(c.layout == "tn" || c.layout == "nn" || c.layout == "nt" || c.layout == "tt",
          fmt::format("layout '{}': expected tn, nn, nt or tt", c.layout));
  return diags.error_count() == before;
}

std::string emit_offset(Writer& w, const SmemTile& tile, const std::string& row, const std::string& chunk) {
  std::string column = chunk;
  if (tile.swizzle == "xor" && tile.xor_mask() != 0) {
    std::string key = row;
    if (tile.xor_shift() != 0) {
      key = w.reg("b32");
      w("shr.u32 {}, {}, {};", key, row, tile.xor_shift());
    }
    const std::string low = w.reg("b32");
    w("and.b32 {}, {}, {};", low, key, tile.xor_mask());
    column = w.reg("b32");
    w("xor.b32 {}, {}, {};", column, chunk, low);
  }
  const std::string bytes = w.reg("b32"), offset = w.reg("b32");
  w("shl.b32 {}, {}, 4;", bytes, column);
  w("mad.lo.s32 {}, {}, {}, {};", offset, row, tile.pitch(), bytes);
  return offset;
}

std::string load_pointer(Writer& w, const std::string& entry, int index) {
  const std::string generic = w.reg("b64"), global = w.reg("b64");
  w("ld.param.u64 {}, [{}_param_{}];", generic, entry, index);
  w("cvta.to.global.u64 {}, {};", global, generic);
  return global;
}

std::string module_text(const Config& config, const std::string& entry, const Writer& w, uint32_t threads, uint32_t ptx_minor) {
  std::string text =
      fmt::format(".version 8.{}\n.target sm_{}\n.address_size 64\n\n.extern .shared .align 128 .b8 smem[];\n\n", ptx_minor, config.sm);
  text += fmt::format(
      ".visible .entry {0}(\n\t.param .u64 .ptr .global .align 16 {0}_param_0,\n\t.param .u64 .ptr .global .align 16 {0}_param_1,\n"
      "\t.param .u64 .ptr .global .align 16 {0}_param_2,\n\t.param .u32 {0}_param_3,\n\t.param .u32 {0}_param_4,\n\t.param .u32 {0}_param_5\n)\n",
      entry);
  text += fmt::format(".reqntid {}\n{{\n", threads);
  return text + w.declarations() + "\n" + w.body() + "}\n";
}

std::string launch_text(const Config& c, const Program& p, const std::string& in_type, const std::string& out_type) {
  const bool a_k_major = c.layout[0] == 't', b_k_major = c.layout[1] == 'n';
  std::string text = fmt::format("entry = \"{}\"\ngrid = [{}, {}, {}]\nblock = [{}, 1, 1]\n", p.entry, p.grid[0], p.grid[1], p.grid[2], p.block[0]);
  if (p.cluster[0] * p.cluster[1] > 1) text += fmt::format("cluster = [{}, {}, 1]\n", p.cluster[0], p.cluster[1]);
  text += fmt::format("dynamic_smem_bytes = {}\n\n", p.dynamic_smem_bytes);
  const auto argument = [&](const char* name) {
    for (const TensorMap& map : p.tensor_maps)
      if (map.buffer == name) return fmt::format("{{ tensormap = \"{}\" }}", map.name);
    return fmt::format("{{ buffer = \"{}\" }}", name);
  };
  text +=
      fmt::format("args = [{}, {}, {}, {{ i32 = {} }}, {{ i32 = {} }}, {{ i32 = {} }}", argument("A"), argument("B"), argument("C"), c.m, c.n, c.k);
  const bool scaled = p.scale_block != 0;
  text += scaled ? fmt::format(", {}, {}]\n\n", argument("SFA"), argument("SFB")) : "]\n\n";
  const bool integer = in_type == "s8" || in_type == "u8";
  const char* init = integer ? "integers" : "normal";
  const auto buffer = [&](const char* name, const std::string& type, const std::vector<uint32_t>& shape, const std::string& how, int seed) {
    text += fmt::format("[buffer.{}]\ndtype = \"{}\"\nshape = [{}]\ninit = \"{}\"\n", name, type, fmt::join(shape, ", "), how);
    if (seed != 0) text += fmt::format("seed = {}\n", seed);
    text += "\n";
  };
  buffer("A", in_type, {a_k_major ? c.m : c.k, a_k_major ? c.k : c.m}, init, 1);
  buffer("B", in_type, {b_k_major ? c.n : c.k, b_k_major ? c.k : c.n}, init, 2);
  buffer("C", out_type, {c.m, c.n}, "poison", 0);
  if (scaled) {  // in tiles of 128 rows x 4 factors, as tcgen05.cp and cuBLAS take them
    buffer("SFA", p.scale_type, {c.m / 128, c.k / p.scale_block / 4, 32, 4, 4}, "integers", 3);
    buffer("SFB", p.scale_type, {c.n / 128, c.k / p.scale_block / 4, 32, 4, 4}, "integers", 4);
  }
  for (const TensorMap& map : p.tensor_maps)
    text +=
        fmt::format("[tensormap.{}]\nbuffer = \"{}\"\ndims = [{}]\nstrides_bytes = [{}]\nbox = [{}]\nswizzle = \"{}\"\nl2_promotion = \"128B\"\n{}\n",
                    map.name, map.buffer, fmt::join(map.dims, ", "), map.stride_bytes, fmt::join(map.box, ", "), map.swizzle,
                    map.dtype.empty() ? "" : fmt::format("dtype = \"{}\"\n", map.dtype));
  text += fmt::format("[check]\ngemm = {{ a = \"A\", b = \"B\", c = \"C\", trans_a = {}, trans_b = {}{} }}\n", !a_k_major, b_k_major,
                      scaled ? fmt::format(", sfa = \"SFA\", sfb = \"SFB\", scale_block = {}", p.scale_block) : "");
  const bool narrow = in_type == "e4m3" || in_type == "e5m2" || in_type == "e2m1";
  // The tensor core truncates its sums, some terms at a time: errors grow with their number and with the sums, as K^1.5.
  if (!c.emulate.empty()) return text + fmt::format("rtol = 1e-5\natol = {:g}\n", 1e-7 * std::pow(c.k, 1.5));
  if (c.acc == "f16") return text + fmt::format("rtol = 1e-2\natol = {:g}\n", 1e-2 * std::sqrt(c.k));
  text += integer ? "rtol = 0\natol = 0\n" : narrow || out_type == "bf16" ? "rtol = 2e-2\natol = 5e-2\n" : "rtol = 1e-2\natol = 1e-2\n";
  return text;
}

const std::vector<std::string>& styles() {
  static const std::vector<std::string> list = {
      "simt",      "wmma",           "volta",       "turing", "ampere", "hopper-tma", "hopper-ws", "hopper-cooperative", "hopper-pingpong",
      "blackwell", "blackwell-2cta", "blackwell-ws"};
  return list;
}

bool is_mma_sync_style(const std::string& style) { return style == "volta" || style == "turing" || style == "ampere"; }

uint32_t default_stages(const std::string& style, uint32_t sm) {
  constexpr uint32_t kCpAsync = 80;                     // PTX ISA, cp.async: "requires sm_80 or higher"
  if (style == "volta" || style == "turing") return 2;  // the next tile waits in registers
  if (style == "simt") return 2;
  if (style == "wmma" && sm < kCpAsync) return 1;
  return 3;
}

// Fragment loads of mma.sync address 16-byte pieces freely; wmma.load and the scalar kernel walk rows.
std::string default_swizzle(const std::string& style) { return is_mma_sync_style(style) ? "xor" : "none"; }

uint32_t swizzled_row(const std::string& dtype) {
  const auto type = blackwell_type(dtype);  // knows every type that TMA styles take
  return type ? 128 * 8 / type->bits : 64;
}

namespace {

/// What the style would leave out without a word.
bool check_left_out(const Config& c, Diagnostics& diags) {
  const uint32_t before = diags.error_count();
  const Config plain;
  const std::string& s = c.style;
  const bool hopper = is_hopper_style(s), tma = hopper || is_blackwell_style(s);
  const bool persistent = s == "hopper-cooperative" || s == "hopper-pingpong" || s == "blackwell-ws";
  const auto only = [&](bool taken, bool given, const std::string& option, const std::string& whose) {
    if (given && !taken) config_error(diags, fmt::format("{} is for {}; {} does not take it", option, whose, s));
  };
  const char *kWithTma = "the Hopper and Blackwell styles",
             *kPersistent = "the persistent styles hopper-cooperative, hopper-pingpong and blackwell-ws";
  if (tma && !c.swizzle.empty() && c.swizzle != default_swizzle(s))
    config_error(diags, fmt::format("--swizzle {} is for simt volta turing ampere wmma; {} uses TMA's swizzle", c.swizzle, s));
  only(!tma && s != "simt", c.warps != plain.warps, "--warps", "volta turing ampere wmma");
  only(tma, c.cluster != plain.cluster, "--cluster", kWithTma);
  only(tma, c.out != plain.out, "--out", kWithTma);
  only(tma, c.epilogue != plain.epilogue, "--epilogue", kWithTma);
  only(s == "hopper-ws", c.consumers != plain.consumers, "--consumers", "hopper-ws");
  only(tma, c.promote, "--promote", "the Hopper styles");  // why tcgen05 needs none is said by its own check
  only(hopper && s != "hopper-tma", c.setmaxnreg != plain.setmaxnreg, "--setmaxnreg", "hopper-ws, hopper-cooperative and hopper-pingpong");
  only(persistent, c.raster != plain.raster, "--raster", kPersistent);
  only(persistent, c.group != plain.group, "--raster-group", kPersistent);
  if (!c.emulate.empty() && s != "ampere") config_error(diags, fmt::format("emulation {}: the ampere style has it, not {}", c.emulate, s));
  return diags.error_count() == before;
}

}  // namespace

Program generate(const Config& given, Diagnostics& diags) {
  if (std::find(styles().begin(), styles().end(), given.style) == styles().end()) {
    config_error(diags, fmt::format("style '{}': expected {}", given.style, fmt::join(styles(), ", ")));
    return {};
  }
  if (!check_left_out(given, diags)) return {};
  Config config = given;
  if (config.swizzle.empty()) config.swizzle = default_swizzle(config.style);
  if (is_hopper_style(config.style)) return generate_hopper(config, diags);
  if (is_blackwell_style(config.style)) return generate_blackwell(config, diags);
  if (!check_config(config, diags)) return {};
  if (is_mma_sync_style(config.style)) return generate_mma_sync(config, diags);
  if (config.style == "wmma") return generate_wmma(config, diags);
  return generate_simt(config, diags);
}

}  // namespace tcsim::gemm
