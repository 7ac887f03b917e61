#include "sim/gpu/arithmetic_notes.h"

#include <fmt/format.h>

#include <map>

#include "isa/insn/matrix_plan.h"
#include "isa/insn/wgmma.h"
#include "isa/numeric/tensor_core.h"
#include "sim/gpu/target_check.h"

namespace tcsim::sim {
namespace {

using isa::MmaArithmetic;
using isa::MmaPath;
using isa::Op;
using isa::Type;

/// tcgen05.mma has its types in a descriptor that exists at run time only: the kind stands for them.
MmaArithmetic tcgen05_arithmetic(const isa::Inst& inst) {
  const auto has = [&inst](std::string_view word) { return inst.text.find(word) != std::string_view::npos; };
  MmaArithmetic m;
  m.path = MmaPath::tcgen05;
  m.a = m.b = has(".kind::tf32") ? Type::tf32 : has(".kind::f16") ? Type::f16 : has(".kind::i8") ? Type::s8 : Type::e4m3;
  m.sparse = has(".sp.");
  m.scaled = has(".kind::mx");
  return m;
}

/// false: not a matrix product.
bool arithmetic_of(const isa::Inst& inst, MmaArithmetic& m) {
  switch (inst.op) {
    case Op::mma:
    case Op::mma_sp:
    case Op::wmma_mma: {
      const isa::MmaDesc& d = static_cast<const isa::MmaPlanFamily*>(inst.plan)->desc();
      m.a = d.a, m.b = d.b, m.accumulator = d.d, m.k = d.shape.k;
      m.sparse = inst.op == Op::mma_sp, m.scaled = d.scale != Type::none;
      return true;
    }
    case Op::wgmma_mma:
    case Op::wgmma_mma_sp: {
      const isa::WgmmaDesc& d = static_cast<const isa::WgmmaInst*>(static_cast<const isa::WgmmaOps*>(inst.plan))->plan.desc();
      m.path = MmaPath::wgmma;
      m.a = d.a, m.b = d.b, m.accumulator = d.d, m.k = d.shape.k, m.sparse = d.sparse;
      return true;
    }
    case Op::tcgen05_mma: m = tcgen05_arithmetic(inst); return true;
    default: return false;
  }
}

}  // namespace

void note_arithmetic(const isa::Module& module, const isa::Kernel& kernel, const cfg::Machine& machine, Diagnostics& diags) {
  struct Found {
    const isa::Inst* first;
    uint32_t count;
  };
  std::map<std::string_view, Found> found;
  for (const isa::Inst& inst : kernel.insts) {
    MmaArithmetic m;
    if (!arithmetic_of(inst, m)) continue;
    m.generation = static_cast<isa::Generation>(generation_of(machine));
    if (const std::string_view note = isa::arithmetic_note(m); !note.empty()) ++found.try_emplace(note, Found{&inst, 0}).first->second.count;
  }
  for (const auto& [note, f] : found) {
    const std::string_view opcode = f.first->text.substr(0, f.first->text.find(' '));
    diags.note("unconfirmed-arithmetic", {module.path, f.first->line, f.first->col},
               fmt::format("last bits of '{}'{} on {}: {}", opcode, f.count > 1 ? fmt::format(" and {} more", f.count - 1) : "", machine.name, note));
  }
}

}  // namespace tcsim::sim
