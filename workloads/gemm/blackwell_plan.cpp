// The plan of a Blackwell kernel: what fits, Tensor Memory, descriptors, launch file.
#include <algorithm>
#include <bit>

#include "workloads/gemm/blackwell.h"

namespace tcsim::gemm {

std::optional<BlackwellType> blackwell_type(const std::string& dtype) {
  using isa::MmaKind, isa::Type;
  static const std::vector<BlackwellType> types = {
      {"f16", Type::f16, 16, MmaKind::f16, "f32", {"f16", "f32"}},
      {"bf16", Type::bf16, 16, MmaKind::f16, "f32", {"bf16", "f32"}},
      {"tf32", Type::tf32, 32, MmaKind::tf32, "f32", {"f32"}},
      {"e4m3", Type::e4m3, 8, MmaKind::f8f6f4, "f32", {"f32", "bf16", "f16"}},
      {"e5m2", Type::e5m2, 8, MmaKind::f8f6f4, "f32", {"f32", "bf16", "f16"}},
      {"s8", Type::s8, 8, MmaKind::i8, "s32", {"s32"}},
      {"u8", Type::u8, 8, MmaKind::i8, "s32", {"s32"}},
      {"mxfp8", Type::e4m3, 8, MmaKind::mxf8f6f4, "f32", {"f32", "bf16", "f16"}, Type::ue8m0, 32},
      {"mxfp4", Type::e2m1, 4, MmaKind::mxf4, "f32", {"f32", "bf16", "f16"}, Type::ue8m0, 32},
      {"nvfp4", Type::e2m1, 4, MmaKind::mxf4nvf4, "f32", {"f32", "bf16", "f16"}, Type::ue4m3, 16},
  };
  const auto it = std::find_if(types.begin(), types.end(), [&](const BlackwellType& t) { return t.name == dtype; });
  return it == types.end() ? std::nullopt : std::optional(*it);
}

bool is_blackwell_style(const std::string& style) { return style == "blackwell" || style == "blackwell-2cta" || style == "blackwell-ws"; }

bool Blackwell::plan_shape(Diagnostics& diags) {
  const uint32_t before = diags.error_count();
  const auto [bm, bn, bk] = c_.tile;
  const auto [cx, cy] = c_.cluster;
  const uint32_t most = c_.style == "blackwell" ? 1 : 2;
  if (cx == 0 || cx > most || cy != 1)
    return fail(diags,
                fmt::format("cluster {}x{}: expected 1x1{}", cx, cy, most == 2 ? " or 2x1, a pair of CTAs" : "; pairs of CTAs are blackwell-2cta's")),
           false;
  if (!plan_common(diags)) return false;
  if (bm != kRows) fail(diags, "M must be 128, the lanes of Tensor Memory (a pair of CTAs has 256)");
  const uint32_t unit = t_.scaled() ? 128 : pair() ? 32 : 16;
  if (bn == 0 || bn > 256 || bn % unit != 0)
    fail(diags, fmt::format("N must be a multiple of {} up to 256{}", unit, t_.scaled() ? ", blocks of scale factors" : ""));
  if (t_.scaled() && bk % (4 * t_.scale_block) != 0)
    fail(diags, fmt::format("K must be a multiple of {}: four scale factors of {} elements lie together", 4 * t_.scale_block, t_.scale_block));
  if (c_.promote) fail(diags, "promotion is for Hopper: tcgen05 adds in f32");
  if (faulty(Fault::none) == false) fail(diags, "faults are made in Hopper kernels");
  if (std::find(t_.outputs.begin(), t_.outputs.end(), c_.out) == t_.outputs.end())
    fail(diags, fmt::format("C of type {}; expected {}", c_.out, fmt::join(t_.outputs, " or ")));
  else if (c_.epilogue == "tma" && bn % (128 / out_bytes()) != 0)
    fail(diags, fmt::format("the TMA epilogue stores 128-byte rows: N must be a multiple of {} for {}; the direct epilogue takes any",
                            128 / out_bytes(), c_.out));
  return diags.error_count() == before;
}

/// Columns: accumulators (one of 32 bits each) of every buffer, then the scale factors of one stage. Copies and multiplications of
/// one CTA complete in the order of issue, so that one set of factors is enough.
void Blackwell::plan_tensor_memory(Diagnostics& diags) {
  sfb_.blocks = t_.scaled() ? n() / 128 : 1;
  sfa_.base = a_.region() + b_.region();
  sfb_.base = sfa_.base + sfa_.blocks * atoms() * kAtomBytes;
  sfa_.column = n() * buffers();
  sfb_.column = sfa_.column + atoms() * sfa_.blocks * kAtomColumns;
  const uint32_t used = sfb_.column + atoms() * sfb_.blocks * kAtomColumns;
  columns_ = std::max(32u, std::bit_ceil(used));  // tcgen05.alloc takes powers of two from 32
  if (used > 512)
    fail(diags,
         fmt::format("{} columns of Tensor Memory ({} buffers of {}, {} of scale factors); there are 512", used, buffers(), n(), used - sfa_.column));
}

bool Blackwell::plan(Diagnostics& diags) {
  if (c_.out.empty()) c_.out = t_.outputs.front();
  if (c_.style == "blackwell-2cta") c_.cluster = {2, 1};
  if (!plan_shape(diags)) return false;
  const uint32_t before = diags.error_count();
  a_ = {.name = "A", .extent = c_.m, .tile = kRows, .k_major = c_.layout[0] == 't', .peers = 1};
  b_ = {.name = "B", .extent = c_.n, .tile = n() / ctas(), .k_major = c_.layout[1] == 'n', .peers = 1};
  // M- or N-major: PTX ISA, "Transpose" in the instruction descriptor; tf32 would need swizzles of 32-byte pieces.
  for (Operand* o : {&a_, &b_}) plan_operand(*o, !t_.scaled() && t_.bits <= 16, diags);
  b_.base = a_.region();
  plan_tensor_memory(diags);
  return diags.error_count() == before;
}

/// scale_id: which of the four factors of an atom the instruction begins with.
uint32_t Blackwell::instruction_descriptor(uint32_t scale_id) const {
  isa::InstructionDescriptor d{.d = t_.accumulate == "s32" ? isa::Type::s32 : isa::Type::f32, .a = t_.stored, .b = t_.stored};
  d.a_major = a_.k_major ? isa::Major::k : isa::Major::mn;
  d.b_major = b_.k_major ? isa::Major::k : isa::Major::mn;
  d.m = static_cast<int>(kRows * ctas());
  d.n = static_cast<int>(n());
  d.scale = t_.scale;
  d.scale_a_id = d.scale_b_id = static_cast<uint8_t>(scale_id);
  return isa::encode_instruction_descriptor(t_.kind, d);
}

/// After tcgen05.mma.cta_group::n: the kind, and how many scale factors a row has.
std::string Blackwell::mnemonic_kind() const {
  std::string text = fmt::format("kind::{}", isa::name(t_.kind));
  if (t_.scaled()) text += fmt::format(".block_scale.scale_vec::{}X", instruction_k() / t_.scale_block);
  return text;
}

std::vector<TensorMap> Blackwell::scale_maps() const {
  std::vector<TensorMap> list;
  if (!t_.scaled()) return list;
  // Eight factors an element, as boxes have at most 256: an atom is 64 of them.
  const uint64_t words = uint64_t{c_.k} / (4 * t_.scale_block) * (kAtomBytes / 8);
  for (const Scales* s : {&sfa_, &sfb_}) {
    const uint64_t blocks = (s == &sfa_ ? c_.m : c_.n) / 128;
    list.push_back({"map" + s->name, s->name, {words, blocks}, words * 8, {atoms() * (kAtomBytes / 8), s->blocks}, "none", "u64"});
  }
  return list;
}

std::string Blackwell::module() const {
  std::string text = module_head("sm_100a", t_.kind == isa::MmaKind::mxf4nvf4 ? "8.7" : "8.6");
  text += fmt::format(".shared .align 8 .b64 full_bar[{0}];\n.shared .align 8 .b64 empty_bar[{0}];\n", c_.stages);
  text += fmt::format(".shared .align 8 .b64 done_bar[{0}];\n.shared .align 8 .b64 free_bar[{0}];\n.shared .align 4 .b32 tensor_base;\n", buffers());
  return text +
         module_tail(
             threads(),
             t_.scaled()
                 ? ",\n\t.param .align 64 .b8 gemm_param_6[128],  // tensor maps of the scale factors\n\t.param .align 64 .b8 gemm_param_7[128]"
                 : "");
}

Program Blackwell::program() {
  Program p;
  p.entry = "gemm";
  p.cluster = {c_.cluster[0], c_.cluster[1], 1};
  p.grid = grid();
  p.block = {threads(), 1, 1};
  p.shared = {{"A", c_.stages, a_.region(), true}, {"B", c_.stages, b_.region(), true}};
  if (t_.scaled()) p.shared.push_back({"scale factors", c_.stages, scale_region(), true});
  if (c_.epilogue == "tma") p.shared.push_back({"C slots", kSlots * kEpilogueWarps, kSlotBytes});
  p.shared.push_back({"alignment", 1, 1024});
  for (const SharedUse& use : p.shared) p.dynamic_smem_bytes += use.stages * use.bytes;
  p.tensor_maps = operand_maps();
  if (c_.epilogue == "tma") p.tensor_maps.push_back(result_map(32));
  for (TensorMap& map : scale_maps()) p.tensor_maps.push_back(std::move(map));
  if (t_.scaled()) p.scale_type = isa::name(t_.scale);
  p.scale_block = t_.scale_block;
  p.ptx = module();
  p.launch_toml = launch_text(c_, p, std::string(isa::name(t_.stored)), c_.out);
  return p;
}

Program Blackwell::emit() {
  setup();
  if (persistent()) emit_persistent();
  else emit_once();
  finish();
  return program();
}

Program generate_blackwell(const Config& config, Diagnostics& diags) {
  const auto type = blackwell_type(config.dtype);
  if (!type || config.acc != type->accumulate) {
    config_error(diags,
                 fmt::format("dtype {} with accumulator {}: {} takes f16, bf16, tf32, e4m3, e5m2, mxfp8, mxfp4 or nvfp4 with f32, s8 or u8 with s32",
                             config.dtype, config.acc, config.style));
    return {};
  }
  Blackwell generator(config, *type);
  if (!generator.plan(diags)) return {};
  return generator.emit();
}

}  // namespace tcsim::gemm
