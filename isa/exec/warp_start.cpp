// Starting a warp: registers, special registers; and timing mode's unknown tags.
#include <algorithm>
#include <optional>

#include "isa/check.h"
#include "isa/exec/value_slice.h"
#include "isa/exec/warp.h"

namespace tcsim::isa {
namespace {

using Value = uint64_t;

/// Component "x", "y", "z" of a name like "%tid.x"; 0 for ".w" (PTX ISA, "Special Registers").
uint64_t component(const Dim3& d, std::string_view name) {
  switch (name.back()) {
    case 'x': return d.x;
    case 'y': return d.y;
    case 'z': return d.z;
    default: return 0;
  }
}

struct Facts {
  const LaunchInfo& launch;
  const Kernel& kernel;
  Dim3 cta;
  uint32_t warp, warps, sm;
};

Dim3 divide(const Dim3& a, const Dim3& b) { return {a.x / b.x, a.y / b.y, a.z / b.z}; }
Dim3 remainder(const Dim3& a, const Dim3& b) { return {a.x % b.x, a.y % b.y, a.z % b.z}; }

/// Registers that are the same in all lanes of a warp.
std::optional<Value> uniform_special(std::string_view name, const Facts& f) {
  const auto starts = [name](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; };
  const Dim3& cluster = f.launch.cluster;
  const Dim3 in_cluster = remainder(f.cta, cluster);
  if (starts("%ntid.")) return component(f.launch.block, name);
  if (starts("%ctaid.")) return component(f.cta, name);
  if (starts("%nctaid.")) return component(f.launch.grid, name);
  if (starts("%clusterid.")) return component(divide(f.cta, cluster), name);
  if (starts("%nclusterid.")) return component(divide(f.launch.grid, cluster), name);
  if (starts("%cluster_ctaid.")) return component(in_cluster, name);
  if (starts("%cluster_nctaid.")) return component(cluster, name);
  if (name == "%cluster_ctarank") return (uint64_t{in_cluster.z} * cluster.y + in_cluster.y) * cluster.x + in_cluster.x;
  if (name == "%cluster_nctarank") return cluster.count();
  if (name == "%is_explicit_cluster") return cluster.count() > 1;
  if (name == "%warpid") return f.warp;
  if (name == "%nwarpid") return f.warps;
  if (name == "%smid") return f.sm;
  if (name == "%nsmid") return f.launch.sm_count;
  if (name == "%gridid") return 1;
  if (name == "%dynamic_smem_size") return f.launch.dynamic_smem_bytes;
  if (name == "%total_smem_size" || name == "%aggr_smem_size") return f.kernel.shared_static_bytes + f.launch.dynamic_smem_bytes;
  if (starts("%envreg") || starts("%pm") || starts("%reserved_smem") || name == "%current_graph_exec") return 0;
  return std::nullopt;
}

uint64_t lane_special(std::string_view name, const Facts& f, uint32_t lane) {
  const uint32_t thread = f.warp * kLanes + lane;
  const Dim3& block = f.launch.block;
  if (name == "%tid.x") return thread % block.x;
  if (name == "%tid.y") return thread / block.x % block.y;
  if (name == "%tid.z") return thread / block.x / block.y;
  if (name == "%tid.w") return 0;
  if (name == "%laneid") return lane;
  if (name == "%lanemask_eq") return 1u << lane;
  if (name == "%lanemask_le") return lane == 31 ? kFullMask : (2u << lane) - 1;
  if (name == "%lanemask_lt") return (1u << lane) - 1;
  if (name == "%lanemask_ge") return kFullMask << lane;
  if (name == "%lanemask_gt") return lane == 31 ? 0u : kFullMask << (lane + 1);
  // Registers that change while the kernel runs (%clock, %globaltimer, ...) are read by mov itself.
  return 0;
}

}  // namespace

void Warp::set_specials(const LaunchInfo& launch, Dim3 ctaid, uint32_t sm_id) {
  const uint32_t threads = static_cast<uint32_t>(launch.block.count());
  const Facts facts{launch, *program_->kernel, ctaid, index_, (threads + kLanes - 1) / kLanes, sm_id};
  for (const SpecialSlot& special : program_->kernel->specials) {
    const std::optional<Value> uniform = uniform_special(special.name, facts);
    for (uint32_t l = 0; l < kLanes; ++l) {
      const Value v = uniform ? *uniform : lane_special(special.name, facts, l);
      if (special.bit_width == 64) ctx.reg<uint64_t>(special.slot)[l] = v;
      else ctx.reg<uint32_t>(special.slot)[l] = static_cast<uint32_t>(v);
    }
  }
}

void Warp::start(const Program& program, const LaunchInfo& launch, Dim3 ctaid, uint32_t index, uint32_t sm_id, bool values_known) {
  TC_CHECK(program.slice, "finish_program() was not called for {}", program.kernel->name);
  const Kernel& kernel = *program.kernel;
  program_ = &program;
  entries_ = (values_known ? program.entries : program.timing_entries).data();
  first_ = (values_known ? program.entry_first : program.timing_first).data();
  index_ = index;

  constexpr size_t kAlign = 64 / sizeof(uint32_t);  // cache lines, for the vector loops
  storage_.assign(static_cast<size_t>(kernel.slot_count) * kLanes + kAlign, 0);
  preds_.assign(kernel.pred_count + 1, 0);
  const auto misalign = reinterpret_cast<uintptr_t>(storage_.data()) / sizeof(uint32_t) % kAlign;
  ctx.regs = storage_.data() + (misalign ? kAlign - misalign : 0);
  ctx.preds = preds_.data();
  ctx.carry = &preds_[kernel.pred_count];
  unknown_.assign(values_known ? 0 : (program.slice->tag_count + 63) / 64, 0);

  const uint64_t threads = launch.block.count(), before = uint64_t{index} * kLanes;
  TC_CHECK(before < threads, "warp {} of a CTA of {} threads", index, threads);
  const uint64_t lanes = std::min<uint64_t>(kLanes, threads - before);
  ctx.warp_lanes = ctx.live = ctx.active = lanes == kLanes ? kFullMask : (1u << lanes) - 1;
  ctx.params = launch.params.data();
  ctx.param_bytes = static_cast<uint32_t>(launch.params.size());
  ctx.constants = launch.constants.data();
  ctx.constant_bytes = static_cast<uint32_t>(launch.constants.size());
  ctx.local_bytes = kernel.local_bytes;
  ctx.local_stride = (kernel.local_bytes + 31) & ~31u;
  ctx.generation = launch.generation;
  ctx.insts = kernel.insts.data();
  ctx.warp_index = static_cast<uint16_t>(index);
  ctx.values_known = values_known;
  ctx.addresses_only = ctx.data_unknown = false;
  ctx.clock = 0;
  ctx.wgmma = &wgmma;
  ctx.wgmma_registers = program.wgmma_registers.get();
  ctx.fx.reset();
  ctx.fx.findings.clear();
  ctx.fx.fault = {};
  const Dim3& c = launch.cluster;
  ctx.cluster_rank = (ctaid.z % c.z * c.y + ctaid.y % c.y) * c.x + ctaid.x % c.x;
  async.clear();
  bulk.clear();
  wgmma.clear();
  async.move_bytes = values_known || program.slice->shared_needed;
  set_specials(launch, ctaid, sm_id);

  live_ = ctx.live;
  joins_.clear();
  splits_.clear();
  splits_.push_back({live_, 0});
  budget_ = kReconvergePatience;
  last_inst_ = 0;
  make_current(0);
  last_active_ = active_;
}

void Warp::run_timing(const ProgramEntry& entry, uint32_t mask) {
  const Inst& inst = *entry.inst;
  if (entry.timing_run == TimingRun::addresses) {
    ctx.addresses_only = true;
    inst.exec(ctx, inst, mask);
    ctx.addresses_only = false;
    return;
  }
  const ValueSlice::Checks& checks = program_->slice->checks[entry.index];
  const auto unknown = [this](const std::vector<uint32_t>& tags) {
    for (const uint32_t t : tags)
      if (unknown_[t >> 6] >> (t & 63) & 1) return true;
    return false;
  };
  if (unknown(checks.critical)) {
    ctx.fault("unknown-value", -1, 0,
              "a branch, address or mask depends on matrix results or on bytes that were never written, which timing mode does not compute: "
              "--mode full is needed");
    return;
  }
  if (mask == 0) return;
  const bool matrix = inst.op == Op::mma || inst.op == Op::mma_sp || inst.op == Op::wmma_mma;
  const bool wgmma = inst.op == Op::wgmma_mma || inst.op == Op::wgmma_mma_sp || inst.op == Op::tcgen05_ld;  // recorded, and its results unknown
  bool result_unknown = matrix || unknown(checks.data);
  ctx.addresses_only = checks.idle;
  if (matrix) {
    // Not computed.
  } else if (!result_unknown || inst.op == Op::bar_red || wgmma) {
    inst.exec(ctx, inst, mask);
    result_unknown |= wgmma || (ctx.fx.hazard & kUninitialisedRead) != 0;
    ctx.fx.hazard &= kFindings;  // in this mode undefined bytes are mostly values that were not computed
  } else if (inst.op == Op::st || inst.op == Op::red || inst.op == Op::atom || inst.op == Op::stmatrix || inst.op == Op::wmma_store ||
             inst.op == Op::tcgen05_st) {
    ctx.data_unknown = true;
    inst.exec(ctx, inst, mask);
    ctx.data_unknown = false;
  }
  ctx.addresses_only = false;
  for (const uint32_t t : checks.defs) {
    const uint64_t bit = 1ull << (t & 63);
    if (result_unknown) unknown_[t >> 6] |= bit;
    else if (mask == ctx.live) unknown_[t >> 6] &= ~bit;
  }
}

}  // namespace tcsim::isa
