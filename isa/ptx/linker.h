// From the parsed module to executable kernels: calls are inlined, variables get their places, instructions are looked up
// in the table and bound, control flow is analysed.
//
//   ast Function --expand()--> linked instructions --lower_call_buffers()--> ... --decode()--> Kernel::insts --flow--> blocks
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isa/ptx/ast.h"
#include "isa/ptx/problems.h"
#include "isa/syntax/matcher.h"

namespace tcsim::isa::ptx {

constexpr size_t kMaxLinkedInstructions = 1u << 20;  // of one kernel, calls inlined
constexpr size_t kMaxCallDepth = 64;
constexpr uint64_t kMaxConstantBytes = 10 * 65536;  // PTX ISA, "Constant State Space": ten banks of 64 KiB
constexpr uint64_t kMaxKernelParamBytes = 32764;    // PTX ISA, "Kernel Function Parameters"

/// What all kernels of a module share.
struct LinkContext {
  Module& module;
  const ModuleAst& ast;
  const Matcher& matcher;
  Problems& problems;
  std::unordered_map<std::string_view, const Function*> functions;
  std::vector<int32_t> symbol_of;  // variable -> index into Module::symbols, -1: none
  std::unordered_map<std::string_view, std::vector<Match>> mnemonics;

  const std::vector<Match>& matches(std::string_view mnemonic);
};

/// An instruction of the kernel being linked. Atoms are copies with kernel-wide ids: registers, labels, buffers.
struct Linked {
  std::string_view opcode, text;
  bool guarded = false;
  Atom guard;
  uint32_t first_group = 0, group_count = 0;
  uint32_t line = 0, col = 0;
  DebugLoc loc;
};

/// A .param variable of a call sequence or of a callee: registers if every access is a whole register, else local memory.
struct CallBuffer {
  uint64_t bytes = 0;
  uint32_t align = 1;
  std::string_view name;
  bool in_memory = false;
  uint64_t local_offset = 0;
  std::map<uint64_t, int32_t> registers;  // offset -> register of the kernel
};

class KernelLinker {
 public:
  KernelLinker(LinkContext& context, const Function& entry) : ctx_(context), entry_(entry) {}
  void run();

 private:
  struct Instance {
    const Function* function = nullptr;
    uint32_t first_register = 0, first_label = 0;
    std::unordered_map<int32_t, int32_t> buffers;  // .param variable -> buffer
    std::unordered_map<int32_t, uint64_t> locals;  // .local variable -> offset
    int32_t return_label = -1;
  };

  // inline.cpp
  void expand(Instance& instance);
  Instance open_instance(const Function& fn);
  void expand_instruction(Instance& instance, const Instruction& inst);
  void expand_call(Instance& instance, const Instruction& inst);
  void inline_function(Instance& caller, const Instruction& inst, const Function& callee, const AtomGroup* returns, const AtomGroup* params);
  void bind_formals(Instance& caller, Instance& callee, const std::vector<Formal>& formals, const AtomGroup* actuals, bool results,
                    const Instruction& inst);
  void known_external(Instance& caller, const Instruction& inst, std::string_view name, const AtomGroup* returns);
  Atom map_atom(Instance& instance, const Atom& atom);
  int32_t buffer_for(Instance& instance, int32_t variable);
  uint64_t local_for(Instance& instance, int32_t variable);
  void emit(Linked linked, std::vector<std::vector<Atom>> operands);
  void emit_made(const Instruction& at, const std::string& opcode, std::vector<Atom> operands, const Atom* guard = nullptr);
  int32_t new_label();
  Atom label_atom(int32_t label) const;
  void error(const char* kind, uint32_t line, uint32_t col, std::string text) { ctx_.problems.add(kind, line, col, std::move(text)); }

  // call_buffers.cpp
  void lower_call_buffers();
  void find_buffers_in_memory();
  void lower_access(Linked& linked, std::vector<Linked>& out);
  int32_t buffer_register(CallBuffer& buffer, uint64_t offset, Type type);

  // decode.cpp
  void end_with_return();
  void decode();
  void decode_one(Linked& linked, Inst& inst);
  const Match* choose(const Linked& linked, const std::vector<Match>& matches, std::string& why);
  bool fits(const Linked& linked, const std::vector<syntax::OperandSpec>& specs, std::string& why, int& progress) const;
  bool allowed_here(const InstDef& def) const;
  void build_operands(const Linked& linked, const Match& match, Inst& inst);
  void build_operand(const Linked& linked, const Match& match, const Atom& atom, bool is_address, bool predicate, Type type, Operand& out);
  void register_operand(const Atom& atom, Operand& out);
  void constant_operand(uint64_t value, Type type, Operand& out);
  void symbol_operand(const Linked& linked, const Atom& atom, bool is_address, Type type, Operand& out);
  void special_operand(const Linked& linked, const Match& match, const Atom& atom, Operand& out);
  void predicate_constant(bool value, Operand& out);
  uint64_t* new_lanes(uint64_t value, int width);
  void finish_memory(const Linked& linked, Inst& inst);
  void unsupported(const Linked& linked);

  // layout.cpp
  void layout_params();
  void layout_shared();

  LinkContext& ctx_;
  const Function& entry_;
  Kernel* kernel_ = nullptr;
  std::vector<Linked> linked_;
  std::vector<AtomGroup> groups_;
  std::vector<Atom> atoms_;
  std::vector<Register> registers_;
  std::vector<int32_t> register_slot_;
  std::vector<int64_t> label_position_;
  std::vector<CallBuffer> buffers_;
  std::vector<const Function*> stack_;
  std::unordered_map<int32_t, uint32_t> param_offset_;  // entry's .param variable -> offset
  std::map<int32_t, uint32_t> shared_offset_;           // used .shared variable -> offset (after layout)
  std::unordered_map<std::string_view, int32_t> special_slot_;
  std::map<std::pair<uint64_t, int>, uint64_t*> lanes_;
  uint64_t local_bytes_ = 0;
  uint32_t local_align_ = 1;
  int32_t zero_pred_ = -1;
};

// flow.cpp: fills blocks, block_of, reconverge of every branch.
void analyse_flow(Kernel& kernel);

// Kinds of a symbol atom after expansion: which id space Atom::id is in is told by the variable's space, except for
// call buffers and locals, whose atoms carry these markers in Atom::type.
constexpr Type kBufferAtom = Type::b1;  // id: buffer
constexpr Type kLocalAtom = Type::u4;   // value: offset in local memory already

}  // namespace tcsim::isa::ptx
