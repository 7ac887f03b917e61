#include "sim/lower/emit.h"

#include <algorithm>
#include <map>

#include "isa/check.h"

namespace tcsim::sim::lowering {

namespace {

/// Instructions whose effect the warp or the SM handles at the end of a step: nothing may run after them in it.
bool is_control(const Inst& inst) {
  switch (inst.op) {
    case Op::bra:
    case Op::brx:
    case Op::exit:
    case Op::ret:
    case Op::bar_sync:
    case Op::bar_arrive:
    case Op::bar_red:
    case Op::cp_async_commit:
    case Op::cp_async_wait:
    case Op::cp_async_mbarrier_arrive:
    case Op::nanosleep:
    case Op::trap: return true;
    default: return memory_role(inst).kind == MemoryKind::ordered;
  }
}

}  // namespace

Emitter::Emitter(Function& fn, LoweredProgram& program) : fn_(fn), program_(program), banks_(fn) {
  program_.kernel = &fn.kernel;
  program_.first.push_back(0);
  copies_after_barrier_ = fn.sm >= 90;
  find_escapes();
  number_tokens();
}

void Emitter::find_escapes() {
  escapes_.assign(fn_.values.size(), 0);
  read_.assign(fn_.values.size(), 0);
  const auto read = [&](ValueId id, int32_t block) {
    read_[id] = 1;
    const Value& value = fn_.values[id];
    if (value.reg >= 0 && (value.def < 0 || fn_.block_of(value.def) != block)) escapes_[id] = 1;
  };
  for (const MOp& op : fn_.ops)
    for (ValueId id : op.uses) read(id, op.block);
  for (size_t i = 0; i < fn_.insts.size(); ++i)
    for (const auto& copy : fn_.insts[i].copies) read(copy.second, fn_.block_of(static_cast<int32_t>(i)));
  // Through an opaque value of the register, each definition that leaves its block is read as well.
  std::vector<uint8_t> opaque(fn_.reg_count, 0);
  for (size_t id = 0; id < fn_.values.size(); ++id)
    if (escapes_[id] && fn_.values[id].def < 0) opaque[fn_.values[id].reg] = 1;
  for (size_t id = 0; id < fn_.values.size(); ++id) {
    const Value& value = fn_.values[id];
    if (value.reg >= 0 && value.def >= 0 && opaque[value.reg] && value.leaves_block) escapes_[id] = read_[id] = 1;
  }
}

/// One token for registers that the same operations define together (the four registers of an accumulator tile):
/// they become ready at the same time. Operations without sources (clearing to zero) do not tell registers apart.
void Emitter::number_tokens() {
  std::vector<std::vector<int64_t>> signature(fn_.reg_count);
  std::vector<uint8_t> wanted(fn_.reg_count, 0), defined(fn_.reg_count, 0);
  for (size_t id = 0; id < fn_.values.size(); ++id) {
    const Value& value = fn_.values[id];
    if (value.reg < 0 || !escapes_[id]) continue;
    wanted[value.reg] = 1;
    if (value.op < 0) continue;
    defined[value.reg] = 1;
    if (!fn_.ops[value.op].uses.empty() || fn_.ops[value.op].timing != TimingClass::alu) signature[value.reg].push_back(value.op);
  }
  for (size_t i = 0; i < fn_.insts.size(); ++i)
    for (const auto& [to, from] : fn_.insts[i].copies) {
      if (!escapes_[to]) continue;
      const int32_t reg = fn_.values[to].reg;
      defined[reg] = 1;
      const Value& source = fn_.values[from];
      signature[reg].push_back(-1 - (source.op >= 0 ? int64_t{source.op} : int64_t{source.reg} << 32));
    }
  register_token_.assign(fn_.reg_count, kNoToken);
  std::map<std::vector<int64_t>, uint32_t> known;
  for (int32_t reg = 0; reg < fn_.reg_count; ++reg) {
    if (!wanted[reg] || !defined[reg]) continue;
    auto& key = signature[reg];
    std::sort(key.begin(), key.end());
    if (key.empty()) {
      register_token_[reg] = globals_++;
      continue;
    }
    const auto [it, fresh] = known.try_emplace(key, globals_);
    if (fresh) ++globals_;
    register_token_[reg] = it->second;
  }
  next_token_ = globals_;
}

uint32_t Emitter::token_of(ValueId id) {
  const Value& value = fn_.values[id];
  if (value.reg >= 0 && escapes_[id]) return register_token_[value.reg];
  if (value.op >= 0) {
    const auto [it, fresh] = op_token_.try_emplace(value.op, kNoToken);
    if (fresh) it->second = new_token();
    return it->second;
  }
  const auto it = copy_token_.find(id);
  return it == copy_token_.end() ? kNoToken : it->second;
}

uint32_t Emitter::new_token() {
  if (free_tokens_.empty()) return next_token_++;
  const uint32_t token = free_tokens_.back();
  free_tokens_.pop_back();
  return token;
}

void Emitter::count_readers(const Graph& graph) {
  readers_left_.clear();
  free_tokens_.clear();
  const auto count = [&](ValueId id) {
    if (!escapes_[id] && fn_.values[id].op >= 0) ++readers_left_[fn_.values[id].op];
  };
  for (const Node& node : graph.nodes) {
    if (node.op >= 0)
      for (ValueId id : fn_.ops[node.op].uses) count(id);
    if (node.inst >= 0)
      for (const auto& copy : fn_.insts[node.inst].copies) count(copy.second);
  }
}

/// After the last reader has issued, the token may stand for another result: issue is in order, so nobody waits for it.
void Emitter::read_once(ValueId id) {
  const int32_t op = fn_.values[id].op;
  if (escapes_[id] || op < 0) return;
  const auto left = readers_left_.find(op);
  if (left == readers_left_.end() || --left->second != 0) return;
  if (const auto token = op_token_.find(op); token != op_token_.end()) free_tokens_.push_back(token->second);
}

void Emitter::open_step(MachineOp& machine_op, int32_t home) {
  for (int32_t inst : riders_) program_.order.push_back(static_cast<uint32_t>(inst));
  riders_.clear();
  if (home >= 0) program_.order.push_back(static_cast<uint32_t>(home));
  program_.first.push_back(static_cast<uint32_t>(program_.order.size()));
  machine_op.copies = static_cast<uint32_t>(program_.copies.size());
  machine_op.copy_count = static_cast<uint32_t>(copies_.size());
  program_.copies.insert(program_.copies.end(), copies_.begin(), copies_.end());
  copies_.clear();
  program_.ops.push_back(machine_op);
}

void Emitter::helper(TimingClass timing, int32_t inst) {
  MachineOp op;
  op.timing = timing;
  op.inst = static_cast<uint32_t>(std::max(0, inst));
  op.tokens = static_cast<uint32_t>(program_.tokens.size());
  // Riders keep their place before the operation that follows.
  std::vector<int32_t> riders;
  riders.swap(riders_);
  open_step(op, -1);
  riders_ = std::move(riders);
}

/// An instruction that has no operation of its own but must end a step.
void Emitter::helper_step(int32_t inst) {
  MachineOp op;
  op.timing = TimingClass::nop;
  op.inst = static_cast<uint32_t>(inst);
  op.tokens = static_cast<uint32_t>(program_.tokens.size());
  open_step(op, inst);
}

void Emitter::step(int32_t at, int32_t home) {
  const MOp& op = fn_.ops[at];
  if (op.timing == TimingClass::ldgsts && copies_after_barrier_) {
    // ptxas puts three idle shared loads before the first LDGSTS that follows a barrier (and, on sm_90, the start).
    for (int k = 0; k < 3; ++k) helper(TimingClass::lds, op.inst);
    copies_after_barrier_ = false;
  }
  if (op.timing == TimingClass::bar && fn_.sm >= 80) copies_after_barrier_ = true;
  if (op.branch && last_is_mma_ && fn_.sm >= 90) helper(TimingClass::nop, op.inst);
  last_is_mma_ = op.timing == TimingClass::mma;

  MachineOp machine_op;
  machine_op.timing = op.timing;
  machine_op.mma_row = op.mma_row;
  machine_op.mma_steps = op.mma_steps;
  machine_op.ends_block = op.branch;
  machine_op.read_cycles = static_cast<uint8_t>(banks_.read_cycles(op));
  machine_op.inst = static_cast<uint32_t>(std::max(0, op.inst));
  machine_op.tokens = static_cast<uint32_t>(program_.tokens.size());
  std::vector<Token> list;
  const auto add = [&](uint32_t token, size_t from) {
    if (token != kNoToken && std::find(list.begin() + static_cast<ptrdiff_t>(from), list.end(), token) == list.end())
      list.push_back(static_cast<Token>(token));
  };
  const bool orders = op.timing == TimingClass::wgmma_fence || op.timing == TimingClass::wgmma_wait || op.timing == TimingClass::tcgen05_wait;
  for (ValueId id : op.uses) {
    if (orders || known_behind_wait(id)) continue;
    uint32_t token = token_of(id);
    for (size_t k = copies_.size(); k-- > 0;)  // copies of this very step: read their source
      if (copies_[k].to == token) token = copies_[k].from;
    add(token, 0);
  }
  machine_op.sources = static_cast<uint8_t>(list.size());
  for (ValueId id : op.defs)
    if (read_[id] && !known_behind_wait(id)) add(token_of(id), machine_op.sources);
  machine_op.results = static_cast<uint8_t>(list.size() - machine_op.sources);
  for (ValueId id : op.uses) read_once(id);
  TC_CHECK(list.size() <= 255, "an operation with {} registers", list.size());
  program_.tokens.insert(program_.tokens.end(), list.begin(), list.end());
  open_step(machine_op, home);
}

/// Registers of D become ready where the warp waits, not on the scoreboard; the tensor cores keep a chain in order.
bool Emitter::known_behind_wait(ValueId id) const {
  const int32_t op = fn_.values[id].op;
  return op >= 0 && behind_wait(fn_.ops[op].timing);
}

/// A commit right behind its wgmma is a flag of that instruction (.gsb0).
bool Emitter::join_commit(int32_t inst) {
  if (program_.ops.size() <= block_first_step_ || program_.first[program_.first.size() - 2] == program_.order.size()) return false;
  if (!is_wgmma(fn_.inst(static_cast<int32_t>(program_.order.back())).op)) return false;
  program_.order.push_back(static_cast<uint32_t>(inst));
  program_.first.back() = static_cast<uint32_t>(program_.order.size());
  return true;
}

void Emitter::rider(int32_t inst) {
  if (fn_.inst(inst).op == Op::wgmma_commit) {
    if (!join_commit(inst)) helper_step(inst);
    return;
  }
  riders_.push_back(inst);
  for (const auto& [to, from] : fn_.insts[inst].copies) {
    if (!read_[to]) continue;
    const uint32_t source = token_of(from);
    if (source == kNoToken) continue;
    if (!escapes_[to] && !copy_token_.contains(to)) copy_token_[to] = new_token();
    const uint32_t target = token_of(to);
    if (target == kNoToken || target == source) continue;
    copies_.push_back({static_cast<Token>(target), static_cast<Token>(source)});
  }
  if (program_.ops.size() <= block_first_step_) return;
  add_copies();
  for (const auto& copy : fn_.insts[inst].copies) read_once(copy.second);
}

/// Copies take effect after the results of the step they belong to: that of the operation before them.
void Emitter::add_copies() {
  MachineOp& last = program_.ops.back();
  for (const TokenCopy& copy : copies_) {
    const auto begin = program_.copies.begin() + last.copies, end = begin + last.copy_count;
    if (std::any_of(begin, end, [&](const TokenCopy& c) { return c.to == copy.to && c.from == copy.from; })) continue;
    program_.copies.push_back(copy);
    ++last.copy_count;
  }
  copies_.clear();
}

void Emitter::block(const Graph& graph, const std::vector<int32_t>& order) {
  block_first_step_ = static_cast<uint32_t>(program_.ops.size());
  program_.step_of_block.push_back(block_first_step_);
  op_token_.clear();
  copy_token_.clear();
  count_readers(graph);
  next_token_ = globals_;
  last_is_mma_ = false;
  banks_.start_block();
  for (int32_t n : order) {
    const Node& node = graph.nodes[n];
    if (node.op >= 0) step(node.op, node.inst);
    else if (node.inst >= 0) rider(node.inst);
  }
  if (!riders_.empty() || !copies_.empty()) {
    // Riders after the last operation join it, unless it hands control away or there is none.
    const bool join = program_.ops.size() > block_first_step_ && copies_.empty() &&
                      (program_.order.empty() || program_.first[program_.first.size() - 2] == program_.order.size() ||
                       !is_control(fn_.inst(static_cast<int32_t>(program_.order.back()))));
    if (join) {
      for (int32_t inst : riders_) program_.order.push_back(static_cast<uint32_t>(inst));
      program_.first.back() = static_cast<uint32_t>(program_.order.size());
      riders_.clear();
    } else {
      MachineOp idle;
      idle.timing = TimingClass::nop;
      idle.inst = static_cast<uint32_t>(riders_.empty() ? 0 : riders_.back());
      idle.tokens = static_cast<uint32_t>(program_.tokens.size());
      open_step(idle, -1);
    }
  }
  program_.token_count = std::max(program_.token_count, next_token_);
  TC_CHECK(next_token_ <= 65536, "{} timing registers", next_token_);
}

void Emitter::finish() {
  program_.mma_rows = fn_.mma_rows;
  isa::finish_program(program_);
}

}  // namespace tcsim::sim::lowering
