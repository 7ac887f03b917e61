#include "isa/layout/move_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tcsim::isa {
namespace {

struct Form {
  std::string_view name;
  bool store, transposed;
  FragmentSpec::Kind kind;
  int8_t rows, cols, element_bits, memory_bits;
  std::array<int8_t, 3> counts;  // of matrices; 0: no more
};

using K = FragmentSpec::Kind;
// "{}" stands for x1, x2, x4.
constexpr Form kForms[] = {
    {"ldmatrix.{}", false, false, K::core, 8, 8, 16, 16, {1, 2, 4}},
    {"ldmatrix.{}.trans", false, true, K::core, 8, 8, 16, 16, {1, 2, 4}},
    {"ldmatrix.m8n16.{}.b8x16.b6x16_p32", false, false, K::core, 8, 16, 8, 6, {1, 2, 4}},
    {"ldmatrix.m8n16.{}.b8x16.b4x16_p64", false, false, K::core, 8, 16, 8, 4, {1, 2, 4}},
    {"ldmatrix.m16n16.{}.trans.b8", false, true, K::core, 16, 16, 8, 8, {1, 2}},
    {"ldmatrix.m16n16.{}.trans.b8x16.b6x16_p32", false, true, K::core, 16, 16, 8, 6, {1, 2}},
    {"ldmatrix.m16n16.{}.trans.b8x16.b4x16_p64", false, true, K::core, 16, 16, 8, 4, {1, 2}},
    {"stmatrix.{}", true, false, K::core, 8, 8, 16, 16, {1, 2, 4}},
    {"stmatrix.{}.trans", true, true, K::core, 8, 8, 16, 16, {1, 2, 4}},
    {"stmatrix.m16n8.{}.trans.b8", true, true, K::accumulator, 16, 8, 8, 8, {1, 2, 4}},
    {"movmatrix", false, true, K::core, 8, 8, 16, 16, {1}},
    {"movmatrix.source", true, false, K::core, 8, 8, 16, 16, {1}},
};

std::string name_of(const Form& form, int count) {
  std::string name(form.name);
  if (const size_t at = name.find("{}"); at != std::string::npos) name.replace(at, 2, fmt::format("x{}", count));
  return name;
}

MoveSpec spec_of(const Form& form, int count) {
  MoveSpec m;
  m.transposed = form.transposed, m.store = form.store, m.memory_bits = form.memory_bits;
  m.registers.kind = form.kind;
  m.registers.tile_rows = form.rows;
  m.registers.rows = static_cast<int16_t>(form.rows * count);
  m.registers.cols = form.cols;
  m.registers.element_bits = form.element_bits;
  m.registers.registers = static_cast<int16_t>(count * form.rows * form.cols * form.element_bits / (32 * 32));
  return m;
}

/// Without the words that the layout does not depend on.
std::string plain(std::string_view name) {
  std::string out;
  for (size_t at = 0; at <= name.size();) {
    const size_t dot = std::min(name.find('.', at), name.size());
    const std::string_view word = name.substr(at, dot - at);
    if (word != "m8n8" && word != "b16" && word != "sync" && word != "aligned" && word != "shared" &&
        (word != "trans" || !name.starts_with("movmatrix")))
      out += fmt::format("{}{}", out.empty() ? "" : ".", word);
    at = dot + 1;
  }
  return out;
}

}  // namespace

std::optional<MoveSpec> find_move(std::string_view name) {
  const std::string wanted = plain(name);
  for (const Form& form : kForms)
    for (int count : form.counts)
      if (count != 0 && name_of(form, count) == wanted) return spec_of(form, count);
  return std::nullopt;
}

std::vector<std::string> move_names() {
  std::vector<std::string> names;
  for (const Form& form : kForms)
    for (int count : form.counts)
      if (count != 0 && form.name != "movmatrix.source") names.push_back(name_of(form, count));
  return names;
}

}  // namespace tcsim::isa
