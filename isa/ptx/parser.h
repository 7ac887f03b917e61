// Recursive descent over the tokens of a module. One statement's error does not end the parse: the parser skips to the
// next statement, so that all problems come out in one go.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/ptx/ast.h"
#include "isa/ptx/lexer.h"

namespace tcsim::isa::ptx {

// Bounds that keep hostile input from taking unbounded memory, stack or time. Real modules stay far below.
constexpr uint32_t kMaxRegisters = 1u << 20;  // declared in one function
constexpr uint64_t kMaxArrayBytes = 1ull << 32;
constexpr uint64_t kMaxParamBytes = 32764;  // PTX ISA, "Kernel Function Parameters"
constexpr int kMaxScopeDepth = 200;
constexpr int kMaxExpressionDepth = 100;
constexpr uint32_t kMaxGroupAtoms = 255;  // isa::Group counts in 8 bits
constexpr uint32_t kMaxGroups = 64;
constexpr size_t kMaxInitBytes = 1u << 28;

/// Value of a constant expression.
struct Value {
  Literal kind = Literal::integer;
  uint64_t bits = 0;
  bool is_unsigned = false;
  int64_t as_int() const { return static_cast<int64_t>(bits); }
};

class Parser {
 public:
  Parser(Module& module, Problems& problems) : module_(module), problems_(problems), lexer_(module.text) {}
  ModuleAst parse();

 private:
  struct SyntaxError {};  // thrown after the problem is recorded; caught where parsing can go on
  struct TooMany {};      // kMaxProblems reached

  struct RegisterRange {
    std::string_view prefix;
    Type type;
    uint32_t count;              // 0: a scalar name, not a range
    uint8_t vector;              // 1, 2 or 4 components
    std::vector<int32_t> dense;  // register of the function, -1: not used yet
  };
  struct Entry {
    bool is_register = false;
    uint32_t index = 0;  // into ranges_ or ast_.variables
  };
  struct Scope {
    std::unordered_map<std::string_view, Entry> names, prefixes;
    std::unordered_map<std::string_view, uint32_t> labels;
    std::vector<uint32_t> pending;  // atoms that may be labels
  };

  // parser.cpp: tools, module-level directives
  [[noreturn]] void fail(const Token& at, std::string text);
  void problem(std::string kind, uint32_t line, uint32_t col, std::string text);
  static std::string show(const Token& token);
  const Token& peek() const { return lexer_.peek(); }
  bool accept(std::string_view punctuation);
  void expect(std::string_view punctuation, std::string_view where);
  bool accept_directive(std::string_view name);
  std::string_view identifier(std::string_view what);
  uint64_t unsigned_number(std::string_view what, uint64_t limit);
  void header();
  void module_statement();
  void version();
  void target();
  void file_directive();
  void loc_directive();
  void section();
  void alias();
  void skip_statement(bool in_body);

  // declarations.cpp
  Type type_directive(std::string_view where);
  std::optional<Type> accept_type();
  Space space_of(std::string_view directive) const;
  void variable_statement(Space space, std::string_view linkage, bool module_scope);
  Variable& declare_variable(Space space, Type type, int vector, uint32_t align, const Token& name_token, bool module_scope);
  void dimensions(Variable& variable, uint64_t element, bool& open_ended);
  void initialiser(Variable& variable, Type type, bool open_ended);
  void init_list(Variable& variable, uint32_t element_bytes, Type type, int depth);
  void init_element(Variable& variable, uint32_t element_bytes, Type type);
  void init_symbol(Variable& variable, uint32_t element_bytes, uint64_t mask);
  void put_init(Symbol& symbol, uint64_t bits, uint32_t bytes, const Token& at);
  void register_statement();
  int32_t declare_register(std::string_view name, Type type, uint32_t count, uint8_t vector, const Token& at);
  void declare_name(std::string_view name, Entry entry, const Token& at);

  // functions.cpp
  void function(bool is_entry);
  void formals(std::vector<Formal>& list, bool is_entry);
  Formal formal(bool is_entry);
  void performance_directives();
  void three_numbers(std::array<uint32_t, 3>& out);
  void body();
  void body_statement();
  bool body_directive();
  void label(const Token& name);
  void instruction();
  void branch_targets();
  void open_scope() { scopes_.emplace_back(); }
  void close_scope();
  void finish_function();

  // operands.cpp
  void operand();
  void address(AtomGroup& group);
  void atom_list(AtomGroup& group, std::string_view close);
  Atom atom();
  void add_atom(AtomGroup& group, const Atom& atom, const Token& at);
  void add_identifier(AtomGroup& group, const Token& at);
  bool resolve(std::string_view name, Atom& out, std::vector<Atom>* vector_components);
  int32_t dense_register(RegisterRange& range, std::string_view name, uint32_t number);
  Atom constant_atom(const Token& at, const Value& value);

  // expressions.cpp
  Value expression();
  Value binary(int min_precedence, int depth);
  Value unary(int depth);
  int64_t integer_expression(std::string_view what);

  Module& module_;
  Problems& problems_;
  Lexer lexer_;
  ModuleAst ast_;
  std::vector<Scope> scopes_;
  std::vector<RegisterRange> ranges_;
  Function* function_ = nullptr;
  uint32_t registers_declared_ = 0;
  uint32_t problem_count_ = 0;
  bool in_vector_ = false;  // between the braces of a vector operand: error recovery must not take '}' for a scope's end
  DebugLoc loc_;
};

}  // namespace tcsim::isa::ptx
