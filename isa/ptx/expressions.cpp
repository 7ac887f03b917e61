// Constant expressions (PTX ISA, "Constant Expressions"): 64-bit integers with C's operators, or one floating constant.
#include <array>

#include <fmt/format.h>

#include "isa/ptx/parser.h"

namespace tcsim::isa::ptx {
namespace {

struct Operator {
  std::string_view text;
  int precedence;
};

// C's precedence; `?:` is below all of them.
constexpr std::array<Operator, 18> kOperators = {{{"||", 1},
                                                  {"&&", 2},
                                                  {"|", 3},
                                                  {"^", 4},
                                                  {"&", 5},
                                                  {"==", 6},
                                                  {"!=", 6},
                                                  {"<=", 7},
                                                  {">=", 7},
                                                  {"<", 7},
                                                  {">", 7},
                                                  {"<<", 8},
                                                  {">>", 8},
                                                  {"+", 9},
                                                  {"-", 9},
                                                  {"*", 10},
                                                  {"/", 10},
                                                  {"%", 10}}};

int precedence_of(const Token& token) {
  if (token.kind != TokenKind::punctuation) return 0;
  for (const Operator& op : kOperators)
    if (op.text == token.text) return op.precedence;
  return 0;
}

uint64_t divide(uint64_t a, uint64_t b, bool is_unsigned, bool remainder) {
  if (is_unsigned) return remainder ? a % b : a / b;
  const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  if (y == -1) return remainder ? 0 : 0 - a;  // INT64_MIN / -1 traps on the host
  return static_cast<uint64_t>(remainder ? x % y : x / y);
}

uint64_t apply(std::string_view op, uint64_t a, uint64_t b, bool is_unsigned) {
  const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "<<") return b > 63 ? 0 : a << b;
  if (op == ">>") return is_unsigned ? (b > 63 ? 0 : a >> b) : static_cast<uint64_t>(x >> (b > 63 ? 63 : b));
  if (op == "&") return a & b;
  if (op == "|") return a | b;
  if (op == "^") return a ^ b;
  if (op == "&&") return a && b;
  if (op == "||") return a || b;
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return is_unsigned ? a < b : x < y;
  if (op == ">") return is_unsigned ? a > b : x > y;
  if (op == "<=") return is_unsigned ? a <= b : x <= y;
  return is_unsigned ? a >= b : x >= y;
}

}  // namespace

Value Parser::expression() {
  Value value = binary(1, 0);
  if (!peek().is("?")) return value;
  lexer_.next();
  const Value yes = binary(1, 0);
  expect(":", "in a ?: expression");
  const Value no = binary(1, 0);
  return value.bits ? yes : no;
}

Value Parser::binary(int min_precedence, int depth) {
  Value left = unary(depth);
  for (int p = precedence_of(peek()); p >= min_precedence; p = precedence_of(peek())) {
    const Token op = peek();
    // "a|b" in operand position is a pair of registers, which the caller has taken already; a constant has no pair.
    lexer_.next();
    const Token right_token = peek();
    const Value right = binary(p + 1, depth + 1);
    if (left.kind != Literal::integer || right.kind != Literal::integer)
      fail(op, fmt::format("found '{}' between floating-point constants, expected integers", op.text));
    left.is_unsigned |= right.is_unsigned;
    if (op.text == "/" || op.text == "%") {
      if (right.bits == 0) fail(right_token, fmt::format("found 0 to the right of '{}', expected another value", op.text));
      left.bits = divide(left.bits, right.bits, left.is_unsigned, op.text == "%");
    } else {
      left.bits = apply(op.text, left.bits, right.bits, left.is_unsigned);
    }
  }
  return left;
}

Value Parser::unary(int depth) {
  const Token at = peek();
  if (depth > kMaxExpressionDepth) fail(at, fmt::format("found an expression nested more than {} deep, expected less", kMaxExpressionDepth));
  Value value;
  if (at.kind == TokenKind::integer) {
    lexer_.next();
    value.bits = at.value;
    value.is_unsigned = at.is_unsigned;
    return value;
  }
  if (at.kind == TokenKind::real32 || at.kind == TokenKind::real64) {
    lexer_.next();
    value.bits = at.value;
    value.kind = at.kind == TokenKind::real32 ? Literal::real32 : at.is_decimal_real ? Literal::decimal : Literal::real64;
    return value;
  }
  if (at.kind == TokenKind::identifier && at.text == "WARP_SZ") {
    lexer_.next();
    value.bits = 32;  // PTX ISA, "Predefined Constants"
    return value;
  }
  if (accept("(")) {
    if (accept_directive(".s64") || accept_directive(".u64")) {  // cast
      expect(")", "after the type of a cast");
      value = unary(depth + 1);
      value.is_unsigned = at.text == ".u64";
      return value;
    }
    value = binary(1, depth + 1);
    expect(")", "after the expression");
    return value;
  }
  if (!at.is("-") && !at.is("+") && !at.is("~") && !at.is("!")) fail(at, fmt::format("found {}, expected a constant", show(at)));
  lexer_.next();
  value = unary(depth + 1);
  if (value.kind != Literal::integer) {
    if (at.text == "-") value.bits ^= value.kind == Literal::real32 ? 1ull << 31 : 1ull << 63;
    else if (at.text != "+") fail(at, fmt::format("found '{}' before a floating-point constant, expected an integer", at.text));
    return value;
  }
  if (at.text == "-") value.bits = 0 - value.bits;
  else if (at.text == "~") value.bits = ~value.bits;
  else if (at.text == "!") value.bits = value.bits == 0;
  return value;
}

int64_t Parser::integer_expression(std::string_view what) {
  const Token at = peek();
  const Value value = expression();
  if (value.kind != Literal::integer) fail(at, fmt::format("found {}, expected {}", show(at), what));
  return value.as_int();
}

}  // namespace tcsim::isa::ptx
