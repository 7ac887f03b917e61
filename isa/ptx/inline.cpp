// Calls are inlined: each call gets fresh registers, labels and local memory of the callee. There is no stack, so recursion
// and indirect calls are not executed (reported with their place).
#include <algorithm>

#include <fmt/format.h>

#include "isa/exec/memory.h"
#include "isa/ptx/linker.h"

namespace tcsim::isa::ptx {
namespace {

bool is_call(std::string_view opcode) { return opcode == "call" || opcode == "call.uni"; }
bool is_return(std::string_view opcode) { return opcode == "ret" || opcode == "ret.uni"; }
uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

}  // namespace

KernelLinker::Instance KernelLinker::open_instance(const Function& fn) {
  Instance instance;
  instance.function = &fn;
  instance.first_register = static_cast<uint32_t>(registers_.size());
  registers_.insert(registers_.end(), fn.registers.begin(), fn.registers.end());
  instance.first_label = static_cast<uint32_t>(label_position_.size());
  label_position_.resize(label_position_.size() + fn.labels.size(), -1);
  return instance;
}

int32_t KernelLinker::new_label() {
  label_position_.push_back(-1);
  return static_cast<int32_t>(label_position_.size()) - 1;
}

Atom KernelLinker::label_atom(int32_t label) const {
  Atom atom;
  atom.kind = Atom::Kind::label;
  atom.id = label;
  return atom;
}

int32_t KernelLinker::buffer_for(Instance& instance, int32_t variable) {
  const auto it = instance.buffers.find(variable);
  if (it != instance.buffers.end()) return it->second;
  const Symbol& symbol = ctx_.ast.variables[static_cast<size_t>(variable)].symbol;
  const auto index = static_cast<int32_t>(buffers_.size());
  CallBuffer& buffer = buffers_.emplace_back();
  buffer.bytes = symbol.bytes;
  buffer.align = symbol.align;
  buffer.name = symbol.name;
  instance.buffers.emplace(variable, index);
  return index;
}

uint64_t KernelLinker::local_for(Instance& instance, int32_t variable) {
  const auto it = instance.locals.find(variable);
  if (it != instance.locals.end()) return it->second;
  const Variable& v = ctx_.ast.variables[static_cast<size_t>(variable)];
  const uint64_t offset = align_up(local_bytes_, v.symbol.align);
  local_bytes_ = offset + v.symbol.bytes;
  local_align_ = std::max(local_align_, v.symbol.align);
  if (local_bytes_ > kLocalWindowBytes)
    error("syntax", v.line, v.col, fmt::format("found more than {} bytes of .local variables in one kernel, expected fewer", kLocalWindowBytes));
  instance.locals.emplace(variable, offset);
  return offset;
}

Atom KernelLinker::map_atom(Instance& instance, const Atom& atom) {
  Atom out = atom;
  switch (atom.kind) {
    case Atom::Kind::reg: out.id = atom.id + static_cast<int32_t>(instance.first_register); break;
    case Atom::Kind::label: out.id = atom.id + static_cast<int32_t>(instance.first_label); break;
    case Atom::Kind::symbol: {
      const Symbol& symbol = ctx_.ast.variables[static_cast<size_t>(atom.id)].symbol;
      if (symbol.space == Space::shared) shared_offset_.emplace(atom.id, 0);
      if (symbol.space == Space::local) {
        out.type = kLocalAtom;
        out.value += static_cast<int64_t>(local_for(instance, atom.id));
      }
      if (symbol.space == Space::param && !param_offset_.contains(atom.id)) {
        out.type = kBufferAtom;
        out.id = buffer_for(instance, atom.id);
      }
      break;
    }
    default: break;
  }
  return out;
}

void KernelLinker::emit(Linked linked, std::vector<std::vector<Atom>> operands) {
  linked.first_group = static_cast<uint32_t>(groups_.size());
  linked.group_count = static_cast<uint32_t>(operands.size());
  for (const auto& operand : operands) {
    groups_.push_back({static_cast<uint32_t>(atoms_.size()), static_cast<uint32_t>(operand.size()), AtomGroup::Form::single});
    atoms_.insert(atoms_.end(), operand.begin(), operand.end());
  }
  linked_.push_back(linked);
}

void KernelLinker::emit_made(const Instruction& at, const std::string& opcode, std::vector<Atom> operands, const Atom* guard) {
  Linked linked;
  std::string text = opcode;
  for (size_t i = 0; i < operands.size(); ++i) text += fmt::format("{}{}", i ? ", " : " ", operands[i].text);
  ctx_.module.made_text.push_back(std::move(text));
  linked.text = ctx_.module.made_text.back();
  linked.opcode = linked.text.substr(0, opcode.size());
  if (guard) linked.guarded = true, linked.guard = *guard;
  linked.line = at.line;
  linked.col = at.col;
  linked.loc = at.loc;
  std::vector<std::vector<Atom>> groups;
  for (Atom& atom : operands) {
    atom.line = at.line;
    atom.col = at.col;
    groups.push_back({atom});
  }
  emit(linked, std::move(groups));
}

void KernelLinker::expand(Instance& instance) {
  const Function& fn = *instance.function;
  stack_.push_back(&fn);
  size_t next_label = 0;  // labels are in the order of their positions
  for (size_t i = 0; i <= fn.instructions.size(); ++i) {
    for (; next_label < fn.labels.size() && fn.labels[next_label].position == i; ++next_label)
      label_position_[instance.first_label + next_label] = static_cast<int64_t>(linked_.size());
    if (i < fn.instructions.size()) expand_instruction(instance, fn.instructions[i]);
    if (linked_.size() > kMaxLinkedInstructions) {
      error("unsupported-instruction", fn.line, fn.col,
            fmt::format("found more than {} instructions in '{}' with its calls inlined, which this release does not execute", kMaxLinkedInstructions,
                        entry_.name));
      break;
    }
  }
  stack_.pop_back();
}

void KernelLinker::expand_instruction(Instance& instance, const Instruction& inst) {
  if (is_call(inst.opcode)) return expand_call(instance, inst);
  if (is_return(inst.opcode) && instance.return_label >= 0) {
    const bool last = &inst == &instance.function->instructions.back();
    if (last && !inst.guarded) return;  // falls through to the caller
    const Atom guard = inst.guarded ? map_atom(instance, inst.guard) : Atom{};
    return emit_made(inst, "bra", {label_atom(instance.return_label)}, inst.guarded ? &guard : nullptr);
  }
  Linked linked;
  linked.opcode = inst.opcode;
  linked.text = inst.text;
  linked.line = inst.line;
  linked.col = inst.col;
  linked.loc = inst.loc;
  linked.guarded = inst.guarded;
  if (inst.guarded) linked.guard = map_atom(instance, inst.guard);
  linked.first_group = static_cast<uint32_t>(groups_.size());
  const Function& fn = *instance.function;
  for (uint32_t g = 0; g < inst.group_count; ++g) {
    AtomGroup group = fn.groups[inst.first_group + g];
    const uint32_t first = group.first;
    group.first = static_cast<uint32_t>(atoms_.size());
    for (uint32_t a = 0; a < group.count; ++a) {
      const Atom& atom = fn.atoms[first + a];
      const int32_t table = atom.kind == Atom::Kind::label ? fn.labels[static_cast<size_t>(atom.id)].table : -1;
      if (table < 0) {
        atoms_.push_back(map_atom(instance, atom));
        continue;
      }
      const AtomGroup& targets = fn.tables[static_cast<size_t>(table)];
      for (uint32_t t = 0; t < targets.count; ++t) atoms_.push_back(map_atom(instance, fn.atoms[targets.first + t]));
    }
    group.count = static_cast<uint32_t>(atoms_.size()) - group.first;
    groups_.push_back(group);
  }
  linked.group_count = inst.group_count;
  linked_.push_back(linked);
}

void KernelLinker::expand_call(Instance& instance, const Instruction& inst) {
  const Function& fn = *instance.function;
  const AtomGroup* groups = fn.groups.data() + inst.first_group;
  uint32_t g = 0;
  const AtomGroup* returns = nullptr;
  const AtomGroup* params = nullptr;
  if (g < inst.group_count && groups[g].form == AtomGroup::Form::list) returns = &groups[g++];
  if (g >= inst.group_count || groups[g].count != 1 || groups[g].form != AtomGroup::Form::single)
    return error("syntax", inst.line, inst.col, fmt::format("found '{}', expected call (results), function, (parameters)", inst.text.substr(0, 80)));
  const Atom& target = fn.atoms[groups[g++].first];
  if (g < inst.group_count && groups[g].form == AtomGroup::Form::list) params = &groups[g++];
  if (target.kind == Atom::Kind::reg)
    return ctx_.problems.add_grouped("unsupported-instruction", "call", inst.line, inst.col,
                                     fmt::format("found an indirect call '{}', which this release does not execute", inst.text.substr(0, 80)));
  std::string_view name = target.text;
  for (const auto& [alias, function] : ctx_.ast.aliases)
    if (alias == name) name = function;
  const auto it = ctx_.functions.find(name);
  if (it == ctx_.functions.end())
    return error("syntax", target.line, target.col, fmt::format("found '{}', which is not declared, expected a function", target.text));
  const Function& callee = *it->second;
  if (!callee.has_body) return known_external(instance, inst, name, returns);
  if (std::find(stack_.begin(), stack_.end(), &callee) != stack_.end())
    return error("unsupported-instruction", inst.line, inst.col,
                 fmt::format("found a recursive call of '{}', which this release does not execute", name));
  if (stack_.size() > kMaxCallDepth)
    return error("unsupported-instruction", inst.line, inst.col,
                 fmt::format("found calls nested more than {} deep, which this release does not execute", kMaxCallDepth));
  inline_function(instance, inst, callee, returns, params);
}

void KernelLinker::inline_function(Instance& caller, const Instruction& inst, const Function& callee, const AtomGroup* returns,
                                   const AtomGroup* params) {
  const size_t given = params ? params->count : 0, given_returns = returns ? returns->count : 0;
  if (given != callee.params.size() || given_returns != callee.returns.size())
    return error("syntax", inst.line, inst.col,
                 fmt::format("found a call of '{}' with {} parameters and {} results, expected {} and {}", callee.name, given, given_returns,
                             callee.params.size(), callee.returns.size()));
  int32_t skip = -1;
  if (inst.guarded) {
    skip = new_label();
    Atom guard = map_atom(caller, inst.guard);
    guard.negated = !guard.negated;
    emit_made(inst, "bra", {label_atom(skip)}, &guard);
  }
  Instance instance = open_instance(callee);
  instance.return_label = new_label();
  bind_formals(caller, instance, callee.params, params, false, inst);
  // Result buffers of the caller are the callee's own return variables.
  for (size_t i = 0; i < callee.returns.size(); ++i) {
    const Atom& actual = caller.function->atoms[returns->first + i];
    const Formal& formal = callee.returns[i];
    if (formal.variable < 0 || actual.kind != Atom::Kind::symbol) continue;
    const Atom mapped = map_atom(caller, actual);
    if (mapped.type == kBufferAtom) instance.buffers.emplace(formal.variable, mapped.id);
  }
  expand(instance);
  label_position_[static_cast<size_t>(instance.return_label)] = static_cast<int64_t>(linked_.size());
  bind_formals(caller, instance, callee.returns, returns, true, inst);
  if (skip >= 0) label_position_[static_cast<size_t>(skip)] = static_cast<int64_t>(linked_.size());
}

/// Parameters before the body (results == false), register results after it.
void KernelLinker::bind_formals(Instance& caller, Instance& callee, const std::vector<Formal>& formals, const AtomGroup* actuals, bool results,
                                const Instruction& inst) {
  for (size_t i = 0; i < formals.size(); ++i) {
    const Atom actual = map_atom(caller, caller.function->atoms[actuals->first + i]);
    const Formal& formal = formals[i];
    const bool is_buffer = actual.kind == Atom::Kind::symbol && actual.type == kBufferAtom;
    if (formal.variable >= 0) {
      if (is_buffer) {
        if (!results) callee.buffers.emplace(formal.variable, actual.id);
        continue;
      }
      // A register or constant for a .param: as if stored to (loaded from) the buffer.
      const Type type = ctx_.ast.variables[static_cast<size_t>(formal.variable)].symbol.type;
      Atom buffer;
      buffer.kind = Atom::Kind::symbol;
      buffer.type = kBufferAtom;
      buffer.id = buffer_for(callee, formal.variable);
      buffer.text = "param";
      buffer.line = inst.line, buffer.col = inst.col;
      emit_made(inst, fmt::format("{}.param.b{}", results ? "ld" : "st", bits(type)),
                results ? std::vector<Atom>{actual, buffer} : std::vector<Atom>{buffer, actual});
      groups_[groups_.size() - (results ? 1 : 2)].form = AtomGroup::Form::address;
      continue;
    }
    Atom reg;
    reg.kind = Atom::Kind::reg;
    reg.id = formal.reg + static_cast<int32_t>(callee.first_register);
    reg.type = registers_[static_cast<size_t>(reg.id)].type;
    reg.text = callee.function->registers[static_cast<size_t>(formal.reg)].name;
    if (is_buffer) {
      error("syntax", actual.line, actual.col,
            fmt::format("found the .param '{}' for a register of '{}', expected a register", actual.text, callee.function->name));
      continue;
    }
    const std::string opcode = reg.type == Type::pred ? "mov.pred" : fmt::format("mov.b{}", std::max(16, bits(reg.type)));
    emit_made(inst, opcode, results ? std::vector<Atom>{actual, reg} : std::vector<Atom>{reg, actual});
  }
}

/// Functions that CUDA's runtime provides on the device.
void KernelLinker::known_external(Instance& caller, const Instruction& inst, std::string_view name, const AtomGroup* returns) {
  const Atom guard = inst.guarded ? map_atom(caller, inst.guard) : Atom{};
  const Atom* guard_ptr = inst.guarded ? &guard : nullptr;
  if (name == "__assertfail" || name == "__trap" || name == "abort") return emit_made(inst, "trap", {}, guard_ptr);
  if (name != "vprintf")
    return ctx_.problems.add_grouped("unsupported-instruction", name, inst.line, inst.col,
                                     fmt::format("found a call of the external function '{}', which this release does not execute", name));
  ctx_.problems.add_grouped("", name, inst.line, inst.col, "found a call of vprintf: nothing is printed, the result is 0");
  if (!returns || returns->count != 1) return;
  Atom zero;
  zero.text = "0";
  const Atom actual = map_atom(caller, caller.function->atoms[returns->first]);
  if (actual.kind == Atom::Kind::reg) return emit_made(inst, "mov.b32", {actual, zero}, guard_ptr);
  emit_made(inst, "st.param.b32", {actual, zero}, guard_ptr);
  groups_[groups_.size() - 2].form = AtomGroup::Form::address;
}

}  // namespace tcsim::isa::ptx
