// cp.async.bulk, cp.reduce.async.bulk, their tensor forms and groups (PTX ISA, "Data Movement and Conversion Instructions:
// Bulk copy" and "Tensor copy"). Executing one checks it and records one copy a thread in Effects::bulk; whoever runs the
// warp decides when its source is read and when its bytes land.
#include <fmt/format.h>

#include "isa/insn/access.h"
#include "isa/insn/atomic.h"
#include "isa/insn/bulk_issue.h"
#include "isa/insn/fp.h"
#include "isa/insn/operands.h"
#include "isa/layout/tensor_map.h"

namespace tcsim::isa {
namespace {

using namespace bulk_flag;
using Kind = BulkCopy::Kind;
using ReduceOp = BulkCopy::ReduceOp;

/// f(issue) for each lane; the copies of those for which it returns true are recorded.
template <class F>
void issue_lanes(ExecContext& ctx, const Inst& inst, uint32_t mask, Kind kind, F&& f) {
  each_lane(mask, [&](int l) {
    if (ctx.fx.control != Control::next) return;
    BulkIssue issue(ctx, l, kind);
    if (!f(issue)) return;
    issue.copy.inst = ctx.index_of(inst);
    issue.tell_watches();
    ctx.fx.bulk.push_back(std::move(issue.copy));
  });
  if (!ctx.fx.bulk.empty()) ctx.fx.issued |= Effects::kBulk;
}

// ---- reductions ----

Combine plain_add_f32() {
  static const Combine combine = combine_for("add", Type::f32);
  return combine;
}
/// "cp.reduce.async.bulk.add.f32 flushes subnormal inputs and results to sign-preserving zero".
uint64_t add_f32_ftz(uint64_t a, uint64_t b, uint64_t) {
  const auto flush = [](uint64_t x) { return fp::bits32(fp::flush(fp::float_of(static_cast<uint32_t>(x)))); };
  return flush(plain_add_f32()(flush(a), flush(b), 0));
}

std::string_view name_of(ReduceOp op) {
  constexpr std::string_view kNames[] = {"none", "add", "min", "max", "inc", "dec", "and", "or", "xor"};
  return kNames[static_cast<size_t>(op)];
}

Combine combine_of(ReduceOp op, Type type) {
  if (op == ReduceOp::add && type == Type::f32) return &add_f32_ftz;
  return combine_for(name_of(op), type);
}

/// PTX ISA, "cp.reduce.async.bulk": valid combinations of .redOp and element type.
bool reduces(ReduceOp op, Type type, bool to_global) {
  using enum Type;
  const auto any = [type](std::initializer_list<Type> types) { return std::find(types.begin(), types.end(), type) != types.end(); };
  switch (op) {
    case ReduceOp::add: return any({u32, s32, u64}) || (to_global && any({f32, f64, f16, bf16}));
    case ReduceOp::min:
    case ReduceOp::max: return any({u32, s32}) || (to_global && any({u64, s64, f16, bf16}));
    case ReduceOp::inc:
    case ReduceOp::dec: return type == u32;
    case ReduceOp::none: return false;
    default: return type == b32 || (to_global && type == b64);
  }
}

/// Tensor reductions take the type from the map: and, or and xor work on its bits.
bool set_tensor_reduction(BulkIssue& issue, ReduceOp op) {
  BulkCopy& copy = issue.copy;
  const Type element = element_type(copy.map->type);
  const bool bitwise = op >= ReduceOp::and_;
  copy.reduce = op;
  copy.type = !bitwise ? element : bits(element) == 64 ? Type::b64 : bits(element) == 32 ? Type::b32 : Type::none;
  copy.combine = reduces(op, copy.type, true) ? combine_of(op, copy.type) : nullptr;
  if (copy.combine) return true;
  return issue.fault("illegal-instruction", copy.map_address,
                     fmt::format("a reduction .{} of elements of type {} does not exist", name_of(op), name(copy.map->type)));
}

// ---- plain copies; groups: dst, src, size, then mbarrier, mask, policy as the form has them ----

void run_load(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const bool own = inst.flags & kOwnCta;
  issue_lanes(ctx, inst, mask, Kind::load, [&](BulkIssue& issue) {
    return issue.size(inst.operand(2)) && issue.shared(inst.operand(0), own, issue.copy.shared, "destination") &&
           (!(inst.flags & kMulticast) || issue.mask(inst.operand(4))) && issue.destination(16) && issue.global(inst.operand(1), "source") &&
           issue.mbarrier(inst.operand(3), issue.copy.shared, own);
  });
}

void run_store(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const auto op = static_cast<ReduceOp>(inst.aux);
  issue_lanes(ctx, inst, mask, op == ReduceOp::none ? Kind::store : Kind::reduce, [&](BulkIssue& issue) {
    BulkCopy& copy = issue.copy;
    copy.reduce = op;
    copy.type = inst.type;
    if (op != ReduceOp::none) copy.combine = combine_of(op, inst.type);
    if (inst.flags & kByteMask) copy.byte_mask = static_cast<uint16_t>(issue.value32(inst.operand(inst.group_count - 1)));
    return issue.size(inst.operand(2)) && issue.shared(inst.operand(1), true, copy.shared, "source") && issue.in_window(copy.shared, 16, "source") &&
           issue.global(inst.operand(0), "destination");
  });
}

void run_to_cluster(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const auto op = static_cast<ReduceOp>(inst.aux);
  issue_lanes(ctx, inst, mask, Kind::shared_to_cluster, [&](BulkIssue& issue) {
    BulkCopy& copy = issue.copy;
    copy.reduce = op;
    copy.type = inst.type;
    if (op != ReduceOp::none) copy.combine = combine_of(op, inst.type);
    return issue.size(inst.operand(2)) && issue.shared(inst.operand(1), true, copy.shared, "source") && issue.in_window(copy.shared, 16, "source") &&
           issue.shared(inst.operand(0), false, copy.target, "destination") && issue.in_window(copy.target, 16, "destination") &&
           issue.mbarrier(inst.operand(3), copy.target, false);
  });
}

void run_prefetch(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  issue_lanes(ctx, inst, mask, Kind::prefetch,
              [&](BulkIssue& issue) { return issue.size(inst.operand(1)) && issue.global(inst.operand(0), "source"); });
}

// ---- tensor copies ----

void run_tensor_load(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const bool own = inst.flags & kOwnCta, offsets = inst.flags & kOffsets;
  issue_lanes(ctx, inst, mask, Kind::load, [&](BulkIssue& issue) {
    BulkCopy& copy = issue.copy;
    copy.pair_mbarrier = inst.flags & kPair;
    return issue.tensor(inst.group(1), offsets ? inst.group(3) : std::span<const Operand>{}, inst.flags & kIm2col) &&
           issue.shared(inst.operand(0), own, copy.shared, "destination") &&
           (!(inst.flags & kMulticast) || issue.mask(inst.operand(offsets ? 4 : 3))) && issue.destination(shared_alignment(*copy.map)) &&
           issue.mbarrier(inst.operand(2), copy.shared, own && !copy.pair_mbarrier);
  });
}

void run_tensor_store(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const auto op = static_cast<ReduceOp>(inst.aux);
  issue_lanes(ctx, inst, mask, op == ReduceOp::none ? Kind::store : Kind::reduce, [&](BulkIssue& issue) {
    return issue.tensor(inst.group(0), {}, inst.flags & kIm2col) && issue.shared(inst.operand(1), true, issue.copy.shared, "source") &&
           issue.in_window(issue.copy.shared, shared_alignment(*issue.copy.map), "source") &&
           (op == ReduceOp::none || set_tensor_reduction(issue, op));
  });
}

void run_tensor_prefetch(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  issue_lanes(ctx, inst, mask, Kind::prefetch, [&](BulkIssue& issue) {
    return issue.tensor(inst.group(0), inst.flags & kOffsets ? inst.group(1) : std::span<const Operand>{}, inst.flags & kIm2col);
  });
}

// ---- groups ----

void run_commit(ExecContext& ctx, const Inst&, uint32_t mask) {
  ctx.fx.control = Control::bulk_commit;
  ctx.fx.lanes = mask;
}

void run_wait(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  ctx.fx.control = Control::bulk_wait;
  ctx.fx.lanes = mask;
  ctx.fx.count = inst.aux;
  ctx.fx.flag = inst.flags & kRead;
}

// ---- bind ----

/// Optional operands from group `first` on, in the order of the manual; their number must be what the modifiers ask for.
std::string bind_extras(Inst& inst, const Decoded& d, int first) {
  if (d.has("multicast::cluster")) inst.flags |= kMulticast;
  if (d.has("L2::cache_hint")) inst.flags |= kHint;
  if (d.has("cp_mask")) inst.flags |= kByteMask;
  int at = first;
  const auto next = [&](int width, const char* what) -> std::string {
    if (at >= inst.group_count) return fmt::format("operand {} ({}) is missing", at + 1, what);
    return expect_group(inst, at++, d, width, false, false);
  };
  if (inst.flags & kOffsets) {
    if (at >= inst.group_count) return fmt::format("operand {} (im2col offsets) is missing", at + 1);
    const size_t wanted = inst.aux - 2;
    if (inst.group(at).size() != wanted)
      return fmt::format("operand {} has {} im2col offsets, expected {} for .{}d", at + 1, inst.group(at).size(), wanted, inst.aux);
    if (auto e = next(16, "im2col offsets"); !e.empty()) return e;
  }
  if (inst.flags & kMulticast)
    if (auto e = next(16, "CTA mask"); !e.empty()) return e;
  if (inst.flags & kHint)
    if (auto e = next(64, "cache policy"); !e.empty()) return e;
  if (inst.flags & kByteMask)
    if (auto e = next(16, "byte mask"); !e.empty()) return e;
  if (at != inst.group_count)
    return fmt::format("found {} operands, expected {}: .multicast::cluster and .L2::cache_hint bring one each", inst.group_count, at);
  return {};
}

std::string expect_addresses(const Inst& inst, std::initializer_list<int> groups) {
  for (const int g : groups)
    if (auto e = expect_address(inst, g); !e.empty()) return e;
  return {};
}

void describe_bulk(Inst& inst, ExecFn exec, Space space) {
  inst.op = inst.def ? inst.def->op : Op::cp_async_bulk;
  inst.timing = TimingClass::tma;
  inst.space = space;
  inst.exec = exec;
}

std::string bind_load(Inst& inst, const Decoded& d) {
  describe_bulk(inst, &run_load, d.has("shared::cta") ? Space::shared : Space::shared_cluster);
  inst.flags = d.has("shared::cta") ? kOwnCta : 0;
  make_generic(inst, 1);
  if (auto e = expect_addresses(inst, {0, 1, 3}); !e.empty()) return e;
  if (auto e = expect_group(inst, 2, d, 32, false, false); !e.empty()) return e;
  return bind_extras(inst, d, 4);
}

std::string bind_store(Inst& inst, const Decoded& d) {
  describe_bulk(inst, &run_store, Space::global);
  if (auto e = expect_addresses(inst, {0, 1}); !e.empty()) return e;
  if (auto e = expect_group(inst, 2, d, 32, false, false); !e.empty()) return e;
  return bind_extras(inst, d, 3);
}

std::string bind_to_cluster(Inst& inst, const Decoded& d) {
  describe_bulk(inst, &run_to_cluster, Space::shared_cluster);
  if (auto e = expect_addresses(inst, {0, 1, 3}); !e.empty()) return e;
  return expect_group(inst, 2, d, 32, false, false);
}

std::string bind_reduce(Inst& inst, const Decoded& d) {
  const bool to_global = d.has("global");
  const ReduceOp op = reduce_op_named(d.value("redOp"));
  const bool half = d.type() == Type::f16 || d.type() == Type::bf16;
  if (!reduces(op, d.type(), to_global))
    return fmt::format(".{} is not an operation on .{} in {}", d.value("redOp"), name(d.type()), to_global ? ".global" : ".shared::cluster");
  if (op == ReduceOp::add && half != d.has("noftz"))
    return half ? "expected .noftz: .add on .f16 and .bf16 requires it" : ".noftz belongs to .add on .f16 and .bf16";
  if (op != ReduceOp::add && d.has("noftz")) return ".noftz belongs to .add on .f16 and .bf16";
  if (auto e = to_global ? bind_store(inst, d) : bind_to_cluster(inst, d); !e.empty()) return e;
  inst.type = d.type();
  inst.aux = static_cast<uint64_t>(op);
  return {};
}

std::string bind_prefetch(Inst& inst, const Decoded& d) {
  describe_bulk(inst, &run_prefetch, Space::global);
  if (auto e = expect_address(inst, 0); !e.empty()) return e;
  if (auto e = expect_group(inst, 1, d, 32, false, false); !e.empty()) return e;
  return bind_extras(inst, d, 2);
}

/// [map, coordinates] at `group`; sets aux to the number of dimensions for bind_extras.
std::string bind_tensor(Inst& inst, const Decoded& d, int group) {
  const auto dims = static_cast<uint64_t>(d.value("dim")[0] - '0');
  const std::string_view mode = d.value("load_mode");
  inst.aux = dims;
  if (mode.substr(0, 6) == "im2col") inst.flags |= kIm2col;
  if (mode == "im2col") inst.flags |= kOffsets;
  if ((inst.flags & kIm2col) && dims < 3) return fmt::format(".{} with .{}d, expected .3d to .5d", mode, dims);
  if (auto e = expect_address(inst, group); !e.empty()) return e;
  const auto operands = inst.group(group);
  if (operands.size() != dims + 1)
    return fmt::format("operand {} has {} coordinates, expected {} for .{}d", group + 1, operands.size() - 1, dims, dims);
  for (size_t i = 1; i < operands.size(); ++i)
    if (auto e = expect_value(operands[i], d, 32, false, fmt::format("coordinate {}", i - 1)); !e.empty()) return e;
  make_generic(inst, group);
  return {};
}

std::string bind_tensor_load(Inst& inst, const Decoded& d) {
  describe_bulk(inst, &run_tensor_load, d.has("shared::cta") ? Space::shared : Space::shared_cluster);
  inst.flags = (d.has("shared::cta") ? kOwnCta : 0) | (d.has("cta_group::2") ? kPair : 0);
  if (!d.value("cta_group").empty() && d.module && (d.module->sm < 100 || d.module->sm >= 120 || !d.module->arch_specific))
    return fmt::format("target {} does not have .cta_group, expected sm_100a", d.module->target);
  if (auto e = bind_tensor(inst, d, 1); !e.empty()) return e;
  if (auto e = expect_addresses(inst, {0, 2}); !e.empty()) return e;
  return bind_extras(inst, d, 3);
}

std::string bind_tensor_store(Inst& inst, const Decoded& d) {
  describe_bulk(inst, &run_tensor_store, Space::global);
  if (auto e = bind_tensor(inst, d, 0); !e.empty()) return e;
  if (auto e = expect_address(inst, 1); !e.empty()) return e;
  if (auto e = bind_extras(inst, d, 2); !e.empty()) return e;
  inst.aux = static_cast<uint64_t>(reduce_op_named(d.value("redOp")));
  return {};
}

std::string bind_tensor_prefetch(Inst& inst, const Decoded& d) {
  describe_bulk(inst, &run_tensor_prefetch, Space::global);
  if (auto e = bind_tensor(inst, d, 0); !e.empty()) return e;
  return bind_extras(inst, d, 1);
}

std::string bind_commit(Inst& inst, const Decoded&) {
  inst.op = Op::cp_async_bulk_commit;
  inst.timing = TimingClass::tma_wait;
  inst.exec = &run_commit;
  return {};
}

std::string bind_wait(Inst& inst, const Decoded& d) {
  inst.op = Op::cp_async_bulk_wait;
  inst.timing = TimingClass::tma_wait;
  inst.exec = &run_wait;
  inst.flags = d.has("read") ? kRead : 0;
  const Operand& n = inst.operand(0);
  if (n.kind != Operand::Kind::constant || n.value < 0) return "operand 1 is not a constant, expected the number of groups that may stay pending";
  inst.aux = static_cast<uint64_t>(n.value);
  return {};
}

constexpr std::string_view kTensorLoad =
    "cp.async.bulk.tensor.dim.dst.global{.load_mode}.mbarrier::complete_tx::bytes{.multicast}{.cta_group}{.level::cache_hint} "
    "[dstMem], [tensorMap, tensorCoords], [mbar]{, im2colOffsets}{, ctaMask}{, cache-policy};"
    "  .dim = { .1d, .2d, .3d, .4d, .5d };  .dst = { .shared::cluster };  .load_mode = { .tile, .im2col };  .multicast = { .multicast::cluster };"
    "  .cta_group = { .cta_group::1, .cta_group::2 };  .level::cache_hint = { .L2::cache_hint };";
constexpr std::string_view kTensorLoadOwn =
    "cp.async.bulk.tensor.dim.dst.global{.load_mode}.mbarrier::complete_tx::bytes{.cta_group}{.level::cache_hint} "
    "[dstMem], [tensorMap, tensorCoords], [mbar]{, im2colOffsets}{, cache-policy};"
    "  .dim = { .1d, .2d, .3d, .4d, .5d };  .dst = { .shared::cta };  .load_mode = { .tile, .im2col };"
    "  .cta_group = { .cta_group::1, .cta_group::2 };  .level::cache_hint = { .L2::cache_hint };";

std::vector<InstDef> bulk_table() {
  return {
      {.base = "cp",
       .syntax = "cp.async.bulk.dst.global.mbarrier::complete_tx::bytes{.multicast}{.level::cache_hint} [dstMem], [srcMem], size, [mbar]{, "
                 "ctaMask}{, cache-policy};"
                 "  .dst = { .shared::cluster };  .multicast = { .multicast::cluster };  .level::cache_hint = { .L2::cache_hint };",
       .op = Op::cp_async_bulk,
       .bind = &bind_load,
       .since = {8, 0, 90},
       .manual = "Bulk copy: cp.async.bulk",
       .doc = "copy bytes from global to shared memory"},
      {.base = "cp",
       .syntax = "cp.async.bulk.dst.global.mbarrier::complete_tx::bytes{.level::cache_hint} [dstMem], [srcMem], size, [mbar]{, cache-policy};"
                 "  .dst = { .shared::cta };  .level::cache_hint = { .L2::cache_hint };",
       .op = Op::cp_async_bulk,
       .bind = &bind_load,
       .since = {8, 6, 90},
       .manual = "Bulk copy: cp.async.bulk",
       .doc = "copy bytes from global to the CTA's own shared memory"},
      {.base = "cp",
       .syntax = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dstMem], [srcMem], size, [mbar];",
       .op = Op::cp_async_bulk,
       .bind = &bind_to_cluster,
       .since = {8, 0, 90},
       .manual = "Bulk copy: cp.async.bulk",
       .doc = "copy bytes to the shared memory of another CTA"},
      {.base = "cp",
       .syntax = "cp.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}{.cp_mask} [dstMem], [srcMem], size{, cache-policy}{, byteMask};"
                 "  .level::cache_hint = { .L2::cache_hint };",
       .op = Op::cp_async_bulk,
       .bind = &bind_store,
       .since = {8, 0, 90},
       .manual = "Bulk copy: cp.async.bulk",
       .doc = "copy bytes from shared to global memory"},
      {.base = "cp",
       .syntax = "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.redOp.type [dstMem], [srcMem], size, [mbar];"
                 "  .redOp = { .and, .or, .xor, .add, .inc, .dec, .min, .max };  .type = { .b32, .u32, .s32, .b64, .u64 };\n\n"
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.redOp{.noftz}.type [dstMem], [srcMem], size{, cache-policy};"
                 "  .level::cache_hint = { .L2::cache_hint };  .redOp = { .and, .or, .xor, .add, .inc, .dec, .min, .max };"
                 "  .type = { .f16, .bf16, .b32, .u32, .s32, .b64, .u64, .s64, .f32, .f64 };",
       .op = Op::cp_reduce_async_bulk,
       .bind = &bind_reduce,
       .since = {8, 0, 90},
       .manual = "Bulk copy: cp.reduce.async.bulk",
       .doc = "reduce an array in shared memory into one elsewhere"},
      {.base = "cp",
       .syntax = "cp.async.bulk.prefetch.L2.global{.level::cache_hint} [srcMem], size{, cache-policy};  .level::cache_hint = { .L2::cache_hint };",
       .op = Op::cp_async_bulk_prefetch,
       .bind = &bind_prefetch,
       .since = {8, 0, 90},
       .manual = "Bulk copy: cp.async.bulk.prefetch",
       .doc = "bring bytes into the L2 cache"},
      {.base = "cp",
       .syntax = kTensorLoad,
       .op = Op::cp_async_bulk_tensor,
       .bind = &bind_tensor_load,
       .since = {8, 0, 90},
       .manual = "Tensor copy: cp.async.bulk.tensor",
       .doc = "copy a box of a tensor to shared memory"},
      {.base = "cp",
       .syntax = kTensorLoadOwn,
       .op = Op::cp_async_bulk_tensor,
       .bind = &bind_tensor_load,
       .since = {8, 6, 90},
       .manual = "Tensor copy: cp.async.bulk.tensor",
       .doc = "copy a box of a tensor to the CTA's own shared memory"},
      {.base = "cp",
       .syntax = "cp.async.bulk.tensor.dim.global.shared::cta{.load_mode}.bulk_group{.level::cache_hint} [tensorMap, tensorCoords], [srcMem]{, "
                 "cache-policy};"
                 "  .dim = { .1d, .2d, .3d, .4d, .5d };  .load_mode = { .tile, .im2col_no_offs };  .level::cache_hint = { .L2::cache_hint };",
       .op = Op::cp_async_bulk_tensor,
       .bind = &bind_tensor_store,
       .since = {8, 0, 90},
       .manual = "Tensor copy: cp.async.bulk.tensor",
       .doc = "copy shared memory to a box of a tensor"},
      {.base = "cp",
       .syntax = "cp.reduce.async.bulk.tensor.dim.global.shared::cta.redOp{.load_mode}.bulk_group{.level::cache_hint} [tensorMap, tensorCoords], "
                 "[srcMem]{, cache-policy};"
                 "  .dim = { .1d, .2d, .3d, .4d, .5d };  .redOp = { .add, .min, .max, .inc, .dec, .and, .or, .xor };  .load_mode = { .tile, "
                 ".im2col_no_offs };"
                 "  .level::cache_hint = { .L2::cache_hint };",
       .op = Op::cp_reduce_async_bulk_tensor,
       .bind = &bind_tensor_store,
       .since = {8, 0, 90},
       .manual = "Tensor copy: cp.reduce.async.bulk.tensor",
       .doc = "reduce shared memory into a box of a tensor"},
      {.base = "cp",
       .syntax =
           "cp.async.bulk.prefetch.tensor.dim.L2.global{.load_mode}{.level::cache_hint} [tensorMap, tensorCoords]{, im2colOffsets}{, cache-policy};"
           "  .dim = { .1d, .2d, .3d, .4d, .5d };  .load_mode = { .tile, .im2col };  .level::cache_hint = { .L2::cache_hint };",
       .op = Op::cp_async_bulk_prefetch_tensor,
       .bind = &bind_tensor_prefetch,
       .since = {8, 0, 90},
       .manual = "Tensor copy: cp.async.bulk.prefetch.tensor",
       .doc = "bring a box of a tensor into the L2 cache"},
      {.base = "cp",
       .syntax = "cp.async.bulk.commit_group;",
       .op = Op::cp_async_bulk_commit,
       .bind = &bind_commit,
       .since = {8, 0, 90},
       .manual = "Bulk copy: cp.async.bulk.commit_group",
       .doc = "close the group of bulk copies issued so far"},
      {.base = "cp",
       .syntax = "cp.async.bulk.wait_group{.read} N;",
       .op = Op::cp_async_bulk_wait,
       .bind = &bind_wait,
       .since = {8, 0, 90},
       .manual = "Bulk copy: cp.async.bulk.wait_group",
       .doc = "wait until at most N of the newest bulk groups are pending"},
  };
}

}  // namespace

std::span<const InstDef> bulk_instructions() {
  static const std::vector<InstDef> table = [] {
    std::vector<InstDef> all = bulk_table();
    for (const InstDef& def : tensormap_instructions()) all.push_back(def);
    return all;
  }();
  return table;
}

}  // namespace tcsim::isa
