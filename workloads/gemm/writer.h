// Writes PTX text: allocates virtual registers, indents, formats.
#pragma once
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tcsim::gemm {

class Writer {
 public:
  /// A new virtual register: "b32" -> %r7, "b64" -> %rd3, "f32" -> %f2, "f64" -> %fd1, "b16" -> %h1, "pred" -> %p1.
  std::string reg(const std::string& type) { return fmt::format("%{}{}", prefix(type), counts_[prefix(type)]++); }
  std::vector<std::string> regs(const std::string& type, size_t n) {
    std::vector<std::string> list;
    for (size_t i = 0; i < n; ++i) list.push_back(reg(type));
    return list;
  }
  template <class... Args>
  void operator()(fmt::format_string<Args...> format, Args&&... args) {
    body_ += fmt::format("\t{}\n", fmt::format(format, std::forward<Args>(args)...));
  }
  void label(const std::string& name) { body_ += name + ":\n"; }
  void comment(const std::string& text) { body_ += "\t// " + text + "\n"; }
  /// "{%r1, %r2}"
  static std::string braces(const std::vector<std::string>& list) { return fmt::format("{{{}}}", fmt::join(list, ", ")); }

  std::string declarations() const {
    static const std::map<std::string, std::string> types = {{"r", "b32"}, {"rd", "b64"}, {"f", "f32"}, {"fd", "f64"}, {"h", "b16"}, {"p", "pred"}};
    std::string text;
    for (const auto& [prefix, count] : counts_) text += fmt::format("\t.reg .{} %{}<{}>;\n", types.at(prefix), prefix, count);
    return text;
  }
  const std::string& body() const { return body_; }

 private:
  static std::string prefix(const std::string& type) {
    static const std::map<std::string, std::string> prefixes = {{"b32", "r"},  {"b64", "rd"}, {"f32", "f"},
                                                                {"f64", "fd"}, {"b16", "h"},  {"pred", "p"}};
    return prefixes.at(type);
  }
  std::map<std::string, uint32_t> counts_;
  std::string body_;
};

}  // namespace tcsim::gemm
