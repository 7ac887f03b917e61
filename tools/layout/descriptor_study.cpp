#include "tools/layout/descriptor_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace tcsim::layout {

std::optional<uint64_t> parse_descriptor(const std::string& text, int bits, std::string& error) {
  const bool prefix = text.starts_with("0x") || text.starts_with("0X");
  const std::string digits = prefix ? text.substr(2) : text;
  const bool hexadecimal = !digits.empty() && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  uint64_t value = 0;
  const bool fits = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16).ec == std::errc() && (bits == 64 || value >> bits == 0);
  if (prefix && hexadecimal && fits) return value;
  error = fmt::format("'{}', expected a {}-bit number in hexadecimal", text, bits);
  error += hexadecimal && !prefix && fits ? fmt::format(" with 0x before it: 0x{}", digits)
                                          : fmt::format(" like {}", bits == 64 ? "0x4000004000010000" : "0x08200010");
  return std::nullopt;
}

Overlap find_overlap(const DescribedOperand& o) {
  const isa::MatrixAddress at(o.d, o.major);
  const uint32_t pieces = std::max(1u, o.line_bytes() / 16);
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> taken;  // address -> line, piece
  Overlap out;
  for (uint32_t line = 0; line < o.lines(); ++line)
    for (uint32_t piece = 0; piece < pieces; ++piece) {
      ++out.total;
      const uint32_t address = at.piece(line, piece);
      const auto [found, fresh] = taken.try_emplace(address, line, piece);
      if (!fresh && out.shared++ == 0)
        out.line[0] = found->second.first, out.byte[0] = 16 * found->second.second, out.line[1] = line, out.byte[1] = 16 * piece,
        out.address = address;
    }
  return out;
}

TmaComparison compare_with_tma(const DescribedOperand& o, isa::TensorMap::Swizzling written, uint32_t box_rows) {
  const uint32_t span = isa::swizzle_span(written), line_bytes = std::max(o.line_bytes(), 16u);
  TmaComparison m;
  // Rows of the descriptor's pattern, whatever was written: the same tile in both readings.
  m.row_bytes = o.d.swizzle_bytes ? o.d.swizzle_bytes : std::max(16u, span);
  m.boxes = (line_bytes + m.row_bytes - 1) / m.row_bytes;
  m.box_rows = box_rows;
  if (box_rows == 0) {
    // Boxes side by side: the distance that the descriptor gives is a number of rows, and every box starts the pattern.
    const bool stride = o.major == isa::Major::mn && o.d.swizzle_bytes == 0;
    const uint32_t apart = stride ? o.d.stride : o.d.leading, rows = apart / m.row_bytes;
    m.assumed = m.boxes > 1 && rows >= o.lines() && apart % std::max(m.row_bytes, isa::swizzle_repeat(written)) == 0;
    m.box_rows = m.assumed ? rows : o.lines();
  }
  const isa::MatrixAddress at(o.d, o.major);
  for (uint32_t line = 0; line < o.lines(); ++line)
    for (uint32_t byte = 0; byte < line_bytes; byte += static_cast<uint32_t>(o.element_bytes)) {
      ++m.total;
      const uint32_t linear = o.d.start + (byte / m.row_bytes * m.box_rows + line) * m.row_bytes + byte % m.row_bytes;
      if (at.byte(line, byte) != isa::swizzled(written, linear) && m.wrong++ == 0) m.line = line, m.byte = byte;
    }
  return m;
}

}  // namespace tcsim::layout
