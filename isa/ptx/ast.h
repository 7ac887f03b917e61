// What the parser makes of a module, before instructions are looked up: functions with instructions whose names are
// resolved (registers numbered densely per function, variables, labels), operands as atoms in groups.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "isa/ptx/module.h"
#include "isa/ptx/problems.h"

namespace tcsim::isa::ptx {

enum class Literal : uint8_t { integer, real32, real64, decimal };

struct Atom {
  enum class Kind : uint8_t {
    reg,      // id: register of the function; value: offset (in an address)
    literal,  // value: bits, as `form` says
    symbol,   // id: variable of the module; value: offset
    label,    // id: label of the function
    name,     // not declared: a function, or an error
    special,  // %tid.x, ...: text
    sink      // _
  };
  Kind kind = Kind::literal;
  Literal form = Literal::integer;
  Type type = Type::none;  // reg
  bool negated = false;    // !
  int32_t id = -1;
  int64_t value = 0;
  std::string_view text;
  uint32_t line = 0, col = 0;
};

/// One operand position: atoms [first, first + count) of the function.
struct AtomGroup {
  uint32_t first = 0, count = 0;
  enum class Form : uint8_t { single, vector, pair, address, list } form = Form::single;  // list: ( ) of a call
};

struct Instruction {
  std::string_view opcode, text;
  Atom guard;  // kind reg: guarded
  bool guarded = false;
  uint32_t first_group = 0, group_count = 0;
  uint32_t line = 0, col = 0;
  DebugLoc loc;
};

struct Label {
  std::string_view name;
  uint32_t position = 0;  // instruction index
  int32_t table = -1;     // of .branchtargets: index into Function::tables
  bool prototype = false;
};

struct Register {
  std::string name;
  Type type = Type::none;
};

/// A formal parameter or return value: a variable (.param) or a register (.reg).
struct Formal {
  int32_t variable = -1, reg = -1;
};

struct Function {
  std::string_view name;
  bool is_entry = false, has_body = false;
  uint32_t line = 0, col = 0;
  std::vector<Formal> params, returns;
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<AtomGroup> groups;
  std::vector<Atom> atoms;
  std::vector<Label> labels;
  std::vector<AtomGroup> tables;
  std::array<uint32_t, 3> reqntid{}, maxntid{}, reqnctapercluster{};
  uint32_t minnctapersm = 0, maxnreg = 0;
};

struct Variable {
  Symbol symbol;
  bool is_module_scope = false, is_pointer = false;
  uint32_t line = 0, col = 0;
};

struct ModuleAst {
  std::deque<Function> functions;
  std::deque<Variable> variables;
  std::vector<std::pair<std::string_view, std::string_view>> aliases;
  bool gave_up = false;  // too many errors: the rest of the text was not read
};

/// Parses module.text; fills module's version, target and file table. Stops early after kMaxProblems syntax errors.
ModuleAst parse(Module& module, Problems& problems);

/// Bits of a literal as a value of `type`: 0f/0d/decimal constants are converted between f32 and f64 (PTX ISA,
/// "Constants"); in integer and bit types they keep their own bits (decimal ones take the width of the type).
uint64_t constant_bits(Literal literal, uint64_t bits, Type type);

/// True for %tid.x, %clock, ... (PTX ISA, "Special Registers"); text without the component for vectors is not one.
bool is_special_register(std::string_view text);
/// Width in bits of a special register.
int special_bits(std::string_view text);
/// Registers that change while a warp runs: only mov reads them.
std::optional<DynamicSpecial> dynamic_special(std::string_view text);

}  // namespace tcsim::isa::ptx
