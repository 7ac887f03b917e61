// A parsed PTX module, ready to execute: kernels with decoded instructions, symbols, parameters, control flow.
//
//   tcsim::Diagnostics diags;
//   auto module = isa::load_module("k.ptx", text, diags);      // parse + decode + link (calls are inlined)
//   if (diags.has_errors()) ...                                 // every problem, with file:line:col
//   const isa::Kernel* kernel = module->find_kernel("gemm");
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/diag.h"
#include "isa/op.h"
#include "isa/type.h"

namespace tcsim::isa {

struct ExecContext;
struct Inst;
struct InstDef;

/// Runs an instruction for the lanes in mask (guard already applied, mask != 0). See isa/exec/context.h.
using ExecFn = void (*)(ExecContext& ctx, const Inst& inst, uint32_t mask);

/// Special registers that change while a warp runs. Only mov reads them: its source operand is then a constant with
/// lanes == nullptr and this as its value.
enum class DynamicSpecial : uint8_t { clock, clock64, clock_hi, globaltimer, globaltimer_lo, globaltimer_hi };

/// One atomic operand. Vectors ({%r1,%r2}) are several operands in one group.
struct Operand {
  enum class Kind : uint8_t {
    none,
    reg,       // slot >= 0: first slot in the warp's register file
    pred,      // slot: index of the predicate
    constant,  // immediate or symbol address: lanes points at 32 equal lanes (32- or 64-bit as `bit_width` says);
               // lanes == nullptr: a DynamicSpecial in `value`
    address,   // [base + offset]: base register in `slot` (-1: none), `value` = byte offset or absolute address
    label,     // value: instruction index
    sink       // "_" : result not wanted
  };
  Kind kind = Kind::none;
  bool negated = false;       // !%p
  uint8_t bit_width = 32;     // of the register, constant or (address) base register: 16 and less count as 32
  Space space = Space::none;  // of a symbol that the address or constant came from
  int32_t slot = -1;
  int64_t value = 0;            // immediate bits (sign-extended), address offset, or label
  const void* lanes = nullptr;  // constant only
  int32_t symbol = -1;          // index into Module::symbols of the variable that `value` is an address of
};

/// Operands of one syntactic position: count operands from `first` in Inst::operands.
struct Group {
  uint8_t first = 0, count = 0;
};

/// Place in the user's source that `.loc` gives: file index into Module::files (0: none).
struct DebugLoc {
  uint32_t file = 0, line = 0, col = 0;
};

/// One executable instruction. Cold facts (def, mods) are for decoding, lowering and printing only.
struct Inst {
  ExecFn exec = nullptr;
  const Operand* operands = nullptr;
  std::array<Group, 10> groups{};  // wgmma.mma_async.sp has 10
  uint8_t group_count = 0;
  bool guard_negated = false;
  bool uniform_branch = false;  // bra.uni
  int16_t guard = -1;           // predicate slot, -1: always
  Op op = Op::invalid;
  Type type = Type::none;   // operation type (destination type of cvt and mma)
  Type type2 = Type::none;  // source type of cvt, A type of mma
  TimingClass timing = TimingClass::none;
  Space space = Space::none;   // ld, st, atom, cp.async destination
  uint32_t flags = 0;          // meaning is private to the instruction's chapter in isa/insn
  uint64_t aux = 0;            // likewise (lop3 table, sizes, counts, ...)
  const void* plan = nullptr;  // prepared data owned by the module (matrix plans)
  const InstDef* def = nullptr;
  const char* timing_key = "";  // mma: row of the machine file, for example "m16n8k16.f32.f16"
  int32_t target = -1;          // bra: instruction index
  int32_t reconverge = -1;      // bra: instruction index of the immediate post-dominator, -1: exit
  uint32_t line = 0, col = 0;   // in the PTX text
  DebugLoc loc;
  std::string_view text;  // the statement as written, without guard and semicolon

  std::span<const Operand> group(int i) const { return {operands + groups[i].first, groups[i].count}; }
  const Operand& operand(int i) const { return operands[groups[i].first]; }
};

/// A kernel parameter in the parameter bank.
struct Param {
  std::string name;
  Type type = Type::none;  // b8 for arrays (structs)
  uint32_t bytes = 0, align = 0, offset = 0;
  bool is_pointer = false;
};

/// An address in an initialiser: `bytes` bytes at `offset` hold (address of symbol + addend) >> shift.
struct AddressInit {
  uint32_t offset = 0, bytes = 8, shift = 0;
  std::string symbol;
  int64_t addend = 0;
  bool generic = false;  // generic(symbol): the generic address instead of the one in its space
};

/// A module-scope or function-scope variable.
struct Symbol {
  std::string name;
  Space space = Space::none;
  Type type = Type::none;
  uint64_t bytes = 0;  // 0: extern array without a size (dynamic shared memory)
  uint32_t align = 1;
  bool is_extern = false;
  std::vector<uint8_t> init;  // may be shorter than bytes: the rest is zeros
  std::vector<AddressInit> init_addresses;
  uint64_t address = 0;  // shared, local, constant: offset in the window; global: set by bind_globals
};

struct BasicBlock {
  uint32_t first = 0, end = 0;                // instruction range
  std::array<int32_t, 2> successors{-1, -1};  // block indices: fall-through first
  std::vector<int32_t> more_successors;       // brx: the other targets
  int32_t post_dominator = -1;
};

/// A special register that the kernel reads and that is fixed for a warp: written to `slot` when the warp starts.
struct SpecialSlot {
  std::string name;  // "%tid.x"
  int32_t slot = -1;
  int bit_width = 32;
};

struct Kernel {
  std::string name;
  std::vector<Param> params;
  uint32_t param_bytes = 0;
  std::vector<Inst> insts;
  std::vector<BasicBlock> blocks;
  std::vector<uint32_t> block_of;  // per instruction
  std::vector<SpecialSlot> specials;
  uint32_t slot_count = 0;  // 32-bit slots a warp needs
  uint32_t pred_count = 0;
  uint32_t local_bytes = 0;  // per thread, a multiple of local_align
  uint32_t local_align = 1;
  uint32_t shared_static_bytes = 0;                                   // fixed .shared variables that the kernel uses
  uint32_t dynamic_shared_offset = 0;                                 // where extern .shared starts (aligned)
  std::array<uint32_t, 3> reqntid{}, maxntid{}, reqnctapercluster{};  // 0: not given
  uint32_t minnctapersm = 0, maxnreg = 0;
  uint32_t line = 0;  // of the .entry directive
  std::deque<std::vector<Operand>> operand_store;
  std::deque<std::array<uint64_t, 64>> constant_store;  // 32 lanes of up to 128 bits
  /// What each register operand slot is called, for messages: (slot, "%r12"); and its declared type, in the same order.
  std::vector<std::pair<int32_t, std::string>> register_names;
  std::vector<Type> register_types;
  std::vector<std::string> pred_names;  // per predicate; "" for the one that is never written (constant predicates)
  /// .shared variables that the kernel uses: (index into Module::symbols, offset).
  std::vector<std::pair<uint32_t, uint32_t>> shared_symbols;
};

/// An operand that holds the address of a .global variable: filled in by bind_globals.
struct GlobalFixup {
  Operand* operand = nullptr;
  uint64_t* lanes = nullptr;  // constant operands: their 32 lanes
  uint32_t symbol = 0;        // index into Module::symbols
  int64_t addend = 0;
};

struct Module {
  std::string path, text;
  int version_major = 0, version_minor = 0;
  std::string target;              // "sm_80"
  int sm = 0;                      // 80
  bool arch_specific = false;      // the 'a' of sm_90a
  std::vector<std::string> files;  // .file table; index 0 is empty
  std::deque<Symbol> symbols;
  std::deque<Kernel> kernels;
  std::vector<std::shared_ptr<const void>> plans;  // keeps Inst::plan alive
  std::vector<uint8_t> constant_bytes;             // the .const window; address initialisers filled by bind_globals
  std::vector<GlobalFixup> fixups;
  std::deque<std::string> made_text;  // text of instructions that linking made (Inst::text views it)

  const Kernel* find_kernel(std::string_view name) const;
  Symbol* find_symbol(std::string_view name);
  /// "file.py:31" of an instruction, or "kernel.ptx:LINE" without .loc.
  std::string source_of(const Inst& inst) const;
};

/// Parses, decodes, links. Returns nullptr only when nothing could be understood; check diags for errors.
/// path is used in messages. Kinds: syntax, unsupported-instruction, target-version.
std::unique_ptr<Module> load_module(std::string path, std::string text, Diagnostics& diags);

class Matcher;
/// The same with an instruction table of one's own (isa/syntax/matcher.h).
std::unique_ptr<Module> load_module(std::string path, std::string text, Diagnostics& diags, const Matcher& matcher);

class GlobalMemory;
/// Places the module's .global variables in memory, writes their initial values, and patches the operands and the
/// .const window that hold their addresses. Once per module, before anything runs. (Library tcsim_bind.)
void bind_globals(Module& module, GlobalMemory& memory);

/// The kernel as PTX text of its own: declarations, then instructions with calls inlined. Loading the text gives the same
/// instructions, registers and layout again.
std::string print(const Module& module);
std::string print(const Module& module, const Kernel& kernel);
/// One instruction: "@!%p1 add.s32 %r1, %r2, 4;".
std::string print(const Module& module, const Kernel& kernel, const Inst& inst);

}  // namespace tcsim::isa
