// Linked instructions -> Inst: table look-up, operand check, operands, bind.
#include <algorithm>

#include <fmt/format.h>

#include "isa/check.h"
#include "isa/exec/memory.h"
#include "isa/ptx/linker.h"

namespace tcsim::isa::ptx {
namespace {

std::string squeeze(std::string_view text, size_t limit) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank) out += c;
    else if (!out.empty() && out.back() != ' ') out += ' ';
  }
  if (out.size() > limit) out.resize(limit), out += "...";
  return out;
}

/// The type that literals of the instruction have: the last type in its mnemonic (source type of cvt, setp, set, ...).
Type literal_type(const Match& match) {
  for (auto mod = match.mods.rbegin(); mod != match.mods.rend(); ++mod) {
    const size_t dot = mod->value.find_last_of('.');
    if (const auto type = type_from_name(dot == std::string_view::npos ? mod->value : mod->value.substr(dot + 1))) return *type;
  }
  return Type::none;
}

std::string operand_list(const std::vector<syntax::OperandSpec>& specs) {
  std::string out;
  for (const auto& spec : specs) {
    out += out.empty() ? "" : ", ";
    out += spec.predicate ? "{!}" : "";
    out += spec.name;
    if (spec.min_atoms == 2) out += "|p";
  }
  return out.empty() ? "no operands" : fmt::format("'{}'", out);
}

/// Vector length that the mnemonic asks for: .v2, .v4, .v8; 0: none.
uint32_t vector_length(const Match& match) {
  for (const MatchedMod& mod : match.mods) {
    if (mod.value == "v2") return 2;
    if (mod.value == "v4") return 4;
    if (mod.value == "v8") return 8;
  }
  return 0;
}

/// Operands that are integers whatever the instruction's type: barrier ids and counts, member masks, strides, metadata.
bool is_integer_operand(Op op, uint32_t group) {
  switch (op) {
    case Op::bar_sync: return true;
    case Op::vote:
    case Op::match:
    case Op::redux:
    case Op::wmma_load:
    case Op::wmma_store: return group == 2;
    case Op::mma:
    case Op::mma_sp: return group >= 4;
    case Op::cp_reduce_async_bulk: return group >= 2;
    case Op::wgmma_mma:
    case Op::wgmma_mma_sp: return group >= 1;
    default: return false;
  }
}

}  // namespace

void KernelLinker::run() {
  kernel_ = &ctx_.module.kernels.emplace_back();
  kernel_->name = std::string(entry_.name);
  kernel_->line = entry_.line;
  kernel_->reqntid = entry_.reqntid;
  kernel_->maxntid = entry_.maxntid;
  kernel_->reqnctapercluster = entry_.reqnctapercluster;
  kernel_->minnctapersm = entry_.minnctapersm;
  kernel_->maxnreg = entry_.maxnreg;
  layout_params();
  Instance instance = open_instance(entry_);
  expand(instance);
  end_with_return();
  lower_call_buffers();
  layout_shared();
  kernel_->local_bytes = static_cast<uint32_t>((std::min(local_bytes_, kLocalWindowBytes) + local_align_ - 1) / local_align_ * local_align_);
  kernel_->local_align = local_align_;
  decode();
  analyse_flow(*kernel_);
}

/// A body that falls off its end returns: an explicit ret gives labels at the end a place.
void KernelLinker::end_with_return() {
  const auto end = static_cast<int64_t>(linked_.size());
  const bool label_at_end = std::find(label_position_.begin(), label_position_.end(), end) != label_position_.end();
  if (!linked_.empty() && !label_at_end && !linked_.back().guarded) {
    const std::string_view last = linked_.back().opcode;
    for (const std::string_view op : {"ret", "ret.uni", "exit", "trap", "bra", "bra.uni", "brx.idx", "brx.idx.uni"})
      if (last == op) return;
  }
  Instruction at;
  at.line = linked_.empty() ? entry_.line : linked_.back().line;
  at.col = linked_.empty() ? entry_.col : linked_.back().col;
  if (!linked_.empty()) at.loc = linked_.back().loc;
  emit_made(at, "ret", {});
}

void KernelLinker::decode() {
  register_slot_.assign(registers_.size(), -1);
  kernel_->insts.resize(linked_.size());
  for (size_t i = 0; i < linked_.size(); ++i) decode_one(linked_[i], kernel_->insts[i]);
}

void KernelLinker::unsupported(const Linked& linked) {
  const auto& why = ctx_.matcher.explain(linked.opcode);
  using Kind = Matcher::Misfit::Kind;
  switch (why.kind) {
    case Kind::not_an_instruction:
      return error("syntax", linked.line, linked.col,
                   fmt::format("found the unknown instruction '{}', expected a PTX instruction", squeeze(linked.opcode, 60)));
    case Kind::bad_modifier: {
      std::string found = why.word.empty() ? fmt::format("found '{}' without a further modifier", linked.opcode)
                                           : fmt::format("found '{}' in '{}'", why.word, squeeze(linked.opcode, 80));
      if (!why.expected.empty()) found += ", expected " + why.expected;
      else found += ", which is not a modifier of PTX";
      return error("syntax", linked.line, linked.col + static_cast<uint32_t>(why.offset), std::move(found));
    }
    case Kind::unsupported:
      return ctx_.problems.add_grouped("unsupported-instruction", linked.opcode, linked.line, linked.col,
                                       fmt::format("found '{}', which this release does not execute", linked.opcode));
  }
}

bool KernelLinker::allowed_here(const InstDef& def) const {
  const Module& m = ctx_.module;
  return std::pair(m.version_major, m.version_minor) >= std::pair<int, int>(def.since.ptx_major, def.since.ptx_minor) && m.sm >= def.since.sm;
}

/// Do the operands fit this list? progress: how many did, to choose the best explanation.
bool KernelLinker::fits(const Linked& linked, const std::vector<syntax::OperandSpec>& specs, std::string& why, int& progress) const {
  progress = 0;
  if (linked.group_count != specs.size()) {
    why = fmt::format("found {} operand{} in '{}', expected {}", linked.group_count, linked.group_count == 1 ? "" : "s", squeeze(linked.text, 80),
                      operand_list(specs));
    return false;
  }
  progress = 1;
  for (size_t g = 0; g < specs.size(); ++g) {
    const AtomGroup& group = groups_[linked.first_group + g];
    const syntax::OperandSpec& spec = specs[g];
    const bool is_address = group.form == AtomGroup::Form::address;
    const auto shown = [&] { return group.count ? squeeze(atoms_[group.first].text, 40) : std::string("{}"); };
    if (spec.address && !is_address) why = fmt::format("found '{}' as operand {} of '{}', expected an address in [ ]", shown(), g + 1, linked.opcode);
    else if (!spec.address && is_address) why = fmt::format("found an address as operand {} of '{}', expected {}", g + 1, linked.opcode, spec.name);
    else if (spec.predicate && group.form == AtomGroup::Form::vector)
      why = fmt::format("found a vector as operand {} of '{}', expected {}", g + 1, linked.opcode, spec.name);
    else if (group.form == AtomGroup::Form::list) why = fmt::format("found '(' as operand {} of '{}', expected {}", g + 1, linked.opcode, spec.name);
    else if (group.form == AtomGroup::Form::pair && !spec.may_pair)
      why = fmt::format("found '|' in operand {} of '{}', expected {}", g + 1, linked.opcode, spec.name);
    else if (spec.min_atoms == 2 && group.form != AtomGroup::Form::pair)
      why = fmt::format("found '{}' as operand {} of '{}', expected a pair d|p", shown(), g + 1, linked.opcode);
    else {
      ++progress;
      continue;
    }
    return false;
  }
  return true;
}

const Match* KernelLinker::choose(const Linked& linked, const std::vector<Match>& matches, std::string& why) {
  const Match* too_new = nullptr;
  int best = -1;
  for (const Match& match : matches)
    for (const auto& specs : match.form->form.operand_lists) {
      std::string reason;
      int progress = 0;
      if (fits(linked, specs, reason, progress)) {
        if (allowed_here(*match.form->def)) return &match;
        if (!too_new) too_new = &match;
      } else if (progress > best) {
        best = progress;
        why = std::move(reason);
      }
    }
  if (!too_new) return nullptr;
  const Since& since = too_new->form->def->since;
  ctx_.problems.add_grouped(
      "target-version", linked.opcode, linked.line, linked.col,
      fmt::format("found '{}' with .version {}.{} and .target {}, expected at least .version {}.{} and .target sm_{}", linked.opcode,
                  ctx_.module.version_major, ctx_.module.version_minor, ctx_.module.target, since.ptx_major, since.ptx_minor, since.sm));
  why.clear();
  return nullptr;
}

void KernelLinker::decode_one(Linked& linked, Inst& inst) {
  inst.line = linked.line;
  inst.col = linked.col;
  inst.loc = linked.loc;
  inst.text = linked.text;
  if (linked.guarded) {
    Operand guard;
    register_operand(linked.guard, guard);
    inst.guard = static_cast<int16_t>(guard.slot);
    inst.guard_negated = linked.guard.negated;
  }
  const std::vector<Match>& matches = ctx_.matches(linked.opcode);
  if (matches.empty()) return unsupported(linked);
  std::string why;
  const Match* match = choose(linked, matches, why);
  if (!match) {
    if (!why.empty()) error("syntax", linked.line, linked.col, why);
    return;
  }
  if (linked.group_count > inst.groups.size())
    return ctx_.problems.add_grouped(
        "unsupported-instruction", linked.opcode, linked.line, linked.col,
        fmt::format("found '{}' with {} operands, which this release does not execute", linked.opcode, linked.group_count));
  inst.def = match->form->def;
  inst.op = inst.def->op;
  build_operands(linked, *match, inst);
  if (inst.op == Op::invalid) return;
  Decoded decoded;
  decoded.mods = match->mods;
  decoded.module = &ctx_.module;
  decoded.kernel = kernel_;
  if (inst.def->bind == nullptr)
    return ctx_.problems.add_grouped("unsupported-instruction", linked.opcode, linked.line, linked.col,
                                     fmt::format("found '{}', which this release does not execute", linked.opcode));
  if (std::string text = inst.def->bind(inst, decoded); !text.empty())
    return error("syntax", linked.line, linked.col, fmt::format("in '{}': {}", squeeze(linked.text, 100), text));
  finish_memory(linked, inst);
}

void KernelLinker::build_operands(const Linked& linked, const Match& match, Inst& inst) {
  size_t total = 0;
  for (uint32_t g = 0; g < linked.group_count; ++g) total += groups_[linked.first_group + g].count;
  auto& operands = kernel_->operand_store.emplace_back(total);
  const Type type = literal_type(match);
  const auto& lists = match.form->form.operand_lists;
  const auto specs = std::find_if(lists.begin(), lists.end(), [&](const auto& l) { return l.size() == linked.group_count; });
  const uint32_t wanted = vector_length(match);
  bool vector_seen = wanted == 0;
  bool ok = true;
  size_t at = 0;
  for (uint32_t g = 0; g < linked.group_count; ++g) {
    const AtomGroup& group = groups_[linked.first_group + g];
    const bool is_address = group.form == AtomGroup::Form::address;
    const bool integer = is_integer_operand(match.form->def->op, g) && !(*specs)[g].predicate;
    const bool predicate = !integer && ((*specs)[g].predicate || type == Type::pred);
    inst.groups[g] = {static_cast<uint8_t>(at), static_cast<uint8_t>(group.count)};
    vector_seen |= group.form == AtomGroup::Form::vector && group.count == wanted;
    for (uint32_t a = 0; a < group.count; ++a, ++at) {
      const Atom& atom = atoms_[group.first + a];
      build_operand(linked, match, atom, is_address && a == 0, predicate, (is_address && a > 0) || integer ? Type::b32 : type, operands[at]);
      if (operands[at].kind == Operand::Kind::none) ok = false;
    }
  }
  inst.group_count = static_cast<uint8_t>(linked.group_count);
  inst.operands = operands.data();
  if (total > 255)
    ok = false,
    error("syntax", linked.line, linked.col, fmt::format("found {} elements in the operands of '{}', expected at most 255", total, linked.opcode));
  if (ok && !vector_seen)
    ok = false, error("syntax", linked.line, linked.col,
                      fmt::format("found '{}' without a vector of {} elements, expected {{ }} with {} elements for .v{}", squeeze(linked.text, 80),
                                  wanted, wanted, wanted));
  if (!ok) inst.op = Op::invalid;
}

void KernelLinker::build_operand(const Linked& linked, const Match& match, const Atom& atom, bool is_address, bool predicate, Type type,
                                 Operand& out) {
  switch (atom.kind) {
    case Atom::Kind::reg:
      register_operand(atom, out);
      if (!is_address) return;
      if (out.kind == Operand::Kind::pred || out.bit_width > 64 || bits(registers_[static_cast<size_t>(atom.id)].type) < 32) {
        error("syntax", atom.line, atom.col,
              fmt::format("found the register '{}' of type .{} in an address, expected 32 or 64 bits", atom.text,
                          name(registers_[static_cast<size_t>(atom.id)].type)));
        out.kind = Operand::Kind::none;
        return;
      }
      out.kind = Operand::Kind::address;
      out.value = atom.value;
      return;
    case Atom::Kind::sink: out.kind = Operand::Kind::sink; return;
    case Atom::Kind::label:
      out.kind = Operand::Kind::label;
      out.value = label_position_[static_cast<size_t>(atom.id)];
      return;
    case Atom::Kind::symbol: return symbol_operand(linked, atom, is_address, type, out);
    case Atom::Kind::special: return special_operand(linked, match, atom, out);
    case Atom::Kind::name: {
      if (ctx_.functions.contains(atom.text))
        return ctx_.problems.add_grouped("unsupported-instruction", atom.text, atom.line, atom.col,
                                         fmt::format("found the address of the function '{}', which this release does not execute", atom.text));
      const bool branch = match.form->def->op == Op::bra || match.form->def->op == Op::brx;
      return error("syntax", atom.line, atom.col,
                   fmt::format("found '{}', which is not declared, expected {}", squeeze(atom.text, 60),
                               branch ? "a label" : "a register, a variable or a constant"));
    }
    case Atom::Kind::literal: break;
  }
  if (is_address) {
    out.kind = Operand::Kind::address;
    out.value = atom.value;
    return;
  }
  if (predicate) return predicate_constant(atom.value != 0, out);
  if (atom.form != Literal::integer && bits(type) < 32 && type != Type::none)
    return error("syntax", atom.line, atom.col,
                 fmt::format("found the constant '{}' for .{}, expected its bits as an integer", squeeze(atom.text, 40), name(type)));
  constant_operand(constant_bits(atom.form, static_cast<uint64_t>(atom.value), type), type, out);
}

void KernelLinker::register_operand(const Atom& atom, Operand& out) {
  const auto id = static_cast<size_t>(atom.id);
  if (id >= register_slot_.size()) register_slot_.resize(registers_.size(), -1);
  const Register& reg = registers_[id];
  int32_t& slot = register_slot_[id];
  if (reg.type == Type::pred) {
    if (slot < 0) {
      slot = static_cast<int32_t>(kernel_->pred_count++);
      kernel_->pred_names.push_back(reg.name);
      if (slot == INT16_MAX)
        error("syntax", atom.line, atom.col, fmt::format("found more than {} predicates in one kernel, expected fewer", INT16_MAX));
    }
    out.kind = Operand::Kind::pred;
    out.bit_width = 1;
    out.negated = atom.negated;
  } else {
    const int width = std::max(32, bits(reg.type));
    if (slot < 0) {
      slot = static_cast<int32_t>(kernel_->slot_count);
      kernel_->slot_count += static_cast<uint32_t>(slots_of(width));
      kernel_->register_names.emplace_back(slot, reg.name);
      kernel_->register_types.push_back(reg.type);
    }
    out.kind = Operand::Kind::reg;
    out.bit_width = static_cast<uint8_t>(width);
    if (atom.negated) {
      error("syntax", atom.line, atom.col, fmt::format("found '!' before '{}' of type .{}, expected a predicate", atom.text, name(reg.type)));
      out.kind = Operand::Kind::none;
    }
  }
  out.slot = slot;
}

uint64_t* KernelLinker::new_lanes(uint64_t value, int width) {
  auto& lanes = kernel_->constant_store.emplace_back();
  if (width <= 32) {
    auto* words = reinterpret_cast<uint32_t*>(lanes.data());
    std::fill(words, words + 32, static_cast<uint32_t>(value));
  } else if (width <= 64) {
    std::fill(lanes.begin(), lanes.begin() + 32, value);
  } else {
    for (size_t l = 0; l < 32; ++l) lanes[2 * l] = value;
  }
  return lanes.data();
}

void KernelLinker::constant_operand(uint64_t value, Type type, Operand& out) {
  const int type_bits = type == Type::none ? 32 : bits(type);
  const int width = type_bits <= 32 ? 32 : type_bits <= 64 ? 64 : 128;
  out.kind = Operand::Kind::constant;
  out.bit_width = static_cast<uint8_t>(width);
  out.value = static_cast<int64_t>(value);
  const uint64_t shown = type_bits < 64 ? value & ((1ull << type_bits) - 1) : value;
  uint64_t*& lanes = lanes_[{shown, width}];
  if (!lanes) lanes = new_lanes(shown, width);
  out.lanes = lanes;
}

void KernelLinker::predicate_constant(bool value, Operand& out) {
  // A predicate that is never written is false in all lanes; its negation is true.
  if (zero_pred_ < 0) {
    zero_pred_ = static_cast<int32_t>(kernel_->pred_count++);
    kernel_->pred_names.emplace_back();
  }
  out.kind = Operand::Kind::pred;
  out.bit_width = 1;
  out.slot = zero_pred_;
  out.negated = value;
}

void KernelLinker::symbol_operand(const Linked& linked, const Atom& atom, bool is_address, Type type, Operand& out) {
  int64_t value = atom.value;
  if (atom.type == kLocalAtom) {
    out.space = Space::local;
  } else {
    const Symbol& symbol = ctx_.ast.variables[static_cast<size_t>(atom.id)].symbol;
    out.space = symbol.space;
    out.symbol = ctx_.symbol_of[static_cast<size_t>(atom.id)];
    if (symbol.space == Space::param) value += param_offset_.at(atom.id);
    if (symbol.space == Space::shared) value += shared_offset_.at(atom.id);
    if (symbol.space == Space::constant) value += static_cast<int64_t>(ctx_.module.symbols[static_cast<size_t>(out.symbol)].address);
  }
  if (is_address) {
    out.kind = Operand::Kind::address;
    out.value = value;
    out.bit_width = 64;
  } else {
    if (type != Type::none && bits(type) < 32)
      return error("syntax", atom.line, atom.col,
                   fmt::format("found the address of '{}' in '{}', expected a 32- or 64-bit type", atom.text, linked.opcode));
    constant_operand(static_cast<uint64_t>(value), type, out);
  }
  if (out.space != Space::global) return;
  GlobalFixup fixup;
  fixup.operand = &out;
  fixup.symbol = static_cast<uint32_t>(out.symbol);
  fixup.addend = atom.value;
  if (!is_address) out.lanes = fixup.lanes = new_lanes(static_cast<uint64_t>(value), out.bit_width);
  ctx_.module.fixups.push_back(fixup);
}

void KernelLinker::special_operand(const Linked& linked, const Match& match, const Atom& atom, Operand& out) {
  if (match.form->def->op != Op::mov)  // PTX ISA, "Special Registers": read with mov (and cvt)
    if (match.form->def->op != Op::cvt || dynamic_special(atom.text))
      return error("syntax", atom.line, atom.col,
                   fmt::format("found '{}' as an operand of '{}', expected special registers only in mov", atom.text, linked.opcode));
  if (const auto dynamic = dynamic_special(atom.text)) {
    out.kind = Operand::Kind::constant;
    out.bit_width = static_cast<uint8_t>(special_bits(atom.text));
    out.value = static_cast<int64_t>(*dynamic);
    return;
  }
  const int width = special_bits(atom.text);
  if (width == 1)
    return ctx_.problems.add_grouped("unsupported-instruction", atom.text, atom.line, atom.col,
                                     fmt::format("found '{}', which this release does not execute", atom.text));
  const auto [it, fresh] = special_slot_.emplace(atom.text, 0);
  const Type type = literal_type(match);
  if (fresh) {
    it->second = static_cast<int32_t>(kernel_->slot_count);
    kernel_->slot_count += static_cast<uint32_t>(slots_of(width));
    kernel_->specials.push_back({std::string(atom.text), it->second, width});
  }
  out.kind = Operand::Kind::reg;
  out.slot = it->second;
  // mov.u32 of a 64-bit register reads its lower half: %gridid was 32 bits wide once.
  out.bit_width = static_cast<uint8_t>(width == 64 && bits(type) > 0 && bits(type) <= 32 ? 32 : width);
}

/// Checks that are about the space an instruction works on, once bind has told it; generic accesses to a variable by name
/// get its generic address.
void KernelLinker::finish_memory(const Linked& linked, Inst& inst) {
  if (inst.op != Op::ld && inst.op != Op::st && inst.op != Op::atom && inst.op != Op::red) return;
  for (uint32_t g = 0; g < linked.group_count; ++g) {
    const AtomGroup& group = groups_[linked.first_group + g];
    if (group.form != AtomGroup::Form::address || group.count == 0) continue;
    auto& operand = const_cast<Operand&>(inst.operands[inst.groups[g].first]);
    if (operand.kind != Operand::Kind::address || operand.space == Space::none || operand.space == Space::generic) continue;
    const Atom& atom = atoms_[group.first];
    const Space wanted = inst.space == Space::shared_cluster ? Space::shared : inst.space;
    if (wanted == Space::generic || wanted == Space::none) {
      if (operand.space == Space::shared) operand.value += static_cast<int64_t>(kSharedWindow);
      if (operand.space == Space::local) operand.value += static_cast<int64_t>(kLocalWindow);
      if (operand.space == Space::constant) operand.value += static_cast<int64_t>(kConstantWindow);
      if (operand.space == Space::param) operand.value += static_cast<int64_t>(kParamWindow);
      continue;
    }
    if (wanted != operand.space)
      error("syntax", atom.line, atom.col,
            fmt::format("found the .{} variable '{}' in '{}', expected one in .{}", name(operand.space), atom.text, linked.opcode, name(wanted)));
  }
}

}  // namespace tcsim::isa::ptx
