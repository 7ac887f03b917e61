// From scheduled graphs to the LoweredProgram that the timing model walks.
#pragma once
#include "sim/lower/banks.h"
#include "sim/lower/schedule.h"

namespace tcsim::sim::lowering {

class Emitter {
 public:
  Emitter(Function& fn, LoweredProgram& program);
  void block(const Graph& graph, const std::vector<int32_t>& order);
  void finish();

 private:
  static constexpr uint32_t kNoToken = ~0u;
  void find_escapes();
  void number_tokens();
  uint32_t token_of(ValueId id);
  uint32_t new_token();
  void count_readers(const Graph& graph);
  void read_once(ValueId id);
  void step(int32_t op, int32_t home);
  void helper(TimingClass timing, int32_t inst);
  void helper_step(int32_t inst);
  bool known_behind_wait(ValueId id) const;
  bool join_commit(int32_t inst);
  void open_step(MachineOp& machine_op, int32_t home);
  void rider(int32_t inst);
  void add_copies();

  Function& fn_;
  LoweredProgram& program_;
  Banks banks_;
  std::vector<uint8_t> escapes_;                    // per value: read through its register in another block
  std::vector<uint32_t> register_token_;            // per register
  std::vector<uint8_t> read_;                       // per value: some operation waits for it
  std::unordered_map<int32_t, uint32_t> op_token_;  // of the current block: operation -> token of its local results
  std::unordered_map<int32_t, uint32_t> copy_token_;
  std::unordered_map<int32_t, uint32_t> readers_left_;  // operation -> reads of its local results still to come
  std::vector<uint32_t> free_tokens_;                   // whose last reader has issued
  std::vector<int32_t> riders_;                         // instructions that wait for a step
  std::vector<TokenCopy> copies_;                       // that wait for a step (only before the first of a block)
  uint32_t globals_ = 0, next_token_ = 0, block_first_step_ = 0;
  bool copies_after_barrier_ = false;  // the next LDGSTS is the first since a barrier
  bool last_is_mma_ = false;
};

}  // namespace tcsim::sim::lowering
