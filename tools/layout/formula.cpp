#include "tools/layout/formula.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace tcsim::layout {

struct Formula::Node {
  std::string op;  // "": a number or a variable
  int64_t number = 0;
  int variable = -1;
  std::array<std::shared_ptr<const Node>, 3> of;  // operands
};

namespace {

using Node = Formula::Node;
using Ref = std::shared_ptr<const Node>;

// The tighter, the higher; longer operators first, so that "<<" is not read as "<".
struct Operator {
  std::string_view text;
  int level;
};
constexpr Operator kOperators[] = {{"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"|", 3},
                                   {"^", 4},  {"&", 5},  {"<", 7},  {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};
constexpr size_t kDeepest = 200, kLongest = 1000;  // bound the recursion

class Parser {
 public:
  Parser(std::string_view text, const std::vector<std::string>& names, std::string& error) : text_(text), names_(names), error_(error) {}

  Ref whole() {
    Ref root = choice();
    skip();
    if (root && at_ < text_.size()) return fail("an operator");
    return root;
  }

 private:
  Ref choice() {
    Ref condition = binary(1);
    if (!condition || !take("?")) return condition;
    Ref yes = choice();
    if (!yes) return nullptr;
    if (!take(":")) return fail("':'");
    Ref no = choice();
    return no ? make("?", {condition, yes, no}) : nullptr;
  }
  Ref binary(int level) {
    Ref left = unary();
    while (left) {
      skip();
      const auto* op =
          std::find_if(std::begin(kOperators), std::end(kOperators), [&](const Operator& o) { return text_.substr(at_).starts_with(o.text); });
      if (op == std::end(kOperators) || op->level < level) return left;
      at_ += op->text.size();
      Ref right = binary(op->level + 1);
      left = right ? make(op->text, {left, right, nullptr}) : nullptr;
    }
    return left;
  }
  Ref unary() {
    skip();
    if (++depth_ > kDeepest) return fail("fewer nested parentheses");
    Ref out = primary();
    --depth_;
    return out;
  }
  Ref primary() {
    for (const std::string_view op : {"-", "!", "~", "+"})
      if (take(op)) {
        Ref of = unary();
        return of ? make(fmt::format("u{}", op), {of, nullptr, nullptr}) : nullptr;
      }
    if (take("(")) {
      Ref inner = choice();
      if (inner && !take(")")) return fail("')'");
      return inner;
    }
    const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    size_t end = at_;
    while (end < text_.size() && word(text_[end])) ++end;
    const std::string_view token = text_.substr(at_, end - at_);
    auto node = std::make_shared<Node>();
    if (const auto name = std::find(names_.begin(), names_.end(), token); name != names_.end())
      node->variable = static_cast<int>(name - names_.begin());
    else if (!number(token, node->number)) return fail(fmt::format("a number, '(' or one of {}", fmt::join(names_, ", ")));
    at_ = end;
    return node;
  }
  static bool number(std::string_view token, int64_t& out) {
    const bool hex = token.starts_with("0x");
    const char *first = token.data() + (hex ? 2 : 0), *last = token.data() + token.size();
    const auto [end, e] = std::from_chars(first, last, out, hex ? 16 : 10);
    return e == std::errc() && end == last && first != last;
  }
  static Ref make(std::string_view op, std::array<Ref, 3> of) { return std::make_shared<Node>(Node{std::string(op), 0, -1, std::move(of)}); }
  bool take(std::string_view what) {
    skip();
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  Ref fail(std::string_view expected) {
    skip();
    if (error_.empty())
      error_ = fmt::format("'{}', column {}: found {}, expected {}", text_, at_ + 1,
                           at_ < text_.size() ? fmt::format("'{}'", text_.substr(at_, 12)) : "the end", expected);
    return nullptr;
  }

  std::string_view text_;
  const std::vector<std::string>& names_;
  std::string& error_;
  size_t at_ = 0, depth_ = 0;
};

std::optional<int64_t> apply(std::string_view op, int64_t a, int64_t b) {
  // Wrapping arithmetic, so that no input is undefined.
  const auto wrap = [](uint64_t v) { return static_cast<int64_t>(v); };
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  if (op == "/" || op == "%") {
    if (b == 0 || b == -1) return b == 0 ? std::nullopt : std::optional(op == "/" ? wrap(0 - ua) : 0);
    return op == "/" ? a / b : a % b;
  }
  if (op == "<<" || op == ">>") return b < 0 || b > 63 ? std::nullopt : std::optional(op == "<<" ? wrap(ua << ub) : a >> b);
  if (op == "*") return wrap(ua * ub);
  if (op == "+") return wrap(ua + ub);
  if (op == "-") return wrap(ua - ub);
  if (op == "&") return a & b;
  if (op == "|") return a | b;
  if (op == "^") return a ^ b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "&&") return a && b;
  return a || b;
}

std::optional<int64_t> value(const Node& n, std::span<const int64_t> values) {
  if (n.op.empty()) return n.variable >= 0 ? values[static_cast<size_t>(n.variable)] : n.number;
  const auto a = value(*n.of[0], values);
  if (!a) return std::nullopt;
  if (n.op == "?") return value(*n.of[*a ? 1 : 2], values);
  if (n.op[0] == 'u')
    return n.op[1] == '-' ? apply("-", 0, *a) : n.op[1] == '!' ? std::optional<int64_t>(!*a) : n.op[1] == '~' ? std::optional(~*a) : a;
  const auto b = value(*n.of[1], values);
  return b ? apply(n.op, *a, *b) : std::nullopt;
}

}  // namespace

std::optional<Formula> Formula::parse(std::string_view text, std::vector<std::string> names, std::string& error) {
  Formula f;
  error.clear();
  if (text.size() > kLongest) return error = fmt::format("a formula of {} characters, expected at most {}", text.size(), kLongest), std::nullopt;
  f.root_ = Parser(text, names, error).whole();
  if (!f.root_) return std::nullopt;
  return f;
}

std::optional<int64_t> Formula::operator()(std::span<const int64_t> values) const { return value(*root_, values); }

}  // namespace tcsim::layout
