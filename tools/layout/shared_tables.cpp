// Operands in shared memory: core matrices and canonical layouts.
#include <fmt/format.h>

#include "sim/smem/wavefronts.h"
#include "tools/layout/instructions.h"

namespace tcsim::layout {

Home shared_home(uint32_t byte, int bit, int bits) {
  const sim::Banks banks;
  return {.bit_lo = bit, .bit_hi = bit + bits - 1, .shared = static_cast<int>(byte), .bank = static_cast<int>(byte / banks.bytes % banks.count)};
}

Table shared_operand(std::string instruction, std::string operand, const isa::CanonicalLayout& layout, int mn, int k, int element_bits) {
  const isa::MatrixDescriptor d = isa::canonical_descriptor(layout, mn, k, element_bits);
  const isa::MatrixAddress address(d, layout.major);
  const bool b = operand == "B";
  Table t(std::move(instruction), std::move(operand), b ? k : mn, b ? mn : k);
  t.place = Place::shared_memory;
  t.element_bits = element_bits;
  for (int i = 0; i < mn; ++i)
    for (int j = 0; j < k; ++j) {
      const bool k_major = layout.major == isa::Major::k;
      const int line = k_major ? i : j, bit = (k_major ? j : i) * element_bits;
      const uint32_t byte = address.byte(static_cast<uint32_t>(line), static_cast<uint32_t>(bit / 8));
      const Home home = element_bits < 8 ? shared_home(byte, bit % 8, element_bits) : shared_home(byte, 0, element_bits);
      t.add(b ? ElementAt{0, j, i} : ElementAt{0, i, j}, home);
    }
  t.notes.push_back(fmt::format("{}-major, swizzle {}: {}", layout.major == isa::Major::k ? "K" : "MN", isa::swizzle_name(layout),
                                isa::cute_layout(layout, element_bits)));
  t.notes.push_back(fmt::format("without gaps: {}", isa::describe(d, layout.major)));
  if (layout.major == isa::Major::k && layout.swizzle_bytes && k * element_bits / 8 > layout.swizzle_bytes)
    t.notes.push_back(fmt::format("{} B of K in rows of {} B: the rest is taken to lie {} B further (not checked on a chip)", k * element_bits / 8,
                                  layout.swizzle_bytes, d.leading));
  return t;
}

std::vector<Table> core_matrix_tables(std::string_view name, const LayoutOptions&) {
  const auto words = split_words(name, '.');
  if (words.size() != 4 || words[0] != "core" || (words[1] != "k" && words[1] != "mn")) return {};
  const isa::Major major = words[1] == "k" ? isa::Major::k : isa::Major::mn;
  const auto layout = isa::canonical_layout(major, words[2]);
  const auto type = isa::type_from_name(words[3]);
  if (!layout || !type) return {};
  const int bits = isa::bits(*type), along = isa::atom_elements(*layout, bits), lines = layout->atom_bytes == 32 ? 4 : 8;
  const bool k_major = major == isa::Major::k;
  Table t = shared_operand(std::string(name), "A", *layout, k_major ? lines : along, k_major ? along : lines, bits);
  t.notes.push_back("one repetition of the pattern; larger matrices repeat it at SBO and LBO");
  return {std::move(t)};
}

}  // namespace tcsim::layout
