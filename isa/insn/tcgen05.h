// tcgen05 (PTX ISA, "TensorCore 5th Generation Family Instructions"): what its instructions share.
//
// tcgen05.mma, cp, shift and commit are asynchronous: executing one makes a Tcgen05Op and gives it to issue_tcgen05(), which
// checks it and puts it into Effects::tcgen05; whoever runs the CTA completes it (isa/exec/tcgen05_issue.h).
// tcgen05.ld and st move their data when they execute; Inst::plan is their TensorAccess.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isa/exec/context.h"
#include "isa/exec/tensor_memory.h"
#include "isa/insn/def.h"
#include "isa/layout/tensor_memory_layout.h"

namespace tcsim::isa {

std::span<const InstDef> tcgen05_mma_instructions();     // isa/insn/tcgen05_mma.cpp; tcgen05_instructions() has them too
std::span<const InstDef> launch_control_instructions();  // clusterlaunchcontrol; likewise

/// Inst::plan of tcgen05.ld and tcgen05.st.
struct TensorAccess {
  TensorFragment fragment;  // shape, .num, packing: registers(), columns() of each of accesses()
  std::string key;          // "32x32b.x8", "16x64b.x4.pack"
  /// For register r and warp lane l, element half h: offset from the column of taddr, in words of TensorMemory (128 a column), and
  /// lanes: at [(r * per_register + h) * 32 + l].
  std::vector<uint32_t> offsets;
  bool contiguous = false;  // .32x32b without packing: a register is 32 neighbouring lanes of a column

  explicit TensorAccess(const TensorFragment& f);
  static std::shared_ptr<const TensorAccess> of(const TensorFragment& f);
  static const TensorAccess& of(const Inst& inst) { return *static_cast<const TensorAccess*>(inst.plan); }
  /// Columns of Tensor Memory that the warp moves, all accesses together.
  uint32_t columns() const { return fragment.columns() * fragment.accesses(); }
};

/// Bind helper. Empty: the module's target has tcgen05 (sm_100a, sm_100f, sm_103a, sm_110a, ...; not sm_120).
std::string needs_tcgen05(const Decoded& d);
/// 1 or 2, from .cta_group.
uint8_t cta_group_of(const Decoded& d);

/// A Tensor Memory address operand ([taddr]): the value of one lane.
uint32_t tensor_address(ExecContext& ctx, const Operand& op, int lane);
/// The same for a warp: all lanes must have the same value, else a fault (false).
bool uniform_tensor_address(ExecContext& ctx, const Inst& inst, const Operand& op, TensorAddress& out);
/// A fault unless the machine has Tensor Memory.
bool has_tensor_memory(ExecContext& ctx);
/// cta_group::2: a fault unless the CTA has a peer.
bool has_pair(ExecContext& ctx, uint8_t cta_group, int lane);

/// Names the CTA pair in TensorAllocation::pair: the same number in both CTAs.
uint64_t tensor_pair_number(const ExecContext& ctx);

/// Fills index, inst, rank, warp of `op`, whose kind, cta_group and operands the caller has set; checks that the Tensor Memory that it
/// touches is allocated and that operands do not overlap what it writes; tells the watches of Tensor and shared memory; and records
/// it. After a fault (ctx.fx.control) nothing is recorded.
void issue_tcgen05(ExecContext& ctx, const Inst& inst, Tcgen05Op op, int lane);

}  // namespace tcsim::isa
