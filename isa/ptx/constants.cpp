// Literals as bits of a type, and the special registers.
#include <algorithm>
#include <bit>

#include "isa/ptx/ast.h"

namespace tcsim::isa::ptx {

uint64_t constant_bits(Literal literal, uint64_t bits_in, Type type) {
  const int width = bits(type);
  const bool narrow = width <= 32 && width != 0;
  switch (literal) {
    case Literal::integer:
      if (type == Type::f32) return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int64_t>(bits_in)));
      if (type == Type::f64) return std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(bits_in)));
      return bits_in;
    case Literal::real32:
      if (type == Type::f64) return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits_in))));
      return bits_in;
    case Literal::real64:
      if (type != Type::f32) return bits_in;
      break;
    case Literal::decimal:
      if (!narrow) return bits_in;
      break;
  }
  return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits_in)));
}

namespace {

struct Special {
  std::string_view name;
  int bits;
  int parts;  // .x .y .z .w; 0: a scalar
};

// PTX ISA, "Special Registers".
constexpr Special kSpecials[] = {
    {"%tid", 32, 4},
    {"%ntid", 32, 4},
    {"%ctaid", 32, 4},
    {"%nctaid", 32, 4},
    {"%laneid", 32, 0},
    {"%warpid", 32, 0},
    {"%nwarpid", 32, 0},
    {"%smid", 32, 0},
    {"%nsmid", 32, 0},
    {"%gridid", 64, 0},
    {"%clusterid", 32, 4},
    {"%nclusterid", 32, 4},
    {"%cluster_ctaid", 32, 4},
    {"%cluster_nctaid", 32, 4},
    {"%cluster_ctarank", 32, 0},
    {"%cluster_nctarank", 32, 0},
    {"%is_explicit_cluster", 1, 0},
    {"%lanemask_eq", 32, 0},
    {"%lanemask_le", 32, 0},
    {"%lanemask_lt", 32, 0},
    {"%lanemask_ge", 32, 0},
    {"%lanemask_gt", 32, 0},
    {"%clock", 32, 0},
    {"%clock_hi", 32, 0},
    {"%clock64", 64, 0},
    {"%globaltimer", 64, 0},
    {"%globaltimer_lo", 32, 0},
    {"%globaltimer_hi", 32, 0},
    {"%total_smem_size", 32, 0},
    {"%aggr_smem_size", 32, 0},
    {"%dynamic_smem_size", 32, 0},
    {"%reserved_smem_offset_begin", 32, 0},
    {"%reserved_smem_offset_end", 32, 0},
    {"%reserved_smem_offset_cap", 32, 0},
    {"%reserved_smem_offset_0", 32, 0},
    {"%reserved_smem_offset_1", 32, 0},
    {"%current_graph_exec", 64, 0},
};

const Special* find_special(std::string_view text) {
  if (text.empty() || text[0] != '%') return nullptr;
  const size_t dot = text.find('.');
  const std::string_view base = text.substr(0, dot);
  for (const Special& s : kSpecials) {
    if (s.name != base) continue;
    if (dot == std::string_view::npos) return s.parts == 0 ? &s : nullptr;
    const bool component = text.size() == dot + 2 && std::string_view("xyzw").find(text[dot + 1]) != std::string_view::npos;
    return s.parts > 0 && component ? &s : nullptr;
  }
  const auto numbered = [text](std::string_view prefix, std::string_view suffix, unsigned count) {
    if (text.substr(0, prefix.size()) != prefix) return false;
    std::string_view digits = text.substr(prefix.size());
    if (digits.size() <= suffix.size() || digits.substr(digits.size() - suffix.size()) != suffix) return false;
    digits.remove_suffix(suffix.size());
    unsigned n = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9' || n > count) return false;
      n = n * 10 + static_cast<unsigned>(c - '0');
    }
    return n < count;
  };
  static constexpr Special kNarrow{"%envreg", 32, 0}, kWide{"%pm_64", 64, 0};
  if (numbered("%envreg", "", 32) || numbered("%pm", "", 8)) return &kNarrow;
  if (numbered("%pm", "_64", 8)) return &kWide;
  return nullptr;
}

}  // namespace

bool is_special_register(std::string_view text) { return find_special(text) != nullptr; }

int special_bits(std::string_view text) {
  const Special* s = find_special(text);
  return s ? s->bits : 32;
}

std::optional<DynamicSpecial> dynamic_special(std::string_view text) {
  static constexpr std::pair<std::string_view, DynamicSpecial> kDynamic[] = {{"%clock", DynamicSpecial::clock},
                                                                             {"%clock64", DynamicSpecial::clock64},
                                                                             {"%clock_hi", DynamicSpecial::clock_hi},
                                                                             {"%globaltimer", DynamicSpecial::globaltimer},
                                                                             {"%globaltimer_lo", DynamicSpecial::globaltimer_lo},
                                                                             {"%globaltimer_hi", DynamicSpecial::globaltimer_hi}};
  for (const auto& [name, value] : kDynamic)
    if (name == text) return value;
  return std::nullopt;
}

}  // namespace tcsim::isa::ptx
