// Integer formulas of a lane's number, as kernels write them: "lane % 16", "lane / 4 + 8 * (i / 2)".
//
//   const auto f = Formula::parse("lane % 8 + lane / 16 * 8", {"lane"}, error);
//   (*f)({19})   -> 11
//
// Operators and their precedence are those of C on integers: ?: || && | ^ & == != < <= > >= << >> + - * / % ! ~ and parentheses; numbers
// are decimal or 0x. Division by zero gives no value.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tcsim::layout {

class Formula {
 public:
  struct Node;
  /// nullopt: `error` says what was found at which column. names: of the variables, in the order of the values.
  static std::optional<Formula> parse(std::string_view text, std::vector<std::string> names, std::string& error);
  std::optional<int64_t> operator()(std::span<const int64_t> values) const;

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace tcsim::layout
