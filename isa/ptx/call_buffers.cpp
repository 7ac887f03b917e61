// The .param variables of call sequences: st.param by the caller, ld.param by the callee, and back for results. ptxas passes
// them in registers; so do we when every access is one whole register at a fixed offset. Otherwise (structs read byte-wise,
// addresses taken) they become local memory.
#include <algorithm>

#include <fmt/format.h>

#include "isa/ptx/linker.h"

namespace tcsim::isa::ptx {
namespace {

struct ParamAccess {
  bool is_access = false, is_store = false;
  int vector = 1;
  Type type = Type::none;
};

/// What "st.param.v2.b32" says.
ParamAccess read_access(std::string_view opcode) {
  ParamAccess access;
  const auto words = syntax::split_mnemonic(opcode);
  if (words.size() < 3 || (words[0] != "ld" && words[0] != "st")) return access;
  access.is_store = words[0] == "st";
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i].substr(0, 5) == "param") access.is_access = true;
    else if (words[i] == "v2") access.vector = 2;
    else if (words[i] == "v4") access.vector = 4;
    else if (const auto type = type_from_name(words[i])) access.type = *type;
  }
  access.is_access &= access.type != Type::none;
  return access;
}

/// The buffer operand, if the instruction accesses one directly.
const Atom* buffer_atom(const std::vector<Atom>& atoms, const AtomGroup& group) {
  if (group.form != AtomGroup::Form::address || group.count != 1) return nullptr;
  const Atom& atom = atoms[group.first];
  return atom.kind == Atom::Kind::symbol && atom.type == kBufferAtom ? &atom : nullptr;
}

}  // namespace

void KernelLinker::find_buffers_in_memory() {
  std::vector<std::map<uint64_t, uint64_t>> pieces(buffers_.size());  // offset -> bytes of a whole-register access
  for (const Linked& linked : linked_) {
    const ParamAccess access = read_access(linked.opcode);
    for (uint32_t g = 0; g < linked.group_count; ++g) {
      const AtomGroup& group = groups_[linked.first_group + g];
      const Atom* direct = access.is_access && linked.group_count == 2 ? buffer_atom(atoms_, group) : nullptr;
      for (uint32_t a = 0; a < group.count; ++a) {
        const Atom& atom = atoms_[group.first + a];
        if (atom.kind != Atom::Kind::symbol || atom.type != kBufferAtom) continue;
        CallBuffer& buffer = buffers_[static_cast<size_t>(atom.id)];
        const AtomGroup& data = groups_[linked.first_group + (access.is_store ? 1 : 0)];
        const uint64_t width = static_cast<uint64_t>(bits(access.type)) / 8;
        bool whole = direct && atom.value >= 0 && width >= 2 && data.count == static_cast<uint32_t>(access.vector);
        for (uint32_t d = 0; whole && d < data.count; ++d) {
          const Atom& item = atoms_[data.first + d];
          whole = item.kind == Atom::Kind::literal || item.kind == Atom::Kind::sink || item.kind == Atom::Kind::symbol ||
                  (item.kind == Atom::Kind::reg && bits(registers_[static_cast<size_t>(item.id)].type) == bits(access.type));
          const auto [it, fresh] = pieces[static_cast<size_t>(atom.id)].emplace(static_cast<uint64_t>(atom.value) + d * width, width);
          whole &= fresh || it->second == width;
        }
        buffer.in_memory |= !whole;
      }
    }
  }
  for (size_t b = 0; b < buffers_.size(); ++b) {
    uint64_t end = 0;
    for (const auto& [offset, bytes] : pieces[b]) {
      buffers_[b].in_memory |= offset < end;
      end = offset + bytes;
    }
  }
}

int32_t KernelLinker::buffer_register(CallBuffer& buffer, uint64_t offset, Type type) {
  const auto it = buffer.registers.find(offset);
  if (it != buffer.registers.end()) return it->second;
  const auto id = static_cast<int32_t>(registers_.size());
  registers_.push_back({fmt::format("%{}_{}", buffer.name, offset), type_from_name(fmt::format("b{}", bits(type))).value_or(Type::b32)});
  buffer.registers.emplace(offset, id);
  return id;
}

void KernelLinker::lower_access(Linked& linked, std::vector<Linked>& out) {
  const ParamAccess access = read_access(linked.opcode);
  const AtomGroup address = linked.group_count == 2 ? groups_[linked.first_group + (access.is_store ? 0 : 1)] : AtomGroup{};
  const Atom* found = access.is_access ? buffer_atom(atoms_, address) : nullptr;
  if (!found) {  // the address of a buffer is taken: an offset in local memory
    for (uint32_t g = 0; g < linked.group_count; ++g)
      for (uint32_t a = 0; a < groups_[linked.first_group + g].count; ++a) {
        Atom& atom = atoms_[groups_[linked.first_group + g].first + a];
        if (atom.kind != Atom::Kind::symbol || atom.type != kBufferAtom) continue;
        atom.value += static_cast<int64_t>(buffers_[static_cast<size_t>(atom.id)].local_offset);
        atom.type = kLocalAtom;
      }
    out.push_back(linked);
    return;
  }
  const Atom base = *found;
  CallBuffer& buffer = buffers_[static_cast<size_t>(base.id)];
  if (buffer.in_memory) {
    std::string text(linked.text);
    const size_t at = text.find(".param");
    ctx_.module.made_text.push_back(text.replace(at, 6, ".local"));
    linked.text = ctx_.module.made_text.back();
    linked.opcode = linked.text.substr(0, linked.opcode.size());
    Atom& atom = atoms_[address.first];
    atom.value += static_cast<int64_t>(buffer.local_offset);
    atom.type = kLocalAtom;
    out.push_back(linked);
    return;
  }
  const AtomGroup data = groups_[linked.first_group + (access.is_store ? 1 : 0)];
  const uint64_t width = static_cast<uint64_t>(bits(access.type)) / 8;
  for (uint32_t d = 0; d < data.count; ++d) {
    const Atom item = atoms_[data.first + d];
    if (item.kind == Atom::Kind::sink) continue;
    Atom reg;
    reg.kind = Atom::Kind::reg;
    reg.id = buffer_register(buffer, static_cast<uint64_t>(base.value) + d * width, access.type);
    reg.line = item.line, reg.col = item.col;
    Linked move = linked;
    ctx_.module.made_text.push_back(fmt::format("mov.b{} {}, {}", bits(access.type),
                                                access.is_store ? registers_[static_cast<size_t>(reg.id)].name : item.text,
                                                access.is_store ? item.text : registers_[static_cast<size_t>(reg.id)].name));
    move.text = ctx_.module.made_text.back();
    move.opcode = move.text.substr(0, move.text.find(' '));
    move.first_group = static_cast<uint32_t>(groups_.size());
    move.group_count = 2;
    for (const Atom& atom : access.is_store ? std::array{reg, item} : std::array{item, reg}) {
      groups_.push_back({static_cast<uint32_t>(atoms_.size()), 1, AtomGroup::Form::single});
      atoms_.push_back(atom);
    }
    out.push_back(move);
  }
}

void KernelLinker::lower_call_buffers() {
  if (buffers_.empty()) return;
  find_buffers_in_memory();
  for (CallBuffer& buffer : buffers_) {
    if (!buffer.in_memory) continue;
    buffer.local_offset = (local_bytes_ + buffer.align - 1) / buffer.align * buffer.align;
    local_bytes_ = buffer.local_offset + buffer.bytes;
    local_align_ = std::max(local_align_, buffer.align);
  }
  std::vector<Linked> out;
  out.reserve(linked_.size());
  std::vector<int64_t> moved(linked_.size() + 1);
  for (size_t i = 0; i < linked_.size(); ++i) {
    moved[i] = static_cast<int64_t>(out.size());
    const Linked& linked = linked_[i];
    bool touches = false;
    for (uint32_t g = 0; g < linked.group_count && !touches; ++g) {
      const AtomGroup& group = groups_[linked.first_group + g];
      for (uint32_t a = 0; a < group.count; ++a) {
        const Atom& atom = atoms_[group.first + a];
        touches |= atom.kind == Atom::Kind::symbol && atom.type == kBufferAtom;
      }
    }
    if (touches) lower_access(linked_[i], out);
    else out.push_back(linked);
  }
  moved[linked_.size()] = static_cast<int64_t>(out.size());
  for (int64_t& position : label_position_)
    if (position >= 0) position = moved[static_cast<size_t>(position)];
  linked_ = std::move(out);
}

}  // namespace tcsim::isa::ptx
