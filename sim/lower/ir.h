// The lowering's own view of a kernel: registers, values, machine operations, and what becomes of each PTX instruction.
//
//   Function fn(module, kernel, machine);   // analysis: definitions, liveness, dead code, uniform values (flow.cpp)
//   select(fn);                             // PTX -> machine operations                                 (select*.cpp)
//   schedule(fn, ...);                      // order inside each block                                   (schedule.cpp)
//   emit(fn, ...);                          // LoweredProgram                                            (emit.cpp)
//
// A register is a PTX register (its first slot), a predicate (slot_count + p) or the carry flag. A value is what one
// instruction leaves in a register; a register that several definitions reach has one opaque value (def == -1).
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isa/ptx/module.h"
#include "sim/config/machine.h"
#include "sim/lower/lower.h"

namespace tcsim::sim::lowering {

using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::TimingClass;
using ValueId = int32_t;

struct Value {
  int32_t reg = -1;           // -1: temporary inside an expansion
  int32_t def = -1;           // kernel instruction that defines it; -1: several, or set before the kernel starts
  int32_t op = -1;            // machine operation that produces it; -1: none
  uint8_t words = 1;          // 32-bit registers that it fills; 0: predicate, uniform register or carry
  uint16_t reads = 0;         // live PTX instructions that read it (saturates)
  bool leaves_block = false;  // may be read in another block through the register
};

/// A machine operation before scheduling.
struct MOp {
  TimingClass timing = TimingClass::alu;
  uint16_t mma_row = 0;
  uint8_t mma_steps = 1;  // operations that share the row's interval
  bool flexible = false;  // ALU or multiply pipe, whichever is free (IADD3 or IMAD.IADD, MOV or IMAD.MOV, SHF or IMAD.SHL)
  bool branch = false;
  int32_t inst = -1;  // PTX instruction that it is charged to
  int32_t block = 0;
  std::vector<ValueId> uses, defs;
};

enum class Fate : uint8_t { dead, rider, op };  // rider: runs for its semantics, costs nothing

struct InstInfo {
  Fate fate = Fate::dead;
  bool live = false, selected = false;
  std::vector<int32_t> ops;
  int32_t home = -1;                                // index in ops of the one that runs the semantics; -1: the last
  std::vector<std::pair<ValueId, ValueId>> copies;  // scoreboard copies (to, from)
  std::vector<int32_t> defs, uses;                  // registers
};

struct BlockInfo {
  std::vector<uint64_t> live_in, live_out;  // bit per register
  bool divergent = false;                   // lanes of a warp may disagree on coming here
  int32_t depth = 0;                        // of loops around it
  std::vector<int32_t> extra_ops;           // operations of no instruction (stack pointer, descriptors), in order
};

class Function {
 public:
  Function(const isa::Module& module, const isa::Kernel& kernel, const cfg::Machine& machine);

  const isa::Module& module;
  const isa::Kernel& kernel;
  const cfg::Machine& machine;
  int sm = 0;  // of the machine: what ptxas would assemble for
  std::vector<InstInfo> insts;
  std::vector<BlockInfo> blocks;
  std::vector<Value> values;
  std::vector<MOp> ops;
  std::vector<const cfg::MmaTiming*> mma_rows;
  std::vector<std::string_view> mma_names;
  bool wgmma_serialised = false;
  int32_t reg_count = 0;
  int32_t accumulators = 0;                    // registers of D of the wgmma that may be in flight together
  std::vector<uint8_t> reg_words;              // 32-bit registers each; 0 for predicates
  std::vector<std::vector<int32_t>> def_list;  // per register, ascending instruction indices
  std::vector<uint8_t> special;                // set when the warp starts (%tid.x, ...)
  std::vector<uint8_t> uniform;                // held in a uniform register
  std::vector<int32_t> vector_place;           // offset in the vector that fixes its neighbours; -1: free

  int32_t reg_of(const Operand& operand) const;  // -1: none
  int32_t pred_reg(int p) const { return static_cast<int32_t>(kernel.slot_count) + p; }
  int32_t carry_reg() const { return static_cast<int32_t>(kernel.slot_count + kernel.pred_count); }
  int32_t block_of(int32_t inst) const { return static_cast<int32_t>(kernel.block_of[inst]); }
  const Inst& inst(int32_t i) const { return kernel.insts[i]; }

  /// The value of a register as instruction `user` reads it.
  ValueId value_read(int32_t reg, int32_t user);
  ValueId value_of(int32_t reg, int32_t def);
  ValueId temporary(uint8_t words);
  /// No definition of the register between the instructions at and user (same block), or only one in all.
  bool unchanged(int32_t reg, int32_t at, int32_t user) const;

 private:
  void find_registers();
  void find_dead_code();
  void find_liveness();
  void find_loops();
  void count_reads();
  std::unordered_map<uint64_t, ValueId> value_ids_;
};

/// Gives wgmma.fence and wgmma.wait_group the registers of the wgmma that they order (async_registers.cpp): a fence reads
/// those of the wgmma after it; a wait reads and writes the D and reads the A of those that may be in flight there.
void add_async_registers(Function& fn);

/// ptxas would make each wgmma wait for its own result; warns of the cause.
bool serialises_wgmma(const Function& fn, Diagnostics& diags);

/// Marks blocks that divergent branches control and registers that ptxas would keep in the uniform datapath.
void find_uniform(Function& fn);

// Roles of operands (operands.cpp).
void collect_registers(const Function& fn, const Inst& inst, std::vector<int32_t>& defs, std::vector<int32_t>& uses);
bool has_side_effect(const Inst& inst);
bool is_bulk(Op op);  // handed to the TMA engine
inline bool is_tcgen05(Op op) { return op >= Op::tcgen05_alloc && op <= Op::tcgen05_fence; }
/// The results of these are read behind a wait that blocks the warp until they are there.
inline bool behind_wait(TimingClass c) {
  return c == TimingClass::wgmma || c == TimingClass::wgmma_wait || c == TimingClass::tcgen05_ld || c == TimingClass::tcgen05_wait;
}
inline bool is_wgmma(Op op) { return op == Op::wgmma_mma || op == Op::wgmma_mma_sp; }
bool reads_clock(const Inst& inst);                    // keeps its place among all others
bool has_mod(const Inst& inst, std::string_view mod);  // a modifier, without the dot
int width_words(const Inst& inst);                     // 2 when the operation's type has 64 bits
/// First group that holds sources (0 when the instruction has no result).
int first_source(const Inst& inst);

enum class MemoryKind : uint8_t { none, load, store, atomic, copy, ordered };
struct MemoryRole {
  MemoryKind kind = MemoryKind::none;
  bool global = false, shared = false, local = false;
  bool is_volatile = false;
};
MemoryRole memory_role(const Inst& inst);

}  // namespace tcsim::sim::lowering
