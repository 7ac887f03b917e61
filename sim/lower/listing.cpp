#include <fmt/format.h>

#include "sim/lower/lower.h"

namespace tcsim::sim {

namespace {

std::string token_list(std::span<const Token> tokens) {
  std::string text;
  for (Token t : tokens) text += fmt::format("{}t{}", text.empty() ? "" : ",", t);
  return text;
}

std::string one_line(std::string_view text) {
  std::string line;
  for (char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n';
    if (!space) line += c;
    else if (!line.empty() && line.back() != ' ') line += ' ';
  }
  return line;
}

}  // namespace

std::string print_listing(const isa::Module& module, const LoweredProgram& program) {
  const isa::Kernel& kernel = *program.kernel;
  std::string out = fmt::format("// {}: {} operations for {} instructions, {} registers ({} estimated), {} tokens\n", kernel.name, program.ops.size(),
                                kernel.insts.size(), program.registers, program.registers_estimated, program.token_count);
  size_t block = 0;
  for (size_t s = 0; s < program.ops.size(); ++s) {
    for (; block < program.step_of_block.size() && program.step_of_block[block] == s; ++block)
      out += fmt::format("B{}: // line {}\n", block, kernel.insts[kernel.blocks[block].first].line);
    const MachineOp& op = program.ops[s];
    std::string copies;
    for (uint32_t c = 0; c < op.copy_count; ++c)
      copies += fmt::format(" t{}:=t{}", program.copies[op.copies + c].to, program.copies[op.copies + c].from);
    const std::string key =
        op.timing == isa::TimingClass::mma ? fmt::format("mma {}", kernel.insts[op.inst].timing_key) : std::string(name(op.timing));
    const std::string banks = op.read_cycles != 0 ? fmt::format(" +{}", op.read_cycles) : "";
    const std::string head =
        fmt::format("{:5}  {:<22} {} <- {}{}", s, key + banks, token_list(program.results(op)), token_list(program.sources(op)), copies);
    std::string ptx;
    for (uint32_t k = program.first[s]; k < program.first[s + 1]; ++k) {
      const isa::Inst& inst = kernel.insts[program.order[k]];
      const std::string guard = inst.guard < 0 ? "" : fmt::format("@{}%p{} ", inst.guard_negated ? "!" : "", inst.guard);
      ptx += fmt::format("{}{}:{}{}", ptx.empty() ? "" : " ; ", inst.line, guard, one_line(inst.text));
    }
    out += fmt::format("{:<70} // {}\n", head, ptx);
  }
  (void)module;
  return out;
}

}  // namespace tcsim::sim
