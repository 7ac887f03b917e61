#include "isa/layout/canonical_layout.h"

#include <fmt/format.h>

#include "isa/layout/swizzle.h"

namespace tcsim::isa {

std::optional<CanonicalLayout> canonical_layout(Major major, std::string_view swizzle) {
  for (const CanonicalLayout layout : {CanonicalLayout{major, 0, 16}, {major, 32, 16}, {major, 64, 16}, {major, 128, 16}, {major, 128, 32}})
    if (swizzle_name(layout) == swizzle && (layout.atom_bytes == 16 || major == Major::mn)) return layout;
  return std::nullopt;
}

std::string swizzle_name(const CanonicalLayout& l) {
  return l.swizzle_bytes == 0 ? "none" : fmt::format("{}B{}", l.swizzle_bytes, l.atom_bytes == 32 ? "_atom_32B" : "");
}

int atom_elements(const CanonicalLayout& l, int element_bits) { return (l.swizzle_bytes == 0 ? 16 : l.swizzle_bytes) * 8 / element_bits; }

MatrixDescriptor canonical_descriptor(const CanonicalLayout& l, int mn, int k, int element_bits) {
  const auto units = [&](int elements) { return static_cast<uint32_t>((elements * element_bits / 8 + 15) / 16); };
  const auto groups = [](int lines, int each) { return static_cast<uint32_t>((lines + each - 1) / each); };
  constexpr uint32_t core = 128;
  const uint32_t row = l.swizzle_bytes;
  MatrixDescriptor d{0, 16, 0, 0, l.swizzle_bytes, l.atom_bytes};
  if (l.major == Major::k && row == 0) d.leading = core, d.stride = units(k) * core;
  else if (l.major == Major::k) {
    d.stride = 8 * row;
    if (units(k) * 16 > row) d.leading = groups(mn, 8) * d.stride;  // the 64 bytes of K of a sparse product's B, in rows of 32
  } else if (row == 0) d.stride = core, d.leading = units(mn) * core;
  else {
    const int lines = l.atom_bytes == 32 ? 4 : 8;
    d.stride = static_cast<uint32_t>(lines) * row;
    d.leading = groups(k, lines) * d.stride;
  }
  return d;
}

std::string cute_layout(const CanonicalLayout& l, int element_bits) {
  const int t = 128 / element_bits, w = l.swizzle_bytes / 16;
  const int lines = l.atom_bytes == 32 ? 4 : 8;
  const Swizzle s = l.atom_bytes == 32       ? Swizzle{2, 5, 2}
                    : l.swizzle_bytes == 128 ? kSwizzle128B
                    : l.swizzle_bytes == 64  ? kSwizzle64B
                    : l.swizzle_bytes == 32  ? kSwizzle32B
                                             : kSwizzleNone;
  const std::string head = fmt::format("Swizzle<{},{},{}> o smem_ptr o ", s.bits, s.base, s.shift);
  if (l.major == Major::k) {
    if (w == 0) return head + fmt::format("((8,m),({},2)):(({},SBO),(1,LBO))", t, t);
    return head + fmt::format("((8,m),({},2)):(({},SBO),(1,{}))", t, w * t, t);
  }
  if (w == 0) return head + fmt::format("(({},1,m),(8,k)):((1,{},SBO),({},LBO))", t, t, t);
  return head + fmt::format("(({},{},m),({},k)):((1,{},LBO),({},SBO))", t, w, lines, t, w * t);
}

}  // namespace tcsim::isa
