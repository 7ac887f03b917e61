// Modules as PTX text. What is printed is the linked kernel: calls are inlined, names that several functions use get a
// suffix, local variables are one array.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "isa/exec/memory.h"
#include "isa/ptx/module.h"
#include "isa/syntax/matcher.h"

namespace tcsim::isa {
namespace {

constexpr std::string_view kDepot = "__local_depot";

std::string_view opcode_of(const Inst& inst) { return inst.text.substr(0, inst.text.find_first_of(" \t\r\n[{(;/")); }

class Printer {
 public:
  Printer(const Module& module, const Kernel& kernel) : module_(module), kernel_(kernel) {
    std::map<std::string, int> used;
    const auto unique = [&](const std::string& name) {
      std::string out = name;
      std::replace(out.begin(), out.end(), '.', '_');  // components of vector registers
      for (int n = 1; !used.emplace(out, 0).second; ++n) out = fmt::format("{}${}", out, n);
      return out;
    };
    for (const auto& [slot, name] : kernel.register_names) names_[slot] = unique(name);
    for (const std::string& name : kernel.pred_names) preds_.push_back(name.empty() ? "" : unique(name));
    for (const SpecialSlot& special : kernel.specials) names_[special.slot] = special.name;
    for (const Inst& inst : kernel.insts)
      for (int g = 0; g < inst.group_count; ++g)
        for (const Operand& operand : inst.group(g))
          if (operand.kind == Operand::Kind::label) labels_.insert(operand.value);
  }

  std::string instruction(const Inst& inst) {
    std::string out;
    if (inst.guard >= 0) out += fmt::format("@{}{} ", inst.guard_negated ? "!" : "", preds_[static_cast<size_t>(inst.guard)]);
    out += opcode_of(inst);
    for (int g = 0; g < inst.group_count; ++g) {
      out += g ? ", " : " ";
      out += group(inst, g);
    }
    return out + ";";
  }

  std::string kernel() {
    std::string out = fmt::format(".visible .entry {}(", kernel_.name);
    for (size_t i = 0; i < kernel_.params.size(); ++i) out += fmt::format("{}\n\t{}", i ? "," : "", param(kernel_.params[i]));
    out += fmt::format(")\n{}{{\n{}", directives(), declarations());
    DebugLoc loc;
    for (size_t i = 0; i < kernel_.insts.size(); ++i) {
      const Inst& inst = kernel_.insts[i];
      if (labels_.contains(static_cast<int64_t>(i))) out += fmt::format("$L_{}:\n", i);
      if (inst.op == Op::brx) out += table(i);
      if (inst.loc.file != loc.file || inst.loc.line != loc.line || inst.loc.col != loc.col) {
        loc = inst.loc;
        out += fmt::format("\t.loc\t{} {} {}\n", loc.file, loc.line, loc.col);
      }
      table_index_ = i;
      out += fmt::format("\t{}\n", instruction(inst));
    }
    return out + "}\n";
  }

 private:
  static std::string param(const Param& p) {
    if (p.bytes == static_cast<uint32_t>(bits(p.type)) / 8)
      return fmt::format(".param .align {} .{} {}{}", p.align, name(p.type), p.is_pointer ? ".ptr .align 1 " : "", p.name);
    return fmt::format(".param .align {} .{} {}[{}]", p.align, name(p.type), p.name, p.bytes / std::max(1u, static_cast<uint32_t>(bits(p.type)) / 8));
  }

  std::string directives() const {
    std::string out;
    const auto three = [&](std::string_view word, const std::array<uint32_t, 3>& n) {
      if (n[0]) out += fmt::format(".{} {}, {}, {}\n", word, n[0], n[1], n[2]);
    };
    three("reqntid", kernel_.reqntid);
    three("maxntid", kernel_.maxntid);
    three("reqnctapercluster", kernel_.reqnctapercluster);
    if (kernel_.minnctapersm) out += fmt::format(".minnctapersm {}\n", kernel_.minnctapersm);
    if (kernel_.maxnreg) out += fmt::format(".maxnreg {}\n", kernel_.maxnreg);
    return out;
  }

  std::string declarations() const {
    std::string out;
    if (kernel_.local_bytes) out += fmt::format("\t.local .align {} .b8 {}[{}];\n", kernel_.local_align, kDepot, kernel_.local_bytes);
    for (const std::string& p : preds_)
      if (!p.empty()) out += fmt::format("\t.reg .pred {};\n", p);
    for (size_t i = 0; i < kernel_.register_names.size(); ++i)
      out += fmt::format("\t.reg .{} {};\n", name(kernel_.register_types[i]), names_.at(kernel_.register_names[i].first));
    return out;
  }

  std::string table(size_t index) const {
    std::string out = fmt::format("$T_{}: .branchtargets ", index);
    const auto targets = kernel_.insts[index].group(1);
    for (size_t t = 0; t < targets.size(); ++t) out += fmt::format("{}$L_{}", t ? ", " : "", targets[t].value);
    return out + ";\n";
  }

  static std::string plus(std::string base, int64_t offset) {
    return offset == 0 ? base : offset > 0 ? fmt::format("{}+{}", base, offset) : fmt::format("{}+-{}", base, 0 - static_cast<uint64_t>(offset));
  }

  /// Address of a variable as name + offset; the number itself where there is none.
  std::string variable(const Operand& operand, bool generic) const {
    int64_t value = operand.value;
    if (operand.space == Space::local) return plus(std::string(kDepot), value - (generic ? static_cast<int64_t>(kLocalWindow) : 0));
    if (operand.space == Space::param) {
      if (generic) value -= static_cast<int64_t>(kParamWindow);
      const Param* best = nullptr;
      for (const Param& p : kernel_.params)
        if (!best || p.offset <= value) best = &p;
      return best ? plus(best->name, value - best->offset) : fmt::format("{}", value);
    }
    if (operand.symbol < 0) return fmt::format("{}", value);
    const Symbol& symbol = module_.symbols[static_cast<size_t>(operand.symbol)];
    int64_t base = static_cast<int64_t>(symbol.address);
    if (operand.space == Space::shared) {
      for (const auto& [index, offset] : kernel_.shared_symbols)
        if (static_cast<int32_t>(index) == operand.symbol) base = offset;
      if (generic) base += static_cast<int64_t>(kSharedWindow);
    }
    if (operand.space == Space::constant && generic) base += static_cast<int64_t>(kConstantWindow);
    return plus(symbol.name, value - base);
  }

  std::string atom(const Inst& inst, const Operand& operand) const {
    const bool generic = inst.space == Space::generic && operand.kind == Operand::Kind::address;
    switch (operand.kind) {
      case Operand::Kind::reg: return names_.at(operand.slot);
      case Operand::Kind::pred: {
        const std::string& name = preds_[static_cast<size_t>(operand.slot)];
        return name.empty() ? operand.negated ? "1" : "0" : fmt::format("{}{}", operand.negated ? "!" : "", name);
      }
      case Operand::Kind::address: {
        if (operand.slot >= 0) return plus(names_.at(operand.slot), operand.value);
        return operand.space == Space::none ? fmt::format("{}", operand.value) : variable(operand, generic);
      }
      case Operand::Kind::constant: {
        static constexpr std::string_view kDynamic[] = {"%clock", "%clock64", "%clock_hi", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"};
        if (!operand.lanes) return std::string(kDynamic[static_cast<size_t>(operand.value)]);
        return operand.space == Space::none ? literal(inst, operand) : variable(operand, false);
      }
      case Operand::Kind::label: return fmt::format("$L_{}", operand.value);
      case Operand::Kind::sink: return "_";
      case Operand::Kind::none: return "?";
    }
    return "?";
  }

  static std::string literal(const Inst& inst, const Operand& operand) {
    // An operand of a floating-point type keeps its bits only when written as bits.
    Type type = Type::none;
    for (const std::string_view word : syntax::split_mnemonic(opcode_of(inst)))
      if (const auto t = type_from_name(word)) type = *t;
    if (type == Type::f32) return fmt::format("0f{:08X}", static_cast<uint32_t>(operand.value));
    if (type == Type::f64) return fmt::format("0d{:016X}", static_cast<uint64_t>(operand.value));
    return fmt::format("{}", operand.value);
  }

  std::string group(const Inst& inst, int g) const {
    const auto operands = inst.group(g);
    if (inst.op == Op::brx && g == 1) return fmt::format("$T_{}", table_index_);
    const bool address = !operands.empty() && operands[0].kind == Operand::Kind::address;
    std::vector<std::string> parts;
    for (const Operand& operand : operands) parts.push_back(atom(inst, operand));
    if (address) {
      if (parts.size() == 1) return fmt::format("[{}]", parts[0]);
      std::vector<std::string> rest(parts.begin() + 1, parts.end());
      return fmt::format("[{}, {{{}}}]", parts[0], fmt::join(rest, ", "));
    }
    if (parts.size() == 1 && !braces(inst, g)) return parts[0];
    if (pair(inst, g)) return fmt::format("{}|{}", parts[0], parts[1]);
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }

  /// One element in braces, as some instructions want it ({%r1} of ldmatrix .x1): as it was written.
  static bool braces(const Inst& inst, int g) {
    int depth = 0, at = 0;
    for (size_t i = opcode_of(inst).size(); i < inst.text.size(); ++i) {
      const char c = inst.text[i];
      if (c == '{' && depth == 0 && at == g) return true;
      depth += (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
      if (c == ',' && depth == 0) ++at;
    }
    return false;
  }
  static bool pair(const Inst& inst, int g) {
    return g == 0 && inst.group(g).size() == 2 && inst.text.find('|') != std::string_view::npos && !braces(inst, g);
  }

  const Module& module_;
  const Kernel& kernel_;
  std::map<int32_t, std::string> names_;
  std::vector<std::string> preds_;
  std::set<int64_t> labels_;
  size_t table_index_ = 0;
};

std::string initial_value(const Symbol& symbol, uint32_t element) {
  if (symbol.init.empty()) return {};
  std::vector<std::string> parts;
  for (size_t i = 0; i < symbol.init.size(); i += element) {
    const auto address =
        std::find_if(symbol.init_addresses.begin(), symbol.init_addresses.end(), [i](const AddressInit& a) { return a.offset == i; });
    if (address != symbol.init_addresses.end()) {
      std::string target = address->generic ? fmt::format("generic({})", address->symbol) : address->symbol;
      if (address->addend) target += fmt::format("+{}", address->addend);
      // Mask operator: element by element of the address.
      parts.push_back(element == 8 ? target
                                   : fmt::format("0x{:X}({})",
                                                 (element == 4   ? 0xffffffffull
                                                  : element == 2 ? 0xffffull
                                                                 : 0xffull)
                                                     << address->shift,
                                                 target));
      continue;
    }
    uint64_t value = 0;
    for (uint32_t b = 0; b < std::min(element, 8u) && i + b < symbol.init.size(); ++b) value |= static_cast<uint64_t>(symbol.init[i + b]) << (8 * b);
    parts.push_back(symbol.type == Type::f32   ? fmt::format("0f{:08X}", value)
                    : symbol.type == Type::f64 ? fmt::format("0d{:016X}", value)
                                               : fmt::format("{}", value));
  }
  return fmt::format(" = {{{}}}", fmt::join(parts, ", "));
}

std::string symbol_text(const Symbol& symbol) {
  const uint32_t element = std::max(1u, static_cast<uint32_t>(bits(symbol.type)) / 8);
  const std::string size = symbol.bytes == 0 ? "[]" : fmt::format("[{}]", symbol.bytes / element);
  return fmt::format("{}.{} .align {} .{} {}{}{};\n", symbol.is_extern ? ".extern " : "", name(symbol.space), symbol.align, name(symbol.type),
                     symbol.name, size, initial_value(symbol, element));
}

}  // namespace

std::string print(const Module& module, const Kernel& kernel, const Inst& inst) { return Printer(module, kernel).instruction(inst); }

std::string print(const Module& module, const Kernel& kernel) { return Printer(module, kernel).kernel(); }

std::string print(const Module& module) {
  std::string out = fmt::format(".version {}.{}\n.target {}\n.address_size 64\n\n", module.version_major, module.version_minor, module.target);
  for (size_t i = 1; i < module.files.size(); ++i)
    if (!module.files[i].empty()) out += fmt::format(".file {} \"{}\"\n", i, module.files[i]);
  for (const Symbol& symbol : module.symbols) out += symbol_text(symbol);
  for (const Kernel& kernel : module.kernels) out += fmt::format("\n{}", print(module, kernel));
  return out;
}

}  // namespace tcsim::isa
