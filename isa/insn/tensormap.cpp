// tensormap.replace and tensormap.cp_fenceproxy (PTX ISA).
#include <fmt/format.h>

#include "isa/insn/access.h"
#include "isa/insn/bulk_issue.h"
#include "isa/insn/operands.h"
#include "isa/layout/tensor_map.h"

namespace tcsim::isa {
namespace {

constexpr uint32_t kMapBytes = sizeof(TensorMapBytes);
using Field = TensorMapFieldName;

constexpr std::pair<std::string_view, Field> kFields[] = {{"global_address", Field::global_address},
                                                          {"rank", Field::rank},
                                                          {"box_dim", Field::box_dim},
                                                          {"global_dim", Field::global_dim},
                                                          {"global_stride", Field::global_stride},
                                                          {"element_stride", Field::element_stride},
                                                          {"elemtype", Field::elemtype},
                                                          {"interleave_layout", Field::interleave_layout},
                                                          {"swizzle_mode", Field::swizzle_mode},
                                                          {"swizzle_atomicity", Field::swizzle_atomicity},
                                                          {"fill_mode", Field::fill_mode}};

bool has_ordinal(Field f) { return f == Field::box_dim || f == Field::global_dim || f == Field::global_stride || f == Field::element_stride; }

/// Host bytes of a whole map for a lane, marked as written: what is not replaced counts as known, for kernels build maps from
/// scratch. The access that timing sees is the one word that changes.
uint8_t* whole_map(ExecContext& ctx, const Inst& inst, Space space, const uint64_t* address, int lane) {
  Located at;
  if (!locate(ctx, inst, space, address, kMapBytes, kMapBytes, 1u << lane, AccessKind::store, at)) return nullptr;
  ctx.fx.access.bytes = 4;
  if (space == Space::shared) ctx.shared->mark_written(static_cast<uint32_t>(at.at[lane] - ctx.shared->data()), kMapBytes);
  else if (ctx.global->any_undefined()) ctx.global->mark_written(ctx.fx.access.address[lane], kMapBytes);
  return at.at[lane];
}

/// aux: the field in the low byte, the ordinal in the next.
void run_replace(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const auto field = static_cast<Field>(inst.aux & 0xff);
  const auto ordinal = static_cast<uint32_t>(inst.aux >> 8);
  const Operand& value = inst.operand(inst.group_count - 1);
  for_spaces(ctx, inst.operand(0), inst.space, mask, [&](Space space, uint32_t lanes, const uint64_t* address) {
    if (space != Space::shared && space != Space::global)
      return ctx.fault("illegal-instruction", std::countr_zero(lanes), address[std::countr_zero(lanes)],
                       fmt::format("tensormap.replace on {} memory, expected .global or .shared::cta", name(space)));
    std::array<uint64_t, kLanes> addresses;
    std::copy(address, address + kLanes, addresses.begin());
    each_lane(lanes, [&](int l) {
      if (ctx.fx.control != Control::next) return;
      uint8_t* bytes = whole_map(ctx, inst, space, addresses.data(), l);
      if (!bytes || ctx.addresses_only) return;
      const bool wide = field == Field::global_address || field == Field::global_stride;
      replace_field(std::span<uint8_t, kMapBytes>(bytes, kMapBytes), field, ordinal,
                    wide ? ctx.src<uint64_t>(value)[l] : ctx.src<uint32_t>(value)[l]);
    });
  });
}

std::string bind_replace(Inst& inst, const Decoded& d) {
  const auto field = std::find_if(std::begin(kFields), std::end(kFields), [&](const auto& f) { return d.value("field") == f.first; })->second;
  const bool wide = field == Field::global_address || field == Field::global_stride;
  inst.op = Op::tensormap_replace;
  inst.space = space_of(inst, d, 0);
  if (inst.space == Space::generic) make_generic(inst, 0);
  inst.timing = inst.space == Space::shared ? TimingClass::sts : TimingClass::stg;
  inst.exec = &run_replace;
  inst.aux = static_cast<uint64_t>(field);
  if (d.module && !d.module->arch_specific)
    return fmt::format("expected a target with architecture-specific features (sm_90a), the module's is {}", d.module->target);
  if (auto e = expect_address(inst, 0); !e.empty()) return e;
  if (wide != (d.value("type") == "b64")) return fmt::format(".{} with .{}, expected .{}", d.value("field"), d.value("type"), wide ? "b64" : "b32");
  if (inst.group_count != (has_ordinal(field) ? 3 : 2))
    return fmt::format(".{} with {} operands, expected {}", d.value("field"), inst.group_count, has_ordinal(field) ? 3 : 2);
  if (has_ordinal(field)) {
    const Operand& ordinal = inst.operand(1);
    const int64_t limit = TensorMap::kMaxRank - (field == Field::global_stride ? 2 : 1);
    if (ordinal.kind != Operand::Kind::constant || ordinal.value < 0 || ordinal.value > limit)
      return fmt::format("operand 2 is not a constant from 0 to {}", limit);
    inst.aux |= static_cast<uint64_t>(ordinal.value) << 8;
  }
  if (field >= Field::elemtype && inst.operand(inst.group_count - 1).kind != Operand::Kind::constant)
    return fmt::format("the new value of .{} is not a constant", d.value("field"));
  return expect_group(inst, inst.group_count - 1, d, wide ? 64 : 32, false, false);
}

/// Copies the map in the generic proxy; the release that follows orders it before uses by the tensormap proxy, which here see
/// memory as it is.
void run_cp_fenceproxy(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!ctx.converged(ctx.warp_lanes, mask)) return;
  std::array<uint64_t, kLanes> to, from;
  lane_addresses(ctx, inst.operand(0), mask, to.data());
  lane_addresses(ctx, inst.operand(1), mask, from.data());
  each_lane(mask, [&](int l) { from[l] = SharedAddress::of(static_cast<uint32_t>(from[l])).offset; });
  Located source;
  if (!locate(ctx, inst, Space::shared, from.data(), kMapBytes, kMapBytes, mask, AccessKind::load, source)) return;
  const int first = std::countr_zero(mask);
  const auto offset = static_cast<uint32_t>(source.at[first] - ctx.shared->data());
  if (ctx.shared->is_undefined(offset, kMapBytes)) ctx.hazard(kUninitialisedRead, first, offset);
  Located target;
  if (!locate(ctx, inst, Space::global, to.data(), kMapBytes, kMapBytes, mask, AccessKind::store, target)) return;
  if (!ctx.addresses_only) {
    each_lane(mask, [&](int l) { std::memcpy(target.at[l], source.at[l], kMapBytes); });
    if (ctx.global->any_undefined()) each_lane(mask, [&](int l) { ctx.global->mark_written(to[l], kMapBytes); });
  }
  // The warp writes the 128 bytes together, 4 a lane.
  ctx.fx.access.bytes = 4;
  each_lane(mask, [&](int l) { ctx.fx.access.address[l] = to[first] + 4 * static_cast<uint64_t>(l); });
}

std::string bind_cp_fenceproxy(Inst& inst, const Decoded&) {
  inst.op = Op::tensormap_cp_fenceproxy;
  inst.space = Space::global;
  inst.timing = TimingClass::stg;
  inst.exec = &run_cp_fenceproxy;
  for (const int g : {0, 1})
    if (auto e = expect_address(inst, g); !e.empty()) return e;
  const Operand& size = inst.operand(2);
  if (size.kind == Operand::Kind::constant && size.value == kMapBytes) return {};
  return fmt::format("operand 3 is not the constant {}", kMapBytes);
}

}  // namespace

std::span<const InstDef> tensormap_instructions() {
  static const std::vector<InstDef> table = {
      {.base = "tensormap",
       .syntax = "tensormap.replace.tile.field{.ss}.b1024.type [addr]{, ord}, new_val;"
                 "  .field = { .global_address, .rank, .box_dim, .global_dim, .global_stride, .element_stride, .elemtype, .interleave_layout, "
                 ".swizzle_mode, .fill_mode };"
                 "  .ss = { .global, .shared::cta, .shared };  .type = { .b32, .b64 };",
       .op = Op::tensormap_replace,
       .bind = &bind_replace,
       .since = {8, 3, 90},
       .manual = "Data Movement: tensormap.replace",
       .doc = "change a field of a tensor map in memory"},
      {.base = "tensormap",
       .syntax = "tensormap.replace.tile.field{.ss}.b1024.type [addr], new_val;  .field = { .swizzle_atomicity };  .ss = { .global, .shared::cta, "
                 ".shared };  .type = { .b32 };",
       .op = Op::tensormap_replace,
       .bind = &bind_replace,
       .since = {8, 6, 100},
       .manual = "Data Movement: tensormap.replace",
       .doc = "change the swizzle atomicity of a tensor map in memory"},
      {.base = "tensormap",
       .syntax = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], size;  .scope = { .cta, "
                 ".cluster, .gpu, .sys };",
       .op = Op::tensormap_cp_fenceproxy,
       .bind = &bind_cp_fenceproxy,
       .since = {8, 3, 90},
       .manual = "Synchronization: tensormap.cp_fenceproxy",
       .doc = "copy a tensor map from shared to global memory and make it visible to bulk copies"},
  };
  return table;
}

}  // namespace tcsim::isa
