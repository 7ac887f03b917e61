#include "tools/tcsim/sweep_axis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

namespace tcsim::tool {
namespace {

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == separator) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

bool parse_number(const std::string& text, uint32_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

enum class Step : uint8_t { one, given };  // of a range that has none: 1, or refused

/// A number or lo:hi[:step].
std::string expand(const std::string& text, Step step, std::vector<uint32_t>& out) {
  const std::vector<std::string> parts = split_at(text, ':');
  std::array<uint32_t, 3> v{0, 0, 1};
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts.size() > 3 || !parse_number(parts[i], v[i])) return fmt::format("'{}', expected a number or a range lo:hi[:step]", text);
  if (parts.size() == 1) {
    out.push_back(v[0]);
    return "";
  }
  if (parts.size() == 2 && step == Step::given)
    return fmt::format("'{}': a range of a tile needs a step, since few extents can run: {}:64", text, text);
  if (v[1] < v[0]) return fmt::format("'{}': the range ends before it begins", text);
  if (v[2] == 0) return fmt::format("'{}': the step is 0", text);
  if ((v[1] - v[0]) / v[2] >= kMostValues) return fmt::format("'{}' has more than {} values", text, kMostValues);
  for (uint64_t value = v[0]; value <= v[1]; value += v[2]) out.push_back(static_cast<uint32_t>(value));
  return "";
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0 && !quoted) out.emplace_back();
    else out.back() += c;
  }
  std::erase(out, "");
  return out;
}

std::string parse_numbers(const std::string& text, std::vector<uint32_t>& out) {
  out.clear();
  for (const std::string& part : split_list(text))
    if (std::string wrong = expand(part, Step::one, out); !wrong.empty()) return wrong;
  return out.empty() ? "an empty list" : "";
}

template <size_t N>
std::string parse_extents(const std::string& text, std::vector<std::array<uint32_t, N>>& out) {
  out.clear();
  for (const std::string& part : split_list(text)) {
    const std::vector<std::string> fields = split_at(part, 'x');
    if (fields.size() != N) return fmt::format("'{}', expected {} numbers or ranges joined by x", part, N);
    std::vector<std::array<uint32_t, N>> tuples = {{}};
    for (size_t i = 0; i < N; ++i) {
      std::vector<uint32_t> values;
      if (std::string wrong = expand(fields[i], N == 3 ? Step::given : Step::one, values); !wrong.empty()) return wrong;
      if (tuples.size() * values.size() > kMostValues) return fmt::format("'{}' has more than {} values", part, kMostValues);
      std::vector<std::array<uint32_t, N>> longer;
      for (const auto& tuple : tuples)
        for (const uint32_t value : values) {
          longer.push_back(tuple);
          longer.back()[i] = value;
        }
      tuples = std::move(longer);
    }
    out.insert(out.end(), tuples.begin(), tuples.end());
  }
  return out.empty() ? "an empty list" : "";
}
template std::string parse_extents<2>(const std::string&, std::vector<std::array<uint32_t, 2>>&);
template std::string parse_extents<3>(const std::string&, std::vector<std::array<uint32_t, 3>>&);

std::string parse_machine_values(const std::string& text, MachineValues& out) {
  const size_t at = text.find('=');
  out = {text.substr(0, at), {}};
  if (at == std::string::npos || out.first.find('.') == std::string::npos) return fmt::format("'{}', expected SECTION.KEY=VALUE[,VALUE...]", text);
  for (const std::string& part : split_list(text.substr(at + 1))) {
    const bool range = part.find(':') != std::string::npos && part.find_first_not_of("0123456789:") == std::string::npos;
    if (!range) {
      out.second.push_back(part);
      continue;
    }
    std::vector<uint32_t> values;
    if (std::string wrong = expand(part, Step::one, values); !wrong.empty()) return wrong;
    for (const uint32_t value : values) out.second.push_back(fmt::format("{}", value));
  }
  return out.second.empty() ? fmt::format("'{}' has no value", text) : "";
}

}  // namespace tcsim::tool
