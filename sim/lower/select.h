// Selection: which machine operations each live PTX instruction becomes. Demand-driven from what has an effect: an
// instruction whose result only feeds others that absorb it (an address offset, a shift inside LEA) stays a rider.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "sim/lower/ir.h"

namespace tcsim::sim::lowering {

/// A source operand after copies and constants are looked through.
struct Source {
  bool constant = false;
  int64_t value = 0;    // of a constant
  ValueId id = -1;      // else
  bool shared = false;  // others read it through the same copies
};

using Values = std::vector<ValueId>;

class Selector {
 public:
  Selector(Function& fn, Diagnostics& diags) : fn_(fn), diags_(diags) {}
  void run();

 private:
  friend struct Expansion;
  // --- looking at operands (select.cpp)
  Source source(const Operand& operand, int32_t user);
  Source look_through(ValueId id, int32_t user);
  const Operand* copied_operand(int32_t producer) const;
  void add_reads(Values& to, const Operand& operand, int32_t user);
  void add_value(Values& to, ValueId id, int32_t user);
  void add_register(Values& to, const Operand& operand, int32_t user);  // constants need a register too
  void add_group(Values& to, int group, int32_t user);
  void add_tuple(Values& to, int group, int32_t user);
  Values reads(int32_t i, int from_group);
  /// The instruction that computes the source, when its only reader is `user` in the same block and may absorb it.
  int32_t absorbable(const Source& s, int32_t user, std::initializer_list<Op> ops) const;
  bool inputs_unchanged(int32_t producer, int32_t user) const;
  void demand(ValueId id);
  void select(int32_t i);

  // --- making operations
  int32_t emit(int32_t i, TimingClass timing, Values uses, bool flexible = false);         // defines a temporary
  int32_t emit_result(int32_t i, TimingClass timing, Values uses, bool flexible = false);  // defines the results
  ValueId result_of(int32_t op) const { return fn_.ops[op].defs.empty() ? -1 : fn_.ops[op].defs[0]; }
  ValueId step(int32_t i, TimingClass timing, Values uses, bool flexible = false) { return result_of(emit(i, timing, std::move(uses), flexible)); }
  void finish(int32_t i);
  ValueId result(int32_t i, int k = 0);
  TimingClass alu(int32_t i) const;                                          // alu, or uniform when the result lives there
  void pair(int32_t i, TimingClass timing, const Values& uses, bool carry);  // 64 bits: two operations
  bool wide(const Inst& inst) const { return width_words(inst) == 2; }

  // --- by chapter
  void select_copy(int32_t i);  // select_move.cpp
  void select_pack(int32_t i);
  void select_special(int32_t i);
  void select_convert(int32_t i);
  void select_param(int32_t i);
  void select_select(int32_t i);
  bool select_integer(int32_t i);  // select_int.cpp
  void select_add(int32_t i);
  void select_add64(int32_t i);
  void select_uniform_add64(int32_t i);
  void select_multiply(int32_t i);
  void select_shift(int32_t i);
  void select_compare(int32_t i);  // select_logic.cpp
  void select_logic(int32_t i);
  void select_predicate_logic(int32_t i);
  bool gather_logic(int32_t i, int32_t user, Values& leaves, bool& has_constant, int depth);
  bool select_float(int32_t i);   // select_float.cpp
  bool select_memory(int32_t i);  // select_mem.cpp
  void add_address(Values& to, const Operand& operand, int32_t user, bool offset_register);
  bool source_is_shared_symbol(const Operand& operand, int32_t user);
  void select_matrix(int32_t i);  // select_matrix.cpp
  void select_wmma_move(int32_t i);
  bool select_async(int32_t i);  // select_async.cpp: wgmma, TMA, mbarriers, clusters
  void select_wgmma(int32_t i);
  void select_tcgen05(int32_t i);
  void select_tensor_access(int32_t i);
  void select_bulk(int32_t i);
  void select_mbarrier(int32_t i);
  void add_moved_to_uniform(Values& to, ValueId id, int32_t user);
  void add_in_uniform(Values& to, const Operand& operand, int32_t user);
  void add_uniform_address(Values& to, const Operand& operand, int32_t user);
  void add_tensor_map(Values& to, const Operand& operand, int32_t user);
  bool select_expansion(int32_t i);  // expand.cpp
  int32_t add_extra(int32_t block, int32_t inst, TimingClass timing, Values uses);
  void add_prologue();
  void find_tuples();  // tuples.cpp

  Function& fn_;
  Diagnostics& diags_;
  std::vector<int32_t> work_;
  std::vector<uint8_t> scattered_;                         // per instruction: groups whose elements must be gathered
  std::vector<int32_t> open_zero_;                         // per block: zero-initialisation with room for a second register
  std::unordered_map<ValueId, int32_t> moved_to_uniform_;  // value -> its R2UR
  std::unordered_set<ValueId> wide_sum_bases_;             // that a 64-bit constant was added to
  std::unordered_set<ValueId> descriptors_;                // that some wgmma reads
  bool uses_shared_symbol_ = false, uses_global_ = false, uses_parameter_address_ = false;
};

void select(Function& fn, Diagnostics& diags);

}  // namespace tcsim::sim::lowering
