#include "isa/exec/wgmma_registers.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/exec/async_queues.h"
#include "isa/exec/tensor_watch.h"
#include "isa/exec/value_slice.h"

namespace tcsim::isa {
namespace {

bool is_wgmma(const Inst& inst) { return inst.op == Op::wgmma_mma || inst.op == Op::wgmma_mma_sp; }

struct Owner {
  uint32_t inst;
  bool accumulator, load;
};
using Owners = std::unordered_map<int32_t, std::vector<Owner>>;  // by slot

Owners owners_of(const Kernel& kernel) {
  Owners owners;
  for (uint32_t i = 0; i < kernel.insts.size(); ++i) {
    const Inst& inst = kernel.insts[i];
    if (inst.op == Op::tcgen05_ld)
      for (const Operand& op : inst.group(0)) owners[op.slot].push_back({i, true, true});
    if (!is_wgmma(inst)) continue;
    for (int g = 0; g < 2; ++g)  // D, A
      for (const Operand& op : inst.group(g))
        if (op.kind == Operand::Kind::reg && op.bit_width != 64) owners[op.slot].push_back({i, g == 0, false});
  }
  return owners;
}

std::string_view name_of(const Kernel& kernel, int32_t slot) {
  const auto it = std::find_if(kernel.register_names.begin(), kernel.register_names.end(), [slot](const auto& r) { return r.first == slot; });
  return it == kernel.register_names.end() ? std::string_view("a register") : std::string_view(it->second);
}

}  // namespace

std::shared_ptr<const WgmmaRegisters> WgmmaRegisters::of(const Kernel& kernel) {
  const Owners owners = owners_of(kernel);
  if (owners.empty()) return nullptr;
  auto result = std::make_shared<WgmmaRegisters>();
  result->kernel_ = &kernel;
  for (uint32_t i = 0; i < kernel.insts.size(); ++i) {
    if (is_wgmma(kernel.insts[i])) continue;
    const InstUses uses = uses_of(kernel.insts[i]);
    const auto add = [&](const Operand& op, bool writes) {
      const int slots = op.kind == Operand::Kind::pred || op.slot < 0 ? 0 : std::max(1, op.bit_width / 32);
      for (int s = 0; s < slots; ++s) {
        const auto it = owners.find(op.slot + s);
        if (it == owners.end()) continue;
        for (const Owner& owner : it->second)
          if (writes || owner.accumulator) result->conflicts_[i].push_back({owner.inst, op.slot + s, writes, owner.accumulator, owner.load});
      }
    };
    for (const Operand* op : uses.defs) add(*op, true);
    for (const auto* list : {&uses.data, &uses.critical})
      for (const Operand* op : *list) add(*op, false);
  }
  return result;
}

void WgmmaRegisters::check(ExecContext& ctx, const Inst& inst) const {
  const uint32_t index = ctx.index_of(inst);
  for (const Conflict& c : conflicts_.at(index)) {
    if (c.load) {
      check_load(ctx, index, c);
      continue;
    }
    for (size_t i = 0; i < ctx.wgmma->size(); ++i) {
      if (ctx.wgmma->at(i).index != c.owner) continue;
      return ctx.find({kWgmmaRegister, index, ctx.warp_index, c.owner, ctx.warp_index, HazardFinding::kNone,
                       fmt::format("{} {}, {} of {{}}, which no wgmma.wait_group has waited for", c.writes ? "writes" : "reads",
                                   name_of(*kernel_, c.slot), c.accumulator ? "an accumulator" : "a fragment of A")});
    }
  }
}

void WgmmaRegisters::check_load(ExecContext& ctx, uint32_t index, const Conflict& c) const {
  if (ctx.tensor_watch == nullptr || !ctx.tensor_watch->told_of_load(ctx.cluster_rank, ctx.warp_index, c.owner)) return;
  ctx.find({kMissingWait, index, ctx.warp_index, c.owner, ctx.warp_index, HazardFinding::kNone,
            fmt::format("{} {}, which {{}} loads: tcgen05.wait::ld is missing after it", c.writes ? "writes" : "reads", name_of(*kernel_, c.slot))});
}

void WgmmaRegisters::run_watched(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!ctx.wgmma->empty() || (ctx.tensor_watch != nullptr && ctx.tensor_watch->loading(ctx.cluster_rank, ctx.warp_index)))
    ctx.wgmma_registers->check(ctx, inst);
  inst.exec(ctx, inst, mask);
}

}  // namespace tcsim::isa
